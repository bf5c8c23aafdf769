//! Anomalies of a trace.

use crate::program::UnknownOpcode;

/// Unusual properties of a trace that do not make it unusable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Opcodes that are in no table.
    pub unknown_opcodes: Vec<UnknownOpcode>,
    /// Accesses by active lanes without addresses; they are treated as accesses to address 0.
    pub accesses_without_address: u64,
    /// Accesses to global memory, by opcode or by the address of the first lane, with an address below 64 KiB
    /// in some lane.
    pub accesses_near_zero: u64,
    /// Accesses with addresses of more than 57 bits, which no GPU has; higher bits are discarded.
    pub accesses_beyond_memory: u64,
    /// Warps whose last instruction is not an EXIT.
    pub warps_without_exit: u64,
}

impl Oddities {
    /// Adds the counts of another trace of the kernel.
    pub fn add(&mut self, other: &Self) {
        for unknown in &other.unknown_opcodes {
            match self.unknown_opcodes.iter_mut().find(|u| u.opcode == unknown.opcode) {
                Some(same) => same.count += unknown.count,
                None => self.unknown_opcodes.push(unknown.clone()),
            }
        }
        self.accesses_without_address += other.accesses_without_address;
        self.accesses_near_zero += other.accesses_near_zero;
        self.accesses_beyond_memory += other.accesses_beyond_memory;
        self.warps_without_exit += other.warps_without_exit;
    }
}

kit::persist! {
    new struct Oddities {
        unknown_opcodes, accesses_without_address, accesses_near_zero, accesses_beyond_memory, warps_without_exit
    }
}
