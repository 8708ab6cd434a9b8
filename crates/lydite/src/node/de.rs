//! The serde deserialiser over a node.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::schema::{allowed, did_you_mean};
use super::{NULL_AS_TEXT, Node, NodeValue, Resolved, Scalar, Shortened, Span, scalar};
use crate::path::push_segment;

/// Why a node is not the wanted type, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeError {
    /// What is wrong and what to do.
    pub message: String,
    /// JSON Pointer to the innermost node, from the node that was deserialised.
    pub path: String,
    /// Place of the innermost node.
    pub span: Span,
}

impl fmt::Display for DeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            out.write_str(&self.message)
        } else {
            write!(out, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for DeError {}

impl DeError {
    fn new(message: String) -> Self {
        Self {
            message,
            path: String::new(),
            span: Span::default(),
        }
    }

    /// Sets the place unless a node further in has done so.
    fn at(mut self, span: Span) -> Self {
        if !self.span.is_known() {
            self.span = span;
        }
        self
    }

    fn under(mut self, segment: &str) -> Self {
        let mut path = String::new();
        push_segment(&mut path, segment);
        self.path.insert_str(0, &path);
        self
    }
}

impl de::Error for DeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!(
            "expected {}, found {}",
            expected_name(expected),
            found_name(found)
        ))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::new(format!(
            "expected {}, found {found}",
            expected_name(expected)
        ))
    }

    fn unknown_variant(found: &str, expected: &'static [&'static str]) -> Self {
        Self::new(unknown("value", found, expected))
    }

    fn unknown_field(found: &str, expected: &'static [&'static str]) -> Self {
        Self::new(unknown("key", found, expected))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("missing key `{field}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!(
            "key `{field}` is given twice, perhaps under another of its names; remove one"
        ))
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        let result = match &self.value {
            NodeValue::Null(_) => visitor.visit_unit(),
            NodeValue::Scalar(scalar) => scalar.visit(visitor),
            NodeValue::Sequence(items) => visit_items(items, visitor),
            NodeValue::Mapping(entries) => visit_entries(entries, visitor),
        };
        self.located(result)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match &self.value {
            NodeValue::Scalar(scalar) => self.located(visitor.visit_borrowed_str(&scalar.text)),
            NodeValue::Null(_) => Err(DeError::new(NULL_AS_TEXT.to_owned()).at(self.span)),
            NodeValue::Sequence(_) | NodeValue::Mapping(_) => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        if self.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        if self.is_null() {
            visitor.visit_unit()
        } else {
            Err(self.unexpected(&visitor))
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        if name == WHOLE_NODE {
            hand_over(self, visitor)
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        match &self.value {
            NodeValue::Sequence(items) if items.len() == len => {
                self.located(visit_items(items, visitor))
            }
            NodeValue::Sequence(items) => {
                let message = format!("expected a list of {len}, found one of {}", items.len());
                Err(DeError::new(message).at(self.span))
            }
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        match &self.value {
            NodeValue::Scalar(scalar) => {
                self.located(visitor.visit_enum(scalar.text.as_str().into_deserializer()))
            }
            NodeValue::Null(_) => Err(DeError::new(NULL_AS_TEXT.to_owned()).at(self.span)),
            NodeValue::Mapping(entries) => {
                if let [(key, value)] = entries.as_slice() {
                    self.located(visitor.visit_enum(Variant { key, value }))
                } else {
                    let message = format!(
                        "expected a mapping of one key, found {} keys",
                        entries.len()
                    );
                    Err(DeError::new(message).at(self.span))
                }
            }
            NodeValue::Sequence(_) => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64
        bytes byte_buf seq map
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        match &self.value {
            NodeValue::Mapping(entries) => self.located(visit_entries(entries, visitor)),
            _ => Err(self.unexpected(&visitor)),
        }
    }
}

/// A field of this type takes whatever stands there: from a suite with source texts and places,
/// from any other format as [`Node::from_json`] makes it. For parameters that are text or
/// something else: serde's `untagged` would have made a number of `1.10`.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(WHOLE_NODE, NodeVisitor)
    }
}

impl schemars::JsonSchema for Node {
    fn schema_name() -> Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }

    fn inline_schema() -> bool {
        true
    }
}

/// The name under which [`Node`] asks a deserialiser for itself.
const WHOLE_NODE: &str = "lydite::node::Node";

thread_local! {
    /// The node on its way from [`hand_over`] to [`NodeVisitor`]: serde has no call that takes it.
    static HANDED: Cell<Option<Node>> = const { Cell::new(None) };
}

fn hand_over<'de, V: Visitor<'de>>(node: &'de Node, visitor: V) -> Result<V::Value, DeError> {
    HANDED.set(Some(node.clone()));
    let result = visitor.visit_unit();
    HANDED.set(None);
    result
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(HANDED
            .take()
            .unwrap_or_else(|| Node::from_json(&serde_json::Value::Null)))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, other: D) -> Result<Node, D::Error> {
        serde_json::Value::deserialize(other).map(|value| Node::from_json(&value))
    }
}

impl<'de> IntoDeserializer<'de, DeError> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl Node {
    fn located<T>(&self, result: Result<T, DeError>) -> Result<T, DeError> {
        result.map_err(|error| error.at(self.span))
    }

    fn unexpected(&self, expected: &dyn Expected) -> DeError {
        let expected = expected_name(expected);
        DeError::new(format!("expected {expected}, found {}", self.describe())).at(self.span)
    }
}

impl Scalar {
    fn visit<'de, V: Visitor<'de>>(&'de self, visitor: V) -> Result<V::Value, DeError> {
        match self.resolve() {
            Resolved::Bool(value) => visitor.visit_bool(value),
            Resolved::Unsigned(value) => visitor.visit_u64(value),
            Resolved::Signed(value) => visitor.visit_i64(value),
            Resolved::Float(value) => visitor.visit_f64(value),
            Resolved::Text => visitor.visit_borrowed_str(&self.text),
            Resolved::NotFinite => Err(DeError::new(format!(
                "{} is not a finite number; quote it if you mean the text",
                Shortened(&self.text)
            ))),
        }
    }
}

fn visit_items<'de, V: Visitor<'de>>(items: &'de [Node], visitor: V) -> Result<V::Value, DeError> {
    visitor.visit_seq(Items {
        items: items.iter(),
        position: 0,
    })
}

fn visit_entries<'de, V: Visitor<'de>>(
    entries: &'de [(Node, Node)],
    visitor: V,
) -> Result<V::Value, DeError> {
    visitor.visit_map(Entries {
        entries: entries.iter(),
        current: None,
    })
}

struct Items<'de> {
    items: std::slice::Iter<'de, Node>,
    position: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = DeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeError> {
        let Some(item) = self.items.next() else {
            return Ok(None);
        };
        let position = self.position;
        self.position += 1;
        let result = item.located(seed.deserialize(item));
        result
            .map(Some)
            .map_err(|error| error.under(&position.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'de> {
    entries: std::slice::Iter<'de, (Node, Node)>,
    current: Option<&'de (Node, Node)>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = DeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeError> {
        self.current = self.entries.next();
        let Some((key, _)) = self.current else {
            return Ok(None);
        };
        key.located(seed.deserialize(Key(key))).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, DeError> {
        let Some((key, value)) = self.current else {
            return Err(DeError::new(
                "a value was asked for before its key".to_owned(),
            ));
        };
        let result = value.located(seed.deserialize(value));
        result.map_err(|error| error.under(key.scalar_text()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// Keys of JSON are quoted, so a quoted number is a number where a key is to be one.
macro_rules! whole_number_keys {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
            match scalar::resolve(self.0.scalar_text()) {
                Resolved::Unsigned(value) => visitor.visit_u64(value),
                Resolved::Signed(value) => visitor.visit_i64(value),
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

/// A key: its text, unless a number is asked for.
struct Key<'de>(&'de Node);

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_borrowed_str(self.0.scalar_text())
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_some(self)
    }

    whole_number_keys! {
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// An externally tagged variant: `{name: content}`.
struct Variant<'de> {
    key: &'de Node,
    value: &'de Node,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = DeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), DeError> {
        let name: StrDeserializer<'de, DeError> = self.key.scalar_text().into_deserializer();
        let variant = self.key.located(seed.deserialize(name))?;
        Ok((variant, self))
    }
}

impl Variant<'_> {
    fn inside<T>(&self, result: Result<T, DeError>) -> Result<T, DeError> {
        self.value
            .located(result)
            .map_err(|error| error.under(self.key.scalar_text()))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = DeError;

    fn unit_variant(self) -> Result<(), DeError> {
        self.inside(<()>::deserialize(self.value))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DeError> {
        self.inside(seed.deserialize(self.value))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, DeError> {
        self.inside(self.value.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        self.inside(self.value.deserialize_struct("", fields, visitor))
    }
}

/// What serde's visitors say they expect, in the words of a suite.
fn expected_name(expected: &dyn Expected) -> String {
    let name = expected.to_string();
    let words = match name.as_str() {
        "f32" | "f64" => "a number",
        "i8" => "a whole number from -128 to 127",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number of at least 0",
        "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a boolean" => "`true` or `false`",
        "a string" | "string" => "a text",
        "a character" => "one character",
        "a sequence" => "a list",
        "a map" | "struct variant" => "a mapping",
        "unit" | "unit variant" => "nothing",
        "newtype variant" | "tuple variant" => "a mapping of its name and its content",
        name if name.starts_with("struct ") => "a mapping",
        name if name.starts_with("tuple ") => "a list",
        _ => return name,
    };
    words.to_owned()
}

fn found_name(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => format!("the number `{value}`"),
        Unexpected::Signed(value) => format!("the number `{value}`"),
        Unexpected::Float(value) => format!("the number `{value}`"),
        Unexpected::Str(text) => format!("the text {}", Shortened(text)),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a mapping".to_owned(),
        Unexpected::UnitVariant => "text alone".to_owned(),
        other => other.to_string(),
    }
}

fn unknown(what: &str, found: &str, expected: &'static [&'static str]) -> String {
    let hint = match did_you_mean(found, expected.iter().copied()) {
        Some(near) => format!(" (did you mean `{near}`?)"),
        None => String::new(),
    };
    format!(
        "unknown {what} {}{hint}; {}",
        Shortened(found),
        allowed(expected.iter().copied())
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields, rename_all = "snake_case")]
    struct Params {
        text: String,
        #[serde(default)]
        threshold: Option<f64>,
        #[serde(default)]
        count: u8,
        #[serde(default)]
        flag: bool,
        #[serde(default)]
        mode: Mode,
        #[serde(default)]
        pair: Option<(i64, String)>,
        #[serde(default)]
        weights: BTreeMap<String, f64>,
        #[serde(default)]
        grades: BTreeMap<u64, String>,
        #[serde(default)]
        id: Id,
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    struct Id(String);

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        #[default]
        Fast,
        Exact,
        Near {
            by: f64,
        },
        Many(Vec<String>),
        Both(u8, u8),
    }

    fn read(source: &str) -> Result<Params, DeError> {
        Node::parse(source).unwrap().deserialize_into()
    }

    #[test]
    fn structs_take_what_they_ask_for() {
        let source = "text: 1.10\nthreshold: 1e-1\ncount: 0x10\nflag: true\nmode: {near: {by: .5}}\n\
                      pair: [-3, 007]\nweights: {a: 1, 2: 0.5}\ngrades: {1: low, \"2\": no}\nid: 00a\n";
        assert_eq!(
            read(source).unwrap(),
            Params {
                text: "1.10".into(),
                threshold: Some(0.1),
                count: 16,
                flag: true,
                mode: Mode::Near { by: 0.5 },
                pair: Some((-3, "007".into())),
                weights: [("a".into(), 1.0), ("2".into(), 0.5)].into(),
                grades: [(1, "low".into()), (2, "no".into())].into(),
                id: Id("00a".into()),
            }
        );
        for (mode, expected) in [
            ("exact", Mode::Exact),
            ("{exact: }", Mode::Exact),
            (
                "{many: [1.0, true]}",
                Mode::Many(vec!["1.0".into(), "true".into()]),
            ),
            ("{both: [1, 2]}", Mode::Both(1, 2)),
        ] {
            assert_eq!(
                read(&format!("text: x\nmode: {mode}")).unwrap().mode,
                expected
            );
        }
        assert_eq!(
            read("{text: x, threshold: ~, pair: null}").unwrap().pair,
            None
        );
    }

    #[test]
    fn any_resolves_by_the_core_schema() {
        let node =
            Node::parse("[1.10, '1.10', 007, no, true, ~, 99999999999999999999, {1: x}]").unwrap();
        let value: Value = node.deserialize_into().unwrap();
        assert_eq!(
            value,
            json!([1.1, "1.10", 7, "no", true, null, 1e20, {"1": "x"}])
        );
        assert_eq!(value, node.to_json());
    }

    #[derive(Debug, Deserialize)]
    struct Loose {
        value: Node,
        #[serde(default)]
        more: Option<Node>,
    }

    #[test]
    fn a_field_takes_a_whole_node() {
        let root = Node::parse("value: [1.10, {a: ~}]\nmore: 0x1F").unwrap();
        let loose: Loose = root.deserialize_into().unwrap();
        assert_eq!(Some(&loose.value), root.get("value"));
        assert_eq!(loose.more.as_ref(), root.get("more"));
        let null: Loose = Node::parse("{value: ~, more: ~}")
            .unwrap()
            .deserialize_into()
            .unwrap();
        assert_eq!((null.value.is_null(), null.more), (true, None));
        let value = json!([1, {"a": null}]);
        let loose: Loose = serde_json::from_value(json!({"value": value, "more": "x"})).unwrap();
        assert_eq!(loose.value, Node::from_json(&value));
        assert_eq!(loose.more.unwrap().as_str(), Some("x"));
    }

    #[test]
    fn errors_know_path_and_place() {
        let table = [
            "text: ~",
            "threshold: 1",
            "{text: x, treshold: 1}",
            "{text: x, threshold: high}",
            "{text: x, threshold: '0.5'}",
            "{text: x, threshold: .inf}",
            "{text: x, threshold: 1e999}",
            "{text: x, count: 300}",
            "{text: x, count: 1.5}",
            "{text: x, flag: yes}",
            "{text: [x]}",
            "{text: x, mode: exakt}",
            "{text: x, mode: {near: {by: far}}}",
            "{text: x, mode: {near: {by: 1}, exact: }}",
            "{text: x, mode: {both: [1]}}",
            "{text: x, mode: {many: 3}}",
            "{text: x, mode: {exact: 3}}",
            "{text: x, mode: near}",
            "{text: x, pair: [1, 2, 3]}",
            "{text: x, weights: {a/b: x}}",
            "{text: x, grades: {a: x}}",
            "[1]",
            "plain",
        ];
        let mut told = String::new();
        for source in table {
            let error = read(source).expect_err(source);
            told += &format!(
                "{source}\n  {}:{} {error}\n",
                error.span.line, error.span.column
            );
        }
        insta::assert_snapshot!(told);
    }
}
