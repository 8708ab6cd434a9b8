//! From the source texts of a record's values to typed [`Slots`].

use std::borrow::Cow;

use bumpalo::Bump;
use bumpalo::collections::{String as BumpString, Vec as BumpVec};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Found, RecordError, TARGET_ERROR};
use crate::json::{self, Json};
use crate::record::{Content, ContextChunk, Field, FieldSet, NoAnswer, Raw, Role, Slots, Turn};

/// Boxed, since errors are rare and results are passed on for every value.
type Result<T> = std::result::Result<T, Box<RecordError>>;

/// Builds the wanted fields; derived ones (output and query from messages) included.
pub(super) fn slots<'r>(found: &mut Found<'r>, wanted: FieldSet, arena: &'r Bump) -> Result<()> {
    let Found {
        slots,
        keys,
        output_b,
        trajectory: steps,
        target_error,
        ..
    } = found;
    for field in wanted.iter() {
        if let Some(value) = slots.raw.get(field as usize).copied().flatten() {
            set(slots, field, value, arena)?;
        }
    }
    if let Some(steps) = steps {
        slots.messages = trajectory(slots.messages, steps.source(), arena)?;
    }
    answer_from_messages(slots, wanted, arena);
    if let Some(second) = *output_b {
        second_candidate(slots, second, arena)?;
    }
    slots.keys = &*std::mem::take(keys);
    if let Some(error) = *target_error {
        slots.no_answer = Some(no_answer(error, arena)?);
    }
    Ok(())
}

/// `{code, message, retryable?}`, as a result's error is written.
fn no_answer<'r>(value: Raw<'r>, arena: &'r Bump) -> Result<NoAnswer<'r>> {
    #[derive(Deserialize)]
    struct Written<'a> {
        #[serde(borrow)]
        message: Cow<'a, str>,
        #[serde(default)]
        retryable: bool,
    }
    let written = match value {
        Raw::Json(source) => serde_json::from_str::<Written<'r>>(source).ok(),
        Raw::Text(_) => None,
    };
    let written = written.ok_or_else(|| {
        RecordError::field(
            TARGET_ERROR,
            format!(
                "expected an object with a `message`, found {}; this key says why a target gave no answer",
                kind(value)
            ),
        )
    })?;
    Ok(NoAnswer {
        message: match written.message {
            Cow::Borrowed(message) => message,
            Cow::Owned(message) => arena.alloc_str(&message),
        },
        retryable: written.retryable,
    })
}

/// A field's value as it came; the derived output and query included.
pub(super) fn raw_of<'r>(slots: &Slots<'r>, field: Field) -> Option<Raw<'r>> {
    let content = match field {
        Field::Output => slots.output,
        Field::Query => slots.query,
        Field::Reference => slots.reference,
        _ => return slots.raw.get(field as usize).copied().flatten(),
    };
    content.map(|content| match content {
        Content::Text(text) => Raw::Text(text),
        Content::Json { source, .. } | Content::Parts { source, .. } => Raw::Json(source),
    })
}

/// Puts another value in a field's place, for `inputs:` and the `reference` parameter.
pub fn override_field<'r>(
    slots: &mut Slots<'r>,
    field: Field,
    value: Option<Raw<'r>>,
    arena: &'r Bump,
) -> Result<()> {
    if let Some(slot) = slots.raw.get_mut(field as usize) {
        *slot = value;
    }
    clear(slots, field);
    value.map_or(Ok(()), |value| set(slots, field, value, arena))
}

fn clear(slots: &mut Slots<'_>, field: Field) {
    match field {
        Field::Query => slots.query = None,
        Field::Output => slots.output = None,
        Field::Reference => (slots.reference, slots.references) = (None, &[]),
        Field::Candidates => slots.candidates = &[],
        Field::Contexts => slots.contexts = &[],
        Field::Messages => slots.messages = &[],
        Field::Tags => slots.tags = &[],
        _ => {}
    }
}

fn set<'r>(slots: &mut Slots<'r>, field: Field, value: Raw<'r>, arena: &'r Bump) -> Result<()> {
    match field {
        // An empty cell of a table is no name: cases without one are not trials of each other.
        Field::Id => slots.id = Some(scalar(field, value)?).filter(|id| !id.is_empty()),
        Field::Query => slots.query = Some(content_of_raw(value, arena).map_err(|e| at(field, e))?),
        Field::Output => slots.output = Some(output(value, arena)?),
        Field::Reference => {
            let content = content_of_raw(value, arena).map_err(|e| at(field, e))?;
            slots.reference = Some(content);
            slots.references = alternatives(content, arena)?;
        }
        Field::Candidates => slots.candidates = candidates(value, arena)?,
        Field::Contexts => slots.contexts = contexts(value, arena)?,
        Field::Messages => slots.messages = messages(value, arena)?,
        Field::Model => slots.model = Some(scalar(field, value)?),
        Field::Cluster => slots.cluster = Some(scalar(field, value)?),
        Field::Trial => slots.trial = Some(trial(value)?),
        Field::Tags => slots.tags = tags(value, arena)?,
        _ => {}
    }
    Ok(())
}

/// A value from its JSON source; `None` for null.
pub(super) fn raw<'r>(source: &'r str, arena: &'r Bump) -> Result<Option<Raw<'r>>> {
    match source.as_bytes().first() {
        Some(b'"') => Ok(Some(Raw::Text(unescape(source, arena)?))),
        Some(b'n') => Ok(None),
        _ => Ok(Some(Raw::Json(source))),
    }
}

fn unescape<'r>(source: &'r str, arena: &'r Bump) -> Result<&'r str> {
    let inner = source
        .get(1..source.len().saturating_sub(1))
        .unwrap_or_default();
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Ok(inner);
    }
    match json::parse(source) {
        Ok(Json::String(text)) => Ok(arena.alloc_str(&text)),
        Err(error) if error.is_lone_surrogate() => Err(lone_surrogate(None).into()),
        Ok(_) | Err(_) => Err(RecordError {
            offset: 0,
            field: None,
            message: "the text holds a wrong escape".into(),
            hint: Some("write the character itself".into()),
        }
        .into()),
    }
}

/// Half of a character: no text can hold it.
pub(super) fn lone_surrogate(field: Option<Field>) -> RecordError {
    RecordError {
        offset: 0,
        field: field.map(|field| field.as_str().to_owned()),
        message: "the text holds a lone surrogate (`\\ud800` to `\\udfff` without its other half)"
            .into(),
        hint: Some("write the character itself or its whole surrogate pair".into()),
    }
}

fn at(field: Field, mut error: Box<RecordError>) -> Box<RecordError> {
    error.field.get_or_insert_with(|| field.as_str().to_owned());
    error
}

/// Text, JSON or parts.
pub fn content_of_raw<'r>(value: Raw<'r>, arena: &'r Bump) -> Result<Content<'r>> {
    let source = match value {
        Raw::Text(text) => return Ok(Content::Text(text)),
        Raw::Json(source) => source,
    };
    match source.as_bytes().first() {
        Some(b'{') => object_content(source, arena),
        Some(b'[') => Ok(Content::Json { source, text: None }),
        _ => Ok(Content::Json {
            source,
            text: Some(source),
        }),
    }
}

fn object_content<'r>(source: &'r str, arena: &'r Bump) -> Result<Content<'r>> {
    let Ok(entries) = Entries::read(source) else {
        return Ok(Content::Json { source, text: None });
    };
    let [(key, value)] = entries.0.as_slice() else {
        return Ok(Content::Json { source, text: None });
    };
    if key == "parts" && are_parts(value.get()) {
        return Ok(Content::Parts {
            source,
            text: text_of_blocks(value.get(), arena),
        });
    }
    let text = match raw(value.get(), arena)? {
        Some(Raw::Text(text)) => Some(text),
        Some(Raw::Json(scalar)) if !scalar.starts_with(['{', '[']) => Some(scalar),
        _ => None,
    };
    Ok(Content::Json { source, text })
}

/// One part of a content: ours, or a provider's block.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

impl<'a> Part<'a> {
    fn list(source: &'a str) -> Option<Vec<Self>> {
        serde_json::from_str(source).ok()
    }

    fn text(self) -> Option<Cow<'a, str>> {
        let is_text = self
            .r#type
            .as_deref()
            .is_none_or(|kind| matches!(kind, "text" | "input_text" | "output_text"));
        self.text.filter(|_| is_text)
    }

    /// Whether its type is one of a part; any other list below `parts` is an answer's own JSON.
    fn is_known(&self) -> bool {
        let kind = self.r#type.as_deref().unwrap_or_default();
        let kind = kind
            .strip_prefix("input_")
            .or_else(|| kind.strip_prefix("output_"))
            .unwrap_or(kind);
        matches!(
            kind,
            "text" | "image" | "image_url" | "audio" | "file" | "document" | "video"
        )
    }
}

fn are_parts(source: &str) -> bool {
    source.starts_with('[')
        && Part::list(source)
            .is_some_and(|parts| !parts.is_empty() && parts.iter().all(Part::is_known))
}

/// The texts of content blocks joined by a line break; `None` where one is no text.
fn text_of_blocks<'r>(source: &str, arena: &'r Bump) -> Option<&'r str> {
    let mut joined = BumpString::new_in(arena);
    for (index, part) in Part::list(source)?.into_iter().enumerate() {
        if index > 0 {
            joined.push('\n');
        }
        joined.push_str(&part.text()?);
    }
    Some(joined.into_bump_str())
}

/// The texts among the parts of [`Content::Parts`], each with its position.
pub fn texts_of_parts(source: &str) -> Vec<(usize, Cow<'_, str>)> {
    #[derive(Deserialize)]
    struct Whole<'a> {
        #[serde(borrow)]
        parts: Vec<Part<'a>>,
    }
    let parts = if source.starts_with('[') {
        Part::list(source)
    } else {
        serde_json::from_str::<Whole<'_>>(source)
            .ok()
            .map(|whole| whole.parts)
    };
    let texts = parts.into_iter().flatten().enumerate();
    texts
        .filter_map(|(index, part)| Some((index, part.text()?)))
        .collect()
}

/// An object's entries in order, values as they stand.
struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Entries<'a> {
    fn read(source: &'a str) -> std::result::Result<Self, serde_json::Error> {
        struct Read;
        impl<'a> serde::de::Visitor<'a> for Read {
            type Value = Entries<'a>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'a>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key::<Key<'a>>()? {
                    entries.push((key.0, map.next_value()?));
                }
                Ok(Entries(entries))
            }
        }
        #[derive(Deserialize)]
        struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
        use serde::Deserializer;
        serde_json::Deserializer::from_str(source).deserialize_map(Read)
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.get())
            .filter(|source| *source != "null")
    }
}

/// An output; a whole chat completion in its place is refused with the mapping that reads it.
fn output<'r>(value: Raw<'r>, arena: &'r Bump) -> Result<Content<'r>> {
    let content = content_of_raw(value, arena).map_err(|error| at(Field::Output, error))?;
    if let Content::Json { source, .. } = content
        && source.starts_with('{')
        && let Ok(entries) = Entries::read(source)
        && entries
            .get("choices")
            .is_some_and(|choices| choices.starts_with('['))
    {
        return Err(RecordError::field("output", "this is a whole chat completion, not an answer").hint(
            "say where the answer stands, such as `fields: {output: response.choices.0.message.content, messages: request.messages}`",
        ));
    }
    Ok(content)
}

/// A list of texts is a list of alternatives; a text is its own only one.
fn alternatives<'r>(content: Content<'r>, arena: &'r Bump) -> Result<&'r [&'r str]> {
    if let Content::Json { source, text: None } = content
        && source.starts_with('[')
        && let Ok(items) = serde_json::from_str::<Vec<&'r RawValue>>(source)
        && !items.is_empty()
    {
        let mut texts = BumpVec::with_capacity_in(items.len(), arena);
        for item in items {
            match raw(item.get(), arena).map_err(|error| at(Field::Reference, error))? {
                Some(Raw::Text(text)) => texts.push(text),
                _ => return Ok(&[]),
            }
        }
        return Ok(texts.into_bump_slice());
    }
    Ok(content
        .text()
        .map_or(&[], |text| arena.alloc([text]) as &[_]))
}

fn list(field: Field, value: Raw<'_>) -> Result<Vec<&RawValue>> {
    match value {
        Raw::Json("[]") => Ok(Vec::new()),
        Raw::Json(source) if source.starts_with('[') => serde_json::from_str(source)
            .map_err(|error| RecordError::field(field.as_str(), format!("can't be read: {error}"))),
        _ => Err(RecordError::field(
            field.as_str(),
            format!("expected a list, found {}", kind(value)),
        )),
    }
}

fn kind(value: Raw<'_>) -> &'static str {
    match value {
        Raw::Text(_) => "a text",
        Raw::Json(source) => super::kind_of_json(source),
    }
}

fn candidates<'r>(value: Raw<'r>, arena: &'r Bump) -> Result<&'r [Content<'r>]> {
    let items = list(Field::Candidates, value)?;
    let mut candidates = BumpVec::with_capacity_in(items.len(), arena);
    for (index, item) in items.iter().enumerate() {
        let place = || format!("candidates[{index}]");
        let value = raw(item.get(), arena)
            .map_err(|error| RecordError {
                field: Some(place()),
                ..*error
            })?
            .ok_or_else(|| RecordError::field(place(), "expected an answer, found null"))?;
        candidates.push(content_of_raw(value, arena)?);
    }
    Ok(candidates.into_bump_slice())
}

/// `output_b` is the second candidate; the output is the first where none was listed.
fn second_candidate<'r>(slots: &mut Slots<'r>, value: Raw<'r>, arena: &'r Bump) -> Result<()> {
    if !slots.candidates.is_empty() {
        return Err(RecordError::field(
            "output_b",
            "stands beside `candidates`, which already lists the answers",
        )
        .hint("put every answer into `candidates`, or keep `output` and `output_b`"));
    }
    if let Some(first) = slots.output {
        let second = content_of_raw(value, arena)?;
        slots.candidates = arena.alloc([first, second]);
    }
    Ok(())
}

fn contexts<'r>(value: Raw<'r>, arena: &'r Bump) -> Result<&'r [ContextChunk<'r>]> {
    match value {
        Raw::Text(document) => Ok(arena.alloc([plain_chunk(document)])),
        Raw::Json(source) if source.starts_with('{') => Ok(arena.alloc([chunk(value, 0, arena)?])),
        Raw::Json(_) => {
            let items = list(Field::Contexts, value)?;
            let mut chunks = BumpVec::with_capacity_in(items.len(), arena);
            for (index, item) in items.iter().enumerate() {
                let value = raw(item.get(), arena)
                    .map_err(|error| at(Field::Contexts, error))?
                    .ok_or_else(|| {
                        RecordError::field(
                            format!("contexts[{index}]"),
                            "expected a text or an object, found null",
                        )
                    })?;
                chunks.push(chunk(value, index, arena)?);
            }
            Ok(chunks.into_bump_slice())
        }
    }
}

const fn plain_chunk(document: &str) -> ContextChunk<'_> {
    ContextChunk {
        document,
        id: None,
        relevance: None,
        score: None,
        grade: None,
    }
}

fn chunk<'r>(value: Raw<'r>, index: usize, arena: &'r Bump) -> Result<ContextChunk<'r>> {
    let place = |key: &str| {
        format!(
            "contexts[{index}]{}{key}",
            if key.is_empty() { "" } else { "." }
        )
    };
    let source = match value {
        Raw::Text(document) => return Ok(plain_chunk(document)),
        Raw::Json(source) if source.starts_with('{') => source,
        Raw::Json(_) => {
            return Err(RecordError::field(
                place(""),
                format!("expected a text or an object, found {}", kind(value)),
            ));
        }
    };
    let entries = Entries::read(source)
        .map_err(|error| RecordError::field(place(""), format!("can't be read: {error}")))?;
    let named = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| entries.get(name).map(|source| (place(name), source)))
    };
    let text = |names: &[&str]| -> Result<Option<&'r str>> {
        let Some((place, source)) = named(names) else {
            return Ok(None);
        };
        match raw(source, arena)? {
            Some(Raw::Text(text)) => Ok(Some(text)),
            Some(Raw::Json(scalar)) if !scalar.starts_with(['{', '[']) => Ok(Some(scalar)),
            _ => Err(RecordError::field(place, "expected a text")),
        }
    };
    let number = |names: &[&str], least: f64, most: f64| -> Result<Option<f64>> {
        let Some((place, source)) = named(names) else {
            return Ok(None);
        };
        let value: f64 = source
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .ok_or_else(|| {
                RecordError::field(
                    &*place,
                    format!("expected a finite number, found `{source}`"),
                )
            })?;
        if value < least || value > most {
            let range = if most.is_finite() {
                format!("from {least} to {most}")
            } else {
                format!("of {least} or more")
            };
            return Err(RecordError::field(
                place,
                format!("expected a number {range}, found {source}"),
            ));
        }
        Ok(Some(value))
    };
    Ok(ContextChunk {
        document: text(&["document", "text", "content", "page_content"])?.ok_or_else(|| {
            RecordError::field(place("document"), "a context needs its text")
                .hint("name it `document`")
        })?,
        id: text(&["id"])?,
        relevance: number(&["relevance"], -1.0, 1.0)?,
        score: number(&["score", "similarity"], f64::NEG_INFINITY, f64::INFINITY)?,
        grade: number(&["grade"], 0.0, f64::INFINITY)?,
    })
}

fn messages<'r>(value: Raw<'r>, arena: &'r Bump) -> Result<&'r [Turn<'r>]> {
    let items = list(Field::Messages, value)?;
    let mut turns = BumpVec::with_capacity_in(items.len(), arena);
    for (index, item) in items.iter().enumerate() {
        turns.push(turn(item.get(), index, arena)?);
    }
    Ok(turns.into_bump_slice())
}

fn turn<'r>(source: &'r str, index: usize, arena: &'r Bump) -> Result<Turn<'r>> {
    let place = |key: &str| {
        format!(
            "messages[{index}]{}{key}",
            if key.is_empty() { "" } else { "." }
        )
    };
    let entries = Entries::read(source).map_err(|_| {
        RecordError::field(place(""), "expected an object with `role` and `content`")
    })?;
    let text = |key: &str| -> Result<Option<&'r str>> {
        match entries
            .get(key)
            .map_or(Ok(None), |source| raw(source, arena))?
        {
            None => Ok(None),
            Some(Raw::Text(text)) => Ok(Some(text)),
            Some(Raw::Json(_)) => Err(RecordError::field(place(key), "expected a text")),
        }
    };
    let role = match text("role")? {
        Some("system" | "developer") => Role::System,
        Some("user" | "human") => Role::User,
        Some("assistant" | "ai" | "model") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        Some(other) => {
            return Err(
                RecordError::field(place("role"), format!("unknown role `{other}`"))
                    .hint("allowed: system, developer, user, assistant, tool, function"),
            );
        }
        None => return Err(RecordError::field(place("role"), "a message needs a role")),
    };
    // Context.ai's test cases name the content `message`.
    let content = match entries.get("content").or_else(|| entries.get("message")) {
        None => None,
        Some(source) if source.starts_with('[') => Some(
            Content::Parts {
                source,
                text: text_of_blocks(source, arena),
            }
            .or_text(),
        ),
        Some(source) => raw(source, arena)?
            .map(|value| content_of_raw(value, arena))
            .transpose()?,
    };
    Ok(Turn {
        role,
        content,
        tool_calls: entries.get("tool_calls"),
        tool_call_id: text("tool_call_id")?,
        name: text("name")?,
    })
}

impl Content<'_> {
    /// Parts that are all text are a text.
    const fn or_text(self) -> Self {
        match self {
            Self::Parts {
                text: Some(text), ..
            } => Self::Text(text),
            other => other,
        }
    }
}

/// `[{tool, input, observation}]` as tool calls and tool turns after the messages.
fn trajectory<'r>(
    before: &'r [Turn<'r>],
    source: &'r str,
    arena: &'r Bump,
) -> Result<&'r [Turn<'r>]> {
    let place = |index: usize, key: &str| format!("trajectory[{index}].{key}");
    let steps: Vec<&RawValue> = serde_json::from_str(source).map_err(|_| {
        RecordError::field(
            "trajectory",
            "expected a list of {tool, input, observation}",
        )
    })?;
    let mut turns = BumpVec::from_iter_in(before.iter().copied(), arena);
    for (index, step) in steps.iter().enumerate() {
        let entries = Entries::read(step.get()).map_err(|_| {
            RecordError::field(
                format!("trajectory[{index}]"),
                "expected {tool, input, observation}",
            )
        })?;
        let tool = entries
            .get("tool")
            .filter(|source| source.starts_with('"'))
            .ok_or_else(|| {
                RecordError::field(place(index, "tool"), "a step needs the name of its tool")
            })?;
        let input = entries.get("input").unwrap_or("{}");
        let call = format!(
            "[{{\"id\":\"step_{index}\",\"type\":\"function\",\"function\":{{\"name\":{tool},\"arguments\":{input}}}}}]"
        );
        turns.push(Turn {
            role: Role::Assistant,
            content: None,
            tool_calls: Some(arena.alloc_str(&call)),
            tool_call_id: None,
            name: None,
        });
        if let Some(observation) = entries
            .get("observation")
            .map_or(Ok(None), |source| raw(source, arena))?
        {
            turns.push(Turn {
                role: Role::Tool,
                content: Some(content_of_raw(observation, arena)?),
                tool_calls: None,
                tool_call_id: Some(arena.alloc_str(&format!("step_{index}"))),
                name: Some(unescape(tool, arena)?),
            });
        }
    }
    Ok(turns.into_bump_slice())
}

/// Without an output the trailing assistant turns are it; without a query the last user turn is.
fn answer_from_messages<'r>(slots: &mut Slots<'r>, wanted: FieldSet, arena: &'r Bump) {
    let turns = slots.messages;
    if slots.output.is_none() && wanted.contains(Field::Output) && slots.candidates.is_empty() {
        let answers = turns
            .iter()
            .rev()
            .take_while(|turn| turn.role == Role::Assistant && turn.content.is_some())
            .count();
        let (input, answer) = turns.split_at(turns.len() - answers);
        slots.messages = input;
        slots.output = match answer {
            [] => None,
            [only] => only.content,
            several => join(several, arena),
        };
    }
    if slots.query.is_none() && wanted.contains(Field::Query) {
        slots.query = turns
            .iter()
            .rev()
            .find(|turn| turn.role == Role::User)
            .and_then(|turn| turn.content);
    }
}

fn join<'r>(turns: &[Turn<'r>], arena: &'r Bump) -> Option<Content<'r>> {
    let mut joined = BumpString::new_in(arena);
    for (index, turn) in turns.iter().enumerate() {
        if index > 0 {
            joined.push('\n');
        }
        joined.push_str(turn.content?.text()?);
    }
    Some(Content::Text(joined.into_bump_str()))
}

/// A text or the source text of a number or boolean.
fn scalar(field: Field, value: Raw<'_>) -> Result<&str> {
    match value {
        Raw::Text(text) => Ok(text),
        Raw::Json(source) if !source.starts_with(['{', '[']) => Ok(source),
        Raw::Json(_) => Err(RecordError::field(
            field.as_str(),
            format!("expected a text or a number, found {}", kind(value)),
        )),
    }
}

fn trial(value: Raw<'_>) -> Result<u32> {
    value
        .source()
        .parse()
        .ok()
        .filter(|&trial| trial >= 1)
        .ok_or_else(|| {
            RecordError::field(
                "trial",
                format!("expected a whole number from 1, found `{}`", value.source()),
            )
        })
}

/// A list of texts; one text is one tag.
fn tags<'r>(value: Raw<'r>, arena: &'r Bump) -> Result<&'r [&'r str]> {
    if let Raw::Text(tag) = value {
        return Ok(arena.alloc([tag]));
    }
    let items = list(Field::Tags, value)?;
    let mut tags = BumpVec::with_capacity_in(items.len(), arena);
    for item in items {
        if let Some(value) = raw(item.get(), arena)? {
            tags.push(scalar(Field::Tags, value)?);
        }
    }
    Ok(tags.into_bump_slice())
}
