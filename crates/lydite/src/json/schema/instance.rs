//! Our borrowed tree as an instance that `jsonschema` validates as it stands: nothing is copied,
//! and numbers are compared by their text.

use std::borrow::Cow;
use std::collections::HashSet;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json as Representation, JsonNumber, Node, NodeIdentity, Object};
use serde_json::Value;

use super::super::{Json, Member, canonical, find, number};

/// The representation whose nodes are `&Json`.
#[derive(Debug)]
pub(super) struct Borrowed;

impl Representation for Borrowed {
    type Node<'a> = &'a Json<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    /// Looking up a key walks over the members, so one pass over them is never worse.
    const KEYS_PER_LOOKUP: usize = 64;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Self::Node<'_>) -> T) -> T {
        f(&Json::String(Cow::Borrowed(string)))
    }
}

impl<'a> Node<'a, Borrowed> for &'a Json<'a> {
    type Object = &'a [Member<'a>];
    type Array = &'a [Json<'a>];
    type Number = Number<'a>;

    fn as_object(&self) -> Option<&'a [Member<'a>]> {
        match self {
            Json::Object(members) => Some(members),
            _ => None,
        }
    }

    fn as_array(&self) -> Option<&'a [Json<'a>]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            Json::String(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<Number<'a>> {
        match self {
            Json::Number(text) => Some(Number(text)),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    fn json_type(&self) -> JsonType {
        match self {
            Json::Null => JsonType::Null,
            Json::Bool(_) => JsonType::Boolean,
            Json::Number(_) => JsonType::Number,
            Json::String(_) => JsonType::String,
            Json::Array(_) => JsonType::Array,
            Json::Object(_) => JsonType::Object,
        }
    }

    /// A character takes one to four bytes: most bounds are decided without counting.
    fn string_length_within(&self, min: u64, max: u64) -> Option<bool> {
        let Json::String(text) = self else {
            return None;
        };
        let (fewest, most) = (text.len().div_ceil(4) as u64, text.len() as u64);
        if most < min || fewest > max {
            return Some(false);
        }
        if fewest >= min && most <= max {
            return Some(true);
        }
        Some((min..=max).contains(&(text.chars().count() as u64)))
    }

    fn equals_value(&self, expected: &Value) -> bool {
        equals(self, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(Json::to_value(self))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(
            std::ptr::from_ref::<Json<'a>>(self) as usize
        ))
    }
}

/// Equality against a value of the schema, whose numbers `serde_json` holds as 64-bit integers or
/// `f64`: the latter stand for the shortest decimals that give them.
fn equals(instance: &Json<'_>, expected: &Value) -> bool {
    match (instance, expected) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(a), Value::Bool(b)) => a == b,
        (Json::Number(a), Value::Number(b)) => match b.as_u64() {
            Some(b) if a.bytes().all(|byte| byte.is_ascii_digit()) => a.parse() == Ok(b),
            _ => number::equal(a, &b.to_string()),
        },
        (Json::String(a), Value::String(b)) => a == b,
        (Json::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equals(a, b))
        }
        (Json::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(&**key).is_some_and(|b| equals(a, b)))
        }
        _ => false,
    }
}

impl<'a> Object<'a, Borrowed> for &'a [Member<'a>] {
    type Node = &'a Json<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        <[Member<'a>]>::len(self)
    }

    fn get(&self, key: &String) -> Option<&'a Json<'a>> {
        find(self, key)
    }

    fn members(&self) -> Members<'a> {
        Members(self.iter())
    }
}

pub(super) struct Members<'a>(std::slice::Iter<'a, Member<'a>>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a Json<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (&**name, value))
    }
}

impl<'a> Array<'a, Borrowed> for &'a [Json<'a>] {
    type Node = &'a Json<'a>;
    type ElementsIter = std::slice::Iter<'a, Json<'a>>;

    fn len(&self) -> usize {
        <[Json<'a>]>::len(self)
    }

    fn elements(&self) -> std::slice::Iter<'a, Json<'a>> {
        self.iter()
    }

    fn is_unique(&self) -> bool {
        let mut texts = HashSet::with_capacity(self.elements().len());
        self.elements().all(|element| {
            let mut text = String::new();
            canonical(element, &mut text);
            texts.insert(text)
        })
    }
}

/// A number by its text.
pub(super) struct Number<'a>(&'a str);

impl JsonNumber for Number<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0
            .parse()
            .ok()
            .or_else(|| number::to_integer(self.0)?.try_into().ok())
    }

    fn as_i64(&self) -> Option<i64> {
        self.0
            .parse()
            .ok()
            .or_else(|| number::to_integer(self.0)?.try_into().ok())
    }

    fn as_f64(&self) -> Option<f64> {
        Some(number::to_f64(self.0)).filter(|value| value.is_finite())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(number::to_number(self.0))
    }

    fn is_integer(&self) -> bool {
        number::is_integer(self.0)
    }

    fn is_written_as_integer(&self) -> bool {
        number::is_plain_integer(self.0)
    }
}
