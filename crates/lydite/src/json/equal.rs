//! Equality of JSON values, and where two values differ.
//!
//! Equality is by type and value: the order of keys never counts, `true` is not 1, 1 is 1.0, and
//! numbers are compared exactly. Lists are compared in order, or as multisets at every level.

use std::ops::ControlFlow;

use super::{Json, Lookup, Member, canonical, compact, number, push_index};
use crate::path::push_segment;
use crate::text::beginning;

/// Whether two values are equal; `ordered: false` leaves the order of every list free.
pub fn equal(a: &Json<'_>, b: &Json<'_>, ordered: bool) -> bool {
    match (a, b) {
        (Json::Null, Json::Null) => true,
        (Json::Bool(a), Json::Bool(b)) => a == b,
        (Json::Number(a), Json::Number(b)) => number::equal(a, b),
        (Json::String(a), Json::String(b)) => a == b,
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len()
                && if ordered {
                    a.iter().zip(b).all(|(a, b)| equal(a, b, true))
                } else {
                    partners(a, b).iter().all(Option::is_some)
                }
        }
        (Json::Object(a), Json::Object(b)) => a.len() == b.len() && equal_members(a, b, ordered),
        _ => false,
    }
}

fn equal_members(a: &[Member<'_>], b: &[Member<'_>], ordered: bool) -> bool {
    let mut b = Lookup::new(b);
    a.iter()
        .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b, ordered)))
}

/// One place where the output is not as the reference.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// JSON Pointer (RFC 6901) into the reference; into the output where only it has the value.
    pub path: String,
    pub kind: DifferenceKind,
    /// The reference's value as compact JSON, cut to about 80 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The output's value, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
}

/// In what way a place differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// Only the reference has it.
    Missing,
    /// Only the output has it.
    Unexpected,
    /// Both have it, with values of different types.
    Type,
    /// Both have it, with values of one type.
    Value,
}

/// The first `limit` differences, in the order of the reference; none where the values are equal.
///
/// With `ordered: false` equal elements are paired off wherever they stand. Of the rest, two that
/// stand at the same index are compared with each other, the others are missing or unexpected.
pub fn diff(
    reference: &Json<'_>,
    output: &Json<'_>,
    ordered: bool,
    limit: usize,
) -> Vec<Difference> {
    let mut differ = Differ {
        ordered,
        limit,
        path: String::new(),
        found: Vec::new(),
    };
    let _ = differ.compare(reference, output);
    differ.found
}

/// Breaks off once enough is found.
type Flow = ControlFlow<()>;

struct Differ {
    ordered: bool,
    limit: usize,
    path: String,
    found: Vec<Difference>,
}

impl Differ {
    fn compare(&mut self, a: &Json<'_>, b: &Json<'_>) -> Flow {
        match (a, b) {
            (Json::Object(a), Json::Object(b)) => self.members(a, b),
            (Json::Array(a), Json::Array(b)) if self.ordered => self.in_order(a, b),
            (Json::Array(a), Json::Array(b)) => self.in_any_order(a, b),
            _ if equal(a, b, self.ordered) => Flow::Continue(()),
            _ if a.type_name() == b.type_name() => {
                self.report(DifferenceKind::Value, Some(a), Some(b))
            }
            _ => self.report(DifferenceKind::Type, Some(a), Some(b)),
        }
    }

    fn members(&mut self, a: &[Member<'_>], b: &[Member<'_>]) -> Flow {
        let mut in_b = Lookup::new(b);
        for (key, a) in a {
            let b = in_b.get(key);
            self.below(|path| push_segment(path, key), Some(a), b)?;
        }
        let mut in_a = Lookup::new(a);
        for (key, b) in b {
            if in_a.get(key).is_none() {
                self.below(|path| push_segment(path, key), None, Some(b))?;
            }
        }
        Flow::Continue(())
    }

    fn in_order(&mut self, a: &[Json<'_>], b: &[Json<'_>]) -> Flow {
        for index in 0..a.len().max(b.len()) {
            self.below(|path| push_index(path, index), a.get(index), b.get(index))?;
        }
        Flow::Continue(())
    }

    fn in_any_order(&mut self, a: &[Json<'_>], b: &[Json<'_>]) -> Flow {
        let partner_of_a = partners(a, b);
        let mut b_is_paired = vec![false; b.len()];
        for index in partner_of_a.iter().flatten() {
            if let Some(paired) = b_is_paired.get_mut(*index) {
                *paired = true;
            }
        }
        for index in 0..a.len().max(b.len()) {
            let left = a
                .get(index)
                .filter(|_| partner_of_a.get(index) == Some(&None));
            let right = b
                .get(index)
                .filter(|_| b_is_paired.get(index) == Some(&false));
            self.below(|path| push_index(path, index), left, right)?;
        }
        Flow::Continue(())
    }

    /// Compares two values one step further down; either may not be there.
    fn below(
        &mut self,
        step: impl FnOnce(&mut String),
        a: Option<&Json<'_>>,
        b: Option<&Json<'_>>,
    ) -> Flow {
        let length = self.path.len();
        step(&mut self.path);
        let flow = match (a, b) {
            (Some(a), Some(b)) => self.compare(a, b),
            (Some(_), None) => self.report(DifferenceKind::Missing, a, None),
            (None, Some(_)) => self.report(DifferenceKind::Unexpected, None, b),
            (None, None) => Flow::Continue(()),
        };
        self.path.truncate(length);
        flow
    }

    fn report(&mut self, kind: DifferenceKind, a: Option<&Json<'_>>, b: Option<&Json<'_>>) -> Flow {
        if self.found.len() >= self.limit {
            return Flow::Break(());
        }
        self.found.push(Difference {
            path: self.path.clone(),
            kind,
            expected: a.map(excerpt),
            actual: b.map(excerpt),
        });
        Flow::Continue(())
    }
}

/// For each element of `a` the index of an equal element of `b` that no other has; elements at the
/// same index are paired first. As equality is transitive, taking any free one is the best pairing.
fn partners(a: &[Json<'_>], b: &[Json<'_>]) -> Vec<Option<usize>> {
    if a.len().min(b.len()) > 32 {
        return partners_by_text(a, b);
    }
    let mut taken = vec![false; b.len()];
    let mut partner: Vec<Option<usize>> = vec![None; a.len()];
    for (index, ((a, b), found)) in a.iter().zip(b).zip(&mut partner).enumerate() {
        if equal(a, b, false) {
            *found = Some(index);
            if let Some(taken) = taken.get_mut(index) {
                *taken = true;
            }
        }
    }
    for (a, found) in a
        .iter()
        .zip(&mut partner)
        .filter(|(_, found)| found.is_none())
    {
        let mut free = b.iter().zip(&mut taken).enumerate();
        if let Some((index, (_, taken))) =
            free.find(|(_, (b, taken))| !**taken && equal(a, b, false))
        {
            *taken = true;
            *found = Some(index);
        }
    }
    partner
}

/// The same for long lists, by sorting: equal values have equal texts.
fn partners_by_text(a: &[Json<'_>], b: &[Json<'_>]) -> Vec<Option<usize>> {
    let (mut texts_a, mut texts_b) = (order_free_texts(a), order_free_texts(b));
    let mut partner = vec![None; a.len()];
    for (index, found) in partner.iter_mut().enumerate() {
        if let (Some(a), Some(b)) = (texts_a.get_mut(index), texts_b.get_mut(index))
            && a.is_some()
            && a == b
        {
            (*a, *b, *found) = (None, None, Some(index));
        }
    }
    let (rest_a, mut rest_b) = (sorted(texts_a), sorted(texts_b).into_iter().peekable());
    for (text, index) in rest_a {
        while rest_b.next_if(|(other, _)| *other < text).is_some() {}
        if let Some((_, at)) = rest_b.next_if(|(other, _)| *other == text)
            && let Some(found) = partner.get_mut(index)
        {
            *found = Some(at);
        }
    }
    partner
}

fn sorted(texts: Vec<Option<String>>) -> Vec<(String, usize)> {
    let with_index = texts.into_iter().enumerate();
    let mut rest: Vec<_> = with_index
        .filter_map(|(at, text)| Some((text?, at)))
        .collect();
    rest.sort_unstable();
    rest
}

/// A text for each value that two values share exactly where they are equal with free order.
fn order_free_texts(items: &[Json<'_>]) -> Vec<Option<String>> {
    items
        .iter()
        .map(|item| Some(order_free_text(item)))
        .collect()
}

fn order_free_text(json: &Json<'_>) -> String {
    let mut out = String::new();
    match json {
        Json::Array(items) => {
            let mut texts: Vec<_> = items.iter().map(order_free_text).collect();
            texts.sort_unstable();
            out.push('[');
            out.push_str(&texts.join(","));
            out.push(']');
        }
        Json::Object(members) => {
            let text = |(key, value): &Member<'_>| format!("{key:?}:{}", order_free_text(value));
            let mut texts: Vec<_> = members.iter().map(text).collect();
            texts.sort_unstable();
            out.push('{');
            out.push_str(&texts.join(","));
            out.push('}');
        }
        scalar => canonical(scalar, &mut out),
    }
    out
}

/// Compact JSON cut to 80 characters.
fn excerpt(json: &Json<'_>) -> String {
    const LENGTH: usize = 80;
    let mut text = String::new();
    compact(json, &mut text);
    match beginning(&text, LENGTH) {
        Some(beginning) => format!("{beginning}…"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use DifferenceKind::{Missing, Type, Unexpected, Value};

    /// `json_equality` of langchain.md, and the like.
    #[test]
    fn equality() {
        // reference, output, equal in order, equal in any order
        let cases = [
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, true, true),
            ("1", "1.0", true, true),
            ("[1]", "[1.0]", true, true),
            (r#"{"a":0}"#, r#"{"a":-0}"#, true, true),
            ("true", "1", false, false),
            ("null", "{}", false, false),
            ("[1,2]", "[2,1]", false, true),
            ("[1,1,2]", "[1,2,2]", false, false),
            ("[[1,2],[3,4]]", "[[4,3],[2,1]]", false, true),
            (
                r#"{"a":[{"x":[1,2]},3]}"#,
                r#"{"a":[3,{"x":[2,1]}]}"#,
                false,
                true,
            ),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#, false, false),
            (r#"{"a":1,"b":1}"#, r#"{"a":1,"c":1}"#, false, false),
            ("9007199254740993", "9007199254740992", false, false),
            (r#""é""#, r#""\u00e9""#, true, true),
        ];
        for (a, b, in_order, in_any_order) in cases {
            let (a, b) = (parse(a).expect("JSON"), parse(b).expect("JSON"));
            for (ordered, expected) in [(true, in_order), (false, in_any_order)] {
                assert_eq!(equal(&a, &b, ordered), expected, "{a} {b} {ordered}");
                assert_eq!(equal(&b, &a, ordered), expected, "{b} {a} {ordered}");
                assert_eq!(
                    diff(&a, &b, ordered, 1).is_empty(),
                    expected,
                    "{a} {b} {ordered}"
                );
            }
        }
    }

    #[test]
    fn differences() {
        let cases = [
            (
                r#"{"a":1,"b":[1,{"c/d":"x"}],"e":0}"#,
                r#"{"b":[1,{"c/d":"y"},2],"a":"1","f":0}"#,
                true,
                vec![
                    ("/a", Type, "1", r#""1""#),
                    ("/b/1/c~1d", Value, r#""x""#, r#""y""#),
                    ("/b/2", Unexpected, "", "2"),
                    ("/e", Missing, "0", ""),
                    ("/f", Unexpected, "", "0"),
                ],
            ),
            ("1", "2", true, vec![("", Value, "1", "2")]),
            ("[1,2,3]", "[3,5,1]", false, vec![("/1", Value, "2", "5")]),
            (
                "[1,2]",
                "[2,3]",
                false,
                vec![("/0", Missing, "1", ""), ("/1", Unexpected, "", "3")],
            ),
            (
                "[[1],[2]]",
                "[[2],[1],[3]]",
                false,
                vec![("/2", Unexpected, "", "[3]")],
            ),
        ];
        for (a, b, ordered, expected) in cases {
            let (a, b) = (parse(a).expect("JSON"), parse(b).expect("JSON"));
            let found = diff(&a, &b, ordered, usize::MAX);
            let found: Vec<_> = found
                .iter()
                .map(|d| {
                    (
                        &*d.path,
                        d.kind,
                        d.expected.as_deref().unwrap_or(""),
                        d.actual.as_deref().unwrap_or(""),
                    )
                })
                .collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn no_more_differences_than_asked_for_and_short_values() {
        let (a, b) = (parse("[1,2,3]").expect("JSON"), Json::Array(Vec::new()));
        assert_eq!(diff(&a, &b, true, 2).len(), 2);
        let long = Json::String("é".repeat(500).into());
        let found = diff(&long, &Json::Null, true, 1);
        assert_eq!(
            found[0].expected.as_ref().map(|text| text.chars().count()),
            Some(81)
        );
    }

    #[test]
    fn long_lists_are_paired_as_short_ones() {
        let list = |numbers: &mut dyn Iterator<Item = usize>| {
            let items: Vec<_> = numbers
                .map(|n| format!("{{\"n\":{n},\"l\":[{n},1]}}"))
                .collect();
            format!("[{}]", items.join(","))
        };
        let (up, down) = (list(&mut (0..100)), list(&mut (0..100).rev()));
        let shifted = list(&mut (1..101).rev());
        let (up, down, shifted) = (parse(&up), parse(&down), parse(&shifted));
        let (up, down, shifted) = (
            up.expect("JSON"),
            down.expect("JSON"),
            shifted.expect("JSON"),
        );
        assert!(equal(&up, &down, false) && !equal(&up, &down, true));
        let found = diff(&up, &shifted, false, usize::MAX);
        let found: Vec<_> = found.iter().map(|d| (&*d.path, d.kind)).collect();
        assert_eq!(found, [("/0/n", Value), ("/0/l/0", Value)]);
    }
}
