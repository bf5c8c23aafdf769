//! Instructions that are known by name and not decoded, for messages: bits 0 to 11, first and last architecture, name,
//! what it is for. Names: nvdisasm 11.8 of words with these bits.

/// Name and purpose of the instruction with this opcode; `None` if it is not in the table.
pub fn of(code: u16, sm: u8) -> Option<(&'static str, &'static str)> {
    let row = ROWS.iter().chain(FORMS).find(|row| row.0 == code && (row.1..=row.2).contains(&sm))?;
    Some((row.3, row.4))
}

/// The table.
pub const ROWS: &[(u16, u8, u8, &str, &str)] = &[
    (0x9a4, 90, 90, "LDGMC", MULTICAST),
    (0x9a5, 90, 90, "LDGMC", MULTICAST),
    (0x582, 75, 90, "LDC", "a constant bank given by a uniform register"),
];

/// The same of instructions with some bits that are not decoded; other words with these opcodes are.
const FORMS: &[(u16, u8, u8, &str, &str)] = &[
    (0x31c, 90, 90, "B2R", "the state of a barrier in another form"),
    (0xb60, 90, 90, "TEX.B", BINDLESS),
    (0xb66, 90, 90, "TLD.B", BINDLESS),
    (0xb6f, 90, 90, "TXQ.B", BINDLESS),
];

/// Meaning of a value of a field that decoding refuses; `None` if it is not known. From nvdisasm's text of such words
/// (`crates/sass/tests/data/words.txt`); most of them no compiler writes.
pub fn reserved(op: &str, field: &str, value: u64) -> Option<&'static str> {
    let base = op.split('.').next().unwrap_or(op);
    Some(match (base, field, value) {
        ("HMMA", "shape", 3) | ("HMMA" | "IMMA" | "QMMA", "sparse", _) => "multiplication of sparse matrices",
        ("ATOMS", "type", 1) => "compare and swap of signed words, ATOMS.CAS.S32",
        ("ATOMG" | "ATOM" | "ATOMS", "type", 4) => "an atomic access to 128 bits",
        ("ATOMS", "type", 5 | 6) | ("RED" | "REDG" | "ATOMG" | "ATOM", "type", 8..=11) => {
            "an integer type in another encoding than compilers write"
        }
        ("RED" | "REDG" | "ATOMG" | "ATOM", "type", 12..=14) => "an atomic access to f32 without flush to zero",
        ("ATOMS" | "ATOMG" | "ATOM", "operation", _) => {
            "compare and swap, or a vector, in another encoding than compilers write"
        }
        ("MEMBAR", "order", 3) => "MEMBAR.MMIO",
        ("MEMBAR", "scope", 6) => "MEMBAR.ALL.CTA.PARTIAL",
        (_, "order", _) => "the memory order CONSTANT with a scope, which stores do not have",
        ("LD" | "LDG" | "LDS", "zd", 1) => "a load that gives inactive lanes zeros",
        (_, "size", 7) => "a size that does not exist",
        (_, "half", _) => "a result of halves",
        ("TEX", "level", 6) => "a level of detail by FDV",
        ("DMMA", "unused", _) | (_, "predicate" | "relu predicate", _) => "a predicate as an operand",
        ("FMNMX" | "HMNMX2", "unused", 1) => "a predicate that says which operand is the result",
        ("HFMA2" | "HMUL2", "f32 result", 1) => "a result in single precision",
        ("HFMA2", "mode", 1) => "the mode OOB",
        ("F2FP", "a sign" | "d type", _) => "a conversion that saturates, or is merged with a register",
        ("I2IP", "kept bits" | "kept half", _) => "a part of a register that is kept",
        ("BMOV", "thread state", _) => "a part of the threads' state",
        ("BMOV", "quad", _) => "a barrier of quads",
        ("MOVM", "shape", _) | ("LDSM" | "STSM", "layout", _) => "another shape of matrices",
        ("QMMA", "orders" | "shape", _) => "a shape of matrices that does not exist",
        ("NANOSLEEP", "unused", _) => "a sleep that ends otherwise, NANOSLEEP.CLEAR",
        ("BRXU", "kind", _) => "a branch of another kind",
        ("BAR", "mode", 3) => "BAR.SCAN: a prefix sum over the CTA",
        _ => return None,
    })
}

const BINDLESS: &str = "texture whose handle is in a constant bank";
const MULTICAST: &str = "load through a multicast address";
