//! `lydite init`: a first suite with its data.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::CommandResult;
use crate::terminal::outln;

const SUITE: &str = include_str!("init/lydite.yaml");
const DATA: &str = include_str!("init/answers.jsonl");

/// Write a first suite and a small file of answers to begin with.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to write into.
    #[arg(default_value = ".")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> CommandResult {
    std::fs::create_dir_all(&args.folder)
        .map_err(|error| format!("can't make {}: {error}", args.folder.display()))?;
    let (suite, data) = (
        args.folder.join("lydite.yaml"),
        args.folder.join("answers.jsonl"),
    );
    for path in [&suite, &data] {
        if path.exists() {
            return Err(format!(
                "{} is there already; nothing was written",
                path.display()
            ));
        }
    }
    write_new(&suite, SUITE)?;
    write_new(&data, DATA)?;
    outln!("wrote {} and {}", suite.display(), data.display());
    outln!("next: lydite run {}", suite.display());
    Ok(0)
}

fn write_new(path: &Path, text: &str) -> Result<(), String> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("can't write {}: {error}", path.display()))
}
