//! Cache strings of Accel-Sim's files.

use super::reader::Reader;
use crate::{Allocate, Cache, IndexFunction, Replacement, WriteAllocate, WritePolicy};

const CACHE_FORMAT: &str = "<N|S>:<sets>:<line>:<ways>,<replacement>:<write>:<allocate>:<write allocate>:<index>,\
     <mshr type>:<entries>:<merges>,<miss queue>[:<result queue>][,<port bytes>]";

/// Parses a cache string. Old files lack the type, the index function and the last parts.
pub(super) fn read(reader: &mut Reader, name: &'static str) -> Cache {
    let text = reader.text(name);
    match parse_cache(&text) {
        Ok(Parsed { cache, custom_index }) => {
            if custom_index {
                reader.cannot(
                    name,
                    "has an index function of one's own (C)",
                    "the exclusive-or of the upper bits is used",
                );
            }
            cache
        }
        Err(part) => {
            reader.malformed(name, &format!("{CACHE_FORMAT}; the trouble is in {part}"));
            smallest()
        }
    }
}

struct Parsed {
    cache: Cache,
    custom_index: bool,
}

/// `Err` names the part.
fn parse_cache(text: &str) -> Result<Parsed, &'static str> {
    let mut groups = text.split(',').map(str::trim);
    let mut group = |what| groups.next().filter(|g| !g.is_empty()).ok_or(what);
    let shape = group("the shape")?;
    let policies = group("the policies")?;
    let mshr = group("the MSHRs")?;
    let queues = groups.next().unwrap_or("0");
    let port = groups.next();

    let number = |s: Option<&str>, what| s.and_then(|s| s.trim().parse::<u32>().ok()).ok_or(what);
    let mut shape: Vec<&str> = shape.split(':').map(str::trim).collect();
    let sectored = match shape.first() {
        Some(&"S") => true,
        Some(&"N") => false,
        // GPGPU-Sim 3 had no sectored caches and no such letter.
        _ => {
            shape.insert(0, "N");
            false
        }
    };
    let sets = number(shape.get(1).copied(), "the number of sets")?;
    let line_bytes = number(shape.get(2).copied(), "the line size")?;
    let ways = number(shape.get(3).copied(), "the number of ways")?;

    let mut letters = policies.split(':').map(str::trim);
    let replacement = match letters.next() {
        Some("L") => Replacement::Lru,
        Some("F") => Replacement::Fifo,
        _ => return Err("the replacement policy (L, F)"),
    };
    let write = match letters.next() {
        Some("R") => WritePolicy::ReadOnly,
        Some("B") => WritePolicy::WriteBack,
        Some("T") => WritePolicy::WriteThrough,
        Some("E") => WritePolicy::WriteEvict,
        Some("L") => WritePolicy::LocalWriteBackGlobalWriteThrough,
        _ => return Err("the write policy (R, B, T, E, L)"),
    };
    let allocate = match letters.next() {
        Some("m") => Allocate::OnMiss,
        Some("f") => Allocate::OnFill,
        Some("s") => Allocate::Streaming,
        _ => return Err("the allocation policy (m, f, s)"),
    };
    let write_allocate = match letters.next() {
        Some("N") => WriteAllocate::None,
        Some("W") => WriteAllocate::Write,
        Some("F") => WriteAllocate::FetchOnWrite,
        Some("L") => WriteAllocate::LazyFetchOnRead,
        _ => return Err("the write-allocation policy (N, W, F, L)"),
    };
    let letter = letters.next();
    let index = match letter {
        None | Some("L") if sets.is_power_of_two() => IndexFunction::Linear,
        None | Some("L") => IndexFunction::Masked,
        Some("H") => IndexFunction::Fermi,
        Some("P") => IndexFunction::IPoly,
        Some("X" | "C") => IndexFunction::Xor,
        Some(_) => return Err("the index function (L, H, P, X, C)"),
    };

    let mut mshr = mshr.split(':').map(str::trim);
    if !matches!(mshr.next(), Some("A" | "S" | "F" | "T")) {
        return Err("the MSHR type (A, S, F, T)");
    }
    let mshr_entries = number(mshr.next(), "the MSHR entries")?;
    let mshr_merges = number(mshr.next(), "the MSHR merges")?;
    let miss_queue = number(queues.split(':').next(), "the miss queue")?;
    let port_bytes = match port {
        None => line_bytes,
        some => match number(some, "the port width")? {
            0 => line_bytes,
            bytes => bytes,
        },
    };
    let cache = Cache {
        sectored,
        sets,
        line_bytes,
        ways,
        replacement,
        write,
        allocate,
        write_allocate,
        index,
        mshr_entries,
        mshr_merges,
        miss_queue,
        port_bytes,
    };
    Ok(Parsed { cache, custom_index: letter == Some("C") })
}

/// The smallest cache there can be.
pub(super) fn smallest() -> Cache {
    Cache {
        sectored: true,
        sets: 1,
        line_bytes: 128,
        ways: 4,
        replacement: Replacement::Lru,
        write: WritePolicy::LocalWriteBackGlobalWriteThrough,
        allocate: Allocate::OnMiss,
        write_allocate: WriteAllocate::None,
        index: IndexFunction::Linear,
        mshr_entries: 4,
        mshr_merges: 4,
        miss_queue: 4,
        port_bytes: 32,
    }
}
