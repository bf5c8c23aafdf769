//! Timing of one streaming multiprocessor (SM), on which the core design is a choice.
//!
//! [`Sm`] is the block diagram: its fields are the stages and latches, its [`Sm::tick`] calls the
//! stages back to front. Each stage is one module, which opens with what it follows (GPGPU-Sim 4 and
//! Accel-Sim as papers and public configurations describe them) and its numbered deviations.
//!
//! | to add | write | register |
//! | --- | --- | --- |
//! | an issue design | a file with an [`IssuePolicy`] | its `mod` and `pub use` in `policy` |
//! | hazard handling of the in-order core | a file with a [`Board`] | its `mod` and `pub use` |
//! | a warp scheduler | a file with a [`WarpScheduler`] in `schedulers` | its `mod` and its row there |
//!
//! **Invariants**
//! - Timing never computes a value: [`isa::WarpStream`] does, at decode.
//! - An SM meets the rest of the GPU only through its [`Port`](mem::Port) and, while it ticks,
//!   [`Env`].
//! - Ticking an SM in cycles in which [`Sm::next_event`] lies ahead changes nothing but the account of
//!   cycles: work is proportional to what happens.
//! - Every issue slot of every cycle is an issue or one [`Stall`].
//! - Nothing is allocated in a tick once the SM is warm.
#![warn(missing_docs)]

mod agenda;
pub mod auditor;
mod barrier;
mod copies;
mod core;
mod counters;
mod decode;
mod describe;
mod fetch;
mod inflight;
mod instruction_buffer;
mod issue;
mod kernel;
mod latches;
mod loops;
mod lsu;
mod observer;
mod occupancy;
mod operand_collector;
pub mod policy;
mod rows;
pub mod scalar;
pub mod schedulers;
pub mod scoreboard;
mod sm;
mod spec;
mod stalls;
mod timeline;
mod units;
mod warp_mask;
mod warps;
mod work;
mod writeback;

pub use crate::core::SmTotals;
pub use agenda::Agenda;
pub use auditor::{Auditor, Example, Findings, Party, Violation};
pub use counters::{ClassCounts, DesignStatistic, DesignStatistics, Per, SmCounters};
pub use describe::BlockedWarp;
pub use gpu::FinishedCta;
pub use inflight::{InFlight, InstId, Slab, Stage, Window};
pub use kernel::{Code, Kernel, Micro};
pub use observer::{Observer, Seen, Silent};
pub use occupancy::{Limiter, Occupancy, Resources, occupancy};
pub use policy::{Allowances, Each, InOrder, IssuePolicy, ReadyMasks, Stations, Structure, Uses};
pub use schedulers::WarpScheduler;
pub use scoreboard::{Board, Scoreboard};
pub use sm::{Env, Sm};
pub use spec::{CoreOptions, CoreSpec, Pipe, PipeSet, SpecError, TimingTable};
pub use stalls::{SlotAccount, Stall, StallMasks};
pub use timeline::Timeline;
pub use warp_mask::{MOST_WARPS, WarpMask};
pub use warps::{PerWarp, Warps};
pub use work::{Work, WorkCounts};
