//! Registers that belong together: the two columns of a 64-bit value, and the registers of one memory access,
//! which hardware requires to be consecutive and aligned.

use super::interference::Unit;
use super::liveness::Effects;
use super::routine::{Edit, Edits, Routine, Tables, added, copy, take};
use exec::access::Transfer;
use exec::lanes::Reg;
use exec::op::Op;
use exec::operand::OperandUse;
use std::collections::HashMap;

/// Virtual registers: each is one column, or two.
#[derive(Clone, Debug)]
pub(super) struct Words {
    /// Per column, the first column of its register; `u32::MAX` if it belongs to none.
    first: Vec<u32>,
    /// Per first column, the number of columns of the register.
    width: Vec<u8>,
}

impl Words {
    /// The registers that `routine` uses.
    pub fn new(routine: &Routine, tables: &Tables) -> Self {
        let count = routine.columns as usize;
        let mut ends = vec![0_u32; count];
        let mut note = |first: u32, n: u8| {
            let end = &mut ends[first as usize];
            *end = (*end).max(first + u32::from(n));
        };
        for line in &routine.lines {
            tables.uses(line, &mut |u| {
                if let OperandUse::Read(r, n) | OperandUse::Write(r, n) = u {
                    note(r, n);
                }
            });
        }
        routine.formals.iter().chain(&routine.results).for_each(|&(r, n)| note(r, n));
        let mut words = Self { first: vec![u32::MAX; count], width: vec![0; count] };
        let mut at = 0;
        while at < count {
            let (mut end, mut next) = (ends[at] as usize, at + 1);
            while next < end {
                end = end.max(ends[next] as usize);
                next += 1;
            }
            if end > at {
                words.width[at] = (end - at) as u8;
                words.first[at..end].fill(at as u32);
            }
            at = next;
        }
        words
    }

    /// First column and number of columns of the register that contains a column.
    pub fn of(&self, column: u32) -> (u32, u8) {
        let first = self.first[column as usize];
        (first, self.width[first as usize])
    }

    /// Whether a column belongs to a register.
    pub fn has(&self, column: u32) -> bool {
        self.first[column as usize] != u32::MAX
    }

    /// All registers: first column and number of columns.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u8)> + '_ {
        (0..self.width.len()).filter(|&c| self.width[c] > 0).map(|c| (c as u32, self.width[c]))
    }

    /// Whether a register of `columns` starts at `first`, which is `None` for a constant.
    fn is_whole(&self, first: Option<u32>, columns: u8) -> bool {
        first.is_some_and(|first| self.width[first as usize] == columns)
    }
}

/// Registers that must be consecutive, by their first columns, in order.
type Groups = Vec<Vec<u32>>;

/// Finds the groups. An access whose registers cannot be consecutive, since they are used in another order
/// elsewhere, are constants, or are parts of wider ones, gets registers of its own and moves.
///
/// Elements narrower than a register take one each; hardware would pack them.
pub(super) fn group(routine: &mut Routine, tables: &mut Tables) -> Groups {
    let words = Words::new(routine, tables);
    let mut groups: Groups = Vec::new();
    let mut place: HashMap<u32, (usize, usize)> = HashMap::new();
    let mut edits = Edits::default();
    for i in 0..routine.lines.len() {
        let line = &routine.lines[i];
        let (Op::Load(mut t) | Op::Store(mut t)) = line.op else { continue };
        let (count, columns) = (usize::from(t.format.count), t.format.columns());
        if count < 2 || t.format.bytes < 4 {
            continue;
        }
        let theirs: Vec<Reg> = elements(&mut t).to_vec();
        let list: Vec<Option<u32>> = theirs.iter().map(|&r| line.names.column(r)).collect();
        let whole = list.iter().all(|&first| words.is_whole(first, columns));
        let distinct = (1..count).all(|k| !list[..k].contains(&list[k]));
        let known: Vec<_> = list.iter().map(|first| place.get(first.as_ref()?).copied()).collect();
        if whole && distinct && known.iter().all(Option::is_none) {
            let list: Vec<u32> = list.into_iter().flatten().collect();
            list.iter().enumerate().for_each(|(k, &first)| {
                place.insert(first, (groups.len(), k));
            });
            groups.push(list);
            continue;
        }
        let together = known[0]
            .is_some_and(|(g, at)| at.is_multiple_of(count) && (0..count).all(|k| known[k] == Some((g, at + k))));
        if whole && together {
            continue;
        }
        let own: Vec<u32> = theirs.iter().map(|_| take(&mut routine.columns, columns)).collect();
        let loads = matches!(line.op, Op::Load(_));
        for (&mine, &theirs) in own.iter().zip(&theirs) {
            routine.temporary.push((mine, columns));
            // The other register and the guard are named as in the line.
            let mut names = line.names.clone();
            let mine = names.register(mine, columns.into());
            let (d, s) = if loads { (theirs, mine) } else { (mine, theirs) };
            let text = "mov; registers of one access side by side".into();
            let line = added(line, (copy(d, s, columns), line.guard), names, text);
            edits.push(i, if loads { Edit::After(line) } else { Edit::Before(line) });
        }
        let line = &mut routine.lines[i];
        if let Op::Load(t) | Op::Store(t) = &mut line.op {
            for (place, &mine) in elements(t).iter_mut().zip(&own) {
                *place = line.names.register(mine, columns.into());
            }
        }
        groups.push(own);
    }
    if !edits.is_empty() {
        routine.apply(edits, tables);
    }
    groups
}

/// Groups and single registers, as units to be placed.
pub(super) fn units(groups: &Groups, words: &Words, effects: &[Effects]) -> Vec<Unit> {
    let mut first = vec![u32::MAX; words.first.len()];
    for (i, e) in effects.iter().enumerate().rev() {
        e.uses.iter().chain(&e.defs).for_each(|&c| first[c as usize] = i as u32);
    }
    let unit = |list: &[u32]| {
        let columns: Vec<u32> = list.iter().flat_map(|&c| c..c + u32::from(words.of(c).1)).collect();
        let first = columns.iter().map(|&c| first[c as usize]).min().unwrap_or(0);
        Unit { columns, first }
    };
    let mut grouped = vec![false; words.first.len()];
    groups.iter().flatten().for_each(|&c| grouped[c as usize] = true);
    let single = words.iter().filter(|(c, _)| !grouped[*c as usize]).map(|(c, _)| unit(&[c]));
    groups.iter().map(|g| unit(g)).chain(single).collect()
}

/// The registers of the elements that a transfer moves.
fn elements(t: &mut Transfer) -> &mut [Reg] {
    &mut t.registers[..usize::from(t.format.count)]
}
