//! Which fault a request meets.

use serde::Serialize;
use twox_hash::XxHash3_64;

use crate::config::Faults;

/// What can go wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    RateLimited,
    ServerError,
    Hang,
    Cut,
    Malformed,
    Truncated,
    Fenced,
    Thinking,
    Injected,
}

impl Fault {
    /// In the order of [`Faults::shares`].
    pub(crate) const SHARED: [Self; 9] = [
        Self::RateLimited,
        Self::ServerError,
        Self::Hang,
        Self::Cut,
        Self::Malformed,
        Self::Truncated,
        Self::Fenced,
        Self::Thinking,
        Self::Injected,
    ];

    /// Whether it lies in what the model says.
    pub(crate) fn is_of_the_model(self) -> bool {
        match self {
            Self::RateLimited | Self::ServerError | Self::Hang | Self::Cut => false,
            Self::Malformed | Self::Truncated | Self::Fenced | Self::Thinking | Self::Injected => {
                true
            }
        }
    }

    /// Whether the reply holds the right verdict all the same.
    pub(crate) fn is_right(self) -> bool {
        matches!(self, Self::Fenced | Self::Thinking | Self::Injected)
    }

    /// The fault of an attempt (from 1) at a body (by its hash): the same for the same seed, whatever came before.
    pub(crate) fn pick(faults: &Faults, seed: u64, body: u64, attempt: u64) -> Option<Self> {
        let attempt = if faults.lasting { 1 } else { attempt };
        let mut left = unit(mix(&[seed, body, attempt]));
        for (fault, (_, share)) in Self::SHARED.into_iter().zip(faults.shares()) {
            if left < share {
                return Some(fault);
            }
            left -= share;
        }
        None
    }
}

/// A hash of a request: of its path, and of its body byte by byte.
pub(crate) fn body_key(path: &str, body: &[u8]) -> u64 {
    mix(&[
        XxHash3_64::oneshot(path.as_bytes()),
        XxHash3_64::oneshot(body),
    ])
}

/// A hash of some numbers.
pub(crate) fn mix(numbers: &[u64]) -> u64 {
    let mut bytes = [0; 32];
    for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    XxHash3_64::oneshot(&bytes)
}

/// A number from 0 up to 1, from the upper 53 bits.
fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each share is met within four standard deviations, for several seeds.
    #[test]
    fn shares_hold() {
        let faults = Faults {
            rate_limited: 0.2,
            cut: 0.1,
            injected: 0.05,
            ..Faults::default()
        };
        let n = 10_000;
        for seed in 0..5 {
            for (fault, share) in [
                (Some(Fault::RateLimited), 0.2),
                (Some(Fault::Cut), 0.1),
                (Some(Fault::Injected), 0.05),
                (Some(Fault::Hang), 0.0),
                (None, 0.65),
            ] {
                let met = (0..n)
                    .filter(|body| Fault::pick(&faults, seed, *body, 1) == fault)
                    .count() as f64;
                let mean = n as f64 * share;
                let deviation = (mean * (1.0 - share)).sqrt();
                assert!(
                    (met - mean).abs() <= 4.0 * deviation,
                    "{seed} {fault:?}: {met}"
                );
            }
        }
    }

    #[test]
    fn attempts_are_decided_anew_unless_faults_last() {
        let mut faults = Faults {
            server_error: 0.5,
            ..Faults::default()
        };
        let at = |faults: &Faults, attempt| Fault::pick(faults, 7, 11, attempt);
        assert!((2..40).any(|attempt| at(&faults, attempt) != at(&faults, 1)));
        faults.lasting = true;
        assert!((2..40).all(|attempt| at(&faults, attempt) == at(&faults, 1)));
    }

    #[test]
    fn a_key_depends_on_path_and_body() {
        assert_eq!(body_key("/a", b"x"), body_key("/a", b"x"));
        assert_ne!(body_key("/a", b"x"), body_key("/b", b"x"));
        assert_ne!(body_key("/a", b"x"), body_key("/a", b"y"));
    }
}
