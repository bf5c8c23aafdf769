//! Cubins: the ELF files that hold machine code of one architecture.
//!
//! The format is NVIDIA's; what is known of it comes from the compilers' output. Offsets in errors are
//! bytes from the start of the file. Names and code borrow from the file; memory use is proportional
//! to its length, whatever it claims.

pub(crate) mod bytes;
mod info;
mod read;
mod sections;

pub use sections::{host_fatbin, is_cubin, is_elf};

use std::fmt;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset:#x}: {problem}")]
pub struct ElfError {
    /// Offset in the file.
    pub offset: u64,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file ends within something.
    Truncated(&'static str),
    /// It is no ELF file.
    NotElf,
    /// It is an ELF file of another kind.
    NotCubin(u16),
    /// It is no little-endian 64-bit ELF file.
    WrongClass,
    /// An architecture that is not supported.
    Architecture(u32),
    /// A header has an impossible size or number.
    BadHeader(&'static str),
    /// Sections share bytes.
    Overlap,
    /// A name is not UTF-8.
    BadName,
    /// An index points at nothing.
    BadIndex(&'static str, u64),
    /// Code is no whole number of instructions.
    OddCode(u64),
    /// Something is there twice.
    Duplicate(&'static str),
    /// A fat binary is damaged.
    BadFatbin(&'static str),
    /// Compressed data cannot be expanded.
    Compression(String),
    /// A kind of compression that is not known.
    UnknownCompression(u64),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Problem::Truncated(what) => write!(f, "the file ends within: {what} (is it complete?)"),
            Problem::NotElf => write!(f, "this is not an ELF file (a cubin starts with 7f 45 4c 46)"),
            Problem::NotCubin(machine) => {
                write!(f, "this ELF file holds no GPU code (machine {machine}; a cubin has 190)")
            }
            Problem::WrongClass => write!(f, "a cubin is a 64-bit little-endian ELF file"),
            Problem::Architecture(sm) => write!(f, "sm_{sm} is not supported: sm_70 to sm_90 are"),
            Problem::BadHeader(what) => write!(f, "impossible value: {what}"),
            Problem::Overlap => write!(f, "sections share bytes"),
            Problem::BadName => write!(f, "a name is not UTF-8"),
            Problem::BadIndex(what, index) => write!(f, "there is no {what} {index}"),
            Problem::OddCode(bytes) => write!(f, "{bytes} bytes of code are not a whole number of instructions"),
            Problem::Duplicate(what) => write!(f, "a second {what}"),
            Problem::BadFatbin(what) => write!(f, "damaged fat binary: {what}"),
            Problem::Compression(why) => write!(f, "cannot be expanded: {why}"),
            Problem::UnknownCompression(flags) => write!(f, "unknown kind of compression (flags {flags:#x})"),
        }
    }
}

/// A cubin.
#[derive(Clone, Debug)]
pub struct Cubin<'a> {
    /// Architecture, such as 75.
    pub sm: u8,
    /// Kernels and, in relocatable code, functions, in the file's order.
    pub functions: Vec<ElfFunction<'a>>,
    /// Constant banks shared by all kernels.
    pub constants: Vec<ConstantBank<'a>>,
    /// Variables with a name: `__device__` and `__constant__`.
    pub variables: Vec<ElfVariable<'a>>,
    /// Bytes of global memory without an initial value (`.nv.global`).
    pub global_bytes: u64,
    /// Initial values of global memory (`.nv.global.init`).
    pub global_init: &'a [u8],
    /// Relocations of constant banks and initial values.
    pub relocations: Vec<Relocation<'a>>,
}

impl<'a> Cubin<'a> {
    /// The kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &ElfFunction<'a>> {
        self.functions.iter().filter(|function| function.is_kernel)
    }
}

/// A kernel or function and its resources.
#[derive(Clone, Debug)]
pub struct ElfFunction<'a> {
    /// Its name as linked.
    pub name: &'a str,
    /// It can be launched.
    pub is_kernel: bool,
    /// Instructions of 16 bytes.
    pub code: &'a [u8],
    /// Offset of the code in the file.
    pub code_offset: u64,
    /// Registers of a thread.
    pub registers: u32,
    /// CTA barriers used.
    pub barriers: u8,
    /// Static shared memory of a CTA in bytes. On Hopper the first 1,024 bytes are the system's.
    pub shared_bytes: u64,
    /// Stack frame of a thread in bytes.
    pub frame_bytes: u32,
    /// Least stack of a thread in bytes, calls included.
    pub min_stack_bytes: u32,
    /// Largest number of threads in a CTA, if the source bounds it.
    pub max_threads: Option<[u32; 3]>,
    /// Threads of a CTA in each dimension, if the source fixes them.
    pub required_threads: Option<[u32; 3]>,
    /// Parameters in their order.
    pub parameters: Vec<Parameter>,
    /// Where the parameters start in constant bank 0.
    pub parameter_base: u16,
    /// Bytes of parameters.
    pub parameter_bytes: u16,
    /// Its own constant banks: 0 (parameters) and 2 (literals).
    pub constants: Vec<ConstantBank<'a>>,
    /// Offsets of its EXIT instructions.
    pub exits: Vec<u32>,
    /// Procedures inside its code: name, offset, bytes.
    pub procedures: Vec<(&'a str, u64, u64)>,
    /// Relocations of its code.
    pub relocations: Vec<Relocation<'a>>,
}

/// A kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its number.
    pub ordinal: u16,
    /// Offset from the first parameter in bytes.
    pub offset: u16,
    /// Size in bytes.
    pub bytes: u16,
}

/// A constant bank with its initial contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantBank<'a> {
    /// Number of the bank.
    pub bank: u8,
    /// Contents.
    pub data: &'a [u8],
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Global memory without an initial value: offset in it.
    Global,
    /// Global memory with an initial value.
    GlobalInit,
    /// Constant bank.
    Constant(u8),
}

/// A named variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElfVariable<'a> {
    /// Its name as linked.
    pub name: &'a str,
    /// Where it lives.
    pub space: Space,
    /// Offset there in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// How a relocation changes the place it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocationKind {
    /// A 64-bit address.
    Address64,
    /// Lower 32 bits of an address at bit 32 of an instruction.
    Low32,
    /// Upper 32 bits of an address at bit 32 of an instruction.
    High32,
    /// An address as the target of a jump.
    JumpTarget,
    /// Another kind, by number.
    Other(u32),
}

/// A relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation<'a> {
    /// Section that is changed; in a function its code.
    pub section: &'a str,
    /// Offset in it.
    pub offset: u64,
    /// How.
    pub kind: RelocationKind,
    /// Name of the symbol whose address is put in.
    pub symbol: &'a str,
    /// Added to the address.
    pub addend: i64,
}
