//! A loaded module: kernels ready to execute, and variables.

use crate::image::ImageReference;
use crate::lanes::{Column, Pred, Reg};
use crate::machine_code::{LaunchWord, MachineCode};
use crate::memory::{DeviceMemory, MemoryError};
use crate::op::Op;
use crate::operand::{reads, walks, writes};
use crate::system_shared::SystemShared;
use crate::tensor::MatrixOp;
use isa::{Dim3, Pc, Program, RegId};
use std::collections::HashMap;
use std::sync::Arc;

/// An operation under its guard.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Guarded {
    pub op: Op,
    /// Lanes for which it holds execute the operation.
    pub guard: Pred,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Param {
    pub name: String,
    /// Its PTX type, with the dimension of an array: `.u64`, `.b8[12]`.
    pub ty: String,
    /// In bytes, in the packed parameters.
    pub offset: u32,
    pub bytes: u32,
    /// It is a floating-point number: launch files write it as one.
    pub is_float: bool,
}

/// Number of registers of a thread, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterCount {
    /// 32-bit registers per thread.
    pub per_thread: u32,
    /// Estimated from liveness; otherwise given by a launch file or metadata.
    pub estimated: bool,
}

/// Location of an argument or result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Place {
    /// In the frame of the function.
    Frame { offset: u32, bytes: u32 },
    /// In a register of this many columns.
    Register(Reg, u8),
}

/// A function that the kernel calls.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CalledFunction {
    pub name: String,
    /// Index of its first instruction.
    pub entry: u32,
    /// Where it reads its parameters.
    pub params: Vec<Place>,
    /// Where it leaves its results.
    pub returns: Vec<Place>,
    pub frame_bytes: u32,
}

/// The callee of a call.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// A function, by index in the kernel.
    Function(u32),
    /// The function whose address is in a register.
    Pointer(Reg),
    /// A function of CUDA's device runtime.
    Runtime(RuntimeFunction),
}

/// A function of CUDA's device runtime that kernels may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuntimeFunction {
    /// `vprintf(format, arguments)`: a line of output.
    Printf,
    /// `__assertfail(message, file, line, function, size)`: a fault.
    AssertFail,
    /// `malloc(bytes)`: a block of the heap of kernels, or null.
    Malloc,
    /// `free(pointer)`.
    Free,
}

impl RuntimeFunction {
    /// The function that PTX and cubins call `name`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "vprintf" => Self::Printf,
            "__assertfail" => Self::AssertFail,
            "malloc" => Self::Malloc,
            "free" => Self::Free,
            _ => return None,
        })
    }
}

/// Registers and predicates of a function, each as first and count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Save {
    /// 32-bit registers: first, count.
    pub registers: (u16, u16),
    /// Predicates: first, count.
    pub predicates: (u16, u16),
}

/// A call in a kernel, with the places of its arguments and results.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CallSite {
    pub callee: Callee,
    /// Arguments, in the caller's frame and registers.
    pub args: Vec<Place>,
    /// Places for the results, in the caller's frame and registers.
    pub results: Vec<Place>,
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

/// Storage of a register in a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterPlace {
    /// Index of a column.
    Column(usize),
    /// Index of a predicate.
    Predicate(usize),
}

/// Finds the instructions of a kernel in the text that it was lowered from, for messages.
pub trait SourceMap: std::fmt::Debug + Send + Sync {
    /// The place of instruction `pc`, and its line with a marker.
    fn describe(&self, pc: Pc) -> (String, String);
}

/// Results of register allocation for a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterAllocation {
    /// Limit of registers that the allocation was given.
    pub limit: u32,
    /// Registers, in words, that were spilled to local memory.
    pub spilled: u32,
    /// Registers, in words, that are recomputed at their uses.
    pub recomputed: u32,
    /// Predicates that were moved to registers.
    pub predicates_spilled: u32,
    /// Instructions inserted only to wait, which prevents hazards.
    pub fences: u32,
}

/// A kernel, ready to execute.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Kernel {
    /// Static instructions, as the timing model sees them.
    pub program: Arc<Program>,
    /// The text that it was lowered from; none for machine code.
    pub origin: Option<Arc<dyn SourceMap>>,
    /// Operation of each instruction of `program`; same index.
    pub code: Vec<Guarded>,
    /// Constants, by index: one column each.
    pub constants: Vec<Column>,
    /// Constants whose value the launch determines.
    pub launch_words: Vec<LaunchWord>,
    /// Matrix operations, by index.
    pub matrix: Vec<MatrixOp>,
    /// Targets of indirect branches: one table per index.
    pub tables: Vec<Vec<u32>>,
    /// Call sites, by index.
    pub calls: Vec<CallSite>,
    /// The kernel itself first, then the functions that it calls, sorted by entry.
    pub functions: Vec<CalledFunction>,
    /// Functions of the module that it may call: from their index in the module (see [`function_address`]) to
    /// the one in the kernel.
    pub numbers: HashMap<usize, u32>,
    /// Additional state of machine code; `None` for PTX.
    pub machine: Option<MachineCode>,
    /// In the order of their declaration.
    pub params: Vec<Param>,
    /// Statically allocated shared memory per CTA, in bytes.
    pub static_shared: u32,
    /// The part of a CTA's shared memory that is the system's.
    pub system_shared: SystemShared,
    /// Shared variables: name, offset, size.
    pub shared_symbols: Vec<(String, u32, u32)>,
    /// Local memory per thread of the kernel itself without called functions, in bytes.
    pub local_bytes: u32,
    pub registers: RegisterCount,
    /// Results of register allocation, if it was done.
    pub allocation: Option<RegisterAllocation>,
    /// Maximum number of threads per CTA, from `.maxntid`.
    pub max_threads: Option<u32>,
    /// The shape that every CTA must have, from `.reqntid`.
    pub required_block: Option<Dim3>,
    /// The shape that every cluster must have, from `.reqnctapercluster`.
    pub required_cluster: Option<Dim3>,
    /// Every launch must be in clusters, whose shape the launch says (`.explicitcluster` without a shape).
    pub needs_cluster: bool,
    /// Maximum number of CTAs of a cluster, from `.maxclusterrank`.
    pub max_cluster: Option<u32>,
}

impl Kernel {
    /// Name of the kernel.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// Whether it is machine code, which has latency tables of its own.
    pub fn is_machine_code(&self) -> bool {
        self.machine.is_some()
    }

    /// Number of columns and of predicates that a warp holds.
    pub fn files(&self) -> (usize, usize) {
        let regs = &self.program.regs;
        self.machine.as_ref().map_or((regs.vector.into(), regs.predicate.into()), |m| (m.columns, m.predicates))
    }

    /// Where a warp keeps the register that the timing model calls `reg`.
    pub(crate) fn place_of(&self, reg: RegId) -> RegisterPlace {
        let regs = &self.program.regs;
        let Some(n) = reg.index().checked_sub(regs.vector.into()) else {
            return RegisterPlace::Column(reg.index());
        };
        // In machine code, uniform registers follow the predicates, then uniform predicates.
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

    /// The function that contains instruction `pc`; functions are stored one after the other.
    pub(crate) fn function_of(&self, pc: u32) -> &CalledFunction {
        let index = self.functions.partition_point(|f| f.entry <= pc);
        &self.functions[index - 1]
    }

    /// Operation of each instruction, by [`isa::Pc`].
    pub fn code(&self) -> &[Guarded] {
        &self.code
    }
}

const CODE_BASE: u64 = 0x70_0000_0000;
const CODE_STRIDE: u64 = 16;

/// Address of function number `index` of its module. No memory is allocated there.
pub const fn function_address(index: usize) -> u64 {
    CODE_BASE + index as u64 * CODE_STRIDE
}

/// Index of the function that has `address`.
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
#[allow(missing_docs, reason = "the names say it")]
pub struct LoadedVariable {
    pub name: String,
    /// Device address.
    pub address: u64,
    pub bytes: u64,
    /// A `.const` variable, which kernels may not write.
    pub constant: bool,
    /// It is in managed memory, which the host program accesses too.
    pub managed: bool,
    /// Initial contents of the first bytes; the rest is zero.
    pub init: Vec<u8>,
}

impl LoadedVariable {
    /// The variable that holds the handle of a texture or surface reference.
    pub fn of_reference(reference: &ImageReference) -> Self {
        let ImageReference { name, address, .. } = reference;
        Self {
            name: format!("(handle of {name})"),
            address: *address,
            bytes: ImageReference::BYTES,
            constant: true,
            managed: false,
            init: Vec::new(),
        }
    }
}

/// A loaded module: kernels, variables, and references to images.
#[derive(Clone, Debug, Default)]
pub struct LoadedModule {
    /// In the order of the file.
    pub kernels: Vec<Arc<Kernel>>,
    /// Sorted by address.
    pub variables: Vec<LoadedVariable>,
    /// Texture and surface references. Their handles are among the variables.
    pub references: Vec<ImageReference>,
}

impl LoadedModule {
    /// The kernel `name`. For a mangled C++ name the plain name is accepted if it is unambiguous.
    pub fn kernel(&self, name: &str) -> Option<&Arc<Kernel>> {
        named(&self.kernels, |kernel| kernel.name(), name)
    }

    /// The variable `name`; for a mangled C++ name the plain name is accepted as for kernels. `None` if the module has
    /// no such variable.
    pub fn variable(&self, name: &str) -> Option<&LoadedVariable> {
        named(&self.variables, |variable| &variable.name, name)
    }

    /// The texture or surface reference `name`, or of the plain name; `None` if the module has no such reference.
    pub fn reference(&self, name: &str) -> Option<&ImageReference> {
        named(&self.references, |reference| &reference.name, name)
    }

    /// Places the module's variables in device memory with their initial contents.
    ///
    /// # Errors
    /// If the memory is full or another module occupies the addresses (see `LowerOptions::slot` of `lower`).
    pub fn place(&self, memory: &mut DeviceMemory) -> Result<(), MemoryError> {
        for v in &self.variables {
            memory.place(v.name.clone(), v.address, v.bytes, v.constant)?;
            memory.write(v.address, &v.init)?;
        }
        Ok(())
    }
}

/// The item called `name`, else the only one whose plain name that is.
fn named<'a, T>(items: &'a [T], name_of: impl Fn(&T) -> &str, name: &str) -> Option<&'a T> {
    items.iter().find(|item| name_of(item) == name).or_else(|| {
        let mut like = items.iter().filter(|item| plain_name(name_of(item)) == Some(name));
        like.next().filter(|_| like.next().is_none())
    })
}

/// The name of a function or variable in a mangled C++ name: `add` for `_Z3addPfS_`, `table` for the static `_ZL5table`.
pub fn plain_name(mangled: &str) -> Option<&str> {
    let rest = mangled.strip_prefix("_Z")?;
    let rest = rest.strip_prefix('L').unwrap_or(rest);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length: usize = rest[..digits].parse().ok()?;
    rest.get(digits..digits.checked_add(length)?)
}

/// Whether `asked` is the name of a function or variable in the file, which may be mangled, or its plain name.
pub fn is_named(name: &str, asked: &str) -> bool {
    name == asked || plain_name(name) == Some(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_come_out_of_mangled_ones() {
        assert_eq!(plain_name("_Z9vectoraddPKfS0_Pfi"), Some("vectoradd"));
        assert_eq!(plain_name("_Z99add"), None);
        assert_eq!(plain_name("add"), None);
        assert_eq!(plain_name("_ZL7weights"), Some("weights"));
        assert_eq!(plain_name("_ZL"), None);
        assert_eq!(function_at(function_address(7)), Some(7));
        assert_eq!(function_at(8), None);
    }
}
