//! Issue: which instructions may issue (policies), which warp does (schedulers), and what that does to
//! the warp.

mod effects;
pub mod policy;
pub mod schedulers;
pub(crate) mod stage;
