//! The memory of a reader of device memory: several read it at the same time.

use std::cell::Cell;

/// Memory of a reader of device memory from one access to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    /// Slot of the allocation that was found last; the next access is likely to be in it.
    pub(super) last: Cell<usize>,
    /// The first access outside allocations since this was last taken, if they are reported.
    pub(super) stray: Cell<Option<u64>>,
}

impl Reader {
    /// The first access outside allocations since this was last called, if they are reported.
    pub fn take_stray(&self) -> Option<u64> {
        self.stray.take()
    }
}
