//! How far a fetch has come.

use std::fmt;
use std::path::Path;

/// Told of fetches: one at a time, from the thread that waits for the model or one that it waits for.
pub trait Progress: Send + Sync + fmt::Debug {
    /// A fetch begins. Where the first source fails, the next begins after [`Progress::finished`].
    fn started(&self, fetch: &Fetch<'_>);

    /// So many bytes are here; fewer than before where a server made it begin again.
    fn advanced(&self, bytes: u64);

    /// It is over, well or not.
    fn finished(&self);
}

/// What is fetched.
#[derive(Clone, Copy, Debug)]
pub struct Fetch<'a> {
    /// The model's id.
    pub model: &'a str,
    /// As an SPDX expression.
    pub licence: &'a str,
    pub bytes: u64,
    /// An address, or a Python package and the program that gets it.
    pub from: &'a str,
    /// The folder that keeps it.
    pub to: &'a Path,
    /// Whether [`Progress::advanced`] will be told: another program may do the work.
    pub counted: bool,
}

/// A fetch under way; ends it when dropped.
#[derive(Debug)]
pub(super) struct Telling<'p>(Option<&'p dyn Progress>);

impl<'p> Telling<'p> {
    pub(super) fn start(progress: Option<&'p dyn Progress>, fetch: &Fetch<'_>) -> Self {
        if let Some(progress) = progress {
            progress.started(fetch);
        }
        Self(progress)
    }

    pub(super) fn advanced(&self, bytes: u64) {
        if let Some(progress) = self.0 {
            progress.advanced(bytes);
        }
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if let Some(progress) = self.0 {
            progress.finished();
        }
    }
}
