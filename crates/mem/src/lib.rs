//! Timing of the memory hierarchy: coalescer, shared-memory banks, caches with MSHRs, crossbar,
//! L2 slices, DRAM channels.
//!
//! **Invariant:** no values and no SM state here; SMs meet the rest of the GPU only through
//! [`Port`]s, whose messages carry the cycle from which they may be seen.
//!
//! ```text
//! SM: coalesce ──► L1 (Cache) ──► Port ══► crossbar ──► L2 slice (Cache) ──► DRAM channel
//!                  ▲                ║        requests    │  ▲                   │
//!                  └────────────────╚══◄ crossbar ◄──────┘  └───────────────────┘
//!                                          replies
//! ```
//! [`coalesce`], [`shared_banks`], [`carveout`] and [`Cache`] are parts for the SM's load/store
//! unit; [`MemorySystem`] is everything after the ports. Replies name the [`Level`] that their data
//! came from. The source tree is the list of choices:
//! `cache/{index,policy}`, `cache/replacement/`, `crossbar/`, `dram/scheduler/`,
//! `dram/{timing,address}`.
//!
//! The model follows GPGPU-Sim 4 and Accel-Sim, whose structures, queue lengths and order within
//! a cycle it follows; the implementation is event-driven and visits only what has something to do.
//!
//! # Taken from GPGPU-Sim unchanged, though hardware may differ
//! 1. Packets take the time of one flit, whatever they carry, as in Accel-Sim's built-in crossbar:
//!    `interconnect.flit_bytes` decides only how many flits are counted, for energy. The port of an L2 slice may
//!    take as long as the bytes do (`l2.request_bytes_per_cycle`).
//! 2. Under iSLIP an input may send to several outputs in one cycle (see `crossbar/islip`).
//! 3. Flushing the L2 drops dirty data without sending them to DRAM.
//! 4. A write-back L2 acknowledges writes; DRAM sends no reply to write-backs.
//! 5. DRAM is not refreshed, pages stay open, and read data count as there after tCL, without the
//!    length of the burst.
//! 6. On a single command bus, a row command and a column command may go in one cycle when the
//!    row's bank comes first in turn.
//! 7. Write-evict is what the L1 policy "local write-back, global write-through" does to global
//!    data.
//! 8. With a number of channels that is not a power of two, the IPOLY hash is folded by a remainder,
//!    which favours the first slices by two to one.
//!
//! # Deviations
//! - D1. Clock domains are kept in exact integers. The L2's and DRAM's fixed latencies are counted
//!   in their own clocks, to which configurations convert Accel-Sim's core cycles.
//! - D2. The ejection buffer's room is looked at before the SM takes its reply of the same cycle.
//! - D3. After a row command on a single bus, the column command of the same cycle is looked for in
//!   the plain order of banks; GPGPU-Sim's order jumps, as its starting point moves meanwhile.
//! - D4. A separate DRAM write queue is also drained when no read waits; GPGPU-Sim leaves the last
//!   writes there for good.
//! - D5. Plain round robin starts at each input equally often (see `crossbar/round_robin`).
//! - D6. Every write-back occupies the data port; GPGPU-Sim counts some of them as zero bytes.
//! - D7. A line with a sector under way stays pinned even if that sector is written meanwhile.
//! - D8. A read of a line that was replaced before its former waiters had their replies joins them and
//!   reserves nothing; in GPGPU-Sim the new line would wait indefinitely.
//! - D9. A write-back of sectors that are not neighbours is one request per run of neighbours.
//! - D10. Lines of equal age are replaced in the order of their use within a cycle.
//! - D11. The texture cache is a cache like the others, without fragment queue and reorder buffer,
//!   and its misses take the latency path of a slice, which they skip in GPGPU-Sim.
//! - D12. A dirty line that is replaced at a fill (local data in an L1 that allocates on fill) is written
//!   back; GPGPU-Sim loses it.
//! - D13. Queues too short for one request are taken as just long enough: a miss queue holds three,
//!   and a slice whose input is shorter than a line's four sectors takes a packet when it is empty.
//! - D14. IPOLY hashes other than over 16, 32 and 64 places, which GPGPU-Sim lacks, use the
//!   primitive polynomial of their degree.
#![warn(missing_docs)]

pub mod cache;
pub mod carveout;
mod clock;
pub mod coalesce;
mod coming;
mod crossbar;
pub mod dram;
mod gate;
mod gpc_cache;
mod in_step;
mod ipoly;
mod level;
mod packet;
mod partition;
mod port;
pub mod shared_banks;
mod staged;
mod system;
#[cfg(test)]
mod testing;
mod timetable;
mod topology;

use config::GpuConfig;
use std::ops::Range;

pub use cache::{Cache, CacheCounters};
pub use crossbar::CrossbarCounters;
pub use dram::DramCounters;
pub use gate::{Ejected, Gate};
pub use in_step::InStep;
pub use level::{Level, Levels};
pub use partition::PartitionCounters;
pub use port::{Drain, Port, Request, RequestKind};
pub use system::{AnswerCounters, ByPart, MemoryCounters, MemorySystem};

/// Addresses of code for the caches, which no data have. Constant banks follow.
pub const CODE: Range<u64> = 1 << 43..1 << 44;

/// Addresses whose lines caches of instructions and constants keep at a launch.
pub fn kept_at_launches(gpu: &GpuConfig) -> Range<u64> {
    if gpu.launch.keeps_code == Some(true) { CODE } else { 0..0 }
}
