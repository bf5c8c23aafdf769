//! Instructions that compilers emit for Hopper and Ada and that the bundled workloads lack: PTX and machine
//! code of two compilers against host arithmetic. `data/sm_90/README.md` describes the files.

use exec::{Arg, DeviceState, Launch, run};
use isa::Dim3;
use lower::{Loaded, LowerOptions, load, load_cubin};
use num::Rounding::NearestEven;
use num::half::{self, Bf16, F16};

/// Threads of a launch, in two CTAs.
const THREADS: usize = 128;
/// Words of the input: three per thread, more for kernels that index it.
const INPUT: usize = 1032;

macro_rules! modules {
    ($ptx:literal $(, $cubin:literal)*) => {
        [
            ("PTX", load($ptx, include_str!(concat!("data/sm_90/", $ptx, ".ptx")), LowerOptions::default()).unwrap()),
            $(($cubin, cubin($cubin, include_bytes!(concat!("data/sm_90/", $cubin, ".cubin"))))),*
        ]
    };
}

fn cubin(name: &str, data: &[u8]) -> Loaded {
    load_cubin(name, data, LowerOptions::default()).unwrap()
}

/// Numbers at and around the limits of several formats, then random ones.
fn input() -> Vec<u32> {
    const SPECIAL: [u32; 20] = [
        0,
        1,
        !0,
        0x8000_0000,
        0x7fff_ffff,
        0x7fc0_7e00,
        0x7c00_3c00,
        0x3f80_0000,
        0xbf80_3c00,
        0x7f80_7f80,
        0xff80_fc00,
        0x0001_8000,
        0x4000_4200,
        0x8000_8000,
        0x4049_0fdb,
        0x42c8_c2c8,
        0x0403_0201,
        0xff80_7f01,
        0x0000_ffff,
        0x3fc0_3e00,
    ];
    let mut state = 0x1234_5678_9abc_def1_u64;
    let mut words: Vec<u32> = (0..INPUT)
        .map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 32) as u32
        })
        .collect();
    for (k, base) in [0, THREADS, 2 * THREADS].into_iter().enumerate() {
        for i in 0..80 {
            words[base + i] = SPECIAL[(i * (1 + 2 * k) + 7 * k) % SPECIAL.len()];
        }
        // Numbers of moderate size as floats, halves and bfloat16.
        for word in &mut words[base + 80..base + 112] {
            *word = 0x3f80_3f80 ^ (*word & 0x83ff_83ff);
        }
    }
    words
}

/// Words of `out`, `rows` times [`THREADS`], after a launch of two CTAs.
fn launch(name: &str, loaded: &Loaded, kernel: &str, rows: usize) -> Vec<u32> {
    let kernel = loaded.kernel(kernel).unwrap_or_else(|e| panic!("{name}: {e}")).clone();
    let mut state = DeviceState::default();
    state.load(&loaded.module).unwrap();
    let bytes: Vec<u8> = input().iter().flat_map(|word| word.to_le_bytes()).collect();
    let out = state.memory.allocate("out", (rows * THREADS * 4) as u64).unwrap();
    let data = state.memory.allocate("in", bytes.len() as u64).unwrap();
    state.memory.write(data, &bytes).unwrap();
    let args = [Arg::Pointer(out), Arg::Pointer(data)];
    let launch = Launch::new(kernel, Dim3::new(2, 1, 1), Dim3::new(THREADS as u32 / 2, 1, 1), 0, &args).unwrap();
    run(&mut state, &launch).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let mut bytes = vec![0; rows * THREADS * 4];
    state.memory.read(out, &mut bytes).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// A row: its name, and its result for a thread's three words.
type Row = (&'static str, fn(u32, u32, u32) -> u32);

/// Compares all rows of all modules with the host.
fn check(modules: &[(&str, Loaded)], kernel: &str, rows: &[Row]) {
    let words = input();
    for (name, loaded) in modules {
        let out = launch(name, loaded, kernel, rows.len());
        for (r, (what, expected)) in rows.iter().enumerate() {
            for t in 0..THREADS {
                let [a, b, c] = [0, 1, 2].map(|k| words[t + k * THREADS]);
                let (found, expected) = (out[t + r * THREADS], expected(a, b, c));
                assert_eq!(found, expected, "{name}: {what} of {a:#x}, {b:#x}, {c:#x}: {found:#x}, not {expected:#x}");
            }
        }
    }
}

/// `f` on the lower and upper halves.
fn halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

fn signed(f: impl Fn(i16, i16) -> i16) -> impl Fn(u16, u16) -> u16 {
    move |a, b| f(a as i16, b as i16) as u16
}

fn add2(a: u32, b: u32) -> u32 {
    halves(a, b, u16::wrapping_add)
}

/// A chosen value with flags for the upper and the lower half.
fn flags(a: u32, b: u32, chosen: impl Fn(u16, u16) -> bool) -> u32 {
    let [low, high] = [0, 16].map(|at| chosen((a >> at) as u16, (b >> at) as u16));
    let value = halves(a, b, |a, b| if chosen(a, b) { a } else { b });
    value ^ if high { 0x1000_0001 } else { 0 } ^ if low { 0x2000_0002 } else { 0 }
}

#[test]
fn minima_and_maxima_of_sums_of_three_and_of_halves() {
    check(
        &modules!("dpx", "dpx.cuda129.sm_90"),
        "dpx",
        &[
            ("viaddmax", |a, b, c| (a.wrapping_add(b) as i32).max(c as i32) as u32),
            ("viaddmin.u32", |a, b, c| a.wrapping_add(b).min(c)),
            ("viaddmin.s16x2", |a, b, c| halves(add2(a, b), c, signed(Ord::min))),
            ("viaddmax.u16x2", |a, b, c| halves(add2(a, b), c, Ord::max)),
            ("vimax3", |a, b, c| (a as i32).max(b as i32).max(c as i32) as u32),
            ("vimin3.u16x2", |a, b, c| halves(halves(a, b, Ord::min), c, Ord::min)),
            ("vimax3.s16x2", |a, b, c| halves(halves(a, b, signed(Ord::max)), c, signed(Ord::max))),
            ("vibmax.s16x2", |a, b, _| flags(a, b, |a, b| a as i16 >= b as i16)),
            ("vibmin.u16x2", |a, b, _| flags(a, b, |a, b| a <= b)),
            ("vadd2", |a, b, _| add2(a, b)),
            ("vadd2 of a constant", |a, _, _| add2(a, 0x0001_0003)),
            ("viaddmax.s16x2 of a constant", |a, _, c| halves(add2(a, 0x0005_0007), c, signed(Ord::max))),
            ("vmaxu2", |a, b, _| halves(a, b, Ord::max)),
        ],
    );
    // `.relu` of PTX is tested elsewhere.
    check(
        &modules!("dpx", "dpx.cuda129.sm_90")[1..],
        "relu",
        &[
            ("viaddmax.relu", |a, b, c| (a.wrapping_add(b) as i32).max(c as i32).max(0) as u32),
            ("viaddmin.s16x2.relu", |a, b, c| halves(add2(a, b), c, signed(|a, b| a.min(b).max(0)))),
            ("vimax3.s16x2.relu", |a, b, c| halves(halves(a, b, signed(Ord::max)), c, signed(|a, b| a.max(b).max(0)))),
            ("vimin.relu", |a, b, _| (a as i32).min(b as i32).max(0) as u32),
            ("vimax.s16x2.relu", |a, b, _| halves(a, b, signed(|a, b| a.max(b).max(0)))),
        ],
    );
}

fn b16(x: u16) -> f32 {
    f32::from_bits(u32::from(x) << 16)
}

fn low(x: u32) -> f32 {
    b16(x as u16)
}

fn high(x: u32) -> f32 {
    b16((x >> 16) as u16)
}

fn to_bf16(x: f64) -> u16 {
    half::from_f64::<Bf16>(x, NearestEven)
}

/// The lesser or greater of two halves: a number if there is one, -0 below +0.
fn extreme(a: u16, b: u16, value: impl Fn(u16) -> f64, greatest: bool) -> u16 {
    let (x, y) = (value(a), value(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => 0x7fff,
        (true, _) => b,
        (_, true) => a,
        _ if x == y => {
            let negative = if a >> 15 == 1 { a } else { b };
            let positive = if a >> 15 == 1 { b } else { a };
            if greatest { positive } else { negative }
        }
        _ => {
            if (x > y) == greatest {
                a
            } else {
                b
            }
        }
    }
}

fn f16(x: u16) -> f64 {
    half::to_f64::<F16>(x)
}

#[test]
fn bfloat16_is_compared_and_converted() {
    check(
        &modules!("bf16", "bf16.cuda129.sm_90", "bf16.debug.cuda129.sm_90"),
        "bf16",
        &[
            ("heq", |a, b, _| u32::from(low(a) == high(b))),
            ("hbgt2", |a, b, _| u32::from(low(a) > low(b) && high(a) > high(b))),
            ("a constant", |a, _, _| if low(a) > 1.5 { 3 } else { 5 }),
            ("hltu2", |a, b, _| halves(a, b, |a, b| if b16(a) >= b16(b) { 0 } else { 0x3f80 })),
            ("hge2.mask", |a, b, _| halves(a, b, |a, b| if b16(a) >= b16(b) { 0xffff } else { 0 })),
            ("hmax2 of three", |a, b, c| {
                let most = |a, b| extreme(a, b, |x| b16(x).into(), true);
                halves(halves(a, b, most), c, most)
            }),
            ("hmin2 of three", |a, b, c| {
                let least = |a, b| extreme(a, b, f16, false);
                halves(halves(a, b, least), c, least)
            }),
            ("to int", |a, _, _| high(a) as i32 as u32),
            ("to uint, nearest", |a, _, _| low(a).round_ties_even() as u32),
            ("to a long integer", |a, _, _| if high(a).is_nan() { 0 } else { high(a) as i64 as u32 }),
            ("of an integer", |a, _, _| to_bf16(f64::from(a as i32)).into()),
            ("of a long integer", |a, b, _| {
                // Rounded to odd, 53 bits are enough to round once more.
                let whole = u64::from(a) << 32 | u64::from(b);
                let sticky = u64::from(whole & 0xfff != 0) << 12;
                to_bf16((whole & !0xfff | sticky) as f64).into()
            }),
            ("floor", |a, _, _| {
                halves(a, a, |x, _| if b16(x).is_nan() { 0x7fff } else { to_bf16(b16(x).floor().into()) })
            }),
            ("ceil of a half", |a, _, _| match f16((a >> 16) as u16) {
                x if x.is_nan() => 0x7fff,
                x => half::from_f64::<F16>(x.ceil(), NearestEven).into(),
            }),
            ("of a double", |a, _, _| to_bf16(f64::from(a as i32)).into()),
            ("of a float, downwards", |_, b, _| match f32::from_bits(b) {
                x if x.is_nan() => 0x7fff,
                x => half::from_f64::<Bf16>(x.into(), num::Rounding::Down).into(),
            }),
        ],
    );
}

#[test]
fn functions_of_halves_are_those_of_ptx() {
    let modules = modules!("bf16", "bf16.cuda129.sm_90", "bf16.debug.cuda129.sm_90");
    let (ptx, cubins) = modules.split_first().unwrap();
    let expected = launch(ptx.0, &ptx.1, "functions", 7);
    for (name, loaded) in cubins {
        let found = launch(name, loaded, "functions", 7);
        let wrong = (0..expected.len()).find(|&i| found[i] != expected[i]);
        assert_eq!(wrong.map(|i| (i / THREADS, i % THREADS, found[i], expected[i])), None, "{name}");
    }
    // The signs of `.xorsign` are those before the absolute values.
    let words = input();
    for t in 0..THREADS {
        let (a, b) = (words[t], words[t + THREADS]);
        let value = expected[5 * THREADS + t];
        let number = !f32::from_bits(a).is_nan() && !f32::from_bits(b).is_nan();
        assert!(!number || value >> 31 == (a ^ b) >> 31, "{a:#x} {b:#x} {value:#x}");
    }
}

/// The value of an 8-bit number: four bits of exponent and three of fraction, or five and two.
fn byte(x: u8, e5m2: bool) -> f64 {
    let (fraction_bits, bias) = if e5m2 { (2, 15) } else { (3, 7) };
    let sign = if x >> 7 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(x & 0x7f) >> fraction_bits, i32::from(x) & ((1 << fraction_bits) - 1));
    let unit = 2f64.powi(-fraction_bits);
    match (e5m2, exponent, fraction) {
        (true, 31, 0) => sign * f64::INFINITY,
        (true, 31, _) | (false, 15, 7) => f64::NAN,
        (_, 0, _) => sign * f64::from(fraction) * unit * 2f64.powi(1 - bias),
        _ => sign * (1.0 + f64::from(fraction) * unit) * 2f64.powi(exponent - bias),
    }
}

/// The nearest 8-bit number, the even one of two, none beyond the greatest.
fn to_byte(x: f64, e5m2: bool) -> u8 {
    if x.is_nan() {
        return 0x7f;
    }
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let greatest = if e5m2 { 0x7b } else { 0x7e };
    let size = x.abs().min(byte(greatest, e5m2));
    let distance = |k: u8| (byte(k, e5m2) - size).abs();
    let nearest = (0..=greatest).min_by(|&j, &k| distance(j).total_cmp(&distance(k)).then((j & 1).cmp(&(k & 1))));
    sign | nearest.unwrap()
}

fn relu(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// Two bytes, the first one above.
fn bytes(high: f64, low: f64, e5m2: bool) -> u32 {
    u32::from(to_byte(high, e5m2)) << 8 | u32::from(to_byte(low, e5m2))
}

/// A pair of halves of two bytes.
fn of_bytes(x: u32, e5m2: bool, clamp: bool) -> u32 {
    let half = |x: u32| match byte(x as u8, e5m2) {
        x if x.is_nan() => 0x7fff,
        x if clamp && x.is_sign_negative() => 0,
        x => u32::from(half::from_f64::<F16>(x, NearestEven)),
    };
    half(x) | half(x >> 8) << 16
}

#[test]
fn bytes_are_floating_point_numbers() {
    check(
        &modules!("fp8", "fp8.cuda129.sm_90"),
        "fp8",
        &[
            ("e4m3 of floats", |a, b, _| bytes(f32::from_bits(a).into(), f32::from_bits(b).into(), false)),
            ("e5m2 of floats, relu", |a, b, _| {
                let [a, b] = [a, b].map(|x| relu(f32::from_bits(x).into()));
                // -0 becomes +0.
                bytes(a + 0.0, b + 0.0, true)
            }),
            ("e5m2 of halves", |a, _, _| bytes(f16((a >> 16) as u16), f16(a as u16), true)),
            ("halves of e4m3", |a, _, _| of_bytes(a, false, false)),
            ("halves of e5m2, relu", |a, _, _| of_bytes(a >> 16, true, true)),
            ("two pairs", |a, b, _| {
                let [x, y] = [a, b].map(|x| f64::from(f32::from_bits(x)));
                bytes(x, y, false) << 16 | bytes(y, x, false)
            }),
        ],
    );
}

fn hash(words: &[u32]) -> u32 {
    words.iter().fold(0, |sum: u32, &word| sum.wrapping_mul(31).wrapping_add(word))
}

#[test]
fn generic_addresses_reach_every_space() {
    let modules = modules!(
        "generic",
        "generic.cuda118.sm_89",
        "generic.cuda118.sm_90",
        "generic.cuda129.sm_90",
        "generic.debug.cuda129.sm_90"
    );
    let words = input();
    for (name, loaded) in &modules {
        let out = launch(name, loaded, "generic", 6);
        for t in 0..THREADS {
            let (cta, i) = (t / 64 * 64, t % 64);
            let (a, b) = (words[t], words[t + THREADS]);
            let mut local: [u32; 12] = std::array::from_fn(|j| a.wrapping_mul(j as u32).wrapping_add(b));
            let (kind, value) = match a % 3 {
                0 => (1, words[cta + (b % 64) as usize]),
                1 => (2, local[(b % 12) as usize]),
                _ => (4, words[256 + (b % 128) as usize]),
            };
            // Every fourth part of shared memory is written by its even threads.
            let part = i / 4 * 4;
            let put = |k: usize| (i as u32 / 4).wrapping_add((k * k) as u32);
            let shared_written = (0..4).any(|k| words[cta + part + k].is_multiple_of(2));
            if a % 2 == 1 {
                (0..4).for_each(|k| local[k] = put(k));
            }
            let shared = if shared_written { put(i % 4) } else { a };
            let [mut sum, mut total] = [0_u64; 2];
            for k in (0..64).filter(|k| words[cta + k] % 2 == 1) {
                sum = sum.wrapping_add(u64::from(words[cta + k + THREADS]) << 4);
                total = total.wrapping_add(words[cta + k].into());
            }
            let count = if i % 2 == 0 { sum } else { total };
            let plain: [u32; 12] = std::array::from_fn(|j| a.wrapping_mul(j as u32).wrapping_add(b));
            let expected = [
                value,
                hash(&plain),
                hash(&words[cta..cta + 64]),
                kind,
                local[(b % 4) as usize].wrapping_add(shared),
                count as u32 ^ (count >> 32) as u32,
            ];
            for (row, expected) in expected.into_iter().enumerate() {
                let found = out[t + row * THREADS];
                assert_eq!(found, expected, "{name}: row {row} of thread {t}: {found:#x}, not {expected:#x}");
            }
        }
    }
}

#[test]
fn lanes_of_a_mask_meet() {
    let modules = modules!("sync", "sync.cuda118.sm_90", "sync.cuda129.sm_90", "sync.debug.cuda118.sm_90");
    let words = input();
    for (name, loaded) in &modules {
        let out = launch(name, loaded, "sync", 2);
        let looped = |t: usize| {
            let lane = t as u32 % 32;
            (0..lane).fold(words[t], |v, j| v.wrapping_mul(3).wrapping_add(j))
        };
        for t in 0..THREADS {
            let first = t / 32 * 32 + 1;
            let expected = if t % 2 == 0 { words[t] } else { looped(t).wrapping_add(looped(first)) };
            assert_eq!(out[t], expected, "{name}: thread {t}");
            assert_eq!(out[t + THREADS], words[t / 64 * 64 + 63 - t % 64], "{name}: thread {t}, across the CTA");
        }
    }
}
