//! Normal forms under which two texts count as equal.
//!
//! [`Normalizer`] is the agnostic comparison of `golden_response`: NFC, then full Unicode case
//! folding, then deletion of punctuation and of white space, each of the last three on request.
//! ASCII text needs no NFC and maps byte by byte, so it goes through a table built once; the
//! Unicode rules only run on the other characters.
//!
//! Every `*_into` function replaces what its output buffer held.

use std::borrow::Cow;
use std::sync::LazyLock;

use caseless::Caseless;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Which differences a [`Normalizer`] removes. Canonical equivalence (NFC) is always removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Normalization {
    /// Full case folding: `STRASSE` and `straße` become equal.
    pub fold_case: bool,
    /// Delete category P* and the ASCII symbols ``$ + < = > ^ ` | ~``.
    pub drop_punctuation: bool,
    /// Delete every White_Space character (not: collapse or trim).
    pub drop_whitespace: bool,
}

/// A [`Normalization`] made ready to run.
#[derive(Debug, Clone)]
pub struct Normalizer {
    options: Normalization,
    /// What an ASCII byte becomes; [`DELETED`] if it goes.
    ascii: ByteTable,
}

impl Normalizer {
    pub fn new(options: Normalization) -> Self {
        let ascii = byte_table(|byte| {
            let c = char::from(byte);
            let drop = options.drop_punctuation && c.is_ascii_punctuation()
                || options.drop_whitespace && c.is_whitespace();
            match (drop, options.fold_case) {
                (true, _) => DELETED,
                (false, true) => byte.to_ascii_lowercase(),
                (false, false) => byte,
            }
        });
        Self { options, ascii }
    }

    pub fn options(&self) -> Normalization {
        self.options
    }

    /// Writes the normal form of `s` to `out`.
    pub fn normalize_into(&self, s: &str, out: &mut String) {
        if s.is_ascii() {
            self.normalize_ascii(s, out);
        } else if needs_nfc(s) {
            self.normalize_chars(s.nfc(), out);
        } else {
            self.normalize_nfc(s, out);
        }
    }

    /// Whether `a` and `b` have the same normal form. The buffers are only used where one of the
    /// texts is not ASCII.
    pub fn eq(&self, a: &str, b: &str, scratch_a: &mut String, scratch_b: &mut String) -> bool {
        if a == b {
            return true;
        }
        if a.is_ascii() && b.is_ascii() {
            return self.eq_ascii(a.as_bytes(), b.as_bytes());
        }
        self.normalize_into(a, scratch_a);
        self.normalize_into(b, scratch_b);
        scratch_a == scratch_b
    }

    /// Whether `s` says something that the normal form has lost altogether, as `!!!` does without
    /// its punctuation.
    pub fn empties(&self, s: &str, scratch: &mut String) -> bool {
        if s.trim().is_empty() {
            return false;
        }
        self.normalize_into(s, scratch);
        scratch.trim().is_empty()
    }

    /// The normal form of ASCII `s`, byte by byte.
    pub(super) fn ascii_bytes<'s>(
        &'s self,
        s: &'s [u8],
    ) -> impl DoubleEndedIterator<Item = u8> + Clone + 's {
        s.iter()
            .map(|&b| self.map_ascii(b))
            .filter(|&b| b != DELETED)
    }

    #[expect(clippy::indexing_slicing, reason = "a byte indexes a table of 256")]
    pub(super) fn map_ascii(&self, byte: u8) -> u8 {
        self.ascii[usize::from(byte)]
    }

    fn normalize_ascii(&self, s: &str, out: &mut String) {
        if self.options.drop_punctuation || self.options.drop_whitespace {
            edit_bytes(out, |bytes| compact(&self.ascii, s.as_bytes(), bytes));
            return;
        }
        out.clear();
        out.push_str(s);
        if self.options.fold_case {
            out.make_ascii_lowercase();
        }
    }

    /// `s` is in NFC already: runs of ASCII take the table, the rest goes by character.
    fn normalize_nfc(&self, s: &str, out: &mut String) {
        let low = &*LOW;
        edit_bytes(out, |bytes| {
            let mut rest = s;
            while !rest.is_empty() {
                let run = rest
                    .bytes()
                    .position(|b| !b.is_ascii())
                    .unwrap_or(rest.len());
                let (ascii, tail) = rest.split_at_checked(run).unwrap_or((rest, ""));
                compact(&self.ascii, ascii.as_bytes(), bytes);
                let mut chars = tail.chars();
                while let Some(c) = chars.clone().next().filter(|c| !c.is_ascii()) {
                    self.push_char(c, low, bytes);
                    chars.next();
                }
                rest = chars.as_str();
            }
        });
    }

    fn normalize_chars(&self, chars: impl Iterator<Item = char>, out: &mut String) {
        let low = &*LOW;
        edit_bytes(out, |bytes| {
            for c in chars {
                self.push_char(c, low, bytes);
            }
        });
    }

    fn push_char(&self, c: char, low: &LowTable, out: &mut Vec<u8>) {
        if let Ok(byte) = u8::try_from(c)
            && byte.is_ascii()
        {
            out.extend(Some(self.map_ascii(byte)).filter(|&b| b != DELETED));
            return;
        }
        if self.options.drop_punctuation && is_punctuation(c, low)
            || self.options.drop_whitespace && c.is_whitespace()
        {
            return;
        }
        if self.options.fold_case {
            fold_char(c, low, |folded| push_utf8(folded, out));
        } else {
            push_utf8(c, out);
        }
    }

    /// Walks both texts at once and stops at the first difference. Equal words of eight bytes are
    /// stepped over whole, since equal bytes have equal forms.
    fn eq_ascii(&self, mut a: &[u8], mut b: &[u8]) -> bool {
        loop {
            while let (Some((x, rest_a)), Some((y, rest_b))) =
                (a.split_first_chunk::<8>(), b.split_first_chunk::<8>())
                && x == y
            {
                (a, b) = (rest_a, rest_b);
            }
            for _ in 0..8 {
                match (self.next_kept(&mut a), self.next_kept(&mut b)) {
                    (None, None) => return true,
                    (x, y) if x != y => return false,
                    _ => {}
                }
            }
        }
    }

    fn next_kept(&self, rest: &mut &[u8]) -> Option<u8> {
        while let Some((&byte, tail)) = rest.split_first() {
            *rest = tail;
            let mapped = self.map_ascii(byte);
            if mapped != DELETED {
                return Some(mapped);
            }
        }
        None
    }
}

/// `s` in Unicode normalisation form C; borrowed where it is in that form already.
pub fn nfc(s: &str) -> Cow<'_, str> {
    if s.is_ascii() || !needs_nfc(s) {
        Cow::Borrowed(s)
    } else {
        Cow::Owned(s.nfc().collect())
    }
}

/// Writes `s` under full Unicode case folding (CaseFolding.txt, status C and F) to `out`: `ß`
/// becomes `ss`, `ﬁ` becomes `fi`, `İ` becomes `i` with a dot above.
pub fn fold_into(s: &str, out: &mut String) {
    out.clear();
    if s.is_ascii() {
        out.push_str(s);
        out.make_ascii_lowercase();
    } else {
        let low = &*LOW;
        for c in s.chars() {
            fold_char(c, low, |folded| out.push(folded));
        }
    }
}

/// Writes `s` in lower case to `out`. Unlike folding this keeps `ß` and takes the final sigma.
pub fn lowercase_into(s: &str, out: &mut String) {
    out.clear();
    if s.is_ascii() {
        out.push_str(s);
        out.make_ascii_lowercase();
    } else {
        out.push_str(&s.to_lowercase());
    }
}

/// Writes `s` without ASCII punctuation (Python's `string.punctuation`) to `out`.
pub fn delete_ascii_punctuation(s: &str, out: &mut String) {
    static TABLE: LazyLock<ByteTable> = LazyLock::new(|| deleting(u8::is_ascii_punctuation));
    edit_bytes(out, |bytes| compact(&TABLE, s.as_bytes(), bytes));
}

/// Writes `s` without the digits 0–9 to `out`.
pub fn delete_ascii_digits(s: &str, out: &mut String) {
    static TABLE: LazyLock<ByteTable> = LazyLock::new(|| deleting(u8::is_ascii_digit));
    edit_bytes(out, |bytes| compact(&TABLE, s.as_bytes(), bytes));
}

/// Whether two texts that match once their punctuation is deleted speak of different numbers: `-5`
/// and `5`, `3.5` and `35`, `[1,2]` and `12`.
///
/// To be asked only after a match of texts that are not byte-equal. A number is read with its minus
/// sign, decimal point or comma, exponent and per cent sign. The same numbers written otherwise
/// (`1,000` and `1000`, `+5` and `5`, `10 000` and `10000`) don't count as changed.
pub fn deleted_number_mark(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() && same_digit_surroundings(a.as_bytes(), b.as_bytes()) {
        return false;
    }
    if !a.chars().chain(b.chars()).any(char::is_numeric) {
        return false;
    }
    numbers(a, false) != numbers(b, false) && numbers(a, true) != numbers(b, true)
}

/// What a byte becomes, by its value.
type ByteTable = [u8; 256];

/// Marks a byte that is deleted; no UTF-8 text holds it.
const DELETED: u8 = 0xFF;

fn byte_table(map: impl Fn(u8) -> u8) -> ByteTable {
    let mut table = [0; 256];
    for (byte, entry) in (0..=u8::MAX).zip(&mut table) {
        *entry = map(byte);
    }
    table
}

fn deleting(is_deleted: impl Fn(&u8) -> bool) -> ByteTable {
    byte_table(|byte| if is_deleted(&byte) { DELETED } else { byte })
}

/// Appends the mapped bytes of `input` that are kept, without a branch on the data: each byte is
/// stored, and the end only moves past it if it stays.
#[expect(
    clippy::indexing_slicing,
    reason = "a byte indexes a table of 256; at most one byte is kept for each read"
)]
fn compact(table: &ByteTable, input: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + input.len(), 0);
    let target = &mut out[start..];
    let mut end = 0;
    for &byte in input {
        let mapped = table[usize::from(byte)];
        target[end] = mapped;
        end += usize::from(mapped != DELETED);
    }
    out.truncate(start + end);
}

/// Refills `out` through its bytes, which `write` has to leave as UTF-8.
fn edit_bytes(out: &mut String, write: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::mem::take(out).into_bytes();
    bytes.clear();
    write(&mut bytes);
    *out = String::from_utf8(bytes).unwrap_or_default();
}

fn push_utf8(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Whether `s` may not be in NFC. Code points below U+0300 always are, and only they have no UTF-8
/// byte from 0xCC on, so the tables are asked from the first such byte on.
fn needs_nfc(s: &str) -> bool {
    let tail = s.bytes().position(|b| b >= 0xCC).and_then(|at| s.get(at..));
    tail.is_some_and(|tail| is_nfc_quick(tail.chars()) != IsNormalized::Yes)
}

/// Folding and punctuation of the alphabets below U+1100, looked up once.
type LowTable = [Low; 0x1100];

#[derive(Clone, Copy)]
struct Low {
    /// The folded character; none where folding gives several.
    folded: Option<char>,
    punctuation: bool,
}

static LOW: LazyLock<Box<LowTable>> = LazyLock::new(|| {
    let mut table = Box::new(
        [Low {
            folded: None,
            punctuation: false,
        }; 0x1100],
    );
    for (c, entry) in ('\0'..).zip(table.iter_mut()) {
        let mut folded = std::iter::once(c).default_case_fold();
        let first = folded.next();
        *entry = Low {
            folded: first.filter(|_| folded.next().is_none()),
            punctuation: is_punctuation_category(c),
        };
    }
    table
});

fn low_entry(c: char, low: &LowTable) -> Option<Low> {
    low.get(c as usize).copied()
}

/// Ideographs, kana and Hangul syllables: neither case nor punctuation.
fn is_plain_letter(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

fn fold_char(c: char, low: &LowTable, mut push: impl FnMut(char)) {
    if let Some(folded) = low_entry(c, low).and_then(|entry| entry.folded) {
        push(folded);
    } else if is_plain_letter(c) {
        push(c);
    } else {
        std::iter::once(c).default_case_fold().for_each(push);
    }
}

fn is_punctuation(c: char, low: &LowTable) -> bool {
    match low_entry(c, low) {
        Some(entry) => entry.punctuation,
        None => !is_plain_letter(c) && is_punctuation_category(c),
    }
}

fn is_punctuation_category(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Whether two ASCII texts have the same digits, each with the same bytes around it that could tell
/// how its number is read; then no number differs, and none need be read.
fn same_digit_surroundings(a: &[u8], b: &[u8]) -> bool {
    // Before a digit: a minus sign with a currency sign after it and what it follows, as in `x-$5`.
    // After it: a decimal mark and a digit, or a space and a per cent sign.
    const BEFORE: usize = 3;
    const AFTER: usize = 2;
    let around = |text: &[u8], digit: usize| {
        let byte = |at: Option<usize>| at.and_then(|at| text.get(at).copied()).unwrap_or(b'\n');
        let before: [u8; BEFORE] = std::array::from_fn(|i| byte(digit.checked_sub(i + 1)));
        let after: [u8; AFTER + 1] = std::array::from_fn(|i| byte(Some(digit + i)));
        (before, after)
    };
    let (mut i, mut j) = (0, 0);
    loop {
        match (next_digit(a, i), next_digit(b, j)) {
            (None, None) => return true,
            (Some(x), Some(y)) if around(a, x) == around(b, y) => (i, j) = (x + 1, y + 1),
            _ => return false,
        }
    }
}

/// The first ASCII digit from `from` on, eight bytes at a time.
fn next_digit(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        // In ASCII, adding 0x80 − x sets a byte's top bit where it is x or more, and carries nowhere.
        let bytes = u64::from_le_bytes(*chunk);
        let reach = |least: u64| bytes.wrapping_add(u64::MAX / 255 * (0x80 - least));
        let digits = reach(0x30) & !reach(0x3A) & (u64::MAX / 255 * 0x80);
        if digits != 0 {
            return Some(at + (digits.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    text.get(at..)?
        .iter()
        .position(u8::is_ascii_digit)
        .map(|found| at + found)
}

/// The numbers in `text`, each in one canonical spelling. `join_spaced` reads digits with a single
/// space between them as one number.
fn numbers(text: &str, join_spaced: bool) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\n');
    let mut found = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        if !starts_number(&chars, i) {
            i += 1;
            continue;
        }
        let mut number = String::new();
        if is_minus_sign(&chars, i) {
            number.push('-');
        }
        loop {
            let c = at(i);
            let digit_next = at(i + 1).is_numeric();
            if c.is_numeric() || matches!(c, '.' | ',' | '\'' | '’' | '_') && digit_next {
                number.push(c);
            } else if !(join_spaced && c.is_whitespace() && digit_next) {
                break;
            }
            i += 1;
        }
        let percent = if at(i).is_whitespace() { i + 1 } else { i };
        if matches!(at(percent), '%' | '٪' | '‰') {
            number.push(at(percent));
        }
        found.push(ungroup(&number));
    }
    found
}

/// A number starts at a digit, or at a decimal point that leads one.
fn starts_number(chars: &[char], i: usize) -> bool {
    let at = |i: usize| chars.get(i).copied().unwrap_or('\n');
    let leads = at(i) == '.' && at(i + 1).is_numeric();
    let before = i.checked_sub(1).map_or('\n', at);
    at(i).is_numeric() || leads && !before.is_alphanumeric() && before != '.'
}

/// Whether the number that starts at `i` has a minus sign: a dash right before it (a currency sign
/// may stand between) that joins no two words, or the one of an exponent.
fn is_minus_sign(chars: &[char], i: usize) -> bool {
    let mut before = chars
        .get(..i)
        .unwrap_or_default()
        .iter()
        .rev()
        .copied()
        .peekable();
    before.next_if(|&c| c.general_category_group() == GeneralCategoryGroup::Symbol && c != '−');
    if !before
        .next()
        .is_some_and(|c| matches!(c, '-' | '‐' | '‑' | '–' | '−' | '﹣' | '－'))
    {
        return false;
    }
    match before.next() {
        Some('e' | 'E') => before.next().is_some_and(char::is_numeric),
        Some(c) => !c.is_alphanumeric() && !matches!(c, ')' | ']' | '}'),
        None => true,
    }
}

/// Removes marks that group thousands: each followed by exactly three digits, and none but a point
/// after them.
fn ungroup(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_mark = |c: char| matches!(c, ',' | '\'' | '’' | '_');
    let mut groups = whole.split(is_mark).skip(1).peekable();
    if groups.peek().is_none()
        || fraction.contains(is_mark)
        || !groups.all(|g| g.chars().filter(|c| c.is_numeric()).count() == 3)
    {
        return number.to_owned();
    }
    number.chars().filter(|&c| !is_mark(c)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: Normalization = Normalization {
        fold_case: true,
        drop_punctuation: true,
        drop_whitespace: true,
    };
    const NONE: Normalization = Normalization {
        fold_case: false,
        drop_punctuation: false,
        drop_whitespace: false,
    };

    fn equal(options: Normalization, a: &str, b: &str) -> bool {
        Normalizer::new(options).eq(a, b, &mut String::new(), &mut String::new())
    }

    fn written(write: impl Fn(&str, &mut String), s: &str) -> String {
        let mut out = "left over".to_owned();
        write(s, &mut out);
        out
    }

    /// The table of section `golden_response`.
    #[test]
    fn agrees_with_the_golden_response_table() {
        let whitespace_kept = Normalization {
            drop_whitespace: false,
            ..ALL
        };
        let rows = [
            ("Hello, world", "hello world!", ALL, true),
            ("Hello, world", "Helloworld", ALL, true),
            (
                "Hello, world",
                "hello world",
                Normalization {
                    fold_case: false,
                    ..ALL
                },
                false,
            ),
            (
                "Hello, world",
                "Hello world",
                Normalization {
                    drop_whitespace: true,
                    ..NONE
                },
                false,
            ),
            ("Hello, world", "Hello,  world", NONE, false),
            (
                "Hello, world",
                "Hello,  world",
                Normalization {
                    drop_whitespace: true,
                    ..NONE
                },
                true,
            ),
            (
                "[0, 1, 1, 2]",
                "0 1 1 2",
                Normalization {
                    drop_punctuation: true,
                    ..NONE
                },
                true,
            ),
            (
                "[0, 1, 1, 2]",
                "[0,1,1,2]",
                Normalization {
                    drop_punctuation: true,
                    ..NONE
                },
                false,
            ),
            ("a - b", "a b", whitespace_kept, false),
            ("STRASSE", "straße", ALL, true),
            ("“quoted”", "quoted", ALL, true),
            (
                "Burj Khalifa",
                "The tallest building is the Burj Khalifa.",
                ALL,
                false,
            ),
            ("-5", "5", ALL, true),
            ("3.5", "35", ALL, true),
            ("!!!", "???", ALL, true),
            ("café", "cafe\u{301}", NONE, true),
            ("ﬁn İ", "FIN i\u{307}", ALL, true),
            ("a\u{a0}b\u{3000}c", "abc", ALL, true),
            ("ΣΊΣΥΦΟΣ", "σίσυφος", ALL, true),
            ("−5", "5", ALL, false),
            ("$+<=>^`|~", "", ALL, true),
            ("5€", "5", ALL, false),
        ];
        for (golden, output, options, expected) in rows {
            assert_eq!(
                equal(options, golden, output),
                expected,
                "{golden:?}, {output:?}"
            );
        }
    }

    #[test]
    fn tells_when_deleting_changed_a_number() {
        let rows = [
            ("-5", "5", true),
            ("3.5", "35", true),
            (".5", "5", true),
            ("[1,2]", "12", true),
            ("1/2", "12", true),
            ("12:30", "1230", true),
            ("50%", "50", true),
            ("x -5", "x 5", true),
            ("-$5", "$5", true),
            ("5 -3", "5 3", true),
            ("1e-5", "1e5", true),
            ("3,5", "35", true),
            ("1.000", "1,000", true),
            ("٣.٥", "٣٥", true),
            ("!!!", "???", false),
            ("1,000", "1000", false),
            ("1'234'567.5", "1234567.5", false),
            ("+5", "5", false),
            ("5.", "5", false),
            ("item-5", "item 5", false),
            ("[0, 1, 1, 2]", "0 1 1 2", false),
            ("10 000", "10000", false),
            ("5 %", "5%", false),
            ("Version 2.", "version 2", false),
            ("2020-01-01", "2020/01/01", false),
            ("3.5 apples!", "3.5 Apples", false),
        ];
        for (a, b, expected) in rows {
            assert_eq!(deleted_number_mark(a, b), expected, "{a:?}, {b:?}");
            assert_eq!(deleted_number_mark(b, a), expected, "{b:?}, {a:?}");
        }
    }

    #[test]
    fn tells_when_nothing_is_left() {
        let normalizer = Normalizer::new(ALL);
        let rows = [
            ("!!!", true),
            ("! ?", true),
            ("«»", true),
            ("", false),
            (" ", false),
            ("a!", false),
        ];
        for (golden, expected) in rows {
            assert_eq!(
                normalizer.empties(golden, &mut String::new()),
                expected,
                "{golden:?}"
            );
        }
    }

    #[test]
    fn folds_fully() {
        let rows = [
            ("Straße", "strasse"),
            ("ŉ", "ʼn"),
            ("ΐ", "ι\u{308}\u{301}"),
            ("K", "k"),
            ("Ꭰ", "Ꭰ"),
            ("ꭰ", "Ꭰ"),
            ("漢字", "漢字"),
        ];
        for (s, folded) in rows {
            assert_eq!(written(fold_into, s), folded);
        }
    }

    #[test]
    fn exact_match_helpers() {
        assert_eq!(written(lowercase_into, "STRASSE É"), "strasse é");
        assert_eq!(written(lowercase_into, "straße"), "straße");
        assert_eq!(
            written(delete_ascii_punctuation, "Hello, “wörld”!"),
            "Hello “wörld”"
        );
        assert_eq!(written(delete_ascii_digits, "a1b2٣"), "ab٣");
        assert_eq!(
            written(
                delete_ascii_punctuation,
                r##"!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~"##
            ),
            ""
        );
    }

    #[test]
    fn nfc_borrows_what_is_composed() {
        assert!(matches!(nfc("plain"), Cow::Borrowed(_)));
        assert!(matches!(nfc("“café” 漢"), Cow::Borrowed(_)));
        assert_eq!(nfc("cafe\u{301}"), "café");
        assert_eq!(nfc("\u{212b}"), "Å");
    }

    /// The rules of `golden_response` written down plainly.
    fn reference(options: Normalization, s: &str) -> String {
        let composed: String = s.nfc().collect();
        let folded = if options.fold_case {
            caseless::default_case_fold_str(&composed)
        } else {
            composed
        };
        folded
            .chars()
            .filter(|c| {
                !(options.drop_punctuation
                    && (is_punctuation_category(*c) || "$+<=>^`|~".contains(*c)))
            })
            .filter(|c| !(options.drop_whitespace && c.is_whitespace()))
            .collect()
    }

    #[test]
    fn the_quick_look_at_digits_never_hides_a_changed_number() {
        let texts = [
            "-5", "5", "3.5", "35", "x-$5", "x$5", "1e-5", "1e5", "5 %", "5", "[1,2]", "12",
            "a1b2", "1, 2", "x -5", "7.", ".7",
        ];
        for a in texts {
            for b in texts {
                let slow =
                    numbers(a, false) != numbers(b, false) && numbers(a, true) != numbers(b, true);
                assert!(
                    !same_digit_surroundings(a.as_bytes(), b.as_bytes()) || !slow,
                    "{a} {b}"
                );
            }
        }
        for text in [
            "",
            "abc",
            "abcdefgh9",
            "0abcdefgh",
            "/:/:/:/:/:5",
            "abcdefghijklm",
        ] {
            let expected = text.bytes().position(|b| b.is_ascii_digit());
            assert_eq!(next_digit(text.as_bytes(), 0), expected, "{text}");
        }
    }

    fn any_options() -> impl Strategy<Value = Normalization> {
        any::<(bool, bool, bool)>().prop_map(|(fold_case, drop_punctuation, drop_whitespace)| {
            Normalization {
                fold_case,
                drop_punctuation,
                drop_whitespace,
            }
        })
    }

    proptest! {
        #[test]
        fn normal_form_follows_the_rules(options in any_options(), s in ".{0,40}|[ -~]{0,40}|[a-zÀ-ʯ\u{300}-\u{30f}“” ]{0,40}") {
            let normalizer = Normalizer::new(options);
            prop_assert_eq!(written(|s, out| normalizer.normalize_into(s, out), &s), reference(options, &s));
        }

        #[test]
        fn equality_is_that_of_the_forms(options in any_options(), a in "[aAbB.,! é]{0,20}", b in "[aAbB.,! é]{0,20}") {
            prop_assert_eq!(equal(options, &a, &b), reference(options, &a) == reference(options, &b));
            let varied = a.replace('a', "A").replace('.', ", ");
            prop_assert_eq!(equal(options, &a, &varied), reference(options, &a) == reference(options, &varied));
        }

        #[test]
        fn number_marks_never_panic(a in ".{0,30}|[0-9.,% e$-]{0,12}", b in "[0-9.,% e$-]{0,12}") {
            prop_assert!(!deleted_number_mark(&a, &a));
            prop_assert_eq!(deleted_number_mark(&a, &b), deleted_number_mark(&b, &a));
        }
    }
}
