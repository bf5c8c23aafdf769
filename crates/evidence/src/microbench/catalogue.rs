//! The catalogue of instructions that microbenchmarks measure, a row for each kind.
//!
//! A row of [`CLASSES`] becomes two quantities, `<name>_latency` and `<name>_rate`. Quantities of memory,
//! synchronisation and launches are in `measure.rs`. The code of all of them is in [`super::source`].

/// Groups of quantities, in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names of the variants say it all")]
pub enum Group {
    Floating,
    Integer,
    Conversion,
    Special,
    Warp,
    Matrix,
    WarpGroup,
    L1,
    Texture,
    Shared,
    Constant,
    L2,
    Dram,
    Atomic,
    Synchronisation,
    BulkCopy,
    Cluster,
    Launch,
}

impl Group {
    /// Heading of a report.
    pub const fn title(self) -> &'static str {
        match self {
            Group::Floating => "Floating point",
            Group::Integer => "Integer and logic",
            Group::Conversion => "Conversions",
            Group::Special => "Special functions",
            Group::Warp => "Between lanes",
            Group::Matrix => "Matrix operations",
            Group::WarpGroup => "Matrix operations of warp groups",
            Group::L1 => "L1 data cache",
            Group::Texture => "Textures",
            Group::Shared => "Shared memory",
            Group::Constant => "Constants",
            Group::L2 => "L2",
            Group::Dram => "DRAM",
            Group::Atomic => "Atomics on global memory",
            Group::Synchronisation => "Barriers and fences",
            Group::BulkCopy => "Bulk copies",
            Group::Cluster => "Clusters",
            Group::Launch => "Launches",
        }
    }
}

/// A kind of instruction: a line of PTX that depends on its own result of the line before.
///
/// In a line, `{r}`, `{f}`, `{d}`, `{l}`, `{h}` and `{q}` are the accumulators of the chain: 32 bits of
/// any type, single and double precision, 64-bit integers, 16 bits, a predicate; `{f3}` is the fourth of a
/// chain's registers. `%i`, `%x`, `%y` and `%t` with a number are inputs: integers, single and
/// double precision, predicates. None of their values is known to the compiler.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// Name without `_latency` and `_rate`.
    pub name: &'static str,
    /// Its group.
    pub group: Group,
    /// Description of the line.
    pub text: &'static str,
    /// The line of the chain.
    pub line: &'static str,
    /// Instructions in the line, over which its latency is divided.
    pub links: u32,
    /// Results of one lane from one line; multiply-adds of the warp for matrix operations.
    pub results: u32,
    /// Whether it has a latency; a mix of independent instructions has only a rate.
    pub has_latency: bool,
    /// Lowest sm_XX that has the instruction.
    pub lowest_sm: u32,
    /// Opcodes of machine code in the line; `|` between different architectures. Opcodes that only
    /// move operands are left out.
    pub opcodes: &'static [&'static str],
}

const fn class(
    group: Group,
    name: &'static str,
    text: &'static str,
    line: &'static str,
    opcodes: &'static [&'static str],
) -> Class {
    Class { name, group, text, line, links: 1, results: 1, has_latency: true, lowest_sm: 20, opcodes }
}

impl Class {
    const fn from(mut self, lowest_sm: u32) -> Self {
        self.lowest_sm = lowest_sm;
        self
    }

    const fn links(mut self, links: u32) -> Self {
        self.links = links;
        self
    }

    const fn results(mut self, results: u32) -> Self {
        self.results = results;
        self
    }

    const fn rate_only(mut self) -> Self {
        self.has_latency = false;
        self
    }

    /// Whether it is an operation of the matrix units.
    pub const fn is_matrix(&self) -> bool {
        matches!(self.group, Group::Matrix)
    }
}

/// Every kind of instruction, in the order of reports.
pub const CLASSES: &[Class] = &[
    class(Group::Floating, "fp32_add", "single-precision addition", "add.rn.f32 {f}, {f}, %x0;", &["FADD"]),
    class(Group::Floating, "fp32_mul", "single-precision multiplication", "mul.rn.f32 {f}, {f}, %x0;", &["FMUL"]),
    class(Group::Floating, "fp32_fma", "single-precision fma", "fma.rn.f32 {f}, {f}, {f}, {f};", &["FFMA"]),
    class(
        Group::Floating,
        "fp32_min",
        "single-precision minimum, maximum",
        "min.f32 {f}, {f}, %x0;\nmax.f32 {f}, {f}, %x1;",
        &["FMNMX", "FMNMX"],
    )
    .links(2)
    .results(2),
    class(
        Group::Floating,
        "fp32_compare",
        "single-precision comparison and selection by it",
        "setp.gt.f32 {q}, {f}, %x0;\nselp.f32 {f}, %x1, %x2, {q};",
        &["FSETP", "FSEL"],
    ),
    class(Group::Floating, "half2_fma", "fma of two halves", "fma.rn.f16x2 {r}, {r}, %i0, %i1;", &["HFMA2"])
        .from(70)
        .results(2),
    class(Group::Floating, "fp64_add", "double-precision addition", "add.rn.f64 {d}, {d}, %y0;", &["DADD"]),
    class(Group::Floating, "fp64_mul", "double-precision multiplication", "mul.rn.f64 {d}, {d}, %y0;", &["DMUL"]),
    class(Group::Floating, "fp64_fma", "double-precision fma", "fma.rn.f64 {d}, {d}, %y0, %y1;", &["DFMA"]),
    class(
        Group::Integer,
        "int_add",
        "integer addition, alternating with an exclusive or: additions alone are merged",
        "add.s32 {r}, {r}, %i0;\nxor.b32 {r}, {r}, %i1;",
        &["IADD3", "LOP3"],
    )
    .links(2)
    .results(2),
    class(
        Group::Integer,
        "int_logic",
        "three-input logic",
        "lop3.b32 {r}, {r}, %i0, %i1, 0x1e;\nlop3.b32 {r}, {r}, %i2, %i3, 0x6a;",
        &["LOP3", "LOP3"],
    )
    .from(70)
    .links(2)
    .results(2),
    class(Group::Integer, "int_shift", "shift by a register", "shl.b32 {r}, {r}, %i0;", &["SHF"]),
    class(Group::Integer, "int_mul", "32-bit multiplication", "mul.lo.s32 {r}, {r}, {r};", &["IMAD"]),
    class(Group::Integer, "int_mad", "32-bit multiply-add", "mad.lo.s32 {r}, {r}, %i0, %i1;", &["IMAD"]),
    class(
        Group::Integer,
        "int_mad_wide",
        "multiply-add with a 64-bit sum, its factors the halves of the last one, and a move",
        "mov.b64 {{r}, {r1}}, {l};\nmad.wide.u32 {l}, {r1}, {r}, %l79;",
        &["IMAD", "IMAD"],
    ),
    class(
        Group::Integer,
        "int_min",
        "integer minimum, maximum",
        "min.s32 {r}, {r}, %i0;\nmax.s32 {r}, {r}, %i1;",
        &["IMNMX|VIMNMX|SEL", "IMNMX|VIMNMX|SEL"],
    )
    .links(2)
    .results(2),
    class(
        Group::Integer,
        "select",
        "selection by a predicate",
        "selp.b32 {r}, {r}, %i0, %t0;\nselp.b32 {r}, %i1, {r}, %t1;",
        &["SEL", "SEL"],
    )
    .links(2)
    .results(2),
    class(
        Group::Integer,
        "guard",
        "comparison and an addition that it guards",
        "setp.gt.s32 {q}, {r}, %i0;\n@{q} add.s32 {r}, {r}, %i1;",
        &["ISETP", "IADD3"],
    )
    .from(70),
    class(
        Group::Integer,
        "cross_pipes",
        "single-precision fma and logic on its result",
        "fma.rn.f32 {r}, {r}, %x0, %x1;\nxor.b32 {r}, {r}, %i0;",
        &["FFMA", "LOP3"],
    )
    .from(70),
    class(Group::Integer, "permute", "permutation of bytes", "prmt.b32 {r}, {r}, %i0, %i1;", &["PRMT"]),
    class(Group::Integer, "popc", "population count", "popc.b32 {r}, {r};", &["POPC"]),
    class(Group::Integer, "find_leading", "most significant bit", "bfind.u32 {r}, {r};", &["FLO"]),
    class(Group::Integer, "brev", "reversal of bits", "brev.b32 {r}, {r};", &["BREV"]),
    class(
        Group::Integer,
        "two_pipes",
        "single-precision fma and logic in turn: rate of both together",
        "fma.rn.f32 {f}, {f}, {f}, {f};\nlop3.b32 {r}, {r}, %i0, %i1, 0x1e;\nfma.rn.f32 {f}, {f}, {f}, {f};\nlop3.b32 {r}, {r}, %i2, %i3, 0x6a;",
        &["FFMA", "LOP3", "FFMA", "LOP3"],
    )
    .from(70)
    .results(4)
    .rate_only(),
    class(
        Group::Conversion,
        "f32_to_s32",
        "single precision to integer",
        "cvt.rni.s32.f32 {r}, {r};",
        &["F2I"],
    ),
    class(Group::Conversion, "s32_to_f32", "integer to single precision", "cvt.rn.f32.s32 {r}, {r};", &["I2F|I2FP"]),
    class(
        Group::Conversion,
        "f32_to_f16",
        "single precision to half and back",
        "cvt.rn.f16.f32 {h}, {r};\ncvt.f32.f16 {r}, {h};",
        &["HADD2"],
    )
    .from(70),
    class(
        Group::Conversion,
        "f64_to_f32",
        "double to single precision and back",
        "cvt.rn.f32.f64 {r}, {d};\ncvt.f64.f32 {d}, {r};",
        &["F2F", "F2F"],
    )
    .links(2)
    .results(2),
    class(
        Group::Conversion,
        "f64_to_s32",
        "double precision to integer and back",
        "cvt.rni.s32.f64 {r}, {d};\ncvt.rn.f64.s32 {d}, {r};",
        &["F2I", "I2F"],
    )
    .links(2)
    .results(2),
    class(Group::Special, "ex2", "power of two", "ex2.approx.ftz.f32 {f}, {f};", &["MUFU"]),
    class(Group::Special, "lg2", "logarithm to base 2", "lg2.approx.ftz.f32 {f}, {f};", &["MUFU"]),
    class(
        Group::Special,
        "rcp",
        "reciprocal and an addition: reciprocals alone cancel",
        "rcp.approx.ftz.f32 {f}, {f};\nadd.rn.f32 {f}, {f}, %x0;",
        &["MUFU", "FADD"],
    ),
    class(Group::Special, "rsqrt", "reciprocal square root", "rsqrt.approx.ftz.f32 {f}, {f};", &["MUFU"]),
    class(Group::Special, "sqrt", "square root", "sqrt.approx.ftz.f32 {f}, {f};", &["MUFU"]),
    class(
        Group::Special,
        "sin",
        "sine, whose argument is scaled first",
        "sin.approx.ftz.f32 {f}, {f};",
        &["FMUL", "MUFU"],
    ),
    class(
        Group::Warp,
        "shuffle",
        "value of another lane",
        "shfl.sync.bfly.b32 {r}, {r}, 1, 31, 0xffffffff;",
        &["SHFL"],
    )
    .from(70),
    class(
        Group::Warp,
        "vote",
        "ballot on a comparison with zero",
        "setp.ne.s32 {q}, {r}, 0;\nvote.sync.ballot.b32 {r}, {q}, 0xffffffff;",
        &["ISETP", "VOTE"],
    )
    .from(70),
    class(
        Group::Warp,
        "match",
        "lanes of equal value",
        "match.any.sync.b32 {r}, {r}, 0xffffffff;",
        &["MATCH"],
    )
    .from(70),
    class(
        Group::Warp,
        "redux",
        "sum over the lanes",
        "redux.sync.add.s32 {r}, {r}, 0xffffffff;",
        &["REDUX"],
    )
    .from(80),
    class(
        Group::Matrix,
        "wmma_f16",
        "16x16x16 halves, sums in halves",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {{r}, {r1}, {r2}, {r3}}, {%i0, %i1, %i2, %i3, %i4, %i5, %i6, %i7}, {%i8, %i9, %i10, %i11, %i12, %i13, %i14, %i15}, {{r}, {r1}, {r2}, {r3}};",
        &["HMMA"],
    )
    .from(70)
    .results(4096),
    class(
        Group::Matrix,
        "wmma_f32",
        "16x16x16 halves, sums in single precision",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {{f}, {f1}, {f2}, {f3}, {f4}, {f5}, {f6}, {f7}}, {%i0, %i1, %i2, %i3, %i4, %i5, %i6, %i7}, {%i8, %i9, %i10, %i11, %i12, %i13, %i14, %i15}, {{f}, {f1}, {f2}, {f3}, {f4}, {f5}, {f6}, {f7}};",
        &["HMMA"],
    )
    .from(70)
    .results(4096),
    class(
        Group::Matrix,
        "mma_m16n8k8_f16",
        "halves, sums in halves",
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {{r}, {r1}}, {%i0, %i1}, {%i2}, {{r}, {r1}};",
        &["HMMA"],
    )
    .from(75)
    .results(1024),
    class(
        Group::Matrix,
        "mma_m16n8k8_f32",
        "halves, sums in single precision",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {{f}, {f1}, {f2}, {f3}}, {%i0, %i1}, {%i2}, {{f}, {f1}, {f2}, {f3}};",
        &["HMMA"],
    )
    .from(75)
    .results(1024),
    class(
        Group::Matrix,
        "mma_m8n8k16_s8",
        "8-bit integers",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {{r}, {r1}}, {%i0}, {%i1}, {{r}, {r1}};",
        &["IMMA"],
    )
    .from(75)
    .results(1024),
    class(
        Group::Matrix,
        "mma_m16n8k16_f16",
        "halves, sums in halves",
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {{r}, {r1}}, {%i0, %i1, %i2, %i3}, {%i4, %i5}, {{r}, {r1}};",
        &["HMMA"],
    )
    .from(80)
    .results(2048),
    class(
        Group::Matrix,
        "mma_m16n8k16_f32",
        "halves, sums in single precision",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{f}, {f1}, {f2}, {f3}}, {%i0, %i1, %i2, %i3}, {%i4, %i5}, {{f}, {f1}, {f2}, {f3}};",
        &["HMMA"],
    )
    .from(80)
    .results(2048),
    class(
        Group::Matrix,
        "mma_m16n8k16_bf16",
        "bfloat16, sums in single precision",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{f}, {f1}, {f2}, {f3}}, {%i0, %i1, %i2, %i3}, {%i4, %i5}, {{f}, {f1}, {f2}, {f3}};",
        &["HMMA"],
    )
    .from(80)
    .results(2048),
    class(
        Group::Matrix,
        "mma_m16n8k8_tf32",
        "tf32, sums in single precision",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{f}, {f1}, {f2}, {f3}}, {%i0, %i1, %i2, %i3}, {%i4, %i5}, {{f}, {f1}, {f2}, {f3}};",
        &["HMMA"],
    )
    .from(80)
    .results(1024),
    class(
        Group::Matrix,
        "mma_m16n8k32_s8",
        "8-bit integers",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {{r}, {r1}, {r2}, {r3}}, {%i0, %i1, %i2, %i3}, {%i4, %i5}, {{r}, {r1}, {r2}, {r3}};",
        &["IMMA"],
    )
    .from(80)
    .results(4096),
    class(
        Group::Matrix,
        "mma_m8n8k4_f64",
        "double precision",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{d}, {d1}}, {%y0}, {%y1}, {{d}, {d1}};",
        &["DMMA"],
    )
    .from(80)
    .results(256),
];
