//! Changes an expression before minijinja compiles it.

use std::fmt::Write as _;

use super::ExprError;
use super::library::{FILTERS, GUARD, TESTS};
use crate::node::did_you_mean;

/// How deep brackets may nest.
const MAX_DEPTH: usize = 40;

/// The expression that gives minijinja our meaning of `source`, where minijinja has no other place
/// to change its own:
///
/// - `a < b` becomes `((a) is lt((b)))`, and the other comparisons likewise, since minijinja orders
///   values of different kinds by kind, a missing one before all others.
/// - `a * b` becomes `a|__number * b|__number`, since a list times a number is a list as long as
///   one likes, and not all that is done with it is paid for with fuel.
///
/// # Errors
/// What minijinja explains less well, or only later: unknown names, calls, a single `=`.
pub(super) fn rewrite(source: &str) -> Result<String, ExprError> {
    Rewriter::new(source).run()
}

struct Rewriter<'s> {
    source: &'s str,
    tokens: std::iter::Peekable<Tokens<'s>>,
    /// End of the token before; what lies between is white space, and kept.
    copied: usize,
    before: Before,
    /// A `*` stands before the value that is being copied.
    multiplies: bool,
}

/// A comparison whose right side has not been seen.
struct Comparison {
    left: String,
    test: &'static str,
    negated: bool,
}

/// What stands before a token, as far as it decides the token's meaning.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// The start, an operator, an opening bracket: a value must come.
    Operator,
    Value,
    Dot,
    Pipe,
    Is,
    /// The name of a filter or a test.
    Name,
}

impl<'s> Rewriter<'s> {
    fn new(source: &'s str) -> Self {
        let tokens = Tokens { source, at: 0 }.peekable();
        Self {
            source,
            tokens,
            copied: 0,
            before: Before::Operator,
            multiplies: false,
        }
    }

    fn run(mut self) -> Result<String, ExprError> {
        // In brackets, since minijinja overlooks some of what may follow an expression.
        let mut out = String::with_capacity(self.source.len() * 2);
        out.push('(');
        self.group(&mut out, 0)?;
        if let Some(token) = self.tokens.next() {
            return Err(at(
                token,
                format!("the bracket `{}` closes nothing", token.text),
            ));
        }
        out.push_str(self.source.get(self.copied..).unwrap_or_default());
        out.push(')');
        Ok(out)
    }

    /// Everything up to the closing bracket, or the end.
    fn group(&mut self, out: &mut String, depth: usize) -> Result<(), ExprError> {
        let mut left: Option<Comparison> = None;
        let mut operand = String::new();
        while let Some(&token) = self.tokens.peek() {
            if token.kind == Kind::Close {
                break;
            }
            self.tokens.next();
            self.refuse(token)?;
            self.guard(token, &mut operand);
            if let Some((test, negated)) = self.comparison(token)? {
                if left.is_some() {
                    return Err(at(
                        token,
                        "comparisons cannot be chained; write `a < b and b < c`",
                    ));
                }
                if operand.trim().is_empty() {
                    return Err(at(
                        token,
                        format!("expected a value before `{}`", token.text),
                    ));
                }
                left = Some(Comparison {
                    left: std::mem::take(&mut operand),
                    test,
                    negated,
                });
                self.before = Before::Operator;
            } else if self.is_boundary(token) {
                if depth == 0 && token.text == "," {
                    return Err(at(
                        token,
                        "a `,` belongs in brackets; join conditions with `and`",
                    ));
                }
                if token.text == "not" && (left.is_some() || !operand.trim().is_empty()) {
                    return Err(at(token, "put brackets around `not` and what it negates"));
                }
                self.flush(&mut left, &mut operand, out)?;
                self.copy(token, out);
                self.before = Before::Operator;
            } else {
                self.operand(token, &mut operand, depth)?;
            }
        }
        self.end_guard(&mut operand);
        self.flush(&mut left, &mut operand, out)
    }

    /// Puts the guard after a value that is multiplied, once a token shows that it has ended.
    fn guard(&mut self, token: Token<'s>, operand: &mut String) {
        if !matches!(self.before, Before::Value | Before::Name) {
            return;
        }
        let continues = match token.kind {
            Kind::Open => token.text != "{",
            Kind::Word => token.text == "is",
            Kind::Symbol => matches!(token.text, "." | "|"),
            Kind::Number | Kind::Text => self.before == Before::Name,
            Kind::Close => false,
        };
        if !continues {
            self.end_guard(operand);
        }
        if token.text == "*" {
            operand.push('|');
            operand.push_str(GUARD);
            self.multiplies = true;
        }
    }

    fn end_guard(&mut self, operand: &mut String) {
        if std::mem::take(&mut self.multiplies) {
            operand.push('|');
            operand.push_str(GUARD);
        }
    }

    fn flush(
        &self,
        comparison: &mut Option<Comparison>,
        operand: &mut String,
        out: &mut String,
    ) -> Result<(), ExprError> {
        match comparison.take() {
            Some(_) if operand.trim().is_empty() => {
                let message = "expected a value after the comparison".to_owned();
                return Err(ExprError {
                    message,
                    offset: Some(self.copied),
                });
            }
            Some(Comparison {
                left,
                test,
                negated,
            }) => {
                let not = if negated { "not " } else { "" };
                let _ = write!(out, " ({not}({left}) is {test}(({operand})))");
            }
            None => out.push_str(operand),
        }
        operand.clear();
        Ok(())
    }

    fn operand(
        &mut self,
        token: Token<'s>,
        operand: &mut String,
        depth: usize,
    ) -> Result<(), ExprError> {
        self.copy(token, operand);
        self.before = match (token.kind, token.text) {
            (Kind::Open, _) if depth >= MAX_DEPTH => {
                return Err(at(token, format!("brackets nest deeper than {MAX_DEPTH}")));
            }
            (Kind::Open, _) => {
                self.before = Before::Operator;
                let multiplies = std::mem::take(&mut self.multiplies);
                self.group(operand, depth + 1)?;
                self.multiplies = multiplies;
                if let Some(close) = self.tokens.next_if(|token| token.kind == Kind::Close) {
                    self.copy(close, operand);
                }
                Before::Value
            }
            (Kind::Word, _)
                if matches!(self.before, Before::Pipe | Before::Is) && token.text != "not" =>
            {
                Before::Name
            }
            (Kind::Word, "not") if self.before == Before::Is => Before::Is,
            (Kind::Word, "is") if self.before != Before::Dot => Before::Is,
            (Kind::Word | Kind::Number | Kind::Text, _) => Before::Value,
            (_, ".") => Before::Dot,
            (_, "|") => Before::Pipe,
            _ => Before::Operator,
        };
        Ok(())
    }

    /// The test that stands for a comparison, and whether it is negated.
    fn comparison(&mut self, token: Token<'s>) -> Result<Option<(&'static str, bool)>, ExprError> {
        let test = match (token.kind, token.text) {
            (Kind::Symbol, "==") => ("eq", false),
            (Kind::Symbol, "!=") => ("ne", false),
            (Kind::Symbol, "<") => ("lt", false),
            (Kind::Symbol, "<=") => ("le", false),
            (Kind::Symbol, ">") => ("gt", false),
            (Kind::Symbol, ">=") => ("ge", false),
            (Kind::Word, "in") if self.is_keyword() => ("in", false),
            (Kind::Word, "not") if self.before == Before::Value || self.before == Before::Name => {
                match self.tokens.next_if(|next| next.text == "in") {
                    Some(next) => {
                        self.copied = next.start + next.text.len();
                        return Ok(Some(("in", true)));
                    }
                    None => return Err(at(token, "expected `in` after `not`; or `and not`")),
                }
            }
            _ => return Ok(None),
        };
        self.copied = token.start + token.text.len();
        Ok(Some(test))
    }

    fn is_boundary(&self, token: Token<'s>) -> bool {
        match token.kind {
            Kind::Word => {
                self.is_keyword() && matches!(token.text, "and" | "or" | "not" | "if" | "else")
            }
            Kind::Symbol => matches!(token.text, "," | ":" | "="),
            _ => false,
        }
    }

    /// Whether a word that is a keyword is one here, not a key, a filter or a test.
    fn is_keyword(&self) -> bool {
        !matches!(self.before, Before::Dot | Before::Pipe | Before::Is)
    }

    /// What is better said here than by minijinja.
    fn refuse(&self, token: Token<'s>) -> Result<(), ExprError> {
        let next = self.source.as_bytes().get(token.start + token.text.len());
        match (token.kind, token.text) {
            (Kind::Word, name) if self.before == Before::Pipe => {
                known("filter", name, FILTERS, token)
            }
            (Kind::Word, name) if self.before == Before::Is && name != "not" => {
                known("test", name, TESTS, token)
            }
            (Kind::Word, "and" | "or" | "in" | "is" | "if" | "else")
                if self.before == Before::Operator =>
            {
                Err(at(
                    token,
                    format!("expected a value before `{}`", token.text),
                ))
            }
            (Kind::Word, "null" | "nil" | "undefined") if self.is_keyword() => Err(at(
                token,
                "write `none` for null, and `is defined` to ask whether a field is there",
            )),
            (Kind::Open, "(") if self.before == Before::Value => Err(at(
                token,
                "there are no functions or methods; use a filter, as in `output | lower`",
            )),
            (Kind::Symbol, "=") if !self.source.get(..token.start).is_some_and(in_arguments) => {
                Err(at(token, "a single `=` compares nothing; write `==`"))
            }
            (Kind::Symbol, "|") if next == Some(&b'|') => Err(at(token, "write `or` for `||`")),
            (Kind::Symbol, "&") => Err(at(token, "write `and` for `&&`")),
            (Kind::Symbol, "*" | "**") if self.before == Before::Operator => Err(at(
                token,
                format!("expected a value before `{}`", token.text),
            )),
            (Kind::Symbol, "~") => Err(at(token, "write `+` to join texts")),
            (Kind::Symbol, "!") => Err(at(token, "write `not` for `!`")),
            _ => Ok(()),
        }
    }

    /// Copies a token with the space before it.
    fn copy(&mut self, token: Token<'s>, out: &mut String) {
        let end = token.start + token.text.len();
        out.push_str(self.source.get(self.copied..end).unwrap_or_default());
        self.copied = end;
    }
}

/// Whether a text ends in an open bracket's content, where `=` names an argument.
fn in_arguments(before: &str) -> bool {
    let depth = Tokens {
        source: before,
        at: 0,
    }
    .fold(0_i32, |depth, token| match token.kind {
        Kind::Open => depth + 1,
        Kind::Close => depth - 1,
        _ => depth,
    });
    depth > 0
}

fn known(what: &str, name: &str, names: &[&str], token: Token<'_>) -> Result<(), ExprError> {
    if names.contains(&name) {
        return Ok(());
    }
    let near = did_you_mean(name, names.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
    Err(at(
        token,
        format!(
            "unknown {what} `{name}`{hint}; allowed: {}",
            names.join(", ")
        ),
    ))
}

fn at(token: Token<'_>, message: impl Into<String>) -> ExprError {
    ExprError {
        message: message.into(),
        offset: Some(token.start),
    }
}

#[derive(Clone, Copy, Debug)]
struct Token<'s> {
    kind: Kind,
    text: &'s str,
    start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Word,
    Number,
    Text,
    Open,
    Close,
    Symbol,
}

/// The words, texts, brackets and symbols of an expression.
struct Tokens<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Iterator for Tokens<'s> {
    type Item = Token<'s>;

    fn next(&mut self) -> Option<Token<'s>> {
        let rest = self.source.get(self.at..)?;
        let text = rest.trim_start();
        let start = self.source.len() - text.len();
        let (kind, length) = token_of(text)?;
        self.at = start + length;
        Some(Token {
            kind,
            text: text.get(..length)?,
            start,
        })
    }
}

fn token_of(text: &str) -> Option<(Kind, usize)> {
    let word = |text: &str| {
        let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        end.unwrap_or(text.len())
    };
    let first = text.chars().next()?;
    Some(match first {
        'a'..='z' | 'A'..='Z' | '_' => (Kind::Word, word(text)),
        '0'..='9' => (Kind::Number, word(text)),
        '"' | '\'' => (Kind::Text, quoted(text, first)),
        '(' | '[' | '{' => (Kind::Open, 1),
        ')' | ']' | '}' => (Kind::Close, 1),
        '=' | '!' | '<' | '>' if text.as_bytes().get(1) == Some(&b'=') => (Kind::Symbol, 2),
        '*' | '/' if text.chars().nth(1) == Some(first) => (Kind::Symbol, 2),
        _ => (Kind::Symbol, first.len_utf8()),
    })
}

/// Length of a quoted text, its quotes included; an unclosed one goes to the end.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            letter if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}
