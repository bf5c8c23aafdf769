//! How fast the front end reads PTX: `cargo bench -p warpwright-ptx`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::Path;

/// A text of about a megabyte: a kernel as the compiler makes it, many times over under other
/// names.
fn repeated(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/valid").join(file);
    let text = std::fs::read_to_string(path).expect("the test data is part of the crate");
    let (header, kernels) = text.split_at(text.find(".visible .entry").expect("a kernel"));
    let mut out = header.to_owned();
    for n in 0.. {
        if out.len() > 1 << 20 {
            break;
        }
        out.push_str(&kernels.replace("_Z6", &format!("_Z{n}_")));
    }
    out
}

fn parse(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
    for file in ["nvcc_sm20_vecadd.ptx", "nvcc_sm52_reduce.ptx", "triton_sm90.ptx"] {
        let text = repeated(file);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(file, |b| b.iter(|| ptx::parse("bench.ptx", black_box(text.as_bytes()))));
        let parsed = ptx::parse("bench.ptx", &text);
        assert!(!parsed.has_errors());
        group.bench_function(format!("check {file}"), |b| b.iter(|| ptx::check(black_box(&parsed.module))));
    }
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
