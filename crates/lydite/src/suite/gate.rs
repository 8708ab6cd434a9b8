//! Gates: what a run must reach, one comparison a line.
//!
//! ```text
//! gate   := check "." metric op number "%"?  |  "errors" op number "%"?
//! metric := pass_rate | pass_rate.low | mean | mean.low | median | p90 | coverage | inconclusive | errored | cost
//! op     := ">=" | "<=" | ">" | "<" | "=="
//! ```
//! A check's name may stand in quotes, and may hold dots: the longest known name wins. A share
//! (a rate, coverage, a mean on a scale from 0 to 1) may be written in per cent; for a count, per
//! cent means of all answers of the check, for `errors` of planned cells and bad lines.

use std::fmt;
use std::str::FromStr;

use crate::check::Check;
use crate::evaluator::Info;
use crate::node::{Span, did_you_mean};

/// One line of `gates:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// As it stands in the suite.
    pub source: String,
    pub span: Span,
    pub target: Target,
    pub metric: Metric,
    pub op: Op,
    /// The bound: a share in [0, 1], a count, or a number on the evaluator's scale; see [`Unit`].
    pub value: f64,
    pub unit: Unit,
}

/// What a gate looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One check, by name.
    Check(String),
    /// Errored cells and bad lines of the whole run.
    Errors,
}

/// What a gate's bound is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The metric as it stands.
    Plain,
    /// A count.
    Count,
    /// A count as a share, in [0, 1], of the check's answers (`errors`: of planned cells and bad lines).
    ShareOfCount,
}

/// A figure of a check in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    PassRate,
    /// Lower end of the pass rate's interval.
    PassRateLow,
    Mean,
    /// Lower end of the mean's interval.
    MeanLow,
    Median,
    P90,
    Coverage,
    /// Number of inconclusive answers.
    Inconclusive,
    /// Number of errored answers.
    Errored,
    /// What the check's models cost over the run, in US dollars.
    Cost,
}

impl Metric {
    pub const ALL: [Self; 10] = [
        Self::PassRate,
        Self::PassRateLow,
        Self::Mean,
        Self::MeanLow,
        Self::Median,
        Self::P90,
        Self::Coverage,
        Self::Inconclusive,
        Self::Errored,
        Self::Cost,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PassRate => "pass_rate",
            Self::PassRateLow => "pass_rate.low",
            Self::Mean => "mean",
            Self::MeanLow => "mean.low",
            Self::Median => "median",
            Self::P90 => "p90",
            Self::Coverage => "coverage",
            Self::Inconclusive => "inconclusive",
            Self::Errored => "errored",
            Self::Cost => "cost",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.as_str() == name)
    }

    const fn is_count(self) -> bool {
        matches!(self, Self::Inconclusive | Self::Errored)
    }

    const fn is_share(self) -> bool {
        matches!(self, Self::PassRate | Self::PassRateLow | Self::Coverage)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a figure must stand to the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    AtLeast,
    AtMost,
    Above,
    Below,
    Equal,
}

impl Op {
    pub const ALL: [Self; 5] = [
        Self::AtLeast,
        Self::AtMost,
        Self::Above,
        Self::Below,
        Self::Equal,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::Below => "<",
            Self::Equal => "==",
        }
    }

    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtLeast => value >= bound,
            Self::AtMost => value <= bound,
            Self::Above => value > bound,
            Self::Below => value < bound,
            Self::Equal => value == bound,
        }
    }
}

/// What a gate must know of a check that it may name.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub name: &'a str,
    pub info: &'a Info,
    pub range: (Option<f64>, Option<f64>),
    /// Whether it gives verdicts, and so a pass rate.
    pub grades: bool,
}

impl<'a> From<&'a Check> for Known<'a> {
    fn from(check: &'a Check) -> Self {
        let grades = check.threshold.is_some() || check.scale.natural_verdict;
        Self {
            name: &check.name,
            info: check.info,
            range: check.scale.range,
            grades,
        }
    }
}

/// Why a line is no gate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GateError {
    pub message: String,
    pub help: Option<String>,
}

impl GateError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: Some(help.into()),
        }
    }
}

impl Gate {
    /// Reads one gate. The second value is an error that only holds where no record brings a check
    /// of the gate's name.
    pub fn parse(
        text: &str,
        span: Span,
        known: &[Known<'_>],
    ) -> Result<(Self, Option<GateError>), GateError> {
        let (left, op, right) = split(text)?;
        let number = Number::parse(right)?;
        if left == "errors" {
            let (value, unit) = count(number, "errors", "errors")?;
            let gate = Self {
                source: text.trim().to_owned(),
                span,
                target: Target::Errors,
                metric: Metric::Errored,
                op,
                value,
                unit,
            };
            return gate
                .attainable((
                    0.0,
                    if unit == Unit::Count {
                        f64::INFINITY
                    } else {
                        1.0
                    },
                ))
                .map(|gate| (gate, None));
        }
        let (name, metric) = subject(left, known)?;
        let found = known.iter().find(|check| check.name == name);
        let (value, unit) = bound(number, metric, found)?;
        let gate = Self {
            source: text.trim().to_owned(),
            span,
            target: Target::Check(name.to_owned()),
            metric,
            op,
            value,
            unit,
        };
        match found {
            Some(check) => {
                check_grades(check, metric)?;
                check_costs(check, metric)?;
                let range = gate.range(check.range);
                gate.attainable(range).map(|gate| (gate, None))
            }
            None => Ok((gate, Some(unknown_check(name, known)))),
        }
    }

    /// Whether a figure, in the gate's unit, meets it.
    pub fn compare(&self, value: f64) -> bool {
        self.op.holds(value, self.value)
    }

    /// The check's name; `None` for `errors`.
    pub fn check(&self) -> Option<&str> {
        match &self.target {
            Target::Check(name) => Some(name),
            Target::Errors => None,
        }
    }

    /// Least and greatest value the figure can have.
    fn range(&self, range: (Option<f64>, Option<f64>)) -> (f64, f64) {
        if self.unit == Unit::Count {
            return (0.0, f64::INFINITY);
        }
        if self.unit == Unit::ShareOfCount || self.metric.is_share() {
            return (0.0, 1.0);
        }
        let (least, most) = match self.metric {
            Metric::Cost => (Some(0.0), None),
            _ => range,
        };
        (
            least.unwrap_or(f64::NEG_INFINITY),
            most.unwrap_or(f64::INFINITY),
        )
    }

    /// Refuses a gate that no figure can meet.
    fn attainable(self, (least, most): (f64, f64)) -> Result<Self, GateError> {
        let never = match self.op {
            Op::Above => self.value >= most,
            Op::Below => self.value <= least,
            _ => false,
        };
        if !never {
            return Ok(self);
        }
        let end = if self.op == Op::Above {
            "above"
        } else {
            "below"
        };
        let or_equal = if self.op == Op::Above {
            Op::AtLeast
        } else {
            Op::AtMost
        };
        Err(GateError::new(
            format!(
                "this gate can never be met: nothing is {end} {}",
                self.value
            ),
            format!("did you mean `{}`?", or_equal.as_str()),
        ))
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// How many errors a run may have: `5`, or `1%` of planned cells and bad lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    Count(f64),
    /// In [0, 1].
    Share(f64),
}

impl Allowance {
    /// Nothing may go wrong.
    pub const NONE: Self = Self::Count(0.0);

    /// What a run's gates and `--max-errors` allow together: the option, else the strictest upper
    /// bound that a gate sets on `errors`, else nothing.
    pub fn of(gates: &[Gate], max_errors: Option<Self>, planned: u64) -> Self {
        let by_gates = gates
            .iter()
            .filter(|gate| gate.target == Target::Errors)
            .filter_map(|gate| match (gate.op, gate.unit) {
                (Op::AtLeast | Op::Above, _) => None,
                (Op::Below, Unit::Count) => Some(Self::Count(gate.value - 1.0)),
                (_, Unit::Count) => Some(Self::Count(gate.value)),
                (_, _) => Some(Self::Share(gate.value)),
            })
            .min_by(|a, b| a.share(planned).total_cmp(&b.share(planned)));
        max_errors.or(by_gates).unwrap_or(Self::NONE)
    }

    /// Whether so many errors are within it.
    pub fn permits(self, errors: u64, planned: u64) -> bool {
        match self {
            Self::Count(most) => errors as f64 <= most,
            Self::Share(most) => errors == 0 || errors as f64 <= most * planned as f64,
        }
    }

    /// As a share of the planned cells and bad lines, in [0, 1].
    pub fn share(self, planned: u64) -> f64 {
        match self {
            Self::Share(share) => share,
            Self::Count(_) if planned == 0 => 0.0,
            Self::Count(count) => (count / planned as f64).min(1.0),
        }
    }
}

/// As it would be written.
impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            // Rounded, since 0.07 × 100 is 7.000000000000001.
            Self::Share(share) => write!(f, "{}%", (share * 1e8).round() / 1e6),
        }
    }
}

impl FromStr for Allowance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let number = Number::parse(text.trim())?;
            let (value, unit) = count(number, "errors", "errors")?;
            Ok::<_, GateError>(if unit == Unit::Count {
                Self::Count(value)
            } else {
                Self::Share(value)
            })
        };
        read().map_err(|error| match error.help {
            Some(help) => format!("{}; {help}", error.message),
            None => error.message,
        })
    }
}

/// The coverage that every gated check is held to, where it has no gate on its own coverage.
const COVERAGE: f64 = 0.99;

/// The least coverage that a gate on `check` asks for beside its own figure, in [0, 1]: 0.99, or
/// one minus the allowed share of errors where that is lower. `None` where no gate names the check,
/// or a gate of the suite settles its coverage itself.
pub fn required_coverage(
    check: &str,
    gates: &[Gate],
    max_errors: Option<Allowance>,
    planned: u64,
) -> Option<f64> {
    let mut own = gates
        .iter()
        .filter(|gate| gate.check() == Some(check))
        .peekable();
    own.peek()?;
    if own.any(|gate| gate.metric == Metric::Coverage) {
        return None;
    }
    Some(COVERAGE.min(1.0 - Allowance::of(gates, max_errors, planned).share(planned)))
}

/// A regular expression that all gates match, for the suite's JSON Schema.
pub(super) fn pattern() -> String {
    let metrics = Metric::ALL
        .map(|metric| metric.as_str().replace('.', "\\."))
        .join("|");
    let ops = Op::ALL.map(Op::as_str).join("|");
    format!(
        "^\\s*(errors|.+\\.({metrics}))\\s*({ops}|=|≥|≤)\\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\\s*%?\\s*$"
    )
}

/// Left side, operator and right side.
fn split(text: &str) -> Result<(&str, Op, &str), GateError> {
    const EXAMPLE: &str = "write a gate as `<check>.<metric> <op> <number>`, such as `golden_response.pass_rate >= 90%`";
    let is_op = |c: char| matches!(c, '<' | '>' | '=' | '!' | '≥' | '≤');
    let Some(last) = text.rfind(is_op) else {
        return Err(GateError::new(
            format!("`{}` compares nothing", text.trim()),
            EXAMPLE,
        ));
    };
    let end = last
        + text
            .get(last..)
            .and_then(|rest| rest.chars().next())
            .map_or(0, char::len_utf8);
    let head = text.get(..end).unwrap_or_default();
    let start = head.trim_end_matches(is_op).len();
    let (left, op) = (
        text.get(..start).unwrap_or_default().trim(),
        text.get(start..end).unwrap_or_default(),
    );
    let right = text.get(end..).unwrap_or_default().trim();
    let op = match op {
        ">=" | "≥" => Op::AtLeast,
        "<=" | "≤" => Op::AtMost,
        ">" => Op::Above,
        "<" => Op::Below,
        "==" | "=" => Op::Equal,
        "=>" => {
            return Err(GateError::new(
                "`=>` is no comparison",
                "did you mean `>=`?",
            ));
        }
        "=<" => {
            return Err(GateError::new(
                "`=<` is no comparison",
                "did you mean `<=`?",
            ));
        }
        other => {
            let ops = Op::ALL.map(|op| format!("`{}`", op.as_str())).join(", ");
            return Err(GateError::new(
                format!("`{other}` is no comparison of gates"),
                format!("use one of {ops}"),
            ));
        }
    };
    if left.is_empty() || right.is_empty() {
        return Err(GateError::new(
            format!("`{}` lacks a side", text.trim()),
            EXAMPLE,
        ));
    }
    Ok((left, op, right))
}

#[derive(Clone, Copy)]
struct Number<'a> {
    value: f64,
    percent: bool,
    /// The digits, for messages.
    text: &'a str,
}

impl<'a> Number<'a> {
    fn parse(text: &'a str) -> Result<Self, GateError> {
        let (digits, percent) = match text.strip_suffix('%') {
            Some(digits) => (digits.trim_end(), true),
            None => (text, false),
        };
        let plain = digits
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
        let value = digits
            .parse::<f64>()
            .ok()
            .filter(|value| plain && value.is_finite());
        let value = value.ok_or_else(|| {
            GateError::new(
                format!("`{text}` is no number"),
                "write a number or per cent, such as `0.9` or `90%`",
            )
        })?;
        if percent && !(0.0..=100.0).contains(&value) {
            return Err(GateError::new(
                format!("{text} is not between 0% and 100%"),
                "a share has no more than 100%",
            ));
        }
        Ok(Self {
            value,
            percent,
            text: digits,
        })
    }

    fn share(self) -> f64 {
        if self.percent {
            self.value / 100.0
        } else {
            self.value
        }
    }
}

/// The check's name and the metric.
fn subject<'a>(left: &'a str, known: &[Known<'_>]) -> Result<(&'a str, Metric), GateError> {
    if let Some(quote) = left.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let (name, rest) = left
            .get(1..)
            .and_then(|rest| rest.split_once(quote))
            .ok_or_else(|| {
                GateError::new(
                    format!("the name {left} has no closing {quote}"),
                    "close the quote",
                )
            })?;
        let metric = rest.trim().strip_prefix('.').unwrap_or_default().trim();
        return Metric::from_name(metric)
            .map(|metric| (name, metric))
            .ok_or_else(|| unknown_metric(name, metric));
    }
    let readings = || {
        left.match_indices('.').filter_map(|(dot, _)| {
            let (name, metric) = (left.get(..dot)?.trim(), left.get(dot + 1..)?.trim());
            Some((name, metric))
        })
    };
    let is_known = |name: &str| known.iter().any(|check| check.name == name);
    let whole =
        |(name, metric): (&'a str, &'a str)| Metric::from_name(metric).map(|metric| (name, metric));
    if let Some(found) = readings()
        .filter_map(whole)
        .rfind(|(name, _)| is_known(name))
    {
        return Ok(found);
    }
    if let Some((name, metric)) = readings().rfind(|(name, _)| is_known(name)) {
        return Err(unknown_metric(name, metric));
    }
    // `x.mean.low` of an unknown check is the metric `mean.low`, not `low` of `x.mean`.
    if let Some(found) = readings().find_map(whole) {
        return Ok(found);
    }
    match left.rsplit_once('.') {
        Some((name, metric)) => Err(unknown_metric(name, metric)),
        None if is_known(left) => Err(GateError::new(
            format!("a gate on `{left}` must say which figure"),
            format!("write `{left}.<metric>`; metrics: {}", metrics()),
        )),
        None if matches!(left, "error" | "error_rate" | "max_errors" | "errored") => {
            Err(GateError::new(
                format!("`{left}` is no figure of a run"),
                "did you mean `errors`?",
            ))
        }
        None if matches!(left, "cost" | "cost_usd" | "budget") => Err(GateError::new(
            format!("`{left}` is no figure of a run"),
            "write `<check>.cost <= 2.50` for a check; `--budget` holds a whole run to its cost",
        )),
        None => Err(GateError::new(
            format!("`{left}` names no figure"),
            format!(
                "write `<check>.<metric>` or `errors`; metrics: {}",
                metrics()
            ),
        )),
    }
}

fn metrics() -> String {
    Metric::ALL.map(Metric::as_str).join(", ")
}

fn unknown_metric(name: &str, metric: &str) -> GateError {
    const OTHER_NAMES: &[(&str, Metric)] = &[
        ("accuracy", Metric::PassRate),
        ("success_rate", Metric::PassRate),
        ("passrate", Metric::PassRate),
        ("pass", Metric::PassRate),
        ("score", Metric::Mean),
        ("average", Metric::Mean),
        ("avg", Metric::Mean),
        ("p50", Metric::Median),
        ("errors", Metric::Errored),
        ("cost_usd", Metric::Cost),
        ("price", Metric::Cost),
    ];
    let nearest = OTHER_NAMES
        .iter()
        .find(|(other, _)| *other == metric.to_ascii_lowercase())
        .map(|(_, metric)| metric.as_str())
        .or_else(|| did_you_mean(metric, Metric::ALL.map(Metric::as_str)));
    let known = format!("metrics: {}", metrics());
    GateError {
        message: if metric.is_empty() {
            format!("a gate on `{name}` must say which figure")
        } else {
            format!("`{metric}` is no metric of a check")
        },
        help: Some(nearest.map_or(known.clone(), |nearest| {
            format!("did you mean `{nearest}`? {known}")
        })),
    }
}

fn unknown_check(name: &str, known: &[Known<'_>]) -> GateError {
    let nearest = did_you_mean(name, known.iter().map(|check| check.name));
    let names = known
        .iter()
        .map(|check| format!("`{}`", check.name))
        .collect::<Vec<_>>()
        .join(", ");
    GateError {
        message: format!("no check is named `{name}`"),
        help: Some(match nearest {
            Some(nearest) => format!("did you mean `{nearest}`? checks: {names}"),
            None if known.is_empty() => "the suite has no checks that a gate could name".to_owned(),
            None => format!("checks: {names}"),
        }),
    }
}

fn check_grades(check: &Known<'_>, metric: Metric) -> Result<(), GateError> {
    if check.grades || !matches!(metric, Metric::PassRate | Metric::PassRateLow) {
        return Ok(());
    }
    Err(GateError::new(
        format!("`{}` only measures, so it has no {metric}", check.name),
        format!(
            "give the check a `threshold`, or gate on `{}.mean`",
            check.name
        ),
    ))
}

fn check_costs(check: &Known<'_>, metric: Metric) -> Result<(), GateError> {
    if metric != Metric::Cost || !check.info.models.is_empty() {
        return Ok(());
    }
    Err(GateError::new(
        format!("`{}` asks no model, so it costs nothing", check.name),
        "leave the gate out",
    ))
}

/// The bound and its unit.
fn bound(
    number: Number<'_>,
    metric: Metric,
    check: Option<&Known<'_>>,
) -> Result<(f64, Unit), GateError> {
    if metric.is_count() {
        return count(number, metric.as_str(), "answers");
    }
    if metric.is_share() {
        let value = number.share();
        if (0.0..=1.0).contains(&value) {
            return Ok((value, Unit::Plain));
        }
        let help = if value > 1.0 && value <= 100.0 {
            format!("did you mean {}%?", number.text)
        } else {
            "write a number from 0 to 1, or per cent".to_owned()
        };
        return Err(GateError::new(
            format!(
                "{metric} lies between 0 and 1, so it can't be held to {}",
                number.text
            ),
            help,
        ));
    }
    if metric == Metric::Cost {
        return dollars(number);
    }
    on_scale(number, metric, check)
}

fn dollars(number: Number<'_>) -> Result<(f64, Unit), GateError> {
    const HELP: &str = "write US dollars, such as `2.50`";
    if number.percent {
        let message = format!("a cost can't be held to per cent, as {}% is", number.text);
        return Err(GateError::new(message, HELP));
    }
    if number.value < 0.0 {
        let message = format!("a cost is never {}", number.text);
        return Err(GateError::new(message, HELP));
    }
    Ok((number.value, Unit::Plain))
}

/// The bound of a mean, median or percentile, on the evaluator's own scale.
fn on_scale(
    number: Number<'_>,
    metric: Metric,
    check: Option<&Known<'_>>,
) -> Result<(f64, Unit), GateError> {
    let Some(check) = check else {
        return Ok((number.share(), Unit::Plain));
    };
    let (least, most) = check.range;
    if number.percent && (least, most) != (Some(0.0), Some(1.0)) {
        return Err(GateError::new(
            format!(
                "`{}` is not on a scale from 0 to 1, so its {metric} can't be held to per cent",
                check.name
            ),
            format!(
                "write the number itself, without %; the scale is {}",
                scale(check.range)
            ),
        ));
    }
    let value = number.share();
    if least.is_some_and(|least| value < least) || most.is_some_and(|most| value > most) {
        let in_percent = (least, most) == (Some(0.0), Some(1.0)) && value > 1.0 && value <= 100.0;
        let help = if in_percent {
            format!("did you mean {}%?", number.text)
        } else {
            "write a number on that scale".to_owned()
        };
        return Err(GateError::new(
            format!(
                "{} is outside the scale of `{}`, {}",
                number.text,
                check.name,
                scale(check.range)
            ),
            help,
        ));
    }
    Ok((value, Unit::Plain))
}

fn scale((least, most): (Option<f64>, Option<f64>)) -> String {
    let end = |bound: Option<f64>, open: &str| {
        bound.map_or_else(|| open.to_owned(), |bound| bound.to_string())
    };
    format!("{} to {}", end(least, "-∞"), end(most, "∞"))
}

/// A whole number, or per cent of all.
fn count(number: Number<'_>, what: &str, of: &str) -> Result<(f64, Unit), GateError> {
    if number.percent {
        return Ok((number.share(), Unit::ShareOfCount));
    }
    if number.value >= 0.0 && number.value.fract() == 0.0 {
        return Ok((number.value, Unit::Count));
    }
    let help = if number.value > 0.0 && number.value < 1.0 {
        // Rounded, since 0.07 * 100 is 7.000000000000001.
        format!("did you mean {}%?", (number.value * 1e8).round() / 1e6)
    } else {
        format!("write how many {of} there may be, such as `5`, or a share of them, such as `1%`")
    };
    Err(GateError::new(
        format!("{what} is a count, and {} is none", number.text),
        help,
    ))
}
