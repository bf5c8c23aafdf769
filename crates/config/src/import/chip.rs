//! The chip, its launches and its SMs in Accel-Sim's files.

use super::reader::Reader;
use super::{cache, memory, timing};
use crate::{
    BranchFetch, Clocks, ClusterPort, CopyEngine, Dependence, FenceWaits, Frontend, GenericSpaces, GpcCache, GpuConfig,
    HoldingAtomics, InstructionCaches, Issue, Launch, MatrixGroups, MemoryQueues, Operands, OperationLatencies, Sm,
    Unit, UnitConfig,
};
use std::collections::BTreeMap;

/// Sources of what no option gives.
pub(super) const SOURCES: &[(&str, &str)] = &[
    ("name", "ours"),
    ("description", "ours"),
    ("sm.register_allocation_unit", "CUDA occupancy calculator: warp allocation unit of this compute capability"),
    ("sm.max_registers_per_thread", "CUDA C++ Programming Guide, technical specifications per compute capability"),
    (
        "sm.residency_counts_grid",
        "GPGPU-Sim 4 shader.cc: shader_core_config::max_cta takes no more CTAs than the grid has for each SM",
    ),
    ("sm.local_base_kib", "GPGPU-Sim 4 abstract_hardware_model.h: LOCAL_GENERIC_START, 0x1F880000"),
    (
        "sm.issue.atomics_hold_warp",
        "GPGPU-Sim 4 shader.cc: shd_warp_t::waiting, while an atomic on any memory is under way",
    ),
    (
        "sm.issue.fences_wait_for",
        "GPGPU-Sim 4 shader.cc: warp_waiting_at_mem_barrier asks the scoreboard for pending writes of registers only",
    ),
    ("sm.trace_generic_spaces", "Accel-Sim trace_driven.cc: parse_from_trace_struct, cases OP_ST and OP_LD"),
    ("sm.frontend.instructions_per_fetch", "GPGPU-Sim 4 shader.cc: decode puts two instructions in the buffer"),
    ("sm.frontend.buffer_entries", "GPGPU-Sim 4 shader.h: IBUFFER_SIZE"),
    ("sm.frontend.branches", "GPGPU-Sim 4 shader.cc: execution-driven fetch goes on in sequence and is flushed"),
    ("sm.operands.bank_uses_warp", "GPGPU-Sim 4 shader.cc register_bank: the warp number is always added"),
    ("sm.units.mem.count", "GPGPU-Sim 4 shader.cc: one load-store unit"),
];

/// Active warps of the two-level scheduler where the file chooses another one: a guess.
const USUAL_ACTIVE_WARPS: u32 = 8;

/// `LOCAL_GENERIC_START`: 0xC0000000, less 80 SMs' shared memory of 96 KiB and 80 x 2048 threads' local
/// memory of 16 KiB.
const LOCAL_BASE_KIB: u32 = 0x1F88_0000 / 1024;

pub(super) fn gpu(reader: &mut Reader) -> GpuConfig {
    let (major, minor) = (reader.int("-gpgpu_compute_capability_major"), reader.int("-gpgpu_compute_capability_minor"));
    let sm_version = major.saturating_mul(10).saturating_add(minor);
    let cores = reader.int("-gpgpu_n_cores_per_cluster");
    let clocks = clocks(reader);
    GpuConfig {
        name: "imported".into(),
        description: format!("Imported from Accel-Sim's files: sm_{sm_version}"),
        sm_version,
        core: None,
        sm_count: reader.int("-gpgpu_n_clusters").saturating_mul(cores),
        sms_per_cluster: cores,
        sms_per_gpc: None,
        gpc_cache: GpcCache::default(),
        launch: Launch {
            first_cluster: None,
            kernel_latency_cycles: Some(reader.int("-gpgpu_kernel_launch_latency")),
            kernel_latency_ns: None,
            profiled_cycles: None,
            profiler: None,
            cta_latency_cycles: reader.int("-gpgpu_TB_launch_latency"),
            max_concurrent_kernels: reader.int("-gpgpu_max_concurrent_kernel"),
            flush_l1_between_kernels: reader.flag("-gpgpu_flush_l1_cache"),
            flush_l2_between_kernels: reader.flag("-gpgpu_flush_l2_cache"),
            host_copies_fill_l2: reader.flag("-gpgpu_perf_sim_memcpy"),
            keeps_code: None,
            prefetched_code_bytes: None,
            prefetches_parameters: None,
        },
        sm: sm(reader, sm_version),
        interconnect: memory::interconnect(reader),
        l2: memory::l2(reader, &clocks),
        dram: memory::dram(reader, &clocks),
        clocks,
        energy: crate::Energy::default(),
        board: crate::Board::default(),
    }
}

fn clocks(reader: &mut Reader) -> Clocks {
    let name = "-gpgpu_clock_domains";
    let text = reader.text(name);
    let mhz: Option<Vec<f64>> = text.split(':').map(|c| c.trim().parse().ok()).collect();
    match mhz.as_deref() {
        Some(&[core_mhz, interconnect_mhz, l2_mhz, dram_mhz]) => {
            Clocks { core_mhz, interconnect_mhz, l2_mhz, dram_mhz }
        }
        _ => {
            reader.malformed(name, "four frequencies in MHz: <core>:<interconnect>:<L2>:<DRAM>");
            Clocks { core_mhz: 1.0, interconnect_mhz: 1.0, l2_mhz: 1.0, dram_mhz: 1.0 }
        }
    }
}

fn sm(reader: &mut Reader, sm_version: u32) -> Sm {
    let pipeline = reader.list("-gpgpu_shader_core_pipeline", ':', 2, 2);
    if pipeline[1] != 32 {
        reader.malformed("-gpgpu_shader_core_pipeline", "<threads>:32; warps have 32 lanes");
    }
    let max_warps = pipeline[0] / 32;
    let (units, writeback_width) = units(reader);
    let shared = memory::shared(reader);
    let fermi = sm_version < 30;
    Sm {
        max_warps,
        max_ctas: reader.int("-gpgpu_shader_cta"),
        registers: reader.int("-gpgpu_shader_registers"),
        register_allocation_unit: if fermi { 64 } else { 256 },
        max_registers_per_thread: if sm_version < 35 { 63 } else { 255 },
        residency_counts_grid: true,
        local_base_kib: LOCAL_BASE_KIB,
        trace_generic_spaces: Some(GenericSpaces::Bases),
        max_shared_bytes_per_cta: reader.int("-gpgpu_shmem_per_block").min(shared.bytes),
        // GPGPU-Sim's occupancy knows neither.
        reserved_shared_bytes_per_cta: None,
        shared_allocation_unit: None,
        barriers_per_cta: reader.int("-gpgpu_num_cta_barriers"),
        frontend: Frontend {
            fetches_per_cycle: reader.int("-gpgpu_inst_fetch_throughput"),
            instructions_per_fetch: 2,
            buffer_entries: 2,
            branches: BranchFetch::SequentialFlush,
            icache: cache::read(reader, "-gpgpu_cache:il1"),
        },
        issue: issue(reader, max_warps),
        operands: operands(reader),
        ptx_timing: timing::ptx(reader, &units),
        latency: None,
        barrier_warp_cycles: None,
        barrier_latency_cycles: None,
        sass_timing: timing::sass(reader, &units),
        tensor: BTreeMap::new(),
        dependence: Dependence::default(),
        instruction_caches: InstructionCaches::default(),
        memory_queues: MemoryQueues::default(),
        operation_latencies: OperationLatencies::default(),
        matrix_groups: MatrixGroups::default(),
        copy_engine: CopyEngine::default(),
        cluster_port: ClusterPort::default(),
        units,
        writeback_width,
        l1d: memory::l1d(reader, sm_version, shared.bytes),
        shared,
        constant_cache: cache::read(reader, "-gpgpu_const_cache:l1"),
        constant_words_per_cycle: None,
        perfect_instruction_and_constant_caches: reader.flag("-gpgpu_perfect_inst_const_cache"),
        texture_cache: cache::read(reader, "-gpgpu_tex_cache:l1"),
    }
}

fn issue(reader: &mut Reader, max_warps: u32) -> Issue {
    let name = "-gpgpu_scheduler";
    let text = reader.text(name);
    let mut two_level_active_warps = USUAL_ACTIVE_WARPS.min(max_warps.max(1));
    let scheduler = match text.split(':').collect::<Vec<_>>()[..] {
        ["lrr"] => "lrr",
        ["gto"] => "gto",
        ["rrr" | "srr"] => "srr",
        ["two_level_active", active, ..] => {
            match active.parse() {
                Ok(warps) => two_level_active_warps = warps,
                Err(_) => reader.malformed(name, "two_level_active:<active warps>:<inner>:<outer>"),
            }
            "two_level"
        }
        _ => {
            reader.cannot(name, format!("there is no scheduler `{}`", kit::text::excerpt(&text)), "gto");
            "gto"
        }
    };
    Issue {
        schedulers: reader.int("-gpgpu_num_sched_per_core"),
        scheduler: scheduler.into(),
        width: reader.int("-gpgpu_max_insn_issue_per_warp"),
        dual_issue_needs_different_units: reader.flag("-gpgpu_dual_issue_diff_exec_units"),
        two_level_active_warps,
        atomics_hold_warp: HoldingAtomics::All,
        fences_wait_for: Some(FenceWaits::Registers),
        stall_counts: None,
        ignore_predicates: None,
    }
}

/// One of the three numbers that describe a set of collectors.
const COLLECTOR_OPTIONS: [[&str; 7]; 3] = [
    [
        "-gpgpu_operand_collector_num_units_gen",
        "-gpgpu_operand_collector_num_units_sp",
        "-gpgpu_operand_collector_num_units_sfu",
        "-gpgpu_operand_collector_num_units_mem",
        "-gpgpu_operand_collector_num_units_dp",
        "-gpgpu_operand_collector_num_units_int",
        "-gpgpu_operand_collector_num_units_tensor_core",
    ],
    [
        "-gpgpu_operand_collector_num_in_ports_gen",
        "-gpgpu_operand_collector_num_in_ports_sp",
        "-gpgpu_operand_collector_num_in_ports_sfu",
        "-gpgpu_operand_collector_num_in_ports_mem",
        "-gpgpu_operand_collector_num_in_ports_dp",
        "-gpgpu_operand_collector_num_in_ports_int",
        "-gpgpu_operand_collector_num_in_ports_tensor_core",
    ],
    [
        "-gpgpu_operand_collector_num_out_ports_gen",
        "-gpgpu_operand_collector_num_out_ports_sp",
        "-gpgpu_operand_collector_num_out_ports_sfu",
        "-gpgpu_operand_collector_num_out_ports_mem",
        "-gpgpu_operand_collector_num_out_ports_dp",
        "-gpgpu_operand_collector_num_out_ports_int",
        "-gpgpu_operand_collector_num_out_ports_tensor_core",
    ],
];

/// The generic collectors, and the specialised ones where they are switched on: here all are pooled.
fn operands(reader: &mut Reader) -> Operands {
    let specialised = reader.flag("-gpgpu_enable_specialized_operand_collector");
    let tensor = reader.flag("-gpgpu_tensor_core_avail");
    let [collectors, in_ports, out_ports] = COLLECTOR_OPTIONS.map(|[generic, own @ ..]| {
        let mut sum = reader.int(generic);
        for name in own {
            if !specialised {
                reader.ignored(name, "the collectors for each kind of unit are switched off");
            } else if !tensor && name.ends_with("tensor_core") {
                reader.ignored(name, "there is no matrix unit: -gpgpu_tensor_core_avail is 0");
            } else {
                sum = sum.saturating_add(reader.int(name));
                let instead = "the collectors are pooled: sm.operands.collectors, in_ports and out_ports are the sums";
                reader.cannot(name, "each kind of unit has collectors of its own", instead);
            }
        }
        sum
    });
    let switch = "-gpgpu_enable_specialized_operand_collector";
    reader.understood(
        switch,
        if specialised { "sums the collectors of all kinds" } else { "only the generic collectors count" },
    );
    Operands {
        sub_cores: reader.flag("-gpgpu_sub_core_model"),
        collectors,
        in_ports,
        out_ports,
        banks: reader.int("-gpgpu_num_reg_banks"),
        reads_per_bank: reader.int("-gpgpu_reg_file_port_throughput"),
        bank_uses_warp: true,
    }
}

/// The units that there are, and the width of the write-back stage.
fn units(reader: &mut Reader) -> (BTreeMap<Unit, UnitConfig>, u32) {
    let widths = widths(reader);
    let mut units = BTreeMap::new();
    for (unit, count, id_oc, oc_ex) in [
        (Unit::Sp, "-gpgpu_num_sp_units", 0, 5),
        (Unit::Dp, "-gpgpu_num_dp_units", 1, 6),
        (Unit::Int, "-gpgpu_num_int_units", 2, 7),
        (Unit::Sfu, "-gpgpu_num_sfu_units", 3, 8),
        (Unit::Tensor, "-gpgpu_num_tensor_core_units", 11, 12),
    ] {
        let count = reader.int(count);
        if count != 0 && (unit != Unit::Tensor || reader.flag("-gpgpu_tensor_core_avail")) {
            units.insert(unit, UnitConfig { count, issue_latches: widths[id_oc], dispatch_latches: widths[oc_ex] });
        }
    }
    units.insert(Unit::Mem, UnitConfig { count: 1, issue_latches: widths[4], dispatch_latches: widths[9] });
    specialised_units(reader, &mut units);
    (units, widths[10])
}

/// The thirteen widths, in the order of the option's help text. Older files give eleven (no matrix
/// unit) or seven (neither that nor units for double precision and integers).
fn widths(reader: &mut Reader) -> [u32; 13] {
    let name = "-gpgpu_pipeline_widths";
    let w = reader.list(name, ',', 7, 13);
    let mut widths = [0; 13];
    match w.len() {
        7 => {
            for (to, from) in [(0, 0), (3, 1), (4, 2), (5, 3), (8, 4), (9, 5), (10, 6)] {
                widths[to] = w[from];
            }
        }
        11 | 13 => widths[..w.len()].copy_from_slice(&w),
        _ => reader.malformed(name, "7, 11 or 13 numbers with `,` between them"),
    }
    widths
}

/// Accel-Sim's units for branches, textures, matrices and the uniform datapath.
fn specialised_units(reader: &mut Reader, units: &mut BTreeMap<Unit, UnitConfig>) {
    for (name, unit) in [
        ("-specialized_unit_1", Unit::Branch),
        ("-specialized_unit_2", Unit::Texture),
        ("-specialized_unit_3", Unit::Tensor),
        ("-specialized_unit_4", Unit::Uniform),
    ] {
        let text = reader.text(name);
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let numbers: Option<Vec<u32>> = parts.iter().take(5).map(|n| n.parse().ok()).collect();
        let Some([enabled, count, _, issue_latches, dispatch_latches]) =
            numbers.as_deref().and_then(|n| <[u32; 5]>::try_from(n).ok())
        else {
            reader.malformed(name, "<enabled>,<units>,<largest latency>,<ID_OC>,<OC_EX>,<name>");
            continue;
        };
        if enabled == 0 {
            reader.ignored(name, "the unit is switched off");
            continue;
        }
        let here = UnitConfig { count, issue_latches, dispatch_latches };
        let present = *units.entry(unit).or_insert(here);
        if present != here {
            let instead = format!("one kind of {} unit serves both, with the numbers for PTX", unit.name());
            reader.cannot(name, "machine code has other units than PTX", instead);
        }
    }
}
