//! `lydite eval`: one record, one evaluator.

use std::io::Read as _;
use std::pin::pin;

use lydite::check::{Check, CheckSpec};
use lydite::decode::Wanted;
use lydite::evaluator::{Entry, Registry};
use lydite::judge::ScoreMode;
use lydite::model::ModelSpec;
use lydite::node::{Node, did_you_mean};
use lydite::outcome::Verdict;
use lydite::results::CheckResult;
use lydite::single::{self, SingleError};
use serde_json::{Map, Value};

use super::text_or_file;
use crate::CommandResult;
use crate::models::{self, ModelArgs};
use crate::terminal::outln;

/// Judge one record with one evaluator.
///
/// A value that starts with `@` reads a file. Exit codes as for `run`: 0 pass or measured, 1 fail or partial, 3 no
/// verdict.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The evaluator; see `lydite evaluators list`.
    id: String,
    /// What was asked.
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,
    /// The answer.
    #[arg(long, value_name = "TEXT")]
    output: Option<String>,
    /// The right answer.
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    /// A retrieved passage; may be given several times.
    #[arg(long = "context", value_name = "TEXT")]
    contexts: Vec<String>,
    /// Parameters as YAML or JSON; `threshold`, `not` and `on_missing` may stand among them.
    #[arg(long, value_name = "YAML")]
    params: Option<String>,
    /// A record as JSON; `-` is stdin. The other flags add to it.
    #[arg(long, value_name = "FILE")]
    record: Option<String>,
    /// The model that judges, as `provider/model` or YAML `{provider, model, base_url, …}`; several are a jury.
    /// Without one, evaluators that have a local method take it.
    #[arg(long, value_name = "MODEL")]
    judge: Vec<String>,
    /// The model that embeds.
    #[arg(long, value_name = "MODEL")]
    embedder: Option<String>,
    /// The model that moderates.
    #[arg(long, value_name = "MODEL")]
    moderator: Option<String>,
    #[command(flatten)]
    models: ModelArgs,
    /// The whole result as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> CommandResult {
    let registry = Registry::builtin();
    let entry = registry
        .get(&args.id)
        .ok_or_else(|| unknown(&registry, &args.id))?;
    let params = params(args, entry.info.principal)?;
    let record = record(args)?;
    let result = if entry.info.models.is_empty() {
        single::judge(entry, entry.info.id, &params, &record.to_string()).map_err(said)?
    } else {
        ask(args, entry, &params, &record.to_string())?
    };
    if args.json {
        outln!(
            "{}",
            serde_json::to_string_pretty(&result).map_err(|error| error.to_string())?
        );
    } else {
        print_result(&result);
    }
    Ok(match result.verdict {
        Some(Verdict::Pass) | None => 0,
        Some(Verdict::Fail | Verdict::Partial) => 1,
        Some(Verdict::Inconclusive) => 3,
    })
}

fn said(error: SingleError) -> String {
    match error {
        SingleError::Check(error) => format!("--params: {error}"),
        other => other.to_string(),
    }
}

/// Judges by the named models.
fn ask(
    args: &Args,
    entry: &Entry,
    params: &Node,
    record: &str,
) -> Result<CheckResult<'static>, String> {
    let named = |flag: &str, text: &String| {
        ModelSpec::parse_yaml(text).map_err(|error| format!("{flag}: {error}"))
    };
    let mut spec = CheckSpec::from_flat_asking_params(entry.info.id, params)
        .map_err(|error| said(error.into()))?;
    let is_named = |text: &&String| text.trim() != "local";
    spec.asks.judges = args
        .judge
        .iter()
        .filter(is_named)
        .map(|text| named("--judge", text))
        .collect::<Result<_, _>>()?;
    spec.asks.embedder = args
        .embedder
        .as_ref()
        .filter(is_named)
        .map(|text| named("--embedder", text))
        .transpose()?;
    spec.asks.unmoderated = args.moderator.as_deref() == Some("none");
    spec.asks.moderator = args
        .moderator
        .as_ref()
        .filter(is_named)
        .filter(|text| text.trim() != "none")
        .map(|text| named("--moderator", text))
        .transpose()?;
    let mut wanted = Wanted::default();
    if let Some(local) = spec.asks.local(entry.info)
        && (spec.prompt.is_some() || spec.asks.mode != ScoreMode::Verdict)
    {
        return Err(format!(
            "`prompt` and `mode` are for a judge, and {} works by its local method {}; name a model by --judge",
            entry.info.id, local.method
        ));
    }
    let check = Check::compile(entry, spec, &mut wanted).map_err(|error| said(error.into()))?;
    if !check.asks_models() {
        return single::judge_with(&check, &wanted, record).map_err(said);
    }
    let session = models::host()
        .open(&args.models.options())
        .map_err(|error| error.to_string())?;
    check.bind(&*session).map_err(ToString::to_string)?;
    let mut result = Err("the model was not asked".to_owned());
    session.block_on(pin!(async {
        result = single::ask(&check, &wanted, record, &*session)
            .await
            .map_err(said);
    }));
    session.close().map_err(|error| error.to_string())?;
    result
}

pub(crate) fn unknown(registry: &Registry, id: &str) -> String {
    match did_you_mean(id, registry.names()) {
        Some(near) => format!(
            "there is no evaluator `{id}`; did you mean `{near}`? `lydite evaluators list` shows all"
        ),
        None => format!("there is no evaluator `{id}`; `lydite evaluators list` shows all"),
    }
}

fn params(args: &Args, principal: Option<&str>) -> Result<Node, String> {
    let Some(text) = &args.params else {
        return Ok(Node::from_json(&Value::Object(Map::new())));
    };
    let text = text_or_file(text)?;
    let node = Node::parse(&text).map_err(|error| format!("--params: {error}"))?;
    if node.kind_name() == "mapping" {
        return Ok(node);
    }
    let principal = principal
        .ok_or_else(|| format!("--params: `{}` takes a mapping of parameters", args.id))?;
    let key = Node::text(principal, node.span);
    Ok(Node {
        span: node.span,
        value: lydite::node::NodeValue::Mapping(vec![(key, node)]),
    })
}

fn record(args: &Args) -> Result<Value, String> {
    let mut record = match args.record.as_deref() {
        None => Map::new(),
        Some(path) => {
            let text = if path == "-" {
                read_stdin()?
            } else {
                text_or_file(&format!("@{path}"))?
            };
            match serde_json::from_str(&text) {
                Ok(Value::Object(record)) => record,
                Ok(_) => return Err(format!("--record {path}: expected one JSON object")),
                Err(error) => {
                    let fault = lydite::json::is_valid(&text)
                        .err()
                        .map_or_else(|| error.to_string(), |fault| fault.to_string());
                    return Err(format!("--record {path}: not JSON: {fault}"));
                }
            }
        }
    };
    for (key, value) in [
        ("query", &args.query),
        ("output", &args.output),
        ("reference", &args.reference),
    ] {
        if let Some(value) = value {
            record.insert(key.into(), text_or_file(value)?.into());
        }
    }
    if !args.contexts.is_empty() {
        let contexts = args
            .contexts
            .iter()
            .map(|text| text_or_file(text))
            .collect::<Result<Vec<_>, _>>()?;
        record.insert("contexts".into(), contexts.into());
    }
    Ok(Value::Object(record))
}

fn read_stdin() -> Result<String, String> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| format!("can't read stdin: {error}"))?;
    Ok(text)
}

fn print_result(result: &CheckResult<'_>) {
    if let Some(skipped) = &result.skipped {
        outln!("skipped: {skipped}");
        return;
    }
    let verdict = result.verdict.map_or("measured", Verdict::as_str);
    match result.score {
        Some(score) => outln!("{verdict}  score {score}"),
        None => outln!("{verdict}"),
    }
    if let Some(error) = &result.error {
        outln!("error {}: {}", error.code, error.message);
    }
    if let Some(reason) = &result.reason {
        outln!("{reason}");
    }
    for warning in &result.warnings {
        outln!("warning: {warning}");
    }
    for evidence in result.evidence.iter() {
        if let Ok(text) = serde_json::to_string(evidence) {
            outln!("  {text}");
        }
    }
}
