//! all-MiniLM-L6-v2 against vectors that `golden/minilm.py` computed in 64 bits with NumPy.
//!
//! Needs the model's files: `LYDITE_MODEL_DIR` names a folder that holds them, or a folder `all-MiniLM-L6-v2` with them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may fail by panicking, and says why it is left out"
)]

use std::env;
use std::ops::Range;
use std::path::PathBuf;

use lydite_models::local::MiniLm;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    texts: Vec<Text>,
    pieces_of_last: Vec<Piece>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
    vector: Vec<f32>,
}

#[derive(Deserialize)]
struct Piece {
    begin: usize,
    end: usize,
    first: Vec<f32>,
}

#[test]
fn vectors_are_those_of_numpy() {
    let Some(model) = model() else { return };
    let golden = golden();
    let texts: Vec<&str> = golden.texts.iter().map(|text| text.text.as_str()).collect();
    let found = model.embed(&texts).unwrap();
    assert_eq!(found.len(), golden.texts.len());
    for (found, wanted) in found.iter().zip(&golden.texts) {
        assert_eq!(found.len(), 384);
        close(found, &wanted.vector, &wanted.text);
    }
}

#[test]
fn pieces_are_those_of_numpy() {
    let Some(model) = model() else { return };
    let golden = golden();
    let text = &golden.texts.last().unwrap().text;
    let found = model.embed_tokens(&[text]).unwrap().remove(0);
    let places: Vec<Range<usize>> = golden
        .pieces_of_last
        .iter()
        .map(|piece| piece.begin..piece.end)
        .collect();
    assert_eq!(found.spans, places);
    for (found, wanted) in found.vectors.chunks(384).zip(&golden.pieces_of_last) {
        close(&found[..wanted.first.len()], &wanted.first, text);
    }
}

fn close(found: &[f32], wanted: &[f32], text: &str) {
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() < 1e-5, "{text:?}: {found} {wanted}");
    }
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/minilm.json")).unwrap()
}

/// The model; nothing, with a line that says so, where no folder is named. CI always names one.
fn model() -> Option<MiniLm> {
    let Some(folder) = env::var_os("LYDITE_MODEL_DIR").map(PathBuf::from) else {
        assert!(
            env::var_os("CI").is_none(),
            "LYDITE_MODEL_DIR must be set in CI"
        );
        eprintln!("skipped: LYDITE_MODEL_DIR is not set");
        return None;
    };
    let own = folder.join("all-MiniLM-L6-v2");
    let folder = if own.is_dir() { own } else { folder };
    Some(MiniLm::load(&folder).unwrap())
}
