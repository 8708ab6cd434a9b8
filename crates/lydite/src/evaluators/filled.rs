//! What stands in the places that the prompts of one family share.

use super::shown::shown;
use crate::judge::{Failure, Fill, JudgeContext, Place};
use crate::record::{Field, Row};

/// Places by the names that LangChain's prompts have for them.
pub(super) const QUERY: Place = Place {
    name: "query",
    also: &["input", "question"],
};
pub(super) const OUTPUT: Place = Place {
    name: "output",
    also: &["prediction", "result", "submission"],
};
pub(super) const REFERENCE: Place = Place::new("reference");
pub(super) const CRITERIA: Place = Place {
    name: "criteria",
    also: &["criterion"],
};

/// Whether a prompt of these places shows the reference.
pub(super) fn is_labeled(places: &[Place]) -> bool {
    places.iter().any(|place| place.name == REFERENCE.name)
}

/// What stands in the places of a prompt about one submission: the criteria in the author's words, query and output,
/// and the reference where it is labeled.
pub(super) fn submission<'r>(
    criteria: &'r str,
    labeled: bool,
    row: &Row<'r>,
    cx: &JudgeContext<'_>,
) -> Result<Vec<(&'static str, Fill<'r>)>, Failure> {
    let mut fill = vec![
        (CRITERIA.name, Fill::words(criteria)),
        (QUERY.name, field(row, Field::Query, cx)?),
        (OUTPUT.name, field(row, Field::Output, cx)?),
    ];
    if labeled {
        fill.push((REFERENCE.name, reference(row, cx)?));
    }
    Ok(fill)
}

/// A field of the record, fenced.
pub(super) fn field<'r>(
    row: &Row<'r>,
    field: Field,
    cx: &JudgeContext<'_>,
) -> Result<Fill<'r>, Failure> {
    Ok(Fill::Data(shown(row, field, cx)?))
}

/// The reference, fenced; alternatives are numbered.
pub(super) fn reference<'r>(row: &Row<'r>, cx: &JudgeContext<'_>) -> Result<Fill<'r>, Failure> {
    match row.references() {
        several @ [_, _, ..] => Ok(Fill::items(several.iter().copied())),
        _ => field(row, Field::Reference, cx),
    }
}
