//! `text`: the report on a terminal of 80 columns, readable without colour.

use std::fmt::Write as _;

use textwrap::core::display_width;

use super::Renderer;
use super::shown::{
    asked, count, counted, gap, gate_value, gates_in_short, headline, mean, number, one_line, rate,
    sample_name, sample_place, stopped,
};
use crate::model::ModelTotals;
use crate::outcome::Verdict;
use crate::report::{CheckReport, GateResult, GateStatus, Report};
use crate::stats::CheckSummary;

/// Writes the report for people.
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    /// With ANSI colours.
    pub color: bool,
}

impl Renderer for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn extension(&self) -> &'static str {
        "txt"
    }

    fn footer(&self, report: &Report, out: &mut Vec<u8>) {
        let mut page = Page {
            text: String::new(),
            color: self.color,
        };
        page.head(report);
        page.checks(&report.checks);
        page.gaps(&report.checks);
        page.bad_records(report);
        page.gates(&report.gates);
        page.samples(&report.checks);
        page.models(&report.models);
        page.end(report);
        out.extend_from_slice(page.text.as_bytes());
    }
}

const WIDTH: usize = 80;

/// Reasons and messages are cut to so many characters; the results have them whole.
const MAX_REASON: usize = 320;

#[derive(Clone, Copy)]
enum Ink {
    Plain,
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
}

struct Page {
    text: String,
    color: bool,
}

impl Page {
    fn head(&mut self, report: &Report) {
        if let Some(suite) = &report.run.suite {
            let suite = one_line(suite, WIDTH);
            self.ink(Ink::Bold, &suite);
            self.end_line();
        }
        self.wrapped("", &one_line(&headline(report), usize::MAX));
        if let Some(stopped) = stopped(report) {
            self.wrapped("", &stopped);
        }
    }

    fn checks(&mut self, checks: &[CheckReport]) {
        if checks.is_empty() {
            return;
        }
        self.end_line();
        let shown: Vec<&Column> = COLUMNS
            .iter()
            .filter(|column| column.is_shown(checks))
            .collect();
        let rows: Vec<Vec<String>> = checks
            .iter()
            .map(|check| {
                shown
                    .iter()
                    .map(|column| (column.cell)(&check.summary))
                    .collect()
            })
            .collect();
        let widths: Vec<usize> = shown
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let cells = rows.iter().filter_map(|row| row.get(index));
                cells
                    .map(|cell| display_width(cell))
                    .chain([display_width(column.name)])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let names: Vec<String> = checks
            .iter()
            .map(|check| one_line(&check.name, 200))
            .collect();
        let widest = names
            .iter()
            .map(|name| display_width(name))
            .max()
            .unwrap_or(0);
        let needed =
            |gap: usize| "check".len() + widths.iter().map(|width| width + gap).sum::<usize>();
        let gap = if needed(2) <= WIDTH { 2 } else { 1 };
        // A name that is wider stands on a line of its own.
        let name_width = widest.clamp(
            "check".len(),
            "check".len() + WIDTH.saturating_sub(needed(gap)),
        );

        self.padded(Ink::Dim, "check", name_width);
        for (column, &width) in shown.iter().zip(&widths) {
            self.cell(Ink::Dim, column.name, gap + width);
        }
        self.end_line();
        for (name, row) in names.iter().zip(&rows) {
            self.padded(Ink::Plain, name, name_width);
            if display_width(name) > name_width {
                self.end_line();
                self.padded(Ink::Plain, "", name_width);
            }
            for ((column, cell), &width) in shown.iter().zip(row).zip(&widths) {
                let ink = if cell == "0" || cell == "–" {
                    Ink::Dim
                } else {
                    column.ink
                };
                self.cell(ink, cell, gap + width);
            }
            self.end_line();
        }
        if checks
            .iter()
            .any(|check| check.summary.pass_rate.is_some() || check.summary.mean.is_some())
        {
            self.ink(Ink::Dim, "in brackets: 95% intervals");
            self.end_line();
        }
    }

    /// What the figures above do not stand on, and why.
    fn gaps(&mut self, checks: &[CheckReport]) {
        let mut title = Some("Not all answers have a result");
        for check in checks {
            let gap = gap(check);
            if gap.is_none() && check.errors.is_empty() {
                continue;
            }
            if let Some(title) = title.take() {
                self.title(title);
            }
            let name = one_line(&check.name, 200);
            self.wrapped(
                "  ",
                &format!(
                    "{name}: coverage {}",
                    gap.unwrap_or_else(|| "100%".to_owned())
                ),
            );
            for error in &check.errors {
                let message = one_line(&error.message, MAX_REASON);
                let code = one_line(&error.code, 64);
                self.wrapped(
                    "    ",
                    &format!("{} × {code}: {message}", count(error.count)),
                );
            }
        }
        for check in checks {
            let summary = check
                .summary
                .warnings
                .iter()
                .filter(|warning| !is_said_by_gaps(**warning));
            let lines = summary.map(|warning| warning.as_str().to_owned()).chain(
                check
                    .answer_warnings
                    .iter()
                    .map(|(code, n)| format!("{} × {}", count(*n), one_line(code, 64))),
            );
            for line in lines {
                self.wrapped(
                    "  ",
                    &format!("warning: {}: {line}", one_line(&check.name, 200)),
                );
            }
        }
    }

    fn bad_records(&mut self, report: &Report) {
        if report.records.bad == 0 {
            return;
        }
        self.title(&counted(report.records.bad, "bad record", "bad records"));
        for bad in report.bad_records.iter().take(SHOWN) {
            let file = bad.file.as_deref().unwrap_or("-");
            let field = bad
                .field
                .as_ref()
                .map(|field| format!("`{field}`: "))
                .unwrap_or_default();
            let hint = bad
                .hint
                .as_ref()
                .map(|hint| format!("; {hint}"))
                .unwrap_or_default();
            let text = format!(
                "{file}:{}:{}: {field}{}{hint}",
                bad.line, bad.column, bad.message
            );
            self.wrapped("  ", &one_line(&text, MAX_REASON));
        }
        self.more(report.records.bad.saturating_sub(SHOWN as u64));
    }

    fn gates(&mut self, gates: &[GateResult]) {
        if gates.is_empty() {
            return;
        }
        self.title("Gates");
        let width = gates
            .iter()
            .map(|gate| display_width(&gate.gate))
            .max()
            .unwrap_or(0)
            .min(WIDTH - 30);
        for gate in gates {
            self.text.push_str("  ");
            let ink = match gate.status {
                GateStatus::Met => Ink::Green,
                GateStatus::Missed => Ink::Red,
                GateStatus::NoValue => Ink::Yellow,
                GateStatus::NotJudged => Ink::Dim,
            };
            self.padded(ink, gate.status.as_str(), "not judged".len());
            self.text.push_str("  ");
            self.padded(Ink::Plain, &one_line(&gate.gate, usize::MAX), width);
            if gate.value.is_some() {
                self.text.push_str("  ");
                self.text.push_str(&gate_value(gate));
            }
            self.end_line();
            if gate.status == GateStatus::NotJudged {
                continue;
            }
            let help = gate.coverage.as_ref().and_then(|rule| rule.help.as_deref());
            for line in [gate.reason.as_deref(), help].into_iter().flatten() {
                self.wrapped("              ", &one_line(line, MAX_REASON));
            }
        }
        let mut unjudged = gates
            .iter()
            .filter(|gate| gate.status == GateStatus::NotJudged);
        if let Some(why) = unjudged.find_map(|gate| gate.reason.as_deref()) {
            self.wrapped("  ", why);
        }
    }

    fn models(&mut self, models: &[ModelTotals]) {
        if models.is_empty() {
            return;
        }
        self.title("Models");
        for model in models {
            self.wrapped("  ", &one_line(&asked(model), usize::MAX));
        }
    }

    fn samples(&mut self, checks: &[CheckReport]) {
        let mut title = Some("First answers that did not pass");
        for check in checks {
            for (index, sample) in check.samples.iter().take(SHOWN).enumerate() {
                if let Some(title) = title.take() {
                    self.title(title);
                }
                if index == 0 {
                    self.text.push_str("  ");
                    self.ink(Ink::Bold, &one_line(&check.name, 200));
                    self.end_line();
                }
                self.text.push_str("    ");
                let ink = if sample.verdict == Verdict::Fail {
                    Ink::Red
                } else {
                    Ink::Yellow
                };
                self.ink(ink, sample.verdict.as_str());
                let mut line = format!(" {}", one_line(&sample_name(sample), 200));
                if let Some(score) = sample.score {
                    let _ = write!(line, "  score {}", number(score));
                }
                self.text.push_str(&line);
                if let Some(place) = sample_place(sample) {
                    self.ink(Ink::Dim, &format!("  {}", one_line(&place, 200)));
                }
                self.end_line();
                if let Some(reason) = &sample.reason {
                    self.wrapped("      ", &one_line(reason, MAX_REASON));
                }
            }
        }
    }

    fn end(&mut self, report: &Report) {
        self.end_line();
        let errors = &report.errors;
        if errors.count > 0 {
            let text = format!(
                "{} of {} cells and bad records; allowed: {}",
                counted(errors.count, "error", "errors"),
                count(errors.of),
                errors.allowed
            );
            self.wrapped("", &text);
            errors.help.iter().for_each(|help| self.wrapped("  ", help));
        }
        if let Some(gates) = gates_in_short(report) {
            self.wrapped("", &gates);
        }
        let ink = match report.exit.code {
            0 => Ink::Green,
            1 => Ink::Red,
            _ => Ink::Yellow,
        };
        let line = format!(
            "exit {}: {}",
            report.exit.code,
            one_line(&report.exit.reason, MAX_REASON)
        );
        for line in textwrap::wrap(&line, WIDTH) {
            self.ink(ink, &line);
            self.end_line();
        }
    }

    fn title(&mut self, title: &str) {
        self.end_line();
        self.ink(Ink::Bold, title);
        self.end_line();
    }

    fn more(&mut self, more: u64) {
        if more > 0 {
            self.wrapped("  ", &format!("and {} more", count(more)));
        }
    }

    fn wrapped(&mut self, indent: &str, text: &str) {
        let options = textwrap::Options::new(WIDTH)
            .initial_indent(indent)
            .subsequent_indent(indent);
        for line in textwrap::wrap(text, options) {
            self.text.push_str(line.trim_end());
            self.end_line();
        }
    }

    /// On the left of a column.
    fn padded(&mut self, ink: Ink, text: &str, width: usize) {
        self.ink(ink, text);
        self.spaces(width.saturating_sub(display_width(text)));
    }

    /// On the right of a column.
    fn cell(&mut self, ink: Ink, text: &str, width: usize) {
        self.spaces(width.saturating_sub(display_width(text)));
        self.ink(ink, text);
    }

    fn spaces(&mut self, n: usize) {
        self.text.extend(std::iter::repeat_n(' ', n));
    }

    fn ink(&mut self, ink: Ink, text: &str) {
        let code = match ink {
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Red => "31",
            Ink::Yellow => "33",
            Ink::Green => "32",
            Ink::Plain => "",
        };
        if !self.color || code.is_empty() || text.is_empty() {
            self.text.push_str(text);
            return;
        }
        for part in ["\x1b[", code, "m", text, "\x1b[0m"] {
            self.text.push_str(part);
        }
    }

    fn end_line(&mut self) {
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        self.text.push('\n');
    }
}

/// So many bad records and samples of a check are shown.
const SHOWN: usize = 3;

struct Column {
    name: &'static str,
    /// Left out where all its numbers are 0.
    count: Option<fn(&CheckSummary) -> u64>,
    cell: fn(&CheckSummary) -> String,
    ink: Ink,
}

impl Column {
    fn is_shown(&self, checks: &[CheckReport]) -> bool {
        self.count
            .is_none_or(|count| checks.iter().any(|check| count(&check.summary) > 0))
    }
}

const COLUMNS: [Column; 9] = [
    Column {
        name: "n",
        count: None,
        cell: |s| count(s.n),
        ink: Ink::Plain,
    },
    Column {
        name: "pass",
        count: None,
        cell: |s| count(s.passed),
        ink: Ink::Green,
    },
    Column {
        name: "fail",
        count: None,
        cell: |s| count(s.failed),
        ink: Ink::Red,
    },
    Column {
        name: "part",
        count: Some(|s| s.partial),
        cell: |s| count(s.partial),
        ink: Ink::Yellow,
    },
    Column {
        name: "unsure",
        count: Some(|s| s.inconclusive),
        cell: |s| count(s.inconclusive),
        ink: Ink::Yellow,
    },
    Column {
        name: "skip",
        count: Some(|s| s.skipped),
        cell: |s| count(s.skipped),
        ink: Ink::Dim,
    },
    Column {
        name: "error",
        count: None,
        cell: |s| count(s.errored),
        ink: Ink::Yellow,
    },
    Column {
        name: "pass rate",
        count: Some(|s| s.passed + s.failed + s.partial),
        cell: |s| rate(s.pass_rate),
        ink: Ink::Plain,
    },
    Column {
        name: "mean",
        count: Some(|s| s.scored),
        cell: |s| mean(s.mean),
        ink: Ink::Plain,
    },
];

/// Whether a warning is what the section on gaps says in figures.
fn is_said_by_gaps(warning: crate::stats::summary::Warning) -> bool {
    warning == crate::stats::summary::Warning::Incomplete
}
