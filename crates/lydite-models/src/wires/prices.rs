//! List prices of well-known models.
//!
//! Prices are those of uncached, unbatched tokens, as known on [`DATE`]. A suite's own `price` wins; a
//! model that is not here has no price, never 0.

use lydite::model::{ModelSpec, Price, Provider, Usage};

use crate::wires::provider;

/// The day whose prices the tables hold, `YYYY-MM-DD`. Later changes of prices are not in them.
pub const DATE: &str = "2025-12-01";

/// A price and where it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownPrice {
    pub price: Price,
    /// The table's date; `None` where the suite gives the price or nothing is paid a token.
    pub date: Option<&'static str>,
}

impl KnownPrice {
    /// US dollars for so many tokens.
    pub fn cost(&self, input_tokens: u64, output_tokens: u64) -> f64 {
        (input_tokens as f64 * self.price.input + output_tokens as f64 * self.price.output) / 1e6
    }
}

/// What a model's tokens cost: the suite's price, else the table's, else nothing for local servers
/// on this machine and for files, else unknown.
pub fn price(spec: &ModelSpec) -> Option<KnownPrice> {
    if let Some(price) = spec.price {
        return Some(KnownPrice { price, date: None });
    }
    let free = match spec.provider {
        Provider::Scripted | Provider::Local => true,
        Provider::Ollama | Provider::Vllm | Provider::LmStudio | Provider::LlamaCpp => {
            provider::is_local(spec)
        }
        _ => false,
    };
    if free {
        let price = Price {
            input: 0.0,
            output: 0.0,
        };
        return Some(KnownPrice { price, date: None });
    }
    listed(spec.provider, &spec.model).map(|price| KnownPrice {
        price,
        date: Some(DATE),
    })
}

/// Adds the cost to counted tokens. A request without tokens (refused, cut) costs nothing.
pub(crate) fn with_cost(mut usage: Usage, price: Option<KnownPrice>) -> Usage {
    usage.cost_usd = match (usage.input_tokens, usage.output_tokens) {
        (0, 0) => Some(0.0),
        (input, output) => price.map(|price| price.cost(input, output)),
    };
    usage
}

/// Model names of one maker with US dollars a million tokens in and out.
type Rows = &'static [(&'static str, f64, f64)];

const OPENAI: Rows = &[
    ("gpt-5", 1.25, 10.0),
    ("gpt-5.1", 1.25, 10.0),
    ("gpt-5-mini", 0.25, 2.0),
    ("gpt-5-nano", 0.05, 0.4),
    ("gpt-4.1", 2.0, 8.0),
    ("gpt-4.1-mini", 0.4, 1.6),
    ("gpt-4.1-nano", 0.1, 0.4),
    ("gpt-4o", 2.5, 10.0),
    ("gpt-4o-mini", 0.15, 0.6),
    ("gpt-4-turbo", 10.0, 30.0),
    ("gpt-4", 30.0, 60.0),
    ("gpt-3.5-turbo", 0.5, 1.5),
    ("o1", 15.0, 60.0),
    ("o1-mini", 1.1, 4.4),
    ("o1-pro", 150.0, 600.0),
    ("o3", 2.0, 8.0),
    ("o3-mini", 1.1, 4.4),
    ("o3-pro", 20.0, 80.0),
    ("o4-mini", 1.1, 4.4),
    ("text-embedding-3-small", 0.02, 0.0),
    ("text-embedding-3-large", 0.13, 0.0),
    ("text-embedding-ada-002", 0.1, 0.0),
    ("omni-moderation", 0.0, 0.0),
    ("text-moderation", 0.0, 0.0),
];

const ANTHROPIC: Rows = &[
    ("claude-opus-4-5", 5.0, 25.0),
    ("claude-sonnet-4-5", 3.0, 15.0),
    ("claude-haiku-4-5", 1.0, 5.0),
    ("claude-opus-4", 15.0, 75.0),
    ("claude-opus-4-1", 15.0, 75.0),
    ("claude-sonnet-4", 3.0, 15.0),
    ("claude-3-7-sonnet", 3.0, 15.0),
    ("claude-3-5-sonnet", 3.0, 15.0),
    ("claude-3-5-haiku", 0.8, 4.0),
    ("claude-3-opus", 15.0, 75.0),
    ("claude-3-haiku", 0.25, 1.25),
];

/// Of tiered prices the one up to 200,000 tokens.
const GEMINI: Rows = &[
    ("gemini-2.5-pro", 1.25, 10.0),
    ("gemini-2.5-flash", 0.3, 2.5),
    ("gemini-2.5-flash-lite", 0.1, 0.4),
    ("gemini-2.0-flash", 0.1, 0.4),
    ("gemini-2.0-flash-lite", 0.075, 0.3),
    ("gemini-1.5-pro", 1.25, 5.0),
    ("gemini-1.5-flash", 0.075, 0.3),
    ("gemini-embedding-001", 0.15, 0.0),
];

/// The row whose name is the model's, or its longest beginning where only a date or `latest` follows:
/// `gpt-4o-2024-08-06` is a `gpt-4o`, `gpt-4o-audio-preview` is not known.
fn listed(provider: Provider, model: &str) -> Option<Price> {
    let rows = match provider {
        Provider::OpenAi | Provider::Azure => OPENAI,
        Provider::Anthropic => ANTHROPIC,
        Provider::Gemini => GEMINI,
        _ => return None,
    };
    rows.iter()
        .filter(|(name, ..)| model.strip_prefix(name).is_some_and(is_version))
        .max_by_key(|(name, ..)| name.len())
        .map(|&(_, input, output)| Price { input, output })
}

/// Empty, `-latest`, `-001`, or a date: `-2024-08-06`, `-20250514`, `-0613`.
fn is_version(ending: &str) -> bool {
    let Some(ending) = ending.strip_prefix('-') else {
        return ending.is_empty();
    };
    let first = ending.split('-').next().unwrap_or_default();
    let dated = first.len() >= 3 && ending.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    ending == "latest" || dated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models() {
        for (text, expected) in [
            ("openai/gpt-4.1-mini", Some((0.4, 1.6))),
            ("openai/gpt-4.1-mini-2025-04-14", Some((0.4, 1.6))),
            ("openai/gpt-4o-2024-08-06", Some((2.5, 10.0))),
            ("openai/gpt-4-0613", Some((30.0, 60.0))),
            ("openai/gpt-4o-audio-preview", None),
            ("openai/omni-moderation-latest", Some((0.0, 0.0))),
            ("anthropic/claude-sonnet-4-20250514", Some((3.0, 15.0))),
            ("anthropic/claude-3-5-haiku-latest", Some((0.8, 4.0))),
            ("anthropic/claude-opus-4-1-20250805", Some((15.0, 75.0))),
            ("anthropic/claude-opus-4-9", None),
            ("anthropic/claude-opus-4-9-20991231", None),
            ("gemini/gemini-2.5-flash-lite", Some((0.1, 0.4))),
            ("groq/gpt-4o", None),
            ("ollama/llama3.2", Some((0.0, 0.0))),
        ] {
            let found = price(&ModelSpec::parse(text).unwrap());
            let found = found.map(|known| (known.price.input, known.price.output));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_suites_price_wins_and_has_no_date() {
        let mut spec = ModelSpec::parse("openai/gpt-4o").unwrap();
        assert_eq!(price(&spec).unwrap().date, Some(DATE));
        spec.price = Some(Price {
            input: 1.0,
            output: 3.0,
        });
        let known = price(&spec).unwrap();
        assert_eq!(known.date, None);
        assert_eq!(known.cost(1_000_000, 2_000_000), 7.0);
    }

    #[test]
    fn a_local_server_elsewhere_has_no_known_price() {
        let mut spec = ModelSpec::parse("vllm/llama").unwrap();
        assert!(price(&spec).is_some());
        spec.base_url = Some("https://gpu.example/v1".into());
        assert_eq!(price(&spec), None);
    }
}
