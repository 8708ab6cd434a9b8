//! The method of [`Faithfulness`](super::faithfulness) by a user's own NLI model: does a source entail the statement?

use std::borrow::Cow;

use super::options::rounded;
use super::seen::{Source, sources};
use crate::evaluator::{Batched, Got, Local, Needs, Role, Scratch, text_of};
use crate::heads::grounding::claims;
use crate::model::ModelErrorKind;
use crate::outcome::{Cell, Code, Evidence, Explanation, Score, Verdict};
use crate::record::{Field, Row};

pub(super) const NLI: Local = Local {
    method: "nli",
    version: 1,
    replaces: Role::Judge,
    models: &[Role::Nli],
    docs: DOCS,
    examples: &[],
};

const DOCS: &str = "\
With `models: {nli: {path: …}}` and no judge, your own model of natural-language inference decides \
([classifiers](../classifiers.md)). Each sentence of the response that claims something is held against each system \
message, tool turn and context. It is *supported* where the likeliest label of some source is entailment, else \
*contradicted* where that of some source is contradiction, else *not_found*. The score is the share that is supported; \
all: pass, none: fail, else partial.

Labels are known by their names: `entailment`, or `consistent`, `supported`, `faithful`, `factual`; `contradiction`, or \
`inconsistent`, `refuted`, `hallucinated`. Files whose labels have other names get these by `labels:` under `models.nli`. \
A source longer than the model takes is cut at its end, so keep contexts short. How often that is right depends on the \
model: measure it on labelled cases.";

/// Scores by what the model says of each source and statement.
pub(super) struct Entailed;

/// What is said of a statement, in the judge's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Supported,
    Contradicted,
    NotFound,
}

impl Class {
    const fn name(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Contradicted => "contradicted",
            Self::NotFound => "not_found",
        }
    }
}

/// A statement and the source that decided.
struct Decided<'r> {
    text: &'r str,
    class: Class,
    /// Of its class; of entailment where it is not found.
    probability: f64,
    place: String,
}

/// Why nothing can be told, or what went wrong.
enum Undecided {
    Nothing(&'static str),
    Failed(Cell, Cow<'static, str>),
}

impl Batched for Entailed {
    fn needs<'r>(&self, row: &Row<'r>, needs: &mut Needs<'r>) {
        let Ok((statements, sources)) = asked(row) else {
            return;
        };
        for source in &sources {
            for statement in &statements {
                needs.entails(source.text.clone(), *statement);
            }
        }
    }

    fn score(&self, row: &Row<'_>, got: &Got<'_>, _: &mut Scratch) -> Cell {
        match decided(row, got) {
            Ok(statements) => Cell::Scored {
                score: Score::new(supported(&statements)),
                natural: Some(verdict(&statements)),
                flags: 0,
            },
            Err(Undecided::Nothing(_)) => Cell::Scored {
                score: None,
                natural: Some(Verdict::Inconclusive),
                flags: 0,
            },
            Err(Undecided::Failed(cell, _)) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, got: &Got<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        let statements = match decided(row, got) {
            Ok(statements) => statements,
            Err(Undecided::Nothing(reason)) => return Explanation::reason(reason),
            Err(Undecided::Failed(_, reason)) => return Explanation::reason(reason.into_owned()),
        };
        let count = |class| statements.iter().filter(|said| said.class == class).count();
        let reason = format!(
            "{} of {} statements are supported, {} contradicted",
            count(Class::Supported),
            statements.len(),
            count(Class::Contradicted)
        );
        let evidence = statements.iter().map(|said| {
            Evidence::new("statement")
                .set("text", said.text)
                .set("class", said.class.name())
                .set("by", got.classifier())
                .set(
                    "reason",
                    format!("{} {}", said.class.name(), rounded(said.probability)),
                )
                .set("probability", said.probability)
                .set("in", said.place.as_str())
        });
        Explanation {
            evidence: evidence.collect(),
            ..Explanation::reason(reason)
        }
    }
}

/// The statements of the response, and what they are held against.
fn asked<'r>(row: &Row<'r>) -> Result<(Vec<&'r str>, Vec<Source<'r>>), Undecided> {
    let output = text_of(row, Field::Output).map_err(|cell| match cell {
        Cell::Errored(code) => Undecided::Failed(cell, code.message()),
        _ => Undecided::Failed(cell, Cow::default()),
    })?;
    if output.trim().is_empty() {
        return Err(Undecided::Nothing("the response is empty"));
    }
    let sources = sources(row);
    if sources.is_empty() {
        return Err(Undecided::Nothing(super::grounded::NO_SOURCES));
    }
    let statements: Vec<&str> = claims(output).into_iter().map(|claim| claim.text).collect();
    if statements.is_empty() {
        return Err(Undecided::Nothing("the response states nothing"));
    }
    Ok((statements, sources))
}

fn decided<'r>(row: &Row<'r>, got: &Got<'_>) -> Result<Vec<Decided<'r>>, Undecided> {
    let (statements, sources) = asked(row)?;
    let labels = Places::of(got.labels()).ok_or_else(|| unknown_labels(got))?;
    statements
        .into_iter()
        .map(|statement| decide(statement, &sources, &labels, got))
        .collect()
}

fn decide<'r>(
    statement: &'r str,
    sources: &[Source<'r>],
    labels: &Places,
    got: &Got<'_>,
) -> Result<Decided<'r>, Undecided> {
    let mut best: Option<Decided<'r>> = None;
    for source in sources {
        let said = match got.entailment(&source.text, statement) {
            Some(Ok(said)) => said,
            Some(Err(error)) => {
                let cell = Cell::Errored(Code::Model(error.kind));
                return Err(Undecided::Failed(cell, error.message.clone().into()));
            }
            None => continue,
        };
        let (class, probability) = labels.class(said);
        let is_better = best
            .as_ref()
            .is_none_or(|best| (rank(class), probability) > (rank(best.class), best.probability));
        if is_better {
            best = Some(Decided {
                text: statement,
                class,
                probability,
                place: source.place.clone(),
            });
        }
    }
    best.ok_or(Undecided::Nothing("the model was not asked"))
}

/// Support by one source outweighs what others say, then contradiction.
const fn rank(class: Class) -> u8 {
    match class {
        Class::Supported => 2,
        Class::Contradicted => 1,
        Class::NotFound => 0,
    }
}

/// Where the labels stand that mean something here.
struct Places {
    entailment: usize,
    contradiction: Option<usize>,
}

impl Places {
    fn of(labels: &[String]) -> Option<Self> {
        const FOR: [&str; 5] = [
            "entailment",
            "consistent",
            "supported",
            "faithful",
            "factual",
        ];
        const AGAINST: [&str; 4] = ["contradiction", "inconsistent", "refuted", "hallucinated"];
        let place = |names: &[&str]| {
            labels
                .iter()
                .position(|label| names.contains(&label.trim().to_lowercase().as_str()))
        };
        Some(Self {
            entailment: place(&FOR)?,
            contradiction: place(&AGAINST),
        })
    }

    /// The class of the likeliest label, with the probability that stands for it.
    fn class(&self, said: &[f32]) -> (Class, f64) {
        let of = |place: usize| said.get(place).copied().unwrap_or(0.0);
        let likeliest = said.iter().copied().fold(f32::MIN, f32::max);
        let entailment = of(self.entailment);
        // A model with one label alone says its probability.
        if entailment >= likeliest && (said.len() > 1 || entailment >= 0.5) {
            return (Class::Supported, f64::from(entailment));
        }
        match self.contradiction.map(of) {
            Some(against) if against >= likeliest => (Class::Contradicted, f64::from(against)),
            _ => (Class::NotFound, f64::from(entailment)),
        }
    }
}

fn unknown_labels(got: &Got<'_>) -> Undecided {
    let reason = format!(
        "none of the labels of {} means entailment: {}; name them in their order under `models: {{nli: {{labels: […]}}}}`",
        got.classifier(),
        got.labels().join(", ")
    );
    Undecided::Failed(
        Cell::Errored(Code::Model(ModelErrorKind::Config)),
        reason.into(),
    )
}

fn supported(statements: &[Decided<'_>]) -> f64 {
    let supported = statements
        .iter()
        .filter(|said| said.class == Class::Supported)
        .count();
    supported as f64 / statements.len().max(1) as f64
}

fn verdict(statements: &[Decided<'_>]) -> Verdict {
    match supported(statements) {
        0.0 => Verdict::Fail,
        1.0 => Verdict::Pass,
        _ => Verdict::Partial,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use super::*;
    use crate::evaluator::{Names, Said, pair_key};
    use crate::record::{Content, ContextChunk, Slots};

    fn labels(names: &[&str]) -> Option<Places> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Places::of(&names)
    }

    /// What is made of a response and two contexts where the model says so of each pair, context by context.
    fn judged(output: &str, said: &[(&str, &str, [f32; 3])]) -> (Cell, Explanation) {
        let classified: Said<Arc<[f32]>> = said
            .iter()
            .map(|(premise, hypothesis, said)| {
                let key = pair_key(premise, Some(hypothesis)).into_owned();
                (key, Ok(Arc::from(said.as_slice())))
            })
            .collect();
        let labels = ["contradiction", "neutral", "entailment"].map(str::to_owned);
        let got = Got {
            embedded: &HashMap::new(),
            tokens: &HashMap::new(),
            moderated: &HashMap::new(),
            classified: &classified,
            names: Names {
                classifier: "local/my-nli",
                ..Names::default()
            },
            labels: &labels,
        };
        let chunk = |document| ContextChunk {
            document,
            id: None,
            relevance: None,
            score: None,
            grade: None,
        };
        let contexts = [chunk("A b."), chunk("C d.")];
        let slots = Slots {
            output: Some(Content::Text(output)),
            contexts: &contexts,
            ..Slots::default()
        };
        let (row, mut scratch) = (Row::new(&slots), Scratch::default());
        let mut needs = Needs::default();
        Entailed.needs(&row, &mut needs);
        assert_eq!(needs.classify.len(), said.len(), "{:?}", needs.classify);
        let cell = Entailed.score(&row, &got, &mut scratch);
        (cell, Entailed.explain(&row, &got, cell, &mut scratch))
    }

    #[test]
    fn each_statement_is_held_against_each_source() {
        let (one, two) = ("Bears sleep.", "Foxes do not sleep.");
        let (cell, explanation) = judged(
            "Bears sleep. Foxes do not sleep.",
            &[
                ("A b.", one, [0.7, 0.2, 0.1]),
                ("C d.", one, [0.1, 0.2, 0.7]),
                ("A b.", two, [0.6, 0.2, 0.2]),
                ("C d.", two, [0.2, 0.6, 0.2]),
            ],
        );
        let Cell::Scored { score, natural, .. } = cell else {
            panic!("{cell:?}")
        };
        assert_eq!(score.map(Score::get), Some(0.5));
        assert_eq!(natural, Some(Verdict::Partial));
        let shown = format!("{:?}", explanation.evidence);
        for part in [
            "contexts/1",
            "supported",
            "contexts/0",
            "contradicted",
            "local/my-nli",
        ] {
            assert!(shown.contains(part), "{shown}");
        }
    }

    #[test]
    fn the_likeliest_label_decides() {
        use Class::*;
        let three = ["CONTRADICTION", "neutral", "Entailment"];
        let two = ["hallucinated", "consistent"];
        for (names, said, class, probability) in [
            (&three[..], &[0.1_f32, 0.25, 0.65][..], Supported, 0.65),
            (&three, &[0.5, 0.25, 0.25], Contradicted, 0.5),
            (&three, &[0.25, 0.5, 0.25], NotFound, 0.25),
            (&two, &[0.25, 0.75], Supported, 0.75),
            (&two, &[0.75, 0.25], Contradicted, 0.75),
            (
                &["entailment", "not_entailment"],
                &[0.25, 0.75],
                NotFound,
                0.25,
            ),
            (&["supported"], &[0.25], NotFound, 0.25),
            (&["supported"], &[0.75], Supported, 0.75),
        ] {
            let (got, p) = labels(names).unwrap().class(said);
            assert_eq!(got, class, "{names:?} {said:?}");
            assert!((p - probability).abs() < 1e-6, "{names:?} {said:?}");
        }
        assert!(labels(&["LABEL_0", "LABEL_1"]).is_none());
    }
}
