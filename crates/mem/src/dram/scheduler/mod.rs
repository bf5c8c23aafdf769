//! Which request a free bank takes next.
//!
//! To add a scheduler: a file with a type that implements [`Policy`], or [`Pick`] where it suffices
//! to choose among the requests for one bank; its row in `schedulers!`; its word in
//! [`config::DramScheduler`].

mod bank_queues;
mod fifo;
mod fr_fcfs;
mod fr_fcfs_cap;
#[cfg(test)]
mod tests;

use bank_queues::{BankQueues, Pick};
use fifo::Fifo;
use kit::persist::{Archive, Mismatch, Persist};

/// A request as schedulers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queued {
    /// The channel's number for the request.
    pub id: u16,
    pub bank: u8,
    pub row: u32,
    pub write: bool,
}

/// The banks' state, for the choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Banks<'a> {
    /// Banks that can take a request, as a bit mask.
    pub free: u64,
    /// The bank that is looked at first.
    pub first: u32,
    /// Row that each bank has or had open.
    pub open_row: &'a [u32],
}

/// A request chosen for its bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub request: Queued,
    /// The row was open already.
    pub row_hit: bool,
    /// Whether the banks are looked at from the next one on from now on.
    pub rotate: bool,
}

/// A scheduling policy: which queued request a free bank takes.
pub(super) trait Policy {
    /// Whether another read can be queued, and another write.
    fn room(&self) -> [bool; 2];
    /// Queues a request; there must be room.
    fn push(&mut self, request: Queued);
    /// Takes the request to serve next.
    fn choose(&mut self, banks: Banks<'_>) -> Option<Choice>;
    /// The banks for one of which [`Policy::choose`] would find something, if they are free. The same until another
    /// method is called.
    fn choosable(&self) -> u64;
}

macro_rules! schedulers {
    ($($name:ident: $scheduler:ty;)*) => {
        /// The scheduler of a channel.
        #[derive(Clone, Debug)]
        pub(super) enum Scheduler {
            Fifo(Fifo),
            $($name($scheduler),)*
        }

        impl Scheduler {
            pub fn new(dram: &config::Dram, banks: usize) -> Self {
                let entries = dram.scheduler_queue;
                if entries == 0 {
                    return Self::Fifo(Fifo::new());
                }
                match dram.scheduler.unwrap_or(config::DramScheduler::FrFcfs) {
                    $(config::DramScheduler::$name => {
                        Self::$name(<$scheduler>::new(entries, dram.write_queue, banks))
                    })*
                }
            }
        }

        macro_rules! dispatch {
            ($self:ident, $s:ident => $call:expr) => {
                match $self {
                    Scheduler::Fifo($s) => $call,
                    $(Scheduler::$name($s) => $call,)*
                }
            };
        }
    };
}

schedulers! {
    FrFcfs: BankQueues<fr_fcfs::FrFcfs>;
    FrFcfsCap: BankQueues<fr_fcfs_cap::FrFcfsCap>;
}

impl Policy for Scheduler {
    #[inline]
    fn room(&self) -> [bool; 2] {
        dispatch!(self, s => s.room())
    }
    #[inline]
    fn push(&mut self, request: Queued) {
        dispatch!(self, s => s.push(request));
    }
    #[inline]
    fn choose(&mut self, banks: Banks<'_>) -> Option<Choice> {
        dispatch!(self, s => s.choose(banks))
    }
    #[inline]
    fn choosable(&self) -> u64 {
        dispatch!(self, s => s.choosable())
    }
}

impl Persist for Scheduler {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        dispatch!(self, s => s.persist(archive))
    }
}

kit::persist! {
    new struct Queued { id, bank, row, write }
}
