//! What programs and libraries of the host hold of CUDA: kernels, and NVIDIA's runtime if that is linked into them.
//!
//! nvcc links the runtime statically unless it is told otherwise. Its functions are then in the program's symbol table,
//! global or local, so that each can be replaced by a jump to ours before the program runs; a program whose table is
//! stripped cannot be helped. The runtime has one private function after another that NVIDIA's driver alone answers:
//! none of its code may run.

use object::elf::{DT_NEEDED, DT_RPATH, FileHeader64, PF_X, PT_LOAD, STT_FUNC};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _, Sym as _};
use object::{Endianness, Object as _, ObjectSection as _};
use std::collections::BTreeSet;

/// The section in which compilers put CUDA kernels of host programs.
const KERNELS: &str = ".nv_fatbin";

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
}

/// NVIDIA's runtime in a program, whose functions can be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedRuntime {
    /// CUDA's major version.
    pub version: u32,
    /// Functions whose names are of CUDA's runtime, some perhaps the program's own.
    pub functions: Vec<Function>,
}

/// Whether a file has kernels and a CUDA runtime in it that is not ours; `None` of files that are not programs.
fn has_foreign_runtime(file: &[u8]) -> Option<bool> {
    let elf = object::File::parse(file).ok()?;
    let has_kernels = elf.sections().any(|section| section.name() == Ok(KERNELS));
    Some(has_kernels && !needs_runtime(file)? && contains(file, RUNTIME) && !contains(file, OUR_RUNTIME))
}

/// CUDA's major version of the runtime in a program; `None` if it is 12 or 13.0.
pub fn runtime_version(file: &[u8]) -> Option<u32> {
    match () {
        () if contains(file, SINCE_13) => Some(13),
        () if contains(file, SINCE_12) => None,
        () => Some(11),
    }
}

/// NVIDIA's runtime in a program.
///
/// # Errors
/// Why it cannot be replaced. `Ok(None)`: there is none.
pub fn linked_runtime(file: &[u8]) -> Result<Option<LinkedRuntime>, &'static str> {
    if has_foreign_runtime(file) != Some(true) {
        return Ok(None);
    }
    let functions = functions(file).ok_or("its symbol table is damaged")?;
    let named = |name: &str| functions.iter().any(|function| function.name == name);
    if !WITHOUT_FAIL.iter().all(|name| named(name)) {
        return Err("the symbol table, which would say where its functions are, is stripped");
    }
    let version = runtime_version(file).unwrap_or(if named(UNTIL_12) { 12 } else { 13 });
    Ok(Some(LinkedRuntime { version, functions }))
}

/// The functions in the symbol table of `file` that have names of CUDA's runtime; `None` if the table is damaged.
fn functions(file: &[u8]) -> Option<Vec<Function>> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let sections = header.sections(endian, file).ok()?;
    let symbols = sections.symbols(endian, file, object::elf::SHT_SYMTAB).ok()?;
    let is_code =
        |symbol: &&object::elf::Sym64<Endianness>| symbol.st_type() == STT_FUNC && !symbol.is_undefined(endian);
    let starts: BTreeSet<u64> = symbols.iter().filter(is_code).map(|symbol| symbol.st_value(endian)).collect();
    let mut functions = Vec::new();
    for symbol in symbols.iter().filter(is_code) {
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
        let room = starts.range(address + 1..).next().map_or(most, |next| most.min(next - address));
        let at = usize::try_from(segment.p_offset(endian).checked_add(from)?).ok()?;
        let code = file.get(at..at.checked_add((room as usize).min(JUMP_BYTES))?)?;
        functions.push(Function { name: name.to_owned(), address, code: code.to_vec() });
    }
    Some(functions)
}

/// Whether a program asks for a runtime, and has no folders of its own for it: folders of `DT_RPATH` come before
/// `LD_LIBRARY_PATH`. `None` of files that are not programs.
pub fn finds_runtime(file: &[u8]) -> Option<bool> {
    Some(needs_runtime(file)? && dynamic(file, DT_RPATH)?.is_empty())
}

fn needs_runtime(file: &[u8]) -> Option<bool> {
    Some(dynamic(file, DT_NEEDED)?.iter().any(|name| name.starts_with("libcudart.so")))
}

fn contains(file: &[u8], text: &[u8]) -> bool {
    memchr::memmem::find(file, text).is_some()
}

/// The texts of the entries of kind `tag` of a program's dynamic section.
fn dynamic(file: &[u8], tag: u32) -> Option<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let Some((entries, strings)) = sections.dynamic(endian, file).ok()? else { return Some(Vec::new()) };
    let strings = sections.strings(endian, file, strings).ok()?;
    let texts = entries.iter().filter(|entry| entry.tag32(endian) == Some(tag));
    Some(
        texts
            .filter_map(|entry| Some(String::from_utf8_lossy(entry.string(endian, strings).ok()?).into_owned()))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_programs_are_not_judged() {
        assert_eq!(has_foreign_runtime(b"#!/bin/sh\nexit 0\n"), None);
        assert_eq!(linked_runtime(b"#!/bin/sh\nexit 0\n"), Ok(None));
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(has_foreign_runtime(&own), Some(false));
        assert!(dynamic(&own, DT_NEEDED).unwrap().iter().any(|name| name.starts_with("libc.so")));
    }

    #[test]
    fn the_version_of_a_runtime_is_that_of_its_errors() {
        let version = |names: &[&str]| runtime_version((names.join("\0") + "\0").as_bytes());
        assert_eq!(version(&["cudaErrorMissingConfiguration"]), Some(11));
        assert_eq!(version(&["cudaErrorMissingConfiguration", "cudaErrorCdpVersionMismatch"]), None);
        assert_eq!(version(&["cudaErrorCdpVersionMismatch", "cudaErrorStreamDetached"]), Some(13));
    }
}
