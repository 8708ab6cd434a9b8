//! Whether a response says what a reference says: features of words, two cosines, and checks that decide by themselves.
//!
//! A reference's words are looked for in the response, sentence by sentence, by stem, spelling and value; what the
//! question says already counts little. The head weighs that with the nearness of both texts as the embedder sees
//! them. Since neither sees a changed number or a *not* well, [`Kind`] names what is checked apart: where such a check
//! fires, the probability is [`CONTRADICTED`].

mod align;
mod checks;
mod features;
mod language;
mod opposites;
mod repair;
mod words;

use std::ops::Range;
use std::sync::LazyLock;

pub use checks::{Check, Kind};
pub use language::is_english;

use align::{Aligned, Asked};
use checks::{Pair, checks, is_hard};
use features::{FEATURES, Sides, View};
use words::Said;

use super::{Head, HeadError, Inputs, Names};

/// The probability of a response that says something else in the reference's place; below the level of fail.
pub const CONTRADICTED: f64 = 0.02;

/// Texts to be embedded of each comparison.
pub const TEXTS: usize = 4;

pub const NAMES: Names<'static> = Names {
    dense: &DENSE,
    embeddings: &[],
    texts: &[],
};

const COSINES: [&str; 2] = ["cosine_in_context", "cosine_of_cores"];

const DENSE: [&str; FEATURES.len() + COSINES.len()] = dense();

static HEAD: LazyLock<Result<Head, HeadError>> =
    LazyLock::new(|| Head::parse(include_str!("data/matching.json"), &NAMES));

pub fn head() -> Result<&'static Head, &'static HeadError> {
    HEAD.as_ref()
}

/// A response, read once for all its references.
#[derive(Debug)]
pub struct Response<'t> {
    said: Said<'t>,
    asked: Asked,
    query: &'t str,
    words: Vec<String>,
    text: String,
    hedges: f64,
}

/// A reference beside a response.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The place of the reference among those given.
    pub reference: usize,
    /// The reference as it was read, without the marks of a wrong encoding.
    pub text: String,
    /// The sentence of the response that says most of the reference, in bytes of the response.
    pub sentence: Range<usize>,
    /// What speaks against it for sure.
    pub checks: Vec<Check>,
    /// The reference's words stand in the response as they are.
    pub verbatim: bool,
    /// The share of what the reference says beyond the question that the response has, 0 to 1.
    pub coverage: f64,
    /// What has to be embedded: two texts of the reference's side and the response's each.
    pub texts: [String; TEXTS],
    dense: Vec<f64>,
    rank: f64,
}

impl<'t> Response<'t> {
    /// The question may be empty.
    pub fn new(query: &'t str, output: &'t str) -> Self {
        let said = Said::new(output);
        let words = features::words(&said.items);
        Self {
            text: words.join(" "),
            words,
            hedges: features::hedges(said.text),
            asked: Asked::new(query),
            said,
            query,
        }
    }

    /// The references that fit best by their words, the best first, at most `most`.
    ///
    /// Those without a word or number say nothing and are left out, and a response without one has none.
    pub fn nearest<'r>(
        &self,
        references: impl IntoIterator<Item = &'r str>,
        most: usize,
    ) -> Vec<Comparison> {
        let references = references.into_iter().enumerate();
        let mut all: Vec<Comparison> = references
            .filter_map(|(at, text)| self.compare(at, text))
            .collect();
        all.sort_by(|a, b| b.rank.total_cmp(&a.rank));
        all.truncate(most);
        all
    }

    fn compare(&self, place: usize, reference: &str) -> Option<Comparison> {
        if self.said.items.is_empty() {
            return None;
        }
        let repaired = repair::repaired(reference);
        let reference = Said::new(repaired.as_deref().unwrap_or(reference));
        let output = &self.said;
        let align = |part| Some((part, Aligned::new(&reference, part, output, &self.asked)?));
        let parts: Vec<_> = reference
            .sentences
            .iter()
            .filter(|part| !part.items.is_empty())
            .filter_map(align)
            .collect();
        let checks: Vec<Check> = parts
            .iter()
            .flat_map(|(part, aligned)| {
                checks(&Pair {
                    reference: &reference,
                    part,
                    output,
                    aligned,
                    asked: &self.asked,
                })
            })
            .collect();
        let view = View::new(&Sides {
            reference: &reference,
            output,
            asked: &self.asked,
            parts: &parts,
            checks: &checks,
            output_words: &self.words,
            output_text: &self.text,
            hedges: self.hedges,
        })?;
        Some(Comparison {
            reference: place,
            text: reference.text.to_owned(),
            sentence: view.sentence.span.clone(),
            verbatim: view.is_verbatim(),
            coverage: view.recall_new(),
            texts: self.texts(&view),
            dense: FEATURES.iter().map(|(_, value)| value(&view)).collect(),
            rank: view.rank(),
            checks: checks
                .iter()
                .filter(|check| is_hard(check, &reference))
                .cloned()
                .collect(),
        })
    }

    fn texts(&self, view: &View<'_>) -> [String; TEXTS] {
        let (reference, output) = (view.reference, &self.said);
        let sentence = output.slice(&view.sentence.span);
        let core = |items, said: &Said<'_>| clipped(&features::core(items, said, &self.asked));
        [
            clipped(&format!("{} {}", self.query, reference.text)),
            clipped(&format!("{} {sentence}", self.query)),
            core(&reference.items, reference),
            core(output.of(view.sentence), output),
        ]
    }
}

impl Comparison {
    /// The features, in the order of [`NAMES`]. `cosines` are those of the first two and of the last two texts.
    pub fn features(&self, cosines: [f64; 2]) -> Vec<f64> {
        self.dense.iter().copied().chain(cosines).collect()
    }

    /// The probability that the response says what the reference says.
    pub fn probability(&self, head: &Head, cosines: [f64; 2]) -> f64 {
        let dense = self.features(cosines);
        let probability = head.probability(&Inputs {
            dense: &dense,
            ..Inputs::default()
        });
        if self.checks.is_empty() {
            probability
        } else {
            probability.min(CONTRADICTED)
        }
    }
}

/// The first 400 characters: what the embedder reads of a text, about.
fn clipped(text: &str) -> String {
    text.trim().chars().take(400).collect()
}

#[expect(clippy::indexing_slicing, reason = "computed while compiling")]
const fn dense() -> [&'static str; FEATURES.len() + COSINES.len()] {
    let mut names = [""; FEATURES.len() + COSINES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = match at.checked_sub(FEATURES.len()) {
            Some(cosine) => COSINES[cosine],
            None => FEATURES[at].0,
        };
        at += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn compared(query: &str, reference: &str, output: &str) -> Comparison {
        let mut all = Response::new(query, output).nearest([reference], 1);
        all.remove(0)
    }

    fn fired(query: &str, reference: &str, output: &str) -> Vec<Kind> {
        let checks = compared(query, reference, output).checks;
        checks.into_iter().map(|check| check.kind).collect()
    }

    #[test]
    fn the_file_is_a_head_whose_fails_hold_contradictions() {
        let levels = head().unwrap().file().levels;
        assert!(levels.fail.unwrap() > CONTRADICTED);
        assert!(levels.accuracy_pass.unwrap() >= 0.9 && levels.accuracy_fail.unwrap() >= 0.9);
    }

    #[test]
    fn edits_of_numbers_units_names_and_negations_are_found() {
        use Kind::{Name, Negation, Number, Order, Unit};
        let table = [
            ("The gate opens at 7 am.", "The gate opens at 8 am.", Number),
            (
                "The gate opens at 7 am.",
                "At 7 p.m. the gate opens.",
                Number,
            ),
            (
                "It costs 40 dollars a month.",
                "Each month it costs $14.",
                Number,
            ),
            (
                "It costs 40 dollars a month.",
                "It costs 40 euros a month.",
                Unit,
            ),
            (
                "The bag weighs 3 kg.",
                "The weight of the bag is 3 g.",
                Unit,
            ),
            (
                "It was built on 3 May 1950.",
                "It was built on May 3, 1951.",
                Number,
            ),
            ("Eva Lind leads the team.", "Ida Lind leads the team.", Name),
            (
                "The team is led by Eva Lind.",
                "The team is led by Otto Berg.",
                Name,
            ),
            (
                "The lake is in Norway, near Bergen.",
                "The lake is in Norway, near Oslo.",
                Name,
            ),
            (
                "Bikes are allowed on trains.",
                "Bikes are not allowed on trains.",
                Negation,
            ),
            (
                "Bikes are allowed on trains.",
                "Bikes are forbidden on trains.",
                Negation,
            ),
            (
                "Bikes are never allowed on trains.",
                "Bikes are allowed on trains.",
                Negation,
            ),
            ("Yes.", "No, they are not.", Negation),
            ("Eva reports to Ida.", "Ida reports to Eva.", Order),
        ];
        for (reference, output, kind) in table {
            assert_eq!(
                fired("", reference, output),
                [kind],
                "{reference} | {output}"
            );
        }
    }

    #[test]
    fn the_same_in_other_words_fires_nothing() {
        let table = [
            (
                "",
                "The gate opens at 7 am.",
                "You can enter from 07:00, when the gate opens.",
            ),
            (
                "",
                "It costs 40 dollars a month.",
                "The monthly price is $40, that is $480 a year.",
            ),
            ("", "The bag weighs 3 kg.", "The bag weighs 3,000 g."),
            ("", "It was built on 3 May 1950.", "It was built in 1950."),
            (
                "",
                "The team is led by Eva Lind.",
                "Ms Lind is the one who leads the team.",
            ),
            (
                "",
                "Bikes are not allowed on trains.",
                "Bikes are prohibited on trains.",
            ),
            (
                "",
                "The shop is closed on Sundays.",
                "The shop does not open on Sundays.",
            ),
            (
                "",
                "Delivery takes at most 5 days.",
                "Delivery takes no more than five days.",
            ),
            ("", "It lasts 10–12 years.", "It lasts about 11 years."),
            ("What is not allowed?", "Smoking", "Smoking is not allowed."),
            ("Who won?", "Eva and Ida won.", "Ida and Eva won."),
            ("When?", "1984", "It was in 1985."),
        ];
        for (query, reference, output) in table {
            assert_eq!(
                fired(query, reference, output),
                [],
                "{reference} | {output}"
            );
        }
    }

    #[test]
    fn the_reference_that_fits_best_comes_first() {
        let response = Response::new(
            "Where is the office?",
            "The office is in Oslo. It is large.",
        );
        let all = response.nearest(["Bergen", "", "!", "Oslo"], 2);
        let places: Vec<usize> = all.iter().map(|comparison| comparison.reference).collect();
        assert_eq!(places, [3, 0]);
        assert!(all[0].verbatim && !all[1].verbatim);
        assert_eq!((all[0].coverage, all[1].coverage), (1.0, 0.0));
        assert_eq!(all[0].sentence, 0..22);
        assert_eq!(all[0].texts[3], "Oslo");
        assert!(response.nearest([], 3).is_empty());
        assert!(Response::new("", "?").nearest(["Oslo"], 3).is_empty());
    }

    #[test]
    fn what_fits_better_is_more_probable() {
        let probability = |reference, output, cosines| {
            compared("Where is the office?", reference, output)
                .probability(head().unwrap(), cosines)
        };
        let right = probability("Oslo", "The office is in Oslo.", [0.95, 1.0]);
        let wrong = probability("Oslo", "The office is at the harbour.", [0.6, 0.2]);
        let unsure = probability("Oslo", "I don't know where it is.", [0.5, 0.1]);
        assert!(
            right > 0.9 && wrong < 0.4 && unsure < 0.4,
            "{right} {wrong} {unsure}"
        );
    }

    proptest! {
        #[test]
        fn any_text_gives_finite_features_and_places_in_it(
            query in r"(who|when|is|not| |\?|é){0,8}",
            reference in r"(Eva|Oslo|not|9 pm|5 kg|1990s|is|the|\.|,| |日|½|no ){0,12}",
            output in r"(Eva|Ida|not|11 pm|5 g|20|is|the|\.|,| |日|’|never |closed){0,16}",
        ) {
            for comparison in Response::new(&query, &output).nearest([reference.as_str()], 1) {
                prop_assert!(output.get(comparison.sentence.clone()).is_some());
                for check in &comparison.checks {
                    prop_assert!(output.get(check.said.clone()).is_some());
                    prop_assert!(comparison.text.get(check.wanted.clone()).is_some());
                }
                let features = comparison.features([0.5, 0.5]);
                prop_assert_eq!(features.len(), NAMES.dense.len());
                prop_assert!(features.iter().all(|value| value.is_finite()));
            }
        }
    }
}
