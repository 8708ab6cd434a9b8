//! JSON files: an array of records, or an object with one such array, streamed element by element.
//!
//! The scanner knows strings and brackets and nothing else: an element is handed out as the text
//! between its brackets, for the parser to judge. It keeps its own stack, so depth costs memory
//! and never the thread's stack.

use std::sync::Arc;

use memchr::memchr3;

use super::block::{Found, advance};
use super::error::{InputError, JsonProblem, ReadError};
use super::stream::{Split, Window};

/// Keys whose array holds the records.
const ARRAYS: [&str; 6] = [
    "records",
    "data",
    "tests",
    "examples",
    "samples",
    "test_cases",
];
/// Keys that no list of records has, but a record.
const OF_A_RECORD: [&str; 8] = [
    "query",
    "output",
    "prediction",
    "response",
    "reference",
    "contexts",
    "messages",
    "candidates",
];
/// Keys that an error names at most.
const KEYS_NAMED: usize = 8;

/// Splits the elements of the one array.
pub(super) struct Json {
    file: Arc<str>,
    state: State,
    /// Line and byte of the cut.
    place: (u64, u64),
    /// Where the outer object was opened, if there is one.
    object: Option<(u64, u64)>,
    /// Where the array was opened.
    array: (u64, u64),
    /// The array's key in the object.
    array_key: Option<String>,
    /// The object's other keys, the first few.
    keys: Vec<String>,
    brackets: Brackets,
}

/// What stands at the cut, blanks apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// A key; at the first one the object may end instead.
    Key {
        first: bool,
    },
    AfterMember,
    /// An element; at the first one the array may end instead.
    Element {
        first: bool,
    },
    AfterElement,
    End,
}

impl Json {
    pub(super) fn new(file: Arc<str>) -> Self {
        Self {
            file,
            state: State::Start,
            place: (1, 1),
            object: None,
            array: (1, 1),
            array_key: None,
            keys: Vec::new(),
            brackets: Brackets::default(),
        }
    }

    /// Takes one token at `at` and gives where it ends, or nothing if the window ends first.
    fn step(
        &mut self,
        window: &Window<'_>,
        at: usize,
        found: &mut Found,
    ) -> Result<Option<usize>, InputError> {
        let byte = window.text.get(at).copied().unwrap_or_default();
        let after = Ok(Some(at + 1));
        match (self.state, byte) {
            (State::Start, b'[') => {
                self.array = self.place;
                self.state = State::Element { first: true };
                after
            }
            (State::Start, b'{') => {
                self.object = Some(self.place);
                self.state = State::Key { first: true };
                after
            }
            (State::Start, _) => Err(self.wrong(JsonProblem::Shape {
                found: kind_of(byte),
            })),
            (State::Key { .. }, b'"') => self.member(window, at, found),
            (State::Key { first: true } | State::AfterMember, b'}') => {
                self.end_object()?;
                after
            }
            (State::Key { .. }, _) => Err(self.expected("a key in quotes")),
            (State::AfterMember, b',') => {
                self.state = State::Key { first: false };
                after
            }
            (State::AfterMember, _) => Err(self.expected("a comma, or the end of the object")),
            (State::Element { first }, b']') => {
                if !first {
                    found.push_bad(ReadError::MissingElement, self.place);
                }
                self.end_array();
                after
            }
            (State::Element { .. }, b',') => {
                found.push_bad(ReadError::MissingElement, self.place);
                self.state = State::Element { first: false };
                after
            }
            (State::Element { .. }, _) => self.element(window, at, found),
            (State::AfterElement, b']') => {
                self.end_array();
                after
            }
            (State::AfterElement, b',') => {
                self.state = State::Element { first: false };
                after
            }
            (State::AfterElement, b'{' | b'[' | b'"') => {
                found.push_bad(ReadError::MissingComma, self.place);
                self.state = State::Element { first: false };
                Ok(Some(at))
            }
            (State::AfterElement, _) => Ok(end_of_bare(window, at).inspect(|_| {
                found.push_bad(ReadError::UnexpectedText, self.place);
            })),
            (State::End, _) => Err(self.wrong(JsonProblem::Trailing)),
        }
    }

    /// An element of the array.
    fn element(
        &mut self,
        window: &Window<'_>,
        at: usize,
        found: &mut Found,
    ) -> Result<Option<usize>, InputError> {
        let Some((end, fault)) = self.value(window, at, "record", at)? else {
            return Ok(None);
        };
        match fault {
            None => found.push(at..end, self.place),
            Some(fault) => found.push_bad(fault.error, self.locate(window, at, fault.at)),
        }
        self.state = State::AfterElement;
        Ok(Some(end))
    }

    /// A member of the outer object: up to the `[` of the array of records, or whole.
    fn member(
        &mut self,
        window: &Window<'_>,
        at: usize,
        found: &mut Found,
    ) -> Result<Option<usize>, InputError> {
        let text = window.text;
        let more = |json: &Self| json.more(window, "object", json.object.unwrap_or(json.place));
        let Some(key_end) = end_of_string(text, at, &mut None) else {
            return more(self);
        };
        let key = String::from_utf8_lossy(text.get(at + 1..key_end - 1).unwrap_or_default());
        let colon = skip_blanks(text, key_end);
        match text.get(colon) {
            None => return more(self),
            Some(b':') => {}
            Some(_) => {
                let (line, column) = self.locate(window, at, colon);
                return Err(self.wrong_at(line, column, JsonProblem::Expected("a colon")));
            }
        }
        let start = skip_blanks(text, colon + 1);
        match text.get(start) {
            None => more(self),
            Some(b'[') if ARRAYS.contains(&&*key) => {
                let place = self.locate(window, at, start);
                self.begin_array(&key, place)?;
                Ok(Some(start + 1))
            }
            Some(b',' | b'}' | b']' | b':') => {
                let (line, column) = self.locate(window, at, start);
                Err(self.wrong_at(line, column, JsonProblem::Expected("a value")))
            }
            Some(_) => {
                let Some((end, fault)) = self.value(window, start, "value", at)? else {
                    return Ok(None);
                };
                if let Some(fault) = fault {
                    found.push_bad(fault.error, self.locate(window, at, fault.at));
                }
                self.note_key(&key)?;
                self.state = State::AfterMember;
                Ok(Some(end))
            }
        }
    }

    /// Where the value at `start` ends, and what is wrong in it; nothing if the window ends first.
    /// `cut` is where `self.place` stands.
    fn value(
        &mut self,
        window: &Window<'_>,
        start: usize,
        what: &'static str,
        cut: usize,
    ) -> Result<Option<(usize, Option<Fault>)>, InputError> {
        let mut fault = None;
        match self.brackets.end_of_value(window, start, &mut fault) {
            Some(end) => Ok(Some((end, fault))),
            None if window.last => {
                let (what, at) = match fault {
                    Some(Fault {
                        at,
                        error: ReadError::LineBreakInString,
                    }) => ("string", at),
                    _ => (what, start),
                };
                let (line, column) = self.locate(window, cut, at);
                Err(self.wrong_at(line, column, JsonProblem::Unclosed(what)))
            }
            None => Ok(None),
        }
    }

    fn begin_array(&mut self, key: &str, place: (u64, u64)) -> Result<(), InputError> {
        if let Some(first) = self.array_key.take() {
            let problem = JsonProblem::TwoArrays {
                first,
                second: key.to_owned(),
            };
            return Err(self.wrong(problem));
        }
        self.array_key = Some(key.to_owned());
        self.array = place;
        self.refuse_a_record()?;
        self.state = State::Element { first: true };
        Ok(())
    }

    fn end_array(&mut self) {
        self.state = if self.object.is_some() {
            State::AfterMember
        } else {
            State::End
        };
    }

    fn end_object(&mut self) -> Result<(), InputError> {
        self.state = State::End;
        if self.array_key.is_some() {
            return Ok(());
        }
        self.refuse_a_record()?;
        let keys = match &*self.keys {
            [] => "(none)".to_owned(),
            keys => keys
                .iter()
                .map(|key| format!("`{key}`"))
                .collect::<Vec<_>>()
                .join(", "),
        };
        Err(self.wrong(JsonProblem::NoRecords { keys }))
    }

    fn note_key(&mut self, key: &str) -> Result<(), InputError> {
        let telling = OF_A_RECORD.contains(&key);
        let room = telling || self.keys.len() < KEYS_NAMED;
        if room && !self.keys.iter().any(|known| known == key) {
            self.keys.push(key.to_owned());
        }
        if telling && self.array_key.is_some() {
            self.refuse_a_record()
        } else {
            Ok(())
        }
    }

    fn refuse_a_record(&self) -> Result<(), InputError> {
        match self
            .keys
            .iter()
            .find(|key| OF_A_RECORD.contains(&key.as_str()))
        {
            Some(key) => Err(self.wrong(JsonProblem::OneRecord { key: key.clone() })),
            None => Ok(()),
        }
    }

    /// The window ends: more is needed, or the file is cut off.
    fn more(
        &self,
        window: &Window<'_>,
        what: &'static str,
        (line, column): (u64, u64),
    ) -> Result<Option<usize>, InputError> {
        if window.last {
            Err(self.wrong_at(line, column, JsonProblem::Unclosed(what)))
        } else {
            Ok(None)
        }
    }

    /// The file ends between two tokens.
    fn end(&self) -> Result<(), InputError> {
        let (what, (line, column)) = match (self.state, self.object) {
            (State::Start | State::End, _) => return Ok(()),
            (State::Key { .. } | State::AfterMember, Some(object)) => ("object", object),
            _ => ("array", self.array),
        };
        Err(self.wrong_at(line, column, JsonProblem::Unclosed(what)))
    }

    /// The place of an offset, where `cut` is the offset of `self.place`.
    fn locate(&self, window: &Window<'_>, cut: usize, at: usize) -> (u64, u64) {
        advance(self.place, window.text.get(cut..at).unwrap_or_default())
    }

    fn expected(&self, what: &'static str) -> InputError {
        self.wrong(JsonProblem::Expected(what))
    }

    fn wrong(&self, problem: JsonProblem) -> InputError {
        self.wrong_at(self.place.0, self.place.1, problem)
    }

    fn wrong_at(&self, line: u64, column: u64, problem: JsonProblem) -> InputError {
        InputError::Json {
            file: self.file.to_string(),
            line,
            column,
            problem,
        }
    }

    fn take(&mut self, text: &[u8], cut: &mut usize, to: usize) {
        self.place = advance(self.place, text.get(*cut..to).unwrap_or_default());
        *cut = to;
    }
}

impl Split for Json {
    fn split(
        &mut self,
        window: &Window<'_>,
        cut: &mut usize,
        found: &mut Found,
    ) -> Result<(), InputError> {
        while !found.is_full(*cut) {
            let start = skip_blanks(window.text, *cut);
            self.take(window.text, cut, start);
            if start >= window.text.len() {
                return if window.last { self.end() } else { Ok(()) };
            }
            match self.step(window, start, found)? {
                Some(end) => self.take(window.text, cut, end),
                None => break,
            }
        }
        Ok(())
    }

    fn place(&self) -> (u64, u64) {
        self.place
    }
}

/// Where the first value of the text ends, if it does.
pub(super) fn end_of_value(text: &[u8]) -> Option<usize> {
    let window = Window { text, last: false };
    Brackets::default().end_of_value(&window, 0, &mut None)
}

/// Whether the text begins an object that has, as far as it goes, an array of records.
pub(super) fn names_an_array(text: &[u8]) -> bool {
    let mut json = Json::new(Arc::from(""));
    let mut found = Found::default();
    found.clear(
        &super::BlockSize {
            bytes: usize::MAX,
            records: 1,
            record_bytes: usize::MAX,
        },
        0,
    );
    let read = json.split(&Window { text, last: false }, &mut 0, &mut found);
    json.array_key.is_some() && read.is_ok()
}

/// Something wrong inside an element.
struct Fault {
    at: usize,
    error: ReadError,
}

/// The brackets that are open.
#[derive(Default)]
struct Brackets {
    open: Vec<u8>,
    /// How many of them are `{`.
    braces: usize,
}

impl Brackets {
    /// Where the value that begins at `start` ends; nothing if the window ends first. The first
    /// thing wrong in it goes to `fault`.
    fn end_of_value(
        &mut self,
        window: &Window<'_>,
        start: usize,
        fault: &mut Option<Fault>,
    ) -> Option<usize> {
        let text = window.text;
        match text.get(start)? {
            b'"' => end_of_string(text, start, fault),
            b'{' | b'[' => self.end_of_container(text, start, fault),
            _ => end_of_bare(window, start),
        }
    }

    fn end_of_container(
        &mut self,
        text: &[u8],
        start: usize,
        fault: &mut Option<Fault>,
    ) -> Option<usize> {
        self.open.clear();
        self.braces = 0;
        let mut at = start;
        loop {
            at += text
                .get(at..)?
                .iter()
                .position(|byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'))?;
            match *text.get(at)? {
                b'"' => {
                    at = end_of_string(text, at, fault)?;
                    continue;
                }
                b'{' => {
                    self.braces += 1;
                    self.open.push(b'{');
                }
                b'[' => self.open.push(b'['),
                close => {
                    if !self.close(close, at, fault) {
                        return Some(at);
                    }
                }
            }
            at += 1;
            if self.open.is_empty() {
                return Some(at);
            }
        }
    }

    /// Closes the innermost bracket of the closing one's kind, and with it those inside. False if
    /// there is none and the bracket closes the array around the value.
    fn close(&mut self, close: u8, at: usize, fault: &mut Option<Fault>) -> bool {
        let opener = if close == b'}' { b'{' } else { b'[' };
        if self.open.last() != Some(&opener) {
            let expected = if opener == b'{' { ']' } else { '}' };
            let error = ReadError::Mismatched {
                found: char::from(close),
                expected,
            };
            fault.get_or_insert(Fault { at, error });
            let opened = if opener == b'{' {
                self.braces
            } else {
                self.open.len() - self.braces
            };
            if opened == 0 {
                return opener == b'{';
            }
        }
        while let Some(top) = self.open.pop() {
            self.braces -= usize::from(top == b'{');
            if top == opener {
                break;
            }
        }
        true
    }
}

/// Where the string whose quote is at `start` ends, behind the closing quote.
fn end_of_string(text: &[u8], start: usize, fault: &mut Option<Fault>) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr3(b'"', b'\\', b'\n', text.get(at..)?)?;
        match text.get(at)? {
            b'"' => return Some(at + 1),
            // The escaped byte must be there, lest a quote seen later be taken for the end.
            b'\\' => {
                text.get(at + 1)?;
                at += 2;
            }
            _ => {
                fault.get_or_insert(Fault {
                    at: start,
                    error: ReadError::LineBreakInString,
                });
                at += 1;
            }
        }
    }
}

/// Where a number, a literal or nonsense ends: before a comma, a closing bracket or a blank.
fn end_of_bare(window: &Window<'_>, start: usize) -> Option<usize> {
    let rest = window.text.get(start + 1..)?;
    match rest
        .iter()
        .position(|byte| is_blank(*byte) || matches!(byte, b',' | b']' | b'}'))
    {
        Some(length) => Some(start + 1 + length),
        None => window.last.then_some(window.text.len()),
    }
}

fn skip_blanks(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest
        .iter()
        .position(|byte| !is_blank(*byte))
        .unwrap_or(rest.len())
}

/// White space of JSON (RFC 8259, section 2).
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn kind_of(byte: u8) -> &'static str {
    match byte {
        b'"' => "a text",
        b'0'..=b'9' | b'-' => "a number",
        b't' | b'f' => "a truth value",
        b'n' => "null",
        _ => "something that is not JSON",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::testing::{Item, Stutter, bad, good, read_all, read_sized, read_source};
    use crate::format::{BlockSize, Format, Source};

    fn read(text: &str) -> (Vec<Item>, Option<String>) {
        let got = read_all(text.as_bytes(), "t.json");
        (got.records, got.error)
    }

    #[test]
    fn elements_are_records() {
        let cases: &[(&str, &[(u64, u64, &str)])] = &[
            ("", &[]),
            (" \n", &[]),
            ("[]", &[]),
            (" [ ] \n", &[]),
            ("[{}]", &[(1, 2, "{}")]),
            (
                "[\n  {\"a\": 1},\n  {\"b\": [2, {}]}\n]\n",
                &[(2, 3, "{\"a\": 1}"), (3, 3, "{\"b\": [2, {}]}")],
            ),
            ("\u{feff}[{},\r\n {}]", &[(1, 2, "{}"), (2, 2, "{}")]),
            // Brackets, commas and quotes in strings are text.
            (
                r#"[{"a":"]},[{\"\\"},"x]"]"#,
                &[(1, 2, r#"{"a":"]},[{\"\\"}"#), (1, 20, r#""x]""#)],
            ),
            (
                "[1, null,true , -2.5e3]",
                &[
                    (1, 2, "1"),
                    (1, 5, "null"),
                    (1, 10, "true"),
                    (1, 17, "-2.5e3"),
                ],
            ),
            ("[[1],[[]]]", &[(1, 2, "[1]"), (1, 6, "[[]]")]),
            // Left to the parser: no brackets are wrong.
            (
                "[{\"a\" 1}, oops, {}]",
                &[(1, 2, "{\"a\" 1}"), (1, 11, "oops"), (1, 17, "{}")],
            ),
            ("{\"tests\": [{}]}", &[(1, 12, "{}")]),
            (
                "{\"version\": 2, \"records\" : [ {}\n,{} ], \"x\": [1]}",
                &[(1, 30, "{}"), (2, 2, "{}")],
            ),
            (
                "{\"data\": \"a.csv\", \"meta\": {\"data\": [1]}, \"samples\": []}",
                &[],
            ),
            (
                "{\"data\": {\"a\": 1}, \"examples\": [7], \"test_cases\": {}}",
                &[(1, 33, "7")],
            ),
        ];
        for (text, want) in cases {
            let want: Vec<_> = want.iter().map(|(l, c, text)| good(*l, *c, text)).collect();
            assert_eq!(read(text), (want, None), "{text}");
        }
    }

    #[test]
    fn a_broken_element_is_an_event_and_its_neighbours_live() {
        let mismatched = |found, expected| ReadError::Mismatched { found, expected };
        let cases: Vec<(&str, Vec<Item>)> = vec![
            (
                "[{\"a\":1}\n {\"b\":2}]",
                vec![
                    good(1, 2, "{\"a\":1}"),
                    bad(2, 2, ReadError::MissingComma),
                    good(2, 2, "{\"b\":2}"),
                ],
            ),
            (
                "[1,]",
                vec![good(1, 2, "1"), bad(1, 4, ReadError::MissingElement)],
            ),
            (
                "[,1,,2]",
                vec![
                    bad(1, 2, ReadError::MissingElement),
                    good(1, 3, "1"),
                    bad(1, 5, ReadError::MissingElement),
                    good(1, 6, "2"),
                ],
            ),
            (
                "[{} x, {}]",
                vec![
                    good(1, 2, "{}"),
                    bad(1, 5, ReadError::UnexpectedText),
                    good(1, 8, "{}"),
                ],
            ),
            (
                "[{\"a\":[1,2}, {}]",
                vec![bad(1, 11, mismatched('}', ']')), good(1, 14, "{}")],
            ),
            (
                "[{\"a\":(1]}, {}]",
                // The bracket closes the array of records: what follows it is an error of its own.
                vec![bad(1, 9, mismatched(']', '}'))],
            ),
            ("[{\"a\":1]", vec![bad(1, 8, mismatched(']', '}'))]),
            (
                "[[1}], {}]",
                vec![bad(1, 4, mismatched('}', ']')), good(1, 8, "{}")],
            ),
            (
                "[{\"a\":\n \"x\ny\"}, {}]",
                vec![bad(2, 2, ReadError::LineBreakInString), good(3, 6, "{}")],
            ),
        ];
        for (text, want) in cases {
            let got = read(text);
            assert_eq!(got.0, want, "{text}");
        }
        let got = read_all(b"[{\"a\":\"\xff\"}, {\n\"b\":\"\xc3\"}, {}]", "t.json");
        let want = [
            bad(1, 8, ReadError::NotUtf8 { byte: 0xff }),
            bad(2, 6, ReadError::NotUtf8 { byte: 0xc3 }),
            good(2, 11, "{}"),
        ];
        assert_eq!(got.records, want);
    }

    #[test]
    fn wrong_structure_ends_the_file_with_an_error() {
        for (text, before, want) in [
            (
                "\"a\"",
                0,
                "t.json:1:1: expected an array of records, or an object",
            ),
            ("hello", 0, "found something that is not JSON"),
            (
                "\n 12",
                0,
                "t.json:2:2: expected an array of records, or an object with one array",
            ),
            (
                "[1] [2]",
                1,
                "t.json:1:5: text after the end of the JSON value",
            ),
            ("{\"tests\":[1]} x", 1, "t.json:1:15: text after the end"),
            (
                "[{},\n{\"a\":",
                1,
                "t.json:2:1: the record that begins here is not closed",
            ),
            (
                "[{}, ",
                1,
                "t.json:1:1: the array that begins here is not closed",
            ),
            (
                " [{}",
                1,
                "t.json:1:2: the array that begins here is not closed",
            ),
            (
                "{\"tests\": [1",
                1,
                "t.json:1:11: the array that begins here",
            ),
            (
                "{\"tests\": [1]",
                1,
                "t.json:1:1: the object that begins here is not closed",
            ),
            (
                "[{},{\"a\": \"b\n}, {}]",
                1,
                "t.json:1:11: the string that begins here is not closed",
            ),
            ("{\"a\" 1}", 0, "t.json:1:6: expected a colon"),
            ("{\"a\":}", 0, "t.json:1:6: expected a value"),
            ("{a:1}", 0, "t.json:1:2: expected a key in quotes"),
            (
                "{\"a\":1 \"b\":2}",
                0,
                "t.json:1:8: expected a comma, or the end of the object",
            ),
            ("{}", 0, "found the keys (none)"),
            ("{\"a\":1,\"rows\":[]}", 0, "found the keys `a`, `rows`"),
            ("{\"data\":{\"records\":[]}}", 0, "found the keys `data`"),
            (
                "{\"id\":1,\"output\":\"x\"}",
                0,
                "looks like one record (it has the key `output`)",
            ),
            (
                "{\"output\":\"x\",\"data\":[1]}",
                0,
                "looks like one record",
            ),
            (
                "{\"tests\":[1],\"query\":\"x\"}",
                1,
                "wrap it in [ ], or end the file's name in .jsonl",
            ),
            (
                "{\"tests\":[1],\"data\":[2]}",
                1,
                "two arrays of records, `tests` and `data`",
            ),
        ] {
            let (records, error) = read(text);
            let error = error.unwrap_or_else(|| panic!("{text}: no error"));
            assert!(error.contains(want), "{text}: {error}");
            assert_eq!(records.len(), before, "{text}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let text = format!("[{deep}, {{}}]");
        assert_eq!(read(&text).0, [good(1, 2, &deep), good(1, 200_004, "{}")]);
        // Closing brackets of the wrong kind do not search the stack again and again.
        let wrong = format!(
            "[{}{}{}]",
            "[".repeat(100_000),
            "}".repeat(1_000_000),
            "]".repeat(100_000)
        );
        assert_eq!(read(&wrong).0.len(), 1);
    }

    #[test]
    fn elements_larger_than_a_block_are_read() {
        let large = format!("{{\"a\":\"{}\"}}", "x\\\"".repeat(3000));
        let text = format!("[{large},{{}},{large}\n,{large}]");
        let size = BlockSize {
            bytes: 100,
            records: 10,
            record_bytes: 1 << 20,
        };
        let got = read_sized(text.as_bytes(), "t.json", size);
        let length = large.len() as u64;
        let want = [
            good(1, 2, &large),
            good(1, 3 + length, "{}"),
            good(1, 6 + length, &large),
            good(2, 2, &large),
        ];
        assert_eq!(got.records, want);
        assert_eq!(got.error, None);
        assert_eq!(got.end.bytes, text.len() as u64);
    }

    proptest! {
        #[test]
        fn blocks_depend_on_content_and_size_alone(
            text in "(\\[|\\{\"tests\":\\[)?[\\[\\]{}\",\\\\:1a \n\u{e9}]{0,200}(\\]|\\]\\})?",
            steps in prop::collection::vec(1..50_usize, 1..6),
            bytes in 1..100_usize,
            records in 1..20_usize,
        ) {
            let size = BlockSize { bytes, records, record_bytes: 1 << 20 };
            let read = |steps, size| {
                let stutter = Stutter::new(text.clone().into_bytes(), steps);
                let source = Source::reader("t.json", stutter);
                read_source(Source { format: Some(Format::Json), ..source }, size)
            };
            let whole = read(vec![usize::MAX], size);
            prop_assert_eq!(&whole, &read(steps, size));
            // The size of blocks changes nothing but where they end.
            let large = read(vec![usize::MAX], BlockSize::default());
            prop_assert_eq!(whole.records, large.records);
            prop_assert_eq!(whole.error, large.error);
        }

        #[test]
        fn valid_arrays_come_out_element_by_element(
            values in prop::collection::vec("[a-z\"\\\\,\\[\\]{} \u{4e16}]{0,12}", 0..20),
            bytes in 1..100_usize,
        ) {
            let elements: Vec<_> =
                values.iter().map(|value| serde_json::json!({ "k": [value] }).to_string()).collect();
            let text = format!("[{}]", elements.join(" ,\n"));
            let size = BlockSize { bytes, ..BlockSize::default() };
            let got = read_sized(text.as_bytes(), "t.json", size);
            let texts: Vec<_> = got.records.into_iter().map(|item| item.text.unwrap()).collect();
            prop_assert_eq!(texts, elements);
            prop_assert_eq!(got.error, None);
        }
    }
}
