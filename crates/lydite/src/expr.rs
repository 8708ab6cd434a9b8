//! Expressions for `where:` and `when:`: `metadata.lang == "en" and output | length > 20`.
//!
//! The language is Jinja's, by minijinja, cut to what judges one record: no templates, no
//! functions, no access to anything but the record.
//!
//! - Operators: `and or not`, `== != < <= > >=`, `in`, `not in`, `+ - * / // % ** ~`,
//!   `a if b else c`, `x.key`, `x["odd key"]`, `x[0]`, `x[1:3]`.
//! - Tests, after `is` or `is not`: see [`TESTS`]. Filters, after `|`: see [`FILTERS`].
//!
//! Comparing follows the record, not Jinja:
//!
//! - A missing field, or anything below one, equals nothing: `metadata.lang == "en"` is false and
//!   `metadata.lang != "en"` is true where there is no `lang`. Nothing is before or after a missing
//!   or a null value, so `metadata.score < 0.5` and `metadata.score >= 0.5` are both false. Filters
//!   hand a missing or null value on as missing; `| default(x)` replaces both.
//! - Values of two kinds are never equal: not `1` and `"1"`, not `1` and `true`. To order two kinds
//!   is an error, since `"10" > 5` has no answer; `| float` makes a number of text.
//! - `in` looks for a text in a text, an item in a list, a key in a mapping.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::LazyLock;

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Expression, State, UndefinedBehavior, filters};
use regex::Regex;

pub use minijinja::Value;

use crate::node::did_you_mean;

/// Longest expression, in bytes.
pub const MAX_LENGTH: usize = 2000;
/// How deep brackets may nest.
const MAX_DEPTH: usize = 40;
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

/// A compiled expression. Evaluation shares nothing between threads.
pub struct Expr {
    source: String,
    roots: BTreeSet<String>,
    paths: BTreeSet<String>,
    compiled: Expression<'static, 'static>,
}

/// Why an expression cannot be compiled, or has no answer for a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// What is wrong and what to do.
    pub message: String,
    /// Byte in the expression's source where it is wrong, if that is known.
    pub offset: Option<usize>,
}

impl Expr {
    /// Compiles an expression once for many records.
    ///
    /// # Errors
    /// What is not an expression, an unknown test or filter, a call, and what cannot give `true`
    /// or `false` for any record.
    pub fn compile(source: &str) -> Result<Self, ExprError> {
        if source.len() > MAX_LENGTH {
            let message = format!("the expression is longer than {MAX_LENGTH} bytes; split it");
            return Err(ExprError {
                message,
                offset: None,
            });
        }
        if source.trim().is_empty() {
            return Err(ExprError {
                message:
                    "the expression is empty; write a comparison such as `metadata.lang == \"en\"`"
                        .to_owned(),
                offset: None,
            });
        }
        let rewritten = Rewriter::new(source).run()?;
        let original = ENVIRONMENT
            .compile_expression_owned(source.to_owned())
            .map_err(|error| syntax_error(&error, source))?;
        let roots = original.undeclared_variables(false).into_iter().collect();
        let paths = original.undeclared_variables(true).into_iter().collect();
        let compiled = ENVIRONMENT
            .compile_expression_owned(rewritten)
            .map_err(|error| ExprError {
                message: words_of(&error),
                offset: None,
            })?;
        let expression = Self {
            source: source.to_owned(),
            roots,
            paths,
            compiled,
        };
        expression.try_without_data()?;
        Ok(expression)
    }

    /// The top-level names that the expression reads: `metadata.lang` reads `metadata`.
    pub fn roots(&self) -> &BTreeSet<String> {
        &self.roots
    }

    /// The keys that the expression reads right below a root: `extra.city` reads `city` below
    /// `extra`. `None` where it reads the root as a whole or by a computed key.
    pub fn members(&self, root: &str) -> Option<BTreeSet<&str>> {
        if self.paths.contains(root) {
            return None;
        }
        let below = self.paths.iter().filter_map(|path| path.strip_prefix(root)?.strip_prefix('.'));
        Some(below.map(|rest| rest.split('.').next().unwrap_or(rest)).collect())
    }

    /// The expression as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the record fits. `lookup` gives the value of a root, `None` where the record lacks
    /// it; see [`value_from_json`]. A result that is missing or null counts as false.
    ///
    /// # Errors
    /// Values that cannot be ordered, added or searched, a result that is neither true nor false,
    /// and more work than one record is worth.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Result<bool, ExprError> {
        let result = self.run(lookup).map_err(|error| ExprError {
            message: words_of(&error),
            offset: None,
        })?;
        match result.kind() {
            ValueKind::Bool => Ok(result.is_true()),
            ValueKind::Undefined | ValueKind::None => Ok(false),
            _ => Err(ExprError {
                message: format!(
                    "the expression gave {}, not true or false; compare it, as in `{}`",
                    describe(&result),
                    as_comparison(&self.source, &result)
                ),
                offset: None,
            }),
        }
    }

    fn run(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Result<Value, Error> {
        let fields = self
            .roots
            .iter()
            .filter_map(|root| lookup(root).map(|value| (root.as_str(), value)));
        let context = Value::from_pairs(fields);
        self.compiled.eval(context)
    }

    /// Finds what is wrong whatever the record holds.
    fn try_without_data(&self) -> Result<(), ExprError> {
        if self.roots.is_empty() {
            return self.eval(&|_| None).map(|_| ());
        }
        match self.run(&|_| None) {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::TooManyArguments | ErrorKind::MissingArgument
                ) =>
            {
                Err(ExprError {
                    message: words_of(&error),
                    offset: None,
                })
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Expr").field(&self.source).finish()
    }
}

/// A value for [`Expr::eval`] from the JSON text of a record's field.
///
/// # Errors
/// The text is not JSON.
pub fn value_from_json(json: &str) -> serde_json::Result<Value> {
    serde_json::from_str(json)
}

/// Everything an expression can use; it has no functions and no templates.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
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
        let regex = Regex::new(pattern).map_err(|error| {
            invalid(format!("`{pattern}` is not a regular expression: {error}"))
        })?;
        let found = regex.is_match(text);
        if patterns.len() >= MOST_PATTERNS {
            patterns.clear();
        }
        patterns.insert(pattern.to_owned(), regex);
        Ok(found)
    })
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
fn describe(value: &Value) -> String {
    match value.kind() {
        ValueKind::Undefined => "a missing value".to_owned(),
        ValueKind::None => "null".to_owned(),
        ValueKind::Bool => format!("`{value}`"),
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
    let mut short: String = text
        .chars()
        .take(LONGEST)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

fn as_comparison(source: &str, result: &Value) -> String {
    let source = source.trim();
    match result.kind() {
        ValueKind::String => format!("{source} == \"…\""),
        ValueKind::Number => format!("{source} > 0"),
        _ => format!("({source}) | length > 0"),
    }
}

fn syntax_error(error: &Error, source: &str) -> ExprError {
    let offset = error
        .range()
        .map(|range| range.start)
        .filter(|&offset| offset <= source.len());
    ExprError {
        message: format!("not an expression: {}", words_of(error)),
        offset,
    }
}

fn words_of(error: &Error) -> String {
    if error.kind() == ErrorKind::OutOfFuel {
        return "the expression takes too much work for one record; make it simpler".to_owned();
    }
    let detail = error.detail().filter(|detail| !detail.is_empty());
    detail.map_or_else(|| error.kind().to_string(), str::to_owned)
}

/// Turns `a < b` into `((a) is lt((b)))`, and the other comparisons likewise, since minijinja
/// orders values of different kinds by kind, a missing one before all others, and has no other
/// place to change that. On the way it finds what minijinja explains less well or only later.
struct Rewriter<'s> {
    source: &'s str,
    tokens: std::iter::Peekable<Tokens<'s>>,
    /// End of the token before; what lies between is white space, and kept.
    copied: usize,
    before: Before,
}

/// What stands before a token, as far as it decides the token's meaning.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// The start, an operator, an opening bracket: a value must come.
    Operator,
    Value,
    Dot,
    Pipe,
    Is,
    /// The name of a filter or a test.
    Name,
}

impl<'s> Rewriter<'s> {
    fn new(source: &'s str) -> Self {
        let tokens = Tokens { source, at: 0 }.peekable();
        Self {
            source,
            tokens,
            copied: 0,
            before: Before::Operator,
        }
    }

    fn run(mut self) -> Result<String, ExprError> {
        let mut out = String::with_capacity(self.source.len() * 2);
        self.group(&mut out, 0)?;
        while let Some(token) = self.tokens.next() {
            self.copy(token, &mut out);
        }
        Ok(out)
    }

    /// Everything up to the closing bracket, or the end.
    fn group(&mut self, out: &mut String, depth: usize) -> Result<(), ExprError> {
        let mut left: Option<(String, &'static str, bool)> = None;
        let mut operand = String::new();
        while let Some(&token) = self.tokens.peek() {
            if token.kind == Kind::Close {
                break;
            }
            self.tokens.next();
            self.refuse(token)?;
            if let Some((test, negated)) = self.comparison(token)? {
                if left.is_some() {
                    return Err(at(
                        token,
                        "comparisons cannot be chained; write `a < b and b < c`",
                    ));
                }
                left = Some((std::mem::take(&mut operand), test, negated));
                self.before = Before::Operator;
            } else if self.is_boundary(token) {
                if token.text == "not" && (left.is_some() || !operand.trim().is_empty()) {
                    return Err(at(token, "put brackets around `not` and what it negates"));
                }
                flush(&mut left, &mut operand, out);
                self.copy(token, out);
                self.before = Before::Operator;
            } else {
                self.operand(token, &mut operand, depth)?;
            }
        }
        flush(&mut left, &mut operand, out);
        Ok(())
    }

    fn operand(
        &mut self,
        token: Token<'s>,
        operand: &mut String,
        depth: usize,
    ) -> Result<(), ExprError> {
        self.copy(token, operand);
        self.before = match (token.kind, token.text) {
            (Kind::Open, _) if depth >= MAX_DEPTH => {
                return Err(at(token, format!("brackets nest deeper than {MAX_DEPTH}")));
            }
            (Kind::Open, _) => {
                self.before = Before::Operator;
                self.group(operand, depth + 1)?;
                if let Some(close) = self.tokens.next_if(|token| token.kind == Kind::Close) {
                    self.copy(close, operand);
                }
                Before::Value
            }
            (Kind::Word, _)
                if matches!(self.before, Before::Pipe | Before::Is) && token.text != "not" =>
            {
                Before::Name
            }
            (Kind::Word, "not") if self.before == Before::Is => Before::Is,
            (Kind::Word, "is") if self.before != Before::Dot => Before::Is,
            (Kind::Word | Kind::Number | Kind::Text, _) => Before::Value,
            (_, ".") => Before::Dot,
            (_, "|") => Before::Pipe,
            _ => Before::Operator,
        };
        Ok(())
    }

    /// The test that stands for a comparison, and whether it is negated.
    fn comparison(&mut self, token: Token<'s>) -> Result<Option<(&'static str, bool)>, ExprError> {
        let test = match (token.kind, token.text) {
            (Kind::Symbol, "==") => ("eq", false),
            (Kind::Symbol, "!=") => ("ne", false),
            (Kind::Symbol, "<") => ("lt", false),
            (Kind::Symbol, "<=") => ("le", false),
            (Kind::Symbol, ">") => ("gt", false),
            (Kind::Symbol, ">=") => ("ge", false),
            (Kind::Word, "in") if self.is_keyword() => ("in", false),
            (Kind::Word, "not") if self.before == Before::Value || self.before == Before::Name => {
                match self.tokens.next_if(|next| next.text == "in") {
                    Some(next) => {
                        self.copied = next.start + next.text.len();
                        return Ok(Some(("in", true)));
                    }
                    None => return Err(at(token, "expected `in` after `not`; or `and not`")),
                }
            }
            _ => return Ok(None),
        };
        self.copied = token.start + token.text.len();
        Ok(Some(test))
    }

    fn is_boundary(&self, token: Token<'s>) -> bool {
        match token.kind {
            Kind::Word => {
                self.is_keyword() && matches!(token.text, "and" | "or" | "not" | "if" | "else")
            }
            Kind::Symbol => matches!(token.text, "," | ":" | "="),
            _ => false,
        }
    }

    /// Whether a word that is a keyword is one here, not a key, a filter or a test.
    fn is_keyword(&self) -> bool {
        !matches!(self.before, Before::Dot | Before::Pipe | Before::Is)
    }

    /// What is better said here than by minijinja.
    fn refuse(&self, token: Token<'s>) -> Result<(), ExprError> {
        let next = self.source.as_bytes().get(token.start + token.text.len());
        match (token.kind, token.text) {
            (Kind::Word, name) if self.before == Before::Pipe => {
                known("filter", name, FILTERS, token)
            }
            (Kind::Word, name) if self.before == Before::Is && name != "not" => {
                known("test", name, TESTS, token)
            }
            (Kind::Word, "and" | "or" | "in" | "is" | "if" | "else")
                if self.before == Before::Operator =>
            {
                Err(at(
                    token,
                    format!("expected a value before `{}`", token.text),
                ))
            }
            (Kind::Word, "null" | "nil" | "undefined") if self.is_keyword() => Err(at(
                token,
                "write `none` for null, and `is defined` to ask whether a field is there",
            )),
            (Kind::Open, "(") if self.before == Before::Value => Err(at(
                token,
                "there are no functions or methods; use a filter, as in `output | lower`",
            )),
            (Kind::Symbol, "=") if !self.source.get(..token.start).is_some_and(in_arguments) => {
                Err(at(token, "a single `=` compares nothing; write `==`"))
            }
            (Kind::Symbol, "|") if next == Some(&b'|') => Err(at(token, "write `or` for `||`")),
            (Kind::Symbol, "&") => Err(at(token, "write `and` for `&&`")),
            (Kind::Symbol, "!") => Err(at(token, "write `not` for `!`")),
            _ => Ok(()),
        }
    }

    /// Copies a token with the space before it.
    fn copy(&mut self, token: Token<'s>, out: &mut String) {
        let end = token.start + token.text.len();
        out.push_str(self.source.get(self.copied..end).unwrap_or_default());
        self.copied = end;
    }
}

/// Whether a text ends in an open bracket's content, where `=` names an argument.
fn in_arguments(before: &str) -> bool {
    let depth = Tokens {
        source: before,
        at: 0,
    }
    .fold(0_i32, |depth, token| match token.kind {
        Kind::Open => depth + 1,
        Kind::Close => depth - 1,
        _ => depth,
    });
    depth > 0
}

fn flush(left: &mut Option<(String, &'static str, bool)>, operand: &mut String, out: &mut String) {
    match left.take() {
        Some((left, test, negated)) => {
            let not = if negated { "not " } else { "" };
            out.push_str(&format!(" ({not}({left}) is {test}(({operand})))"));
        }
        None => out.push_str(operand),
    }
    operand.clear();
}

fn known(what: &str, name: &str, names: &[&str], token: Token<'_>) -> Result<(), ExprError> {
    if names.contains(&name) {
        return Ok(());
    }
    let near = did_you_mean(name, names.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
    Err(at(
        token,
        format!(
            "unknown {what} `{name}`{hint}; allowed: {}",
            names.join(", ")
        ),
    ))
}

fn at(token: Token<'_>, message: impl Into<String>) -> ExprError {
    ExprError {
        message: message.into(),
        offset: Some(token.start),
    }
}

#[derive(Clone, Copy, Debug)]
struct Token<'s> {
    kind: Kind,
    text: &'s str,
    start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Word,
    Number,
    Text,
    Open,
    Close,
    Symbol,
}

/// The words, texts, brackets and symbols of an expression.
struct Tokens<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Iterator for Tokens<'s> {
    type Item = Token<'s>;

    fn next(&mut self) -> Option<Token<'s>> {
        let rest = self.source.get(self.at..)?;
        let text = rest.trim_start();
        let start = self.source.len() - text.len();
        let (kind, length) = token_of(text)?;
        self.at = start + length;
        Some(Token {
            kind,
            text: text.get(..length)?,
            start,
        })
    }
}

fn token_of(text: &str) -> Option<(Kind, usize)> {
    let word = |text: &str| {
        let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        end.unwrap_or(text.len())
    };
    let first = text.chars().next()?;
    Some(match first {
        'a'..='z' | 'A'..='Z' | '_' => (Kind::Word, word(text)),
        '0'..='9' => (Kind::Number, word(text)),
        '"' | '\'' => (Kind::Text, quoted(text, first)),
        '(' | '[' | '{' => (Kind::Open, 1),
        ')' | ']' | '}' => (Kind::Close, 1),
        '=' | '!' | '<' | '>' if text.as_bytes().get(1) == Some(&b'=') => (Kind::Symbol, 2),
        _ => (Kind::Symbol, first.len_utf8()),
    })
}

/// Length of a quoted text, its quotes included; an unclosed one goes to the end.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            letter if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn eval(source: &str) -> Result<bool, ExprError> {
        let record = json!({
            "output": "The Größe is 10",
            "query": null,
            "latency_ms": 1250.5,
            "tags": ["a", "b", 3, null],
            "metadata": {
                "lang": "en", "score": 0.75, "text_score": "0.75", "n": 10, "big": 18_446_744_073_709_551_615_u64,
                "flag": true, "off": false, "empty": "", "none": null, "in": "key", "not": 1,
                "odd key": {"x": [1, 2, {"y": "z"}]}, "one": 1,
            },
        });
        Expr::compile(source)?.eval(&|root| {
            record
                .get(root)
                .map(|value| value_from_json(&value.to_string()).unwrap())
        })
    }

    #[test]
    fn answers() {
        let table = [
            // equality and missing fields
            (r#"metadata.lang == "en""#, true),
            (r#"metadata.lang != 'en'"#, false),
            (r#"metadata.missing == "en""#, false),
            (r#"metadata.missing != "en""#, true),
            (r#"metadata.missing.deeper.still == "en""#, false),
            (r#"nowhere.lang == "en""#, false),
            ("not metadata.missing == 1", true),
            ("metadata.missing == metadata.missing", false),
            ("metadata.missing == none", false),
            ("metadata.none == none", true),
            ("query == none", true),
            ("query is none", true),
            ("query is defined", true),
            ("metadata.missing is defined", false),
            ("metadata.missing is not defined", true),
            ("nowhere is undefined", true),
            // kinds
            (r#"metadata.n == "10""#, false),
            ("metadata.n == 10", true),
            ("metadata.n == 10.0", true),
            ("metadata.flag == 1", false),
            ("metadata.one == true", false),
            ("metadata.flag == true", true),
            ("metadata.flag", true),
            ("metadata.off", false),
            ("metadata.missing", false),
            ("metadata.none", false),
            (
                "metadata.flag is boolean and metadata.n is number and metadata.n is integer",
                true,
            ),
            (
                "metadata.score is float and tags is sequence and metadata is mapping",
                true,
            ),
            ("output is string and metadata.off is false", true),
            // order
            ("metadata.score > 0.5", true),
            ("metadata.score < 0.5", false),
            ("metadata.missing < 0.5", false),
            ("metadata.missing >= 0.5", false),
            ("0.5 > metadata.missing", false),
            ("not (metadata.missing < 0.5)", true),
            ("metadata.none < 1 or metadata.none >= 1", false),
            ("metadata.big > 18446744073709551614", true),
            (r#"metadata.lang < "fr""#, true),
            ("latency_ms <= 1250.5", true),
            ("metadata.text_score | float > 0.5", true),
            ("metadata.missing | float > 0.5", false),
            ("metadata.n is gt 9 and metadata.n is le(10)", true),
            ("metadata.n + 1 > metadata.n * 2 - 10", true),
            ("(metadata.n > 5) == (metadata.score > 0.5)", true),
            ("-metadata.n < -5", true),
            // in
            (r#""Größe" in output"#, true),
            (r#""size" not in output"#, true),
            (r#"metadata.lang in ["en", "de"]"#, true),
            (r#"metadata.lang not in ["en", "de"]"#, false),
            (r#"metadata.missing in ["en"]"#, false),
            (r#""x" in metadata.missing"#, false),
            (r#""x" in query"#, false),
            ("3 in tags and none in tags", true),
            (r#""3" in tags"#, false),
            (r#""lang" in metadata"#, true),
            (r#""key" in metadata"#, false),
            (r#"metadata.lang is in ["en"]"#, true),
            (r#"metadata.lang is not in ["en"]"#, false),
            // keys, also odd ones
            (r#"metadata["odd key"].x[2].y == "z""#, true),
            (r#"metadata["odd key"].x.0 == 1"#, true),
            (r#"metadata["odd key"].x[-2] == 2"#, true),
            (r#"metadata["odd key"].x[9] == 2"#, false),
            (r#"metadata.in == "key" and metadata.not == 1"#, true),
            // logic
            (r#"metadata.lang == "en" and metadata.n > 5 or false"#, true),
            (r#"not metadata.lang == "en""#, false),
            (r#"true if metadata.n > 5 else false"#, true),
            (r#"(1 if metadata.n > 50 else 2) == 2"#, true),
            (r#"[1, metadata.n > 5] == [1, true]"#, true),
            ("[1, [1]] == [1, [true]]", false),
            ("[1] == [1, 2] or [1, 2] == [1]", false),
            (r#"{"a": [1]} == {"a": [1.0]}"#, true),
            (
                r#"{"a": 1} == {"b": 1} or {"a": 1} == {"a": 1, "b": 2}"#,
                false,
            ),
            ("tags == tags and metadata == metadata", true),
            (r#"{"a": metadata.n > 5}.a == true"#, true),
            // tests and filters
            ("output | length == 15", true),
            ("(output | length) > 10 and tags | count == 4", true),
            ("metadata.missing | length > 0", false),
            ("metadata.missing | default(0) == 0", true),
            (r#"query | d("x") == "x""#, true),
            (r#"output | lower is startingwith "the gr""#, true),
            (r#"output | upper | trim is endingwith("10")"#, true),
            (r#"output is matches "\\d+$""#, true),
            (r#"output is matches("^\\d")"#, false),
            (r#"metadata.missing is matches "x""#, false),
            (r#"metadata.missing is not matches "x""#, true),
            (
                "metadata.empty is empty and query is empty and tags is not empty",
                true,
            ),
            (r#"tags | first == "a" and tags | last == none"#, true),
            ("metadata.score | round(1) == 0.8", true),
            (
                "metadata.score | int == 0 and metadata.n | string == '10'",
                true,
            ),
            ("-3 | abs == 3", true),
            ("metadata.n is even and 3 is odd", true),
            (
                "metadata.n % 3 == 1 and metadata.n // 3 == 3 and 2 ** 3 == 8",
                true,
            ),
            (r#"metadata.lang ~ "-" ~ metadata.n == "en-10""#, true),
            (r#"'a == b' == "a == b""#, true),
            (r#""quote\" in (" != 'x'"#, true),
            ("true", true),
            ("  \n false\n", false),
        ];
        for (source, expected) in table {
            assert_eq!(eval(source), Ok(expected), "{source}");
        }
    }

    #[test]
    fn roots_are_the_names_that_are_read() {
        let table: &[(&str, &[&str])] = &[
            (
                r#"metadata.lang == "output" and "x" in output"#,
                &["metadata", "output"],
            ),
            (
                r#"metadata[query].x | default(reference) == 1"#,
                &["metadata", "query", "reference"],
            ),
            ("true", &[]),
        ];
        for (source, roots) in table {
            let expression = Expr::compile(source).unwrap();
            assert!(
                expression.roots().iter().eq(roots.iter()),
                "{source}: {:?}",
                expression.roots()
            );
        }
    }

    #[test]
    fn errors() {
        let table = [
            "",
            "metadata.lang = \"en\"",
            "output | default(x = 1) == 2",
            "metadata.lang == \"en\" && true",
            "a || b",
            "!a",
            "a === b",
            "a <> b",
            "1 < a < 3",
            "a == null",
            "output.lower() == 'x'",
            "range(10) == 1",
            "open('x')",
            "output | lowercase == 'x'",
            "output | tojson == 'x'",
            "output is start 'x'",
            "metadata.lang ==",
            "== 3",
            "(a == 1",
            "a == 1)",
            "a == \"x",
            "a b",
            "a not b",
            "{{ a }}",
            "{% if a %}",
            "größe == 1",
            "a | length(3) == 1",
            "a | default == 1",
            "5",
            "'text'",
            "[1]",
            "1 < 'x'",
            "output",
            "metadata.n",
            "metadata.text_score > 0.5",
            "metadata.flag > 1",
            "tags > 1",
            "10 in output",
            "'x' in metadata.n",
            "metadata.n | lower == 'x'",
            "metadata.n is startingwith '1'",
            "output | float > 1",
            "output is matches '('",
            "metadata.missing + 1 > 2",
            "metadata.n / 0 > 2",
            "metadata.n | length > 2",
            "'x' * 99999999999 == output",
            "'x' * 90000000 * 2 * 2 == output",
            "1 == not a",
            "a + not b",
            "a == and",
            "'y' in ['x'] * 90000000",
            "[[1] * 9000000] * 9000000 == [[1] * 9000000] * 9000000",
            "['x'] * 90000000 ~ 'y' == output",
            "['x'] * 90000000 | string == output",
            "tags * 90000000 == tags * 90000000",
        ];
        let mut told = String::new();
        for source in table {
            let error = eval(source).expect_err(source);
            let offset = error
                .offset
                .map_or("-".to_owned(), |offset| offset.to_string());
            told += &format!("{source}\n  {offset}: {error}\n");
        }
        insta::assert_snapshot!(told);
    }

    #[test]
    fn long_and_deep_expressions_end() {
        let long = [
            "x".repeat(MAX_LENGTH + 1),
            "not ".repeat(499) + "a",
            "-".repeat(1999) + "a",
            "(".repeat(1000),
            "[".repeat(1000) + &"]".repeat(1000),
            "a.".repeat(999) + "a",
            "a".to_owned() + &"+1".repeat(999) + "==2",
            "a".to_owned() + &" and a".repeat(330),
            "a".to_owned() + &"|d(1)".repeat(380),
            "a".to_owned() + &" is defined".repeat(180),
            "a".to_owned() + &" if a".repeat(390),
            "1 if a else ".repeat(160) + "2",
            "a[".repeat(900),
            "a".to_owned() + &"[0]".repeat(660),
            "2".to_owned() + &"**2".repeat(660) + " > 1",
        ];
        for source in long {
            if let Ok(expression) = Expr::compile(&source) {
                let _ = expression.eval(&|_| Some(Value::from(1)));
            }
        }
    }

    #[test]
    fn expressions_are_shared_between_threads() {
        fn shared<T: Send + Sync + 'static>(value: T) -> T {
            value
        }
        let expression = shared(Expr::compile("n > 1").unwrap());
        std::thread::scope(|scope| {
            for n in 0..4 {
                let expression = &expression;
                scope.spawn(move || {
                    assert_eq!(expression.eval(&|_| Some(Value::from(n))), Ok(n > 1))
                });
            }
        });
        assert_eq!(format!("{expression:?}"), r#"Expr("n > 1")"#);
    }

    /// Expressions over numbers, where Jinja's own meaning and ours are the same.
    fn numeric() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("a".to_owned()),
            Just("b.c".to_owned()),
            (0..4).prop_map(|n: i32| n.to_string())
        ];
        let sum = leaf.prop_recursive(3, 12, 2, |inner| {
            (
                inner.clone(),
                prop_oneof![Just("+"), Just("-"), Just(" * ")],
                inner,
            )
                .prop_map(|(left, op, right)| format!("({left}{op}{right})"))
        });
        let comparison = (
            sum.clone(),
            prop_oneof![
                Just("=="),
                Just("!="),
                Just(" < "),
                Just("<="),
                Just(">"),
                Just(" >=")
            ],
            sum,
        )
            .prop_map(|(left, op, right)| format!("{left}{op}{right}"));
        comparison.prop_recursive(4, 24, 2, |inner| {
            prop_oneof![
                (
                    inner.clone(),
                    prop_oneof![Just("and"), Just("or")],
                    inner.clone()
                )
                    .prop_map(|(left, op, right)| format!("{left} {op} {right}")),
                inner.clone().prop_map(|inner| format!("not ({inner})")),
                (inner.clone(), inner.clone(), inner)
                    .prop_map(|(a, b, c)| format!("({a} if {b} else {c})")),
            ]
        })
    }

    proptest! {
        #[test]
        fn numbers_compare_as_in_jinja(source in numeric(), a in 0..4, c in 0..4) {
            prop_assume!(source.len() <= MAX_LENGTH);
            let ours = Expr::compile(&source).unwrap();
            let lookup = |root: &str| Some(if root == "a" { json!(a) } else { json!({"c": c}) }).map(|value| value_from_json(&value.to_string()).unwrap());
            let jinja = Environment::new();
            let theirs = jinja.compile_expression(&source).unwrap();
            let theirs = theirs.eval(minijinja::context! { a => a, b => minijinja::context! { c => c } }).unwrap();
            prop_assert_eq!(ours.eval(&lookup).unwrap(), theirs.is_true());
        }

        #[test]
        fn any_text_compiles_or_is_refused(source in "[ab.0-9 ()=<>!|'\"\\[\\],{}~+*:-]{0,40}|(a |b |not |in |is |and |or |== |< |\\(|\\)|\\| |length |defined |if |else |1 |'x' ){0,12}") {
            if let Ok(expression) = Expr::compile(&source) {
                let _ = expression.eval(&|_| Some(Value::from(1)));
            } else if let Ok(rewritten) = Rewriter::new(&source).run() {
                // Whatever Jinja takes is still an expression after rewriting.
                if ENVIRONMENT.compile_expression(&source).is_ok() {
                    prop_assert!(ENVIRONMENT.compile_expression_owned(rewritten.clone()).is_ok(), "{}", rewritten);
                }
            }
        }
    }
}
