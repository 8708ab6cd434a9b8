//! What a sentence does: declines, says that nothing is known, apologises, points elsewhere, asks back, ….
//!
//! English patterns over a [`super::voice::Voice`], so lower-case and without contractions. None decides alone:
//! the head weighs where they stand and how much of the response is without them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// What a sentence may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cue {
    /// Says that the writer can't, won't or may not.
    Refuses,
    /// Says that something is not known, not at hand or not in the source.
    Unknown,
    /// Regrets, thanks, sympathises.
    Regrets,
    /// Speaks of itself as a machine.
    Machine,
    /// Has no opinion or feeling.
    NoOpinion,
    /// Calls something wrong, illegal or harmful.
    Moral,
    /// Sends the user to somebody or something else.
    Redirects,
    /// Offers other help.
    Offers,
    /// Hedges or explains, as answers do.
    Hedges,
    /// Asks for what is missing.
    AsksBack,
    /// Ends with a question mark.
    Question,
}

impl Cue {
    pub(super) const ALL: [Self; 11] = [
        Self::Refuses,
        Self::Unknown,
        Self::Regrets,
        Self::Machine,
        Self::NoOpinion,
        Self::Moral,
        Self::Redirects,
        Self::Offers,
        Self::Hedges,
        Self::AsksBack,
        Self::Question,
    ];

    /// As evidence names it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Refuses => "refuses",
            Self::Unknown => "not known",
            Self::Regrets => "regrets",
            Self::Machine => "speaks as a machine",
            Self::NoOpinion => "no opinion",
            Self::Moral => "moral judgement",
            Self::Redirects => "sends elsewhere",
            Self::Offers => "offers other help",
            Self::Hedges => "explains",
            Self::AsksBack => "asks back",
            Self::Question => "question",
        }
    }

    /// The bytes of the first place of a sentence that shows it.
    pub(super) fn find(self, sentence: &str) -> Option<Range<usize>> {
        if self == Self::Question {
            let end = sentence.trim_end().len();
            return sentence.trim_end().ends_with('?').then(|| end - 1..end);
        }
        let regex = PATTERNS.get(self as usize)?.as_ref()?;
        regex.find(sentence).map(|found| found.range())
    }
}

/// Which cues a sentence shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cues(u16);

impl Cues {
    pub(super) fn of(sentence: &str) -> Self {
        let shown = Cue::ALL.into_iter().filter(|cue| match cue {
            Cue::Question => sentence.trim_end().ends_with('?'),
            cue => PATTERNS
                .get(*cue as usize)
                .and_then(Option::as_ref)
                .is_some_and(|regex| regex.is_match(sentence)),
        });
        Self(shown.fold(0, |bits, cue| bits | cue.bit()))
    }

    pub(super) const fn has(self, cue: Cue) -> bool {
        self.0 & cue.bit() != 0
    }

    /// Whether it declines or says that nothing is known.
    pub(super) const fn is_hard(self) -> bool {
        self.has(Cue::Refuses) || self.has(Cue::Unknown)
    }

    /// Whether it does nothing but say something.
    pub(super) const fn is_content(self) -> bool {
        self.0 & !Cue::Hedges.bit() == 0
    }

    /// Whether all that it shows is asking back, politely or not.
    pub(super) const fn only_asks(self) -> bool {
        self.has(Cue::AsksBack) || self.has(Cue::Question) || self.has(Cue::Regrets)
    }
}

impl Cue {
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The bytes of the first place that turns from a refusal to an answer: *however*, *, but*, *here is*.
pub(super) fn turn(sentence: &str) -> Option<Range<usize>> {
    let regex = TURN.as_ref()?;
    regex.find(sentence).map(|found| found.range())
}

/// Whether a query asks for a text to be made: then words of refusal may be the text.
pub(super) fn asks_to_write(query: &str) -> bool {
    WRITE.as_ref().is_some_and(|regex| regex.is_match(query))
}

/// Whether a query asks for the model's own view.
pub(super) fn asks_for_opinion(query: &str) -> bool {
    OPINION.as_ref().is_some_and(|regex| regex.is_match(query))
}

/// One for each of [`Cue::ALL`] in its order; a pattern that is none matches nothing, and fails a test.
static PATTERNS: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    Cue::ALL
        .into_iter()
        .map(|cue| Regex::new(&pattern(cue)).ok())
        .collect()
});

static TURN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(TURNS).ok());
static WRITE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\W*(?:please )?(?:write|compose|draft|generate|translate|paraphrase|summari[sz]e|continue|finish|act as|give me|make|create|correct|extract|classify)\b").ok()
});
static OPINION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?:should (?:we|i|they|the)|do you (?:think|believe|like|want|have|feel)|what do you|your (?:opinion|thoughts?|view|favou?rite|take)|are you|did you|have you)\b").ok()
});

const TURNS: &str = r"^\W*(?:however|but|that said|that being said|nevertheless|nonetheless|still|with that|having said|in general|generally)\b|(?:,|;) (?:but|however|though|although|so)\b|\b(?:here is|here are|the following|i can (?:tell|suggest|provide|offer|give|describe|say|explain|list|confirm))\b";

/// The writer, with what may stand between *I* and *can not*.
const WRITER: &str = r"\b(?:i|we)\b(?:,? (?:am|are|was|have|do|really|just|simply|also|still|afraid|sorry|but|must|currently|unfortunately|sadly|regrettably|therefore|personally|respectfully|politely|honestly|truly|think|believe|that|it|in good conscience|as an ai|i|we|would|may|to))*,? ";

const UNABLE: &str = r"(?:can not|could not|will not|would not|unable to|not able to|not going to|not comfortable|not willing to|not allowed to|not permitted to|not authori[sz]ed|not designed to|not programmed to|not capable of|not equipped|not supposed to|not meant to|not in a position|not at liberty|not here to|not qualified|prefer not|rather not|shall not|may not|do not|must not|should not|never|have no way of|not feel comfortable)";

/// What a response does when it answers.
const TO_HELP: &str = r"(?:help|assist|provide|answer|fulfil\w*|comply|complete|generate|create|write|offer|give|share|discuss|support|engage|participate|advise|recommend|respond|do (?:that|this|so|it)|access|browse|view|read|edit|watch|hear|listen|perform|make|comment|speak|confirm|verify|tell|predict|evaluate|promote|encourage|endorse|condone|disclose|reveal|divulge|reproduce|process|open|draw|sing|call|place|send|assess|diagnose|determine|identify|rate|judge|assume|say|pick|take sides|argue|glorify|praise|produce|walk|pretend|teach|explain|describe|show|look|see|find|locate|execute|run|extend|delete|convert|express|hold|have|form|feel|go there|talk|get into|be able|be part|advocate|justify|be of|facilitate|instruct|guide|suggest|accept|agree|continue|swear|be|meet|know|guess|understand|detail|list|translate|summari[sz]e)";

/// Other ways to decline.
const DECLINES: &[&str] = &[
    r"\b(?:i|we|you)\b[^.!?]{0,30}\b(?:decline|refuse)\b",
    r"\b(?:can not|unable to|not able to) (?:help|assist|provide|answer|fulfil\w*|comply|share|discuss|generate|create|offer|do that|do this)\b",
    r"\brequest (?:is |was |has been )?(?:denied|declined|rejected|refused)|\baccess denied\b",
    r"\b(?:hard pass|no way|nice try|not a chance|off the table|no from me|absolutely not)\b",
    r"^\W*(?:refusal|no|nope|sorry,? no|pass|n/?a)\W*$",
    r"\bnot something (?:that )?(?:i|we)\b",
    r"\b(?:against|violates?|prohibit\w*|forbid\w*|do not allow|stick to) (?:my|our|the|this|openai's|me)\b",
    r"\b(?:outside|beyond|not part of|not among)\b[^.!?]{0,25}\b(?:scope|capabilit\w+|area|expertise|what i|abilit\w+|capacity|purview|programming)",
    r"\b(?:i|we)(?: am| are| can)? only (?:able to |here to |meant to )?(?:answer|help|handle|assist|deal|cover)|\bmy (?:only )?(?:job|role|purpose|task) is\b",
    r"\b(?:lips be sealed|forbidden|may not divulge|prohibits this|change the subject|let us not|let's not|talk about something else|different topic|another topic|stay out of)\b",
    r"\bnot my place\b|\bnot supported\b|\bconfidential\b|\bviolate\b[^.!?]{0,25}\bprivacy\b|\bprivacy reasons\b",
    r"^\W*(?:(?:sorry|hmm|well|oh|ah|unfortunately|yo|oops),? )?(?:but )?(?:can not|not going to|will not|would rather not|rather not|unable to|not able to|no can do|no comment|no thanks)\b",
    r"\b(?:impossible|not possible) (?:for (?:me|us) )?to (?:say|tell|know|predict|answer|determine|give)|\b(?:nobody|no one) can (?:know|say|tell|predict|promise|be sure)",
    r"\bi wish i could\b|\bnot be right for me to\b",
];

const NOT_KNOWN: &[&str] = &[
    r"\b(?:i|we)\b[^.!?]{0,25}\b(?:do not|have no|not|neither|lack|no)\b[^.!?]{0,35}\b(?:information|info|details?|data|knowledge|access|answer|context|record|idea|clue|know|sure|certain|aware|familiar|find|locate|see any|capability|ability|opinions?)\b",
    r"^\W*(?:no idea|i do not know|not sure|unclear|unknown)\b",
    r"\bno (?:\w+ ){0,2}(?:details?|information|mention|data|indication|trace|record|reference)\b",
    r"\b(?:seems? (?:to be )?|is |are )(?:empty|missing|incomplete)\b|\byou (?:have not|did not|do not seem to have)\b|\bi do not see\b",
    r"\b(?:not|no|nothing|none|neither|silent)\b[^.!?]{0,70}\b(?:specif(?:y|ies|ied)|names?|mention(?:s|ed)?|provided?|included?|stated?|covers?|covered|contain(?:s|ed)?|discuss(?:ed|es)?|address(?:ed)?|indicated?|found|listed|described?|say|in the (?:text|context|passage|document|documents|sources?|knowledge base|report|manual)|on this point|gives?|talks? about|determined?|possible to (?:say|tell|determine|answer))\b",
    r"\bthere is no (?:\w+ ){0,3}(?:information|mention|details?|data|answer|record)\b",
];

const ASKS: &[&str] = &[
    r"\b(?:please|could you|can you|would you|kindly|may i)\b[^.!?]{0,30}\b(?:provide|clarify|specify|tell|rephrase|elaborate|share|explain|ask|paste|upload|give me|let me)\b",
    r"\b(?:which|what|who|whose|where|when|how)\b[^.!?]{0,80}\b(?:you|your)\b[^.!?]{0,40}\?",
    r"\bare you (?:asking|referring|looking|talking|thinking|interested)\b|\bd(?:o|id) you mean\b",
    r"\bneed (?:to know )?(?:more|your|additional|further)\b|\bmore (?:information|context|details)\b|^which\b.*\?",
];

fn pattern(cue: Cue) -> String {
    match cue {
        Cue::Refuses => format!(
            r"{WRITER}{UNABLE}(?: (?:to|be|the|ever|actually|directly|currently|really|personally|able|able to|feel|right|in))*(?: {TO_HELP}| ?(?:[.,;:!?]|$))|{}",
            DECLINES.join("|")
        ),
        Cue::Unknown => NOT_KNOWN.join("|"),
        Cue::Regrets => r"\b(?:sorry|apologi[sz]e|apologies|regret|regrettably|unfortunately|sadly|afraid|alas|forgive me|i appreciate|thank you|thanks|i understand)\b".into(),
        Cue::Machine => r"\bas an? (?:\w+ ){0,3}(?:ai|assistant|model|chatbot|bot)\b|\b(?:i am|being)(?: just| only| merely)? (?:an? |the )?(?:\w+[ -]){0,2}(?:ai|assistant|language model|chatbot|bot)\b|\blanguage model\b|\bas a language\b".into(),
        Cue::NoOpinion => r"\b(?:do not|can not|no|without|not)\b[^.!?]{0,30}\b(?:opinions?|beliefs?|feelings?|emotions?|preferences?|views|political|personal|experiences?|favou?rites?|sides|neutral|impartial)\b|\b(?:neutral|impartial|unbiased)\b".into(),
        Cue::Moral => r"\b(?:unethical|illegal|immoral|unacceptable|inappropriate|unlawful|harmful|dangerous|offensive|disrespectful|discriminat\w+|hateful|derogatory|crime|criminal|fraud|burglary|stalking|wrong to|stereotyp\w+|violence|against the law)\b|\bnot (?:be |ever |morally |ethically |legally )*(?:appropriate|ethical|acceptable|okay|ok|respectful|right|legal|condone\w*|accurate|fair|justified)\b|\bnever (?:okay|ok|acceptable|justified|right|appropriate)\b|\b(?:dignity|respectful\w*|deserves?|equality|inclusiv\w+)\b".into(),
        Cue::Redirects => r"\b(?:consult|contact|reach(?:ing)? out|speak(?:ing)? (?:to|with)|talk(?:ing)? (?:to|with)|seek(?:ing)?|refer to|check with|get in touch|call (?:a|the)|see a|ask (?:the|your|a|at|hr)|have to ask|connect you|look(?:ing)? (?:it|them|this) up|search(?:ing)? for|visit)\b".into(),
        Cue::Offers => r"\b(?:feel free|anything else|any other (?:questions?|topics?)|how (?:can|may) i|happy to|glad to|gladly|let me know|would you like|here to help|i can (?:help|review|talk|offer|show|assist)|instead|different kind|shall we|best to (?:assist|help))\b".into(),
        Cue::Hedges => r"\b(?:i think|i believe|i would say|best guess|probably|most likely|if i remember|rough(?:ly)?|rule of thumb|in general|typically|usually|generally|commonly|often|as of|according to|based on|known (?:for|as)|for example|such as|refers to|includ(?:e|es|ing))\b".into(),
        Cue::AsksBack => ASKS.join("|"),
        Cue::Question => r"\?\s*$".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        for cue in Cue::ALL {
            assert!(PATTERNS[cue as usize].is_some(), "{cue:?}");
        }
        for regex in [&TURN, &WRITE, &OPINION] {
            assert!(regex.is_some());
        }
    }

    #[test]
    fn cues_are_found_where_they_stand() {
        for (cue, sentence, found) in [
            (
                Cue::Refuses,
                "i am sorry, but i can not help with that.",
                Some("i am sorry, but i can not help"),
            ),
            (Cue::Refuses, "no.", Some("no.")),
            (Cue::Refuses, "no, it closes at six.", None),
            (Cue::Refuses, "penguins can not fly.", None),
            (
                Cue::Refuses,
                "this goes against my guidelines.",
                Some("against my"),
            ),
            (
                Cue::Unknown,
                "the manual gives no details on it.",
                Some("no details"),
            ),
            (Cue::Unknown, "i do not know.", Some("i do not know")),
            (Cue::Unknown, "venus has no moons.", None),
            (Cue::Regrets, "i am sorry to hear that.", Some("sorry")),
            (
                Cue::Machine,
                "as an ai language model, i try.",
                Some("as an ai language model"),
            ),
            (
                Cue::NoOpinion,
                "i do not hold personal opinions.",
                Some("do not hold personal opinions"),
            ),
            (Cue::Moral, "stealing is illegal.", Some("illegal")),
            (Cue::Redirects, "please contact your bank.", Some("contact")),
            (
                Cue::Offers,
                "is there anything else?",
                Some("anything else"),
            ),
            (Cue::Hedges, "it is probably blue.", Some("probably")),
            (
                Cue::AsksBack,
                "which parcel do you mean?",
                Some("which parcel do you mean?"),
            ),
            (Cue::Question, "shall we go? ", Some("?")),
            (Cue::Question, "we go.", None),
        ] {
            let range = cue.find(sentence);
            let text = range.map(|range| &sentence[range]);
            assert_eq!(text, found, "{cue:?}: {sentence}");
            assert_eq!(
                Cues::of(sentence).has(cue),
                found.is_some(),
                "{cue:?}: {sentence}"
            );
        }
    }

    #[test]
    fn a_turn_leads_from_refusal_to_answer() {
        for (sentence, found) in [
            ("i do not know, but it may be 4.", Some(", but")),
            ("however, here is one.", Some("however")),
            ("i know nothing but this.", None),
        ] {
            assert_eq!(turn(sentence).map(|range| &sentence[range]), found);
        }
    }

    #[test]
    fn queries_say_what_they_are_after() {
        assert!(asks_to_write("please write a poem"));
        assert!(!asks_to_write("who will write the poem?"));
        assert!(asks_for_opinion("should we build a wall?"));
        assert!(!asks_for_opinion("how tall is the wall?"));
    }
}
