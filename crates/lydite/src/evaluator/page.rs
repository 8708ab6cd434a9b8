//! An evaluator's documentation, derived from its [`Info`](super::Info) and its schema.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Direction, Entry};

impl Entry {
    /// Everything that is known of the evaluator, as JSON.
    pub fn to_json(&self) -> Value {
        let info = self.info;
        json!({
            "id": info.id,
            "aliases": info.aliases,
            "summary": self.summary(),
            "documentation": self.docs(),
            "reads": info.reads.iter().collect::<Vec<_>>(),
            "needs": info.needs.iter().collect::<Vec<_>>(),
            "principal": info.principal,
            "direction": info.direction,
            "range": info.range,
            "natural_verdict": info.natural_verdict,
            "version": info.version,
            "warnings": info.warnings.iter().map(|warning| json!({"code": warning.code, "text": warning.text})).collect::<Vec<_>>(),
            "examples": info.examples.iter().map(|example| json!({
                "title": example.title,
                "params": example.params,
                "record": example.record,
                "expect": example.expect,
            })).collect::<Vec<_>>(),
            "params": &*self.schema,
        })
    }

    /// Its page in Markdown: what it does, what it reads and gives, its parameters, warnings and examples.
    pub fn page(&self) -> String {
        let info = self.info;
        let mut page = format!("# {}\n\n{}\n\n", info.id, self.docs());
        let fields = |set: crate::record::FieldSet| set.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ");
        let range = |end: Option<f64>, open: &str| end.map_or_else(|| open.to_owned(), |end| end.to_string());
        let good = if info.direction == Direction::Higher { "higher is better" } else { "lower is better" };
        let verdict = if info.natural_verdict { "gives a verdict" } else { "only measures, unless a `threshold` is set" };
        // Writing to a string cannot fail.
        let _ = writeln!(page, "## In short\n");
        let _ = writeln!(page, "- Reads {}; needs {}.", fields(info.reads), fields(info.needs));
        let _ = writeln!(page, "- Scores from {} to {}, {good}; {verdict}.", range(info.range.0, "−∞"), range(info.range.1, "∞"));
        let _ = writeln!(page, "- Deterministic: no model is called. Version {}.", info.version);
        if !info.aliases.is_empty() {
            let _ = writeln!(page, "- Also known as {}.", info.aliases.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "));
        }
        self.parameters(&mut page);
        if !info.warnings.is_empty() {
            page.push_str("\n## Warnings\n\n");
            for warning in info.warnings {
                let _ = writeln!(page, "- `{}`: {}.", warning.code, warning.text);
            }
        }
        page.push_str("\n## Examples\n");
        for example in info.examples {
            let _ = writeln!(page, "\n{}:\n", capital(example.title));
            let _ = writeln!(page, "```yaml\n{}: {}\n```\n", info.id, flow(example.params));
            let _ = writeln!(page, "```json\n{}\n```\n", example.record);
            let _ = writeln!(page, "gives `{}`", example.expect);
        }
        page
    }

    fn parameters(&self, page: &mut String) {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        let own = properties.into_iter().flatten();
        let mut rows: Vec<(String, String, String, String)> = own.map(|(name, schema)| self.row(name, schema)).collect();
        if self.reads_reference() && !rows.iter().any(|(name, ..)| name == "reference") {
            let names = std::iter::once("reference").chain(self.info.reference_alias).collect::<Vec<_>>().join("` or `");
            rows.push((names, "text, JSON or a list".into(), "the record's".into(), "The right answer, in place of the record's reference.".into()));
        }
        if rows.is_empty() {
            return;
        }
        page.push_str("\n## Parameters\n\n| name | type | default | |\n|---|---|---|---|\n");
        for (name, kind, default, text) in rows {
            let mark = if self.info.principal.is_some_and(|principal| name.split("` or `").any(|name| name == principal)) { " (a plain value sets it)" } else { "" };
            let _ = writeln!(page, "| `{name}`{mark} | {kind} | {default} | {text} |");
        }
    }

    fn row(&self, name: &str, schema: &Value) -> (String, String, String, String) {
        let required = self.schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name));
        let default = match schema.get("default") {
            Some(value) if !value.is_null() => format!("`{}`", value.to_string().trim_matches('"')),
            _ if required => "required".into(),
            _ => "none".into(),
        };
        let described = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        (name.to_owned(), self.kind(schema), default, described.replace('\n', " "))
    }

    /// A schema's type in words.
    fn kind(&self, schema: &Value) -> String {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            return self.schema.pointer(target.trim_start_matches('#')).map_or_else(String::new, |target| self.kind(target));
        }
        let choices = |list: &Value| -> Vec<String> {
            let items = list.as_array().into_iter().flatten();
            items.map(|item| item.get("const").map_or_else(|| self.kind(item), |value| format!("`{}`", value.to_string().trim_matches('"')))).filter(|word| word != "null").collect()
        };
        for key in ["oneOf", "anyOf", "allOf"] {
            if let Some(list) = schema.get(key) {
                return choices(list).join(", ");
            }
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values.iter().map(|value| format!("`{}`", value.to_string().trim_matches('"'))).collect::<Vec<_>>().join(", ");
        }
        let word = |kind: &str| match kind {
            "string" => "text",
            "boolean" => "true or false",
            "integer" => "whole number",
            "array" => "list",
            "object" => "mapping",
            other => other,
        }
        .to_owned();
        match schema.get("type") {
            Some(Value::String(kind)) => word(kind),
            Some(Value::Array(kinds)) => {
                kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").map(word).collect::<Vec<_>>().join(" or ")
            }
            _ => "any".into(),
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Parameters as they stand after an id on one line.
fn flow(params: &str) -> String {
    if params.starts_with('{') { params.to_owned() } else { format!("{{{params}}}") }
}
