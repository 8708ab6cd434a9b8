//! Figures and texts as people read them.

use std::fmt::Write as _;

use crate::model::ModelTotals;
use crate::report::{CheckReport, GateResult, Report, SampleReport, Stop};
use crate::stats::summary::Estimate;

/// A count with its thousands apart: `1,234`.
pub(super) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 record`, `2 records`.
pub(super) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A share in [0, 1] in per cent. Only all is `100%`, and only nothing is `0%`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.05 {
        return "<0.1%".to_owned();
    }
    if (99.95..100.0).contains(&percent) {
        return ">99.9%".to_owned();
    }
    let text = format!("{percent:.1}");
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// A number on any scale, in a few digits.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 || (size > 0.0 && size < 5e-4) {
        return format!("{value:.2e}");
    }
    if value.fract() == 0.0 {
        return format!("{value}");
    }
    format!("{value:.3}")
}

/// A rate with its interval: `75% [30, 95]`.
pub(super) fn rate(rate: Option<Estimate>) -> String {
    let Some(rate) = rate else {
        return "–".to_owned();
    };
    let mut text = percent(rate.value);
    if let (Some(low), Some(high)) = (rate.low, rate.high) {
        // The ends are rounded away from the rate, so that the interval is never said too narrow.
        let _ = write!(
            text,
            " [{}, {}]",
            (low * 100.0).floor(),
            (high * 100.0).ceil()
        );
    }
    text
}

/// A mean with its interval: `0.750 [0.30, 0.95]`.
pub(super) fn mean(mean: Option<Estimate>) -> String {
    let Some(mean) = mean else {
        return "–".to_owned();
    };
    let mut text = number(mean.value);
    if let (Some(low), Some(high)) = (mean.low, mean.high) {
        let decimals = if high - low >= 100.0 { 0 } else { 2 };
        let _ = write!(text, " [{low:.decimals$}, {high:.decimals$}]");
    }
    text
}

/// A gate's figure, in per cent where the gate is, with as many digits as tell it from the bound.
pub(super) fn gate_value(gate: &GateResult) -> String {
    let Some(value) = gate.value else {
        return "–".to_owned();
    };
    let in_percent = gate.gate.trim_end().ends_with('%');
    let scaled = |value: f64| if in_percent { value * 100.0 } else { value };
    let (value, needed) = (scaled(value), scaled(gate.needed));
    let unit = if in_percent { "%" } else { "" };
    if value.fract() == 0.0 && value.abs() < 1e6 {
        return format!("{value}{unit}");
    }
    let first = if in_percent { 1 } else { 3 };
    let told_apart = |text: &String| {
        text.parse::<f64>()
            .is_ok_and(|shown| shown.partial_cmp(&needed) == value.partial_cmp(&needed))
    };
    let text = (first..=12)
        .map(|decimals| format!("{value:.decimals$}"))
        .find(told_apart);
    format!("{}{unit}", text.unwrap_or_else(|| value.to_string()))
}

/// The head line: what was run on what.
pub(super) fn headline(report: &Report) -> String {
    let records = &report.records;
    let mut text = counted(records.judged, "record", "records");
    if let [file] = report.run.data.as_slice() {
        let _ = write!(text, " of {}", if file == "-" { "stdin" } else { file });
    } else if !report.run.data.is_empty() {
        let _ = write!(text, " of {} files", report.run.data.len());
    }
    if let Some(shard) = &report.run.shard {
        let _ = write!(text, ", shard {shard}");
    }
    let parts = [
        (records.passed, "passed"),
        (records.failed, "failed"),
        (records.partial, "partial"),
        (records.inconclusive, "inconclusive"),
        (records.bad, "bad"),
    ];
    let parts = parts
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", count(n)));
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        let _ = write!(text, ": {}", parts.join(", "));
    }
    text
}

/// That a run ended early, and what it left.
pub(super) fn stopped(report: &Report) -> Option<String> {
    let why = match report.run.stopped? {
        Stop::Interrupted => "interrupted",
        Stop::Budget => "stopped when the budget was spent",
        Stop::Unauthorized => "stopped when the provider refused the key",
    };
    let why = match &report.run.stopped_because {
        Some(because) => format!("{why} ({because})"),
        None => why.to_owned(),
    };
    Some(match report.records.planned {
        Some(planned) => {
            let left = planned.saturating_sub(report.records.judged);
            format!(
                "{why}: {} not judged; --resume does them",
                counted(left, "record was", "records were")
            )
        }
        None => format!("{why} before the end of the data was seen; --resume does the rest"),
    })
}

/// What was asked of a model and what it cost: `openai/gpt-4.1-mini: 1,204 calls (12 retries), 30 cached, …`.
pub(super) fn asked(model: &ModelTotals) -> String {
    let mut text = format!("{}: {}", model.model, counted(model.calls, "call", "calls"));
    if model.retries > 0 {
        let _ = write!(text, " ({})", counted(model.retries, "retry", "retries"));
    }
    for (n, what) in [(model.cached, "cached"), (model.failed, "failed")] {
        if n > 0 {
            let _ = write!(text, ", {} {what}", count(n));
        }
    }
    let about = if model.estimated { "about " } else { "" };
    let _ = write!(
        text,
        ", {about}{} tokens in, {about}{} out, {}",
        count(model.input_tokens),
        count(model.output_tokens),
        cost(model.cost_usd)
    );
    if let Some(date) = model
        .price_date
        .as_ref()
        .filter(|_| model.cost_usd > Some(0.0))
    {
        let _ = write!(text, " (list price of {date})");
    }
    text
}

/// US dollars; an unknown price is said, and never 0.
fn cost(cost: Option<f64>) -> String {
    match cost {
        None => "cost unknown (name a `price`)".to_owned(),
        Some(0.0) => "no cost".to_owned(),
        Some(usd) if usd < 0.01 => format!("${usd:.6}"),
        Some(usd) => format!("${usd:.2}"),
    }
}

/// Why not all answers of a check have a result: `33.3% (1 inconclusive, 1 errored)`; `None` where all have.
pub(super) fn gap(check: &CheckReport) -> Option<String> {
    let summary = &check.summary;
    let coverage = summary.coverage.filter(|coverage| *coverage < 1.0)?;
    let parts = [
        (summary.inconclusive, "inconclusive"),
        (summary.errored, "errored"),
        (summary.not_run.unwrap_or(0), "not run"),
    ];
    let parts = parts
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", count(n)));
    Some(format!(
        "{} ({})",
        percent(coverage),
        parts.collect::<Vec<_>>().join(", ")
    ))
}

/// A sample's record: id, model, trial.
pub(super) fn sample_name(sample: &SampleReport) -> String {
    let mut text = sample.record.clone();
    if let Some(model) = &sample.model {
        let _ = write!(text, " [{model}]");
    }
    if sample.trial > 1 {
        let _ = write!(text, " trial {}", sample.trial);
    }
    text
}

/// `file:line` where it is known.
pub(super) fn sample_place(sample: &SampleReport) -> Option<String> {
    let line = sample.line?;
    Some(match &sample.file {
        Some(file) => format!("{file}:{line}"),
        None => format!("line {line}"),
    })
}

/// `1 of 3 gates missed`, and the like; `None` without gates.
pub(super) fn gates_in_short(report: &Report) -> Option<String> {
    use crate::report::GateStatus::{Met, Missed, NoValue, NotJudged};
    let total = report.gates.len();
    let of = |status| {
        report
            .gates
            .iter()
            .filter(|gate| gate.status == status)
            .count()
    };
    let parts = [
        (Met, "met"),
        (Missed, "missed"),
        (NoValue, "without a value"),
        (NotJudged, "not judged"),
    ]
    .into_iter()
    .map(|(status, what)| (of(status), what))
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("{n} {what}"));
    (total > 0).then(|| {
        format!(
            "{}: {}",
            counted(total as u64, "gate", "gates"),
            parts.collect::<Vec<_>>().join(", ")
        )
    })
}

/// A text on one line of a terminal, at most so many characters of it: line breaks, other control
/// characters and those that turn the direction of writing are shown as escapes.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (index, c) in text.trim_end().chars().enumerate() {
        if index == most {
            out.push('…');
            break;
        }
        if c.is_control() || is_direction(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_models_were_asked() {
        let model = ModelTotals {
            model: "openai/m".into(),
            calls: 1204,
            retries: 1,
            cached: 30,
            input_tokens: 5000,
            output_tokens: 20,
            cost_usd: Some(1.234),
            price_date: Some("2025-12-01".into()),
            ..ModelTotals::default()
        };
        assert_eq!(
            asked(&model),
            "openai/m: 1,204 calls (1 retry), 30 cached, 5,000 tokens in, 20 out, $1.23 (list price of 2025-12-01)"
        );
        let unknown = ModelTotals {
            cost_usd: None,
            estimated: true,
            ..model
        };
        assert!(
            asked(&unknown)
                .ends_with("about 5,000 tokens in, about 20 out, cost unknown (name a `price`)")
        );
    }

    #[test]
    fn figures() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        let shares = [0.0, 0.0001, 0.5, 1.0 / 3.0, 0.9999, 1.0];
        assert_eq!(
            shares.map(percent),
            ["0%", "<0.1%", "50%", "33.3%", ">99.9%", "100%"]
        );
        let numbers = [0.0, 4.0, -3.25, 0.123_456_7, 1e-5, 1_234_567.0, 123_456.7];
        assert_eq!(
            numbers.map(number),
            [
                "0",
                "4",
                "-3.250",
                "0.123",
                "1.00e-5",
                "1.23e6",
                "123456.700"
            ]
        );
    }

    #[test]
    fn a_gates_figure_is_never_shown_as_its_bound_unless_it_is() {
        let shown = |gate: &str, value, needed| {
            gate_value(&GateResult {
                gate: gate.into(),
                value: Some(value),
                needed,
                ..GateResult::default()
            })
        };
        assert_eq!(shown("c.mean >= 0.9", 0.899_99, 0.9), "0.89999");
        assert_eq!(shown("c.mean >= 0.9", 0.9, 0.9), "0.900");
        assert_eq!(shown("c.pass_rate >= 90%", 0.899_99, 0.9), "89.999%");
        assert_eq!(shown("c.pass_rate >= 90%", 1.0, 0.9), "100%");
        assert_eq!(shown("errors <= 5", 7.0, 5.0), "7");
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(
            one_line("a\nb\u{1b}[31m\u{202e}é\n", 99),
            "a\\nb\\u{1b}[31m\\u{202e}é"
        );
        assert_eq!(one_line("abcdef", 3), "abc…");
    }
}
