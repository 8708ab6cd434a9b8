//! Words as grounding compares them: without case and inflection, and told apart by what they do in a sentence.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use twox_hash::XxHash3_64;
use unicode_segmentation::UnicodeSegmentation;

/// What a token is good for where texts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word with a meaning of its own, or a number.
    Content,
    /// An article, pronoun, preposition, auxiliary verb or negation.
    Function,
    /// Punctuation and symbols.
    Mark,
}

/// A word or mark. Two words are the same where the hashes of their forms are.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    pub text: &'t str,
    /// Where it begins, in bytes.
    pub start: usize,
    pub kind: Kind,
    /// Begins with an upper-case letter.
    pub capital: bool,
    /// Lower-cased, without a possessive `'s`.
    pub folded: u64,
    /// What inflection leaves, of a number word its digits.
    pub stem: u64,
    /// The first letters of a long stem: words of one family share them (`legal`, `legally`).
    pub head: Option<u64>,
    /// The stem without a negating prefix (`suitable` of `unsuitable`).
    pub bare: Option<u64>,
}

impl Token<'_> {
    pub(super) fn is_content(&self) -> bool {
        self.kind == Kind::Content
    }

    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(super) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// A capitalised word that is not one of grammar.
    pub(super) fn is_name_like(&self) -> bool {
        self.capital && self.is_content()
    }
}

/// The tokens of a text, in order.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    text.split_word_bound_indices()
        .filter(|(_, word)| !word.trim().is_empty())
        .map(|(start, word)| token(start, word))
        .collect()
}

fn token(start: usize, text: &str) -> Token<'_> {
    let folded = fold(text);
    let kind = kind(&folded);
    let stem = match kind {
        Kind::Content => stem(&folded),
        _ => Cow::Borrowed(&*folded),
    };
    let content = kind == Kind::Content;
    let bare = NEGATING.iter().find_map(|prefix| stem.strip_prefix(prefix));
    Token {
        text,
        start,
        kind,
        capital: text.starts_with(char::is_uppercase),
        folded: key(&folded),
        stem: key(&stem),
        head: content.then(|| head(&stem, HEAD)).flatten(),
        bare: bare.filter(|bare| content && bare.len() > 3).map(key),
    }
}

/// Letters that words of one family share.
const HEAD: usize = 5;

/// The hash of the first `letters` of a word that has as many.
pub(super) fn head(word: &str, letters: usize) -> Option<u64> {
    let (last, c) = word.char_indices().nth(letters - 1)?;
    let is_word = word.starts_with(char::is_alphabetic);
    word.get(..last + c.len_utf8()).filter(|_| is_word).map(key)
}

/// What words are compared by.
pub(super) fn key(word: &str) -> u64 {
    XxHash3_64::oneshot(word.as_bytes())
}

/// Lower case, straight apostrophes, no possessive.
pub(super) fn fold(word: &str) -> String {
    let mut folded = word.to_lowercase();
    if folded.contains('’') {
        folded = folded.replace('’', "'");
    }
    if folded.len() > 2 && folded.ends_with("'s") {
        folded.truncate(folded.len() - 2);
    }
    folded
}

fn kind(folded: &str) -> Kind {
    if folded == "%" {
        Kind::Content
    } else if !folded.contains(char::is_alphanumeric) {
        Kind::Mark
    } else if folded.starts_with('\'') || folded.ends_with("n't") || FUNCTION.contains(folded) {
        Kind::Function
    } else {
        Kind::Content
    }
}

/// The stem of a lower-case English word: plural, past tense, progressive and adverb are taken off, irregular forms are
/// looked up, a number word becomes digits. Other words stay as they are.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    if let Some(stem) = IRREGULAR.get(word) {
        return Cow::Borrowed(stem);
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return digits(word);
    }
    if !word.is_ascii() || word.len() < 4 || word.contains(|c: char| c.is_ascii_digit()) {
        return Cow::Borrowed(word);
    }
    let mut stem = singular(word);
    without_ending(&mut stem);
    if stem.len() > 4 && stem.ends_with('e') {
        stem.pop();
    }
    if stem.len() > 3 && stem.ends_with('y') {
        stem.pop();
        stem.push('i');
    }
    Cow::Owned(stem)
}

/// `1,000` as `1000`, `5.50` as `5.5`; what follows the digits stays.
fn digits(word: &str) -> Cow<'_, str> {
    if !word.contains([',', '.']) {
        return Cow::Borrowed(word);
    }
    let plain = word.replace(',', "");
    Cow::Owned(match plain.split_once('.') {
        Some((whole, part)) if part.bytes().all(|b| b.is_ascii_digit()) => {
            match part.trim_end_matches('0') {
                "" => whole.to_owned(),
                part => format!("{whole}.{part}"),
            }
        }
        _ => plain,
    })
}

fn singular(word: &str) -> String {
    let ends = |ending: &str| word.ends_with(ending);
    let cut = if ends("ies") && word.len() > 4 {
        3
    } else if ["sses", "shes", "ches", "xes"].into_iter().any(ends) {
        2
    } else {
        usize::from(ends("s") && !["ss", "us", "is"].into_iter().any(ends))
    };
    let mut singular = word.get(..word.len() - cut).unwrap_or(word).to_owned();
    if cut == 3 {
        singular.push('y');
    }
    singular
}

/// Takes off the first ending that leaves a syllable.
fn without_ending(word: &mut String) {
    for (ending, least) in ENDINGS {
        let Some(base) = word.strip_suffix(ending) else {
            continue;
        };
        if base.len() < least || !base.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
            continue;
        }
        word.truncate(base.len());
        match ending {
            "ied" | "ily" => word.push('y'),
            "ly" => {}
            _ => undouble(word),
        }
        return;
    }
}

const ENDINGS: [(&str, usize); 7] = [
    ("ingly", 3),
    ("edly", 3),
    ("ing", 3),
    ("ied", 2),
    ("ed", 3),
    ("ily", 3),
    ("ly", 4),
];

/// `stopp` becomes `stop`.
fn undouble(word: &mut String) {
    let mut ends = word.chars().rev();
    let twice = ends.next().zip(ends.next()).filter(|(a, b)| a == b);
    if twice.is_some_and(|(c, _)| !"aeioulsz".contains(c)) {
        word.pop();
    }
}

const NEGATING: [&str; 11] = [
    "un", "in", "im", "ir", "il", "dis", "non", "de", "sub", "mis", "anti",
];

static FUNCTION: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("function.txt").split_whitespace().collect());

/// Forms that no rule brings to their stem: a form and its stem a line.
static IRREGULAR: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let lines = include_str!("irregular.txt").lines();
    lines.filter_map(|line| line.split_once(' ')).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_whole() {
        assert_eq!(FUNCTION.len(), 176);
        assert_eq!(IRREGULAR.len(), 98);
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        let table = [
            ("closes", "closed"),
            ("close", "closing"),
            ("stopped", "stops"),
            ("cities", "city"),
            ("boxes", "box"),
            ("carried", "carry"),
            ("legally", "legal"),
            ("rose", "rises"),
            ("went", "go"),
            ("made", "makes"),
            ("took", "takes"),
            ("left", "leaves"),
            ("thirty", "30"),
            ("1,000", "1000"),
            ("5.50", "5.5"),
            ("5.0", "5"),
        ];
        for (a, b) in table {
            assert_eq!(stem(a), stem(b), "{a} {b}");
        }
    }

    #[test]
    fn other_words_keep_apart() {
        let table = [
            ("rise", "rose garden"),
            ("increase", "decrease"),
            ("9", "11"),
            ("1.5", "15"),
        ];
        for (a, b) in table {
            assert_ne!(stem(a), stem(b), "{a} {b}");
        }
    }

    #[test]
    fn tokens_know_their_kind_and_place() {
        use Kind::{Content, Function, Mark};
        let text = "Maria’s shop isn't unsuitable: 30%!";
        let found: Vec<(&str, Kind)> = tokens(text).iter().map(|t| (t.text, t.kind)).collect();
        let expected = [
            ("Maria’s", Content),
            ("shop", Content),
            ("isn't", Function),
            ("unsuitable", Content),
            (":", Mark),
            ("30", Content),
            ("%", Content),
            ("!", Mark),
        ];
        assert_eq!(found, expected);
        for token in tokens(text) {
            assert_eq!(text.get(token.start..token.end()), Some(token.text));
        }
        let (suitable, unsuitable) = (&tokens("suitable")[0], &tokens("unsuitable")[0]);
        assert_eq!(unsuitable.bare, Some(suitable.stem));
    }
}
