//! The CTAs and warps that a core holds: their slots, what they take of it, their barriers, sets of them. SMs use
//! these; so may any core that holds whole CTAs.

pub mod barrier;
pub mod ctas;
pub mod mask;
pub mod occupancy;
