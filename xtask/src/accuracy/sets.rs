//! Which check is measured on which set, and what people's labels mean for it.

use super::at;
use super::baselines::{self as rules, Rule};
use super::judged::Truth;
use crate::train::data::{Data, Record};
use anyhow::Result;
use serde_json::{Value, json};

/// One check on one set.
pub(crate) struct Measure {
    pub(crate) check: &'static str,
    pub(crate) set: &'static str,
    /// What yes is, or what the rating says.
    pub(crate) question: &'static str,
    /// The head that the check works by, and whether it was fitted on this set.
    pub(crate) head: Option<&'static str>,
    /// `None` leaves a record out.
    truth: fn(&Record) -> Option<Truth>,
    /// The fields that the check sees.
    fields: fn(&Record) -> Value,
    pub(crate) rules: &'static [Rule],
}

impl Measure {
    /// Records as the binary reads them, with what people said.
    pub(crate) fn records(&self, data: &Data) -> Result<Vec<(Value, Truth)>> {
        let records = data.read(self.set)?;
        let labelled = records
            .iter()
            .filter_map(|record| Some(((self.fields)(record), (self.truth)(record)?)));
        Ok(labelled.collect())
    }
}

/// All that is measured.
pub(crate) const MEASURES: &[Measure] = &[
    Measure {
        check: "attempts_answer",
        set: "xstest_responses",
        question: "the answer complies, in full",
        head: Some("refusal"),
        truth: |record| Some(Truth::Is(record.label == "answer")),
        fields: answer,
        rules: rules::REFUSAL,
    },
    Measure {
        check: "attempts_answer",
        set: "chatgpt_refusals",
        question: "the answer complies (incoherent and don't-know answers left out)",
        head: Some("refusal"),
        truth: |record| {
            let left_out = matches!(record.meta("tone"), "incoherent" | "dontknow");
            (!left_out).then(|| Truth::Is(record.label == "answer"))
        },
        fields: answer,
        rules: rules::REFUSAL,
    },
    Measure {
        check: "semantic_match",
        set: "evouna",
        question: "the answer is right, given the gold answers",
        head: Some("matching"),
        truth: is_true,
        fields: answer_with_golds,
        rules: rules::MATCH,
    },
    Measure {
        check: "semantic_match",
        set: "openqa_nq301",
        question: "the answer is acceptable, given the gold answers",
        head: Some("matching"),
        truth: is_true,
        fields: answer_with_golds,
        rules: rules::MATCH,
    },
    Measure {
        check: "faithfulness",
        set: "begin",
        question: "fully attributable to the passage (answers that claim nothing left out)",
        head: Some("grounding"),
        truth: |record| (record.label != "generic").then(|| Truth::Is(record.label == "faithful")),
        fields: grounded,
        rules: rules::GROUNDING,
    },
    Measure {
        check: "faithfulness",
        set: "summedits",
        question: "the summary is consistent with the document",
        head: Some("grounding"),
        truth: |record| Some(Truth::Is(record.label == "faithful")),
        fields: grounded,
        rules: rules::GROUNDING,
    },
    Measure {
        check: "faithfulness",
        set: "faithbench",
        question: "no unwanted or questionable hallucination",
        head: Some("grounding"),
        truth: |record| {
            Some(Truth::Is(
                record.label == "faithful" || record.label == "benign",
            ))
        },
        fields: grounded,
        rules: rules::GROUNDING,
    },
    Measure {
        check: "faithfulness",
        set: "mtrag_human_eval",
        question: "the median rating of faithfulness, 1 to 4",
        head: Some("grounding"),
        truth: |record| Some(Truth::Rated(record.label.get("faithfulness")?.as_f64()?)),
        fields: grounded,
        rules: rules::GROUNDING,
    },
    Measure {
        check: "toxicity",
        set: "surge_toxicity",
        question: "not toxic, in the rater's own sense",
        head: Some("toxicity"),
        truth: |record| Some(Truth::Is(record.label == "Not Toxic")),
        fields: answer,
        rules: rules::TOXICITY,
    },
    Measure {
        check: "toxicity",
        set: "openai_moderation",
        question: "no category of harm is flagged",
        head: Some("toxicity"),
        truth: |record| record.label.as_bool().map(|flagged| Truth::Is(!flagged)),
        fields: answer,
        rules: rules::TOXICITY,
    },
    Measure {
        check: "toxicity",
        set: "hatecheck",
        question: "not hateful",
        head: Some("toxicity"),
        truth: is_not_hateful,
        fields: answer,
        rules: rules::TOXICITY,
    },
    Measure {
        check: "toxicity",
        set: "hatemojicheck",
        question: "not hateful",
        head: Some("toxicity"),
        truth: is_not_hateful,
        fields: answer,
        rules: rules::TOXICITY,
    },
    Measure {
        check: "toxicity",
        set: "davidson",
        question: "neither hate nor offensive",
        head: Some("toxicity"),
        truth: |record| Some(Truth::Is(record.label == "neither")),
        fields: answer,
        rules: rules::TOXICITY,
    },
    Measure {
        check: "toxicity",
        set: "xstest_responses",
        question: "benign: a chat model's answers that comply",
        head: Some("toxicity"),
        truth: |record| (record.label == "answer").then_some(Truth::Is(true)),
        fields: answer,
        rules: rules::TOXICITY,
    },
    Measure {
        check: "toxicity",
        set: "halueval_general",
        question: "benign: a chat model's answers",
        head: Some("toxicity"),
        truth: |_| Some(Truth::Is(true)),
        fields: answer,
        rules: rules::TOXICITY,
    },
    Measure {
        check: "semantic_similarity",
        set: "stsb",
        question: "similarity, 0 to 5",
        head: None,
        truth: |record| record.label.as_f64().map(Truth::Rated),
        fields: compared,
        rules: &[],
    },
    Measure {
        check: "semantic_similarity",
        set: "sick_test",
        question: "relatedness, 1 to 5",
        head: None,
        truth: |record| Some(Truth::Rated(record.label.get("relatedness")?.as_f64()?)),
        fields: compared,
        rules: &[],
    },
    Measure {
        check: "bert_score",
        set: "stsb",
        question: "similarity, 0 to 5",
        head: None,
        truth: |record| record.label.as_f64().map(Truth::Rated),
        fields: compared,
        rules: &[],
    },
];

fn is_true(record: &Record) -> Option<Truth> {
    record.label.as_bool().map(Truth::Is)
}

fn is_not_hateful(record: &Record) -> Option<Truth> {
    let label = record.label.as_str()?;
    Some(Truth::Is(label == "non-hateful"))
}

fn answer(record: &Record) -> Value {
    json!({"query": record.query, "output": record.output()})
}

fn answer_with_golds(record: &Record) -> Value {
    json!({"query": record.query, "output": record.output(), "reference": at(&record.meta, "golds")})
}

fn grounded(record: &Record) -> Value {
    let documents = record.contexts.iter().map(|context| &context.document);
    json!({
        "query": record.query,
        "output": record.output(),
        "contexts": documents.collect::<Vec<_>>(),
    })
}

fn compared(record: &Record) -> Value {
    json!({"output": record.output(), "reference": record.reference})
}
