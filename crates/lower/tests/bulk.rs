//! Bulk copies and reductions: PTX and machine code of two compilers, without time and on a machine on which transfers
//! take time, against the host. `data/sm_90/README.md` describes the files.

use crate::timed;
use exec::{Arg, DeviceState, Launch, run};
use isa::{Dim3, Fault, TransferKind};
use lower::{Loaded, LowerOptions, load, load_cubin};
use num::half::{self, Bf16, F16};

/// Words of the output and of the input.
const WORDS: usize = 1024;

fn modules() -> Vec<(&'static str, Loaded)> {
    let ptx = load("bulk.ptx", include_str!("data/sm_90/bulk.ptx"), LowerOptions::default()).unwrap();
    assert!(ptx.problems().is_none(), "{:?}", ptx.problems());
    let cubin = |name, file: &[u8]| (name, load_cubin(name, file, LowerOptions::default()).unwrap());
    vec![
        ("PTX", ptx),
        cubin("ptxas 12.4", include_bytes!("data/sm_90/bulk.cuda124.sm_90.cubin")),
        cubin("ptxas 13.0", include_bytes!("data/sm_90/bulk.cuda130.sm_90.cubin")),
    ]
}

/// Numbers that are ordinary in every format.
fn input() -> Vec<u32> {
    (0..WORDS as u32).map(|i| (0x3f80_4200 ^ (i << 31)).wrapping_add(i.wrapping_mul(0x0003_0005))).collect()
}

fn initial() -> Vec<u32> {
    (0..WORDS as u32).map(|i| (0x3fc0_3e00 ^ (i >> 1 << 31)).wrapping_add(i.wrapping_mul(0x0001_0007))).collect()
}

/// The output after a run of `kernel` by one CTA, and what was transferred if it ran in time.
fn launch(
    name: &str,
    (loaded, kernel, threads): (&Loaded, &str, u32),
    input: &[u32],
    in_time: bool,
) -> Result<(Vec<u32>, timed::Transfers), Box<Fault>> {
    let kernel = loaded.kernel(kernel).unwrap_or_else(|e| panic!("{name}: {e}")).clone();
    let mut state = DeviceState::default();
    let [out, from] = [4 * WORDS, 4 * WORDS].map(|n| state.memory.allocate("test", n as u64).unwrap());
    for (at, words) in [(from, input), (out, &initial())] {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        state.memory.write(at, &bytes).unwrap();
    }
    let args = [Arg::Pointer(out), Arg::Pointer(from)];
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(threads, 1, 1), 0, &args).unwrap();
    let transfers = if in_time {
        timed::run(&mut state, &launch)?
    } else {
        run(&mut state, &launch)?;
        Vec::new()
    };
    let mut bytes = vec![0; 4 * WORDS];
    state.memory.read(out, &mut bytes).unwrap();
    Ok((bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect(), transfers))
}

/// Compares the output of all modules, both ways, with `expected`; returns the transfers of each.
fn check(kernel: &str, threads: u32, expected: &[u32]) -> Vec<timed::Transfers> {
    let mut all = Vec::new();
    for (name, loaded) in &modules() {
        for in_time in [false, true] {
            let ran = launch(name, (loaded, kernel, threads), &input(), in_time);
            let (found, transfers) = ran.unwrap_or_else(|fault| panic!("{name}: {fault}"));
            let wrong = (0..WORDS).find(|&i| found[i] != expected[i]);
            let wrong = wrong.map(|i| (i, format!("{:#x}, not {:#x}", found[i], expected[i])));
            assert_eq!(wrong, None, "{name}, in time: {in_time}");
            if in_time {
                all.push(transfers);
            }
        }
    }
    all
}

#[test]
fn copies_go_in_every_direction() {
    let (input, mut expected) = (input(), initial());
    expected[..32].copy_from_slice(&input[8..40]);
    expected[32..48].copy_from_slice(&input[64..80]);
    expected[48..64].copy_from_slice(&input[..16]);
    expected[64..80].copy_from_slice(&input[128..144]);
    for transfers in check("copies", 64, &expected) {
        let kinds: Vec<_> =
            transfers.iter().map(|t| (t.kind, t.runs.len(), t.shared_bytes, t.kind.is_by_group())).collect();
        use TransferKind::{GlobalToShared, Prefetch, SharedToGlobal, SharedToShared};
        let expected = [
            (Prefetch, 1, 0, false),
            (Prefetch, 1, 0, false),
            (GlobalToShared, 1, 256, false),
            (SharedToShared, 0, 128, false),
            (SharedToGlobal, 1, 128, true),
            (GlobalToShared, 1, 64, false),
            (GlobalToShared, 1, 64, false),
            (GlobalToShared, 1, 64, false),
            (SharedToGlobal, 1, 192, true),
        ];
        let mut sorted = (kinds, expected.to_vec());
        // The assembler moves prefetches.
        sorted.0.sort_by_key(|kind| kind.0 != Prefetch);
        assert_eq!(sorted.0, sorted.1);
    }
}

#[test]
fn each_lane_copies_what_it_names() {
    let (input, mut expected) = (input(), initial());
    for lane in 0..20 {
        expected[4 * lane..4 * lane + 4].copy_from_slice(&input[4 * (31 - lane)..4 * (31 - lane) + 4]);
    }
    let transfers = check("each", 32, &expected);
    let runs = &transfers[0][0].runs;
    assert_eq!((transfers[0].len(), runs.len(), runs[0].1), (2, 1, 512), "adjacent bytes are one run");
    assert_eq!(transfers[1].len(), 52, "machine code has a transfer for each lane");
}

/// A reduction: bytes of the type, and the new value of an old one and an operand.
type Reduce = (usize, fn(u64, u64) -> u64);

fn f16(x: u64) -> f64 {
    half::to_f64::<F16>(x as u16)
}

fn bf16(x: u64) -> f64 {
    half::to_f64::<Bf16>(x as u16)
}

fn to_f16(x: f64) -> u64 {
    half::from_f64::<F16>(x, num::Rounding::NearestEven).into()
}

fn to_bf16(x: f64) -> u64 {
    half::from_f64::<Bf16>(x, num::Rounding::NearestEven).into()
}

const ADD_32: Reduce = (4, |a, b| (a + b) & 0xffff_ffff);
const ADD_64: Reduce = (8, |a, b| a.wrapping_add(b));
const INC: Reduce = (4, |a, b| if a >= b { 0 } else { a + 1 });
const DEC: Reduce = (4, |a, b| if a == 0 || a > b { b } else { a - 1 });
const MIN_U32: Reduce = (4, |a, b| a.min(b));
const MAX_U32: Reduce = (4, |a, b| a.max(b));
const MIN_S32: Reduce = (4, |a, b| (a as i32).min(b as i32) as u32 as u64);
const MAX_S32: Reduce = (4, |a, b| (a as i32).max(b as i32) as u32 as u64);
const AND: Reduce = (4, |a, b| a & b);
const OR: Reduce = (4, |a, b| a | b);
const XOR: Reduce = (4, |a, b| a ^ b);

/// The reductions of the kernel in its order.
const IN_GLOBAL: [Reduce; 27] = [
    ADD_32,
    ADD_32,
    ADD_64,
    (4, |a, b| (f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits().into()),
    (8, |a, b| (f64::from_bits(a) + f64::from_bits(b)).to_bits()),
    (2, |a, b| to_f16(f16(a) + f16(b))),
    (2, |a, b| to_bf16(bf16(a) + bf16(b))),
    INC,
    DEC,
    MIN_U32,
    MAX_U32,
    MIN_S32,
    MAX_S32,
    (8, |a, b| a.min(b)),
    (8, |a, b| a.max(b)),
    (8, |a, b| (a as i64).min(b as i64) as u64),
    (8, |a, b| (a as i64).max(b as i64) as u64),
    (2, |a, b| to_f16(f16(a).min(f16(b)))),
    (2, |a, b| to_f16(f16(a).max(f16(b)))),
    (2, |a, b| to_bf16(bf16(a).min(bf16(b)))),
    (2, |a, b| to_bf16(bf16(a).max(bf16(b)))),
    AND,
    OR,
    XOR,
    (8, |a, b| a & b),
    (8, |a, b| a | b),
    (8, |a, b| a ^ b),
];
const IN_SHARED: [Reduce; 12] = [ADD_32, ADD_32, ADD_64, INC, DEC, MIN_U32, MAX_U32, MIN_S32, MAX_S32, AND, OR, XOR];

/// Blocks of 32 words of the output, each reduced by the first words of the input.
fn reduced(reductions: &[Reduce]) -> Vec<u32> {
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let (operands, mut old) = (bytes(&input()[..32]), bytes(&initial()));
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    for (block, &(size, f)) in old.chunks_exact_mut(128).zip(reductions) {
        for (old, operand) in block.chunks_exact_mut(size).zip(operands.chunks_exact(size)) {
            let new = f(value(old), value(operand)).to_le_bytes();
            old.copy_from_slice(&new[..size]);
        }
    }
    old.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}

#[test]
fn reductions_into_global_memory() {
    for transfers in check("reductions", 32, &reduced(&IN_GLOBAL)) {
        let runs = |t: &isa::Transfer| t.runs.iter().map(|run| run.1).sum::<u32>();
        assert!(transfers.iter().all(|t| (t.kind, runs(t)) == (TransferKind::SharedReduction, 128)));
        assert_eq!(transfers.len(), IN_GLOBAL.len());
    }
}

#[test]
fn reductions_in_shared_memory() {
    check("shared_reductions", 32, &reduced(&IN_SHARED));
}

#[test]
fn impossible_copies_are_faults_that_say_why() {
    let cases = [
        ([8, 0, 64, 1], "bulk copy: the global address"),
        ([0, 8, 64, 1], "bulk copy: the shared address"),
        ([0, 0, 8, 1], "the size of a bulk copy 0x8 is not a multiple of 16"),
        ([0, 0, 64, 3], "multicast to the CTAs 0x0003 of a cluster of 1 CTA: a bit for each receiver"),
        ([16384, 0, 64, 1], "out-of-bounds load from global address"),
        ([0, 4096, 64, 1], "outside the CTA's"),
        ([0, 1 << 24, 64, 1], ", outside the cluster"),
        ([0, 0, 1 << 19, 1], "more than the CTA's shared memory"),
    ];
    for (name, loaded) in &modules() {
        for (parts, what) in cases {
            // Machine code counts in units of 16 bytes.
            if parts[2] == 8 && *name != "PTX" {
                continue;
            }
            for in_time in [false, true] {
                let fault = launch(name, (loaded, "wrong", 32), &parts, in_time).unwrap_err();
                assert!(fault.what.contains(what), "{name}: {}", fault.what);
                assert_eq!(fault.lanes, 1, "{name}: {fault}");
            }
        }
        let good = launch(name, (loaded, "wrong", 32), &[0, 0, 64, 1], false);
        assert!(good.is_ok(), "{name}");
    }
}
