//! Embeddings that are made of a text's letters, so that like texts are near to each other.

use twox_hash::XxHash3_64;

/// Letters in a piece.
const GRAM: usize = 3;

/// How long a vector is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Dimension {
    /// As the request says.
    Asked(usize),
    /// As the configuration says, where the request leaves it open.
    Usual(usize),
}

/// The vector of a text: the numbers themselves of a text that is a JSON list of numbers, unless the request asks for a
/// dimension; of every other text its letters.
pub(crate) fn embed(text: &str, dimension: Dimension) -> Vec<f32> {
    match dimension {
        Dimension::Asked(dimension) => of_letters(text, dimension),
        Dimension::Usual(dimension) => written(text).unwrap_or_else(|| of_letters(text, dimension)),
    }
}

fn written(text: &str) -> Option<Vec<f32>> {
    let vector: Vec<f32> = serde_json::from_str(text).ok()?;
    (!vector.is_empty()).then_some(vector)
}

/// A vector of length 1, the same for the same text: the pieces of three letters (in lower case, white space as one
/// space, one space at both ends) are hashed to a place and a sign, and counted there (the "hashing trick", Weinberger
/// et al. 2009).
fn of_letters(text: &str, dimension: usize) -> Vec<f32> {
    let letters = letters(text);
    let mut vector = vec![0.0_f32; dimension];
    let mut bytes = [0; GRAM * 4];
    for gram in letters.windows(GRAM) {
        for (place, letter) in bytes.chunks_exact_mut(4).zip(gram) {
            place.copy_from_slice(&u32::from(*letter).to_le_bytes());
        }
        let hash = XxHash3_64::oneshot(&bytes);
        let place = (hash >> 1) % dimension.max(1) as u64;
        if let Some(count) = vector.get_mut(place as usize) {
            *count += if hash & 1 == 0 { 1.0 } else { -1.0 };
        }
    }
    normalise(&mut vector);
    vector
}

fn letters(text: &str) -> Vec<char> {
    let mut letters = vec![' '];
    for word in text.split_whitespace() {
        letters.extend(word.chars().flat_map(char::to_lowercase));
        letters.push(' ');
    }
    letters
}

/// A vector without a direction gets the first one.
fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        for x in vector {
            *x /= length;
        }
    } else if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: &str, b: &str) -> f32 {
        let (a, b) = (of_letters(a, 256), of_letters(b, 256));
        a.iter().zip(&b).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn like_texts_are_near() {
        let text = "The river flows to the sea.";
        assert!((near(text, text) - 1.0).abs() < 1e-5);
        assert!((near(text, "the RIVER  flows\nto the sea.") - 1.0).abs() < 1e-5);
        assert!(near(text, "The river flows into the sea.") > 0.7);
        assert!(near(text, "Quarterly profit grew by 7 %") < 0.3);
    }

    #[test]
    fn vectors_have_length_1_and_the_asked_dimension() {
        for (text, dimension) in [
            ("", 4),
            ("a", 1),
            ("河は海に流れる", 33),
            ("some words", 3072),
        ] {
            let vector = of_letters(text, dimension);
            assert_eq!(vector.len(), dimension);
            let length = vector.iter().map(|x| x * x).sum::<f32>();
            assert!((length - 1.0).abs() < 1e-4, "{text}: {length}");
        }
        assert!(of_letters("x", 0).is_empty());
    }

    #[test]
    fn a_list_of_numbers_is_its_own_vector_unless_a_dimension_is_asked() {
        let cases: [(&str, Dimension, Option<&[f32]>); 5] = [
            ("[1, -2.5]", Dimension::Usual(4), Some(&[1.0, -2.5])),
            ("[0, 0]", Dimension::Usual(4), Some(&[0.0, 0.0])),
            ("[1, 2]", Dimension::Asked(4), None),
            ("[]", Dimension::Usual(4), None),
            ("[1, \"x\"]", Dimension::Usual(4), None),
        ];
        for (text, dimension, own) in cases {
            let vector = embed(text, dimension);
            match own {
                Some(own) => assert_eq!(vector, own, "{text}"),
                None => assert_eq!(vector, of_letters(text, 4), "{text}"),
            }
        }
    }
}
