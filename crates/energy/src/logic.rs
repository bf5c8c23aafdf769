//! Areas of arithmetic blocks and of SRAM.
//!
//! The blocks are from the power model of Aladdin (Shao, Reagen, Wei and Brooks, ISCA 2014). They were synthesised for
//! a commercial 40 nm process at a cycle of 1 ns, the shortest for which it has all of them; floating-point units are
//! Synopsys DesignWare's with three stages. A fabric of 1.4 GHz needs faster, larger ones. Areas are of cells: no
//! wires, no placement.

use crate::scaling::area_factor;

/// Node of the figures.
const NODE_NM: f64 = 40.0;

/// An arithmetic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// 32-bit integer adder.
    IntAdd,
    /// 32-bit logic.
    Logic,
    /// 32-bit shifter.
    Shift,
    /// 32-bit integer multiplier. Aladdin takes it for division too.
    IntMul,
    /// Single-precision adder.
    FpAdd,
    /// Single-precision multiplier. Aladdin takes it for division too.
    FpMul,
    /// Sine, which we take for any root or other function; Aladdin has it at a cycle of 10 ns only.
    Function,
}

impl Block {
    /// Area at `node_nm` in square micrometres.
    pub fn um2(self, node_nm: f64) -> f64 {
        let at_40_nm = match self {
            Self::IntAdd => 278.0,
            Self::Logic => 50.4,
            Self::Shift => 249.6,
            Self::IntMul => 6351.0,
            Self::FpAdd => 4361.0,
            Self::FpMul => 8967.0,
            Self::Function => 10_587.0,
        };
        at_40_nm * area_factor(NODE_NM, node_nm)
    }
}

/// Source of the areas of blocks.
pub const BLOCKS: &str = "Aladdin (ISCA 2014), commercial 40 nm, cycle of 1 ns";

/// A 6T cell of TSMC's 40 nm processes: 0.242 square micrometres (announcement of March 2008).
const CELL_UM2: f64 = 0.242;
/// Share of an SRAM that is cells, the rest being decoders, sense amplifiers and drivers: a guess.
const CELL_SHARE: f64 = 0.5;

/// Source of the area of SRAM.
pub const SRAM: &str = "6T cells of 0.242 um2 at 40 nm (TSMC 2008); half of the array is cells (a guess)";

/// Area of `bits` of single-ported SRAM at `node_nm` in square micrometres.
pub fn sram_um2(bits: usize, node_nm: f64) -> f64 {
    bits as f64 * CELL_UM2 / CELL_SHARE * area_factor(NODE_NM, node_nm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_those_of_their_node_and_scale() {
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
        near(Block::FpMul.um2(40.0), 8967.0);
        near(Block::FpMul.um2(65.0) / Block::FpMul.um2(40.0), area_factor(40.0, 65.0));
        near(sram_um2(1000, 40.0), 484.0);
        assert!(sram_um2(1000, 12.0) < sram_um2(1000, 40.0));
    }
}
