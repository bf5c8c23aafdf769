//! Machine code of the microbenchmarks, made of the PTX of [`super::source`] by CUDA's assembler.
//!
//! `tools/rebuild-microbenchmarks` makes the archives and records hashes of PTX and cubins.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::LazyLock;

/// Architectures with cubins, an archive of them for each.
const ARCHIVES: [(u32, &[u8]); 5] = [
    (70, include_bytes!("../../microbenchmarks/sm_70.tar.xz")),
    (75, include_bytes!("../../microbenchmarks/sm_75.tar.xz")),
    (80, include_bytes!("../../microbenchmarks/sm_80.tar.xz")),
    (86, include_bytes!("../../microbenchmarks/sm_86.tar.xz")),
    (90, include_bytes!("../../microbenchmarks/sm_90.tar.xz")),
];

/// Cubins by name.
pub type Cubins = BTreeMap<String, Vec<u8>>;

/// Architectures with cubins.
pub fn architectures() -> impl Iterator<Item = u32> {
    ARCHIVES.iter().map(|(sm, _)| *sm)
}

/// The cubins that run on a GPU of `sm_version`: of the highest architecture that is not above
/// it and of the same generation.
pub fn cubins(sm_version: u32) -> Option<&'static Cubins> {
    static UNPACKED: [LazyLock<Cubins>; 5] = [
        LazyLock::new(|| unpacked(0)),
        LazyLock::new(|| unpacked(1)),
        LazyLock::new(|| unpacked(2)),
        LazyLock::new(|| unpacked(3)),
        LazyLock::new(|| unpacked(4)),
    ];
    let index = ARCHIVES.iter().rposition(|(sm, _)| *sm <= sm_version && sm / 10 == sm_version / 10)?;
    Some(&UNPACKED[index])
}

/// Panics where an archive is damaged: a test reads all of them.
fn unpacked(index: usize) -> Cubins {
    let mut archive = tar::Archive::new(lzma_rust2::XzReader::new(ARCHIVES[index].1, true));
    let entries = archive.entries().expect("an archive of our own");
    let mut cubins = Cubins::new();
    for entry in entries {
        let mut entry = entry.expect("an archive of our own");
        let name = entry.path().expect("an archive of our own").to_string_lossy().into_owned();
        let mut data = Vec::new();
        entry.read_to_end(&mut data).expect("an archive of our own");
        cubins.insert(name.trim_end_matches(".cubin").to_owned(), data);
    }
    cubins
}
