//! Whether the head can read a text: it was made for English.

use unicode_segmentation::UnicodeSegmentation;

/// Not where most letters are of another script, nor where frequent words of other languages outnumber those of
/// English. What is too short to tell counts as English.
pub fn is_english(text: &str) -> bool {
    let (mut english, mut foreign) = (0, 0);
    let (mut latin, mut other) = (0, 0);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        if c < '\u{250}' || ('\u{1e00}'..'\u{1f00}').contains(&c) {
            latin += 1;
        } else {
            other += 1;
        }
    }
    for word in text.unicode_words() {
        let word = word.to_lowercase();
        english += usize::from(ENGLISH.contains(&word.as_str()));
        foreign += usize::from(FOREIGN.contains(&word.as_str()));
    }
    other <= latin && (foreign < 2 || foreign <= english)
}

const ENGLISH: &[&str] = &[
    "the", "of", "and", "to", "is", "are", "was", "were", "in", "on", "at", "by", "for", "with",
    "from", "that", "this", "it", "not", "be", "has", "have", "had", "can", "will", "you", "your",
    "he", "she", "they", "we", "an", "or", "as",
];

/// Of German, Dutch, French, Spanish, Portuguese, Italian, Polish, Czech, Turkish, Swedish, Danish, Finnish, Indonesian
/// and Vietnamese; none that English has as well.
const FOREIGN: &[&str] = &[
    "der", "das", "und", "ist", "nicht", "ein", "eine", "mit", "von", "zu", "auf", "für", "den",
    "dem", "wird", "het", "een", "van", "niet", "zijn", "voor", "le", "la", "les", "des", "du",
    "est", "et", "une", "dans", "pour", "pas", "que", "qui", "sur", "avec", "el", "los", "las",
    "una", "es", "por", "para", "del", "y", "con", "o", "os", "não", "uma", "um", "com", "il",
    "di", "che", "non", "della", "sono", "è", "per", "nie", "jest", "się", "na", "je", "že", "bir",
    "ve", "bu", "için", "och", "att", "inte", "är", "som", "og", "ikke", "til", "på", "ja", "että",
    "yang", "dan", "tidak", "và", "không", "của",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_is_told_from_other_languages() {
        let table = [
            ("The store closes at 9 pm.", true),
            ("Berlin", true),
            ("El Niño and La Niña are phases of the same cycle.", true),
            ("42", true),
            ("", true),
            ("Der Laden schließt um 21 Uhr und öffnet um 9.", false),
            ("La boutique ferme à neuf heures et demie.", false),
            ("La tienda cierra a las nueve.", false),
            ("Магазин закрывается в девять.", false),
            ("店は九時に閉まります。", false),
            ("يغلق المتجر في التاسعة", false),
        ];
        for (text, english) in table {
            assert_eq!(is_english(text), english, "{text}");
        }
    }
}
