//! Relations that must hold between the values of a description. Each value's own bounds are in the
//! model's rows. A value outside its bounds is reported there and still reaches the checks here, so a division has to
//! check its divisor.

use crate::error::Problem;
use crate::model::MAX_OP_CYCLES;
use crate::schema::is_timed;
use crate::{Allocate, Cache, Dram, GpuConfig, IndexFunction, OpTiming, Unit, WriteAllocate, WritePolicy};
use isa::{MatrixType, OpClass};
use std::collections::BTreeMap;

/// Bytes of a sector, the unit in which L1, L2 and DRAM talk.
const SECTOR_BYTES: u32 = 32;

/// Everything that does not fit together.
pub(crate) fn relations(config: &GpuConfig) -> Vec<Problem> {
    let mut found = Vec::new();
    divides(&mut found, "sm_count", config.sm_count, config.sms_per_cluster, "SMs per cluster (sms_per_cluster)");
    sub_cores(config, &mut found);
    units(config, &mut found);
    matrices(config, &mut found);
    fetch(config, &mut found);
    instruction_caches(config, &mut found);
    gpc_cache(config, &mut found);
    occupancy(config, &mut found);
    l1(config, &mut found);
    for (path, cache) in caches(config) {
        self::cache(path, cache, &mut found);
    }
    interconnect(config, &mut found);
    dram(config, &mut found);
    found
}

fn caches(config: &GpuConfig) -> [(&'static str, &Cache); 5] {
    let sm = &config.sm;
    let caches = [&sm.frontend.icache, &sm.l1d.cache, &sm.constant_cache, &sm.texture_cache, &config.l2.cache];
    std::array::from_fn(|i| (crate::schema::CACHES[i], caches[i]))
}

/// `whole` of `what` must divide evenly among `parts` of `among`.
fn divides(found: &mut Vec<Problem>, key: &str, whole: u32, parts: u32, among: &str) {
    if parts != 0 && !whole.is_multiple_of(parts) {
        found.push(
            Problem::new(key, format!("is {whole}, which does not divide among {parts} {among}"))
                .hint(format!("take a multiple of {parts}")),
        );
    }
}

/// In the sub-core model each scheduler has its own share of everything.
fn sub_cores(config: &GpuConfig, found: &mut Vec<Problem>) {
    let (issue, operands) = (&config.sm.issue, &config.sm.operands);
    let schedulers = issue.schedulers;
    divides(found, "sm.max_warps", config.sm.max_warps, schedulers, "schedulers");
    // The scheduler with its parameters is checked where the schedulers are.
    if !issue.scheduler.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-:=,".contains(&b)) {
        found.push(Problem::new("sm.issue.scheduler", format!("is `{}`, not a name", issue.scheduler)));
    }
    if !operands.sub_cores {
        return;
    }
    let among = "schedulers with a sub-core each (sm.operands.sub_cores)";
    divides(found, "sm.operands.banks", operands.banks, schedulers, among);
    divides(found, "sm.operands.collectors", operands.collectors, schedulers, among);
    divides(found, "sm.operands.in_ports", operands.in_ports, schedulers, among);
    divides(found, "sm.operands.out_ports", operands.out_ports, schedulers, among);
    for (unit, units) in &config.sm.units {
        let path = format!("sm.units.{}", unit.name());
        divides(found, &format!("{path}.issue_latches"), units.issue_latches, schedulers, among);
        divides(found, &format!("{path}.dispatch_latches"), units.dispatch_latches, schedulers, among);
        if *unit != Unit::Mem {
            shares(found, &format!("{path}.count"), units.count, schedulers);
        }
    }
}

/// Each sub-core has as many units of a kind as the others, or they share fewer of them evenly.
fn shares(found: &mut Vec<Problem>, key: &str, count: u32, schedulers: u32) {
    let even = |whole: u32, parts: u32| parts != 0 && whole.is_multiple_of(parts);
    if !even(count, schedulers) && !even(schedulers, count) {
        let message = format!("is {count}, which {schedulers} sub-cores (sm.operands.sub_cores) cannot share evenly");
        found.push(Problem::new(key, message).hint(format!("take a multiple or a divisor of {schedulers}")));
    }
}

/// Every class goes to a unit that exists; memory instructions go to the memory unit.
fn units(config: &GpuConfig, found: &mut Vec<Problem>) {
    let sm = &config.sm;
    for required in [Unit::Sp, Unit::Sfu, Unit::Mem] {
        if !sm.units.contains_key(&required) {
            let path = format!("sm.units.{}", required.name());
            found.push(Problem::new(path, "is missing: every SM has at least one such unit"));
        }
    }
    if sm.units.get(&Unit::Mem).is_some_and(|mem| mem.count != 1) {
        found.push(
            Problem::new("sm.units.mem.count", "must be 1: an SM has one load-store unit")
                .hint("its width is in the L1 and shared-memory banks"),
        );
    }
    for (table, timing) in [("ptx_timing", &sm.ptx_timing), ("sass_timing", &sm.sass_timing)] {
        timings(config, table, timing, found);
    }
}

fn timings(config: &GpuConfig, table: &str, timing: &BTreeMap<String, OpTiming>, found: &mut Vec<Problem>) {
    for class in OpClass::ALL.iter().filter(|class| is_timed(table, **class)) {
        let path = format!("sm.{table}.{}", class.name());
        let Some(op) = timing.get(class.name()) else {
            if class.part_of().is_some() {
                continue;
            }
            found.push(Problem::new(path, "is missing: every operation class needs its timing"));
            continue;
        };
        if !config.sm.units.contains_key(&op.unit) {
            let units: Vec<_> = config.sm.units.keys().map(|u| u.name()).collect();
            found.push(
                Problem::new(format!("{path}.unit"), format!("is `{}`, and the SM has no such unit", op.unit.name()))
                    .hint(format!("it has {}; or describe the unit in [sm.units]", units.join(", "))),
            );
        }
        for (key, cycles) in [("latency_cycles", op.latency_cycles), ("initiation_cycles", op.initiation_cycles)] {
            if op.unit == Unit::Mem && cycles != 1 {
                let message = format!("is {cycles}, must be 1: the unit `mem` takes the time that its memories take");
                found.push(Problem::new(format!("{path}.{key}"), message));
            }
        }
    }
}

/// The pipelines hold what the longest matrix operation takes.
fn matrices(config: &GpuConfig, found: &mut Vec<Problem>) {
    for ty in MatrixType::ALL {
        let Some(timing) = config.sm.tensor.get(ty.name()).filter(|t| t.multiply_adds_per_cycle > 0) else { continue };
        let most = ty.most_multiply_adds();
        let cycles = timing.latency_cycles.saturating_add(timing.initiation_cycles(most));
        if cycles > MAX_OP_CYCLES {
            let message =
                format!("so an operation of {most} multiply-adds takes {cycles} cycles, more than {MAX_OP_CYCLES}");
            found.push(Problem::new(format!("sm.tensor.{}.multiply_adds_per_cycle", ty.name()), message));
        }
    }
}

/// The instructions of a fetch must fit into an empty instruction buffer.
fn fetch(config: &GpuConfig, found: &mut Vec<Problem>) {
    let frontend = &config.sm.frontend;
    if frontend.instructions_per_fetch > frontend.buffer_entries {
        let (fetched, entries) = (frontend.instructions_per_fetch, frontend.buffer_entries);
        let message = format!("is {fetched}, more than the instruction buffer holds ({entries})");
        found
            .push(Problem::new("sm.frontend.instructions_per_fetch", message).hint("raise sm.frontend.buffer_entries"));
    }
}

/// A line of a sub-core must be within a line of L1.
fn instruction_caches(config: &GpuConfig, found: &mut Vec<Problem>) {
    let [l0, constant, l1] = config.sm.instruction_caches.line_bytes();
    for (key, bytes) in [("l0_line_bytes", l0), ("constant_line_bytes", constant)] {
        if bytes > l1 {
            let message = format!("is {bytes}, more than the line of L1 that it comes from ({l1})");
            let problem = Problem::new(format!("sm.instruction_caches.{key}"), message);
            found.push(problem.hint("raise sm.instruction_caches.l1_line_bytes"));
        }
    }
}

/// A line of an SM's cache of instructions or constants must be within a line of its GPC's cache, and what launches fetch
/// needs one.
fn gpc_cache(config: &GpuConfig, found: &mut Vec<Problem>) {
    let most = config.gpc_cache.line_bytes();
    let [_, _, l1] = config.sm.instruction_caches.line_bytes();
    let caches = [
        ("sm.instruction_caches.l1_line_bytes", l1),
        ("sm.frontend.icache.line_bytes", config.sm.frontend.icache.line_bytes),
        ("sm.constant_cache.line_bytes", config.sm.constant_cache.line_bytes),
    ];
    for (key, bytes) in caches {
        if config.gpc_cache.sets.is_some() && bytes > most {
            let message = format!("is {bytes}, more than the line of the GPC's cache that it comes from ({most})");
            found.push(Problem::new(key, message).hint("raise gpc_cache.line_bytes"));
        }
    }
    let fetches = [
        ("launch.prefetched_code_bytes", config.launch.prefetched_code_bytes.is_some_and(|bytes| bytes > 0)),
        ("launch.prefetches_parameters", config.launch.prefetches_parameters == Some(true)),
    ];
    for (key, _) in fetches.into_iter().filter(|&(_, fetches)| fetches && config.gpc_cache.sets.is_none()) {
        let message = "needs a cache to fetch into, and GPCs have none";
        found.push(Problem::new(key, message).hint("give gpc_cache.sets, or leave it out"));
    }
}

/// At least one CTA of one warp must fit.
fn occupancy(config: &GpuConfig, found: &mut Vec<Problem>) {
    let sm = &config.sm;
    let unit = u64::from(sm.register_allocation_unit.max(1));
    let most = (u64::from(sm.max_registers_per_thread) * 32).div_ceil(unit) * unit;
    if u64::from(sm.registers) < most {
        found.push(
            Problem::new("sm.registers", format!("is {}, less than one warp may ask for ({most})", sm.registers))
                .hint("lower sm.max_registers_per_thread or give the SM more"),
        );
    }
    if sm.max_shared_bytes_per_cta > sm.shared.bytes {
        found.push(Problem::new(
            "sm.max_shared_bytes_per_cta",
            format!(
                "is {}, more than the SM has (sm.shared.bytes is {})",
                sm.max_shared_bytes_per_cta, sm.shared.bytes
            ),
        ));
    }
}

/// L1 and shared memory share one array, or do not.
fn l1(config: &GpuConfig, found: &mut Vec<Problem>) {
    let (l1, shared) = (&config.sm.l1d, &config.sm.shared);
    let key = "sm.l1d.shared_carveouts_bytes";
    let carveouts = &l1.shared_carveouts_bytes;
    if l1.unified_bytes == 0 {
        if !carveouts.is_empty() {
            found.push(
                Problem::new(key, "must be empty: L1 and shared memory are separate (sm.l1d.unified_bytes is 0)")
                    .hint("give sm.l1d.unified_bytes the size of the common array"),
            );
        }
        return;
    }
    if !carveouts.windows(2).all(|w| w[0] < w[1]) {
        found.push(Problem::new(key, "must ascend without repetition"));
    }
    match carveouts.last() {
        None => found.push(Problem::new(key, "must not be empty where L1 and shared memory share one array")),
        Some(&largest) if largest != shared.bytes => found.push(
            Problem::new(key, format!("ends with {largest}, but sm.shared.bytes is {}", shared.bytes))
                .hint("the largest carve-out is the most shared memory there can be"),
        ),
        Some(&largest) if largest >= l1.unified_bytes => found.push(Problem::new(
            key,
            format!("ends with {largest}, which leaves no L1 out of {} bytes (sm.l1d.unified_bytes)", l1.unified_bytes),
        )),
        Some(_) => {}
    }
    let way = u64::from(l1.cache.sets) * u64::from(l1.cache.line_bytes);
    for &part in carveouts.iter().filter(|&&part| part < l1.unified_bytes) {
        let left = u64::from(l1.unified_bytes - part);
        if way != 0 && !left.is_multiple_of(way) {
            let message =
                format!("has {part}, which leaves L1 {left} bytes: not whole ways of {way} bytes (sets x line)");
            found.push(Problem::new(key, message));
        }
    }
}

/// The combinations that a cache cannot work with.
fn cache(path: &str, cache: &Cache, found: &mut Vec<Problem>) {
    let mut wrong = |key: &str, message: String| found.push(Problem::new(format!("{path}.{key}"), message));
    if !["sm.l1d.cache", "l2.cache"].contains(&path) && cache.write != WritePolicy::ReadOnly {
        wrong("write", "must be read_only: nothing is written through this cache".into());
    }
    if cache.line_bytes != 0 && cache.port_bytes > cache.line_bytes {
        wrong("port_bytes", format!("is {}, wider than a line ({} bytes)", cache.port_bytes, cache.line_bytes));
    }
    if cache.allocate != Allocate::OnMiss && cache.write == WritePolicy::WriteBack {
        wrong("allocate", "must be on_miss in a write-back cache: a fill that evicts a dirty line can deadlock".into());
    }
    let through = cache.write == WritePolicy::WriteThrough;
    if cache.allocate != Allocate::OnMiss {
        match cache.write_allocate {
            WriteAllocate::FetchOnWrite => {
                wrong("write_allocate", "needs allocate = on_miss: the written bytes need a line at once".into());
            }
            WriteAllocate::LazyFetchOnRead if !through => {
                wrong("write_allocate", "needs allocate = on_miss in a cache that is not write_through".into());
            }
            _ => {}
        }
    }
    if cache.write == WritePolicy::ReadOnly && cache.write_allocate != WriteAllocate::None {
        wrong("write_allocate", "must be none in a read-only cache".into());
    }
    match cache.index {
        IndexFunction::Fermi if ![32, 64].contains(&cache.sets) => {
            wrong("sets", format!("is {}; Fermi's hash is defined for 32 and 64 sets", cache.sets));
        }
        IndexFunction::Xor | IndexFunction::IPoly if !cache.sets.is_power_of_two() => {
            wrong("sets", format!("is {}; this index function needs a power of two", cache.sets));
        }
        IndexFunction::IPoly if cache.sets > 4096 => {
            wrong("sets", format!("is {}; the polynomial hash is defined for up to 4096 sets", cache.sets));
        }
        _ => {}
    }
}

/// A sector and its header must get through, and data must come in whole bursts.
fn interconnect(config: &GpuConfig, found: &mut Vec<Problem>) {
    let slices = config.l2.partitions.saturating_mul(config.l2.slices_per_partition);
    if slices > 1024 {
        found.push(Problem::new("l2.partitions", format!("makes {slices} slices, more than 1024")));
    }
    if config.l2.cache.line_bytes < SECTOR_BYTES {
        found.push(Problem::new("l2.cache.line_bytes", format!("must be at least a sector of {SECTOR_BYTES} bytes")));
    }
}

fn dram(config: &GpuConfig, found: &mut Vec<Problem>) {
    let dram = &config.dram;
    let burst = dram.bus_bytes.saturating_mul(dram.chips_per_channel).saturating_mul(dram.burst_length);
    if burst == 0 || !burst.is_multiple_of(SECTOR_BYTES) && !SECTOR_BYTES.is_multiple_of(burst) {
        found.push(
            Problem::new(
                "dram.burst_length",
                format!("makes bursts of {burst} bytes, which do not fit {SECTOR_BYTES}-byte sectors"),
            )
            .hint("a burst is bus_bytes x chips_per_channel x burst_length"),
        );
    }
    let timing = &dram.timing;
    if timing.nbkgrp > timing.nbk {
        let message = format!("is {}, more than there are banks ({})", timing.nbkgrp, timing.nbk);
        found.push(Problem::new("dram.timing.nbkgrp", message));
    }
    refresh(dram, found);
    if timing.tRC < timing.tRAS {
        let message = format!("is {}, less than tRAS ({})", timing.tRC, timing.tRAS);
        found.push(Problem::new("dram.timing.tRC", message).hint("tRC is about tRAS + tRP"));
    }
    if timing.nbkgrp > 1 && timing.tCCDL < timing.tCCD {
        let message = format!("is {}, less than tCCD ({})", timing.tCCDL, timing.tCCD);
        found.push(Problem::new("dram.timing.tCCDL", message).hint("columns of one bank group follow no faster"));
    }
    if let Some([entries, high, low]) = dram.write_queue
        && !(low < high && high <= entries)
    {
        let message = format!("is [{entries}, {high}, {low}], must descend: entries, drain above, drain until below");
        found.push(Problem::new("dram.write_queue", message));
    }
    address_map(config, found);
}

/// The map must name each bank, and leave room for rows and columns.
fn address_map(config: &GpuConfig, found: &mut Vec<Problem>) {
    let key = "dram.address_map";
    let map = &config.dram.address_map;
    let hint = "for example RRRRRRRR.RBBBCCCB.CCCSSSSS: most significant bit first";
    if let Some(strange) = map.chars().find(|c| !"RBCS0.".contains(*c)) {
        found.push(Problem::new(key, format!("has `{strange}`; only R, B, C, S, 0 and dots may be there")).hint(hint));
        return;
    }
    let count = |letter: char| u32::try_from(map.matches(letter).count()).unwrap_or(u32::MAX);
    let bits = ['R', 'B', 'C', 'S', '0'].map(count).iter().fold(0u32, |a, &b| a.saturating_add(b));
    if bits > 64 {
        found.push(Problem::new(key, format!("has {bits} bits, more than 64")).hint(hint));
    }
    for (letter, what) in [('R', "row"), ('C', "column")] {
        if count(letter) == 0 {
            found.push(Problem::new(key, format!("has no {what} bits ({letter})")).hint(hint));
        }
    }
    let banks = config.dram.timing.nbk;
    if banks.is_power_of_two() && count('B') != banks.ilog2() {
        let message =
            format!("has {} bank bits (B), but {banks} banks (dram.timing.nbk) need {}", count('B'), banks.ilog2());
        found.push(Problem::new(key, message).hint(hint));
    }
}

/// A refresh closes rows: between two of them there must be time to open some and to use them.
fn refresh(dram: &Dram, found: &mut Vec<Problem>) {
    let t = &dram.timing;
    let Some(interval) = t.tREFI else { return };
    let activate = [t.tRC, t.tRCD, t.tRP, t.tRRD, t.tFAW.unwrap_or(0)];
    let column = [t.tCL, t.tWL, t.tWR, t.tCDLR, t.tCCDL, dram.burst_length];
    let rows = activate.iter().chain(&column).map(|&n| 4 * u64::from(n)).sum::<u64>();
    let least = rows + u64::from(t.tRFC.unwrap_or(0));
    if u64::from(interval) < least {
        let message = format!("is {interval}: with this timing a refresh leaves no time to use rows");
        found.push(Problem::new("dram.timing.tREFI", message).hint(format!("take {least} or more")));
    }
}
