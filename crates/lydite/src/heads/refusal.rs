//! Does a response attempt an answer, or does it refuse? Without any model: cues, n-grams and logistic regression.
//!
//! A response is read as its writer says it (no code, no quotations). Its sentences show cues
//! (*cues.rs*): declining, knowing nothing, regret, pointing elsewhere, asking back. The features are where the
//! cues stand, how many words are in sentences with them, and how much is said without any; beside them stand
//! the first words of the response, with words of the query masked so that topics count little, and the first
//! words of the query.

mod cues;
mod english;
mod voice;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Head, HeadError, Inputs, Names};
use cues::{Cue, Cues};
pub use english::is_english;
use voice::{Voice, count_words, words};

/// The features, in the order in which [`Reading`] gives them.
pub const NAMES: Names<'static> = Names {
    dense: &DENSE,
    embeddings: &[],
    texts: &["response", "query"],
};

/// The head of *attempts to answer*.
pub fn head() -> Result<&'static Head, &'static HeadError> {
    static HEAD: LazyLock<Result<Head, HeadError>> =
        LazyLock::new(|| Head::parse(include_str!("data/refusal.json"), &NAMES));
    HEAD.as_ref()
}

/// A response that was read, beside its query.
#[derive(Clone, Debug)]
pub struct Reading {
    dense: Vec<f64>,
    texts: [String; 2],
}

/// A place that speaks for one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    /// What is done there: `refuses`, `not known`, `asks back`, `turns to an answer`, ….
    pub what: &'static str,
    /// Whether it speaks for a refusal.
    pub refusal: bool,
    /// Bytes of the response.
    pub range: Range<usize>,
}

impl Reading {
    /// `query` may be empty.
    pub fn new(query: &str, response: &str) -> Self {
        let asked = Voice::all(query);
        let said = Said::new(response);
        Self {
            dense: dense(&asked.text, response, &said),
            texts: [opening(&asked.text, &said.voice.text), openers(&asked.text)],
        }
    }

    /// The features one by one: [`NAMES`] has their names.
    pub fn dense(&self) -> &[f64] {
        &self.dense
    }

    /// The texts of n-grams.
    pub fn texts(&self) -> &[String; 2] {
        &self.texts
    }

    /// The probability that the response attempts an answer.
    pub fn probability(&self, head: &Head) -> f64 {
        let texts = self.texts.each_ref().map(String::as_str);
        head.probability(&Inputs {
            dense: &self.dense,
            embeddings: &[],
            texts: &texts,
        })
    }
}

/// What in a response speaks for a refusal, and where it turns to an answer: the first place of each kind.
pub fn signs(response: &str) -> Vec<Sign> {
    const REFUSAL: [Cue; 4] = [Cue::Refuses, Cue::Unknown, Cue::AsksBack, Cue::Redirects];
    let said = Said::new(response);
    let first = |find: &dyn Fn(&str) -> Option<Range<usize>>| {
        said.sentences.iter().find_map(|sentence| {
            let found = find(said.text(sentence))?;
            let start = sentence.range.start;
            Some(
                said.voice
                    .original(&(start + found.start..start + found.end)),
            )
        })
    };
    let refusal = REFUSAL.into_iter().filter_map(|cue| {
        Some(Sign {
            what: cue.name(),
            refusal: true,
            range: first(&|sentence| cue.find(sentence))?,
        })
    });
    let mut signs: Vec<Sign> = refusal.collect();
    if !signs.is_empty()
        && let Some(range) = first(&cues::turn)
    {
        signs.push(Sign {
            what: "turns to an answer",
            refusal: false,
            range,
        });
    }
    signs
}

/// The response's own words by sentences.
struct Said {
    voice: Voice,
    sentences: Vec<Sentence>,
    /// Of all sentences, at least 1.
    words: f64,
}

struct Sentence {
    /// Bytes of the voice's text.
    range: Range<usize>,
    words: usize,
    cues: Cues,
}

impl Said {
    fn new(response: &str) -> Self {
        let voice = Voice::own(response);
        let sentences: Vec<Sentence> = sentences(&voice.text)
            .filter_map(|range| {
                let text = voice.text.get(range.clone())?;
                let words = count_words(text);
                (words > 0).then(|| Sentence {
                    range,
                    words,
                    cues: Cues::of(text),
                })
            })
            .collect();
        let words = sentences
            .iter()
            .map(|sentence| sentence.words)
            .sum::<usize>();
        Self {
            voice,
            sentences,
            words: words.max(1) as f64,
        }
    }

    fn text(&self, sentence: &Sentence) -> &str {
        self.voice
            .text
            .get(sentence.range.clone())
            .unwrap_or_default()
    }

    /// Words of the sentences for which `counts`.
    fn words_where(&self, counts: impl Fn(Cues) -> bool) -> f64 {
        let counted = self
            .sentences
            .iter()
            .filter(|sentence| counts(sentence.cues));
        counted.map(|sentence| sentence.words).sum::<usize>() as f64
    }

    fn all(&self, holds: impl Fn(Cues) -> bool) -> bool {
        !self.sentences.is_empty() && self.sentences.iter().all(|sentence| holds(sentence.cues))
    }

    /// 1 where the first sentence shows a cue, less for the second and third, else 0.
    fn early(&self, cue: Cue) -> f64 {
        let mut weights = [1.0, 0.75, 0.5].into_iter().zip(&self.sentences);
        weights
            .find(|(_, sentence)| sentence.cues.has(cue))
            .map_or(0.0, |(weight, _)| weight)
    }

    fn late(&self, cue: Cue) -> bool {
        let mut rest = self.sentences.iter().skip(3);
        rest.any(|sentence| sentence.cues.has(cue))
    }

    /// The sentences from the first on that declines or knows nothing.
    fn from_refusal(&self) -> &[Sentence] {
        let first = self
            .sentences
            .iter()
            .position(|sentence| sentence.cues.is_hard());
        first
            .and_then(|first| self.sentences.get(first..))
            .unwrap_or_default()
    }

    /// Words outside of refusals; where a sentence turns to an answer, those behind the turn are outside.
    fn words_beside_refusals(&self) -> f64 {
        let words = self.sentences.iter().map(|sentence| {
            if !sentence.cues.is_hard() {
                return sentence.words;
            }
            let text = self.text(sentence);
            match cues::turn(text) {
                Some(turn) if turn.start > 0 => {
                    count_words(text.get(turn.end..).unwrap_or_default())
                }
                _ => 0,
            }
        });
        words.sum::<usize>() as f64
    }
}

const DENSE: [&str; 68] = [
    "refuses early",
    "refuses share",
    "refuses late",
    "unknown early",
    "unknown share",
    "unknown late",
    "regrets early",
    "regrets share",
    "regrets late",
    "machine early",
    "machine share",
    "machine late",
    "no opinion early",
    "no opinion share",
    "no opinion late",
    "moral early",
    "moral share",
    "moral late",
    "redirects early",
    "redirects share",
    "redirects late",
    "offers early",
    "offers share",
    "offers late",
    "hedges early",
    "hedges share",
    "hedges late",
    "asks back early",
    "asks back share",
    "asks back late",
    "question early",
    "question share",
    "question late",
    "content words",
    "content share",
    "words beside refusals",
    "refusal share",
    "refusal first",
    "refusal in first two",
    "all refusal",
    "no content",
    "any refusal",
    "no content and refusal",
    "all questions",
    "ends with a question",
    "only asks",
    "turns after refusal",
    "content after refusal",
    "moral after refusal",
    "list after refusal",
    "refusal late",
    "moral without refusal",
    "short without refusal",
    "all content",
    "list items",
    "code",
    "words",
    "lines",
    "quotations",
    "verse",
    "no words",
    "first person",
    "new words",
    "query repeated",
    "asked to write",
    "asked for opinion",
    "opinion of a machine",
    "asked to write and refusal",
];

/// In the order of [`DENSE`].
fn dense(query: &str, response: &str, said: &Said) -> Vec<f64> {
    let mut values = Vec::with_capacity(DENSE.len());
    for cue in Cue::ALL {
        values.push(said.early(cue));
        values.push(said.words_where(|cues| cues.has(cue)) / said.words);
        values.push(flag(said.late(cue)));
    }
    values.extend(shares(said));
    values.extend(after_refusal(response, said));
    values.extend(form(response, said));
    values.extend(beside_query(query, said));
    values
}

/// How much declines, and how much is left.
fn shares(said: &Said) -> [f64; 13] {
    let is_hard = |sentence: &Sentence| sentence.cues.is_hard();
    let content = said.words_where(Cues::is_content);
    let any = said.sentences.iter().any(is_hard);
    let no_content = said.all(|cues| !cues.is_content());
    let last = said.sentences.last();
    [
        content.ln_1p(),
        content / said.words,
        said.words_beside_refusals().ln_1p(),
        said.words_where(Cues::is_hard) / said.words,
        flag(said.sentences.first().is_some_and(is_hard)),
        flag(said.sentences.iter().take(2).any(is_hard)),
        flag(said.all(Cues::is_hard)),
        flag(no_content),
        flag(any),
        flag(no_content && any),
        flag(said.all(|cues| cues.has(Cue::Question))),
        flag(last.is_some_and(|sentence| sentence.cues.has(Cue::Question))),
        flag(said.all(Cues::only_asks)),
    ]
}

/// What comes behind the first refusal.
fn after_refusal(response: &str, said: &Said) -> [f64; 8] {
    let from = said.from_refusal();
    let refuses = !from.is_empty();
    let after = from.get(1..).unwrap_or_default();
    let turns = |sentence: &Sentence| cues::turn(said.text(sentence)).is_some();
    let content = after.iter().filter(|sentence| sentence.cues.is_content());
    let content: usize = content.map(|sentence| sentence.words).sum();
    let is_moral = |sentence: &&Sentence| sentence.cues.has(Cue::Moral);
    let moral = after.iter().filter(is_moral).count() as f64;
    let moral_first = said
        .sentences
        .iter()
        .take(2)
        .any(|sentence| sentence.cues.has(Cue::Moral));
    [
        flag(from.iter().take(3).any(turns)),
        (content as f64).ln_1p(),
        moral / (after.len() as f64 + 1.0),
        flag(refuses && list_items(response) >= 2),
        flag(refuses && said.sentences.len() - from.len() >= 3),
        flag(!refuses && moral_first),
        flag(!refuses && said.words < 15.0),
        flag(
            said.sentences
                .iter()
                .all(|sentence| sentence.cues.is_content()),
        ),
    ]
}

/// What kind of text it is.
fn form(response: &str, said: &Said) -> [f64; 7] {
    let lines = response.matches('\n').count() as f64;
    [
        list_items(response).min(5) as f64 / 5.0,
        flag(said.voice.has_code),
        said.words.ln_1p(),
        lines.ln_1p(),
        said.voice.quotations.min(3) as f64,
        flag(lines >= 3.0 && said.words / (lines + 1.0) < 10.0),
        flag(said.sentences.is_empty()),
    ]
}

/// What was asked, and what of it comes back.
fn beside_query(query: &str, said: &Said) -> [f64; 7] {
    let text = said.voice.text.as_str();
    let first: Vec<&str> = tokens(text).take(40).collect();
    let own = first
        .iter()
        .filter(|word| matches!(**word, "i" | "my" | "me"))
        .count();
    let asked: HashSet<&str> = topics(query, 3).collect();
    let said_topics: HashSet<&str> = topics(text, 3).collect();
    let repeated = asked.intersection(&said_topics).count();
    // Not finite is not known: the head takes the mean.
    let if_asked = |value: f64| {
        if query.trim().is_empty() {
            f64::NAN
        } else {
            value
        }
    };
    let write = cues::asks_to_write(query);
    let opinion = cues::asks_for_opinion(query);
    let refuses = !said.from_refusal().is_empty();
    [
        own as f64 / (first.len() as f64 + 1.0),
        ((said_topics.len() - repeated) as f64).ln_1p(),
        if_asked(repeated as f64 / (asked.len() as f64).max(1.0)),
        if_asked(flag(write)),
        if_asked(flag(opinion)),
        if_asked(flag(opinion && said.early(Cue::Machine) > 0.0)),
        if_asked(flag(write && refuses)),
    ]
}

/// The first 50 words of a response, with marks at its ends; words of the query and numbers are masked.
fn opening(query: &str, response: &str) -> String {
    const WORDS: usize = 50;
    let asked: HashSet<&str> = topics(query, 4).collect();
    let mut text = String::from("bos");
    let mut words = tokens(response);
    for word in words.by_ref().take(WORDS) {
        text.push(' ');
        text.push_str(if asked.contains(word) {
            "qqq"
        } else if word.bytes().all(|b| b.is_ascii_digit()) {
            "nnn"
        } else {
            word
        });
    }
    if words.next().is_none() {
        text.push_str(" eos");
    }
    text
}

/// The first three words of a query; empty where there is none.
fn openers(query: &str) -> String {
    let words: Vec<&str> = tokens(query).take(3).collect();
    if words.is_empty() {
        String::new()
    } else {
        format!("bos {}", words.join(" "))
    }
}

/// Words, without a possessive *'s*.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    words(text)
        .filter_map(|range| text.get(range))
        .map(|word| word.strip_suffix("'s").unwrap_or(word))
}

/// Words of at least so many characters that are no function words.
fn topics(text: &str, shortest: usize) -> impl Iterator<Item = &str> {
    tokens(text).filter(move |word| {
        word.chars().nth(shortest - 1).is_some() && !english::FUNCTION_WORDS.contains(word)
    })
}

/// Sentences: they end behind `.`, `!` or `?` before white space, and at line breaks.
fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> {
    static END: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"[.!?]["')\]*]*\s+|\n+"#).ok());
    let ends = END.as_ref().into_iter().flat_map(|end| end.find_iter(text));
    let ends = ends.map(|found| found.end()).chain([text.len()]);
    ends.scan(0, |start, end| {
        let sentence = *start..end;
        *start = end;
        Some(trimmed(text, sentence))
    })
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let piece = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (piece.len() - piece.trim_start().len());
    start..start + piece.trim().len()
}

/// Lines that begin with a bullet or a number.
fn list_items(text: &str) -> usize {
    let is_item = |line: &&str| {
        let line = line.trim_start();
        let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = if digits.len() < line.len() {
            digits.strip_prefix(['.', ')'])
        } else {
            line.strip_prefix(['-', '*', '•'])
        };
        rest.is_some_and(|rest| rest.starts_with(char::is_whitespace) && !rest.trim().is_empty())
    };
    text.lines().filter(is_item).count()
}

const fn flag(on: bool) -> f64 {
    if on { 1.0 } else { 0.0 }
}
