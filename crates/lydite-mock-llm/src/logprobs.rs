//! Log-probabilities of the tokens of a made reply.

/// A token, its log-probability, and the token that could have stood in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token<'t> {
    pub(crate) text: &'t str,
    pub(crate) logprob: f64,
    pub(crate) other: Option<(&'t str, f64)>,
}

/// The log-probability that stands for 0, as OpenAI writes it.
const NEVER: f64 = -9999.0;

/// The tokens of `text`. Where it differs from `opposite`, the first token of each difference has the probability
/// `certainty`, and that of the opposite text the rest; all other tokens are certain.
pub(crate) fn tokens<'t>(text: &'t str, opposite: &'t str, certainty: f64) -> Vec<Token<'t>> {
    let mut others = split(opposite).into_iter().peekable();
    let mut differs = false;
    let mut tokens = Vec::new();
    for text in split(text) {
        let mut other = None;
        if differs && is_border(text) {
            while others.next_if(|other| !is_border(other)).is_some() {}
            differs = false;
        }
        if !differs && others.next_if_eq(&text).is_none() {
            other = others.peek().copied();
            differs = true;
        }
        tokens.push(match other {
            Some(other) => Token {
                text,
                logprob: log(certainty),
                other: Some((other, log(1.0 - certainty))),
            },
            None => Token {
                text,
                logprob: 0.0,
                other: None,
            },
        });
    }
    tokens
}

fn log(probability: f64) -> f64 {
    probability.ln().max(NEVER)
}

/// Where two texts that differed are compared again.
fn is_border(token: &str) -> bool {
    matches!(token, "\"" | "," | "}" | "]" | "\n")
}

/// Splits as tokenizers do, roughly: a word with the space before it, up to three digits, else single characters.
/// Together the tokens are the text.
fn split(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(length) = next_length(rest) {
        let Some((token, after)) = rest.split_at_checked(length) else {
            break;
        };
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Bytes of the first token.
fn next_length(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let run = |text: &str, fits: fn(char) -> bool, most: usize| -> usize {
        text.chars()
            .take(most)
            .take_while(|letter| fits(*letter))
            .map(char::len_utf8)
            .sum()
    };
    let is_letter = |letter: char| letter.is_alphabetic() || letter == '_';
    if first.is_ascii_digit() {
        return Some(run(text, |letter| letter.is_ascii_digit(), 3));
    }
    let space = usize::from(first == ' ');
    match run(text.get(space..)?, is_letter, usize::MAX) {
        0 => Some(first.len_utf8()),
        word => Some(space + word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_are_words_digits_and_signs() {
        assert_eq!(
            split("{\"a_b\": 1024, \"x\": \"so so\"}"),
            [
                "{", "\"", "a_b", "\"", ":", " ", "102", "4", ",", " ", "\"", "x", "\"", ":", " ",
                "\"", "so", " so", "\"", "}"
            ]
        );
    }

    #[test]
    fn only_what_differs_is_uncertain() {
        let cases: [(&str, &str, &[(&str, &str)]); 4] = [
            (
                r#"{"r":"x","v":"pass"}"#,
                r#"{"r":"x","v":"fail"}"#,
                &[("pass", "fail")],
            ),
            (
                r#"{"v":"not_found or so","n":5}"#,
                r#"{"v":"supported","n":1}"#,
                &[("not_found", "supported"), ("5", "1")],
            ),
            ("5", "1", &[("5", "1")]),
            ("same", "same", &[]),
        ];
        for (text, opposite, expected) in cases {
            let found: Vec<_> = tokens(text, opposite, 0.9)
                .into_iter()
                .filter_map(|token| Some((token.text, token.other?)))
                .collect();
            assert_eq!(
                found.iter().map(|(a, (b, _))| (*a, *b)).collect::<Vec<_>>(),
                expected,
                "{text}"
            );
            for (_, (_, logprob)) in found {
                assert!((logprob - 0.1_f64.ln()).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn certainty_has_no_infinite_logarithm() {
        let found = tokens("a", "b", 1.0);
        assert_eq!(found[0].other, Some(("b", NEVER)));
    }

    proptest! {
        #[test]
        fn tokens_join_to_the_text(text in ".{0,40}", opposite in ".{0,40}") {
            let joined: String = tokens(&text, &opposite, 0.5).iter().map(|token| token.text).collect();
            prop_assert_eq!(joined, text);
        }
    }
}
