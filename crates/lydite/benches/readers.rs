//! How fast records are read from a file in the page cache: splitting, hash, UTF-8.

#![expect(clippy::expect_used, reason = "a bench may stop")]

use std::fs;
use std::path::PathBuf;

use divan::Bencher;
use divan::counter::BytesCount;
use lydite::format::{Block, BlockReader, BlockSize, Source, open};

/// Records of the files, of about 600 bytes each.
const RECORDS: usize = 100_000;

fn main() {
    divan::main();
}

#[divan::bench(args = ["ascii", "latin", "chinese"])]
fn jsonl(bencher: Bencher<'_, '_>, text: &str) {
    bench(bencher, "jsonl", jsonl_of(text));
}

#[divan::bench]
fn json(bencher: Bencher<'_, '_>) {
    let lines = jsonl_of("ascii");
    bench(
        bencher,
        "json",
        format!("[{}]", lines.trim_end().replace('\n', ",\n")),
    );
}

#[divan::bench]
fn csv(bencher: Bencher<'_, '_>) {
    let row = format!(
        "\"a question, {0}\",{0}{0},\"[\"\"{0}\"\"]\"\n",
        words("ascii")
    );
    bench(
        bencher,
        "csv",
        format!("query,output,contexts\n{}", row.repeat(RECORDS)),
    );
}

fn bench(bencher: Bencher<'_, '_>, format: &str, text: String) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("readers.{format}"));
    let bytes = text.len();
    fs::write(&path, text).expect("the target folder can be written");
    let mut block = Block::new();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        let sources = vec![Source::path(&path)];
        let mut reader = open(sources, BlockSize::default()).expect("it was just written");
        let mut read = 0;
        while reader.next_block(&mut block).expect("it is valid") {
            read += block.records().filter(|record| record.text.is_ok()).count();
        }
        assert_eq!(read, RECORDS);
        block.end.hash
    });
}

fn jsonl_of(text: &str) -> String {
    let words = words(text);
    let record =
        |n| format!("{{\"id\":\"{n:06}\",\"query\":\"{words}\",\"output\":\"{words}{words}\"}}\n");
    (0..RECORDS).map(record).collect()
}

/// About 180 bytes.
fn words(text: &str) -> String {
    match text {
        "latin" => "Où est le café près de la forêt ? ".repeat(5),
        "chinese" => "黑色的试金石可以辨别黄金".repeat(5),
        _ => "the black touchstone that gold was once tried on".repeat(4),
    }
}
