//! Whether a program can run with our libraries.

use crate::failure::Failure;
use crate::libraries::Libraries;
use object::elf::{DT_NEEDED, DT_RPATH, ET_EXEC, FileHeader64, PT_INTERP};
use object::read::elf::{Dyn as _, FileHeader as _};
use object::{Endianness, Object as _, ObjectSection as _};
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The section in which compilers put CUDA kernels of host programs.
const KERNELS: &str = ".nv_fatbin";

/// What every CUDA runtime has: the name of an error that no program needs.
const RUNTIME: &[u8] = b"cudaErrorMissingConfiguration\0";
/// What our static runtime has, and NVIDIA's has not.
const OUR_RUNTIME: &[u8] = b"warpwright CUDA runtime";

/// Checks a program before it runs. Returns whether it finds its runtime by `LD_LIBRARY_PATH`.
pub fn check(name: &OsStr, libraries: &Libraries) -> Result<bool, Failure> {
    let path = find(name)?;
    let Ok(file) = std::fs::read(&path) else { return Ok(false) };
    match has_foreign_runtime(&file) {
        Some(true) => Err(Failure::bad_input(format!(
            "`{}` has NVIDIA's CUDA runtime linked in, which runs on NVIDIA's driver only\n  hint: link it with `nvcc -cudart shared`, or with `-cudart none -L{} -lcudart_static -lpthread -ldl`",
            path.display(),
            libraries.folder().join("12").display()
        ))),
        _ => Ok(finds_runtime(&file).unwrap_or(false)),
    }
}

/// Whether a file has host code.
pub fn is_host_code(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(20).read_to_end(&mut start));
    read.is_ok() && sass::elf::is_elf(&start)
}

/// Whether a file is a program, not a library: it is linked to fixed addresses, or names the loader that starts it.
pub fn is_program(path: &Path) -> bool {
    let file = if is_host_code(path) { std::fs::read(path).ok() } else { None };
    file.is_some_and(|file| is_started_by_a_loader(&file).unwrap_or(false))
}

fn is_started_by_a_loader(file: &[u8]) -> Option<bool> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let names_one = segments.iter().any(|segment| segment.p_type.get(endian) == PT_INTERP);
    Some(names_one || header.e_type(endian) == ET_EXEC)
}

/// The file of a program, as shells find it.
fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    if shown.contains('/') {
        let path = PathBuf::from(name);
        return match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => Err(Failure::bad_input(format!("`{shown}` is a folder, not a program"))),
            Ok(_) => Ok(path),
            Err(e) => Err(Failure::bad_input(format!("cannot run `{shown}`: {e}"))),
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| {
        let here = if Path::new(name).is_file() {
            format!("\n  hint: this folder has it: `./{shown}`")
        } else {
            String::new()
        };
        Failure::bad_input(format!("there is no program `{shown}` in the folders of PATH{here}"))
    })
}

/// Whether a host program has kernels and a CUDA runtime in it that is not ours; `None` of files that are no programs.
fn has_foreign_runtime(file: &[u8]) -> Option<bool> {
    let elf = object::File::parse(file).ok()?;
    let has_kernels = elf.sections().any(|section| section.name() == Ok(KERNELS));
    Some(has_kernels && !needs_runtime(file)? && contains(file, RUNTIME) && !contains(file, OUR_RUNTIME))
}

/// Whether a program asks for a runtime, and has no folders of its own for it: those of `DT_RPATH` come before
/// `LD_LIBRARY_PATH`. `None` of files that are no programs.
fn finds_runtime(file: &[u8]) -> Option<bool> {
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
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(has_foreign_runtime(&own), Some(false));
        assert!(dynamic(&own, DT_NEEDED).unwrap().iter().any(|name| name.starts_with("libc.so")));
    }

    #[test]
    fn programs_are_found_as_shells_do() {
        let problem = |name: &str| find(OsStr::new(name)).unwrap_err().message;
        assert!(find(OsStr::new("sh")).is_ok());
        assert!(problem("sh-that-is-nowhere").contains("in the folders of PATH"));
        assert!(problem("./sh-that-is-nowhere").contains("cannot run `./sh-that-is-nowhere`"));
        assert!(problem("/").contains("is a folder"));
        // Tests run in the folder of their crate.
        assert!(problem("Cargo.toml").contains("`./Cargo.toml`"));
    }
}
