//! The local method of [`Faithfulness`](super::faithfulness): statements weighed by [`grounding`](crate::heads::grounding).

use std::borrow::Cow;

use super::seen::{Source, asked, sources};
use crate::evaluator::{Example, Local, Pure, Role, Scratch, text_of};
use crate::heads::Head;
use crate::heads::grounding::{Measured, Sentence, Sources, claims, is_english, measure};
use crate::outcome::{Cell, Evidence, Explanation, Score, Verdict};
use crate::record::{Field, Row};

pub(super) const LOCAL: Local = Local {
    method: "grounding",
    version: 1,
    replaces: Role::Judge,
    models: &[],
    docs: DOCS,
    examples: &EXAMPLES,
};

const DOCS: &str = "\
### How it is scored
Each sentence of the response that claims something (no questions, headings, greetings, offers, admissions of not knowing) \
is held against the system messages, tool turns and contexts. Counted is how much of its words, pairs of words and \
content words stands there, in all and in the one to three sentences that have most of it; logistic regression makes a \
probability of it. Seven checks refute a statement, whatever its probability: a number (`unseen_number`) or name \
(`unseen_name`) that no source has, a number with another unit (`other_unit`), another number of the same (`other_number`), a negation (`negation`) or an opposite \
(`antonym`) where the closest sentence has none, two names that changed places (`swapped_names`).

A statement is *supported* where the probability reaches the level at which it was right at least 9 times in 10 and every \
content word stands in the sources; *contradicted* or *not_found* where a check fired, or where next to nothing of it \
stands there (`low_coverage`); else *unsure*. All supported: pass. None: fail. Some supported or unsure, some not: partial. \
Supported and unsure: inconclusive, with a score. The score is the probability that everything is supported: the mean \
over the statements (longer ones count more) to the power n^0.2 for n statements, as statements of one response stand \
and fall together only in part. An explicit `threshold` decides by the score alone.

The evidence names each statement with its class, probability, what it goes by, and the closest sentence with its place.

### Agreement with people
Score at 0.5 against people's labels of whole responses, fitted on the other sets alone (in brackets: out of fold, fitted \
on all); overlap is the share of words, or of pairs of words, that the contexts have.

| set | balanced accuracy | AUROC | AUROC of overlap |
|---|---|---|---|
| BEGIN, 1,585 answers in dialogues | .86 (.87) | .94 (.95) | .95, .92 |
| SummEdits, 1,091 edited summaries | .61 (.63) | .66 (.69) | .50, .49 |
| FaithBench, 560 hard summaries, never fitted on | .59 | .64 | .60, .63 |

On 335 answers of MTRAG its rank correlation with the median rating is .52 (.53), that of overlap .52 and .53, of an LLM \
judge (RAGAS) .54. Verdicts are few: passes were right in 95 of 100 (BEGIN) and fails in 98 of 100 (BEGIN) and 90 of 100 \
(SummEdits), on a quarter of BEGIN and a seventh of SummEdits; on long answers nearly all is partial or inconclusive. Of \
partial answers people held 97 of 100 (BEGIN), 98 (SummEdits), 77 (FaithBench) and 58 (MTRAG) to be not quite faithful: \
they let pass a name or year from general knowledge that no source has.

### Blind spots
It compares words, not meaning. A true statement in quite other words is unsure or not found; a false one put together \
from words of the sources is unsure or, rarely, supported. One word swapped for another that the sources have elsewhere \
is not seen. It knows some 380 pairs of opposites, resolves no pronouns, adds no numbers up. It is made for English: in \
other languages only literal repetition supports and only unseen numbers refute, all else is unsure. Cosines of sentence \
embeddings were tried and left out: they made it no better on any set that they were not fitted on.
";

const EXAMPLES: [Example; 3] = [
    Example {
        title: "all that it says is in the context",
        record: r#"{"query": "When does the store close?", "contexts": ["The store in Leeds closes at 9 pm on Sundays."], "output": "The store in Leeds closes at 9 pm on Sundays."}"#,
        expect: r#"{"verdict": "pass"}"#,
        ..Example::PLAIN
    },
    Example {
        title: "a number that the context does not have",
        record: r#"{"query": "When does the store close?", "contexts": ["The store in Leeds closes at 9 pm on Sundays."], "output": "On Sundays the store closes at 11 pm."}"#,
        expect: r#"{"verdict": "fail"}"#,
        ..Example::PLAIN
    },
    Example {
        title: "other words: nothing can be told",
        record: r#"{"query": "When does the store close?", "contexts": ["The store in Leeds closes at 9 pm on Sundays."], "output": "At the end of the week the shop shuts its doors at nine in the evening."}"#,
        expect: r#"{"verdict": "inconclusive"}"#,
        ..Example::PLAIN
    },
];

/// Scores by the fitted head.
pub(super) struct Grounded(pub &'static Head);

/// What is said of a statement, in the judge's words, and one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Supported,
    Contradicted,
    NotFound,
    Unsure,
}

impl Class {
    const fn name(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Contradicted => "contradicted",
            Self::NotFound => "not_found",
            Self::Unsure => "unsure",
        }
    }
}

/// A statement of the response, weighed.
struct Weighed<'o> {
    text: &'o str,
    measured: Measured,
    probability: f64,
    class: Class,
}

/// A row as this method sees it.
enum Seen<'r, T> {
    Weighed(T),
    /// Why nothing can be told.
    Nothing(&'static str),
    Failed(Cell, Cow<'r, str>),
}

impl Pure for Grounded {
    fn score(&self, row: &Row<'_>, _: &mut Scratch) -> Cell {
        match self.seen(row, |statements, _, _| cell(statements)) {
            Seen::Weighed(cell) | Seen::Failed(cell, _) => cell,
            Seen::Nothing(_) => Cell::Scored {
                score: None,
                natural: Some(Verdict::Inconclusive),
                flags: 0,
            },
        }
    }

    fn explain(&self, row: &Row<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        let explained = |statements: &[Weighed<'_>], index: &Sources<'_>, texts: &[Source<'_>]| {
            self.explanation(statements, index, texts)
        };
        match self.seen(row, explained) {
            Seen::Weighed(explanation) => explanation,
            Seen::Nothing(reason) => Explanation::reason(reason),
            Seen::Failed(_, reason) => Explanation::reason(reason.into_owned()),
        }
    }
}

impl Grounded {
    /// Weighs the statements of a row and hands them on.
    fn seen<'r, T>(
        &self,
        row: &Row<'r>,
        then: impl FnOnce(&[Weighed<'_>], &Sources<'_>, &[Source<'_>]) -> T,
    ) -> Seen<'r, T> {
        let output = match text_of(row, Field::Output) {
            Ok(output) => output,
            Err(cell @ Cell::Errored(code)) => return Seen::Failed(cell, code.message()),
            Err(cell) => return Seen::Failed(cell, Cow::default()),
        };
        if output.trim().is_empty() {
            return Seen::Nothing("the response is empty");
        }
        let texts = sources(row);
        if texts.is_empty() {
            return Seen::Nothing(NO_SOURCES);
        }
        let asked = asked(row);
        let index = Sources::new(texts.iter().map(|source| &*source.text), &asked);
        let english = is_english(output);
        let statements: Vec<Weighed<'_>> = claims(output)
            .into_iter()
            .map(|claim| self.weigh(claim.text, &index, english))
            .collect();
        if statements.is_empty() {
            return Seen::Nothing("the response states nothing");
        }
        Seen::Weighed(then(&statements, &index, &texts))
    }

    fn weigh<'o>(&self, text: &'o str, index: &Sources<'_>, english: bool) -> Weighed<'o> {
        let mut measured = measure(text, index);
        if !english {
            measured
                .findings
                .retain(|finding| finding.check.is_of_any_language());
        }
        let probability = measured.probability(self.0);
        let class = if measured.findings.iter().any(|f| f.check.contradicts()) {
            Class::Contradicted
        } else if !measured.findings.is_empty() {
            Class::NotFound
        } else if !english && !measured.is_literal() {
            Class::Unsure
        } else {
            match self.0.verdict(probability) {
                Verdict::Pass if measured.is_whole() => Class::Supported,
                Verdict::Fail => Class::NotFound,
                _ => Class::Unsure,
            }
        };
        Weighed {
            text,
            measured,
            probability,
            class,
        }
    }

    fn explanation(
        &self,
        statements: &[Weighed<'_>],
        index: &Sources<'_>,
        texts: &[Source<'_>],
    ) -> Explanation {
        let counts = Counts::of(statements);
        let mut evidence: Vec<Evidence> = statements
            .iter()
            .map(|statement| self.statement(statement, index, texts))
            .collect();
        evidence.push(counts.shares());
        evidence.push(self.0.evidence(verdict(&counts)));
        Explanation {
            evidence,
            ..Explanation::reason(counts.reason())
        }
    }

    fn statement(
        &self,
        statement: &Weighed<'_>,
        index: &Sources<'_>,
        texts: &[Source<'_>],
    ) -> Evidence {
        let evidence = Evidence::new("statement")
            .set("text", statement.text)
            .set("class", statement.class.name())
            .set("by", format!("{} {}", LOCAL.method, self.0.file().version))
            .set("reason", statement.reason())
            .set("probability", rounded(statement.probability));
        let best = statement.measured.best(index);
        match best.and_then(|best| Some((best, texts.get(best.source)?))) {
            Some((best, source)) => with_source(evidence, best, source),
            None => evidence,
        }
    }
}

pub(super) const NO_SOURCES: &str =
    "there is no system message, tool turn or context to hold the response against";

/// Where the sentence stands that has most of a statement.
fn with_source(evidence: Evidence, best: &Sentence<'_>, source: &Source<'_>) -> Evidence {
    evidence
        .set("source", best.text)
        .set("in", source.place.as_str())
        .set("start", best.range.start)
        .set("end", best.range.end)
}

impl Weighed<'_> {
    /// Which check fired, on what; else how much of it stands in the sources.
    fn reason(&self) -> String {
        let fired: Vec<String> = self
            .measured
            .findings
            .iter()
            .map(|finding| format!("{}: {}", finding.check.name(), finding.detail))
            .collect();
        let share = (100.0 * self.measured.covered()).round();
        match self.class {
            _ if !fired.is_empty() => fired.join("; "),
            Class::NotFound => {
                format!("low_coverage: {share} % of its content stands in the sources")
            }
            _ => format!("{share} % of its content stands in the sources"),
        }
    }
}

/// How many statements are of which class.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    supported: usize,
    contradicted: usize,
    not_found: usize,
    unsure: usize,
}

impl Counts {
    fn of(statements: &[Weighed<'_>]) -> Self {
        let mut counts = Self::default();
        for statement in statements {
            let count = match statement.class {
                Class::Supported => &mut counts.supported,
                Class::Contradicted => &mut counts.contradicted,
                Class::NotFound => &mut counts.not_found,
                Class::Unsure => &mut counts.unsure,
            };
            *count += 1;
        }
        counts
    }

    const fn total(&self) -> usize {
        self.supported + self.unsupported() + self.unsure
    }

    const fn unsupported(&self) -> usize {
        self.contradicted + self.not_found
    }

    fn shares(&self) -> Evidence {
        let share = |part: usize| part as f64 / self.total().max(1) as f64;
        Evidence::new("shares")
            .set("supported", share(self.supported))
            .set("not_contradicted", share(self.total() - self.contradicted))
            .set("unsure", share(self.unsure))
    }

    fn reason(&self) -> String {
        let Self {
            supported,
            contradicted,
            not_found,
            unsure,
        } = self;
        format!(
            "of {} statements {supported} are supported, {contradicted} contradicted, {not_found} not found, {unsure} unsure",
            self.total()
        )
    }
}

/// Pass and fail only where no statement is unsure; one that is not supported makes it partial for certain.
fn verdict(counts: &Counts) -> Verdict {
    match (counts.supported, counts.unsupported(), counts.unsure) {
        (_, 0, 0) => Verdict::Pass,
        (0, _, 0) => Verdict::Fail,
        (_, 0, _) => Verdict::Inconclusive,
        _ => Verdict::Partial,
    }
}

fn cell(statements: &[Weighed<'_>]) -> Cell {
    Cell::Scored {
        score: Score::new(probability(statements)),
        natural: Some(verdict(&Counts::of(statements))),
        flags: 0,
    }
}

/// That all statements are supported: their mean, by their length, to the power `n^0.2`. Between 0 (they stand and fall
/// together) and 1 (each by itself), 0.2 did best over the sets.
fn probability(statements: &[Weighed<'_>]) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for statement in statements {
        let weight = statement.text.chars().count() as f64;
        sum += weight * statement.probability;
        total += weight;
    }
    let mean: f64 = if total > 0.0 { sum / total } else { 0.0 };
    mean.powf((statements.len() as f64).powf(0.2))
        .clamp(0.0, 1.0)
}

/// To three places.
fn rounded(probability: f64) -> f64 {
    (1000.0 * probability).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heads::grounding::head;
    use crate::record::{Content, ContextChunk, Slots};
    use serde_json::Value;

    fn judged(query: Option<&str>, contexts: &[&str], output: &str) -> (Cell, Explanation) {
        let contexts: Vec<ContextChunk<'_>> = contexts
            .iter()
            .map(|document| ContextChunk {
                document,
                id: None,
                relevance: None,
                score: None,
                grade: None,
            })
            .collect();
        let slots = Slots {
            query: query.map(Content::Text),
            output: Some(Content::Text(output)),
            contexts: &contexts,
            ..Slots::default()
        };
        let (row, mut scratch) = (Row::new(&slots), Scratch::default());
        let scorer = Grounded(head().unwrap());
        let cell = scorer.score(&row, &mut scratch);
        (cell, scorer.explain(&row, cell, &mut scratch))
    }

    fn natural(cell: Cell) -> Verdict {
        match cell {
            Cell::Scored {
                natural: Some(verdict),
                ..
            } => verdict,
            other => panic!("{other:?}"),
        }
    }

    /// The same cases as over the whole path, which needs a session.
    #[test]
    fn cases_hold_without_any_model() {
        let cases = include_str!("../../tests/cases/local/faithfulness.jsonl");
        let mut n = 0;
        for line in cases.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let record = &case["record"];
            let contexts = record["contexts"].as_array().unwrap().iter();
            let contexts: Vec<&str> = contexts.map(|text| text.as_str().unwrap()).collect();
            let output = record["output"].as_str().unwrap();
            let (cell, explanation) = judged(record["query"].as_str(), &contexts, output);
            let verdict = serde_json::to_value(natural(cell)).unwrap();
            assert_eq!(verdict, case["expect"]["verdict"], "{case} {explanation:?}");
            n += 1;
        }
        assert!(n >= 60);
    }

    #[test]
    fn evidence_names_the_check_and_the_sentence() {
        let contexts = [
            "Parking is free.",
            "Dogs may enter. It closes at 9 pm on Sundays.",
        ];
        let (cell, explanation) = judged(None, &contexts, "It closes at 11 pm on Sundays.");
        assert_eq!(natural(cell), Verdict::Fail);
        assert!(cell.score().is_some_and(|score| score <= 0.1));
        let [statement, shares, method] = &explanation.evidence[..] else {
            panic!("{explanation:?}")
        };
        let of = |evidence: &Evidence, key: &str| evidence.data[key].clone();
        assert_eq!(of(statement, "class"), "not_found");
        assert_eq!(of(statement, "reason"), "unseen_number: 11 pm");
        assert_eq!(of(statement, "source"), "It closes at 9 pm on Sundays.");
        assert_eq!(of(statement, "in"), "contexts/1");
        assert_eq!(
            (of(statement, "start"), of(statement, "end")),
            (16.into(), 45.into())
        );
        assert_eq!(of(shares, "supported"), 0.0);
        assert_eq!(of(method, "name"), "grounding");
    }

    #[test]
    fn one_unsure_statement_keeps_from_passing_and_one_refuted_from_being_unsure() {
        let counts = |supported, contradicted, not_found, unsure| Counts {
            supported,
            contradicted,
            not_found,
            unsure,
        };
        let table = [
            (counts(2, 0, 0, 0), Verdict::Pass),
            (counts(0, 1, 1, 0), Verdict::Fail),
            (counts(1, 1, 0, 0), Verdict::Partial),
            (counts(1, 0, 0, 1), Verdict::Inconclusive),
            (counts(0, 0, 0, 2), Verdict::Inconclusive),
            (counts(0, 0, 1, 1), Verdict::Partial),
            (counts(1, 1, 0, 1), Verdict::Partial),
        ];
        for (counts, expected) in table {
            assert_eq!(verdict(&counts), expected, "{counts:?}");
        }
    }

    #[test]
    fn without_sources_or_statements_nothing_is_scored() {
        for (contexts, output) in [
            (&[][..], "It closes at 9 pm."),
            (&[" "], "It closes at 9 pm."),
            (&["It closes at 9 pm."], "Which store?"),
            (&["It closes at 9 pm."], "  "),
        ] {
            let (cell, explanation) = judged(None, contexts, output);
            assert_eq!(natural(cell), Verdict::Inconclusive, "{output}");
            assert_eq!(cell.score(), None);
            assert!(explanation.reason.is_some());
        }
    }
}
