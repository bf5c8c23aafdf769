//! Random graphs, and what they compute.

pub mod checks;
pub mod evaluation;
pub mod ptx;
pub mod random;
