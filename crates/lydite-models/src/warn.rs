//! What a user should hear of though the run goes on, such as a cache that can't be opened.

use std::fmt;
use std::sync::Arc;

/// Where warnings go: a line each, in lower case, without an end of line.
#[derive(Clone, Default)]
pub struct Warn(Option<Arc<dyn Fn(&str) + Send + Sync>>);

impl Warn {
    pub fn new(to: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(to)))
    }

    pub(crate) fn say(&self, message: &str) {
        if let Some(to) = &self.0 {
            to(message);
        }
    }
}

impl fmt::Debug for Warn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Warn").field(&self.0.is_some()).finish()
    }
}
