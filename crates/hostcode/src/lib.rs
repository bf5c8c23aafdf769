//! CUDA contents of host programs and libraries: kernels, and NVIDIA's runtime if it is linked into them.
//!
//! nvcc links the runtime statically unless it is told otherwise. Its functions are then in the file's symbol table,
//! global or local, so that each can be replaced by a jump to ours before the code runs; a file whose table is stripped
//! cannot be helped. The runtime has one private function after another that NVIDIA's driver alone answers: none of its
//! code may run.

pub mod families;

use object::Endianness;
use object::elf::{DT_NEEDED, DT_SONAME, FileHeader64, PF_X, PT_GNU_EH_FRAME, PT_LOAD, STT_FUNC};
use object::elf::{SHF_ALLOC, SHF_EXECINSTR, SHT_DYNSYM, SHT_PROGBITS, SHT_SYMTAB};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _, SectionHeader as _, SectionTable, Sym as _};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The section in which compilers put CUDA kernels of host programs.
const KERNELS: &[u8] = b".nv_fatbin";

/// A mark of every CUDA runtime: the name of an error that no program needs.
const RUNTIME: &[u8] = b"cudaErrorMissingConfiguration\0";
/// A mark of our static runtime that NVIDIA's does not have.
const OUR_RUNTIME: &[u8] = b"warpwright CUDA runtime";
/// Names of errors that runtimes have from a version on: `cudaError_t` in `driver_types.h` of CUDA 11.8, 12.0 and 13.1.
const SINCE_12: &[u8] = b"cudaErrorCdpVersionMismatch\0";
const SINCE_13: &[u8] = b"cudaErrorStreamDetached\0";
/// A function of versions until 12.
const UNTIL_12: &str = "cudaGetDeviceProperties_v2";
/// Functions without which a table is not one of a runtime: registration of kernels and their launch.
const WITHOUT_FAIL: [&str; 2] = ["__cudaRegisterFatBinary", "cudaLaunchKernel"];

/// Bytes of a jump to any address.
pub const JUMP_BYTES: usize = if cfg!(target_arch = "aarch64") { 16 } else { 14 };

/// A function in a file, by its symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// As the table has it.
    pub name: String,
    /// Address in the file's own address space.
    pub address: u64,
    /// Its first bytes: [`JUMP_BYTES`], or fewer if the next function is nearer.
    pub code: Vec<u8>,
    /// False if the file says where functions begin (the table that unwinding uses), and none begins here.
    pub begins: bool,
}

/// NVIDIA's runtime in a file, whose functions can be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedRuntime {
    /// CUDA's major version.
    pub version: u32,
    /// Functions whose names are of CUDA's runtime, some perhaps the program's own.
    pub functions: Vec<Function>,
}

/// Why NVIDIA's runtime in a file cannot be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file has no symbol table, or one without the runtime.
    Stripped,
    /// The symbol table contradicts the file.
    Damaged,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stripped => "the symbol table, which would say where its functions are, is stripped",
            Self::Damaged => "its symbol table is damaged",
        })
    }
}

/// CUDA's major version of the runtime in a file; `None` if it is 12 or 13.0.
pub fn runtime_version(file: &[u8]) -> Option<u32> {
    let data = Elf::parse(file).map_or_else(|| vec![file], |elf| elf.data());
    match () {
        () if contains(&data, SINCE_13) => Some(13),
        () if contains(&data, SINCE_12) => None,
        () => Some(11),
    }
}

/// NVIDIA's runtime in a program or library.
///
/// # Errors
/// It has one with kernels, which cannot be replaced. `Ok(None)`: it has none.
pub fn linked_runtime(file: &[u8]) -> Result<Option<LinkedRuntime>, Fault> {
    let Some(elf) = Elf::parse(file) else { return Ok(None) };
    // The cheap questions first: all libraries of a process are asked.
    let (has_kernels, may_have_table) = (elf.has_kernels(), elf.may_define(WITHOUT_FAIL[0]));
    if !has_kernels && !may_have_table || elf.needs_runtime() != Some(false) {
        return Ok(None);
    }
    let data = elf.data();
    if !contains(&data, RUNTIME) || contains(&data, OUR_RUNTIME) {
        return Ok(None);
    }
    let functions = if may_have_table { elf.functions().ok_or(Fault::Damaged)? } else { Vec::new() };
    let named = |name: &str| functions.iter().any(|function| function.name == name);
    if !WITHOUT_FAIL.iter().all(|name| named(name)) {
        return if has_kernels { Err(Fault::Stripped) } else { Ok(None) };
    }
    let version = runtime_version(file).unwrap_or(if named(UNTIL_12) { 12 } else { 13 });
    Ok(Some(LinkedRuntime { version, functions }))
}

/// The functions that a shared library exports, with their addresses in its own address space.
pub fn exports(library: &[u8]) -> Option<BTreeMap<String, u64>> {
    let elf = Elf::parse(library)?;
    let endian = elf.endian;
    let symbols = elf.sections.symbols(endian, library, SHT_DYNSYM).ok()?;
    let defined = symbols.iter().filter(|symbol| is_function(symbol, endian));
    let named = defined.filter_map(|symbol| {
        let name = std::str::from_utf8(symbol.name(endian, symbols.strings()).ok()?).ok()?;
        Some((name.to_owned(), symbol.st_value(endian)))
    });
    Some(named.collect())
}

/// The name by which programs that are linked to a library ask for it.
pub fn soname(library: &[u8]) -> Option<String> {
    Elf::parse(library)?.dynamic(DT_SONAME)?.pop()
}

fn contains(data: &[&[u8]], text: &[u8]) -> bool {
    data.iter().any(|bytes| memchr::memmem::find(bytes, text).is_some())
}

type Symbol = object::elf::Sym64<Endianness>;

fn is_function(symbol: &Symbol, endian: Endianness) -> bool {
    symbol.st_type() == STT_FUNC && !symbol.is_undefined(endian)
}

/// A program or a library.
struct Elf<'a> {
    file: &'a [u8],
    header: &'a FileHeader64<Endianness>,
    endian: Endianness,
    sections: SectionTable<'a, FileHeader64<Endianness>>,
}

impl<'a> Elf<'a> {
    fn parse(file: &'a [u8]) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(file).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, file).ok()?;
        Some(Self { file, header, endian, sections })
    }

    fn has_kernels(&self) -> bool {
        self.sections.iter().any(|section| self.sections.section_name(self.endian, section) == Ok(KERNELS))
    }

    /// Whether the strings of the symbol table have this name.
    fn may_define(&self, name: &str) -> bool {
        let strings = || {
            let (_, table) = self.sections.iter().enumerate().find(|(_, s)| s.sh_type(self.endian) == SHT_SYMTAB)?;
            let strings = self.sections.section(table.link(self.endian)).ok()?;
            strings.data(self.endian, self.file).ok()
        };
        strings().is_some_and(|strings| memchr::memmem::find(strings, &[name.as_bytes(), b"\0"].concat()).is_some())
    }

    /// The constants of the host's code. Kernels are not searched: they may be hundreds of megabytes.
    fn data(&self) -> Vec<&'a [u8]> {
        let is_data = |section: &&object::elf::SectionHeader64<Endianness>| {
            let flags = section.sh_flags(self.endian) as u32;
            section.sh_type(self.endian) == SHT_PROGBITS
                && flags & (SHF_ALLOC | SHF_EXECINSTR) == SHF_ALLOC
                && self.sections.section_name(self.endian, section) != Ok(KERNELS)
        };
        let data = self.sections.iter().filter(is_data);
        data.filter_map(|section| section.data(self.endian, self.file).ok()).collect()
    }

    /// The functions in the symbol table that have names of CUDA's runtime; `None` if the table is damaged.
    fn functions(&self) -> Option<Vec<Function>> {
        let (file, endian) = (self.file, self.endian);
        let segments = self.header.program_headers(endian, file).ok()?;
        let symbols = self.sections.symbols(endian, file, SHT_SYMTAB).ok()?;
        let defined = || symbols.iter().filter(|symbol| is_function(symbol, endian));
        let starts: BTreeSet<u64> = defined().map(|symbol| symbol.st_value(endian)).collect();
        let begins = self.function_starts();
        let mut functions = Vec::new();
        for symbol in defined() {
            let name = symbol.name(endian, symbols.strings()).ok().and_then(|name| std::str::from_utf8(name).ok())?;
            if !name.starts_with("cuda") && !name.starts_with("__cuda") {
                continue;
            }
            let address = symbol.st_value(endian);
            let segment = segments.iter().find(|segment| {
                let within = address.wrapping_sub(segment.p_vaddr(endian)) < segment.p_filesz(endian);
                segment.p_type(endian) == PT_LOAD && segment.p_flags(endian) & PF_X != 0 && within
            })?;
            let from = address - segment.p_vaddr(endian);
            let most = segment.p_filesz(endian) - from;
            let room = starts.range(address.checked_add(1)?..).next().map_or(most, |next| most.min(next - address));
            let at = usize::try_from(segment.p_offset(endian).checked_add(from)?).ok()?;
            let code = file.get(at..at.checked_add((room as usize).min(JUMP_BYTES))?)?;
            let begins = begins.as_ref().is_none_or(|begins| begins.contains(&address));
            functions.push(Function { name: name.to_owned(), address, code: code.to_vec(), begins });
        }
        Some(functions)
    }

    /// Where functions begin, from the sorted table that unwinding uses (`.eh_frame_hdr`, Linux Standard Base 5.0, chapter
    /// 10.6.2). `None` where there is none, or one in another form than linkers write.
    fn function_starts(&self) -> Option<BTreeSet<u64>> {
        /// Version 1; a relative address, a count and relative addresses of 4 bytes each.
        const FORM: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
        let segments = self.header.program_headers(self.endian, self.file).ok()?;
        let segment = segments.iter().find(|segment| segment.p_type(self.endian) == PT_GNU_EH_FRAME)?;
        let table = segment.data(self.endian, self.file).ok()?;
        let words = |from: usize| table.get(from..).unwrap_or_default().chunks_exact(4);
        let word = |bytes: &[u8]| bytes.try_into().map(i32::from_le_bytes).unwrap_or_default();
        let count = word(words(8).next()?) as u32 as usize;
        let is_whole = table.len().saturating_sub(12) / 8 >= count;
        let base = segment.p_vaddr(self.endian);
        let starts =
            || words(12).step_by(2).take(count).map(|at| base.wrapping_add_signed(i64::from(word(at)))).collect();
        (table.starts_with(&FORM) && is_whole).then(starts)
    }

    fn needs_runtime(&self) -> Option<bool> {
        Some(self.dynamic(DT_NEEDED)?.iter().any(|name| name.starts_with("libcudart")))
    }

    /// The texts of the entries of kind `tag` of the dynamic section.
    fn dynamic(&self, tag: u32) -> Option<Vec<String>> {
        let (file, endian) = (self.file, self.endian);
        let Some((entries, strings)) = self.sections.dynamic(endian, file).ok()? else { return Some(Vec::new()) };
        let strings = self.sections.strings(endian, file, strings).ok()?;
        let texts = entries.iter().filter(|entry| entry.tag32(endian) == Some(tag));
        Some(
            texts
                .filter_map(|entry| Some(String::from_utf8_lossy(entry.string(endian, strings).ok()?).into_owned()))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_programs_have_no_runtime() {
        assert_eq!(linked_runtime(b"#!/bin/sh\nexit 0\n"), Ok(None));
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(linked_runtime(&own), Ok(None));
        let needed = Elf::parse(&own).unwrap().dynamic(DT_NEEDED).unwrap();
        assert!(needed.iter().any(|name| name.starts_with("libc.so")));
    }

    #[test]
    fn functions_begin_where_the_file_says() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let starts = Elf::parse(&own).unwrap().function_starts().expect("programs of Rust can be unwound");
        assert!(starts.len() > 100, "{}", starts.len());
    }

    #[test]
    fn the_version_of_a_runtime_is_that_of_its_errors() {
        let version = |names: &[&str]| runtime_version((names.join("\0") + "\0").as_bytes());
        assert_eq!(version(&["cudaErrorMissingConfiguration"]), Some(11));
        assert_eq!(version(&["cudaErrorMissingConfiguration", "cudaErrorCdpVersionMismatch"]), None);
        assert_eq!(version(&["cudaErrorCdpVersionMismatch", "cudaErrorStreamDetached"]), Some(13));
    }
}
