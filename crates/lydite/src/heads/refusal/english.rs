//! Is a text English? Only then can the head read it.

use super::voice::{Voice, words};

/// Words that carry no topic.
pub(super) const FUNCTION_WORDS: &[&str] = &[
    "a", "an", "the", "of", "to", "in", "on", "at", "by", "for", "with", "from", "and", "or",
    "but", "if", "is", "are", "was", "were", "be", "been", "am", "do", "does", "did", "can",
    "could", "would", "should", "will", "i", "you", "he", "she", "it", "they", "we", "my", "your",
    "his", "her", "its", "their", "our", "me", "us", "them", "this", "that", "these", "those",
    "what", "which", "who", "whom", "whose", "how", "why", "when", "where", "as", "not", "no",
    "so", "there", "about", "into", "than", "then", "has", "have", "had", "any", "some", "please",
];

/// Frequent words of other languages in Latin script that English has not.
const FOREIGN: &[&str] = &[
    // Spanish, Portuguese, Catalan
    "el", "los", "las", "una", "por", "para", "pero", "lo", "su", "más", "qué", "puedo", "esta",
    "este", "como", "não", "uma", "você", "com", "são", "posso", "isso", "mas", "seu", "dos",
    "els", "amb", // French
    "le", "les", "des", "du", "et", "est", "une", "pour", "dans", "je", "ne", "pas", "vous",
    "nous", "sur", "avec", "cette", "ce", "peux", "mais", "aux", // German, Dutch
    "der", "das", "und", "ist", "nicht", "ich", "ein", "eine", "zu", "mit", "auf", "für", "kann",
    "leider", "aber", "dabei", "ik", "het", "een", "van", "niet", "kan", "maar", "op", "voor",
    "dat", // Italian, Romanian
    "il", "che", "non", "di", "sono", "della", "gli", "questo", "posso", "mi", "ma", "nu", "și",
    "să",
    // Scandinavian, Finnish, Polish, Czech, Turkish, Indonesian, Vietnamese, Swahili
    "jeg", "ikke", "och", "inte", "jag", "det", "og", "på", "som", "att", "en", "på", "minä", "voi",
    "että", "nie", "mogę", "się", "jest", "w", "je", "na", "že", "bu", "bir", "ve", "için", "saya",
    "tidak", "yang", "dan", "tôi", "không", "và", "ni", "ya", "kwa", "siwezi",
];

/// Whether a text is likely English: mostly ASCII letters, and no more foreign than English function words.
///
/// A text that is too short to tell counts as English.
pub fn is_english(text: &str) -> bool {
    let text = Voice::all(text).text;
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let (mut all, mut foreign_letters) = (0_usize, 0_usize);
    for c in letters {
        all += 1;
        foreign_letters += usize::from(!c.is_ascii());
    }
    let share = foreign_letters as f64 / all.max(1) as f64;
    let counts = Counts::of(&text);
    let is_foreign = share > 0.3
        || (counts.foreign >= 2 && counts.foreign > counts.english)
        || (share > 0.03 && counts.words >= 6 && counts.english * 10 < counts.words)
        || (counts.words >= 12 && counts.english == 0 && counts.foreign > 0);
    !is_foreign
}

#[derive(Default)]
struct Counts {
    words: usize,
    english: usize,
    foreign: usize,
}

impl Counts {
    fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for word in words(text).filter_map(|range| text.get(range)) {
            counts.words += 1;
            counts.english += usize::from(FUNCTION_WORDS.contains(&word));
            counts.foreign += usize::from(FOREIGN.contains(&word));
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_is_told_from_other_languages() {
        for (text, english) in [
            ("I can't help with that.", true),
            ("Paris.", true),
            ("Karen Gillan, Zoë Saldaña", true),
            ("SELECT name FROM users WHERE email IS NULL;", true),
            (
                "Eastern, Central, Mountain, Pacific, Alaska, Hawaii, Atlantic, Samoa, Chamorro, Newfoundland, Yukon, Acre",
                true,
            ),
            (
                "The word 'niet' means 'not' in Dutch, and 'het' is an article.",
                true,
            ),
            ("1. 12\n2. 15", true),
            ("", true),
            ("Lo siento, no puedo ayudarte con eso.", false),
            ("Leider kann ich dabei nicht helfen.", false),
            ("Je suis désolé, je ne peux pas vous aider.", false),
            ("Não posso ajudar com isso.", false),
            ("Mi dispiace, non posso aiutarti.", false),
            ("Przykro mi, nie mogę w tym pomóc.", false),
            (
                "Maaf, saya tidak dapat membantu dengan permintaan itu.",
                false,
            ),
            ("Извините, я не могу с этим помочь.", false),
            ("申し訳ありませんが、お手伝いできません。", false),
            ("عذراً، لا أستطيع المساعدة في ذلك.", false),
        ] {
            assert_eq!(is_english(text), english, "{text}");
        }
    }
}
