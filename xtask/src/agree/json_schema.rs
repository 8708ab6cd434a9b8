//! The official JSON Schema test suite: its required tests, drafts 4 to 2020-12.

use super::{Case, Lydite, lines, open, scratch, text_at, verdict_differs};
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

/// The drafts that are judged, and the `$schema` that chooses each.
const DRAFTS: [(&str, &str); 5] = [
    ("draft4", "http://json-schema.org/draft-04/schema#"),
    ("draft6", "http://json-schema.org/draft-06/schema#"),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
    (
        "draft2019-09",
        "https://json-schema.org/draft/2019-09/schema",
    ),
    (
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    ),
];

/// Parts of addresses of documents for drafts that are not judged.
const OTHER_DRAFTS: [&str; 3] = ["/v1/", "/draft3/", "/draft-next/"];

pub(super) fn cases(dir: &Path, lydite: &Lydite) -> Result<Vec<Case>> {
    let required: Vec<Value> = open(dir)?
        .into_iter()
        .filter(|record| record.pointer("/meta/optional") == Some(&Value::Bool(false)))
        .collect();
    let folder = scratch()?;
    let suite = json!({
        "version": 1,
        "name": "json-schema",
        "checks": [{
            "evaluator": "json_schema_validation",
            "name": "valid",
            "params": {"schema": "{{ reference }}", "schemas": remotes(dir, folder.path())?},
        }],
    });
    let records = required.iter().map(record).collect::<Result<Vec<_>>>()?;
    let found = lydite.judge(folder.path(), &suite, &lines(records))?;
    required
        .iter()
        .map(|record| {
            let id = text_at(record, "/id")?;
            let expected = record
                .get("label")
                .and_then(Value::as_bool)
                .context("a label is no truth value")?;
            Ok(Case {
                id: id.to_owned(),
                group: text_at(record, "/meta/draft")?.to_owned(),
                wrong: verdict_differs(found.get(id), "valid", expected),
            })
        })
        .collect()
}

/// The record that is judged: its schema says its draft.
fn record(test: &Value) -> Result<Value> {
    Ok(json!({
        "id": text_at(test, "/id")?,
        "output": text_at(test, "/output")?,
        "reference": with_draft(text_at(test, "/reference")?, text_at(test, "/meta/draft")?)?,
    }))
}

/// A schema with a `$schema`, set into its text so that all else stays as it was written.
/// Schemas that are `true` or `false` mean the same in all drafts.
fn with_draft(schema: &str, draft: &str) -> Result<String> {
    let Value::Object(members) = serde_json::from_str(schema).context("a schema is no JSON")?
    else {
        return Ok(schema.to_owned());
    };
    let Some((_, address)) = DRAFTS.iter().find(|(name, _)| *name == draft) else {
        return Ok(schema.to_owned());
    };
    if members.contains_key("$schema") {
        return Ok(schema.to_owned());
    }
    let rest = schema.trim_start().strip_prefix('{').unwrap_or_default();
    let comma = if members.is_empty() { "" } else { ", " };
    Ok(format!(r#"{{"$schema": "{address}"{comma}{rest}"#))
}

/// Writes the documents that schemas refer to and gives their files by their addresses.
fn remotes(dir: &Path, folder: &Path) -> Result<Map<String, Value>> {
    let text = fs::read_to_string(dir.join("remotes.json")).context("cannot read remotes.json")?;
    let documents: Map<String, Value> =
        serde_json::from_str(&text).context("cannot read remotes.json")?;
    let mut files = Map::new();
    for (address, document) in documents {
        if OTHER_DRAFTS.iter().any(|other| address.contains(other)) {
            continue;
        }
        let draft = DRAFTS
            .iter()
            .map(|(name, _)| *name)
            .find(|name| address.contains(&format!("/{name}/")));
        let document = with_draft(&document.to_string(), draft.unwrap_or_default())?;
        let path = folder.join(format!("remote-{}.json", files.len()));
        fs::write(&path, document).context("cannot write a document that is referred to")?;
        files.insert(address, path.to_string_lossy().into());
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_gets_its_draft_and_keeps_its_text() {
        let cases = [
            (
                r#"{"minimum": 1.0}"#,
                "draft4",
                r#"{"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1.0}"#,
            ),
            (
                "{}",
                "draft7",
                r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#,
            ),
            (r#"{"$schema": "x"}"#, "draft7", r#"{"$schema": "x"}"#),
            ("true", "draft6", "true"),
            ("{}", "", "{}"),
        ];
        for (schema, draft, expected) in cases {
            assert_eq!(
                with_draft(schema, draft).unwrap(),
                expected,
                "{schema} {draft}"
            );
        }
    }

    #[test]
    fn documents_of_other_drafts_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let remotes_json = json!({"http://h/draft7/a.json": {"type": "string"}, "http://h/v1/a.json": {}, "http://h/b.json": {}});
        fs::write(folder.path().join("remotes.json"), remotes_json.to_string()).unwrap();
        let files = remotes(folder.path(), folder.path()).unwrap();
        assert_eq!(
            files.keys().collect::<Vec<_>>(),
            ["http://h/draft7/a.json", "http://h/b.json"]
        );
        let first = fs::read_to_string(files["http://h/draft7/a.json"].as_str().unwrap()).unwrap();
        assert!(first.contains("draft-07"), "{first}");
    }
}
