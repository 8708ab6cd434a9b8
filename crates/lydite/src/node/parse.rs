//! From the events of the YAML parser to the tree.

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, StrInput, Tag};

use super::{Node, NodeError, NodeValue, Scalar, Shortened, Span, scalar};

/// How deep lists and mappings may nest, aliases written out.
pub const MAX_DEPTH: usize = 128;
/// How many nodes a text may have, keys counted and aliases written out.
pub const MAX_NODES: usize = 1_000_000;

/// From how many keys on a mapping looks for duplicates by hash.
const MANY_KEYS: usize = 16;

pub(super) fn parse(source: &str) -> Result<Node, NodeError> {
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        simple_key_max_lookahead: 1 << 20,
        emit_comments: false,
    };
    let mut builder = Builder::default();
    let events: Parser<'_, StrInput<'_>> = Parser::new_from_str_with_options(source, options);
    for event in events {
        let (event, span) = event.map_err(|error| explain(&error, source))?;
        builder.take(event, span)?;
    }
    Ok(builder.root.unwrap_or(Node {
        value: NodeValue::Null(String::new()),
        span: Span {
            line: 1,
            column: 1,
            ..Span::default()
        },
    }))
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    nodes: usize,
}

/// A collection whose end has not been seen.
struct Open {
    start: Span,
    anchor: usize,
    /// Depth of the deepest finished child.
    height: usize,
    collection: Collection,
}

enum Collection {
    Sequence(Vec<Node>),
    Mapping {
        entries: Vec<(Node, Node)>,
        key: Option<Node>,
        lines: HashMap<String, usize>,
    },
}

/// A finished node that aliases may repeat.
struct Anchored {
    node: Node,
    nodes: usize,
    height: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: granit_parser::Span) -> Result<(), NodeError> {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => Err(error(
                place(&span),
                "a second document begins here; keep one document a file",
            )),
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar_value(&text, style, tag.as_deref(), &span)?;
                self.finish(
                    Node {
                        value,
                        span: place(&span),
                    },
                    0,
                    anchor,
                )
            }
            Event::SequenceStart(_, anchor, tag) => {
                refuse_tag(tag.as_deref(), "seq", &span)?;
                self.begin(Collection::Sequence(Vec::new()), anchor, &span)
            }
            Event::MappingStart(_, anchor, tag) => {
                refuse_tag(tag.as_deref(), "map", &span)?;
                let collection = Collection::Mapping {
                    entries: Vec::new(),
                    key: None,
                    lines: HashMap::new(),
                };
                self.begin(collection, anchor, &span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(&span),
            Event::Alias(anchor) => self.repeat(anchor, place(&span)),
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        collection: Collection,
        anchor: usize,
        span: &granit_parser::Span,
    ) -> Result<(), NodeError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(place(span)));
        }
        self.open.push(Open {
            start: place(span),
            anchor,
            height: 0,
            collection,
        });
        Ok(())
    }

    fn end(&mut self, span: &granit_parser::Span) -> Result<(), NodeError> {
        let Some(Open {
            start,
            anchor,
            height,
            collection,
        }) = self.open.pop()
        else {
            return Ok(());
        };
        let (value, last) = match collection {
            Collection::Sequence(items) => {
                let last = items.last().map(|node| node.span.end_byte);
                (NodeValue::Sequence(items), last)
            }
            Collection::Mapping { entries, .. } => {
                let last = entries
                    .last()
                    .map(|(key, value)| value.span.end_byte.max(key.span.end_byte));
                (NodeValue::Mapping(entries), last)
            }
        };
        let bracket = place(span);
        let closes_itself = bracket.end_byte > bracket.start_byte;
        let end_byte = if closes_itself {
            bracket.end_byte
        } else {
            last.unwrap_or(start.end_byte)
        };
        let span = Span {
            end_byte: end_byte.max(start.start_byte),
            ..start
        };
        self.finish(Node { value, span }, height + 1, anchor)
    }

    /// Counts a finished node, remembers it where it has an anchor, puts it in its place.
    fn finish(&mut self, node: Node, height: usize, anchor: usize) -> Result<(), NodeError> {
        self.spend(1, node.span)?;
        if anchor > 0 {
            let nodes = count(&node);
            self.spend(nodes, node.span)?;
            self.anchors.insert(
                anchor,
                Anchored {
                    node: node.clone(),
                    nodes,
                    height,
                },
            );
        }
        self.attach(node, height)
    }

    fn repeat(&mut self, anchor: usize, span: Span) -> Result<(), NodeError> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(error(
                span,
                "an alias stands inside of what it repeats; write the value out",
            ));
        };
        let (nodes, height) = (anchored.nodes, anchored.height);
        if self.open.len() + height > MAX_DEPTH {
            return Err(too_deep(span));
        }
        self.spend(nodes, span)?;
        match self.anchors.get(&anchor) {
            Some(anchored) => self.attach(
                Node {
                    span,
                    ..anchored.node.clone()
                },
                height,
            ),
            None => Ok(()),
        }
    }

    fn spend(&mut self, nodes: usize, span: Span) -> Result<(), NodeError> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            let message =
                format!("more than {MAX_NODES} values, aliases written out; split the file");
            return Err(error(span, message));
        }
        Ok(())
    }

    fn attach(&mut self, node: Node, height: usize) -> Result<(), NodeError> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.height = open.height.max(height);
        match &mut open.collection {
            Collection::Sequence(items) => items.push(node),
            Collection::Mapping {
                entries,
                key,
                lines,
            } => match key.take() {
                Some(name) => entries.push((name, node)),
                None => *key = Some(checked_key(node, entries, lines)?),
            },
        }
        Ok(())
    }
}

fn checked_key(
    key: Node,
    entries: &[(Node, Node)],
    lines: &mut HashMap<String, usize>,
) -> Result<Node, NodeError> {
    let scalar = match &key.value {
        NodeValue::Scalar(scalar) => scalar,
        NodeValue::Null(_) => {
            return Err(error(
                key.span,
                "a key is null; quote it if you mean the text",
            ));
        }
        NodeValue::Sequence(_) | NodeValue::Mapping(_) => {
            let message = format!(
                "a key must be text, found {}; quote the key if it is text with brackets",
                key.describe()
            );
            return Err(error(key.span, message));
        }
    };
    if scalar.plain && scalar.text == "<<" {
        return Err(error(
            key.span,
            "merge keys (`<<`) are not supported; write the keys out, or repeat a whole value with an alias",
        ));
    }
    if let Some(line) = first_line(&scalar.text, key.span.line, entries, lines) {
        let lines = match key.span.line {
            again if again == line => format!("on line {line}"),
            again => format!("on lines {line} and {again}"),
        };
        let message = format!(
            "key {} is given twice, {lines}; remove one",
            Shortened(&scalar.text)
        );
        return Err(error(key.span, message));
    }
    Ok(key)
}

/// The line on which the mapping has the key already; remembers the key in a mapping of many.
fn first_line(
    text: &str,
    line: usize,
    entries: &[(Node, Node)],
    lines: &mut HashMap<String, usize>,
) -> Option<usize> {
    if entries.len() < MANY_KEYS {
        return entries
            .iter()
            .find(|(key, _)| key.scalar_text() == text)
            .map(|(key, _)| key.span.line);
    }
    if lines.is_empty() {
        lines.extend(
            entries
                .iter()
                .map(|(key, _)| (key.scalar_text().to_owned(), key.span.line)),
        );
    }
    lines.insert(text.to_owned(), line)
}

fn scalar_value(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    span: &granit_parser::Span,
) -> Result<NodeValue, NodeError> {
    let plain = style == ScalarStyle::Plain;
    // A value that is not there is reported as a `~` of no width.
    let text = if plain && span.is_empty() { "" } else { text };
    let Some(tag) = tag else {
        return Ok(match plain {
            true if scalar::is_null(text) => NodeValue::Null(text.to_owned()),
            true => Scalar::plain(text.to_owned()),
            false => Scalar::quoted(text.to_owned()),
        });
    };
    match core_name(tag) {
        Some("str") => Ok(Scalar::quoted(text.to_owned())),
        Some("null") if scalar::is_null(text) => Ok(NodeValue::Null(text.to_owned())),
        Some(name @ ("bool" | "int" | "float")) if fits(name, text) => {
            Ok(Scalar::plain(text.to_owned()))
        }
        Some(name @ ("null" | "bool" | "int" | "float")) => {
            let message = format!("tag `!!{name}` does not fit {}", Shortened(text));
            Err(error(place(span), message))
        }
        _ => Err(unsupported(tag, span)),
    }
}

fn fits(tag: &str, text: &str) -> bool {
    use scalar::Resolved;
    match scalar::resolve(text) {
        Resolved::Bool(_) => tag == "bool",
        Resolved::Unsigned(_) | Resolved::Signed(_) => tag != "bool",
        Resolved::Float(_) | Resolved::NotFinite => tag == "float",
        Resolved::Text => false,
    }
}

fn refuse_tag(
    tag: Option<&Tag>,
    allowed: &str,
    span: &granit_parser::Span,
) -> Result<(), NodeError> {
    match tag {
        Some(tag) if core_name(tag) != Some(allowed) && tag.original() != "!" => {
            Err(unsupported(tag, span))
        }
        _ => Ok(()),
    }
}

/// The name of a core tag; `!` alone says "not resolved", which for a scalar is text.
fn core_name(tag: &Tag) -> Option<&str> {
    if tag.original() == "!" {
        Some("str")
    } else {
        tag.core_suffix()
    }
}

fn unsupported(tag: &Tag, span: &granit_parser::Span) -> NodeError {
    let at = span
        .tag_span()
        .map_or_else(|| place(span), |tag| place(&tag));
    error(
        at,
        format!("tag `{}` is not supported here; remove it", tag.original()),
    )
}

fn count(node: &Node) -> usize {
    match &node.value {
        NodeValue::Null(_) | NodeValue::Scalar(_) => 1,
        NodeValue::Sequence(items) => 1 + items.iter().map(count).sum::<usize>(),
        NodeValue::Mapping(entries) => {
            1 + entries
                .iter()
                .map(|(key, value)| count(key) + count(value))
                .sum::<usize>()
        }
    }
}

fn place(span: &granit_parser::Span) -> Span {
    let start = marker(&span.start);
    Span {
        end_byte: span.end.byte_offset().unwrap_or(start.start_byte),
        ..start
    }
}

fn marker(marker: &Marker) -> Span {
    let byte = marker.byte_offset().unwrap_or_default();
    Span {
        start_byte: byte,
        end_byte: byte,
        line: marker.line(),
        column: marker.col() + 1,
    }
}

fn error(span: Span, message: impl Into<String>) -> NodeError {
    NodeError {
        message: message.into(),
        span,
    }
}

fn too_deep(span: Span) -> NodeError {
    error(
        span,
        format!("lists and mappings nest deeper than {MAX_DEPTH}"),
    )
}

/// The parser's error in our words where they help more, else in its own.
fn explain(scan: &ScanError, source: &str) -> NodeError {
    let mut span = marker(scan.marker());
    let next = source
        .get(span.start_byte..)
        .and_then(|rest| rest.chars().next());
    span.end_byte += next.map_or(0, char::len_utf8);
    let message = match scan.kind() {
        ErrorKind::RecursionLimitExceeded => return too_deep(span),
        ErrorKind::TabInIndentation
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabNotAllowed => "a tab cannot indent; use spaces".to_owned(),
        ErrorKind::UnclosedQuotedScalar => {
            "a quote is not closed before the end of the file".to_owned()
        }
        ErrorKind::UnclosedFlowCollection { open } => format!("the bracket `{open}` is not closed"),
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            format!("the bracket `{open}` is closed by `{close}`")
        }
        ErrorKind::UnexpectedEofFlowSequence => "a list that began with `[` is not closed".to_owned(),
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            "a mapping that began with `{` is not closed".to_owned()
        }
        ErrorKind::MappingValueNotAllowed => {
            "a key and its value cannot stand here; quote the text if the `:` belongs to it, or check the indentation"
                .to_owned()
        }
        ErrorKind::UnknownAnchor => {
            "this alias has no anchor before it; quote the text if the `*` belongs to it".to_owned()
        }
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => format!(
            "the character `{}` cannot stand in a suite; write it as an escape in double quotes",
            character.escape_default()
        ),
        ErrorKind::UnexpectedCharacter { character: '`' } => {
            "no plain text can begin with a backtick; quote it".to_owned()
        }
        ErrorKind::UnexpectedCharacter { character } => {
            format!("no plain text can begin with `{character}`; quote it")
        }
        ErrorKind::InvalidColonPlacement => {
            "a `:` cannot stand here; perhaps a bracket or a quote above is not closed".to_owned()
        }
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            "text follows the closing quote; quote the whole text, and escape the quotes inside"
                .to_owned()
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            "no such escape in double quotes; use single quotes, or double the `\\`".to_owned()
        }
        ErrorKind::ExpectedBlockMappingKey => {
            "expected a key of the mapping that began above; check the indentation".to_owned()
        }
        ErrorKind::InvalidIndentation => "the indentation fits no line above".to_owned(),
        ErrorKind::SimpleKeyExpected => "expected a `:` after the key".to_owned(),
        _ => lower_first(&scan.info()),
    };
    error(span, message)
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}
