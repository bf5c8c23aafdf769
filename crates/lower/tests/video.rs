//! Video instructions: against the manual's definition, and against the machine code that NVIDIA's
//! assembler makes of them.

use crate::common;

use common::{MODES, Values, check, check_where, signed, unsigned};
use exec::{Arg, DeviceState, Kernel, Launch, run};
use isa::Dim3;
use lower::{LowerOptions, load, load_cubin};
use std::sync::Arc;

const PTX: &str = include_str!("data/video.ptx");
const CUBIN: &[u8] = include_bytes!("data/video.sm_70.cubin");

/// The results of the kernel for 64 threads' operands, `results` words of each.
fn results(kernel: &Arc<Kernel>, operands: &[u32], results: u64) -> Vec<u32> {
    let mut state = DeviceState::default();
    let input = state.memory.allocate("in", 4 * operands.len() as u64).unwrap();
    let bytes: Vec<u8> = operands.iter().flat_map(|w| w.to_le_bytes()).collect();
    state.memory.write(input, &bytes).unwrap();
    let output = state.memory.allocate("out", 64 * 4 * results).unwrap();
    let args = [Arg::Pointer(input), Arg::Pointer(output)];
    let launch = Launch::new(kernel.clone(), Dim3::new(1, 1, 1), Dim3::new(64, 1, 1), 0, &args).unwrap();
    run(&mut state, &launch).unwrap_or_else(|fault| panic!("{fault}"));
    let mut out = vec![0; 64 * 4 * results as usize];
    state.memory.read(output, &mut out).unwrap();
    out.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}

#[test]
fn ptx_computes_what_its_machine_code_computes() {
    let machine = load_cubin("video.sm_70.cubin", CUBIN, LowerOptions::default()).unwrap();
    let mut values = Values::new("video");
    let mut differences = Vec::new();
    for registers in MODES {
        let loaded = load("video.ptx", PTX, LowerOptions { registers, ..LowerOptions::default() }).unwrap();
        assert_eq!(loaded.problems(), None);
        for kernel in &loaded.module.kernels {
            let texts: Vec<&str> = (0..kernel.program.insts().len() as u32)
                .map(|pc| kernel.program.text(isa::Pc(pc)))
                .filter(|text| text.starts_with('v'))
                .collect();
            assert!(texts.len() > 5);
            let operands: Vec<u32> = (0..64 * 3).map(|_| values.next("u32") as u32).collect();
            let ours = results(kernel, &operands, texts.len() as u64);
            let theirs = results(machine.kernel(kernel.name()).unwrap(), &operands, texts.len() as u64);
            for (k, text) in texts.iter().enumerate() {
                let at = (0..64).find(|thread| ours[thread * texts.len() + k] != theirs[thread * texts.len() + k]);
                differences.extend(at.map(|thread| {
                    let (i, s) = (thread * texts.len() + k, &operands[3 * thread..][..3]);
                    format!("{text} of {s:x?}: {:#x}, machine code {:#x}", ours[i], theirs[i])
                }));
            }
        }
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
}

/// The part of a register that a selector picks.
fn part(x: u64, selector: &str, is_signed: bool) -> i128 {
    let (bits, at) = match selector.as_bytes() {
        [b'.', b'b', n] => (8, 8 * u32::from(n - b'0')),
        [b'.', b'h', n] => (16, 16 * u32::from(n - b'0')),
        _ => (32, 0),
    };
    if is_signed { signed(x >> at, bits) } else { unsigned(x >> at, bits) }
}

fn clamp(x: i128, bits: u32, is_signed: bool) -> i128 {
    if is_signed { x.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { x.clamp(0, (1 << bits) - 1) }
}

#[test]
fn scalar_instructions_are_as_the_manual_defines_them() {
    type Function = fn(i128, i128) -> i128;
    let functions: [(&str, Function); 5] = [
        ("vadd", |a, b| a + b),
        ("vsub", |a, b| a - b),
        ("vabsdiff", |a, b| (a - b).abs()),
        ("vmin", |a, b| a.min(b)),
        ("vmax", |a, b| a.max(b)),
    ];
    let types = ["u32", "s32"];
    for (name, f) in functions {
        for ((d, a), b) in types.iter().flat_map(|d| types.map(|a| (d, a))).flat_map(|x| types.map(|b| (x, b))) {
            for (x, y) in [("", ""), (".b3", ".h1"), (".h0", ".b0"), (".b1", "")] {
                let s = |ty: &str| ty == "s32";
                let of = move |[p, q, ..]: [u64; 4]| f(part(p, x, s(a)), part(q, y, s(b)));
                let ty = format!("{name}.{d}.{a}.{b}");
                let sources = ["b32"; 3];
                check(&format!("{ty} $d, $a{x}, $b{y}"), "b32", &sources, |v| of(v) as u64);
                // The assembler's code for `.sat` mistakes some results for others where they are out of
                // range; into a part, also where they are negative.
                let sat = |instruction: &str, bits: u32, result: &dyn Fn(u64, [u64; 4]) -> u64| {
                    let clamped = |v| clamp(of(v), bits, s(d));
                    let expected = |v| Some(result(clamped(v) as u64, v));
                    check_where(instruction, "b32", &sources, expected, |v| {
                        of(v) == clamped(v) && (bits == 32 || of(v) >= 0)
                    });
                };
                sat(&format!("{ty}.sat $d, $a{x}, $b{y}"), 32, &|x, _| x);
                sat(&format!("{ty}.sat.add $d, $a{x}, $b{y}, $c"), 32, &|x, v| x.wrapping_add(v[2]));
                sat(&format!("{ty}.sat $d.b2, $a{x}, $b{y}, $c"), 8, &|x, v| v[2] & 0xff00_ffff | (x & 0xff) << 16);
            }
        }
    }
}

#[test]
fn simd_instructions_are_as_the_manual_defines_them() {
    let elements = |x: u64, n: u32| (0..n).map(move |k| signed(x >> (k * 32 / n), 32 / n));
    let joined = |list: Vec<i128>| {
        let bits = 32 / list.len();
        list.iter().rev().fold(0, |word, &x| word << bits | x as u64 & ((1 << bits) - 1))
    };
    for n in [2, 4] {
        check(&format!("vadd{n}.s32.s32.s32.sat $d, $a, $b, $c"), "b32", &["b32"; 3], |[a, b, ..]| {
            joined(elements(a, n).zip(elements(b, n)).map(|(a, b)| clamp(a + b, 32 / n, true)).collect())
        });
        check(&format!("vabsdiff{n}.u32.s32.s32.add $d, $a, $b, $c"), "b32", &["b32"; 3], |[a, b, c, _]| {
            elements(a, n).zip(elements(b, n)).fold(c, |sum, (a, b)| sum.wrapping_add((a - b).unsigned_abs() as u64))
        });
        check(&format!("vset{n}.s32.s32.ge $d, $a, $b, $c"), "b32", &["b32"; 3], |[a, b, ..]| {
            joined(elements(a, n).zip(elements(b, n)).map(|(a, b)| i128::from(a >= b)).collect())
        });
    }
}
