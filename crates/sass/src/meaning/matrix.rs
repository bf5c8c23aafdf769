//! Types and sizes of matrix operations, from their modifiers.

use crate::decode::modifier::{FloatType, IntType, MatrixShape, key};
use crate::decode::{SassInst, SassOp};
use isa::{MatrixType, MatrixWork};

/// Multiply-adds of `mma.m8n8k4` with f16 factors, which is four products of 8 x 4 by 4 x 8 elements. `HMMA.884`
/// is one of its steps: four with an f32 accumulator, two with an f16 one.
const QUADS: u32 = 4 * 8 * 8 * 4;

/// The work of a decoded instruction for a matrix unit; `None` for other operations, and for 4 x 4 x 4.
pub(super) fn of_instruction(inst: &SassInst) -> Option<MatrixWork> {
    let shape = inst.modifier(key::SHAPE).filter(|&shape| shape != MatrixShape::M4N4K4)?;
    let [m, k] = shape.rows_and_length().map(u32::from);
    let in_f32 = inst.has(key::D_F32) || inst.has(key::C_F32);
    let narrow = |key| matches!(inst.modifier(key), Some(IntType::U4 | IntType::S4));
    let ty = match (inst.row.op, inst.modifier(key::FACTORS)) {
        (SassOp::HMma, Some(FloatType::Bf16)) => MatrixType::Bf16,
        (SassOp::HMma, Some(FloatType::Tf32)) => MatrixType::Tf32,
        (SassOp::HMma | SassOp::HMmaStep, _) if in_f32 => MatrixType::F16F32,
        (SassOp::HMma | SassOp::HMmaStep, _) => MatrixType::F16,
        (SassOp::QMma, _) if in_f32 => MatrixType::Fp8F32,
        (SassOp::QMma, _) => MatrixType::Fp8,
        (SassOp::IMma, _) if narrow(key::A_INT) || narrow(key::B_INT) => MatrixType::Int4,
        (SassOp::IMma, _) => MatrixType::Int8,
        (SassOp::BMma, _) => MatrixType::B1,
        (SassOp::DMma, _) => MatrixType::F64,
        _ => return None,
    };
    Some(work([m, 8, k], ty, false))
}

/// Work of an opcode such as `HMMA.16816.F32.BF16` for a matrix unit; `None` for other opcodes and for shapes
/// that are not written so (`HGMMA.64x128x16`).
pub(super) fn of_text(base: &str, opcode: &str) -> Option<MatrixWork> {
    let modifiers: Vec<&str> = opcode.split('.').skip(1).collect();
    let has = |modifier: &str| modifiers.contains(&modifier);
    let ty = match base {
        "HMMA" if has("BF16") => MatrixType::Bf16,
        "HMMA" if has("TF32") => MatrixType::Tf32,
        "HMMA" if has("F32") => MatrixType::F16F32,
        "HMMA" => MatrixType::F16,
        "QMMA" if has("F32") => MatrixType::Fp8F32,
        "QMMA" => MatrixType::Fp8,
        "IMMA" if has("U4") || has("S4") => MatrixType::Int4,
        "IMMA" => MatrixType::Int8,
        "BMMA" => MatrixType::B1,
        "DMMA" => MatrixType::F64,
        _ => return None,
    };
    let shape = modifiers.iter().find_map(|text| shape(text))?;
    Some(work(shape, ty, has("SP")))
}

fn work([m, n, k]: [u32; 3], ty: MatrixType, sparse: bool) -> MatrixWork {
    let multiply_adds = match ([m, n, k], ty) {
        ([8, 8, 4], MatrixType::F16) => QUADS / 2,
        ([8, 8, 4], MatrixType::F16F32) => QUADS / 4,
        _ if sparse => m * n * k / 2,
        _ => m * n * k,
    };
    MatrixWork { ty, multiply_adds, group: None }
}

/// 16, 8 and 32 for `16832`, or `16x8x32` as in `DMMA`: m is 8 or 16, n is 8.
fn shape(text: &str) -> Option<[u32; 3]> {
    let text = text.replace('x', "");
    let (m, rest) = match text.strip_prefix("16") {
        Some(rest) => (16, rest),
        None => (8, text.strip_prefix('8')?),
    };
    let k: u32 = rest.strip_prefix('8')?.parse().ok()?;
    (k.is_power_of_two() && (4..=256).contains(&k)).then_some([m, 8, k])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meaning::base;

    #[test]
    fn shapes_and_types_come_from_modifiers() {
        use MatrixType::{B1, Bf16, F16, F16F32, F64, Fp8F32, Int4, Int8, Tf32};
        let rows = [
            ("HMMA.884.F32.F32.STEP2", F16F32, 256),
            ("HMMA.884.F16.F16.STEP1", F16, 512),
            ("HMMA.1688.F16", F16, 1024),
            ("HMMA.16816.F32", F16F32, 2048),
            ("HMMA.16816.F32.BF16", Bf16, 2048),
            ("HMMA.1684.F32.TF32", Tf32, 512),
            ("HMMA.SP.16832.F32", F16F32, 2048),
            ("IMMA.8816.S8.U8.SAT", Int8, 1024),
            ("IMMA.16864.S4.S4", Int4, 8192),
            ("BMMA.168256.XOR.POPC", B1, 32_768),
            ("DMMA.884", F64, 256),
            ("DMMA.16x8x16", F64, 2048),
            ("QMMA.16832.F32.E4M3.E5M2", Fp8F32, 4096),
        ];
        for (opcode, ty, multiply_adds) in rows {
            assert_eq!(of_text(base(opcode), opcode), Some(MatrixWork { ty, multiply_adds, group: None }), "{opcode}");
            assert!(multiply_adds <= ty.most_multiply_adds(), "{opcode}");
        }
        for other in ["HGMMA.64x128x16.F32", "HMMA", "FFMA", "MOVM.16.MT88"] {
            assert_eq!(of_text(base(other), other), None, "{other}");
        }
    }
}
