//! The reader: bytes to values, one pass, no look-back.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::walk::MemberValue;
use super::{DuplicateKeys, Json, JsonErrorKind as Kind, MAX_DEPTH, Member};

/// Where reading stopped and why; [`super::JsonError`] makes words of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) offset: usize,
    /// What would have been right here.
    pub(super) expected: &'static str,
}

/// Reads the whole text as one value.
pub(super) fn parse(text: &str, duplicates: DuplicateKeys) -> Result<Json<'_>, Fault> {
    let mut scanner = Scanner::new(text);
    scanner.duplicates = duplicates;
    scanner.start()?;
    let value = scanner.value(0)?;
    scanner.end()?;
    Ok(value)
}

/// Whether the whole text is one value by the grammar alone.
pub(super) fn check(text: &str) -> Result<(), Fault> {
    let mut scanner = Scanner::new(text);
    scanner.start()?;
    scanner.skip_value()?;
    scanner.end()
}

/// The string literal a text starts with, unescaped.
pub(super) fn first_string(text: &str) -> Option<Cow<'_, str>> {
    let mut scanner = Scanner::new(text);
    scanner.string().ok()
}

const VALUE: &str = "a JSON value";
const KEY: &str = "a key in double quotes";
const COLON: &str = "`:`";
const COMMA_OR_BRACKET: &str = "`,` or `]`";
const COMMA_OR_BRACE: &str = "`,` or `}`";
const QUOTE: &str = "the closing quote of a string";
const DIGIT: &str = "a digit";
const HEX: &str = "four hexadecimal digits";
const ESCAPE: &str = "one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u";

pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    duplicates: DuplicateKeys,
    /// There is no control character in the text, line breaks included.
    clean: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            duplicates: DuplicateKeys::Refuse,
            // Without an early end this runs over whole vectors.
            clean: text.bytes().fold(0xFF, u8::min) >= 0x20,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The bytes from `from` to the current place, which both lie between characters.
    fn since(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[cold]
    fn fault(&self, kind: Kind) -> Fault {
        Fault {
            kind,
            offset: self.at,
            expected: "",
        }
    }

    /// Something else than `expected` stands here.
    #[cold]
    fn unexpected(&self, expected: &'static str) -> Fault {
        let kind = match self.peek() {
            None => Kind::UnexpectedEnd,
            Some(0x00..0x20) if expected == QUOTE => Kind::ControlCharacter,
            Some(_) if expected == HEX || expected == ESCAPE => Kind::InvalidEscape,
            Some(_) => Kind::UnexpectedCharacter,
        };
        Fault {
            kind,
            offset: self.at,
            expected,
        }
    }

    pub(super) fn start(&mut self) -> Result<(), Fault> {
        if self.text.starts_with('\u{FEFF}') {
            return Err(self.fault(Kind::ByteOrderMark));
        }
        self.space();
        match self.peek() {
            None => Err(self.fault(Kind::Empty)),
            Some(_) => Ok(()),
        }
    }

    pub(super) fn end(&mut self) -> Result<(), Fault> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault(Kind::TrailingCharacters)),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Number),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b't') => self.literal("true").map(|()| Json::Bool(true)),
            Some(b'f') => self.literal("false").map(|()| Json::Bool(false)),
            Some(b'n') => self.literal("null").map(|()| Json::Null),
            _ => Err(self.unexpected(VALUE)),
        }
    }

    fn literal(&mut self, word: &'static str) -> Result<(), Fault> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            self.at += rest.len();
        }
        Err(self.unexpected(VALUE))
    }

    fn number(&mut self) -> Result<&'a str, Fault> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.since(from))
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == from {
            return Err(self.unexpected(DIGIT));
        }
        Ok(())
    }

    /// From the opening quote: borrowed where nothing is escaped.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.at += 1;
        let from = self.at;
        self.plain();
        if self.peek() != Some(b'"') {
            return self.escaped_string(from).map(Cow::Owned);
        }
        let text = self.since(from);
        self.at += 1;
        Ok(Cow::Borrowed(text))
    }

    #[cold]
    fn escaped_string(&mut self, from: usize) -> Result<String, Fault> {
        let mut out = String::with_capacity(2 * (self.at - from) + 16);
        self.unescape(from, &mut out)?;
        Ok(out)
    }

    /// From the first escape of the string whose content begins at `from`.
    fn unescape(&mut self, from: usize, out: &mut String) -> Result<(), Fault> {
        out.push_str(self.since(from));
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.unexpected(QUOTE)),
            }
            let from = self.at;
            self.plain();
            out.push_str(self.since(from));
        }
    }

    /// Whether the byte stands here; steps over it and the space behind it.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        if there {
            self.at += 1;
            self.space();
        }
        there
    }

    pub(super) const fn offset(&self) -> usize {
        self.at
    }

    /// Whether these bytes stand here; steps over them.
    pub(super) fn take_text(&mut self, text: &str) -> bool {
        let there = self
            .text
            .as_bytes()
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(text.as_bytes()));
        if there {
            self.at += text.len();
        }
        there
    }

    /// Goes to the next member of the object it is in: true at its key, false behind the end.
    #[inline]
    pub(super) fn next_member(&mut self, first: bool) -> Result<bool, Fault> {
        self.space();
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(false);
            }
            Some(b',') if !first => {
                self.at += 1;
                self.space();
            }
            _ if first => {}
            _ => return Err(self.unexpected(COMMA_OR_BRACE)),
        }
        if self.peek() == Some(b'"') {
            Ok(true)
        } else {
            Err(self.unexpected(KEY))
        }
    }

    /// A member's value; an escaped string goes to `buffer`.
    #[inline]
    pub(super) fn member_value(&mut self, buffer: &mut String) -> Result<MemberValue<'a>, Fault> {
        let from = self.at;
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                self.plain();
                let text = self.since(from + 1);
                if self.peek() == Some(b'"') {
                    self.at += 1;
                    return Ok(MemberValue::Text(text));
                }
                buffer.clear();
                self.unescape(from + 1, buffer)?;
                Ok(MemberValue::Escaped)
            }
            Some(b'n') => self.literal("null").map(|()| MemberValue::Null),
            _ => {
                self.skip_value()?;
                Ok(MemberValue::Json(self.since(from)))
            }
        }
    }

    /// Steps over the characters of a string that stand for themselves: eight bytes at a time, and
    /// faster once the string is long, where the text is known to hold no control character.
    #[inline]
    fn plain(&mut self) {
        const SHORT: usize = 24;
        let bytes = self.text.as_bytes();
        let from = self.at;
        while let Some(chunk) = bytes.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            if let Some(step) = first_special(u64::from_le_bytes(*chunk)) {
                self.at += step;
                return;
            }
            self.at += 8;
            if self.clean && self.at - from >= SHORT {
                let rest = bytes.get(self.at..).unwrap_or_default();
                self.at += memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                return;
            }
        }
        while let Some(byte) = self.peek() {
            if byte < 0x20 || byte == b'"' || byte == b'\\' {
                return;
            }
            self.at += 1;
        }
    }

    /// From the backslash: the character an escape stands for.
    fn escape(&mut self) -> Result<char, Fault> {
        let from = self.at;
        self.at += 1;
        let c = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(from),
            _ => return Err(self.unexpected(ESCAPE)),
        };
        self.at += 1;
        Ok(c)
    }

    /// From the `u` of the escape whose backslash is at `from`.
    fn unicode_escape(&mut self, from: usize) -> Result<char, Fault> {
        self.at += 1;
        let unit = self.hex()?;
        if let Some(c) = char::from_u32(unit) {
            return Ok(c);
        }
        let lone = Fault {
            kind: Kind::LoneSurrogate,
            offset: from,
            expected: "",
        };
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if unit >= 0xDC00 || !rest.starts_with(b"\\u") {
            return Err(lone);
        }
        self.at += 2;
        let low = self.hex()?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(lone);
        }
        char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)).ok_or(lone)
    }

    fn hex(&mut self) -> Result<u32, Fault> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit * 16 + digit.ok_or_else(|| self.unexpected(HEX))?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        self.open(depth)?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(Vec::new()));
        }
        let mut items = Vec::with_capacity(4);
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected(COMMA_OR_BRACKET)),
            }
            self.space();
        }
        self.at += 1;
        Ok(Json::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        self.open(depth)?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(Vec::new()));
        }
        let mut members = Vec::with_capacity(4);
        let mut keys = Keys::default();
        loop {
            let from = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected(KEY));
            }
            let key = self.string()?;
            let first = keys.earlier(&key, &members);
            if first.is_some() && self.duplicates == DuplicateKeys::Refuse {
                self.at = from;
                return Err(self.fault(Kind::DuplicateKey));
            }
            self.colon()?;
            let value = self.value(depth + 1)?;
            match first.and_then(|first| members.get_mut(first)) {
                Some((_, earlier)) => *earlier = value,
                None => members.push((key, value)),
            }
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected(COMMA_OR_BRACE)),
            }
            self.space();
        }
        self.at += 1;
        Ok(Json::Object(members))
    }

    fn open(&mut self, depth: usize) -> Result<(), Fault> {
        if depth >= MAX_DEPTH {
            return Err(self.fault(Kind::TooDeep));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    pub(super) fn colon(&mut self) -> Result<(), Fault> {
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected(COLON));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// Steps over the value that begins at byte `start`, and gives the place behind it.
    pub(super) fn skip_from(&mut self, start: usize) -> Result<usize, Fault> {
        self.at = start;
        self.skip_value()?;
        Ok(self.at)
    }

    /// Steps over one value of any depth, holding one bit for each open array or object.
    pub(super) fn skip_value(&mut self) -> Result<(), Fault> {
        let mut open = Nesting::default();
        loop {
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                    } else {
                        open.push(true);
                        self.skip_key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if self.peek() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(false);
                        continue;
                    }
                }
                Some(b'"') => self.skip_string()?,
                _ => self.value(0).map(|_scalar| ())?,
            }
            if self.leave(&mut open)? {
                return Ok(());
            }
        }
    }

    /// After a value: closes what ends here and goes to the next value; true at the end of all.
    fn leave(&mut self, open: &mut Nesting) -> Result<bool, Fault> {
        while let Some(object) = open.top() {
            self.space();
            match (self.peek(), object) {
                (Some(b','), _) => {
                    self.at += 1;
                    self.space();
                    if object {
                        self.skip_key()?;
                    }
                    return Ok(false);
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    self.at += 1;
                    open.pop();
                }
                (_, true) => return Err(self.unexpected(COMMA_OR_BRACE)),
                (_, false) => return Err(self.unexpected(COMMA_OR_BRACKET)),
            }
        }
        Ok(true)
    }

    fn skip_key(&mut self) -> Result<(), Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected(KEY));
        }
        self.skip_string()?;
        self.colon()
    }

    fn skip_string(&mut self) -> Result<(), Fault> {
        self.at += 1;
        loop {
            self.plain();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.skip_escape()?,
                _ => return Err(self.unexpected(QUOTE)),
            }
        }
    }

    fn skip_escape(&mut self) -> Result<(), Fault> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                self.hex().map(|_unit| ())
            }
            _ => Err(self.unexpected(ESCAPE)),
        }
    }
}

/// The place of the first byte among eight, lowest first, that a string may not hold as it is:
/// a quote, a backslash or a control character.
///
/// Each test sets the top bit of a byte it is true for; a borrow can set it for later bytes too,
/// never for earlier ones, and only the first counts.
#[inline]
fn first_special(bytes: u64) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const TOPS: u64 = ONES << 7;
    let less = |value: u64, limit: u8| value.wrapping_sub(ONES * u64::from(limit)) & !value;
    let special = (less(bytes, 0x20)
        | less(bytes ^ (ONES * u64::from(b'"')), 1)
        | less(bytes ^ (ONES * u64::from(b'\\')), 1))
        & TOPS;
    (special != 0).then(|| (special.trailing_zeros() / 8) as usize)
}

/// Finds the second of two equal keys: by looking through a small object, by hashes in a large one.
#[derive(Default)]
struct Keys {
    seen: Option<(RandomState, HashSet<u64>)>,
}

impl Keys {
    const SMALL: usize = 16;

    /// Where among the members so far the key is.
    fn earlier(&mut self, key: &str, members: &[Member<'_>]) -> Option<usize> {
        let position = || members.iter().position(|(name, _)| name == key);
        if members.len() < Self::SMALL {
            return position();
        }
        let (state, seen) = self.seen.get_or_insert_with(|| {
            let state = RandomState::new();
            let hashes = members.iter().map(|(name, _)| state.hash_one(&**name));
            (state.clone(), hashes.collect())
        });
        let is_new = seen.insert(state.hash_one(key));
        if is_new { None } else { position() }
    }
}

/// A stack of bits: what each open container is, true for objects.
#[derive(Default)]
struct Nesting {
    /// The last `depth % 64` bits, or the last 64.
    bits: u64,
    depth: usize,
    full: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.full.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.bits >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits = self.full.pop().unwrap_or_default();
        }
    }

    fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }
}
