//! Comparisons that can be stopped and continued: experiments as files, and a store of completed runs by content.
//!
//! | module | role |
//! | --- | --- |
//! | [`mod@file`] | an experiment as a file: parts, each with workloads and machines |
//! | [`claim`] | claims of a paper, compared with the simulated values |
//! | [`plan`] | the runs of a comparison, without duplicates, and the runs that are missing |
//! | [`store`] | completed runs, each named by a digest of everything that its results depend on |
//! | [`costs`] | measured and estimated run times |
//! | [`runs`] | runs them on a few threads |
//! | [`split`] | a program in several processes, each of which times its share of the launches |
//! | [`slurm`] | runs them on the machines of a cluster |
//!
//! A run is stored when it ends with a correct result. Stored runs survive the end of the process; the same comparison
//! later runs only the missing ones.

#![warn(missing_docs)]

pub mod claim;
pub mod costs;
pub mod file;
pub mod plan;
pub mod runs;
pub mod slurm;
pub mod split;
pub mod store;
