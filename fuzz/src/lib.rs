//! What several fuzz targets share.

/// Two texts out of one input, cut at its first NUL; `None` where it has none or is no UTF-8.
pub fn two_texts(data: &[u8]) -> Option<(&str, &str)> {
    std::str::from_utf8(data).ok()?.split_once('\0')
}
