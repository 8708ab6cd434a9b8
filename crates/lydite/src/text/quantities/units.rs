//! Units of measurement as texts write them.

/// A unit, and how many of its family's base unit it is.
///
/// Two units of one family convert exactly (1 km = 1000 m, 1 h = 60 min). What would need a rate or a rounded factor
/// (miles and kilometres, dollars and euros, months and days) are families of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    pub name: &'static str,
    pub family: Family,
    pub factor: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Length,
    ImperialLength,
    Mass,
    ImperialMass,
    Volume,
    ImperialVolume,
    Area,
    ImperialArea,
    Duration,
    Months,
    BusinessDays,
    Bytes,
    Bits,
    Speed,
    ImperialSpeed,
    Power,
    Energy,
    Calories,
    Frequency,
    Voltage,
    Current,
    Pressure,
    Resolution,
    Celsius,
    Fahrenheit,
    Kelvin,
    /// Degrees of what the text doesn't say: an angle, or either scale of temperature.
    Degrees,
    Percent,
    Dollars,
    Euros,
    /// The currency.
    Sterling,
    /// The word `pound`, of weight or of money.
    Pounds,
    OtherMoney(&'static str),
}

impl Family {
    pub fn is_money(self) -> bool {
        matches!(
            self,
            Self::Dollars | Self::Euros | Self::Sterling | Self::OtherMoney(_)
        )
    }

    pub fn is_duration(self) -> bool {
        matches!(self, Self::Duration | Self::Months | Self::BusinessDays)
    }

    /// Whether a unit of either may be the same unit, named less exactly.
    pub(super) fn may_be(self, other: Self) -> bool {
        use Family::{Celsius, Degrees, Fahrenheit, ImperialMass, Pounds, Sterling};
        let vague = |a, b| match a {
            Degrees => matches!(b, Celsius | Fahrenheit),
            Pounds => matches!(b, ImperialMass | Sterling),
            _ => false,
        };
        self == other || vague(self, other) || vague(other, self)
    }
}

/// The unit whose name `rest` begins with, and the length of that name in bytes. The longest name counts; after it
/// must be no letter or digit.
pub(super) fn leading(rest: &str, glued: bool) -> Option<(Unit, usize)> {
    let mut best: Option<(Unit, usize)> = None;
    for (names, unit) in UNITS {
        for name in names.split('|') {
            let longer = best.is_none_or(|(_, length)| name.len() > length);
            if longer && starts_with_word(rest, name) && (glued || !only_glued(name)) {
                best = Some((*unit, name.len()));
            }
        }
    }
    best
}

/// The currency whose sign or code `rest` begins with, and the length of that in bytes.
pub(super) fn leading_currency(rest: &str) -> Option<(Unit, usize)> {
    let signs = SIGNS
        .iter()
        .find(|(sign, _)| rest.starts_with(sign))
        .map(|(sign, unit)| (*unit, sign.len()));
    signs.or_else(|| {
        let code = rest.get(..3).filter(|code| starts_with_word(rest, code))?;
        let (unit, length) = leading(code, false)?;
        let is_code = length == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
        (is_code && unit.family.is_money()).then_some((unit, length))
    })
}

/// Words that are something else where a space stands before them: `5 in the room`.
fn only_glued(name: &str) -> bool {
    matches!(name, "in" | "A" | "F" | "C" | "p" | "d" | "t")
}

/// Short names keep their case (`Mb` is not `MB`, `k` is no Kelvin); words don't.
fn starts_with_word(rest: &str, name: &str) -> bool {
    let Some(head) = rest.get(..name.len()) else {
        return false;
    };
    let same = if name.len() <= 4 && !is_plain_word(name) {
        head == name
    } else {
        head.eq_ignore_ascii_case(name)
    };
    let ends_in_letter = name.ends_with(char::is_alphanumeric);
    let goes_on = rest
        .get(name.len()..)
        .and_then(|tail| tail.chars().next())
        .is_some_and(char::is_alphanumeric);
    same && !(ends_in_letter && goes_on)
}

fn is_plain_word(name: &str) -> bool {
    matches!(
        name,
        "day"
            | "days"
            | "week"
            | "year"
            | "hour"
            | "mile"
            | "foot"
            | "feet"
            | "cent"
            | "euro"
            | "rand"
            | "acre"
            | "ton"
            | "tons"
            | "cup"
            | "cups"
            | "volt"
            | "watt"
            | "amp"
            | "amps"
            | "inch"
            | "yard"
            | "bit"
            | "bits"
            | "byte"
            | "gram"
            | "mins"
            | "secs"
            | "min"
            | "sec"
            | "hrs"
            | "hr"
            | "kilo"
            | "pint"
            | "yen"
            | "mph"
            | "fps"
    )
}

/// What a bare number after feet is.
pub(super) const INCH: Option<Unit> = Some(unit("inch", Family::ImperialLength, 1.0));

const fn unit(name: &'static str, family: Family, factor: f64) -> Unit {
    Unit {
        name,
        family,
        factor,
    }
}

const SIGNS: &[(&str, Unit)] = &[
    ("US$", unit("dollar", Family::Dollars, 1.0)),
    (
        "C$",
        unit("Canadian dollar", Family::OtherMoney("CAD"), 1.0),
    ),
    (
        "A$",
        unit("Australian dollar", Family::OtherMoney("AUD"), 1.0),
    ),
    ("$", unit("dollar", Family::Dollars, 1.0)),
    ("€", unit("euro", Family::Euros, 1.0)),
    ("£", unit("pound sterling", Family::Sterling, 1.0)),
    ("¥", unit("yen", Family::OtherMoney("JPY"), 1.0)),
    ("₹", unit("rupee", Family::OtherMoney("INR"), 1.0)),
    ("₽", unit("rouble", Family::OtherMoney("RUB"), 1.0)),
    ("₩", unit("won", Family::OtherMoney("KRW"), 1.0)),
];

#[rustfmt::skip]
const UNITS: &[(&str, Unit)] = &[
    ("nm|nanometres|nanometre|nanometers|nanometer", unit("nm", Family::Length, 1e-9)),
    ("µm|μm|um|micrometres|micrometre|micrometers|micrometer|microns|micron", unit("µm", Family::Length, 1e-6)),
    ("mm|millimetres|millimetre|millimeters|millimeter", unit("mm", Family::Length, 1e-3)),
    ("cm|centimetres|centimetre|centimeters|centimeter", unit("cm", Family::Length, 1e-2)),
    ("m|metres|metre|meters|meter", unit("m", Family::Length, 1.0)),
    ("km|Km|KM|kms|kilometres|kilometre|kilometers|kilometer", unit("km", Family::Length, 1e3)),
    ("in|inches|inch|″", unit("inch", Family::ImperialLength, 1.0)),
    ("ft|feet|foot|′", unit("foot", Family::ImperialLength, 12.0)),
    ("yd|yards|yard", unit("yard", Family::ImperialLength, 36.0)),
    ("mi|miles|mile", unit("mile", Family::ImperialLength, 63_360.0)),
    ("µg|μg|mcg|micrograms|microgram", unit("µg", Family::Mass, 1e-6)),
    ("mg|milligrams|milligram", unit("mg", Family::Mass, 1e-3)),
    ("g|grams|gram|grammes|gramme", unit("g", Family::Mass, 1.0)),
    ("kg|Kg|KG|kgs|Kgs|kilograms|kilogram|kilogrammes|kilogramme|kilos|kilo", unit("kg", Family::Mass, 1e3)),
    ("t|tonnes|tonne|metric tons|metric ton", unit("t", Family::Mass, 1e6)),
    ("oz|ounces|ounce", unit("ounce", Family::ImperialMass, 1.0)),
    ("lb|lbs", unit("pound", Family::ImperialMass, 16.0)),
    ("tons|ton", unit("ton", Family::ImperialMass, 32_000.0)),
    ("pounds|pound", unit("pound", Family::Pounds, 16.0)),
    ("ml|mL|millilitres|millilitre|milliliters|milliliter", unit("ml", Family::Volume, 1e-3)),
    ("cl|cL|centilitres|centilitre|centiliters|centiliter", unit("cl", Family::Volume, 1e-2)),
    ("dl|dL|decilitres|decilitre|deciliters|deciliter", unit("dl", Family::Volume, 1e-1)),
    ("l|L|litres|litre|liters|liter", unit("l", Family::Volume, 1.0)),
    ("m³|m3|cubic metres|cubic metre|cubic meters|cubic meter", unit("m³", Family::Volume, 1e3)),
    ("teaspoons|teaspoon|tsp", unit("teaspoon", Family::ImperialVolume, 1.0)),
    ("tablespoons|tablespoon|tbsp", unit("tablespoon", Family::ImperialVolume, 3.0)),
    ("cups|cup", unit("cup", Family::ImperialVolume, 48.0)),
    ("pints|pint", unit("pint", Family::ImperialVolume, 96.0)),
    ("quarts|quart", unit("quart", Family::ImperialVolume, 192.0)),
    ("gal|gallons|gallon", unit("gallon", Family::ImperialVolume, 768.0)),
    ("m²|m2|sqm|sq m|square metres|square metre|square meters|square meter", unit("m²", Family::Area, 1.0)),
    ("ha|hectares|hectare", unit("ha", Family::Area, 1e4)),
    ("km²|km2|sq km|square kilometres|square kilometre|square kilometers|square kilometer", unit("km²", Family::Area, 1e6)),
    ("ft²|sq ft|sqft|square feet|square foot", unit("sq ft", Family::ImperialArea, 1.0)),
    ("acres|acre", unit("acre", Family::ImperialArea, 43_560.0)),
    ("sq mi|square miles|square mile", unit("sq mi", Family::ImperialArea, 27_878_400.0)),
    ("ns|nanoseconds|nanosecond", unit("ns", Family::Duration, 1e-9)),
    ("µs|μs|microseconds|microsecond", unit("µs", Family::Duration, 1e-6)),
    ("ms|msec|milliseconds|millisecond", unit("ms", Family::Duration, 1e-3)),
    ("s|sec|secs|seconds|second", unit("s", Family::Duration, 1.0)),
    ("min|mins|minutes|minute", unit("min", Family::Duration, 60.0)),
    ("h|hr|hrs|hours|hour", unit("h", Family::Duration, 3600.0)),
    ("d|days|day|calendar days|calendar day", unit("day", Family::Duration, 86_400.0)),
    ("weeks|week|wk|wks", unit("week", Family::Duration, 604_800.0)),
    ("fortnights|fortnight", unit("fortnight", Family::Duration, 1_209_600.0)),
    ("business days|business day|working days|working day|workdays|workday", unit("business day", Family::BusinessDays, 1.0)),
    ("months|month", unit("month", Family::Months, 1.0)),
    ("yr|yrs|years|year", unit("year", Family::Months, 12.0)),
    ("decades|decade", unit("decade", Family::Months, 120.0)),
    ("centuries|century", unit("century", Family::Months, 1200.0)),
    ("bytes|byte", unit("byte", Family::Bytes, 1.0)),
    ("kB|KB|kilobytes|kilobyte", unit("kB", Family::Bytes, 1e3)),
    ("MB|megabytes|megabyte", unit("MB", Family::Bytes, 1e6)),
    ("GB|gigabytes|gigabyte", unit("GB", Family::Bytes, 1e9)),
    ("TB|terabytes|terabyte", unit("TB", Family::Bytes, 1e12)),
    ("PB|petabytes|petabyte", unit("PB", Family::Bytes, 1e15)),
    ("KiB", unit("KiB", Family::Bytes, 1024.0)),
    ("MiB", unit("MiB", Family::Bytes, 1_048_576.0)),
    ("GiB", unit("GiB", Family::Bytes, 1_073_741_824.0)),
    ("TiB", unit("TiB", Family::Bytes, 1_099_511_627_776.0)),
    ("bits|bit", unit("bit", Family::Bits, 1.0)),
    ("kbit|kilobits|kilobit|kbit/s|kbps|Kbps", unit("kbit", Family::Bits, 1e3)),
    ("Mb|Mbit|megabits|megabit|Mbit/s|Mbps|Mb/s|megabits per second", unit("Mbit", Family::Bits, 1e6)),
    ("Gb|Gbit|gigabits|gigabit|Gbit/s|Gbps|Gb/s|gigabits per second", unit("Gbit", Family::Bits, 1e9)),
    ("m/s|metres per second|meters per second", unit("m/s", Family::Speed, 3.6)),
    ("km/h|kph|kmh|kmph|kilometres per hour|kilometers per hour", unit("km/h", Family::Speed, 1.0)),
    ("mph|miles per hour|miles an hour", unit("mph", Family::ImperialSpeed, 1.0)),
    ("mW|milliwatts|milliwatt", unit("mW", Family::Power, 1e-3)),
    ("W|watts|watt", unit("W", Family::Power, 1.0)),
    ("kW|kilowatts|kilowatt", unit("kW", Family::Power, 1e3)),
    ("MW|megawatts|megawatt", unit("MW", Family::Power, 1e6)),
    ("GW|gigawatts|gigawatt", unit("GW", Family::Power, 1e9)),
    ("J|joules|joule", unit("J", Family::Energy, 1.0)),
    ("kJ|kilojoules|kilojoule", unit("kJ", Family::Energy, 1e3)),
    ("Wh|watt-hours|watt-hour|watt hours|watt hour", unit("Wh", Family::Energy, 3.6e3)),
    ("kWh|kilowatt-hours|kilowatt-hour|kilowatt hours|kilowatt hour", unit("kWh", Family::Energy, 3.6e6)),
    ("MWh|megawatt-hours|megawatt-hour|megawatt hours|megawatt hour", unit("MWh", Family::Energy, 3.6e9)),
    ("kcal|kilocalories|kilocalorie|calories|calorie|cal", unit("kcal", Family::Calories, 1.0)),
    ("Hz|hertz", unit("Hz", Family::Frequency, 1.0)),
    ("kHz|kilohertz", unit("kHz", Family::Frequency, 1e3)),
    ("MHz|megahertz", unit("MHz", Family::Frequency, 1e6)),
    ("GHz|gigahertz", unit("GHz", Family::Frequency, 1e9)),
    ("mV|millivolts|millivolt", unit("mV", Family::Voltage, 1e-3)),
    ("V|volts|volt", unit("V", Family::Voltage, 1.0)),
    ("kV|kilovolts|kilovolt", unit("kV", Family::Voltage, 1e3)),
    ("mA|milliamps|milliamp|milliamperes", unit("mA", Family::Current, 1e-3)),
    ("A|amps|amp|amperes|ampere", unit("A", Family::Current, 1.0)),
    ("Pa|pascals|pascal", unit("Pa", Family::Pressure, 1.0)),
    ("hPa|hectopascals", unit("hPa", Family::Pressure, 1e2)),
    ("kPa|kilopascals", unit("kPa", Family::Pressure, 1e3)),
    ("bar", unit("bar", Family::Pressure, 1e5)),
    ("psi", unit("psi", Family::Pressure, 6894.757)),
    ("px|pixels|pixel", unit("pixel", Family::Resolution, 1.0)),
    ("dpi|ppi", unit("dpi", Family::Resolution, 1.0)),
    ("°C|° C|C|℃|degrees C|degrees Celsius|degree Celsius|Celsius|degrees centigrade", unit("°C", Family::Celsius, 1.0)),
    ("°F|° F|F|℉|degrees F|degrees Fahrenheit|degree Fahrenheit|Fahrenheit", unit("°F", Family::Fahrenheit, 1.0)),
    ("kelvins|kelvin", unit("K", Family::Kelvin, 1.0)),
    ("°|degrees|degree", unit("degree", Family::Degrees, 1.0)),
    ("%|٪|％|percent|per cent|pct|percentage points|percentage point", unit("%", Family::Percent, 1.0)),
    ("‰|per mille", unit("‰", Family::Percent, 0.1)),
    ("dollars|dollar|US dollars|U.S. dollars|USD|bucks|$", unit("dollar", Family::Dollars, 1.0)),
    ("cents|cent", unit("cent", Family::Dollars, 0.01)),
    ("euros|euro|EUR|€", unit("euro", Family::Euros, 1.0)),
    ("GBP|£|pounds sterling|British pounds", unit("pound sterling", Family::Sterling, 1.0)),
    ("pence|p", unit("penny", Family::Sterling, 0.01)),
    ("CHF|Swiss francs|Swiss franc|francs|franc", unit("Swiss franc", Family::OtherMoney("CHF"), 1.0)),
    ("JPY|yen", unit("yen", Family::OtherMoney("JPY"), 1.0)),
    ("CNY|RMB|yuan|renminbi", unit("yuan", Family::OtherMoney("CNY"), 1.0)),
    ("INR|rupees|rupee", unit("rupee", Family::OtherMoney("INR"), 1.0)),
    ("RUB|roubles|rouble|rubles|ruble", unit("rouble", Family::OtherMoney("RUB"), 1.0)),
    ("KRW", unit("won", Family::OtherMoney("KRW"), 1.0)),
    ("CAD|Canadian dollars", unit("Canadian dollar", Family::OtherMoney("CAD"), 1.0)),
    ("AUD|Australian dollars", unit("Australian dollar", Family::OtherMoney("AUD"), 1.0)),
    ("SEK|kronor", unit("Swedish krona", Family::OtherMoney("SEK"), 1.0)),
    ("NOK|DKK|kroner", unit("krone", Family::OtherMoney("NOK"), 1.0)),
    ("MXN|pesos|peso", unit("peso", Family::OtherMoney("MXN"), 1.0)),
    ("BRL|reais", unit("real", Family::OtherMoney("BRL"), 1.0)),
    ("ZAR|rand", unit("rand", Family::OtherMoney("ZAR"), 1.0)),
];
