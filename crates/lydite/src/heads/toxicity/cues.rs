//! What the words of a window say of each other, as numbers, and its shape.

use super::fold::{Token, is_emoji};
use super::lexicon::Classes;

macro_rules! cues {
    (classes $($class:literal)* relations $($cue:ident $name:literal,)*) => {
        /// A number that is told of a window, besides those of classes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Cue { $($cue,)* }

        /// The names of all cues, in the order of [`cues`].
        pub(super) const NAMES: &[&str] = &[$($class,)* $($name,)*];
    };
}

// First, how many words each class has, in the order of the classes: ln(1 + n), but for the two of languages,
// which are shares. Then counts of at most 3 where nothing else is said. *Veiled* is what is negated or quoted.
cues! {
    classes
    "slur"
    "slur_ambiguous"
    "insult"
    "insult_mild"
    "profanity"
    "go_away"
    "sexual"
    "sexual_soft"
    "violence"
    "gore"
    "dehumanising"
    "negative"
    "hate"
    "exclude"
    "group"
    "group_reclaimed"
    "you"
    "they"
    "third"
    "first"
    "negation"
    "report"
    "counter"
    "positive"
    "generic"
    "modal"
    "copula"
    "self_harm"
    "polite"
    "english"
    "foreign"

    relations
    // A group and, in the same sentence, a word of a class: open, then veiled.
    GroupHate "group_hate",
    GroupDehumanising "group_dehumanising",
    GroupNegative "group_negative",
    GroupViolence "group_violence",
    GroupExclude "group_exclude",
    GroupInsult "group_insult",
    GroupProfanity "group_profanity",
    GroupSlur "group_slur",
    GroupMild "group_mild",
    GroupHateVeiled "group_hate_veiled",
    GroupDehumanisingVeiled "group_dehumanising_veiled",
    GroupNegativeVeiled "group_negative_veiled",
    GroupViolenceVeiled "group_violence_veiled",
    GroupExcludeVeiled "group_exclude_veiled",
    GroupInsultVeiled "group_insult_veiled",
    GroupProfanityVeiled "group_profanity_veiled",
    GroupSlurVeiled "group_slur_veiled",
    GroupMildVeiled "group_mild_veiled",
    GroupPositive "group_positive",
    GroupPositiveNegated "group_positive_negated",
    // "X are …", "hate X", "kill X", "X should be killed".
    GroupIsDehumanised "group_is_dehumanised",
    GroupIsNegative "group_is_negative",
    HateOfGroup "hate_of_group",
    ViolenceToGroup "violence_to_group",
    ViolenceWished "violence_wished",
    // "They" are a group of an earlier sentence.
    TheyHate "they_hate",
    TheyNegative "they_negative",
    TheyViolence "they_violence",
    YouInsult "you_insult",
    YouMild "you_mild",
    YouProfanity "you_profanity",
    YouViolence "you_violence",
    YouGroup "you_group",
    GroupYou "group_you",
    ThirdInsult "third_insult",
    ThirdMild "third_mild",
    // Words against somebody, and what stands around them.
    Bad "bad",
    BadQuoted "bad_quoted",
    BadReported "bad_reported",
    BadCountered "bad_countered",
    BadHidden "bad_hidden",
    SlurPlain "slur_plain",
    GroupCountered "group_countered",
    GroupAll "group_all",
    GroupFirst "group_first",
    GroupBare "group_bare",
    ProfanityAlone "profanity_alone",
    CounterQuote "counter_quote",
    Quote "quote",
    EmojiPositiveEnd "emoji_positive_end",
    // Shares and lengths.
    Capitals "capitals",
    Exclamations "exclamations",
    Questions "questions",
    Words "words",
}

/// Greatest value of a count.
const MOST: f64 = 3.0;

/// The cues of a window, as [`NAMES`] has them.
pub(super) fn cues(tokens: &[Token]) -> Vec<f64> {
    let window = Window::new(tokens);
    let mut cues = Cues(vec![0.0; NAMES.len()]);
    cues.count_classes(tokens);
    for place in 0..tokens.len() {
        cues.of_group(&window, place);
        cues.of_predicate(&window, place);
        cues.of_person(&window, place);
        cues.of_bad_word(&window, place);
    }
    cues.of_window(&window);
    cues.0
}

/// The window as a text of one symbol a token: the class that matters most, a common word itself, or `other`.
pub(super) fn shape(tokens: &[Token]) -> String {
    let mut shape = "begin".to_owned();
    for token in tokens {
        shape.push(' ');
        shape.push_str(symbol(token));
    }
    shape.push_str(" end");
    shape
}

/// The words of the window as the list writes them.
pub(super) fn words(tokens: &[Token]) -> String {
    let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    words.join(" ")
}

const SYMBOLS: [(Classes, &str); 25] = [
    (Classes::SLUR, "SLUR"),
    (Classes::GROUP, "GROUP"),
    (Classes::HATE, "HATE"),
    (Classes::DEHUMANISING, "DEHUMANISING"),
    (Classes::INSULT, "INSULT"),
    (Classes::GO_AWAY, "AWAY"),
    (Classes::SELF_HARM, "SELFHARM"),
    (Classes::SEXUAL, "SEXUAL"),
    (Classes::VIOLENCE, "VIOLENCE"),
    (Classes::PROFANITY, "PROFANITY"),
    (Classes::EXCLUDE, "EXCLUDE"),
    (Classes::NEGATIVE, "NEGATIVE"),
    (Classes::INSULT_MILD, "MILD"),
    (Classes::SEXUAL_SOFT, "SOFT"),
    (Classes::COUNTER, "COUNTER"),
    (Classes::REPORT, "REPORT"),
    (Classes::NEGATION, "NOT"),
    (Classes::POSITIVE, "POSITIVE"),
    (Classes::YOU, "YOU"),
    (Classes::THEY, "THEY"),
    (Classes::THIRD, "THIRD"),
    (Classes::FIRST, "FIRST"),
    (Classes::MODAL, "MODAL"),
    (Classes::COPULA, "IS"),
    (Classes::GENERIC, "ALL"),
];

fn symbol(token: &Token) -> &str {
    if let Some((_, symbol)) = SYMBOLS.iter().find(|(class, _)| token.is(*class)) {
        return symbol;
    }
    match token.text.as_str() {
        "\"" => "quote",
        "!" => "bang",
        "?" => "ask",
        word if token.is(Classes::ENGLISH) => word,
        _ => "other",
    }
}

/// Words against somebody or something.
const BAD: Classes = Classes::SLUR
    .and(Classes::INSULT)
    .and(Classes::PROFANITY)
    .and(Classes::HATE)
    .and(Classes::DEHUMANISING)
    .and(Classes::VIOLENCE)
    .and(Classes::EXCLUDE)
    .and(Classes::SEXUAL)
    .and(Classes::INSULT_MILD);

/// Tokens, and which of their sentences name a group.
struct Window<'t> {
    tokens: &'t [Token],
    /// A bit a sentence, the last one for all from there on.
    groups: u64,
    they: u64,
    counters: bool,
    quotes: bool,
}

impl<'t> Window<'t> {
    fn new(tokens: &'t [Token]) -> Self {
        let sentences = |class| {
            tokens
                .iter()
                .filter(|token| token.is(class))
                .fold(0, |bits, token| bits | bit(token))
        };
        Self {
            tokens,
            groups: sentences(Classes::GROUP),
            they: sentences(Classes::THEY),
            counters: tokens.iter().any(|token| token.is(Classes::COUNTER)),
            quotes: tokens.iter().any(|token| token.quoted),
        }
    }

    fn at(&self, place: usize) -> Option<&'t Token> {
        self.tokens.get(place)
    }

    fn any(&self, classes: Classes) -> bool {
        self.tokens.iter().any(|token| token.is(classes))
    }

    /// Whether one of the `before` tokens before a place or the `behind` behind it, in the same sentence, is of
    /// the classes.
    fn near(&self, place: usize, before: usize, behind: usize, classes: Classes) -> bool {
        let Some(token) = self.at(place) else {
            return false;
        };
        let range = place.saturating_sub(before)..(place + behind + 1).min(self.tokens.len());
        range
            .filter(|other| *other != place)
            .filter_map(|other| self.at(other))
            .any(|other| other.sentence == token.sentence && other.is(classes))
    }

    fn negated(&self, place: usize) -> bool {
        self.near(place, 4, 0, Classes::NEGATION)
    }

    fn names_group(&self, token: &Token) -> bool {
        self.groups & bit(token) != 0
    }

    /// Whether a token's sentence speaks of "them", and they are a group of an earlier one.
    fn speaks_of_them(&self, token: &Token) -> bool {
        let bit = bit(token);
        self.groups & bit == 0 && self.they & bit != 0 && self.groups & (bit - 1) != 0
    }
}

fn bit(token: &Token) -> u64 {
    1 << token.sentence.min(63)
}

/// The cues that go with a class when a group is in the same sentence: open and veiled.
const WITH_GROUP: [(Classes, Cue, Cue); 9] = [
    (Classes::HATE, Cue::GroupHate, Cue::GroupHateVeiled),
    (
        Classes::DEHUMANISING,
        Cue::GroupDehumanising,
        Cue::GroupDehumanisingVeiled,
    ),
    (
        Classes::NEGATIVE,
        Cue::GroupNegative,
        Cue::GroupNegativeVeiled,
    ),
    (
        Classes::VIOLENCE,
        Cue::GroupViolence,
        Cue::GroupViolenceVeiled,
    ),
    (Classes::EXCLUDE, Cue::GroupExclude, Cue::GroupExcludeVeiled),
    (Classes::INSULT, Cue::GroupInsult, Cue::GroupInsultVeiled),
    (
        Classes::PROFANITY,
        Cue::GroupProfanity,
        Cue::GroupProfanityVeiled,
    ),
    (Classes::SLUR, Cue::GroupSlur, Cue::GroupSlurVeiled),
    (Classes::INSULT_MILD, Cue::GroupMild, Cue::GroupMildVeiled),
];

struct Cues(Vec<f64>);

impl Cues {
    fn count_classes(&mut self, tokens: &[Token]) {
        for token in tokens {
            for place in token.classes.places() {
                if let Some(count) = self.0.get_mut(place) {
                    *count += 1.0;
                }
            }
        }
        let languages = Classes::ENGLISH.and(Classes::FOREIGN);
        for (place, count) in self.0.iter_mut().enumerate().take(Classes::COUNT) {
            *count = if languages.places().any(|language| language == place) {
                *count / tokens.len().max(1) as f64
            } else {
                count.ln_1p()
            };
        }
    }

    fn add(&mut self, cue: Cue, value: f64) {
        if let Some(cue) = self.0.get_mut(Classes::COUNT + cue as usize) {
            *cue = (*cue + value).min(MOST);
        }
    }

    fn when(&mut self, holds: bool, cue: Cue) {
        self.add(cue, f64::from(u8::from(holds)));
    }

    /// A word in a sentence that names a group.
    fn of_group(&mut self, window: &Window<'_>, place: usize) {
        let Some(token) = window.at(place) else {
            return;
        };
        if token.is(Classes::GROUP) {
            let generic = |before| window.at(before).is_some_and(|t| t.is(Classes::GENERIC));
            self.when(window.counters, Cue::GroupCountered);
            self.when(place.checked_sub(1).is_some_and(generic), Cue::GroupAll);
            self.when(place == 0, Cue::GroupFirst);
            self.when(window.near(place, 0, 3, Classes::YOU), Cue::GroupYou);
            return;
        }
        if !window.names_group(token) {
            return;
        }
        let negated = window.negated(place);
        for (class, open, veiled) in WITH_GROUP {
            if token.is(class) {
                self.add(
                    if negated || token.quoted {
                        veiled
                    } else {
                        open
                    },
                    1.0,
                );
            }
        }
        if token.is(Classes::POSITIVE) {
            let cue = if negated {
                Cue::GroupPositiveNegated
            } else {
                Cue::GroupPositive
            };
            self.add(cue, 1.0);
        }
    }

    /// "X are …", "hate X", "kill X", and what is said of "them".
    fn of_predicate(&mut self, window: &Window<'_>, place: usize) {
        let Some(token) = window.at(place) else {
            return;
        };
        if window.negated(place) {
            return;
        }
        let subject = Classes::GROUP.and(Classes::THEY);
        let is = window.near(place, 3, 0, Classes::COPULA);
        let of = |subject| window.near(place, 7, 0, subject);
        if token.is(Classes::DEHUMANISING) {
            self.when(is && of(subject.and(Classes::YOU)), Cue::GroupIsDehumanised);
        }
        if token.is(Classes::NEGATIVE) {
            self.when(is && of(subject), Cue::GroupIsNegative);
        }
        let object = window.near(place, 0, 4, Classes::GROUP);
        let them = window.speaks_of_them(token);
        if token.is(Classes::HATE) {
            self.when(object, Cue::HateOfGroup);
            self.when(them, Cue::TheyHate);
        }
        if token.is(Classes::VIOLENCE) {
            let wished = window.near(place, 4, 0, Classes::MODAL);
            self.when(object, Cue::ViolenceToGroup);
            self.when(
                wished && window.near(place, 8, 5, subject),
                Cue::ViolenceWished,
            );
            self.when(them, Cue::TheyViolence);
        }
        if token.is(Classes::NEGATIVE.and(Classes::DEHUMANISING)) {
            self.when(them, Cue::TheyNegative);
        }
    }

    /// Words next to "you" and "he".
    fn of_person(&mut self, window: &Window<'_>, place: usize) {
        let Some(token) = window.at(place) else {
            return;
        };
        let group_next = window
            .at(place + 1)
            .is_some_and(|next| next.is(Classes::GROUP));
        self.when(token.is(Classes::YOU) && group_next, Cue::YouGroup);
        for (class, before, you, third) in [
            (Classes::INSULT, 4, Cue::YouInsult, Some(Cue::ThirdInsult)),
            (Classes::INSULT_MILD, 4, Cue::YouMild, Some(Cue::ThirdMild)),
            (Classes::PROFANITY, 3, Cue::YouProfanity, None),
            (Classes::VIOLENCE, 4, Cue::YouViolence, None),
        ] {
            if !token.is(class) {
                continue;
            }
            self.when(window.near(place, before, 3, Classes::YOU), you);
            if let Some(third) = third {
                self.when(window.near(place, before, 3, Classes::THIRD), third);
            }
        }
    }

    fn of_bad_word(&mut self, window: &Window<'_>, place: usize) {
        let Some(token) = window.at(place).filter(|token| token.is(BAD)) else {
            return;
        };
        self.add(Cue::Bad, 1.0);
        self.when(token.quoted, Cue::BadQuoted);
        self.when(window.near(place, 7, 0, Classes::REPORT), Cue::BadReported);
        self.when(window.counters, Cue::BadCountered);
        self.when(token.hidden, Cue::BadHidden);
        let plain = token.is(Classes::SLUR) && !token.is(Classes::SLUR_AMBIGUOUS);
        self.when(plain, Cue::SlurPlain);
    }

    fn of_window(&mut self, window: &Window<'_>) {
        let tokens = window.tokens;
        let somebody = Classes::YOU
            .and(Classes::THIRD)
            .and(Classes::THEY)
            .and(Classes::GROUP)
            .and(Classes::INSULT)
            .and(Classes::SLUR);
        self.when(window.counters && window.quotes, Cue::CounterQuote);
        self.when(window.quotes, Cue::Quote);
        self.when(
            window.any(Classes::GROUP) && !window.any(BAD),
            Cue::GroupBare,
        );
        self.when(
            window.any(Classes::PROFANITY) && !window.any(somebody),
            Cue::ProfanityAlone,
        );
        let smiles =
            |token: &Token| token.is(Classes::POSITIVE) && token.text.chars().any(is_emoji);
        self.when(
            tokens.iter().rev().take(2).any(smiles),
            Cue::EmojiPositiveEnd,
        );
        let count = |wanted: &dyn Fn(&Token) -> bool| {
            tokens.iter().filter(|token| wanted(token)).count() as f64
        };
        let length = tokens.len().max(1) as f64;
        self.add(Cue::Capitals, count(&|token| token.capitals) / length);
        self.add(Cue::Exclamations, count(&|token| token.text == "!") / 2.0);
        self.add(Cue::Questions, count(&|token| token.text == "?") / 2.0);
        self.add(Cue::Words, length / 10.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fold::tokens;
    use super::*;

    fn cue(text: &str, name: &str) -> f64 {
        let place = NAMES.iter().position(|known| *known == name).unwrap();
        cues(&tokens(text))[place]
    }

    #[test]
    fn the_first_cues_are_the_classes() {
        assert_eq!(NAMES.get(Classes::COUNT - 1), Some(&"foreign"));
        assert_eq!(cue("idiot idiot", "insult_mild"), 2_f64.ln_1p());
    }

    #[test]
    fn names_are_told_once() {
        let mut names = NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NAMES.len());
    }

    #[test]
    fn relations_are_seen() {
        for (text, name) in [
            ("I hate women.", "hate_of_group"),
            ("I don't hate women.", "group_hate_veiled"),
            ("\"I hate women\" is a bigoted thing to say.", "bad_quoted"),
            (
                "\"I hate women\" is a bigoted thing to say.",
                "counter_quote",
            ),
            ("Muslims are vermin.", "group_is_dehumanised"),
            ("Gays are disgusting.", "group_is_negative"),
            ("Immigrants should be shot.", "violence_wished"),
            ("Kill all Jews", "violence_to_group"),
            ("Women think they matter. I hate them.", "they_hate"),
            ("You are an asshole", "you_insult"),
            ("He is such a dickhead", "third_insult"),
            ("No woman is smart", "group_positive_negated"),
            ("Holy shit", "profanity_alone"),
            ("Kill all women 😊", "emoji_positive_end"),
            ("ALL CAPS", "capitals"),
        ] {
            assert!(cue(text, name) > 0.0, "{name} in {text}");
        }
        for (text, name) in [
            ("I don't hate women.", "group_hate"),
            ("I hate rain. Women like it.", "group_hate"),
            ("I like women.", "bad"),
            ("You know him. What an asshole!", "you_insult"),
        ] {
            assert_eq!(cue(text, name), 0.0, "{name} in {text}");
        }
    }

    #[test]
    fn shapes_have_one_symbol_a_token() {
        let tokens = tokens("\"I hate women\" is bigoted, kumquat!");
        assert_eq!(
            shape(&tokens),
            "begin quote FIRST HATE GROUP quote IS COUNTER other bang end"
        );
        assert_eq!(words(&tokens), "\" i hate women \" is bigoted kumquat !");
    }
}
