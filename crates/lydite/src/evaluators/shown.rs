//! Fields of a record as a judge is shown them.

use std::borrow::Cow;

use crate::json;
use crate::judge::{Failure, JudgeContext, OBJECT_AS_JSON};
use crate::outcome::{Cell, Code};
use crate::record::{Content, Field, Row};

/// A needed field as text: as it is, or as canonical JSON (with a warning) where it is an object or list.
pub(super) fn shown<'r>(
    row: &Row<'r>,
    field: Field,
    cx: &JudgeContext<'_>,
) -> Result<Cow<'r, str>, Failure> {
    let content = match field {
        Field::Query => row.query(),
        Field::Output => row.output(),
        Field::Reference => row.reference(),
        _ => None,
    };
    let content = content.ok_or(Cell::Errored(Code::MissingField(field)))?;
    let text = text_or_json(content, field)?;
    if matches!(text, Cow::Owned(_)) {
        cx.warn(OBJECT_AS_JSON);
    }
    Ok(text)
}

/// A text as it is, an object or list as canonical JSON (owned); an error where it has no reading as text.
pub(super) fn text_or_json(content: Content<'_>, field: Field) -> Result<Cow<'_, str>, Cell> {
    match content {
        Content::Text(text)
        | Content::Json {
            text: Some(text), ..
        }
        | Content::Parts {
            text: Some(text), ..
        } => Ok(Cow::Borrowed(text)),
        Content::Parts { .. } => Err(Cell::Errored(Code::NotText(field))),
        Content::Json { source, .. } => {
            let json = json::parse(source).map_err(|_| Cell::Errored(Code::JsonTooDeep(field)))?;
            let mut text = String::new();
            json::canonical(&json, &mut text);
            Ok(Cow::Owned(text))
        }
    }
}
