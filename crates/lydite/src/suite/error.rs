//! All that is wrong with a suite, each error with its place.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::node::{Node, NodeValue, Span, did_you_mean, render};

/// A text that a suite is made of: its file, or one `--check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's path, or the option with its text's number.
    pub name: Arc<str>,
    pub text: Arc<str>,
}

impl Source {
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }
}

/// One thing that is wrong with a suite, or worth a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteError {
    pub source: Source,
    /// Where in the source; unknown where the whole is meant.
    pub span: Span,
    pub message: String,
    pub help: Option<String>,
}

impl SuiteError {
    /// Message and help on one line, without the place.
    pub fn one_line(&self) -> String {
        match &self.help {
            Some(help) => format!("{}; {help}", self.message),
            None => self.message.clone(),
        }
    }
}

/// As a terminal shows it: file, line, column, message, the line itself, and what to do.
impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = render(
            &self.source.name,
            &self.source.text,
            self.span,
            &self.message,
            self.help.as_deref(),
        );
        f.write_str(text.trim_end_matches('\n'))
    }
}

/// Everything that is wrong with a suite, in the order of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteErrors(pub Vec<SuiteError>);

impl fmt::Display for SuiteErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for SuiteErrors {}

/// Collects errors and warnings while one source is read.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) source: Source,
    pub(super) errors: Vec<SuiteError>,
    pub(super) notes: Vec<SuiteError>,
}

impl Desk {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            errors: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn error(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let help = Some(help.into()).filter(|help| !help.is_empty());
        self.errors.push(SuiteError {
            source: self.source.clone(),
            span,
            message: message.into(),
            help,
        });
    }

    pub(super) fn note(&mut self, span: Span, message: impl Into<String>) {
        self.notes.push(SuiteError {
            source: self.source.clone(),
            span,
            message: message.into(),
            help: None,
        });
    }

    /// A key that the mapping does not know.
    pub(super) fn unknown_key(&mut self, key: &Node, allowed: &[&str], suggestion: Option<&str>) {
        let name = key_text(key);
        let nearest = suggestion.or_else(|| did_you_mean(name, allowed.iter().copied()));
        let message = match nearest {
            Some(nearest) => format!("unknown key `{name}` (did you mean `{nearest}`?)"),
            None => format!("unknown key `{name}`"),
        };
        self.error(
            key.span,
            message,
            format!("allowed: {}", allowed.join(", ")),
        );
    }

    /// The entries of a mapping.
    pub(super) fn mapping<'n>(
        &mut self,
        what: &str,
        node: &'n Node,
        help: &str,
    ) -> Option<&'n [(Node, Node)]> {
        if let NodeValue::Mapping(entries) = &node.value {
            return Some(entries);
        }
        self.error(
            node.span,
            format!("`{what}` must be a mapping, found {}", found(node)),
            help,
        );
        None
    }

    /// The items of a list.
    pub(super) fn list<'n>(
        &mut self,
        what: &str,
        node: &'n Node,
        help: &str,
    ) -> Option<&'n [Node]> {
        if let NodeValue::Sequence(items) = &node.value {
            return Some(items);
        }
        self.error(
            node.span,
            format!("`{what}` must be a list, found {}", found(node)),
            help,
        );
        None
    }

    /// A text that is not blank.
    pub(super) fn text<'n>(&mut self, what: &str, node: &'n Node) -> Option<&'n str> {
        match node.as_str() {
            Some(text) if text.trim().is_empty() => {
                self.error(
                    node.span,
                    format!("`{what}` is empty"),
                    "give it a value, or leave the key out",
                );
                None
            }
            Some(text) => Some(text),
            None if node.is_null() => {
                self.error(
                    node.span,
                    format!("`{what}` has no value"),
                    "give it one (quote `null` if you mean the text), or leave the key out",
                );
                None
            }
            None => {
                self.error(
                    node.span,
                    format!("`{what}` must be text, found {}", found(node)),
                    "",
                );
                None
            }
        }
    }

    /// A number or a boolean.
    pub(super) fn scalar<T: DeserializeOwned>(
        &mut self,
        what: &str,
        expected: &str,
        node: &Node,
    ) -> Option<T> {
        let value = node.deserialize_into().ok();
        if value.is_none() {
            self.error(
                node.span,
                format!("`{what}` must be {expected}, found {}", found(node)),
                "",
            );
        }
        value
    }
}

/// A key's text; keys are always scalars.
pub(super) fn key_text(key: &Node) -> &str {
    key.as_str().unwrap_or_default()
}

/// A node as an error names it.
pub(super) fn found(node: &Node) -> String {
    const LONGEST: usize = 40;
    match node.as_str() {
        Some(text) if text.chars().count() <= LONGEST && !text.contains(char::is_control) => {
            let kind = node.kind_name();
            if kind == "boolean" {
                format!("`{text}`")
            } else {
                format!("the {kind} `{text}`")
            }
        }
        Some(_) => "a longer text".to_owned(),
        None if node.is_null() => "nothing".to_owned(),
        None => format!("a {}", node.kind_name()),
    }
}
