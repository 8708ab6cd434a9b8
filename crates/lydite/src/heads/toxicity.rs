//! Is a response toxic: explicit abuse, implicit hate, sexual content, wishes to harm oneself.
//!
//! A text is cut into [windows] of some sentences. Each is read as words of a word list, which undoes disguises
//! ([fold]), and becomes [cues]: which classes of words it has, and how they stand to each other (a group and what
//! is said of it, negation, quotation, objection). One logistic regression a [`Category`] scores every window by its
//! cues, the n-grams of its shape and of its words; the worst window counts. A last one joins the categories to one
//! probability, with the number of windows, since each more is one more chance to be wrong.

mod cues;
mod fold;
mod lexicon;
mod windows;

use std::ops::Range;
use std::sync::LazyLock;

use super::hashed::{Kind, Ngrams};
use super::{Head, HeadError, Inputs, Names};
use fold::Token;
use lexicon::Classes;

/// What a window can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    ExplicitAbuse,
    ImplicitHate,
    Sexual,
    SelfHarm,
}

impl Category {
    pub const ALL: [Self; 4] = [
        Self::ExplicitAbuse,
        Self::ImplicitHate,
        Self::Sexual,
        Self::SelfHarm,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ExplicitAbuse => "explicit_abuse",
            Self::ImplicitHate => "implicit_hate",
            Self::Sexual => "sexual",
            Self::SelfHarm => "self_harm",
        }
    }

    /// The words of the list that speak for it.
    const fn classes(self) -> Classes {
        match self {
            Self::ExplicitAbuse => Classes::SLUR
                .and(Classes::INSULT)
                .and(Classes::INSULT_MILD)
                .and(Classes::PROFANITY)
                .and(Classes::GO_AWAY),
            Self::ImplicitHate => Classes::SLUR
                .and(Classes::HATE)
                .and(Classes::DEHUMANISING)
                .and(Classes::NEGATIVE)
                .and(Classes::VIOLENCE)
                .and(Classes::EXCLUDE)
                .and(Classes::GROUP),
            Self::Sexual => Classes::SEXUAL.and(Classes::SEXUAL_SOFT),
            Self::SelfHarm => Classes::SELF_HARM,
        }
    }
}

/// What a window gives the head of a category.
pub const NAMES: Names<'static> = Names {
    dense: cues::NAMES,
    embeddings: &[],
    texts: &["shape", "words"],
};

/// The n-grams that the heads of categories take, each of a text of [`NAMES`].
pub const BLOCKS: [(&str, Ngrams); 2] = [
    (
        "shape",
        Ngrams {
            kind: Kind::Word,
            min: 1,
            max: 4,
            bits: 12,
            lower: false,
        },
    ),
    (
        "words",
        Ngrams {
            kind: Kind::Word,
            min: 1,
            max: 2,
            bits: 13,
            lower: false,
        },
    ),
];

/// What a text gives the head that joins: the greatest logit of each category within ±[`CAP`], the logit of any
/// of them, and ln(1 + windows).
pub const JOINED: Names<'static> = Names {
    dense: &[
        "explicit_abuse",
        "implicit_hate",
        "sexual",
        "self_harm",
        "any",
        "windows",
    ],
    embeddings: &[],
    texts: &[],
};

/// Logits beyond it say no more.
const CAP: f64 = 6.0;

/// A window of a text, ready to be scored.
#[derive(Clone, Debug)]
pub struct Window {
    /// Bytes of the text.
    pub range: Range<usize>,
    pub dense: Vec<f64>,
    /// As [`NAMES`] has them.
    pub texts: [String; 2],
    tokens: Vec<Token>,
}

impl Window {
    /// The windows of a text in its order; none of a blank one.
    pub fn all(text: &str) -> Vec<Self> {
        windows::windows(text)
            .into_iter()
            .map(|range| Self::new(text.get(range.clone()).unwrap_or_default(), range))
            .collect()
    }

    fn new(text: &str, range: Range<usize>) -> Self {
        let tokens = fold::tokens(text);
        Self {
            range,
            dense: cues::cues(&tokens),
            texts: [cues::shape(&tokens), cues::words(&tokens)],
            tokens,
        }
    }

    /// How many words speak for a category, for choosing windows to fit on.
    pub fn hits(&self, category: Category) -> usize {
        let classes = category.classes();
        self.tokens.iter().filter(|token| token.is(classes)).count()
    }

    /// Where in the text those words stand, in bytes.
    fn spans(&self, category: Category) -> Vec<Range<usize>> {
        let classes = category.classes();
        let start = self.range.start;
        self.tokens
            .iter()
            .filter(|token| token.is(classes))
            .map(|token| start + token.source.start..start + token.source.end)
            .collect()
    }

    fn logit(&self, head: &Head) -> f64 {
        let texts = self.texts.each_ref().map(String::as_str);
        head.logit(&Inputs {
            dense: &self.dense,
            embeddings: &[],
            texts: &texts,
        })
    }
}

/// The greatest logit of a head over windows and where it is; `None` without a window.
pub fn worst(head: &Head, windows: &[Window]) -> Option<(f64, usize)> {
    windows
        .iter()
        .map(|window| window.logit(head))
        .zip(0..)
        .max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The features of [`JOINED`] from the worst logit of each category, in their order.
pub fn joined(logits: &[f64], windows: usize) -> Vec<f64> {
    let mut features: Vec<f64> = logits.iter().map(|x| x.clamp(-CAP, CAP)).collect();
    let none: f64 = logits.iter().map(|x| super::sigmoid(-x)).product();
    let any = ((1.0 - none).max(f64::MIN_POSITIVE) / none.max(f64::MIN_POSITIVE)).ln();
    features.push(any.clamp(-CAP, CAP));
    features.push((windows as f64).ln_1p());
    features
}

/// The fitted heads.
#[derive(Debug)]
pub struct Heads {
    /// In the order of [`Category::ALL`].
    categories: [Head; 4],
    joined: Head,
}

static HEADS: LazyLock<Result<Heads, HeadError>> = LazyLock::new(|| {
    let category = |json| Head::parse(json, &NAMES);
    Ok(Heads {
        categories: [
            category(include_str!("data/toxicity_explicit_abuse.json"))?,
            category(include_str!("data/toxicity_implicit_hate.json"))?,
            category(include_str!("data/toxicity_sexual.json"))?,
            category(include_str!("data/toxicity_self_harm.json"))?,
        ],
        joined: Head::parse(include_str!("data/toxicity.json"), &JOINED)?,
    })
});

/// The heads that ship.
pub fn heads() -> Result<&'static Heads, &'static HeadError> {
    HEADS.as_ref()
}

/// What the heads say of a text.
#[derive(Clone, Debug)]
pub struct Assessment {
    /// That it is toxic, calibrated.
    pub probability: f64,
    /// Whether it is written in English, as far as its words tell.
    pub english: bool,
    worst: [(f64, usize); 4],
    windows: Vec<Window>,
}

/// A category's part in an assessment.
#[derive(Clone, Debug)]
pub struct Finding {
    pub category: Category,
    /// Calibrated by itself.
    pub probability: f64,
    /// Bytes of the window that speaks most for it.
    pub range: Range<usize>,
    /// Bytes of the words in it that speak for it.
    pub words: Vec<Range<usize>>,
}

impl Heads {
    /// `None` of a blank text.
    pub fn assess(&self, text: &str) -> Option<Assessment> {
        let windows = Window::all(text);
        let mut worsts = [(0.0, 0); 4];
        for (found, head) in worsts.iter_mut().zip(&self.categories) {
            *found = worst(head, &windows)?;
        }
        let dense = joined(&worsts.map(|(logit, _)| logit), windows.len());
        let inputs = Inputs {
            dense: &dense,
            ..Inputs::default()
        };
        Some(Assessment {
            probability: self.joined.probability(&inputs),
            english: is_english(text, &windows),
            worst: worsts,
            windows,
        })
    }

    /// What an assessment rests on, category by category.
    pub fn findings(&self, assessment: &Assessment) -> Vec<Finding> {
        let heads = self.categories.iter().zip(Category::ALL);
        heads
            .zip(assessment.worst)
            .filter_map(|((head, category), (logit, place))| {
                let window = assessment.windows.get(place)?;
                Some(Finding {
                    category,
                    probability: head.file().calibration.probability(logit),
                    range: window.range.clone(),
                    words: window.spans(category),
                })
            })
            .collect()
    }

    /// The head whose probability, levels and figures are those of the whole.
    pub fn joined(&self) -> &Head {
        &self.joined
    }
}

/// Texts of less letters than this are taken for English.
const TOO_SHORT: usize = 12;

/// Most letters are Latin, and not more of the common words are of other languages than of this one.
fn is_english(text: &str, windows: &[Window]) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let (latin, other) = letters.fold((0_usize, 0_usize), |(latin, other), c| {
        if u32::from(c) < 0x250 {
            (latin + 1, other)
        } else {
            (latin, other + 1)
        }
    });
    let common = Classes::ENGLISH
        .and(Classes::FIRST)
        .and(Classes::YOU)
        .and(Classes::THEY)
        .and(Classes::COPULA)
        .and(Classes::NEGATION)
        .and(Classes::MODAL);
    let tokens = || windows.iter().flat_map(|window| &window.tokens);
    let count = |wanted: &dyn Fn(&Token) -> bool| tokens().filter(|token| wanted(token)).count();
    let foreign = count(&|token| token.is(Classes::FOREIGN) && !token.is(common));
    let english = count(&|token| token.is(common) && !token.is(Classes::FOREIGN));
    latin >= other && (latin < TOO_SHORT || foreign == 0 || english >= 2 * foreign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_shipped_heads_are_whole() {
        let heads = heads().unwrap();
        for (head, category) in heads.categories.iter().zip(Category::ALL) {
            assert_eq!(head.file().id, format!("toxicity_{}", category.as_str()));
        }
        let levels = heads.joined().file().levels;
        assert!(levels.accuracy_pass.unwrap() >= 0.9 && levels.accuracy_fail.unwrap() >= 0.9);
    }

    #[test]
    fn the_worst_window_counts_wherever_it_is() {
        let heads = heads().unwrap();
        let calm = "Refunds take five working days and go back to the card that was charged. ";
        let rude = "You are a stupid fucking moron. ";
        let text = calm.repeat(6) + rude + &calm.repeat(6);
        let assessment = heads.assess(&text).unwrap();
        let finding = heads.findings(&assessment).swap_remove(0);
        assert_eq!(finding.category, Category::ExplicitAbuse);
        assert!(text[finding.range.clone()].contains(rude.trim()));
        let words: Vec<&str> = finding.words.into_iter().map(|word| &text[word]).collect();
        assert_eq!(words, ["stupid", "fucking", "moron"]);
    }

    #[test]
    fn languages_are_told_apart() {
        let is_english = |text: &str| heads().unwrap().assess(text).unwrap().english;
        for (text, english) in [
            ("The refund takes five days.", true),
            ("Rude!", true),
            ("Die Erstattung dauert fünf Tage und kommt dann an.", false),
            (
                "El reembolso tarda cinco días en llegar a la cuenta.",
                false,
            ),
            (
                "Le remboursement prend cinq jours et vous est versé.",
                false,
            ),
            ("返金には5営業日かかります。", false),
            ("Возврат занимает пять дней.", false),
        ] {
            assert_eq!(is_english(text), english, "{text}");
        }
    }

    #[test]
    fn any_category_makes_it_more() {
        // Behind the categories' own.
        let any = |logits: &[f64]| joined(logits, 1)[logits.len()];
        assert!((any(&[0.0]) - 0.0).abs() < 1e-12);
        assert!(any(&[0.0, 0.0]) > any(&[0.0, -3.0]));
        assert_eq!(any(&[900.0, -900.0]), CAP);
        assert_eq!(joined(&[7.0, -7.0, 0.0, 0.0], 1).len(), JOINED.dense.len());
    }

    proptest! {
        #[test]
        fn any_text_is_assessed(text in "(\\PC|\n|women |hate |\\. |f\\*ck){0,80}") {
            let heads = heads().unwrap();
            match heads.assess(&text) {
                None => prop_assert!(text.trim().is_empty()),
                Some(assessment) => {
                    prop_assert!((0.0..=1.0).contains(&assessment.probability));
                    for finding in heads.findings(&assessment) {
                        prop_assert!((0.0..=1.0).contains(&finding.probability));
                        for word in finding.words {
                            prop_assert!(text.get(word).is_some());
                        }
                    }
                }
            }
        }
    }
}
