//! Execution: the latches around the operand stage, the units, and write-back.

pub(crate) mod latches;
pub(crate) mod units;
pub(crate) mod work;
pub(crate) mod write_back;
