//! What a run has asked and paid, a model, and its budget.

use std::sync::{Arc, Mutex};

use lydite::model::{ModelError, ModelErrorKind, ModelTotals, Price, Usage};
use tokio::sync::Notify;

use crate::sync::lock;

/// Tokens of a reply whose length no parameter limits, for estimates before a call.
pub(crate) const REPLY_TOKENS: u64 = 1000;

/// The meter of one run.
#[derive(Debug)]
pub(crate) struct Meter {
    /// In US dollars, above 0.
    budget: Option<f64>,
    purse: Mutex<Purse>,
    settled: Notify,
    models: Mutex<Vec<Arc<ModelMeter>>>,
}

/// In US dollars.
#[derive(Debug, Default)]
struct Purse {
    spent: f64,
    /// The most that calls under way are thought to cost.
    reserved: f64,
    /// A call was refused: the run ends, and no later, cheaper one slips through.
    closed: bool,
}

/// The meter of one model.
#[derive(Debug)]
pub(crate) struct ModelMeter {
    price: Option<Price>,
    totals: Mutex<ModelTotals>,
}

impl Meter {
    pub(crate) fn new(budget: Option<f64>) -> Arc<Self> {
        Arc::new(Self {
            budget,
            purse: Mutex::default(),
            settled: Notify::new(),
            models: Mutex::default(),
        })
    }

    /// Adds a model, with its price and the date of that price where it is a built-in one.
    ///
    /// # Errors
    /// With a budget, a model without a price can't be used.
    pub(crate) fn model(
        &self,
        name: &str,
        price: Option<(Price, Option<&'static str>)>,
    ) -> Result<Arc<ModelMeter>, ModelError> {
        if self.budget.is_some() && price.is_none() {
            return Err(ModelError::new(
                ModelErrorKind::Config,
                format!(
                    "the price of {name} is unknown, so no budget can be kept; give the model \
                     `price: {{input: …, output: …}}` in US dollars a million tokens, or leave the budget out"
                ),
            ));
        }
        let model = Arc::new(ModelMeter {
            price: price.map(|(price, _)| price),
            totals: Mutex::new(ModelTotals {
                model: name.to_owned(),
                cost_usd: Some(0.0),
                price_date: price.and_then(|(_, date)| date).map(str::to_owned),
                ..ModelTotals::default()
            }),
        });
        lock(&self.models).push(Arc::clone(&model));
        Ok(model)
    }

    /// Whether calls need an estimate of their cost.
    pub(crate) fn has_budget(&self) -> bool {
        self.budget.is_some()
    }

    /// Sets aside the most that a call is thought to cost. Where the budget would be passed by calls
    /// under way alone, waits for what they really cost.
    ///
    /// # Errors
    /// `Budget`, where what is left does not suffice.
    pub(crate) async fn ticket<'a>(
        &'a self,
        model: &'a ModelMeter,
        input_tokens: u64,
        output_tokens: u64,
    ) -> Result<Ticket<'a>, ModelError> {
        let cost = model.cost(input_tokens, output_tokens).unwrap_or_default();
        let mut ticket = Ticket {
            meter: self,
            model,
            reserved: 0.0,
            used: Usage::NONE,
        };
        let Some(budget) = self.budget else {
            return Ok(ticket);
        };
        loop {
            let mut settled = std::pin::pin!(self.settled.notified());
            // Heard from here on, so that nothing is missed between the look and the wait.
            settled.as_mut().enable();
            {
                let mut purse = lock(&self.purse);
                let spent = purse.spent;
                if !purse.closed && purse.spent + purse.reserved + cost <= budget {
                    purse.reserved += cost;
                    ticket.reserved = cost;
                    return Ok(ticket);
                }
                if purse.closed || purse.spent + cost > budget || purse.reserved <= 0.0 {
                    purse.closed = true;
                    drop(purse);
                    self.settled.notify_waiters();
                    return Err(passed(budget, spent, cost));
                }
            }
            settled.await;
        }
    }

    /// What was asked so far, one entry a name, in the order in which the models were made.
    pub(crate) fn totals(&self) -> Vec<ModelTotals> {
        let mut all: Vec<ModelTotals> = Vec::new();
        for model in lock(&self.models).iter() {
            let totals = lock(&model.totals).clone();
            match all.iter_mut().find(|other| other.model == totals.model) {
                Some(other) => merge(other, totals),
                None => all.push(totals),
            }
        }
        all
    }

    fn settle(&self, reserved: f64, spent: f64) {
        if self.budget.is_none() {
            return;
        }
        {
            let mut purse = lock(&self.purse);
            // Sums of floats may miss 0 by a little.
            purse.reserved = (purse.reserved - reserved).max(0.0);
            if purse.reserved < 1e-12 {
                purse.reserved = 0.0;
            }
            purse.spent += spent;
        }
        self.settled.notify_waiters();
    }
}

impl ModelMeter {
    /// In US dollars, where the price is known.
    pub(crate) fn cost(&self, input_tokens: u64, output_tokens: u64) -> Option<f64> {
        self.price.map(|price| {
            (input_tokens as f64 * price.input + output_tokens as f64 * price.output) / 1e6
        })
    }

    /// An answer from a cache, the log, or an equal call under way.
    pub(crate) fn count_cached(&self) {
        lock(&self.totals).cached += 1;
    }

    /// A call that failed.
    pub(crate) fn count_failed(&self) {
        lock(&self.totals).failed += 1;
    }

    /// A call that a dry run leaves out, as if it had gone well at once; and what it would have used.
    pub(crate) fn count_dry(&self, input_tokens: u64, output_tokens: u64) -> Usage {
        let usage = Usage {
            calls: 1,
            input_tokens,
            output_tokens,
            cost_usd: self.cost(input_tokens, output_tokens),
            estimated: true,
        };
        let mut totals = lock(&self.totals);
        totals.calls += 1;
        totals.requests += 1;
        add(&mut totals, &usage);
        usage
    }
}

/// One call on the meter. What was set aside is freed when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket<'a> {
    meter: &'a Meter,
    model: &'a ModelMeter,
    /// In US dollars.
    reserved: f64,
    used: Usage,
}

impl Ticket<'_> {
    /// Counts a request that goes out.
    pub(crate) fn request(&mut self, retry: bool) {
        let mut totals = lock(&self.model.totals);
        totals.requests += 1;
        totals.retries += u64::from(retry);
    }

    /// Counts what an attempt used, and gives it back with its cost.
    pub(crate) fn used(&mut self, usage: &Usage) -> Usage {
        let mut usage = *usage;
        usage.calls = usage.calls.max(1);
        let tokens = usage.input_tokens + usage.output_tokens;
        usage.cost_usd = usage
            .cost_usd
            .or_else(|| self.model.cost(usage.input_tokens, usage.output_tokens))
            .or_else(|| (tokens == 0).then_some(0.0));
        {
            let mut totals = lock(&self.model.totals);
            // The attempt itself was counted when it began.
            totals.requests += u64::from(usage.calls - 1);
            add(&mut totals, &usage);
        }
        self.used.add(&usage);
        self.meter.settle(0.0, usage.cost_usd.unwrap_or_default());
        usage
    }

    /// Whether what failed attempts have cost leaves enough for another.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let Some(budget) = self.meter.budget else {
            return Ok(());
        };
        let purse = lock(&self.meter.purse);
        if purse.spent + purse.reserved <= budget {
            return Ok(());
        }
        Err(passed(budget, purse.spent, self.reserved))
    }

    /// The sum over all attempts.
    pub(crate) fn usage(&self) -> Usage {
        self.used
    }

    /// Counts an answer.
    pub(crate) fn answered(self) {
        lock(&self.model.totals).calls += 1;
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.meter.settle(self.reserved, 0.0);
    }
}

fn passed(budget: f64, spent: f64, cost: f64) -> ModelError {
    ModelError::new(
        ModelErrorKind::Budget,
        format!(
            "the budget of ${budget} would be passed: ${spent:.6} is spent and the next call may cost \
             ${cost:.6}; raise `--budget` and resume the run"
        ),
    )
}

fn add(totals: &mut ModelTotals, usage: &Usage) {
    totals.input_tokens += usage.input_tokens;
    totals.output_tokens += usage.output_tokens;
    totals.estimated |= usage.estimated;
    totals.cost_usd = totals.cost_usd.zip(usage.cost_usd).map(|(a, b)| a + b);
}

fn merge(into: &mut ModelTotals, from: ModelTotals) {
    into.cost_usd = into.cost_usd.zip(from.cost_usd).map(|(a, b)| a + b);
    into.requests += from.requests;
    into.calls += from.calls;
    into.cached += from.cached;
    into.failed += from.failed;
    into.retries += from.retries;
    into.input_tokens += from.input_tokens;
    into.output_tokens += from.output_tokens;
    into.estimated |= from.estimated;
    into.price_date = into.price_date.take().or(from.price_date);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::join_all;
    use tokio::time::sleep;

    use super::*;

    const PRICE: Price = Price {
        input: 1.0,
        output: 10.0,
    };

    fn used(input_tokens: u64, output_tokens: u64) -> Usage {
        Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_budget_is_never_passed_and_is_used_up() {
        // A call is thought to cost 0.011 $ and costs 0.002 $: five fit at once, 48 one after the other.
        let meter = Meter::new(Some(0.105));
        let model = meter.model("m", Some((PRICE, None))).unwrap();
        let calls = (0..100).map(|_| async {
            let mut ticket = meter.ticket(&model, 1000, 1000).await?;
            ticket.request(false);
            sleep(Duration::from_millis(10)).await;
            ticket.used(&used(1000, 100));
            ticket.answered();
            Ok::<(), ModelError>(())
        });
        let ended = join_all(calls).await;
        let totals = &meter.totals()[0];
        let cost = totals.cost_usd.unwrap();
        assert!(cost <= 0.105 && cost + 0.011 > 0.105, "{cost}");
        let refused = ended.iter().filter(|call| call.is_err()).count();
        assert_eq!(totals.calls + refused as u64, 100);
        assert!(
            ended
                .into_iter()
                .filter_map(Result::err)
                .all(|e| e.kind == ModelErrorKind::Budget)
        );
    }

    #[tokio::test]
    async fn a_dropped_call_frees_what_it_set_aside() {
        let meter = Meter::new(Some(0.011));
        let model = meter.model("m", Some((PRICE, None))).unwrap();
        for _ in 0..10 {
            drop(meter.ticket(&model, 1000, 1000).await.unwrap());
        }
        let mut ticket = meter.ticket(&model, 1000, 1000).await.unwrap();
        ticket.used(&used(1, 0));
        assert_eq!(ticket.check().unwrap_err().kind, ModelErrorKind::Budget);
    }

    #[tokio::test]
    async fn failed_attempts_count() {
        let meter = Meter::new(None);
        let model = meter.model("m", Some((PRICE, Some("2026-01-02")))).unwrap();
        let mut ticket = meter.ticket(&model, 5, 5).await.unwrap();
        ticket.request(false);
        assert_eq!(ticket.used(&used(1_000_000, 0)).cost_usd, Some(1.0));
        ticket.request(true);
        ticket.used(&used(0, 100_000));
        assert_eq!(ticket.usage().cost_usd, Some(2.0));
        ticket.answered();
        model.count_cached();
        model.count_failed();
        let expected = ModelTotals {
            model: "m".to_owned(),
            requests: 2,
            calls: 1,
            cached: 1,
            failed: 1,
            retries: 1,
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cost_usd: Some(2.0),
            price_date: Some("2026-01-02".to_owned()),
            estimated: false,
        };
        assert_eq!(meter.totals(), [expected]);
    }

    #[test]
    fn a_budget_asks_for_prices() {
        let error = Meter::new(Some(1.0)).model("openai/x", None).unwrap_err();
        assert!(error.message.contains("openai/x") && error.message.contains("price: {input"));
        assert!(Meter::new(None).model("openai/x", None).is_ok());
    }
}
