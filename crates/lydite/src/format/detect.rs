//! Tells the format of an input, by its name or its content, and refuses what is known not to be
//! one of ours.

use std::ffi::OsStr;
use std::path::Path;

use memchr::memchr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::json;
use super::stream::Window;

/// How records stand in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Format {
    /// A JSON object a line.
    Jsonl,
    /// An array of objects, or an object with one such array under records, data, tests, examples,
    /// samples or test_cases.
    Json,
    /// A table with a header; the delimiter (comma, semicolon, tab, bar) is found out.
    Csv,
    /// A table with a header, delimited by tabs.
    Tsv,
}

impl Format {
    /// By its name in suites and on the command line.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "jsonl" => Some(Self::Jsonl),
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            _ => None,
        }
    }
}

/// The format of an input with this name and this beginning, if it can be told.
///
/// A name's ending decides, with one exception: a `.json` file that clearly has an object a line
/// is JSON Lines.
pub(super) fn format_of(name: &str, head: &Window<'_>) -> Option<Format> {
    match by_name(name) {
        Some(Format::Json) if is_lines_of_objects(head) => Some(Format::Jsonl),
        Some(format) => Some(format),
        None => by_content(head),
    }
}

/// What the bytes are instead of text, and what to do about it.
pub(super) fn refusal(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const CONVERT: &str = "convert it to JSONL (reading it directly comes with the data plane)";
    const UNPACK: &str = "unpack it first, or pack it with gzip or zstd";
    const RECODE: &str = "convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)";
    match head {
        // Four letters may begin a CSV header; what follows them in Parquet is no text.
        [b'P', b'A', b'R', b'1', 0..=8 | 14..=31 | 128.., ..] => Some(("a Parquet file", CONVERT)),
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, ..] => Some(("an Arrow IPC file", CONVERT)),
        [0xff, 0xff, 0xff, 0xff, _, _, _, _, ..] => Some(("an Arrow IPC stream", CONVERT)),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some(("UTF-16 text", RECODE)),
        [b'P', b'K', 3, 4, ..] => Some((
            "a zip archive or an Excel workbook",
            "unpack it, or save the sheet as CSV",
        )),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => Some(("a bzip2 file", UNPACK)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(("an xz file", UNPACK)),
        _ if head.get(257..262) == Some(b"ustar") => {
            Some(("a tar archive", "unpack it and name the files in it"))
        }
        _ => None,
    }
}

/// Whether lines end with carriage returns alone, as far as can be seen: a table would have no row.
pub(super) fn has_bare_returns(head: &[u8]) -> bool {
    memchr(b'\r', head).is_some_and(|at| at + 1 < head.len()) && memchr(b'\n', head).is_none()
}

fn by_name(name: &str) -> Option<Format> {
    let mut path = Path::new(name);
    if has_extension(path, &["gz", "zst", "zstd"]) {
        path = Path::new(path.file_stem()?);
    }
    [
        (&["jsonl", "ndjson"][..], Format::Jsonl),
        (&["json"], Format::Json),
        (&["csv"], Format::Csv),
        (&["tsv"], Format::Tsv),
    ]
    .into_iter()
    .find_map(|(extensions, format)| has_extension(path, extensions).then_some(format))
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|found| {
        extensions
            .iter()
            .any(|known| found.eq_ignore_ascii_case(known))
    })
}

fn by_content(head: &Window<'_>) -> Option<Format> {
    let text = head.text.trim_ascii_start();
    let first_line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match text.first() {
        Some(b'[') => Some(Format::Json),
        Some(b'{') if is_lines_of_objects(head) => Some(Format::Jsonl),
        Some(b'{') if opens_over_lines(text) || json::names_an_array(text) => Some(Format::Json),
        None | Some(b'{') => Some(Format::Jsonl),
        Some(_) if first_line.contains(&0) => None,
        Some(_) => first_line
            .iter()
            .any(|byte| matches!(byte, b',' | b';' | b'\t' | b'|'))
            .then_some(Format::Csv),
    }
}

/// Whether an object stands whole on the first line and another begins on the next.
fn is_lines_of_objects(head: &Window<'_>) -> bool {
    let text = head.text.trim_ascii_start();
    let Some(end) = json::end_of_value(text).filter(|_| text.starts_with(b"{")) else {
        return false;
    };
    let (object, rest) = text.split_at(end.min(text.len()));
    let next = rest.trim_ascii_start();
    let between = rest.get(..rest.len() - next.len()).unwrap_or_default();
    !object.contains(&b'\n') && between.contains(&b'\n') && next.starts_with(b"{")
}

/// Whether the first value goes on after its first line.
fn opens_over_lines(text: &[u8]) -> bool {
    let end = json::end_of_value(text).unwrap_or(text.len());
    text.get(..end).unwrap_or_default().contains(&b'\n')
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;

    use super::*;
    use crate::format::{BlockSize, InputError, Source, open};

    #[test]
    fn names_decide() {
        for (name, want) in [
            ("a.jsonl", Some(Format::Jsonl)),
            ("a/b.NDJSON", Some(Format::Jsonl)),
            ("a.jsonl.gz", Some(Format::Jsonl)),
            ("a.json.zst", Some(Format::Json)),
            ("a.csv", Some(Format::Csv)),
            ("a.tsv.GZ", Some(Format::Tsv)),
            ("a.csv/part-0", None),
            ("a.gz", None),
            ("jsonl", None),
            ("", None),
        ] {
            assert_eq!(by_name(name), want, "{name}");
        }
    }

    #[test]
    fn content_decides_where_the_name_does_not() {
        for (text, want) in [
            ("", Some(Format::Jsonl)),
            (" \n [\n", Some(Format::Json)),
            ("[{}]", Some(Format::Json)),
            (
                "{\"output\":\"a\"}\n{\"output\":\"b\"}\n",
                Some(Format::Jsonl),
            ),
            ("{\"output\":\"a\"}\n\n{\"out", Some(Format::Jsonl)),
            ("{\"output\":\"a\"}", Some(Format::Jsonl)),
            ("{\"output\":\"a", Some(Format::Jsonl)),
            ("{\n  \"tests\": [", Some(Format::Json)),
            ("{\"tests\": [{}]}", Some(Format::Json)),
            ("{\"version\": 1, \"tests\": [{\"a", Some(Format::Json)),
            ("{\"tests\": [1]}\n{\"tests\": [2]}", Some(Format::Jsonl)),
            ("query,output\na,b", Some(Format::Csv)),
            ("o;__expected\n", Some(Format::Csv)),
            ("query\toutput\n", Some(Format::Csv)),
            ("some words\n", None),
            ("a,\0b\n", None),
        ] {
            let head = Window {
                text: text.as_bytes(),
                last: true,
            };
            assert_eq!(format_of("-", &head), want, "{text:?}");
        }
        let lines = Window {
            text: b"{\"a\":1}\n{\"a\":2}",
            last: true,
        };
        assert_eq!(format_of("a.json", &lines), Some(Format::Jsonl));
        assert_eq!(format_of("a.csv", &lines), Some(Format::Csv));
        let one = Window {
            text: b"{\"a\":1}\n",
            last: true,
        };
        assert_eq!(format_of("a.json", &one), Some(Format::Json));
    }

    #[test]
    fn what_is_not_ours_is_refused_with_advice() {
        let mut tar = vec![b'a'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let utf16: Vec<u8> = "\u{feff}{}"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for (bytes, words) in [
            (
                b"PAR1\x15\x04\x15".to_vec(),
                "a Parquet file, which is not read here; convert",
            ),
            (b"ARROW1\0\0\xff\xff".to_vec(), "an Arrow IPC file"),
            (
                b"\xff\xff\xff\xff\x10\0\0\0".to_vec(),
                "an Arrow IPC stream",
            ),
            (
                utf16,
                "UTF-16 text, which is not read here; convert it to UTF-8",
            ),
            (b"PK\x03\x04rest".to_vec(), "save the sheet as CSV"),
            (tar, "a tar archive"),
        ] {
            let source = Source::reader("data.jsonl", Cursor::new(bytes));
            let error = open(vec![source], BlockSize::default()).unwrap_err();
            assert!(matches!(error, InputError::Refused { .. }), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
        let source = Source::reader("data.csv", &b"query,output\ra,b\r"[..]);
        let error = open(vec![source], BlockSize::default()).unwrap_err();
        assert!(
            error.to_string().contains("by carriage returns alone"),
            "{error}"
        );
        assert!(!has_bare_returns(b"query,output\r"));
        assert_eq!(refusal(b"PAR1,PAR2\n"), None);
        assert_eq!(refusal(b"PAR1\n"), None);
    }

    #[test]
    fn paths_that_cannot_be_read_say_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("here.jsonl"), "{}\n").unwrap();
        fs::write(path("words"), "some words\n").unwrap();
        fs::create_dir(path("folder")).unwrap();
        for (name, words) in [
            (
                "nowhere.jsonl",
                "nowhere.jsonl: no such file; check the path",
            ),
            ("folder", "folder: is a directory; name the files in it"),
        ] {
            // Found before the first file is read.
            let sources = vec![Source::path(path("here.jsonl")), Source::path(path(name))];
            let error = open(sources, BlockSize::default()).unwrap_err();
            assert!(error.to_string().ends_with(words), "{error}");
        }
        let error = open(vec![Source::path(path("words"))], BlockSize::default()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("end its name in .jsonl, .json, .csv or .tsv"),
            "{error}"
        );
    }
}
