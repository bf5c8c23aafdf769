//! Changes that a layer over the operand stage makes to an instruction, settled when it is decoded.

use crate::resolved::Banks;

/// How an instruction collects its operands and leaves its results, where that is not as its operands say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Vector registers that it does not read from the banks: bit *i* is the *i*-th of those it reads.
    pub skipped: u64,
    /// Registers that are copied to their banks before it executes: bit *i* is the *i*-th of those it
    /// writes.
    pub copied: u64,
    /// The banks that it still reads and writes.
    pub(crate) banks: Banks,
    /// It writes its vector registers without their banks: all or none.
    pub skips_writes: bool,
    /// Lanes times registers that it does not read from the banks.
    pub lane_reads_saved: u16,
    /// Lanes times registers that it does not write to the banks.
    pub lane_writes_saved: u16,
    /// Operations that it does less than it has lanes.
    pub lanes_saved: u8,
}
