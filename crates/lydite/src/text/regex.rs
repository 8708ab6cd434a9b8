//! Regular expressions from suites and records, compiled once.
//!
//! A pattern runs on the `regex` crate, in time linear in the text. Only look-around and
//! backreferences, which it leaves out, go to `fancy_regex`, whose backtracking is bounded: past
//! the bound a search is an error, never a wrong answer.
//!
//! Patterns come from Python and JavaScript too. Where one does not parse as it stands it is read
//! again with their spellings allowed: a brace that opens no repetition and a bracket within a class
//! are literal, `{,3}` is `{0,3}`. Differences that stay: `$` is the very end of the text (Python:
//! also before a final newline), `\Z` is always that end, and character classes are Unicode's.

use std::ops::Range;

use regex_syntax::ast;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which part of a text has to match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// Any part of the text.
    #[default]
    Search,
    /// The whole text.
    Full,
    /// A part at the start of the text, as Python's `re.match`.
    Start,
}

/// How a pattern is read. All are off by default.
#[expect(clippy::struct_excessive_bools, reason = "five independent switches")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// Letters match in either case.
    pub ignore_case: bool,
    /// `^` and `$` match at line ends too.
    pub multi_line: bool,
    /// `.` matches a newline too.
    pub dot_all: bool,
    /// White space and `#` comments in the pattern are left out.
    pub verbose: bool,
    /// `\d`, `\s`, `\w` and `\b` know ASCII only.
    pub ascii: bool,
}

/// Flags as they stand in a suite: names, or Python's integer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected regex flags: names such as IGNORECASE, a list of names, or Python's integer"
)]
pub enum FlagSpec {
    /// Python's value: the sum of 2 (IGNORECASE), 8 (MULTILINE), 16 (DOTALL), 32 (UNICODE),
    /// 64 (VERBOSE), 256 (ASCII).
    Bits(u32),
    /// One name, or several joined by `|`.
    Names(String),
    /// A list of names.
    List(Vec<String>),
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    engine: Engine,
}

/// Why a pattern cannot be used, or could not finish.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    #[error("the pattern is not valid at line {line}, column {column}: {message}")]
    Syntax {
        line: usize,
        column: usize,
        message: String,
    },
    #[error("the pattern cannot be compiled: {message}")]
    Compile { message: String },
    #[error("the compiled pattern needs more than {limit} bytes: make its repetitions smaller")]
    TooLarge { limit: usize },
    #[error(
        "unknown regex flag {flag}: use IGNORECASE, MULTILINE, DOTALL, VERBOSE, ASCII, UNICODE, or the sum of their Python values 2, 8, 16, 64, 256, 32"
    )]
    UnknownFlag { flag: String },
    #[error(
        "the search was given up after {BACKTRACK_LIMIT} steps: simplify the pattern, or do without look-around and backreferences"
    )]
    BacktrackLimit,
}

impl Pattern {
    /// Compiles `pattern`. Syntax errors say where in `pattern` they stand.
    pub fn new(pattern: &str, flags: Flags, anchor: Anchor) -> Result<Self, PatternError> {
        let pattern = &python_text_end(pattern);
        let (source, kind) = parse(pattern, flags)?;
        let source = if flags.ascii {
            ascii_classes(&source, kind)
        } else {
            source
        };
        compile(&anchored(&source, anchor, ""), flags, kind)
            // A comment at the end of a verbose pattern would swallow the closing parenthesis.
            .or_else(|error| {
                compile(&anchored(&source, anchor, "\n"), flags, kind).map_err(|_| error)
            })
            .map(|engine| Self { engine })
    }

    pub fn is_match(&self, text: &str) -> Result<bool, PatternError> {
        match &self.engine {
            Engine::Linear(regex) => Ok(regex.is_match(text)),
            Engine::Backtracking(regex) => regex.is_match(text).map_err(|error| run_error(&error)),
        }
    }

    /// Byte range of the leftmost match.
    pub fn find(&self, text: &str) -> Result<Option<Range<usize>>, PatternError> {
        match &self.engine {
            Engine::Linear(regex) => Ok(regex.find(text).map(|found| found.range())),
            Engine::Backtracking(regex) => match regex.find(text) {
                Ok(found) => Ok(found.map(|found| found.range())),
                Err(error) => Err(run_error(&error)),
            },
        }
    }

    /// Whether matching takes time linear in the text.
    pub fn is_linear(&self) -> bool {
        matches!(self.engine, Engine::Linear(_))
    }
}

impl Flags {
    /// Python's integer; `re.UNICODE` (32) is the default and changes nothing.
    pub fn from_bits(bits: u32) -> Result<Self, PatternError> {
        if bits & !(2 | 8 | 16 | 32 | 64 | 256) != 0 {
            return Err(PatternError::UnknownFlag {
                flag: bits.to_string(),
            });
        }
        Ok(Self {
            ignore_case: bits & 2 != 0,
            multi_line: bits & 8 != 0,
            dot_all: bits & 16 != 0,
            verbose: bits & 64 != 0,
            ascii: bits & 256 != 0,
        })
    }

    /// One name in any case, long or short, with or without `re.`; several joined by `|`.
    pub fn from_names(names: &str) -> Result<Self, PatternError> {
        let names = names
            .split('|')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        names
            .map(Self::from_name)
            .try_fold(Self::default(), |all, one| Ok(all.union(one?)))
    }

    /// The flags that are on in either.
    pub fn union(self, other: Self) -> Self {
        Self {
            ignore_case: self.ignore_case | other.ignore_case,
            multi_line: self.multi_line | other.multi_line,
            dot_all: self.dot_all | other.dot_all,
            verbose: self.verbose | other.verbose,
            ascii: self.ascii | other.ascii,
        }
    }

    fn from_name(name: &str) -> Result<Self, PatternError> {
        let upper = name.to_ascii_uppercase();
        let bits = match upper.strip_prefix("RE.").unwrap_or(&upper) {
            "I" | "IGNORECASE" => 2,
            "M" | "MULTILINE" => 8,
            "S" | "DOTALL" => 16,
            "U" | "UNICODE" => 32,
            "X" | "VERBOSE" => 64,
            "A" | "ASCII" => 256,
            _ => {
                return Err(PatternError::UnknownFlag {
                    flag: format!("`{name}`"),
                });
            }
        };
        Self::from_bits(bits)
    }
}

impl FlagSpec {
    pub fn flags(&self) -> Result<Flags, PatternError> {
        match self {
            Self::Bits(bits) => Flags::from_bits(*bits),
            Self::Names(names) => Flags::from_names(names),
            Self::List(names) => names.iter().try_fold(Flags::default(), |all, name| {
                Ok(all.union(Flags::from_names(name)?))
            }),
        }
    }
}

/// Steps after which a backtracking search is given up: some tenths of a second.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// Bytes that a compiled pattern may take.
const SIZE_LIMIT: usize = 10 << 20;

#[derive(Debug, Clone)]
enum Engine {
    Linear(regex::Regex),
    /// Boxed, being rare and several times as large.
    Backtracking(Box<fancy_regex::Regex>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EngineKind {
    Linear,
    Backtracking,
}

/// The text of `pattern` that parses, and the engine it needs. The error is that of the pattern as
/// it was written.
fn parse(pattern: &str, flags: Flags) -> Result<(String, EngineKind), PatternError> {
    let error = match engine_for(pattern, flags) {
        Ok(kind) => return Ok((pattern.to_owned(), kind)),
        Err(error) => error,
    };
    let lenient = literal_brackets(pattern);
    engine_for(&lenient, flags)
        .map(|kind| (lenient, kind))
        .map_err(|_| error)
}

fn engine_for(pattern: &str, flags: Flags) -> Result<EngineKind, PatternError> {
    let parsed = regex_syntax::ParserBuilder::new()
        .case_insensitive(flags.ignore_case)
        .multi_line(flags.multi_line)
        .dot_matches_new_line(flags.dot_all)
        .ignore_whitespace(flags.verbose)
        .build()
        .parse(pattern);
    let (span, message) = match &parsed {
        Ok(_) => return Ok(EngineKind::Linear),
        Err(regex_syntax::Error::Parse(error)) => {
            if needs_backtracking(error) {
                return check_backtracking(pattern, flags);
            }
            (*error.span(), error.kind().to_string())
        }
        Err(regex_syntax::Error::Translate(error)) => (*error.span(), error.kind().to_string()),
        Err(error) => {
            return Err(PatternError::Compile {
                message: error.to_string(),
            });
        }
    };
    Err(PatternError::Syntax {
        line: span.start.line,
        column: span.start.column,
        message,
    })
}

/// Whether `error` stands for look-around, a backreference, or a group of their kind: atomic `(?>`,
/// conditional `(?(`, Python's backreference `(?P=`.
fn needs_backtracking(error: &ast::Error) -> bool {
    match error.kind() {
        ast::ErrorKind::UnsupportedLookAround | ast::ErrorKind::UnsupportedBackreference => true,
        ast::ErrorKind::FlagUnrecognized => {
            let from = error
                .pattern()
                .get(error.span().start.offset..)
                .unwrap_or("");
            ["P=", ">", "("].iter().any(|start| from.starts_with(start))
        }
        _ => false,
    }
}

fn check_backtracking(pattern: &str, flags: Flags) -> Result<EngineKind, PatternError> {
    build_backtracking(pattern, flags)
        .map(|_| EngineKind::Backtracking)
        .map_err(|error| match *error {
            fancy_regex::Error::ParseError(offset, kind) => {
                let before = pattern.get(..offset).unwrap_or(pattern);
                let line_start = before.rfind('\n').map_or(0, |at| at + 1);
                PatternError::Syntax {
                    line: before.matches('\n').count() + 1,
                    column: before.get(line_start..).unwrap_or("").chars().count() + 1,
                    message: lower_first(&kind.to_string()),
                }
            }
            fancy_regex::Error::CompileError(kind) => PatternError::Compile {
                message: lower_first(&kind.to_string()),
            },
            other => PatternError::Compile {
                message: lower_first(&other.to_string()),
            },
        })
}

fn compile(pattern: &str, flags: Flags, kind: EngineKind) -> Result<Engine, PatternError> {
    match kind {
        EngineKind::Linear => regex::RegexBuilder::new(pattern)
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_all)
            .ignore_whitespace(flags.verbose)
            .size_limit(SIZE_LIMIT)
            .build()
            .map(Engine::Linear)
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(limit) => PatternError::TooLarge { limit },
                other => PatternError::Compile {
                    message: other.to_string(),
                },
            }),
        EngineKind::Backtracking => build_backtracking(pattern, flags)
            .map(|regex| Engine::Backtracking(Box::new(regex)))
            .map_err(|error| PatternError::Compile {
                message: lower_first(&error.to_string()),
            }),
    }
}

fn build_backtracking(
    pattern: &str,
    flags: Flags,
) -> Result<fancy_regex::Regex, Box<fancy_regex::Error>> {
    fancy_regex::RegexBuilder::new(pattern)
        .case_insensitive(flags.ignore_case)
        .multi_line(flags.multi_line)
        .dot_matches_new_line(flags.dot_all)
        .verbose_mode(flags.verbose)
        .backtrack_limit(BACKTRACK_LIMIT)
        .delegate_size_limit(SIZE_LIMIT)
        .build()
        .map_err(Box::new)
}

fn run_error(error: &fancy_regex::Error) -> PatternError {
    match error {
        fancy_regex::Error::RuntimeError(_) => PatternError::BacktrackLimit,
        other => PatternError::Compile {
            message: lower_first(&other.to_string()),
        },
    }
}

fn anchored(pattern: &str, anchor: Anchor, end: &str) -> String {
    match anchor {
        Anchor::Search => pattern.to_owned(),
        Anchor::Full => format!(r"\A(?:{pattern}{end})\z"),
        Anchor::Start => format!(r"\A(?:{pattern}{end})"),
    }
}

fn lower_first(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}

/// A piece of a pattern, as far as rewriting has to know.
#[derive(Debug, Clone, Copy)]
struct Token<'p> {
    /// An escape with its backslash, or a single character.
    text: &'p str,
    /// What follows it.
    rest: &'p str,
    in_class: bool,
}

fn tokens(pattern: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = pattern;
    let mut in_class = false;
    let mut class_start = false;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let escaped = rest.chars().nth(1).filter(|_| first == '\\');
        let len = first.len_utf8() + escaped.map_or(0, char::len_utf8);
        let (text, tail) = rest.split_at_checked(len)?;
        rest = tail;
        let token = Token {
            text,
            rest,
            in_class,
        };
        match text {
            "[" if !in_class => (in_class, class_start) = (true, true),
            "^" if class_start => {}
            "]" if in_class && !class_start => in_class = false,
            _ => class_start = false,
        }
        Some(token)
    })
}

/// `\Z` is spelt `\z` in Rust.
fn python_text_end(pattern: &str) -> String {
    tokens(pattern)
        .map(|token| {
            if token.text == r"\Z" {
                r"\z"
            } else {
                token.text
            }
        })
        .collect()
}

/// Escapes braces that open no repetition and brackets within a class, as Python and JavaScript
/// read them.
fn literal_brackets(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut closing = 0_usize;
    let mut previous = "";
    for token in tokens(pattern) {
        match token.text {
            "[" if token.in_class && !token.rest.starts_with(':') => out.push_str(r"\["),
            "{" if !token.in_class => match repetition(token.rest) {
                _ if matches!(
                    previous,
                    r"\p" | r"\P" | r"\x" | r"\u" | r"\U" | r"\b" | r"\k"
                ) =>
                {
                    closing += 1;
                    out.push('{');
                }
                Some(lower) => {
                    closing += 1;
                    out.push_str(if lower.is_empty() { "{0" } else { "{" });
                }
                None => out.push_str(r"\{"),
            },
            "}" if !token.in_class && closing == 0 => out.push_str(r"\}"),
            "}" if !token.in_class => {
                closing -= 1;
                out.push('}');
            }
            text => out.push_str(text),
        }
        previous = token.text;
    }
    out
}

/// The lower bound of the repetition whose opening brace stands before `rest`; empty in `{,3}`.
fn repetition(rest: &str) -> Option<&str> {
    let (inside, _) = rest.split_once('}')?;
    let (lower, upper) = inside.split_once(',').unwrap_or((inside, "0"));
    let is_number = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let bounded = !lower.is_empty() || inside.contains(',') && !upper.is_empty();
    (bounded && is_number(lower) && is_number(upper)).then_some(lower)
}

/// Spells the Perl classes out in ASCII. (The flag of the `regex` crate would also let `.` match
/// single bytes.) Within a class they nest.
fn ascii_classes(pattern: &str, kind: EngineKind) -> String {
    tokens(pattern)
        .map(|token| match token.text {
            r"\d" => "[0-9]",
            r"\D" => "[^0-9]",
            r"\s" => r"[\x20\t\n\r\f\v]",
            r"\S" => r"[^\x20\t\n\r\f\v]",
            r"\w" => "[0-9A-Za-z_]",
            r"\W" => "[^0-9A-Za-z_]",
            r"\b"
                if kind == EngineKind::Linear
                    && !token.in_class
                    && !token.rest.starts_with('{') =>
            {
                r"(?-u:\b)"
            }
            text => text,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(pattern: &str, flags: &str, anchor: Anchor) -> Result<Pattern, PatternError> {
        Pattern::new(pattern, Flags::from_names(flags)?, anchor)
    }

    /// The rows of `regex_match` in langchain.md, then the other modes and flags.
    #[test]
    fn matches() {
        use Anchor::{Full, Search, Start};
        let rows = [
            ("abc", "b", "", Start, false),
            ("abc", "a", "", Start, true),
            ("abc", ".*c$", "", Start, true),
            ("abc\ndef", "abc$", "", Start, false),
            ("abc\ndef", "abc$", "MULTILINE", Start, true),
            ("abc\ndef", "a.*f", "", Start, false),
            ("abc\ndef", "a.*f", "DOTALL", Start, true),
            ("ABC", "abc", "", Search, false),
            ("ABC", "abc", "re.IGNORECASE", Search, true),
            ("abc", "b", "", Search, true),
            ("ab", "a|ab", "", Full, true),
            ("abc", "a|ab", "", Full, false),
            ("ac", "a|b|c", "", Start, true),
            ("ca", "a|b", "", Start, false),
            ("abc", "a b c # all three", "VERBOSE", Full, true),
            ("ab", "(?x) a b # both", "", Full, true),
            ("٣", r"\d", "", Full, true),
            ("٣", r"\d", "ASCII", Full, false),
            ("é", r"[\w]", "ASCII", Full, false),
            ("é", r"\W.?", "A", Full, true),
            ("aéb", r"\bb", "A", Search, true),
            ("aéb", r"\bb", "", Search, false),
            (r#"{"a": 12}"#, r#"{"a": \d+}"#, "", Full, true),
            ("a{,}", "a{,}", "", Full, true),
            ("aaa", "a{,3}", "", Full, true),
            ("aaaa", "a{,3}", "", Full, false),
            ("a[1]", r"a[[]\d[\]]", "", Full, true),
            ("x}", "x}", "", Full, true),
            ("abc", r"abc\Z", "", Full, true),
            ("abc\n", r"abc\Z", "", Search, false),
            // look-around and backreferences
            ("foobar", "foo(?=bar)", "", Search, true),
            ("foobaz", "foo(?!bar)", "", Start, true),
            ("xfoo", "(?<=x)foo", "", Search, true),
            ("xfoo", "(?<=x)foo", "", Start, false),
            ("abab", r"(ab)\1", "", Full, true),
            ("ABab", r"(?P<x>ab)(?P=x)", "I", Full, true),
            ("abc", r"(?>a|ab)c", "", Search, false),
            ("ab\n", r"a(?=b)b\Z", "", Search, false),
            ("{ab", r"{(?=a)", "", Start, true),
        ];
        for (text, source, flags, anchor, expected) in rows {
            let compiled =
                pattern(source, flags, anchor).unwrap_or_else(|e| panic!("{source}: {e}"));
            assert_eq!(
                compiled.is_match(text),
                Ok(expected),
                "{source:?} on {text:?} {anchor:?}"
            );
            assert_eq!(
                compiled.find(text).map(|found| found.is_some()),
                Ok(expected),
                "{source:?}"
            );
        }
    }

    #[test]
    fn only_backtracks_where_it_must() {
        assert!(
            pattern(r"\bfoo.*bar\d{3}$", "", Anchor::Full)
                .unwrap()
                .is_linear()
        );
        assert!(
            pattern(r#"{"a": [[]\d"#, "", Anchor::Full)
                .unwrap()
                .is_linear()
        );
        assert!(!pattern("(?=a)a", "", Anchor::Search).unwrap().is_linear());
    }

    #[test]
    fn finds_the_leftmost_range() {
        assert_eq!(
            pattern(r"\d+", "", Anchor::Search).unwrap().find("é 42"),
            Ok(Some(3..5))
        );
        assert_eq!(
            pattern(r"(?<=é )\d+", "", Anchor::Search)
                .unwrap()
                .find("é 42"),
            Ok(Some(3..5))
        );
    }

    #[test]
    fn errors_say_where() {
        let rows = [
            ("a(b", "line 1, column 2: unclosed group"),
            ("[a", "line 1, column 1: unclosed character class"),
            ("ab\n*)", "line 2, column 2: unopened group"),
            (
                "*a",
                "line 1, column 1: repetition operator missing expression",
            ),
            (r"\p{Foo}", "line 1, column 1: Unicode property not found"),
            ("a)(b", "line 1, column 2: unopened group"),
            (
                "(?=a",
                "line 1, column 5: opening parenthesis without closing parenthesis",
            ),
            (r"é\8", "invalid back reference"),
        ];
        for (source, expected) in rows {
            let error = pattern(source, "", Anchor::Full).unwrap_err().to_string();
            assert!(error.contains(expected), "{source:?} gave {error:?}");
        }
        let large = pattern(r"\w{1000}{1000}", "", Anchor::Search).unwrap_err();
        assert_eq!(large, PatternError::TooLarge { limit: SIZE_LIMIT });
    }

    #[test]
    fn backtracking_is_bounded() {
        let evil = pattern(r"(?=a)(a|aa)+\1$", "", Anchor::Search).unwrap();
        assert_eq!(
            evil.is_match(&("a".repeat(60) + "b")),
            Err(PatternError::BacktrackLimit)
        );
    }

    #[test]
    fn flags_by_name_and_number() {
        let both = Flags {
            ignore_case: true,
            dot_all: true,
            ..Flags::default()
        };
        for spec in [
            FlagSpec::Bits(18),
            FlagSpec::Bits(50),
            FlagSpec::Names("IGNORECASE | re.DOTALL".into()),
            FlagSpec::List(vec!["i".into(), "S".into(), "UNICODE".into()]),
        ] {
            assert_eq!(spec.flags(), Ok(both), "{spec:?}");
        }
        assert!(Flags::from_bits(4).is_err());
        let error = Flags::from_names("IGNORCASE").unwrap_err().to_string();
        assert!(
            error.starts_with("unknown regex flag `IGNORCASE`: use IGNORECASE"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn never_panics(source in "[a-c(){}\\[\\]\\\\|*+?^$.,:<=!0-9dwbZPé-]{0,16}", text in "[a-c0-9é\n]{0,12}", bits in 0u32..512) {
            let flags = Flags::from_bits(bits & (2 | 8 | 16 | 64 | 256)).unwrap();
            for anchor in [Anchor::Search, Anchor::Full, Anchor::Start] {
                if let Ok(pattern) = Pattern::new(&source, flags, anchor) {
                    let found = pattern.find(&text);
                    if let Ok(Some(range)) = &found {
                        prop_assert!(text.get(range.clone()).is_some());
                    }
                    if found.is_ok() {
                        prop_assert_eq!(pattern.is_match(&text), Ok(found != Ok(None)));
                    }
                }
            }
        }
    }
}
