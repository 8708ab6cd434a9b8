//! The tests and filters of expressions, and how their values compare.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::LazyLock;

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, Value, filters};
use regex::Regex;

use crate::text::beginning;

/// Work one evaluation may do, in minijinja's unit: an instruction, or 64 bytes looked at.
const FUEL: u64 = 500_000;

/// The tests that may stand after `is`.
pub const TESTS: &[&str] = &[
    "boolean",
    "defined",
    "empty",
    "endingwith",
    "eq",
    "even",
    "false",
    "float",
    "ge",
    "gt",
    "in",
    "integer",
    "le",
    "lt",
    "mapping",
    "matches",
    "ne",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
];

/// The filters that may stand after `|`.
pub const FILTERS: &[&str] = &[
    "abs", "count", "d", "default", "first", "float", "int", "last", "length", "lower", "round",
    "string", "trim", "upper",
];

/// The filter that lets no text or list through to `*`.
pub(super) const GUARD: &str = "__number";

/// Everything an expression can use; it has no functions and no templates.
pub(super) static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_fuel(Some(FUEL));
    add_tests(&mut environment);
    add_filters(&mut environment);
    environment
});

fn add_tests(environment: &mut Environment<'static>) {
    environment.add_test("eq", equal);
    environment.add_test("ne", |state: &State, left: &Value, right: &Value| {
        equal(state, left, right).map(|equal| !equal)
    });
    environment.add_test("lt", |left: &Value, right: &Value| {
        ordered(left, right, Ordering::is_lt)
    });
    environment.add_test("le", |left: &Value, right: &Value| {
        ordered(left, right, Ordering::is_le)
    });
    environment.add_test("gt", |left: &Value, right: &Value| {
        ordered(left, right, Ordering::is_gt)
    });
    environment.add_test("ge", |left: &Value, right: &Value| {
        ordered(left, right, Ordering::is_ge)
    });
    environment.add_test("in", contained);
    environment.add_test("startingwith", |text: &Value, start: &Value| {
        texts("startingwith", text, start, |text, start| {
            Ok(text.starts_with(start))
        })
    });
    environment.add_test("endingwith", |text: &Value, end: &Value| {
        texts("endingwith", text, end, |text, end| Ok(text.ends_with(end)))
    });
    environment.add_test("matches", |text: &Value, pattern: &Value| {
        texts("matches", text, pattern, matches)
    });
    environment.add_test("defined", |value: &Value| !value.is_undefined());
    environment.add_test("undefined", Value::is_undefined);
    environment.add_test("none", Value::is_none);
    environment.add_test("empty", |value: &Value| {
        is_missing(value) || value.len() == Some(0)
    });
    environment.add_test("boolean", |value: &Value| value.kind() == ValueKind::Bool);
    environment.add_test("number", Value::is_number);
    environment.add_test("integer", Value::is_integer);
    environment.add_test("float", |value: &Value| {
        value.is_number() && !value.is_integer()
    });
    environment.add_test("string", |value: &Value| value.kind() == ValueKind::String);
    environment.add_test("sequence", |value: &Value| value.kind() == ValueKind::Seq);
    environment.add_test("mapping", |value: &Value| value.kind() == ValueKind::Map);
    environment.add_test("true", |value: &Value| is_boolean(value, true));
    environment.add_test("false", |value: &Value| is_boolean(value, false));
    environment.add_test("odd", |value: &Value| {
        value.as_i64().is_some_and(|value| value % 2 != 0)
    });
    environment.add_test("even", |value: &Value| {
        value.as_i64().is_some_and(|value| value % 2 == 0)
    });
}

fn add_filters(environment: &mut Environment<'static>) {
    environment.add_filter(GUARD, |value: Value| match value.kind() {
        ValueKind::String | ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => Err(invalid(
            format!("only numbers can be multiplied, not {}", describe(&value)),
        )),
        _ => Ok(value),
    });
    environment.add_filter("lower", |value: &Value| {
        text_of("lower", value, str::to_lowercase)
    });
    environment.add_filter("upper", |value: &Value| {
        text_of("upper", value, str::to_uppercase)
    });
    environment.add_filter("trim", |value: &Value| {
        text_of("trim", value, |text| text.trim().to_owned())
    });
    environment.add_filter("length", length);
    environment.add_filter("count", length);
    environment.add_filter("first", |value: &Value| item(value, 0));
    environment.add_filter("last", |value: &Value| item(value, -1));
    environment.add_filter("default", default);
    environment.add_filter("d", default);
    environment.add_filter("string", |value: &Value| {
        present(value, |value| match value.kind() {
            ValueKind::Bool | ValueKind::Number => Ok(Value::from(value.to_string())),
            ValueKind::String => Ok(value.clone()),
            _ => Err(invalid(format!(
                "cannot make a text of {}",
                describe(value)
            ))),
        })
    });
    environment.add_filter("float", |value: &Value| {
        present(value, |value| number(value).map(Value::from))
    });
    environment.add_filter("int", |value: &Value| {
        present(value, |value| match value.as_i64() {
            Some(whole) if value.is_integer() => Ok(Value::from(whole)),
            _ => number(value).map(|number| Value::from(number.trunc() as i64)),
        })
    });
    environment.add_filter("abs", |value: &Value| {
        present(value, |value| filters::abs(value.clone()))
    });
    environment.add_filter("round", |value: &Value, digits: Option<i32>| {
        present(value, |value| round(value, digits.unwrap_or(0)))
    });
}

fn is_missing(value: &Value) -> bool {
    value.is_undefined() || value.is_none()
}

fn is_boolean(value: &Value, expected: bool) -> bool {
    value.kind() == ValueKind::Bool && value.is_true() == expected
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

/// Whether two values are of one kind and equal, all the way down. Each item costs fuel, since a
/// short expression can make a very long list.
fn equal(state: &State, left: &Value, right: &Value) -> Result<bool, Error> {
    if is_list(left) && is_list(right) {
        return equal_lists(state, left, right);
    }
    if left.kind() != right.kind() || left.is_undefined() {
        return Ok(false);
    }
    if left.kind() == ValueKind::Map {
        equal_mappings(state, left, right)
    } else {
        Ok(left == right)
    }
}

fn equal_lists(state: &State, left: &Value, right: &Value) -> Result<bool, Error> {
    let (mut left, mut right) = (left.try_iter()?, right.try_iter()?);
    loop {
        state.consume_fuel(1)?;
        match (left.next(), right.next()) {
            (None, None) => return Ok(true),
            (Some(left), Some(right)) if equal(state, &left, &right)? => {}
            _ => return Ok(false),
        }
    }
}

fn equal_mappings(state: &State, left: &Value, right: &Value) -> Result<bool, Error> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for key in left.try_iter()? {
        state.consume_fuel(1)?;
        if !equal(state, &left.get_item(&key)?, &right.get_item(&key)?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn ordered(left: &Value, right: &Value, fits: fn(Ordering) -> bool) -> Result<bool, Error> {
    if is_missing(left) || is_missing(right) {
        return Ok(false);
    }
    match (left.kind(), right.kind()) {
        (ValueKind::Number, ValueKind::Number) | (ValueKind::String, ValueKind::String) => {
            Ok(fits(left.cmp(right)))
        }
        (ValueKind::Number, ValueKind::String) | (ValueKind::String, ValueKind::Number) => {
            Err(invalid(format!(
                "cannot say which of {} and {} is greater; make a number of the text with `| float`",
                describe(left),
                describe(right)
            )))
        }
        _ => Err(invalid(format!(
            "cannot say which of {} and {} is greater",
            describe(left),
            describe(right)
        ))),
    }
}

fn contained(state: &State, value: &Value, container: &Value) -> Result<bool, Error> {
    if is_missing(container) || value.is_undefined() {
        return Ok(false);
    }
    if let Some(text) = container.as_str() {
        return match value.as_str() {
            Some(part) => Ok(memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some()),
            None => Err(invalid(format!(
                "cannot look for {} in a text; quote it, or use `| string`",
                describe(value)
            ))),
        };
    }
    match container.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            for item in container.try_iter()? {
                state.consume_fuel(1)?;
                if equal(state, &item, value)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        ValueKind::Map => Ok(container
            .get_item(value)
            .is_ok_and(|found| !found.is_undefined())),
        _ => Err(invalid(format!(
            "cannot look for anything in {}",
            describe(container)
        ))),
    }
}

/// A test of two texts; false where one is missing.
fn texts(
    name: &str,
    left: &Value,
    right: &Value,
    test: fn(&str, &str) -> Result<bool, Error>,
) -> Result<bool, Error> {
    match (left.as_str(), right.as_str()) {
        (Some(left), Some(right)) => test(left, right),
        _ if is_missing(left) || is_missing(right) => Ok(false),
        (None, _) => Err(invalid(format!(
            "`{name}` tests text, found {}",
            describe(left)
        ))),
        (_, None) => Err(invalid(format!(
            "`{name}` wants a text, found {}",
            describe(right)
        ))),
    }
}

/// Whether the pattern is found anywhere in the text.
fn matches(text: &str, pattern: &str) -> Result<bool, Error> {
    const MOST_PATTERNS: usize = 64;
    thread_local! {
        static PATTERNS: RefCell<HashMap<String, Regex>> = RefCell::new(HashMap::new());
    }
    PATTERNS.with_borrow_mut(|patterns| {
        if let Some(regex) = patterns.get(pattern) {
            return Ok(regex.is_match(text));
        }
        let regex = Regex::new(pattern).map_err(|error| not_a_pattern(pattern, &error))?;
        let found = regex.is_match(text);
        if patterns.len() >= MOST_PATTERNS {
            patterns.clear();
        }
        patterns.insert(pattern.to_owned(), regex);
        Ok(found)
    })
}

/// The error without the drawing that the regex crate puts before it.
fn not_a_pattern(pattern: &str, error: &regex::Error) -> Error {
    let error = error.to_string();
    let reason = error
        .lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("error: ");
    invalid(format!(
        "`{}` is not a regular expression: {reason}",
        shortened(pattern)
    ))
}

/// Hands a missing or null value on as missing.
fn present(
    value: &Value,
    filter: impl FnOnce(&Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    if is_missing(value) {
        Ok(Value::UNDEFINED)
    } else {
        filter(value)
    }
}

fn text_of(name: &str, value: &Value, change: impl Fn(&str) -> String) -> Result<Value, Error> {
    present(value, |value| match value.as_str() {
        Some(text) => Ok(Value::from(change(text))),
        None => Err(invalid(format!(
            "`{name}` takes text, found {}",
            describe(value)
        ))),
    })
}

fn length(value: &Value) -> Result<Value, Error> {
    present(value, |value| match value.len() {
        Some(length) => Ok(Value::from(length)),
        None => Err(invalid(format!("{} has no length", describe(value)))),
    })
}

fn item(value: &Value, position: i64) -> Result<Value, Error> {
    present(value, |value| match value.kind() {
        ValueKind::Seq => value.get_item(&Value::from(position)),
        _ => Err(invalid(format!(
            "`first` and `last` take a list, found {}",
            describe(value)
        ))),
    })
}

fn default(value: &Value, other: Value) -> Value {
    if is_missing(value) {
        other
    } else {
        value.clone()
    }
}

fn round(value: &Value, digits: i32) -> Result<Value, Error> {
    let unit = 10_f64.powi(digits.clamp(-300, 300));
    let rounded = (number(value)? * unit).round() / unit;
    Ok(if rounded.is_finite() {
        Value::from(rounded)
    } else {
        value.clone()
    })
}

fn number(value: &Value) -> Result<f64, Error> {
    let number = match value.as_str() {
        Some(text) => text.trim().parse().ok(),
        None if value.is_number() => f64::try_from(value.clone()).ok(),
        None => None,
    };
    number
        .filter(|number| number.is_finite())
        .ok_or_else(|| invalid(format!("{} is not a number", describe(value))))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// The value as an error text names it.
pub(super) fn describe(value: &Value) -> String {
    match value.kind() {
        ValueKind::Undefined => "a missing value".to_owned(),
        ValueKind::None => "null".to_owned(),
        ValueKind::Bool => format!("`{}`", value.is_true()),
        ValueKind::Number => format!("the number `{value}`"),
        ValueKind::String => format!(
            "the text `{}`",
            shortened(value.as_str().unwrap_or_default())
        ),
        ValueKind::Seq | ValueKind::Iterable => "a list".to_owned(),
        ValueKind::Map => "a mapping".to_owned(),
        _ => "something that is not a value".to_owned(),
    }
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    match beginning(text, LONGEST) {
        Some(beginning) => format!("{}…", beginning.escape_debug()),
        None => text.escape_debug().to_string(),
    }
}
