//! Write policy of a cache: what is done on a hit, and whether replaced data are written back.

use config::{WriteAllocate, WritePolicy};

/// Write policy of one cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    pub write: WritePolicy,
    pub allocate: WriteAllocate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnHit {
    Keep,
    KeepAndPassOn,
    DropAndPassOn,
}

impl Policy {
    pub fn new(config: &config::Cache) -> Self {
        // Where lines come with fills, a write can have one at its miss if nobody waits for the rest of it, and if it
        // need not be written back when the next fill replaces it.
        let lazy = config.write == WritePolicy::WriteThrough && config.write_allocate == WriteAllocate::LazyFetchOnRead;
        let takes_writes = config.allocate == config::Allocate::OnMiss || lazy;
        let allocate = if takes_writes { config.write_allocate } else { WriteAllocate::None };
        Self { write: config.write, allocate }
    }

    pub const fn holds_writes(self) -> bool {
        !matches!(self.write, WritePolicy::ReadOnly)
    }

    /// Whether replaced dirty data go to the next level (or are there already).
    pub const fn writes_back(self) -> bool {
        !matches!(self.write, WritePolicy::WriteThrough)
    }

    pub const fn on_hit(self, local: bool) -> OnHit {
        match self.write {
            WritePolicy::WriteBack => OnHit::Keep,
            WritePolicy::WriteThrough => OnHit::KeepAndPassOn,
            WritePolicy::LocalWriteBackGlobalWriteThrough if local => OnHit::Keep,
            WritePolicy::LocalWriteBackGlobalWriteThrough | WritePolicy::WriteEvict | WritePolicy::ReadOnly => {
                OnHit::DropAndPassOn
            }
        }
    }
}
