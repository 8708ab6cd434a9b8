//! Times of the embedder that runs in this process: `LYDITE_MODEL_DIR=… cargo bench -p lydite-models --bench embed`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

fn main() {
    divan::main();
}
