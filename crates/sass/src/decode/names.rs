//! Instructions that are known by name and not decoded, for messages: bits 0 to 11, first and last architecture, name,
//! what it is for. Names: nvdisasm 11.8 of words with these bits.

/// Name and purpose of the instruction with this opcode; `None` if it is not in the table.
pub fn of(code: u16, sm: u8) -> Option<(&'static str, &'static str)> {
    let row = ROWS.iter().find(|row| row.0 == code && (row.1..=row.2).contains(&sm))?;
    Some((row.3, row.4))
}

/// The table.
pub const ROWS: &[(u16, u8, u8, &str, &str)] = &[
    (0x9c7, 90, 90, "UCGABAR_ARV", CLUSTER),
    (0xdc7, 90, 90, "UCGABAR_WAIT", CLUSTER),
    (0x5b2, 90, 90, "SYNCS", ASYNC_BARRIER),
    (0x5a7, 90, 90, "SYNCS", ASYNC_BARRIER),
    (0x9a7, 90, 90, "SYNCS.ARRIVE", ASYNC_BARRIER),
    (0x3b2, 90, 90, "SYNCS", ASYNC_BARRIER),
    (0x5b1, 90, 90, "SYNCS", ASYNC_BARRIER),
    (0x9b1, 90, 90, "SYNCS", ASYNC_BARRIER),
    (0x9b2, 90, 90, "SYNCS", ASYNC_BARRIER),
    (0x3ba, 90, 90, "UBLKCP", BULK_COPY),
    (0x3bb, 90, 90, "UBLKRED", BULK_COPY),
    (0x3bc, 90, 90, "UBLKPF", BULK_COPY),
    (0x3b4, 90, 90, "UTMALDG", TENSOR_COPY),
    (0x5b4, 90, 90, "UTMALDG", TENSOR_COPY),
    (0x3b5, 90, 90, "UTMASTG", TENSOR_COPY),
    (0x3b6, 90, 90, "UTMAREDG", TENSOR_COPY),
    (0x3b8, 90, 90, "UTMAPF", TENSOR_COPY),
    (0x5b8, 90, 90, "UTMAPF", TENSOR_COPY),
    (0x9b7, 90, 90, "UTMACMDFLUSH", TENSOR_COPY),
    (0x9b9, 90, 90, "UTMACCTL", TENSOR_COPY),
    (0x9a4, 90, 90, "LDGMC", MULTICAST),
    (0x9a5, 90, 90, "LDGMC", MULTICAST),
    (0xdbd, 90, 90, "STAS", REMOTE),
    (0xdbe, 90, 90, "REDAS", REMOTE),
    (0x582, 75, 90, "LDC", "a constant bank given by a uniform register"),
];

/// Meaning of a value of a field that decoding refuses; `None` if it is not known.
pub fn reserved(op: &str, field: &str, value: u64) -> Option<&'static str> {
    Some(match (op, field, value) {
        ("HMMA", "shape", 3) => "HMMA.SP: multiplication of sparse matrices",
        ("ATOMG" | "ATOM" | "ATOMS", "type", 4) => "an atomic access to 128 bits",
        ("RED" | "REDG" | "ATOMG" | "ATOM", "type", 1 | 2 | 5 | 10 | 11 | 13 | 14) => {
            "an atomic access to a vector of floating-point numbers"
        }
        ("RED" | "REDG" | "ATOMG" | "ATOM", "type", 12) => "an atomic access to f32 without flush to zero",
        ("RED" | "REDG" | "ATOMG" | "ATOM", "operation", 2 | 4 | 10 | 12) => {
            "a minimum or maximum of floating-point numbers in memory"
        }
        ("LD" | "LDG" | "LDS", "zd", 1) => "a load that gives inactive lanes zeros",
        _ => return None,
    })
}

const CLUSTER: &str = "barrier of a cluster";
const ASYNC_BARRIER: &str = "barrier in shared memory that counts transactions";
const BULK_COPY: &str = "bulk copy";
const TENSOR_COPY: &str = "copy of a tensor";
const MULTICAST: &str = "load through a multicast address";
const REMOTE: &str = "access to the shared memory of another CTA of the cluster, which completes at a barrier";
