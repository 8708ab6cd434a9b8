//! What calls cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one or more calls used. Failed attempts count as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Requests that were sent; 0 where all was cached.
    pub calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// In US dollars; null where a price is unknown.
    pub cost_usd: Option<f64>,
    /// Some of the tokens were counted here, not by the provider.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Usage {
    /// Nothing used, nothing paid.
    pub const NONE: Self = Self {
        calls: 0,
        input_tokens: 0,
        output_tokens: 0,
        cost_usd: Some(0.0),
        estimated: false,
    };

    /// The sum; its cost is known where both are.
    pub fn add(&mut self, other: &Self) {
        // Nothing used costs nothing, whatever its price.
        self.cost_usd = match (self.is_nothing(), other.is_nothing()) {
            (_, true) => self.cost_usd,
            (true, false) => other.cost_usd,
            (false, false) => self.cost_usd.zip(other.cost_usd).map(|(a, b)| a + b),
        };
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.estimated |= other.estimated;
    }

    /// Whether no call was made and no token used.
    pub const fn is_nothing(&self) -> bool {
        self.calls == 0 && self.input_tokens == 0 && self.output_tokens == 0
    }
}

/// What a run asked of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelTotals {
    /// `provider/model`.
    pub model: String,
    /// Requests sent, failed attempts among them.
    pub requests: u64,
    /// Answers that came from a request.
    pub calls: u64,
    /// Answers from a cache or from an equal call under way.
    pub cached: u64,
    /// Calls that failed after all their attempts.
    pub failed: u64,
    pub retries: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// In US dollars; null where the price is unknown.
    pub cost_usd: Option<f64>,
    /// The date of the built-in price that was taken, `YYYY-MM-DD`; absent where the suite gives the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_date: Option<String>,
    /// Some of the tokens were counted here, not by the provider.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl ModelTotals {
    /// Adds what another run asked of the same model. Its cost is known where both are.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.calls += other.calls;
        self.cached += other.cached;
        self.failed += other.failed;
        self.retries += other.retries;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cost_usd = self.cost_usd.zip(other.cost_usd).map(|(a, b)| a + b);
        self.estimated |= other.estimated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_price_makes_the_sum_unknown_but_nothing_costs_nothing() {
        let paid = Usage {
            calls: 1,
            input_tokens: 10,
            output_tokens: 2,
            cost_usd: Some(0.5),
            estimated: false,
        };
        let unknown = Usage {
            cost_usd: None,
            ..paid
        };
        let mut sum = Usage::default();
        sum.add(&paid);
        assert_eq!(sum.cost_usd, Some(0.5));
        sum.add(&Usage::NONE);
        sum.add(&Usage::default());
        assert_eq!(sum.cost_usd, Some(0.5));
        sum.add(&unknown);
        assert_eq!((sum.calls, sum.cost_usd), (2, None));
    }
}
