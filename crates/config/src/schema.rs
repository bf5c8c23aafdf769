//! The keys of a GPU description: kind of value, bounds, unit, meaning. One row per key; loading,
//! overrides, error messages and the table in `docs/gpus.md` all read this table.

use crate::Unit;
use isa::OpClass;

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted path. `<cache>`, `<unit>` and `<class>` stand for each of their kind.
    pub path: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Unit; empty for choices, names and switches.
    pub unit: &'static str,
    /// Meaning.
    pub doc: &'static str,
}

/// What values a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// An integer between the bounds, both included.
    Int(u32, u32),
    /// A power of two between the bounds, both included.
    Pow2(u32, u32),
    /// A frequency in MHz, from 1 to [`MOST_MHZ`].
    Mhz,
    /// A voltage.
    Volts,
    /// A switch.
    Bool,
    /// Words.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// So many integers (any number if `None`), each between the bounds.
    List(Option<usize>, u32, u32),
}

impl Kind {
    /// The values taken, in words.
    pub fn describe(&self) -> String {
        match *self {
            Kind::Int(low, u32::MAX) => format!("an integer of at least {low}"),
            Kind::Int(low, high) => format!("an integer from {low} to {high}"),
            Kind::Pow2(low, high) => format!("a power of two from {low} to {high}"),
            Kind::Mhz => format!("a frequency in MHz from 1 to {MOST_MHZ}"),
            Kind::Volts => "a voltage from 0.1 to 5".into(),
            Kind::Bool => "true or false".into(),
            Kind::Text => "text in quotes".into(),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::List(Some(n), low, high) => format!("a list of {n} integers from {low} to {high}"),
            Kind::List(None, low, high) => format!("a list of integers from {low} to {high}"),
        }
    }

    /// Whether `value` is such a value. `Err(true)` means: of the right type, but out of bounds.
    pub(crate) fn check(&self, value: &toml::Value) -> Result<(), bool> {
        use toml::Value;
        let within = |v: &Value, low: u32, high: u32| match v {
            Value::Integer(i) => Ok((i64::from(low)..=i64::from(high)).contains(i)),
            _ => Err(false),
        };
        let fits = match (*self, value) {
            (Kind::Int(low, high), v) => within(v, low, high)?,
            (Kind::Pow2(low, high), v) => within(v, low, high)? && v.as_integer().is_some_and(|i| i.count_ones() == 1),
            (Kind::Mhz, Value::Float(f)) => (1.0..=f64::from(MOST_MHZ)).contains(f),
            (Kind::Mhz, Value::Integer(i)) => (1..=i64::from(MOST_MHZ)).contains(i),
            (Kind::Volts, Value::Float(f)) => (0.1..=5.0).contains(f),
            (Kind::Volts, Value::Integer(i)) => (1..=5).contains(i),
            (Kind::Bool, Value::Boolean(_)) => true,
            (Kind::Text, Value::String(s)) => !s.trim().is_empty(),
            // An unknown word cannot be read at all, so it counts as a wrong type.
            (Kind::Choice(words), Value::String(s)) if words.contains(&s.as_str()) => true,
            (Kind::List(n, low, high), Value::Array(items)) => {
                let mut fits = true;
                for item in items {
                    fits &= within(item, low, high)?;
                }
                if n.is_some_and(|n| n != items.len()) {
                    return Err(false);
                }
                fits
            }
            _ => return Err(false),
        };
        if fits { Ok(()) } else { Err(true) }
    }
}

/// Highest clock in MHz: far above any chip's.
pub const MOST_MHZ: u32 = 100_000;
/// Largest latency or interval in cycles: beyond it something is wrong with the file.
pub const MAX_LATENCY: u32 = 100_000;
const CYCLES: Kind = Kind::Int(0, MAX_LATENCY);
/// Pipelines are rings of so many places at most.
const OP_CYCLES: Kind = Kind::Int(1, 4000);
const CYCLES_1: Kind = Kind::Int(1, MAX_LATENCY);
const COUNT: Kind = Kind::Int(1, 65_536);
/// DRAM timing parameters: far above any device's.
const NCK: Kind = Kind::Int(0, 10_000);
const NCK_1: Kind = Kind::Int(1, 10_000);

const UNITS: &[&str] = &["sp", "int", "dp", "sfu", "tensor", "mem", "branch", "texture", "uniform"];

/// Where the caches stand.
pub const CACHES: [&str; 5] =
    ["sm.frontend.icache", "sm.l1d.cache", "sm.constant_cache", "sm.texture_cache", "l2.cache"];

macro_rules! keys {
    ($($path:literal: $kind:expr, $unit:literal, $doc:literal;)*) => {
        /// Every key, in the order of the model.
        pub const KEYS: &[Key] = &[$(Key { path: $path, kind: $kind, unit: $unit, doc: $doc },)*];
    };
}

keys! {
    "name": Kind::Text, "", "Short name, as on the command line.";
    "description": Kind::Text, "", "Full name and what it is modelled after.";
    "sm_version": Kind::Int(10, 999), "", "Compute capability times ten: 75 for sm_75.";
    "sm_count": Kind::Int(1, 4096), "SMs", "SMs on the chip.";
    "sms_per_cluster": Kind::Int(1, 64), "SMs", "SMs that share a crossbar port and take CTAs in turn.";

    "clocks.core_mhz": Kind::Mhz, "MHz", "Clock of the SMs.";
    "clocks.interconnect_mhz": Kind::Mhz, "MHz", "Clock of the crossbar.";
    "clocks.l2_mhz": Kind::Mhz, "MHz", "Clock of the L2 slices.";
    "clocks.dram_mhz": Kind::Mhz, "MHz", "DRAM command clock; data moves at `dram.data_rate` beats per cycle of it.";

    "launch.kernel_latency_cycles": Kind::Int(0, 10_000_000), "core cycles", "From a kernel's turn to its first CTA's dispatch.";
    "launch.cta_latency_cycles": Kind::Int(0, 10_000_000), "core cycles", "Added per CTA.";
    "launch.max_concurrent_kernels": Kind::Int(1, 1024), "kernels", "Kernels resident at once.";
    "launch.flush_l1_between_kernels": Kind::Bool, "", "Whether L1 contents are dropped at the start of each kernel.";
    "launch.flush_l2_between_kernels": Kind::Bool, "", "Whether L2 contents are dropped at the end of each kernel.";
    "launch.host_copies_fill_l2": Kind::Bool, "", "Whether what the host copies to the device is left in L2, as far as it fits.";

    "sm.max_warps": Kind::Int(1, 128), "warps", "Warp slots of an SM.";
    "sm.max_ctas": Kind::Int(1, 32), "CTAs", "CTA slots of an SM.";
    "sm.registers": Kind::Int(32, 4_194_304), "registers", "32-bit registers of an SM.";
    "sm.register_allocation_unit": Kind::Int(32, 65_536), "registers", "A warp gets registers in multiples of this many.";
    "sm.max_registers_per_thread": Kind::Int(1, 255), "registers", "Most registers a thread may have.";
    "sm.residency_counts_grid": Kind::Bool, "", "CTAs per SM, as the stride of local memory and the carve-out of L1 use them, are limited by the grid too.";
    "sm.local_base_kib": Kind::Int(0, u32::MAX), "KiB", "Start of local memory as the caches see it.";
    "sm.max_shared_bytes_per_cta": Kind::Int(0, 16_777_216), "bytes", "Most shared memory that one CTA may have.";
    "sm.barriers_per_cta": Kind::Int(1, 16), "barriers", "Named barriers per CTA.";
    "sm.writeback_width": Kind::Int(1, 64), "warp instructions/cycle", "Result buses: instructions written back per cycle.";
    "sm.perfect_instruction_and_constant_caches": Kind::Bool, "", "Constant and instruction caches always hit.";

    "sm.frontend.fetches_per_cycle": Kind::Int(1, 64), "warps/cycle", "Warps fetched for (and decoded) per cycle, over the whole SM.";
    "sm.frontend.instructions_per_fetch": Kind::Int(1, 16), "instructions", "Instructions that one fetch brings.";
    "sm.frontend.buffer_entries": Kind::Int(1, 64), "instructions", "Entries of each warp's instruction buffer.";
    "sm.frontend.branches": Kind::Choice(&["sequential_flush", "oracle", "stall"]), "", "What is fetched behind a branch that has not issued: the next instruction in memory, flushed when the branch goes elsewhere (`flush` is the same); the right path; nothing.";

    "sm.issue.schedulers": Kind::Int(1, 7), "schedulers", "Warp schedulers; warp *w* belongs to scheduler *w* mod this.";
    "sm.issue.scheduler": Kind::Text, "", "Default policy: `lrr`, `gto`, `srr`, `two_level`, or what `list` shows.";
    "sm.issue.width": Kind::Int(1, 8), "instructions/cycle", "Instructions that a scheduler may issue per cycle, all from one warp.";
    "sm.issue.dual_issue_needs_different_units": Kind::Bool, "", "When two issue together, they must go to different kinds of unit.";
    "sm.issue.two_level_active_warps": Kind::Int(1, 64), "warps", "Active set of the two-level scheduler, per scheduler.";
    "sm.issue.atomics_hold_warp": Kind::Choice(&["none", "global", "all"]), "", "Atomics after which their warp issues nothing until they have returned: none (readers of the result wait), those on global memory, those on shared memory too.";

    "sm.operands.sub_cores": Kind::Bool, "", "Each scheduler has its own share of collectors, banks and units.";
    "sm.operands.collectors": Kind::Int(1, 64), "collector units", "Collector units in the SM.";
    "sm.operands.in_ports": Kind::Int(1, 256), "instructions/cycle", "Instructions that enter collectors per cycle, SM-wide.";
    "sm.operands.out_ports": Kind::Int(1, 256), "instructions/cycle", "Instructions that leave collectors per cycle, SM-wide.";
    "sm.operands.banks": Kind::Int(1, 64), "banks", "Register-file banks in the SM.";
    "sm.operands.reads_per_bank": Kind::Int(1, 16), "reads/cycle", "Reads that one bank serves per cycle.";
    "sm.operands.bank_uses_warp": Kind::Bool, "", "bank = (register + warp) mod banks, instead of register mod banks.";

    "sm.units.<unit>.count": Kind::Int(1, 64), "units", "Units of this kind in the SM; leave the unit out if there is none.";
    "sm.units.<unit>.issue_latches": Kind::Int(1, 64), "instructions", "Instructions that wait between issue and operand collection (ID_OC).";
    "sm.units.<unit>.dispatch_latches": Kind::Int(1, 64), "instructions", "Instructions that wait between operand collection and execution (OC_EX).";

    "sm.ptx_timing.<class>.unit": Kind::Choice(UNITS), "", "Unit that executes the class when the program is PTX.";
    "sm.ptx_timing.<class>.latency_cycles": OP_CYCLES, "core cycles", "From entry into the unit to the result.";
    "sm.ptx_timing.<class>.initiation_cycles": OP_CYCLES, "core cycles", "From one instruction's entry to the next one's.";
    "sm.sass_timing.<class>.unit": Kind::Choice(UNITS), "", "Unit that executes the class when the program is machine code or a trace.";
    "sm.sass_timing.<class>.latency_cycles": OP_CYCLES, "core cycles", "From entry into the unit to the result.";
    "sm.sass_timing.<class>.initiation_cycles": OP_CYCLES, "core cycles", "From one instruction's entry to the next one's.";

    "sm.shared.bytes": Kind::Int(0, 16_777_216), "bytes", "Shared memory of an SM, at most (before carve-out).";
    "sm.shared.banks": Kind::Pow2(1, 64), "banks", "Banks, 4 bytes wide.";
    "sm.shared.latency_cycles": CYCLES_1, "core cycles", "Latency of a conflict-free access.";
    "sm.shared.limited_broadcast": Kind::Bool, "", "Only one word is broadcast per cycle.";

    "sm.l1d.latency_cycles": CYCLES_1, "core cycles", "Latency of a hit.";
    "sm.l1d.banks": Kind::Pow2(1, 64), "banks", "Banks that are looked up in parallel.";
    "sm.l1d.bank_interleave_bytes": Kind::Pow2(4, 4096), "bytes", "Bytes after which the bank changes.";
    "sm.l1d.skip_global": Kind::Bool, "", "Global loads skip L1 (`-dlcm=cg`).";
    "sm.l1d.write_ratio_percent": Kind::Int(0, 100), "percent", "Share of dirty lines above which writes of one set stop being kept.";
    "sm.l1d.unified_bytes": Kind::Int(0, 16_777_216), "bytes", "Total of L1 and shared memory where they share one array; 0 where they do not.";
    "sm.l1d.shared_carveouts_bytes": Kind::List(None, 0, 16_777_216), "bytes", "Choices for the shared part, ascending; empty for a fixed split.";
    "sm.l1d.fences_invalidate": Kind::Choice(&["none", "device", "all"]), "", "Fences that drop the contents of the SM's L1 when they complete: none, those of device or wider scope, all.";

    "interconnect.flit_bytes": Kind::Int(1, 4096), "bytes/cycle", "Bytes that a port moves per interconnect cycle.";
    "interconnect.input_buffer_packets": COUNT, "packets", "Packets that wait at an input.";
    "interconnect.output_buffer_packets": COUNT, "packets", "Packets that wait at an output.";
    "interconnect.arbiter": Kind::Choice(&["round_robin", "islip"]), "", "Who goes first.";
    "interconnect.ejection_buffer_packets": COUNT, "packets", "Responses that wait at an SM.";

    "l2.partitions": Kind::Int(1, 1024), "partitions", "Memory partitions, each with a DRAM channel.";
    "l2.slices_per_partition": Kind::Pow2(1, 16), "slices", "Slices per partition, each with a crossbar port.";
    "l2.latency_cycles": CYCLES, "L2 cycles", "From a request's arrival at the slice to its look-up (raster operations path).";
    "l2.queue_entries": Kind::List(Some(4), 1, 65_536), "requests", "Queue lengths: crossbar to L2, L2 to DRAM, DRAM to L2, L2 to crossbar.";
    "l2.partition_index": Kind::Choice(&["linear", "xor", "i_poly"]), "", "How addresses spread over partitions and slices.";

    "dram.technology": Kind::Text, "", "For reports: GDDR5, GDDR6, HBM2.";
    "dram.bus_bytes": Kind::Pow2(1, 256), "bytes", "Width of one chip's data bus.";
    "dram.chips_per_channel": Kind::Int(1, 64), "chips", "Chips side by side on a channel.";
    "dram.burst_length": Kind::Pow2(1, 64), "beats", "Beats of one access.";
    "dram.data_rate": Kind::Int(1, 16), "beats/command cycle", "Beats of data per command cycle.";
    "dram.scheduler_queue": Kind::Int(0, 65_536), "requests", "Requests that the scheduler chooses among; 0 for first come, first served.";
    "dram.return_queue": COUNT, "requests", "Finished requests waiting to go back to L2.";
    "dram.latency_cycles": CYCLES, "command cycles", "Fixed latency before a request reaches the scheduler.";
    "dram.address_map": Kind::Text, "", "Row, bank and column bits of an address, most significant first, as a string of `R`, `B`, `C`, `S` (offset within an access) and `0`; dots are for the eye.";
    "dram.channel_bit": Kind::Int(5, 40), "bit", "Lowest address bit of the channel number.";
    "dram.dual_command_bus": Kind::Bool, "", "Row and column commands may go in one cycle.";
    "dram.bank_hash": Kind::Bool, "", "Bank number is hashed with row bits.";
    "dram.bank_group_low_bits": Kind::Bool, "", "Bank groups by low bits of the bank number instead of high ones.";
    "dram.write_queue": Kind::List(Some(3), 1, 65_536), "requests", "Optional. Writes wait in a queue of their own: entries, drain above, drain until below.";
    "dram.timing.nbk": Kind::Pow2(1, 64), "banks", "Banks.";
    "dram.timing.nbkgrp": Kind::Pow2(1, 64), "bank groups", "Bank groups.";
    "dram.timing.tCCD": NCK_1, "command cycles", "Column to column, different bank group.";
    "dram.timing.tCCDL": NCK, "command cycles", "Column to column, same bank group; 0 where there are no groups.";
    "dram.timing.tRRD": NCK, "command cycles", "Activate to activate, different banks.";
    "dram.timing.tRCD": NCK_1, "command cycles", "Activate to column.";
    "dram.timing.tRAS": NCK_1, "command cycles", "Activate to precharge.";
    "dram.timing.tRP": NCK_1, "command cycles", "Precharge to activate.";
    "dram.timing.tRC": NCK_1, "command cycles", "Activate to activate, same bank.";
    "dram.timing.tCL": NCK_1, "command cycles", "Column read to data.";
    "dram.timing.tWL": NCK_1, "command cycles", "Column write to data.";
    "dram.timing.tCDLR": NCK, "command cycles", "Last write data to read, same rank.";
    "dram.timing.tWR": NCK, "command cycles", "Last write data to precharge.";
    "dram.timing.tRTPL": NCK, "command cycles", "Read to precharge.";

    "energy.model": Kind::Text, "", "Optional. Coefficients of energy and power: one of those that come with the program (docs/energy.md), or the path of a file.";
    "energy.volts": Kind::Volts, "V", "Optional. Chip voltage; that of the coefficients if absent.";

    "<cache>.sectored": Kind::Bool, "", "Lines are filled by 32-byte sectors.";
    "<cache>.sets": Kind::Pow2(1, 65_536), "sets", "Sets.";
    "<cache>.line_bytes": Kind::Pow2(32, 128), "bytes", "Line size.";
    "<cache>.ways": Kind::Int(1, 4096), "ways", "Ways.";
    "<cache>.replacement": Kind::Choice(&["lru", "fifo"]), "", "Which line goes.";
    "<cache>.write": Kind::Choice(&["read_only", "write_back", "write_through", "write_evict", "local_write_back_global_write_through"]), "", "What writes do.";
    "<cache>.allocate": Kind::Choice(&["on_miss", "on_fill", "streaming"]), "", "When a line is reserved.";
    "<cache>.write_allocate": Kind::Choice(&["none", "write", "fetch_on_write", "lazy_fetch_on_read"]), "", "What a write miss does.";
    "<cache>.index": Kind::Choice(&["linear", "xor", "fermi", "i_poly"]), "", "How an address chooses its set.";
    "<cache>.mshr_entries": COUNT, "misses", "Outstanding misses: lines (or sectors) with an MSHR.";
    "<cache>.mshr_merges": COUNT, "requests", "Requests that one MSHR can hold.";
    "<cache>.miss_queue": COUNT, "requests", "Misses waiting to leave the cache.";
    "<cache>.port_bytes": Kind::Pow2(4, 4096), "bytes/cycle", "Bytes read or written per cycle at the data port.";
}

/// The row for the concrete dotted `path`, if there is such a key.
pub fn lookup(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| matches(key.path, path))
}

fn matches(pattern: &str, path: &str) -> bool {
    if let Some(tail) = pattern.strip_prefix("<cache>.") {
        return path.rsplit_once('.').is_some_and(|(cache, last)| last == tail && CACHES.contains(&cache));
    }
    let (mut patterns, mut segments) = (pattern.split('.'), path.split('.'));
    loop {
        match (patterns.next(), segments.next()) {
            (None, None) => return true,
            (Some("<unit>"), Some(s)) if UNITS.contains(&s) => {}
            (Some("<class>"), Some(s)) if OpClass::ALL.iter().any(|c| c.name() == s) => {}
            (Some(p), Some(s)) if p == s => {}
            _ => return false,
        }
    }
}

/// Every concrete path, placeholders replaced.
pub fn paths() -> impl Iterator<Item = (String, &'static Key)> {
    KEYS.iter().flat_map(|key| {
        let with = |name: &str, words: Vec<&str>| words.iter().map(|w| key.path.replace(name, w)).collect::<Vec<_>>();
        let concrete = if key.path.contains("<cache>") {
            with("<cache>", CACHES.to_vec())
        } else if key.path.contains("<unit>") {
            with("<unit>", Unit::ALL.iter().map(|u| u.name()).collect())
        } else if key.path.contains("<class>") {
            with("<class>", OpClass::ALL.iter().map(|c| c.name()).collect())
        } else {
            vec![key.path.to_string()]
        };
        concrete.into_iter().map(move |path| (path, key))
    })
}

/// A word of a choice under its first name: what is fetched past a branch has the command line's, too.
pub(crate) fn first_name<'a>(path: &str, word: &'a str) -> &'a str {
    if path == "sm.frontend.branches" && word == "flush" { "sequential_flush" } else { word }
}

/// Whether a description may leave `path` out.
pub(crate) fn optional(path: &str) -> bool {
    path == "dram.write_queue" || path.starts_with("sm.units.") || path.starts_with("energy.")
}
