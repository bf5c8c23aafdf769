//! DRAM: address decoding, channels, schedulers, timing rules.

mod address;
mod channel;
mod credits;
mod data_pipe;
mod scheduler;
mod timing;

pub(crate) use address::WithinSlice;
pub use address::{AddressMap, Location};
pub(crate) use channel::Channel;
pub use timing::{Command, Rules, Timing};

/// No command cycle is due.
const NEVER_TICK: u64 = u64::MAX;

kit::counters! {
    /// Counts of DRAM channels.
    pub struct DramCounters {
        /// Requests that entered a scheduler.
        pub requests: "requests",
        /// Requests given to a bank.
        pub scheduled: "requests",
        /// Requests given to a bank whose open row is theirs.
        pub row_hits: "requests",
        /// Read commands.
        pub read_commands: "commands",
        /// Write commands.
        pub write_commands: "commands",
        /// Activate commands.
        pub activates: "commands",
        /// Precharge commands.
        pub precharges: "commands",
        /// Cycles in which a row and a column command went together.
        pub double_commands: "DRAM cycles",
        /// Cycles of data transfer, summed over channels.
        pub data_bus_busy: "DRAM cycles",
        /// Reads whose data a channel has given back to its L2 slice.
        pub reads: "requests",
        /// From a request's entry into its channel to its data's return to L2, fixed latency and waits included, summed over these reads.
        pub read_latency: "DRAM cycles",
    }
}
