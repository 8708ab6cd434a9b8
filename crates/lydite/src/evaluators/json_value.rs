//! How JSON evaluators read an output and a reference.

use crate::json::{self, Json, JsonError, JsonErrorKind};
use crate::outcome::{Cell, Code};
use crate::record::{Field, Row};

/// An output as JSON, or why it is none.
pub(super) enum OutputJson<'r> {
    Json(Json<'r>),
    /// The answer is not JSON: it scores 0 (a distance: 1) and fails.
    Not(JsonError),
    /// It can't be judged.
    Cell(Cell),
}

/// Parses a text output; a JSON output is taken as it stands.
pub(super) fn output_json<'r>(row: &Row<'r>) -> OutputJson<'r> {
    let Some(output) = row.output() else {
        return OutputJson::Cell(Cell::Errored(Code::MissingField(Field::Output)));
    };
    let Some(source) = output.json_source() else {
        return OutputJson::Cell(Cell::Errored(Code::NotText(Field::Output)));
    };
    match json::parse(source) {
        Ok(tree) => OutputJson::Json(tree),
        Err(error) if error.kind == JsonErrorKind::TooDeep => {
            OutputJson::Cell(Cell::Errored(Code::JsonTooDeep(Field::Output)))
        }
        Err(error) => OutputJson::Not(error),
    }
}

/// The reference as JSON; one that is none is an input error. Of two missing fields the output is named.
pub(super) fn reference_json<'r>(row: &Row<'r>) -> Result<Json<'r>, Cell> {
    row.output()
        .ok_or(Cell::Errored(Code::MissingField(Field::Output)))?;
    let reference = row
        .reference()
        .ok_or(Cell::Errored(Code::MissingField(Field::Reference)))?;
    let source = reference
        .json_source()
        .ok_or(Cell::Errored(Code::NotText(Field::Reference)))?;
    json::parse(source).map_err(|error| Cell::Errored(reference_code(&error)))
}

pub(super) fn reference_code(error: &JsonError) -> Code {
    if error.kind == JsonErrorKind::TooDeep {
        Code::JsonTooDeep(Field::Reference)
    } else {
        Code::NotJson(Field::Reference)
    }
}

/// The cell of an output and a reference that are compared as JSON; `not_json` where the output is none.
pub(super) fn compare(
    row: &Row<'_>,
    not_json: Cell,
    compare: impl FnOnce(&Json<'_>, &Json<'_>) -> Cell,
) -> Cell {
    let reference = match reference_json(row) {
        Ok(reference) => reference,
        Err(cell) => return cell,
    };
    match output_json(row) {
        OutputJson::Json(output) => compare(&reference, &output),
        OutputJson::Not(_) => not_json,
        OutputJson::Cell(cell) => cell,
    }
}

/// What an errored JSON cell has to say.
pub(super) fn explain_error(row: &Row<'_>, cell: Cell) -> Option<String> {
    match cell {
        Cell::Errored(Code::NotJson(Field::Reference)) => {
            let error = json::parse(row.reference()?.json_source()?).err()?;
            Some(format!("the reference is not JSON: {error}"))
        }
        _ => None,
    }
}
