//! The machine code of the cases of [`super::check`] and [`super::try_run`]: `data/compiled`, written by
//! `tools/rebuild-cases`. The calls of these functions are the list of cases: with
//! `WARPWRIGHT_RECORD_CASES=FOLDER` the tests write each case's PTX there.

use exec::{Kernel, LoadedModule};
use lower::{Loaded, LowerOptions, load_cubin};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Architectures for which the cases are compiled.
const ARCHITECTURES: [&str; 5] = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_90"];

/// The compiled cases of one file of tests.
struct Compiled {
    /// By architecture, one module for all of them.
    modules: Vec<(&'static str, Loaded)>,
    refused: HashSet<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/compiled")
}

/// Name of the calling test file: cases are compiled together with the others of their file.
#[track_caller]
fn tests() -> &'static str {
    let path = std::panic::Location::caller().file();
    path.rsplit(['/', '\\']).next().and_then(|name| name.strip_suffix(".rs")).unwrap()
}

/// The decompressed cases of `tests` and an architecture.
fn read(tests: &str, architecture: &str, suffix: &str) -> (String, Vec<u8>) {
    let name = format!("{tests}.{architecture}.{suffix}");
    let file = std::fs::File::open(folder().join(format!("{name}.xz"))).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut bytes = Vec::new();
    lzma_rust2::XzReader::new(file, false).read_to_end(&mut bytes).unwrap();
    (name, bytes)
}

/// `architecture case` of the cases of `tests` that the assembler refuses.
fn refused(tests: &str) -> HashSet<String> {
    let refused = std::fs::read_to_string(folder().join("refused.txt")).unwrap();
    let own = format!("{tests} ");
    refused.lines().filter_map(|line| Some(line.strip_prefix(&own)?.split_once(':')?.0.to_owned())).collect()
}

/// Values that are made once for each file of tests.
type Once<T> = Mutex<BTreeMap<&'static str, &'static T>>;

/// The value for `tests`; the first caller makes it, others wait.
fn once<T>(known: &Once<T>, tests: &'static str, make: impl FnOnce() -> T) -> &'static T {
    known.lock().unwrap().entry(tests).or_insert_with(|| Box::leak(Box::new(make())))
}

fn compiled(tests: &'static str) -> &'static Compiled {
    static COMPILED: Once<Compiled> = Mutex::new(BTreeMap::new());
    once(&COMPILED, tests, || {
        let load = |architecture| {
            let (name, cubin) = read(tests, architecture, "cubin");
            (architecture, load_cubin(&name, &cubin, LowerOptions::default()).unwrap_or_else(|e| panic!("{e}")))
        };
        Compiled { modules: ARCHITECTURES.map(load).into(), refused: refused(tests) }
    })
}

/// The name of the kernel of a case: a hash of its text.
fn name(text: &str) -> String {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    format!("k{hash:08x}")
}

/// Records a case, if requested.
fn record(tests: &str, kind: &str, name: &str, title: &str, text: &str) -> bool {
    let Some(folder) = std::env::var_os("WARPWRIGHT_RECORD_CASES") else { return false };
    let folder = Path::new(&folder).join(kind).join(tests);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), format!("// {}\n{text}", title.replace('\n', " "))).unwrap();
    true
}

/// The machine code of a case, by architecture.
#[track_caller]
pub fn modules(instruction: &str, text: &str) -> Vec<(&'static str, Arc<Kernel>, &'static LoadedModule)> {
    let (tests, name) = (tests(), name(text));
    if record(tests, "cases", &name, instruction, &text.replacen("entry k(", &format!("entry {name}("), 1)) {
        return Vec::new();
    }
    let known = compiled(tests);
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

/// The modules of a file of tests that are whole cases, by architecture and name.
type Packs = HashMap<String, Vec<u8>>;

fn packs(tests: &'static str) -> &'static Packs {
    static PACKS: Once<Packs> = Mutex::new(BTreeMap::new());
    once(&PACKS, tests, || {
        let mut all = Packs::new();
        for architecture in ARCHITECTURES {
            let (_, bytes) = read(tests, architecture, "modules");
            let mut rest = &bytes[..];
            // Each has a line with name and length.
            while let Some(end) = rest.iter().position(|&b| b == b'\n') {
                let (name, length) = std::str::from_utf8(&rest[..end]).unwrap().split_once(' ').unwrap();
                let (module, after) = rest[end + 1..].split_at(length.parse().unwrap());
                all.insert(format!("{architecture} {name}"), module.into());
                rest = after;
            }
        }
        all
    })
}

/// The machine code of a module that is a whole case, by architecture. Modules with headers of their own are
/// not compiled.
#[track_caller]
pub fn whole(items: &str) -> Vec<(&'static str, Loaded)> {
    let (tests, name) = (tests(), name(items));
    let test = std::thread::current();
    if items.starts_with(".version") || record(tests, "modules", &name, test.name().unwrap_or_default(), items) {
        return Vec::new();
    }
    let refused = refused(tests);
    let named = ARCHITECTURES.map(|architecture| (architecture, format!("{architecture} {name}")));
    let taken = named.into_iter().filter(|(_, case)| !refused.contains(case));
    let load = |(architecture, case): (&'static str, String)| {
        let cubin =
            packs(tests).get(&case).unwrap_or_else(|| panic!("no {case} (tools/rebuild-cases writes it):\n{items}"));
        (architecture, load_cubin(&case, cubin, LowerOptions::default()).unwrap_or_else(|e| panic!("{e}")))
    };
    taken.map(load).collect()
}
