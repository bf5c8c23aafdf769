//! Launches that do nothing but fill memory, at least as much as the L2 holds: programs that measure their kernels empty
//! the L2 so before each. Their time follows from the bandwidth of DRAM, and simulating it takes longer than the kernels.
//!
//! The rule: the code reads no memory but parameters and constants, and an argument is an address in an allocation of at
//! least the L2's size. The launch is then executed without time. If it has stored one value of 4 bytes throughout a span
//! of at least that size, each byte once, it was a fill. Otherwise it is simulated, and stores the same again: it has
//! read nothing that it has changed.

use exec::{DeviceMemory, FunctionalStats, Launch};
use isa::{Access, DynInst, Program, Space};
use kit::lanes;
use std::ops::Range;
use std::sync::Arc;

/// Launches that are remembered.
pub(super) const MOST_KNOWN: usize = 16;

/// Bytes that are looked at at once.
const CHUNK_BYTES: u64 = 1 << 20;

/// A launch and its effect, which is the same each time: it reads nothing.
pub(crate) struct Known {
    pub launch: Launch,
    /// Its effect; none if it is not a fill.
    pub filled: Option<(Filled, u32)>,
}

/// A launch that was executed as a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The first byte.
    pub address: u64,
    /// Bytes that were stored.
    pub bytes: u64,
    /// Instructions that it has, all of them.
    pub executed: FunctionalStats,
}

/// The same code with the same arguments.
pub(super) fn is_same(a: &Launch, b: &Launch) -> bool {
    let shape = |launch: &Launch| (launch.grid, launch.block, launch.dynamic_shared);
    Arc::ptr_eq(&a.kernel, &b.kernel) && shape(a) == shape(b) && a.params() == b.params()
}

/// Whether a program stores to global memory and reads none but parameters and constants.
pub(super) fn only_stores(program: &Program) -> bool {
    let mut accesses = program.insts().iter().filter_map(|inst| inst.mem).peekable();
    accesses.peek().is_some()
        && accesses.all(|mem| match mem.access {
            Access::Store => matches!(mem.space, Space::Global | Space::Generic),
            Access::Load => matches!(mem.space, Space::Constant | Space::Param),
            _ => false,
        })
}

/// The stores of a launch.
#[derive(Default)]
pub(super) struct Stores {
    pub span: Option<Range<u64>>,
    pub bytes: u64,
    pub is_global: bool,
}

impl Stores {
    pub fn see(&mut self, program: &Program, out: &DynInst) {
        let Some(mem) = program.insts()[out.pc.index()].mem.filter(|mem| mem.access == Access::Store) else { return };
        self.is_global &= out.space == Space::Global;
        for lane in lanes(out.mask) {
            let (from, bytes) = (out.addresses[lane], u64::from(mem.bytes));
            let span = self.span.get_or_insert(from..from);
            *span = span.start.min(from)..span.end.max(from.saturating_add(bytes));
            self.bytes += bytes;
        }
    }
}

/// The value of 4 bytes that `memory` has throughout a span.
pub(super) fn value_of(memory: &DeviceMemory, span: &Range<u64>) -> Option<u32> {
    let mut value = None;
    let mut at = span.start;
    while at < span.end {
        let mut chunk = vec![0; (span.end - at).min(CHUNK_BYTES) as usize];
        memory.read(at, &mut chunk).ok()?;
        for word in chunk.chunks_exact(4) {
            let word = u32::from_le_bytes(word.try_into().ok()?);
            if *value.get_or_insert(word) != word {
                return None;
            }
        }
        at += chunk.len() as u64;
    }
    value
}
