//! Hardware structures of a design: what `list cores` and the cost model read.

/// What a structure is used for.
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

/// How often a structure is used, all instances together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uses {
    /// How many times for each.
    pub times: u32,
    /// Of these.
    pub per: Each,
}

impl Uses {
    /// Never.
    pub const NONE: Self = Self { times: 0, per: Each::Instruction };
}

/// A hardware structure of a design.
///
/// ```
/// # use sm::{Each, Structure};
/// // 32 queues of two 97-bit entries, one written when an instruction is decoded, read when it issues.
/// let one = Each::Instruction.times(1);
/// let buffer = Structure::new("instruction buffer", 32, 2, 97).ports(1, 2).read(one).written(one);
/// assert_eq!(buffer.total_bits(), 32 * 2 * 97);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// What it is, in the paper's words.
    pub name: &'static str,
    /// How many of it an SM has.
    pub instances: usize,
    /// Entries of one.
    pub entries: usize,
    /// Bits of an entry.
    pub bits: usize,
    /// Entries that can be read in one cycle, each picked out of all.
    pub read_ports: usize,
    /// Entries that can be written in one cycle.
    pub write_ports: usize,
    /// Bits that one compares in a cycle, with each other or with what comes in.
    pub compared_bits: usize,
    /// Whether it is a matrix, whose rows and columns are cleared and tested at once.
    pub matrix: bool,
    /// How often an entry is read.
    pub reads: Uses,
    /// How often an entry is written.
    pub writes: Uses,
    /// How often its comparators, or its matrix, are used.
    pub searches: Uses,
}

impl Structure {
    /// `instances` of `entries` of `bits`, each with a port to read and one to write, never used.
    pub const fn new(name: &'static str, instances: usize, entries: usize, bits: usize) -> Self {
        Self {
            name,
            instances,
            entries,
            bits,
            read_ports: 1,
            write_ports: 1,
            compared_bits: 0,
            matrix: false,
            reads: Uses::NONE,
            writes: Uses::NONE,
            searches: Uses::NONE,
        }
    }

    /// With other numbers of ports.
    pub const fn ports(self, read_ports: usize, write_ports: usize) -> Self {
        Self { read_ports, write_ports, ..self }
    }

    /// With comparators of `compared_bits` in each.
    pub const fn compares(self, compared_bits: usize) -> Self {
        Self { compared_bits, ..self }
    }

    /// As a matrix.
    pub const fn matrix(self) -> Self {
        Self { matrix: true, ..self }
    }

    /// Read so often.
    pub const fn read(self, reads: Uses) -> Self {
        Self { reads, ..self }
    }

    /// Written so often.
    pub const fn written(self, writes: Uses) -> Self {
        Self { writes, ..self }
    }

    /// Searched so often.
    pub const fn searched(self, searches: Uses) -> Self {
        Self { searches, ..self }
    }

    /// Bits in an SM.
    pub const fn total_bits(&self) -> usize {
        self.instances * self.entries * self.bits
    }
}

/// Bits compared to find the dependences between two instructions: the result of each with the three
/// sources of the other and with its result, names of 8 bits.
pub(crate) const DEPENDENCE_BITS: usize = (3 + 3 + 1) * 8;
