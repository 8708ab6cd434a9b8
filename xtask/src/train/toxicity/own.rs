//! Sentences of our own, drawn from templates.

/// Sentences drawn of each template.
const DRAWN: usize = 25;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) label: &'static str,
    /// Which template it is of.
    pub(super) template: usize,
    pub(super) text: String,
}

/// A draw from `own.templates`; equal seeds give equal sentences.
pub(super) fn sentences(seed: u64) -> Vec<Sentence> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut sentences: Vec<Sentence> = Vec::new();
    let (slots, templates) = parse(include_str!("own.templates"));
    for (number, (label, template)) in templates.into_iter().enumerate() {
        for _ in 0..DRAWN {
            let text = in_some_case(filled(template, &slots, &mut random), &mut random);
            let sentence = Sentence {
                label,
                template: number,
                text,
            };
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
    }
    sentences
}

type Slots = Vec<(&'static str, Vec<&'static str>)>;

/// The slots, and the templates with their labels.
fn parse(text: &'static str) -> (Slots, Vec<(&'static str, &'static str)>) {
    let mut slots = Vec::new();
    let mut templates = Vec::new();
    let mut label = None;
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let heading = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'));
        match (heading, label, line.split_once(" = ")) {
            (Some(heading), ..) => label = Some(heading),
            (None, Some(label), _) => templates.push((label, line)),
            (None, None, Some((slot, words))) => {
                slots.push((slot, words.split('|').map(str::trim).collect()));
            }
            (None, None, None) => {}
        }
    }
    (slots, templates)
}

/// Fills slots, then takes one alternative of each pair of brackets, the innermost first.
fn filled(template: &str, slots: &Slots, random: &mut fastrand::Rng) -> String {
    let mut text = template.to_owned();
    while let Some((before, slot, after)) = cut(&text, '{', '}') {
        let words = slots.iter().find(|(name, _)| *name == slot);
        let word = words
            .and_then(|(_, words)| random.choice(words))
            .map_or("", |word| *word);
        text = format!("{before}{word}{after}");
    }
    while let Some((before, alternatives, after)) = cut(&text, '(', ')') {
        let alternatives: Vec<&str> = alternatives.split('|').collect();
        let one = random.choice(alternatives).unwrap_or_default();
        text = format!("{before}{one}{after}");
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands before, in and behind the first brackets without others in them.
fn cut(text: &str, open: char, close: char) -> Option<(&str, &str, &str)> {
    let (before, after) = text.split_once(close)?;
    let (before, within) = before.rsplit_once(open)?;
    Some((before, within, after))
}

/// One of seven in small letters, one of twenty in capitals.
fn in_some_case(text: String, random: &mut fastrand::Rng) -> String {
    match random.f64() {
        x if x < 0.15 => text.to_lowercase(),
        x if x < 0.2 => text.to_uppercase(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_templates_are_filled_and_the_seed_decides() {
        let drawn = sentences(1);
        assert_eq!(drawn, sentences(1));
        assert_ne!(drawn, sentences(2));
        for Sentence { text, .. } in &drawn {
            assert!(!text.contains(['{', '}', '(', ')', '|']), "{text}");
        }
        for label in ["hate", "abuse", "sexual", "selfharm", "benign"] {
            assert!(drawn.iter().any(|sentence| sentence.label == label));
        }
    }
}
