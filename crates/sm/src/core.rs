//! SMs in a machine's reports: their counters, added up, as rows and as events of the energy model.

mod activity;
mod report;
mod totals;

pub use totals::SmTotals;
