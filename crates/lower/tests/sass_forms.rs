//! Kernels whose machine code once had wrong results or was refused: PTX and machine code of several
//! architectures, with and without optimisation, against the host.

mod halves;

use exec::{Arg, DeviceState, Launch, run};
use isa::Dim3;
use lower::{Loaded, LowerOptions, load, load_cubin, load_words};
use std::path::{Path, PathBuf};

const THREADS: usize = 64;
/// Words of the input: more than the three rows of one word a thread.
const WORDS: usize = 256;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// A module of the test data and all its cubins, loaded.
fn modules(name: &str) -> Vec<(String, Loaded)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(data()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let own = |file: &PathBuf| {
        let stem = file.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
        stem.strip_suffix("_O0").unwrap_or(stem) == name
    };
    files.retain(own);
    files.sort();
    let mut modules = Vec::new();
    for file in files {
        let label = file.file_name().unwrap().to_str().unwrap().to_owned();
        let options = LowerOptions::default();
        let loaded = match file.extension().and_then(|e| e.to_str()) {
            Some("ptx") => load(&label, std::fs::read_to_string(&file).unwrap(), options),
            Some("cubin") => load_cubin(&label, &std::fs::read(&file).unwrap(), options),
            _ => continue,
        };
        modules.push((label, loaded.unwrap_or_else(|e| panic!("{e}"))));
    }
    assert!(modules.len() > 1, "{name}");
    modules
}

/// Runs a kernel (out, in) and returns a word of output for each thread.
fn words(loaded: &Loaded, kernel: &str, input: &[u32]) -> Result<Vec<u32>, String> {
    output(loaded, kernel, input, THREADS)
}

/// Runs a kernel (out, in) and returns the first `count` words of output.
fn output(loaded: &Loaded, kernel: &str, input: &[u32], count: usize) -> Result<Vec<u32>, String> {
    let kernel = loaded.kernel(kernel).map_err(|e| e.to_string())?;
    let mut state = DeviceState::default();
    state.load(&loaded.module).unwrap();
    let bytes: Vec<u8> = input.iter().flat_map(|w| w.to_le_bytes()).collect();
    let buffer = state.memory.allocate("in", bytes.len() as u64).unwrap();
    state.memory.write(buffer, &bytes).unwrap();
    let out = state.memory.allocate("out", 4 * count as u64).unwrap();
    let args = [Arg::Pointer(out), Arg::Pointer(buffer)];
    let block = Dim3::new(THREADS as u32, 1, 1);
    let launch = Launch::new(kernel.clone(), Dim3::new(1, 1, 1), block, 0, &args).map_err(|e| e.to_string())?;
    run(&mut state, &launch).map_err(|fault| fault.to_string())?;
    let mut found = vec![0; 4 * count];
    state.memory.read(out, &mut found).unwrap();
    Ok(found.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect())
}

/// Checks a kernel of a module in all forms. For forms that PTX cannot run yet, only machine code is compared
/// with the host.
fn check(modules: &[(String, Loaded)], kernel: &str, input: &[u32], expected: &[u32]) {
    for (label, loaded) in modules {
        if label.ends_with(".ptx") && loaded.kernel(kernel).is_err() {
            continue;
        }
        let found = words(loaded, kernel, input).unwrap_or_else(|e| panic!("{label} {kernel}: {e}"));
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(found, expected, "{label} {kernel}: word {at} is {found:#x}, not {expected:#x}");
        }
    }
}

/// Numbers of all kinds: small ones, edges, others.
fn numbers() -> Vec<u32> {
    const EDGES: [u32; 8] = [0, 1, !0, 0x8000_0000, 0x7fff_ffff, 0xffff, 0xff80, 0x8000];
    let hashed = |i: u32| i.wrapping_mul(0x9e37_79b9) ^ i.wrapping_mul(i) << 7;
    let one = |i: u32| match i % 4 {
        0 => EDGES[(i / 4) as usize % EDGES.len()],
        1 => hashed(i) % 300,
        2 => (hashed(i) % 300).wrapping_neg(),
        _ => hashed(i),
    };
    (0..WORDS as u32).map(one).collect()
}

/// The words of each thread's result.
fn each(expected: impl Fn(usize) -> u32) -> Vec<u32> {
    (0..THREADS).map(expected).collect()
}

/// The result of an instruction for the three operands of each thread.
fn by_rows(input: &[u32], expected: impl Fn([u32; 3]) -> u32) -> Vec<u32> {
    each(|t| expected([input[t], input[t + THREADS], input[t + 2 * THREADS]]))
}

/// A small whole number in half precision.
fn half(number: i32) -> u32 {
    if number == 0 {
        return 0;
    }
    let exponent = number.unsigned_abs().ilog2();
    assert!(exponent < 11);
    u32::from(number < 0) << 15 | (exponent + 15) << 10 | (number.unsigned_abs() << (10 - exponent) & 0x3ff)
}

#[test]
fn halves_are_swapped_and_one_negated() {
    let number = |i: usize| (i as i32 * 7) % 23 - 11;
    // Pairs (low, high) a, b, c of each thread; the upper half of a is not negative.
    let pair = |i: usize| (number(2 * i), if i.is_multiple_of(3) { number(2 * i + 1).abs() + 1 } else { number(i) });
    let input: Vec<u32> = (0..3 * THREADS).map(|i| half(pair(i).0) | half(pair(i).1) << 16).collect();
    let expected = each(|t| {
        let [a, b, c] = [3 * t, 3 * t + 1, 3 * t + 2].map(pair);
        half(a.0 - 2 * b.1 * c.0) | half(a.1) << 16
    });
    let found: Vec<u32> = expected;
    check(&modules("cases"), "swapped_halves", &input, &found);
}

#[test]
fn a_loop_of_wide_compare_and_swap_on_shared_memory_ends() {
    let input = numbers();
    let word = |t: usize| (0..64).filter(|u| u & 3 == t).fold(u64::from(input[t]), |m, u| m | 1 << u);
    let expected: Vec<u32> = (0..4).flat_map(|t| [word(t) as u32, (word(t) >> 32) as u32]).collect();
    check(&modules("cases"), "shared_or", &input, &expected);
}

/// Values, member masks and source lanes of 64 threads; the lanes of a warp are in three groups.
fn groups() -> (Vec<u32>, impl Fn(usize) -> Vec<usize>) {
    let group = |t: usize| [0, 1, 0, 2, 2, 0, 1][t % 32 % 7];
    let members = move |t: usize| (t & 32..(t & 32) + 32).filter(|&u| group(u) == group(t)).collect::<Vec<_>>();
    let mask = |t: usize| members(t).iter().fold(0, |m, u| m | 1_u32 << (u % 32));
    // The values of group 1 of the second warp are negative, those of group 2 of the first are not.
    let value = |t: usize| match (t / 32, group(t)) {
        (1, 1) => 0x8000_0000 | t as u32,
        (0, 2) => 1000 * t as u32,
        _ => (t as u32).wrapping_mul(0x9e37_79b9),
    };
    let read = |t: usize| members(t)[t % members(t).len()] as u32 % 32;
    let mut input: Vec<u32> = (0..THREADS).map(value).collect();
    input.extend((0..THREADS).map(mask));
    input.extend((0..THREADS).map(read));
    input.resize(WORDS, 0);
    (input, members)
}

#[test]
fn lanes_with_different_member_masks_are_groups_of_their_own() {
    let (input, members) = groups();
    let modules = modules("masks");
    let negative = |u: usize| (input[u] as i32) < 0;
    let ballot = |members: &[usize], f: &dyn Fn(usize) -> bool| {
        members.iter().filter(|&&u| f(u)).fold(0, |m, u| m | 1_u32 << (u % 32))
    };
    let test = |kernel: &str, f: &dyn Fn(usize, &[usize]) -> u32| {
        check(&modules, kernel, &input, &each(|t| f(t, &members(t))));
    };
    test("ballot", &|_, all| ballot(all, &negative));
    test("all", &|_, all| all.iter().all(|&u| negative(u)).into());
    test("any", &|_, all| all.iter().any(|&u| negative(u)).into());
    test("uni", &|_, all| all.iter().all(|&u| negative(u) == negative(all[0])).into());
    test("match_any", &|t, all| ballot(all, &|u| input[u] & 3 == input[t] & 3));
    let key = |u: usize| (input[THREADS + u] & input[u]) >> 31;
    test("match_all", &|_, all| if all.iter().all(|&u| key(u) == key(all[0])) { ballot(all, &|_| true) } else { 7 });
    let other = |t: usize| input[(t & 32) + input[2 * THREADS + t] as usize];
    test("shuffle", &|t, _| other(t));
    test("barrier", &|t, _| other(t));
}

#[test]
fn reductions_and_elections_are_by_member_mask() {
    type Reduction = fn(u32, u32) -> u32;
    let (input, members) = groups();
    let reductions: [(&str, Reduction); 6] = [
        ("redux_add_u32", u32::wrapping_add),
        ("redux_min_u32", u32::min),
        ("redux_max_s32", |a, b| (a as i32).max(b as i32) as u32),
        ("redux_and_b32", |a, b| a & b),
        ("redux_or_b32", |a, b| a | b),
        ("redux_xor_b32", |a, b| a ^ b),
    ];
    let modules_80 = modules("masks80");
    for (kernel, reduce) in reductions {
        let of = |t: usize| members(t).into_iter().map(|u| input[u]).reduce(reduce).unwrap();
        check(&modules_80, kernel, &input, &each(of));
    }
    let leader = |t: usize| members(t)[0];
    check(
        &modules("masks90"),
        "elect",
        &input,
        &each(|t| leader(t) as u32 % 32 + if leader(t) == t { 100 } else { 0 }),
    );
}

fn ladder(n: u32, x: u32) -> u32 {
    if n == 0 {
        return x;
    }
    let a = ladder(n - 1, x.wrapping_mul(3).wrapping_add(n));
    a.wrapping_add(ladder(n - 1, a ^ x))
}

#[test]
fn recursion_and_virtual_calls_have_a_stack() {
    let (modules, input) = (modules("cases"), numbers());
    check(&modules, "recursion", &input, &each(|t| ladder(t as u32 & 3, input[t])));
    let expected = each(|t| {
        let a = input[t];
        let derived = [a, 3, a.wrapping_mul(3), 1][a as usize & 3].wrapping_add(1);
        if a & 1 == 1 { a.wrapping_add(3) } else { derived }
    });
    check(&modules, "virtual_call", &input, &expected);
}

#[test]
fn the_stack_of_recursion_is_what_the_caller_chooses() {
    let cubin = std::fs::read(data().join("cases.sm_86.cubin")).unwrap();
    for (bytes, fits) in [(16, false), (4096, true)] {
        let options = LowerOptions { stack_bytes: Some(bytes), ..LowerOptions::default() };
        let result = words(&load_cubin("cases", &cubin, options).unwrap(), "recursion", &numbers());
        match result {
            Ok(_) => assert!(fits),
            Err(e) => assert!(!fits && e.contains("outside the thread's 16 bytes of local memory"), "{e}"),
        }
    }
    let options = LowerOptions { stack_bytes: Some(1 << 20), ..LowerOptions::default() };
    let error = load_cubin("cases", &cubin, options).unwrap().kernel("recursion").unwrap_err().to_string();
    assert!(error.contains("a stack of 1048576 bytes a thread: there are at most 524288"), "{error}");
}

#[test]
fn a_kernel_without_instructions_is_refused() {
    let problems = load_words("empty", 75, &[], 8).unwrap_err();
    assert!(problems[0].contains("`empty` has no instructions"), "{problems:?}");
}

#[test]
fn constants_of_16_bits() {
    let input = numbers();
    let short = |t: usize| if t.is_multiple_of(2) { input[t / 2] as u16 } else { (input[t / 2] >> 16) as u16 };
    let value = |t: usize| (0..short(t) % 5).fold(0x56f9_u16, |v, i| v.wrapping_mul(3).wrapping_add(i));
    let expected: Vec<u32> =
        (0..THREADS / 2).map(|k| u32::from(value(2 * k)) | u32::from(value(2 * k + 1)) << 16).collect();
    check(&modules("cases"), "half_constant", &input, &expected);
}

#[test]
fn tables_of_pointers() {
    let (modules, input) = (modules("cases"), numbers());
    let names = [b"alpha", b"beta\0", b"gamma"];
    let pointers = each(|t| {
        [1, 4, 0, 8][t & 3] + 10 * [3, 0, 6][t % 3] + 100 * [8, 6][t & 1] + 10000 * u32::from(names[t % 3][t & 3])
    });
    check(&modules, "pointer_tables", &input, &pointers);
    let spread = |x: u32, y: u32| {
        let element = |j: u32| y.wrapping_add(j.wrapping_sub(x) & 7);
        element(y & 7) ^ element(0)
    };
    let sum = |x: u32, y: u32| x.wrapping_add(y);
    let product = |x: u32, y: u32| x.wrapping_mul(y).wrapping_add(1);
    let functions = each(|t| {
        let (x, y) = (input[t], t as u32);
        let first = [sum(x, y), product(x, y), spread(x, y)][x as usize % 3];
        first.wrapping_add([spread(y, x), sum(y, x), product(y, x)][t % 3])
    });
    check(&modules, "function_tables", &input, &functions);
}

#[test]
fn lanes_break_under_two_predicates() {
    let input = numbers();
    let expected = each(|t| (input[t] as f32 / (input[t + 64] % 1000 + 1) as f32).to_bits());
    check(&modules("cases"), "divisions", &input, &expected);
}

#[test]
fn functions_are_called_by_address() {
    let input = numbers();
    let rest = |a: u32, b: u32| a % (b | 1);
    let expected = each(|t| {
        let (x, t) = (input[t], t as u32);
        (2 * rest(x, 1000)).wrapping_add(rest(x, t)).wrapping_add(ladder(t & 3, t))
    });
    let modules = modules("calls");
    check(&modules, "calls", &input, &expected);
    for (label, loaded) in modules.iter().filter(|(label, _)| label.ends_with("cubin")) {
        let program = &loaded.kernel("calls").unwrap().program;
        let text = |at| program.text(isa::Pc(at));
        assert!((0..program.insts().len() as u32).any(|at| text(at).starts_with("CALL.ABS")), "{label}");
    }
}

/// Pointers to functions in memory, in code that is not linked into one function: virtual ones and a table in
/// `__constant__` memory, which such code reads by generic addresses. A called function reads the kernel's
/// literals.
#[test]
fn memory_holds_pointers_to_functions() {
    let (modules, input) = (modules("calls"), numbers());
    let spread = |x: u32| (0..(x & 3) as u16).fold(0x4f64_u16, |v, i| v.wrapping_mul(3).wrapping_add(i));
    let expected = each(|t| {
        let (x, t) = (input[t], t as u32);
        let of_class = if x & 1 == 1 { x.wrapping_add(t) } else { x.wrapping_mul(t).wrapping_add(spread(t).into()) };
        let product = x.wrapping_mul(t).wrapping_add(x % (t | 1)).wrapping_add(1000);
        of_class.wrapping_add(if x % 3 == 1 { product } else { x.wrapping_add(t) })
    });
    check(&modules, "pointers", &input, &expected);
}

#[test]
fn saturating_sums() {
    let (modules, input) = (modules("forms"), numbers());
    let of = |f: fn([i32; 3]) -> i32| by_rows(&input, move |s| f(s.map(|x| x as i32)) as u32);
    check(&modules, "add_sat", &input, &of(|[a, b, _]| a.saturating_add(b)));
    check(&modules, "sub_sat", &input, &of(|[a, ..]| 77_i32.saturating_sub(a)));
    let high = |[a, b, c]: [i32; 3]| (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c);
    check(&modules, "mad_hi_sat", &input, &of(high));
}

#[test]
fn integers_are_packed() {
    let (modules, input) = (modules("forms"), numbers());
    let clamp =
        |x: u32, least: i32, greatest: i32, bits: u32| (x as i32).clamp(least, greatest) as u32 & ((1 << bits) - 1);
    let pack = |least: i32, greatest: i32, bits: u32| {
        by_rows(&input, move |[a, b, c]| {
            let above = if bits == 16 { 0 } else { c << (2 * bits) };
            above | clamp(a, least, greatest, bits) << bits | clamp(b, least, greatest, bits)
        })
    };
    check(&modules, "pack_u16", &input, &pack(0, 65535, 16));
    check(&modules, "pack_s8", &input, &pack(-128, 127, 8));
    check(&modules, "pack_u4", &input, &pack(0, 15, 4));
    check(&modules, "pack_s2", &input, &pack(-2, 1, 2));
    let bytes = |[a, b, _]: [u32; 3]| {
        let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        pairs.enumerate().fold(0, |m, (k, (x, y))| m | u32::from(x.abs_diff(y)) << (8 * k))
    };
    check(&modules, "difference", &input, &by_rows(&input, bytes));
    check(&modules, "upper_half", &input, &by_rows(&input, |[a, ..]| f32::from((a >> 16) as i16).to_bits()));
}

#[test]
fn halves_are_truncated() {
    let number = |t: usize| (t as i32 * 37) % 1000 + 1024;
    let input: Vec<u32> = (0..WORDS).map(|t| (number(t) as f32 + 0.75).to_bits()).collect();
    check(&modules("forms"), "truncated_half", &input, &each(|t| half(number(t)) * 0x1_0001));
}

/// `MUFU.F16` of an upper half.
#[test]
fn hyperbolic_tangents_of_pairs_are_those_of_ptx() {
    let modules = modules("forms");
    let input: Vec<u32> = (0..WORDS as i32).map(|i| half(i % 7 - 3) | half(3 - i % 5) << 16).collect();
    let expected = words(&modules.iter().find(|(l, _)| l == "forms.ptx").unwrap().1, "tanh_of_pair", &input).unwrap();
    assert!(expected.iter().any(|w| w & 0xffff != w >> 16));
    check(&modules, "tanh_of_pair", &input, &expected);
}

#[test]
fn conversions_to_bfloat16_and_bytes() {
    let float = |i: usize| (i as f32 - 20.0) * 9.3;
    let input: Vec<u32> = (0..WORDS).map(|i| float(i).to_bits()).collect();
    let rounded = |x: f32| {
        let bits = x.to_bits();
        (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    };
    let ampere = modules("forms80");
    check(&ampere, "bf16", &input, &each(|t| rounded(float(t)) * 0x1_0001));
    check(&ampere, "bf16_relu", &input, &each(|t| rounded(float(t).max(0.0)) * 0x1_0001));
    let later = modules("forms86");
    check(&later, "byte", &input, &each(|t| u32::from(float(t) as u8)));
    let signed = |[a, b, _]: [u32; 3]| {
        let [a, b] = [a, b].map(f32::from_bits);
        (a.abs().min(b.abs()) * a.signum() * b.signum()).to_bits()
    };
    let mixed: Vec<u32> = (0..WORDS).map(|i| (float(i) + 0.5).to_bits() ^ ((i as u32 / 3) & 1) << 31).collect();
    check(&later, "product_of_signs", &mixed, &by_rows(&mixed, signed));
}

/// `QMMA`: each byte is a number of either type, none infinite or NaN.
#[test]
fn matrices_of_bytes_are_multiplied_as_in_ptx() {
    let modules = modules("forms89");
    let byte = |i: u32| i.wrapping_mul(0x9e37_79b9) >> 24 & 0xbf;
    let input: Vec<u32> = (0..WORDS as u32).map(|i| (0..4).fold(0, |word, k| word << 8 | byte(4 * i + k))).collect();
    let (_, ptx) = modules.iter().find(|(label, _)| label == "forms89.ptx").unwrap();
    let kernels =
        ["bytes_e4m3_e5m2_k32", "bytes_e5m2_e4m3_k16", "bytes_e5m2_e5m2_to_half", "bytes_e4m3_e4m3_k16_to_half"];
    for kernel in kernels {
        let expected = words(ptx, kernel, &input).unwrap();
        assert_ne!(expected[0], expected[1]);
        check(&modules, kernel, &input, &expected);
    }
}

/// Old values of the second of two additions, for each type, then those of generic addresses.
#[test]
fn atomics_of_floating_point_return_old_values() {
    let modules = modules("forms90");
    let expected = each(|t| {
        let t = t as u32;
        let values = [2 * t + 1, 2 * t + 1, 0x4000_4000, 0x4000_4000, 2 * t + 2, t + 1];
        values.into_iter().fold(0, |sum: u32, value| sum.wrapping_mul(31).wrapping_add(value))
    });
    check(&modules, "float_atomics", &numbers(), &expected);
}

/// Machine code leaves what PTX leaves, of `count` words.
fn check_as_ptx(name: &str, kernel: &str, input: &[u32], count: usize) {
    let text = std::fs::read_to_string(data().join(format!("{name}.ptx"))).unwrap();
    for (label, loaded) in &modules(name) {
        // On the GPU of the machine code: architectures round sums of matrices in their own ways.
        let sm = label.split(".sm_").nth(1).and_then(|rest| rest.split('.').next()?.parse().ok());
        let ptx = load(name, &text, LowerOptions { gpu_sm: sm, ..LowerOptions::default() }).unwrap();
        let expected = output(&ptx, kernel, input, count).unwrap();
        assert!(expected.iter().any(|&word| word != expected[0]), "{name} {kernel}");
        let found = output(loaded, kernel, input, count).unwrap_or_else(|e| panic!("{label} {kernel}: {e}"));
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{label} {kernel}: word {at} is {found:#x}, not {expected:#x}");
        }
    }
}

/// Each operation and type of `atom` and `red` that CUDA 11.8 knows, in global, shared and generic memory: what
/// memory holds after it (64 words of 64 bits), then the old values.
#[test]
fn every_atomic_operation_does_what_ptx_does() {
    check_as_ptx("atomics", "every_atomic", &numbers(), 153 * 2 * 128);
    check_as_ptx("atomics90", "every_atomic", &numbers(), 12 * 2 * 128);
}

/// `STSM`.
#[test]
fn matrices_are_stored_as_in_ptx() {
    check_as_ptx("stmatrix", "matrices", &numbers(), THREADS);
}

/// `HMMA.884`.
#[test]
fn matrices_of_volta_are_multiplied_as_in_ptx() {
    check_as_ptx("volta", "products", &numbers(), THREADS);
}

/// `UPLOP3.LUT` of sign bits.
#[test]
fn signs_of_uniform_registers() {
    let input = numbers();
    let mut expected = 0_u32;
    for (a, b) in [(24, 24), (25, 24), (25, 25), (24, 25), (23, 24)] {
        let (a, b) = ((64_u32 << a) as i32, ((64_u32 << b) as i32).wrapping_sub(64));
        for result in [a.saturating_add(b), a.saturating_sub(b)] {
            for index in [result as u32 >> 26, result as u32 & 63] {
                expected = expected.wrapping_mul(31).wrapping_add(input[index as usize]);
            }
        }
    }
    let modules = modules("signs");
    check(&modules, "uniform_signs", &input, &each(|_| expected));
    let uses = |loaded: &Loaded| {
        let program = &loaded.kernel("uniform_signs").unwrap().program;
        (0..program.insts().len() as u32).any(|at| program.text(isa::Pc(at)).contains("UPLOP3"))
    };
    assert!(modules.iter().any(|(_, loaded)| uses(loaded)));
}

/// NaNs with a sign and a payload, quiet and signalling, through `neg`, `abs`, `min` and `max` (docs/sass.md).
#[test]
fn nans_of_signs_and_extremes() {
    const NAN: u32 = 0x7fff_ffff;
    let single = [0x7fc0_1234, 0xffc0_1234, 0x7f80_1234, 0xff80_1234, 0x3f80_0000, 0xbf80_0000, 0x7f80_0000, 1];
    let double = single.map(|word: u32| match word & 0x7f80_0000 {
        0x7f80_0000 => u64::from(word & 0x8000_0000) << 32 | 0x7ff << 52 | u64::from(word & 0x7f_ffff) << 29,
        _ => f64::from(f32::from_bits(word)).to_bits(),
    });
    // Each value with each.
    let pairs = |t: usize| (t % 8, t / 8);
    let mut input = Vec::new();
    for t in 0..THREADS {
        let (a, b) = pairs(t);
        input.extend([single[a], single[b]]);
        for x in [double[a], double[b]] {
            input.extend([x as u32, (x >> 32) as u32]);
        }
    }
    let is_nan = |x: u32| f32::from_bits(x).is_nan();
    let flushed = |x: u32| if x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x };
    for (label, loaded) in modules("nans") {
        let found = output(&loaded, "nans", &input, 14 * THREADS).unwrap_or_else(|e| panic!("{label}: {e}"));
        let ptx = label.ends_with(".ptx");
        for t in 0..THREADS {
            let (a, b) = pairs(t);
            let [a, b, x, y] = [single[a].into(), single[b].into(), double[a], double[b]];
            let (single_a, single_b) = (a as u32, b as u32);
            let sum = |value: u32| if is_nan(value) && !ptx { NAN } else { value };
            let extreme = |least: bool| match (is_nan(single_a), is_nan(single_b)) {
                (true, true) => NAN,
                (true, false) => single_b,
                (false, true) => single_a,
                _ if (f32::from_bits(single_a) < f32::from_bits(single_b)) == least => single_a,
                _ => single_b,
            };
            let (negative, positive) = (single_a ^ 1 << 31, single_a & !(1 << 31));
            let words = [
                sum(negative),
                sum(flushed(negative)),
                sum(positive),
                sum(flushed(positive)),
                extreme(true),
                extreme(false),
            ];
            let context = || format!("{label}: {single_a:#x} and {single_b:#x}, {x:#x} and {y:#x}");
            let own = &found[14 * t..14 * t + 14];
            assert_eq!(
                own[..6].iter().map(|w| format!("{w:#x}")).collect::<Vec<_>>(),
                words.map(|w| format!("{w:#x}")),
                "{}",
                context()
            );
            let is_nan = |x: u64| f64::from_bits(x).is_nan();
            const NAN_64: u64 = 0xfff8 << 48;
            let sum = |value: u64| if is_nan(value) && !ptx { NAN_64 } else { value };
            let extreme = |least: bool| match (is_nan(x), is_nan(y)) {
                // The second operand, made quiet.
                (true, true) if !ptx => y | 1 << 51,
                (true, true) => NAN_64,
                (true, false) => y,
                (false, true) => x,
                _ if (f64::from_bits(x) < f64::from_bits(y)) == least => x,
                _ => y,
            };
            let expected = [sum(x ^ 1 << 63), sum(x & !(1 << 63)), extreme(true), extreme(false)];
            let found: Vec<u64> = own[6..].chunks(2).map(|w| u64::from(w[1]) << 32 | u64::from(w[0])).collect();
            assert_eq!(
                found.iter().map(|w| format!("{w:#x}")).collect::<Vec<_>>(),
                expected.map(|w| format!("{w:#x}")),
                "{}",
                context()
            );
        }
    }
}

/// `DMMA` in its shapes of sm_90, `BMMA` of 128 bits.
#[test]
fn matrices_of_doubles_and_of_bits_are_multiplied_as_in_ptx() {
    let input = numbers();
    for (name, kernel) in
        [("forms90", "doubles_k4"), ("forms90", "doubles_k8"), ("forms90", "doubles_k16"), ("forms80", "bits_k128")]
    {
        let modules = modules(name);
        let (_, ptx) = modules.iter().find(|(label, _)| label.ends_with(".ptx")).unwrap();
        let expected = words(ptx, kernel, &input).unwrap();
        assert_ne!(expected[0], expected[1]);
        check(&modules, kernel, &input, &expected);
    }
}

#[test]
fn copies_fill_up_with_zeros() {
    let (modules, input) = (modules("forms80"), numbers());
    let expected = each(|t| {
        let bytes: Vec<u8> = input[4 * t..4 * t + 4].iter().flat_map(|w| w.to_le_bytes()).collect();
        let read = (t % 32).min(16);
        let kept: Vec<u8> = bytes.iter().enumerate().map(|(k, &b)| if k < read { b } else { 0 }).collect();
        let words: Vec<u32> = kept.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        (0..4).fold(0_u32, |sum, k| sum.wrapping_add(words[k].wrapping_mul([1, 1, 3, 5][k])))
    });
    check(&modules, "copies", &input, &expected);
    check(&modules, "swap64", &input, &by_rows(&input, |[_, b, _]| b));
    let pairs = each(|t| input[2 * t].wrapping_mul(31).wrapping_add(input[2 * t + 1]));
    check(&modules, "hints", &input, &pairs);
}

#[test]
fn bytes_of_registers_become_numbers() {
    let (modules, input) = (modules("results"), numbers());
    for k in 1..4 {
        let byte = move |[a, b, _]: [u32; 3]| (a ^ b).to_le_bytes()[k];
        let unsigned = by_rows(&input, |s| f32::from(byte(s)).to_bits());
        check(&modules, &format!("u8_{k}_to_f32"), &input, &unsigned);
        let signed = by_rows(&input, |s| f32::from(byte(s) as i8).to_bits());
        check(&modules, &format!("s8_{k}_to_f32"), &input, &signed);
    }
}

/// `I2F` of 64 bits: an immediate is the upper word.
#[test]
fn constants_of_64_bits_become_numbers() {
    let (modules, input) = (modules("results"), numbers());
    for (name, value) in [("top", 1_u64 << 63), ("upper", 0x1234_5678 << 32)] {
        let of = |bits: u32| by_rows(&input, move |[a, ..]| a.wrapping_add(bits));
        let upper = |x: f64| (x.to_bits() >> 32) as u32;
        check(&modules, &format!("{name}_s64_to_f32"), &input, &of((value as i64 as f32).to_bits()));
        check(&modules, &format!("{name}_u64_to_f32"), &input, &of((value as f32).to_bits()));
        check(&modules, &format!("{name}_s64_to_f64"), &input, &of(upper(value as i64 as f64)));
        check(&modules, &format!("{name}_u64_to_f64"), &input, &of(upper(value as f64)));
    }
}

/// A barrier of two warps: unoptimised code has its number and count in one register.
#[test]
fn barriers_are_named_by_registers() {
    let (modules, input) = (modules("results"), numbers());
    check(&modules, "barrier_of_two", &input, &each(|t| input[t % 32 + 32]));
    let program = &modules.iter().find(|(label, _)| label.contains("_O0")).unwrap().1.kernel("barrier_of_two").unwrap();
    let program = &program.program;
    assert!((0..program.insts().len() as u32).any(|at| program.text(isa::Pc(at)).starts_with("BAR.ARV R")));
}

#[test]
fn lanes_return_under_a_predicate() {
    let (modules, input) = (modules("results"), numbers());
    let stepwise = |x: u32, mut y: u32| {
        let mut r = x.wrapping_mul(3).wrapping_add(y);
        if x as i32 > 100 {
            return r;
        }
        r ^= y;
        if y as i32 >= 0 {
            return r;
        }
        while y != 0 {
            r = r.wrapping_add(y);
            y >>= 3;
        }
        r
    };
    check(&modules, "early_return", &input, &by_rows(&input, |[a, b, c]| stepwise(stepwise(a, b), c)));
    for (label, loaded) in modules.iter().filter(|(label, _)| label.starts_with("results.sm")) {
        let program = &loaded.kernel("early_return").unwrap().program;
        let returns = |at| program.text(isa::Pc(at)).starts_with("@P0 RET");
        assert!((0..program.insts().len() as u32).any(returns), "{label}");
    }
}
