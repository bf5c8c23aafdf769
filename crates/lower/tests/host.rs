//! Host programs and libraries: the kernels of all source files, for the GPU's architecture.

use exec::{Arg, DeviceState, Launch, run};
use isa::Dim3;
use lower::{Loaded, LowerOptions, load_binary};

/// A library of two source files with machine code for sm_75 and sm_86, the first also with PTX.
const HOST: &[u8] = include_bytes!("data/host.elf");
const LANES: u32 = 32;

fn load(sm: u32) -> Result<Loaded, String> {
    load_binary("host.elf", HOST, sm, LowerOptions::default()).map_err(|e| e.to_string())
}

fn words(loaded: &Loaded, kernel: &str) -> Vec<u32> {
    let mut state = DeviceState::default();
    state.load(&loaded.module).unwrap();
    let out = state.memory.allocate("out", 4 * u64::from(LANES)).unwrap();
    let kernel = loaded.kernel(kernel).unwrap().clone();
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(LANES, 1, 1), 0, &[Arg::Pointer(out)]).unwrap();
    run(&mut state, &launch).unwrap();
    let mut bytes = [0; 4 * LANES as usize];
    state.memory.read(out, &mut bytes).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
}

#[test]
fn kernels_of_all_source_files_run_with_their_own_variables() {
    let first: Vec<u32> = (0..LANES).map(|i| i + 7 + 100).collect();
    let second: Vec<u32> = (0..LANES).map(|i| i * [3, 5][i as usize % 2] + 2000).collect();
    for sm in [75, 86, 89] {
        let loaded = load(sm).unwrap();
        assert!(loaded.module.kernels.iter().all(|kernel| kernel.is_machine_code()), "sm_{sm}");
        assert_eq!(words(&loaded, "first"), first, "sm_{sm}");
        assert_eq!(words(&loaded, "second"), second, "sm_{sm}");
    }
    // No machine code for sm_80; only the first source file has PTX.
    let loaded = load(80).unwrap();
    assert!(!loaded.kernel("first").unwrap().is_machine_code());
    assert_eq!(words(&loaded, "first"), first);
    assert!(loaded.kernel("second").is_err());
}

#[test]
fn deferred_kernels_are_lowered_when_they_are_asked_for() {
    let options = LowerOptions { deferred: true, ..LowerOptions::default() };
    let (mut loaded, whole) = (load_binary("host.elf", HOST, 75, options).unwrap(), load(75).unwrap());
    assert_eq!(loaded.module.variables, whole.module.variables);
    let names = |loaded: &Loaded| loaded.module.kernels.iter().map(|k| k.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&loaded), [""; 0]);
    for _ in 0..2 {
        loaded.prepare(Some("second"));
        assert_eq!(names(&loaded), ["second"]);
    }
    loaded.prepare(Some("third"));
    assert_eq!(words(&loaded, "second"), words(&whole, "second"));
    loaded.prepare(None);
    assert_eq!(names(&loaded), ["second", "first"]);
    assert_eq!(words(&loaded, "first"), words(&whole, "first"));
}

#[test]
fn a_program_without_code_for_the_gpu_says_what_it_has() {
    let problem = load(70).unwrap_err();
    let expected = "host.elf: nothing in it runs on sm_70; it holds PTX for sm_75, machine code for sm_75, machine code for sm_86, machine code for sm_75, machine code for sm_86";
    assert_eq!(problem, expected);
}
