//! Host time per memory request, for loads that keep the memory system busy.
//!
//! `cargo bench -p warpwright-mem`; for instruction counts, run the `traffic` example under
//! `valgrind --tool=callgrind`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mem::coalesce::{Granularity, Transactions};
use mem::shared_banks::conflict_degree;
use std::hint::black_box;

#[path = "../examples/traffic.rs"]
#[allow(dead_code)]
mod traffic;

fn memory_system(c: &mut Criterion) {
    let mut group = c.benchmark_group("memory_system");
    let config = config::load("rtx2060s").expect("built in");
    group.sample_size(20);
    for load in traffic::Load::ALL {
        const PER_SM: u64 = 500;
        group.throughput(Throughput::Elements(PER_SM * load.sms(&config)));
        group.bench_function(load.name(), |b| b.iter(|| traffic::run(&config, load, PER_SM)));
    }
    group.finish();
}

fn coalescer(c: &mut Criterion) {
    let mut group = c.benchmark_group("warp_access");
    let mut transactions = Transactions::new();
    for (name, stride) in [("consecutive", 4), ("strided", 12)] {
        let addresses = std::array::from_fn(|i| 0x1000 + i as u64 * stride);
        group.bench_function(format!("gather_{name}"), |b| {
            b.iter(|| transactions.gather(u32::MAX, black_box(&addresses), 4, Granularity::Sector));
        });
        group.bench_function(format!("banks_{name}"), |b| {
            b.iter(|| conflict_degree(u32::MAX, black_box(&addresses), 32, false));
        });
    }
    group.finish();
}

criterion_group!(benches, memory_system, coalescer);
criterion_main!(benches);
