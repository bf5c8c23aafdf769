//! Launch files whose kernels use more than buffers: texture references, the heap of kernels.

use lab::{Job, Report, Setup, Unattended, run};
use workloads::launchfile::Overrides;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lower/tests/data/");

fn report(text: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.toml");
    std::fs::write(&path, text.replace("DATA/", DATA)).unwrap();
    let setup = Setup::new(config::load("rtx2060s").unwrap());
    let job = Job::LaunchFile { path, overrides: Overrides::default() };
    run(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{e}"))
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
