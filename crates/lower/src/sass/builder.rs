//! A kernel under construction.

use super::module::Layout;
use exec::kernel::{CallSite, Guarded};
use exec::lanes::{Column, Pred, Reg};
use exec::machine_code::{LaunchWord, WordSource};
use exec::op::Op;
use exec::system_shared::SystemShared;
use sass::decode::operand::{Register, URZ};
use sass::decode::{SassInst, SassOp, SassOperand};
use sass::elf::ElfFunction;
use std::collections::HashMap;

/// General predicates P0 to P6 are first, then uniform ones.
pub(super) const UNIFORM_PREDICATES: u16 = 7;
/// Number of predicates that machine code names.
pub(super) const PREDICATES: u16 = 2 * UNIFORM_PREDICATES;
/// Predicate with the truth value of the last reduction at a CTA barrier.
pub(super) const REDUCTION_PREDICATE: u16 = PREDICATES;
/// Registers that receive results for RZ: the width of the widest destination.
pub(super) const SINK_COLUMNS: u16 = 8;
/// Convergence barrier registers B0 to B15.
pub(super) const BARRIERS: u16 = 16;
/// The constant bank of `__constant__` variables.
pub(super) const CONSTANTS: u8 = 3;
/// Size of an instruction in bytes.
pub(super) const BYTES: usize = sass::decode::INSTRUCTION_BYTES as usize;

/// The error describes why an instruction is not executable.
pub(super) type Lowered<T> = Result<T, String>;

/// Number of the first register of each kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Files {
    /// Registers of a thread at launch, from the cubin.
    pub registers: u32,
    /// R0 and following come first: as many as the kernel has at launch or requests.
    pub general: u16,
    pub sink: u16,
    pub uniform: u16,
    pub uniform_count: u16,
    pub barriers: u16,
    /// Count of the last reduction at a CTA barrier.
    pub reduction: u16,
    /// Return address of a collective stretch, per lane.
    pub collective: u16,
    pub scratch: u16,
}

/// A kernel while its instructions are lowered.
pub(super) struct Builder<'a> {
    /// Architecture, such as 75.
    pub sm: u8,
    pub system_shared: SystemShared,
    /// Byte address of the present instruction.
    pub address: u64,
    /// Matrix operations of the kernel, which operations name by index.
    pub matrix: Vec<exec::tensor::MatrixOp>,
    pub layout: &'a Layout,
    pub kernel: &'a ElfFunction<'a>,
    /// The function that contains the present instruction.
    pub function: &'a ElfFunction<'a>,
    /// Size of the code of all functions in bytes.
    pub code_bytes: u64,
    pub files: Files,
    /// Scratch registers and predicates: next free ones, and the maximum in use.
    pub scratch: (u16, u16),
    pub scratch_predicates: (u16, u16),
    pub constants: Vec<Column>,
    pub by_value: HashMap<Vec<ConstantWord>, Reg>,
    pub launch_words: Vec<LaunchWord>,
    /// Operations of the present instruction.
    pub current: Vec<Op>,
    pub code: Vec<Guarded>,
    pub sequences: Vec<Op>,
    /// Size of a thread's stack in bytes.
    pub stack_bytes: u32,
    /// The first instruction of each function to which memory holds a pointer.
    pub functions: Vec<u32>,
    /// Instructions that are a `CALL`, and those that are a `RET`.
    pub calls: Vec<u32>,
    pub returns: Vec<u32>,
    /// Calls of functions of the device runtime.
    pub call_sites: Vec<CallSite>,
}

/// A word of a constant operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ConstantWord {
    Value(u32),
    Bank(u8, u32),
}

/// The place in a constant bank, which has 64 KiB, of an offset of 16 bits: the text has it as a signed number.
pub(super) fn offset_in_bank(offset: i32) -> u32 {
    offset as u32 & 0xffff
}

impl<'a> Builder<'a> {
    /// Adds an operation to the instruction. Those that write its results must be last.
    pub fn emit(&mut self, op: Op) {
        self.current.push(op);
    }

    /// `count` consecutive registers for use within the instruction.
    pub fn scratch(&mut self, count: u16) -> Reg {
        let first = self.scratch.0;
        self.scratch.0 += count;
        self.scratch.1 = self.scratch.1.max(self.scratch.0);
        Reg(self.files.scratch + first)
    }

    /// A predicate for use within the instruction.
    pub fn scratch_pred(&mut self) -> Pred {
        let first = self.scratch_predicates.0;
        self.scratch_predicates.0 += 1;
        self.scratch_predicates.1 = self.scratch_predicates.1.max(self.scratch_predicates.0);
        Pred(REDUCTION_PREDICATE + 1 + first)
    }

    /// The results of the last reduction at a CTA barrier: count and truth value.
    pub fn reduction_result(&self) -> (Reg, Pred) {
        (Reg(self.files.reduction), Pred(REDUCTION_PREDICATE))
    }

    /// A destination for unused results: [`SINK_COLUMNS`] columns.
    pub fn sink(&self) -> Reg {
        Reg(self.files.sink)
    }

    /// The register of convergence barrier `number`.
    pub fn barrier(&self, number: u8) -> Reg {
        Reg(self.files.barriers + u16::from(number) % BARRIERS)
    }

    /// The register with the byte address to which a lane returns after a collective stretch.
    pub fn collective_return(&self) -> Reg {
        Reg(self.files.collective)
    }

    /// `count` consecutive registers starting at `register`; zeros for RZ.
    pub fn register(&mut self, register: Register, count: u16) -> Lowered<Reg> {
        if register.is_zero() {
            return Ok(self.words(&vec![ConstantWord::Value(0); count.into()]));
        }
        let index = u16::from(register.index);
        let (first, most) =
            if register.uniform { (self.files.uniform, self.files.uniform_count) } else { (0, self.files.general) };
        if index + count > most {
            return Err(format!("the kernel has {most} registers only"));
        }
        Ok(Reg(first + index))
    }

    /// A constant of one column.
    pub fn constant(&mut self, value: u32) -> Reg {
        self.words(&[ConstantWord::Value(value)])
    }

    /// A constant of two columns.
    pub fn constant64(&mut self, value: u64) -> Reg {
        self.words(&[ConstantWord::Value(value as u32), ConstantWord::Value((value >> 32) as u32)])
    }

    /// `count` words of a constant bank.
    pub fn bank(&mut self, bank: u8, offset: i32, count: u16) -> Lowered<Reg> {
        let offset = offset_in_bank(offset);
        let words: Vec<ConstantWord> = (0..u32::from(count))
            .map(|k| {
                let at = offset + 4 * k;
                match self.layout.fixed_word(self.owner(bank), bank, at.into()) {
                    Some(value) => ConstantWord::Value(value),
                    None => ConstantWord::Bank(bank, at),
                }
            })
            .collect();
        let missing = !matches!(bank, 0)
            && words.iter().any(|w| matches!(w, ConstantWord::Bank(..)))
            && self.bank_address(bank).is_none();
        if missing {
            return Err(format!("the cubin has no constant bank {bank}"));
        }
        Ok(self.words(&words))
    }

    /// The word of a constant bank that holds the handle of a texture or surface.
    pub fn handle(&mut self, bank: u8, offset: i32) -> Lowered<Reg> {
        let parameters = i64::from(self.kernel.parameter_base) + i64::from(self.kernel.parameter_bytes);
        if bank == 0 && i64::from(offset) >= parameters {
            let known = self.layout.reference(self.owner(0), offset as u32).is_some();
            return if known {
                self.bank(0, offset, 1)
            } else {
                Err("the cubin does not say which texture or surface it means".into())
            };
        }
        self.bank(bank, offset, 1)
    }

    /// The function whose constant bank an instruction reads: in a called function, its own or the kernel's.
    fn owner(&self, bank: u8) -> &'a ElfFunction<'a> {
        if self.function.constants.iter().any(|own| own.bank == bank) { self.function } else { self.kernel }
    }

    /// Address in device memory of a constant bank other than 0.
    pub fn bank_address(&self, bank: u8) -> Option<u64> {
        self.layout.bank_address(self.owner(bank), bank)
    }

    /// Index of the instruction at a byte address of the function.
    pub fn target(&self, address: i64) -> Lowered<u32> {
        let bytes = BYTES as u64;
        let at = u64::try_from(address).ok().filter(|a| a % bytes == 0 && *a < self.code_bytes);
        at.map(|a| (a / bytes) as u32).ok_or_else(|| format!("it jumps to {address:#x}, outside the code"))
    }

    fn words(&mut self, words: &[ConstantWord]) -> Reg {
        if let Some(&reg) = self.by_value.get(words) {
            return reg;
        }
        let first = self.constants.len() as u16;
        for word in words {
            let constant = self.constants.len() as u16;
            let value = match *word {
                ConstantWord::Value(value) => value,
                ConstantWord::Bank(bank, offset) => {
                    let address = match bank {
                        0 => self.layout.reference(self.owner(0), offset),
                        _ => self.bank_address(bank).map(|base| base + u64::from(offset)),
                    };
                    let source = address.map_or(WordSource::LaunchBank(offset), WordSource::Memory);
                    self.launch_words.push(LaunchWord { constant, source });
                    0
                }
            };
            self.constants.push([value; 32]);
        }
        let reg = Reg::constant(first);
        self.by_value.insert(words.to_vec(), reg);
        reg
    }
}

impl Files {
    pub fn of(registers: u32, insts: &[SassInst]) -> Self {
        let uniform = insts.iter().flat_map(|i| i.operands().collect::<Vec<_>>()).filter_map(highest_uniform).max();
        // A 64-bit operand names the lower of two registers.
        let uniform_count = uniform.map_or(0, |n| u16::from(n) + 2).min(u16::from(URZ) + 1);
        let most = insts.iter().filter_map(requested_registers).fold(registers, u32::max);
        let general = most.clamp(1, 255) as u16;
        let sink = general;
        let uniform = sink + SINK_COLUMNS;
        let barriers = uniform + uniform_count;
        Self {
            registers,
            general,
            sink,
            uniform,
            uniform_count,
            barriers,
            reduction: barriers + BARRIERS,
            collective: barriers + BARRIERS + 1,
            scratch: barriers + BARRIERS + 2,
        }
    }
}

/// Registers per thread that `inst` requests if it is a `USETMAXREG`.
fn requested_registers(inst: &SassInst) -> Option<u32> {
    let immediate = |operand| match operand {
        SassOperand::Immediate { bits, .. } => Some(bits as u32),
        _ => None,
    };
    (inst.row.op == SassOp::USetMaxReg).then(|| inst.shown_operands().find_map(immediate)).flatten()
}

fn highest_uniform(operand: SassOperand) -> Option<u8> {
    let index = match operand {
        SassOperand::Register(r) if r.uniform => r.index,
        SassOperand::Memory(m) => m.uniform?,
        // The first of four.
        SassOperand::Descriptors(d) if d.register != URZ => d.register.saturating_add(2),
        SassOperand::Constant(c) => c.bindless.or_else(|| c.index.filter(|r| r.uniform).map(|r| r.index))?,
        SassOperand::Indirect { register, .. } if register.uniform => register.index,
        _ => return None,
    };
    (index != URZ).then_some(index)
}
