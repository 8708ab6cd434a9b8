//! Reading one verdict an item of a reply that is plain text.

use super::plain::{plain_text, verdict_in};
use super::thinking::without_thinking;
use super::vocabulary::{Claim, Vocabulary};
use super::words::{Word, is_markup, words};
use super::{Misread, Read};
use crate::judge::Labels;
use crate::outcome::Code;

/// Reads one verdict an item of a plain-text reply: numbered entries that hold a verdict each, or a
/// final list such as `Final verdicts: Yes, No, Yes`. `None` where an item has none.
///
/// An entry goes from its number to the next one or to a blank line. A final list has a verdict for
/// each item, or nobody knows whose they are.
///
/// # Errors
/// [`Code::VerdictCountMismatch`] for a list of another length and for a number that no item has,
/// [`Code::AmbiguousReply`] where an item has two verdicts that differ, else
/// [`Code::JudgeUnreadable`].
pub fn items(
    reply: &str,
    count: usize,
    labels: &Labels,
) -> Result<Read<Vec<Option<usize>>>, Misread> {
    let answer = without_thinking(reply);
    let text = plain_text(&answer)?;
    let vocabulary = Vocabulary::new(labels);
    let verdicts = match final_list(text) {
        Some((before, list)) if !begins_numbered(list) => {
            let listed = listed(list, count, &vocabulary)?;
            agreeing(listed, &numbered(before, count, &vocabulary)?)?
        }
        Some((_, list)) => numbered(list, count, &vocabulary)?,
        None => numbered(text, count, &vocabulary)?,
    };
    if verdicts.iter().any(Option::is_some) {
        return Ok(Read::plain(verdicts));
    }
    if count == 1 {
        return verdict_in(text, &vocabulary).map(|label| Read::plain(vec![Some(label)]));
    }
    Err(Misread::unreadable(
        "the reply holds no numbered verdicts; give one for each number",
    ))
}

/// A list that must not contradict the entries before it.
fn agreeing(
    listed: Vec<Option<usize>>,
    entries: &[Option<usize>],
) -> Result<Vec<Option<usize>>, Misread> {
    let mut pairs = listed.iter().zip(entries);
    if pairs.any(|(listed, entry)| entry.is_some() && entry != listed) {
        return Err(Misread::new(
            Code::AmbiguousReply,
            "the final list differs from the verdicts before it",
        ));
    }
    Ok(listed)
}

/// The text before and behind the last mark of a final list: a line that begins with `Verdicts …:`
/// or `Final verdict …:`.
fn final_list(text: &str) -> Option<(&str, &str)> {
    const PLURALS: [&str; 7] = [
        "verdicts",
        "answers",
        "grades",
        "judgments",
        "judgements",
        "results",
        "labels",
    ];
    const SINGULARS: [&str; 5] = ["verdict", "answer", "grade", "judgment", "judgement"];
    let mut found = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let mut heads = words(line).take(2).map(|word| word.text.to_lowercase());
        let (first, second) = (
            heads.next().unwrap_or_default(),
            heads.next().unwrap_or_default(),
        );
        let plural = |word: &str| PLURALS.contains(&word);
        let is_final = first == "final" && (plural(&second) || SINGULARS.contains(&&*second));
        if (is_final || plural(&first))
            && let Some(colon) = line.find([':', '：'])
            && let Some((before, rest)) = text.split_at_checked(start + colon)
        {
            found = Some((before, rest.trim_start_matches([':', '：'])));
        }
        start += line.len();
    }
    found
}

/// The verdicts of a list, if there are `count` of them.
///
/// Every sentence is a list of labels, or one label with its reason behind a comma, or no verdict.
fn listed(
    list: &str,
    count: usize,
    vocabulary: &Vocabulary,
) -> Result<Vec<Option<usize>>, Misread> {
    let mut verdicts = Vec::new();
    for sentence in list.split(['.', ';', '\n', '。', '；']) {
        let pieces = || sentence.split([',', '，', '、']);
        let label = |piece: &str| match vocabulary.whole(piece) {
            Claim::Label(hit) => Some(Some(hit.label)),
            _ => None,
        };
        let all: Option<Vec<_>> = pieces().map(label).collect();
        match all {
            Some(labels) => verdicts.extend(labels),
            None => verdicts.extend(pieces().next().and_then(label)),
        }
    }
    if verdicts.len() == count {
        return Ok(verdicts);
    }
    Err(Misread::new(
        Code::VerdictCountMismatch,
        format!(
            "there are {count} items, and the reply's list has {} verdicts",
            verdicts.len()
        ),
    ))
}

/// The verdicts of numbered entries, by number.
fn numbered(
    text: &str,
    count: usize,
    vocabulary: &Vocabulary,
) -> Result<Vec<Option<usize>>, Misread> {
    let mut verdicts = vec![None; count];
    for (number, entry) in entries(text) {
        let Ok(label) = verdict_in(entry, vocabulary) else {
            continue;
        };
        let place = number
            .checked_sub(1)
            .and_then(|index| verdicts.get_mut(index));
        let place = place.ok_or_else(|| {
            Misread::new(
                Code::VerdictCountMismatch,
                format!("there are {count} items, numbered from 1, and the reply has a verdict for {number}"),
            )
        })?;
        if place.is_some_and(|before| before != label) {
            return Err(Misread::new(
                Code::AmbiguousReply,
                format!("item {number} has two verdicts that differ"),
            ));
        }
        *place = Some(label);
    }
    Ok(verdicts)
}

/// The numbered entries of a text: each with its number, from behind it to the next entry or to a
/// blank line.
fn entries(text: &str) -> Vec<(usize, &str)> {
    let mut entries = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let next = line_number(line).map(|(number, length)| (number, at + length));
        if let Some((number, start)) = open
            && (next.is_some() || line.trim().is_empty())
        {
            entries.push((number, text.get(start..at).unwrap_or_default()));
            open = None;
        }
        open = next.or(open);
        at += line.len();
    }
    entries.extend(open.map(|(number, start)| (number, text.get(start..).unwrap_or_default())));
    entries
}

fn begins_numbered(text: &str) -> bool {
    line_number(text.trim_start()).is_some()
}

/// The number of `2.`, `2)`, `2:`, `- 2 -`, `**Statement 2:**` and the like, and the bytes it takes.
fn line_number(line: &str) -> Option<(usize, usize)> {
    const NAMES: [&str; 8] = [
        "statement",
        "item",
        "claim",
        "chunk",
        "context",
        "criterion",
        "question",
        "verdict",
    ];
    let looks = |c: char| c.is_whitespace() || is_markup(c);
    let rest = line.trim_start_matches(|c| looks(c) || c == '-');
    let mut heads = words(rest).take(2);
    let first = heads.next()?;
    let named = NAMES.iter().any(|name| first.is(name));
    let number: Word<'_> = if named { heads.next()? } else { first };
    let digits = number.text.bytes().all(|byte| byte.is_ascii_digit());
    let apart = rest
        .get(..number.start)?
        .chars()
        .filter(|&c| !looks(c))
        .count();
    let letters = if named { first.text.chars().count() } else { 0 };
    if !digits || apart != letters {
        return None;
    }
    let after = rest.get(number.end()..)?;
    let after = after.trim_start_matches(|c| c != ')' && looks(c));
    let after = after.strip_prefix(['.', ')', ':', '-', '–', '：', '、'])?;
    Some((number.text.parse().ok()?, line.len() - after.len()))
}
