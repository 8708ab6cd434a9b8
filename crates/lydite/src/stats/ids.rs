//! Counts how often each id of a run was seen.

use std::fmt;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// How often each 64-bit hash was seen, in about 9 to 21 bytes a hash.
///
/// The hashes must be well mixed (XXH3 and the like): they are used as they are. They are spread over 256
/// tables, so that growing copies a small part of them at a time, and unevenly, the fullest getting twice as many
/// as the emptiest: so the tables double one after the other, what one leaves the next takes up, and memory grows
/// evenly. Nearly every id is seen once; the counts of the others stand in a table of their own.
#[derive(Clone)]
pub struct IdTable {
    shards: Vec<HashTable<u64>>,
    /// Which shard, by twelve bits of a hash.
    shard_of: Box<[u8]>,
    again: HashTable<Again>,
    distinct: usize,
}

/// A hash that was seen before, and how often it was seen again.
#[derive(Clone, Copy)]
struct Again {
    hash: u64,
    times: u32,
}

const SHARDS: usize = 256;

/// A table finds its slot by the lowest bits of a hash and its tag by the highest seven, so the shard goes by
/// bits between them.
const SHARD_SHIFT: u32 = 40;

/// As many values of a hash's bits as shards are told apart by.
const SLICES: usize = 4096;

impl IdTable {
    pub fn new() -> Self {
        Self {
            shards: vec![HashTable::new(); SHARDS],
            shard_of: (0..SLICES).map(shard_of).collect(),
            again: HashTable::new(),
            distinct: 0,
        }
    }

    /// Notes that `hash` was seen; how often it had been before.
    #[inline]
    pub fn seen(&mut self, hash: u64) -> u32 {
        let slice = (hash >> SHARD_SHIFT) as usize % SLICES;
        let shard = self.shard_of.get(slice).copied().unwrap_or(0);
        let Some(shard) = self.shards.get_mut(usize::from(shard)) else {
            return 0;
        };
        match shard.entry(hash, |&known| known == hash, |&known| known) {
            Entry::Vacant(place) => {
                place.insert(hash);
                self.distinct += 1;
                0
            }
            Entry::Occupied(_) => self.seen_again(hash),
        }
    }

    /// How many different hashes were seen.
    pub fn len(&self) -> usize {
        self.distinct
    }

    pub fn is_empty(&self) -> bool {
        self.distinct == 0
    }

    #[cold]
    fn seen_again(&mut self, hash: u64) -> u32 {
        let again = self
            .again
            .entry(hash, |known| known.hash == hash, |known| known.hash)
            .or_insert(Again { hash, times: 0 })
            .into_mut();
        again.times = again.times.saturating_add(1);
        again.times
    }
}

/// The shard of a slice: shard `i` gets a share that grows with 2^(i/256).
fn shard_of(slice: usize) -> u8 {
    let place = 1.0 + (slice as f64 + 0.5) / SLICES as f64;
    (place.log2() * SHARDS as f64) as u8
}

impl Default for IdTable {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for IdTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("IdTable")
            .field("distinct", &self.distinct)
            .field("again", &self.again.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_what_was_seen_before() {
        let mut table = IdTable::new();
        assert!(table.is_empty());
        assert_eq!(
            [7, 7, 9, 7, 0, 0].map(|hash| table.seen(hash)),
            [0, 1, 0, 2, 0, 1]
        );
        assert_eq!(table.len(), 3);
    }

    #[test]
    fn takes_at_most_21_bytes_an_id() {
        let mut table = IdTable::new();
        for n in 0..1_000_000_u64 {
            assert_eq!(table.seen(mixed(n)), 0);
        }
        let bytes: usize = table.shards.iter().map(HashTable::allocation_size).sum();
        assert!(bytes < 21_000_000, "{bytes}");
    }

    proptest! {
        #[test]
        fn agrees_with_a_map_of_counts(hashes in prop::collection::vec(0_u64..50, 0..300)) {
            let mut table = IdTable::new();
            let mut counts = HashMap::new();
            for hash in hashes {
                let count = counts.entry(hash).or_insert(0);
                prop_assert_eq!(table.seen(mixed(hash)), *count);
                *count += 1;
            }
            prop_assert_eq!(table.len(), counts.len());
        }
    }

    /// The finaliser of SplitMix64.
    fn mixed(n: u64) -> u64 {
        let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ n >> 31
    }
}
