//! Embeddings of texts for evaluators that are scored in batches, and what is said where there is none.

use crate::evaluator::Got;
use crate::outcome::{Cell, Code, Explanation};

/// The embedding of a text that was asked for.
pub(super) fn embedding<'g>(got: &Got<'g>, text: &str) -> Result<&'g [f32], Cell> {
    got.embedding(text)
        .map_err(|error| Cell::Errored(Code::Model(error.kind)))
}

/// Words for an errored cell: the model's, where it failed on one of the texts; else the code's own.
pub(super) fn why_not<'t>(got: &Got<'_>, texts: impl IntoIterator<Item = &'t str>) -> Explanation {
    let failed = texts.into_iter().find_map(|text| got.embedding(text).err());
    match failed {
        Some(error) => Explanation::reason(error.message.clone()),
        None => Explanation::default(),
    }
}
