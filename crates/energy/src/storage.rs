//! Area and energy of a small hardware structure from its sizes.
//!
//! The structures of issue designs are small and have many ports: flip-flops with multiplexers in
//! front and behind, built of standard cells. Areas are those of the NanGate 45 nm Open Cell Library
//! (version 1.3, 2010), of cells alone: no wires, no decoders, no clock tree. Energies come from the
//! area that switches, at the density of a 32-bit adder at 45 nm and 0.9 V: 0.1 pJ in 137 um2
//! (M. Horowitz, "Computing's energy problem", ISSCC 2014, figure 1.1.9 and its area table). Leakage
//! is that of the flip-flop, 79.1 nW in 4.522 um2 (same library, typical corner, 1.1 V, 25 C). Other
//! nodes by [`scaling`](crate::scaling); leakage, for which it has no figures, by area.
//!
//! It is a first-order model: a synthesis tool shares logic that we count twice, and adds wires that
//! we do not count. Within a factor of two of one is what to expect.

use crate::scaling::{area_factor, energy_factor};

/// D flip-flop, DFF_X1, in square micrometres.
const FLIP_FLOP_UM2: f64 = 4.522;
/// Two-way multiplexer, MUX2_X1.
const MUX_UM2: f64 = 1.862;
/// Comparison of a bit, XNOR2_X1, and its share of the tree that gathers the bits, NAND2_X1.
const COMPARE_UM2: f64 = 1.596 + 0.798;
/// A cell of a matrix: set, cleared by row and by column, part of a NOR over its row (three NAND2_X1)
/// beside its flip-flop.
const MATRIX_LOGIC_UM2: f64 = 3.0 * 0.798;
/// Energy of switching logic.
const PJ_PER_UM2: f64 = 0.1 / 137.0;
/// Supply voltage that it holds for.
const VOLTS: f64 = 0.9;
/// Leakage.
const NW_PER_UM2: f64 = 79.1 / FLIP_FLOP_UM2;
/// Node of all of these.
const NODE_NM: f64 = 45.0;

/// Sizes of a structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// Entries.
    pub entries: usize,
    /// Bits of an entry.
    pub bits: usize,
    /// Entries that can be read in a cycle.
    pub read_ports: usize,
    /// Entries that can be written in a cycle.
    pub write_ports: usize,
    /// Bits that can be compared in a cycle.
    pub compared_bits: usize,
    /// Whether it is a matrix, whose rows and columns are cleared and tested at once.
    pub matrix: bool,
}

/// What a structure costs in some process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Area in square micrometres.
    pub area_um2: f64,
    /// Energy of reading an entry, in picojoules.
    pub read_pj: f64,
    /// Energy of writing an entry.
    pub write_pj: f64,
    /// Energy of one use of all its comparators, or of testing a matrix.
    pub search_pj: f64,
    /// Leakage in nanowatts.
    pub leakage_nw: f64,
}

impl Storage {
    /// Bits stored.
    pub fn total_bits(&self) -> usize {
        self.entries * self.bits
    }

    /// Its cost at `node_nm` and `volts`.
    pub fn cost(&self, node_nm: f64, volts: f64) -> Cost {
        let (entries, bits) = (self.entries as f64, self.bits as f64);
        let read_port = bits * (entries - 1.0).max(0.0) * MUX_UM2;
        let write_port = entries * bits * MUX_UM2;
        let matrix = if self.matrix { entries * bits * MATRIX_LOGIC_UM2 } else { 0.0 };
        let compare = self.compared_bits as f64 * COMPARE_UM2;
        let area = entries * bits * FLIP_FLOP_UM2
            + self.read_ports as f64 * read_port
            + self.write_ports as f64 * write_port
            + matrix
            + compare;
        let (smaller, cheaper) = (area_factor(NODE_NM, node_nm), energy_factor(NODE_NM, VOLTS, node_nm, volts));
        let pj = |um2: f64| um2 * PJ_PER_UM2 * cheaper;
        Cost {
            area_um2: area * smaller,
            read_pj: pj(read_port),
            write_pj: pj(bits * (FLIP_FLOP_UM2 + MUX_UM2)),
            search_pj: pj(compare + matrix),
            leakage_nw: area * smaller * NW_PER_UM2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_grow_with_each_size() {
        let base = Storage { entries: 8, bits: 64, read_ports: 1, write_ports: 1, compared_bits: 24, matrix: false };
        let cost = base.cost(45.0, 0.9);
        let larger = [
            Storage { entries: 16, ..base },
            Storage { bits: 111, ..base },
            Storage { read_ports: 2, ..base },
            Storage { write_ports: 2, ..base },
            Storage { compared_bits: 48, ..base },
            Storage { matrix: true, ..base },
        ];
        for larger in larger {
            let more = larger.cost(45.0, 0.9);
            assert!(more.area_um2 > cost.area_um2 && more.leakage_nw > cost.leakage_nw, "{larger:?}");
            assert!(larger.cost(12.0, 0.8).area_um2 < more.area_um2);
            assert!(larger.cost(12.0, 0.8).write_pj < more.write_pj);
        }
    }

    /// One flip-flop with its write multiplexer, by hand.
    #[test]
    fn a_single_bit_is_its_cells() {
        let bit = Storage { entries: 1, bits: 1, read_ports: 1, write_ports: 1, ..Storage::default() };
        let cost = bit.cost(45.0, 0.9);
        assert!((cost.area_um2 - (4.522 + 1.862)).abs() < 1e-9);
        assert_eq!(cost.read_pj, 0.0);
        assert!((cost.write_pj - 6.384 * 0.1 / 137.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_costs_nothing() {
        assert_eq!(Storage::default().cost(12.0, 1.0), Cost::default());
    }
}
