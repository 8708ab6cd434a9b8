//! `--format` and `--output`, in every command that writes results or a report.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use lydite::format::OutputFormat;
use lydite::job::Output;

use crate::terminal;

#[derive(Clone, Debug, Args)]
pub(crate) struct OutputArgs {
    /// What stdout gets [default: text].
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// A file to write; its ending says what: .json report, .jsonl .csv results, .xml JUnit, .md Markdown, .txt text;
    /// any other takes --format. What goes to a file in the format of --format does not go to stdout too.
    #[arg(long, short, value_name = "FILE")]
    output: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FormatName(OutputFormat);

impl ValueEnum for FormatName {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FormatName; OutputFormat::ALL.len()] = {
            let mut all = [FormatName(OutputFormat::Text); OutputFormat::ALL.len()];
            let mut i = 0;
            while i < all.len() {
                #[expect(clippy::indexing_slicing, reason = "i is in range of both")]
                {
                    all[i] = FormatName(OutputFormat::ALL[i]);
                }
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self.0 {
            OutputFormat::Text => "the report for a terminal",
            OutputFormat::Json => "the report as JSON",
            OutputFormat::Jsonl => "result lines",
            OutputFormat::Csv => "results as a table",
            OutputFormat::Junit => "JUnit XML, with the reasons",
            OutputFormat::Markdown => "the report for a pull-request comment",
            OutputFormat::Langsmith => "LangSmith feedback lines",
            _ => "",
        };
        Some(PossibleValue::new(self.0.as_str()).help(help))
    }
}

impl OutputArgs {
    /// Opens the files and stdout.
    pub(crate) fn open(&self) -> Result<Vec<Output>, String> {
        let wanted = self.format.map(|name| name.0);
        let mut outputs = Vec::new();
        for (index, path) in self.output.iter().enumerate() {
            if self.output.iter().take(index).any(|other| other == path) {
                return Err(format!("--output {}: named twice", path.display()));
            }
            let format = OutputFormat::of_path(path).or(wanted).ok_or_else(|| {
                format!("--output {}: the ending names no format; use .json .jsonl .csv .xml .md .txt, or say --format", path.display())
            })?;
            outputs.push(Output {
                format,
                to: Box::new(create(path)?),
                name: path.display().to_string(),
                color: false,
            });
        }
        let stdout = wanted.unwrap_or(OutputFormat::Text);
        if !outputs.iter().any(|output| output.format == stdout) {
            let color = terminal::stdout_color();
            outputs.push(Output {
                format: stdout,
                to: Box::new(std::io::stdout()),
                name: "stdout".into(),
                color,
            });
        }
        Ok(outputs)
    }

    /// Whether stdout gets something other than the text report.
    pub(crate) fn stdout_is_data(&self) -> bool {
        self.format.is_some_and(|name| name.0 != OutputFormat::Text)
    }
}

fn create(path: &Path) -> Result<BufWriter<Replaced>, String> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    file.map(|file| BufWriter::with_capacity(256 << 10, Replaced { file, begun: false }))
        .map_err(|error| format!("can't write {}: {error}", path.display()))
}

/// A file whose old content goes when the first new bytes come, not when a run that may be refused is begun.
struct Replaced {
    file: File,
    begun: bool,
}

impl Replaced {
    fn begin(&mut self) -> io::Result<()> {
        // A pipe or a device has no length to cut.
        if !self.begun && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.begun = true;
        Ok(())
    }
}

impl Write for Replaced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begin()?;
        self.file.flush()
    }
}
