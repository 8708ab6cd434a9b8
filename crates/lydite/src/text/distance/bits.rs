//! Bit-parallel columns of the edit matrix: 64 cells a word, one text symbol a step.
//!
//! Patterns longer than [`STRIPE`] words go in stripes of rows. What a stripe has at its lower edge
//! is kept for each text symbol, and is what the next one starts from.

use super::symbols::Symbol;

/// The most edits that [`banded`] finds.
pub(super) const BAND: usize = 31;

#[derive(Debug, Clone, Default)]
pub(super) struct BitScratch {
    /// For each symbol, the words whose set bits are its places in the pattern.
    places: Vec<u64>,
    /// One byte for each text symbol: what crosses the lower edge of a stripe.
    edge: Vec<u8>,
    /// For each symbol, the places last seen in the band, and the step when they were.
    recent: Vec<(u64, u32)>,
}

/// Levenshtein distance (Myers 1999, in the form of Hyyrö 2003), for any strings.
pub(super) fn levenshtein<S: Symbol>(pattern: &[S], text: &[S], scratch: &mut BitScratch) -> usize {
    scratch.edge.clear();
    scratch.edge.resize(text.len(), RISE);
    for rows in pattern.chunks(STRIPE * 64) {
        match rows.len().div_ceil(64) {
            1 => levenshtein_stripe::<S, 1>(rows, text, scratch),
            2 => levenshtein_stripe::<S, 2>(rows, text, scratch),
            3 => levenshtein_stripe::<S, 3>(rows, text, scratch),
            _ => levenshtein_stripe::<S, STRIPE>(rows, text, scratch),
        }
    }
    let rises = scratch
        .edge
        .iter()
        .map(|&e| usize::from(e & RISE))
        .sum::<usize>();
    let falls = scratch
        .edge
        .iter()
        .map(|&e| usize::from(e >> 1))
        .sum::<usize>();
    pattern.len() + rises - falls
}

/// Length of the longest common subsequence (Hyyrö 2004).
pub(super) fn common_subsequence<S: Symbol>(
    pattern: &[S],
    text: &[S],
    scratch: &mut BitScratch,
) -> usize {
    scratch.edge.clear();
    scratch.edge.resize(text.len(), 0);
    pattern
        .chunks(STRIPE * 64)
        .map(|rows| match rows.len().div_ceil(64) {
            1 => subsequence_stripe::<S, 1>(rows, text, scratch),
            2 => subsequence_stripe::<S, 2>(rows, text, scratch),
            3 => subsequence_stripe::<S, 3>(rows, text, scratch),
            _ => subsequence_stripe::<S, STRIPE>(rows, text, scratch),
        })
        .sum()
}

/// Levenshtein distance if it is at most [`BAND`]: one word follows the band around the diagonal
/// (Hyyrö 2003), so the lengths don't multiply.
///
/// Bit 63 is the cell [`BAND`] rows below the diagonal. While that row lies in the pattern, the value
/// on that lower diagonal is tracked; then, along the pattern's last row, the value of a bit that
/// moves down by one each step. `pattern` is no shorter than `text`.
pub(super) fn banded<S: Symbol>(
    pattern: &[S],
    text: &[S],
    scratch: &mut BitScratch,
) -> Option<usize> {
    let band = BAND.min(text.len()).min(pattern.len());
    if pattern.len() - text.len() > band {
        return None;
    }
    let recent = &mut scratch.recent;
    recent.clear();
    recent.resize(S::alphabet(pattern, text), (0, 0));
    let (head, entering) = pattern.split_at_checked(band)?;
    for (step, &symbol) in (0..).zip(head) {
        enter(recent, symbol, step);
    }

    let mut vp = !0_u64 << (63 - band);
    let mut vn = 0_u64;
    let mut value = band;
    // Along the last row the value can still fall by one a step.
    let most = 2 * band - (pattern.len() - text.len());
    let mut entering = entering.iter();
    let mut last_row = 1_u64 << 62;
    for (step, &symbol) in (band as u32..).zip(text) {
        let below = entering.next();
        if let Some(&below) = below {
            enter(recent, below, step);
        }
        let eq = places_at(recent, symbol, step);
        let d0 = ((eq & vp).wrapping_add(vp) ^ vp) | eq | vn;
        let hp = vn | !(d0 | vp);
        let hn = d0 & vp;
        if below.is_some() {
            value += usize::from(d0 >> 63 == 0);
        } else {
            value += usize::from(hp & last_row != 0);
            value -= usize::from(hn & last_row != 0);
            last_row >>= 1;
        }
        if value > most {
            return None;
        }
        vp = hn | !((d0 >> 1) | hp);
        vn = (d0 >> 1) & hp;
    }
    (value <= band).then_some(value)
}

/// Words of the pattern that advance together.
const STRIPE: usize = 4;

/// Bits of the edge between stripes: the value there rises, or falls, with this text symbol.
const RISE: u8 = 1;
const FALL: u8 = 2;

/// Advances the rows of one stripe over the whole text, as one number of `N` words.
fn levenshtein_stripe<S: Symbol, const N: usize>(rows: &[S], text: &[S], scratch: &mut BitScratch) {
    let places = fill_places::<S, N>(rows, text, &mut scratch.places);
    let bottom = (rows.len() - 1) % 64;
    let mut vp = [!0_u64; N];
    let mut vn = [0_u64; N];
    for (symbol, edge) in text.iter().zip(&mut scratch.edge) {
        let Some(eq) = places.get(symbol.index()) else {
            continue;
        };
        let fall_in = u64::from(*edge & FALL != 0);
        let mut hp_in = u64::from(*edge & RISE);
        let mut hn_in = fall_in;
        let mut carry = false;
        let mut ends = (0, 0);
        for (w, ((vp, vn), &eq)) in vp.iter_mut().zip(&mut vn).zip(eq).enumerate() {
            let x = if w == 0 { eq | fall_in } else { eq };
            let sum;
            (sum, carry) = (x & *vp).carrying_add(*vp, carry);
            let d0 = (sum ^ *vp) | x | *vn;
            let hp = *vn | !(d0 | *vp);
            let hn = d0 & *vp;
            ends = (hp, hn);
            let hp_up = hp << 1 | hp_in;
            let hn_up = hn << 1 | hn_in;
            (hp_in, hn_in) = (hp >> 63, hn >> 63);
            *vp = hn_up | !(d0 | hp_up);
            *vn = hp_up & d0;
        }
        *edge = (ends.0 >> bottom & 1) as u8 | ((ends.1 >> bottom & 1) as u8) << 1;
    }
}

/// As [`levenshtein_stripe`]; gives how many rows of the stripe are part of the subsequence.
fn subsequence_stripe<S: Symbol, const N: usize>(
    rows: &[S],
    text: &[S],
    scratch: &mut BitScratch,
) -> usize {
    let places = fill_places::<S, N>(rows, text, &mut scratch.places);
    let mut open = [!0_u64; N];
    for (symbol, edge) in text.iter().zip(&mut scratch.edge) {
        let Some(eq) = places.get(symbol.index()) else {
            continue;
        };
        let mut carry = *edge != 0;
        for (open, &eq) in open.iter_mut().zip(eq) {
            let matched = *open & eq;
            let sum;
            (sum, carry) = open.carrying_add(matched, carry);
            *open = sum | (*open & !eq);
        }
        *edge = u8::from(carry);
    }
    let closed = open
        .iter()
        .map(|word| word.count_zeros() as usize)
        .sum::<usize>();
    let padding = N * 64 - rows.len();
    let last = open.last().copied().unwrap_or(!0);
    closed - (0..padding).filter(|bit| last << bit >> 63 == 0).count()
}

/// For each symbol of the alphabet, its places in `rows` as a number of `N` words.
fn fill_places<'s, S: Symbol, const N: usize>(
    rows: &[S],
    text: &[S],
    places: &'s mut Vec<u64>,
) -> &'s [[u64; N]] {
    places.clear();
    places.resize(S::alphabet(rows, text) * N, 0);
    for (w, word) in rows.chunks(64).enumerate() {
        for (bit, symbol) in word.iter().enumerate() {
            if let Some(cell) = places.get_mut(symbol.index() * N + w) {
                *cell |= 1 << bit;
            }
        }
    }
    places.as_chunks().0
}

/// `symbol` enters the band at its lowest bit row in this step; older places have moved up.
fn enter<S: Symbol>(recent: &mut [(u64, u32)], symbol: S, step: u32) {
    if let Some((places, seen)) = recent.get_mut(symbol.index()) {
        *places = places.checked_shr(step - *seen).unwrap_or(0) | 1 << 63;
        *seen = step;
    }
}

fn places_at<S: Symbol>(recent: &[(u64, u32)], symbol: S, step: u32) -> u64 {
    recent.get(symbol.index()).map_or(0, |(places, seen)| {
        places.checked_shr(step - seen).unwrap_or(0)
    })
}
