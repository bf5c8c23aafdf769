//! Lowered instructions of PTX before they are described to the timing model. Register allocation works on
//! them.

use exec::kernel::{CallSite, CalledFunction, Save};
use exec::lanes::{Column, Pred, Reg};
use exec::op::Op;
use exec::tensor::MatrixOp;
use isa::Source;
use ptx::Span;
use std::collections::HashMap;

/// An instruction as lowered, before the register files have their sizes.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub op: Op,
    pub guard: Pred,
    pub source: Source,
    pub span: Span,
    pub text: String,
    pub cache: isa::CacheOp,
}

/// The constants of a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constants {
    pub columns: Vec<Column>,
    by_value: HashMap<(u64, bool), Reg>,
}

impl Constants {
    /// A constant of one column, or two.
    pub fn get(&mut self, value: u64, wide: bool) -> Reg {
        let value = if wide { value } else { value & 0xffff_ffff };
        if let Some(&reg) = self.by_value.get(&(value, wide)) {
            return reg;
        }
        let reg = self.add(value, wide);
        self.by_value.insert((value, wide), reg);
        reg
    }

    /// A constant that no other use shares.
    pub fn add(&mut self, value: u64, wide: bool) -> Reg {
        let index = self.columns.len().min(usize::from(Reg::CONSTANTS) - 4) as u16;
        self.columns.push([value as u32; 32]);
        if wide {
            self.columns.push([(value >> 32) as u32; 32]);
        }
        Reg::constant(index)
    }
}

/// Result of lowering one function.
pub(crate) struct LoweredFunction {
    pub function: CalledFunction,
    /// Its registers and predicates.
    pub save: Save,
    /// Its instructions: first, and one beyond the last.
    pub range: (u32, u32),
    /// Functions that it calls, by index in the kernel.
    pub callees: Vec<u32>,
    pub calls_pointers: bool,
}

/// The functions that may run during a call of each function.
pub(crate) fn reach(functions: &[LoweredFunction]) -> Vec<kit::BitSet> {
    let count = functions.len();
    let direct = |f: &LoweredFunction| {
        let mut set = kit::BitSet::new(count);
        let all = if f.calls_pointers { 1..count } else { 0..0 };
        f.callees.iter().map(|&c| c as usize).chain(all).for_each(|c| {
            set.insert(c);
        });
        set
    };
    let mut reach: Vec<kit::BitSet> = functions.iter().map(direct).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for f in 0..count {
            for g in reach[f].clone().iter() {
                let other = reach[g].clone();
                changed |= reach[f].union_with(&other);
            }
        }
    }
    reach
}

/// A kernel and the functions that it calls, lowered.
pub(crate) struct Listing<'a> {
    pub code: &'a mut Vec<Line>,
    pub branches: &'a mut Vec<Vec<u32>>,
    pub calls: &'a mut Vec<CallSite>,
    pub matrix: &'a mut Vec<MatrixOp>,
    pub constants: &'a mut Constants,
    pub functions: &'a mut [LoweredFunction],
    /// Numbers of columns and predicates; allocation updates them.
    pub columns: &'a mut u32,
    pub predicates: &'a mut u32,
}
