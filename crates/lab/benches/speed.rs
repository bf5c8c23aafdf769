//! Simulation speed on one thread: whole workloads on an RTX 2060 Super.
//!
//! Throughput is in simulated warp instructions per second. Repeatable instruction counts:
//! `valgrind --tool=callgrind target/release/warpwright run matmul --quiet`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lab::{Job, Setup, Unattended, run};
use std::collections::BTreeMap;

fn speed(c: &mut Criterion) {
    let gpu = config::load("rtx2060s").expect("it is built in");
    let setup = Setup::new(gpu);
    let mut group = c.benchmark_group("warp instructions");
    group.sample_size(10);
    for name in ["matmul", "bfs", "vectoradd"] {
        let job = Job::Workload { name: name.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 1 };
        let report = run(&setup, &job, &mut Unattended).expect("the workload runs");
        group.throughput(Throughput::Elements(report.total.number("warp_instructions") as u64));
        group.bench_function(name, |b| b.iter(|| run(&setup, &job, &mut Unattended)));
    }
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
