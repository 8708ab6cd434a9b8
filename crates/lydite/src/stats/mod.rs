//! The numbers of a run's report: intervals, and the accumulators they are made from.
//!
//! Every accumulator is a fold with a merge: the parts of a run, whichever way it was split over threads,
//! shards or machines and in whichever order they are joined, give the same figures to the last bit as one
//! pass. [`CheckStats`] is the fold of one check (or of one check within one tag) and holds the others.

pub mod classification;
pub mod clusters;
pub mod correlation;
pub mod ids;
pub mod interval;
pub mod quantile;
pub mod sum;
pub mod summary;
pub mod vectors;

pub use clusters::Clusters;
pub use ids::IdTable;
pub use interval::{Confidence, Interval};
pub use quantile::Quantiles;
pub use sum::{ExactSum, Moments};
pub use summary::{Answer, CheckStats, CheckSummary};
