//! The pages about evaluators, derived from their [`Info`](super::Info) and their schemas: one for each, and
//! the list of all.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::parameters::{Parameter, parameters};
use super::{Direction, Entry, Example, Info, Origin, Registry};
use crate::node::Node;
use crate::record::FieldSet;

impl Entry {
    /// Everything that is known of the evaluator, as JSON.
    pub fn to_json(&self) -> Value {
        let info = self.info;
        json!({
            "id": info.id,
            "aliases": info.aliases,
            "origin": info.origin,
            "summary": self.summary(),
            "documentation": self.docs(),
            "reads": info.reads.iter().collect::<Vec<_>>(),
            "needs": info.needs.iter().collect::<Vec<_>>(),
            "principal": info.principal,
            "direction": info.direction,
            "range": info.range,
            "natural_verdict": info.natural_verdict,
            "models": info.models,
            "locals": info.locals.iter().map(|local| json!({
                "method": local.method,
                "version": local.version,
                "replaces": local.replaces,
                "models": local.models,
                "documentation": local.docs,
            })).collect::<Vec<_>>(),
            "prompts": info.prompts.iter().map(|prompt| json!({"of": prompt.of, "text": prompt.text})).collect::<Vec<_>>(),
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
        const REFERENCES: &str = "## References";
        let (docs, references) = self
            .docs()
            .split_once(REFERENCES)
            .unwrap_or((self.docs(), ""));
        let (summary, rest) = docs.split_once("\n\n").unwrap_or((docs, ""));
        let mut page = format!("# {}\n\n{summary}\n\n", self.info.id);
        push_facts(&mut page, self.info);
        push_section(&mut page, rest);
        self.push_parameters(&mut page);
        push_warnings(&mut page, self.info);
        push_locals(&mut page, self.info);
        push_prompts(&mut page, self.info);
        push_examples(&mut page, self.info);
        if !references.is_empty() {
            push_section(&mut page, &format!("{REFERENCES}{references}"));
        }
        page
    }

    fn push_parameters(&self, page: &mut String) {
        let parameters = parameters(self);
        push_section(page, "## Parameters");
        if parameters.is_empty() {
            page.push_str("\nIt has none of its own.\n");
        } else {
            page.push_str("\n| name | type | default | |\n|---|---|---|---|\n");
        }
        for parameter in &parameters {
            // Writing to a string cannot fail.
            let _ = writeln!(
                page,
                "| {} |",
                parameter.cells().map(|cell| in_table(&cell)).join(" | ")
            );
        }
        push_choices(page, &parameters);
        if let Some(principal) = self.info.principal {
            let _ = writeln!(page, "\nA plain value stands for `{principal}`.");
        }
        page.push_str(
            "\n`threshold`, `not`, `when` and `on_missing` are no parameters: they stand beside `evaluator` and `params` in the check.\n",
        );
    }
}

impl Registry {
    /// The list of all evaluators in Markdown, grouped by where they come from, with links to their pages.
    pub fn contents(&self) -> String {
        let mut page = String::from(
            "# Evaluators\n\n\
            Each judges one answer by itself and gives a score, and most a verdict. Those that only measure give a \
            verdict where their check says a `threshold`. What asks a model says so on its page; all others are deterministic.\n",
        );
        for origin in Origin::ALL {
            let members: Vec<&Entry> = self
                .entries()
                .iter()
                .filter(|entry| entry.info.origin == origin)
                .collect();
            if members.is_empty() {
                continue;
            }
            let _ = write!(
                page,
                "\n## {}\n\n| evaluator | | verdict | better |\n|---|---|---|---|\n",
                origin.title()
            );
            for entry in members {
                let id = entry.info.id;
                let verdict = if entry.info.natural_verdict {
                    "its own"
                } else {
                    "by `threshold`"
                };
                let better = if entry.info.direction == Direction::Higher {
                    "higher"
                } else {
                    "lower"
                };
                let _ = writeln!(
                    page,
                    "| [`{id}`]({id}.md) | {} | {verdict} | {better} |",
                    in_table(entry.summary())
                );
            }
        }
        page
    }
}

/// What `INFO` says, in a few lines.
fn push_facts(page: &mut String, info: &Info) {
    let words = |names: &mut dyn Iterator<Item = String>| {
        names
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let fields = |set: FieldSet| words(&mut set.iter().map(|field| field.to_string()));
    let good = if info.direction == Direction::Higher {
        "higher is better"
    } else {
        "lower is better"
    };
    let verdict = if info.natural_verdict {
        "gives a verdict of its own"
    } else {
        "only measures, unless a `threshold` is set"
    };
    let range = match info.range {
        (Some(least), Some(most)) => format!("from {least} to {most}"),
        (Some(least), None) => format!("from {least} up"),
        (None, Some(most)) => format!("up to {most}"),
        (None, None) => "any number".to_owned(),
    };
    if info.reads == info.needs {
        let _ = writeln!(page, "- Reads {}.", fields(info.reads));
    } else if info.needs.is_empty() {
        let _ = writeln!(
            page,
            "- Reads {}, as far as they are there.",
            fields(info.reads)
        );
    } else {
        let _ = writeln!(
            page,
            "- Reads {}; can't do without {}.",
            fields(info.reads),
            fields(info.needs)
        );
    }
    let _ = writeln!(page, "- Scores {range}, {good}; {verdict}.");
    let asks = if info.models.is_empty() {
        "Deterministic: no model is called".to_owned()
    } else {
        let models = info.models.iter().map(|role| role.as_str());
        format!(
            "Asks a model as {}",
            models.collect::<Vec<_>>().join(" and as ")
        )
    };
    let _ = writeln!(page, "- {asks}. Version {}.", info.version);
    if info.origin != Origin::Field {
        let _ = writeln!(page, "- Comes from {}.", info.origin.title());
    }
    if !info.aliases.is_empty() {
        let _ = writeln!(
            page,
            "- Also known as {}.",
            words(&mut info.aliases.iter().map(ToString::to_string))
        );
    }
}

/// What the values mean of parameters that have a few; those with the same ones share a list.
fn push_choices(page: &mut String, parameters: &[Parameter]) {
    let said = |parameter: &&Parameter| {
        parameter
            .choices
            .iter()
            .any(|choice| !choice.text.is_empty())
    };
    let mut rest: Vec<&Parameter> = parameters.iter().filter(said).collect();
    while let Some(first) = rest.first().copied() {
        let (alike, others) = rest
            .into_iter()
            .partition(|parameter| parameter.choices == first.choices);
        rest = others;
        let alike: Vec<&Parameter> = alike;
        let names: Vec<String> = alike
            .iter()
            .map(|parameter| format!("`{}`", parameter.name))
            .collect();
        let verb = if names.len() > 1 { "are each" } else { "is" };
        let _ = writeln!(page, "\n{} {verb} one of\n", names.join(", "));
        for choice in &first.choices {
            let mark = if choice.is_default {
                ", the default"
            } else {
                ""
            };
            let _ = writeln!(page, "- {}{mark}: {}", choice.value, choice.text);
        }
    }
}

/// The prompts as they stand before places are filled; the layer of models adds the form of the reply.
fn push_prompts(page: &mut String, info: &Info) {
    if info.prompts.is_empty() {
        return;
    }
    push_section(page, "## Prompts");
    page.push_str(
        "\nPlaces stand in braces; what comes from the record is fenced. A check's `prompt` takes the place of the first.\n",
    );
    for prompt in info.prompts {
        let _ = write!(
            page,
            "\nFor {}:\n\n```text\n{}\n```\n",
            prompt.of,
            prompt.text.trim_end()
        );
    }
}

/// What it does where a role is local or left out.
fn push_locals(page: &mut String, info: &Info) {
    for local in info.locals {
        let needs: Vec<&str> = local.models.iter().map(|role| role.as_str()).collect();
        let needs = if needs.is_empty() {
            "no model".to_owned()
        } else {
            needs.join(" and ")
        };
        let _ = write!(
            page,
            "\n## Without a {}: `{}`\n\nThe local method `{}`, version {}, asks {needs}.\n",
            local.replaces.as_str(),
            local.method,
            local.method,
            local.version,
        );
        push_section(page, local.docs);
        for example in local.examples {
            push_example(page, info.id, example);
        }
    }
}

fn push_warnings(page: &mut String, info: &Info) {
    if info.warnings.is_empty() {
        return;
    }
    push_section(page, "## Warnings");
    page.push('\n');
    for warning in info.warnings {
        let _ = writeln!(page, "- `{}`: {}.", warning.code, warning.text);
    }
}

fn push_examples(page: &mut String, info: &Info) {
    push_section(page, "## Examples");
    for example in info.examples {
        push_example(page, info.id, example);
    }
}

fn push_example(page: &mut String, id: &str, example: &Example) {
    let check = as_check(id, example.params);
    let _ = write!(
        page,
        "\n### {}\n\n```yaml\n{check}\n```\n\n```json\n{}\n```\n",
        capital(example.title),
        example.record,
    );
    let replies: Vec<Value> = serde_json::from_str(example.replies).unwrap_or_default();
    if !replies.is_empty() {
        page.push_str("\nWhere the judge answers\n\n```json\n");
        for reply in replies {
            let _ = writeln!(page, "{reply}");
        }
        page.push_str("```\n");
    }
    let _ = write!(page, "\nGives {}.\n", outcome(example));
}

/// A heading with what stands below it, after a blank line.
fn push_section(page: &mut String, text: &str) {
    let _ = write!(page, "\n{}\n", text.trim());
}

/// An example's parameters as an entry of a suite's `checks`: in the long form where it says more
/// than parameters.
fn as_check(id: &str, params: &str) -> String {
    const BESIDE: [&str; 3] = ["threshold", "not", "on_missing"];
    let Ok(node) = Node::parse(params) else {
        return format!("- {id}");
    };
    let is_beside = |key: &Node| key.as_str().is_some_and(|key| BESIDE.contains(&key));
    let line = |(key, value): &(Node, Node), indent: &str| {
        let written = |node: &Node| {
            params
                .get(node.span.start_byte..node.span.end_byte)
                .unwrap_or_default()
        };
        format!("\n{indent}{}: {}", written(key), written(value))
    };
    let (beside, own): (Vec<_>, Vec<_>) =
        node.entries().iter().partition(|(key, _)| is_beside(key));
    let lines = |entries: &[&(Node, Node)], indent: &str| {
        entries
            .iter()
            .map(|entry| line(entry, indent))
            .collect::<String>()
    };
    match (beside.as_slice(), own.as_slice()) {
        ([], []) => format!("- {id}"),
        ([], own) => format!("- {id}:{}", lines(own, "    ")),
        (beside, []) => format!("- evaluator: {id}{}", lines(beside, "  ")),
        (beside, own) => format!(
            "- evaluator: {id}\n  params:{}{}",
            lines(own, "    "),
            lines(beside, "  ")
        ),
    }
}

/// What an example gives, in words.
fn outcome(example: &Example) -> String {
    let expect: Value = serde_json::from_str(example.expect).unwrap_or_default();
    let said = |key: &str| expect.get(key).filter(|value| !value.is_null());
    let mut words = vec![match said("verdict").and_then(Value::as_str) {
        Some(verdict) => format!("**{verdict}**"),
        None => "no verdict".to_owned(),
    }];
    words.extend(said("score").map(|score| format!("score {score}")));
    words.extend(
        said("error")
            .and_then(Value::as_str)
            .map(|code| format!("error `{code}`")),
    );
    words.extend(
        said("skipped")
            .and_then(Value::as_str)
            .map(|code| format!("skipped: `{code}`")),
    );
    let warnings = said("warnings")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    words.extend(
        warnings
            .filter_map(Value::as_str)
            .map(|code| format!("warning `{code}`")),
    );
    words.join(", ")
}

/// A text as a cell of a table.
fn in_table(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Suite;

    #[test]
    fn the_examples_of_a_page_are_checks_of_a_suite() {
        let registry = Registry::builtin();
        for entry in registry.entries() {
            for example in entry.info.examples {
                let check = as_check(entry.info.id, example.params);
                let suite =
                    format!("models: {{judge: ollama/a, embedder: ollama/b}}\nchecks:\n{check}\n");
                if let Err(errors) = Suite::parse(&suite, "page.yaml", &registry) {
                    panic!("{errors}\n{suite}");
                }
            }
        }
    }

    #[test]
    fn every_row_of_a_table_has_as_many_cells() {
        let registry = Registry::builtin();
        let pages = registry
            .entries()
            .iter()
            .map(Entry::page)
            .chain([registry.contents()]);
        for page in pages {
            let mut cells = None;
            for row in page.lines() {
                let count = row.replace("\\|", "").matches('|').count();
                cells = row.starts_with('|').then(|| cells.unwrap_or(count));
                assert!(cells.is_none_or(|cells| cells == count), "{row}");
            }
            assert!(page.ends_with('\n') && !page.ends_with("\n\n"), "{page}");
            assert!(!page.contains("\n\n\n"), "{page}");
        }
    }

    #[test]
    fn outcomes_in_words() {
        let words = |expect| {
            outcome(&Example {
                title: "",
                params: "",
                record: "",
                expect,
                ..Example::PLAIN
            })
        };
        assert_eq!(
            words(r#"{"verdict": "pass", "score": 0.5, "warnings": ["a"]}"#),
            "**pass**, score 0.5, warning `a`"
        );
        assert_eq!(
            words(r#"{"verdict": null, "score": 1}"#),
            "no verdict, score 1"
        );
        assert_eq!(
            words(r#"{"verdict": "inconclusive", "error": "not_text"}"#),
            "**inconclusive**, error `not_text`"
        );
    }

    #[test]
    fn checks_in_short_and_long_form() {
        for (params, check) in [
            ("{}", "- a"),
            ("{x: 1, y: {z: [2]}}", "- a:\n    x: 1\n    y: {z: [2]}"),
            ("x: 1, 2\ny: '3'", "- a:\n    x: 1, 2\n    y: '3'"),
            ("threshold: 0.5", "- evaluator: a\n  threshold: 0.5"),
            (
                "{not: true, x: 1}",
                "- evaluator: a\n  params:\n    x: 1\n  not: true",
            ),
        ] {
            assert_eq!(as_check("a", params), check);
        }
    }
}
