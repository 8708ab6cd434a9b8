//! Seriot's JSON parsing test suite: what must parse, and what must be refused.
//!
//! Bytes that are no UTF-8 cannot be an output: they are put into a file of records as they are, and the
//! reader has to refuse the line.

use super::{Case, Lydite, lines, open, scratch, text_at, verdict_differs};
use anyhow::{Context, Result, bail};
use data_encoding::BASE64;
use serde_json::{Value, json};
use std::path::Path;

/// The id of a record that must be judged, so that a file that is refused whole does not count as agreement.
const SENTINEL: &str = "sentinel";

pub(super) fn cases(dir: &Path, lydite: &Lydite) -> Result<Vec<Case>> {
    // A label of null is left to the implementation.
    let decided: Vec<Value> = open(dir)?
        .into_iter()
        .filter(|test| test.get("label").is_some_and(Value::is_boolean))
        .collect();
    let (texts, bytes): (Vec<&Value>, Vec<&Value>) = decided
        .iter()
        .partition(|test| test.get("output").is_some_and(Value::is_string));
    let mut cases = judged(&texts, lydite)?;
    cases.extend(refused(&bytes, lydite)?);
    Ok(cases)
}

/// The suite of the one check that is asked about.
fn suite() -> Value {
    json!({"version": 1, "name": "json", "checks": [{"evaluator": "json_validity", "name": "valid"}]})
}

/// Texts, judged by `json_validity`.
fn judged(tests: &[&Value], lydite: &Lydite) -> Result<Vec<Case>> {
    let folder = scratch()?;
    let records = tests
        .iter()
        .map(|test| json!({"id": test.get("id"), "output": test.get("output")}));
    let found = lydite.judge(folder.path(), &suite(), &lines(records))?;
    tests
        .iter()
        .map(|test| {
            let id = text_at(test, "/id")?;
            let expected = test
                .get("label")
                .and_then(Value::as_bool)
                .unwrap_or_default();
            Ok(Case {
                id: id.to_owned(),
                group: if expected {
                    "must parse"
                } else {
                    "must be refused"
                }
                .to_owned(),
                wrong: verdict_differs(found.get(id), "valid", expected),
            })
        })
        .collect()
}

/// Bytes that are no UTF-8, all of which the reader must refuse.
fn refused(tests: &[&Value], lydite: &Lydite) -> Result<Vec<Case>> {
    let mut records = lines([json!({"id": SENTINEL, "output": "{}"})]);
    for test in tests {
        let raw = BASE64
            .decode(text_at(test, "/meta/base64")?.as_bytes())
            .context("meta.base64 is no base64")?;
        records.extend(record_of_bytes(text_at(test, "/id")?, &raw));
    }
    let folder = scratch()?;
    let found = lydite.judge(folder.path(), &suite(), &records)?;
    if verdict_differs(found.get(SENTINEL), "valid", true).is_some() {
        bail!("the good record beside lines that are no UTF-8 was not judged");
    }
    tests
        .iter()
        .map(|test| {
            let id = text_at(test, "/id")?;
            let wrong = found
                .contains_key(id)
                .then(|| "was read, must be refused".to_owned());
            Ok(Case {
                id: id.to_owned(),
                group: "must be refused, no UTF-8".to_owned(),
                wrong,
            })
        })
        .collect()
}

/// A line whose output is these bytes; quotes, backslashes and control characters are escaped, nothing else.
fn record_of_bytes(id: &str, raw: &[u8]) -> Vec<u8> {
    let mut line = format!(r#"{{"id": {}, "output": ""#, json!(id)).into_bytes();
    for &byte in raw {
        match byte {
            b'"' | b'\\' => line.extend([b'\\', byte]),
            0..0x20 => line.extend(format!("\\u{byte:04x}").into_bytes()),
            _ => line.push(byte),
        }
    }
    line.extend(b"\"}\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_they_are() {
        assert_eq!(
            record_of_bytes("a", b"[\"\xE5\n"),
            b"{\"id\": \"a\", \"output\": \"[\\\"\xE5\\u000a\"}\n"
        );
        let readable: Value = serde_json::from_slice(&record_of_bytes("a", b"x\\\"\t")).unwrap();
        assert_eq!(readable["output"], "x\\\"\t");
    }
}
