//! Agreement with the public test suites for JSON and JSON Schema. The suites are not part of this
//! repository: the tests run with `LYDITE_DATA` naming the folder that has them, by
//! `cargo test -p lydite --lib conformance -- --ignored --nocapture`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::{Schema, SchemaOptions, is_valid, parse};

#[test]
#[ignore = "needs the folder of test suites in LYDITE_DATA"]
fn json_test_suite() {
    let Some(rows) = rows("json_test_suite/open.jsonl") else {
        return;
    };
    let mut wrong = Vec::new();
    for row in &rows {
        let bytes = match (&row["meta"]["base64"], &row["output"]) {
            (Value::String(exact), _) => base64(exact),
            (_, Value::String(text)) => text.clone().into_bytes(),
            _ => panic!("{} has no text", row["id"]),
        };
        let text = std::str::from_utf8(&bytes);
        let checked = text.is_ok_and(|text| is_valid(text).is_ok());
        let parsed = text.is_ok_and(|text| parse(text).is_ok());
        if row["label"].as_bool().is_some_and(|label| checked != label) {
            wrong.push(format!("{} checked", row["id"]));
        }
        // Duplicate keys and depth are legal, and refused by `parse` alone.
        if row["label"] == false && parsed {
            wrong.push(format!("{} parsed", row["id"]));
        }
        if row["label"] == true && !parsed {
            println!(
                "refused by parse: {} {}",
                row["id"],
                parse(text.expect("UTF-8")).expect_err("refused")
            );
        }
    }
    println!(
        "json_test_suite: {} rows, {} wrong",
        rows.len(),
        wrong.len()
    );
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
#[ignore = "needs the folder of test suites in LYDITE_DATA"]
fn json_schema_test_suite() {
    let Some(rows) = rows("json_schema_test_suite/open.jsonl") else {
        return;
    };
    let remotes = data("json_schema_test_suite/remotes.json").expect("remotes");
    let documents: BTreeMap<String, Value> = serde_json::from_str(&remotes).expect("JSON");
    let mut tally: BTreeMap<(String, bool), (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for row in &rows {
        let meta = &row["meta"];
        let optional = meta["optional"] == true;
        let draft = meta["draft"].as_str().expect("draft");
        let mut schema: Value =
            serde_json::from_str(row["reference"].as_str().expect("schema")).expect("JSON");
        if let Value::Object(schema) = &mut schema {
            schema
                .entry("$schema")
                .or_insert_with(|| dialect(draft).into());
        }
        let formats = optional
            && meta["file"]
                .as_str()
                .is_some_and(|file| file.contains("/format"));
        let options = SchemaOptions {
            strict: false,
            formats,
        };
        let instance = row["output"].as_str().expect("instance");
        let found = match (
            Schema::compile(&schema, &documents, options),
            parse(instance),
        ) {
            (Ok(schema), Ok(instance)) => {
                let valid = schema.is_valid(&instance);
                assert_eq!(
                    valid,
                    schema.violations(&instance).is_empty(),
                    "{}",
                    row["id"]
                );
                Ok(valid)
            }
            (Err(error), _) => Err(error.to_string()),
            (_, Err(error)) => Err(error.to_string()),
        };
        let right = found.as_ref().ok() == row["label"].as_bool().as_ref();
        let count = tally.entry((draft.to_owned(), optional)).or_default();
        count.0 += usize::from(right);
        count.1 += 1;
        if !right {
            let line = format!(
                "{} {} / {}: {found:?}",
                row["id"], meta["group"], meta["test"]
            );
            if optional {
                println!("optional: {line}");
            } else {
                wrong.push(line);
            }
        }
    }
    println!("{tally:#?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn dialect(draft: &str) -> &'static str {
    match draft {
        "draft4" => "http://json-schema.org/draft-04/schema#",
        "draft6" => "http://json-schema.org/draft-06/schema#",
        "draft7" => "http://json-schema.org/draft-07/schema#",
        "draft2019-09" => "https://json-schema.org/draft/2019-09/schema",
        "draft2020-12" => "https://json-schema.org/draft/2020-12/schema",
        other => panic!("unknown draft {other}"),
    }
}

fn data(file: &str) -> Option<String> {
    let folder = PathBuf::from(std::env::var_os("LYDITE_DATA")?);
    Some(std::fs::read_to_string(folder.join(file)).expect(file))
}

fn rows(file: &str) -> Option<Vec<Value>> {
    let text = data(file)?;
    let lines = text.split('\n').filter(|line| !line.is_empty());
    Some(
        lines
            .map(|line| serde_json::from_str(line).expect(file))
            .collect(),
    )
}

fn base64(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter_map(|byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    });
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for digit in digits {
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
