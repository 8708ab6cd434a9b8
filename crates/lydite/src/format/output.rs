//! The formats that results and reports are written in, by name.

use std::path::Path;
use std::sync::Arc;

use super::{
    Junit, LangSmith, Markdown, Renderer, ReportJson, ResultsCsv, ResultsJsonl, Text, WideCsv,
    WideJsonl,
};

/// What `--format` and the ending of `--output FILE` name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputFormat {
    /// The report for a terminal.
    Text,
    /// The report as JSON.
    Json,
    /// Result lines.
    Jsonl,
    /// Results as a table.
    Csv,
    /// The report for CI systems, with the reasons in it.
    Junit,
    /// The report for a pull-request comment.
    Markdown,
    /// LangSmith feedback, a line a check.
    Langsmith,
}

/// What a renderer must know beforehand.
#[derive(Clone, Copy, Debug)]
pub struct OutputContext<'a> {
    /// The input files, by the index that records bear.
    pub files: &'a [String],
    /// The suite's checks, in order.
    pub checks: &'a [&'a str],
    /// One line a record.
    pub wide: bool,
}

impl OutputFormat {
    pub const ALL: [Self; 7] = [
        Self::Text,
        Self::Json,
        Self::Jsonl,
        Self::Csv,
        Self::Junit,
        Self::Markdown,
        Self::Langsmith,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Junit => "junit",
            Self::Markdown => "markdown",
            Self::Langsmith => "langsmith",
        }
    }

    /// By name, as `--format` has it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// By a file's ending: `.json` `.jsonl` `.csv` `.xml` `.md` `.txt`.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" => Some(Self::Text),
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "xml" => Some(Self::Junit),
            "md" | "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }

    /// What writes the format. `color` is for text.
    pub fn renderer(self, cx: &OutputContext<'_>, color: bool) -> Arc<dyn Renderer> {
        let checks = || cx.checks.iter().copied();
        match self {
            Self::Text => Arc::new(Text { color }),
            Self::Json => Arc::new(ReportJson),
            Self::Jsonl if cx.wide => Arc::new(WideJsonl::new(checks())),
            Self::Jsonl => Arc::new(ResultsJsonl),
            Self::Csv if cx.wide => Arc::new(WideCsv::new(checks())),
            Self::Csv => Arc::new(ResultsCsv),
            Self::Junit => Arc::new(Junit::new(cx.files.to_vec())),
            Self::Markdown => Arc::new(Markdown),
            Self::Langsmith => Arc::new(LangSmith),
        }
    }
}
