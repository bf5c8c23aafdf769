//! What a module becomes when it is loaded: kernels ready to execute, and variables.

use crate::lanes::{Column, Pred, Reg};
use crate::machine_code::MachineCode;
use crate::memory::{DeviceMemory, MemoryError};
use crate::op::Op;
use crate::operand::{reads, walks, writes};
use crate::tensor::MatrixOp;
use isa::{Dim3, Pc, Program, RegId};
use std::collections::HashMap;
use std::sync::Arc;

/// An operation under its guard.
#[derive(Clone, Copy, Debug)]
pub struct Guarded {
    /// What is done.
    pub op: Op,
    /// In which lanes.
    pub guard: Pred,
    /// Once for the warp: in all lanes, those that do not execute among them.
    pub uniform: bool,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its PTX type, with the dimension of an array: `.u64`, `.b8[12]`.
    pub ty: String,
    /// Offset in the packed parameters.
    pub offset: u32,
    /// Size.
    pub bytes: u32,
    /// It is a floating-point number.
    pub is_float: bool,
}

/// How many registers a thread takes, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterCount {
    /// 32-bit registers per thread.
    pub per_thread: u32,
    /// Estimated from liveness; else given by a launch file or metadata.
    pub estimated: bool,
}

/// Where an argument or result of a call lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the frame of the function: offset and size.
    Frame {
        /// Offset in the frame.
        offset: u32,
        /// Size.
        bytes: u32,
    },
    /// In a register of as many columns.
    Register(Reg, u8),
}

/// A function that the kernel calls.
#[derive(Clone, Debug)]
pub struct CalledFunction {
    /// Its name.
    pub name: String,
    /// Its first instruction.
    pub entry: u32,
    /// Where it expects its parameters.
    pub params: Vec<Place>,
    /// Where it leaves its results.
    pub returns: Vec<Place>,
    /// Size of its frame.
    pub frame_bytes: u32,
}

/// Whom a call calls.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// A function by number in the kernel.
    Function(u32),
    /// The function whose address is in a register.
    Pointer(Reg),
    /// `vprintf(format, arguments)`: a line of output.
    Printf,
    /// `__assertfail(message, file, line, function, size)`: a fault.
    AssertFail,
}

/// Registers and predicates of a function: first and count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Save {
    /// 32-bit registers.
    pub registers: (u16, u16),
    /// Predicates.
    pub predicates: (u16, u16),
}

/// A call.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// Whom.
    pub callee: Callee,
    /// Arguments, in the caller.
    pub args: Vec<Place>,
    /// Where the results go, in the caller.
    pub results: Vec<Place>,
    /// Size of the caller's frame.
    pub frame_bytes: u32,
    /// The caller's registers to save, if the call may recurse.
    pub save: Option<Save>,
}

impl CallSite {
    walks!(|self, f| {
        let CallSite { args, results, callee, .. } = self;
        for place in results {
            if let Place::Register(r, n) = place {
                writes(f, [r], *n);
            }
        }
        for place in args {
            if let Place::Register(r, n) = place {
                reads(f, [r], *n);
            }
        }
        if let Callee::Pointer(r) = callee {
            reads(f, [r], 2);
        }
    });
}

/// Where a warp keeps a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterPlace {
    /// A column.
    Column(usize),
    /// A predicate.
    Predicate(usize),
}

/// Where the instructions of a kernel are in the text that it was lowered from, for messages.
pub trait SourceMap: std::fmt::Debug + Send + Sync {
    /// The place of instruction `pc`, and the line that it is in, marked.
    fn describe(&self, pc: Pc) -> (String, String);
}

/// What allocation made of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterAllocation {
    /// Most registers that it might take.
    pub limit: u32,
    /// Registers, in words, that live in local memory.
    pub spilled: u32,
    /// Registers, in words, that are computed again where they are used.
    pub recomputed: u32,
    /// Predicates that live in registers.
    pub predicates_spilled: u32,
    /// Instructions that only wait, to prevent hazards.
    pub fences: u32,
}

/// A kernel, ready to execute.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Static instructions, as the timing model sees them.
    pub program: Arc<Program>,
    /// The text it was lowered from; none for machine code.
    pub origin: Option<Arc<dyn SourceMap>>,
    /// What each instruction does; same index.
    pub code: Vec<Guarded>,
    /// Constants, a column for each, by number.
    pub constants: Vec<Column>,
    /// Matrix operations, by number.
    pub matrix: Vec<MatrixOp>,
    /// Targets of indirect branches, by number.
    pub tables: Vec<Vec<u32>>,
    /// Calls, by number.
    pub calls: Vec<CallSite>,
    /// The kernel itself first, then the functions it calls, in order of their entries.
    pub functions: Vec<CalledFunction>,
    /// Of the module's functions that it may call, by number in the module (see
    /// [`function_address`]): number in the kernel.
    pub numbers: HashMap<usize, u32>,
    /// What machine code has besides; `None` for PTX.
    pub machine: Option<MachineCode>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Statically allocated shared memory per CTA, in bytes.
    pub static_shared: u32,
    /// Shared variables: name, offset, size.
    pub shared_symbols: Vec<(String, u32, u32)>,
    /// Local memory per thread of the kernel itself, in bytes.
    pub local_bytes: u32,
    /// Registers per thread.
    pub registers: RegisterCount,
    /// What register allocation made of it, if it has been.
    pub allocation: Option<RegisterAllocation>,
    /// Most threads per CTA, from `.maxntid`.
    pub max_threads: Option<u32>,
    /// The shape that every CTA must have, from `.reqntid`.
    pub required_block: Option<Dim3>,
}

impl Kernel {
    /// Name of the kernel.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// Whether it is machine code, which latency tables tell from PTX.
    pub fn is_machine_code(&self) -> bool {
        self.machine.is_some()
    }

    /// Columns and predicates that a warp holds.
    pub fn files(&self) -> (usize, usize) {
        let regs = &self.program.regs;
        self.machine.as_ref().map_or((regs.vector.into(), regs.predicate.into()), |m| (m.columns, m.predicates))
    }

    /// Where a warp keeps the register that timing calls `reg`.
    pub(crate) fn place_of(&self, reg: RegId) -> RegisterPlace {
        let regs = &self.program.regs;
        let Some(n) = reg.index().checked_sub(regs.vector.into()) else {
            return RegisterPlace::Column(reg.index());
        };
        // Behind the predicates, machine code has uniform registers, then uniform predicates.
        let uniform_registers = usize::from(regs.uniform.saturating_sub(regs.predicate));
        match (&self.machine, n.checked_sub(regs.predicate.into())) {
            (Some(machine), Some(k)) if k < uniform_registers => {
                RegisterPlace::Column(usize::from(machine.first_uniform) + k)
            }
            (Some(_), Some(_)) => RegisterPlace::Predicate(n - uniform_registers),
            _ => RegisterPlace::Predicate(n),
        }
    }

    /// Bytes of packed parameters.
    pub fn param_bytes(&self) -> u32 {
        self.params.iter().map(|p| p.offset + p.bytes).max().unwrap_or(0)
    }

    /// The function that holds instruction `pc`; they lie one behind the other.
    pub(crate) fn function_of(&self, pc: u32) -> &CalledFunction {
        let index = self.functions.partition_point(|f| f.entry <= pc);
        &self.functions[index - 1]
    }

    /// What each instruction does, by [`isa::Pc`].
    pub fn code(&self) -> &[Guarded] {
        &self.code
    }
}

const CODE_BASE: u64 = 0x70_0000_0000;
const CODE_STRIDE: u64 = 16;

/// Address of function number `index` of its module: no memory lies there.
pub const fn function_address(index: usize) -> u64 {
    CODE_BASE + index as u64 * CODE_STRIDE
}

/// The function number that `address` stands for.
pub const fn function_at(address: u64) -> Option<usize> {
    let offset = address.wrapping_sub(CODE_BASE);
    if offset.is_multiple_of(CODE_STRIDE) && offset / CODE_STRIDE < 1 << 20 {
        Some((offset / CODE_STRIDE) as usize)
    } else {
        None
    }
}

/// A `.global` or `.const` variable of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedVariable {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Size.
    pub bytes: u64,
    /// A `.const` variable, which kernels may not write.
    pub constant: bool,
    /// Initial contents from the first byte on; the rest is zero.
    pub init: Vec<u8>,
}

/// A loaded module: kernels and variables.
#[derive(Clone, Debug, Default)]
pub struct LoadedModule {
    /// Kernels in order of the file.
    pub kernels: Vec<Arc<Kernel>>,
    /// Variables in order of address.
    pub variables: Vec<LoadedVariable>,
}

impl LoadedModule {
    /// The kernel called `name`; of mangled C++ names, also by the plain one if that is unambiguous.
    pub fn kernel(&self, name: &str) -> Option<&Arc<Kernel>> {
        let exact = self.kernels.iter().find(|k| k.name() == name);
        exact.or_else(|| {
            let mut like = self.kernels.iter().filter(|k| plain_name(k.name()) == Some(name));
            like.next().filter(|_| like.next().is_none())
        })
    }

    /// The variable called `name`.
    pub fn variable(&self, name: &str) -> Option<&LoadedVariable> {
        self.variables.iter().find(|v| v.name == name)
    }

    /// Places the module's variables in device memory, initialised.
    ///
    /// # Errors
    /// If the memory is full or another module lies there (see `LowerOptions::slot` of `lower`).
    pub fn place(&self, memory: &mut DeviceMemory) -> Result<(), MemoryError> {
        for v in &self.variables {
            memory.place(v.name.clone(), v.address, v.bytes, v.constant)?;
            memory.write(v.address, &v.init)?;
        }
        Ok(())
    }
}

/// The function name within a mangled C++ one: of `_Z3addPfS_`, `add`.
pub fn plain_name(mangled: &str) -> Option<&str> {
    let rest = mangled.strip_prefix("_Z")?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length: usize = rest[..digits].parse().ok()?;
    rest.get(digits..digits.checked_add(length)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_come_out_of_mangled_ones() {
        assert_eq!(plain_name("_Z9vectoraddPKfS0_Pfi"), Some("vectoradd"));
        assert_eq!(plain_name("_Z99add"), None);
        assert_eq!(plain_name("add"), None);
        assert_eq!(function_at(function_address(7)), Some(7));
        assert_eq!(function_at(8), None);
    }
}
