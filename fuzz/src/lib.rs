//! What several fuzz targets share.

use std::sync::LazyLock;

use lydite::evaluator::Registry;
use lydite::node::Span;

/// All evaluators that Lydite ships, made once.
pub static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// Two texts out of one input, cut at its first NUL; `None` where it has none or is no UTF-8.
pub fn two_texts(data: &[u8]) -> Option<(&str, &str)> {
    std::str::from_utf8(data).ok()?.split_once('\0')
}

/// Stops where a place does not lie in its text, on whole characters.
pub fn assert_within(text: &str, span: Span) {
    if span.is_known() {
        assert!(
            span.start_byte <= span.end_byte,
            "{span:?} ends before it begins"
        );
        assert!(
            text.get(span.start_byte..span.end_byte).is_some(),
            "{span:?} is no part of {text:?}"
        );
    }
}
