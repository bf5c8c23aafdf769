//! Counts of floating-point operations of half precision.

/// Floating-point operations of half precision, f16 or bf16, that a lane does for an instruction of class `half`, by
/// its text in PTX or machine code. A product with a sum is two. Machine code works on pairs. Comparisons, minima and
/// sums and products of zeros, with which compilers convert and move, are none.
pub(crate) fn half_operations(text: &str) -> u8 {
    let opcode = text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
    let names = |parts: &[&str]| opcode.split('.').any(|word| parts.contains(&word));
    let of_each = match () {
        () if text.contains("RZ, RZ") || names(&["HADD2"]) && text.contains("-RZ") => 0,
        () if names(&["fma", "HFMA2"]) => 2,
        () if names(&["add", "sub", "mul", "HADD2", "HMUL2"]) => 1,
        () => 0,
    };
    let is_packed = opcode.starts_with('H') || opcode.contains("16x2");
    if is_packed { 2 * of_each } else { of_each }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_half_precision_are_by_element() {
        for (text, expected) in [
            ("@P0 HFMA2.MMA R1, R2, R3, R4", 4),
            ("HFMA2.BF16_V2 R1, R2, R3, R4", 4),
            ("HADD2 R1, R2, R3", 2),
            ("HADD2.F32 R1, -RZ, R2.H0_H0", 0),
            ("HMUL2.BF16 R1, R2, R3", 2),
            ("HSETP2.GT.AND P0, PT, R1, R2, PT", 0),
            ("HFMA2.MMA R5, -RZ, RZ, 0, 5.9604644775390625e-08", 0),
            ("@%p1 fma.rn.f16x2 %r1, %r2, %r3, %r4;", 4),
            ("fma.rn.bf16 %rs1, %rs2, %rs3, %rs4;", 2),
            ("add.f16 %rs1, %rs2, %rs3;", 1),
            ("max.f16x2 %r1, %r2, %r3;", 0),
        ] {
            assert_eq!(half_operations(text), expected, "{text}");
        }
    }
}
