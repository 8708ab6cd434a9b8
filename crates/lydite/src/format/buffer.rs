//! A byte buffer that is read into without being zeroed each time.

use std::io::{self, ErrorKind, Read};

/// Bytes that are initialised once and then overwritten: a `Vec` would have to be filled with
/// zeros before every read, since this crate has no `unsafe`.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    len: usize,
}

impl Buffer {
    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Empties it, giving back what it holds beyond `keep` bytes.
    pub(super) fn clear(&mut self, keep: usize) {
        self.len = 0;
        if self.bytes.len() > keep {
            self.bytes.truncate(keep);
            self.bytes.shrink_to(keep);
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        self.grow(end);
        if let Some(spare) = self.bytes.get_mut(self.len..end) {
            spare.copy_from_slice(bytes);
            self.len = end;
        }
    }

    /// Reads until it holds `len` bytes or the reader ends. What was read before an error stays.
    pub(super) fn fill(&mut self, reader: &mut dyn Read, len: usize) -> io::Result<()> {
        self.grow(len);
        while let Some(spare) = self
            .bytes
            .get_mut(self.len..len)
            .filter(|spare| !spare.is_empty())
        {
            let room = spare.len();
            match reader.read(spare) {
                Ok(0) => break,
                Ok(read) => self.len += read.min(room),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn grow(&mut self, len: usize) {
        if self.bytes.len() < len {
            self.bytes.resize(len, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_grows_and_shrinks() {
        let mut buffer = Buffer::default();
        buffer.extend(b"ab");
        buffer.fill(&mut &b"cdef"[..], 4).unwrap();
        assert_eq!(buffer.as_slice(), b"abcd");
        buffer.fill(&mut &b"ef"[..], 100).unwrap();
        assert_eq!(buffer.as_slice(), b"abcdef");
        buffer.truncate(1);
        assert_eq!(buffer.as_slice(), b"a");
        buffer.clear(10);
        assert_eq!((buffer.len(), buffer.bytes.len()), (0, 10));
        assert!(buffer.bytes.capacity() < 100);
    }
}
