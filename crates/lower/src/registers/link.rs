//! Splits a kernel's list of instructions into functions, and joins them again.

use super::extend::{self, Fence, Step, of_warp};
use super::place::Placed;
use super::predicates::PREDICATES;
use super::routine::{Edit, Edits, Routine, Tables, added, copy};
use crate::cfg::{Flow, Graph};
use crate::listing::{Groups, Line, Listing, LoweredFunction, Names};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::kernel::{Callee, Save};
use exec::lanes::Pred;
use exec::op::Op;
use exec::operand::OperandUse;

/// Splits a kernel into its functions.
pub(super) fn apart(listing: &mut Listing<'_>) -> (Vec<Routine>, Tables) {
    let mut tables = Tables {
        branches: std::mem::take(listing.branches),
        calls: std::mem::take(listing.calls),
        matrix: std::mem::take(listing.matrix),
        constants: std::mem::take(listing.constants),
    };
    let mut lines = std::mem::take(listing.code).into_iter();
    let routines = listing.functions.iter_mut().map(|f| {
        let (start, end) = f.range;
        let [first, next] = f.registers;
        f.names.registers.iter_mut().for_each(|column| *column -= first.0);
        let mut routine = Routine {
            columns: next.0 - first.0,
            predicates: next.1 - first.1,
            lines: lines.by_ref().take((end - start) as usize).collect(),
            formals: f.names.in_registers(&f.function.params),
            results: f.names.in_registers(&f.function.returns),
            frame_bytes: f.function.frame_bytes,
            temporary: Vec::new(),
        };
        for line in &mut routine.lines {
            line.names.registers.iter_mut().for_each(|column| *column -= first.0);
            line.names.predicates.iter_mut().for_each(|number| *number -= first.1);
        }
        shift(&mut routine.lines, &mut tables, |target| target - start);
        routine
    });
    (routines.collect(), tables)
}

/// Changes the targets of branches.
fn shift(lines: &mut [Line], tables: &mut Tables, to: impl Fn(u32) -> u32) {
    for line in lines {
        match &mut line.op {
            Op::Branch { target, .. } => *target = to(*target),
            Op::BranchTable { table, .. } => tables.branches[*table as usize].iter_mut().for_each(|t| *t = to(*t)),
            _ => {}
        }
    }
}

/// Joins the functions of a kernel again. They are at `bases` in the register file. If functions `overlap`, every call
/// saves the registers of the caller.
pub(super) fn together(
    listing: &mut Listing<'_>,
    routines: Vec<Routine>,
    mut tables: Tables,
    placed: &[Placed],
    (bases, overlap): (&[u32], bool),
) {
    for (i, mut routine) in routines.into_iter().enumerate() {
        let f = &mut listing.functions[i];
        let start = listing.code.len() as u32;
        f.range = (start, start + routine.lines.len() as u32);
        f.function.entry = start;
        f.function.frame_bytes = routine.frame_bytes.next_multiple_of(16);
        for column in &mut f.names.registers {
            *column = placed[i].places[*column as usize].unwrap_or(0) + bases[i];
        }
        shift(&mut routine.lines, &mut tables, |target| target + start);
        for line in &mut routine.lines {
            line.text = annotated(line, &tables);
            if let Op::Call(site) = line.op {
                let site = &mut tables.calls[site as usize];
                site.frame_bytes = f.function.frame_bytes;
                // No predicate is live while a called function runs.
                let registers = (bases[i] as u16, placed[i].used as u16);
                let saves = site.save.is_some() || overlap && !matches!(site.callee, Callee::Runtime(_));
                site.save = saves.then_some(Save { registers, predicates: (0, 0) });
            }
        }
        listing.code.extend(routine.lines);
    }
    let used = placed.iter().zip(bases).map(|(p, base)| base + p.used).max().unwrap_or(0);
    *listing.columns = used;
    *listing.predicates = PREDICATES;
    *listing.branches = tables.branches;
    *listing.calls = tables.calls;
    *listing.matrix = tables.matrix;
    *listing.constants = tables.constants;
}

/// The text of an instruction, followed by its registers.
fn annotated(line: &Line, tables: &Tables) -> String {
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    let span = |r: u32, n: u8| if n > 1 { format!("R{r}:{}", r + u32::from(n) - 1) } else { format!("R{r}") };
    tables.uses(line, &mut |u| match u {
        OperandUse::Read(r, n) => reads.push(span(r, n)),
        OperandUse::Write(r, n) => writes.push(span(r, n)),
        OperandUse::ReadPred(p) | OperandUse::UpdatePred(p) => reads.push(format!("P{p}")),
        OperandUse::WritePred(p) => writes.push(format!("P{p}")),
    });
    reads.extend(line.guard_number().map(|p| format!("P{p}")));
    if reads.is_empty() && writes.is_empty() {
        return line.text.clone();
    }
    let arrow = if writes.is_empty() { "" } else { " = " };
    format!("{} // {}{arrow}{}", line.text, writes.join(", "), reads.join(", "))
}

/// Replaces the number of every register of a function by the `place` of its column.
pub(super) fn rename(routine: &mut Routine, place: impl Fn(u32) -> u32) {
    let lines = routine.lines.iter_mut().flat_map(|line| &mut line.names.registers);
    let others = routine.results.iter_mut().chain(&mut routine.formals).map(|(first, _)| first);
    lines.chain(others).for_each(|column| *column = place(*column));
    routine.temporary.clear();
}

/// The first register of each function, after the registers of all its possible callers. Functions that may call each
/// other in a cycle have their registers one after the other. `used` is the number of registers of a function.
pub(super) fn bases(groups: &Groups, functions: &[LoweredFunction], used: impl Fn(usize) -> u32) -> Vec<u32> {
    let mut bases = vec![0; functions.len()];
    let mut starts = vec![0; groups.members.len()];
    for (group, members) in groups.members.iter().enumerate() {
        let mut next = starts[group];
        for &f in members {
            bases[f] = next;
            // Pairs and groups of four stay aligned.
            next = (next + used(f)).next_multiple_of(4);
        }
        let through_pointers = (group == groups.pointer()).then_some(functions.len());
        for called in members.iter().copied().chain(through_pointers).flat_map(|f| groups.called(functions, f)) {
            if called != group {
                starts[called] = next.max(starts[called]);
            }
        }
    }
    bases
}

/// Inserts fences before writes that could overtake reads. Returns their number. The registers of all are below
/// `vectors`.
pub(super) fn put_fences(routines: &mut [Routine], tables: &mut Tables, vectors: u32) -> u32 {
    let starts: Vec<u32> = routines
        .iter()
        .scan(0, |next, r| {
            let start = *next;
            *next += r.lines.len() as u32;
            Some(start)
        })
        .collect();
    let (mut flow, mut steps) = (Vec::new(), Vec::new());
    for (routine, &start) in routines.iter().zip(&starts) {
        let ends = |i: usize| matches!(routine.lines[i].op, Op::Return | Op::Exit | Op::Trap);
        flow.extend(of_warp(&routine.flow(tables), ends).into_iter().map(|f| {
            let targets = f.targets.into_iter().map(|t| t + start).collect();
            Flow { targets, ..f }
        }));
        let effects = routine.effects(tables).into_iter().zip(routine.predicate_effects(tables));
        steps.extend(effects.map(|(v, p)| Step::new(&v, &p, vectors)));
    }
    add_calls(routines, tables, &starts, &mut flow);
    let fences = extend::fences(&Graph::new(&flow), &steps);
    let (count, mut fences) = (fences.len() as u32, fences.into_iter().peekable());
    for (routine, &start) in routines.iter_mut().zip(&starts) {
        let end = start + routine.lines.len() as u32;
        let mut edits = Edits::default();
        while let Some((at, kind)) = fences.next_if(|f| f.0 < end) {
            let line = &routine.lines[(at - start) as usize];
            edits.push((at - start) as usize, Edit::Before(fence(line, tables, kind, vectors)));
        }
        routine.apply(edits, tables);
    }
    count
}

/// An instruction that waits for a register or, from `vectors` on, a predicate, and has no other effect.
fn fence(line: &Line, tables: &mut Tables, fence: Fence, vectors: u32) -> Line {
    let text = "fence: waits for a result".to_owned();
    let (Fence::Writing(register) | Fence::Reading(register)) = fence;
    let mut names = Names::default();
    if register >= vectors {
        let guard = names.predicate(register - vectors);
        return added(line, (Op::Nop, guard), names, text);
    }
    let (register, zero) = (names.register(register, 1), tables.constants.get(0, false));
    if let Fence::Writing(_) = fence {
        return added(line, (copy(register, zero, 1), Pred::TRUE.not()), names, text);
    }
    let test = Comparison { relation: Relation::Eq, ty: CompareType::U32, ftz: false };
    let op = Op::Setp { test, s: [register, zero], d: [Pred::TRUE; 2], with: (Combine::And, Pred::TRUE) };
    added(line, (op, Pred::TRUE), names, text)
}

/// Adds the edges into called functions and back.
fn add_calls(routines: &[Routine], tables: &Tables, starts: &[u32], flow: &mut [Flow]) {
    let ends = |r: &Routine| (0..r.lines.len()).filter(|&k| r.lines[k].op == Op::Return).collect();
    let returns: Vec<Vec<usize>> = routines.iter().map(ends).collect();
    for (routine, &start) in routines.iter().zip(starts) {
        for (i, line) in routine.lines.iter().enumerate() {
            let Op::Call(site) = line.op else { continue };
            let called = match tables.calls[site as usize].callee {
                Callee::Function(f) => f as usize..f as usize + 1,
                Callee::Pointer(_) => 1..routines.len(),
                Callee::Runtime(_) => continue,
            };
            let here = start + i as u32;
            for f in called {
                flow[here as usize].targets.push(starts[f]);
                for k in &returns[f] {
                    flow[starts[f] as usize + k].targets.push(here + 1);
                }
            }
        }
    }
}
