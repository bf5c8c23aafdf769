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

/// Gives the instructions of a kernel at most `limit` registers.
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
