//! Messages for modules and launches that cannot be executed: clear and complete.

use exec::{Arg, Launch, LaunchError};
use isa::Dim3;
use lower::{LowerOptions, load, load_cubin};

const HEADER: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

#[test]
fn everything_not_executable_is_listed_at_load_with_its_place() {
    let text = format!(
        "{HEADER}.global .samplerref sampler;
.visible .entry good() {{ ret; }}
.visible .entry bad(.param .u64 p) {{
  .reg .b32 %r<4>; .reg .f32 %f<8>; .reg .b64 %rd<2>; .reg .b128 %q;
  tex.2d.v4.f32.f32 {{%f0, %f1, %f2, %f3}}, [sampler, {{%f4, %f5}}];
  sured.b.add.1d.u32.trap [%rd1, {{%r1}}], %r2;
  multimem.red.relaxed.gpu.global.add.u32 [%rd1], %r1;
  atom.global.exch.b128 %q, [%rd1], %q;
  mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {{%r1, %r2}}, {{%r1, %r2}}, {{%r1, %r2}}, {{%r1, %r2}}, %r3, 0x0;
  ret;
}}
"
    );
    let loaded = load("m.ptx", &text, LowerOptions::default()).unwrap();
    assert_eq!(loaded.module.kernels.len(), 1);
    assert!(loaded.kernel("good").is_ok());
    let error = loaded.kernel("bad").unwrap_err().to_string();
    for expected in [
        "m.ptx:8:44: error: samplers apart from their textures are not executable",
        "m.ptx:9:3: error: `sured` is not executable",
        "m.ptx:10:3: error: `multimem` is not executable: it accesses the memory of several GPUs, and one is simulated",
        "m.ptx:11:3: error: `atom.global.exch.b128` is not executable: an atomic access to 128 bits",
        "m.ptx:12:3: error: `mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16` is not executable: multiplication of sparse matrices",
    ] {
        assert!(error.contains(expected), "{expected}\nnot in\n{error}");
    }
    assert_eq!(loaded.problems().unwrap().matches("error:").count(), 5);
    let unknown = loaded.kernel("goof").unwrap_err().to_string();
    assert_eq!(unknown, "no kernel `goof` in the module; it has good, bad");
}

/// Text that is not PTX is an error of the module, as for PTX compilers.
#[test]
fn what_the_manual_forbids_is_refused_at_load_with_its_place() {
    let text = format!(
        "{HEADER}.visible .entry bad(.param .u64 p) {{
  .reg .b32 %r<4>; .reg .f32 %f<8>; .reg .b64 %rd<2>; .reg .pred %p<2>;
  add.s32 %r1, %r2, %rd1;
  add.s32 %r1, %f2, 1;
  add.s32 %r1, %r2, 1.5;
  add.s32 %r1, %p1, 1;
  wgmma.fence.sync.aligned;
  add.frob.s32 %r1, %r2, %r3;
  add.sat.u32 %r1, %r2, %r3;
  ld.shared.u32 %r1, [p];
  @%r1 ret;
}}
"
    );
    let error = load("m.ptx", &text, LowerOptions::default()).unwrap_err().to_string();
    for expected in [
        "m.ptx:6:21: error: `add.s32` takes an integer register of 32 bits or an integer here, not a register of type .b64",
        "m.ptx:7:16: error: `add.s32` takes an integer register of 32 bits or an integer here, not a register of type .f32",
        "m.ptx:8:21: error: `add.s32` takes an integer register of 32 bits or an integer here, not a floating-point number",
        "m.ptx:9:16: error: `add.s32` takes an integer register of 32 bits or an integer here, not a predicate",
        "m.ptx:10:3: error: `wgmma.fence.sync.aligned` needs `.target sm_90a`; the module is for sm_90",
        "m.ptx:11:3: error: `add` has no modifier `.frob`",
        "m.ptx:12:3: error: `.sat` is not possible in `add.sat.u32`",
        "m.ptx:13:22: error: `ld.shared.u32` takes an address in .shared memory here, not an address in .param memory",
        "m.ptx:14:3: error: a guard is a predicate; `%r1` is a register of type .b32",
    ] {
        assert!(error.contains(expected), "{expected}\nnot in\n{error}");
    }
}

#[test]
fn text_that_is_no_ptx_is_an_error() {
    for (text, says) in [("", "empty"), ("\u{7f}ELF\0\0", "error"), ("int main() {}", "error")] {
        let error = load("x.ptx", text, LowerOptions::default()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let narrow = ".version 4.0\n.target sm_20\n.address_size 32\n.entry k() { ret; }\n";
    assert!(load("x.ptx", narrow, LowerOptions::default()).unwrap_err().to_string().contains("32-bit addressing"));
}

#[test]
fn launches_that_do_not_fit_the_kernel_say_why() {
    let text =
        format!("{HEADER}.visible .entry _Z3addPfi(.param .u64 a, .param .u32 n) .maxntid 128, 1, 1 {{ ret; }}\n");
    let loaded = load("m.ptx", &text, LowerOptions::default()).unwrap();
    let kernel = loaded.kernel("add").unwrap();
    let launch = |grid, block, args: &[Arg]| Launch::new(kernel.clone(), grid, block, 0, args);
    let (one, warp) = (Dim3::new(1, 1, 1), Dim3::new(32, 1, 1));
    let good = [Arg::Pointer(0), Arg::I32(5)];
    assert!(launch(one, warp, &good).is_ok());
    let count = launch(one, warp, &good[..1]).unwrap_err();
    assert!(matches!(count, LaunchError::ArgumentCount { expected: 2, given: 1, .. }));
    assert!(count.to_string().contains(".u64 a, .u32 n"), "{count}");
    let size = launch(one, warp, &[Arg::Pointer(0), Arg::F64(1.0)]).unwrap_err().to_string();
    assert!(
        size.contains("argument 2") && size.contains("f64 of 8 bytes for parameter `n`, .u32 of 4 bytes"),
        "{size}"
    );
    for (grid, block, says) in [
        (Dim3::new(0, 1, 1), warp, "no CTAs"),
        (one, Dim3::new(32, 0, 1), "no threads"),
        (one, Dim3::new(64, 32, 1), "larger than"),
        (one, Dim3::new(256, 1, 1), "128 threads that it was compiled for"),
    ] {
        let error = launch(grid, block, &good).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_required_block_is_the_only_one() {
    let ptx = include_str!("data/reqntid.ptx");
    let cubin = include_bytes!("data/reqntid.sm_70.cubin");
    let modules = [
        load("reqntid.ptx", ptx, LowerOptions::default()).unwrap(),
        load_cubin("reqntid.cubin", cubin, LowerOptions::default()).unwrap(),
    ];
    for module in modules {
        let launch = |kernel: &str, block| {
            let kernel = module.kernel(kernel).unwrap().clone();
            Launch::new(kernel, Dim3::new(2, 1, 1), block, 0, &[Arg::Pointer(0)]).map_err(|e| e.to_string())
        };
        assert!(launch("required", Dim3::new(16, 4, 1)).is_ok());
        for block in [Dim3::new(64, 1, 1), Dim3::new(16, 2, 1), Dim3::new(4, 16, 1), Dim3::new(16, 4, 2)] {
            let error = launch("required", block).unwrap_err();
            assert!(error.contains("blocks of (16,4,1) only"), "{error}");
        }
        assert!(launch("bounded", Dim3::new(8, 4, 2)).is_ok() && launch("bounded", Dim3::new(1, 1, 1)).is_ok());
        let error = launch("bounded", Dim3::new(65, 1, 1)).unwrap_err();
        assert!(error.contains("the 64 threads that it was compiled for"), "{error}");
    }
}

#[test]
fn nouns_agree_with_their_numbers() {
    let header = ".version 7.0\n.target sm_70\n.address_size 64\n";
    let text = format!("{header}.visible .entry one()\n.maxntid 1\n{{ ret; }}\n");
    let module = load("one.ptx", &text, LowerOptions::default()).unwrap();
    let launch = Launch::new(module.kernel("one").unwrap().clone(), Dim3::new(1, 1, 1), Dim3::new(2, 1, 1), 0, &[]);
    let error = launch.unwrap_err().to_string();
    assert!(error.contains("more than the 1 thread that it was compiled for"), "{error}");
    let mut memory = exec::DeviceMemory::new(1 << 20);
    let address = memory.allocate("x", 1).unwrap();
    let error = memory.write(address, &[0; 2]).unwrap_err().to_string();
    assert!(error.contains("2 bytes at offset 0 do not fit in `x` of 1 byte"), "{error}");
}

#[test]
fn local_memory_beyond_what_a_thread_has_is_refused() {
    let refused = |declarations: &str| {
        let text = format!("{HEADER}.visible .entry k() {{\n{declarations}\nret; }}\n");
        load("m.ptx", &text, LowerOptions::default()).unwrap().problems()
    };
    assert_eq!(refused(".local .b8 x[524288];"), None);
    let terabyte = refused(".local .b8 x[1099511627776];").unwrap();
    assert!(
        terabyte.contains("m.ptx:5:1: error: 1099511627776 bytes of local memory: a thread has 524288"),
        "{terabyte}"
    );
    let two = refused(".local .b32 x[100000];\n.local .b32 y[100000];").unwrap();
    assert!(two.contains("m.ptx:6:1:") && two.contains("and 124288 are left here"), "{two}");
}

/// Damaged kernels are rejected or load; nothing panics, and what loads has sound branch targets.
#[test]
fn damaged_kernels_do_not_panic() {
    use rand::{Rng, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/kernels");
    let mut texts: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "ptx") {
            texts.push(std::fs::read_to_string(path).unwrap());
        }
    }
    texts.sort();
    let words: Vec<Vec<&str>> =
        texts.iter().map(|t| t.split_inclusive([' ', ',', '.', '\n', '[', ';']).collect()).collect();
    let mut loaded = 0;
    for _ in 0..600 {
        let mut text = words[rng.random_range(0..words.len())].clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..text.len());
            let other = &words[rng.random_range(0..words.len())];
            match rng.random_range(0..3) {
                0 => _ = text.remove(at),
                1 => text[at] = other[rng.random_range(0..other.len())],
                _ => text.insert(at, other[rng.random_range(0..other.len())]),
            }
        }
        loaded += usize::from(load("damaged.ptx", text.concat(), LowerOptions::default()).is_ok());
    }
    assert!(loaded > 50, "only {loaded}");
}

#[test]
fn a_kernel_parameter_in_a_register_is_refused() {
    let text = format!("{HEADER}.visible .entry bad(.reg .b64 p) {{ ret; }}\n");
    let error = match load("m.ptx", &text, LowerOptions::default()) {
        Ok(loaded) => loaded.kernel("bad").unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(error.contains("a parameter of a kernel is not in the state space `.param`"), "{error}");
}

/// PTX for a newer target than the GPU, or for the features of another one, is refused, as by drivers.
#[test]
fn ptx_of_a_newer_target_is_refused() {
    let load_for = |target: &str, gpu_sm: Option<u32>, any_architecture: bool| {
        let text = format!(".version 8.0\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n");
        load("m.ptx", &text, LowerOptions { gpu_sm, any_architecture, ..LowerOptions::default() })
    };
    let refused = load_for("sm_90", Some(75), false).unwrap_err().to_string();
    assert_eq!(
        refused,
        "m.ptx: it is PTX for sm_90, which an sm_75 does not run; choose a GPU of sm_90 or newer, compile it for compute_75, or allow any architecture (option any_architecture)"
    );
    for (target, gpu, takes) in
        [("sm_75", 75, true), ("sm_52", 90, true), ("sm_80", 75, false), ("sm_90a", 90, true), ("sm_86", 80, false)]
    {
        assert_eq!(load_for(target, Some(gpu), false).is_ok(), takes, "{target} on sm_{gpu}");
        assert!(load_for(target, Some(gpu), true).is_ok());
    }
    // No compiler of today makes PTX that an sm_20 would take.
    assert!(load_for("sm_70", Some(20), false).is_ok() && load_for("sm_90", None, false).is_ok());
    // GPUs that do not exist here are not named.
    let rest = "compile it for compute_90, or allow any architecture (option any_architecture)";
    for (target, gpu, who) in [
        ("sm_100", Some(90), "an sm_90 does not run"),
        ("sm_100a", Some(90), "an sm_90 does not run"),
        ("sm_120a", None, "no GPU here runs"),
    ] {
        let error = load_for(target, gpu, false).unwrap_err();
        assert_eq!(error.text, format!("m.ptx: it is PTX for {target}, which {who}; {rest}"));
        assert_eq!(error.diagnostics.iter().count(), 1, "its place is the target");
        assert!(load_for(target, gpu, true).is_ok());
    }
}
