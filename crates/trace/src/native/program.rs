//! Encoding of static programs.

use super::bytes::{Cursor, Expected, put, put_signed, put_text};
use super::codes;
use super::file::{CONSTANT_VERSION, MATRIX_VERSION, WORK_VERSION};
use isa::{
    ConstantOperand, ControlBits, CounterBound, GroupWork, InstSpec, MatrixType, MatrixWork, MemAccess, OpClass, Pc,
    Program, ProgramBuilder, RegFile, RegId, SingleOperation, Source, Traits, Work,
};
use sass::meaning::{Generation, base, meaning, opcode_of};
use std::sync::Arc;

/// Maximum number of static instructions of a program.
const MAX_INSTRUCTIONS: usize = 1 << 22;

/// Minimum size of an instruction in bytes.
const INSTRUCTION_BYTES: u32 = 9;

const MEMORY: u8 = 1;
const PACKED_HALF: u8 = 2;
const PER_LANE: u8 = 4;
const PARTIAL: u8 = 8;
const MATRIX: u8 = 16;
const GUARDED: u8 = 32;
const CONSTANT: u8 = 64;
const SCHEDULED: u8 = 128;

/// Bit of the operand positions that follow: a bound of a counter follows them.
const BOUND: u8 = 8;

/// Writes the names of the classes: classes in a file are indices in this list.
pub(super) fn put_classes(out: &mut Vec<u8>) {
    put(out, OpClass::COUNT as u64);
    OpClass::ALL.iter().for_each(|class| put_text(out, class.name()));
}

/// The classes of a file; `None` for unknown ones.
pub(super) fn classes(cursor: &mut Cursor, bytes: &[u8]) -> Result<Vec<Option<OpClass>>, Expected> {
    let count = cursor.count(bytes, 1)?;
    let mut classes = Vec::new();
    for _ in 0..count {
        let name = cursor.text(bytes)?;
        classes.push(OpClass::ALL.iter().copied().find(|class| class.name() == name));
    }
    Ok(classes)
}

pub(super) fn put_program(out: &mut Vec<u8>, program: &Program) {
    put_text(out, &program.name);
    put(out, program.inst_bytes.into());
    put(out, program.base_address);
    for registers in [program.regs.vector, program.regs.predicate, program.regs.uniform] {
        put(out, registers.into());
    }
    put(out, program.files.len() as u64);
    program.files.iter().for_each(|file| put_text(out, file));
    put(out, program.insts().len() as u64);
    let mut last = Source::default();
    for (index, inst) in program.insts().iter().enumerate() {
        let flags = [
            (MEMORY, inst.mem.is_some()),
            (PACKED_HALF, inst.packed_half),
            (PER_LANE, inst.per_lane),
            (PARTIAL, inst.partial),
            (MATRIX, inst.matrix.is_some()),
            (GUARDED, inst.guarded),
            (CONSTANT, inst.constant.is_some()),
            (SCHEDULED, inst.slots != [None; 3] || inst.counter_bound.is_some()),
        ];
        out.push(inst.class as u8);
        out.push(codes::control_code(inst.control));
        out.push(flags.iter().map(|&(bit, set)| if set { bit } else { 0 }).sum());
        out.push(codes::work_code(inst.work));
        if let Some(mem) = inst.mem {
            let (space, access) = (codes::space_code(mem.space), codes::access_code(mem.access));
            out.extend([space, access, mem.bytes, codes::cache_code(mem.cache)]);
        }
        if let Some(MatrixWork { ty, multiply_adds, group }) = inst.matrix {
            out.push(ty as u8 | if group.is_some() { OF_GROUP } else { 0 });
            put(out, multiply_adds.into());
            if let Some(GroupWork { columns, a_in_registers }) = group {
                put(out, columns.into());
                out.push(a_in_registers.into());
            }
        }
        if let Some(ConstantOperand { bank, offset }) = inst.constant {
            out.push(bank);
            put(out, offset.into());
        }
        put_scheduling(out, inst);
        for registers in [program.dsts(inst), program.srcs(inst)] {
            out.push(registers.len() as u8);
            registers.iter().for_each(|register| put(out, register.0.into()));
        }
        let source = program.source(index.into());
        put_signed(out, i64::from(source.line) - i64::from(last.line));
        put(out, source.origin.0.into());
        put_signed(out, i64::from(source.origin.1) - i64::from(last.origin.1));
        put_text(out, program.text(index.into()));
        last = source;
    }
    // One word per instruction of machine code, or none.
    let words: Vec<u32> = program.insts().iter().filter_map(|inst| inst.control_bits.map(ControlBits::bits)).collect();
    let complete = words.len() == program.insts().len();
    put(out, if complete { words.len() as u64 } else { 0 });
    words.iter().filter(|_| complete).for_each(|word| out.extend(word.to_le_bytes()));
}

/// Writes what the control bits of `inst` refer to, if there is anything.
fn put_scheduling(out: &mut Vec<u8>, inst: &Traits) {
    if inst.slots == [None; 3] && inst.counter_bound.is_none() {
        return;
    }
    let positions = (0..3).filter(|&i| inst.slots[i].is_some()).fold(0, |all, i| all | 1 << i);
    out.push(positions | if inst.counter_bound.is_some() { BOUND } else { 0 });
    out.extend(inst.slots.iter().flatten());
    out.extend(inst.counter_bound.iter().flat_map(|bound| [bound.counter, bound.at_most, bound.drained]));
}

/// The registers of operand positions, and the bound of a counter.
fn scheduling(cursor: &mut Cursor, bytes: &[u8]) -> Result<([Option<u8>; 3], Option<CounterBound>), Expected> {
    let parts = cursor.byte(bytes)?;
    let mut slots = [None; 3];
    for (position, slot) in slots.iter_mut().enumerate() {
        if parts >> position & 1 != 0 {
            *slot = Some(cursor.byte(bytes)?);
        }
    }
    if parts & BOUND == 0 {
        return Ok((slots, None));
    }
    let bound =
        CounterBound { counter: cursor.byte(bytes)?, at_most: cursor.byte(bytes)?, drained: cursor.byte(bytes)? };
    if bound.counter > 5 {
        return Err("a dependence counter from 0 to 5");
    }
    Ok((slots, Some(bound)))
}

pub(super) fn program(
    cursor: &mut Cursor,
    bytes: &[u8],
    classes: &[Option<OpClass>],
    version: u16,
) -> Result<Arc<Program>, Expected> {
    let name = cursor.text(bytes)?;
    let inst_bytes = cursor.narrow(bytes)?;
    if !(1..=16).contains(&inst_bytes) {
        return Err("instructions of 1 to 16 bytes");
    }
    let base_address = cursor.number(bytes)?;
    if base_address >> 56 != 0 {
        return Err("a program where a GPU has memory");
    }
    let mut builder = ProgramBuilder::new(name, inst_bytes);
    let regs =
        RegFile { vector: cursor.narrow(bytes)?, predicate: cursor.narrow(bytes)?, uniform: cursor.narrow(bytes)? };
    if regs.count() > usize::from(u16::MAX) {
        return Err("no more than 65,535 registers");
    }
    let files = cursor.count(bytes, 1)?;
    let files = (0..files).map(|_| cursor.text(bytes)).collect::<Result<Vec<_>, _>>()?;
    let count = cursor.count(bytes, INSTRUCTION_BYTES)?;
    if !(1..=MAX_INSTRUCTIONS).contains(&count) {
        return Err("one to four million static instructions");
    }
    let mut last = Source::default();
    for _ in 0..count {
        last = instruction(cursor, bytes, (classes, version), regs, last, &mut builder)?;
    }
    let words = cursor.count(bytes, 4)?;
    if words != 0 && words != count {
        return Err("a control word for each instruction, or none");
    }
    let mut program = builder.finish(regs, files);
    for pc in 0..words {
        let bits = cursor.word(bytes)?;
        if bits >> ControlBits::BITS != 0 {
            return Err("control bits of an instruction");
        }
        program.set_control_bits(Pc::from(pc), ControlBits::of(bits));
    }
    program.base_address = base_address;
    Ok(Arc::new(program))
}

/// Appends an instruction to `builder`; returns its origin.
fn instruction(
    cursor: &mut Cursor,
    bytes: &[u8],
    (classes, version): (&[Option<OpClass>], u16),
    regs: RegFile,
    last: Source,
    builder: &mut ProgramBuilder,
) -> Result<Source, Expected> {
    let class = classes.get(usize::from(cursor.byte(bytes)?)).copied().flatten();
    let class = class.ok_or("an operation class of this version")?;
    let control = codes::control(cursor.byte(bytes)?)?;
    let flags = cursor.byte(bytes)?;
    let work = if version < WORK_VERSION { None } else { Some(codes::work(cursor.byte(bytes)?)?) };
    let mem = if flags & MEMORY == 0 { None } else { Some(access(cursor, bytes)?) };
    if mem.is_some() && !may_access(class) {
        return Err("a memory access of an instruction that loads or stores");
    }
    let has_matrix = version >= MATRIX_VERSION && flags & MATRIX != 0;
    let mut matrix = if has_matrix { Some(matrix_work(cursor, bytes)?) } else { None };
    let has_constant = version >= CONSTANT_VERSION && flags & CONSTANT != 0;
    let constant = if has_constant {
        Some(ConstantOperand { bank: cursor.byte(bytes)?, offset: cursor.narrow(bytes)? })
    } else {
        None
    };
    let is_scheduled = version >= CONSTANT_VERSION && flags & SCHEDULED != 0;
    let (slots, counter_bound) = if is_scheduled { scheduling(cursor, bytes)? } else { ([None; 3], None) };
    let dsts = registers(cursor, bytes, regs)?;
    let srcs = registers(cursor, bytes, regs)?;
    let line = moved(last.line, cursor.signed(bytes)?)?;
    let file = cursor.narrow(bytes)?;
    let source = Source { line, origin: (file, moved(last.origin.1, cursor.signed(bytes)?)?) };
    let text = cursor.text(bytes)?;
    if version < MATRIX_VERSION && class == OpClass::Tensor {
        matrix = meaning(opcode_of(&text), Generation::Hopper).matrix;
    }
    builder.push(InstSpec {
        traits: Traits {
            work: work.unwrap_or_else(|| work_of_text(class, &text)),
            control,
            mem,
            matrix,
            single: SingleOperation::of_opcode(base(opcode_of(&text))),
            packed_half: flags & PACKED_HALF != 0,
            per_lane: flags & PER_LANE != 0,
            partial: flags & PARTIAL != 0,
            guarded: flags & GUARDED != 0 && !srcs.is_empty(),
            constant,
            slots,
            counter_bound,
            ..Traits::of(class)
        },
        dsts: &dsts,
        srcs: &srcs,
        source,
        text: &text,
    });
    Ok(source)
}

/// Work of the lanes of an instruction in an old file.
fn work_of_text(class: OpClass, text: &str) -> Work {
    Work::of_opcode(class, opcode_of(text))
}

const fn may_access(class: OpClass) -> bool {
    use OpClass::{AsyncCopy, Atomic, Load, MatrixLoad, Store, Texture};
    matches!(class, Load | Store | Atomic | AsyncCopy | MatrixLoad | Texture)
}

fn moved(line: u32, by: i64) -> Result<u32, Expected> {
    i64::from(line).checked_add(by).and_then(|line| u32::try_from(line).ok()).ok_or("a line of a file")
}

fn access(cursor: &mut Cursor, bytes: &[u8]) -> Result<MemAccess, Expected> {
    let space = codes::space(cursor.byte(bytes)?)?;
    let access = codes::access(cursor.byte(bytes)?)?;
    let width = cursor.byte(bytes)?;
    if !(1..=16).contains(&width) {
        return Err("an access of 1 to 16 bytes");
    }
    Ok(MemAccess { space, access, bytes: width, cache: codes::cache(cursor.byte(bytes)?)? })
}

/// Flag of the type of a matrix operation: it is a part of a warp group's.
const OF_GROUP: u8 = 0x80;

fn matrix_work(cursor: &mut Cursor, bytes: &[u8]) -> Result<MatrixWork, Expected> {
    let code = cursor.byte(bytes)?;
    let ty = MatrixType::ALL.get(usize::from(code & !OF_GROUP)).copied().ok_or("a type of a matrix operation")?;
    let multiply_adds = cursor.narrow(bytes)?;
    // A warp group's operations have up to 256 columns, a warp's 8.
    let columns = if code & OF_GROUP == 0 { 1 } else { 256 / 8 };
    if multiply_adds > columns * ty.most_multiply_adds() {
        return Err("a matrix operation of a size that its type has");
    }
    let group = if code & OF_GROUP == 0 {
        None
    } else {
        let columns = cursor.narrow(bytes)?;
        let a_in_registers = cursor.byte(bytes)? != 0;
        if columns > 256 {
            return Err("a matrix operation of at most 256 columns");
        }
        Some(GroupWork { columns, a_in_registers })
    };
    Ok(MatrixWork { ty, multiply_adds, group })
}

fn registers(cursor: &mut Cursor, bytes: &[u8], regs: RegFile) -> Result<Vec<RegId>, Expected> {
    let count = cursor.byte(bytes)?;
    let register = |_| {
        let id = cursor.narrow::<u16>(bytes)?;
        if usize::from(id) < regs.count() { Ok(RegId(id)) } else { Err("a register that the program has") }
    };
    (0..count).map(register).collect()
}
