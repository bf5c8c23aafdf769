//! Random kernels in PTX: integer and floating-point arithmetic, guards, divergent branches, nested loops with trip
//! counts of each thread, accesses of all sizes to the thread's own array, shared memory with barriers, local memory,
//! atomic operations. No thread depends on the order of others.

use std::fmt::Write;

/// Words of each thread's own array in global memory.
pub const WORDS: u32 = 16;
/// Most threads of a CTA.
pub const THREADS: u32 = 72;

const REGISTERS: u32 = 6;
const PREDICATES: u32 = 3;
/// Statements of a kernel, nested ones among them.
const MOST: u32 = 60;

/// A kernel `k` with the address of the arrays as parameter, of the choices `genes`.
pub fn ptx(genes: &[u32]) -> String {
    let mut program = Program {
        genes: genes.iter(),
        text: String::new(),
        labels: 0,
        depth: 0,
        left: MOST,
        counters: 0,
        has_barriers: false,
    };
    program.has_barriers = program.gene() & 1 == 1;
    program.prologue();
    while program.genes.len() > 0 && program.left > 0 {
        program.statement(true);
    }
    program.epilogue();
    program.text
}

struct Program<'a> {
    genes: std::slice::Iter<'a, u32>,
    text: String,
    labels: u32,
    depth: u32,
    left: u32,
    counters: u32,
    has_barriers: bool,
}

impl Program<'_> {
    fn gene(&mut self) -> u32 {
        self.genes.next().copied().unwrap_or(0)
    }

    fn line(&mut self, text: impl AsRef<str>) {
        writeln!(self.text, "    {}", text.as_ref()).expect("strings take text");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn prologue(&mut self) {
        self.text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
             .shared .align 8 .b8 tile[{}];\n.local .align 8 .b8 own[32];\n\
             .reg .b16 %h<4>; .reg .b32 %r<40>; .reg .b32 %c<80>; .reg .b64 %rd<20>; .reg .f32 %f<8>; .reg .pred %p<8>;\n",
            4 * THREADS
        );
        self.line("ld.param.u64 %rd1, [p];");
        self.line("ld.param.u32 %r20, [n];");
        self.line("mov.u32 %r21, %tid.x;");
        self.line("mov.u32 %r22, %ctaid.x;");
        self.line("mov.u32 %r23, %ntid.x;");
        self.line("mad.lo.s32 %r24, %r22, %r23, %r21;");
        self.line(format!("mul.wide.u32 %rd2, %r24, {};", 4 * WORDS));
        self.line("add.s64 %rd3, %rd1, %rd2;");
        for r in 0..REGISTERS {
            self.line(format!("ld.global.u32 %r{r}, [%rd3+{}];", 4 * r));
        }
        for p in 0..PREDICATES {
            self.line(format!("setp.gt.s32 %p{p}, %r{p}, %r21;"));
        }
    }

    fn epilogue(&mut self) {
        for r in 0..REGISTERS {
            self.line(format!("st.global.u32 [%rd3+{}], %r{r};", 4 * r));
        }
        for p in 0..PREDICATES {
            self.line(format!("selp.u32 %r25, 1, 0, %p{p};"));
            self.line(format!("st.global.u32 [%rd3+{}], %r25;", 4 * (REGISTERS + p)));
        }
        self.line("ret;");
        self.text.push_str("}\n");
    }

    fn block(&mut self, gene: u32) {
        self.depth += 1;
        for _ in 0..1 + gene % 4 {
            self.statement(false);
        }
        self.depth -= 1;
    }

    /// A statement; barriers only where all threads come.
    fn statement(&mut self, is_uniform: bool) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let gene = self.gene();
        let may_nest = self.depth < 3;
        match gene % 24 {
            0..=7 => self.arithmetic(gene / 24),
            8 => self.float(gene / 24),
            9 => self.wide(gene / 24),
            10 => self.test(gene / 24),
            11 => self.guarded(gene / 24),
            12 | 13 => self.memory(gene / 24),
            14 => self.atomic(gene / 24),
            15 => self.local(gene / 24),
            16..=18 if may_nest => self.branch(gene / 24),
            19 | 20 if may_nest => self.repeat(gene / 24),
            21 if is_uniform && self.has_barriers => self.exchange(gene / 24),
            22 if is_uniform && self.has_barriers && may_nest => self.rounds(gene / 24),
            23 if !self.has_barriers => self.leave(gene / 24),
            _ => self.arithmetic(gene / 24),
        }
    }

    fn arithmetic(&mut self, gene: u32) {
        let [d, a, b, c] = [0, 3, 6, 9].map(|shift| (gene >> shift) % REGISTERS);
        let constant = [0_u32, 1, 2, 3, 4, 8, 31, 255, 0xffff_ffff, 0x8000_0000][(gene >> 12) as usize % 10];
        let second = if gene >> 20 & 1 == 0 { format!("%r{b}") } else { constant.to_string() };
        let plain = ["add.u32", "sub.u32", "mul.lo.u32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32"];
        match gene >> 16 & 15 {
            n @ 0..=7 => self.line(format!("{} %r{d}, %r{a}, {second};", plain[n as usize])),
            8 => self.line(format!("shl.b32 %r{d}, %r{a}, {};", gene >> 12 & 31)),
            9 => self.line(format!("shr.s32 %r{d}, %r{a}, %r{b};")),
            10 => self.line(format!("mad.lo.u32 %r{d}, %r{a}, {second}, %r{c};")),
            // Division by zero is defined on SMs as on fabrics.
            11 => self.line(format!("div.u32 %r{d}, %r{a}, {second};")),
            12 => self.line(format!("rem.u32 %r{d}, %r{a}, {second};")),
            13 => self.line(format!("popc.b32 %r{d}, %r{a};")),
            14 => self.line(format!("selp.b32 %r{d}, %r{a}, {second}, %p{};", c % PREDICATES)),
            _ => self.line(format!("sub.u32 %r{d}, %r20, {second};")),
        }
    }

    fn float(&mut self, gene: u32) {
        let [d, a, b] = [0, 3, 6].map(|shift| (gene >> shift) % REGISTERS);
        self.line(format!("cvt.rn.f32.s32 %f0, %r{a};"));
        self.line(format!("cvt.rn.f32.u32 %f1, %r{b};"));
        self.line(
            ["mul.f32 %f2, %f0, %f1;", "div.rn.f32 %f2, %f0, %f1;", "sqrt.rn.f32 %f2, %f1;"][(gene >> 9) as usize % 3],
        );
        self.line("add.f32 %f3, %f2, %f0;");
        self.line(format!("mov.b32 %r{d}, %f3;"));
    }

    /// Values of 64 bits, and halves of them.
    fn wide(&mut self, gene: u32) {
        let [d, a, b] = [0, 3, 6].map(|shift| (gene >> shift) % REGISTERS);
        self.line(format!("mul.wide.s32 %rd4, %r{a}, %r{b};"));
        self.line(format!("mov.b64 %rd5, {{%r{b}, %r{a}}};"));
        self.line(
            ["add.s64 %rd6, %rd4, %rd5;", "mul.lo.s64 %rd6, %rd4, %rd5;", "sub.s64 %rd6, %rd5, %rd4;"]
                [(gene >> 9) as usize % 3],
        );
        match gene >> 12 & 1 {
            0 => self.line(format!("cvt.u32.u64 %r{d}, %rd6;")),
            _ => self.line(format!("mov.b64 {{%r25, %r{d}}}, %rd6;")),
        }
    }

    fn test(&mut self, gene: u32) {
        let [a, b] = [0, 3].map(|shift| (gene >> shift) % REGISTERS);
        let [p, q, r] = [6, 8, 10].map(|shift| (gene >> shift) % PREDICATES);
        match gene >> 12 & 7 {
            0 => self.line(format!("not.pred %p{p}, %p{q};")),
            1 => self.line(format!("and.pred %p{p}, %p{q}, %p{r};")),
            2 => self.line(format!("xor.pred %p{p}, %p{q}, %p{r};")),
            3 => self.line(format!("setp.lt.and.u32 %p{p}, %r{a}, %r{b}, !%p{q};")),
            4 => self.line(format!("setp.eq.u32 %p{p}|%p{}, %r{a}, %r{b};", (p + 1) % PREDICATES)),
            _ => self.line(format!("setp.le.s32 %p{p}, %r{a}, %r{b};")),
        }
    }

    fn guarded(&mut self, gene: u32) {
        let [d, a, b] = [0, 3, 6].map(|shift| (gene >> shift) % REGISTERS);
        let guard = format!("@{}%p{}", if gene >> 9 & 1 == 1 { "!" } else { "" }, (gene >> 10) % PREDICATES);
        match gene >> 12 & 3 {
            0 => self.line(format!("{guard} ld.global.u32 %r{d}, [%rd3+{}];", 4 * (gene >> 14 & 15))),
            1 => self.line(format!("{guard} st.global.u32 [%rd3+{}], %r{a};", 4 * (gene >> 14 & 15))),
            2 => self.line(format!("{guard} setp.ne.u32 %p{}, %r{a}, %r{b};", d % PREDICATES)),
            _ => self.line(format!("{guard} sub.u32 %r{d}, %r{a}, %r{b};")),
        }
    }

    /// An access to the thread's array at a place that is computed.
    fn memory(&mut self, gene: u32) {
        let [d, a] = [0, 3].map(|shift| (gene >> shift) % REGISTERS);
        let (bytes, form) = [(1, "s8"), (2, "u16"), (4, "u32"), (8, "u64"), (8, "v2.u32")][(gene >> 6) as usize % 5];
        self.line(format!("and.b32 %r25, %r{a}, {};", 4 * WORDS / bytes - 1));
        self.line(format!("mul.wide.u32 %rd7, %r25, {bytes};"));
        self.line("add.s64 %rd8, %rd3, %rd7;");
        let other = (d + 1) % REGISTERS;
        match (gene >> 10 & 1, form) {
            (0, "v2.u32") => self.line(format!("ld.global.v2.u32 {{%r{d}, %r{other}}}, [%rd8];")),
            (_, "v2.u32") => self.line(format!("st.global.v2.u32 [%rd8], {{%r{d}, %r{other}}};")),
            (0, "u64") => {
                self.line("ld.global.u64 %rd9, [%rd8];");
                self.line(format!("mov.b64 {{%r{d}, %r{other}}}, %rd9;"));
            }
            (_, "u64") => {
                self.line(format!("mov.b64 %rd9, {{%r{other}, %r{d}}};"));
                self.line("st.global.u64 [%rd8], %rd9;");
            }
            (0, form) => self.line(format!("ld.global.{form} %r{d}, [%rd8];")),
            (_, form) => self.line(format!("st.global.{form} [%rd8], %r{d};")),
        }
    }

    fn atomic(&mut self, gene: u32) {
        let [d, a, b] = [0, 3, 6].map(|shift| (gene >> shift) % REGISTERS);
        let place = 4 * (gene >> 9 & 15);
        match gene >> 13 & 7 {
            0 => self.line(format!("atom.global.cas.b32 %r{d}, [%rd3+{place}], %r{a}, %r{b};")),
            1 => self.line(format!("atom.global.exch.b32 %r{d}, [%rd3+{place}], %r{a};")),
            2 => self.line(format!("atom.global.max.s32 %r{d}, [%rd3+{place}], %r{a};")),
            3 => {
                // A token may have upper bits that a word has not.
                self.line(format!("mul.wide.u32 %rd4, %r{a}, %r{b};"));
                self.line("cvt.u32.u64 %r25, %rd4;");
                self.line(format!("atom.global.min.u32 %r{d}, [%rd3+{place}], %r25;"));
            }
            5 => {
                // One of its values is the same for all threads: 64 bits have a port each.
                let place = place / 8 * 8;
                self.line("mov.u64 %rd10, 7;");
                self.line(format!("mov.b64 %rd11, {{%r{a}, %r{b}}};"));
                self.line(format!("@%p{} st.global.u64 [%rd3+{place}], %rd10;", d % PREDICATES));
                self.line(format!("atom.global.cas.b64 %rd12, [%rd3+{place}], %rd10, %rd11;"));
                self.line(format!("mov.b64 {{%r25, %r{d}}}, %rd12;"));
            }
            // Sums do not depend on the order of the threads.
            4 => self.line(format!("red.global.add.u32 [%rd1+{}], %r{a};", 4 * WORDS * 3 * THREADS)),
            _ => self.line(format!("atom.global.add.u32 %r{d}, [%rd3+{place}], %r{a};")),
        }
    }

    fn local(&mut self, gene: u32) {
        let [d, a] = [0, 3].map(|shift| (gene >> shift) % REGISTERS);
        self.line(format!("and.b32 %r25, %r{a}, 7;"));
        self.line("shl.b32 %r25, %r25, 2;");
        self.line("mov.u32 %r26, own;");
        self.line("add.u32 %r25, %r25, %r26;");
        // Only stored words are read.
        self.line(format!("st.local.u32 [%r25], %r{d};"));
        self.line(format!("ld.local.u32 %r{}, [%r25];", (gene >> 6) % REGISTERS));
    }

    fn branch(&mut self, gene: u32) {
        let [otherwise, end] = [self.label(), self.label()];
        let negated = if gene & 1 == 1 { "!" } else { "" };
        self.line(format!("@{negated}%p{} bra {otherwise};", (gene >> 1) % PREDICATES));
        self.block(gene >> 3);
        if gene >> 8 & 1 == 1 {
            self.line(format!("bra {end};"));
            self.line(format!("{otherwise}:"));
            self.block(gene >> 5);
        } else {
            self.line(format!("{otherwise}:"));
        }
        self.line(format!("{end}:"));
    }

    /// A loop of as many rounds as a value of the thread says, tested before or after.
    fn repeat(&mut self, gene: u32) {
        let [head, end] = [self.label(), self.label()];
        let counter = self.counters;
        self.counters += 1;
        self.line(format!("and.b32 %c{counter}, %r{}, 3;", gene % REGISTERS));
        self.line(format!("{head}:"));
        if gene >> 5 & 1 == 1 {
            self.line(format!("setp.eq.u32 %p5, %c{counter}, 0;"));
            self.line(format!("@%p5 bra {end};"));
            self.line(format!("sub.u32 %c{counter}, %c{counter}, 1;"));
            self.block(gene >> 6);
            if gene >> 9 & 1 == 1 {
                self.line(format!("@%p{} bra {end};", (gene >> 10) % PREDICATES));
            }
            self.line(format!("bra {head};"));
        } else {
            self.block(gene >> 6);
            self.line(format!("sub.u32 %c{counter}, %c{counter}, 1;"));
            self.line(format!("setp.gt.s32 %p5, %c{counter}, 0;"));
            self.line(format!("@%p5 bra {head};"));
        }
        self.line(format!("{end}:"));
    }

    /// The thread ends, perhaps, where no barrier comes later.
    fn leave(&mut self, gene: u32) {
        let predicate = gene % PREDICATES;
        self.line(format!("@%p{predicate} st.global.u32 [%rd3+60], %r{};", (gene >> 2) % REGISTERS));
        self.line(format!("@%p{predicate} ret;"));
    }

    /// Each thread reads what another of its CTA has written.
    fn exchange(&mut self, gene: u32) {
        let [d, a] = [0, 3].map(|shift| (gene >> shift) % REGISTERS);
        self.line("bar.sync 0;");
        self.line("mov.u32 %r26, tile;");
        self.line("shl.b32 %r25, %r21, 2;");
        self.line("add.u32 %r27, %r26, %r25;");
        self.line(format!("st.shared.u32 [%r27], %r{a};"));
        self.line("bar.sync 0;");
        self.line(format!("add.u32 %r25, %r21, {};", 1 + (gene >> 6 & 15)));
        self.line("rem.u32 %r25, %r25, %r23;");
        self.line("shl.b32 %r25, %r25, 2;");
        self.line("add.u32 %r25, %r26, %r25;");
        self.line(format!("ld.shared.u32 %r{d}, [%r25];"));
    }

    /// A loop that all threads make the same number of times, with barriers in it.
    fn rounds(&mut self, gene: u32) {
        let head = self.label();
        let counter = self.counters;
        self.counters += 1;
        self.line(format!("mov.u32 %c{counter}, {};", gene & 1));
        self.line(format!("{head}:"));
        self.exchange(gene >> 1);
        self.block(gene >> 12);
        self.line(format!("sub.u32 %c{counter}, %c{counter}, 1;"));
        self.line(format!("setp.ge.s32 %p6, %c{counter}, 0;"));
        self.line(format!("@%p6 bra {head};"));
    }
}
