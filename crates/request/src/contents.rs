//! The kind of a file, by its name and its first bytes, so that a message can say what to do with it.

use std::io::{self, Read as _};
use std::path::Path;

/// Kind of a file by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A program or a library for a processor.
    Host,
    /// A cubin or a fat binary.
    Device,
    /// Anything else, or a file that cannot be read.
    Other,
}

/// The kind of a file.
pub fn kind(path: &Path) -> FileKind {
    match head(path, 20) {
        Some(start) if sass::elf::is_elf(&start) && !sass::elf::is_cubin(&start) => FileKind::Host,
        Some(start) if kit::files::is_machine_code(&start) => FileKind::Device,
        _ => FileKind::Other,
    }
}

/// The first bytes of a regular file. A pipe could be waited for indefinitely.
fn head(path: &Path, bytes: u64) -> Option<Vec<u8>> {
    if !path.metadata().is_ok_and(|meta| meta.is_file()) {
        return None;
    }
    let mut start = Vec::new();
    let read: io::Result<_> = std::fs::File::open(path).and_then(|file| file.take(bytes).read_to_end(&mut start));
    read.ok().map(|_| start)
}

/// Contents of a file that is not machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// CUDA C++.
    Cuda,
    /// C or C++ without kernels.
    HostSource,
    /// PTX.
    Ptx,
    /// Machine code as `cuobjdump` and `nvdisasm` print it.
    Disassembly,
    /// Python, a notebook, or a script of a shell.
    Script,
    /// JSON.
    Json,
    /// A table, a page or a picture.
    Output,
    /// A launch file.
    LaunchFile,
    /// A GPU description.
    Gpu,
    /// An experiment, for `sweep`.
    Experiment,
    /// A configuration of GPGPU-Sim or Accel-Sim.
    AccelsimConfig,
    /// Text of none of these kinds.
    Text,
}

/// Bytes that are read to recognise a file.
const HEAD_BYTES: u64 = 64 << 10;

impl Contents {
    /// The contents of a file, where its name or its text says so; `None` for a file that cannot be read, or is not text.
    pub fn of(path: &Path) -> Option<Self> {
        Self::by_name(path).or_else(|| {
            let head = head(path, HEAD_BYTES)?;
            // The last character may be cut.
            let whole = match std::str::from_utf8(&head) {
                Ok(text) => text,
                Err(e) if head.len() as u64 == HEAD_BYTES => std::str::from_utf8(&head[..e.valid_up_to()]).ok()?,
                Err(_) => return None,
            };
            Self::by_text(whole)
        })
    }

    fn by_name(path: &Path) -> Option<Self> {
        let end = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match &end[..] {
            "cu" | "cuh" => Self::Cuda,
            "c" | "cc" | "cpp" | "cxx" | "h" | "hpp" => Self::HostSource,
            "json" => Self::Json,
            "csv" | "html" | "svg" | "png" => Self::Output,
            "py" | "ipynb" | "sh" | "js" => Self::Script,
            "cuobjdump" | "sass" => Self::Disassembly,
            "ptx" => Self::Ptx,
            _ => return None,
        })
    }

    fn by_text(text: &str) -> Option<Self> {
        let lines = || text.lines().map(str::trim_start);
        let assigns =
            |line: &str, key: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
        let any = |is: &dyn Fn(&str) -> bool| lines().any(is);
        let is_code = || lines().find(|line| !line.is_empty() && !line.starts_with("//")).unwrap_or_default();
        Some(match text.trim_start() {
            "" => return None,
            start if start.starts_with("#!") => Self::Script,
            start if start.starts_with('{') || start.starts_with("[{") || start.starts_with("[\n") => Self::Json,
            start if start.to_ascii_lowercase().starts_with("<!doctype") || start.starts_with("<svg") => Self::Output,
            _ if is_code().starts_with(".version") => Self::Ptx,
            _ if text.contains("__global__") => Self::Cuda,
            _ if any(&|line| line.starts_with("[[launch]]") || assigns(line, "module")) => Self::LaunchFile,
            _ if any(&|line| line.starts_with("[[part]]")) => Self::Experiment,
            _ if any(&|line| assigns(line, "sm_version") || assigns(line, "extends")) => Self::Gpu,
            _ if any(&|line| line.starts_with("-gpgpu_") || line.starts_with("-gpu_")) => Self::AccelsimConfig,
            _ => Self::Text,
        })
    }

    /// Whether it is read as PTX; of text the parser says what it expects.
    pub fn may_be_ptx(self) -> bool {
        matches!(self, Self::Ptx | Self::Text)
    }

    /// The kind in words, after "is", and what to do with such a file.
    pub fn advice(self, path: &Path) -> String {
        let path = path.display();
        const RUNS: &str = "what runs is a workload, a launch file (.toml), a trace or a program";
        match self {
            Self::Cuda => {
                "CUDA C++. Compile it: `nvcc -arch=sm_75 -cubin -lineinfo` or `nvcc -ptx` makes a module for a launch file, `nvcc -cudart shared` a program; without CUDA, clang or NVRTC makes a module (`warpwright docs launch-files`)".to_owned()
            }
            Self::HostSource => "C or C++ of the host: compile it to a program and run that".to_owned(),
            Self::Ptx => {
                "PTX, which has no grids and arguments; write a launch file that names it (`warpwright docs launch-files`), or see what is in it with `warpwright inspect`".to_owned()
            }
            Self::Disassembly => "text of machine code: what runs is the cubin itself, from a launch file".to_owned(),
            Self::Script => {
                "a script: `warpwright exec -- INTERPRETER SCRIPT` runs one, such as `warpwright exec -- python script.py`".to_owned()
            }
            Self::Json => format!("JSON, such as a report: {RUNS}"),
            Self::Output => format!("an output, not an input: {RUNS}"),
            Self::LaunchFile => format!("a launch file: `warpwright run {path}` runs it"),
            Self::Gpu => format!("a GPU description: `--gpu {path}` takes it"),
            Self::Experiment => format!("an experiment: `warpwright sweep {path}` runs it"),
            Self::AccelsimConfig => {
                "a configuration of Accel-Sim: `warpwright import-config FOLDER` makes a GPU description of it".to_owned()
            }
            Self::Text => format!("text, but not a launch file: {RUNS} (`warpwright docs launch-files`)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_by_their_text() {
        for (text, contents) in [
            ("// k\n__global__ void k() {}\n", Some(Contents::Cuda)),
            ("//\n\n.version 7.0\n", Some(Contents::Ptx)),
            ("#!/usr/bin/env python3\n", Some(Contents::Script)),
            ("{\n  \"schema\": 2\n", Some(Contents::Json)),
            ("[[launch]]\ngrid = 1\n[launch]\n", Some(Contents::LaunchFile)),
            ("module = \"k.ptx\"\n", Some(Contents::LaunchFile)),
            ("extends = \"v100\"\n[sm]\n", Some(Contents::Gpu)),
            ("title = \"t\"\n[[part]]\n", Some(Contents::Experiment)),
            ("# GPGPU-Sim\n-gpgpu_n_clusters 80\n", Some(Contents::AccelsimConfig)),
            ("<!DOCTYPE html>\n", Some(Contents::Output)),
            ("# Read me\n", Some(Contents::Text)),
            ("", None),
        ] {
            assert_eq!(Contents::by_text(text), contents, "{text:?}");
        }
        let gpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(Contents::of(&gpus.join("gpus/v100.toml")), Some(Contents::Gpu));
        assert_eq!(Contents::of(&gpus.join("experiments/ghost-fig13.toml")), Some(Contents::Experiment));
        assert_eq!(Contents::of(&gpus.join("examples/launch/saxpy.toml")), Some(Contents::LaunchFile));
        assert_eq!(Contents::of(&gpus.join("nowhere")), None);
    }
}
