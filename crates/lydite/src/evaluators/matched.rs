//! The local method of [`SemanticMatch`](super::semantic_match): the head of [`matching`](crate::heads::matching).

use std::ops::Range;

use super::embeddings::{embedding, why_not};
use super::options::rounded;
use crate::evaluator::{Batched, Example, Got, Local, Needs, ParamErrors, Role, Scratch, text_of};
use crate::heads::Head;
use crate::heads::matching::{Check, Comparison, Kind, Response, head, is_english};
use crate::outcome::{Cell, Code, Evidence, Explanation, Score, Verdict};
use crate::record::{Field, Row};
use crate::stats::vectors::cosine_similarity;

pub(super) const LOCAL: Local = Local {
    method: "matching",
    version: 1,
    replaces: Role::Judge,
    models: &[Role::Embedder],
    docs: DOCS,
    examples: &EXAMPLES,
};

const DOCS: &str = "\
### How it is scored
Each sentence of the expected text is held against the sentence of the response that says most of it. Words count by stem \
and spelling, quantities by value (`thirty days` is 30 days, `21:00` is 9 pm, 1,000 m is 1 km; nothing is converted that \
needs a rate or a rounded factor), and what the question says already counts little. Logistic regression weighs that with \
two cosines of sentence embeddings: of the texts behind the question, and of what both say beside it. The score is the \
calibrated probability that the response says what is expected. Of several references the most probable counts, of the three \
that fit best by their words.

Five checks decide by themselves, with a score of 0.02: another number, time or date where the expected one is nowhere \
(`unseen_number`), the same number of another unit (`unit`), another name in the place of the expected one (`unseen_name`), \
a *not* or an opposite word too much or too little (`negation`), names that changed places (`swapped_names`). Where the \
expected text is a bare count or date, another one only lowers the probability: such questions often have more than one \
right answer.

The evidence has the sentence of the response with its place and the share of the expected text found in it (`coverage`), \
each check that fired, the reference that counted, and the probability.

### Agreement with people
Of records left out of the fitting (five folds that keep a question together; in brackets: fitted on the other set alone). \
*Forced* counts every record, with 0.5 as the level; *right* are the verdicts given, and *coverage* is how many got one.

| set | forced: accuracy | balanced | AUROC | ECE | coverage | right |
|---|---|---|---|---|---|---|
| EVOUNA, 4,766 answers of five systems | .937 (.935) | .910 (.902) | .972 (.971) | .044 (.125) | .735 (.687) | .977 (.985) |
| NQ-301, 1,077 answers | .809 (.809) | .816 (.816) | .861 (.859) | .053 (.110) | .427 (.694) | .920 (.873) |

On NQ-301 two annotators agree in .869, GPT-4 reaches .849, BEM .807; on EVOUNA containment of the reference reaches .850 \
(balanced .895).

### Blind spots
A paraphrase without a word in common is mostly inconclusive, and so is a wrong answer without a check that fires: people \
called a fourth of the NQ-301 answers right that share no word with a reference, so absence alone is seldom a fail. It knows no facts (that \
Oslo is in Norway) and draws no conclusions. Numbers in citations that are glued to a word are read as part of it. A name \
at the beginning of a sentence is known by a list of common ones alone. Conditions, exceptions and who did what to whom \
count only as words. It is made for English: where the response isn't, only a reference that stands in it word for word \
gets a score.
";

const EXAMPLES: [Example; 3] = [
    Example {
        title: "the same in other words",
        params: "semantic_match_string: The store closes at 9 pm.",
        record: r#"{"query": "When does the store close?", "output": "The store closes every day at 21:00."}"#,
        expect: r#"{"verdict": "pass"}"#,
        ..Example::PLAIN
    },
    Example {
        title: "another time in its place",
        params: "semantic_match_string: The store closes at 9 pm.",
        record: r#"{"query": "When does the store close?", "output": "The store closes at 11 pm."}"#,
        expect: r#"{"verdict": "fail", "score": 0.02}"#,
        ..Example::PLAIN
    },
    Example {
        title: "in other languages only the reference's own words count",
        params: "semantic_match_string: The store closes at 9 pm.",
        record: r#"{"query": "When does the store close?", "output": "Der Laden schließt um 21 Uhr, und das ist jeden Tag so."}"#,
        expect: r#"{"verdict": "inconclusive"}"#,
        ..Example::PLAIN
    },
];

/// So many alternatives, those that fit best by their words, are looked at by their embeddings.
const ALTERNATIVES: usize = 3;

/// Scores by the matching head and the built-in embedder.
pub(super) struct ByHead {
    head: &'static Head,
}

/// What is made of a row.
enum Found {
    Empty,
    /// Neither words nor numbers to compare.
    Wordless,
    /// The response is not in English, and no reference stands in it.
    Foreign,
    Best {
        comparison: Box<Comparison>,
        probability: f64,
    },
}

impl ByHead {
    pub(super) fn new() -> Result<Self, ParamErrors> {
        match head() {
            Ok(head) => Ok(Self { head }),
            Err(error) => Err(ParamErrors::one("", error.to_string())),
        }
    }

    fn find(&self, row: &Row<'_>, got: &Got<'_>) -> Result<Found, Cell> {
        let output = text_of(row, Field::Output)?;
        if output.trim().is_empty() {
            return Ok(Found::Empty);
        }
        let english = is_english(output);
        let mut found = Found::Wordless;
        for comparison in nearest(row)? {
            if !english && !comparison.verbatim {
                found = match found {
                    Found::Wordless => Found::Foreign,
                    other => other,
                };
                continue;
            }
            let probability = comparison.probability(self.head, cosines(&comparison, got)?);
            let is_better = match &found {
                Found::Best {
                    probability: best, ..
                } => probability > *best,
                _ => true,
            };
            if is_better {
                found = Found::Best {
                    comparison: Box::new(comparison),
                    probability,
                };
            }
        }
        Ok(found)
    }
}

impl Batched for ByHead {
    fn needs<'r>(&self, row: &Row<'r>, needs: &mut Needs<'r>) {
        for comparison in nearest(row).unwrap_or_default() {
            comparison
                .texts
                .into_iter()
                .for_each(|text| needs.embed(text));
        }
    }

    fn score(&self, row: &Row<'_>, got: &Got<'_>, _: &mut Scratch) -> Cell {
        let (score, verdict) = match self.find(row, got) {
            Err(cell) => return cell,
            Ok(Found::Best { probability, .. }) => {
                (Score::new(probability), self.head.verdict(probability))
            }
            Ok(_) => (None, Verdict::Inconclusive),
        };
        Cell::Scored {
            score,
            natural: Some(verdict),
            flags: 0,
        }
    }

    fn explain(&self, row: &Row<'_>, got: &Got<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        match self.find(row, got) {
            Ok(Found::Best {
                comparison,
                probability,
            }) => self.tell(row, &comparison, probability),
            Ok(Found::Empty) => Explanation::reason("the response is empty"),
            Ok(Found::Wordless) => {
                Explanation::reason("there are no words or numbers to compare; name a judge")
            }
            Ok(Found::Foreign) => Explanation::reason(
                "the response is not in English, which is what the local method reads, and the expected text doesn't stand in it as it is; name a judge",
            ),
            Err(_) => {
                let comparisons = nearest(row).unwrap_or_default();
                let texts = comparisons.iter().flat_map(|comparison| &comparison.texts);
                why_not(got, texts.map(String::as_str))
            }
        }
    }
}

impl ByHead {
    fn tell(&self, row: &Row<'_>, comparison: &Comparison, probability: f64) -> Explanation {
        let verdict = self.head.verdict(probability);
        let output = text_of(row, Field::Output).unwrap_or_default();
        let mut explanation = Explanation::reason(reason(comparison, output, probability, verdict))
            .with(span(output, &comparison.sentence).set("coverage", rounded(comparison.coverage)));
        for check in &comparison.checks {
            explanation = explanation.with(
                span(output, &check.said)
                    .set("check", name(check.kind))
                    .set("expected", slice(&comparison.text, &check.wanted)),
            );
        }
        if is_low(comparison) {
            explanation = explanation.with(Evidence::new("check").set("check", "low_coverage"));
        }
        if row.references().len() > 1 {
            let text = row.references().get(comparison.reference).copied();
            let alternative = Evidence::new("alternative").set("index", comparison.reference);
            explanation = explanation.with(alternative.set("text", text));
        }
        explanation
            .with(Evidence::new("probability").set("value", rounded(probability)))
            .with(self.head.evidence(verdict))
    }
}

/// The references that fit best by their words; an error where one is blank or missing.
fn nearest(row: &Row<'_>) -> Result<Vec<Comparison>, Cell> {
    let output = text_of(row, Field::Output)?;
    text_of(row, Field::Reference).map(drop).or_else(|cell| {
        if row.references().is_empty() {
            Err(cell)
        } else {
            Ok(())
        }
    })?;
    if row.references().iter().any(|text| text.trim().is_empty()) {
        return Err(Cell::Errored(Code::EmptyField(Field::Reference)));
    }
    let query = row
        .query()
        .and_then(|query| query.text())
        .unwrap_or_default();
    let response = Response::new(query, output);
    Ok(response.nearest(row.references().iter().copied(), ALTERNATIVES))
}

fn cosines(comparison: &Comparison, got: &Got<'_>) -> Result<[f64; 2], Cell> {
    let [a, b, c, d] = &comparison.texts;
    let cosine = |a: &str, b: &str| {
        let (a, b) = (embedding(got, a)?, embedding(got, b)?);
        cosine_similarity(a, b).map_err(|error| Cell::Errored(Code::from(error)))
    };
    Ok([cosine(a, b)?, cosine(c, d)?])
}

fn reason(comparison: &Comparison, output: &str, probability: f64, verdict: Verdict) -> String {
    let p = rounded(probability);
    let basis = match comparison.checks.first() {
        Some(check) => told(check, comparison, output),
        None if comparison.verbatim => "it stands in the response word for word".to_owned(),
        None => format!(
            "{} % of what it says was found",
            (100.0 * comparison.coverage).round()
        ),
    };
    match verdict {
        Verdict::Pass => {
            format!("the response says what is expected, with probability {p}: {basis}")
        }
        Verdict::Fail => {
            format!("the response doesn't say what is expected (probability {p}): {basis}")
        }
        _ => format!(
            "the response says what is expected with probability {p}, too near the middle for a verdict: {basis}"
        ),
    }
}

fn told(check: &Check, comparison: &Comparison, output: &str) -> String {
    let expected = slice(&comparison.text, &check.wanted);
    let said = slice(output, &check.said);
    match check.kind {
        Kind::Number => format!("`{said}` stands in the place of `{expected}`"),
        Kind::Unit => format!("`{said}` has another unit than `{expected}`"),
        Kind::Name => format!("`{said}` is named in the place of `{expected}`"),
        Kind::Negation => format!("`{said}` says the opposite of `{expected}`"),
        Kind::Order => format!("`{expected}` has changed places with another name"),
    }
}

const fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "unseen_number",
        Kind::Unit => "unit",
        Kind::Name => "unseen_name",
        Kind::Negation => "negation",
        Kind::Order => "swapped_names",
    }
}

/// Hardly anything of the reference is in the response.
fn is_low(comparison: &Comparison) -> bool {
    comparison.checks.is_empty() && comparison.coverage < 0.25
}

/// A place of the response, in characters, with its text.
fn span(output: &str, bytes: &Range<usize>) -> Evidence {
    let characters = |bytes: Range<usize>| slice(output, &bytes).chars().count();
    let start = characters(0..bytes.start);
    Evidence::span("output", start, start + characters(bytes.clone()))
        .set("text", slice(output, bytes))
}

fn slice<'t>(text: &'t str, bytes: &Range<usize>) -> &'t str {
    text.get(bytes.clone()).unwrap_or_default()
}
