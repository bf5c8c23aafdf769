//! The microbenchmarks' kernels, generated as PTX.

use isa::OpClass;
use std::fmt::Write as _;

/// A dependent chain: one instruction that reads what it wrote before and no other register, so
/// that its operands never conflict in a bank.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// Class of the instruction.
    pub class: OpClass,
    /// One link of the chain.
    pub link: &'static str,
    /// Lowest sm_XX that has the instruction.
    pub lowest_sm: u32,
}

const fn chain(class: OpClass, link: &'static str) -> Chain {
    Chain { class, link, lowest_sm: 20 }
}

const fn chain_from(lowest_sm: u32, class: OpClass, link: &'static str) -> Chain {
    Chain { class, link, lowest_sm }
}

/// A chain of each class that has results, does not access memory and exists in PTX.
pub const CHAINS: &[Chain] = &[
    chain(OpClass::Move, "mov.u32 %r1, %r1;"),
    chain(OpClass::IntAdd, "add.s32 %r1, %r1, 7;"),
    chain(OpClass::IntMinMax, "max.s32 %r1, %r1, 7;"),
    chain(OpClass::IntMul, "mul.lo.s32 %r1, %r1, 7;"),
    chain(OpClass::IntMad, "mad.lo.s32 %r1, %r1, 7, 9;"),
    chain(OpClass::IntDiv, "div.s32 %r1, %r1, 3;"),
    chain_from(70, OpClass::Shuffle, "shfl.sync.down.b32 %r1, %r1, 1, 31, 0xffffffff;"),
    chain(OpClass::Convert, "cvt.rni.f32.f32 %f1, %f1;"),
    chain_from(60, OpClass::Half, "add.f16 %h1, %h1, %h1;"),
    chain(OpClass::FpAdd, "add.f32 %f1, %f1, 0f3f800000;"),
    chain(OpClass::FpMinMax, "max.f32 %f1, %f1, 0f3f800000;"),
    chain(OpClass::FpMul, "mul.f32 %f1, %f1, 0f3f800000;"),
    chain(OpClass::FpFma, "fma.rn.f32 %f1, %f1, 0f3f800000, 0f3f800000;"),
    chain(OpClass::FpDiv, "div.rn.f32 %f1, %f1, 0f3f800000;"),
    chain(OpClass::DpAdd, "add.f64 %d1, %d1, 0d3ff0000000000000;"),
    chain(OpClass::DpMinMax, "max.f64 %d1, %d1, 0d3ff0000000000000;"),
    chain(OpClass::DpMul, "mul.f64 %d1, %d1, 0d3ff0000000000000;"),
    chain(OpClass::DpFma, "fma.rn.f64 %d1, %d1, 0d3ff0000000000000, 0d3ff0000000000000;"),
    chain(OpClass::DpDiv, "div.rn.f64 %d1, %d1, 0d3ff0000000000000;"),
    chain(OpClass::Sfu, "sqrt.approx.f32 %f1, %f1;"),
];

/// The chain of a class.
pub fn chain_of(class: OpClass) -> Option<&'static Chain> {
    CHAINS.iter().find(|c| c.class == class)
}

/// A link with its register replaced: `n` of these with different `i` depend on nothing but
/// themselves.
pub fn on_register(link: &str, i: usize) -> String {
    let mut text = link.to_owned();
    for kind in ["%r", "%f", "%d", "%h"] {
        text = text
            .replace(&format!("{kind}1,"), &format!("{kind}{i},"))
            .replace(&format!("{kind}1;"), &format!("{kind}{i};"));
    }
    text
}

fn header(sm: u32) -> String {
    let (version, target) = if sm < 60 { ("3.2", 20) } else { ("6.4", sm.min(70)) };
    format!(
        ".version {version}\n.target sm_{target}\n.address_size 64\n\
         .visible .entry bench(.param .u64 pointer, .param .u32 trips, .param .u32 cta_stride, .param .u32 step, .param .u32 mask)\n{{\n\
         .reg .b32 %r<80>;\n.reg .f32 %f<80>;\n.reg .f64 %d<40>;\n.reg .b16 %h<40>;\n.reg .b64 %p<40>;\n.reg .pred %q<2>;\n\
         .shared .align 16 .b8 scratch[16384];\n\
         ld.param.u64 %p1, [pointer];\nld.param.u32 %r0, [trips];\n"
    )
}

/// Gives the registers that [`CHAINS`] use values.
pub fn clear() -> String {
    (1..9).fold(String::new(), |mut text, i| {
        let _ = writeln!(
            text,
            "mov.u32 %r{i}, 3;\nmov.f32 %f{i}, 0f3f800000;\nmov.f64 %d{i}, 0d3ff0000000000000;\nmov.b16 %h{i}, 15360;"
        );
        text
    })
}

/// `setup`, then `body`, repeated `trips` times (a parameter). The loop's own counting is
/// before the body, so that only the jump back follows it.
pub fn looped(sm: u32, setup: &str, body: &str) -> String {
    format!(
        "{}{setup}\nLOOP:\nsub.s32 %r0, %r0, 1;\nsetp.ne.s32 %q1, %r0, 0;\n{body}\n@%q1 bra LOOP;\nret;\n}}\n",
        header(sm)
    )
}

/// The lines that `line` makes of 0 to `n` - 1.
pub fn repeat(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(|i| line(i) + "\n").collect()
}

/// A kernel that does nothing.
pub fn empty(sm: u32) -> String {
    format!("{}ret;\n}}\n", header(sm).split("ld.param").next().unwrap_or_default())
}

/// Loads of 16 bytes per thread in one trip of [`stream()`].
pub const STREAM_LOADS: u32 = 8;

/// Each CTA reads pieces side by side, [`STREAM_LOADS`] per trip, from `cta * cta_stride` on and
/// `step` further each trip, all modulo `mask + 1`.
pub fn stream(sm: u32, load: &str, threads: u32) -> String {
    let setup = "ld.param.u32 %r40, [cta_stride];\nld.param.u32 %r41, [step];\nld.param.u32 %r42, [mask];\n\
                 mov.u32 %r43, %ctaid.x;\nmul.lo.u32 %r44, %r43, %r40;\nmov.u32 %r45, %tid.x;\n\
                 mul.wide.u32 %p2, %r45, 16;\nadd.u64 %p1, %p1, %p2;";
    let mut body = String::from("and.b32 %r46, %r44, %r42;\ncvt.u64.u32 %p3, %r46;\nadd.u64 %p4, %p1, %p3;\n");
    for i in 0..STREAM_LOADS {
        let (a, offset) = (1 + 4 * i, i * threads * 16);
        let _ = writeln!(body, "{load} {{%r{a}, %r{}, %r{}, %r{}}}, [%p4+{offset}];", a + 1, a + 2, a + 3);
    }
    body.push_str("add.u32 %r44, %r44, %r41;");
    looped(sm, setup, &body)
}

/// Loads in one trip of [`gather`].
pub const GATHER_LOADS: u32 = 8;

/// Each warp reads its own [`GATHER_LOADS`] lines of 128 bytes repeatedly, past L1. Their addresses
/// are in the table that the data begin with, in order of CTA, warp and load.
pub fn gather(sm: u32) -> String {
    let mut setup = format!(
        "mov.u32 %r40, %ctaid.x;\nmov.u32 %r41, %ntid.x;\nmov.u32 %r42, %tid.x;\n\
         mad.lo.u32 %r43, %r40, %r41, %r42;\nshr.u32 %r44, %r43, 5;\nmul.wide.u32 %p2, %r44, {};\n\
         add.u64 %p2, %p1, %p2;\nand.b32 %r45, %r42, 31;\nmul.wide.u32 %p3, %r45, 4;\n",
        8 * GATHER_LOADS
    );
    let mut body = String::new();
    for i in 0..GATHER_LOADS {
        let _ = writeln!(setup, "ld.global.u64 %p{0}, [%p2+{1}];\nadd.u64 %p{0}, %p{0}, %p3;", 10 + i, 8 * i);
        let _ = writeln!(body, "ld.global.cg.u32 %r{}, [%p{}];", 1 + i, 10 + i);
    }
    looped(sm, &setup, &body)
}
