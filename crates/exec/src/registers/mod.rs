//! Register allocation for PTX, whose registers are as many as the compiler liked.
//!
//! ```text
//! lowered instructions ─► predicates ─► vectors ─► liveness ─► spill ─► interference ─► renamed
//! (lower::Line)           (P0 to P6)    (groups)      ▲          │     and colouring      instructions
//!                                                     └──────────┘
//! ```
//!
//! It works on lowered instructions before they are described to the timing model, so that both views
//! of an instruction, [`isa::Program`] and [`Op`], come out with the same registers.
//!
//! Liveness is that of a thread: a write leaves the registers of lanes alone that do not execute, so
//! that a register that is dead for a lane may be written by it whatever other lanes hold there.
//! Colouring is greedy, by column of 32 bits, of units that must be consecutive and aligned.
//!
//! A function that is called has registers behind those of all its callers; functions that call each
//! other in a circle lie one behind the other.
//!
//! **Deviations** from what ptxas does: PTX is taken as it is, so that nothing is scheduled, folded into
//! operands (parameters and immediate values among them) or removed, copies of a register to itself
//! among them; a register is spilled everywhere or nowhere, to a place of its own; matrix fragments need
//! not be consecutive; elements of vectors narrower than 32 bits take a register each.

mod extend;
mod interference;
mod link;
pub(crate) mod liveness;
mod operands;
mod place;
mod predicates;
mod routine;
mod spill;
mod vectors;

use crate::kernel::CallSite;
use crate::lower::{Constants, Line, LoweredFunction};
use crate::tensor::MatrixOp;
use place::Placed;

/// Which registers the instructions of PTX name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Registers {
    /// Those of the text, each value its own; how many a thread takes is estimated.
    #[default]
    Virtual,
    /// Allocated ones.
    Allocated(RegisterLimits),
    /// Allocated so that no write overtakes a read of an instruction with a result.
    HazardFree(RegisterLimits),
}

/// How many registers a thread may have. The smallest bound holds, `.maxnreg` and `.minnctapersm` of
/// the kernel among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterLimits {
    /// That the architecture allows.
    pub architecture: u32,
    /// That the user allows, as `-maxrregcount` of nvcc.
    pub chosen: Option<u32>,
    /// Registers of an SM, for `.minnctapersm`.
    pub sm: u32,
}

impl Default for RegisterLimits {
    /// Those of most architectures.
    fn default() -> Self {
        Self { architecture: 255, chosen: None, sm: 65_536 }
    }
}

impl RegisterLimits {
    /// The limit of a kernel with these directives.
    pub(crate) fn of<'a>(&self, directive: impl Fn(&str) -> Option<&'a [u64]>) -> u32 {
        let first = |name: &str| directive(name).and_then(|n| n.first()).copied();
        let threads: Option<u64> = directive("reqntid").or_else(|| directive("maxntid")).map(|n| n.iter().product());
        let resident = first("minnctapersm").zip(threads).map(|(ctas, threads)| {
            // Registers are given out by eight to a thread.
            u64::from(self.sm) / ctas.saturating_mul(threads).max(1) / 8 * 8
        });
        let all = [first("maxnreg"), resident, self.chosen.map(u64::from)];
        all.into_iter().flatten().map(|n| n as u32).fold(self.architecture, u32::min)
    }
}

/// What allocation made of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Most registers that it might take.
    pub limit: u32,
    /// Registers, in words, that live in local memory.
    pub spilled: u32,
    /// Registers, in words, that are computed again where they are used.
    pub recomputed: u32,
    /// Predicates that live in registers.
    pub predicates_spilled: u32,
    /// Instructions that only wait, to prevent hazards.
    pub fences: u32,
}

/// There are too few registers, even with everything spilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortage;

/// A kernel with the functions that it calls, lowered.
pub(crate) struct Listing<'a> {
    pub code: &'a mut Vec<Line>,
    pub branches: &'a mut Vec<Vec<u32>>,
    pub calls: &'a mut Vec<CallSite>,
    pub matrix: &'a mut Vec<MatrixOp>,
    pub constants: &'a mut Constants,
    pub functions: &'a mut [LoweredFunction],
    /// Columns and predicates, before and after.
    pub columns: &'a mut u32,
    pub predicates: &'a mut u32,
}

/// Gives the instructions of a kernel at most `limit` registers.
pub(crate) fn allocate(mut listing: Listing<'_>, limit: u32, hazard_free: bool) -> Result<Allocation, Shortage> {
    let (mut routines, mut tables) = link::apart(&mut listing);
    let mut done = Allocation { limit, ..Allocation::default() };
    for routine in &mut routines {
        done.predicates_spilled += predicates::allocate(routine, &mut tables)?;
    }
    // The functions of a chain of calls share the registers: each gets at most a share that is
    // lowered until they fit.
    let mut share = limit;
    let (mut routines, mut tables, placed, bases) = loop {
        let (mut routines, mut tables) = (routines.clone(), tables.clone());
        let placed = routines.iter_mut().map(|r| place::place(r, &mut tables, share, hazard_free));
        let placed = placed.collect::<Result<Vec<Placed>, Shortage>>()?;
        let bases = link::bases(listing.functions, &placed);
        let total = bases.iter().zip(&placed).map(|(base, p)| base + p.used).max().unwrap_or(0);
        if total <= limit {
            break (routines, tables, placed, bases);
        }
        share = share.min(placed.iter().map(|p| p.used).max().unwrap_or(0)).checked_sub(1).ok_or(Shortage)?;
    };
    for ((routine, placed), base) in routines.iter_mut().zip(&placed).zip(&bases) {
        done.spilled += placed.spilled.to_memory;
        done.recomputed += placed.spilled.recomputed;
        link::rename(routine, &mut tables, |column| placed.places[column as usize].unwrap_or(0) + base);
    }
    if hazard_free {
        done.fences = link::put_fences(&mut routines, &mut tables);
    }
    link::together(&mut listing, routines, tables, &placed, &bases);
    Ok(done)
}
