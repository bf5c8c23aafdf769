//! Timing of one streaming multiprocessor (SM), on which the core design is a choice.
//!
//! [`Sm`] is the block diagram: its fields are the stages and latches, its [`tick`](gpu::Core::tick) calls the
//! stages back to front. Each stage is one module, which opens with what it follows (GPGPU-Sim 4 and
//! Accel-Sim as papers and public configurations describe them) and its numbered deviations.
//!
//! | to add | write | register |
//! | --- | --- | --- |
//! | a core design | a file with an [`IssuePolicy`] and its [`CoreDesign`] in the crate `designs` | its `mod` there |
//! | hazard handling of the in-order core | a file with a [`Board`] in `designs` | its `mod` and `pub use` there |
//! | a front end | a file with a [`FrontEnd`] in `frontend` | its `mod` and `pub use` |
//! | an operand stage | a file with an [`OperandStage`] in `operands` | its `mod` and `pub use` |
//! | units | a file with an [`ExecutionStage`] in `execute` | its `mod` and `pub use` |
//! | a memory stage | a file with a [`MemoryStage`] in `memory` | its `mod` and `pub use` |
//! | a warp scheduler | a file with a [`WarpScheduler`] in `schedulers` | its `mod` and its row there |
//!
//! **Invariants**
//! - Timing never computes a value: [`isa::WarpStream`] does, at decode.
//! - An SM meets the rest of the GPU only through its [`Port`](mem::Port) and, while it ticks,
//!   [`Env`].
//! - Ticking an SM in cycles in which [`next_event`](gpu::Core::next_event) lies ahead changes nothing but the account of
//!   cycles: work is proportional to what happens.
//! - Every issue slot of every cycle is an issue or one [`Stall`].
//! - Nothing is allocated in a tick once the SM is warm.
#![warn(missing_docs)]

mod checks;
mod core;
mod dependence;
mod design;
mod execute;
mod frontend;
mod half;
mod inflight;
mod issue;
mod kernel;
mod memory;
mod observe;
pub mod operands;
mod outbox;
mod resolved;
mod slab;
mod sm;
mod spec;
mod state;
mod wake_up;
mod warps;

pub use crate::core::SmTotals;
pub use dependence::{EarlyRead, early_reads};
pub use design::{Allowances, ConfigOf, CoreDesign, MaskOf, With};
pub use execute::ExecutionStage;
pub use execute::latches::{LatchId, Latches};
pub use execute::perfect::PerfectExecution;
pub use execute::units::Units;
pub use execute::work::WorkCounts;
pub use execute::write_back::WriteBack;
pub use frontend::cached::CachedFetch;
pub use frontend::instruction_buffer::InstructionBuffer;
pub use frontend::perfect::PerfectFetch;
pub use frontend::sub_cores::{SubCoreCaches, SubCoreFetch};
pub use frontend::{FetchWires, FrontEnd};
pub use gpu::FinishedCta;
pub use inflight::{Entry, InFlight, InstId};
pub use isa::Work;
pub use issue::policy::{Candidates, Each, Head, Heads, InOrder, IssuePolicy, Structure, Uses};
pub use issue::schedulers::WarpScheduler;
pub use issue::{policy, schedulers};
pub use kernel::{Code, ResidentKernel};
pub use memory::load_store::LoadStoreUnit;
pub use memory::perfect::PerfectMemory;
pub use memory::sub_cores::SubCoreMemory;
pub use memory::wavefronts::Wavefronts;
pub use memory::{MemoryCounters, MemoryStage, MemoryWires};
pub use observe::auditor;
pub use observe::auditor::{Auditor, Example, Findings, Party, Violation};
pub use observe::counters::{ClassCounts, DesignStatistic, DesignStatistics, Per, SmCounters};
pub use observe::describe::BlockedWarp;
pub use observe::instruments::Instruments;
pub use observe::observer::{Accessed, Awaited, Observer, Seen, Silent, Transferred, Wait};
pub use observe::profile::Profile;
pub use observe::stalls::{SlotAccount, Stall};
pub use observe::timeline::Timeline;
pub use observe::{passages, profile};
pub use operands::{OperandStage, scalar};
pub use outbox::{Client, Outbox};
pub use policy::scoreboard::{self, Board, Scoreboard};
pub use resolved::{Banks, Micro, Names, RegSet, Scheduling};
pub use slab::{Flight, Slab, Window};
pub use sm::{Env, Sm};
pub use spec::{CoreOptions, CoreSpec, Pipe, PipeSet, SCHEDULERS, SpecError};
pub use wake_up::WakeUp;
pub use warps::mask::{MOST_WARPS, WarpMask};
pub use warps::occupancy::{Limiter, Occupancy, Resources, occupancy};
pub use warps::rows::widened;
pub use warps::{PerWarp, Warps};
