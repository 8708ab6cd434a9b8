//! A reply's words, and the words before a colon that announce a verdict.

/// A word with its first byte in the text. Markup and punctuation around it are no part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) start: usize,
}

impl Word<'_> {
    pub(super) const fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(super) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }
}

/// Runs of letters and digits, joined by single `'`, `-`, `/`, `.` and by `,` between digits:
/// `isn't`, `Y/N`, `3.5` and `well-formed` are one word each.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let start = at + rest.find(char::is_alphanumeric)?;
        let word = text.get(start..)?;
        let word = word.get(..word_length(word))?;
        at = start + word.len();
        Some(Word { text: word, start })
    })
}

fn word_length(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map_or(' ', |&(_, after)| after);
        if !c.is_alphanumeric() && !joins(before, c, after) {
            return at;
        }
        before = c;
    }
    text.len()
}

fn joins(before: char, c: char, after: char) -> bool {
    match c {
        '\'' | '’' | '-' | '/' | '.' => before.is_alphanumeric() && after.is_alphanumeric(),
        ',' => before.is_ascii_digit() && after.is_ascii_digit(),
        _ => false,
    }
}

/// Characters that stand around words for looks.
pub(super) fn is_markup(c: char) -> bool {
    matches!(
        c,
        '*' | '_'
            | '`'
            | '#'
            | '~'
            | '"'
            | '\''
            | '“'
            | '”'
            | '‘'
            | '’'
            | '«'
            | '»'
            | '('
            | ')'
            | '['
            | ']'
    )
}

/// What a mark such as `Score:` announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announces {
    Verdict,
    Score,
    /// `Grade:` stands before both.
    Either,
}

impl Announces {
    pub(super) fn verdict(self) -> bool {
        self != Self::Score
    }

    pub(super) fn score(self) -> bool {
        self != Self::Verdict
    }
}

/// A word with a colon or `=` that announces the verdict behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) announces: Announces,
    /// The byte behind the colon, and the first word that begins there or later.
    pub(super) value: usize,
    pub(super) next: usize,
}

/// The marks of a text in their order: `GRADE:`, `**Score** (1-5):`, `Final answer =`, in any case.
///
/// A word in double quotes is a key of broken JSON and no mark; `Answer:` alone is none either,
/// since that is how prompts name the text under judgement.
pub(super) fn marks(text: &str, words: &[Word<'_>]) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut before: Option<&Word<'_>> = None;
    for (index, word) in words.iter().enumerate() {
        if let Some(announces) = announced(word, before)
            && let Some(value) = behind_colon(text, word)
        {
            let later = words.get(index..).unwrap_or_default();
            let next = index + later.iter().take_while(|word| word.start < value).count();
            marks.push(Mark {
                announces,
                value,
                next,
            });
        }
        before = Some(word);
    }
    marks
}

fn announced(word: &Word<'_>, before: Option<&Word<'_>>) -> Option<Announces> {
    let is_one_of = |known: &[&str]| known.iter().any(|known| word.is(known));
    if is_one_of(&["score", "rating"]) {
        Some(Announces::Score)
    } else if word.is("grade") {
        Some(Announces::Either)
    } else if is_one_of(&["verdict", "judgment", "judgement", "result", "decision"])
        || word.is("answer") && before.is_some_and(|before| before.is("final"))
    {
        Some(Announces::Verdict)
    } else {
        None
    }
}

/// The byte behind the colon or `=` that follows a word, markup and one `(…)` between them allowed.
fn behind_colon(text: &str, word: &Word<'_>) -> Option<usize> {
    const LONGEST_NOTE: usize = 40;
    let rest = text.get(word.end()..)?;
    if rest.starts_with('"') && text.get(..word.start)?.ends_with('"') {
        return None;
    }
    let filler = |c| matches!(c, ' ' | '*' | '_' | '`' | '"' | '”' | ']');
    let mut rest = rest.trim_start_matches(filler);
    if let Some(note) = rest.strip_prefix('(') {
        let (close, _) = note
            .char_indices()
            .take(LONGEST_NOTE)
            .find(|&(_, c)| c == ')')?;
        rest = note.get(close + 1..)?.trim_start_matches(filler);
    }
    let value = rest.strip_prefix([':', '：', '='])?;
    Some(text.len() - value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole() {
        let of = |text| words(text).map(|word| word.text).collect::<Vec<_>>();
        assert_eq!(of("**Y**, _it_ isn't 3.5."), ["Y", "it", "isn't", "3.5"]);
        assert_eq!(
            of("Y/N a.b 1,2 a,b not_found"),
            ["Y/N", "a.b", "1,2", "a", "b", "not", "found"]
        );
        assert_eq!(of("ça va… Да。否"), ["ça", "va", "Да", "否"]);
        assert_eq!(of("-- ..."), [""; 0]);
    }

    #[test]
    fn marks_stand_before_colons() {
        for (text, values) in [
            ("GRADE: Y", vec![" Y"]),
            ("**Score:** 4", vec!["** 4"]),
            ("**Score** (1-5): 4", vec![" 4"]),
            ("`Rating` = 4", vec![" 4"]),
            ("Final answer：Y", vec!["Y"]),
            (
                "Answer: Y; score 4; \"score\": 4; scores: 5; underscore: 3",
                vec![],
            ),
            ("Judgment: a Score: of 2", vec![" a Score: of 2", " of 2"]),
            (
                "Score (a note that is far longer than any note would be): 4",
                vec![],
            ),
        ] {
            let words: Vec<_> = words(text).collect();
            let found: Vec<_> = marks(text, &words)
                .iter()
                .map(|mark| &text[mark.value..])
                .collect();
            assert_eq!(found, values, "{text}");
        }
    }
}
