//! The machine code of the cases that [`super::check`] runs: `data/compiled`, which `tools/rebuild-cases`
//! writes. The list of cases is the calls of `check`: run with `WARPWRIGHT_RECORD_CASES=FOLDER`, the tests
//! write each case's PTX there.

use exec::{Kernel, Loaded, LowerOptions, Module, load_cubin};
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What the cases of a test binary are compiled for.
const ARCHITECTURES: [&str; 5] = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_90"];

/// The compiled cases of this test binary.
struct Compiled {
    modules: Vec<(&'static str, Loaded)>,
    /// `architecture case` of those that the assembler refuses.
    refused: HashSet<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/compiled")
}

fn compiled() -> &'static Compiled {
    static COMPILED: OnceLock<Compiled> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let read = |architecture: &'static str| {
            let name = format!("{}.{architecture}.cubin.xz", env!("CARGO_CRATE_NAME"));
            let file = std::fs::File::open(folder().join(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
            let mut cubin = Vec::new();
            lzma_rust2::XzReader::new(file, false).read_to_end(&mut cubin).unwrap();
            (architecture, load_cubin(&name, &cubin, LowerOptions::default()).unwrap_or_else(|e| panic!("{e}")))
        };
        let refused = std::fs::read_to_string(folder().join("refused.txt")).unwrap();
        let own = format!("{} ", env!("CARGO_CRATE_NAME"));
        let cases = refused.lines().filter_map(|line| Some(line.strip_prefix(&own)?.split_once(':')?.0.to_owned()));
        let refused = cases.collect();
        Compiled { modules: ARCHITECTURES.map(read).into(), refused }
    })
}

/// The name of the kernel of a case: a hash of its text.
fn name(text: &str) -> String {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    format!("k{hash:08x}")
}

/// The machine code of a case, by architecture.
pub fn modules(instruction: &str, text: &str) -> Vec<(&'static str, Arc<Kernel>, &'static Module)> {
    let name = name(text);
    if let Some(folder) = std::env::var_os("WARPWRIGHT_RECORD_CASES") {
        let folder = Path::new(&folder).join(env!("CARGO_CRATE_NAME"));
        std::fs::create_dir_all(&folder).unwrap();
        let text = text.replacen("entry k(", &format!("entry {name}("), 1);
        std::fs::write(folder.join(&name), format!("// {}\n{text}", instruction.replace('\n', " "))).unwrap();
        return Vec::new();
    }
    let known = compiled();
    let mut found = Vec::new();
    for (architecture, loaded) in &known.modules {
        if known.refused.contains(&format!("{architecture} {name}")) {
            continue;
        }
        let Some(at) = loaded.module.kernels.iter().position(|k| k.name() == name) else {
            let why = loaded.kernel(&name).err().map(|e| e.to_string()).unwrap_or_default();
            panic!("{instruction}: no machine code of {architecture} (tools/rebuild-cases writes it): {why}");
        };
        found.push((*architecture, loaded.module.kernels[at].clone(), &loaded.module));
    }
    found
}
