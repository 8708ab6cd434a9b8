//! Readers and writers, one a file.
