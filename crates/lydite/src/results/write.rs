//! Writes result lines. Both writers give exactly what serde would, at a fraction of its time.

use std::num::NonZeroU64;

use crate::check::Judged;
use crate::outcome::{Cell, Score, Verdict};

use super::{CheckResult, RecordHead};

/// Appends one narrow line and its line break.
pub fn write_result(out: &mut Vec<u8>, line: &CheckResult<'_>) {
    out.extend_from_slice(b"{\"record\":");
    push_str(out, &line.record);
    push_answer(out, line.model.as_deref(), line.trial);
    out.extend_from_slice(b",\"check\":");
    push_str(out, &line.check);
    if line.repeat != 1 {
        out.extend_from_slice(b",\"repeat\":");
        push_integer(out, line.repeat);
    }
    if let Some(verdict) = line.verdict {
        push_verdict(out, b",\"verdict\":", verdict);
    }
    if let Some(natural) = line.natural {
        push_verdict(out, b",\"natural\":", natural);
    }
    if let Some(score) = line.score {
        out.extend_from_slice(b",\"score\":");
        push_number(out, score);
    }
    push_optional(out, b",\"label\":", line.label.as_deref());
    push_optional(out, b",\"reason\":", line.reason.as_deref());
    if !line.evidence.is_empty() {
        push_serialised(out, b",\"evidence\":", &line.evidence);
    }
    push_list(
        out,
        b",\"warnings\":",
        line.warnings.iter().map(|code| &**code),
    );
    if let Some(raw) = &line.raw {
        push_serialised(out, b",\"raw\":", raw);
    }
    if let Some(error) = &line.error {
        push_serialised(out, b",\"error\":", error);
    }
    push_optional(out, b",\"skipped\":", line.skipped.as_deref());
    if let Some(usage) = &line.usage {
        push_serialised(out, b",\"usage\":", usage);
    }
    if let Some(took) = line.took_ms {
        out.extend_from_slice(b",\"took_ms\":");
        push_integer(out, took);
    }
    if line.cached {
        out.extend_from_slice(b",\"cached\":true");
    }
    push_list(out, b",\"tags\":", line.tags.iter().map(|tag| &**tag));
    push_optional(out, b",\"cluster\":", line.cluster.as_deref());
    push_place(out, line.file, line.line.map_or(0, NonZeroU64::get));
    out.extend_from_slice(b"}\n");
}

/// Writes wide lines for a suite whose checks' names are escaped once.
#[derive(Clone, Debug, Default)]
pub struct WideWriter {
    /// A check's name, and `"name":{"verdict":`.
    names: Vec<(String, Vec<u8>)>,
}

impl WideWriter {
    /// For the suite's checks, in their order.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let prefix = |name: &str| {
            let mut bytes = Vec::new();
            push_key(&mut bytes, name);
            (name.to_owned(), bytes)
        };
        Self {
            names: names.into_iter().map(prefix).collect(),
        }
    }

    /// Appends a record's line and its line break. `cells` are the suite's checks in their order,
    /// then those that the record brought.
    pub fn write<'c>(
        &self,
        out: &mut Vec<u8>,
        head: &RecordHead<'_>,
        cells: impl IntoIterator<Item = (&'c str, &'c Judged)>,
    ) {
        out.extend_from_slice(b"{\"record\":");
        push_str(out, head.id);
        push_answer(out, head.model, head.trial);
        push_list(out, b",\"tags\":", head.tags.iter().copied());
        push_optional(out, b",\"cluster\":", head.cluster);
        push_place(out, head.file, head.line);
        out.extend_from_slice(b",\"checks\":{");
        for (index, (name, judged)) in cells.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            match self.names.get(index) {
                Some((known, prefix)) if known == name => out.extend_from_slice(prefix),
                _ => push_key(out, name),
            }
            push_cell(out, judged);
        }
        out.extend_from_slice(b"}}\n");
    }
}

fn push_key(out: &mut Vec<u8>, name: &str) {
    push_str(out, name);
    out.extend_from_slice(b":{\"verdict\":");
}

/// What follows a cell's `"verdict":`, with its closing brace.
fn push_cell(out: &mut Vec<u8>, judged: &Judged) {
    match judged.verdict {
        Some(verdict) => push_verdict(out, b"", verdict),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"score\":");
    match judged.cell {
        Cell::Scored {
            score: Some(score), ..
        } => push_score(out, score),
        _ => out.extend_from_slice(b"null"),
    }
    if let Some(natural) = judged.natural {
        push_verdict(out, b",\"natural\":", natural);
    }
    match judged.cell {
        Cell::Scored { .. } => {}
        Cell::Errored(code) => push_optional(out, b",\"error\":", Some(code.as_str())),
        Cell::Skipped(code) => push_optional(out, b",\"skipped\":", Some(code.as_str())),
    }
    out.push(b'}');
}

/// `,"model":…` and `,"trial":…` where they are not at their default.
fn push_answer(out: &mut Vec<u8>, model: Option<&str>, trial: u32) {
    push_optional(out, b",\"model\":", model);
    if trial != 1 {
        out.extend_from_slice(b",\"trial\":");
        push_integer(out, trial);
    }
}

/// `,"file":…` and `,"line":…` where they are not at their default.
fn push_place(out: &mut Vec<u8>, file: u32, line: u64) {
    if file != 0 {
        out.extend_from_slice(b",\"file\":");
        push_integer(out, file);
    }
    if line != 0 {
        out.extend_from_slice(b",\"line\":");
        push_integer(out, line);
    }
}

fn push_optional(out: &mut Vec<u8>, key: &[u8], value: Option<&str>) {
    if let Some(value) = value {
        out.extend_from_slice(key);
        push_str(out, value);
    }
}

fn push_list<'v>(out: &mut Vec<u8>, key: &[u8], values: impl Iterator<Item = &'v str>) {
    let mut values = values.peekable();
    if values.peek().is_none() {
        return;
    }
    out.extend_from_slice(key);
    let mut before = b'[';
    for value in values {
        out.push(before);
        push_str(out, value);
        before = b',';
    }
    out.push(b']');
}

fn push_serialised(out: &mut Vec<u8>, key: &[u8], value: &(impl serde::Serialize + ?Sized)) {
    out.extend_from_slice(key);
    // Plain data with text keys always serialises, and a Vec takes every byte.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.extend_from_slice(b"null");
    }
}

fn push_verdict(out: &mut Vec<u8>, key: &[u8], verdict: Verdict) {
    out.extend_from_slice(key);
    out.extend_from_slice(match verdict {
        Verdict::Pass => b"\"pass\"",
        Verdict::Fail => b"\"fail\"",
        Verdict::Partial => b"\"partial\"",
        Verdict::Inconclusive => b"\"inconclusive\"",
    });
}

fn push_score(out: &mut Vec<u8>, score: Score) {
    push_number(out, score.get());
}

/// A number as serde_json writes it; most scores are 0 or 1.
fn push_number(out: &mut Vec<u8>, number: f64) {
    if number == 1.0 {
        out.extend_from_slice(b"1.0");
    } else if number.to_bits() == 0 {
        out.extend_from_slice(b"0.0");
    } else if number.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

fn push_integer(out: &mut Vec<u8>, integer: impl std::fmt::Display) {
    out.extend_from_slice(integer.to_string().as_bytes());
}

/// A JSON string. Text without anything to escape, nearly all, is copied.
fn push_str(out: &mut Vec<u8>, text: &str) {
    let special = text
        .bytes()
        .filter(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\')
        .count()
        > 0;
    if special {
        push_serialised(out, b"", text);
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::super::{ResultError, WideResult};
    use super::*;
    use crate::outcome::{Code, Evidence};
    use crate::record::Field;

    fn by_serde(line: &impl serde::Serialize) -> String {
        serde_json::to_string(line).unwrap() + "\n"
    }

    fn by_hand(line: &CheckResult<'_>) -> String {
        let mut out = Vec::new();
        write_result(&mut out, line);
        String::from_utf8(out).unwrap()
    }

    fn texts() -> impl Strategy<Value = Cow<'static, str>> {
        ".{0,12}|[\\x00-\\x7f\u{2028}🦀]{0,6}".prop_map(Cow::Owned)
    }

    fn verdicts() -> impl Strategy<Value = Option<Verdict>> {
        prop::sample::select(vec![
            None,
            Some(Verdict::Pass),
            Some(Verdict::Fail),
            Some(Verdict::Partial),
            Some(Verdict::Inconclusive),
        ])
    }

    fn numbers() -> impl Strategy<Value = Option<f64>> {
        prop::option::of(prop_oneof![
            Just(0.0),
            Just(1.0),
            0.0..1.0,
            prop::num::f64::NORMAL
        ])
    }

    prop_compose! {
        fn lines()(
            record in texts(), model in prop::option::of(texts()), trial in 0_u32..3, check in texts(),
            repeat in 1_u32..3, (verdict, natural) in (verdicts(), verdicts()), score in numbers(),
            (label, reason) in (prop::option::of(texts()), prop::option::of(texts())),
            spans in prop::collection::vec(0_usize..9, 0..3),
            (warnings, tags) in (prop::collection::vec(texts(), 0..3), prop::collection::vec(texts(), 0..3)),
            error in prop::option::of((texts(), texts(), any::<bool>())),
            (skipped, cluster) in (prop::option::of(texts()), prop::option::of(texts())),
            (file, line) in (0_u32..3, 0_u64..3),
        ) -> CheckResult<'static> {
            CheckResult { usage: None, took_ms: None, cached: false,
                record, model, trial, check, repeat, verdict, natural, score, label, reason,
                evidence: spans.iter().map(|&start| Evidence::span("output", start, start + 1)).collect::<Vec<_>>().into(),
                warnings,
                raw: score.map(|score| serde_json::json!({"was": [score]})),
                error: error.map(|(code, message, retryable)| ResultError { code, message, retryable }),
                skipped, tags, cluster, file, line: NonZeroU64::new(line),
            }
        }
    }

    proptest! {
        #[test]
        fn a_line_is_what_serde_writes_and_reads_back(line in lines()) {
            let text = by_hand(&line);
            prop_assert_eq!(&text, &by_serde(&line));
            prop_assert_eq!(serde_json::from_str::<CheckResult<'_>>(&text).unwrap(), line);
        }
    }

    #[test]
    fn a_wide_line_reads_back_as_it_was() {
        let scored = |score, natural| Cell::Scored {
            score: Score::new(score),
            natural,
            flags: 0,
        };
        let judged = |cell, verdict, natural| Judged {
            spent: None,
            cell,
            verdict,
            natural,
            explanation: None,
        };
        let cells = [
            (
                "plain",
                judged(scored(1.0, Some(Verdict::Pass)), Some(Verdict::Pass), None),
            ),
            (
                "odd \"name\"\n",
                judged(
                    scored(0.0, Some(Verdict::Partial)),
                    Some(Verdict::Fail),
                    Some(Verdict::Partial),
                ),
            ),
            ("measures", judged(scored(-12.5e-9, None), None, None)),
            (
                "broken",
                judged(
                    Cell::Errored(Code::NotText(Field::Output)),
                    Some(Verdict::Inconclusive),
                    None,
                ),
            ),
            (
                "left out",
                judged(Cell::Skipped(Code::WhenFalse), None, None),
            ),
            (
                "brought by the record",
                judged(scored(0.25, None), Some(Verdict::Fail), None),
            ),
        ];
        let writer = WideWriter::new(cells.iter().take(5).map(|(name, _)| *name));
        let head = RecordHead {
            id: "r\u{1}",
            model: Some("m"),
            trial: 2,
            tags: &["a", "b,\"c\""],
            cluster: Some("k"),
            file: 0,
            line: 1,
        };
        let mut out = Vec::new();
        writer.write(
            &mut out,
            &head,
            cells.iter().map(|(name, judged)| (*name, judged)),
        );
        let text = String::from_utf8(out).unwrap();
        let read: WideResult<'_> = serde_json::from_str(&text).unwrap();
        let names: Vec<&str> = read.checks.keys().map(|name| &**name).collect();
        assert!(
            names.iter().eq(cells.iter().map(|(name, _)| name)),
            "{names:?}"
        );
        assert_eq!(
            (&*read.record, read.model.as_deref(), read.trial),
            ("r\u{1}", Some("m"), 2)
        );
        assert_eq!((read.tags.len(), read.cluster.as_deref()), (2, Some("k")));
        let cell = &read.checks["odd \"name\"\n"];
        assert_eq!(
            (cell.verdict, cell.score, cell.natural),
            (Some(Verdict::Fail), Some(0.0), Some(Verdict::Partial))
        );
        assert_eq!(read.checks["broken"].error.as_deref(), Some("not_text"));
        assert_eq!(
            read.checks["left out"].skipped.as_deref(),
            Some("when_false")
        );
        assert_eq!(read.checks["measures"].score, Some(-12.5e-9));

        assert_eq!(text, serde_json::to_string(&read).unwrap() + "\n");
    }
}
