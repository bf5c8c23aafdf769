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
//! Liveness is per thread: a write leaves the registers of other lanes unchanged, so that a lane may
//! write a register that is dead for it while other lanes hold values there. Colouring is greedy, by column
//! of 32 bits, of units that must be consecutive and aligned.
//!
//! The registers of a called function follow all its callers' registers; functions that call each other in a
//! cycle have separate registers. Where a chain of calls is too long for that, all functions have the same registers,
//! and each call saves the caller's registers; not where hazards are prevented.
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

use crate::listing::{Groups, Listing};
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
    let place = |share: u32| -> Result<_, Shortage> {
        let (mut routines, mut tables) = (routines.clone(), tables.clone());
        let placed = routines.iter_mut().map(|r| place::place(r, &mut tables, share, hazard_free));
        Ok((placed.collect::<Result<Vec<Placed>, Shortage>>()?, routines, tables))
    };
    let has_registers: Vec<bool> = routines.iter().map(|r| r.columns > 0).collect();
    let groups = Groups::of(listing.functions);
    let bases = |used: &dyn Fn(usize) -> u32| {
        let bases = link::bases(&groups, listing.functions, used);
        let total = bases.iter().enumerate().map(|(f, base)| base + used(f)).max().unwrap_or(0);
        (total <= limit).then_some(bases)
    };
    // The functions of a chain of calls share the registers: each gets at most a share, which is lowered
    // until they fit. Where they cannot, they overlap.
    let mut share = bases(&|f| u32::from(has_registers[f])).map(|_| limit);
    let (placed, mut routines, mut tables, bases, overlap) = loop {
        // Fences are for registers of which each has one owner.
        if hazard_free && share.is_none() {
            return Err(Shortage);
        }
        let Ok((placed, routines, tables)) = place(share.unwrap_or(limit)) else {
            if share.is_none_or(|share| share == limit) {
                return Err(Shortage);
            }
            share = None;
            continue;
        };
        let Some(tried) = share else {
            let bases = vec![0; placed.len()];
            break (placed, routines, tables, bases, true);
        };
        if let Some(bases) = bases(&|f| placed[f].used) {
            break (placed, routines, tables, bases, false);
        }
        share = tried.min(placed.iter().map(|p| p.used).max().unwrap_or(0)).checked_sub(1);
    };
    for ((routine, placed), base) in routines.iter_mut().zip(&placed).zip(&bases) {
        done.spilled += placed.spilled.to_memory;
        done.recomputed += placed.spilled.recomputed;
        link::rename(routine, |column| placed.places[column as usize].unwrap_or(0) + base);
        routine.columns = limit;
    }
    if hazard_free {
        done.fences = link::put_fences(&mut routines, &mut tables, limit);
    }
    link::together(&mut listing, routines, tables, &placed, (&bases, overlap));
    Ok(done)
}
