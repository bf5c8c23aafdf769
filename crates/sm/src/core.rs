//! What a machine's reports have of SMs: their counters, added up, as rows and as events of the energy model.

mod activity;
mod report;
mod totals;

pub use totals::SmTotals;
