//! Runs a tiled matrix product, a graph search step and a vector sum functionally, for profiles of
//! the interpreter: `profile [matmul|vectoradd|bfs] [size]`. Prints warp instructions and rates.

use exec::{Arg, DeviceState, Launch, run};
use isa::Dim3;
use lower::{LowerOptions, load};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let which = args.next().unwrap_or_else(|| "matmul".into());
    let size: u32 = args.next().and_then(|s| s.parse().ok()).unwrap_or(128);
    let path = format!("{}/../workloads/kernels/{which}.ptx", env!("CARGO_MANIFEST_DIR"));
    let loaded = load(&path, std::fs::read(&path)?, LowerOptions::default())?;
    let kernel = loaded.kernel(loaded.module.kernels[0].name())?.clone();
    let mut state = DeviceState::default();
    state.load(&loaded.module)?;
    let mut buffer = |name: &str, bytes: u64| state.memory.allocate(name, bytes);
    let (args, grid, block) = match &*which {
        "matmul" => {
            let bytes = u64::from(size) * u64::from(size) * 4;
            let pointers = [buffer("a", bytes)?, buffer("b", bytes)?, buffer("c", bytes)?];
            let mut args: Vec<Arg> = pointers.map(Arg::Pointer).to_vec();
            args.extend([Arg::U32(size), Arg::U32(size), Arg::U32(size)]);
            (args, Dim3::new(size / 16, size / 16, 1), Dim3::new(16, 16, 1))
        }
        _ => {
            let bytes = u64::from(size) * 4;
            let pointers = [buffer("a", bytes)?, buffer("b", bytes)?, buffer("c", bytes)?];
            let mut args: Vec<Arg> = pointers.map(Arg::Pointer).to_vec();
            args.push(Arg::U32(size));
            (args, Dim3::new(size.div_ceil(256), 1, 1), Dim3::new(256, 1, 1))
        }
    };
    let launch = Launch::new(kernel, grid, block, 0, &args)?;
    let start = Instant::now();
    let stats = run(&mut state, &launch)?;
    let seconds = start.elapsed().as_secs_f64();
    let millions = stats.warp_instructions as f64 / 1e6;
    println!(
        "{} warp instructions in {seconds:.3} s: {:.2} million per second",
        stats.warp_instructions,
        millions / seconds
    );
    Ok(())
}
