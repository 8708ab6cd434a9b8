//! Suites that are right in every form, and suites that are wrong in every way.

mod judged;

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::gate::{Known, Unit};
use super::own::OwnChecks;
use super::*;
use crate::record::Raw;

/// A few evaluators, so that what is said of them does not change with the next one.
fn registry() -> Registry {
    let builtin = Registry::builtin();
    [
        "contains",
        "contains_any",
        "equals",
        "exact_match",
        "golden_response",
        "json_validity",
        "regex",
        "string_distance",
    ]
    .into_iter()
    .fold(Registry::empty(), |registry, id| {
        registry.with(builtin.get(id).unwrap().clone())
    })
}

fn parse(yaml: &str) -> Result<Suite, SuiteErrors> {
    Suite::parse(yaml, "lydite.yaml", &registry())
}

fn names(suite: &Suite) -> Vec<&str> {
    suite
        .checks
        .iter()
        .map(|check| check.name.as_str())
        .collect()
}

/// Title and suite; `version: 1` is put after those that name none.
const WRONG: &[(&str, &str)] = &[
    ("empty", ""),
    ("a list", "- exact_match\n"),
    ("a text", "exact_match\n"),
    ("no YAML", "version: 1\nchecks: [exact_match\n"),
    ("no check", "name: x\n"),
    ("an empty list of checks", "checks: []\n"),
    ("another version", "version: 2\nchecks: [exact_match]\n"),
    (
        "version of a wrong kind",
        "version: [1]\nchecks: [exact_match]\n",
    ),
    ("an unknown key", "chekcs: [exact_match]\n"),
    ("another tool's key", "tests: [exact_match]\n"),
    ("metrics for checks", "metrics: [exact_match]\n"),
    (
        "a target",
        "target: {command: ./app}\nchecks: [exact_match]\n",
    ),
    (
        "two lists of checks",
        "checks: [exact_match]\nevaluators: [exact_match]\n",
    ),
    ("checks as a mapping", "checks:\n  contains: {phrase: x}\n"),
    ("a check that is a list", "checks:\n  - [exact_match]\n"),
    ("a check that is nothing", "checks:\n  -\n"),
    ("an unknown evaluator", "checks:\n  - exact_mach\n"),
    (
        "another tool's evaluators",
        "checks:\n  - icontains: x\n  - levenshtein\n  - is-json\n  - not-contains: x\n  - ExactMatch\n",
    ),
    (
        "model-graded evaluators",
        "checks:\n  - criteria: helpfulness\n  - similar\n  - evaluatorType: labeled_criteria\n    criteria: correctness\n",
    ),
    (
        "metric for evaluator",
        "checks:\n  - metric: contains\n    params: {phrase: x}\n  - type: contains\n",
    ),
    (
        "keys beside an id",
        "checks:\n  - contains: x\n    threshold: 1\n",
    ),
    (
        "no evaluator at all",
        "checks:\n  - name: x\n    params: {phrase: x}\n",
    ),
    (
        "an unknown key of a check",
        "checks:\n  - evaluator: contains\n    params: {phrase: x}\n    treshold: 1\n    fields: {query: x}\n",
    ),
    (
        "a parameter outside params",
        "checks:\n  - evaluator: contains\n    phrase: x\n",
    ),
    (
        "an unknown parameter",
        "checks:\n  - contains: {phrase: x, casesensitive: false}\n",
    ),
    (
        "wrong parameters, all at once",
        "checks:\n  - contains: {phrase: '', case_sensitive: perhaps}\n  - string_distance: {distance: levenstein}\n  - regex: '('\n  - contains: {}\n",
    ),
    (
        "null for text",
        "checks:\n  - contains: {phrase: null}\n  - contains:\n  - golden_response: {reference: ~}\n",
    ),
    (
        "a plain value for nothing",
        "checks:\n  - json_validity: true\n",
    ),
    (
        "params and options",
        "checks:\n  - evaluator: contains\n    params: {phrase: x}\n    options: {phrase: y}\n",
    ),
    (
        "params that are no mapping",
        "checks:\n  - evaluator: contains\n    params: x\n",
    ),
    (
        "two names of the reference",
        "checks:\n  - golden_response: {reference: a, golden_response: b}\n",
    ),
    (
        "names that clash",
        "checks:\n  - {evaluator: contains, params: {phrase: x}, name: a}\n  - exact_match\n  - {evaluatorType: exact_match, feedbackKey: a}\n",
    ),
    (
        "an empty name",
        "checks:\n  - {evaluator: exact_match, name: ''}\n",
    ),
    (
        "values of wrong kinds",
        "checks:\n  - evaluator: exact_match\n    threshold: high\n    not: maybe\n    on_missing: ignore\n    repeat: 0\n    when: [x]\n    name: {a: b}\n",
    ),
    (
        "a threshold outside the range",
        "checks:\n  - {evaluator: exact_match, threshold: 90}\n",
    ),
    (
        "not of what only measures",
        "checks:\n  - {evaluator: string_distance, not: true}\n",
    ),
    (
        "when on an unknown field",
        "checks:\n  - {evaluator: exact_match, when: refernce == 'x'}\n  - {evaluator: exact_match, when: lang == 'x'}\n",
    ),
    (
        "when that is no expression",
        "checks:\n  - {evaluator: exact_match, when: 'query =='}\n",
    ),
    (
        "wrong inputs",
        "checks:\n  - evaluator: exact_match\n    inputs: {ouput: a.b, output: a..b, reference: [x], answer: x, input: '{a b} {b}'}\n",
    ),
    (
        "one field twice in inputs",
        "checks:\n  - {evaluator: exact_match, inputs: {prediction: a, output: b}}\n",
    ),
    (
        "compat",
        "checks:\n  - {evaluator: exact_match, compat: langchain-js}\n",
    ),
    (
        "an unknown LangChain option",
        "evaluators:\n  - {evaluatorType: string_distance, distence: jaro, feedback: x}\n",
    ),
    (
        "a LangChain option twice",
        "evaluators:\n  - {evaluatorType: string_distance, distance: jaro, distanceMetric: jaro}\n",
    ),
    (
        "a wrong LangChain option",
        "evaluators:\n  - {evaluatorType: string_distance, distanceMetric: cosine}\n",
    ),
    (
        "two words for the evaluator",
        "evaluators:\n  - {evaluatorType: exact_match, evaluator: exact_match}\n",
    ),
    (
        "a wrong dataset",
        "dataset: {file: x, format: jsonlines, limit: 0, sample: many, seed: -1, where: 'refrence == 1', fields: {question: q}}\nchecks: [exact_match]\n",
    ),
    (
        "a dataset of a later format",
        "dataset: {path: x.parquet, format: parquet}\nchecks: [exact_match]\n",
    ),
    (
        "a dataset without a file",
        "dataset: []\nchecks: [exact_match]\n",
    ),
    (
        "wrong gates",
        "checks: [exact_match, string_distance]\ngates:\n  - exact_mach.pass_rate >= 0.9\n  - exact_match.pas_rate >= 0.9\n  - exact_match.pass_rate >= 90\n  - string_distance.pass_rate >= 0.9\n  - exact_match\n  - {exact_match: 1}\n",
    ),
    (
        "gates that are a text",
        "checks: [exact_match]\ngates: exact_match.pass_rate >= 0.9\n",
    ),
    (
        "errors everywhere",
        "nme: x\ndataset: {pth: x}\nchecks:\n  - exact_mach\n  - contains: {phrase: x}\n    name: y\ngates:\n  - errors < 0\n",
    ),
];

#[test]
fn wrong_suites() {
    let mut told = String::new();
    for (title, yaml) in WRONG {
        let yaml = if yaml.contains("version") || !yaml.contains(':') {
            (*yaml).to_owned()
        } else {
            format!("{yaml}version: 1\n")
        };
        let errors = parse(&yaml).expect_err(title);
        let _ = writeln!(told, "### {title}\n{errors}\n");
    }
    insta::assert_snapshot!(told);
}

#[test]
fn every_form_of_a_check() {
    let suite = parse(
        r#"
version: 1
name: forms
dataset: {path: [a.jsonl, b.csv], fields: {query: question.text, reference: /expected~1answer}, where: "'x' in tags", limit: 10, sample: 5, seed: 3}
checks:
  - exact_match
  - contains: {phrase: 30 days, case_sensitive: false}
  - contains: 01234
  - contains_any: [a, 1.10]
  - golden_response: yes
  - golden_response: {golden_response: no, punctuation: full}
  - equals: null_value
  - evaluator: string_distance
    name: near
    params: {distance: levenshtein}
    threshold: 0.2
    inputs: {output: metadata.answer, reference: "{{ metadata.expected }}"}
    when: extra.lang == "en"
    on_missing: skip
    not: true
  - {evaluator: contains, options: {phrase: "{{ extra.phrase }}"}}
  - evaluatorType: string_distance
    distanceMetric: jaro
    normalizeScore: false
    feedbackKey: letters
    formatEvaluatorInputs: {prediction: rawPrediction.answer, reference: run.outputs.expected}
  - {evaluator_type: exact_match, ignore_case: true, reference_key: a/b}
inputs: {output: metadata.out}
gates:
  - near.pass_rate >= 90%
  - errors <= 1%
"#,
    )
    .unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(
        names(&suite),
        [
            "exact_match",
            "contains",
            "contains_2",
            "contains_any",
            "golden_response",
            "golden_response_2",
            "equals",
            "near",
            "contains_3",
            "letters",
            "exact_match_2"
        ]
    );
    let params: Vec<serde_json::Value> = suite
        .checks
        .iter()
        .map(|check| check.params.to_json())
        .collect();
    assert_eq!(
        params[1],
        json!({"phrase": "30 days", "case_sensitive": false})
    );
    assert_eq!(
        suite.checks[2].params.get("phrase").unwrap().as_str(),
        Some("01234")
    );
    assert_eq!(
        params[4],
        json!({}),
        "the reference is no parameter of its own"
    );
    assert_eq!(params[5], json!({"punctuation": "full"}));
    assert_eq!(
        params[9],
        json!({"distance": "jaro", "normalize_score": false})
    );
    assert_eq!(params[10], json!({"ignore_case": true}));
    let near = &suite.checks[7];
    assert_eq!(
        (near.threshold, near.negate, near.on_missing),
        (Some(0.2), true, OnMissing::Skip)
    );
    assert!(near.needs.is_empty() && near.when.is_some());
    let paths = |index: usize| {
        suite.checks[index]
            .record_paths()
            .map(|(_, path)| path.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        paths(0),
        ["metadata.out"],
        "the suite's inputs hold for all"
    );
    assert_eq!(
        paths(7),
        ["metadata.answer", "metadata.expected"],
        "a check's own are stronger"
    );
    assert_eq!(paths(8), ["metadata.out", "extra.phrase"]);
    assert_eq!(paths(9), ["/output/answer", "/output/expected"]);
    assert_eq!(paths(10), ["/reference/a~1b", "metadata.out"]);
    assert!(
        suite.needs_reference(),
        "exact_match reads it from the record"
    );
    let dataset = suite.dataset.as_ref().unwrap();
    assert_eq!(
        (
            dataset.paths.len(),
            dataset.limit,
            dataset.sample,
            dataset.seed
        ),
        (2, Some(10), Some(5), Some(3))
    );
    assert_eq!(suite.fields()[&Field::Reference].rest(), [] as [String; 0]);
    assert!(suite.condition.is_some());
    assert_eq!(suite.notes, [] as [String; 0]);
    assert_eq!(suite.gates.len(), 2);
}

#[test]
fn precedence_of_inputs() {
    let paths = |yaml: &str| {
        let suite = parse(yaml).unwrap_or_else(|errors| panic!("{errors}"));
        let mut paths: Vec<String> = suite.checks[0]
            .record_paths()
            .map(|(what, path)| format!("{what} {path}"))
            .collect();
        paths.sort();
        paths
    };
    let suite = "formatEvaluatorInputs: {prediction: rawPrediction.s, reference: s}\ninput_key: ignored\nprediction_key: weak\n";
    assert_eq!(
        paths(&format!("{suite}checks: [exact_match]")),
        ["`output` /output/s", "`reference` s"]
    );
    let form = "  - {evaluatorType: exact_match, formatEvaluatorInputs: {output: f}, predictionKey: weaker}\n";
    assert_eq!(
        paths(&format!("{suite}checks:\n{form}")),
        ["`output` f", "`reference` s"]
    );
    let check = "  - {evaluatorType: exact_match, formatEvaluatorInputs: {output: f, reference: f}, inputs: {output: c}}\n";
    assert_eq!(
        paths(&format!("{suite}checks:\n{check}")),
        ["`output` c", "`reference` f"]
    );
    let own =
        "  - {evaluator: exact_match, inputs: {output: c, reference: c}, params: {reference: x}}\n";
    let suite = parse(&format!("checks:\n{own}")).unwrap();
    assert!(suite.checks[0].needs.is_empty());
}

#[test]
fn notes() {
    let suite = parse(
        "checks:
  - {evaluator: exact_match, repeat: 3, judge: main, inputs: {contexts: a.b}}
  - contains: '{{ city }}'
  - golden_response: '{{ variables.city }}'
  - {evaluator_type: string_distance, llm: gpt, chainOptions: {}, criteria: helpfulness, agentTools: [], embedding: local}
models: {judge: openai/gpt-4.1-mini, nli: local, main: openai/gpt-4.1, jugde: openai/x}
dataset: {path: x, seed: 1}
",
    )
    .unwrap_or_else(|errors| panic!("{errors}"));
    insta::assert_snapshot!(suite.notes.join("\n"));
}

#[test]
fn names_make_room() {
    for (checks, expected) in [
        (
            "[exact_match, exact_match, exact_match]",
            vec!["exact_match", "exact_match_2", "exact_match_3"],
        ),
        (
            "[exact_match, {evaluator: json_validity, name: exact_match}]",
            vec!["exact_match_2", "exact_match"],
        ),
        (
            "[exact_match, {evaluator: json_validity, name: exact_match_2}, exact_match]",
            vec!["exact_match", "exact_match_2", "exact_match_3"],
        ),
        (
            "[{evaluatorType: exact_match, feedbackKey: b, name: a}, {evaluatorType: exact_match, feedback_key: b}]",
            vec!["a", "b"],
        ),
        ("[{evaluator: exact_match, name: 01}]", vec!["01"]),
    ] {
        assert_eq!(
            names(&parse(&format!("checks: {checks}")).unwrap()),
            expected,
            "{checks}"
        );
    }
}

#[test]
fn suites_of_the_command_line() {
    let registry = registry();
    let suite = SuiteBuilder::new(&registry)
        .check_text("exact_match")
        .check_text("contains: 30 days")
        .check_text("evaluator: contains\nparams: {phrase: x}")
        .filter("output == 'x'")
        .build()
        .unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(names(&suite), ["exact_match", "contains", "contains_2"]);
    assert!(suite.condition.is_some() && suite.notes.is_empty());
    let again = parse(&suite.source).unwrap_or_else(|errors| panic!("{errors}\n{}", suite.source));
    assert_eq!(names(&again), names(&suite));

    let both = SuiteBuilder::new(&registry)
        .file(
            "checks: [exact_match]\ndataset: {path: x, where: extra.a == 1}",
            "s.yaml",
        )
        .check_text("exact_match")
        .filter("extra.b == 2")
        .build()
        .unwrap();
    assert_eq!(names(&both), ["exact_match", "exact_match_2"]);
    assert_eq!(both.wanted.keys, ["a", "b"]);
    assert_eq!(both.added.len(), 1);

    let errors = SuiteBuilder::new(&registry)
        .file(
            "version: 1\nchecks:\n  - {evaluator: exact_match, name: a}\n",
            "s.yaml",
        )
        .check_text("exact_mach")
        .check_text("contains: {phrase: [x]}")
        .check_text("{evaluator: contains, name: a, params: {phrase: x}}")
        .check_text("{a: ")
        .filter("outptu == 1")
        .build()
        .unwrap_err();
    insta::assert_snapshot!(errors);
    let none = SuiteBuilder::new(&registry).build().unwrap_err();
    assert!(
        none.to_string().starts_with("lydite: there is no check\n"),
        "{none}"
    );
}

#[test]
fn records_with_checks_settle_later() {
    let registry = registry();
    let before = |yaml: &str| {
        SuiteBuilder::new(&registry)
            .file(yaml, "s.yaml")
            .build_before_data()
    };
    for yaml in [
        "name: x",
        "checks: [exact_match]\ngates: [contains.pass_rate >= 0.5]",
    ] {
        assert!(before(yaml).unwrap().settle(false).is_err(), "{yaml}");
        assert!(before(yaml).unwrap().settle(true).is_ok(), "{yaml}");
    }
}

#[test]
fn fields_that_nothing_supplies() {
    let registry = registry();
    let missing = |yaml: &str, record: serde_json::Value| {
        let suite =
            Suite::parse(yaml, "s.yaml", &registry).unwrap_or_else(|errors| panic!("{errors}"));
        let mut survey = Survey::default();
        survey.add(&record.to_string());
        let mapping = Mapping::new(
            &survey,
            &suite.fields(),
            &suite.wanted,
            suite.needs_reference(),
        )
        .unwrap();
        suite
            .missing_fields(&survey, &mapping)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n\n")
    };
    let full =
        json!({"input": "q", "prediction": "a", "expected": "b", "metadata": {}, "phrase": "x"});
    let every_form = "checks: [exact_match, {golden_response: x}, {contains: '{{ extra.phrase }}'}, {evaluator: exact_match, inputs: {output: metadata.a}}]";
    assert_eq!(missing(every_form, full.clone()), "");
    let bare = json!({"output": "a", "quest": "q"});
    assert_eq!(
        missing(
            "checks: [{golden_response: x}, {evaluator: exact_match, params: {reference: x}}]",
            bare.clone()
        ),
        ""
    );
    assert_eq!(
        missing(
            "checks: [{evaluator: exact_match, on_missing: skip}, {evaluator: exact_match, when: query == 'x'}]",
            bare.clone()
        ),
        ""
    );
    assert_eq!(
        missing(
            "dataset: {path: x, fields: {reference: quest}}\nchecks: [exact_match]",
            bare.clone()
        ),
        ""
    );
    insta::assert_snapshot!(missing(
        &every_form.replace("[exact", "[json_validity, exact"),
        bare
    ));
}

#[test]
fn gates() {
    let registry = registry();
    let info = |id: &str| registry.get(id).unwrap().info;
    let known = [
        Known {
            range: (Some(0.0), Some(1.0)),
            name: "exact",
            info: info("exact_match"),
            grades: true,
        },
        Known {
            range: (Some(0.0), Some(1.0)),
            name: "my check",
            info: info("contains"),
            grades: true,
        },
        Known {
            range: (Some(0.0), Some(1.0)),
            name: "a.b",
            info: info("contains"),
            grades: true,
        },
        Known {
            range: (Some(0.0), Some(1.0)),
            name: "a",
            info: info("contains"),
            grades: true,
        },
        Known {
            range: (Some(0.0), Some(1.0)),
            name: "x.mean",
            info: info("contains"),
            grades: true,
        },
        Known {
            range: (Some(0.0), None),
            name: "dist",
            info: info("string_distance"),
            grades: false,
        },
        Known {
            range: (Some(0.0), Some(1.0)),
            name: "errors",
            info: info("contains"),
            grades: true,
        },
    ];
    let mut table = String::new();
    for text in [
        "exact.pass_rate >= 0.9",
        "exact.pass_rate>=90%",
        "  exact.pass_rate.low  >  50 % ",
        "exact.mean >= 90%",
        "exact.mean.low == 1",
        "exact.median < 1",
        "exact.p90 <= .5",
        "exact.coverage = 100%",
        "exact.inconclusive <= 3",
        "exact.errored <= 2%",
        "errors <= 1%",
        "errors == 0",
        "errors < 5",
        "exact.coverage ≥ 0.5",
        "\"my check\".pass_rate >= 1",
        "my check.pass_rate >= 1",
        "'a.b'.mean >= 0",
        "a.b.mean >= 0",
        "a.mean.low >= 0",
        "x.mean.mean >= 0",
        "x.mean.low >= 0",
        "dist.mean <= 12.5",
        "dist.p90 <= 3",
        "errors.pass_rate >= 1",
        "unknown.pass_rate >= 0.5",
        "exat.mean.low >= 0.5",
        // wrong ones
        "",
        "exact",
        "exact.pass_rate",
        "exact >= 0.9",
        "exact.pass_rate >=",
        ">= 0.9",
        "exact.pass_rate >= 90",
        "exact.pass_rate >= 101",
        "exact.pass_rate >= -0.1",
        "exact.pass_rate >= 150%",
        "exact.pass_rate => 0.9",
        "exact.pass_rate != 1",
        "exact.pass_rate >= high",
        "exact.pass_rate >= 1e999",
        "exact.pass_rate >= inf",
        "exact.passrate >= 1",
        "exact.pass_rat >= 1",
        "exact.cost <= 1",
        "unknown.cost <= 2.50",
        "cost <= 2.50",
        "exact. >= 1",
        "exact.score >= 1",
        "exact.mean >= 1.5",
        "exact.mean >= 80",
        "dist.mean <= 10%",
        "dist.mean <= -1",
        "dist.pass_rate >= 1",
        "exact.pass_rate > 100%",
        "exact.pass_rate < 0",
        "errors < 0",
        "errors <= 0.01",
        "errors <= 0.07",
        "errors <= 1.5",
        "errors <= -1",
        "exact.errored <= 0.5",
        "error_rate <= 1%",
        "nothing <= 1%",
        "\"exact.pass_rate >= 1",
        "\"exact\" >= 1",
        "é.é >= é",
        "≥",
    ] {
        let _ = match Gate::parse(text, Span::default(), &known) {
            Ok((gate, late)) => writeln!(
                table,
                "{text:<36} {:?} {} {} {} {:?}{}",
                gate.check().unwrap_or("errors"),
                gate.metric,
                gate.op.as_str(),
                gate.value,
                gate.unit,
                late.map_or(String::new(), |error| format!(
                    " — {}; {}",
                    error.message,
                    error.help.unwrap_or_default()
                ))
            ),
            Err(error) => writeln!(
                table,
                "{text:<36} — {}; {}",
                error.message,
                error.help.unwrap_or_default()
            ),
        };
    }
    insta::assert_snapshot!(table);
}

#[test]
fn gates_compare_and_ask_for_coverage() {
    let suite = parse("checks: [exact_match, contains: x]\ngates: [exact_match.pass_rate >= 90%, contains.mean >= 0.5, contains.coverage >= 0.5]").unwrap();
    let gate = &suite.gates[0];
    assert!(
        gate.compare(9.0 / 10.0)
            && gate.compare(1.0)
            && !gate.compare(0.89)
            && !gate.compare(f64::NAN)
    );
    let asked = |gates: &[Gate], max_errors: Option<&str>, planned| {
        required_coverage(
            "exact_match",
            gates,
            max_errors.map(|text| text.parse().unwrap()),
            planned,
        )
    };
    assert_eq!(asked(&suite.gates, None, 100), Some(0.99));
    assert_eq!(asked(&suite.gates, Some("5%"), 100), Some(0.95));
    assert_eq!(asked(&suite.gates, Some("20"), 100), Some(0.8));
    assert_eq!(asked(&suite.gates, Some("0"), 100), Some(0.99));
    assert_eq!(
        required_coverage("contains", &suite.gates, None, 100),
        None,
        "its own coverage gate settles it"
    );
    assert_eq!(required_coverage("regex", &suite.gates, None, 100), None);
    let suite =
        parse("checks: [exact_match]\ngates: [exact_match.mean >= 0, errors <= 10%, errors <= 50]")
            .unwrap();
    assert_eq!(asked(&suite.gates, None, 100), Some(0.9));
    assert_eq!(asked(&suite.gates, None, 1000), Some(0.95));
    assert_eq!(asked(&suite.gates, Some("2%"), 1000), Some(0.98));
    let suite = parse("checks: [exact_match]\ngates: [exact_match.mean >= 0, errors < 5]").unwrap();
    assert_eq!(
        Allowance::of(&suite.gates, None, 100),
        Allowance::Count(4.0)
    );
    let suite = parse("checks: [exact_match]\ngates: [errors <= 10%, errors >= 0]").unwrap();
    assert_eq!(
        Allowance::of(&suite.gates, None, 100),
        Allowance::Share(0.1)
    );
    assert_eq!(suite.gates[0].unit, Unit::ShareOfCount);
}

#[test]
fn allowances() {
    for (text, errors, planned, permits) in [
        ("0", 0, 10, true),
        ("0", 1, 10, false),
        ("3", 3, 10, true),
        ("3", 4, 10, false),
        ("10%", 1, 10, true),
        ("10%", 2, 10, false),
        ("0%", 0, 0, true),
    ] {
        assert_eq!(
            text.parse::<Allowance>().unwrap().permits(errors, planned),
            permits,
            "{text} {errors}/{planned}"
        );
    }
    for text in ["", "x", "-1", "0.5", "101%", "1 2"] {
        assert!(text.parse::<Allowance>().is_err(), "{text}");
    }
}

#[test]
fn checks_of_records() {
    let registry = registry();
    let suite = Suite::parse(
        "checks: [{contains: x}, {evaluator: golden_response, name: gold, params: {reference: a, capitalization: agnostic}}, {evaluator: contains, name: filled, params: {phrase: '{{ extra.x }}'}}]",
        "s.yaml",
        &registry,
    )
    .unwrap();
    let mut own = OwnChecks::new();
    let mut of = |json: &str| match own.of(
        Raw::Json(json),
        &registry,
        &suite.definitions,
        &suite.checks,
    ) {
        Ok(checks) => checks
            .iter()
            .map(|check| check.name.clone())
            .collect::<Vec<_>>()
            .join(", "),
        Err(message) => message,
    };
    let mut table = String::new();
    for json in [
        r#"["exact_match"]"#,
        r#"[{"evaluator": "equals", "options": {"value": "x"}}, {"equals": "y"}, {"equals": "z"}]"#,
        r#"[{"evaluatorType": "exact_match", "feedbackKey": "same"}]"#,
        r#"["exact_match", {"evaluator": "exact_match", "name": "exact_match"}]"#,
        r#"[{"contains": "x"}, {"contains": {"phrase": "x", "case_sensitive": true}}]"#,
        r#"[{"evaluator": "golden_response", "name": "gold", "params": {"golden_response": "a"}}]"#,
        r#"[{"evaluator": "regex", "params": {"pattern": "{{ extra.x }}"}}]"#,
        "[]",
        // wrong ones
        r#"[{"contains": "y"}]"#,
        r#"[{"evaluator": "golden_response", "name": "gold", "params": {"golden_response": "b"}}]"#,
        r#"[{"evaluator": "contains", "name": "filled", "params": {"phrase": "{{ extra.x }}"}}]"#,
        r#"[{"evaluator": "exact_match", "name": "a"}, {"evaluator": "exact_match", "name": "a"}]"#,
        r#"["exact_mach"]"#,
        r#"["exact_match", {"equals": "x", "regex": "("}]"#,
        r#"[{"regex": "("}]"#,
        r#"[{"evaluator": "exact_match", "inputs": {"output": "other.key"}}]"#,
        r#"[{"evaluator": "exact_match", "when": "extra.x == 1"}]"#,
        r#"{"exact_match": {}}"#,
        "[1, null]",
    ] {
        let _ = writeln!(table, "{json}\n  {}", of(json));
    }
    insta::assert_snapshot!(table);
    assert!(
        own.of(
            Raw::Text("exact_match"),
            &registry,
            &suite.definitions,
            &suite.checks
        )
        .is_err()
    );
    let read = own::read(
        r#"{"evaluator": "contains", "name": "n", "options": {"phrase": 1.10}}"#,
        &registry,
        &suite.definitions,
    )
    .unwrap();
    assert_eq!(
        (read.named, read.spec.name.as_str(), read.spec.references),
        (true, "n", false)
    );
    assert_eq!(
        read.spec.params.unwrap().get("phrase").unwrap().as_str(),
        Some("1.10")
    );
}

#[test]
fn the_schema_knows_right_from_wrong() {
    let schema = schema::schema(&Registry::builtin());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let valid = |yaml: &str| validator.is_valid(&crate::node::Node::parse(yaml).unwrap().to_json());
    for yaml in [
        "version: 1\nchecks: [exact_match]",
        "checks: [{contains: x}, {contains: {phrase: x}}, {contains: {phrase: '{{ extra.x }}'}}, {golden_response: x}, {regex_match: x}]",
        "checks: [{string_distance: jaro}, {string_distance: {distance: '{{ extra.d }}'}}, {contains_any: [a, b]}]",
        "checks: [{evaluator: contains, params: {phrase: x}, threshold: 1, on_missing: skip}]",
        "evaluators: [{evaluatorType: string_distance, distanceMetric: jaro}, {evaluator_type: exact_match, ignore_case: true}]",
        "dataset: a.jsonl\nchecks: [exact_match]\ngates: ['exact_match.pass_rate >= 90%', 'errors <= 1']",
        "dataset: {path: [a.csv], format: csv, fields: {query: a.b, input: x}}\nchecks: []",
    ] {
        assert!(
            valid(yaml),
            "{yaml}: {:?}",
            validator
                .iter_errors(&crate::node::Node::parse(yaml).unwrap().to_json())
                .map(|e| e.to_string())
                .collect::<Vec<_>>()
        );
    }
    for yaml in [
        "version: 2",
        "chekcs: []",
        "checks: [exact_mach]",
        "checks: [{contains: {phrse: x}}]",
        "checks: [{contains: {}}]",
        "checks: [{evaluator: contains, params: {phrase: x, y: 1}}]",
        "checks: [{evaluator: contains, treshold: 1}]",
        "checks: [{string_distance: jaroo}]",
        "checks: [{exact_match: {}, contains: x}]",
        "gates: ['exact_match.pas_rate >= 1']",
        "dataset: {format: csv}",
    ] {
        assert!(!valid(yaml), "{yaml}");
    }
}

#[test]
fn the_quick_start_is_right() {
    let yaml = include_str!("../../../../examples/quickstart/lydite.yaml");
    let suite = Suite::parse(yaml, "lydite.yaml", &Registry::builtin())
        .unwrap_or_else(|errors| panic!("{errors}"));
    let local = |note: &&String| note.contains("by the local method");
    assert_eq!(suite.notes.iter().filter(local).count(), 4);
    assert_eq!(suite.notes.len(), 4, "{:?}", suite.notes);
    assert!(suite.checks.len() > 5 && suite.gates.len() > 5);
}

proptest! {
    #[test]
    fn any_text_is_a_suite_or_an_error(
        text in "(checks|evaluators|gates|dataset|inputs): ?\\[?(- )?(exact_match|contains|evaluator|evaluatorType|params|name|x)?[:, {}\\[\\]a-z0-9'\"%.<>=\n-]{0,40}"
    ) {
        if let Err(errors) = parse(&text) {
            prop_assert!(!errors.0.is_empty() && !errors.to_string().is_empty());
        }
    }

    #[test]
    fn any_text_is_a_gate_or_an_error(text in "(errors|exact\\.|'exact'\\.|.{0,5})(pass_rate|mean\\.low|.{0,5})\\s?[<>=!≥]{0,2}.{0,6}%?") {
        let registry = registry();
        let known = [Known { range: (Some(0.0), Some(1.0)),  name: "exact", info: registry.get("exact_match").unwrap().info, grades: true }];
        if let Ok((gate, _)) = Gate::parse(&text, Span::default(), &known) {
            prop_assert!(gate.value.is_finite() && gate.value >= 0.0);
            prop_assert!(regex::Regex::new(&gate::pattern()).unwrap().is_match(&text), "{}", text);
        }
    }
}
