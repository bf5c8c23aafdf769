//! Whether a program can run with our libraries.

use crate::failure::Failure;
use crate::libraries::Libraries;
use object::Endianness;
use object::elf::{ET_EXEC, FileHeader64, PT_INTERP};
use object::read::elf::FileHeader as _;
use request::contents::{Contents, FileKind, kind};
use request::name;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Checks a program before it runs.
pub fn check(path: &Path, libraries: &Libraries) -> Result<(), Failure> {
    if kind(path) == FileKind::Device {
        let hint =
            "hint: a launch file runs its kernels (`warpwright docs launch-files`), `warpwright inspect` shows them";
        let path = path.display();
        return Err(Failure::bad_input(format!("`{path}` is machine code of a GPU, not a program\n  {hint}")));
    }
    if let Some(other) = Contents::of(path).filter(|_| kind(path) == FileKind::Other && !is_started(path)) {
        return Err(Failure::bad_input(format!("`{}` is not a program. It is {}", path.display(), other.advice(path))));
    }
    // A file that cannot be read may still be run.
    let Ok(file) = kit::files::read_code(path) else { return Ok(()) };
    // A runtime that is linked in is replaced when the program is loaded.
    if let Err(why) = hostcode::linked_runtime(&file) {
        let (path, how) = (path.display(), how_to_link(&file, libraries));
        return Err(Failure::bad_input(format!(
            "`{path}` has NVIDIA's CUDA runtime linked in, which runs on NVIDIA's driver only, and it cannot be replaced: {why}\n  hint: {how}"
        )));
    }
    Ok(())
}

/// Whether the operating system starts a file that is not a program: a script that names its interpreter.
fn is_started(path: &Path) -> bool {
    let is_executable = path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0);
    is_executable && Contents::of(path) == Some(Contents::Script)
}

/// How a program with a static runtime is linked instead.
fn how_to_link(file: &[u8], libraries: &Libraries) -> String {
    let version = hostcode::runtime_version(file);
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
        let here = if name::is_bundled(Path::new(name)) {
            format!("\n  hint: `warpwright run {shown}` runs the bundled workload")
        } else {
            here
        };
        Failure::bad_input(format!("there is no program `{shown}` in the folders of PATH{here}"))
    })
}

/// The kind of something that is not a regular file, in words.
fn kind_of(found: &Metadata) -> &'static str {
    if found.is_dir() { "a folder" } else { "a device, a pipe or a socket" }
}

#[cfg(test)]
mod tests {
    use super::*;

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
