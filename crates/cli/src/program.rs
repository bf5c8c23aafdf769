//! Whether a program can run with our libraries.

use crate::failure::Failure;
use crate::libraries::Libraries;
use object::elf::{DT_NEEDED, DT_RPATH, ET_EXEC, FileHeader64, PT_INTERP};
use object::read::elf::{Dyn as _, FileHeader as _};
use object::{Endianness, Object as _, ObjectSection as _};
use request::name::{self, FileKind, kind};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// The section in which compilers put CUDA kernels of host programs.
const KERNELS: &str = ".nv_fatbin";

/// A mark of every CUDA runtime: the name of an error that no program needs.
const RUNTIME: &[u8] = b"cudaErrorMissingConfiguration\0";
/// A mark of our static runtime that NVIDIA's does not have.
const OUR_RUNTIME: &[u8] = b"warpwright CUDA runtime";
/// Names of errors that runtimes have from a version on: `cudaError_t` in `driver_types.h` of CUDA 11.8, 12.0 and 13.1.
const SINCE_12: &[u8] = b"cudaErrorCdpVersionMismatch\0";
const SINCE_13: &[u8] = b"cudaErrorStreamDetached\0";

/// Checks a program before it runs. Returns whether it finds its runtime by `LD_LIBRARY_PATH`.
pub fn check(path: &Path, libraries: &Libraries) -> Result<bool, Failure> {
    if kind(path) == FileKind::Device {
        let hint =
            "hint: a launch file runs its kernels (`warpwright docs launch-files`), `warpwright inspect` shows them";
        let path = path.display();
        return Err(Failure::bad_input(format!("`{path}` is machine code of a GPU, not a program\n  {hint}")));
    }
    // A file that cannot be read may still be run.
    let Ok(file) = kit::files::read_code(path) else { return Ok(false) };
    if has_foreign_runtime(&file) == Some(true) {
        let (path, how) = (path.display(), how_to_link(&file, libraries));
        return Err(Failure::bad_input(format!(
            "`{path}` has NVIDIA's CUDA runtime linked in, which runs on NVIDIA's driver only\n  hint: {how}"
        )));
    }
    Ok(finds_runtime(&file).unwrap_or(false))
}

/// CUDA's major version of the runtime in a program; `None` if it is 12 or 13.0.
fn runtime_version(file: &[u8]) -> Option<u32> {
    match () {
        () if contains(file, SINCE_13) => Some(13),
        () if contains(file, SINCE_12) => None,
        () => Some(11),
    }
}

/// How a program with a static runtime is linked instead.
fn how_to_link(file: &[u8], libraries: &Libraries) -> String {
    let version = runtime_version(file);
    let Some(options) = libraries.linking(version.unwrap_or(12)) else {
        return "link it with `nvcc -cudart shared`".to_owned();
    };
    let other = if version.is_none() { " (13 in place of 12 if it is CUDA 13's)" } else { "" };
    format!("link it with `nvcc -cudart shared`, or with `nvcc {options}`{other}")
}

/// Whether a workload's name means a CUDA program.
pub fn is_asked_for(named: &Path) -> bool {
    !name::is_bundled(named) && is_program(named)
}

/// Whether a file is a program, not a library: it is linked to fixed addresses, or names the loader that starts it.
fn is_program(path: &Path) -> bool {
    let file = if kind(path) == FileKind::Host { kit::files::read_code(path).ok() } else { None };
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
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    if shown.contains('/') {
        let path = PathBuf::from(name);
        return match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => Ok(path),
            Ok(found) => Err(Failure::bad_input(format!("`{shown}` is {}, not a program", kind_of(&found)))),
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

/// The kind of something that is not a regular file, in words.
fn kind_of(found: &Metadata) -> &'static str {
    if found.is_dir() { "a folder" } else { "a device, a pipe or a socket" }
}

/// Whether a host program has kernels and a CUDA runtime in it that is not ours; `None` of files that are not programs.
fn has_foreign_runtime(file: &[u8]) -> Option<bool> {
    let elf = object::File::parse(file).ok()?;
    let has_kernels = elf.sections().any(|section| section.name() == Ok(KERNELS));
    Some(has_kernels && !needs_runtime(file)? && contains(file, RUNTIME) && !contains(file, OUR_RUNTIME))
}

/// Whether a program asks for a runtime, and has no folders of its own for it: folders of `DT_RPATH` come before
/// `LD_LIBRARY_PATH`. `None` of files that are not programs.
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
    fn the_version_of_a_runtime_is_that_of_its_errors() {
        let version = |names: &[&str]| runtime_version((names.join("\0") + "\0").as_bytes());
        assert_eq!(version(&["cudaErrorMissingConfiguration"]), Some(11));
        assert_eq!(version(&["cudaErrorMissingConfiguration", "cudaErrorCdpVersionMismatch"]), None);
        assert_eq!(version(&["cudaErrorCdpVersionMismatch", "cudaErrorStreamDetached"]), Some(13));
    }

    #[test]
    fn a_file_is_what_its_header_says() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let mut cubin = own[..4096].to_vec();
        // e_machine of an ELF header: a cubin is of type EXEC too.
        cubin[16..20].copy_from_slice(&[2, 0, 190, 0]);
        for (content, expected) in [
            (&own[..4096], FileKind::Host),
            (&cubin, FileKind::Device),
            (&cubin[..20], FileKind::Device),
            (&[0x50, 0xed, 0x55, 0xba, 1, 0], FileKind::Device),
            (b"#!/bin/sh\n", FileKind::Other),
            (b"", FileKind::Other),
        ] {
            std::fs::write(&file, content).unwrap();
            assert_eq!(kind(&file), expected, "{:?}", &content[..content.len().min(20)]);
        }
        assert!(!is_program(&file));
        std::fs::write(&file, &cubin).unwrap();
        assert!(!is_program(&file));
        assert!(is_program(&std::env::current_exe().unwrap()));
        for other in [Path::new("/dev/zero"), Path::new("/dev/tty"), folder.path(), Path::new("/nowhere")] {
            assert_eq!(kind(other), FileKind::Other, "{}", other.display());
        }
    }

    #[test]
    fn programs_are_found_as_shells_do() {
        let problem = |name: &str| find(OsStr::new(name)).unwrap_err().message;
        assert!(find(OsStr::new("sh")).is_ok());
        assert!(problem("sh-that-is-nowhere").contains("in the folders of PATH"));
        assert!(problem("./sh-that-is-nowhere").contains("cannot run `./sh-that-is-nowhere`"));
        assert!(problem("/").contains("is a folder"));
        assert!(problem("/dev/zero").contains("is a device, a pipe or a socket, not a program"));
        // Tests run in the folder of their crate.
        assert!(problem("Cargo.toml").contains("`./Cargo.toml`"));
    }
}
