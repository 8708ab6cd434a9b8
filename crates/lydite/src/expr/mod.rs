//! Expressions for `where:` and `when:`: `metadata.lang == "en" and output | length > 20`.
//!
//! The language is Jinja's, by minijinja, cut to what judges one record: no templates, no
//! functions, no access to anything but the record.
//!
//! - Operators: `and or not`, `== != < <= > >=`, `in`, `not in`, `+ - * / // % **`,
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

mod library;
mod rewrite;

use std::collections::BTreeSet;
use std::fmt;

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Expression};

pub use library::{FILTERS, TESTS};
pub use minijinja::Value;

use library::{ENVIRONMENT, describe};
use rewrite::rewrite;

/// Longest expression, in bytes.
pub const MAX_LENGTH: usize = 2000;

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
        let rewritten = rewrite(source)?;
        let compiled = ENVIRONMENT
            .compile_expression_owned(rewritten)
            .map_err(|error| syntax_error(&error, source))?;
        let roots = compiled.undeclared_variables(false).into_iter().collect();
        let paths = compiled.undeclared_variables(true).into_iter().collect();
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
        let below = self
            .paths
            .iter()
            .filter_map(|path| path.strip_prefix(root)?.strip_prefix('.'));
        Some(
            below
                .map(|rest| rest.split('.').next().unwrap_or(rest))
                .collect(),
        )
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

fn as_comparison(source: &str, result: &Value) -> String {
    let source = source.trim();
    match result.kind() {
        ValueKind::String => format!("{source} == \"…\""),
        ValueKind::Number => format!("{source} > 0"),
        _ => format!("({source}) | length > 0"),
    }
}

/// The error of the expression as it was written, which knows the place.
///
/// In brackets like the rewritten one, so that it cannot be right where that is wrong, and no
/// constants are computed here.
fn syntax_error(rewritten: &Error, source: &str) -> ExprError {
    let original = ENVIRONMENT
        .compile_expression_owned(format!("({source})"))
        .err();
    let range = original.as_ref().and_then(Error::range);
    let words = words_of(original.as_ref().unwrap_or(rewritten));
    let words = words.trim_end_matches(", expected `)`");
    ExprError {
        message: format!("not an expression: {words}"),
        offset: range.map(|range| range.start.saturating_sub(1).min(source.len())),
    }
}

fn words_of(error: &Error) -> String {
    if error.kind() == ErrorKind::OutOfFuel {
        return "the expression takes too much work for one record; make it simpler".to_owned();
    }
    let detail = error.detail().filter(|detail| !detail.is_empty());
    detail.map_or_else(|| error.kind().to_string(), str::to_owned)
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
            (r"metadata.lang != 'en'", false),
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
            (
                "metadata.n*2 == 20 and 2 * -metadata.n == -20 and 2 * 3 ** 2 * 1 == 18",
                true,
            ),
            (
                "metadata.n * (1 + 2) * 2 - 1 == 59 and 2 * metadata.n | int == '20'",
                false,
            ),
            (
                "2 * tags[2] + 1 == 7 and (metadata.n - 8) * 2 in [4] and 1.5 * 2 | round == 3",
                true,
            ),
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
            (r"true if metadata.n > 5 else false", true),
            (r"(1 if metadata.n > 50 else 2) == 2", true),
            (r"[1, metadata.n > 5] == [1, true]", true),
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
            (
                r#"metadata.lang + "-" + (metadata.n | string) == "en-10""#,
                true,
            ),
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
                r"metadata[query].x | default(reference) == 1",
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
            "a == \"x\" \"",
            "a \"",
            "a == 1 §",
            "a §",
            "a, b",
            "a) or (b",
            "(a or b] == 1",
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
            "tags * 20000000 == tags * 20000000",
            "{tags * 20000000: 1}[tags * 20000000] == 1",
            "{tags * 20000000: 1, tags * 20000000: 2} == 1",
            "metadata[tags * 20000000] == 1 and 1",
            "(tags * 20000000)[::-1] == tags",
            "(tags * 20000000)[3:] == tags",
            "(tags * 20000000 + tags * 20000000)[3:] == tags",
            "(tags * 20000000) | last + 1 == 1",
            "tags * 20000000 - 1 == 1",
            "'%s' % (tags * 20000000) == 1",
        ];
        let mut told = String::new();
        for source in table {
            let started = std::time::Instant::now();
            let error = eval(source).expect_err(source);
            assert!(started.elapsed().as_secs() < 5, "{source}");
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
                    assert_eq!(expression.eval(&|_| Some(Value::from(n))), Ok(n > 1));
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
            let jinja = minijinja::Environment::new();
            let theirs = jinja.compile_expression(&source).unwrap();
            let theirs = theirs.eval(minijinja::context! { a => a, b => minijinja::context! { c => c } }).unwrap();
            prop_assert_eq!(ours.eval(&lookup).unwrap(), theirs.is_true());
        }

        #[test]
        fn any_text_compiles_or_is_refused(source in "[ab.0-9 ()=<>!|'\"\\[\\],{}~+*:-]{0,40}|(a |b |not |in |is |and |or |== |< |\\(|\\)|\\| |length |defined |if |else |1 |'x' ){0,12}") {
            if let Ok(expression) = Expr::compile(&source) {
                let _ = expression.eval(&|_| Some(Value::from(1)));
            }
            // What is rewritten is an expression if, and only if, it was one for minijinja.
            if let Ok(rewritten) = rewrite(&source) && !source.trim().is_empty() {
                let jinja = ENVIRONMENT.compile_expression_owned(format!("({source})")).is_ok();
                let ours = ENVIRONMENT.compile_expression_owned(rewritten.clone()).is_ok();
                prop_assert_eq!(ours, jinja, "{}", rewritten);
            }
        }
    }
}
