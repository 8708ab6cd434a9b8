//! `custom_eval`: see [`CustomEval`].

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graded::{PASS_FAIL, graded};
use super::lynxius::not_blank;
use super::prompts::prompt;
use super::shown::shown;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::json::{self, Json};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Label, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Code};
use crate::record::{Field, FieldSet, Raw, Row};

/// A prompt of your own with places of your own, answered by *correct* or *incorrect*.
///
/// ## When to use it
/// You have a prompt that judges well, with its own variables. For a condition in a few words take `custom_evaluator`.
///
/// ## How it is scored
/// Each `{name}` of the template is filled once: by the record's `variables`, else, for `query`, `output`, `reference` and
/// `contexts`, by the field of that name. `{{` and `}}` are braces. Values are data: braces and orders inside them mean
/// nothing. The judge's verdict *correct* is 1 and pass, *incorrect* 0 and fail; anything else is an error and
/// inconclusive. The judge's reason is kept.
///
/// ## Limits
/// The template needs a place `{output}`, and the output must not be blank. A place that nothing fills and a variable
/// without a place are errors that name it. Values that are no text are shown as JSON.
///
/// ## References
/// Lynxius, CustomEval; the original counts any other verdict as incorrect.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomEval {
    /// What the judge is told, with `{name}` where a variable shall stand; `{output}` must be among them.
    #[schemars(length(min = 1))]
    prompt_template: String,
}

const PROMPT: &str = "\
{task}

Your verdict is one of these:
correct: the output meets what is asked for above.
incorrect: it does not.

Give your reasons in a sentence or two, then the verdict.";

const TASK: Place = Place {
    name: "task",
    also: &["prompt_template"],
};

/// The fields that fill places of their name.
const FIELDS: [Field; 4] = [
    Field::Query,
    Field::Output,
    Field::Reference,
    Field::Contexts,
];

impl Evaluator for CustomEval {
    const INFO: Info = Info {
        id: "custom_eval",
        prompts: &[PromptText::new("the verdict", PROMPT)],
        origin: Origin::Lynxius,
        reads: FieldSet::of(&[
            Field::Variables,
            Field::Query,
            Field::Output,
            Field::Reference,
            Field::Contexts,
        ]),
        principal: Some("prompt_template"),
        examples: &[
            Example {
                title: "places are filled by variables and fields",
                params: r#"prompt_template: "Is {output} a {tone} answer to {query}?""#,
                record: r#"{"query": "How long do refunds take?", "output": "5 days, gladly!", "variables": {"tone": "friendly"}}"#,
                replies: r#"[{"reasoning": "It answers, and gladly.", "verdict": "correct"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "braces inside a value are no place",
                params: r#"prompt_template: "Does this hold a number of days? {output}""#,
                record: r#"{"output": "It takes {days} days."}"#,
                replies: r#"[{"reasoning": "The number is not filled in.", "verdict": "incorrect"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "a place that nothing fills is an error",
                params: r#"prompt_template: "Is {output} a {tone} answer?""#,
                record: r#"{"output": "5 days"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let template = Prompt::with_any_places(&self.prompt_template).map_err(|error| {
            ParamErrors::with_help("/prompt_template", error.message, error.help)
        })?;
        if !template.has("output") {
            return Err(ParamErrors::with_help(
                "/prompt_template",
                "the template has no place `{output}`",
                "write {output} where the output shall stand",
            ));
        }
        let around = prompt(cx, PROMPT, &[TASK], &["task"])?;
        Ok(Scorer::judged(ByJudge {
            prompt: around.with_inside("task", &template),
            labels: Labels::new(vec![
                Label::new("correct", &[]),
                Label::new("incorrect", &[]),
            ]),
        }))
    }
}

struct ByJudge {
    prompt: Prompt,
    labels: Labels,
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let fill = self.fill(row, cx)?;
        let ask = Ask {
            name: "custom_eval",
            prompt: &self.prompt,
            fill: &fill,
            order: Order::default(),
        };
        let said = cx.verdict(&ask, &self.labels).await?;
        Ok(graded(said, &self.labels, &PASS_FAIL))
    }

    /// A value for each place, and a place for each variable.
    fn fill<'p, 'r: 'p>(
        &'p self,
        row: &Row<'r>,
        cx: &JudgeContext<'_>,
    ) -> Result<Vec<(&'p str, Fill<'r>)>, Failure> {
        let mut variables = variables_of(row)?;
        let mut fill = Vec::new();
        for name in self.prompt.places() {
            let given = variables.iter().position(|(given, _)| given == name);
            let value = match given.map(|index| variables.swap_remove(index)) {
                Some((_, text)) if name == Field::Output.as_str() => {
                    Fill::Data(not_blank(text, Field::Output)?)
                }
                Some((_, text)) => Fill::Data(text),
                None => of_field(name, row, cx)?,
            };
            fill.push((name, value));
        }
        if variables.is_empty() {
            return Ok(fill);
        }
        variables.sort_unstable();
        let unused: Vec<String> = variables
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        Err(Failure::new(
            Code::InvalidField(Field::Variables),
            format!(
                "the prompt template has no place for {}; write it there in braces, or take it out of `variables`",
                unused.join(", ")
            ),
        ))
    }
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

/// The record's variables as texts, nulls left out.
fn variables_of<'r>(row: &Row<'r>) -> Result<Vec<(Cow<'r, str>, Cow<'r, str>)>, Failure> {
    let wrong = |why: &str| {
        Failure::new(
            Code::InvalidField(Field::Variables),
            format!("`variables` must be an object of names and texts: {why}"),
        )
    };
    let source = match row.raw(Field::Variables) {
        None => return Ok(Vec::new()),
        Some(Raw::Text(_)) => return Err(wrong("found a text")),
        Some(Raw::Json(source)) => source,
    };
    match json::parse(source) {
        Ok(Json::Object(members)) => Ok(members
            .into_iter()
            .filter(|(_, value)| *value != Json::Null)
            .map(|(name, value)| (name, text_of_json(value)))
            .collect()),
        Ok(other) => Err(wrong(&format!("found {}", other.type_name()))),
        Err(error) => Err(wrong(&error.to_string())),
    }
}

fn text_of_json(value: Json<'_>) -> Cow<'_, str> {
    match value {
        Json::String(text) => text,
        Json::Number(source) => source.into(),
        other => {
            let mut text = String::new();
            json::canonical(&other, &mut text);
            text.into()
        }
    }
}

/// The record's field of a place's name.
fn of_field<'r>(name: &str, row: &Row<'r>, cx: &JudgeContext<'_>) -> Result<Fill<'r>, Failure> {
    let field = FIELDS.into_iter().find(|field| field.as_str() == name);
    match field {
        Some(Field::Output) => {
            let output = shown(row, Field::Output, cx)?;
            Ok(Fill::Data(not_blank(output, Field::Output)?))
        }
        Some(Field::Contexts) => contexts(row),
        Some(field) => Ok(Fill::Data(shown(row, field, cx)?)),
        None => Err(Failure::new(
            Code::MissingPath,
            format!(
                "nothing fills the place `{{{name}}}` of the prompt template; add `{name}` to the record's `variables`"
            ),
        )),
    }
}

fn contexts<'r>(row: &Row<'r>) -> Result<Fill<'r>, Failure> {
    let chunks = row.contexts();
    if chunks.is_empty() && row.raw(Field::Contexts).is_none() {
        return Err(Cell::Errored(Code::MissingField(Field::Contexts)).into());
    }
    if chunks.is_empty() {
        return Ok(Fill::words("(none)"));
    }
    Ok(Fill::items(chunks.iter().map(|chunk| chunk.document)))
}

#[cfg(test)]
mod tests {
    use super::super::asked::{asked, shown_in};
    use super::*;

    fn shown(template: &str, record: &str) -> String {
        let params = serde_json::json!({ "prompt_template": template }).to_string();
        let requests = asked::<CustomEval>(
            &params,
            record,
            r#"[{"reasoning": "r", "verdict": "correct"}]"#,
        );
        assert_eq!(requests.len(), 1);
        shown_in(&requests[0])
    }

    #[test]
    fn values_are_inserted_once_and_fenced() {
        let record = r#"{"output": "{tone} {{x}}", "variables": {"tone": "{output}", "n": 1.10, "o": {"b": 1, "a": [2]}}}"#;
        let shown = shown("{{{tone}}} {output} {n} {o} {tone}", record);
        let expected = r#"{<{output}>} <{tone} {{x}}> <1.10> <{"a":[2],"b":1}> <{output}>"#;
        assert_eq!(shown.lines().next(), Some(expected));
        assert!(shown.contains("\ncorrect: "), "{shown}");
    }

    #[test]
    fn contexts_are_numbered_and_variables_stand_before_fields() {
        let record = r#"{"query": "q", "output": "o", "contexts": ["a", "b"], "variables": {"query": "own"}}"#;
        let shown = shown("{query} {output}\n{contexts}", record);
        assert!(shown.starts_with("<own> <o>\n1. <a>\n2. <b>\n"), "{shown}");
    }
}
