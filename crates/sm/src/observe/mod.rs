//! Counters, reports and observers of an SM: no stage depends on what happens here.

pub mod auditor;
mod blame;
pub(crate) mod counters;
pub(crate) mod describe;
pub(crate) mod instruments;
pub(crate) mod loops;
pub(crate) mod observer;
pub mod passages;
pub mod profile;
pub(crate) mod stalls;
pub(crate) mod timeline;
