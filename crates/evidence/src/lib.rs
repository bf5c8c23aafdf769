//! Measurements of others beside ours: hardware, other simulators, papers. Published figures judge the model; they
//! are never an input, and no run uses anything from here.
//!
//! | module | beside |
//! | --- | --- |
//! | [`microbench`], [`figures`], [`validate`] | latencies and rates of hardware: our measurements, the published figures, both as a table |
//! | [`applications`] | cycles of applications on cards |
//! | [`power`] | measured power of AccelWattch's kernels |
//! | [`accelsim`] | Accel-Sim's cycles for its traces |
//! | [`published`], [`published_costs`] | what papers report for core designs |
#![warn(missing_docs)]

pub mod accelsim;
pub mod applications;
pub mod figures;
pub mod microbench;
pub mod power;
pub mod published;
pub mod published_costs;
pub mod validate;
