//! `cargo xtask classifiers`: the tests of users' own classifiers, which the default build has no part of.
//!
//! Their library for ONNX comes out of the Python package `onnxruntime`, fetched once.

use crate::workspace::{self, cargo, must_succeed, output_of, program};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// The package with `libonnxruntime` (MIT). Its dependencies are not needed.
const PACKAGE: &str = "onnxruntime==1.32.0";

/// Prints the library's path, if the package is there.
const FIND: &str = "import glob, importlib.util as i, os; \
    folder = i.find_spec('onnxruntime').submodule_search_locations[0]; \
    print(glob.glob(os.path.join(folder, 'capi', '*onnxruntime.*'))[0])";

pub(crate) fn run() -> Result<()> {
    let mut tests = cargo([
        "test",
        "--package",
        "lydite-models",
        "--features",
        "candle,onnx",
        "--test",
        "classify",
    ]);
    if let Some(library) = library()? {
        tests
            .env("ORT_DYLIB_PATH", library)
            .env("LYDITE_TEST_ORT", "1");
    }
    must_succeed(&mut tests)
}

/// In a virtual environment that is made where it is missing; `None`, with a line that says why, where it can't be had.
fn library() -> Result<Option<PathBuf>> {
    let folder = workspace::target()?.join("onnxruntime-venv");
    let python = folder.join("bin").join("python");
    if let Some(found) = find(&python) {
        return Ok(Some(found));
    }
    println!(
        "fetching {PACKAGE}, some 20 MB, once, into {}",
        folder.display()
    );
    let mut make = program("python3");
    make.args(["-m", "venv"]).arg(&folder);
    let mut install = program(&python);
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        PACKAGE,
    ]);
    for command in [&mut make, &mut install] {
        if let Err(error) = must_succeed(command) {
            println!("ONNX files are not tested, as ONNX Runtime can't be had here: {error}");
            return Ok(None);
        }
    }
    Ok(find(&python))
}

fn find(python: &Path) -> Option<PathBuf> {
    let path = output_of(program(python).args(["-c", FIND])).ok()?;
    Some(PathBuf::from(path.trim()))
}
