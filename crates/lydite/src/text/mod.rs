//! Pure functions over text, one topic a file.
