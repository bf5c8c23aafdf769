//! Static instructions found in a trace: one for each program counter, opcode and set of registers.

use crate::Header;
use crate::line::{Line, Words, decimal};
use isa::{InstSpec, Pc, Program, ProgramBuilder, RegFile, RegId, Source, Traits};
use sass::meaning::{Generation, Meaning, base, meaning};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// An opcode that is in no table; it is timed as an integer operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOpcode {
    /// The opcode without modifiers.
    pub opcode: String,
    /// Number of warp instructions with it.
    pub count: u64,
}

/// Index of a static instruction, in the order of first use.
pub(crate) type InstIndex = u32;

/// Maximum number of static instructions, and of the bytes of their texts.
const MOST_INSTRUCTIONS: InstIndex = 1 << 22;
const MOST_BYTES: usize = 256 << 20;

const NONE: InstIndex = InstIndex::MAX;

#[derive(Clone, Debug)]
struct Entry {
    pc: u64,
    fixed: Box<[u8]>,
    meaning: Meaning,
    /// Another instruction with the same hash.
    next: InstIndex,
}

/// Finds static instructions by their text.
#[derive(Clone, Debug)]
pub(crate) struct InstTable {
    generation: Generation,
    entries: Vec<Entry>,
    /// The last instruction with each hash of its text.
    first: HashMap<u64, InstIndex>,
    hasher: RandomState,
    /// Size of the texts of the instructions.
    bytes: usize,
    /// Position in the finished program; empty before it is finished.
    pcs: Vec<Pc>,
}

/// Vector registers: R0 to R255, the last of which reads as zero.
const VECTOR: u16 = 256;
/// Predicates P0 to P7.
const PREDICATES: u16 = 8;
/// Uniform registers UR0 to UR255 and uniform predicates UP0 to UP7.
const UNIFORM: u16 = 256 + 8;

impl InstTable {
    pub fn new(generation: Generation) -> Self {
        Self {
            generation,
            entries: Vec::new(),
            first: HashMap::new(),
            hasher: RandomState::new(),
            bytes: 0,
            pcs: Vec::new(),
        }
    }

    fn is(&self, at: InstIndex, pc: u64, fixed: &[u8]) -> bool {
        self.entries.get(at as usize).is_some_and(|e| e.pc == pc && *e.fixed == *fixed)
    }

    /// The instruction of `line`, which is usually `likely`.
    #[inline]
    pub fn find(&self, line: &Line<'_>, likely: InstIndex) -> Option<InstIndex> {
        if self.is(likely, line.pc, line.fixed) {
            return Some(likely);
        }
        self.look_up(line.pc, line.fixed)
    }

    fn look_up(&self, pc: u64, fixed: &[u8]) -> Option<InstIndex> {
        let mut at = *self.first.get(&self.hasher.hash_one((pc, fixed)))?;
        while at != NONE && !self.is(at, pc, fixed) {
            at = self.entries[at as usize].next;
        }
        (at != NONE).then_some(at)
    }

    /// Adds the instruction of `line`, which is new. The error names the expected part.
    #[cold]
    pub fn add(&mut self, line: &Line<'_>) -> Result<InstIndex, &'static str> {
        let Operands { opcode, .. } = operands(line.fixed)?;
        let meaning = meaning(opcode, self.generation);
        let entry = Entry { pc: line.pc, fixed: line.fixed.into(), meaning, next: NONE };
        self.push(entry).ok_or("no more than four million static instructions of 256 MiB")
    }

    fn push(&mut self, entry: Entry) -> Option<InstIndex> {
        let at = self.entries.len() as InstIndex;
        let bytes = self.bytes + entry.fixed.len();
        if at >= MOST_INSTRUCTIONS || bytes > MOST_BYTES {
            return None;
        }
        self.bytes = bytes;
        let hash = self.hasher.hash_one((entry.pc, &*entry.fixed));
        let next = self.first.insert(hash, at).unwrap_or(NONE);
        self.entries.push(Entry { next, ..entry });
        Some(at)
    }

    /// Adds the instructions of `other` that are new, in their order; returns the index that each of its instructions
    /// has here. `None` if they are too many.
    pub fn append(&mut self, other: &Self) -> Option<Vec<InstIndex>> {
        let index = |entry: &Entry| self.look_up(entry.pc, &entry.fixed).or_else(|| self.push(entry.clone()));
        other.entries.iter().map(index).collect()
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Properties of the instruction for timing.
    #[inline]
    pub fn meaning(&self, at: InstIndex) -> &Meaning {
        &self.entries[at as usize].meaning
    }

    /// Its position in the program, after [`Self::finish`].
    #[inline]
    pub fn pc(&self, at: InstIndex) -> Option<Pc> {
        self.pcs.get(at as usize).copied()
    }

    /// Whether [`Self::finish`] has been called.
    pub fn is_finished(&self) -> bool {
        !self.pcs.is_empty()
    }

    /// Opcodes in no table, with the number of executions; `counts` has each instruction's.
    pub fn unknown(&self, counts: impl Iterator<Item = u64>) -> Vec<UnknownOpcode> {
        let mut found: Vec<UnknownOpcode> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (entry, count) in self.entries.iter().zip(counts).filter(|(e, _)| e.meaning.unknown) {
            let opcode = operands(&entry.fixed).map(|o| base(o.opcode).to_owned()).unwrap_or_default();
            let place = *places.entry(opcode).or_insert_with_key(|opcode| {
                found.push(UnknownOpcode { opcode: opcode.clone(), count: 0 });
                found.len() - 1
            });
            found[place].count += count;
        }
        found.sort_by_key(|u| std::cmp::Reverse(u.count));
        found
    }

    /// The program, sorted by program counter. Instructions with the same one are adjacent.
    pub fn finish(&mut self, header: &Header) -> Program {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|&i| self.entries[i].pc);
        let mut builder = ProgramBuilder::new(header.name.clone(), self.generation.instruction_bytes());
        self.pcs = vec![Pc(0); self.entries.len()];
        for index in order {
            let entry = &self.entries[index];
            let text = String::from_utf8_lossy(&entry.fixed);
            let operands = operands(&entry.fixed).unwrap_or_default();
            let Meaning { class, work, control, mem, matrix, single, unknown: _ } = entry.meaning;
            self.pcs[index] = builder.push(InstSpec {
                traits: Traits { work, control, mem, matrix, single, ..Traits::of(class) },
                dsts: &operands.dsts,
                srcs: &operands.srcs,
                source: Source { line: u32::try_from(entry.pc).unwrap_or(u32::MAX), origin: (0, 0) },
                text: &format!("{:04x} {text}", entry.pc),
            });
        }
        builder.finish(RegFile { vector: VECTOR, predicate: PREDICATES, uniform: UNIFORM }, Vec::new())
    }
}

#[derive(Debug, Default)]
struct Operands<'a> {
    opcode: &'a str,
    dsts: Vec<RegId>,
    srcs: Vec<RegId>,
}

fn operands(fixed: &[u8]) -> Result<Operands<'_>, &'static str> {
    let mut words = Words::new(fixed);
    let dsts = registers(&mut words)?;
    let opcode = words.next().ok_or("an opcode")?;
    let opcode = std::str::from_utf8(opcode).map_err(|_| "an opcode in plain characters")?;
    Ok(Operands { opcode, dsts, srcs: registers(&mut words)? })
}

fn registers(words: &mut Words<'_>) -> Result<Vec<RegId>, &'static str> {
    let count = words.next().and_then(decimal).ok_or("a number of registers")?;
    (0..count).map(|_| words.next().and_then(register).ok_or("a register: R0 to R255, UR, P or UP")).collect()
}

/// The dense number of `R7`, `P0`, `UR4` or `UP1`.
fn register(word: &[u8]) -> Option<RegId> {
    const PREDICATE_BASE: u16 = VECTOR;
    const UNIFORM_BASE: u16 = VECTOR + PREDICATES;
    let number = |digits, bound| decimal(digits).filter(|&n| n < bound).map(|n| n as u16);
    let id = match word {
        [b'U', b'R', n @ ..] => UNIFORM_BASE + number(n, 256)?,
        [b'U', b'P', n @ ..] => UNIFORM_BASE + 256 + number(n, 8)?,
        [b'P', n @ ..] => PREDICATE_BASE + number(n, 8)?,
        [b'R', n @ ..] => number(n, 256)?,
        _ => return None,
    };
    Some(RegId(id))
}

kit::persist! {
    new struct UnknownOpcode { opcode, count }
}
