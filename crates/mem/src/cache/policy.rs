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
        // Lines that are only reserved by fills cannot take a write at its miss.
        let on_miss = config.allocate == config::Allocate::OnMiss;
        let allocate = if on_miss { config.write_allocate } else { WriteAllocate::None };
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
