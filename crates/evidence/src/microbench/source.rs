//! PTX of the microbenchmarks, from which CUDA's assembler makes their machine code too.
//!
//! One module for each kernel of [`kernels`]. Where the time of a line counts, the module has two entries
//! that differ only in the number of lines, `short` and `long`: what they do not share is the lines. Results
//! are stored at the end, or the assembler would leave out the code.

use super::catalogue::{CLASSES, Class};
use super::hopper;
pub use super::module::Kernel;
use super::module::{entry, header, repeated};
use std::fmt::Write as _;

/// Chains of a rate that run side by side in each thread.
const CHAINS: usize = 8;
/// The same for matrix operations, which have more registers.
const MATRIX_CHAINS: usize = 4;
/// Registers of each chain.
const CHAIN_REGISTERS: usize = 8;
/// Lines of the chains of a latency.
const LATENCY_LINES: usize = 32;
/// Lines of the chains of a rate: a multiple of [`CHAINS`].
const RATE_LINES: usize = 48;
/// Lines of matrix operations for a rate: a multiple of [`MATRIX_CHAINS`].
const MATRIX_LINES: usize = 8;
/// Loads or stores in a trip of the kernels that stream.
pub const STREAM_ACCESSES: u32 = 8;
/// Threads of a CTA of these kernels.
pub const STREAM_THREADS: u32 = 256;

/// Gives accumulators and inputs values that the assembler does not know.
fn values(chains: usize) -> String {
    let mut text = String::new();
    for i in 0..16 {
        let _ = writeln!(text, "add.u32 %i{i}, %a{}, {};", i % 3, i / 3);
    }
    for i in 0..4 {
        let _ = writeln!(text, "mov.b32 %x{i}, %i{i};");
    }
    for i in 0..2 {
        let _ = writeln!(text, "cvt.f64.f32 %y{i}, %x{i};");
    }
    text.push_str("mul.wide.u32 %l79, %i0, %i1;\n");
    text.push_str("setp.ne.s32 %t0, %a0, 3;\nsetp.ne.s32 %t1, %a1, 5;\n");
    for r in 0..chains * CHAIN_REGISTERS {
        let _ = writeln!(
            text,
            "add.u32 %r{r}, %a4, {r};\nmov.b32 %f{r}, %r{r};\ncvt.f64.f32 %d{r}, %f{r};\ncvt.u64.u32 %l{r}, %r{r};"
        );
    }
    text
}

/// Stores the accumulators that `line` writes, a word for each, so that all chains have a use.
fn store(line: &str, chains: usize) -> String {
    let mut text = String::new();
    for chain in 0..chains {
        for (place_of, (kind, store)) in
            [('r', "b32"), ('f', "f32"), ('d', "f64"), ('l', "b64")].into_iter().enumerate()
        {
            for n in 0..CHAIN_REGISTERS {
                let place = if n == 0 { format!("{{{kind}}}") } else { format!("{{{kind}{n}}}") };
                if line.contains(&place) {
                    let r = chain * CHAIN_REGISTERS + n;
                    let _ = writeln!(text, "st.global.{store} [%p1+{}], %{kind}{r};", 1024 * place_of + 8 * r);
                }
            }
        }
    }
    text
}

/// A line with the registers of a chain in it.
fn on_chain(line: &str, chain: usize) -> String {
    let mut text = line.to_owned();
    for kind in ["r", "f", "d", "l", "h", "q"] {
        for n in 0..CHAIN_REGISTERS {
            let number = chain * CHAIN_REGISTERS + n;
            let place = if n == 0 { format!("{{{kind}}}") } else { format!("{{{kind}{n}}}") };
            text = text.replace(&place, &format!("%{kind}{number}"));
        }
    }
    text
}

/// The two entries of which the difference counts.
fn short_and_long(lowest_sm: u32, setup: &str, lines: usize, line: impl Fn(usize) -> String, end: &str) -> String {
    let of = |name, n| entry(name, "", setup, &repeated(n, &line), end);
    header(lowest_sm) + &of("short", lines) + &of("long", 2 * lines)
}

/// The kernels of a class: of its latency and of its rate.
fn of_class(class: &Class) -> Vec<Kernel> {
    let chains = if class.is_matrix() { MATRIX_CHAINS } else { CHAINS };
    let lines = if class.is_matrix() { MATRIX_LINES } else { RATE_LINES };
    let kernel = |kind: &str, chains: usize, lines: usize| Kernel {
        name: format!("{}_{kind}", class.name),
        lowest_sm: class.lowest_sm,
        ptx: short_and_long(
            class.lowest_sm,
            &values(chains),
            lines,
            |i| on_chain(class.line, i % chains),
            &store(class.line, chains),
        ),
        lines: Some((lines, 2 * lines)),
        opcodes: class.opcodes.to_vec(),
    };
    let latency = class.has_latency.then(|| kernel("latency", 1, LATENCY_LINES));
    latency.into_iter().chain([kernel("rate", chains, lines)]).collect()
}

/// A kernel of lines that is not a class.
fn lines(
    name: &str,
    lowest_sm: u32,
    n: usize,
    setup: &str,
    line: impl Fn(usize) -> String,
    end: &str,
    opcode: &'static str,
) -> Kernel {
    Kernel {
        name: name.to_owned(),
        lowest_sm,
        ptx: short_and_long(lowest_sm, setup, n, line, end),
        lines: Some((n, 2 * n)),
        opcodes: vec![opcode],
    }
}

/// One entry, `bench`, whose trips count.
fn trips(name: &str, setup: &str, body: &str, end: &str, opcodes: &[&'static str]) -> Kernel {
    Kernel {
        name: name.to_owned(),
        lowest_sm: 20,
        ptx: header(20) + &entry("bench", "", setup, body, end),
        lines: None,
        opcodes: opcodes.to_vec(),
    }
}

/// A ring of pointers is followed.
fn chase(name: &str, load: &str) -> Kernel {
    let body = repeated(CHASE_LOADS, |_| format!("{load} %p1, [%p1];"));
    let opcodes: Vec<_> = vec!["LDG"; CHASE_LOADS];
    trips(name, "mov.u64 %p2, %p1;", &body, "st.global.u64 [%p2+8], %p1;", &opcodes)
}

/// A ring of texels is followed, each of which is the place of the next. `a` is the texture object.
fn texture_chase() -> Kernel {
    let body = repeated(CHASE_LOADS, |_| "tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%p2, {%r1}];".to_owned());
    let setup = "cvt.u64.u32 %p2, %a0;\nmov.u32 %r1, 0;";
    trips("chase_texture", setup, &body, "st.global.u32 [%p1], %r1;", &["TLD"; CHASE_LOADS])
}

/// Loads in one trip of a chase.
pub const CHASE_LOADS: usize = 16;

/// Each lane accesses shared memory from `a` times its number on.
const SHARED_LANE: &str = "mov.u32 %r1, scratch;\nand.b32 %r2, %a4, 31;\nmad.lo.u32 %r3, %r2, %a0, %r1;\n";

/// Each lane accesses global memory from `a` times its number on; `b` further each trip.
const GLOBAL_LANE: &str =
    "and.b32 %r2, %a4, 31;\nmul.wide.u32 %p2, %r2, %a0;\nadd.u64 %p2, %p1, %p2;\ncvt.u64.u32 %p3, %a1;\n";

/// The sum of what was loaded, stored.
const KEEP: &str =
    "xor.b32 %r60, %r60, %r61;\nxor.b32 %r60, %r60, %r62;\nxor.b32 %r60, %r60, %r63;\nst.global.u32 [%p1], %r60;";

fn vector(kind: &str, words: usize, first: usize) -> String {
    let names: Vec<String> = (0..words).map(|w| format!("%{kind}{}", first + w)).collect();
    if words == 1 { names[0].clone() } else { format!("{{{}}}", names.join(", ")) }
}

fn width(words: usize) -> &'static str {
    match words {
        1 => "u32",
        2 => "v2.u32",
        _ => "v4.u32",
    }
}

/// Loads of `words` words from `address` on, side by side with other lines' loads, eight in flight; then what
/// makes their results be used. `step` is added to the address in each trip: other addresses, for all that the
/// assembler knows.
fn loads(name: &str, load: &str, words: usize, setup: &str, address: &str, step: &str, opcode: &'static str) -> Kernel {
    const IN_FLIGHT: usize = 8;
    let register = |i: usize| 8 + i % IN_FLIGHT * 4;
    let line = |i: usize| {
        let mut text = if i == 0 { format!("{step}\n") } else { String::new() };
        let (data, offset) = (vector("r", words, register(i)), i * 128 * words);
        let _ = write!(text, "{load}.{} {data}, [{address}+{offset}];", width(words));
        if i % IN_FLIGHT == IN_FLIGHT - 1 {
            for (earlier, w) in (0..IN_FLIGHT).flat_map(|earlier| (0..words).map(move |w| (earlier, w))) {
                let _ = write!(text, "\nxor.b32 %r{0}, %r{0}, %r{1};", 60 + w, register(earlier) + w);
            }
        }
        text
    };
    let setup = format!("{setup}mov.u32 %r60, 0;\nmov.u32 %r61, 0;\nmov.u32 %r62, 0;\nmov.u32 %r63, 0;\n");
    lines(name, 20, 16, &setup, line, KEEP, opcode)
}

fn l1(name: &str, words: usize) -> Kernel {
    loads(name, "ld.global.ca", words, GLOBAL_LANE, "%p2", "add.u64 %p2, %p2, %p3;", "LDG")
}

fn shared(name: &str, words: usize) -> Kernel {
    let setup = format!("{SHARED_LANE}st.shared.u32 [%r3], %r3;\n");
    loads(name, "ld.shared", words, &setup, "%r3", "add.u32 %r3, %r3, %a1;", "LDS")
}

/// A chase whose addresses are computed: of what the assembler does not know to be zero.
fn shared_address() -> Kernel {
    let setup = format!("{SHARED_LANE}st.shared.u32 [%r3], %r3;\n");
    let line = |_| "ld.shared.u32 %r3, [%r3];\nadd.u32 %r3, %r3, %a1;\nxor.b32 %r3, %r3, %a2;".to_owned();
    let kernel = lines("shared_address_chase", 70, 32, &setup, line, "st.global.u32 [%p1], %r3;", "LDS");
    Kernel { opcodes: vec!["LDS", "IADD3|IMAD", "LOP3"], ..kernel }
}

/// Each word of constant memory has its own offset, which is also its address there.
fn constants() -> Kernel {
    let words: Vec<String> = (0..32).map(|i| (8 * i).to_string()).collect();
    let ring = format!(".const .align 8 .u64 ring[32] = {{{}}};\n", words.join(", "));
    let setup = "mov.u64 %p2, ring;\nmul.wide.u32 %p3, %a4, %a0;\nadd.u64 %p2, %p2, %p3;";
    let mut kernel = lines(
        "constant_chase",
        20,
        32,
        setup,
        |_| "ld.const.u64 %p2, [%p2];".to_owned(),
        "st.global.u64 [%p1], %p2;",
        "LDC",
    );
    kernel.ptx = kernel.ptx.replacen(".visible", &(ring + ".visible"), 1);
    kernel
}

/// Where a CTA of the streams begins: `a` bytes after its neighbour, `b` further each trip, modulo `c` + 1.
const STREAM: &str = "mul.lo.u32 %r1, %a5, %a0;\nmul.wide.u32 %p2, %a4, 16;\nadd.u64 %p2, %p1, %p2;\nmov.u32 %r60, 0;\nmov.u32 %r61, 0;\nmov.u32 %r62, 0;\nmov.u32 %r63, 0;";

fn stream(name: &str, load: bool, store: bool) -> Kernel {
    let mut body = String::from(
        "and.b32 %r2, %r1, %a2;\ncvt.u64.u32 %p3, %r2;\nadd.u64 %p4, %p2, %p3;\nadd.u64 %p5, %p4, 536870912;\n",
    );
    let words = |i: u32| vector("r", 4, 8 + 4 * i as usize);
    let offset = |i: u32| i * STREAM_THREADS * 16;
    for i in 0..STREAM_ACCESSES {
        if load {
            let _ = writeln!(body, "ld.global.cg.v4.u32 {}, [%p4+{}];", words(i), offset(i));
        }
    }
    for i in 0..STREAM_ACCESSES {
        if store {
            let data = if load { words(i) } else { vector("r", 4, 60) };
            let _ = writeln!(body, "st.global.v4.u32 [%p{}+{}], {data};", if load { 5 } else { 4 }, offset(i));
        } else {
            for w in 0..4 {
                let _ = writeln!(body, "xor.b32 %r{0}, %r{0}, %r{1};", 60 + w, 8 + 4 * i + w);
            }
        }
    }
    body.push_str("add.u32 %r1, %r1, %a1;");
    let (mut opcodes, n) = (Vec::new(), STREAM_ACCESSES as usize);
    opcodes.extend(vec!["LDG"; if load { n } else { 0 }]);
    opcodes.extend(vec!["STG"; if store { n } else { 0 }]);
    trips(name, STREAM, &body, if store { "" } else { KEEP }, &opcodes)
}

/// Each lane loads words from sectors at random, of `c` + 1 bytes.
fn random() -> Kernel {
    let mut setup =
        String::from("mov.u32 %r1, %ntid.x;\nmad.lo.u32 %r2, %a5, %r1, %a4;\nmul.lo.u32 %r2, %r2, -1640531527;\n");
    for w in 60..64 {
        let _ = writeln!(setup, "mov.u32 %r{w}, 0;");
    }
    let mut body = String::new();
    for i in 0..STREAM_ACCESSES {
        let _ = writeln!(
            body,
            "mad.lo.u32 %r2, %r2, 1664525, 1013904223;\nshr.u32 %r3, %r2, 5;\nand.b32 %r3, %r3, %a2;\nand.b32 %r3, %r3, -32;\ncvt.u64.u32 %p3, %r3;\nadd.u64 %p{0}, %p1, %p3;\nld.global.cg.u32 %r{1}, [%p{0}];",
            4 + i,
            8 + i
        );
    }
    for i in 0..STREAM_ACCESSES {
        let _ = writeln!(body, "xor.b32 %r{0}, %r{0}, %r{1};", 60 + i % 4, 8 + i);
    }
    trips("random_sectors", &setup, &body, KEEP, &["LDG"; STREAM_ACCESSES as usize])
}

/// Every kernel of the microbenchmarks.
pub fn kernels() -> Vec<Kernel> {
    let mut all: Vec<Kernel> = CLASSES.iter().flat_map(of_class).collect();
    let none = "";
    all.extend([
        chase("chase_l1", "ld.global.ca.u64"),
        chase("chase_l2", "ld.global.cg.u64"),
        texture_chase(),
        l1("l1_loads_32", 1),
        l1("l1_loads_64", 2),
        l1("l1_loads_128", 4),
        lines(
            "shared_chase",
            20,
            32,
            // Each lane's word has its own address.
            &format!("{SHARED_LANE}st.shared.u32 [%r3], %r3;\n"),
            |_| "ld.shared.u32 %r3, [%r3];".to_owned(),
            "st.global.u32 [%p1], %r3;",
            "LDS",
        ),
        shared_address(),
        shared("shared_loads_32", 1),
        shared("shared_loads_64", 2),
        shared("shared_loads_128", 4),
        lines(
            "shared_atomic_chain",
            20,
            32,
            SHARED_LANE,
            |_| "atom.shared.add.u32 %r4, [%r3], %r4;".to_owned(),
            "st.global.u32 [%p1], %r4;",
            "ATOMS",
        ),
        lines(
            "shared_atomics",
            20,
            16,
            SHARED_LANE,
            |i| format!("atom.shared.add.u32 %r{}, [%r3+{}], %r2;", 8 + i, i % 16 * 512),
            "st.global.u32 [%p1], %r8;",
            "ATOMS",
        ),
        constants(),
        stream("stream_read", true, false),
        stream("stream_write", false, true),
        stream("stream_copy", true, true),
        random(),
        lines(
            "atomic_chain",
            20,
            16,
            // An address of each thread's own, or the assembler adds up those of a warp first.
            "mov.u32 %r4, %a4;\nmul.wide.u32 %p2, %a4, %a0;\nadd.u64 %p2, %p1, %p2;",
            |_| "atom.global.add.u32 %r4, [%p2], %r4;".to_owned(),
            "st.global.u32 [%p1+4096], %r4;",
            "ATOMG",
        ),
        trips(
            "atomics",
            // `a` bytes between threads, `b` between CTAs.
            "mul.wide.u32 %p2, %a4, %a0;\nadd.u64 %p2, %p1, %p2;\nmul.wide.u32 %p3, %a5, %a1;\nadd.u64 %p2, %p2, %p3;",
            &repeated(8, |_| "red.global.add.u32 [%p2], %a4;".to_owned()),
            none,
            &["RED|REDG"; 8],
        ),
        lines("barriers", 20, 16, none, |_| "bar.sync 0;".to_owned(), none, "BAR"),
        lines("fences_gpu", 20, 8, none, |_| "membar.gl;".to_owned(), none, "ERRBAR"),
        Kernel {
            name: "empty".to_owned(),
            lowest_sm: 20,
            ptx: header(20) + ".visible .entry bench(.param .u64 data, .param .u32 trips, .param .u32 a, .param .u32 b, .param .u32 c)\n{\nret;\n}\n",
            lines: None,
            opcodes: Vec::new(),
        },
        Kernel {
            name: "scale".to_owned(),
            lowest_sm: 20,
            // As gpu-small-kernels: a quarter of each of 4,096 doubles.
            ptx: header(20)
                + ".visible .entry bench(.param .u64 data, .param .u32 trips, .param .u32 a, .param .u32 b, .param .u32 c)\n{\n\
                   .reg .b32 %r<5>;\n.reg .b64 %p<5>;\n.reg .f64 %d<2>;\n.reg .pred %q<1>;\n\
                   ld.param.u64 %p0, [data];\nld.param.u32 %r0, [a];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n\
                   mad.lo.u32 %r4, %r1, %r2, %r3;\nsetp.ge.u32 %q0, %r4, %r0;\n@%q0 bra DONE;\n\
                   mul.wide.u32 %p1, %r4, 8;\nadd.u64 %p1, %p0, %p1;\nld.global.f64 %d0, [%p1+65536];\n\
                   mul.rn.f64 %d0, %d0, 0d3fd0000000000000;\nst.global.f64 [%p1], %d0;\nDONE:\nret;\n}\n",
            lines: None,
            opcodes: Vec::new(),
        },
    ]);
    all.extend(hopper::kernels());
    all
}
