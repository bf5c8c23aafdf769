//! The dependences of the instructions in a warp's window, as counts, and who waits for an instruction, as
//! masks.

use sm::InstId;
use sm::Pipe;
use sm::Stall;

/// Places of a warp's window, one bit each.
pub(super) type Places = u64;

/// Places of a warp's window: the bits of [`Places`].
pub(super) const SPAN: usize = 64;

/// The place of the instruction at `order` of its warp's program.
#[inline]
pub(super) const fn place_of(order: u32) -> usize {
    order as usize % SPAN
}

/// Why an instruction waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// It reads what a memory operation produces.
    RawMemory,
    /// It reads what another produces.
    Raw,
    /// It writes what an older one writes.
    Waw,
    /// It writes what an older one reads.
    War,
    /// It may not issue before: memory, branches, synchronisation.
    Order,
}

impl Cause {
    /// The causes in the order in which a stall is put down to them.
    const STALLS: [Stall; 5] = [Stall::RawMemory, Stall::Raw, Stall::Waw, Stall::War, Stall::MemoryOrder];
}

/// How many things an instruction waits for, by [`Cause`]. An instruction names at most 255 registers,
/// and no cause counts more than these and the instructions in flight before their operands are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waits(u64);

impl Waits {
    /// Bits of a count.
    const BITS: u32 = 12;

    /// Counts one more.
    #[inline]
    pub fn begin(&mut self, cause: Cause) {
        self.0 += 1 << (cause as u32 * Self::BITS);
    }

    /// Counts one less.
    #[inline]
    pub fn end(&mut self, cause: Cause) {
        debug_assert!(self.0 >> (cause as u32 * Self::BITS) & ((1 << Self::BITS) - 1) != 0, "it did not wait");
        self.0 -= 1 << (cause as u32 * Self::BITS);
    }

    /// Whether it waits for nothing.
    #[inline]
    pub fn are_over(self) -> bool {
        self.0 == 0
    }

    /// The reason for which it does not issue, if it waits for anything.
    #[inline]
    pub fn stall(self) -> Option<Stall> {
        (self.0 != 0).then(|| Cause::STALLS[(self.0.trailing_zeros() / Self::BITS) as usize])
    }
}

/// The instruction at a place of a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub waits: Waits,
    pub id: InstId,
    pub pipe: Pipe,
}

/// Places that wait for an instruction, by what they wait for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiters {
    /// Its issue.
    pub issue: Places,
    /// Its results, to read them.
    pub result: Places,
}

/// Places that wait for an instruction to write over what it names, by what they wait for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overwriters {
    /// Its issue, to write predicates and uniform registers that it reads.
    pub issue: Places,
    /// Its reads, to write vector registers that it reads.
    pub read: Places,
    /// Its results, to write over them.
    pub result: Places,
}

/// Who waits for an instruction, by [`InstId`]. Fields that every instruction needs are stored together:
/// deep windows do not fit into the host's caches.
#[derive(Debug, Default)]
pub(super) struct AllWaiters {
    pub to_go_on: Vec<Waiters>,
    /// Without renaming; empty with it.
    pub to_write: Vec<Overwriters>,
}

impl AllWaiters {
    /// Nobody waits for `id`, which is new.
    #[inline]
    pub fn begin(&mut self, id: InstId, renames: bool) {
        if self.to_go_on.len() <= id.index() {
            self.to_go_on.resize(id.index() + 1, Waiters::default());
            self.to_write.resize(if renames { 0 } else { id.index() + 1 }, Overwriters::default());
        }
        self.to_go_on[id.index()] = Waiters::default();
        if !renames {
            self.to_write[id.index()] = Overwriters::default();
        }
    }

    /// Who waits to write over what `id` names; none with renaming.
    #[inline]
    pub fn to_write(&self, id: InstId) -> Overwriters {
        self.to_write.get(id.index()).copied().unwrap_or_default()
    }
}

/// The place `mine`, whose waits are `waits`, is one of those that wait at `waiters` for `cause`.
#[inline]
pub(super) fn wait(waiters: &mut Places, mine: Places, waits: &mut Waits, cause: Cause) {
    if *waiters & mine == 0 {
        *waiters |= mine;
        waits.begin(cause);
    }
}
