//! Launch files whose kernels use more than buffers: texture references, the heap of kernels.

use lab::{Job, Report, Setup, Time, Unattended, run};
use launchfile::Overrides;
use std::path::Path;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lower/tests/data/");

fn report(text: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.toml");
    std::fs::write(&path, text.replace("DATA/", DATA)).unwrap();
    report_of(&path, "inorder")
}

fn report_of(path: &Path, core: &str) -> Report {
    let setup = Setup { core: core.into(), ..Setup::new(config::load("rtx2060s").unwrap()) };
    let job = Job::LaunchFile { path: path.to_owned(), overrides: Overrides::default() };
    run(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn examples_compute_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    // The list of the kernels' sources is another kind of file.
    let examples =
        files.filter(|path| path.extension().is_some_and(|e| e == "toml") && !path.ends_with("kernels.toml"));
    let checks: Vec<_> = examples.map(|path| report_of(&path, "functional").check.expect("a comparison")).collect();
    assert!(checks.len() >= 4);
    checks.iter().for_each(|check| assert!(check.passed, "{}", check.details));
}

#[track_caller]
fn check(text: &str) {
    for module in ["ptx", "sm_75.cubin"] {
        let result = report(&text.replace("MODULE", module)).check.expect("a comparison");
        assert!(result.passed, "{module}: {}", result.details);
    }
}

/// The kernel reads `line` backwards. The second launch reads the buffer that is then called `a`.
#[test]
fn a_texture_reference_is_bound_to_a_name() {
    check(
        "
module = 'DATA/references.MODULE'
values.n = 32
buffers.a = { type = 'f32', length = 'n', fill = 'i' }
buffers.b = { type = 'f32', length = 'n', fill = '1000 + i' }
buffers.out = { type = 'f32', length = '2 * n' }
textures.line = { buffer = 'a' }
[[launch]]
kernel = 'lookup'
grid = 1
block = 'n'
repeat = 2
swap = ['a', 'b']
args = [{ buffer = 'out', offset = 'round * n' }, { i32 = 'n' }]
[[output]]
buffer = 'out'
compare = '2 * (i < n ? a[n - 1 - i] : b[2 * n - 1 - i])'
",
    );
}

#[test]
fn a_surface_reference_is_written() {
    check(
        "
module = 'DATA/references.MODULE'
buffers.image = { type = 'f32', length = 64, fill = 'i' }
buffers.added = { type = 'f32', length = 32, fill = '10 * i' }
surfaces.canvas = { buffer = 'image', width = 32, height = 2 }
[[launch]]
kernel = 'paint'
grid = 1
block = 32
args = ['added', { i32 = 0 }]
[[output]]
buffer = 'image'
compare = 'i < 32 ? i : 11 * (i - 32)'
",
    );
}

/// Blocks of 64 bytes: 16 of them fit.
#[test]
fn the_heap_of_kernels_has_a_size() {
    check(
        "
module = 'DATA/runtime.MODULE'
heap_bytes = 1024
buffers.out = { type = 'u32', length = 32 }
[[launch]]
kernel = 'exhaust'
grid = 1
block = 32
args = ['out', { i32 = 64 }]
[[output]]
buffer = 'out'
compare = 'i < 16'
",
    );
}

/// The greatest size of dynamic shared memory of each architecture (CUDA guide, table of compute capabilities) is
/// usable to its last word, with and without time; a byte more is refused.
#[test]
fn a_cta_has_all_shared_memory_of_an_sm() {
    const GPUS: [(&str, u32, u32); 6] = [
        ("v100", 70, 96),
        ("rtx2060s", 75, 64),
        ("a100", 80, 163),
        ("rtx3070", 86, 99),
        ("rtx4090", 89, 99),
        ("h100", 90, 227),
    ];
    const THREADS: u32 = 256;
    let launch = |gpu: &str, module: &str, time: bool, bytes: u32| {
        let folder = tempfile::tempdir().unwrap();
        let words = bytes / 4;
        let sum = |t: u32| {
            let read = (0..).map(|k| words - 1 - t - k * THREADS).take((words - t).div_ceil(THREADS) as usize);
            read.fold(0_u32, |sum, i| sum.wrapping_add(i.wrapping_mul(0x9e37_79b9)))
        };
        let sums: Vec<String> = (0..THREADS).map(|t| sum(t).to_string()).collect();
        std::fs::write(folder.path().join("sums.txt"), sums.join("\n")).unwrap();
        let text = format!(
            "
module = '{DATA}full_shared.{module}'
buffers.out = {{ type = 'u32', length = {THREADS} }}
[[launch]]
kernel = 'fill'
grid = 2
block = {THREADS}
shared_bytes = {bytes}
args = ['out', {{ u32 = {words} }}]
[[output]]
buffer = 'out'
compare = {{ file = 'sums.txt' }}
"
        );
        let path = folder.path().join("test.toml");
        std::fs::write(&path, text).unwrap();
        let mut setup = Setup::new(config::load(gpu).unwrap());
        if !time {
            setup.time = Time::None;
        }
        run(&setup, &Job::LaunchFile { path, overrides: Overrides::default() }, &mut Unattended)
    };
    for (gpu, sm, kib) in GPUS {
        for module in ["ptx".to_owned(), format!("sm_{sm}.cubin")] {
            for time in [true, false] {
                let context = format!("{gpu} {module}, time {time}");
                let report = launch(gpu, &module, time, kib << 10).unwrap_or_else(|e| panic!("{context}: {e}"));
                let result = report.check.expect("a comparison");
                assert!(result.passed, "{context}: {}", result.details);
                assert!(report.kernels.iter().all(|launch| launch.occupancy.ctas_per_sm == 1), "{context}");
                let error = launch(gpu, &module, time, (kib << 10) + 1).map(|_| ()).unwrap_err().to_string();
                let most = format!(
                    "a CTA needs {} bytes of shared memory, of which {gpu} gives it {} at most",
                    (kib << 10) + 1,
                    kib << 10
                );
                assert!(error.contains(&most), "{context}: {error}");
            }
        }
    }
}
