//! Compiled kernels: all load, and some run.

use exec::{Arg, DeviceState, Launch, run};
use isa::Dim3;
use lower::{LowerOptions, load};
use std::path::PathBuf;

fn kernels() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../workloads/kernels")
}

#[test]
fn every_kernel_of_the_suite_can_run() {
    let mut count = 0;
    for entry in std::fs::read_dir(kernels()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "ptx") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let loaded = load(&name, std::fs::read(&path).unwrap(), LowerOptions::default()).unwrap();
            assert_eq!(loaded.problems(), None, "{name}");
            assert!(!loaded.module.kernels.is_empty(), "{name}");
            for kernel in &loaded.module.kernels {
                let registers = kernel.registers.per_thread;
                assert!((8..=200).contains(&registers), "{name}: {registers} registers");
                println!("{name}: {} {registers} registers, {} instructions", kernel.name(), kernel.code().len());
            }
            count += 1;
        }
    }
    assert!(count > 10, "only {count} files");
}

fn floats(state: &DeviceState, address: u64, count: usize) -> Vec<f32> {
    let mut bytes = vec![0; 4 * count];
    state.memory.read(address, &mut bytes).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn upload(state: &mut DeviceState, name: &str, values: &[f32]) -> u64 {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let address = state.memory.allocate(name, bytes.len() as u64).unwrap();
    state.memory.write(address, &bytes).unwrap();
    address
}

#[test]
fn tiled_matmul_with_barriers_matches_the_host() {
    let text = std::fs::read(kernels().join("matmul.ptx")).unwrap();
    let loaded = load("matmul.ptx", text, LowerOptions::default()).unwrap();
    let kernel = loaded.kernel("matmul").unwrap().clone();
    let (rows, cols, depth) = (37_usize, 50_usize, 33_usize);
    let a: Vec<f32> = (0..rows * depth).map(|i| ((i * 7) % 13) as f32 - 6.0).collect();
    let b: Vec<f32> = (0..depth * cols).map(|i| ((i * 5) % 11) as f32 - 5.0).collect();
    let mut state = DeviceState::default();
    let (pa, pb) = (upload(&mut state, "a", &a), upload(&mut state, "b", &b));
    let pc = upload(&mut state, "c", &vec![0.0; rows * cols]);
    let args = [
        Arg::Pointer(pa),
        Arg::Pointer(pb),
        Arg::Pointer(pc),
        Arg::U32(rows as u32),
        Arg::U32(cols as u32),
        Arg::U32(depth as u32),
    ];
    let grid = Dim3::new(cols.div_ceil(16) as u32, rows.div_ceil(16) as u32, 1);
    let launch = Launch::new(kernel, grid, Dim3::new(16, 16, 1), 0, &args).unwrap();
    let stats = run(&mut state, &launch).unwrap();
    assert_eq!(stats.ctas, grid.volume());
    let c = floats(&state, pc, rows * cols);
    for row in 0..rows {
        for col in 0..cols {
            let expected: f32 = (0..depth).map(|k| a[row * depth + k] * b[k * cols + col]).sum();
            assert_eq!(c[row * cols + col], expected, "({row}, {col})");
        }
    }
}
