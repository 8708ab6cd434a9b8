//! An expression and a record: an answer or an error, the same each time, within bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lydite::expr::{Expr, ExprError, Value, value_from_json};
use serde_json::{Map, Value as Json};

const RECORD: &str = r#"{"output": "Ja, 30 days", "tags": ["a", "b"], "metadata": {"lang": "de", "n": 7, "none": null}, "trial": 2, "cost_usd": 0.5}"#;

fuzz_target!(|text: &str| {
    let (source, record) = text.split_once('\0').unwrap_or((text, RECORD));
    let record: Map<String, Json> = serde_json::from_str(record).unwrap_or_default();
    let expression = match Expr::compile(source) {
        Ok(expression) => expression,
        Err(error) => return check(source, &error),
    };
    let lookup =
        |root: &str| -> Option<Value> { value_from_json(&record.get(root)?.to_string()).ok() };
    let (first, second) = (expression.eval(&lookup), expression.eval(&lookup));
    assert_eq!(first, second);
    if let Err(error) = first {
        check(source, &error);
    }
    let nothing = expression.eval(&|_| None);
    assert!(
        !expression.roots().is_empty() || nothing.is_ok(),
        "{nothing:?} without data, found too late"
    );
    for root in expression.roots() {
        let _ = expression.members(root);
    }
});

fn check(source: &str, error: &ExprError) {
    assert!(!error.message.is_empty());
    if let Some(offset) = error.offset {
        assert!(
            source.is_char_boundary(offset),
            "{error:?} is outside of {source:?}"
        );
    }
}
