//! `trajectory`: see [`Trajectory`].

use std::borrow::Cow;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::filled::{self, OUTPUT, QUERY, REFERENCE};
use super::upstream::{self, prompt_for, thrown};
use crate::evaluator::{
    Compat, Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Outcome, Place, Prompt, Scale};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Content, Field, FieldSet, Raw, Role, Row, Turn};

/// How well an agent went about its task, by a judge that sees its tool calls and what came back.
///
/// ## When to use it
/// Agents that use tools, where the way counts and not the answer alone. Whether certain tools were called needs no
/// judge.
///
/// ## How it is scored
/// The judge sees the question, the steps after the last user turn (tool, input and result each), the answer, the tools
/// that could be used (`agent_tools`, else the record's `tools`), and the reference where there is one. It gives a whole
/// number n from 1 to 5; the score is (n−1)/4. It only measures, unless a `threshold` is set. Steps come from `messages`,
/// or from `trajectory: [{tool, input, observation}]`.
///
/// ## Limits
/// What the agent thought and did not write is not seen. `compat` asks for plain text and reads it as LangChain does.
///
/// ## References
/// LangChain, TrajectoryEvalChain; Yao et al. 2022, ReAct.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    /// The tools that the agent could use, in place of the record's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    agent_tools: Vec<AgentTool>,
}

/// A tool as its user is told of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentTool {
    /// Its name, as calls have it.
    name: String,
    /// What it is for.
    #[serde(default)]
    description: String,
    /// The JSON Schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
}

const PROMPT: &str = "\
You grade how an assistant that can use tools went about a task.

The tools that it could use:
{tools}

The task:
{query}

The steps that it took, in their order:
{trajectory}

Its final answer:
{output}

The right answer:
{reference}

Reason first, along these questions. Is the final answer right (by the right answer, if one is given) and does it give \
what the task asks for? Do the steps follow from one another, and does the answer follow from what the tools returned? \
Were the tools that fit the task used, and with sensible inputs? Were there steps too many, or steps missing? Did it \
react sensibly to errors? Then grade with one whole number. 5: right, and by a way that could hardly be better. 4: right, \
with small detours. 3: half right, or right by luck or waste. 2: mostly wrong, though some steps made sense. 1: wrong, \
made up, or no attempt. An answer that is made up while the tools say otherwise can't get more than 2.";

const TOOLS: Place = Place {
    name: "tools",
    also: &["tool_descriptions", "toolDescriptions"],
};
const STEPS: Place = Place {
    name: "trajectory",
    also: &["agent_trajectory", "agentTrajectory"],
};
/// `{answer}` is LangChain's name of the output here.
const ANSWER: Place = Place {
    name: OUTPUT.name,
    also: &["answer", "prediction", "result"],
};
const PLACES: [Place; 5] = [TOOLS, QUERY, STEPS, ANSWER, REFERENCE];

impl Evaluator for Trajectory {
    const INFO: Info = Info {
        id: "trajectory",
        prompts: &[PromptText::new("the rating", PROMPT)],
        origin: Origin::LangChain,
        reads: FieldSet::of(&[
            Field::Query,
            Field::Output,
            Field::Messages,
            Field::Tools,
            Field::Reference,
        ]),
        needs: FieldSet::of(&[Field::Query, Field::Output, Field::Messages]),
        principal: Some("agent_tools"),
        natural_verdict: false,
        examples: &[
            Example {
                title: "one fitting call, and an answer that follows from it",
                params: "{agent_tools: [{name: weather, description: Tells the weather of a city.}], threshold: 0.75}",
                record: r#"{"query": "Is it raining in Oslo?", "output": "Yes.", "trajectory": [{"tool": "weather", "input": {"city": "Oslo"}, "observation": "rain"}]}"#,
                replies: r#"[{"reasoning": "The right tool, once; the answer follows.", "score": 5}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "an answer against what the tool said",
                params: "threshold: 0.75",
                record: r#"{"messages": [{"role": "user", "content": "Is it raining in Oslo?"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "rain"}, {"role": "assistant", "content": "No, it is dry."}]}"#,
                replies: r#"[{"reasoning": "The tool said rain.", "score": 2}]"#,
                expect: r#"{"verdict": "fail", "score": 0.25}"#,
            },
            Example {
                title: "no trajectory",
                params: "{}",
                record: r#"{"query": "Is it raining in Oslo?", "output": "Yes."}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::judged(ByJudge {
            prompt: prompt_for(cx, PROMPT, FORM, &PLACES, &[STEPS.name])?,
            tools: described(&self.agent_tools),
            scale: Scale::whole(1, 5),
            compat: cx.compat,
        }))
    }
}

/// What a plain-text reply must look like for LangChain's parsers.
const FORM: &str = "\
Write your reasoning first. Then write the grade on the last line, for example: Score: 3";

/// What stands in the place of what is not there.
const NOT_GIVEN: &str = "(not given)";

struct ByJudge {
    prompt: Prompt,
    /// The tools as the prompt has them; empty where the record's count.
    tools: String,
    scale: Scale,
    compat: Option<Compat>,
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let query = filled::field(row, Field::Query, cx)?;
        let output = filled::field(row, Field::Output, cx)?;
        if row.messages().is_empty() && row.raw(Field::Messages).is_none() {
            return Err(Cell::Errored(Code::MissingField(Field::Messages)).into());
        }
        let steps = steps(row.work())?;
        let fill = [
            (TOOLS.name, self.tools(row)),
            (QUERY.name, query),
            (
                STEPS.name,
                if steps.is_empty() {
                    Fill::words("(none: it answered at once)")
                } else {
                    Fill::items(steps.iter().map(Step::shown))
                },
            ),
            (ANSWER.name, output),
            (
                REFERENCE.name,
                match row.reference() {
                    Some(_) => filled::reference(row, cx)?,
                    None => Fill::words(NOT_GIVEN),
                },
            ),
        ];
        let ask = Ask {
            name: "grade",
            prompt: &self.prompt,
            fill: &fill,
            order: Order::default(),
        };
        if let Some(compat) = self.compat {
            let reply = cx.text(&ask).await?;
            let parsed = upstream::trajectory(compat, &reply).ok_or_else(|| thrown(&reply))?;
            let cell = Cell::measured(parsed.score.unwrap_or(f64::NAN));
            return Ok(Outcome::new(cell, parsed.explanation()));
        }
        let said = cx.score(&ask, &self.scale).await?;
        let grade = Evidence::new("rating")
            .set("rating", said.score)
            .set("steps", steps.len());
        let mut explanation = Explanation::reason(said.reason).with(grade);
        explanation.evidence.extend(said.evidence);
        Ok(Outcome::new(
            Cell::measured(self.scale.share(said.score)),
            explanation,
        ))
    }

    fn tools<'f>(&'f self, row: &Row<'f>) -> Fill<'f> {
        match row.raw(Field::Tools).map(Raw::source) {
            _ if !self.tools.is_empty() => Fill::words(self.tools.as_str()),
            Some(tools) => Fill::data(tools),
            None => Fill::words(NOT_GIVEN),
        }
    }
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

/// One thing that the agent did: a call of a tool with what came back, or words on the way.
#[derive(Debug, Default, PartialEq)]
struct Step<'r> {
    said: Option<&'r str>,
    tool: Option<String>,
    input: String,
    id: Option<String>,
    observation: Option<Cow<'r, str>>,
}

impl Step<'_> {
    fn shown(&self) -> String {
        let mut text = String::new();
        if let Some(said) = self.said {
            let _ = writeln!(text, "Said: {said}");
        }
        if let Some(tool) = &self.tool {
            let _ = writeln!(text, "Tool: {tool}\nInput: {}", self.input);
        }
        match &self.observation {
            Some(observation) => text.push_str(&format!("Result: {observation}")),
            None if self.tool.is_some() => text.push_str("Result: (none)"),
            None => {}
        }
        text.trim_end().to_owned()
    }
}

/// The steps of an agent's turns. A result belongs to the call of its id; without one, to the first that has none yet.
fn steps<'r>(turns: &[Turn<'r>]) -> Result<Vec<Step<'r>>, Failure> {
    let mut steps: Vec<Step<'r>> = Vec::new();
    for turn in turns {
        match turn.role {
            Role::Assistant => take_calls(turn, &mut steps)?,
            Role::Tool => take_result(turn, &mut steps),
            Role::System | Role::User => {}
        }
    }
    Ok(steps)
}

fn take_calls<'r>(turn: &Turn<'r>, steps: &mut Vec<Step<'r>>) -> Result<(), Failure> {
    let mut said = turn.content.and_then(Content::text);
    let calls: Vec<Value> = match turn.tool_calls {
        None => Vec::new(),
        Some(source) => serde_json::from_str(source).map_err(|_| {
            Failure::new(
                Code::InvalidField(Field::Messages),
                "`tool_calls` of a message is no list of calls; expected [{id, type, function: {name, arguments}}]",
            )
        })?,
    };
    for call in &calls {
        let function = call.get("function").unwrap_or(call);
        let input = ["arguments", "args", "input"]
            .into_iter()
            .find_map(|key| function.get(key));
        steps.push(Step {
            said: said.take(),
            tool: Some(text(function.get("name"))),
            input: text(input),
            id: call.get("id").map(|id| text(Some(id))),
            observation: None,
        });
    }
    if said.is_some_and(|said| !said.is_empty()) {
        steps.push(Step {
            said,
            ..Step::default()
        });
    }
    Ok(())
}

fn take_result<'r>(turn: &Turn<'r>, steps: &mut Vec<Step<'r>>) {
    let observation = match turn.content {
        Some(content) => Cow::Borrowed(
            content
                .text()
                .or(content.json_source())
                .unwrap_or("(no text)"),
        ),
        None => Cow::Borrowed(""),
    };
    let waits = |step: &&mut Step<'r>| step.tool.is_some() && step.observation.is_none();
    let step = match turn.tool_call_id {
        Some(id) => steps
            .iter_mut()
            .filter(waits)
            .find(|step| step.id.as_deref() == Some(id)),
        None => steps.iter_mut().find(waits),
    };
    match step {
        Some(step) => step.observation = Some(observation),
        None => steps.push(Step {
            observation: Some(observation),
            ..Step::default()
        }),
    }
}

/// A text as it is, any other JSON as its source.
fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn described(tools: &[AgentTool]) -> String {
    let mut text = String::new();
    for tool in tools {
        let _ = write!(text, "- {}", tool.name);
        if !tool.description.is_empty() {
            let _ = write!(text, ": {}", tool.description);
        }
        if let Some(schema) = &tool.schema {
            let _ = write!(text, " Input: {schema}");
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(role: Role) -> Turn<'static> {
        Turn {
            role,
            content: None,
            tool_calls: None,
            tool_call_id: None,
            name: None,
        }
    }

    fn called(tool_calls: &'static str) -> Turn<'static> {
        Turn {
            tool_calls: Some(tool_calls),
            ..turn(Role::Assistant)
        }
    }

    fn result(id: Option<&'static str>, text: &'static str) -> Turn<'static> {
        Turn {
            tool_call_id: id,
            content: Some(Content::Text(text)),
            ..turn(Role::Tool)
        }
    }

    fn shown(turns: &[Turn<'static>]) -> Vec<String> {
        steps(turns).unwrap().iter().map(Step::shown).collect()
    }

    #[test]
    fn results_find_their_calls() {
        let calls = r#"[{"id": "a", "function": {"name": "f", "arguments": "{\"x\": 1}"}}, {"id": "b", "function": {"name": "g", "arguments": {"y": 2}}}]"#;
        let both = [
            "Tool: f\nInput: {\"x\": 1}\nResult: of f",
            "Tool: g\nInput: {\"y\":2}\nResult: of g",
        ];
        let by_id = [
            called(calls),
            result(Some("b"), "of g"),
            result(Some("a"), "of f"),
        ];
        assert_eq!(shown(&by_id), both);
        let by_order = [called(calls), result(None, "of f"), result(None, "of g")];
        assert_eq!(shown(&by_order), both);
    }

    #[test]
    fn words_missing_results_and_stray_ones_are_steps_too() {
        let words = Turn {
            content: Some(Content::Text("Let me see.")),
            ..called(r#"[{"name": "f", "args": null}]"#)
        };
        let turns = [words, result(Some("other"), "stray")];
        assert_eq!(
            shown(&turns),
            [
                "Said: Let me see.\nTool: f\nInput: \nResult: (none)",
                "Result: stray"
            ]
        );
        assert!(steps(&[called("{}")]).is_err());
    }
}
