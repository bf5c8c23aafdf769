//! A kernel's code with the functions that it calls by address.
//!
//! Unoptimised code, and code that was compiled separately, has a section for each function and calls it by
//! an absolute address (`CALL.ABS`). Addresses here are bytes from the kernel's first instruction; the
//! functions follow the kernel.

use super::device_runtime;
use super::module::{Code, Layout};
use exec::kernel::RuntimeFunction;
use sass::decode::{INSTRUCTION_BYTES, SassInst, SassOp, SassOperand, decode, decode_function};
use sass::elf::lines::{LineEntry, LineTables};
use sass::elf::{Cubin, ElfFunction, Relocation, RelocationKind};
use std::collections::HashMap;

/// Code that may run where an instruction of a known name is not supported.
const HINT: &str = "  hint: the kernel's PTX or its machine code for another architecture may run, if the file has them: \
                    choose the code ptx, or a GPU of another architecture";

/// `, k.cu:7` for the source of an instruction, if the cubin has line tables.
fn source(lines: &LineTables, function: u32, offset: u64) -> String {
    let entry = lines.function(function).and_then(|of| of.source_at(offset));
    let file = |entry: LineEntry| lines.files.get(entry.file? as usize).map(|file| (file, entry.line));
    entry.and_then(file).map_or(String::new(), |(file, line)| format!(", {file}:{line}"))
}

/// Bits of a jump's target, in words of four bytes; since Hopper the lowest bits are separate.
const TARGET_BITS: u32 = 48;
const TARGET_AT: u32 = 34;
const LOW_BITS_90: u32 = 8;
const LOW_AT_90: u32 = 16;

/// A kernel and the functions that it may call, each with the address of its first instruction. Functions of the
/// device runtime follow the others, one instruction each.
pub(super) struct Linked<'a> {
    parts: Vec<(u64, &'a ElfFunction<'a>)>,
    /// The same addresses, by function.
    places: HashMap<Code, u64>,
    /// Size of the code without the runtime's.
    bytes: u64,
    runtime: Vec<RuntimeFunction>,
}

impl<'a> Linked<'a> {
    /// Finds the functions of `cubin` that `kernel` calls, directly and indirectly; through pointers they may
    /// call any of `pointers`.
    pub fn new(cubin: &'a Cubin<'a>, kernel: &'a ElfFunction<'a>, pointers: &[Code]) -> Self {
        let bytes = kernel.code.len() as u64;
        let places = HashMap::from([(Code::Function(kernel.id), 0)]);
        let mut linked = Self { parts: vec![(0, kernel)], places, bytes, runtime: Vec::new() };
        let mut next = 0;
        while let Some(&(_, part)) = linked.parts.get(next) {
            next += 1;
            let named = part.relocations.iter().filter_map(Code::of);
            let through_pointers = !pointers.is_empty() && calls_through_pointer(part, cubin.sm);
            let pointed = pointers.iter().copied().filter(|_| through_pointers);
            for code in named.chain(pointed) {
                if linked.address(code).is_some() {
                    continue;
                }
                match code {
                    Code::Function(id) => linked.add(code, cubin.function(id).filter(|f| !f.is_kernel)),
                    Code::Driver(name) => linked.add(code, device_runtime::function(name, cubin.sm)),
                    Code::Runtime(function) => linked.runtime.push(function),
                }
            }
        }
        linked
    }

    /// Adds a function, if there is one.
    fn add(&mut self, code: Code, function: Option<&'a ElfFunction<'a>>) {
        if let Some(function) = function {
            self.places.insert(code, self.bytes);
            self.parts.push((self.bytes, function));
            self.bytes += function.code.len() as u64;
        }
    }

    /// The first instruction of each of `pointers`; for those that are not linked, one beyond all code.
    pub fn targets(&self, pointers: &[Code]) -> Vec<u32> {
        let target = |&code: &Code| self.address(code).map_or(u32::MAX, |at| (at / INSTRUCTION_BYTES) as u32);
        pointers.iter().map(target).collect()
    }

    /// Address of a function; `None` if it is not linked.
    fn address(&self, code: Code) -> Option<u64> {
        match code {
            Code::Function(_) | Code::Driver(_) => self.places.get(&code).copied(),
            Code::Runtime(function) => {
                let number = self.runtime.iter().position(|known| *known == function)?;
                Some(self.bytes + INSTRUCTION_BYTES * number as u64)
            }
        }
    }

    /// The functions of the device runtime, in the order of their addresses.
    pub fn runtime(&self) -> &[RuntimeFunction] {
        &self.runtime
    }

    /// The functions, the kernel first.
    pub fn functions(&self) -> impl Iterator<Item = &'a ElfFunction<'a>> {
        self.parts.iter().map(|&(_, function)| function)
    }

    /// Addresses of their first instructions, in order.
    pub fn starts(&self) -> impl Iterator<Item = u64> {
        self.parts.iter().map(|&(at, _)| at)
    }

    /// The function that contains the instruction at an address.
    pub fn function_at(&self, address: u64) -> &'a ElfFunction<'a> {
        self.part_at(address).1
    }

    /// The same, with the address of its first instruction.
    pub fn part_at(&self, address: u64) -> (u64, &'a ElfFunction<'a>) {
        let after = self.parts.partition_point(|(at, _)| *at <= address);
        self.parts[after.saturating_sub(1)]
    }

    /// Size of the code, with the runtime's.
    pub fn bytes(&self) -> u64 {
        self.bytes + INSTRUCTION_BYTES * self.runtime.len() as u64
    }

    /// Decodes all code with its relocations applied.
    ///
    /// # Errors
    /// Everything that is not known, one line each.
    pub fn decode(&self, cubin: &Cubin<'_>, layout: &Layout, lines: &LineTables) -> Result<Vec<SassInst>, Vec<String>> {
        let (mut insts, mut problems, mut unsupported) = (Vec::new(), Vec::new(), false);
        for &(base, function) in &self.parts {
            let mut code = function.code.to_vec();
            if code.is_empty() {
                problems.push(format!("  `{}` has no instructions: is the file complete?", function.name));
            }
            if !code.len().is_multiple_of(INSTRUCTION_BYTES as usize) {
                let (name, bytes) = (function.name, code.len());
                problems.push(format!("  `{name}` has {bytes} bytes, and ends within an instruction of 16 bytes"));
            }
            for relocation in &function.relocations {
                if let Err(problem) = self.relocate(&mut code, relocation, cubin.sm, layout) {
                    problems.push(format!("  {:04x}: {problem}", base + relocation.offset));
                }
            }
            let (words, _) = code.as_chunks::<{ INSTRUCTION_BYTES as usize }>();
            for (address, word) in (base..).step_by(INSTRUCTION_BYTES as usize).zip(words) {
                match decode(u128::from_le_bytes(*word), address, cubin.sm) {
                    Ok(inst) => insts.push(inst),
                    Err(e) => {
                        unsupported |= e.is_unsupported();
                        problems.push(format!("  {address:04x}: {e}{}", source(lines, function.id, address - base)))
                    }
                }
            }
        }
        if unsupported {
            problems.push(HINT.into());
        }
        if problems.is_empty() { Ok(insts) } else { Err(problems) }
    }

    fn relocate(&self, code: &mut [u8], r: &Relocation<'_>, sm: u8, layout: &Layout) -> Result<(), String> {
        if r.kind == RelocationKind::Yield {
            return Ok(());
        }
        // A pointer to a function is the same in code as in memory; other addresses are within functions.
        let is_pointer = r.addend == 0 && r.kind != RelocationKind::JumpTarget;
        let named = Code::of(r);
        let pointer = named.filter(|_| is_pointer).and_then(|named| layout.pointer(named));
        let symbol = pointer.or_else(|| self.address(named?)).or_else(|| layout.variable(r));
        let address = symbol.ok_or_else(|| unknown_symbol(r.symbol))?.wrapping_add_signed(r.addend);
        let at = usize::try_from(r.offset).ok();
        let place = at.and_then(|at| code.get_mut(at..at.checked_add(INSTRUCTION_BYTES as usize)?));
        let place = place.ok_or("a relocation outside the code")?;
        let mut word = u128::from_le_bytes((&*place).try_into().map_err(|_| "a relocation outside the code")?);
        let mut put = |value: u64, at: u32, bits: u32| {
            let mask = ((1 << bits) - 1) << at;
            word = word & !mask | u128::from(value) << at & mask;
        };
        match r.kind {
            RelocationKind::Low32 => put(address, 32, 32),
            RelocationKind::High32 => put(address >> 32, 32, 32),
            RelocationKind::JumpTarget if sm < 90 => put(address >> 2, TARGET_AT, TARGET_BITS),
            RelocationKind::JumpTarget => {
                put(address >> 2, LOW_AT_90, LOW_BITS_90);
                put(address >> (2 + LOW_BITS_90), TARGET_AT, TARGET_BITS);
            }
            kind => return Err(format!("relocation {kind:?} of `{}` is not supported", r.symbol)),
        }
        place.copy_from_slice(&word.to_le_bytes());
        Ok(())
    }
}

/// Why a symbol has no address.
fn unknown_symbol(name: &str) -> String {
    match device_runtime::unsupported(name) {
        Some(call) => format!("`{name}`: kernels cannot {call}"),
        None => format!("the address of `{name}` is not known: the cubin is not linked"),
    }
}

/// Whether code of `function` calls an address in a register.
fn calls_through_pointer(function: &ElfFunction<'_>, sm: u8) -> bool {
    let calls =
        |inst: SassInst| inst.row.op == SassOp::Call && !matches!(inst.operands().last(), Some(SassOperand::Target(_)));
    decode_function(function.code, sm).any(|inst| inst.is_ok_and(calls))
}
