//! The whole GPU: kernels and CTAs go to cores, cores meet the memory system, time passes.
//!
//! [`Machine`] is generic over what a core is ([`Core`]): an SM of any design (crate `sm`), or something without
//! a pipeline. It knows neither PTX nor files.
#![warn(missing_docs)]

mod cluster_network;
mod core;
mod crew;
mod dispatch;
mod livelock;
mod loops;
mod machine;
mod persist;
mod report;
pub mod resident;
mod run;
mod scaling;
mod snapshot;
mod statistics;
mod unit;
mod watchdog;

pub use crate::core::{Access, Core, CoreCounters, CoreKernel, CoreReport, Env, EnvOf, FinishedCta};
pub use cluster_network::{Multicast, PeerEvent, PeerRequest};
pub use crew::{HostThreads, handover};
pub use dispatch::StreamId;
pub use livelock::{Livelock, LoopStep, Pulse, SpinningWarp};
pub use machine::Machine;
pub use report::event_of;
pub use run::{Deadlock, KernelRun, MachineError, Progress, View};
pub use scaling::{Prediction, Scaling};
pub use snapshot::{AnySnapshot, LaunchWait, Snapshot};
pub use statistics::{Period, StatInfo, Stats, Table, Value, WarpWork};
pub use watchdog::Watchdog;
