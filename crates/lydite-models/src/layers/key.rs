//! What a kept reply is found by: BLAKE3 over all that it hangs on, each part with its length before
//! it, so that no two different calls write the same bytes. The parts are gathered in one buffer: BLAKE3
//! is fastest over bytes that lie together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use lydite::model::{CallIdentity, ChatRequest, Order, ReplyFormat};
use memchr::memmem::Finder;
use serde_json::Value;

use crate::sync::lock;
use crate::wires::tokens;

pub(crate) type Key = [u8; 32];

/// Raised whenever keys are made otherwise: kept replies of old keys are not found then.
const FORMAT: u32 = 1;

/// So many schemas are remembered by their address before all are forgotten.
const SCHEMAS: usize = 1024;

/// Makes the keys of one model in one role.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    /// The hash of what all its keys share.
    start: Key,
}

impl Keys {
    /// `role` tells chat, embeddings and moderation apart; `identity` is the wire's.
    pub(crate) fn new(role: &str, identity: &str) -> Self {
        let mut start = b"lydite reply".to_vec();
        start.extend(FORMAT.to_le_bytes());
        part(&mut start, role.as_bytes());
        part(&mut start, identity.as_bytes());
        Self {
            start: hash(&start),
        }
    }

    /// The key of a call. The fence's tag stands for a cut in the text, so it is of no account how it
    /// reads, only where it stands.
    pub(crate) fn chat(&self, request: &ChatRequest, schemas: &SchemaHashes) -> Key {
        let texts: usize = request.messages.iter().map(|m| m.content.len()).sum();
        let mut bytes = self.begin(texts + 512);
        let fence = request.fence.as_deref().filter(|tag| !tag.is_empty());
        let fence = fence.map(|tag| Finder::new(tag.as_bytes()));
        number(&mut bytes, request.messages.len() as u64);
        for message in &request.messages {
            part(&mut bytes, message.role.as_str().as_bytes());
            fenced(&mut bytes, message.content.as_bytes(), fence.as_ref());
        }
        match &request.format {
            ReplyFormat::Text => bytes.push(0),
            ReplyFormat::Json { name, schema } => {
                bytes.push(1);
                part(&mut bytes, name.as_bytes());
                bytes.extend(schemas.get(schema).hash);
            }
        }
        optional(&mut bytes, request.temperature.map(f64::to_bits));
        optional(&mut bytes, request.top_logprobs.map(u64::from));
        call_identity(&mut bytes, &request.identity);
        hash(&bytes)
    }

    /// The key of a text that is embedded or moderated.
    pub(crate) fn text(&self, text: &str) -> Key {
        let mut bytes = self.begin(text.len() + 8);
        part(&mut bytes, text.as_bytes());
        hash(&bytes)
    }

    fn begin(&self, more: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.start.len() + more);
        bytes.extend(self.start);
        bytes
    }
}

/// One key of several, in their order.
pub(crate) fn all(keys: &[Key]) -> Key {
    hash(keys.as_flattened())
}

pub(crate) fn hex(key: &Key) -> String {
    data_encoding::HEXLOWER.encode(key)
}

pub(crate) fn from_hex(text: &str) -> Option<Key> {
    data_encoding::HEXLOWER
        .decode(text.as_bytes())
        .ok()?
        .try_into()
        .ok()
}

/// What is known of schemas, found out once as long as the same `Arc` comes again.
#[derive(Debug, Default)]
pub(crate) struct SchemaHashes {
    /// By address. The `Arc` beside it keeps the address from being given to another schema.
    known: Mutex<HashMap<usize, (Arc<Value>, KnownSchema)>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownSchema {
    /// Of the compact text. Members keep their order: models fill schemas in as they are written, so
    /// another order asks another thing.
    hash: Key,
    /// About how many tokens the text has.
    pub(crate) tokens: u64,
}

impl SchemaHashes {
    pub(crate) fn get(&self, schema: &Arc<Value>) -> KnownSchema {
        let mut known = lock(&self.known);
        let address = Arc::as_ptr(schema) as usize;
        if let Some((_, schema)) = known.get(&address) {
            return *schema;
        }
        let text = schema.to_string();
        let found = KnownSchema {
            hash: hash(text.as_bytes()),
            tokens: tokens::estimate(&text),
        };
        if known.len() >= SCHEMAS {
            known.clear();
        }
        known.insert(address, (Arc::clone(schema), found));
        found
    }
}

/// The pieces between the tags, their number first.
fn fenced(bytes: &mut Vec<u8>, text: &[u8], tag: Option<&Finder<'_>>) {
    let Some(tag) = tag else {
        number(bytes, 1);
        return part(bytes, text);
    };
    let width = tag.needle().len();
    number(bytes, tag.find_iter(text).count() as u64 + 1);
    let mut from = 0;
    for at in tag.find_iter(text) {
        part(bytes, text.get(from..at).unwrap_or_default());
        from = at + width;
    }
    part(bytes, text.get(from..).unwrap_or_default());
}

fn call_identity(bytes: &mut Vec<u8>, identity: &CallIdentity) {
    // Named one by one, so that a new member can't be left out.
    let CallIdentity {
        repeat,
        sample,
        juror,
        order,
        repair,
        trial,
    } = *identity;
    for count in [repeat, sample, juror, trial] {
        bytes.extend(count.to_le_bytes());
    }
    let order = match order {
        Order::Ab => 0,
        Order::Ba => 1,
    };
    bytes.extend([order, u8::from(repair)]);
}

fn hash(bytes: &[u8]) -> Key {
    blake3::hash(bytes).into()
}

fn part(bytes: &mut Vec<u8>, part: &[u8]) {
    number(bytes, part.len() as u64);
    bytes.extend_from_slice(part);
}

fn number(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend(number.to_le_bytes());
}

fn optional(bytes: &mut Vec<u8>, value: Option<u64>) {
    bytes.extend([u8::from(value.is_some())]);
    number(bytes, value.unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use lydite::model::{ChatMessage, ChatRole};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn key(identity: &str, request: &ChatRequest) -> Key {
        Keys::new("chat", identity).chat(request, &SchemaHashes::default())
    }

    fn json_format(name: &'static str, schema: Value) -> ReplyFormat {
        ReplyFormat::Json {
            name,
            schema: Arc::new(schema),
        }
    }

    #[test]
    fn every_part_tells_calls_apart() {
        let base = ChatRequest {
            messages: vec![ChatMessage::system("s"), ChatMessage::user("ab")],
            format: json_format("verdict", json!({"a": 1, "b": 2})),
            ..ChatRequest::default()
        };
        let change = |with: &dyn Fn(&mut ChatRequest)| {
            let mut request = base.clone();
            with(&mut request);
            request
        };
        let identity = |with: &dyn Fn(&mut CallIdentity)| change(&|r| with(&mut r.identity));
        let others = [
            base.clone(),
            change(&|r| r.messages = vec![ChatMessage::system("sa"), ChatMessage::user("b")]),
            change(&|r| r.messages = vec![ChatMessage::user("s"), ChatMessage::user("ab")]),
            change(&|r| r.messages = vec![ChatMessage::system("s")]),
            change(&|r| r.format = ReplyFormat::Text),
            change(&|r| r.format = json_format("other", json!({"a": 1, "b": 2}))),
            change(&|r| r.format = json_format("verdict", json!({"b": 2, "a": 1}))),
            change(&|r| r.temperature = Some(0.0)),
            change(&|r| r.temperature = Some(1.0)),
            change(&|r| r.top_logprobs = Some(0)),
            change(&|r| r.top_logprobs = Some(20)),
            identity(&|i| i.repeat = 1),
            identity(&|i| i.sample = 1),
            identity(&|i| i.juror = 1),
            identity(&|i| i.order = Order::Ba),
            identity(&|i| i.repair = true),
            identity(&|i| i.trial = 1),
        ];
        let mut keys: Vec<Key> = others.iter().map(|request| key("m", request)).collect();
        keys.push(key("n", &base));
        keys.push(Keys::new("embed", "m").chat(&base, &SchemaHashes::default()));
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn an_equal_schema_elsewhere_gives_the_same_key() {
        let hashes = SchemaHashes::default();
        let keys = Keys::new("chat", "m");
        let of = |schema: Value| {
            let request = ChatRequest {
                format: json_format("v", schema),
                ..ChatRequest::default()
            };
            keys.chat(&request, &hashes)
        };
        assert_eq!(of(json!({"type": "object"})), of(json!({"type": "object"})));
    }

    proptest! {
        #[test]
        fn the_fence_is_of_no_account(
            pieces in prop::collection::vec("[a-z <>]{0,12}", 1..6),
            one in "T[0-9]{8}",
            other in "T[0-9]{12}",
        ) {
            let with = |tag: &str| ChatRequest {
                messages: vec![ChatMessage::user(pieces.join(tag))],
                fence: Some(tag.into()),
                ..ChatRequest::default()
            };
            prop_assert_eq!(key("m", &with(&one)), key("m", &with(&other)));
            // Where it stands is of account.
            let mut unfenced = with(&one);
            unfenced.fence = None;
            prop_assert_eq!(key("m", &with(&one)) == key("m", &unfenced), pieces.len() == 1);
        }

        #[test]
        fn other_messages_give_another_key(
            one in prop::collection::vec("[ab]{0,3}", 0..4),
            other in prop::collection::vec("[ab]{0,3}", 0..4),
        ) {
            let of = |texts: &[String]| {
                let messages = texts
                    .iter()
                    .map(|text| ChatMessage { role: ChatRole::User, content: text.clone() })
                    .collect();
                key("m", &ChatRequest { messages, fence: Some("b".into()), ..ChatRequest::default() })
            };
            prop_assert_eq!(of(&one) == of(&other), one == other);
        }
    }
}
