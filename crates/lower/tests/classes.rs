//! Classes for timing: an operation has the same one as PTX and as machine code, whose compiler makes one
//! instruction of the other. The same for what matrix operations ask of a matrix unit.

use crate::common::module;
use exec::op::Op;
use isa::{Inst, MatrixType, MatrixWork, OpClass};
use lower::{LowerOptions, load_cubin};
use sass::meaning::{Generation, meaning};
use std::path::Path;

/// The instruction of PTX as timing sees it.
fn of_ptx(text: &str) -> Inst {
    let items = format!(
        ".visible .entry k(.param .u64 p) {{
            .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %l<9>; .reg .f64 %d<99>;
            .shared .align 16 .b8 s[512];
            {text}
            ret;
        }}"
    );
    let loaded = module(&format!(".version 8.7\n.target sm_90\n.address_size 64\n{items}"));
    let program = &loaded.kernel("k").unwrap().program;
    let mnemonic = text.split(' ').next().unwrap();
    let found = (0..program.insts().len() as u32).map(isa::Pc).find(|&pc| program.text(pc).contains(mnemonic));
    *program.inst(found.unwrap_or_else(|| panic!("{text}")))
}

/// PTX, and the opcode that it is compiled to for sm_86 (`elect`: sm_90).
const SAME: &[(&str, &str)] = &[
    ("mov.b32 %r1, %r2;", "MOV"),
    ("selp.b32 %r1, %r2, %r3, %p1;", "SEL"),
    ("prmt.b32 %r1, %r2, %r3, %r4;", "PRMT"),
    ("add.s32 %r1, %r2, %r3;", "IADD3"),
    ("and.b32 %r1, %r2, %r3;", "LOP3.LUT"),
    ("shf.l.wrap.b32 %r1, %r2, %r3, %r4;", "SHF.L.W.U32"),
    ("setp.lt.s32 %p1, %r1, %r2;", "ISETP.LT.AND"),
    ("abs.s32 %r1, %r2;", "IABS"),
    ("popc.b32 %r1, %r2;", "POPC"),
    ("clz.b32 %r1, %r2;", "FLO.U32"),
    ("bfind.u32 %r1, %r2;", "FLO.U32"),
    ("bfind.shiftamt.s32 %r1, %r2;", "FLO.SH"),
    ("brev.b32 %r1, %r2;", "BREV"),
    ("min.s32 %r1, %r2, %r3;", "IMNMX"),
    ("mad.lo.s32 %r1, %r2, %r3, %r4;", "IMAD"),
    ("mad.wide.u32 %l1, %r2, %r3, %l4;", "IMAD.WIDE.U32"),
    ("dp4a.s32.s32 %r1, %r2, %r3, %r4;", "IDP.4A.S8.S8"),
    ("add.f32 %f1, %f2, %f3;", "FADD"),
    ("mul.f32 %f1, %f2, %f3;", "FMUL"),
    ("fma.rn.f32 %f1, %f2, %f3, %f4;", "FFMA"),
    ("min.f32 %f1, %f2, %f3;", "FMNMX"),
    ("setp.lt.f32 %p1, %f1, %f2;", "FSETP.GEU.AND"),
    ("set.lt.f32.f32 %f1, %f2, %f3;", "FSET.BF.LT.AND"),
    ("set.lt.u32.f32 %r1, %f2, %f3;", "FSET.LT.AND"),
    ("add.f64 %d1, %d2, %d3;", "DADD"),
    ("mul.f64 %d1, %d2, %d3;", "DMUL"),
    ("fma.rn.f64 %d1, %d2, %d3, %d4;", "DFMA"),
    ("setp.lt.f64 %p1, %d1, %d2;", "DSETP.LT.AND"),
    ("fma.rn.f16x2 %r1, %r2, %r3, %r4;", "HFMA2"),
    ("add.f16x2 %r1, %r2, %r3;", "HADD2"),
    ("setp.lt.f16 %p1, %h1, %h2;", "HSETP2.LT.AND"),
    ("ex2.approx.f32 %f1, %f2;", "MUFU.EX2"),
    ("rsqrt.approx.f32 %f1, %f2;", "MUFU.RSQ"),
    ("cvt.rn.f32.s32 %f1, %r1;", "I2FP.F32.S32"),
    ("cvt.rn.f32.u16 %f1, %h1;", "I2F.U16"),
    ("cvt.rzi.s32.f32 %r1, %f1;", "F2I.TRUNC.NTZ"),
    ("cvt.rzi.u32.f16 %r1, %h1;", "F2I.U32.F16.TRUNC.NTZ"),
    ("cvt.rn.f16.f32 %h1, %f1;", "F2F.F16.F32"),
    ("cvt.rn.f16x2.f32 %r1, %f1, %f2;", "F2FP.PACK_AB"),
    ("cvt.rpi.f32.f32 %f1, %f2;", "FRND.CEIL"),
    ("cvt.sat.s8.s32 %r1, %r2;", "I2I.S8.S32.SAT"),
    ("cvt.f64.f32 %d1, %f1;", "F2F.F64.F32"),
    ("cvt.rn.f32.f64 %f1, %d1;", "F2F.F32.F64"),
    ("cvt.rzi.s64.f32 %l1, %f1;", "F2I.S64.TRUNC"),
    ("cvt.rzi.u32.f64 %r1, %d1;", "F2I.U32.F64.TRUNC"),
    ("cvt.rn.f64.s32 %d1, %r1;", "I2F.F64"),
    ("cvt.rn.f32.u64 %f1, %l1;", "I2F.U64"),
    ("cvt.rpi.f64.f64 %d1, %d2;", "FRND.F64.CEIL"),
    ("shfl.sync.down.b32 %r1, %r2, 1, 31, -1;", "SHFL.DOWN"),
    ("vote.sync.ballot.b32 %r1, %p1, -1;", "VOTE.ANY"),
    ("vote.sync.all.pred %p1, %p2, -1;", "VOTE.ALL"),
    ("activemask.b32 %r1;", "VOTE.ANY"),
    ("match.any.sync.b32 %r1, %r2, -1;", "MATCH.ANY"),
    ("elect.sync %r1|%p1, -1;", "ELECT"),
    ("redux.sync.add.s32 %r1, %r2, -1;", "REDUX.SUM"),
    ("bar.sync 0;", "BAR.SYNC"),
    ("membar.gl;", "MEMBAR.SC.GPU"),
    ("ld.global.f32 %f1, [%l1];", "LDG.E"),
    ("st.shared.f32 [%r1], %f1;", "STS"),
    ("atom.global.add.u32 %r1, [%l1], %r2;", "ATOMG.E.ADD"),
    ("red.global.add.u32 [%l1], %r2;", "RED.E.ADD"),
    ("cp.async.ca.shared.global [%r1], [%l1], 4;", "LDGSTS.E"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", "LDSM.16.M88"),
];

/// Operations of which the classes differ: (PTX, opcode, class of each). Those of machine code are of the units to
/// which Accel-Sim's tables send them.
const DIFFERENT: &[(&str, &str, OpClass, OpClass)] = &[
    // A multiplication is a multiply-add with zero.
    ("mul.lo.s32 %r1, %r2, %r3;", "IMAD", OpClass::IntMul, OpClass::IntMad),
    // Where integers are converted, bits are moved, permuted or shifted.
    ("cvt.s64.s32 %l1, %r1;", "SHF.R.S32.HI", OpClass::ConvertInt, OpClass::IntAdd),
    ("cvt.u32.u8 %r1, %r2;", "PRMT", OpClass::ConvertInt, OpClass::Move),
    ("selp.f32 %f1, %f2, %f3, %p1;", "FSEL", OpClass::Move, OpClass::FpCompare),
    ("mul.f16x2 %r1, %r2, %r3;", "HMUL2", OpClass::Half, OpClass::FpMul),
    ("min.f16x2 %r1, %r2, %r3;", "HMNMX2", OpClass::Half, OpClass::FpMinMax),
    ("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;", "MOVM.16.MT88", OpClass::Shuffle, OpClass::Move),
];

fn of_opcode(opcode: &str) -> OpClass {
    let generation = if opcode == "ELECT" { Generation::Hopper } else { Generation::Ampere };
    let meaning = meaning(opcode, generation);
    assert!(!meaning.unknown, "{opcode}");
    meaning.class
}

#[test]
fn ptx_and_machine_code_have_the_same_classes() {
    for (ptx, opcode) in SAME {
        assert_eq!(of_ptx(ptx).class, of_opcode(opcode), "{ptx} {opcode}");
    }
    for (ptx, opcode, in_ptx, in_machine_code) in DIFFERENT {
        assert_eq!((of_ptx(ptx).class, of_opcode(opcode)), (*in_ptx, *in_machine_code), "{ptx} {opcode}");
        assert_ne!(in_ptx, in_machine_code);
    }
}

/// Every class that is part of another one is tried by the table of what is the same, or is only of PTX.
#[test]
fn the_new_classes_are_in_the_table() {
    let tried: Vec<OpClass> = SAME.iter().map(|(_, opcode)| of_opcode(opcode)).collect();
    let parts = OpClass::ALL.iter().filter(|c| c.part_of().is_some() && **c != OpClass::ConvertInt);
    parts.for_each(|class| assert!(tried.contains(class), "{class:?}"));
}

#[test]
fn ptx_and_machine_code_ask_the_same_of_matrix_units() {
    use MatrixType::{B1, Bf16, F16, F16F32, F64, Fp8F32, Int4, Int8, Tf32};
    let f = |n: usize| (1..=n).map(|i| format!("%f{i}")).collect::<Vec<_>>().join(",");
    let r = |n: usize| (1..=n).map(|i| format!("%r{i}")).collect::<Vec<_>>().join(",");
    let d = |n: usize| (1..=n).map(|i| format!("%d{i}")).collect::<Vec<_>>().join(",");
    let mma = |form: &str, [to, a, b, from]: [String; 4]| {
        format!("mma.sync.aligned.{form} {{{to}}}, {{{a}}}, {{{b}}}, {{{from}}};")
    };
    // (PTX, opcode and how many of it it is compiled to, type, multiply-adds)
    let rows = [
        (mma("m8n8k4.row.col.f32.f16.f16.f32", [f(8), r(2), r(2), f(8)]), ("HMMA.884.F32.F32.STEP0", 4), F16F32, 1024),
        (mma("m8n8k4.row.col.f16.f16.f16.f16", [r(4), r(2), r(2), r(4)]), ("HMMA.884.F16.F16.STEP0", 2), F16, 1024),
        (mma("m16n8k8.row.col.f32.f16.f16.f32", [f(4), r(2), r(1), f(4)]), ("HMMA.1688.F32", 1), F16F32, 1024),
        (mma("m16n8k16.row.col.f16.f16.f16.f16", [r(2), r(4), r(2), r(2)]), ("HMMA.16816.F16", 1), F16, 2048),
        (mma("m16n8k16.row.col.f32.bf16.bf16.f32", [f(4), r(4), r(2), f(4)]), ("HMMA.16816.F32.BF16", 1), Bf16, 2048),
        (mma("m16n8k8.row.col.f32.tf32.tf32.f32", [f(4), r(4), r(2), f(4)]), ("HMMA.1688.F32.TF32", 1), Tf32, 1024),
        (mma("m8n8k4.row.col.f64.f64.f64.f64", [d(2), d(1), d(1), d(2)]), ("DMMA.884", 1), F64, 256),
        (mma("m16n8k32.row.col.s32.u8.s8.s32", [r(4), r(4), r(2), r(4)]), ("IMMA.16832.U8.S8", 1), Int8, 4096),
        (mma("m16n8k64.row.col.s32.s4.s4.s32", [r(4), r(4), r(2), r(4)]), ("IMMA.16864.S4.S4", 1), Int4, 8192),
        (
            mma("m16n8k256.row.col.s32.b1.b1.s32.and.popc", [r(4), r(4), r(2), r(4)]),
            ("BMMA.168256.AND.POPC", 1),
            B1,
            32_768,
        ),
        (
            mma("m16n8k32.row.col.f32.e4m3.e5m2.f32", [f(4), r(4), r(2), f(4)]),
            ("QMMA.16832.F32.E4M3.E5M2", 1),
            Fp8F32,
            4096,
        ),
        (
            format!(
                "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {{{}}}, {{{}}}, {{{}}}, {{{}}};",
                f(8),
                r(8),
                r(8),
                f(8)
            ),
            ("HMMA.16816.F32", 2),
            F16F32,
            4096,
        ),
    ];
    for (ptx, (opcode, count), ty, multiply_adds) in rows {
        let generation = if opcode.contains(".884.F") { Generation::Volta } else { Generation::Hopper };
        let compiled = meaning(opcode, generation).matrix.map(|work| (work.ty, count * work.multiply_adds));
        assert_eq!(compiled, Some((ty, multiply_adds)), "{opcode}");
        assert_eq!(of_ptx(&ptx).matrix, Some(MatrixWork { ty, multiply_adds, group: None }), "{ptx}");
    }
}

/// The work of a matrix operation that timing has of an instruction agrees with what is executed.
#[test]
fn machine_code_says_what_it_executes() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let forms = std::fs::read_dir(here.join("tests/data")).unwrap().map(|file| file.unwrap().path());
    let wmma = [70, 75, 80].map(|sm| here.join(format!("../workloads/kernels/cubin/sm_{sm}/wmma.cubin")));
    let mut seen = Vec::new();
    for file in forms.chain(wmma) {
        if file.extension().is_none_or(|e| e != "cubin") {
            continue;
        }
        let loaded = load_cubin("cases", &std::fs::read(&file).unwrap(), LowerOptions::default()).unwrap();
        for kernel in &loaded.module.kernels {
            for (inst, op) in kernel.program.insts().iter().zip(&kernel.code) {
                let Op::Matrix(number) = op.op else { continue };
                let work = kernel.matrix[usize::from(number)].work();
                assert_eq!(inst.matrix, work, "{}: {}", file.display(), kernel.name());
                if let Some(work) = work.filter(|work| !seen.contains(work)) {
                    seen.push(work);
                }
            }
        }
    }
    assert!(seen.len() >= 11, "{seen:?}");
}
