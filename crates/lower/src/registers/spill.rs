//! Spilling: values that do not fit into registers are stored in local memory; values that are cheap to
//! compute, such as a parameter or a thread's position, are recomputed at their uses.
//!
//! A register is spilled everywhere: each instruction that uses it gets a register of its own for it, loaded
//! before and stored after the instruction. Registers are chosen by the cost of their accesses (ten times as
//! high in a loop) per crowded point of the program at which they are live (after Chaitin).

use super::interference::Interference;
use super::limits::Shortage;
use super::liveness::{Effects, walk};
use super::routine::{Edit, Edits, Routine, Tables, added, columns, slot, take};
use super::vectors::Words;
use crate::cfg::Graph;
use crate::listing::Names;
use exec::int::Int1;
use exec::lanes::Pred;
use exec::op::Op;
use exec::operand::OperandUse;
use isa::Space;
use kit::BitSet;

/// Cost of spilling a register.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Instructions that would be added, weighted.
    added: f64,
    /// Lines that use it: there it takes a register even if spilled.
    lines: u32,
}

/// Cost of each register, by first column; `None` for those that cannot be spilled.
fn costs(routine: &Routine, tables: &Tables, words: &Words, effects: &[Effects]) -> Vec<Option<Cost>> {
    let mut costs = vec![None; routine.columns as usize];
    for (first, width) in words.iter() {
        if width <= 2 {
            costs[first as usize] = Some(Cost { added: 0.0, lines: 0 });
        }
    }
    let cheap = recomputable(routine, tables, words);
    for (e, weight) in effects.iter().zip(routine.weights(tables)) {
        for (list, share) in [(&e.uses, 0.5), (&e.defs, 0.0)] {
            let mut last = u32::MAX;
            for &c in list {
                let first = words.of(c).0;
                if let Some(cost) = costs[first as usize].as_mut().filter(|_| first != last) {
                    cost.added += if cheap[first as usize].is_some() { weight * share } else { weight };
                    cost.lines += 1;
                }
                last = first;
            }
        }
    }
    let kept = columns(&routine.temporary).chain(columns(&routine.formals)).chain(columns(&routine.results));
    for c in kept {
        if words.has(c) {
            costs[words.of(c).0 as usize] = None;
        }
    }
    costs
}

/// Registers to spill so that at most `limit` are live anywhere. Empty if that holds already.
pub(super) fn choose(
    routine: &Routine,
    tables: &Tables,
    words: &Words,
    (graph, effects): (&Graph, &[Effects]),
    limit: u32,
) -> Result<Vec<u32>, Shortage> {
    // Points at which too many registers are live.
    let mut points: Vec<BitSet> = Vec::new();
    walk(graph, effects, routine.columns as usize, |i, after, before| {
        let mut during = after.clone();
        effects[i as usize].defs.iter().for_each(|&d| {
            during.insert(d as usize);
        });
        let last = points.len();
        points.extend([&during, before].into_iter().filter(|s| s.len() > limit as usize).cloned());
        if points.len() == last + 2 && points[last] == points[last + 1] {
            points.pop();
        }
    });
    if points.is_empty() {
        return Ok(Vec::new());
    }
    let costs = costs(routine, tables, words, effects);
    let mut excess: Vec<i64> = points.iter().map(|p| p.len() as i64 - i64::from(limit)).collect();
    let mut relief = Relief::new(routine.columns as usize, &points, words);
    let mut at: Vec<(u32, u8)> = words.iter().filter(|(first, _)| costs[*first as usize].is_some()).collect();
    let mut chosen = Vec::new();
    while excess.iter().any(|&e| e > 0) {
        let value = |&(first, width): &(u32, u8)| {
            let cost = costs[first as usize]?;
            let helps = f64::from(relief.helps[first as usize]);
            let gain = (helps - f64::from(cost.lines)).max(helps * 0.01) * f64::from(width);
            (helps > 0.0).then_some(gain / (cost.added + 0.1))
        };
        let best = at.iter().enumerate().filter_map(|(k, w)| Some((k, value(w)?)));
        let Some((best, _)) = best.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        let (first, width) = at.swap_remove(best);
        let live = |p: &BitSet| (first..first + u32::from(width)).any(|c| p.contains(c as usize));
        for (point, excess) in points.iter().zip(&mut excess).filter(|(point, _)| live(point)) {
            let was_full = *excess > 0;
            *excess -= i64::from(width);
            if was_full && *excess <= 0 {
                relief.end(point, words);
            }
        }
        chosen.push(first);
    }
    if chosen.is_empty() { Err(Shortage) } else { Ok(chosen) }
}

/// For each register, by first column, the number of crowded points at which it is live. A point is counted
/// once, until it is relieved: recounting for each choice would take time cubic in the number of live
/// registers.
struct Relief {
    helps: Vec<u32>,
}

impl Relief {
    fn new(columns: usize, points: &[BitSet], words: &Words) -> Self {
        let mut helps = vec![0; columns];
        points.iter().for_each(|point| live_words(point, words, |first| helps[first as usize] += 1));
        Self { helps }
    }

    /// Removes a point that is no longer crowded.
    fn end(&mut self, point: &BitSet, words: &Words) {
        live_words(point, words, |first| self.helps[first as usize] -= 1);
    }
}

/// Visits the registers, by first column, of which a column is live at a point.
fn live_words(point: &BitSet, words: &Words, mut f: impl FnMut(u32)) {
    let mut last = u32::MAX;
    for column in point.iter() {
        let (first, _) = words.of(column as u32);
        if first != last {
            f(first);
        }
        last = first;
    }
}

/// The cheapest register to spill: the unit's own ones, and those that leave no place for it.
pub(super) fn cheapest_around(
    unit: &[u32],
    hard: &Interference,
    routine: &Routine,
    tables: &Tables,
    words: &Words,
    effects: &[Effects],
) -> Result<u32, Shortage> {
    let costs = costs(routine, tables, words, effects);
    let all = unit.iter().flat_map(|&c| hard.of(c)).chain(unit).map(|&c| words.of(c).0);
    // Of two with the same number of accesses, the one with more neighbours.
    let price = |first: u32| Some(costs[first as usize]?.added / (hard.of(first).len() + 1) as f64);
    let known = all.filter_map(|first| Some((first, price(first)?)));
    known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|w| w.0).ok_or(Shortage)
}

/// For each register, by first column, the operation that computes it anywhere.
fn recomputable(routine: &Routine, tables: &Tables, words: &Words) -> Vec<Option<(Op, Names)>> {
    let mut found = vec![None; routine.columns as usize];
    let mut writes = vec![0_u32; routine.columns as usize];
    for line in &routine.lines {
        tables.uses(line, &mut |u| {
            if let OperandUse::Write(r, n) = u {
                writes[words.of(r).0 as usize] += 1;
                let same_everywhere = match &line.op {
                    Op::Load(t) => t.space == Space::Param && t.address.base.is_constant() && t.format.count == 1,
                    Op::Int1(Int1::Mov32 | Int1::Mov64, _, [s]) => s.is_constant(),
                    Op::Special(s, _) => !s.is_time(),
                    Op::FrameAddress { .. } => true,
                    _ => false,
                };
                if same_everywhere && line.guard == Pred::TRUE && words.of(r) == (r, n) {
                    found[r as usize] = Some((line.op, line.names.clone()));
                }
            }
        });
    }
    for (op, writes) in found.iter_mut().zip(writes) {
        op.take_if(|_| writes != 1);
    }
    found
}

/// Results of spilling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spilled {
    /// Columns moved to local memory.
    pub to_memory: u32,
    /// Columns recomputed at their uses.
    pub recomputed: u32,
}

/// Removes the registers that start at the columns `chosen` from the register file.
pub(super) fn spill(routine: &mut Routine, tables: &mut Tables, words: &Words, chosen: &[u32]) -> Spilled {
    let cheap = recomputable(routine, tables, words);
    let mut done = Spilled::default();
    let mut offsets = vec![None; routine.columns as usize];
    for &first in chosen {
        let width = u32::from(words.of(first).1);
        let offset = routine.frame_bytes.next_multiple_of(4 * width);
        if cheap[first as usize].is_none() {
            routine.frame_bytes = offset + 4 * width;
            done.to_memory += width;
        } else {
            done.recomputed += width;
        }
        offsets[first as usize] = Some(offset);
    }
    let mut edits = Edits::default();
    for i in 0..routine.lines.len() {
        // Spilled registers of the line with its effect on them: reads, writes, writes in part.
        let mut touched: Vec<(u32, bool, bool, bool)> = Vec::new();
        let (mut note, mut guard_written) = (
            |r: u32, n: u8, write: bool| {
                let (first, width) = words.of(r);
                if offsets[first as usize].is_none() {
                    return;
                }
                if !touched.iter().any(|t| t.0 == first) {
                    touched.push((first, false, false, false));
                }
                let entry = touched.iter_mut().find(|t| t.0 == first).expect("it is there");
                entry.1 |= !write;
                entry.2 |= write;
                entry.3 |= write && n != width;
            },
            false,
        );
        let (guard, guard_number) = (routine.lines[i].guard, routine.lines[i].guard_number());
        tables.uses(&routine.lines[i], &mut |u| match u {
            OperandUse::Read(r, n) => note(r, n, false),
            OperandUse::Write(r, n) => note(r, n, true),
            OperandUse::WritePred(p) => guard_written |= guard_number == Some(p),
            _ => {}
        });
        for (first, reads, writes, in_part) in touched {
            let width = words.of(first).1;
            if let (true, Some(_)) = (writes, &cheap[first as usize]) {
                edits.push(i, Edit::Drop);
                continue;
            }
            let own = take(&mut routine.columns, width);
            routine.temporary.push((own, width));
            let offset = offsets[first as usize].unwrap_or(0);
            let line = &mut routine.lines[i];
            let bits = 32 * u32::from(width);
            let mut names = Names::default();
            let register = names.register(own, width.into());
            if let Some((op, mut names)) = cheap[first as usize].clone() {
                rename(&mut names, first, width, own);
                let text = "recomputed, as registers run out".into();
                edits.push(i, Edit::Before(added(line, (op, Pred::TRUE), names, text)));
            } else if reads || in_part || guard_written {
                let op = Op::Load(slot(tables, offset, register, width));
                let text = format!("ld.local.b{bits} [{offset}]; spilled");
                edits.push(i, Edit::Before(added(line, (op, Pred::TRUE), names.clone(), text)));
            }
            rename(&mut line.names, first, width, own);
            if writes {
                let op = Op::Store(slot(tables, offset, register, width));
                let text = format!("st.local.b{bits} [{offset}]; spilled");
                let guard = match guard_number.filter(|_| !guard_written) {
                    None => Pred::TRUE,
                    Some(number) if guard.is_negated() => names.predicate(number).not(),
                    Some(number) => names.predicate(number),
                };
                edits.push(i, Edit::After(added(line, (op, guard), names, text)));
            }
        }
    }
    routine.apply(edits, tables);
    done
}

/// Replaces the register that starts at column `first` by `own`.
fn rename(names: &mut Names, first: u32, width: u8, own: u32) {
    let replaced = names.registers.iter_mut().filter(|c| (first..first + u32::from(width)).contains(c));
    replaced.for_each(|c| *c = own + (*c - first));
}
