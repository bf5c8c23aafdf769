//! Types and sizes of matrix operations, from their modifiers.

use crate::decode::modifier::{FloatType, GroupColumns, IntType, MatrixShape, key};
use crate::decode::{SassInst, SassOp};
use isa::{GroupWork, MatrixType, MatrixWork};

/// Multiply-adds of `mma.m8n8k4` with f16 factors, which is four products of 8 x 4 by 4 x 8 elements. `HMMA.884`
/// is one of its steps: four with an f32 accumulator, two with an f16 one.
const QUADS: u32 = 4 * 8 * 8 * 4;

/// The work of a decoded instruction for a matrix unit; `None` for other operations, and for 4 x 4 x 4.
pub(super) fn of_instruction(inst: &SassInst) -> Option<MatrixWork> {
    if let Some(GroupColumns(columns)) = inst.modifier(key::GROUP_COLUMNS) {
        let sparse = inst.has(key::SPARSE);
        let length = match (inst.row.op, inst.modifier(key::GROUP_LENGTH)) {
            (_, Some(length)) => length.elements(),
            (SassOp::BGmma, None) => 256,
            _ if sparse => 64,
            _ => 32,
        };
        return Some(group_work([columns, length], type_of(inst)?, sparse));
    }
    let shape = inst.modifier(key::SHAPE).filter(|&shape| shape != MatrixShape::M4N4K4)?;
    let [m, k] = shape.rows_and_length().map(u32::from);
    let ty = type_of(inst)?;
    Some(work([m, 8, k], ty, false))
}

/// Types of a matrix operation.
fn type_of(inst: &SassInst) -> Option<MatrixType> {
    let in_f32 = inst.has(key::D_F32) || inst.has(key::C_F32);
    let narrow = |key| matches!(inst.modifier(key), Some(IntType::U4 | IntType::S4));
    Some(match (inst.row.op, inst.modifier(key::FACTORS)) {
        (SassOp::HMma | SassOp::HGmma, Some(FloatType::Bf16)) => MatrixType::Bf16,
        (SassOp::HMma | SassOp::HGmma, Some(FloatType::Tf32)) => MatrixType::Tf32,
        (SassOp::HMma | SassOp::HMmaStep | SassOp::HGmma, _) if in_f32 => MatrixType::F16F32,
        (SassOp::HMma | SassOp::HMmaStep | SassOp::HGmma, _) => MatrixType::F16,
        (SassOp::QMma | SassOp::QGmma, _) if in_f32 => MatrixType::Fp8F32,
        (SassOp::QMma | SassOp::QGmma, _) => MatrixType::Fp8,
        (SassOp::IMma, _) if narrow(key::A_INT) || narrow(key::B_INT) => MatrixType::Int4,
        (SassOp::IMma | SassOp::IGmma, _) => MatrixType::Int8,
        (SassOp::BMma | SassOp::BGmma, _) => MatrixType::B1,
        (SassOp::DMma, _) => MatrixType::F64,
        _ => return None,
    })
}

/// Work of an opcode such as `HMMA.16816.F32.BF16` or `HGMMA.64x128x16` for a matrix unit; `None` for other opcodes.
pub(super) fn of_text(base: &str, opcode: &str) -> Option<MatrixWork> {
    let modifiers: Vec<&str> = opcode.split('.').skip(1).collect();
    let has = |modifier: &str| modifiers.contains(&modifier);
    let ty = match base {
        "HMMA" | "HGMMA" if has("BF16") => MatrixType::Bf16,
        "HMMA" | "HGMMA" if has("TF32") => MatrixType::Tf32,
        "HMMA" | "HGMMA" if has("F32") => MatrixType::F16F32,
        "HMMA" | "HGMMA" => MatrixType::F16,
        "QMMA" | "QGMMA" if has("F32") => MatrixType::Fp8F32,
        "QMMA" | "QGMMA" => MatrixType::Fp8,
        "IMMA" if has("U4") || has("S4") => MatrixType::Int4,
        "IMMA" | "IGMMA" => MatrixType::Int8,
        "BMMA" | "BGMMA" => MatrixType::B1,
        "DMMA" => MatrixType::F64,
        _ => return None,
    };
    if let Some(shape) = modifiers.iter().find_map(|text| group_shape(text)) {
        return Some(group_work(shape, ty, has("SP")));
    }
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

/// A warp's part of a warp group's operation: 16 of its 64 rows.
fn group_work([columns, length]: [u16; 2], ty: MatrixType, sparse: bool) -> MatrixWork {
    let products = u32::from(length) / if sparse { 2 } else { 1 };
    let group = Some(GroupWork { columns, a_in_registers: false });
    MatrixWork { ty, multiply_adds: 16 * u32::from(columns) * products, group }
}

/// 128 and 16 for `64x128x16`.
fn group_shape(text: &str) -> Option<[u16; 2]> {
    let (columns, length) = text.strip_prefix("64x")?.split_once('x')?;
    let [columns, length] = [columns.parse().ok()?, length.parse().ok()?];
    ((8..=256).contains(&columns) && (8..=256).contains(&length)).then_some([columns, length])
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
            let work = MatrixWork { ty, multiply_adds, group: None };
            assert_eq!(of_text(base(opcode), opcode), Some(work), "{opcode}");
            assert!(multiply_adds <= ty.most_multiply_adds(), "{opcode}");
        }
        let of_groups = [
            ("HGMMA.64x128x16.F32", F16F32, 128, 32_768),
            ("HGMMA.SP.64x8x16.F32.TF32", Tf32, 8, 1024),
            ("QGMMA.64x256x32.F16.E4M3.E5M2", MatrixType::Fp8, 256, 131_072),
            ("IGMMA.SP.64x24x64.S8.U8.SAT", Int8, 24, 12_288),
            ("BGMMA.64x256x256.AND.POPC", B1, 256, 1_048_576),
        ];
        for (opcode, ty, columns, multiply_adds) in of_groups {
            let group = Some(GroupWork { columns, a_in_registers: false });
            assert_eq!(of_text(base(opcode), opcode), Some(MatrixWork { ty, multiply_adds, group }), "{opcode}");
        }
        for other in ["HGMMA.64x1000x16.F32", "HGMMA", "HMMA", "FFMA", "MOVM.16.MT88"] {
            assert_eq!(of_text(base(other), other), None, "{other}");
        }
    }
}
