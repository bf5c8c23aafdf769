//! Area and energy of a small hardware structure, computed from its sizes.
//!
//! The structures of issue designs are small and have many ports: flip-flops with multiplexers at inputs and
//! outputs, built of standard cells by a synthesis tool. Areas, leakage and internal energies are from
//! the NanGate 45 nm Open Cell Library (version 1.3, 2010; typical corner, 1.1 V, 25 C), for cells only: no
//! wires, loads, decoders or clock tree. In each use half of the cells involved switch, and half of the bits
//! written change. Energies are converted to other nodes by [`scaling`](crate::scaling); leakage, for which
//! it has no figures, is scaled by area.
//!
//! It is a first-order model: a synthesis tool shares logic that we count twice, and adds wires that we do
//! not count. Expect an error of up to a factor of two.

use crate::scaling::{area_factor, energy_factor};
use serde::Serialize;

/// A standard cell.
struct Cell {
    /// Area in square micrometres.
    um2: f64,
    /// Leakage in nanowatts, mean over its states.
    leakage_nw: f64,
    /// Internal energy of a change of its output in femtojoules, averaged over the input transitions, with an
    /// input slew of 17 ps and the third smallest load of the library's tables.
    switch_fj: f64,
}

/// D flip-flop, DFF_X1. Its energy includes the input, both outputs and the two clock edges.
const FLIP_FLOP: Cell = Cell { um2: 4.522, leakage_nw: 79.1, switch_fj: 16.4 };
/// The two clock edges of a flip-flop that keeps its bit.
const CLOCK_FJ: f64 = 6.9;
/// Two-way multiplexer, MUX2_X1.
const MUX: Cell = Cell { um2: 1.862, leakage_nw: 35.9, switch_fj: 3.3 };
/// Comparison of two bits, XNOR2_X1.
const XNOR: Cell = Cell { um2: 1.596, leakage_nw: 36.4, switch_fj: 2.9 };
/// Gate, NAND2_X1.
const NAND: Cell = Cell { um2: 0.798, leakage_nw: 17.4, switch_fj: 1.3 };
/// Gates of a matrix cell in addition to its flip-flop: set, clear by row and by column, part of a NOR over
/// its row.
const GATES_OF_MATRIX_CELL: f64 = 3.0;
/// Share of cells that switch in a use.
const SWITCHING: f64 = 0.5;
/// Node of these figures.
const NODE_NM: f64 = 45.0;
/// Supply voltage of these figures.
const VOLTS: f64 = 1.1;

/// Sizes of a structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Storage {
    pub entries: usize,
    /// Bits of an entry.
    pub bits: usize,
    /// Entries that can be read in a cycle; each port selects among all.
    pub read_ports: usize,
    /// Entries that can be written in a cycle.
    pub write_ports: usize,
    /// Bits that can be compared in a cycle, with each other or with incoming ones.
    pub compared_bits: usize,
    /// It is a matrix, whose rows and columns are cleared and tested at once.
    #[serde(skip)]
    pub matrix: bool,
}

/// Area, energies and leakage of a structure in a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Area in square micrometres.
    pub area_um2: f64,
    /// Energy of reading an entry, in picojoules.
    pub read_pj: f64,
    /// Energy of writing an entry: only its flip-flops are clocked.
    pub write_pj: f64,
    /// Energy of one use of all its comparators, or of one test of a matrix.
    pub search_pj: f64,
    /// Energy of a clock cycle without a write, if the clock is not gated.
    pub clock_pj: f64,
    /// Leakage in nanowatts.
    pub leakage_nw: f64,
}

impl Storage {
    /// Number of stored bits.
    pub const fn total_bits(&self) -> usize {
        self.entries * self.bits
    }

    /// Cost of a multiplexer of `bits` with this many inputs, at `node_nm` and `volts`; a use is a read.
    pub fn multiplexer(inputs: usize, bits: usize, node_nm: f64, volts: f64) -> Cost {
        let with = Self { entries: inputs, bits, read_ports: 1, ..Self::default() };
        let (with, without) = (with.cost(node_nm, volts), Self { read_ports: 0, ..with }.cost(node_nm, volts));
        Cost {
            area_um2: with.area_um2 - without.area_um2,
            read_pj: with.read_pj,
            leakage_nw: with.leakage_nw - without.leakage_nw,
            ..Cost::default()
        }
    }

    /// Cost of the structure at `node_nm` and `volts`.
    pub fn cost(&self, node_nm: f64, volts: f64) -> Cost {
        let (entries, bits) = (self.entries as f64, self.bits as f64);
        let cells = entries * bits;
        let read_muxes = bits * (entries - 1.0).max(0.0);
        let muxes = self.read_ports as f64 * read_muxes + self.write_ports as f64 * cells;
        // Each comparison is part of a tree that combines the bits.
        let compared = self.compared_bits as f64;
        let gates = compared + if self.matrix { cells * GATES_OF_MATRIX_CELL } else { 0.0 };
        let parts = [(cells, &FLIP_FLOP), (muxes, &MUX), (compared, &XNOR), (gates, &NAND)];
        let sum = |of: fn(&Cell) -> f64| parts.iter().map(|&(count, cell)| count * of(cell)).sum::<f64>();
        let (smaller, cheaper) = (area_factor(NODE_NM, node_nm), energy_factor(NODE_NM, VOLTS, node_nm, volts));
        let pj = |fj: f64| fj * 1e-3 * cheaper;
        let written_fj = (1.0 - SWITCHING) * CLOCK_FJ + SWITCHING * (FLIP_FLOP.switch_fj + MUX.switch_fj);
        Cost {
            area_um2: sum(|cell| cell.um2) * smaller,
            read_pj: pj(read_muxes * SWITCHING * MUX.switch_fj),
            write_pj: pj(bits * written_fj),
            search_pj: pj(SWITCHING * (compared * XNOR.switch_fj + gates * NAND.switch_fj)),
            clock_pj: pj(cells * CLOCK_FJ),
            leakage_nw: sum(|cell| cell.leakage_nw) * smaller,
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
        let cost = bit.cost(45.0, 1.1);
        assert!((cost.area_um2 - (4.522 + 1.862)).abs() < 1e-9);
        assert_eq!(cost.read_pj, 0.0);
        // Half of the flip-flops keep their bits.
        assert!((cost.write_pj - (6.9 + 16.4 + 3.3) / 2e3).abs() < 1e-12);
        assert!((cost.clock_pj - 6.9e-3).abs() < 1e-12);
        assert!((cost.leakage_nw - (79.1 + 35.9)).abs() < 1e-9);
    }

    /// Ports and comparators cost energy when they are used, storage when it is written.
    #[test]
    fn each_use_costs_its_own_cells() {
        let base = Storage { entries: 8, bits: 64, read_ports: 1, write_ports: 1, ..Storage::default() };
        let (cost, at) = (base.cost(14.0, 0.8), |storage: Storage| storage.cost(14.0, 0.8));
        assert_eq!(cost.search_pj, 0.0);
        assert!(at(Storage { entries: 16, ..base }).read_pj > cost.read_pj);
        assert_eq!(at(Storage { entries: 16, ..base }).write_pj, cost.write_pj);
        assert_eq!(at(Storage { read_ports: 4, ..base }).read_pj, cost.read_pj);
        assert!(at(Storage { compared_bits: 24, ..base }).search_pj > 0.0);
        assert!(at(Storage { matrix: true, ..base }).search_pj > 0.0);
    }

    #[test]
    fn a_multiplexer_is_a_tree_of_two_way_ones() {
        let cost = Storage::multiplexer(8, 32, 45.0, 1.1);
        let cells = 32.0 * 7.0;
        assert!((cost.area_um2 - cells * 1.862).abs() < 1e-6 && (cost.leakage_nw - cells * 35.9).abs() < 1e-6);
        assert!((cost.read_pj - cells * SWITCHING * 3.3e-3).abs() < 1e-9);
        assert_eq!((cost.write_pj, cost.clock_pj), (0.0, 0.0));
    }

    #[test]
    fn nothing_costs_nothing() {
        assert_eq!(Storage::default().cost(12.0, 1.0), Cost::default());
    }
}
