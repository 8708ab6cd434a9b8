//! What Lynxius' evaluators have in common: they refuse empty texts.

use crate::outcome::{Cell, Code};
use crate::record::Field;

/// A text that is not blank, or the error of its field.
pub(super) fn not_blank<T: AsRef<str>>(text: T, field: Field) -> Result<T, Cell> {
    if text.as_ref().trim().is_empty() {
        return Err(Cell::Errored(Code::EmptyField(field)));
    }
    Ok(text)
}
