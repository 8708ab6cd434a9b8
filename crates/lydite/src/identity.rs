//! The id of a case, and who else has it.
//!
//! A given id is kept. Without one, the id is the first 16 hex digits of XXH3-128 over the canonical
//! JSON of what was asked: query, messages before the answer, variables and contexts. So one case
//! keeps its id across files, orders, machines and models.

use std::fmt::Write as _;

use bumpalo::Bump;
use twox_hash::{XxHash3_64, XxHash3_128};

use crate::json::{self, Json};
use crate::record::{Content, Field, FieldSet, Raw, Role, Slots};

/// The fields that a computed id is made of (the output tells which messages are before the answer).
pub const IDENTITY: FieldSet = FieldSet::of(&[
    Field::Query,
    Field::Messages,
    Field::Variables,
    Field::Contexts,
    Field::Output,
]);

/// The computed id; `None` where the record asks nothing.
pub fn computed_id(slots: &Slots<'_>) -> Option<String> {
    let mut object: Vec<(&str, Json<'_>)> = Vec::new();
    let messages = before_answer(slots);
    if let Some(query) = slots.query {
        object.push(("query", content(query)));
    }
    if !messages.is_empty() {
        object.push(("messages", Json::Array(messages)));
    }
    if let Some(Raw::Json(source)) = slots.raw.get(Field::Variables as usize).copied().flatten()
        && let Ok(variables) = json::parse(source)
    {
        object.push(("variables", variables));
    }
    if !slots.contexts.is_empty() {
        let documents = slots
            .contexts
            .iter()
            .map(|chunk| Json::String(chunk.document.into()))
            .collect();
        object.push(("contexts", Json::Array(documents)));
    }
    if object.is_empty() {
        return None;
    }
    let tree = Json::Object(
        object
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect(),
    );
    let mut canonical = String::new();
    json::canonical(&tree, &mut canonical);
    let mut id = format!("{:032x}", XxHash3_128::oneshot(canonical.as_bytes()));
    id.truncate(16);
    Some(id)
}

/// The messages up to the last user turn, as role and content: an agent's calls after it are its work.
fn before_answer<'r>(slots: &Slots<'r>) -> Vec<Json<'r>> {
    let asked = slots
        .messages
        .iter()
        .rposition(|turn| turn.role == Role::User)
        .map_or(0, |last| last + 1);
    let turns = slots.messages.get(..asked).unwrap_or_default();
    // A lone user turn is the query, which is in the id already.
    if let ([_], true) = (turns, slots.query.is_some()) {
        return Vec::new();
    }
    turns
        .iter()
        .map(|turn| {
            Json::Array(vec![
                Json::String(turn.role.as_str().into()),
                turn.content.map_or(Json::Null, content),
            ])
        })
        .collect()
}

fn content(content: Content<'_>) -> Json<'_> {
    match content {
        Content::Text(text) => Json::String(text.into()),
        Content::Json { source, .. } | Content::Parts { source, .. } => {
            json::parse(source).unwrap_or_else(|_| Json::String(source.into()))
        }
    }
}

/// A 64-bit name for (id, model), under which answers are counted.
pub fn answer_key(id: &str, model: Option<&str>) -> u64 {
    match model {
        None => XxHash3_64::oneshot(id.as_bytes()),
        Some(model) => {
            XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(model.as_bytes()), id.as_bytes())
        }
    }
}

/// A 64-bit name for a case: what shards are cut by.
pub fn case_key(id: &str) -> u64 {
    XxHash3_64::oneshot(id.as_bytes())
}

/// Where an answer stands in a seeded random order: a sample is those that come first.
pub fn sample_rank(seed: u64, id: &str, trial: u32) -> u64 {
    XxHash3_64::oneshot_with_seed(
        seed.wrapping_add(u64::from(trial).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        id.as_bytes(),
    )
}

/// `id~n`: the n-th case whose computed id is the same.
pub fn numbered<'r>(id: &str, n: u32, arena: &'r Bump) -> &'r str {
    let mut text = bumpalo::collections::String::new_in(arena);
    // Writing to a string cannot fail.
    let _ = write!(text, "{id}~{n}");
    text.into_bump_str()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::decode::{Decoder, Mapping, Survey, Wanted};

    fn id(record: &str) -> Option<String> {
        let mut survey = Survey::default();
        survey.add(record);
        let wanted = Wanted {
            fields: IDENTITY,
            keys: Vec::new(),
        };
        let mapping = Mapping::new(&survey, &BTreeMap::new(), &wanted, false).unwrap();
        let arena = Bump::new();
        computed_id(Decoder::new(&mapping).decode(record, &arena).unwrap())
    }

    /// The first 16 digits of XXH3-128 over the text in the second column, as any implementation gives them.
    #[test]
    fn test_vectors() {
        for (record, canonical, expected) in [
            (
                r#"{"query": "What is 2 + 2?", "output": "4"}"#,
                r#"{"query":"What is 2 + 2?"}"#,
                "3d79812a22bafd07",
            ),
            (
                r#"{"output": "Nairobi", "variables": {"country": "Kenya", "n": 1.0}, "contexts": [{"document": "Kenya's capital is Nairobi.", "id": "1"}], "query": "Capital of {country}?", "model": "m"}"#,
                r#"{"contexts":["Kenya's capital is Nairobi."],"query":"Capital of {country}?","variables":{"country":"Kenya","n":1}}"#,
                "c616b6a11a3c1987",
            ),
            (
                r#"{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße 🙂"}, {"role": "assistant", "content": "Hallo."}]}"#,
                r#"{"messages":[["system","Be brief."],["user","Grüße 🙂"]],"query":"Grüße 🙂"}"#,
                "d457be8cbddfaeeb",
            ),
        ] {
            let hash = format!("{:032x}", XxHash3_128::oneshot(canonical.as_bytes()));
            assert_eq!(hash.get(..16), Some(expected), "{canonical}");
            assert_eq!(id(record).as_deref(), Some(expected), "{record}");
        }
    }

    #[test]
    fn a_record_that_asks_nothing_has_no_computed_id() {
        for record in [
            r#"{"output": "a"}"#,
            r#"{"output": "a", "query": null, "contexts": []}"#,
            "{}",
        ] {
            assert_eq!(id(record), None, "{record}");
        }
    }

    #[test]
    fn an_equal_case_is_numbered_and_models_are_counted_apart() {
        let arena = Bump::new();
        assert_eq!(numbered("ab", 2, &arena), "ab~2");
        assert_ne!(answer_key("a", None), answer_key("a", Some("m")));
        assert_ne!(answer_key("a", Some("n")), answer_key("a", Some("m")));
        assert_ne!(sample_rank(1, "a", 1), sample_rank(2, "a", 1));
        assert_ne!(sample_rank(1, "a", 1), sample_rank(1, "a", 2));
    }
}
