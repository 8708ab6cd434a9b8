//! A suite as a tree of nodes that know where they stand in the file.
//!
//! YAML 1.2 with the core schema, and so JSON too: `true` and `false` are booleans, `yes` and `no`
//! are text, there are no dates. A scalar keeps its source text until someone asks for a number,
//! so that `1.10`, `01234`, `0x1F` and `2024-01-01` reach a text parameter as they were written.
//!
//! The way of a suite: [`Node::parse`] → [`check_against_schema`], which reports every error at
//! once → [`Node::deserialize_into`] → and where something is wrong, [`render`].

mod de;
mod edit;
mod parse;
mod scalar;
mod schema;
mod snippet;

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use de::DeError;
pub use parse::{MAX_DEPTH, MAX_NODES};
pub use schema::{Problem, check_against_schema, did_you_mean};
pub use snippet::render;

use scalar::Resolved;

/// A place in a source text.
///
/// Bytes count from 0, `end_byte` is exclusive. Lines and columns count from 1, columns in
/// characters. The default, line 0, is the place of a node that was not read from a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start_byte: usize,
    /// One past the last byte.
    pub end_byte: usize,
    /// Line of the first character.
    pub line: usize,
    /// Column of the first character.
    pub column: usize,
}

impl Span {
    /// Whether the span stands for a real place.
    pub fn is_known(self) -> bool {
        self.line > 0
    }
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What was written.
    pub value: NodeValue,
    /// Where it was written; under an alias, where the alias stands.
    pub span: Span,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeValue {
    /// A plain null with its source text: empty, `~` or `null`.
    Null(String),
    /// Text, number or boolean; which one is decided by the reader.
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys (always scalars, no two with the same text) and values in source order.
    Mapping(Vec<(Node, Node)>),
}

/// A scalar before anyone has decided what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Source text of a plain scalar; the unescaped text of a quoted or block one.
    pub text: String,
    /// Neither quoted nor a block nor tagged `!!str`: may be read as a number or a boolean.
    pub plain: bool,
}

/// Why a text is not a suite's YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {message}", span.line, span.column)]
pub struct NodeError {
    /// What is wrong and what to do.
    pub message: String,
    /// Where.
    pub span: Span,
}

impl Node {
    /// Reads one YAML or JSON document. A byte-order mark at the start is skipped; nothing but
    /// comments gives null.
    ///
    /// # Errors
    /// The first thing that is not YAML, and what is YAML but refused: several documents, keys
    /// that are twice in a mapping or are not scalars, merge keys, tags outside the core schema,
    /// nesting deeper than [`MAX_DEPTH`], more than [`MAX_NODES`] nodes with aliases written out.
    pub fn parse(source: &str) -> Result<Self, NodeError> {
        parse::parse(source)
    }

    /// Turns the node into a `T`; see [`DeError`] for what an error knows.
    ///
    /// Text takes a plain scalar's source text, numbers and booleans take plain scalars of the
    /// core schema, `Option` takes null as `None`, an enum is a scalar or a mapping of one key.
    pub fn deserialize_into<T: DeserializeOwned>(&self) -> Result<T, DeError> {
        T::deserialize(self)
    }

    /// The JSON value under the core schema. Numbers past 64 bits become floats; what JSON has no
    /// number for (`.inf`, `.nan`, `1e999`) stays text.
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Null(_) => Value::Null,
            NodeValue::Scalar(scalar) => scalar.to_json(),
            NodeValue::Sequence(items) => items.iter().map(Node::to_json).collect(),
            NodeValue::Mapping(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.scalar_text().to_owned(), value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// A tree without places; [`Node::to_json`] undoes it exactly.
    pub fn from_json(value: &Value) -> Self {
        Self::new(match value {
            Value::Null => NodeValue::Null("null".to_owned()),
            Value::Bool(_) | Value::Number(_) => Scalar::plain(value.to_string()),
            Value::String(text) => Scalar::quoted(text.clone()),
            Value::Array(items) => NodeValue::Sequence(items.iter().map(Self::from_json).collect()),
            Value::Object(map) => NodeValue::Mapping(
                map.iter()
                    .map(|(key, value)| {
                        (
                            Self::new(Scalar::quoted(key.clone())),
                            Self::from_json(value),
                        )
                    })
                    .collect(),
            ),
        })
    }

    /// The value under a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()
            .iter()
            .find(|(name, _)| name.scalar_text() == key)
            .map(|(_, value)| value)
    }

    /// The node at a JSON Pointer (RFC 6901); the empty pointer is the node itself.
    pub fn pointer(&self, pointer: &str) -> Option<&Node> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer
            .strip_prefix('/')?
            .split('/')
            .try_fold(self, |node, segment| match &node.value {
                NodeValue::Sequence(items) => items.get(array_index(segment)?),
                NodeValue::Mapping(_) if segment.contains('~') => {
                    node.get(&segment.replace("~1", "/").replace("~0", "~"))
                }
                NodeValue::Mapping(_) => node.get(segment),
                NodeValue::Null(_) | NodeValue::Scalar(_) => None,
            })
    }

    /// The text of any scalar, quoted or plain; `None` for null, lists and mappings.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Scalar(scalar) => Some(&scalar.text),
            _ => None,
        }
    }

    /// Whether this is a plain null, or nothing at all where a value was expected.
    pub fn is_null(&self) -> bool {
        matches!(self.value, NodeValue::Null(_))
    }

    /// The items of a list; empty for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            NodeValue::Sequence(items) => items,
            _ => &[],
        }
    }

    /// Keys and values of a mapping; empty for anything else.
    pub fn entries(&self) -> &[(Node, Node)] {
        match &self.value {
            NodeValue::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// What the core schema says this is, for error texts: `null`, `text`, `number`, `boolean`,
    /// `list` or `mapping`.
    pub fn kind_name(&self) -> &'static str {
        match &self.value {
            NodeValue::Null(_) => "null",
            NodeValue::Scalar(scalar) => match scalar.resolve() {
                Resolved::Bool(_) => "boolean",
                Resolved::Text => "text",
                _ => "number",
            },
            NodeValue::Sequence(_) => "list",
            NodeValue::Mapping(_) => "mapping",
        }
    }

    fn new(value: NodeValue) -> Self {
        Self {
            value,
            span: Span::default(),
        }
    }

    /// The text of a scalar or null, which every key is; empty for lists and mappings.
    fn scalar_text(&self) -> &str {
        match &self.value {
            NodeValue::Null(text) => text,
            NodeValue::Scalar(scalar) => &scalar.text,
            NodeValue::Sequence(_) | NodeValue::Mapping(_) => "",
        }
    }

    /// The node as an error text names it: "the text `abc`", "a list".
    fn describe(&self) -> String {
        match &self.value {
            NodeValue::Null(text) if text.is_empty() => "nothing".to_owned(),
            NodeValue::Null(_) => "null".to_owned(),
            NodeValue::Scalar(scalar) => match scalar.resolve() {
                Resolved::Bool(value) => value.to_string(),
                Resolved::Text if scalar.text.is_empty() => "an empty text".to_owned(),
                Resolved::Text => format!("the text {}", Shortened(&scalar.text)),
                _ => format!("the number {}", Shortened(&scalar.text)),
            },
            NodeValue::Sequence(_) => "a list".to_owned(),
            NodeValue::Mapping(_) => "a mapping".to_owned(),
        }
    }
}

impl Scalar {
    fn plain(text: String) -> NodeValue {
        NodeValue::Scalar(Self { text, plain: true })
    }

    fn quoted(text: String) -> NodeValue {
        NodeValue::Scalar(Self { text, plain: false })
    }

    fn resolve(&self) -> Resolved {
        if self.plain {
            scalar::resolve(&self.text)
        } else {
            Resolved::Text
        }
    }

    fn to_json(&self) -> Value {
        match self.resolve() {
            Resolved::Bool(value) => Value::Bool(value),
            Resolved::Unsigned(value) => value.into(),
            Resolved::Signed(value) => value.into(),
            Resolved::Float(value) => value.into(),
            Resolved::Text | Resolved::NotFinite => Value::String(self.text.clone()),
        }
    }
}

/// What an error says about null where text belongs.
const NULL_AS_TEXT: &str = "value is null; quote it if you mean the text";

/// A text in backticks, cut to what fits an error message.
struct Shortened<'a>(&'a str);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 40;
        out.write_str("`")?;
        for (position, letter) in self.0.chars().enumerate() {
            if position == LONGEST {
                return out.write_str("…`");
            }
            match letter {
                '\n' => out.write_str("\\n")?,
                letter if letter.is_control() => write!(out, "{}", letter.escape_default())?,
                letter => write!(out, "{letter}")?,
            }
        }
        out.write_str("`")
    }
}

/// An index as RFC 6901 writes it: digits without a leading zero.
fn array_index(segment: &str) -> Option<usize> {
    let canonical = segment == "0" || !segment.starts_with(['0', '+']);
    if canonical {
        segment.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn value_of(source: &str) -> Node {
        Node::parse(source).unwrap().get("value").unwrap().clone()
    }

    /// Source text after `value:`, kind, text as a text parameter, JSON value.
    #[test]
    fn plain_scalars_keep_their_text_and_resolve_by_the_core_schema() {
        let table: &[(&str, &str, &str, Value)] = &[
            // pf-type-01, -02: no dates
            ("2024-01-01", "text", "2024-01-01", json!("2024-01-01")),
            (
                "2024-01-01T10:00:00Z",
                "text",
                "2024-01-01T10:00:00Z",
                json!("2024-01-01T10:00:00Z"),
            ),
            // pf-type-03, -04
            ("1e3", "number", "1e3", json!(1000.0)),
            ("0x1F", "number", "0x1F", json!(31)),
            // pf-type-07, -16
            ("1.10", "number", "1.10", json!(1.1)),
            // pf-type-08
            ("0", "number", "0", json!(0)),
            // pf-type-10, -13, -15: nothing is dereferenced or rendered
            (
                "file://nothere.txt",
                "text",
                "file://nothere.txt",
                json!("file://nothere.txt"),
            ),
            ("100 {% off", "text", "100 {% off", json!("100 {% off")),
            ("^a{{2}}$", "text", "^a{{2}}$", json!("^a{{2}}$")),
            ("'{{7*7}}'", "text", "{{7*7}}", json!("{{7*7}}")),
            ("01234", "number", "01234", json!(1234)),
            ("0o17", "number", "0o17", json!(15)),
            ("017", "number", "017", json!(17)),
            ("+5", "number", "+5", json!(5)),
            ("-5", "number", "-5", json!(-5)),
            (".5", "number", ".5", json!(0.5)),
            ("5.", "number", "5.", json!(5.0)),
            ("1_000", "text", "1_000", json!("1_000")),
            ("0b11", "text", "0b11", json!("0b11")),
            ("12:30:45", "text", "12:30:45", json!("12:30:45")),
            (
                "18446744073709551615",
                "number",
                "18446744073709551615",
                json!(u64::MAX),
            ),
            (
                "18446744073709551616",
                "number",
                "18446744073709551616",
                json!(18_446_744_073_709_551_616.0),
            ),
            ("1e999", "number", "1e999", json!("1e999")),
            (".inf", "number", ".inf", json!(".inf")),
            (".nan", "number", ".nan", json!(".nan")),
            ("true", "boolean", "true", json!(true)),
            ("False", "boolean", "False", json!(false)),
            ("tRUE", "text", "tRUE", json!("tRUE")),
            ("yes", "text", "yes", json!("yes")),
            ("no", "text", "no", json!("no")),
            ("on", "text", "on", json!("on")),
            ("n", "text", "n", json!("n")),
            ("nil", "text", "nil", json!("nil")),
            ("'~'", "text", "~", json!("~")),
            ("\"null\"", "text", "null", json!("null")),
            ("'1.10'", "text", "1.10", json!("1.10")),
            ("!!str 1.10", "text", "1.10", json!("1.10")),
            ("!!str", "text", "", json!("")),
            ("!!int \"5\"", "number", "5", json!(5)),
            ("!!float 5", "number", "5", json!(5)),
            ("! 12", "text", "12", json!("12")),
            ("=", "text", "=", json!("=")),
            ("a b", "text", "a b", json!("a b")),
            ("|\n  x\n  y\n", "text", "x\ny\n", json!("x\ny\n")),
            (">-\n  x\n  y\n", "text", "x y", json!("x y")),
        ];
        for (source, kind, text, json) in table {
            let node = value_of(&format!("value: {source}"));
            assert_eq!(node.kind_name(), *kind, "{source}");
            assert_eq!(node.as_str(), Some(*text), "{source}");
            assert_eq!(
                node.deserialize_into::<String>().unwrap(),
                *text,
                "{source}"
            );
            assert_eq!(node.to_json(), *json, "{source}");
        }
    }

    /// pf-type-06: null is told from text, and says what to do.
    #[test]
    fn nulls_are_not_text() {
        for text in ["", "~", "null", "Null", "NULL"] {
            let node = value_of(&format!("value: {text}"));
            assert_eq!(node.value, NodeValue::Null(text.to_owned()));
            assert_eq!(node.to_json(), Value::Null);
            assert_eq!(node.as_str(), None);
            assert_eq!(node.deserialize_into::<Option<String>>().unwrap(), None);
            assert_eq!(
                node.deserialize_into::<String>().unwrap_err().message,
                NULL_AS_TEXT
            );
        }
        assert_eq!(
            value_of("value: !!null ''").value,
            NodeValue::Null(String::new())
        );
    }

    #[test]
    fn spans_point_at_what_they_cover() {
        let source = "\u{feff}a: 1\r\nüü: {b: \"é\", c: [x,\r\n  y]}\r\nd:\r\n  - |\r\n    k\r\n  - é: z\r\n";
        let root = Node::parse(source).unwrap();
        let table = [
            ("/a", "1", 1, 4),
            ("/üü", "{b: \"é\", c: [x,\r\n  y]}", 2, 5),
            ("/üü/b", "\"é\"", 2, 9),
            ("/üü/c/1", "y", 3, 3),
            ("/d", "- |\r\n    k\r\n  - é: z", 5, 3),
            ("/d/1/é", "z", 7, 8),
        ];
        for (pointer, text, line, column) in table {
            let span = root.pointer(pointer).unwrap().span;
            assert_eq!(&source[span.start_byte..span.end_byte], text, "{pointer}");
            assert_eq!((span.line, span.column), (line, column), "{pointer}");
        }
        assert_eq!((root.span.line, root.span.column), (1, 1));
    }

    #[test]
    fn json_is_yaml() {
        let source = "{\n\t\"a\": [1, 2.50, -0, \"x\\/y\\u00e9\\ud83d\\ude00\"],\n\t\"n\":null,\"t\":true, \"o\":{\"k\":{}},\"e\":[]}\n";
        assert_eq!(
            Node::parse(source).unwrap().to_json(),
            json!({"a": [1, 2.5, 0, "x/yé😀"], "n": null, "t": true, "o": {"k": {}}, "e": []})
        );
        assert_eq!(Node::parse("{\"a\":1}").unwrap().to_json(), json!({"a": 1}));
        let long = format!("{{\"{}\": 1}}", "k".repeat(3000));
        assert_eq!(Node::parse(&long).unwrap().entries().len(), 1);
    }

    #[test]
    fn documents_without_content_are_null() {
        for source in ["", "\u{feff}", "# only a comment\n", "---\n", "---\n...\n"] {
            assert!(Node::parse(source).unwrap().is_null(), "{source:?}");
        }
    }

    #[test]
    fn aliases_are_written_out() {
        let source = "base: &b {x: 1, y: [2]}\nuse: *b\nlist:\n  - *b\n  - &b 5\n  - *b\n";
        let root = Node::parse(source).unwrap();
        assert_eq!(
            root.to_json(),
            json!({"base": {"x": 1, "y": [2]}, "use": {"x": 1, "y": [2]}, "list": [{"x": 1, "y": [2]}, 5, 5]})
        );
        let span = root.get("use").unwrap().span;
        assert_eq!(&source[span.start_byte..span.end_byte], "*b");
    }

    #[test]
    fn pointers() {
        let root = Node::parse("a/b: {'~x': [1, {y: 2}]}\n0: zero").unwrap();
        assert_eq!(root.pointer("/a~1b/~0x/1/y").unwrap().as_str(), Some("2"));
        assert_eq!(root.pointer("/0").unwrap().as_str(), Some("zero"));
        assert_eq!(root.pointer(""), Some(&root));
        for missing in ["a", "/a", "/a~1b/~0x/01", "/a~1b/~0x/2", "/0/x", "/"] {
            assert_eq!(root.pointer(missing), None, "{missing}");
        }
    }

    fn bomb() -> String {
        let mut source = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let item = format!("*a{}", level - 1);
            source += &format!("a{level}: &a{level} [{}]\n", vec![item; 10].join(", "));
        }
        source
    }

    /// Every wrong text with what it is told: `line:column message`.
    #[test]
    fn wrong_texts() {
        let chain = (1..200).fold("a0: &a0 [x]\n".to_owned(), |source, level| {
            source + &format!("a{level}: &a{level} [*a{}]\n", level - 1)
        });
        let table: Vec<(&str, String)> = vec![
            ("duplicate key", "checks: 1\nname: x\nchecks: 2\n".into()),
            ("duplicate key, quoted", "{\"a\": 1, a: 2}".into()),
            ("two documents", "a: 1\n---\nb: 2\n".into()),
            ("tab as indentation", "a:\n\tb: 1\n".into()),
            ("bad indentation", "a:\n    b: 1\n  c: 2\n".into()),
            ("unclosed double quote", "a: 1\nb: \"text\nc: 2\n".into()),
            ("unclosed single quote", "a: 'it\n".into()),
            ("unclosed bracket", "a: [1, 2\nb: 3\n".into()),
            ("mismatched bracket", "a: [1, 2}\n".into()),
            ("colon in plain text", "phrase: say: hello\n".into()),
            ("unknown alias", "a: *nowhere\n".into()),
            ("alias of itself", "a: &a [*a]\n".into()),
            ("merge key", "a: &a {x: 1}\nb:\n  <<: *a\n".into()),
            ("unknown tag", "a: !vault 1\n".into()),
            ("binary tag", "a: !!binary aGk=\n".into()),
            ("tag that does not fit", "a: !!int x\n".into()),
            ("tag on a list", "a: !!str [1]\n".into()),
            ("list as a key", "[1, 2]: x\n".into()),
            ("null as a key", "~: x\n".into()),
            ("reserved character", "a: @home\n".into()),
            ("backtick", "a: `x`\n".into()),
            ("unknown escape", "a: \"\\d+\"\n".into()),
            ("control character", "a: \u{7f}\n".into()),
            ("text after a quote", "a: \"x\" y\n".into()),
            ("list item in a mapping", "a: 1\n- b\n".into()),
            ("billion laughs", bomb()),
            ("too deep by aliases", chain),
            ("too deep, flow", "[".repeat(100_000)),
            ("too deep, block", "- ".repeat(100_000)),
            ("too deep, mappings", "{a: ".repeat(100_000)),
        ];
        let mut told = String::new();
        for (title, source) in table {
            let error = Node::parse(&source).expect_err(title);
            told += &format!(
                "{title}\n  {}:{} {}\n",
                error.span.line, error.span.column, error.message
            );
        }
        insta::assert_snapshot!(told);
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
            "[-+~.0-9eExX]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((".*", inner), 0..6)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn parsing_never_panics(source in "(?s).{0,200}") {
            let _ = Node::parse(&source);
        }

        #[test]
        fn parsing_yaml_like_text_never_panics(source in "[-a:{}\\[\\],&*!|>'\"#%@ \\t\\r\\n1.~?]{0,60}") {
            if let Ok(node) = Node::parse(&source) {
                let _ = node.to_json();
                let shown = render("f", &source, node.span, "message", None);
                prop_assert!(shown.starts_with("f:"));
            }
        }

        #[test]
        fn json_goes_through_nodes_unchanged(value in json_value()) {
            prop_assert_eq!(&Node::from_json(&value).to_json(), &value);
            let again: Value = Node::from_json(&value).deserialize_into().unwrap();
            prop_assert_eq!(&again, &value);
        }

        #[test]
        fn json_text_is_read_as_json(value in json_value()) {
            // YAML has no raw control characters, JSON has those past U+007E.
            let text = serde_json::to_string_pretty(&value).unwrap();
            let is_raw = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{feff}';
            if text.contains(is_raw) {
                return Ok(());
            }
            prop_assert_eq!(Node::parse(&text).map(|node| node.to_json()), Ok(value));
        }
    }
}
