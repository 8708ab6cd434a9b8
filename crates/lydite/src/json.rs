//! JSON as a borrowed tree whose numbers keep their source text.
