//! Whether a program can run with our libraries.

use crate::failure::Failure;
use crate::libraries::Libraries;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader as _};
use object::{Endianness, Object as _, ObjectSection as _};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The section in which compilers put CUDA kernels of host programs.
const KERNELS: &str = ".nv_fatbin";

/// What every CUDA runtime has: the name of an error that no program needs.
const RUNTIME: &[u8] = b"cudaErrorMissingConfiguration\0";
/// What our static runtime has, and NVIDIA's has not.
const OUR_RUNTIME: &[u8] = b"warpwright CUDA runtime";

/// Checks a program before it runs.
pub fn check(name: &OsStr, libraries: &Libraries) -> Result<(), Failure> {
    let path = find(name)?;
    let Ok(file) = std::fs::read(&path) else { return Ok(()) };
    match has_foreign_runtime(&file) {
        Some(true) => Err(Failure::bad_input(format!(
            "`{}` has NVIDIA's CUDA runtime linked in, which runs on NVIDIA's driver only\n  hint: link it with `nvcc -cudart shared`, or with `-cudart none -L{} -lcudart_static -lpthread -ldl`",
            path.display(),
            libraries.folder().join("12").display()
        ))),
        _ => Ok(()),
    }
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
    let shared = needed(file)?.iter().any(|name| name.starts_with("libcudart.so"));
    Some(has_kernels && !shared && contains(file, RUNTIME) && !contains(file, OUR_RUNTIME))
}

fn contains(file: &[u8], text: &[u8]) -> bool {
    memchr::memmem::find(file, text).is_some()
}

/// The shared libraries that a program asks for.
fn needed(file: &[u8]) -> Option<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let Some((entries, strings)) = sections.dynamic(endian, file).ok()? else { return Some(Vec::new()) };
    let strings = sections.strings(endian, file, strings).ok()?;
    let names = entries.iter().filter(|entry| entry.tag32(endian) == Some(DT_NEEDED));
    Some(
        names
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
        assert!(needed(&own).unwrap().iter().any(|name| name.starts_with("libc.so")));
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
