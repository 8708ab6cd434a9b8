//! A text as the statements that it makes, one by one.

use crate::evaluator::ParamErrors;
use crate::judge::{Ask, Failure, Fill, JudgeContext, Place, Prompt};
use crate::model::Order;

pub(super) const PROMPT: &str = "\
Split a text into the statements that it makes.

The question that the text answers:
{query}

The text:
{text}

Write each statement as one short sentence that can be understood and checked without the text: say what pronouns \
stand for, and where the text only says yes or no, say to what (the question tells). Keep numbers, names, units, \
conditions and negations exactly. One fact a statement, no fact twice, and every fact of the text. Add nothing and \
correct nothing, whether it is true or not. Keep the language of the text.
Leave out what states nothing: greetings, questions, offers of help, refusals, admissions of not knowing, remarks \
about the text itself. A text that states nothing gives an empty list.";

/// Splits texts by a judge.
pub(super) struct Splitter(Prompt);

impl Splitter {
    pub(super) fn new() -> Result<Self, ParamErrors> {
        let places = [Place::new("query"), Place::new("text")];
        let prompt = Prompt::new(PROMPT, &places, &["text"]);
        prompt
            .map(Self)
            .map_err(|error| ParamErrors::with_help("", error.message, error.help))
    }

    /// The statements of a text in their order; none where it states nothing.
    pub(super) async fn split(
        &self,
        query: Fill<'_>,
        text: &str,
        cx: &JudgeContext<'_>,
    ) -> Result<Vec<String>, Failure> {
        let ask = Ask {
            name: "statements",
            prompt: &self.0,
            fill: &[("query", query), ("text", Fill::data(text))],
            order: Order::default(),
        };
        cx.list(&ask, "statements").await
    }
}
