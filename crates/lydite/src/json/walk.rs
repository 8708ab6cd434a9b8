//! Reads one object member by member without building it: what records are decoded with.

use std::borrow::Cow;

use super::scan::{Fault, Scanner};
use super::{JsonError, JsonErrorKind};

/// Steps through the members of an object. The whole text must be that object.
///
/// Call [`next_key`](Self::next_key), then one of [`value`](Self::value) and [`skip`](Self::skip), until
/// there is no key.
pub(crate) struct ObjectWalk<'a> {
    scanner: Scanner<'a>,
    text: &'a str,
    first: bool,
    /// The source of the last escaped string, quotes included.
    escaped: &'a str,
}

/// A member's value as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberValue<'a> {
    Null,
    /// A string without escapes.
    Text(&'a str),
    /// A string with escapes; it was unescaped into the given buffer.
    Escaped,
    /// A string that is written as the last escaped one of the object: an answer that equals its
    /// reference, most often.
    Same,
    /// Any other value's source text.
    Json(&'a str),
}

impl<'a> ObjectWalk<'a> {
    /// `Ok(None)` where the text is JSON of another kind or none at all.
    pub(crate) fn new(text: &'a str) -> Result<Option<Self>, JsonError> {
        let mut walk = Self {
            scanner: Scanner::new(text),
            text,
            first: true,
            escaped: "",
        };
        walk.scanner.start().map_err(|fault| walk.error(&fault))?;
        Ok(walk.scanner.take(b'{').then_some(walk))
    }

    /// The next key, or `None` after the last member and the text's end.
    #[inline]
    pub(crate) fn next_key(&mut self) -> Result<Option<Cow<'a, str>>, JsonError> {
        let first = std::mem::replace(&mut self.first, false);
        match self.scanner.next_member(first) {
            Ok(true) => {}
            Ok(false) => {
                return self
                    .scanner
                    .end()
                    .map(|()| None)
                    .map_err(|fault| self.error(&fault));
            }
            Err(fault) => return Err(self.error(&fault)),
        }
        let key = self
            .scanner
            .string()
            .and_then(|key| self.scanner.colon().map(|()| key));
        key.map(Some).map_err(|fault| self.error(&fault))
    }

    /// The value of the key that was read last.
    #[inline]
    pub(crate) fn value(&mut self, buffer: &mut String) -> Result<MemberValue<'a>, JsonError> {
        if !self.escaped.is_empty() && self.scanner.take_text(self.escaped) {
            return Ok(MemberValue::Same);
        }
        let from = self.scanner.offset();
        let value = self
            .scanner
            .member_value(buffer)
            .map_err(|fault| self.error(&fault))?;
        if value == MemberValue::Escaped {
            self.escaped = self
                .text
                .get(from..self.scanner.offset())
                .unwrap_or_default();
        }
        Ok(value)
    }

    /// Steps over the value, checking its grammar only.
    #[inline]
    pub(crate) fn skip(&mut self) -> Result<(), JsonError> {
        self.scanner
            .skip_value()
            .map_err(|fault| self.error(&fault))
    }

    #[cold]
    fn error(&self, fault: &Fault) -> JsonError {
        JsonError::at(self.text, fault)
    }
}

impl JsonError {
    /// Whether it is half of a surrogate pair.
    pub(crate) fn is_lone_surrogate(&self) -> bool {
        self.kind == JsonErrorKind::LoneSurrogate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Result<Vec<(String, String)>, JsonError> {
        let mut found = Vec::new();
        let mut buffer = String::new();
        let Some(mut walk) = ObjectWalk::new(text)? else {
            return Ok(vec![("no".into(), "object".into())]);
        };
        while let Some(key) = walk.next_key()? {
            let value = match walk.value(&mut buffer)? {
                MemberValue::Null => "null".to_owned(),
                MemberValue::Text(text) => format!("text {text}"),
                MemberValue::Escaped => format!("escaped {buffer}"),
                MemberValue::Same => "same".to_owned(),
                MemberValue::Json(source) => format!("json {source}"),
            };
            found.push((key.into_owned(), value));
        }
        Ok(found)
    }

    #[test]
    fn members_come_in_order_with_their_sources() {
        let text = r#" { "a" : "x" , "b\u0031":"q\"\n😀","c":[1, {"d": 2.50}] ,"e":null,"f":true,"g":-0.0 } "#;
        let expected = [
            ("a", "text x"),
            ("b1", "escaped q\"\n😀"),
            ("c", "json [1, {\"d\": 2.50}]"),
            ("e", "null"),
            ("f", "json true"),
            ("g", "json -0.0"),
        ];
        let found = members(text).unwrap();
        assert_eq!(
            found,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
        assert_eq!(members("{}").unwrap(), []);
        assert_eq!(
            members("[1]").unwrap(),
            [("no".to_owned(), "object".to_owned())]
        );
    }

    #[test]
    fn a_string_that_repeats_an_escaped_one_is_known_without_reading() {
        let text = r#"{"a":"x\"y","b":"x\"y","c":"x\"yz","d":"x","e":"x\"yz"}"#;
        let values: Vec<String> = members(text)
            .unwrap()
            .into_iter()
            .map(|(_, value)| value)
            .collect();
        assert_eq!(
            values,
            ["escaped x\"y", "same", "escaped x\"yz", "text x", "same"]
        );
        assert_eq!(members(r#"{"a":"x\"y","b":"x\"y""#).unwrap_err().offset, 22);
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        for (text, offset) in [
            ("{\"a\":1,}", 7),
            ("{\"a\" 1}", 5),
            ("{\"a\":1} x", 8),
            ("{\"a\":\"b", 7),
            ("{a:1}", 1),
            ("{\"a\":NaN}", 5),
            ("{\"a\":1 \"b\":2}", 7),
            ("", 0),
            ("{\"a\":\"\\ud800\"}", 6),
        ] {
            assert_eq!(members(text).unwrap_err().offset, offset, "{text}");
        }
    }
}
