//! How many CTAs fit, and what keeps out the next one.

use crate::support;

use isa::{Dim3, LaunchShape};
use sm::{Limiter, occupancy};

fn shape(threads: u32, registers_per_thread: u32, shared_bytes: u32) -> LaunchShape {
    LaunchShape {
        grid: Dim3::new(1000, 1, 1),
        block: Dim3::new(threads, 1, 1),
        registers_per_thread,
        shared_bytes,
        cluster: None,
    }
}

#[test]
fn each_resource_limits_in_turn() {
    // The V100: 64 warps, 32 CTAs, 65,536 registers in units of 256 per warp, 96 KiB to share.
    let mut sm = config::load("accel-sim/v100").unwrap().sm;
    (sm.max_warps, sm.max_ctas, sm.registers, sm.register_allocation_unit) = (64, 32, 65536, 256);
    sm.shared.bytes = 96 << 10;
    let fit = |threads, registers, shared| {
        let fit = occupancy(&sm, &shape(threads, registers, shared));
        (fit.ctas_per_sm, fit.limiter)
    };
    assert_eq!(fit(256, 16, 0), (8, Limiter::Warps));
    assert_eq!(fit(1024, 32, 0), (2, Limiter::Warps));
    assert_eq!(fit(250, 16, 0), (8, Limiter::Warps), "a part of a warp takes a slot");
    assert_eq!(fit(256, 64, 0), (4, Limiter::Registers));
    assert_eq!(fit(256, 33, 0), (6, Limiter::Registers), "33 registers cost 40");
    assert_eq!(fit(256, 255, 0), (1, Limiter::Registers));
    assert_eq!(fit(1024, 128, 0), (0, Limiter::Registers), "too large for any SM");
    assert_eq!(fit(128, 16, 12 << 10), (8, Limiter::SharedMemory));
    assert_eq!(fit(32, 16, 0), (32, Limiter::CtaSlots));
}

/// From compute capability 8.0 on the system takes 1 KiB of shared memory for each CTA. Figures: CUDA's occupancy
/// calculator.
#[test]
fn the_shared_memory_of_the_system_counts() {
    for (gpu, bytes, ctas) in [
        ("a100", 82 << 10, 1),
        ("a100", 81 << 10, 2),
        ("a100", 56_013, 2),
        ("a100", 163 << 10, 1),
        ("rtx3070", 50 << 10, 1),
        ("rtx3070", 49 << 10, 2),
        ("h100", 227 << 10, 1),
        ("h100", 113 << 10, 2),
        ("h100", 114 << 10, 1),
        ("rtx2060s", 32 << 10, 2),
        ("rtx2060s", (32 << 10) - 255, 2),
        ("rtx2060s", (64 << 10) / 3, 2),
    ] {
        let gpu = config::load(gpu).unwrap();
        assert_eq!(occupancy(&gpu.sm, &shape(32, 16, bytes)).ctas_per_sm, ctas, "{} {bytes}", gpu.name);
    }
}

#[test]
fn the_sm_takes_exactly_as_many() {
    use support::*;
    let lines = [load(isa::Space::Global, 1, 0, 4), add(2, &[1])];
    for (threads, registers, shared) in [(64, 16, 0), (256, 60, 0), (96, 16, 10_000), (1024, 16, 0)] {
        let mut bench = Bench::new(&lines);
        (bench.ctas, bench.threads, bench.registers, bench.shared_bytes) = (200, threads, registers, shared);
        let run = bench.run_with(MostCtas::default());
        assert_eq!(run.sm.observer.most, run.kernels[0].occupancy.ctas_per_sm);
    }
}

#[derive(Default)]
struct MostCtas {
    now: u32,
    most: u32,
}

impl sm::Observer for MostCtas {
    fn cta_started(&mut self, _: u64, _: isa::KernelId, _: Dim3, _: isa::CtaSlot, _: &[isa::WarpSlot]) {
        self.now += 1;
        self.most = self.most.max(self.now);
    }

    fn cta_finished(&mut self, _: u64, _: isa::CtaSlot) {
        self.now -= 1;
    }
}
