//! Tests over the whole list of evaluators, and the cases in `tests/cases/<id>.jsonl`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

mod cases;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::LazyLock;

use bumpalo::Bump;
use lydite::check::{Bench, Check, CheckSpec, Judged};
use lydite::decode::{Decoder, Mapping, Survey, Wanted};
use lydite::evaluator::{Entry, Example, Registry, Role};
use lydite::judge::WARNINGS;
use lydite::model::scripted::ScriptedSession;
use lydite::model::{ChatMessage, ChatRequest, ChatRole, ModelSession, ModelSpec, Provider};
use lydite::node::Node;
use lydite::outcome::Verdict;
use lydite::record::{Field, FieldSet};
use lydite::results::CheckResult;
use lydite::single::{self, SingleError};
use proptest::prelude::*;
use serde_json::Value;

use cases::mismatch;

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Judges with models that say nothing.
fn judge(entry: &Entry, params: &Node, record: &str) -> Result<CheckResult<'static>, SingleError> {
    judge_by(entry, params, record, Vec::new())
}

/// Judges with models that answer `replies`.
fn judge_by(
    entry: &Entry,
    params: &Node,
    record: &str,
    replies: Vec<Value>,
) -> Result<CheckResult<'static>, SingleError> {
    if entry.info.models.is_empty() {
        single::judge(entry, entry.info.id, params, record)
    } else {
        single::judge_scripted(entry, entry.info.id, params, record, replies)
    }
}

fn replies_of(example: &Example) -> Vec<Value> {
    serde_json::from_str(example.replies).unwrap()
}

#[test]
fn every_example_holds() {
    for entry in Registry::builtin().entries() {
        for example in entry.info.examples {
            let params = Node::parse(example.params).unwrap();
            let expect: Value = serde_json::from_str(example.expect).unwrap();
            let got = judge_by(entry, &params, example.record, replies_of(example));
            if let Some(wrong) = mismatch(&got, &expect, 1e-9) {
                panic!("{} / {}: {wrong}", entry.info.id, example.title);
            }
        }
    }
}

/// Those that ask a model run in `lydite-models`, with the model.
#[test]
fn cases_and_examples_of_local_methods_without_a_model_hold() {
    let registry = Registry::builtin();
    let judge = |entry: &Entry, params: &Node, record: &str| {
        let spec = CheckSpec::from_flat_asking_params(entry.info.id, params)?;
        let local = spec.asks.local(entry.info).map(|local| local.method);
        assert!(local.is_some(), "{}", entry.info.id);
        single::judge_asking(entry, spec, record, &ScriptedSession::new(Vec::new()))
    };
    let without_model = |entry: &Entry| {
        entry
            .info
            .locals
            .iter()
            .all(|local| local.models.is_empty())
    };
    let failures: Vec<String> = cases::local(&registry)
        .iter()
        .filter(|case| without_model(case.entry))
        .filter_map(|case| {
            let got = judge(case.entry, &case.params, &case.record);
            case.failure(cases::SCRIPTED, &got)
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for entry in registry
        .entries()
        .iter()
        .filter(|entry| without_model(entry))
    {
        for example in entry.info.locals.iter().flat_map(|local| local.examples) {
            let params = Node::parse(example.params).unwrap();
            let expect: Value = serde_json::from_str(example.expect).unwrap();
            let got = judge(entry, &params, example.record);
            if let Some(wrong) = mismatch(&got, &expect, 1e-9) {
                panic!("{} / {}: {wrong}", entry.info.id, example.title);
            }
        }
    }
}

#[test]
fn examples_show_a_pass_a_fail_and_an_error() {
    for entry in Registry::builtin().entries() {
        let shown: BTreeSet<String> = entry
            .info
            .examples
            .iter()
            .map(|example| {
                let expect: Value = serde_json::from_str(example.expect).unwrap();
                if expect.get("error").is_some() {
                    "error".into()
                } else {
                    expect["verdict"].as_str().unwrap().to_owned()
                }
            })
            .collect();
        for kind in ["pass", "fail", "error"] {
            assert!(shown.contains(kind), "{} shows no {kind}", entry.info.id);
        }
    }
}

#[test]
fn names_files_and_docs_are_in_order() {
    let mut names = BTreeSet::new();
    for entry in Registry::builtin().entries() {
        let id = entry.info.id;
        assert!(
            id.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
            "{id} is not snake_case"
        );
        for name in std::iter::once(&id).chain(entry.info.aliases) {
            assert!(names.insert(*name), "{name} stands twice");
        }
        assert!(
            here().join(format!("src/evaluators/{id}.rs")).is_file(),
            "{id} is not in a file of its name"
        );
        assert!(
            here().join(format!("tests/cases/{id}.jsonl")).is_file(),
            "{id} has no cases"
        );
        let docs = entry.docs();
        for heading in [
            "## When to use it",
            "## How it is scored",
            "## Limits",
            "## References",
        ] {
            assert!(docs.contains(heading), "{id} has no {heading}");
        }
        assert!(
            entry.summary().len() > 20 && entry.summary().ends_with('.'),
            "{id}: {}",
            entry.summary()
        );
        for (name, property) in entry.schema["properties"].as_object().into_iter().flatten() {
            assert!(
                property.get("description").is_some() || property.get("$ref").is_some(),
                "{id}.{name} has no description"
            );
        }
    }
}

#[test]
fn parameters_survive_being_written_and_read_again() {
    for entry in Registry::builtin().entries() {
        for example in entry.info.examples {
            let mut params = Node::parse(example.params).unwrap().to_json();
            if let Some(object) = params.as_object_mut() {
                for outside in ["threshold", "not", "on_missing", "reference"]
                    .into_iter()
                    .chain(entry.info.reference_alias)
                {
                    if entry
                        .schema
                        .pointer(&format!("/properties/{outside}"))
                        .is_none()
                    {
                        object.remove(outside);
                    }
                }
            }
            let once = entry.normalise_params(&Node::from_json(&params)).unwrap();
            let twice = entry.normalise_params(&Node::from_json(&once)).unwrap();
            assert_eq!(once, twice, "{}", entry.info.id);
        }
    }
}

#[test]
fn not_negates_pass_and_fail_exactly() {
    for entry in Registry::builtin().entries() {
        for example in entry.info.examples {
            let params = Node::parse(example.params).unwrap();
            let has_verdict = entry.info.natural_verdict || params.get("threshold").is_some();
            let mut negated = params.to_json();
            negated["not"] = true.into();
            let negated = judge_by(
                entry,
                &Node::from_json(&negated),
                example.record,
                replies_of(example),
            );
            if !has_verdict {
                assert!(
                    negated.is_err(),
                    "{}: `not` without a verdict must be refused",
                    entry.info.id
                );
                continue;
            }
            let plain = judge_by(entry, &params, example.record, replies_of(example)).unwrap();
            let negated = negated.unwrap();
            assert_eq!(
                negated.verdict,
                plain.verdict.map(lydite::outcome::Verdict::negated),
                "{}",
                entry.info.id
            );
            assert_eq!(negated.score, plain.score, "{}", entry.info.id);
        }
    }
}

const MARK: &str = "of-the-record";

/// Marks every text of a record.
fn mark(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(MARK),
        Value::Array(items) => items.iter_mut().for_each(mark),
        Value::Object(members) => members
            .iter_mut()
            .filter(|(key, _)| !matches!(key.as_str(), "role" | "type"))
            .for_each(|(_, member)| mark(member)),
        _ => {}
    }
}

/// A prompt without what stands in its fences.
fn outside_of_fences(prompt: &str, fence: &str) -> String {
    let (open, close) = (format!("<{fence}>"), format!("</{fence}>"));
    let mut parts = prompt.split(open.as_str());
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |outside, part| {
        outside + part.split_once(close.as_str()).unwrap().1
    })
}

/// What a judge is asked for a record by an example's check.
fn asked(entry: &Entry, example: &Example, record: &str) -> Vec<ChatRequest> {
    let mut wanted = Wanted::default();
    let params = Node::parse(example.params).unwrap();
    let mut spec = CheckSpec::from_flat_asking_params(entry.info.id, &params).unwrap();
    let model = || ModelSpec::new(Provider::Scripted, "model");
    spec.asks.judges = vec![model()];
    spec.asks.embedder = Some(model());
    let check = Check::compile(entry, spec, &mut wanted).unwrap();
    let session = ScriptedSession::new(replies_of(example));
    session.block_on(pin!(async {
        single::ask(&check, &wanted, record, &session)
            .await
            .unwrap();
    }));
    session.asked()
}

#[test]
fn judges_see_the_texts_of_records_in_fences_only() {
    let registry = Registry::builtin();
    let judged = registry.entries().iter();
    for entry in judged.filter(|entry| entry.info.models.contains(&Role::Judge)) {
        for example in entry.info.examples {
            let mut record: Value = serde_json::from_str(example.record).unwrap();
            mark(&mut record);
            for request in asked(entry, example, &record.to_string()) {
                let user = |message: &&ChatMessage| message.role == ChatRole::User;
                let prompt = &request.messages.iter().find(user).unwrap().content;
                let outside = outside_of_fences(prompt, &request.fence.unwrap());
                assert!(
                    !outside.contains(MARK),
                    "{} / {}: {outside}",
                    entry.info.id,
                    example.title
                );
            }
        }
    }
}

/// Texts that have broken other tools.
fn odd_texts() -> Vec<String> {
    vec![
        String::new(),
        " ".into(),
        "\u{0}".into(),
        "e\u{301}".repeat(3),
        "ﬁŉǰΐ ß İ".into(),
        "日本語のテキスト".into(),
        "مرحبا بالعالم".into(),
        "👩‍👩‍👧‍👦🏳️‍🌈".into(),
        "\u{202e}evil\u{2028}line\u{85}".into(),
        "a".repeat(20_000),
        "[".repeat(5_000),
        "{\"a\":".repeat(200),
        "1e999999".into(),
        "{\"a\":1,\"a\":2}".into(),
        "\"\\ud800\"".into(),
        "(((((((((((((((((((((((((((((((((".into(),
    ]
}

#[test]
fn odd_inputs_neither_panic_nor_give_a_score_that_is_no_number() {
    for entry in Registry::builtin().entries() {
        for example in entry.info.examples.iter().take(2) {
            let params = Node::parse(example.params).unwrap();
            let template: Value = serde_json::from_str(example.record).unwrap();
            for odd in odd_texts() {
                for key in template.as_object().unwrap().keys() {
                    for value in [
                        Value::from(odd.as_str()),
                        Value::from(vec![odd.as_str()]),
                        serde_json::json!({"x": odd, "y": [1.5e300, -0.0]}),
                        Value::from(-0.0),
                    ] {
                        let mut record = template.clone();
                        record[key] = value;
                        if let Ok(result) = judge(entry, &params, &record.to_string()) {
                            assert!(result.score.is_none_or(f64::is_finite), "{}", entry.info.id);
                            assert!(
                                result.error.is_none() || result.score.is_none(),
                                "{}",
                                entry.info.id
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_judge_is_asked_by_a_prompt_that_is_shown() {
    for entry in Registry::builtin().entries() {
        let asks = entry.info.models.contains(&Role::Judge);
        assert_eq!(asks, !entry.info.prompts.is_empty(), "{}", entry.info.id);
    }
}

#[test]
fn every_example_says_why() {
    for entry in Registry::builtin().entries() {
        for example in entry.info.examples {
            let params = Node::parse(example.params).unwrap();
            let result = judge_by(entry, &params, example.record, replies_of(example)).unwrap();
            let says =
                result.error.is_some() || result.reason.is_some_and(|reason| !reason.is_empty());
            assert!(
                says,
                "{} / {} gives no reason",
                entry.info.id, example.title
            );
        }
    }
}

/// Judges with and without words, on one desk that other rows have used before.
fn judge_twice(
    check: &Check,
    wanted: &Wanted,
    record: &str,
    bench: &mut Bench,
) -> Option<(Judged, Judged)> {
    let mut survey = Survey::default();
    survey.add(record);
    let mapping = Mapping::new(
        &survey,
        &BTreeMap::new(),
        wanted,
        check.needs.contains(Field::Reference),
    )
    .ok()?;
    let arena = Bump::new();
    let slots = Decoder::new(&mapping).decode(record, &arena).ok()?;
    Some((
        check.judge(slots, &arena, bench, false),
        check.judge(slots, &arena, bench, true),
    ))
}

fn compile(entry: &Entry, params: &Value) -> Option<(Check, Wanted)> {
    let mut wanted = Wanted::default();
    let spec = CheckSpec::from_flat_params(entry.info.id, &Node::from_json(params)).ok()?;
    Some((Check::compile(entry, spec, &mut wanted).ok()?, wanted))
}

/// What an evaluator gives, apart from what the record's other fields add to its line.
fn essence(
    result: Result<CheckResult<'static>, SingleError>,
) -> Result<CheckResult<'static>, String> {
    let line = result.map_err(|error| error.to_string())?;
    Ok(CheckResult {
        record: "".into(),
        model: None,
        trial: 1,
        tags: Vec::new(),
        cluster: None,
        usage: None,
        took_ms: None,
        ..line
    })
}

/// `reads` with the fields that are derived from others where they are missing.
fn sources(mut fields: FieldSet) -> FieldSet {
    for (field, source) in [
        (Field::Candidates, Field::Output),
        (Field::Output, Field::Messages),
        (Field::Query, Field::Messages),
    ] {
        if fields.contains(field) {
            fields.insert(source);
        }
    }
    fields
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// An evaluator, parameters that its schema allows (nearly all of them usable), and any record.
fn judgements() -> impl Strategy<Value = (&'static Entry, Value, Value)> {
    (0..REGISTRY.entries().len()).prop_flat_map(|index| {
        let entry = &REGISTRY.entries()[index];
        (Just(entry), params_of(entry), records())
    })
}

/// Parameters by the schema: all that are required, some of the others.
fn params_of(entry: &Entry) -> BoxedStrategy<Value> {
    let schema: &Value = &entry.schema;
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|n| n == name))
    };
    let properties =
        schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, property)| {
                let (name, values) = (name.clone(), value_of(schema, property));
                let given = if required(&name) {
                    values.prop_map(Some).boxed()
                } else {
                    proptest::option::of(values).boxed()
                };
                given.prop_map(move |value| Some((name.clone(), value?)))
            });
    properties
        .collect::<Vec<_>>()
        .prop_map(|members| {
            members
                .into_iter()
                .flatten()
                .collect::<serde_json::Map<_, _>>()
                .into()
        })
        .boxed()
}

/// A value that a schema allows.
fn value_of(root: &Value, schema: &Value) -> BoxedStrategy<Value> {
    if let Some(target) = schema["$ref"].as_str() {
        return value_of(root, root.pointer(target.trim_start_matches('#')).unwrap());
    }
    if let Some(value) = schema.get("const") {
        return Just(value.clone()).boxed();
    }
    if let Some(variants) = schema
        .get("oneOf")
        .or_else(|| schema.get("anyOf"))
        .and_then(Value::as_array)
    {
        return proptest::strategy::Union::new(
            variants.iter().map(|variant| value_of(root, variant)),
        )
        .boxed();
    }
    let kinds = [&schema["type"]]
        .into_iter()
        .chain(schema["type"].as_array().into_iter().flatten());
    match kinds.filter_map(Value::as_str).find(|kind| *kind != "null") {
        Some("string") => texts().prop_map(Value::from).boxed(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => proptest::sample::select(vec![0, 1, 2, 7, 8, 26, 256, 300])
            .prop_map(Value::from)
            .boxed(),
        Some("number") => (0.0..=1.0).prop_map(Value::from).boxed(),
        Some("array") => proptest::collection::vec(value_of(root, &schema["items"]), 0..4)
            .prop_map(Value::from)
            .boxed(),
        Some("object") => proptest::collection::btree_map("[a-c]", 0.0..=0.4, 0..3)
            .prop_map(|members| serde_json::json!(members))
            .boxed(),
        _ => json_values(),
    }
}

fn records() -> impl Strategy<Value = Value> {
    let content = || prop_oneof![4 => texts().prop_map(Value::from), 2 => json_values(), 1 => json_values().prop_map(|json| json.to_string().into())];
    let list = |of: BoxedStrategy<Value>| {
        proptest::collection::vec(of, 0..4)
            .prop_map(Value::from)
            .boxed()
    };
    let turn = (prop_oneof!["user", "assistant", "system"], content())
        .prop_map(|(role, content)| serde_json::json!({"role": role, "content": content}));
    let fields: Vec<(&str, f64, BoxedStrategy<Value>)> = vec![
        ("query", 0.5, content().boxed()),
        ("output", 0.9, content().boxed()),
        (
            "reference",
            0.8,
            prop_oneof![
                content(),
                proptest::collection::vec(texts(), 1..4).prop_map(Value::from)
            ]
            .boxed(),
        ),
        ("candidates", 0.7, list(content().boxed())),
        ("contexts", 0.5, list(texts().prop_map(Value::from).boxed())),
        ("messages", 0.3, list(turn.boxed())),
        (
            "weights",
            0.2,
            proptest::collection::btree_map("[a-c]", 0.0..=0.4, 0..3)
                .prop_map(|members| serde_json::json!(members))
                .boxed(),
        ),
        ("tags", 0.2, list(texts().prop_map(Value::from).boxed())),
        (
            "metadata",
            0.2,
            json_values()
                .prop_map(|json| serde_json::json!({"x": json}))
                .boxed(),
        ),
    ];
    let members = fields.into_iter().map(|(name, share, values)| {
        proptest::option::weighted(share, values)
            .prop_map(move |value| Some((name.to_owned(), value?)))
    });
    let record = members.collect::<Vec<_>>().prop_map(|members| {
        members
            .into_iter()
            .flatten()
            .collect::<serde_json::Map<_, _>>()
    });
    (record, proptest::bool::weighted(0.2)).prop_map(|(mut record, is_right)| {
        if let (true, Some(output)) = (is_right, record.get("output").cloned()) {
            record.insert("reference".to_owned(), output);
        }
        record.into()
    })
}

/// Short ones that often have something in common, and any.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[aAb ]{0,4}", 2 => r"(a|b|\.\*|\[ab\]|\\d|1|\{2\}){1,4}", 1 => ".{0,12}", 1 => proptest::sample::select(odd_texts())]
}

fn json_values() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..9).prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has finite numbers", |number| number.is_finite())
            .prop_map(Value::from),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    let inner = |inner: BoxedStrategy<Value>| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|members| serde_json::json!(members)),
        ]
    };
    leaf.prop_recursive(3, 16, 4, move |deeper| inner(deeper.boxed()))
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn any_record_gives_a_score_in_range_or_says_why_not((entry, params, record) in judgements()) {
        let Ok(result) = judge(entry, &Node::from_json(&params), &record.to_string()) else { return Ok(()) };
        let (least, most) = entry.info.range;
        if let Some(score) = result.score {
            prop_assert!(score.is_finite());
            prop_assert!(least.is_none_or(|least| score >= least) && most.is_none_or(|most| score <= most), "{score}");
            prop_assert!(result.error.is_none() && result.skipped.is_none());
        }
        // An error is inconclusive; so is an answer that leaves a judge nothing to decide.
        let undecided = result.verdict == Some(Verdict::Inconclusive);
        prop_assert_eq!(result.verdict.is_some(), entry.info.natural_verdict || undecided);
        prop_assert!(undecided || result.error.is_none());
        prop_assert!(!undecided || result.error.is_some() || !entry.info.models.is_empty());
        for code in &result.warnings {
            let judges = if entry.info.models.is_empty() { &[][..] } else { &WARNINGS[..] };
            prop_assert!(entry.info.warnings.iter().chain(judges).any(|warning| warning.code == *code), "{code}");
        }
    }

    #[test]
    fn equal_input_gives_equal_cells_whatever_came_before_and_with_words_or_without(
        (entry, params, record) in judgements(),
        before in proptest::collection::vec(records(), 0..3),
    ) {
        let Some((check, wanted)) = compile(entry, &params) else { return Ok(()) };
        let record = record.to_string();
        let mut used = Bench::default();
        for other in before {
            judge_twice(&check, &wanted, &other.to_string(), &mut used);
        }
        let Some((without, with)) = judge_twice(&check, &wanted, &record, &mut used) else { return Ok(()) };
        let (fresh, _) = judge_twice(&check, &wanted, &record, &mut Bench::default()).unwrap();
        prop_assert_eq!(without.cell, with.cell);
        prop_assert_eq!(without.cell, fresh.cell);
        prop_assert_eq!(without.verdict, with.verdict);
    }

    #[test]
    fn thresholds_follow_the_direction_and_not_negates((entry, mut params, record) in judgements(), share in 0.0..=1.0) {
        let record = record.to_string();
        let Ok(plain) = judge(entry, &Node::from_json(&params), &record) else { return Ok(()) };
        let Some((check, _)) = compile(entry, &params) else { return Ok(()) };
        let (least, most) = (check.scale.range.0.unwrap_or(-8.0), check.scale.range.1.unwrap_or(8.0));
        let threshold = f64::min(least + share * (most - least), most);
        params["threshold"] = threshold.into();
        let judged = judge(entry, &Node::from_json(&params), &record).unwrap();
        params["not"] = true.into();
        let negated = judge(entry, &Node::from_json(&params), &record).unwrap();
        prop_assert_eq!(judged.score, plain.score);
        prop_assert_eq!(negated.score, plain.score);
        let expected = match (plain.score, &plain.error) {
            (Some(score), _) => Some(Verdict::from_bool(check.scale.direction.meets(score, threshold))),
            (None, Some(_)) => Some(Verdict::Inconclusive),
            (None, None) => judged.verdict,
        };
        prop_assert_eq!(judged.verdict, expected);
        prop_assert_eq!(negated.verdict, judged.verdict.map(Verdict::negated));
        prop_assert_eq!(&judged.natural, if plain.error.is_some() { &None } else { &plain.verdict });
    }

    #[test]
    fn the_order_of_references_does_not_count((entry, params, mut record) in judgements(), references in proptest::collection::vec(texts(), 2..4)) {
        let list_is_one_value = entry.info.id == "equals" || entry.info.id.starts_with("json");
        if list_is_one_value || !entry.reads_reference() {
            return Ok(());
        }
        let mut score = |references: Vec<String>| {
            record["reference"] = references.into();
            judge(entry, &Node::from_json(&params), &record.to_string()).ok().and_then(|result| result.score)
        };
        let backwards = references.iter().rev().cloned().collect();
        prop_assert_eq!(score(references), score(backwards));
    }

    #[test]
    fn fields_that_info_does_not_name_are_not_read((entry, params, record) in judgements(), other in json_values()) {
        let params = Node::from_json(&params);
        let expected = essence(judge(entry, &params, &record.to_string()));
        let read = sources(entry.info.reads);
        for field in Field::ALL.into_iter().filter(|field| !read.contains(*field)) {
            // Lines carry them, so that they are parsed for all.
            if matches!(field, Field::Id | Field::Model | Field::Trial | Field::Tags | Field::Cluster) {
                continue;
            }
            for value in [Value::Null, other.clone()] {
                let mut changed = record.clone();
                changed[field.as_str()] = value;
                prop_assert_eq!(&essence(judge(entry, &params, &changed.to_string())), &expected, "{}", field);
            }
        }
    }
}

/// `{missing: null}` would not be the text `null`.
#[test]
fn the_values_of_parameters_are_text_to_yaml() {
    fn constants(schema: &Value, found: &mut Vec<String>) {
        let values = schema
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .chain(schema.get("const"));
        found.extend(values.filter_map(Value::as_str).map(str::to_owned));
        let inner: Vec<&Value> = match schema {
            Value::Object(members) => members.values().collect(),
            Value::Array(items) => items.iter().collect(),
            _ => Vec::new(),
        };
        for inner in inner {
            constants(inner, found);
        }
    }
    for entry in REGISTRY.entries() {
        let mut values = Vec::new();
        constants(&entry.schema, &mut values);
        for value in values {
            assert_eq!(
                Node::parse(&value).unwrap().to_json(),
                value.as_str(),
                "{}",
                entry.info.id
            );
        }
    }
}

#[test]
fn cases() {
    let registry = Registry::builtin();
    let cases = cases::all(&registry);
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let replies = case.replies.clone().unwrap_or_default();
            let got = judge_by(case.entry, &case.params, &case.record, replies);
            case.failure(cases::SCRIPTED, &got)
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases fail:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}
