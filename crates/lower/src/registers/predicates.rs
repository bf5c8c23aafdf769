//! Allocates the seven predicates, P0 to P6. Predicates that do not fit are kept in registers, one word each.
//! So are predicates that are live across a call, since the called function uses the same seven.

use super::interference::{Interference, Rules, Unit, colour};
use super::liveness::{Effects, walk};
use super::routine::{Edit, Edits, Routine, Tables, added};
use crate::cfg::Graph;
use crate::listing::Line;
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use kit::BitSet;

/// Number of predicates of a thread.
pub(super) const PREDICATES: u32 = 7;

/// Allocates one of the seven to each predicate of `routine`. Returns how many of its own were moved to
/// registers.
pub(super) fn allocate(routine: &mut Routine, tables: &mut Tables) -> Result<u32, super::limits::Shortage> {
    // Predicates that are added here live for one instruction.
    let own = tables.predicates;
    let mut moved = 0;
    loop {
        let graph = Graph::new(&routine.flow(tables));
        let effects = routine.predicate_effects(tables);
        let count = tables.predicates as usize;
        let mut across: Vec<u32> = over_calls(routine, tables, &graph, &effects).iter().map(|p| p as u32).collect();
        if across.is_empty() {
            let hard = Interference::new(&graph, &effects, count, |_| Vec::new());
            let units = units(&effects);
            let none = Interference::none(count);
            let rules = Rules { hard: &hard, soft: &none, copies: &[], limit: PREDICATES };
            let found = colour(&units, &rules);
            let Some(&failed) = found.failed.first() else {
                rename(routine, tables, |p| found.places[usize::from(p)].unwrap_or(0) as u16);
                return Ok(moved);
            };
            let costs = costs(routine, tables, &effects);
            let failed = units[failed].columns[0];
            let candidates = hard.of(failed).iter().chain([&failed]).filter(|&&p| p < own);
            // Of two with the same number of accesses, the one with more neighbours.
            let price = |p: u32| costs[p as usize] / (hard.of(p).len() + 1) as f64;
            let cheapest = candidates.min_by(|&&a, &&b| price(a).total_cmp(&price(b)));
            across.push(*cheapest.ok_or(super::limits::Shortage)?);
        }
        moved += across.len() as u32;
        for p in across {
            to_register(routine, tables, p);
        }
    }
}

/// Predicates that are live while a function runs that the routine calls.
fn over_calls(routine: &Routine, tables: &Tables, graph: &Graph, effects: &[Effects]) -> BitSet {
    let mut all = BitSet::new(tables.predicates as usize + 1);
    if (0..routine.lines.len()).any(|i| routine.calls_function(i, tables)) {
        walk(graph, effects, tables.predicates as usize + 1, |i, after, _| {
            if routine.calls_function(i as usize, tables) {
                all.union_with(after);
            }
        });
    }
    all
}

fn units(effects: &[Effects]) -> Vec<Unit> {
    let mut seen = BitSet::new(u16::MAX.into());
    let mut units = Vec::new();
    for (i, e) in effects.iter().enumerate() {
        for &p in e.defs.iter().chain(&e.uses) {
            if seen.insert(p as usize) {
                units.push(Unit { columns: vec![p], first: i as u32 });
            }
        }
    }
    units
}

fn costs(routine: &Routine, tables: &Tables, effects: &[Effects]) -> Vec<f64> {
    let mut costs = vec![0.0; tables.predicates as usize];
    for (e, weight) in effects.iter().zip(routine.weights(tables)) {
        e.uses.iter().chain(&e.defs).for_each(|&p| costs[p as usize] += weight);
    }
    costs
}

/// Keeps predicate `p` in a register: every instruction that uses it gets a predicate of its own.
fn to_register(routine: &mut Routine, tables: &mut Tables, p: u32) {
    let register = tables.new_register(1);
    let effects = routine.predicate_effects(tables);
    let mut edits = Edits::default();
    for (i, e) in effects.iter().enumerate() {
        let (reads, writes) = (e.uses.contains(&p), e.defs.contains(&p));
        if !reads && !writes {
            continue;
        }
        let temporary = tables.new_predicate();
        let line = &mut routine.lines[i];
        // A guarded write leaves the old value in other lanes unchanged.
        if reads || line.guard != Pred::TRUE {
            edits.push(i, Edit::Before(fetch(line, tables, temporary, register)));
        }
        let to = |at: &mut Pred| {
            if at.number().is_some_and(|n| u32::from(n) == p) {
                *at = if at.is_negated() { temporary.not() } else { temporary };
            }
        };
        to(&mut line.guard);
        tables.rename(&mut line.op, &mut |o| {
            if let Some(at) = o.predicate() {
                to(at);
            }
        });
        if writes {
            edits.push(i, Edit::After(keep(line, tables, register, temporary)));
        }
    }
    routine.apply(edits, tables);
}

/// `setp.ne.u32 p, r, 0`
fn fetch(line: &Line, tables: &mut Tables, p: Pred, r: Reg) -> Line {
    let test = Comparison { relation: Relation::Ne, ty: CompareType::U32, ftz: false };
    let zero = tables.constants.get(0, false);
    let op = Op::Setp { test, s: [r, zero], d: [p, Pred::TRUE], with: (Combine::And, Pred::TRUE) };
    added(line, op, Pred::TRUE, "setp.ne.u32 p, r, 0; predicate from register".into())
}

/// `selp.b32 r, 1, 0, p`
fn keep(line: &Line, tables: &mut Tables, r: Reg, p: Pred) -> Line {
    let s = [tables.constants.get(1, false), tables.constants.get(0, false)];
    added(line, Op::Selp { d: r, s, wide: false, p }, Pred::TRUE, "selp.b32 r, 1, 0, p; predicate to register".into())
}

/// Replaces the number of every predicate.
fn rename(routine: &mut Routine, tables: &mut Tables, number: impl Fn(u16) -> u16) {
    let to = |at: &mut Pred| {
        if let Some(n) = at.number() {
            let new = Pred(number(n));
            *at = if at.is_negated() { new.not() } else { new };
        }
    };
    for line in &mut routine.lines {
        to(&mut line.guard);
        tables.rename(&mut line.op, &mut |o| {
            if let Some(at) = o.predicate() {
                to(at);
            }
        });
    }
}
