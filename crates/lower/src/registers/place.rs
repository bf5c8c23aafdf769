//! A place in the register file for each register of a function.

use super::extend::extend;
use super::interference::{Interference, Rules, colour};
use super::limits::Shortage;
use super::liveness::walk;
use super::predicates::PREDICATES;
use super::routine::{Routine, Tables, columns};
use super::spill::{self, Spilled};
use super::vectors::{self, Words};
use crate::cfg::Graph;
use crate::listing::Line;
use exec::int::Int1;
use exec::op::Op;

/// Places of the registers of a function.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// By virtual column; `None` if it is not used.
    pub places: Vec<Option<u32>>,
    /// Number of places up to the last one used.
    pub used: u32,
    pub spilled: Spilled,
}

/// Finds a place below `limit` for each register of `routine`, and spills until all have one.
pub(super) fn place(
    routine: &mut Routine,
    tables: &mut Tables,
    limit: u32,
    hazard_free: bool,
) -> Result<Placed, Shortage> {
    let mut spilled = Spilled::default();
    loop {
        let groups = vectors::group(routine, tables);
        let count = routine.columns as usize;
        let words = Words::new(routine, tables);
        let flow = routine.flow(tables);
        let graph = Graph::new(&flow);
        let effects = routine.effects(tables);
        let mut chosen = spill::choose(routine, tables, &words, (&graph, &effects), limit)?;
        if chosen.is_empty() {
            let of = |i: u32| copied(&routine.lines[i as usize]);
            let mut hard = Interference::new(&graph, &effects, count, of);
            fill_formals(routine, &graph, &effects, &mut hard, count);
            let soft = if hazard_free {
                let ends = |i: usize| matches!(routine.lines[i].op, Op::Return | Op::Exit | Op::Trap);
                let predicates = routine.predicate_effects(tables);
                extend(&flow, ends, &effects, &predicates, [count, PREDICATES as usize])
            } else {
                Interference::none(count)
            };
            let units = vectors::units(&groups, &words, &effects);
            let copies: Vec<(u32, u32)> = (0..routine.lines.len() as u32).flat_map(of).collect();
            let found = colour(&units, &Rules { hard: &hard, soft: &soft, copies: &copies, limit });
            let Some(&failed) = found.failed.first() else {
                return Ok(Placed { places: found.places, used: found.used, spilled });
            };
            let failed = &units[failed].columns;
            chosen.push(spill::cheapest_around(failed, &hard, routine, tables, &words, &effects)?);
        }
        let more = spill::spill(routine, tables, &words, &chosen);
        spilled.to_memory += more.to_memory;
        spilled.recomputed += more.recomputed;
    }
}

/// Written and read columns of a move.
fn copied(line: &Line) -> Vec<(u32, u32)> {
    let Op::Int1(op @ (Int1::Mov32 | Int1::Mov64), d, [s]) = line.op else { return Vec::new() };
    let columns = if op == Int1::Mov64 { 2 } else { 1 };
    let whole = line.names.column(d).zip(line.names.column(s));
    whole.map_or(Vec::new(), |(d, s)| (0..columns).map(|k| (d + k, s + k)).collect())
}

/// A caller fills all registers of arguments at once, even those that are not read.
fn fill_formals(
    routine: &Routine,
    graph: &Graph,
    effects: &[super::liveness::Effects],
    hard: &mut Interference,
    count: usize,
) {
    if routine.formals.is_empty() {
        return;
    }
    let formals: Vec<u32> = columns(&routine.formals).collect();
    let mut live = formals.clone();
    walk(graph, effects, count, |i, _, before| {
        if i == 0 {
            live.extend(before.iter().map(|c| c as u32));
        }
    });
    for &f in &formals {
        live.iter().for_each(|&other| hard.add(f, other));
    }
    hard.settle();
}
