//! Register allocation for PTX, which has any number of virtual registers.
//!
//! ```text
//! lowered instructions ─► predicates ─► vectors ─► liveness ─► spill ─► interference ─► renamed
//! (lower::Line)           (P0 to P6)    (groups)      ▲          │     and colouring      instructions
//!                                                     └──────────┘
//! ```
//!
//! It works on lowered instructions before they are described to the timing model, so that both views of an
//! instruction, [`isa::Program`] and [`Op`], have the same registers.
//!
//! Liveness is that of a thread: a write leaves the registers of other lanes unchanged, so that a lane may
//! write a register that is dead for it while other lanes hold values there. Colouring is greedy, by column
//! of 32 bits, of units that must be consecutive and aligned.
//!
//! The registers of a called function follow those of all its callers; functions that call each other in a
//! cycle have separate registers.
//!
//! **Deviations** from ptxas: PTX is not optimised; no instruction is scheduled, folded into operands (such
//! as parameters and immediate values) or removed, not even a copy of a register to itself. A register is
//! spilled everywhere or nowhere, to a place of its own. Matrix fragments need not be consecutive. Elements
//! of vectors narrower than 32 bits take a register each.

mod extend;
mod interference;
mod limits;
mod link;
pub(crate) mod liveness;
mod place;
mod predicates;
mod routine;
mod spill;
mod vectors;

use crate::listing::Listing;
use exec::RegisterAllocation;
pub(crate) use limits::Shortage;
pub use limits::{RegisterLimits, Registers};
use place::Placed;

/// Allocates at most `limit` registers to the instructions of a kernel.
pub(crate) fn allocate(
    mut listing: Listing<'_>,
    limit: u32,
    hazard_free: bool,
) -> Result<RegisterAllocation, Shortage> {
    let (mut routines, mut tables) = link::apart(&mut listing);
    let mut done = RegisterAllocation { limit, ..RegisterAllocation::default() };
    for routine in &mut routines {
        done.predicates_spilled += predicates::allocate(routine, &mut tables)?;
    }
    // The functions of a chain of calls share the registers: each gets at most a share, which is lowered
    // until they fit.
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
        link::rename(routine, |column| placed.places[column as usize].unwrap_or(0) + base);
    }
    if hazard_free {
        done.fences = link::put_fences(&mut routines, &mut tables);
    }
    link::together(&mut listing, routines, tables, &placed, &bases);
    Ok(done)
}
