//! Pure functions over numbers: intervals, exact sums, quantiles.
