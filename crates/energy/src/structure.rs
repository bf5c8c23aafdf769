//! Hardware structures of a core design, for `list cores` and the cost model.

use crate::storage::Storage;
use serde::Serialize;

/// Events for which a structure is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// A warp instruction: it enters the buffer, issues, reads its registers and writes back once each.
    Instruction,
    /// A register that an instruction reads.
    Source,
    /// A register that an instruction writes.
    Result,
    /// A register that an instruction reads or writes.
    Operand,
    /// A warp instruction that accesses memory other than constants and textures.
    Access,
    /// A register that an instruction reads from the scalar register file.
    ScalarRead,
    /// A register that an instruction writes to the scalar register file.
    ScalarWrite,
    /// A register whose lanes the scalar detector compares.
    Compared,
}

impl Each {
    /// `times` uses for each.
    pub const fn times(self, times: u32) -> Uses {
        Uses { times, per: self }
    }
}

/// Number of uses of a structure, in all instances together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uses {
    /// Number of uses for each.
    pub times: u32,
    /// The counted event.
    pub per: Each,
}

impl Uses {
    /// No use.
    pub const NONE: Self = Self { times: 0, per: Each::Instruction };
}

/// A hardware structure of a design.
///
/// ```
/// # use energy::{Each, Structure};
/// // 32 queues of two 97-bit entries, one written when an instruction is decoded, read when it issues.
/// let one = Each::Instruction.times(1);
/// let buffer = Structure::new("instruction buffer", 32, 2, 97).ports(1, 2).read(one).written(one);
/// assert_eq!(buffer.total_bits(), 32 * 2 * 97);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Structure {
    /// Name of the structure in the paper.
    pub name: &'static str,
    /// Number of instances in an SM.
    pub instances: usize,
    /// Sizes of one instance.
    #[serde(flatten)]
    pub storage: Storage,
    /// Number of reads of an entry.
    #[serde(skip)]
    pub reads: Uses,
    /// Number of writes of an entry.
    #[serde(skip)]
    pub writes: Uses,
    /// Number of uses of its comparators, or of its matrix.
    #[serde(skip)]
    pub searches: Uses,
}

impl Structure {
    /// `instances` of `entries` of `bits`, each with a read port and a write port, without uses.
    pub const fn new(name: &'static str, instances: usize, entries: usize, bits: usize) -> Self {
        Self {
            name,
            instances,
            storage: Storage { entries, bits, read_ports: 1, write_ports: 1, compared_bits: 0, matrix: false },
            reads: Uses::NONE,
            writes: Uses::NONE,
            searches: Uses::NONE,
        }
    }

    /// Sets the numbers of ports.
    pub const fn ports(self, read_ports: usize, write_ports: usize) -> Self {
        Self { storage: Storage { read_ports, write_ports, ..self.storage }, ..self }
    }

    /// Adds comparators of `compared_bits` to each instance.
    pub const fn compares(self, compared_bits: usize) -> Self {
        Self { storage: Storage { compared_bits, ..self.storage }, ..self }
    }

    /// Makes it a matrix.
    pub const fn matrix(self) -> Self {
        Self { storage: Storage { matrix: true, ..self.storage }, ..self }
    }

    /// Sets the number of reads.
    pub const fn read(self, reads: Uses) -> Self {
        Self { reads, ..self }
    }

    /// Sets the number of writes.
    pub const fn written(self, writes: Uses) -> Self {
        Self { writes, ..self }
    }

    /// Sets the number of uses of its comparators, or of its matrix.
    pub const fn searched(self, searches: Uses) -> Self {
        Self { searches, ..self }
    }

    /// Bits in an SM.
    pub const fn total_bits(&self) -> usize {
        self.instances * self.storage.total_bits()
    }
}
