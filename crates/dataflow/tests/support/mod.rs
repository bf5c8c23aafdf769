//! Random graphs, and what they compute.

pub mod evaluation;
pub mod random;
