//! Text that was read in the wrong encoding.

/// UTF-8 that was read as Windows-1252 (`DÃ¡in`), read right; `None` where a text is no such thing.
pub(super) fn repaired(text: &str) -> Option<String> {
    if !text.contains(['Ã', 'Â', 'â']) {
        return None;
    }
    let bytes: Option<Vec<u8>> = text.chars().map(byte).collect();
    String::from_utf8(bytes?).ok()
}

/// The byte that Windows-1252 reads as a character.
fn byte(c: char) -> Option<u8> {
    match HIGH.iter().position(|other| *other == c) {
        Some(place) => u8::try_from(0x80 + place).ok(),
        None => u8::try_from(u32::from(c)).ok(),
    }
}

/// 0x80 to 0x9F of Windows-1252, <https://encoding.spec.whatwg.org/#windows-1252>.
const HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_misread_is_repaired() {
        let table = [
            ("DÃ¡in", Some("Dáin")),
            ("10â€“12 years", Some("10–12 years")),
            ("7Â\u{a0}ml", Some("7\u{a0}ml")),
            ("Ângela", None),
            ("château, Ãlvaro", None),
            ("日本 Ã¡", None),
            ("plain", None),
        ];
        for (text, expected) in table {
            assert_eq!(repaired(text).as_deref(), expected, "{text:?}");
        }
    }
}
