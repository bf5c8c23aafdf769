//! Sizes and times of the caches.

use crate::spec::CoreSpec;
use config::Cache;

/// Lines that L1 may have requested from L2: a guess.
const L1_MISSES: u32 = 64;
/// Lines of constants that `LDC` may be waiting for, as in the paper's artifact.
const LOAD_MISSES: u32 = 32;

/// Sizes and times of a [`SubCoreFetch`](super::SubCoreFetch). A design may change any of them.
#[derive(Clone, Debug, PartialEq)]
pub struct SubCoreCaches {
    /// Every look-up hits, of constants too.
    pub perfect: bool,
    /// Instruction cache of a sub-core.
    pub l0: Cache,
    /// Lines of its stream buffer; without any nothing is prefetched.
    pub stream_buffer_lines: u32,
    /// Cache of instructions and constants of the SM.
    pub l1: Cache,
    /// From a sub-core to that cache.
    pub to_l1_cycles: u32,
    /// From that cache to a sub-core.
    pub from_l1_cycles: u32,
    /// Cache of constant operands of a sub-core; without it they always hit.
    pub constants: Option<Cache>,
    /// Cache of the SM for constants that `LDC` loads by a register; without it they always hit.
    pub constant_loads: Option<Cache>,
    /// Cycles in which a sub-core issues nothing after a miss of a constant operand.
    pub constant_hold_cycles: u32,
    /// From the issue of a taken branch to the issue at its target, on hits, 3 at least.
    pub taken_branch_cycles: u32,
}

impl SubCoreCaches {
    /// As the description of the SM gives them ([`config::InstructionCaches`]).
    pub fn of(spec: &CoreSpec) -> Self {
        let caches = &spec.sm.instruction_caches;
        let [l0_line, constant_line, l1_line] = caches.line_bytes();
        let l0 = [caches.l0_sets.unwrap_or(8), caches.l0_ways.unwrap_or(32), l0_line];
        let l1 = [caches.l1_sets.unwrap_or(64), caches.l1_ways.unwrap_or(16), l1_line];
        let constants = [caches.constant_sets.unwrap_or(4), caches.constant_ways.unwrap_or(2), constant_line];
        let loads = [caches.constant_load_sets.unwrap_or(4), caches.constant_load_ways.unwrap_or(8), constant_line];
        let has_constants = caches.perfect_constants != Some(true);
        Self {
            perfect: caches.perfect == Some(true),
            // The paper has 32 misses, as many as a sub-core can have: one of each warp.
            l0: Cache::read_only(l0, spec.sm.max_warps),
            stream_buffer_lines: caches.stream_buffer_lines.unwrap_or(8),
            l1: Cache::read_only(l1, L1_MISSES),
            to_l1_cycles: caches.to_l1_cycles.unwrap_or(39),
            from_l1_cycles: caches.from_l1_cycles.unwrap_or(39),
            constants: has_constants.then(|| Cache::read_only(constants, spec.sm.max_warps)),
            constant_loads: has_constants.then(|| Cache::read_only(loads, LOAD_MISSES)),
            constant_hold_cycles: caches.constant_hold_cycles.unwrap_or(4),
            taken_branch_cycles: caches.taken_branch_cycles.unwrap_or(3),
        }
    }
}
