//! One command a file.

pub(crate) mod cache;
pub(crate) mod completions;
pub(crate) mod eval;
pub(crate) mod evaluators;
pub(crate) mod init;
pub(crate) mod mock_llm;
pub(crate) mod models;
pub(crate) mod regrade;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod validate;

use std::path::{Path, PathBuf};

use lydite::suite::gate::Allowance;

/// Where runs are kept, below the current folder.
pub(crate) const RUNS: &str = ".lydite/runs";

/// The suite that is taken where none is named.
pub(crate) const DEFAULT_SUITE: &str = "lydite.yaml";

/// A suite's text. Names the file in the error.
pub(crate) fn read_suite(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!(
            "there is no suite at `{}`; write one with `lydite init`, or name checks with --check",
            path.display()
        ),
        _ => format!("can't read the suite `{}`: {error}", path.display()),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "the suite `{}` is not UTF-8 (byte {})",
            path.display(),
            error.utf8_error().valid_up_to()
        )
    })
}

/// A value, or the content of the file that it names with `@`.
pub(crate) fn text_or_file(value: &str) -> Result<String, String> {
    match value.strip_prefix('@') {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|error| format!("can't read `{path}`: {error}"))
        }
        None => Ok(value.to_owned()),
    }
}

/// The folder of kept runs.
pub(crate) fn runs_root() -> PathBuf {
    PathBuf::from(RUNS)
}

/// A count, or a share with `%`.
pub(crate) fn parse_allowance(text: &str) -> Result<Allowance, String> {
    text.parse()
        .map_err(|_| format!("expected a number or a per cent such as `5` or `1%`, found `{text}`"))
}

/// A count from 1.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("expected a whole number from 1, found `{text}`"))
}

/// A small count from 1.
pub(crate) fn parse_small_count(text: &str) -> Result<u32, String> {
    let count = parse_count(text)?;
    u32::try_from(count)
        .map_err(|_| format!("expected a whole number up to {}, found `{text}`", u32::MAX))
}

/// `k/n`
pub(crate) fn parse_shard(text: &str) -> Result<(u32, u32), String> {
    lydite::stored::parse_shard(text)
        .ok_or_else(|| format!("expected k/n with k from 1 to n, such as 1/4, found `{text}`"))
}
