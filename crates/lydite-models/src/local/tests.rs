//! The embedder on tiny random models that the tests write, against a forward pass by definition; damaged files.

mod naive;
mod tiny;

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use pulp::Arch;

use super::minilm::MiniLm;
use tiny::Tiny;

/// The processor's own vectors, and all narrower ones that it has.
pub(super) fn arches() -> Vec<Arch> {
    let mut arches = vec![Arch::new(), Arch::Scalar];
    #[cfg(target_arch = "x86_64")]
    arches.extend(pulp::x86::V3::try_new().map(Arch::V3));
    arches
}

const TEXTS: [&str; 9] = [
    "",
    "a",
    "The cat sat.",
    "a cat, a hat; a bad cab fed",
    "ÉCAT  décade\n🎉cat",
    "zzz (unknown) cab",
    "a b c d e f a b c d e f a b c d e f a b c d e f a b c d e f",
    "cat",
    "the cat [SEP] the hat",
];

#[test]
fn vectors_are_those_of_the_definition() {
    for tiny in [Tiny::default(), Tiny::odd()] {
        let folder = tiny.write();
        let wanted = TEXTS.map(|text| naive::embed(&tiny, text));
        for arch in arches() {
            let model = MiniLm::load_for(folder.path(), arch, 2).unwrap();
            assert_eq!(model.dimensions(), tiny.hidden);
            let found = model.embed(&TEXTS).unwrap();
            for ((text, found), wanted) in TEXTS.iter().zip(found).zip(&wanted) {
                close(&found, wanted, &format!("{arch:?} {text:?}"));
            }
        }
    }
}

#[test]
fn pieces_have_vectors_and_places_of_their_own() {
    let tiny = Tiny::default();
    let folder = tiny.write();
    let model = MiniLm::load(folder.path()).unwrap();
    let found = model.embed_tokens(&TEXTS).unwrap();
    for (text, found) in TEXTS.iter().zip(&found) {
        let wanted = naive::tokens(&tiny, text);
        assert_eq!(
            found.spans.len() * tiny.hidden,
            found.vectors.len(),
            "{text:?}"
        );
        close(&found.vectors, &wanted.concat(), text);
    }
    assert!(found[0].spans.is_empty());
    assert_eq!(found[2].spans, [0..3, 4..7, 8..9, 9..11, 11..12]);
    // É is one character, the emoji another; the places count characters, not bytes.
    assert_eq!(found[4].spans[0], 0..1);
    assert_eq!(*found[4].spans.last().unwrap(), 13..17);
}

#[test]
fn a_text_has_one_vector_whatever_stands_beside_it() {
    let folder = Tiny::default().write();
    let many: Vec<&str> = TEXTS.iter().copied().cycle().take(100).collect();
    for arch in arches() {
        let one = MiniLm::load_for(folder.path(), arch, 1).unwrap();
        let alone: Vec<_> = TEXTS
            .map(|text| one.embed(&[text]).unwrap().remove(0))
            .into();
        let alone_pieces: Vec<_> = TEXTS
            .map(|text| one.embed_tokens(&[text]).unwrap().remove(0))
            .into();
        let mut model = one;
        for threads in [1, 2, 5] {
            model = model.with_threads(NonZeroUsize::new(threads).unwrap());
            for (index, found) in model.embed(&many).unwrap().iter().enumerate() {
                assert_eq!(
                    *found,
                    alone[index % TEXTS.len()],
                    "{arch:?}, {threads} threads, text {index}"
                );
            }
            for (index, found) in model.embed_tokens(&many).unwrap().iter().enumerate() {
                assert_eq!(
                    *found,
                    alone_pieces[index % TEXTS.len()],
                    "{arch:?}, {threads} threads, text {index}"
                );
            }
        }
    }
}

#[test]
fn what_is_behind_the_last_place_is_not_read() {
    let folder = Tiny {
        positions: 10,
        ..Tiny::default()
    }
    .write();
    let model = MiniLm::load(folder.path()).unwrap();
    let short = "a b c d e f a b";
    let long = format!("{short} cat hat cat");
    let longest = format!("{short} {}", "fed cab ".repeat(100_000));
    let vectors = model
        .embed(&[short, &long, &longest, "a b c d e f a"])
        .unwrap();
    assert_eq!(vectors[0], vectors[1]);
    assert_eq!(vectors[0], vectors[2]);
    assert_ne!(vectors[0], vectors[3]);
    assert_eq!(model.embed_tokens(&[&longest]).unwrap()[0].spans.len(), 8);
}

#[test]
fn a_long_text_is_cut_as_if_whole() {
    let folder = Tiny::default().write();
    let model = MiniLm::load(folder.path()).unwrap();
    // Mostly space, so that the begin that is cut first holds too few pieces.
    let words = ["cat", "hat", "fed", "a", "cab"].map(|word| format!("{word}{}", " ".repeat(900)));
    let sparse = words.concat().repeat(20);
    let dense = sparse.split_whitespace().collect::<Vec<_>>().join(" ");
    let vectors = model.embed(&[&sparse, &dense]).unwrap();
    assert_eq!(vectors[0], vectors[1]);
}

#[test]
fn no_texts_have_no_vectors() {
    let folder = Tiny::default().write();
    let model = MiniLm::load(folder.path()).unwrap();
    assert!(model.embed(&[]).unwrap().is_empty());
    assert!(model.embed_tokens(&[]).unwrap().is_empty());
}

#[test]
fn names_with_the_networks_name_in_front_are_found() {
    let tiny = Tiny::default();
    let (bare, named) = (
        tiny.write(),
        Tiny {
            prefix: "bert.",
            ..tiny
        }
        .write(),
    );
    let vectors =
        [bare, named].map(|folder| MiniLm::load(folder.path()).unwrap().embed(&TEXTS).unwrap());
    assert_eq!(vectors[0], vectors[1]);
}

#[test]
fn errors_name_the_file_and_what_is_wrong() {
    let tiny = Tiny::default();
    for (file, from, to, told) in [
        (
            "config.json",
            "\"num_hidden_layers\":2",
            "\"num_hidden_layers\":3",
            "tensor encoder.layer.2.",
        ),
        (
            "config.json",
            "\"intermediate_size\":48",
            "\"intermediate_size\":32",
            "has shape [48, 32], config.json asks for [32, 32]",
        ),
        (
            "config.json",
            "\"vocab_size\":",
            "\"vocab_size\":1",
            "word_embeddings.weight has shape",
        ),
        (
            "config.json",
            "\"vocab_size\":",
            "\"vocab_size\":10000000000",
            "word_embeddings.weight has shape",
        ),
        ("config.json", "{", "", "config.json is not usable"),
        ("config.json", "\"gelu\"", "\"swish\"", "only \"gelu\""),
        (
            "tokenizer.json",
            "BertPreTokenizer",
            "Nothing",
            "tokenizer.json is not usable",
        ),
        ("tokenizer.json", "{", "", "tokenizer.json is not usable"),
        (
            "model.safetensors",
            "layer.1.output.dense.bias",
            "layer.1.output.dense.BIAS",
            "layer.1.output.dense.bias is missing",
        ),
        (
            "model.safetensors",
            "\"F32\"",
            "\"I32\"",
            "is of I32, only F32",
        ),
        (
            "model.safetensors",
            "F32",
            "F99",
            "model.safetensors is not usable",
        ),
    ] {
        let folder = tiny.write();
        let path = folder.path().join(file);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, replace(&bytes, from, to)).unwrap();
        let error = MiniLm::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let folder = tiny.write();
        fs::remove_file(folder.path().join(file)).unwrap();
        let error = MiniLm::load(folder.path()).unwrap_err().to_string();
        assert!(
            error.starts_with("can't read") && error.contains(file),
            "{error}"
        );
    }
}

#[test]
fn a_piece_without_a_vector_is_an_error_of_its_text() {
    let folder = Tiny::default().write();
    let path = folder.path().join("tokenizer.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"cat\":", "\"cat\":9")).unwrap();
    let model = MiniLm::load(folder.path()).unwrap();
    let error = model.embed(&["hat", "a cat"]).unwrap_err().to_string();
    assert!(
        error.contains("text 1 (counted from 0)")
            && error.contains("not in the model's vocabulary"),
        "{error}"
    );
    assert!(model.embed(&["hat"]).is_ok());
}

#[test]
fn a_text_without_pieces_is_an_error() {
    let folder = Tiny::default().write();
    let path = folder.path().join("tokenizer.json");
    let mut file: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    file["post_processor"] = serde_json::Value::Null;
    fs::write(&path, file.to_string()).unwrap();
    let model = MiniLm::load(folder.path()).unwrap();
    assert_eq!(
        model.embed_tokens(&["a cat"]).unwrap()[0].spans,
        [0..1, 2..5]
    );
    let error = model.embed(&["a cat", " "]).unwrap_err().to_string();
    assert!(error.contains("text 1 (counted from 0)"), "{error}");
}

#[test]
fn numbers_that_are_not_finite_are_an_error() {
    for bad in [f32::NAN, f32::INFINITY] {
        let folder = Tiny {
            bad: Some(bad),
            ..Tiny::default()
        }
        .write();
        let model = MiniLm::load(folder.path()).unwrap();
        let error = model.embed(&["a cat"]).unwrap_err().to_string();
        assert!(error.contains("aren't finite for text 0"), "{error}");
        assert!(model.embed_tokens(&["a cat"]).is_err());
    }
}

/// Files cut anywhere, and files with flipped bits: an error or vectors, never a panic.
#[test]
fn damaged_files_do_not_panic() {
    let folder = Tiny::default().write();
    let mut random = fastrand::Rng::with_seed(7);
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let path = folder.path().join(file);
        let sound = fs::read(&path).unwrap();
        // Where the format is; behind it are mere numbers.
        let format = sound.len().min(4000);
        for _ in 0..60 {
            fs::write(&path, &sound[..random.usize(..format)]).unwrap();
            assert!(MiniLm::load(folder.path()).is_err(), "{file}");
        }
        for _ in 0..400 {
            let mut bytes = sound.clone();
            for _ in 0..random.usize(1..4) {
                bytes[random.usize(..format)] ^= 1 << random.u8(..8);
            }
            fs::write(&path, &bytes).unwrap();
            try_out(folder.path());
        }
        fs::write(&path, sound).unwrap();
    }
    assert!(MiniLm::load(folder.path()).is_ok());
}

fn try_out(folder: &Path) {
    let Ok(model) = MiniLm::load_for(folder, Arch::new(), 1) else {
        return;
    };
    let texts = ["a cat, é 🎉", "", "the hat [SEP] zzz"];
    if let Ok(vectors) = model.embed(&texts) {
        assert!(
            vectors
                .iter()
                .flat_map(|vector| vector.iter())
                .all(|number| number.is_finite())
        );
    }
    let _ = model.embed_tokens(&texts);
}

fn replace(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let begin = bytes
        .windows(from.len())
        .position(|window| window == from.as_bytes())
        .unwrap();
    [&bytes[..begin], to.as_bytes(), &bytes[begin + from.len()..]].concat()
}

fn close(found: &[f32], wanted: &[f64], told: &str) {
    assert_eq!(found.len(), wanted.len(), "{told}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(
            (f64::from(*found) - wanted).abs() < 2e-6,
            "{told}: {found} {wanted}"
        );
    }
}
