//! Cubins: the ELF files that hold machine code of one architecture.
//!
//! The format is NVIDIA's and known from the compilers' output. Offsets in errors are bytes from the start of
//! the file. Names and code borrow from the file; memory use is proportional to its length, whatever sizes it
//! claims.

pub(crate) mod bytes;
mod info;
pub mod lines;
mod read;
mod relocation;
mod sections;

pub use read::KNOWN;
pub use relocation::{Relocation, RelocationKind, Target};
pub use sections::{host_fatbin, is_cubin, is_elf};

use std::fmt;

/// A problem of a file and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset:#x}: {problem}")]
#[allow(missing_docs, reason = "the names say it")]
pub struct ElfError {
    /// In bytes from the start of the file.
    pub offset: u64,
    pub problem: Problem,
}

/// The kinds of problems of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file ends within the named part.
    Truncated(&'static str),
    /// It is not an ELF file.
    NotElf,
    /// It is an ELF file for another machine.
    NotCubin(u16),
    /// It is not a little-endian 64-bit ELF file.
    WrongClass,
    /// An architecture that is not supported.
    Architecture(u32),
    /// A header has an impossible size or number.
    BadHeader(&'static str),
    /// Sections share bytes.
    Overlap,
    /// A name is not UTF-8.
    BadName,
    /// An index is out of range.
    BadIndex(&'static str, u64),
    /// The size of code is not a multiple of an instruction's.
    OddCode(u64),
    /// Something exists twice.
    Duplicate(&'static str),
    /// A fat binary is damaged.
    BadFatbin(&'static str),
    /// Compressed data cannot be expanded.
    Compression(String),
    /// The kind of compression is not known.
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
            Problem::Architecture(sm) => {
                write!(f, "sm_{sm} is not supported: sm_70 to sm_90 are; compile for one of these, or to PTX")
            }
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
    /// Architecture, such as 75 for sm_75.
    pub sm: u8,
    /// Kernels and, in relocatable code, functions, in the order of the file.
    pub functions: Vec<ElfFunction<'a>>,
    /// Constant banks shared by all kernels.
    pub constants: Vec<ConstantBank<'a>>,
    /// Named variables: `__device__` and `__constant__`.
    pub variables: Vec<ElfVariable<'a>>,
    /// Size of global memory without initial values (`.nv.global`).
    pub global_bytes: u64,
    /// Initial values of global memory (`.nv.global.init`).
    pub global_init: &'a [u8],
    /// Relocations of constant banks and initial values.
    pub relocations: Vec<Relocation<'a>>,
    /// Line tables, read by [`Cubin::lines`].
    pub line_sections: lines::Sections<'a>,
}

impl<'a> Cubin<'a> {
    /// Reads the line tables of all functions. Without line information in the file they are empty.
    pub fn lines(&self) -> lines::LineTables {
        let ids: Vec<u32> = self.functions.iter().map(|function| function.id).collect();
        lines::LineTables::read(&self.line_sections, &ids)
    }

    /// The function of this [`id`](ElfFunction::id).
    pub fn function(&self, id: u32) -> Option<&ElfFunction<'a>> {
        let index = self.functions.binary_search_by_key(&id, |function| function.id).ok()?;
        Some(&self.functions[index])
    }

    /// The functions that can be launched.
    pub fn kernels(&self) -> impl Iterator<Item = &ElfFunction<'a>> {
        self.functions.iter().filter(|function| function.is_kernel)
    }
}

/// A kernel or function and its resources.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ElfFunction<'a> {
    /// The linked name. Functions of several translation units may have the same.
    pub name: &'a str,
    /// The section of its code.
    pub id: u32,
    pub is_kernel: bool,
    /// Instructions of 16 bytes.
    pub code: &'a [u8],
    /// Offset of the code in the file.
    pub code_offset: u64,
    /// Registers of a thread.
    pub registers: u32,
    /// Number of CTA barriers used.
    pub barriers: u8,
    /// Static shared memory of a CTA in bytes.
    pub shared_bytes: u64,
    /// Bytes of shared memory before it that the system uses: on Hopper 1,024, which the section has too. Addresses of
    /// the code count from the first of them.
    pub reserved_shared_bytes: u64,
    /// Stack frame of a thread in bytes.
    pub frame_bytes: u32,
    /// Minimum stack of a thread in bytes, including calls.
    pub min_stack_bytes: u32,
    /// Maximum number of threads of a CTA in each dimension, if the source bounds it.
    pub max_threads: Option<[u32; 3]>,
    /// Threads of a CTA in each dimension, if the source fixes them.
    pub required_threads: Option<[u32; 3]>,
    /// CTAs that a cluster must have.
    pub required_cluster: Option<[u32; 3]>,
    /// A launch must be in clusters.
    pub needs_cluster: bool,
    /// CTAs that a cluster may have at most.
    pub max_cluster: Option<u32>,
    /// In the order of their numbers.
    pub parameters: Vec<Parameter>,
    /// Offset of the parameters in constant bank 0.
    pub parameter_base: u16,
    /// Size of all parameters.
    pub parameter_bytes: u16,
    /// Constant banks of the function: 0 (parameters) and 2 (literals).
    pub constants: Vec<ConstantBank<'a>>,
    /// Byte offsets of its EXIT instructions.
    pub exits: Vec<u32>,
    /// Procedures inside the code: name, offset and size in bytes.
    pub procedures: Vec<(&'a str, u64, u64)>,
    /// Relocations of its code.
    pub relocations: Vec<Relocation<'a>>,
}

/// A kernel parameter: its place in constant bank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Parameter {
    /// Its number, counted from 0.
    pub ordinal: u16,
    /// In bytes from the first parameter.
    pub offset: u16,
    pub bytes: u16,
}

/// A constant bank with its initial contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ConstantBank<'a> {
    pub bank: u8,
    pub data: &'a [u8],
}

/// Location of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Global memory without initial values (`.nv.global`).
    Global,
    /// Global memory with initial values (`.nv.global.init`).
    GlobalInit,
    /// Constant bank of this index.
    Constant(u8),
}

/// A named variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ElfVariable<'a> {
    /// The linked name.
    pub name: &'a str,
    pub space: Space,
    /// Offset in that space, in bytes.
    pub offset: u64,
    pub bytes: u64,
    /// It is in managed memory, which the host program accesses too.
    pub managed: bool,
}
