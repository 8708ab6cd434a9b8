//! Moderation by a small list of words: enough to test what is done with its results.

/// OpenAI's categories, and the words that stand for them here. `[[bad` stands for `harassment`.
pub(crate) const CATEGORIES: [(&str, &[&str]); 13] = [
    ("harassment", &["idiot", "moron", "loser"]),
    ("harassment/threatening", &["threaten"]),
    ("hate", &["subhuman", "vermin"]),
    ("hate/threatening", &[]),
    ("illicit", &["counterfeit", "shoplift"]),
    ("illicit/violent", &["bomb"]),
    ("self-harm", &["suicide"]),
    ("self-harm/instructions", &[]),
    ("self-harm/intent", &[]),
    ("sexual", &["porn"]),
    ("sexual/minors", &[]),
    ("violence", &["kill", "murder", "stab"]),
    ("violence/graphic", &["gore"]),
];

/// A category with this score, or a higher one, is flagged.
pub(crate) const FLAGGED: f64 = 0.5;

/// The score of each category, in their order: 0.95 where one of its words is a word of the text (in any case), else
/// 0.001.
pub(crate) fn scores(text: &str) -> [f64; 13] {
    let text = text.to_lowercase();
    let is_bad = text.contains("[[bad");
    let words: Vec<&str> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .collect();
    CATEGORIES.map(|(name, listed)| {
        let is_met = words.iter().any(|word| listed.contains(word));
        if is_met || (is_bad && name == "harassment") {
            0.95
        } else {
            0.001
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_flag_their_category() {
        let cases: [(&str, &[&str]); 5] = [
            ("A fine day.", &[]),
            (
                "You IDIOT, I'll kill the process",
                &["harassment", "violence"],
            ),
            ("[[bad:3]]", &["harassment"]),
            ("a bomb", &["illicit/violent"]),
            ("skills", &[]),
        ];
        for (text, expected) in cases {
            let flagged: Vec<_> = CATEGORIES
                .iter()
                .zip(scores(text))
                .filter(|(_, score)| *score >= FLAGGED)
                .map(|((name, _), _)| *name)
                .collect();
            assert_eq!(flagged, expected, "{text}");
        }
    }
}
