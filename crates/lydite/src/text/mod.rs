//! Pure functions over text, one topic a file.

pub mod distance;
pub mod find;
pub mod normalize;
pub mod regex;
