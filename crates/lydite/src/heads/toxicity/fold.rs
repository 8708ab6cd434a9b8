//! From a text to its words, as the word list writes them: letters folded, disguises undone.
//!
//! Undone are: letter case, accents and other forms of letters (Unicode compatibility decomposition), characters of
//! no width, look-alike letters of other scripts, digits and signs for letters (`h4te`), signs or emoji that mask
//! letters (`f**k`), drawn-out letters (`fuuuck`), letters set apart (`h a t e`), words run together (`ihate`), and
//! one letter left out or two swapped in words of the list. Each word keeps where it stands in the text.

use std::ops::Range;

use unicode_normalization::char::decompose_compatible;

use super::lexicon::{Classes, LEXICON};

/// A word, an emoji, or one of the signs `"`, `?` and `!`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Token {
    /// As the word list writes it; the words of a phrase are joined by `_`.
    pub(super) text: String,
    pub(super) classes: Classes,
    /// Bytes of the source.
    pub(super) source: Range<usize>,
    /// Counted from 0.
    pub(super) sentence: usize,
    pub(super) quoted: bool,
    /// It was disguised.
    pub(super) hidden: bool,
    /// It is written in capital letters.
    pub(super) capitals: bool,
}

impl Token {
    pub(super) fn is(&self, any: Classes) -> bool {
        self.classes.has(any)
    }
}

/// The tokens of a text, in its order.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let letters = folded(text);
    let mut scan = Scan {
        letters: &letters,
        tokens: Vec::new(),
        sentence: 0,
        quoted: false,
    };
    scan.run();
    let mut tokens = scan.tokens;
    close_up(&mut tokens);
    joined(&tokens)
}

/// Whether a character is a picture; digits, flags' letters and modifiers of skin are none, dark ones excepted.
pub(super) fn is_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2B1B..=0x2B1C | 0x2B50 | 0x2B55)
}

#[derive(Clone, Copy, Debug)]
struct Letter {
    folded: char,
    start: usize,
    end: usize,
    capital: bool,
}

fn folded(text: &str) -> Vec<Letter> {
    let mut letters = Vec::with_capacity(text.len());
    for (start, c) in text.char_indices() {
        let mut push = |folded: char| {
            letters.push(Letter {
                folded,
                start,
                end: start + c.len_utf8(),
                capital: c.is_uppercase(),
            });
        };
        match c {
            'a'..='z' | ' ' => push(c),
            'A'..='Z' => push(c.to_ascii_lowercase()),
            '’' | '‘' | 'ʼ' | '`' | '´' => push('\''),
            '“' | '”' | '„' | '«' | '»' => push('"'),
            c if c.is_ascii() => push(c),
            c if is_unseen(c) => {}
            c => decompose_compatible(c, |part| {
                if !is_unseen(part) {
                    part.to_lowercase().for_each(&mut push);
                }
            }),
        }
    }
    letters
}

/// Of no width: joiners, variation selectors, marks on letters, the lighter modifiers of skin.
fn is_unseen(c: char) -> bool {
    matches!(u32::from(c), 0xAD | 0x300..=0x36F | 0x180E | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x2064 | 0x20E3 | 0xFE00..=0xFE0F | 0xFEFF | 0x1F3FB..=0x1F3FD)
}

/// A sign that may stand for a letter.
fn is_sign(c: char) -> bool {
    matches!(
        c,
        '@' | '$' | '!' | '*' | '#' | '%' | '&' | '^' | '+' | '€' | '|' | '£'
    ) || is_emoji(c)
}

struct Scan<'l> {
    letters: &'l [Letter],
    tokens: Vec<Token>,
    sentence: usize,
    quoted: bool,
}

impl Scan<'_> {
    fn run(&mut self) {
        let mut at = 0;
        // Stars right before a word are Markdown, and so are those behind it.
        let mut starred = false;
        while let Some(letter) = self.letters.get(at).copied() {
            if self.begins_word(at) {
                let end = self.end_of_word(at, starred);
                self.word(at..end);
                at = end;
                starred = false;
                continue;
            }
            starred = matches!(letter.folded, '*' | '_');
            self.sign(at, letter);
            at += 1;
        }
    }

    fn at(&self, at: usize) -> Option<char> {
        self.letters.get(at).map(|letter| letter.folded)
    }

    fn is_letter(&self, at: usize) -> bool {
        self.at(at).is_some_and(char::is_alphanumeric)
    }

    fn begins_word(&self, at: usize) -> bool {
        let follows = || {
            self.at(at + 1)
                .is_some_and(|c| c.is_alphabetic() || matches!(c, '$' | '*' | '@'))
        };
        self.is_letter(at) || (matches!(self.at(at), Some('@' | '$')) && follows())
    }

    fn end_of_word(&self, start: usize, starred: bool) -> usize {
        let mut end = start + 1;
        while let Some(c) = self.at(end) {
            if c.is_alphanumeric()
                || (c == '\'' && self.is_letter(end + 1))
                || (c == '*' && !starred)
                || (c == '_' && self.at(start) == Some('@'))
            {
                end += 1;
            } else if let Some(next) = self.past_signs(end) {
                end = next;
            } else {
                break;
            }
        }
        end
    }

    /// The letter behind one to four signs, or behind one emoji.
    fn past_signs(&self, at: usize) -> Option<usize> {
        let signs = (at..at + 4)
            .take_while(|at| self.at(*at).is_some_and(is_sign))
            .count();
        let most = if self.at(at).is_some_and(is_emoji) {
            1
        } else {
            4
        };
        ((1..=most).contains(&signs) && self.is_letter(at + signs)).then_some(at + signs)
    }

    fn word(&mut self, range: Range<usize>) {
        let letters = self.letters.get(range).unwrap_or_default();
        let (Some(first), Some(last)) = (letters.first(), letters.last()) else {
            return;
        };
        let raw: String = letters.iter().map(|letter| letter.folded).collect();
        let capitals = letters.iter().filter(|letter| letter.capital).count();
        let proto = Token {
            source: first.start..last.end,
            sentence: self.sentence,
            quoted: self.quoted,
            capitals: letters.len() > 2 && capitals * 2 > letters.len(),
            ..Token::default()
        };
        if let Some(read) = read(&raw) {
            self.tokens.push(read.into_token(&proto));
        } else if first.folded == '@' {
            // The name of an account.
        } else if let Some(words) = taken_apart(&raw) {
            let tokens = words.into_iter().map(|word| word.into_token(&proto));
            self.tokens.extend(tokens);
        } else {
            let read = headed(&raw).unwrap_or(Read {
                text: raw,
                classes: Classes::NONE,
                hidden: false,
            });
            self.tokens.push(read.into_token(&proto));
        }
    }

    fn sign(&mut self, at: usize, letter: Letter) {
        let c = letter.folded;
        if is_emoji(c) {
            let text = c.to_string();
            let classes = LEXICON.classes(&text).unwrap_or_default();
            self.push(text, classes, letter);
        }
        match c {
            '"' => self.quote(!self.quoted, letter),
            '\'' => self.apostrophe(at, letter),
            '!' | '?' => {
                self.push(c.to_string(), Classes::NONE, letter);
                self.stop(at);
            }
            '.' | '…' => self.stop(at),
            '\n' => {
                self.sentence += 1;
                self.quoted = false;
            }
            _ => {}
        }
    }

    fn push(&mut self, text: String, classes: Classes, letter: Letter) {
        self.tokens.push(Token {
            text,
            classes,
            source: letter.start..letter.end,
            sentence: self.sentence,
            quoted: self.quoted,
            ..Token::default()
        });
    }

    fn quote(&mut self, opens: bool, letter: Letter) {
        self.quoted = false;
        self.push("\"".to_owned(), Classes::NONE, letter);
        self.quoted = opens;
    }

    /// A single quotation mark opens before a word where another follows soon, and closes behind one.
    fn apostrophe(&mut self, at: usize, letter: Letter) {
        const SOON: usize = 200;
        let behind_blank = at
            .checked_sub(1)
            .and_then(|before| self.at(before))
            .is_none_or(char::is_whitespace);
        if behind_blank && self.is_letter(at + 1) {
            let rest = self.letters.get(at + 1..).unwrap_or_default();
            if rest.iter().take(SOON).any(|other| other.folded == '\'') {
                self.quote(true, letter);
            }
        } else if self.quoted && !self.is_letter(at + 1) {
            self.quote(false, letter);
        }
    }

    /// A sentence ends outside quotation marks, unless a word or another stop follows at once.
    fn stop(&mut self, at: usize) {
        let goes_on = self
            .at(at + 1)
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '!' | '?' | '"'));
        if !self.quoted && !goes_on {
            self.sentence += 1;
        }
    }
}

/// A word that was found in the list.
#[derive(Debug)]
struct Read {
    text: String,
    classes: Classes,
    hidden: bool,
}

impl Read {
    fn plain(word: &str) -> Option<Self> {
        Some(Self {
            text: word.to_owned(),
            classes: LEXICON.classes(word)?,
            hidden: false,
        })
    }

    fn disguised((word, classes): (&str, Classes)) -> Self {
        Self {
            text: word.to_owned(),
            classes,
            hidden: true,
        }
    }

    fn hidden(self) -> Self {
        Self {
            hidden: true,
            ..self
        }
    }

    fn into_token(self, proto: &Token) -> Token {
        Token {
            text: self.text,
            classes: self.classes,
            hidden: self.hidden,
            ..proto.clone()
        }
    }
}

/// The word of the list that `raw` is or stands for.
fn read(raw: &str) -> Option<Read> {
    if let Some(read) = Read::plain(raw) {
        return Some(read);
    }
    if let Some(owner) = raw.strip_suffix("'s").or_else(|| raw.strip_suffix('\'')) {
        let found = Read::plain(owner).or_else(|| near(owner));
        if found.is_some() {
            return found;
        }
    }
    if !raw.chars().any(char::is_alphabetic) {
        return None;
    }
    let signs = raw.chars().any(is_sign);
    let digits = raw.bytes().any(|byte| byte.is_ascii_digit());
    if (signs || digits)
        && let Some(read) = unleet(raw)
    {
        return Some(read);
    }
    if signs {
        return masked(raw);
    }
    look_alikes(raw)
        .or_else(|| drawn_out(raw))
        .or_else(|| near(raw))
}

fn near(word: &str) -> Option<Read> {
    LEXICON.near(word).map(Read::disguised)
}

/// Digits and signs read as letters: `1` as i, then as l.
fn unleet(raw: &str) -> Option<Read> {
    ['i', 'l'].into_iter().find_map(|one| {
        let word: String = raw
            .chars()
            .map(|c| letter_of(c, one).unwrap_or(c))
            .collect();
        let read = Read::plain(&word)
            .or_else(|| drawn_out(&word))
            .or_else(|| near(&word))?;
        (read.text.len() > 2).then(|| read.hidden())
    })
}

fn letter_of(c: char, one: char) -> Option<char> {
    Some(match c {
        '0' => 'o',
        '1' | '|' => one,
        '2' => 'z',
        '3' | '€' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '6' | '9' => 'g',
        '7' | '+' => 't',
        '8' => 'b',
        '!' => 'i',
        '£' => 'l',
        _ => return None,
    })
}

/// Signs as any letters, at most four fifths of all; with more than one only for obscene words.
fn masked(raw: &str) -> Option<Read> {
    let letters: Vec<char> = raw.chars().collect();
    let hidden = letters.iter().filter(|c| is_sign(**c)).count();
    if letters.len() < 3 || hidden * 5 > letters.len() * 4 {
        return None;
    }
    let first = *letters.first()?;
    let first = letter_of(first, 'i')
        .filter(|_| is_sign(first))
        .unwrap_or(first);
    let fits = |word: &str| {
        let pairs = word.chars().zip(&letters).skip(1);
        pairs.into_iter().all(|(a, b)| a == *b || is_sign(*b))
    };
    LEXICON
        .shaped(letters.len(), first, hidden > 1, fits)
        .map(Read::disguised)
}

/// Cyrillic and Greek letters that look like Latin ones, in a word that has Latin ones too.
fn look_alikes(raw: &str) -> Option<Read> {
    if raw.is_ascii() || !raw.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let word: String = raw.chars().map(latin).collect();
    Read::plain(&word).map(Read::hidden)
}

fn latin(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'в' => 'b',
        'с' => 'c',
        'е' | 'ε' => 'e',
        'н' => 'h',
        'і' | 'ι' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'м' => 'm',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' => 'u',
        'ν' => 'v',
        'х' => 'x',
        'у' => 'y',
        other => other,
    }
}

/// Runs of three and more equal letters, cut down to two and then to one.
fn drawn_out(raw: &str) -> Option<Read> {
    let letters: Vec<char> = raw.chars().collect();
    if !letters.chunk_by(|a, b| a == b).any(|run| run.len() > 2) {
        return None;
    }
    [2, 1].into_iter().find_map(|most| {
        let runs = letters.chunk_by(|a, b| a == b);
        let word: String = runs.flat_map(|run| run.iter().take(most)).collect();
        Read::plain(&word).map(Read::hidden)
    })
}

/// Words that are looked for in one that was run together.
const WELDED: Range<usize> = 5..25;

/// `ihatewomen`: a word that consists of words of the list, one of which matters; as few as possible.
fn taken_apart(raw: &str) -> Option<Vec<Read>> {
    if !raw.is_ascii() || !WELDED.contains(&raw.len()) {
        return None;
    }
    // For each end: how many words up to it, and where the last of them starts.
    let mut best: [Option<(usize, usize)>; WELDED.end] = [None; WELDED.end];
    *best.first_mut()? = Some((0, 0));
    for end in 1..=raw.len() {
        let shortest = (end.saturating_sub(LONGEST_PIECE)..end)
            .filter(|start| raw.get(*start..end).is_some_and(is_piece))
            .filter_map(|start| Some(((*best.get(start)?)?.0 + 1, start)))
            .min();
        *best.get_mut(end)? = shortest;
    }
    let mut words = Vec::new();
    let mut end = raw.len();
    while end > 0 {
        let (_, start) = (*best.get(end)?)?;
        words.push(Read::plain(raw.get(start..end)?)?.hidden());
        end = start;
    }
    words.reverse();
    is_sentence(&words).then_some(words)
}

const LONGEST_PIECE: usize = 14;

fn is_piece(word: &str) -> bool {
    match word.len() {
        1 => matches!(word, "i" | "u" | "a"),
        2 => matches!(
            word,
            "is" | "be"
                | "to"
                | "no"
                | "my"
                | "of"
                | "we"
                | "me"
                | "us"
                | "in"
                | "so"
                | "he"
                | "do"
                | "am"
        ),
        _ => LEXICON
            .classes(word)
            .is_some_and(|classes| classes != Classes::FOREIGN),
    }
}

/// Whether words are more than a chance ("therapist"): one of at least four letters matters, one joins, and few
/// are tiny.
fn is_sentence(words: &[Read]) -> bool {
    let matter = Classes::HATE
        .and(Classes::GROUP)
        .and(Classes::SLUR)
        .and(Classes::INSULT)
        .and(Classes::INSULT_MILD)
        .and(Classes::PROFANITY)
        .and(Classes::NEGATIVE);
    let join = Classes::ENGLISH
        .and(Classes::FIRST)
        .and(Classes::YOU)
        .and(Classes::THEY)
        .and(Classes::GROUP)
        .and(Classes::GENERIC)
        .and(Classes::COPULA);
    let matters = |word: &Read| word.text.len() >= 4 && word.classes.has(matter);
    let tiny = words.iter().filter(|word| word.text.len() <= 2).count();
    words.len() > 1
        && tiny * 2 <= words.len()
        && words.iter().any(matters)
        && words.iter().any(|word| word.classes.has(join))
}

/// An unknown word that begins with a slur of five letters or more and has four more letters.
fn headed(raw: &str) -> Option<Read> {
    const HEAD: usize = 5;
    const REST: usize = 4;
    if !raw.is_ascii() || raw.len() < HEAD + REST {
        return None;
    }
    (HEAD..=raw.len() - REST).rev().find_map(|end| {
        let read = Read::plain(raw.get(..end)?)?;
        let slur = read.classes.has(Classes::SLUR) && !read.classes.has(Classes::SLUR_AMBIGUOUS);
        (slur || matches!(&*read.text, "bitch" | "whore" | "fucking")).then(|| read.hidden())
    })
}

/// `h a t e`: three or more single letters in a row become the words that they spell, with or without the first.
fn close_up(tokens: &mut Vec<Token>) {
    let single = |token: &Token| {
        let mut letters = token.text.chars();
        letters.next().is_some_and(char::is_alphanumeric) && letters.next().is_none()
    };
    let mut at = 0;
    while at < tokens.len() {
        let run = tokens
            .get(at..)
            .unwrap_or_default()
            .iter()
            .take_while(|t| single(t));
        let run = run.count();
        if run >= 3 {
            at = spelt(tokens, at..at + run);
        } else {
            at += run.max(1);
        }
    }
}

/// Puts the words that single letters spell in their place, and says where to go on.
fn spelt(tokens: &mut Vec<Token>, run: Range<usize>) -> usize {
    for skipped in 0..=1 {
        let start = run.start + skipped;
        let letters = tokens.get(start..run.end).unwrap_or_default();
        let (Some(first), Some(last)) = (letters.first(), letters.last()) else {
            break;
        };
        let word: String = letters.iter().map(|token| token.text.as_str()).collect();
        let proto = Token {
            source: first.source.start..last.source.end,
            ..first.clone()
        };
        let words = if letters.len() < 3 {
            None
        } else {
            read(&word)
                .map(|word| vec![word])
                .or_else(|| taken_apart(&word))
        };
        if let Some(words) = words {
            let found = words.len();
            let words = words
                .into_iter()
                .map(|word| word.hidden().into_token(&proto));
            tokens.splice(start..run.end, words.collect::<Vec<_>>());
            return start + found;
        }
    }
    run.end
}

/// Phrases of the list become one token each.
fn joined(tokens: &[Token]) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let Some((first, behind)) = rest.split_first() {
        let phrase = LEXICON.phrases(&first.text).iter().find(|phrase| {
            behind.len() >= phrase.rest.len()
                && phrase
                    .rest
                    .iter()
                    .zip(behind)
                    .all(|(word, t)| **word == *t.text)
        });
        let Some(phrase) = phrase else {
            out.push(first.clone());
            rest = behind;
            continue;
        };
        let (words, behind) = behind.split_at(phrase.rest.len());
        let mut token = Token {
            classes: phrase.classes,
            capitals: first.capitals && words.iter().all(|word| word.capitals),
            ..first.clone()
        };
        for word in words {
            token.text.push('_');
            token.text.push_str(&word.text);
            token.source.end = word.source.end;
        }
        out.push(token);
        rest = behind;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> String {
        let tokens = tokens(text);
        let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
        words.join(" ")
    }

    #[test]
    fn disguises_are_undone() {
        for (text, expected) in [
            ("F*ck Lizzo", "fuck lizzo"),
            ("Sh1t, @ss, a$$hole, b!tch", "shit ass asshole bitch"),
            ("fuuuuuck, idiooot", "fuck idiot"),
            ("I h a t e women", "i hate women"),
            ("I h4te you", "i hate you"),
            ("Ihatewomen", "i hate women"),
            ("i\u{200b}di\u{200d}ot", "idiot"),
            ("ｉｄｉｏｔ 𝖎𝖉𝖎𝖔𝖙 ídíöt", "idiot idiot idiot"),
            ("іdіоt", "idiot"),
            ("disgsting mroons", "disgusting morons"),
            ("s🌟ck", "suck"),
            ("b****", "bitch"),
            ("can’t stand", "can't_stand"),
            ("trans people", "trans_people"),
            ("🏳️‍🌈", "🏳_🌈"),
            ("women's", "women"),
            ("the woman’s", "the woman"),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn harmless_words_stay() {
        for text in [
            "scunthorpe penistone essex",
            "therapist therapists",
            "cocktail cockpit peacock hancock",
            "assassin class assume passage",
            "shiitake mushrooms",
            "dickens dickinson",
            "analysis analyst",
            "snigger sniggered",
            "at&t r&b 50 3d",
            "despite treats",
        ] {
            for token in tokens(text) {
                let bad = Classes::SLUR
                    .and(Classes::INSULT)
                    .and(Classes::PROFANITY)
                    .and(Classes::SEXUAL)
                    .and(Classes::HATE);
                assert!(!token.is(bad), "{text}: {token:?}");
            }
        }
    }

    #[test]
    fn markdown_is_no_mask_and_accounts_are_no_words() {
        assert_eq!(words("**Kill** the process"), "kill the process");
        assert_eq!(words("thanks @dickinson_97"), "thanks");
    }

    #[test]
    fn sources_sentences_and_quotation_marks_are_kept() {
        let text = "Né «f*ck it». Nice!";
        let found = tokens(text);
        let of = |word: &str| found.iter().find(|token| token.text == word).unwrap();
        assert_eq!(&text[of("fuck").source.clone()], "f*ck");
        assert!(of("fuck").quoted && of("fuck").hidden && !of("nice").quoted);
        assert_eq!((of("fuck").sentence, of("nice").sentence), (0, 1));
        let single = tokens("he said 'you idiot' to me, it's sad");
        let quoted: Vec<&str> = single
            .iter()
            .filter(|token| token.quoted)
            .map(|token| token.text.as_str())
            .collect();
        assert_eq!(quoted, ["you", "idiot"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_sources_are_in_order(
            text in "\\PC{0,60}|([a-f*@$1 .'\"!?\n]|🌟|ß|İ|\u{200d}|hate|women|fuck){0,40}"
        ) {
            let tokens = tokens(&text);
            for token in &tokens {
                prop_assert!(text.get(token.source.clone()).is_some());
            }
            prop_assert!(tokens.windows(2).all(|pair| pair[0].source.start <= pair[1].source.start));
        }
    }
}
