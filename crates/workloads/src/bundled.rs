//! The kernels that are compiled in: PTX, CUDA source, cubins, and the compiler's records of them.

use flate2::read::ZlibDecoder;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

/// A compiled kernel file with its source. Made by [`bundled!`](crate::bundled!).
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// File name without extension.
    pub name: &'static str,
    /// The files as the build script packs them.
    cuda: &'static [u8],
    ptx: &'static [u8],
}

/// The [`Bundled`] kernel file of a name.
#[macro_export]
macro_rules! bundled {
    ($name:literal) => {
        $crate::bundled::Bundled::packed(
            $name,
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".cu.z")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".ptx.z")),
        )
    };
}

/// Records beside the kernels: `kernels.toml`.
#[derive(Debug, Deserialize)]
pub struct Record {
    /// Name and version of the compiler of modules that name no other.
    pub compiler: String,
    /// Flags of the compiler, except the architecture.
    pub flags: String,
    /// By file name without extension.
    #[serde(flatten)]
    pub modules: BTreeMap<String, ModuleRecord>,
}

/// Record of a source and its PTX.
#[derive(Debug, Deserialize)]
pub struct ModuleRecord {
    /// Target of the PTX: `sm_70`, `sm_90a`.
    pub level: String,
    /// Name and version of its compiler, if it is another than the others'.
    pub compiler: Option<String>,
    /// SHA-256 of the source.
    pub source_sha256: String,
    /// SHA-256 of the PTX.
    pub ptx_sha256: String,
    /// The records of the kernels, by name.
    pub kernels: BTreeMap<String, KernelRecord>,
}

/// Resources that the compiler allots to a kernel.
#[derive(Debug, Deserialize)]
pub struct KernelRecord {
    /// Registers per thread by architecture (`sm_75`), as NVIDIA's assembler allots them.
    pub registers: BTreeMap<String, u32>,
    /// Local memory per thread by architecture.
    pub stack_bytes: BTreeMap<String, u32>,
    /// Static shared memory per CTA.
    pub shared_bytes: u32,
}

impl KernelRecord {
    /// Registers per thread on an architecture, or on the nearest one recorded: the newest that is
    /// not newer, else the oldest.
    pub fn registers_on(&self, sm_version: u32) -> Option<u32> {
        let mut known: Vec<(u32, u32)> = self
            .registers
            .iter()
            .filter_map(|(arch, &count)| Some((arch.strip_prefix("sm_")?.parse().ok()?, count)))
            .collect();
        known.sort_unstable();
        known.iter().rev().find(|&&(arch, _)| arch <= sm_version).or(known.first()).map(|&(_, count)| count)
    }
}

/// `kernels.toml`, a paragraph for each module.
const RECORDS: &str = include_str!("../kernels/kernels.toml");

static RECORD: LazyLock<Record> = LazyLock::new(|| toml::from_str(RECORDS).expect("kernels.toml is well-formed"));

/// The record of one module, read at its first use: a run needs one of many.
struct LazyModule {
    text: &'static str,
    record: OnceLock<Option<ModuleRecord>>,
}

static MODULES: LazyLock<HashMap<&str, LazyModule>> = LazyLock::new(|| {
    let module = |text: &'static str| {
        let (name, _) = text.strip_prefix('[')?.split_once(']')?;
        Some((name, LazyModule { text, record: OnceLock::new() }))
    };
    RECORDS.split("\n\n").filter_map(module).collect()
});

/// Records beside the kernels.
pub fn record() -> &'static Record {
    &RECORD
}

/// The machine code of a kernel file for one architecture.
#[derive(Debug)]
pub struct Cubin {
    name: &'static str,
    /// Architecture that it is compiled for: 75 as in sm_75.
    pub sm: u32,
    packed: &'static [u8],
    unpacked: OnceLock<Vec<u8>>,
}

impl Cubin {
    /// A cubin as the build script packs it, in zlib's format.
    const fn packed(name: &'static str, sm: u32, packed: &'static [u8]) -> Self {
        Self { name, sm, packed, unpacked: OnceLock::new() }
    }

    /// The file, unpacked at the first use.
    pub fn file(&self) -> &[u8] {
        self.unpacked.get_or_init(|| unpack(self.packed))
    }
}

/// A file that the build script has packed.
fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    ZlibDecoder::new(packed).read_to_end(&mut file).expect("the build script packed it");
    file
}

/// Texts that have been unpacked.
static TEXTS: Mutex<BTreeMap<&[u8], &str>> = Mutex::new(BTreeMap::new());

fn text(packed: &'static [u8]) -> &'static str {
    let unpack = || &*String::from_utf8(unpack(packed)).expect("the build script packed a text").leak();
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner).entry(packed).or_insert_with(unpack)
}

include!(concat!(env!("OUT_DIR"), "/cubins.rs"));

impl Bundled {
    #[doc(hidden)]
    pub const fn packed(name: &'static str, cuda: &'static [u8], ptx: &'static [u8]) -> Self {
        Self { name, cuda, ptx }
    }

    /// The CUDA source.
    pub fn cuda(&self) -> &'static str {
        text(self.cuda)
    }

    /// PTX, as `tools/rebuild-kernels` makes it from the source.
    pub fn ptx(&self) -> &'static str {
        text(self.ptx)
    }

    /// Its machine code for each architecture that it is compiled for, oldest first.
    pub fn cubins(&self) -> impl Iterator<Item = &'static Cubin> {
        let name = self.name;
        CUBINS.iter().filter(move |cubin| cubin.name == name)
    }

    /// The cubin that a GPU of an architecture runs: of the same major version, and the newest that
    /// is not newer.
    pub fn cubin(&self, sm_version: u32) -> Option<&'static Cubin> {
        self.cubins().filter(|cubin| isa::runs_on(cubin.sm, sm_version)).last()
    }

    fn record(&self) -> Option<&'static ModuleRecord> {
        let module = MODULES.get(self.name)?;
        let read = || -> BTreeMap<String, ModuleRecord> { toml::from_str(module.text).expect("it is well-formed") };
        module.record.get_or_init(|| read().remove(self.name)).as_ref()
    }

    /// Record of one of its kernels.
    pub fn kernel(&self, kernel: &str) -> Option<&'static KernelRecord> {
        self.record()?.kernels.get(kernel)
    }

    /// The only architecture with its instructions, such as 90, if its target is architecture-specific (`sm_90a`).
    pub fn only_on(&self) -> Option<u32> {
        self.record()?.level.strip_prefix("sm_")?.strip_suffix('a')?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubins_run_on_their_architecture_and_newer_ones_of_its_major_version() {
        let of = |sm| crate::bundled!("asynccopy").cubin(sm).map(|c| c.sm);
        assert_eq!(
            [of(75), of(80), of(86), of(89), of(90), of(100)],
            [None, Some(80), Some(86), Some(86), Some(90), None]
        );
    }

    #[test]
    fn nearest_architecture() {
        let registers = [("sm_70", 10), ("sm_75", 20), ("sm_86", 30)].map(|(a, r)| (a.to_owned(), r)).into();
        let record = KernelRecord { registers, stack_bytes: BTreeMap::new(), shared_bytes: 0 };
        let on = |sm| record.registers_on(sm).unwrap();
        assert_eq!([on(20), on(70), on(72), on(75), on(80), on(90)], [10, 10, 10, 20, 20, 30]);
    }
}
