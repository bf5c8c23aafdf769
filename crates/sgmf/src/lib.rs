//! The SGMF core: threads flow as tagged tokens through a kernel that is configured on a fabric of functional
//! units (Voitsechov and Etsion, ISCA 2014).
//!
//! ```text
//!            injector                       sequencer: regions, masks of threads, barriers
//!               │ tokens (TID, value)
//!               ▼
//!   ┌─► links ─► token buffers ─► units ─► links ─► token buffers ─► units ─► …
//!   │                               │
//!   │        compute, control: pipelined, in order
//!   │        special: blocks behind a reservation buffer, epochs
//!   └──────  LDST: reservation buffer, epochs ──► crossbar ──► L1 banks ──► Port
//! ```
//! [`Sgmf`] is a [`gpu::Core`]; a launch for it is an [`SgmfKernel`], made of a [`dataflow::mapping::Mapped`]. The
//! values travel in the tokens: nothing is executed elsewhere.
//!
//! Within a cycle the elements (units, links, the injector) are visited from the sinks of the graph to
//! its sources, and only those to which something can happen: what makes room is seen upstream in the same cycle,
//! a token that arrives is seen in the next one. A fabric without events costs nothing.
//!
//! # Deviations and readings
//! - D1. A token has up to 64 bits; the paper's ports have 32. Counters of bits count words of 32 bits.
//! - D2. A result goes to all its branches in one cycle, when the first register of each has room.
//! - D3. An access to L1 of several units to one bank is granted to the unit nearest to the sinks, which has the
//!   oldest threads. Within a unit the oldest access of the epoch whose bank is free goes first (FR-FCFS, §5.1).
//! - D4. The data of a line that arrives go to all accesses that wait for it, without a bank's time.
//! - D5. A store leaves its unit with the latency of a hit once L1 has taken it, hit or miss: the line that is fetched
//!   for it keeps its data. The paper does not say when a store's enable token is sent.
//! - D6. Atomic operations are executed at L2; a copy of the line in L1 is not invalidated, as data are kept apart
//!   from timing.
//! - D7. The fabric's threads form a batch: those of all CTAs that have arrived before the first region has been
//!   passed by all, at most `batch_threads`. A batch ends as a whole, after the dirty lines of L1 have been
//!   written back.
//! - D8. Constants are read through L1: there is no constant cache.
//! - D9. A delay of *n* places (§4.4) is a FIFO: it holds *n* tokens, those of its last cycle among them, and passes
//!   one in two cycles (one, if *n* is 1) where nothing waits.
//! - D10. The paper gives no latency of a division or root. §4.2: a special unit "will consume new input tokens in
//!   (practically) every cycle by distributing their computation to one of its multiple computational blocks", its
//!   example has 8 blocks, and they are not pipelined. That holds only if an operation takes at most 8 cycles:
//!   `special_latency` is 8, an inference from the sentence. With the GPU's latencies (`special_latency=0`) operations
//!   occupy a block for their initiation interval, but an entry of the reservation buffer for all of the latency: 16
//!   entries begin 16 operations in latency + 16 cycles. With 8 cycles they begin 16 in 24.
//! - D11. Double precision is pipelined (`double_interval=1`): "non-pipelined computations (division and square root
//!   operations)" (§2.1), "integer divisions, floating point divisions and square root computations" (§4.2) and
//!   "*div*, *sqrt*" (§5.2.1) are the paper's lists of what is not. Its compute units have no double-precision unit at
//!   all (§5.2), yet BP and PF of its table 2 compute in double precision.
//! - D12. A configuration may hold copies of a graph side by side, each of which takes a thread a cycle; blocks of
//!   `copy_block` threads pass the copies in turn. The text does not mention copies. But §7.1 explains the speedup by
//!   parallelism: the SM has "at most 32 operations per cycle", the fabric "108 units that can execute in parallel". A
//!   graph of 15 nodes at a thread a cycle has 15.
//! - D13. §4.1 has epochs at the entry of a unit: younger threads "will not be processed by a LDST unit before all threads
//!   from previous epochs have left the node". §5.1 has them at the exit: "once all the tokens from the current epoch
//!   have been sent, the epoch counter is advanced by one, and the tokens from the next epoch can be sent on". Figure 4's
//!   explanation is §4.1's, which is the default; `epoch_gate=exit` is the other one.
#![warn(missing_docs)]

mod batch;
mod config;
mod configuration;
mod core;
mod fabric;
mod hardware;
mod injector;
mod kernel;
mod kind;
mod l1;
mod ldst;
mod links;
mod memory;
mod observer;
mod pass;
mod pipeline;
mod reservation;
mod sequencer;
mod shares;
mod special;
mod stalls;
mod state;
mod statistics;
mod token;
mod units;
mod wheel;

pub use crate::config::{EpochGate, L1Write, SgmfConfig, Timing};
pub use crate::core::Sgmf;
pub use configuration::KernelError;
pub use hardware::hardware;
pub use kernel::SgmfKernel;
pub use kind::{Kind, UnitCounts, unit_counts};
pub use observer::{Note, Observer};
pub use statistics::{Reason, SgmfCounters};
