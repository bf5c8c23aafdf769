//! The whole GPU: kernels and CTAs go to SMs, SMs meet the memory system, time goes on.
//!
//! [`Machine`] is generic over what the warps do ([`isa::WarpStream`]) and over the issue design
//! ([`sm::CoreDesign`]); it knows neither PTX nor files.
#![warn(missing_docs)]

mod dispatch;
mod machine;
mod snapshot;
mod watchdog;

pub use dispatch::StreamId;
pub use machine::{Deadlock, KernelRun, Machine, RunError, Standing};
pub use snapshot::{LaunchWait, Snapshot};
pub use watchdog::Livelock;
