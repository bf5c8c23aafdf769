//! Cooperative launches: CTAs that wait for each other, by a workspace in device memory.

use exec::{Arg, Launch};
use isa::Dim3;
use lab::{Setup, SimulatedDevice};
use workloads::{Device, ModuleCode, ModuleSource, ThreadRegisters};

const PTX: &str = include_str!("../../lower/tests/data/cooperative.ptx");
/// The kernel for each architecture, with a GPU that runs it.
const CUBINS: [(&str, &[u8]); 5] = [
    ("v100", include_bytes!("../../lower/tests/data/cooperative.sm_70.cubin")),
    ("rtx2060s", include_bytes!("../../lower/tests/data/cooperative.sm_75.cubin")),
    ("rtx3070", include_bytes!("../../lower/tests/data/cooperative.sm_80.cubin")),
    ("rtx3070", include_bytes!("../../lower/tests/data/cooperative.sm_86.cubin")),
    ("rtx3070", include_bytes!("../../lower/tests/data/cooperative.sm_90.cubin")),
];
/// Kernels that call the driver's functions about grids.
const CALLS: [(&str, &[u8]); 5] = [
    ("v100", include_bytes!("../../lower/tests/data/grid_calls.sm_70.cubin")),
    ("rtx2060s", include_bytes!("../../lower/tests/data/grid_calls.sm_75.cubin")),
    ("rtx3070", include_bytes!("../../lower/tests/data/grid_calls.sm_80.cubin")),
    ("rtx3070", include_bytes!("../../lower/tests/data/grid_calls.sm_86.cubin")),
    ("rtx3070", include_bytes!("../../lower/tests/data/grid_calls.sm_90.cubin")),
];
const CTAS: u32 = 7;
const THREADS: u32 = 96;
const COUNT: u32 = CTAS * THREADS;
const ROUNDS: u32 = 3;

/// Final contents of the kernel's first buffer.
fn run(gpu: &str, core: &str, code: ModuleCode<'_>, with_workspace: bool) -> Result<Vec<u32>, String> {
    run_kernel("rounds", gpu, core, code, with_workspace)
}

fn run_kernel(
    name: &str,
    gpu: &str,
    core: &str,
    code: ModuleCode<'_>,
    with_workspace: bool,
) -> Result<Vec<u32>, String> {
    let setup = Setup {
        max_cycles: Some(2_000_000),
        any_architecture: true,
        core: core.into(),
        ..Setup::new(config::load(gpu).unwrap())
    };
    let mut device = SimulatedDevice::new(&setup).unwrap();
    let module = device.load_module(&ModuleSource { name: "cooperative", code }).unwrap();
    let kernel = device.loaded(module).unwrap().kernel(name).map_err(|e| format!("{gpu}: {e}"))?.clone();
    let [a, b] = ["a", "b"].map(|name| device.memory().allocate(name, 4 * u64::from(COUNT)).unwrap());
    let first: Vec<u8> = (0..COUNT).flat_map(|i| (i * i).to_le_bytes()).collect();
    device.memory().write(a, &first).unwrap();
    let args = [Arg::Pointer(a), Arg::Pointer(b), Arg::U32(COUNT), Arg::U32(ROUNDS)];
    let mut launch = Launch::new(kernel, Dim3::new(CTAS, 1, 1), Dim3::new(THREADS, 1, 1), 0, &args).unwrap();
    if with_workspace {
        let workspace = device.memory().allocate("workspace", Launch::WORKSPACE_BYTES).unwrap();
        device.memory().write(workspace, &[0; Launch::WORKSPACE_BYTES as usize]).unwrap();
        launch.set_workspace(workspace);
    }
    device.enqueue(0, launch, ThreadRegisters::Estimated, 0).map_err(|e| e.to_string())?;
    device.synchronize().map_err(|e| e.to_string())?;
    let mut bytes = vec![0; 4 * COUNT as usize];
    device.memory().read(a, &mut bytes).unwrap();
    Ok(bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect())
}

fn expected() -> Vec<u32> {
    let mut a: Vec<u32> = (0..COUNT).map(|i| i * i).collect();
    for round in 0..ROUNDS {
        let other = |i: u32| a[((i + COUNT / 2 + round) % COUNT) as usize];
        a = (0..COUNT).map(|i| a[i as usize].wrapping_add(other(i))).collect();
    }
    a
}

#[test]
fn all_ctas_of_a_cooperative_launch_meet() {
    for (gpu, cubin) in CUBINS {
        assert_eq!(run(gpu, "inorder", ModuleCode::Binary(cubin), true).unwrap(), expected(), "{gpu}");
    }
    for core in ["inorder", "ghost", "functional"] {
        assert_eq!(run("rtx2060s", core, ModuleCode::Ptx(PTX), true).unwrap(), expected(), "{core}");
    }
}

#[test]
fn without_a_workspace_synchronisation_of_the_grid_traps() {
    for code in [ModuleCode::Ptx(PTX), ModuleCode::Binary(CUBINS[1].1)] {
        let problem = run("rtx2060s", "inorder", code, false).unwrap_err();
        assert!(problem.contains("trap"), "{problem}");
    }
}

#[test]
fn grids_synchronise_by_the_drivers_functions() {
    for (gpu, cubin) in CALLS {
        for core in ["inorder", "ghost", "functional"] {
            assert_eq!(run(gpu, core, ModuleCode::Binary(cubin), true).unwrap(), expected(), "{gpu} {core}");
        }
    }
    let problem = run(CALLS[1].0, "inorder", ModuleCode::Binary(CALLS[1].1), false).unwrap_err();
    assert!(problem.contains("trap"), "{problem}");
}

#[test]
fn the_drivers_functions_know_the_grid() {
    /// Calls for a group that is not there: size, rank, their results, size again.
    const NO_GROUP: u32 = 0b1_1111;
    for (gpu, cubin) in CALLS {
        for (with_workspace, wrong) in [(true, 0), (false, NO_GROUP)] {
            let found = run_kernel("groups", gpu, "inorder", ModuleCode::Binary(cubin), with_workspace).unwrap();
            assert_eq!(found, [wrong; COUNT as usize], "{gpu}, cooperative: {with_workspace}");
        }
    }
}

#[test]
fn calls_of_the_runtime_in_kernels_are_refused_by_name() {
    for (kernel, call, what) in [
        ("counts_devices", "__cuda_syscall_cnpv2GetDeviceCount", "kernels cannot call the CUDA runtime"),
        ("launches", "__cuda_syscall_cnpv2LaunchDevice", "kernels cannot launch kernels (dynamic parallelism)"),
    ] {
        let problem = run_kernel(kernel, CALLS[1].0, "inorder", ModuleCode::Binary(CALLS[1].1), false).unwrap_err();
        assert!(problem.contains(&format!("`{call}`: {what}")), "{problem}");
    }
}
