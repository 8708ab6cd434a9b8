//! Reading one verdict or rating of a reply that is plain text.

use serde_json::Value;

use super::thinking::without_thinking;
use super::vocabulary::{Claim, Hit, Vocabulary};
use super::words::{Mark, Word, is_markup, marks, words};
use super::{Misread, Read, number, shown};
use crate::judge::{Labels, Scale};
use crate::outcome::Code;

/// The most bytes between brackets that are looked at for a verdict.
const LONGEST_BRACKET: usize = 64;

/// Reads the final verdict of a plain-text reply: gives the label's index.
///
/// 1. A verdict behind a mark (`GRADE:`, `Final answer:`, …): the last one counts.
/// 2. Else verdicts in brackets, `[[A]]` before `[A]`, which must agree.
/// 3. Else a label that stands alone, on a line of its own, as the last word, or that leads and is
///    followed by `,` or `.`; all of them must agree.
///
/// # Errors
/// [`Code::AmbiguousReply`] where they don't, else [`Code::JudgeUnreadable`].
pub fn verdict(reply: &str, labels: &Labels) -> Result<Read<usize>, Misread> {
    let answer = without_thinking(reply);
    let text = plain_text(&answer)?;
    verdict_in(text, &Vocabulary::new(labels)).map(Read::plain)
}

/// Reads the rating of a plain-text reply: behind a mark (`Score:`, `Rating:`, …; the last one
/// counts), in double brackets that agree, or as all that there is.
///
/// # Errors
/// [`Code::ScoreOutOfRange`] for a number that the scale does not hold, [`Code::AmbiguousReply`]
/// for brackets that differ, else [`Code::JudgeUnreadable`].
pub fn rating(reply: &str, scale: &Scale) -> Result<Read<f64>, Misread> {
    let answer = without_thinking(reply);
    let text = plain_text(&answer)?;
    let words: Vec<_> = words(text).collect();
    let marks = marks(text, &words);
    let read = |mark: &Mark| number::leading(text.get(mark.value..)?, scale);
    let found = last_marked(marks.iter().filter(|mark| mark.announces.score()), read)
        .or_else(|| marks.iter().rev().find_map(read))
        .or_else(|| {
            agreed(brackets(text, "[[", "]]").filter_map(|text| number::alone(text, scale)))
        })
        .or_else(|| number::alone(text, scale));
    let none = || Misread::unreadable("the reply holds no number behind `Score:` or in [[ ]]");
    found.unwrap_or_else(|| Err(none())).map(Read::plain)
}

/// Reads a label of a typed reply, in any case, under its name or another word for it, or with a
/// reason after it (`Yes, the assistant …`).
///
/// # Errors
/// [`Code::JudgeAbstained`] for null, else [`Code::JudgeUnreadable`].
pub fn label(value: &Value, labels: &Labels) -> Result<Read<usize>, Misread> {
    let found = match value {
        Value::Null => {
            return Err(Misread::new(
                Code::JudgeAbstained,
                "the judge gave null in place of a verdict",
            ));
        }
        Value::String(text) => labels.find(text).or_else(|| led_by(text, labels)),
        Value::Bool(answer) => labels.find(&answer.to_string()),
        // 1.0 is 1.
        Value::Number(number) => number
            .as_f64()
            .and_then(|number| labels.find(&number.to_string())),
        Value::Array(_) | Value::Object(_) => None,
    };
    found.map(Read::plain).ok_or_else(|| {
        let names: Vec<_> = labels.iter().map(|label| &*label.name).collect();
        let value = value.to_string();
        Misread::unreadable(format!(
            "the verdict {} is none of {}",
            shown(&value),
            names.join(", ")
        ))
    })
}

/// The label that a text of a typed reply is or begins with.
fn led_by(text: &str, labels: &Labels) -> Option<usize> {
    let vocabulary = Vocabulary::new(labels);
    match vocabulary.whole(text) {
        Claim::Label(hit) => Some(hit.label),
        Claim::Unclear => None,
        Claim::Absent => match leading(
            text,
            &vocabulary,
            &[',', '.', ';', ':', '!', '-', '–', '—', '(', '\n'],
        ) {
            Claim::Label(hit) => Some(hit.label),
            _ => None,
        },
    }
}

/// The text to be read: without the fence around it, not blank, and no JSON that is broken.
pub(super) fn plain_text(answer: &str) -> Result<&str, Misread> {
    let text = crate::json::strip_fence(answer).trim();
    if text.is_empty() {
        return Err(Misread::unreadable("the reply is empty"));
    }
    if text.starts_with('{') {
        return Err(Misread::unreadable("the reply's JSON holds no verdict"));
    }
    Ok(text)
}

pub(super) fn verdict_in(text: &str, vocabulary: &Vocabulary) -> Result<usize, Misread> {
    let words: Vec<_> = words(text).collect();
    let marks = marks(text, &words);
    let read = |mark: &Mark| match marked(text, &words, mark, vocabulary) {
        Claim::Absent => None,
        Claim::Unclear => Some(Err(unclear())),
        Claim::Label(hit) => Some(Ok(hit.label)),
    };
    last_marked(marks.iter().filter(|mark| mark.announces.verdict()), read)
        .or_else(|| marks.iter().rev().find_map(read))
        .or_else(|| bracketed(text, vocabulary))
        .or_else(|| bare(text, &words, vocabulary))
        .unwrap_or_else(|| {
            Err(Misread::unreadable(
                "the reply holds no verdict that can be read",
            ))
        })
}

fn unclear() -> Misread {
    Misread::unreadable("the verdict is hedged, negated, or one of several; give one label alone")
}

fn differ() -> Misread {
    Misread::new(
        Code::AmbiguousReply,
        "the reply holds several verdicts that differ; give one",
    )
}

/// What the last of the marks announces. `None` where none announces anything; where the last does
/// not and one before does, the verdict may have been taken back.
fn last_marked<'m, T>(
    marks: impl DoubleEndedIterator<Item = &'m Mark>,
    read: impl Fn(&Mark) -> Option<Result<T, Misread>>,
) -> Option<Result<T, Misread>> {
    let mut backwards = marks.rev().map(read);
    match backwards.next()? {
        None => backwards.flatten().next().map(|_| Err(unclear())),
        found => found,
    }
}

/// The one value that all readings have; the first error of them.
fn agreed<T: PartialEq>(
    readings: impl Iterator<Item = Result<T, Misread>>,
) -> Option<Result<T, Misread>> {
    let mut found: Option<T> = None;
    for reading in readings {
        match (reading, &found) {
            (Err(misread), _) => return Some(Err(misread)),
            (Ok(value), Some(known)) if value != *known => return Some(Err(differ())),
            (Ok(value), _) => found = Some(value),
        }
    }
    found.map(Ok)
}

/// The label that stands first behind a mark.
fn marked(text: &str, words: &[Word<'_>], mark: &Mark, vocabulary: &Vocabulary) -> Claim {
    let claim = vocabulary.claim(words, mark.next);
    let Claim::Label(hit) = claim else {
        return claim;
    };
    let after = mark.next + hit.words;
    // `Verdict: a good answer` names no A.
    if hit.letter && gap(text, words, after).is_some_and(|gap| gap.trim_matches(' ').is_empty()) {
        return Claim::Absent;
    }
    if offers_another(text, words, after, hit, vocabulary) {
        return Claim::Unclear;
    }
    claim
}

/// Whether a label is one of several: `Y or N`, `Yes, No`. Not so in `Yes, no issues`. The label's
/// words end before `after`.
fn offers_another(
    text: &str,
    words: &[Word<'_>],
    after: usize,
    hit: Hit,
    vocabulary: &Vocabulary,
) -> bool {
    let other = |at| {
        let other = vocabulary.hit(words, at);
        other.filter(|other| other.label != hit.label)
    };
    let joined = words
        .get(after)
        .is_some_and(|word| ["or", "and", "vs"].iter().any(|joint| word.is(joint)));
    let listed = other(after).is_some_and(|other| {
        gap(text, words, after + other.words).is_none_or(|gap| !gap.trim_matches(' ').is_empty())
    });
    let same_line = || gap(text, words, after).is_some_and(|gap| !gap.contains(['.', '\n']));
    joined && other(after + 1).is_some() || listed && same_line()
}

/// What stands between the word before `at` and the one at `at`; `None` at the end of the text.
fn gap<'t>(text: &'t str, words: &[Word<'_>], at: usize) -> Option<&'t str> {
    let before = words.get(at.checked_sub(1)?)?;
    text.get(before.end()..words.get(at)?.start)
}

/// The label that all brackets name, the double ones where there are any.
fn bracketed(text: &str, vocabulary: &Vocabulary) -> Option<Result<usize, Misread>> {
    let named = |inside: &str| match vocabulary.whole(inside) {
        Claim::Absent => None,
        Claim::Unclear => Some(Err(unclear())),
        Claim::Label(hit) => Some(Ok(hit)),
    };
    let label = |hit: Result<Hit, Misread>| hit.map(|hit| hit.label);
    agreed(brackets(text, "[[", "]]").filter_map(named).map(label)).or_else(|| {
        let clear = |hit: &Result<Hit, Misread>| hit.as_ref().map_or(true, |hit| hit.own_case);
        agreed(
            brackets(text, "[", "]")
                .filter_map(named)
                .filter(clear)
                .map(label),
        )
    })
}

/// The texts between brackets, if short.
fn brackets<'t>(text: &'t str, open: &'t str, close: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(open).filter_map(move |(at, _)| {
        let rest = text.get(at + open.len()..)?;
        let window = rest
            .as_bytes()
            .get(..LONGEST_BRACKET)
            .unwrap_or(rest.as_bytes());
        let end = memchr::memmem::find(window, close.as_bytes())?;
        rest.get(..end)
    })
}

/// The label that lines, the beginning and the end agree on.
fn bare(text: &str, words: &[Word<'_>], vocabulary: &Vocabulary) -> Option<Result<usize, Misread>> {
    let mut claims = Vec::new();
    let mut leads = false;
    for (index, line) in text.lines().enumerate() {
        let whole = vocabulary.whole(unnumbered(line));
        if whole != Claim::Absent && !line.contains('?') {
            claims.push(whole);
        }
        let lead = leading(line, vocabulary, &[',', '.', '，', '。', '、']);
        leads |= index == 0 && lead != Claim::Absent;
        match lead {
            Claim::Label(_) if leads => claims.push(lead),
            Claim::Unclear if index == 0 => claims.push(lead),
            _ => {}
        }
    }
    let last = last_word(text, words, vocabulary);
    claims.extend(matches!(last, Claim::Label(_)).then_some(last));
    agreed(claims.into_iter().map(|claim| match claim {
        Claim::Label(hit) => Ok(hit.label),
        Claim::Absent | Claim::Unclear => Err(unclear()),
    }))
}

/// A line without the `1.` or `1)` before it.
fn unnumbered(line: &str) -> &str {
    let text = line.trim_start();
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = behind.len() < text.len();
    let rest = behind.strip_prefix(['.', ')']).filter(|_| is_number);
    rest.unwrap_or(line)
}

/// The label that a text begins with, if one of `stops` follows. A single letter must be written as
/// the label is.
fn leading(text: &str, vocabulary: &Vocabulary, stops: &[char]) -> Claim {
    const MOST_WORDS: usize = 12;
    let words: Vec<_> = words(text).take(MOST_WORDS).collect();
    let claim = vocabulary.claim(&words, 0);
    let hit = match claim {
        Claim::Label(hit) if hit.own_case => hit,
        Claim::Unclear => return Claim::Unclear,
        _ => return Claim::Absent,
    };
    if offers_another(text, &words, hit.words, hit, vocabulary) {
        return Claim::Unclear;
    }
    let end = words.get(hit.words.saturating_sub(1)).map_or(0, Word::end);
    let after = text.get(end..).unwrap_or_default();
    if after
        .trim_start_matches(|c| c == ' ' || is_markup(c))
        .starts_with(stops)
    {
        claim
    } else {
        Claim::Absent
    }
}

/// The label that ends a text, as its sentence means it. A single letter must be a sentence.
fn last_word(text: &str, words: &[Word<'_>], vocabulary: &Vocabulary) -> Claim {
    let Some((at, hit)) = vocabulary.last_hit(words) else {
        return Claim::Absent;
    };
    let (Some(first), Some(last)) = (words.get(at), words.last()) else {
        return Claim::Absent;
    };
    let before = text.get(..first.start).unwrap_or_default();
    let sentence_start = before
        .rfind(['.', '!', '?', ';', '\n', '。', '！', '？', '；'])
        .unwrap_or_default();
    let sentence_at = words.partition_point(|word| word.start < sentence_start);
    let sentence = words.get(sentence_at..at).unwrap_or_default();
    let asks = text.get(last.end()..).unwrap_or_default().contains('?');
    if asks || hit.letter && !(hit.own_case && sentence.is_empty()) {
        return Claim::Absent;
    }
    vocabulary.at_end(sentence, hit)
}
