//! Reports as text and as pages: values in, text out. Nothing here prints or reads anything.
#![warn(missing_docs)]

pub mod accelsim;
pub mod bars;
pub mod changes;
pub mod curves;
pub mod diagnosis;
mod drawing;
pub mod energy;
pub mod grouping;
pub mod names;
pub mod number;
pub mod page;
pub mod power;
pub mod profile;
mod raster;
pub mod report;
#[doc(hidden)]
pub mod sample;
pub mod sampling;
pub mod scalar;
pub mod scatter;
pub mod slots;
pub mod statistics;
pub mod style;
pub mod summary;
pub mod table;
pub mod timeline;
pub mod wrap;
