//! The sentences of a text, and which of them claim something.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::words::{Kind, fold, tokens};
use crate::text::segment::Segment;

/// The sentences of a text (UAX #29), without the white space around them. What an abbreviation's point or an initial's
/// cut in two is one sentence.
pub(super) fn sentences(text: &str) -> Vec<Segment<'_>> {
    let mut sentences: Vec<Segment<'_>> = Vec::new();
    let mut begin = 0;
    let mut characters = 0;
    let mut pieces = text.split_sentence_bound_indices().peekable();
    while let Some((at, piece)) = pieces.next() {
        let goes_on = ends_open(piece) && pieces.peek().is_some();
        if goes_on {
            continue;
        }
        let whole = text.get(begin..at + piece.len()).unwrap_or(piece);
        begin = at + piece.len();
        let trimmed = whole.trim();
        if !trimmed.is_empty() {
            let before = whole.chars().take_while(|c| c.is_whitespace()).count();
            let start = characters + before;
            let end = start + trimmed.chars().count();
            sentences.push(Segment {
                text: trimmed,
                start,
                end,
            });
        }
        characters += whole.chars().count();
    }
    sentences
}

/// Whether a sentence that ends so goes on: `Dr.`, `J.`, `e.g.`
fn ends_open(piece: &str) -> bool {
    let Some(bare) = piece.trim_end_matches(' ').strip_suffix('.') else {
        return false;
    };
    let word = bare
        .rsplit(|c: char| c.is_whitespace() || c == '(')
        .next()
        .unwrap_or_default();
    let is_initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase);
    (is_initial && word != "I") || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

const ABBREVIATIONS: [&str; 21] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "inc", "ltd", "co", "jr", "sr",
    "gen", "sen", "rep", "fig", "approx", "mt", "u.s",
];

/// The sentences of a response that can be held against sources: no questions, headings, greetings, offers, and no
/// admissions of not knowing.
pub fn claims(output: &str) -> Vec<Segment<'_>> {
    let mut claims = sentences(output);
    claims.retain(|sentence| is_claim(sentence.text));
    claims
}

fn is_claim(sentence: &str) -> bool {
    let bare = sentence.trim_matches(|c: char| c.is_whitespace() || "*_-•\"'".contains(c));
    if bare.starts_with('#') || bare.ends_with([':', '：']) || is_citation(bare) {
        return false;
    }
    let words: Vec<_> = tokens(bare)
        .into_iter()
        .filter(|token| token.kind != Kind::Mark)
        .collect();
    let content = words.iter().filter(|token| token.is_content()).count();
    let mut spoken = String::from(" ");
    for word in &words {
        spoken.push_str(&fold(word.text));
        spoken.push(' ');
    }
    let opens = |with: &&str| spoken.get(1..).is_some_and(|rest| rest.starts_with(with));
    let says = |phrase: &&str| spoken.contains(phrase);
    let asks = bare.ends_with(['?', '？']) && (content <= 4 || ASKING.iter().any(opens));
    let greets = content <= 4 && OPENERS.iter().any(opens);
    let admits = ADMISSIONS.iter().any(says) && !spoken.contains(" but ");
    content > 0 && words.len() > 1 && !asks && !greets && !admits && !OFFERS.iter().any(says)
}

/// Nothing but `[source]` marks.
fn is_citation(text: &str) -> bool {
    let mut at = 0;
    let mut between = String::new();
    for citation in citations(text) {
        between.push_str(text.get(at..citation.start).unwrap_or_default());
        at = citation.end;
    }
    between.push_str(text.get(at..).unwrap_or_default());
    at > 0 && !between.contains(char::is_alphanumeric)
}

/// Marks of sources, in bytes: what is in brackets and has no spaces (`[handbook.pdf#page=4]`) or no letters (`[1, 2]`).
pub(super) fn citations(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some((open, close)) = bracketed(text, from) {
        let inside = text.get(open + 1..close).unwrap_or_default();
        if !inside.contains(char::is_whitespace) || !inside.contains(char::is_alphabetic) {
            found.push(open..close + 1);
        }
        from = close + 1;
    }
    found
}

/// The next pair of brackets from a byte on.
fn bracketed(text: &str, from: usize) -> Option<(usize, usize)> {
    let open = from + text.get(from..)?.find('[')?;
    let close = open + text.get(open..)?.find(']')?;
    Some((open, close))
}

/// How questions begin; what else ends in a question mark has something stated before it.
const ASKING: [&str; 28] = [
    "what ",
    "who ",
    "which ",
    "when ",
    "where ",
    "why ",
    "how ",
    "whose ",
    "do ",
    "does ",
    "did ",
    "is ",
    "are ",
    "was ",
    "were ",
    "can ",
    "could ",
    "would ",
    "will ",
    "should ",
    "shall ",
    "have ",
    "has ",
    "had ",
    "may ",
    "and what ",
    "so what ",
    "so you ",
];

const OPENERS: [&str; 17] = [
    "hi ",
    "hello ",
    "hey ",
    "thanks ",
    "thank you ",
    "sure ",
    "certainly ",
    "of course ",
    "you're welcome ",
    "you are welcome ",
    "great question ",
    "good question ",
    "no problem ",
    "here is ",
    "here are ",
    "absolutely ",
    "glad ",
];

const ADMISSIONS: [&str; 27] = [
    " i don't know ",
    " i do not know ",
    " i'm not sure ",
    " i am not sure ",
    " i'm sorry ",
    " i am sorry ",
    " i apologize ",
    " i cannot ",
    " i can't ",
    " i could not find ",
    " i couldn't find ",
    " i don't have ",
    " i do not have ",
    " i am unable ",
    " i'm unable ",
    " no information ",
    " does not mention ",
    " doesn't mention ",
    " do not mention ",
    " is not mentioned ",
    " not provided in ",
    " does not provide information ",
    " does not specify ",
    " doesn't specify ",
    " do not specify ",
    " not specified in ",
    " there is no mention ",
];

const OFFERS: [&str; 9] = [
    " let me know ",
    " feel free ",
    " i can help ",
    " i'd be happy ",
    " would be happy to help ",
    " i hope this helps ",
    " please provide ",
    " could you please ",
    " please clarify ",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_and_initials_cut_no_sentence() {
        let text = " Dr. Ng met J. Ruiz, e.g. on Monday. They left.\nNo. It rained. ";
        let found: Vec<&str> = sentences(text).iter().map(|s| s.text).collect();
        let expected = [
            "Dr. Ng met J. Ruiz, e.g. on Monday.",
            "They left.",
            "No.",
            "It rained.",
        ];
        assert_eq!(found, expected);
        for sentence in sentences(text) {
            let cut: String = text
                .chars()
                .skip(sentence.start)
                .take(sentence.end - sentence.start)
                .collect();
            assert_eq!(cut, sentence.text);
        }
    }

    #[test]
    fn what_states_nothing_is_no_claim() {
        let table = [
            ("The store closes at 9 pm.", true),
            ("- **Fees**: there are none on cards.", true),
            ("Paris, Rome and Oslo.", true),
            ("It closes at 9 pm on Sundays, did you know that?", true),
            ("I don't know much, but it closes at 9 pm.", true),
            ("Would you like to know more?", false),
            ("Here is a short summary:", false),
            ("# Opening hours", false),
            ("Sure, here you go!", false),
            ("Hello there.", false),
            ("Thanks for asking!", false),
            ("I don't know when it closes.", false),
            ("The document does not mention any fees.", false),
            ("Let me know if there is anything else.", false),
            ("[handbook.pdf#page=4][faq.md].", false),
            ("It is.", false),
            ("---", false),
        ];
        for (sentence, expected) in table {
            assert_eq!(is_claim(sentence), expected, "{sentence}");
        }
    }
}
