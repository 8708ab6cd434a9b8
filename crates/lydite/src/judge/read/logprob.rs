//! Weighing answers by the log-probabilities of the tokens that say them.
//!
//! The score of G-Eval (Liu et al. 2023, "G-Eval: NLG Evaluation using GPT-4 with Better Human
//! Alignment", EMNLP, section 2): the sum of p(s)·s over the scores s that were asked for. Here p
//! is scaled to the mass that fell on them, and the mass is given.
//!
//! An answer may take several tokens. Alternatives are known along the chosen ones only, so an
//! alternative that was not chosen stands for the answer that it is by itself, and a chosen one is
//! weighed by what the next token makes of it: of `1` (0.9) or `9` (0.1) and then `0` (1.0), the
//! number 10 has 0.9 and 9 has 0.1.

use crate::judge::{Labels, Scale};
use crate::model::TokenLogprob;

/// The distribution over the values of a scale at the place of a number in a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The mean over the values that the scale holds.
    pub mean: f64,
    /// The probability that was kept: the rest fell on tokens that are no value of the scale. In (0, 1].
    pub mass: f64,
}

/// The expected rating from the log-probabilities of a reply's tokens, where the number begins at
/// byte `start` of the tokens' joined text. `None` where no alternative is a value of the scale.
pub fn expected_rating(tokens: &[TokenLogprob], start: usize, scale: &Scale) -> Option<Expected> {
    let (mut sum, mut mass) = (0.0, 0.0);
    weigh(tokens, start, &mut |text, ended, weight| {
        let Some(number) = Number::read(text) else {
            return Next::Drop;
        };
        if !(ended || number.ended) {
            return Next::Extend;
        }
        if let Some(value) = number.value.filter(|&value| scale.holds(value)) {
            sum += weight * value;
            mass += weight;
        }
        Next::Drop
    })?;
    (mass > 0.0).then(|| Expected {
        mean: sum / mass,
        mass: mass.min(1.0),
    })
}

/// The probability of each label where the verdict begins at byte `start` of the tokens' joined
/// text, scaled to sum to 1, and the mass that was kept. `None` where no alternative begins a label.
///
/// A token that begins the words of one label alone stands for it.
pub fn label_shares(
    tokens: &[TokenLogprob],
    start: usize,
    labels: &Labels,
) -> Option<(Vec<f64>, f64)> {
    let mut shares = vec![0.0; labels.len()];
    weigh(
        tokens,
        start,
        &mut |text, ended, weight| match Named::read(text, ended, labels) {
            Named::One(label) => {
                if let Some(share) = shares.get_mut(label) {
                    *share += weight;
                }
                Next::Drop
            }
            Named::Several => Next::Extend,
            Named::None => Next::Drop,
        },
    )?;
    let mass: f64 = shares.iter().sum();
    if mass <= 0.0 {
        return None;
    }
    for share in &mut shares {
        *share /= mass;
    }
    Some((shares, mass.min(1.0)))
}

/// What becomes of a chosen text that the next token may extend.
#[derive(PartialEq, Eq)]
enum Next {
    Extend,
    Drop,
}

/// Shows every alternative for the text from byte `start` on with its probability, and whether it
/// is known that far only. The chosen text is followed as long as the visitor says so. `None` where
/// `start` lies outside.
fn weigh(
    tokens: &[TokenLogprob],
    start: usize,
    visit: &mut dyn FnMut(&str, bool, f64) -> Next,
) -> Option<()> {
    let (first, lead) = place(tokens, start)?;
    let (mut said, mut weight) = (String::new(), 1.0);
    let followed = tokens.get(first..)?;
    for (index, token) in followed.iter().enumerate() {
        let lead = if index == 0 { lead } else { "" };
        let last = index + 1 == followed.len();
        let mut chosen = Next::Drop;
        let mut chosen_probability = 0.0;
        for (alternative, probability) in alternatives(token) {
            let Some(text) = joined(&said, alternative, lead) else {
                continue;
            };
            let is_chosen = alternative == token.token;
            let next = visit(&text, last || !is_chosen, weight * probability);
            if is_chosen {
                (chosen, chosen_probability) = (next, probability);
            }
        }
        if chosen == Next::Drop {
            break;
        }
        said = joined(&said, &token.token, lead)?;
        weight *= chosen_probability;
    }
    Some(())
}

/// The token that holds byte `start` of the joined text, and its text before that byte.
fn place(tokens: &[TokenLogprob], start: usize) -> Option<(usize, &str)> {
    let mut before = 0;
    for (index, token) in tokens.iter().enumerate() {
        if start < before + token.token.len() {
            return Some((index, token.token.get(..start - before)?));
        }
        before += token.token.len();
    }
    None
}

/// The alternatives at a token with their probabilities, the token itself among them.
fn alternatives(token: &TokenLogprob) -> impl Iterator<Item = (&str, f64)> {
    let listed = token.top.iter().map(|other| (&*other.token, other.logprob));
    let is_listed = token.top.iter().any(|other| other.token == token.token);
    let itself = (!is_listed).then_some((&*token.token, token.logprob));
    listed.chain(itself).map(|(text, logprob)| {
        // `min` turns NaN into certainty, so that is caught before.
        let probability = if logprob.is_nan() {
            0.0
        } else {
            logprob.min(0.0).exp()
        };
        (text, probability)
    })
}

/// The text so far with an alternative behind it. What stands before the value in its first token
/// (`lead`) must stand in the alternative too, unless it is space or a quote.
fn joined(said: &str, alternative: &str, lead: &str) -> Option<String> {
    let around = |c: char| c.is_whitespace() || c == '"' || c == '\'';
    let text = match alternative.strip_prefix(lead) {
        Some(text) => text,
        None if lead.chars().all(around) => alternative,
        None => return None,
    };
    let text = if said.is_empty() {
        text.trim_start_matches(around)
    } else {
        text
    };
    Some(format!("{said}{text}"))
}

/// The number that a text begins with.
struct Number {
    value: Option<f64>,
    /// Something stands behind it.
    ended: bool,
}

impl Number {
    /// `None` where the text begins with something else.
    fn read(text: &str) -> Option<Self> {
        const LONGEST: usize = 24;
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let rest = unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let body = text.get(..text.len() - rest.len())?;
        let touched = rest.starts_with(char::is_alphanumeric);
        if body.len() > LONGEST || touched || body.is_empty() && !rest.is_empty() {
            return None;
        }
        Some(Self {
            value: body.parse().ok(),
            ended: !rest.is_empty(),
        })
    }
}

/// The labels whose words a text begins.
enum Named {
    None,
    One(usize),
    Several,
}

impl Named {
    fn read(text: &str, ended: bool, labels: &Labels) -> Self {
        let end = text.find(['"', '\'', ',', '.', '}', '\n', '\r']);
        let body = plain(text.get(..end.unwrap_or(text.len())).unwrap_or_default());
        if body.is_empty() {
            return if ended || end.is_some() {
                Self::None
            } else {
                Self::Several
            };
        }
        if end.is_none() {
            match Self::count(labels, |word| word.starts_with(&body)) {
                Self::Several if ended => {}
                named => return named,
            }
        }
        match Self::count(labels, |word| word == body) {
            Self::Several => Self::None,
            named => named,
        }
    }

    fn count(labels: &Labels, is: impl Fn(&str) -> bool) -> Self {
        let mut named = labels.iter().enumerate().filter(|(_, label)| {
            let mut words = std::iter::once(&label.name).chain(&label.also);
            words.any(|word| is(&plain(word)))
        });
        match (named.next(), named.next()) {
            (None, _) => Self::None,
            (Some((label, _)), None) => Self::One(label),
            _ => Self::Several,
        }
    }
}

/// Lower case, `_` as a space.
fn plain(text: &str) -> String {
    text.trim_end().to_lowercase().replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Label;
    use crate::model::TokenAlternative;

    type Position<'t> = (&'t str, &'t [(&'t str, f64)]);

    fn tokens(positions: &[Position<'_>]) -> Vec<TokenLogprob> {
        let alternative = |&(token, probability): &(&str, f64)| TokenAlternative {
            token: token.to_owned(),
            logprob: probability.ln(),
        };
        positions
            .iter()
            .map(|(token, top)| TokenLogprob {
                token: (*token).to_owned(),
                logprob: top
                    .iter()
                    .find(|(text, _)| text == token)
                    .map_or(0.0, |top| top.1.ln()),
                top: top.iter().map(alternative).collect(),
            })
            .collect()
    }

    #[test]
    fn ratings_are_weighed() {
        let ten = Scale::whole(0, 10);
        let cases: &[(&str, &[Position<'_>], usize, f64, f64)] = &[
            (
                "py-026",
                &[("1", &[("1", 0.9), ("9", 0.1)]), ("0", &[("0", 1.0)])],
                0,
                9.9,
                1.0,
            ),
            ("py-028", &[("8", &[("8", 0.5), ("85", 0.5)])], 0, 8.0, 0.5),
            (
                "a number may end",
                &[("1", &[("1", 1.0)]), ("0", &[("0", 0.75), ("}", 0.25)])],
                0,
                7.75,
                1.0,
            ),
            (
                "spaces and quotes",
                &[
                    ("{", &[]),
                    (" \"8", &[(" \"8", 0.5), ("6", 0.25), (" 4", 0.25)]),
                ],
                3,
                6.5,
                1.0,
            ),
            (
                "words around",
                &[(
                    "Score: 8",
                    &[("Score: 8", 0.5), ("Score: 6", 0.25), ("6", 0.25)],
                )],
                7,
                22.0 / 3.0,
                0.75,
            ),
            ("not listed", &[("8", &[("6", 0.2)])], 0, 9.2 / 1.2, 1.0),
            (
                "space first",
                &[(" ", &[(" ", 1.0)]), ("8", &[("8", 0.5), ("7", 0.5)])],
                0,
                7.5,
                1.0,
            ),
            (
                "no fractions",
                &[
                    ("8", &[("8", 1.0)]),
                    (".", &[(".", 0.5), ("}", 0.5)]),
                    ("5", &[("5", 1.0)]),
                ],
                0,
                8.0,
                0.5,
            ),
            (
                "letters",
                &[("8", &[("8", 0.5), ("8th", 0.25), ("eight", 0.25)])],
                0,
                8.0,
                0.5,
            ),
        ];
        for (name, positions, start, mean, mass) in cases {
            let expected = expected_rating(&tokens(positions), *start, &ten).expect(name);
            assert!((expected.mean - mean).abs() < 1e-9, "{name}: {expected:?}");
            assert!((expected.mass - mass).abs() < 1e-9, "{name}: {expected:?}");
        }
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        let scale = Scale::whole(1, 5);
        for (positions, start) in [
            (&[("8", &[("8", 1.0)][..])][..], 0),
            (&[("five", &[("five", 1.0)])], 0),
            (&[("5", &[("5", 1.0)])], 1),
            (&[("é", &[("é", 1.0)])], 1),
            (&[], 0),
            (&[("5", &[("5", 0.0)])], 0),
            (&[("5", &[("5", f64::NAN)])], 0),
        ] {
            assert_eq!(
                expected_rating(&tokens(positions), start, &scale),
                None,
                "{positions:?}"
            );
        }
    }

    #[test]
    fn labels_are_weighed() {
        let three = Labels::new(vec![
            Label::new("supported", &[]),
            Label::new("contradicted", &[]),
            Label::new("not_found", &["not supported"]),
            Label::new("not_asked", &[]),
        ]);
        let (yes_no, correct) = (Labels::yes_no(), Labels::correct());
        let cases: &[(&Labels, &[Position<'_>], &[f64], f64)] = &[
            (
                &yes_no,
                &[("Y", &[("Y", 0.5), ("N", 0.25), (" no", 0.25)])],
                &[0.5, 0.5],
                1.0,
            ),
            (
                &yes_no,
                &[("Y", &[("Y", 0.6), ("N\"", 0.2), ("Maybe", 0.2)])],
                &[0.75, 0.25],
                0.8,
            ),
            (
                &correct,
                &[("IN", &[("IN", 0.75), ("C", 0.25)]), ("CORRECT", &[])],
                &[0.25, 0.75],
                1.0,
            ),
            // `not` begins two labels: what follows tells which, and what might have followed.
            (
                &three,
                &[
                    ("not", &[("not", 0.8), ("supp", 0.2)]),
                    ("_found", &[("_found", 0.75), (" asked", 0.25)]),
                ],
                &[0.2, 0.0, 0.6, 0.2],
                1.0,
            ),
            // Not chosen, `not` stands for no label.
            (
                &three,
                &[("supported", &[("supported", 0.5), ("not", 0.5)])],
                &[1.0, 0.0, 0.0, 0.0],
                0.5,
            ),
        ];
        for (labels, positions, shares, mass) in cases {
            let (found, kept) = label_shares(&tokens(positions), 0, labels).expect("shares");
            let near = found.iter().zip(*shares).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(
                near && (kept - mass).abs() < 1e-9,
                "{positions:?}: {found:?}, {kept}"
            );
        }
        assert_eq!(
            label_shares(&tokens(&[("Maybe", &[("Maybe", 1.0)])]), 0, &yes_no),
            None
        );
    }
}
