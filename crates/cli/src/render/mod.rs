//! Output of the commands: values in, text out. Nothing here prints or reads anything. Reports are of the crate
//! [`::render`].

pub mod claims;
pub mod comparison;
pub mod import;
pub mod inspection;
pub mod lists;
pub mod management;
pub mod page;
pub mod plots;

#[cfg(test)]
pub use ::render::sample;
pub use ::render::{
    changes, diagnosis, energy, names, number, profile, report, scatter, slots, statistics, style, summary, table,
    timeline, wrap,
};
