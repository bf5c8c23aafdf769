//! Allocates the seven predicates, P0 to P6. Predicates that do not fit are kept in registers, one word each.
//! So are predicates that are live across a call, since the called function uses the same seven.

use super::interference::{Interference, Rules, Unit, colour};
use super::liveness::{Effects, walk};
use super::routine::{Edit, Edits, Routine, Tables, added, take};
use crate::cfg::Graph;
use crate::listing::{Line, Names};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::lanes::Pred;
use exec::op::Op;
use kit::BitSet;

/// Number of predicates of a thread.
pub(super) const PREDICATES: u32 = 7;

/// Allocates one of the seven to each predicate of `routine`. Returns how many of its own were moved to
/// registers.
pub(super) fn allocate(routine: &mut Routine, tables: &mut Tables) -> Result<u32, super::limits::Shortage> {
    // Predicates that are added here live for one instruction.
    let own = routine.predicates;
    let mut moved = 0;
    loop {
        let graph = Graph::new(&routine.flow(tables));
        let effects = routine.predicate_effects(tables);
        let count = routine.predicates as usize;
        let mut across: Vec<u32> = over_calls(routine, tables, &graph, &effects).iter().map(|p| p as u32).collect();
        if across.is_empty() {
            let hard = Interference::new(&graph, &effects, count, |_| Vec::new());
            let units = units(&effects, count);
            let none = Interference::none(count);
            let rules = Rules { hard: &hard, soft: &none, copies: &[], limit: PREDICATES };
            let found = colour(&units, &rules);
            let Some(&failed) = found.failed.first() else {
                rename(routine, |p| found.places[p as usize].unwrap_or(0));
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
    let mut all = BitSet::new(routine.predicates as usize + 1);
    if (0..routine.lines.len()).any(|i| routine.calls_function(i, tables)) {
        walk(graph, effects, routine.predicates as usize + 1, |i, after, _| {
            if routine.calls_function(i as usize, tables) {
                all.union_with(after);
            }
        });
    }
    all
}

fn units(effects: &[Effects], count: usize) -> Vec<Unit> {
    let mut seen = BitSet::new(count.max(1));
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
    let mut costs = vec![0.0; routine.predicates as usize];
    for (e, weight) in effects.iter().zip(routine.weights(tables)) {
        e.uses.iter().chain(&e.defs).for_each(|&p| costs[p as usize] += weight);
    }
    costs
}

/// Keeps predicate `p` in a register: every instruction that uses it gets a predicate of its own.
fn to_register(routine: &mut Routine, tables: &mut Tables, p: u32) {
    let register = take(&mut routine.columns, 1);
    let effects = routine.predicate_effects(tables);
    let mut edits = Edits::default();
    for (i, e) in effects.iter().enumerate() {
        let (reads, writes) = (e.uses.contains(&p), e.defs.contains(&p));
        if !reads && !writes {
            continue;
        }
        let temporary = take(&mut routine.predicates, 1);
        let line = &mut routine.lines[i];
        // A guarded write leaves the old value in other lanes unchanged.
        if reads || line.guard != Pred::TRUE {
            edits.push(i, Edit::Before(fetch(line, tables, temporary, register)));
        }
        line.names.predicates.iter_mut().filter(|at| **at == p).for_each(|at| *at = temporary);
        if writes {
            edits.push(i, Edit::After(keep(line, tables, register, temporary)));
        }
    }
    routine.apply(edits, tables);
}

/// `setp.ne.u32 p, r, 0`
fn fetch(line: &Line, tables: &mut Tables, p: u32, r: u32) -> Line {
    let mut names = Names::default();
    let (p, r) = (names.predicate(p), names.register(r, 1));
    let test = Comparison { relation: Relation::Ne, ty: CompareType::U32, ftz: false };
    let zero = tables.constants.get(0, false);
    let op = Op::Setp { test, s: [r, zero], d: [p, Pred::TRUE], with: (Combine::And, Pred::TRUE) };
    added(line, (op, Pred::TRUE), names, "setp.ne.u32 p, r, 0; predicate from register".into())
}

/// `selp.b32 r, 1, 0, p`
fn keep(line: &Line, tables: &mut Tables, r: u32, p: u32) -> Line {
    let s = [tables.constants.get(1, false), tables.constants.get(0, false)];
    let mut names = Names::default();
    let op = Op::Selp { d: names.register(r, 1), s, wide: false, p: names.predicate(p) };
    added(line, (op, Pred::TRUE), names, "selp.b32 r, 1, 0, p; predicate to register".into())
}

/// Replaces the number of every predicate.
fn rename(routine: &mut Routine, number: impl Fn(u32) -> u32) {
    routine.lines.iter_mut().flat_map(|line| &mut line.names.predicates).for_each(|p| *p = number(*p));
}
