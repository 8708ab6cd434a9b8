//! Strings as sequences of small integers, so that the kernels can look symbols up in tables.
//!
//! ASCII is taken as bytes. Otherwise the code points of the first string are numbered from 1 in
//! order of appearance; those of the second that do not occur in the first are all 0, which is safe
//! because only symbols of different strings are ever compared.

use rapidfuzz::HashableChar;

/// A symbol of either alphabet.
pub(super) trait Symbol: Copy + Eq + HashableChar + std::fmt::Debug {
    /// Position in a table of the alphabet.
    fn index(self) -> usize;

    /// How many symbols from `a[i]` and `b[j]` on are equal.
    fn equal_run(a: &[Self], i: usize, b: &[Self], j: usize) -> usize;

    /// The same backwards, without the last `i` and `j` symbols.
    fn equal_run_back(a: &[Self], i: usize, b: &[Self], j: usize) -> usize;

    /// Size of a table that all symbols of `a` and `b` index.
    fn alphabet(a: &[Self], b: &[Self]) -> usize;
}

/// Two strings over one alphabet.
#[derive(Debug)]
pub(super) enum Symbols<'s> {
    Narrow(&'s [u8], &'s [u8]),
    Wide(&'s [u32], &'s [u32]),
}

#[derive(Debug, Clone, Default)]
pub(super) struct SymbolScratch {
    numbering: Numbering,
    wide: (Vec<u32>, Vec<u32>),
    narrow: (Vec<u8>, Vec<u8>),
}

impl SymbolScratch {
    /// The symbols of both strings.
    pub(super) fn read_whole<'s>(&'s mut self, a: &'s str, b: &'s str) -> Symbols<'s> {
        if a.is_ascii() && b.is_ascii() {
            return Symbols::Narrow(a.as_bytes(), b.as_bytes());
        }
        let Self {
            numbering,
            wide,
            narrow,
        } = self;
        numbering.clear(a.len());
        wide.0.clear();
        wide.0.extend(a.chars().map(|c| numbering.number(c)));
        wide.1.clear();
        wide.1.extend(b.chars().map(|c| numbering.find(c)));
        if numbering.count > u32::from(u8::MAX) {
            return Symbols::Wide(&wide.0, &wide.1);
        }
        copy_narrow(&wide.0, &mut narrow.0);
        copy_narrow(&wide.1, &mut narrow.1);
        Symbols::Narrow(&narrow.0, &narrow.1)
    }

    /// The symbols of both strings without their common ends.
    pub(super) fn read_apart<'s>(&'s mut self, a: &'s str, b: &'s str) -> Symbols<'s> {
        let (a, b) = without_common_ends(a, b);
        self.read_whole(a, b)
    }
}

impl Symbol for u8 {
    fn index(self) -> usize {
        usize::from(self)
    }

    #[inline]
    fn equal_run(a: &[Self], i: usize, b: &[Self], j: usize) -> usize {
        let (a, b) = (
            a.get(i..).unwrap_or_default(),
            b.get(j..).unwrap_or_default(),
        );
        byte_run(a, b)
    }

    #[inline]
    fn equal_run_back(a: &[Self], i: usize, b: &[Self], j: usize) -> usize {
        byte_run_back(without_last(a, i), without_last(b, j))
    }

    fn alphabet(a: &[Self], b: &[Self]) -> usize {
        let largest = |s: &[Self]| s.iter().fold(0, |largest, &symbol| symbol.max(largest));
        usize::from(largest(a).max(largest(b))) + 1
    }
}

impl Symbol for u32 {
    fn index(self) -> usize {
        self as usize
    }

    fn equal_run(a: &[Self], i: usize, b: &[Self], j: usize) -> usize {
        let (a, b) = (
            a.get(i..).unwrap_or_default(),
            b.get(j..).unwrap_or_default(),
        );
        a.iter().zip(b).take_while(|(x, y)| x == y).count()
    }

    fn equal_run_back(a: &[Self], i: usize, b: &[Self], j: usize) -> usize {
        let (a, b) = (without_last(a, i), without_last(b, j));
        a.iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(x, y)| x == y)
            .count()
    }

    fn alphabet(a: &[Self], b: &[Self]) -> usize {
        a.iter()
            .chain(b)
            .max()
            .map_or(0, |&largest| largest as usize + 1)
    }
}

fn without_last<S>(symbols: &[S], n: usize) -> &[S] {
    symbols
        .len()
        .checked_sub(n)
        .and_then(|end| symbols.get(..end))
        .unwrap_or_default()
}

/// Length of the common prefix, eight bytes at a time.
#[inline]
fn byte_run(mut a: &[u8], mut b: &[u8]) -> usize {
    let mut run = 0;
    while let (Some((x, rest_a)), Some((y, rest_b))) =
        (a.split_first_chunk::<8>(), b.split_first_chunk::<8>())
    {
        let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differing != 0 {
            return run + differing.trailing_zeros() as usize / 8;
        }
        run += 8;
        (a, b) = (rest_a, rest_b);
    }
    run + a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Length of the common suffix, eight bytes at a time.
#[inline]
fn byte_run_back(mut a: &[u8], mut b: &[u8]) -> usize {
    let mut run = 0;
    while let (Some((rest_a, x)), Some((rest_b, y))) =
        (a.split_last_chunk::<8>(), b.split_last_chunk::<8>())
    {
        let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differing != 0 {
            return run + differing.leading_zeros() as usize / 8;
        }
        run += 8;
        (a, b) = (rest_a, rest_b);
    }
    run + a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count()
}

/// Cuts the longest common prefix and suffix of whole characters off.
fn without_common_ends<'s>(a: &'s str, b: &'s str) -> (&'s str, &'s str) {
    let prefix = a.floor_char_boundary(byte_run(a.as_bytes(), b.as_bytes()));
    let (a, b) = (a.get(prefix..).unwrap_or(a), b.get(prefix..).unwrap_or(b));
    let suffix = byte_run_back(a.as_bytes(), b.as_bytes());
    let keep = a.ceil_char_boundary(a.len() - suffix);
    let suffix = a.len() - keep;
    (
        a.get(..keep).unwrap_or(a),
        b.get(..b.len() - suffix).unwrap_or(b),
    )
}

fn copy_narrow(wide: &[u32], narrow: &mut Vec<u8>) {
    narrow.clear();
    narrow.extend(wide.iter().map(|&n| n as u8));
}

/// Numbers code points in order of appearance: a hash table with linear probing.
#[derive(Debug, Clone, Default)]
struct Numbering {
    /// Code point and number; 0 is an empty slot. Their count is a power of two, more than twice
    /// that of the code points.
    slots: Vec<(u32, u32)>,
    count: u32,
}

impl Numbering {
    fn clear(&mut self, most: usize) {
        self.slots.clear();
        self.slots
            .resize((2 * most + 1).next_power_of_two(), (0, 0));
        self.count = 0;
    }

    /// The number of `c`, given now if it has none.
    fn number(&mut self, c: char) -> u32 {
        let next = self.count + 1;
        let Some(slot) = self.slot(c) else { return 0 };
        if slot.1 == 0 {
            *slot = (u32::from(c), next);
            self.count = next;
            return next;
        }
        slot.1
    }

    /// The number of `c`, or 0.
    fn find(&mut self, c: char) -> u32 {
        self.slot(c).map_or(0, |slot| slot.1)
    }

    /// The slot of `c`, or the empty one where it belongs.
    fn slot(&mut self, c: char) -> Option<&mut (u32, u32)> {
        let code = u32::from(c);
        let mask = self.slots.len() - 1;
        let mut at = (code.wrapping_mul(0x9E37_79B1) >> 7) as usize & mask;
        while self
            .slots
            .get(at)
            .is_some_and(|slot| slot.1 != 0 && slot.0 != code)
        {
            at = (at + 1) & mask;
        }
        self.slots.get_mut(at)
    }
}
