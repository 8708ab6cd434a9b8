//! Many weights as small integers in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::HeadError;

/// Weights as integers times one scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packed {
    pub width: Width,
    /// What one unit is worth.
    pub scale: f64,
    /// Little-endian integers in base64.
    pub base64: String,
}

/// The integers of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Width {
    I8,
    I16,
}

impl Packed {
    /// Rounds each weight to a multiple of a step that lets the largest fit.
    pub fn pack(weights: &[f64], width: Width) -> Self {
        let most = weights.iter().fold(0.0_f64, |most, w| most.max(w.abs()));
        let scale = if most > 0.0 {
            most / width.largest()
        } else {
            1.0
        };
        // Rounded up first, so that the file's shorter number still lets the largest fit.
        let scale = round_up(scale);
        let mut bytes = Vec::with_capacity(weights.len() * width.bytes());
        for weight in weights {
            let unit = (weight / scale).round();
            match width {
                Width::I8 => bytes.extend((unit as i8).to_le_bytes()),
                Width::I16 => bytes.extend((unit as i16).to_le_bytes()),
            }
        }
        Self {
            width,
            scale,
            base64: STANDARD.encode(bytes),
        }
    }

    /// The weights; `name` and `expected` (how many there must be) are for the error.
    pub fn unpack(&self, name: &str, expected: usize) -> Result<Vec<f32>, HeadError> {
        if !self.scale.is_finite() {
            return Err(HeadError::NotFinite(name.to_owned()));
        }
        let bytes = STANDARD
            .decode(&self.base64)
            .map_err(|_| HeadError::Base64 {
                name: name.to_owned(),
            })?;
        let unit = |unit: i16| (f64::from(unit) * self.scale) as f32;
        let weights: Vec<f32> = match self.width {
            Width::I8 => bytes
                .iter()
                .map(|byte| unit(i16::from(byte.cast_signed())))
                .collect(),
            Width::I16 => {
                let (pairs, _) = bytes.as_chunks::<2>();
                pairs
                    .iter()
                    .map(|pair| unit(i16::from_le_bytes(*pair)))
                    .collect()
            }
        };
        if weights.len() != expected || bytes.len() != expected * self.width.bytes() {
            return Err(HeadError::Length {
                name: name.to_owned(),
                found: weights.len(),
                expected,
            });
        }
        Ok(weights)
    }
}

impl Width {
    const fn bytes(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::I16 => 2,
        }
    }

    fn largest(self) -> f64 {
        match self {
            Self::I8 => f64::from(i8::MAX),
            Self::I16 => f64::from(i16::MAX),
        }
    }
}

/// The next number with six significant digits.
fn round_up(x: f64) -> f64 {
    let unit = 10.0_f64.powi(x.abs().log10().floor() as i32 - 5);
    (x / unit).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn weights_come_back_within_half_a_step(
            weights in prop::collection::vec(prop_oneof![-1e3..1e3, -1e-6..1e-6_f64, Just(0.0)], 0..40),
            wide: bool,
        ) {
            let packed = Packed::pack(&weights, if wide { Width::I16 } else { Width::I8 });
            let found = packed.unpack("x", weights.len()).unwrap();
            let step = packed.scale;
            for (weight, found) in weights.iter().zip(found) {
                let rounding = f64::from(f32::EPSILON) * weight.abs();
                prop_assert!((weight - f64::from(found)).abs() <= step / 2.0 + rounding);
            }
        }
    }

    #[test]
    fn wrong_blocks_are_errors() {
        let good = Packed::pack(&[1.0, -0.5], Width::I16);
        let broken = |change: fn(&mut Packed)| {
            let mut packed = good.clone();
            change(&mut packed);
            packed.unpack("block", 2)
        };
        assert!(broken(|_| ()).is_ok());
        assert!(matches!(
            broken(|p| p.base64.push('!')),
            Err(HeadError::Base64 { .. })
        ));
        assert!(matches!(
            broken(|p| p.scale = f64::NAN),
            Err(HeadError::NotFinite(_))
        ));
        assert!(matches!(
            broken(|p| p.width = Width::I8),
            Err(HeadError::Length { found: 4, .. })
        ));
        assert!(matches!(
            broken(|p| p.base64 = "AAAAAAA=".into()),
            Err(HeadError::Length { .. })
        ));
    }
}
