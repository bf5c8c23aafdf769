//! Shared memory, L1, interconnect, L2 and DRAM of Accel-Sim's files.

use super::cache;
use super::reader::Reader;
use crate::{
    Arbiter, Cache, Clocks, Dram, DramTiming, Interconnect, InvalidatingFences, L1Data, L2, PartitionIndex,
    SharedMemory,
};

/// How much larger GPGPU-Sim lets an adaptive L1 grow than its configured size.
const ADAPTIVE_GROWTH: u32 = 4;

pub(super) fn shared(reader: &mut Reader) -> SharedMemory {
    SharedMemory {
        bytes: reader.int("-gpgpu_shmem_size"),
        banks: reader.int("-gpgpu_shmem_num_banks"),
        latency_cycles: reader.int("-gpgpu_smem_latency"),
        bytes_per_cycle: None,
        limited_broadcast: reader.flag("-gpgpu_shmem_limited_broadcast"),
        atomic_lane_cycles: None,
    }
}

pub(super) fn l1d(reader: &mut Reader, sm_version: u32, shared_bytes: u32) -> L1Data {
    let none = reader.text("-gpgpu_cache:dl1") == "none";
    let cache = if none { cache::smallest() } else { cache::read(reader, "-gpgpu_cache:dl1") };
    let mut skip_global = reader.flag("-gpgpu_gmem_skip_L1D");
    if none {
        skip_global = true;
        reader.cannot(
            "-gpgpu_cache:dl1",
            "there is no L1 at all",
            "global memory skips L1; local memory has a cache of 512 bytes",
        );
    }
    let (unified_bytes, shared_carveouts_bytes) = unified(reader, &cache, shared_bytes);
    coalescing(reader, sm_version, &cache, skip_global);
    L1Data {
        latency_cycles: reader.int("-gpgpu_l1_latency"),
        banks: reader.int("-gpgpu_l1_banks"),
        bank_interleave_bytes: reader.int("-gpgpu_l1_banks_byte_interleaving"),
        bank_hash: None,
        look_up_order: None,
        bytes_per_cycle: None,
        skip_global,
        write_ratio_percent: reader.int("-gpgpu_l1_cache_write_ratio"),
        unified_bytes,
        shared_carveouts_bytes,
        // The option says what happens between kernels; shader.cc has it for memory barriers too.
        fences_invalidate: match reader.flag("-gpgpu_flush_l1_cache") {
            true => InvalidatingFences::All,
            false => InvalidatingFences::None,
        },
        cache,
    }
}

/// Size of the array that L1 and shared memory share, and the carve-outs for shared memory.
fn unified(reader: &mut Reader, cache: &Cache, shared_bytes: u32) -> (u32, Vec<u32>) {
    let kilobytes = |k: u32| k.saturating_mul(1024);
    if !reader.flag("-gpgpu_adaptive_cache_config") {
        for name in ["-gpgpu_unified_l1d_size", "-gpgpu_shmem_option"] {
            reader.ignored(name, "L1 and shared memory are separate: -gpgpu_adaptive_cache_config is 0");
        }
        return (0, Vec::new());
    }
    let unified = match reader.int("-gpgpu_unified_l1d_size") {
        // Before there was an option, L1 could grow fourfold.
        0 => u32::try_from(cache.capacity_bytes()).unwrap_or(u32::MAX).saturating_mul(ADAPTIVE_GROWTH),
        size => kilobytes(size),
    };
    let carveouts = if reader.is_given("-gpgpu_shmem_option") {
        reader.list("-gpgpu_shmem_option", ',', 1, 64).into_iter().map(kilobytes).collect()
    } else {
        // The choices that GPGPU-Sim 4.0 has built in.
        let built_in = [0, 8, 16, 32, 64].into_iter().map(kilobytes);
        built_in.filter(|&bytes| bytes < shared_bytes).chain([shared_bytes]).collect()
    };
    (unified, carveouts)
}

/// Here, how a warp's accesses are grouped follows from the L1 and the architecture; GPGPU-Sim has an
/// option for it.
fn coalescing(reader: &mut Reader, sm_version: u32, cache: &Cache, skip_global: bool) {
    let name = "-gpgpu_coalesce_arch";
    let by_sectors = match reader.int(name) {
        0..20 => {
            reader.cannot(name, "half-warps are coalesced, as before Fermi", "whole warps are");
            return;
        }
        20..40 => skip_global,
        40.. => true,
    };
    if by_sectors != (sm_version >= 40 || cache.sectored || skip_global) {
        let (asked, done) =
            if by_sectors { ("32-byte sectors", "128-byte lines") } else { ("128-byte lines", "32-byte sectors") };
        reader.cannot(
            name,
            format!("accesses are grouped into {asked}"),
            format!("into {done}, as sm_version and sm.l1d.cache.sectored say"),
        );
    } else {
        reader.understood(name, "follows from sm_version, sm.l1d.cache.sectored and sm.l1d.skip_global");
    }
}

pub(super) fn interconnect(reader: &mut Reader) -> Interconnect {
    // Files for Booksim do not give the crossbar's buffers: those of the other GPUs' files.
    const USUAL_BUFFER: u32 = 512;
    let booksim = reader.int("-network_mode") == 1;
    let buffer = |reader: &mut Reader, name| {
        if booksim && !reader.is_given(name) { USUAL_BUFFER } else { reader.int(name) }
    };
    let arbiter = match reader.int("-icnt_arbiter_algo") {
        0 => Arbiter::RoundRobin,
        1 => Arbiter::Islip,
        _ => {
            reader.malformed("-icnt_arbiter_algo", "0 (round robin) or 1 (iSLIP)");
            Arbiter::Islip
        }
    };
    Interconnect {
        flit_bytes: reader.int("-icnt_flit_size"),
        input_buffer_packets: buffer(reader, "-icnt_in_buffer_limit"),
        output_buffer_packets: buffer(reader, "-icnt_out_buffer_limit"),
        arbiter,
        ejection_buffer_packets: reader.int("-gpgpu_n_cluster_ejection_buffer_size"),
    }
}

/// `cycles` of the clock `from`, in cycles of the clock `to`.
fn convert(cycles: u32, from_mhz: f64, to_mhz: f64) -> u32 {
    let converted = (f64::from(cycles) * to_mhz / from_mhz).round();
    if converted.is_finite() { converted as u32 } else { cycles }
}

pub(super) fn l2(reader: &mut Reader, clocks: &Clocks) -> L2 {
    let name = "-gpgpu_memory_partition_indexing";
    let partition_index = match reader.int(name) {
        0 => PartitionIndex::Linear,
        1 => PartitionIndex::Xor,
        2 => PartitionIndex::IPoly,
        other => {
            let what = match other {
                3 => "hashing by page (PAE)",
                4 => "a random partition for each address",
                _ => "an index function of one's own",
            };
            reader.cannot(name, what, "the irreducible polynomial");
            PartitionIndex::IPoly
        }
    };
    let queues = reader.list("-gpgpu_dram_partition_queues", ':', 4, 4);
    let latency = reader.int("-gpgpu_l2_rop_latency");
    if clocks.l2_mhz != clocks.core_mhz {
        reader.understood("-gpgpu_l2_rop_latency", "l2.latency_cycles, converted from core cycles to L2 cycles");
    }
    L2 {
        partitions: reader.int("-gpgpu_n_mem"),
        slices_per_partition: reader.int("-gpgpu_n_sub_partition_per_mchannel"),
        cache: cache::read(reader, "-gpgpu_cache:dl2"),
        latency_cycles: convert(latency, clocks.core_mhz, clocks.l2_mhz),
        far_latency_cycles: None,
        request_bytes_per_cycle: None,
        queue_entries: [queues[0], queues[1], queues[2], queues[3]],
        partition_index,
    }
}

pub(super) fn dram(reader: &mut Reader, clocks: &Clocks) -> Dram {
    /// Stands for GPGPU-Sim's unlimited queues.
    const UNLIMITED: u32 = 65_536;
    let queue = |reader: &mut Reader, name| match reader.int(name) {
        0 => {
            reader.understood(name, format!("unlimited there, {UNLIMITED} here"));
            UNLIMITED
        }
        entries => entries,
    };
    let scheduler_queue = match reader.int("-gpgpu_dram_scheduler") {
        0 => {
            reader.ignored("-gpgpu_frfcfs_dram_sched_queue_size", "requests are served first come, first served");
            0
        }
        _ => queue(reader, "-gpgpu_frfcfs_dram_sched_queue_size"),
    };
    let (address_map, channel_bit) = address_map(reader);
    reader.understood("-dram_latency", "dram.latency_cycles, converted from core cycles to command cycles");
    let latency = reader.int("-dram_latency");
    let (burst_length, data_rate) =
        (reader.int("-gpgpu_dram_burst_length"), reader.int("-dram_data_command_freq_ratio"));
    let write_queue = if reader.flag("-dram_seperate_write_queue_enable") {
        let sizes = reader.list("-dram_write_queue_size", ':', 3, 3);
        Some([sizes[0], sizes[1], sizes[2]])
    } else {
        reader.ignored(
            "-dram_write_queue_size",
            "there is no separate write queue: -dram_seperate_write_queue_enable is 0",
        );
        None
    };
    Dram {
        technology: technology(burst_length, data_rate).into(),
        bus_bytes: reader.int("-gpgpu_dram_buswidth"),
        chips_per_channel: reader.int("-gpgpu_n_mem_per_ctrlr"),
        burst_length,
        data_rate,
        scheduler: None,
        scheduler_queue,
        return_queue: queue(reader, "-gpgpu_dram_return_queue_size"),
        latency_cycles: convert(latency, clocks.core_mhz, clocks.dram_mhz),
        address_map,
        channel_bit,
        dual_command_bus: reader.flag("-dram_dual_bus_interface"),
        bank_hash: reader.flag("-dram_bnk_indexing_policy"),
        bank_group_low_bits: reader.flag("-dram_bnkgrp_indexing_policy"),
        write_queue,
        timing: timing(reader),
    }
}

/// GPGPU-Sim's files do not name the technology; burst length and data rate identify it well enough.
fn technology(burst_length: u32, data_rate: u32) -> &'static str {
    match (burst_length, data_rate) {
        (..=4, ..=2) => "HBM2",
        (16.., _) => "GDDR6",
        (8, 4) => "GDDR5",
        _ => "DRAM",
    }
}

/// The map of an address to DRAM without the channel's bits, and the lowest of these: `dramid@8;0000RRRR.…`, a map in
/// which they are `D`, or one of GPGPU-Sim's own.
fn address_map(reader: &mut Reader) -> (String, u32) {
    let name = "-gpgpu_mem_addr_mapping";
    if !reader.is_given(name) {
        return map_by_number(reader);
    }
    reader.ignored("-gpgpu_mem_address_mask", "chooses a mapping for files without -gpgpu_mem_addr_mapping");
    let text = reader.text(name);
    let (channel, map) = text.split_once(';').unwrap_or(("", &text));
    let map: String = map.chars().filter(|c| !c.is_whitespace() && *c != '|').collect();
    let map = map.to_ascii_uppercase();
    let known = map.chars().all(|c| "DRBCS0.".contains(c));
    let bit = channel.trim().strip_prefix("dramid@").and_then(|bit| bit.trim().parse().ok());
    let parsed = match bit {
        Some(bit) if known && !map.contains('D') => Some((map, bit)),
        None if known && channel.is_empty() => without_channel(reader, &map),
        _ => None,
    };
    parsed.unwrap_or_else(|| {
        reader.malformed(
            name,
            "dramid@<lowest bit of the channel>;<bits as R, B, C, S or 0, most significant first>, or such bits with \
             neighbouring D for a channel that is a power of two and not hashed",
        );
        (String::new(), 0)
    })
}

/// `map` without its `D`, and the lowest bit that had one, if they number the channels as a run of bits that nothing
/// hashes: GPGPU-Sim's hashes then begin at another bit.
fn without_channel(reader: &mut Reader, map: &str) -> Option<(String, u32)> {
    let channels = reader.int("-gpgpu_n_mem");
    let bits: Vec<char> = map.chars().rev().filter(|c| *c != '.').collect();
    let low = bits.iter().position(|c| *c == 'D')?;
    let run = bits[low..].iter().take_while(|c| **c == 'D').count();
    let all = bits.iter().filter(|c| **c == 'D').count();
    let numbers_channels = channels.is_power_of_two() && channels.ilog2() as usize == run && run == all;
    let is_hashed = reader.int("-gpgpu_memory_partition_indexing") != 0;
    (numbers_channels && !is_hashed).then(|| (map.replace('D', ""), low as u32))
}

/// The map that `-gpgpu_mem_address_mask` chooses (`linear_to_raw_address_translation::init`).
fn map_by_number(reader: &mut Reader) -> (String, u32) {
    let name = "-gpgpu_mem_address_mask";
    let number = reader.int(name);
    let channel_bit = match number {
        0 => 10,
        1 => 13,
        2 | 3 => 11,
        5 | 6 | 14..=16 => number,
        106 | 160 => 6,
        _ => {
            reader.malformed(name, "0 to 3, 5, 6, 14 to 16, 106 or 160");
            return (String::new(), 0);
        }
    };
    let rows = if number == 3 { 15 } else { 14 };
    let low = if matches!(number, 0 | 160) { "CCCBBCCCCCCCC" } else { "BBCCCCCCCCCCC" };
    (format!("{}{low}", "R".repeat(rows)), channel_bit)
}

/// Named parts (`nbk=16:CCD=4:…`) or, as in old files, fourteen numbers in order.
fn timing(reader: &mut Reader) -> DramTiming {
    const NAMES: [&str; 14] =
        ["nbk", "CCD", "RRD", "RCD", "RAS", "RP", "RC", "CL", "WL", "CDLR", "WR", "nbkgrp", "CCDL", "RTPL"];
    /// The last three have defaults: no bank groups.
    const DEFAULTS: [u32; 3] = [1, 0, 0];
    const REQUIRED: usize = NAMES.len() - DEFAULTS.len();
    let name = "-gpgpu_dram_timing_opt";
    let text = reader.text(name);
    let mut values: [Option<u32>; 14] = [None; 14];
    let mut wrong = None;
    for (i, part) in text.split([':', ';']).map(str::trim).filter(|p| !p.is_empty()).enumerate() {
        let (slot, number) = match part.split_once('=') {
            Some((key, number)) => (NAMES.iter().position(|n| *n == key.trim()), number),
            None => (Some(i).filter(|i| *i < NAMES.len()), part),
        };
        match (slot, number.trim().parse()) {
            (Some(slot), Ok(number)) => values[slot] = Some(number),
            _ => wrong = Some(part.to_string()),
        }
    }
    for (value, default) in values[REQUIRED..].iter_mut().zip(DEFAULTS) {
        value.get_or_insert(default);
    }
    let missing: Vec<_> = NAMES.iter().zip(values).filter(|(_, v)| v.is_none()).map(|(n, _)| *n).collect();
    if let Some(part) = wrong {
        reader.malformed(
            name,
            &format!("{}, each with a number; `{}` is not", NAMES.join(", "), kit::text::excerpt(&part)),
        );
    } else if !missing.is_empty() {
        reader.malformed(name, &format!("{}, each with a number; {} missing", NAMES.join(", "), missing.join(", ")));
    }
    let [nbk, ccd, rrd, rcd, ras, rp, rc, cl, wl, cdlr, wr, nbkgrp, ccdl, rtpl] = values.map(|v| v.unwrap_or(1));
    DramTiming {
        nbk,
        nbkgrp,
        tCCD: ccd,
        tCCDL: ccdl,
        tRRD: rrd,
        tFAW: None,
        tREFI: None,
        tRFC: None,
        tRCD: rcd,
        tRAS: ras,
        tRP: rp,
        tRC: rc,
        tCL: cl,
        tWL: wl,
        tCDLR: cdlr,
        tWR: wr,
        tRTPL: rtpl,
    }
}
