//! `markdown`: the report as a comment on a pull request.

use std::fmt::Write as _;

use super::Renderer;
use super::shown::{
    asked, count, counted, gap, gate_value, gates_in_short, headline, mean, number, one_line, rate,
    sample_name, sample_place, stopped,
};
use crate::report::{CheckReport, GateResult, GateStatus, Report, SampleReport};
use crate::stats::CheckSummary;

/// Writes the report as GitHub's and GitLab's Markdown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Markdown;

impl Renderer for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn extension(&self) -> &'static str {
        "md"
    }

    fn footer(&self, report: &Report, out: &mut Vec<u8>) {
        let mut text = String::new();
        head(&mut text, report);
        gates(&mut text, &report.gates);
        checks(&mut text, &report.checks);
        gaps(&mut text, report);
        models(&mut text, report);
        for check in &report.checks {
            details(&mut text, &samples(check));
        }
        details(&mut text, &bad_records(report));
        details(&mut text, &by_tag(&report.checks));
        out.extend_from_slice(text.as_bytes());
    }
}

/// GitHub takes comments of up to 65,536 characters: details beyond are left out.
const MAX_BYTES: usize = 60_000;

/// So many rows a table of details has.
const SHOWN: usize = 10;

/// Reasons are cut to so many characters; the results have them whole.
const MAX_REASON: usize = 300;

fn head(text: &mut String, report: &Report) {
    let word = match report.exit.code {
        0 => "passed",
        1 => "failed",
        130 => "interrupted",
        _ => "no verdict",
    };
    let suite = report.run.suite.as_deref().unwrap_or("lydite");
    let _ = writeln!(text, "### {}: {word}\n", plain(suite));
    let _ = writeln!(text, "{}.", plain(&headline(report)));
    if let Some(stopped) = stopped(report) {
        let _ = writeln!(text, "{}.", plain(&stopped));
    }
    if let Some(gates) = gates_in_short(report) {
        let _ = writeln!(text, "{}.", plain(&gates));
    }
    let _ = writeln!(
        text,
        "Exit code {}: {}.",
        report.exit.code,
        plain(&report.exit.reason)
    );
}

fn gates(text: &mut String, gates: &[GateResult]) {
    if gates.is_empty() {
        return;
    }
    text.push_str("\n| gate | | value | |\n|---|---|---:|---|\n");
    for gate in gates {
        let status = match gate.status {
            GateStatus::Met => gate.status.as_str().to_owned(),
            other => format!("**{}**", other.as_str()),
        };
        let help = gate.coverage.as_ref().and_then(|rule| rule.help.as_deref());
        let notes: Vec<String> = [gate.reason.as_deref(), help]
            .into_iter()
            .flatten()
            .map(plain)
            .collect();
        let _ = writeln!(
            text,
            "| {} | {status} | {} | {} |",
            code(&gate.gate),
            gate_value(gate),
            notes.join("; ")
        );
    }
}

fn checks(text: &mut String, checks: &[CheckReport]) {
    if checks.is_empty() {
        return;
    }
    text.push_str("\n| check | n | pass | fail | partial | inconclusive | error | skipped | pass rate | mean |\n");
    text.push_str("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for check in checks {
        row(text, &check.name, &check.summary);
    }
    text.push_str("\nIn brackets: 95% intervals.\n");
}

fn row(text: &mut String, name: &str, summary: &CheckSummary) {
    let counts = [
        summary.n,
        summary.passed,
        summary.failed,
        summary.partial,
        summary.inconclusive,
        summary.errored,
        summary.skipped,
    ];
    let counts: Vec<String> = counts.into_iter().map(count).collect();
    let (name, counts) = (code(name), counts.join(" | "));
    let _ = writeln!(
        text,
        "| {name} | {counts} | {} | {} |",
        rate(summary.pass_rate),
        mean(summary.mean)
    );
}

fn gaps(text: &mut String, report: &Report) {
    let mut lines = Vec::new();
    for check in &report.checks {
        if let Some(gap) = gap(check) {
            lines.push(format!("- {}: coverage {gap}", code(&check.name)));
        }
        for error in &check.errors {
            let message = code(&one_line(&error.message, MAX_REASON));
            lines.push(format!(
                "  - {} × {}: {message}",
                count(error.count),
                code(&error.code)
            ));
        }
    }
    if let Some(help) = &report.errors.help {
        let errors = counted(report.errors.count, "error", "errors");
        lines.push(format!(
            "- {errors} where {} are allowed: {}",
            report.errors.allowed,
            plain(help)
        ));
    }
    if !lines.is_empty() {
        let _ = writeln!(
            text,
            "\nNot all answers have a result:\n{}",
            lines.join("\n")
        );
    }
}

/// A part that is folded away: its title and its body, empty where there is none.
type Details = (String, String);

fn models(text: &mut String, report: &Report) {
    if report.models.is_empty() {
        return;
    }
    text.push('\n');
    for model in &report.models {
        let _ = writeln!(text, "- {}", plain(&asked(model)));
    }
}

fn details(text: &mut String, (title, body): &Details) {
    if body.is_empty() || text.len() + title.len() + body.len() > MAX_BYTES {
        return;
    }
    let _ = writeln!(
        text,
        "\n<details><summary>{title}</summary>\n\n{body}\n</details>"
    );
}

fn samples(check: &CheckReport) -> Details {
    let summary = &check.summary;
    let total = summary.failed + summary.partial + summary.inconclusive + summary.errored;
    let mut body = String::new();
    for sample in check.samples.iter().take(SHOWN) {
        let place = sample_place(sample)
            .map(|place| code(&place))
            .unwrap_or_default();
        let SampleReport {
            verdict,
            score,
            reason,
            ..
        } = sample;
        let score = score.map(number).unwrap_or_default();
        let reason = reason
            .as_ref()
            .map(|reason| code(&one_line(reason, MAX_REASON)))
            .unwrap_or_default();
        let _ = writeln!(
            body,
            "| {} | {place} | {} | {score} | {reason} |",
            code(&sample_name(sample)),
            verdict.as_str()
        );
    }
    if body.is_empty() {
        return Details::default();
    }
    let shown = check.samples.len().min(SHOWN) as u64;
    let title = if shown < total {
        format!(
            "{}: the first {shown} of {} that did not pass",
            code(&check.name),
            count(total)
        )
    } else {
        format!("{}: {} that did not pass", code(&check.name), count(total))
    };
    (
        title,
        format!("| record | | verdict | score | reason |\n|---|---|---|---:|---|\n{body}"),
    )
}

fn bad_records(report: &Report) -> Details {
    let mut body = String::new();
    for bad in report.bad_records.iter().take(SHOWN) {
        let place = format!(
            "{}:{}:{}",
            bad.file.as_deref().unwrap_or("-"),
            bad.line,
            bad.column
        );
        let field = bad
            .field
            .as_ref()
            .map(|field| format!("{field}: "))
            .unwrap_or_default();
        let hint = bad
            .hint
            .as_ref()
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        let message = one_line(&format!("{field}{}{hint}", bad.message), MAX_REASON);
        let _ = writeln!(body, "- {}: {}", code(&place), code(&message));
    }
    (
        counted(report.records.bad, "bad record", "bad records"),
        body,
    )
}

fn by_tag(checks: &[CheckReport]) -> Details {
    const TAGS: usize = 20;
    let mut body = String::new();
    for check in checks.iter().filter(|check| !check.by_tag.is_empty()) {
        let _ = writeln!(body, "\n{}\n", code(&check.name));
        body.push_str("| tag | n | pass | fail | partial | inconclusive | error | skipped | pass rate | mean |\n");
        body.push_str("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
        for (tag, summary) in check.by_tag.iter().take(TAGS) {
            row(&mut body, tag, summary);
        }
        if check.by_tag.len() > TAGS {
            let _ = writeln!(
                body,
                "\nand {} more",
                counted((check.by_tag.len() - TAGS) as u64, "tag", "tags")
            );
        }
    }
    ("By tag".to_owned(), body)
}

/// Text that Markdown must not read, as code: a mention or a number in it makes no link.
fn code(text: &str) -> String {
    format!("<code>{}</code>", plain(text))
}

/// Text that Markdown must not read.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text, usize::MAX).chars() {
        match c {
            '&' | '<' | '>' | '|' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '\\' | '~' | '#'
            | '@' | '$' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
