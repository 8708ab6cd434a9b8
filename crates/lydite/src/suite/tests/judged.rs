//! Suites whose checks ask models, with evaluators that only these tests have.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;
use crate::check::{Aggregate, Asks};
use crate::evaluator::{
    Batched, Compat, Entry, Evaluator, Got, Info, Judged, Local, Needs, Origin, ParamErrors,
    Prepare, Role, Scorer, Scratch,
};
use crate::judge::{JudgeContext, Outcome, Place, Prompt, ScoreMode};
use crate::model::{BoxFuture, ModelSpec, Provider, Temperature};
use crate::outcome::{Cell, Code, Explanation};
use crate::record::{FieldSet, Row};

/// Asks a judge, by criteria.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Criteria {
    #[serde(default)]
    criteria: Option<Value>,
    #[serde(default)]
    agent_tools: Option<Value>,
}

/// Asks a judge by instructions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Custom {
    instructions: String,
    #[serde(default)]
    context: Option<String>,
}

/// Asks an embedder.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Embedded {
    #[serde(default)]
    distance_metric: Option<String>,
}

/// Asks a moderator.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Moderated {}

struct Silent;

impl Judged for Silent {
    fn score<'a>(&'a self, _: &'a Row<'a>, _: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async { Outcome::inconclusive("nothing is asked") })
    }
}

impl Batched for Silent {
    fn needs<'r>(&self, _: &Row<'r>, _: &mut Needs<'r>) {}

    fn score(&self, _: &Row<'_>, _: &Got<'_>, _: &mut Scratch) -> Cell {
        Cell::Errored(Code::NothingToJudge)
    }

    fn explain(&self, _: &Row<'_>, _: &Got<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        Explanation::default()
    }
}

const TEXTS: FieldSet = FieldSet::of(&[Field::Query, Field::Output, Field::Reference]);

impl Evaluator for Criteria {
    const INFO: Info = Info {
        id: "criteria",
        origin: Origin::LangChain,
        reads: TEXTS,
        principal: Some("criteria"),
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let prompt = cx.prompt.unwrap_or("{output}");
        Prompt::new(
            prompt,
            &[Place::new("input"), Place::new("output")],
            &["output"],
        )
        .map_err(|error| ParamErrors::with_help("", error.message, error.help))?;
        Ok(Scorer::judged(Silent))
    }
}

impl Evaluator for Custom {
    const INFO: Info = Info {
        id: "custom_evaluator",
        origin: Origin::ContextAi,
        reads: TEXTS,
        ..Info::JUDGED
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::judged(Silent))
    }
}

impl Evaluator for Embedded {
    const INFO: Info = Info {
        id: "embedding_distance",
        origin: Origin::LangChain,
        reads: TEXTS,
        natural_verdict: false,
        models: &[Role::Embedder],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::batched(Silent))
    }
}

impl Evaluator for Moderated {
    const INFO: Info = Info {
        id: "toxicity",
        origin: Origin::ContextAi,
        reads: TEXTS,
        models: &[Role::Judge, Role::Moderator],
        locals: &[Local {
            method: "words",
            version: 1,
            replaces: Role::Moderator,
            models: &[],
            docs: "",
            examples: &[],
        }],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::judged(Silent))
    }
}

fn with_models() -> Registry {
    registry()
        .with(Entry::of::<Criteria>())
        .with(Entry::of::<Custom>())
        .with(Entry::of::<Embedded>())
        .with(Entry::of::<Moderated>())
}

fn read(yaml: &str) -> Result<Suite, SuiteErrors> {
    SuiteBuilder::new(&with_models())
        .file(yaml, "lydite.yaml")
        .openai_key(false)
        .build()
}

fn right(yaml: &str) -> Suite {
    read(yaml).unwrap_or_else(|errors| panic!("{errors}"))
}

fn judges(asks: &Asks) -> Vec<String> {
    asks.judges.iter().map(ModelSpec::name).collect()
}

const WRONG: &[(&str, &str)] = &[
    (
        "no judge",
        "checks:\n  - criteria: helpfulness\n  - {evaluatorType: criteria, criteria: depth}\n",
    ),
    (
        "a classifier that is none",
        "models: {nli: openai/x}\nchecks: [embedding_distance]\n",
    ),
    (
        "models of wrong kinds",
        "models: [openai/gpt-4o]\nchecks: [exact_match]\n",
    ),
    (
        "wrong shorthands",
        "models: {judge: gpt-4o, embedder: opnai/x, moderator: maybe, main: openai/, b: [openai/x], local: openai/x, a/b: openai/x}\nchecks: [criteria]\n",
    ),
    (
        "a local judge",
        "models: {judge: local}\nchecks: [criteria]\n",
    ),
    ("an empty jury", "models: {judge: []}\nchecks: [criteria]\n"),
    (
        "a wrong mapping, all at once",
        "models:\n  judge:\n    provider: opnai\n    modle: gpt-4o\n    temperature: hot\n    timeout: 0\n    attempts: 0\n    structured: xml\n    price: {input: -1}\nchecks: [criteria]\n",
    ),
    (
        "a mapping that lacks its model",
        "models: {judge: {provider: openai}, a: {provider: command}, b: {provider: scripted}, c: {model: x}}\nchecks: [criteria]\n",
    ),
    (
        "keys that were written down",
        "models:\n  judge:\n    provider: openai\n    model: x\n    api_key: s3cret\n    base_url: https://u:s3cret@host/v1\n    headers: {Authorization: Bearer s3cret}\n  b: {provider: openai, model: x, api_key_env: sk-s3cret}\nchecks: [criteria]\n",
    ),
    (
        "two default judges",
        "models: {judge: openai/x}\neval_llm: openai/y\nchecks: [criteria]\n",
    ),
    (
        "wrong keys of a check",
        "models: {judge: openai/x, main: openai/y}\nchecks:\n  - {evaluator: criteria, judge: mian}\n  - {evaluator: criteria, judge: [main, [main]]}\n  - {evaluator: criteria, judge: {provider: openai, model: x, temprature: 0}}\n  - {evaluator: criteria, aggregate: mode, mode: logprobs, repeat: 0, compat: langchain}\n  - {evaluator: criteria, mode: sample}\n  - {evaluator: criteria, mode: {sample: 0}}\n  - {evaluator: criteria, mode: {samples: 3}}\n  - {evaluator: criteria, repeat: 4000000000}\n  - {evaluator: custom_evaluator, params: {instructions: x}, compat: langchain-js}\n  - {evaluator: embedding_distance, embedder: [openai/x]}\n",
    ),
    (
        "wrong prompts",
        "models: {judge: openai/x}\nchecks:\n  - {evaluator: criteria, prompt: 'no place'}\n  - {evaluator: criteria, prompt: '{output} {quetion}'}\n  - {evaluator: criteria, prompt: {file: missing.txt}}\n  - {evaluator: criteria, prompt: {path: x}}\n  - {evaluator: criteria, prompt: ''}\n",
    ),
    (
        "wrong LangChain keys",
        "models: {judge: openai/x}\nevaluators:\n  - {evaluatorType: criteria, llm: openai/x, judge: openai/y}\n  - {evaluatorType: criteria, llm: mian}\n  - {evaluatorType: criteria, chainOptions: {promt: x, llmKwargs: {temperature: hot, max_tokens: 0}}}\n  - {evaluatorType: criteria, prompt: '{output}', chainOptions: {prompt: '{output}', llmKwargs: {openAIApiKey: s3cret}}}\n  - {evaluatorType: criteria, critera: x}\n  - {evaluatorType: criteria, chainOptions: x, formatEvaluatorInputs: {input: 'x {rawInput.a b}', prediction: '}{'}}\n",
    ),
    (
        "wrong custom evaluators",
        "models: {judge: openai/x}\ncustom_evaluators:\n  - {name: Brand tone, instructions: x}\n  - {name: brand-tone, instructions: y}\n  - {name: Exact match, instructions: y}\n  - {name: '!', instructions: y}\n  - {name: a, context: ful_context}\n  - {instructions: '', modle: x}\n  - {name: b, instructions: x, model: mian}\n  - x\nchecks:\n  - brand_tone: {instructions: z}\n  - {evaluator: brand_tone, options: {context: full_context}}\n  - brand_ton\n  - Brand tone\n",
    ),
    (
        "costs of what asks no model",
        "models: {judge: openai/x}\nchecks: [exact_match, criteria]\ngates: [exact_match.cost <= 1, criteria.cost <= 10%, criteria.cost <= -1, criteria.cost < 0, cost <= 2.50]\n",
    ),
    (
        "a template for a whole dataset",
        "dataset: {path: x, fields: {query: '{a} {b}'}}\nchecks: [exact_match]\n",
    ),
];

#[test]
fn wrong_suites_of_judges() {
    let mut told = String::new();
    for (title, yaml) in WRONG {
        let errors = read(&format!("{yaml}version: 1\n")).expect_err(title);
        let _ = writeln!(told, "### {title}\n{errors}\n");
    }
    assert!(!told.contains("s3cret"), "a key was shown: {told}");
    insta::assert_snapshot!(told);
}

#[test]
fn models_by_role_and_by_name() {
    let suite = right(
        "
version: 1
models:
  main: {provider: openai, model: gpt-4.1, temperature: null, price: {input: 2, output: 8}}
  judge: [main, anthropic/claude-sonnet-4-5]
  embedder: openai/text-embedding-3-small
  moderator: openai
checks:
  - criteria: helpfulness
  - {evaluator: criteria, judge: main, name: one, mode: logprob, repeat: 3, compat: langchain-py, prompt: 'Judge {output}'}
  - {evaluator: criteria, judge: [ollama/llama3, {provider: command, command: [./judge]}], name: jury, aggregate: mean, mode: {sample: 5}}
  - embedding_distance
  - {evaluator: embedding_distance, embedder: ollama/nomic, name: near}
  - toxicity
  - {evaluator: toxicity, moderator: none, name: bare}
  - exact_match
gates: [helpfulness.cost <= 2.50, one.pass_rate >= 90%]
",
    );
    let asks = |index: usize| &suite.checks[index].asks;
    assert_eq!(names(&suite)[0], "helpfulness");
    assert_eq!(
        judges(asks(0)),
        ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5"]
    );
    assert_eq!(asks(0).judges[0].temperature, Temperature::Provider);
    assert_eq!(judges(asks(1)), ["openai/gpt-4.1"]);
    assert_eq!((asks(1).mode, asks(1).repeat), (ScoreMode::Logprob, 3));
    assert_eq!(suite.checks[1].compat, Some(Compat::LangchainPy));
    assert_eq!(suite.checks[1].prompt.as_deref(), Some("Judge {output}"));
    assert_eq!(judges(asks(2)), ["ollama/llama3", "command/./judge"]);
    assert_eq!(
        (asks(2).mode, asks(2).aggregate),
        (ScoreMode::Sample(5), Aggregate::Mean)
    );
    let name = |spec: &Option<ModelSpec>| spec.as_ref().map(ModelSpec::name);
    assert_eq!(
        name(&asks(3).embedder).as_deref(),
        Some("openai/text-embedding-3-small")
    );
    assert_eq!(asks(3).judges, []);
    assert_eq!(name(&asks(4).embedder).as_deref(), Some("ollama/nomic"));
    assert_eq!(
        name(&asks(5).moderator).as_deref(),
        Some("openai/omni-moderation-latest")
    );
    assert_eq!(asks(6).moderator, None);
    assert_eq!(*asks(7), Asks::default());
    assert_eq!(suite.notes, [] as [String; 0]);
    let models = &suite.definitions.models;
    assert_eq!(models.default_asks(suite.checks[0].info), *asks(0));
}

#[test]
fn moderators_are_said() {
    for (models, key, words, asked) in [
        (
            "judge: openai/x",
            true,
            "by the local method words 1",
            false,
        ),
        (
            "judge: openai/x, moderator: local",
            true,
            "by the local method words 1",
            false,
        ),
        ("judge: openai/x, moderator: none", true, "", false),
        (
            "judge: openai/x, moderator: auto",
            true,
            "asks OpenAI's moderation endpoint",
            true,
        ),
        (
            "judge: openai/x, moderator: auto",
            false,
            "by the local method words 1",
            false,
        ),
        ("judge: openai/x, moderator: openai", false, "", true),
        (
            "judge: openai/x, moderator: mistral/mistral-moderation-latest",
            false,
            "",
            true,
        ),
    ] {
        let registry = with_models();
        let suite = SuiteBuilder::new(&registry)
            .file(
                &format!("version: 1\nmodels: {{{models}}}\nchecks: [toxicity]"),
                "s.yaml",
            )
            .openai_key(key)
            .build()
            .unwrap_or_else(|errors| panic!("{errors}"));
        let notes = suite.notes.join("\n");
        assert!(
            notes.contains(words) && notes.is_empty() == words.is_empty(),
            "{models}: {notes}"
        );
        assert_eq!(suite.checks[0].asks.moderator.is_some(), asked, "{models}");
    }
}

#[test]
fn a_langchain_configuration_whole() {
    let suite = right(
        r#"
version: 1
models: {main: openai/gpt-4.1}
eval_llm: openai/gpt-4.1-mini
evaluators:
  - evaluatorType: criteria
    criteria: helpfulness
    feedbackKey: helpful
    llm: main
    chainOptions:
      prompt: "…{input}…{output}…"
      llmKwargs: {temperature: 0.2, seed: 7, max_tokens: 100, top_p: 0.5}
      tags: [a]
      memory: {}
      verbose: true
    formatEvaluatorInputs:
      input: "{rawInput.question} ({rawInput.lang})"
      prediction: rawPrediction.answer
      reference: rawReferenceOutput.answer
  - {evaluatorType: criteria, criteria: [depth, creativity], llmm: x}
  - {evaluator_type: criteria, criteria: {funny: Is it funny?, short: Is it short?}, eval_llm: {provider: openai, model: o3, temperature: null}, agentTools: [{name: search}]}
  - {evaluatorType: criteria, criteria: {name: fair, critiqueRequest: x, revisionRequest: y}, distanceMetric: cosine, embedding: openai/x}
  - {evaluatorType: embedding_distance, distanceMetric: cosine, embedding: openai/text-embedding-3-large, criteria: depth, chainOptions: {}}
  - {evaluatorType: string_distance, distance: jaro_winkler, normalize_score: true}
  - criteria
formatEvaluatorInputs: {reference: "rawReferenceOutput.text"}
"#
        .replace(", llmm: x", "")
        .as_str(),
    );
    assert_eq!(
        names(&suite),
        [
            "helpful",
            "depth-creativity",
            "funny-short",
            "fair",
            "embedding_distance",
            "string_distance",
            "criteria"
        ]
    );
    let first = &suite.checks[0];
    let spec = ModelSpec {
        temperature: Temperature::At(0.2),
        seed: Some(7),
        max_output_tokens: Some(100),
        parameters: [("top_p".to_owned(), json!(0.5))].into(),
        ..ModelSpec::new(Provider::OpenAi, "gpt-4.1")
    };
    assert_eq!(first.asks.judges, [spec]);
    assert_eq!(first.prompt.as_deref(), Some("…{input}…{output}…"));
    let paths: Vec<String> = first
        .record_paths()
        .map(|(what, path)| format!("{what} {path}"))
        .collect();
    assert_eq!(
        paths,
        [
            "`query` /query/question",
            "`query` /query/lang",
            "`output` /output/answer",
            "`reference` /reference/answer"
        ]
    );
    assert_eq!(judges(&suite.checks[1].asks), ["openai/gpt-4.1-mini"]);
    assert_eq!(
        suite.checks[2].asks.judges[0].temperature,
        Temperature::Provider
    );
    assert_eq!(
        suite.checks[2]
            .params
            .get("agent_tools")
            .map(|tools| tools.items().len()),
        Some(1)
    );
    assert_eq!(
        suite.checks[4]
            .asks
            .embedder
            .as_ref()
            .map(ModelSpec::name)
            .as_deref(),
        Some("openai/text-embedding-3-large")
    );
    insta::assert_snapshot!(suite.notes.join("\n"));
}

/// The configuration that LangChain's page of the specification shows, with the evaluators that
/// ship.
#[test]
fn langchain_s_own_example() {
    let yaml = r#"
evaluators:
  - evaluatorType: criteria
    criteria: helpfulness
    feedbackKey: helpful
    llm: main
    chainOptions: {prompt: "…{input}…{output}…{criteria}…", llmKwargs: {temperature: 0}}
    formatEvaluatorInputs:
      input: rawInput.question
      prediction: rawPrediction.answer
      reference: rawReferenceOutput.answer
  - {evaluatorType: embedding_distance, distanceMetric: cosine, embedding: EMBEDDING}
  - {evaluatorType: trajectory, agentTools: [{name: search, description: web search}]}
  - {evaluatorType: string_distance, distance: jaro_winkler, normalize_score: true}
  - criteria
formatEvaluatorInputs: {prediction: rawPrediction.answer}
models: {main: openai/gpt-4.1, judge: openai/gpt-4.1-mini}
"#;
    let parse = |embedding: &str| {
        let yaml = yaml.replace("EMBEDDING", embedding);
        Suite::parse(&yaml, "s.yaml", &Registry::builtin())
    };
    let suite = parse("openai/text-embedding-3-small").unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(
        names(&suite),
        [
            "helpful",
            "embedding_distance",
            "trajectory",
            "string_distance",
            "criteria"
        ]
    );
    let asked: Vec<_> = suite
        .checks
        .iter()
        .map(|check| judges(&check.asks).join(" "))
        .collect();
    assert_eq!(
        asked,
        [
            "openai/gpt-4.1",
            "",
            "openai/gpt-4.1-mini",
            "",
            "openai/gpt-4.1-mini"
        ]
    );
    assert!(suite.checks[0].prompt.is_some());
    let local = parse("local").unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(local.checks[1].asks.embedder, None, "the built-in one");
}

#[test]
fn a_template_is_filled_once_from_the_record() {
    let registry = registry();
    for (template, record, verdict) in [
        (
            "{query.a} ({query.b})",
            json!({"query": {"a": "x", "b": 1.10}, "reference": "x (1.1)"}),
            "pass",
        ),
        (
            "{query.a} ({query.b})",
            json!({"query": {"a": "{query.b}", "b": "y"}, "reference": "{query.b} (y)"}),
            "pass",
        ),
        (
            "{{{{ {extra.c} }}}}",
            json!({"c": [1, {"a": null}], "reference": "{{ [1,{\"a\":null}] }}"}),
            "pass",
        ),
        (
            "{rawInput} {run.inputs}",
            json!({"query": "q", "reference": "q q"}),
            "pass",
        ),
        (
            "{query.a} ({query.b})",
            json!({"query": {"a": "x"}, "reference": "x ()"}),
            "error",
        ),
    ] {
        let yaml = json!({"version": 1, "checks": [{"evaluator": "exact_match", "inputs": {"output": template}}]});
        let suite = Suite::parse(&yaml.to_string(), "s.yaml", &registry)
            .unwrap_or_else(|errors| panic!("{errors}"));
        let result =
            crate::single::judge_with(&suite.checks[0], &suite.wanted, &record.to_string())
                .unwrap();
        let result = serde_json::to_value(result).unwrap();
        let found = if result["error"].is_null() {
            result["verdict"].as_str()
        } else {
            Some("error")
        };
        assert_eq!(found, Some(verdict), "{template} {record}: {result}");
    }
}

#[test]
fn custom_evaluators_are_checks() {
    let suite = right(
        "
version: 1
models: {judge: openai/x, tone: anthropic/y}
custom_evaluators:
  - {name: Brand tone, instructions: 'Speak as we do.', model: tone, context: full_context}
  - {name: short, instructions: Is it short?}
checks:
  - brand_tone
  - {evaluator: short, name: brief, options: {}, judge: openai/z}
  - evaluatorType: short
",
    );
    assert_eq!(names(&suite), ["brand_tone", "brief", "short"]);
    assert_eq!(suite.checks[0].info.id, "custom_evaluator");
    assert_eq!(
        suite.checks[0].params.to_json(),
        json!({"instructions": "Speak as we do.", "context": "full_context"})
    );
    let asked: Vec<_> = suite
        .checks
        .iter()
        .map(|check| judges(&check.asks))
        .collect();
    assert_eq!(asked, [["anthropic/y"], ["openai/z"], ["openai/x"]]);
    assert_eq!(suite.notes, [] as [String; 0]);
}

#[test]
fn prompts_in_files_start_at_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.txt"), "Judge {output}").unwrap();
    let path = folder.path().join("lydite.yaml");
    let yaml = "version: 1\nmodels: {judge: openai/x}\nchecks: [{evaluator: criteria, prompt: {file: p.txt}}]";
    let registry = with_models();
    let builder = || SuiteBuilder::new(&registry).file(yaml, &path.to_string_lossy());
    let prompt = |suite: Suite| suite.checks[0].prompt.clone();
    assert_eq!(
        prompt(builder().build().unwrap()).as_deref(),
        Some("Judge {output}")
    );
    std::fs::remove_file(folder.path().join("p.txt")).unwrap();
    assert!(builder().build().is_err());
    assert_eq!(prompt(builder().stored().build().unwrap()), None);
}

#[test]
fn checks_beside_a_suite_ask_its_models() {
    let registry = with_models();
    let suite = SuiteBuilder::new(&registry)
        .file(
            "version: 1\nmodels: {judge: openai/x, main: openai/y}\nchecks: [exact_match]",
            "s.yaml",
        )
        .check_text("criteria: helpfulness")
        .check_text("{evaluator: criteria, judge: main}")
        .build()
        .unwrap_or_else(|errors| panic!("{errors}"));
    let asked: Vec<_> = suite
        .checks
        .iter()
        .map(|check| judges(&check.asks))
        .collect();
    assert_eq!(
        asked,
        [
            vec![],
            vec!["openai/x".to_owned()],
            vec!["openai/y".to_owned()]
        ]
    );
    let alone = SuiteBuilder::new(&registry)
        .check_text("criteria")
        .build()
        .unwrap_err();
    assert!(
        alone
            .to_string()
            .contains("--check:1:1: `criteria` needs models.judge"),
        "{alone}"
    );
}

#[test]
fn checks_of_records_ask_the_suite_s_models() {
    let registry = with_models();
    let suite = right(
        "
version: 1
models: {judge: openai/x, main: openai/y, local_file: {provider: scripted, file: x}}
custom_evaluators: [{name: Brand tone, instructions: x}]
checks: [{evaluator: criteria, params: {criteria: depth}, judge: main, prompt: 'P {output}'}, brand_tone, exact_match]
",
    );
    let mut own = OwnChecks::new();
    let mut of = |json: &str| match own.of(
        Raw::Json(json),
        &registry,
        &suite.definitions,
        &suite.checks,
    ) {
        Ok(checks) => checks
            .iter()
            .map(|check| format!("{} by {}", check.name, judges(&check.asks).join(" & ")))
            .collect::<Vec<_>>()
            .join(", "),
        Err(message) => message,
    };
    let mut table = String::new();
    for json in [
        r#"[{"criteria": "helpfulness"}]"#,
        r#"[{"criteria": "depth"}]"#,
        r#"[{"evaluator": "criteria", "params": {"criteria": "depth"}, "judge": "main"}]"#,
        r#"["brand_tone", {"evaluator": "brand_tone", "name": "other"}]"#,
        r#"[{"evaluator": "criteria", "judge": ["main", "judge"], "repeat": 2, "prompt": "Q {output}", "name": "a"}]"#,
        // wrong ones
        r#"[{"evaluator": "criteria", "params": {"criteria": "depth"}, "judge": "judge"}]"#,
        r#"[{"evaluator": "criteria", "params": {"criteria": "depth"}, "prompt": "Q {output}"}]"#,
        r#"[{"evaluator": "criteria", "judge": "openai/gpt-4o"}]"#,
        r#"[{"evaluator": "criteria", "judge": {"provider": "openai", "model": "x", "base_url": "http://evil"}}]"#,
        r#"[{"evaluatorType": "criteria", "llm": ["main", {"provider": "command", "command": ["rm"]}]}]"#,
        r#"[{"evaluator": "criteria", "judge": "mian"}]"#,
        r#"[{"evaluator": "criteria", "prompt": {"file": "/etc/hostname"}}]"#,
        r#"[{"evaluator": "embedding_distance", "embedder": "ollama/x"}]"#,
        r#"["embedding_distance"]"#,
        r#"[{"evaluator": "toxicity", "moderator": "openai"}]"#,
        r#"[{"brand_tone": {"instructions": "y"}}]"#,
        r#"[{"evaluatorType": "criteria", "chainOptions": {"llmKwargs": {"base_url": "http://evil"}}}]"#,
    ] {
        let _ = writeln!(table, "{json}\n  {}", of(json));
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_schema_knows_models() {
    let schema = schema::schema(&with_models());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let valid = |yaml: &str| validator.is_valid(&crate::node::Node::parse(yaml).unwrap().to_json());
    for yaml in [
        "models: {judge: openai/x, embedder: local, moderator: auto, main: {provider: openai, model: y, temperature: null}}",
        "models: {judge: [openai/x, {provider: command, command: [a]}]}",
        "custom_evaluators: [{name: a, instructions: b, context: full_context, model: main}]",
        "checks: [{evaluator: criteria, judge: [main], mode: {sample: 3}, aggregate: mean, repeat: 3, prompt: {file: a}, compat: langchain-js}]",
        "evaluators: [{evaluatorType: criteria, llm: main, chainOptions: {prompt: x, llmKwargs: {temperature: 0}, memory: {}}}]",
        "eval_llm: openai/x\nchecks: []\ngates: [a.cost <= 2.50]",
    ] {
        assert!(valid(yaml), "{yaml}");
    }
    for yaml in [
        "models: {judge: []}",
        "models: {judge: {provider: opnai}}",
        "models: {judge: {provider: openai, modle: x}}",
        "models: {embedder: [openai/x]}",
        "custom_evaluators: [{name: a}]",
        "custom_evaluators: [{name: a, instructions: b, context: all}]",
        "checks: [{evaluator: criteria, mode: sample}]",
        "checks: [{evaluator: criteria, compat: langchain}]",
        "checks: [{evaluator: criteria, repeat: 0}]",
        "evaluators: [{evaluatorType: criteria, chainOptions: {promt: x}}]",
    ] {
        assert!(!valid(yaml), "{yaml}");
    }
}

proptest! {
    #[test]
    fn any_models_are_a_suite_or_errors(
        models in "(judge|embedder|moderator|main): ?\\[?\\{?(provider|model|api_key|headers)?[:, {}\\[\\]a-z0-9'\"/.\n-]{0,40}",
        check in "(judge|mode|aggregate|repeat|prompt|llm|chainOptions): ?[\\[{]?[a-z{}:, \\]0-9/'\"]{0,20}"
    ) {
        let yaml = format!("models: {{{models}}}\nchecks: [{{evaluatorType: criteria, {check}}}]");
        if let Err(errors) = read(&yaml) {
            prop_assert!(!errors.0.is_empty() && !errors.to_string().is_empty());
        }
    }
}
