//! A launch whose turn has come.

use exec::{FunctionalStats, Launch};
use std::ops::Range;

/// State of a launch whose turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Began {
    /// It is to be queued.
    ToQueue,
    /// It was executed without time: what it did, and the cycles that it has taken by what is known so far, launch
    /// latency included, if anything is.
    Executed(FunctionalStats, Option<u64>),
}

/// The CTAs of a launch that are executed after those that are timed.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    pub launch: Launch,
    pub number: u32,
    pub ctas: Range<u64>,
}
