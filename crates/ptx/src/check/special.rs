//! Special registers.

use crate::types::Type;

/// Whether `name` is one of the special registers of the ISA, such as `%tid` or `%clock64`.
pub fn is_special_register(name: &str) -> bool {
    if !name.starts_with('%') {
        return false;
    }
    if SPECIAL.contains(&name) {
        return true;
    }
    let name = &name[1..];
    let numbered = |prefix: &str, limit: u32| {
        let digits = name.strip_prefix(prefix);
        digits.is_some_and(|d| !d.starts_with('+') && d.parse().is_ok_and(|n: u32| n < limit))
    };
    let performance = name.strip_suffix("_64").unwrap_or(name);
    let counter = performance.strip_prefix("pm").is_some_and(|d| matches!(d.as_bytes(), [b'0'..=b'7']));
    counter || numbered("envreg", 32) || numbered("reserved_smem_offset_", 2)
}

pub(super) const SPECIAL: &[&str] = &[
    "%tid",
    "%ntid",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%ctaid",
    "%nctaid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%is_explicit_cluster",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%current_graph_exec",
];

/// The type of a special register, if it has exactly one.
pub(super) fn special_type(name: &str) -> Option<Type> {
    match name {
        "%clock64" | "%globaltimer" | "%current_graph_exec" => Some(Type::U64),
        "%is_explicit_cluster" => Some(Type::Pred),
        // 32 bits before PTX 3.0; both are accepted.
        "%gridid" => None,
        _ if name.ends_with("_64") => Some(Type::U64),
        _ if is_special_register(name) => Some(Type::U32),
        _ => None,
    }
}
