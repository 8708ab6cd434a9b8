//! The word list: which words and phrases belong to which classes, and how they are found when disguised.

use std::sync::LazyLock;

use hashbrown::HashMap;

use super::fold::is_emoji;

/// A set of classes of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Classes(u32);

macro_rules! classes {
    ($($constant:ident $place:literal $name:literal,)*) => {
        impl Classes {
            $(pub(super) const $constant: Self = Self(1 << $place);)*

            /// Each class with its name in the file; the place in this list is its bit.
            const ALL: &'static [(&'static str, Self)] = &[$(($name, Self::$constant)),*];
        }
    };
}

classes! {
    SLUR 0 "slur",
    SLUR_AMBIGUOUS 1 "slur_ambiguous",
    INSULT 2 "insult_strong",
    INSULT_MILD 3 "insult_mild",
    PROFANITY 4 "profanity",
    GO_AWAY 5 "go_away",
    SEXUAL 6 "sexual_hard",
    SEXUAL_SOFT 7 "sexual_soft",
    VIOLENCE 8 "violence",
    GORE 9 "gore",
    DEHUMANISING 10 "dehumanising",
    NEGATIVE 11 "negative",
    HATE 12 "hate",
    EXCLUDE 13 "exclude",
    GROUP 14 "group",
    GROUP_RECLAIMED 15 "group_reclaimed",
    YOU 16 "you",
    THEY 17 "they",
    THIRD 18 "third",
    FIRST 19 "first",
    NEGATION 20 "negation",
    REPORT 21 "report",
    COUNTER 22 "counter",
    POSITIVE 23 "positive",
    GENERIC 24 "generic",
    MODAL 25 "modal",
    COPULA 26 "copula",
    SELF_HARM 27 "self_harm",
    POLITE 28 "polite",
    ENGLISH 29 "english",
    FOREIGN 30 "foreign",
}

impl Classes {
    pub(super) const NONE: Self = Self(0);

    /// How many there are.
    pub(super) const COUNT: usize = Self::ALL.len();

    /// What a masked word (`f**k`) may stand for.
    const MASKED: Self = Self::SLUR
        .and(Self::INSULT)
        .and(Self::PROFANITY)
        .and(Self::SEXUAL);

    /// Words that are found with a letter missing or two swapped.
    const NEAR: Self = Self::MASKED
        .and(Self::INSULT_MILD)
        .and(Self::HATE)
        .and(Self::DEHUMANISING)
        .and(Self::NEGATIVE)
        .and(Self::VIOLENCE)
        .and(Self::GROUP);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// The places of the classes in the list of all.
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        (0..Self::COUNT).filter(move |place| self.0 >> place & 1 == 1)
    }

    fn named(name: &str) -> Option<Self> {
        let (_, class) = Self::ALL.iter().find(|(known, _)| *known == name)?;
        Some(*class)
    }
}

/// The list that ships.
pub(super) static LEXICON: LazyLock<Lexicon> =
    LazyLock::new(|| Lexicon::read(include_str!("../data/toxicity.words")));

#[derive(Debug, Default)]
pub(super) struct Lexicon {
    words: HashMap<Box<str>, Classes>,
    /// By their first word, the longest first.
    phrases: HashMap<Box<str>, Vec<Phrase>>,
    /// Words with a letter missing or two swapped, each with what it should be.
    near: HashMap<Box<str>, Box<str>>,
    /// By length and first letter, those first that are masked most.
    shapes: HashMap<(usize, char), Vec<Box<str>>>,
}

#[derive(Debug)]
pub(super) struct Phrase {
    /// The words behind the first.
    pub(super) rest: Vec<Box<str>>,
    pub(super) classes: Classes,
}

/// Shortest word that is looked for with a letter missing.
const NEAR_LEAST: usize = 6;

impl Lexicon {
    pub(super) fn classes(&self, word: &str) -> Option<Classes> {
        self.words.get(word).copied()
    }

    /// The word of the list that `word` is misspelt for, by one letter left out or two swapped, never the first.
    pub(super) fn near(&self, word: &str) -> Option<(&str, Classes)> {
        let meant = self.near.get(word)?;
        Some((meant, self.classes(meant)?))
    }

    pub(super) fn phrases(&self, first: &str) -> &[Phrase] {
        self.phrases.get(first).map_or(&[], Vec::as_slice)
    }

    /// The first word of so many letters with that first letter for which `fits` holds, obscene ones first;
    /// with `obscene` no others.
    pub(super) fn shaped(
        &self,
        letters: usize,
        first: char,
        obscene: bool,
        fits: impl Fn(&str) -> bool,
    ) -> Option<(&str, Classes)> {
        let words = self.shapes.get(&(letters, first))?;
        words
            .iter()
            .filter_map(|word| Some((&**word, self.classes(word)?)))
            .filter(|(_, classes)| !obscene || classes.has(Classes::MASKED))
            .find(|(word, _)| fits(word))
    }

    /// Lines of an unknown class are left out; a test sees to it that there are none.
    fn read(text: &str) -> Self {
        let mut lexicon = Self::default();
        for (class, entries) in lines(text) {
            let Some(class) = Classes::named(class) else {
                continue;
            };
            for entry in entries.split_whitespace() {
                match entry.strip_suffix('~') {
                    Some(word) => {
                        with_endings(word).for_each(|word| lexicon.add(&word, class));
                    }
                    None => lexicon.add(entry, class),
                }
            }
        }
        for phrases in lexicon.phrases.values_mut() {
            phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.rest.len()));
        }
        lexicon.near = lexicon.misspellings();
        lexicon.shapes = lexicon.by_shape();
        lexicon
    }

    fn add(&mut self, entry: &str, class: Classes) {
        let emoji: Vec<Box<str>> = entry
            .chars()
            .filter(|c| is_emoji(*c))
            .map(|c| c.to_string().into())
            .collect();
        let mut words = if emoji.is_empty() {
            entry.split(['_', '-']).map(Box::from).collect()
        } else {
            emoji
        };
        if let [word] = words.as_mut_slice() {
            let classes = self.words.entry(std::mem::take(word)).or_default();
            *classes = classes.and(class);
            return;
        }
        let rest = words.split_off(1);
        let phrases = words.pop().map(|first| self.phrases.entry(first));
        let Some(phrases) = phrases.map(hashbrown::hash_map::Entry::or_default) else {
            return;
        };
        match phrases.iter_mut().find(|phrase| phrase.rest == rest) {
            Some(phrase) => phrase.classes = phrase.classes.and(class),
            None => phrases.push(Phrase {
                rest,
                classes: class,
            }),
        }
    }

    fn misspellings(&self) -> HashMap<Box<str>, Box<str>> {
        let meant = |word: &str, classes: Classes| {
            word.len() >= NEAR_LEAST
                && word.is_ascii()
                && classes.has(Classes::NEAR)
                && !word.ends_with("er")
                && !word.ends_with("ers")
        };
        let mut near = HashMap::new();
        for word in self.sorted(meant) {
            for wrong in misspelt(&word) {
                if !self.words.contains_key(&*wrong) {
                    near.entry(wrong).or_insert_with(|| word.clone());
                }
            }
        }
        near
    }

    fn by_shape(&self) -> HashMap<(usize, char), Vec<Box<str>>> {
        let mut words = self.sorted(|word, _| word.len() >= 3 && word.is_ascii());
        let rank = |word: &str| {
            let classes = self.classes(word).unwrap_or_default();
            let masked = [
                Classes::INSULT,
                Classes::PROFANITY,
                Classes::SLUR,
                Classes::SEXUAL,
            ];
            masked
                .iter()
                .take_while(|class| !classes.has(**class))
                .count()
        };
        words.sort_by_key(|word| rank(word));
        let mut shapes: HashMap<(usize, char), Vec<Box<str>>> = HashMap::new();
        for word in words {
            if let Some(first) = word.chars().next() {
                shapes.entry((word.len(), first)).or_default().push(word);
            }
        }
        shapes
    }

    fn sorted(&self, wanted: impl Fn(&str, Classes) -> bool) -> Vec<Box<str>> {
        let mut words: Vec<Box<str>> = self
            .words
            .iter()
            .filter(|(word, classes)| wanted(word, **classes))
            .map(|(word, _)| word.clone())
            .collect();
        words.sort();
        words
    }
}

/// The classes of a file with their entries.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
}

/// The word, its plural and what the verb endings make of it.
fn with_endings(word: &str) -> impl Iterator<Item = String> {
    let sibilant = ["s", "x", "z", "ch", "sh"]
        .iter()
        .any(|end| word.ends_with(end));
    let stem_of_y = word
        .strip_suffix('y')
        .filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    let (stem, endings): (&str, &[&str]) = match (stem_of_y, word.strip_suffix('e')) {
        (Some(stem), _) => (stem, &["ies", "ied", "ying"]),
        (None, Some(stem)) => (stem, &["es", "ed", "ing", "er", "ers"]),
        (None, None) if sibilant => (word, &["es", "ed", "ing", "er", "ers"]),
        (None, None) => (word, &["s", "ed", "ing", "er", "ers"]),
    };
    let inflected = endings.iter().map(move |ending| format!("{stem}{ending}"));
    std::iter::once(word.to_owned()).chain(inflected)
}

/// All that comes of an ASCII word by leaving out a letter or swapping two neighbours, the first letter kept.
fn misspelt(word: &str) -> impl Iterator<Item = Box<str>> {
    let letters: Vec<char> = word.chars().collect();
    (1..letters.len()).flat_map(move |place| {
        let mut without = letters.clone();
        without.remove(place);
        let mut swapped = letters.clone();
        if place + 1 < swapped.len() {
            swapped.swap(place, place + 1);
        }
        [without, swapped].map(|letters| letters.into_iter().collect::<String>().into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_known_class_and_every_class_a_line() {
        let text = include_str!("../data/toxicity.words");
        let entries = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        assert_eq!(entries.count(), lines(text).count());
        for (class, _) in lines(text) {
            assert!(Classes::named(class).is_some(), "{class}");
        }
        for (name, _) in Classes::ALL {
            assert!(lines(text).any(|(class, _)| class == *name), "{name}");
        }
    }

    #[test]
    fn endings_follow_the_spelling() {
        for (word, expected) in [
            ("hate", "hate hates hated hating hater haters"),
            ("bully", "bully bullies bullied bullying"),
            ("bitch", "bitch bitches bitched bitching bitcher bitchers"),
            ("boy", "boy boys boyed boying boyer boyers"),
        ] {
            assert_eq!(with_endings(word).collect::<Vec<_>>().join(" "), expected);
        }
    }

    #[test]
    fn a_letter_missing_or_two_swapped_are_near() {
        for (word, expected) in [
            ("disgsting", Some("disgusting")),
            ("disgutsing", Some("disgusting")),
            ("muslm", Some("muslim")),
            ("isgusting", None),
            ("disgusting", None),
            ("treats", None),
        ] {
            let near = LEXICON.near(word).map(|(meant, _)| meant);
            assert_eq!(near, expected, "{word}");
        }
    }
}
