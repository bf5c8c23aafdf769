//! Register allocation: whatever registers a kernel gets, it leaves the same memory; limits hold; and
//! under hazard-free allocation no write can overtake a read.

use exec::{Arg, DeviceState, Kernel, Launch, LiveStream, run};
use isa::{CtaSlot, Dim3, DynInst, RegId, StepContext, WarpSlot, WarpStream};
use lower::{LowerOptions, RegisterLimits, Registers, load};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use std::sync::Arc;

fn limits(most: u32) -> RegisterLimits {
    RegisterLimits { chosen: Some(most), ..RegisterLimits::default() }
}

const UNLIMITED: RegisterLimits = RegisterLimits { architecture: 255, chosen: None, sm: 65_536 };

fn lowered(text: &str, registers: Registers) -> Result<Arc<Kernel>, String> {
    let text = format!(".version 8.3\n.target sm_90\n.address_size 64\n{text}");
    let loaded = load("test.ptx", &text, LowerOptions { registers, ..LowerOptions::default() }).unwrap();
    match loaded.problems() {
        Some(problems) => Err(problems),
        None => Ok(loaded.module.kernels[0].clone()),
    }
}

/// Bytes of the buffer that programs work on: what each thread reads, then what it writes.
const READ: u64 = 256;
const WRITTEN: u64 = 1024;

fn start(kernel: Arc<Kernel>) -> (DeviceState, Launch, u64) {
    let mut state = DeviceState::default();
    let buffer = state.memory.allocate("buffer", 32 * (READ + WRITTEN)).unwrap();
    let bytes: Vec<u8> = (0..32 * READ).map(|i| (i * i * 7 + i * 13 + 5) as u8).collect();
    state.memory.write(buffer, &bytes).unwrap();
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(32, 1, 1), 0, &[Arg::Pointer(buffer)]).unwrap();
    (state, launch, buffer)
}

/// Results of a run of the kernel.
fn memory_after(kernel: Arc<Kernel>) -> Vec<u8> {
    let (mut state, launch, buffer) = start(kernel);
    run(&mut state, &launch).unwrap_or_else(|fault| panic!("{fault}"));
    let mut out = vec![0; (32 * (READ + WRITTEN)) as usize];
    state.memory.read(buffer, &mut out).unwrap();
    out
}

/// Runs the kernel's warp and finds writes that could overtake a read by an instruction with a result that
/// nothing in between has read or written. Also counts those of instructions without a result.
fn hazards(kernel: &Arc<Kernel>) -> (Vec<String>, u32) {
    let (mut state, launch, _) = start(kernel.clone());
    let id = state.add_launch(launch);
    let mut stream = LiveStream::new();
    let warp = WarpSlot(0);
    stream.start_cta(&state, id, Dim3::new(0, 0, 0), CtaSlot(0), &[warp]);
    let program = &kernel.program;
    let mut unfinished: Vec<(isa::Pc, &[RegId], &[RegId])> = Vec::new();
    let (mut found, mut of_stores, mut out) = (Vec::new(), 0, DynInst::default());
    while let Some(pc) = stream.next_pc(warp) {
        stream.step_alone(&mut state, warp, StepContext { now: 0, sm: 0 }, &mut out).unwrap_or_else(|f| panic!("{f}"));
        let inst = program.inst(pc);
        let (dsts, srcs) = (program.dsts(inst), program.srcs(inst));
        unfinished.retain(|(_, results, _)| !results.iter().any(|r| dsts.contains(r) || srcs.contains(r)));
        for (reader, results, reads) in &unfinished {
            if dsts.iter().any(|d| program.regs.is_vector(*d) && reads.contains(d)) {
                if results.is_empty() {
                    of_stores += 1;
                } else {
                    found.push(format!("{} overtakes {}", program.text(pc), program.text(*reader)));
                }
            }
        }
        // Old stores have ended; dropping them keeps the search short.
        if unfinished.len() > 200 {
            unfinished.remove(0);
        }
        unfinished.push((pc, dsts, srcs));
    }
    (found, of_stores)
}

/// The largest register and predicate that instructions name, each plus one.
fn named(kernel: &Kernel) -> (u32, u32) {
    let (program, mut most) = (&kernel.program, (0, 0));
    for inst in program.insts() {
        for &r in program.dsts(inst).iter().chain(program.srcs(inst)) {
            if program.regs.is_vector(r) {
                most.0 = most.0.max(u32::from(r.0) + 1);
            } else {
                most.1 = most.1.max(u32::from(r.0 - program.regs.vector) + 1);
            }
        }
    }
    most
}

/// Generator of random programs.
struct Writer {
    random: ChaCha8Rng,
    text: String,
    labels: u32,
    words: u32,
    pairs: u32,
    predicates: u32,
}

impl Writer {
    fn below(&mut self, n: u32) -> u32 {
        self.random.random_range(0..n)
    }
    fn r(&mut self) -> String {
        format!("%r{}", self.below(self.words))
    }
    fn rd(&mut self) -> String {
        format!("%rd{}", self.below(self.pairs))
    }
    fn p(&mut self) -> String {
        format!("%p{}", self.below(self.predicates))
    }
    fn guard(&mut self) -> String {
        match self.below(6) {
            0 => format!("@{} ", self.p()),
            1 => format!("@!{} ", self.p()),
            _ => String::new(),
        }
    }
    fn different(&mut self, n: usize) -> Vec<String> {
        let mut list = Vec::new();
        while list.len() < n {
            let r = self.r();
            if !list.contains(&r) {
                list.push(r);
            }
        }
        list
    }

    fn instruction(&mut self) {
        let guard = self.guard();
        let (a, b, c) = (self.r(), self.r(), self.r());
        let (x, y) = (self.rd(), self.rd());
        let (p, q) = (self.p(), self.p());
        let at = 16 * self.below(READ as u32 / 16);
        let line = match self.below(19) {
            0 => format!("add.s32 {a}, {b}, {c};"),
            1 => format!("mad.lo.s32 {a}, {b}, {c}, {a};"),
            2 => format!("mul.wide.u32 {x}, {b}, {c};"),
            3 => format!("add.s64 {x}, {x}, {y};"),
            4 => format!("cvt.u32.u64 {a}, {y};"),
            5 => format!("setp.lt.s32 {p}, {a}, {b};"),
            6 => format!("setp.eq.and.u64 {p}|{q}, {x}, {y}, {};", self.p()).replace(&format!("{p}|{p}"), &p),
            7 => format!("selp.b32 {a}, {b}, {c}, {p};"),
            8 => format!("xor.pred {p}, {q}, {};", self.p()),
            9 => format!("mov.b64 {{{a}, {b}}}, {x};").replace(&format!("{{{a}, {a}}}"), &format!("{{{a}, _}}")),
            10 => format!("mov.b64 {x}, {{{a}, {b}}};"),
            11 => format!("mov.u32 {a}, {b};"),
            12 => format!("ld.global.v4.u32 {{{}}}, [%mine+{at}];", self.different(4).join(", ")),
            13 => format!("ld.global.v2.u32 {{{}}}, [%mine+{at}];", self.different(2).join(", ")),
            14 => format!("st.global.v4.u32 [%mine+{at}], {{{a}, {b}, {c}, {}}};", self.r()),
            15 => format!("st.global.u32 [%mine+{at}], {a};"),
            16 => format!("atom.global.add.u32 {a}, [%mine+{at}], {b};"),
            17 => format!("ld.global.u64 {x}, [%mine+{at}];"),
            _ => format!("add.cc.u32 {a}, {b}, {c};\naddc.u32 {b}, {b}, 0;"),
        };
        // A chain of carries is one thing.
        let guard = if line.starts_with("add.cc") { String::new() } else { guard };
        writeln!(self.text, "{guard}{line}").unwrap();
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn block(&mut self, depth: u32) {
        for _ in 0..self.below(6) + 1 {
            match self.below(12) {
                0 | 1 if depth > 0 => {
                    let (other, end, p) = (self.label(), self.label(), self.p());
                    writeln!(self.text, "@{p} bra {other};").unwrap();
                    self.block(depth - 1);
                    writeln!(self.text, "bra {end};\n{other}:").unwrap();
                    self.block(depth - 1);
                    writeln!(self.text, "{end}:").unwrap();
                }
                2 if depth > 0 => {
                    let (top, n) = (self.label(), self.labels);
                    let (trips, r) = (self.below(4) + 1, self.r());
                    writeln!(self.text, "and.b32 %n{n}, {r}, {trips};\n{top}:").unwrap();
                    self.block(depth - 1);
                    writeln!(self.text, "sub.s32 %n{n}, %n{n}, 1;\nsetp.gt.s32 %q{n}, %n{n}, 0;\n@%q{n} bra {top};")
                        .unwrap();
                }
                3 => {
                    let (a, b, x) = (self.r(), self.r(), self.rd());
                    let line = match self.below(3) {
                        0 => format!("call.uni ({a}), twice, ({b});"),
                        1 => format!("call.uni ({x}), wide, ({a}, {x});"),
                        _ => format!(
                            "{{ .param .b32 in; .param .b32 out; st.param.b32 [in], {a}; \
                             call.uni (out), framed, (in); ld.param.b32 {b}, [out]; }}"
                        ),
                    };
                    writeln!(self.text, "{line}").unwrap();
                }
                _ => self.instruction(),
            }
        }
    }
}

const FUNCTIONS: &str = "
.func (.reg .b32 %out) twice(.reg .b32 %in) {
    .reg .b32 %t; .reg .pred %p;
    setp.gt.s32 %p, %in, 5; add.s32 %t, %in, %in; @%p add.s32 %t, %t, 3; mov.u32 %out, %t; ret;
}
.func (.reg .b64 %out) wide(.reg .b32 %a, .reg .b64 %b) {
    .reg .b32 %t; .reg .b64 %w; .reg .pred %p;
    call.uni (%t), twice, (%a); cvt.u64.u32 %w, %t; mad.lo.s64 %out, %w, 3, %b;
    setp.eq.u32 %p, %t, 2; @%p ret; add.s64 %out, %out, 1; ret;
}
.func (.param .b32 out) framed(.param .b32 in) {
    .reg .b32 %a, %b;
    ld.param.b32 %a, [in]; mul.lo.u32 %b, %a, 5; call.uni (%b), twice, (%b); st.param.b32 [out], %b; ret;
}
";

fn program(seed: u64) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (words, pairs, predicates) =
        (random.random_range(4..24), random.random_range(2..10), random.random_range(1..14));
    let mut w = Writer { random, text: String::new(), labels: 0, words, pairs, predicates };
    w.block(3);
    let (mut first, mut last) = (String::new(), String::new());
    for k in 0..words {
        writeln!(first, "ld.global.u32 %r{k}, [%mine+{}];", 4 * k).unwrap();
        writeln!(last, "st.global.u32 [%out+{}], %r{k};", 4 * k).unwrap();
    }
    for k in 0..pairs {
        writeln!(first, "ld.global.u64 %rd{k}, [%mine+{}];", 8 * k + 64).unwrap();
        writeln!(last, "st.global.u64 [%out+{}], %rd{k};", 8 * k + 128).unwrap();
    }
    for k in 0..predicates {
        writeln!(first, "setp.lt.u32 %p{k}, %i, {};", 5 * k).unwrap();
        writeln!(last, "selp.u32 %i, {k}, 77, %p{k};\nst.global.u32 [%out+{}], %i;", 4 * k + 256).unwrap();
    }
    format!(
        "{FUNCTIONS}\n.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %i, %r<{words}>, %n<999>;\n\
         .reg .b64 %mine, %out, %off, %buf, %rd<{pairs}>;\n.reg .pred %p<{predicates}>, %q<999>;\n\
         ld.param.u64 %buf, [p];\nmov.u32 %i, %tid.x;\n\
         mul.wide.u32 %off, %i, {READ};\nadd.s64 %mine, %buf, %off;\n\
         mul.wide.u32 %off, %i, {WRITTEN};\nadd.s64 %out, %buf, %off;\nadd.s64 %out, %out, {};\n\
         {first}{}{last}ret;\n}}\n",
        32 * READ,
        w.text
    )
}

#[test]
fn random_programs_leave_the_same_memory_with_any_registers() {
    let (mut spilled, mut predicates, mut fences, mut unfit) = (0, 0, 0, 0);
    for seed in 0..50 {
        let text = program(seed);
        let expected = memory_after(lowered(&text, Registers::Virtual).unwrap_or_else(|e| panic!("{e}\n{text}")));
        let mut modes = vec![(255, Registers::Allocated(UNLIMITED)), (255, Registers::HazardFree(UNLIMITED))];
        for most in [40, 28, 20, 14] {
            modes.push((most, Registers::Allocated(limits(most))));
            modes.push((most, Registers::HazardFree(limits(most))));
        }
        for (most, mode) in modes {
            let kernel = match lowered(&text, mode) {
                Ok(kernel) => kernel,
                // Four words at an address and what calls hold may be too much for the smallest limit.
                Err(problem) if most < 28 && problem.contains("does not fit") => {
                    unfit += 1;
                    continue;
                }
                Err(problem) => panic!("seed {seed}, {mode:?}: {problem}\n{text}"),
            };
            let (registers, used) = named(&kernel);
            assert!(registers <= most && used <= 7, "seed {seed}, {mode:?}: R{registers}, P{used}");
            assert_eq!(kernel.registers.per_thread, registers.max(kernel.registers.per_thread));
            assert!(kernel.registers.per_thread <= most);
            assert!(memory_after(kernel.clone()) == expected, "seed {seed}, {mode:?}\n{text}");
            let allocation = kernel.allocation.unwrap();
            spilled += allocation.spilled;
            predicates += allocation.predicates_spilled;
            if matches!(mode, Registers::HazardFree(_)) {
                let (found, _) = hazards(&kernel);
                assert!(found.is_empty(), "seed {seed}, {mode:?}: {found:?}\n{text}");
                fences += allocation.fences;
            }
        }
    }
    println!("{spilled} words and {predicates} predicates spilled, {fences} fences, {unfit} did not fit");
    assert!(spilled > 100 && predicates > 100 && fences > 100 && unfit < 100);
}

/// A function that calls itself with arguments and results in registers, two of them live across it.
#[test]
fn recursion_keeps_its_registers() {
    let text = "
.func (.reg .u32 result) fibonacci(.reg .u32 n) {
  .reg .pred %p; .reg .u32 %a, %b, %c, %d;
  setp.gt.u32 %p, n, 1; @%p bra MORE; mov.u32 result, n; ret;
  MORE: sub.u32 %a, n, 1; sub.u32 %b, n, 2;
  call (%c), fibonacci, (%a); call (%d), fibonacci, (%b); add.u32 result, %c, %d; ret; }
.visible .entry k(.param .u64 p) {
  .reg .b32 %i, %n, %f, %keep; .reg .b64 %buf, %off, %out;
  ld.param.u64 %buf, [p]; mov.u32 %i, %tid.x; mul.wide.u32 %off, %i, 4; add.s64 %out, %buf, %off;
  mul.lo.u32 %keep, %i, 1000; and.b32 %n, %i, 7; call (%f), fibonacci, (%n);
  add.u32 %f, %f, %keep; st.global.u32 [%out], %f; ret; }";
    for mode in [
        Registers::Virtual,
        Registers::Allocated(UNLIMITED),
        Registers::Allocated(limits(24)),
        Registers::HazardFree(UNLIMITED),
    ] {
        let memory = memory_after(lowered(text, mode).unwrap_or_else(|e| panic!("{mode:?}: {e}")));
        for (i, word) in memory.chunks_exact(4).take(32).enumerate() {
            let expected = [0, 1, 1, 2, 3, 5, 8, 13][i & 7] + 1000 * i as u32;
            assert_eq!(u32::from_le_bytes(word.try_into().unwrap()), expected, "{mode:?}, thread {i}");
        }
    }
}

#[test]
fn without_the_extension_writes_can_overtake_reads() {
    let found = (0..40).filter(|&seed| {
        let kernel = lowered(&program(seed), Registers::Allocated(UNLIMITED)).unwrap();
        !hazards(&kernel).0.is_empty()
    });
    assert!(found.count() > 10);
}

#[test]
fn directives_and_the_users_limit_bound_the_registers() {
    let kernel = |directives: &str| {
        let loads: String = (0..40).map(|k| format!("ld.global.u32 %r{k}, [%rd0+{}];\n", 4 * k)).collect();
        let stores: String = (0..40).map(|k| format!("st.global.u32 [%rd0+{}], %r{};\n", 4 * k, 39 - k)).collect();
        format!(
            ".visible .entry k(.param .u64 p)\n{directives}\n{{ .reg .b32 %r<40>; .reg .b64 %rd0;\n\
             ld.param.u64 %rd0, [p];\n{loads}{stores}ret; }}"
        )
    };
    let count = |directives: &str, limits: RegisterLimits| {
        let kernel = lowered(&kernel(directives), Registers::Allocated(limits)).unwrap();
        assert!(!kernel.registers.estimated);
        (kernel.registers.per_thread, kernel.allocation.unwrap().spilled > 0)
    };
    assert_eq!(count("", UNLIMITED), (42, false));
    assert_eq!(count("", limits(24)), (24, true));
    assert_eq!(count(".maxnreg 30", limits(32)), (30, true));
    // 65,536 registers for 4 CTAs of 512 threads.
    assert_eq!(count(".maxntid 512, 1, 1\n.minnctapersm 4", UNLIMITED), (32, true));
    let problem = lowered(&kernel(""), Registers::Allocated(limits(2))).unwrap_err();
    assert!(problem.contains("does not fit into 2 registers"), "{problem}");
}

#[test]
fn values_of_64_bits_and_vectors_are_aligned() {
    let mut vectors = 0;
    for seed in 0..40 {
        for registers in [Registers::Allocated(UNLIMITED), Registers::Allocated(limits(32))] {
            let kernel = lowered(&program(seed), registers).unwrap();
            let program = &kernel.program;
            for inst in program.insts() {
                let bytes = inst.mem.map_or(0, |m| u16::from(m.bytes));
                let list = program.dsts(inst);
                if bytes >= 8 && list.len() * 4 == usize::from(bytes) {
                    vectors += 1;
                    assert_eq!(list[0].0 * 4 % bytes, 0, "{list:?}");
                    assert!(list.windows(2).all(|w| w[1].0 == w[0].0 + 1), "{list:?}");
                }
            }
        }
    }
    assert!(vectors > 1000);
}

/// Choosing registers to spill once took time cubic in the live registers: minutes for these.
#[test]
fn thousands_of_live_registers() {
    const COUNT: u64 = 3000;
    let mut text = format!(".visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<{}>;\n.reg .b64 %rd<2>;\n", COUNT + 1);
    text += "ld.param.u64 %rd1, [p];\n";
    (0..COUNT).for_each(|i| writeln!(text, "ld.global.u32 %r{i}, [%rd1 + {}];", 4 * (i % 512)).unwrap());
    writeln!(text, "mov.u32 %r{COUNT}, 0;").unwrap();
    (0..COUNT).for_each(|i| writeln!(text, "mad.lo.u32 %r{COUNT}, %r{COUNT}, 31, %r{i};").unwrap());
    writeln!(text, "st.global.u32 [%rd1 + {}], %r{COUNT};\nret;\n}}", 32 * READ).unwrap();
    let all = memory_after(lowered(&text, Registers::Virtual).unwrap());
    let spilled = lowered(&text, Registers::Allocated(UNLIMITED)).unwrap();
    assert!(spilled.allocation.unwrap().spilled > COUNT as u32 - 255);
    assert_eq!(memory_after(spilled), all);
}

/// Packed conversions have three operands; these read one, two or all of them. Only operands that are read
/// get registers.
#[test]
fn packed_conversions_read_what_is_allocated() {
    let mut body = String::new();
    for (k, op) in ["rn.f16x2.f32", "rz.relu.bf16x2.f32", "pack.sat.u16.s32"].iter().enumerate() {
        writeln!(body, "ld.global.b32 %r1, [%rd3];\nld.global.b32 %r2, [%rd3+4];").unwrap();
        writeln!(body, "cvt.{op} %r7, {};", if op.contains("f32") { "%f1, %f2" } else { "%r1, %r2" }).unwrap();
        writeln!(body, "st.global.b32 [%rd4+{}], %r7;", 8 * k).unwrap();
    }
    writeln!(body, "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;\nst.global.b16 [%rd4+64], %h1;").unwrap();
    writeln!(body, "cvt.rn.f16x2.e5m2x2 %r8, %h1;\nst.global.b32 [%rd4+68], %r8;").unwrap();
    writeln!(body, "cvt.pack.sat.u8.s32.b32 %r9, %r1, %r2, %r7;\nst.global.b32 [%rd4+72], %r9;").unwrap();
    let text = format!(
        ".visible .entry k(.param .u64 p) {{\n.reg .b32 %r<40>; .reg .f32 %f<4>; .reg .b64 %rd<8>; .reg .b16 %h<4>;\n\
         ld.param.u64 %rd1, [p];\nmov.u32 %r3, %tid.x;\nmul.wide.u32 %rd2, %r3, {READ};\nadd.s64 %rd3, %rd1, %rd2;\n\
         mul.wide.u32 %rd5, %r3, {WRITTEN};\nadd.s64 %rd4, %rd1, %rd5;\nadd.s64 %rd4, %rd4, {};\n\
         ld.global.f32 %f1, [%rd3+8];\nld.global.f32 %f2, [%rd3+12];\n{body}ret;\n}}",
        32 * READ
    );
    let expected = memory_after(lowered(&text, Registers::Virtual).unwrap());
    for registers in
        [Registers::Allocated(UNLIMITED), Registers::Allocated(limits(12)), Registers::HazardFree(UNLIMITED)]
    {
        assert!(memory_after(lowered(&text, registers).unwrap()) == expected, "{registers:?}");
    }
}

/// A kernel names more registers than an instruction has numbers for; 300 of them hold values from the start to the end.
#[test]
fn a_kernel_may_have_any_number_of_virtual_registers() {
    const NAMES: usize = 33_000;
    const KEPT: usize = 300;
    let mut text = format!(
        ".func (.reg .b32 %d) next(.reg .b32 %a, .reg .pred %p)\n{{\nadd.u32 %d, %a, 1;\n@%p add.u32 %d, %d, 1;\nret;\n}}\n\
         .entry k(.param .u64 o)\n{{\n.reg .b32 %r<{NAMES}>;\n.reg .b32 %s;\n.reg .pred %p<{NAMES}>;\n.reg .b64 %d<3>;\n\
         ld.param.u64 %d0, [o];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.s64 %d2, %d0, %d1;\n"
    );
    for i in 1..NAMES {
        let (last, factor) = (i - 1, 3 + 2 * (i % 7));
        writeln!(text, "mad.lo.s32 %r{i}, %r{last}, {factor}, %r0;").unwrap();
        writeln!(text, "setp.gt.s32 %p{i}, %r{i}, %r{last};").unwrap();
        if i % 16 == 0 {
            writeln!(text, "@%p{i} add.u32 %r{i}, %r{i}, {};", i % 5).unwrap();
        }
    }
    let (last, kept) = (NAMES - 1, NAMES - 1 - KEPT);
    writeln!(text, "call (%s), next, (%r{last}, %p{last});").unwrap();
    (kept..last).for_each(|i| writeln!(text, "xor.b32 %s, %s, %r{i};").unwrap());
    text.push_str("st.global.u32 [%d2], %s;\nret;\n}\n");

    let expected = |tid: u32| {
        let mut values = vec![tid];
        let mut greater = false;
        for i in 1..NAMES as u32 {
            let last = values[i as usize - 1];
            let value = last.wrapping_mul(3 + 2 * (i % 7)).wrapping_add(tid);
            greater = value as i32 > last as i32;
            values.push(if greater && i % 16 == 0 { value.wrapping_add(i % 5) } else { value });
        }
        let last = values[NAMES - 1].wrapping_add(1 + u32::from(greater));
        values[kept..NAMES - 1].iter().fold(last, |sum, v| sum ^ v)
    };
    let outcome = crate::common::try_run_ptx(&text, 1, 32, &[0; 32]).unwrap();
    assert_eq!(outcome.words, (0..32).map(expected).collect::<Vec<u32>>());
}

/// Together they need more registers than a thread has. Each function needs a register of its own after its
/// call. Anything that takes time by the square of the number of functions does not end here.
#[test]
fn a_chain_of_calls_may_have_any_length() {
    const FUNCTIONS: u32 = 3_000;
    let mut text = String::new();
    for i in 0..FUNCTIONS {
        writeln!(text, ".func (.reg .b32 %d) f{i}(.reg .b32 %a);").unwrap();
    }
    for i in 0..FUNCTIONS {
        writeln!(text, ".func (.reg .b32 %d) f{i}(.reg .b32 %a)\n{{\n.reg .b32 %r<4>;\nadd.u32 %r0, %a, 1;").unwrap();
        match i + 1 {
            FUNCTIONS => text.push_str("mov.u32 %r1, %r0;\n"),
            next => writeln!(text, "call (%r1), f{next}, (%r0);").unwrap(),
        }
        text.push_str("mad.lo.u32 %d, %r1, 3, %r0;\nret;\n}\n");
    }
    text.push_str(
        ".entry k(.param .u64 o)\n{\n.reg .b32 %r<4>;\n.reg .pred %p;\n.reg .b64 %d<3>;\nld.param.u64 %d0, [o];\n\
         mov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.s64 %d2, %d0, %d1;\nsetp.gt.u32 %p, %r0, 1000;\n\
         call (%r1), f0, (%r0);\n",
    );
    (0..FUNCTIONS).for_each(|i| writeln!(text, "@%p call (%r1), f{i}, (%r0);").unwrap());
    text.push_str("add.u32 %r1, %r1, %r0;\nst.global.u32 [%d2], %r1;\nret;\n}\n");

    let expected = |tid: u32| {
        let first = (1..=FUNCTIONS).rev().map(|i| tid + i);
        first.fold(tid + FUNCTIONS, |result, own| result.wrapping_mul(3).wrapping_add(own)).wrapping_add(tid)
    };
    for registers in [Registers::Virtual, Registers::Allocated(UNLIMITED)] {
        let outcome = crate::common::run_with(&text, registers, (1, 32), &[0; 32]).unwrap();
        assert_eq!(outcome.words, (0..32).map(expected).collect::<Vec<u32>>());
    }
}
