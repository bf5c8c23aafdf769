//! The operations of streams and graphs: launches, copies, fills, records of events, calls of host functions.

use crate::origin::Origin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workloads::device::ThreadRegisters;

/// When an event happened, in core cycles of its device since its start.
#[derive(Clone, Debug, Default)]
pub struct Stamp(Arc<AtomicU64>);

impl Stamp {
    /// When it happened; `None` if it has not.
    pub fn cycles(&self) -> Option<u64> {
        self.0.load(Ordering::Acquire).checked_sub(1)
    }

    pub(crate) fn set(&self, cycles: u64) {
        self.0.store(cycles + 1, Ordering::Release);
    }
}

/// A kernel with its arguments.
#[derive(Clone, Debug)]
pub struct KernelLaunch {
    /// Kernel, grid, arguments.
    pub live: exec::Launch,
    /// Registers per thread.
    pub registers: ThreadRegisters,
    /// The program's function.
    pub function: u64,
    /// The bytes of its arguments.
    pub args: Vec<Vec<u8>>,
    /// All CTAs are on the GPU at the same time.
    pub cooperative: bool,
    /// Bindings of texture and surface references: where their handles are, and the handles.
    pub bindings: Vec<(u64, u64)>,
    /// Origin when it was made, which for a kernel of a graph is before the launch.
    pub origin: Origin,
}

/// Where a side of a copy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// Device memory or managed memory.
    Device(u64),
    /// Page-locked memory of the process, by its address on the device.
    Locked(u64),
    /// Memory of the process.
    Host(u64),
    /// Contents that were taken when the copy was requested.
    Data(Arc<[u8]>),
}

/// A side of a copy: rows, and slices of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// First byte.
    pub at: At,
    /// Bytes from a row to the next.
    pub pitch: u64,
    /// Bytes from a slice to the next.
    pub slice: u64,
}

/// A copy of a box of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Copy {
    pub from: Side,
    pub to: Side,
    /// In bytes.
    pub width: u64,
    /// In rows.
    pub height: u64,
    /// In slices.
    pub depth: u64,
}

impl Copy {
    /// A copy of `bytes` that follow each other.
    pub fn line(from: At, to: At, bytes: u64) -> Self {
        let side = |at| Side { at, pitch: bytes, slice: bytes };
        Self { from: side(from), to: side(to), width: bytes, height: 1, depth: 1 }
    }

    /// Bytes that it moves.
    pub fn bytes(&self) -> u64 {
        self.width * self.height * self.depth
    }

    /// The spans of which it consists: offsets on both sides, and bytes. Rows that follow each other on both sides
    /// are one span.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (u64, u64, u64)> + use<> {
        let Self { width, height, depth, .. } = *self;
        let (from, to) = ([self.from.pitch, self.from.slice], [self.to.pitch, self.to.slice]);
        let whole_rows = height == 1 || (from[0] == width && to[0] == width);
        let (span, rows) = if whole_rows { (width * height, 1) } else { (width, height) };
        let empty = self.bytes() == 0;
        (0..if empty { 0 } else { depth })
            .flat_map(move |z| (0..rows).map(move |y| (from[0] * y + from[1] * z, to[0] * y + to[1] * z, span)))
    }
}

/// A box of device memory that is filled with a pattern of 1, 2 or 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Fill {
    pub address: u64,
    /// Bytes from a row to the next.
    pub pitch: u64,
    pub pattern: [u8; 4],
    /// Bytes of the pattern: 1, 2 or 4.
    pub unit: u64,
    /// In bytes.
    pub width: u64,
    /// In rows.
    pub height: u64,
}

/// A function of the host program with its argument, as numbers: the C boundary calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Call {
    pub function: u64,
    pub argument: u64,
    /// The stream that a callback of a stream receives; `None` for functions that take their argument only.
    pub stream: Option<u64>,
}

/// A number of 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    bytes: [u8; 8],
    size: usize,
}

impl Value {
    /// `value`, of which 32 bits count unless it is `wide`.
    pub fn new(value: u64, wide: bool) -> Self {
        Self { bytes: value.to_le_bytes(), size: if wide { 8 } else { 4 } }
    }

    /// As memory has it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }

    fn number(self) -> u64 {
        u64::from_le_bytes(self.bytes) & if self.size == 8 { u64::MAX } else { u64::from(u32::MAX) }
    }
}

/// Comparison of a value in memory (`CU_STREAM_WAIT_VALUE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Comparison {
    /// At least, cyclically: the difference is not negative.
    AtLeast,
    Equal,
    And,
    Nor,
}

/// A wait for a value in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ValueWait {
    pub address: u64,
    pub value: Value,
    pub comparison: Comparison,
}

impl ValueWait {
    /// Whether `found` is what is waited for.
    pub(crate) fn is_met(&self, found: u64) -> bool {
        let (value, wide) = (self.value.number(), self.value.size == 8);
        match self.comparison {
            Comparison::AtLeast if wide => found.wrapping_sub(value) as i64 >= 0,
            Comparison::AtLeast => (found.wrapping_sub(value) as u32).cast_signed() >= 0,
            Comparison::Equal => found == value,
            Comparison::And => found & value != 0,
            Comparison::Nor => Value::new(!(found | value), wide).number() != 0,
        }
    }
}

/// Effect of an operation.
#[derive(Clone, Debug)]
pub enum Work {
    /// Runs a kernel.
    Launch(Arc<KernelLaunch>),
    /// Copies memory.
    Copy(Copy),
    /// Fills memory.
    Fill(Fill),
    /// Stores a value in device memory, in no time.
    Store(u64, Value),
    /// Waits for a value in device memory.
    WaitValue(ValueWait),
    /// Frees the device memory that starts at an address.
    Release(u64),
    /// Notes the time.
    Record(Stamp),
    /// Calls a function of the host program.
    Call(Call),
    /// Nothing: other operations wait for it.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_follow_each_other_are_one_span() {
        let line = Copy::line(At::Host(0), At::Device(0), 100);
        assert_eq!(line.spans().collect::<Vec<_>>(), [(0, 0, 100)]);
        let side = |pitch, slice| Side { at: At::Host(0), pitch, slice };
        let boxed = Copy { from: side(8, 32), to: side(16, 64), width: 8, height: 2, depth: 2 };
        assert_eq!(boxed.spans().collect::<Vec<_>>(), [(0, 0, 8), (8, 16, 8), (32, 64, 8), (40, 80, 8)]);
        let packed = Copy { from: side(8, 16), to: side(8, 16), ..boxed };
        assert_eq!(packed.spans().collect::<Vec<_>>(), [(0, 0, 16), (16, 16, 16)]);
        assert_eq!(Copy::line(At::Host(0), At::Device(0), 0).spans().count(), 0);
    }
}
