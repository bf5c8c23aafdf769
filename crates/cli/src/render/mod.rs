//! Output of the commands: values in, text out. Nothing here prints or reads anything.

pub mod accelsim;
pub mod comparison;
pub mod energy;
pub mod import;
pub mod inspection;
pub mod lists;
pub mod management;
pub mod number;
pub mod power;
pub mod report;
pub mod scalar;
pub mod slots;
pub mod statistics;
pub mod style;
pub mod summary;
pub mod table;
pub mod wrap;

#[cfg(test)]
pub mod sample;
