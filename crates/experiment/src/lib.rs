//! Comparisons that can be stopped and continued: experiments as files, and runs that are kept by their content.
//!
//! | module | role |
//! | --- | --- |
//! | [`mod@file`] | an experiment as a file: parts, each with what runs on which machines |
//! | [`plan`] | the runs of a comparison, each once, and what is known of them |
//! | [`store`] | runs that are kept, each under a digest of all that its results depend on |
//! | [`costs`] | how long runs take |
//! | [`runs`] | runs them on a few threads |
//! | [`slurm`] | runs them on the machines of a cluster |
//!
//! A run is kept when it has ended with a right result. Whatever ends the process, what is kept stays, and the same
//! comparison later runs the rest.

#![warn(missing_docs)]

pub mod costs;
pub mod file;
pub mod plan;
pub mod runs;
pub mod slurm;
pub mod store;
