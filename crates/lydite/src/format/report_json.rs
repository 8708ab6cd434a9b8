//! `json`: the report as it is kept in a run's `report.json`.

use super::Renderer;
use crate::report::Report;

/// Writes the [`Report`], indented.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportJson;

impl Renderer for ReportJson {
    fn name(&self) -> &'static str {
        "json"
    }

    fn extension(&self) -> &'static str {
        "json"
    }

    fn footer(&self, report: &Report, out: &mut Vec<u8>) {
        let before = out.len();
        match serde_json::to_writer_pretty(&mut *out, report) {
            Ok(()) => out.push(b'\n'),
            // Plain data with text keys always serialises, and a Vec takes every byte.
            Err(_) => out.truncate(before),
        }
    }
}
