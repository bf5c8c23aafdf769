//! The options of GPGPU-Sim 4 and Accel-Sim: their defaults, and the keys that they set.

/// Fate of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    /// Read into these keys (dotted paths, between blanks).
    To(&'static str),
    /// It has no part in what is simulated here; this is why.
    Ignored(&'static str),
    /// Only `value` is how things work here: (value, what another one asks for, what is done instead).
    Fixed(&'static str, &'static str, &'static str),
}
use Fate::{Fixed, Ignored, To};

/// An option of Accel-Sim and what is done with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// With its leading hyphen.
    pub name: &'static str,
    /// Value that the simulator assumes if the option is absent.
    pub default: &'static str,
    /// Its fate.
    pub fate: Fate,
}

/// The row of option `name`.
pub(super) fn lookup(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

const OUTPUT: &str = "chooses what the simulator prints or logs";
const POWER: &str = "belongs to the power model, which has files of its own";
const CHECKPOINT: &str = "there are no checkpoints";
const RUN_LIMIT: &str = "limits a run; it says nothing of the GPU";
const DEVICE_QUERY: &str = "only what device queries answer";
const TOOL_CHAIN: &str = "steers how the simulator calls the CUDA tools; PTX is read directly";
const CDP: &str = "kernels do not launch kernels here";
const BOOKSIM: &str = "describes the Booksim network; the built-in crossbar is used";
const OTHER_SPLIT: &str = "is another split of L1 and shared memory, for cudaFuncSetCacheConfig";

macro_rules! rows {
    ($($name:literal, $default:literal, $fate:expr;)*) => {
        /// One row per option.
        pub(super) const ROWS: &[Row] = &[$(Row { name: $name, default: $default, fate: $fate },)*];
    };
}

rows! {
    // The chip.
    "-gpgpu_compute_capability_major", "7", To("sm_version");
    "-gpgpu_compute_capability_minor", "0", To("sm_version");
    "-gpgpu_n_clusters", "10", To("sm_count");
    "-gpgpu_n_cores_per_cluster", "3", To("sms_per_cluster sm_count");
    "-gpgpu_clock_domains", "500.0:2000.0:2000.0:2000.0", To("clocks");

    // Launch.
    "-gpgpu_kernel_launch_latency", "0", To("launch.kernel_latency_cycles");
    "-gpgpu_TB_launch_latency", "0", To("launch.cta_latency_cycles");
    "-gpgpu_max_concurrent_kernel", "8", To("launch.max_concurrent_kernels");
    "-gpgpu_flush_l1_cache", "0", To("launch.flush_l1_between_kernels sm.l1d.fences_invalidate");
    "-gpgpu_flush_l2_cache", "0", To("launch.flush_l2_between_kernels");
    "-gpgpu_concurrent_kernel_sm", "0", Ignored("which kernels share an SM is decided by the CTA dispatcher and the streams of a launch");
    "-gpgpu_perf_sim_memcpy", "1", To("launch.host_copies_fill_l2");
    "-gpgpu_ignore_resources_limitation", "0", Fixed("0", "kernels run that need more than an SM has", "such a kernel is refused");

    // Occupancy.
    "-gpgpu_shader_core_pipeline", "1024:32", To("sm.max_warps");
    "-gpgpu_shader_cta", "8", To("sm.max_ctas");
    "-gpgpu_shader_registers", "8192", To("sm.registers");
    "-gpgpu_registers_per_block", "8192", Ignored("only what device queries answer; a CTA may take all registers of its SM");
    "-gpgpu_num_cta_barriers", "16", To("sm.barriers_per_cta");
    "-gpgpu_shmem_per_block", "49152", To("sm.max_shared_bytes_per_cta");
    "-gpgpu_occupancy_sm_number", "0", Ignored("registers per thread come from the launch file, the binary's metadata or liveness");

    // Fetch and issue.
    "-gpgpu_inst_fetch_throughput", "1", To("sm.frontend.fetches_per_cycle");
    "-gpgpu_cache:il1", "4:256:4,L:R:f:N,A:2:32,4", To("sm.frontend.icache");
    "-gpgpu_perfect_inst_const_cache", "0", To("sm.perfect_instruction_and_constant_caches");
    "-gpgpu_num_sched_per_core", "1", To("sm.issue.schedulers");
    "-gpgpu_scheduler", "gto", To("sm.issue.scheduler sm.issue.two_level_active_warps");
    "-gpgpu_max_insn_issue_per_warp", "2", To("sm.issue.width");
    "-gpgpu_dual_issue_diff_exec_units", "1", To("sm.issue.dual_issue_needs_different_units");
    "-gpgpu_simd_model", "1", Fixed("1", "another divergence model", "reconvergence at post-dominators, by a stack");

    // Operand collectors.
    "-gpgpu_sub_core_model", "0", To("sm.operands.sub_cores");
    "-gpgpu_num_reg_banks", "8", To("sm.operands.banks");
    "-gpgpu_reg_file_port_throughput", "1", To("sm.operands.reads_per_bank");
    "-gpgpu_reg_bank_use_warp_id", "0", Ignored("GPGPU-Sim 4 adds the warp number to the register whatever this says; so does sm.operands.bank_uses_warp");
    "-gpgpu_enable_specialized_operand_collector", "1", To("sm.operands.collectors sm.operands.in_ports sm.operands.out_ports");
    "-gpgpu_operand_collector_num_units_gen", "0", To("sm.operands.collectors");
    "-gpgpu_operand_collector_num_units_sp", "4", To("sm.operands.collectors");
    "-gpgpu_operand_collector_num_units_dp", "0", To("sm.operands.collectors");
    "-gpgpu_operand_collector_num_units_sfu", "4", To("sm.operands.collectors");
    "-gpgpu_operand_collector_num_units_int", "0", To("sm.operands.collectors");
    "-gpgpu_operand_collector_num_units_tensor_core", "4", To("sm.operands.collectors");
    "-gpgpu_operand_collector_num_units_mem", "2", To("sm.operands.collectors");
    "-gpgpu_operand_collector_num_in_ports_gen", "0", To("sm.operands.in_ports");
    "-gpgpu_operand_collector_num_in_ports_sp", "1", To("sm.operands.in_ports");
    "-gpgpu_operand_collector_num_in_ports_dp", "0", To("sm.operands.in_ports");
    "-gpgpu_operand_collector_num_in_ports_sfu", "1", To("sm.operands.in_ports");
    "-gpgpu_operand_collector_num_in_ports_int", "0", To("sm.operands.in_ports");
    "-gpgpu_operand_collector_num_in_ports_tensor_core", "1", To("sm.operands.in_ports");
    "-gpgpu_operand_collector_num_in_ports_mem", "1", To("sm.operands.in_ports");
    "-gpgpu_operand_collector_num_out_ports_gen", "0", To("sm.operands.out_ports");
    "-gpgpu_operand_collector_num_out_ports_sp", "1", To("sm.operands.out_ports");
    "-gpgpu_operand_collector_num_out_ports_dp", "0", To("sm.operands.out_ports");
    "-gpgpu_operand_collector_num_out_ports_sfu", "1", To("sm.operands.out_ports");
    "-gpgpu_operand_collector_num_out_ports_int", "0", To("sm.operands.out_ports");
    "-gpgpu_operand_collector_num_out_ports_tensor_core", "1", To("sm.operands.out_ports");
    "-gpgpu_operand_collector_num_out_ports_mem", "1", To("sm.operands.out_ports");

    // Units.
    "-gpgpu_pipeline_widths", "1,1,1,1,1,1,1,1,1,1,1,1,1", To("sm.units sm.writeback_width");
    "-gpgpu_num_sp_units", "1", To("sm.units.sp.count");
    "-gpgpu_num_int_units", "0", To("sm.units.int.count");
    "-gpgpu_num_dp_units", "0", To("sm.units.dp.count");
    "-gpgpu_num_sfu_units", "1", To("sm.units.sfu.count");
    "-gpgpu_num_tensor_core_units", "0", To("sm.units.tensor.count");
    "-gpgpu_tensor_core_avail", "0", To("sm.units.tensor.count");
    "-gpgpu_num_mem_units", "1", Ignored("GPGPU-Sim reads it and does nothing with it: an SM has one load-store unit");
    "-specialized_unit_1", "0,4,4,4,4,BRA", To("sm.units.branch");
    "-specialized_unit_2", "0,4,4,4,4,BRA", To("sm.units.texture");
    "-specialized_unit_3", "0,4,4,4,4,BRA", To("sm.units.tensor");
    "-specialized_unit_4", "0,4,4,4,4,BRA", To("sm.units.uniform");
    "-specialized_unit_5", "0,4,4,4,4,BRA", Ignored("Accel-Sim's opcode tables send nothing there");
    "-specialized_unit_6", "0,4,4,4,4,BRA", Ignored("Accel-Sim's opcode tables send nothing there");
    "-specialized_unit_7", "0,4,4,4,4,BRA", Ignored("Accel-Sim's opcode tables send nothing there");
    "-specialized_unit_8", "0,4,4,4,4,BRA", Ignored("Accel-Sim's opcode tables send nothing there");

    // Latencies for PTX.
    "-ptx_opcode_latency_int", "1,1,19,25,145,32", To("sm.ptx_timing.int_add sm.ptx_timing.int_min_max sm.ptx_timing.int_mul sm.ptx_timing.int_mad sm.ptx_timing.int_div sm.ptx_timing.shuffle");
    "-ptx_opcode_initiation_int", "1,1,4,4,32,4", To("sm.ptx_timing.int_add sm.ptx_timing.int_min_max sm.ptx_timing.int_mul sm.ptx_timing.int_mad sm.ptx_timing.int_div sm.ptx_timing.shuffle");
    "-ptx_opcode_latency_fp", "1,1,1,1,30", To("sm.ptx_timing.fp_add sm.ptx_timing.fp_min_max sm.ptx_timing.fp_mul sm.ptx_timing.fp_fma sm.ptx_timing.fp_div");
    "-ptx_opcode_initiation_fp", "1,1,1,1,5", To("sm.ptx_timing.fp_add sm.ptx_timing.fp_min_max sm.ptx_timing.fp_mul sm.ptx_timing.fp_fma sm.ptx_timing.fp_div");
    "-ptx_opcode_latency_dp", "8,8,8,8,335", To("sm.ptx_timing.dp_add sm.ptx_timing.dp_min_max sm.ptx_timing.dp_mul sm.ptx_timing.dp_fma sm.ptx_timing.dp_div");
    "-ptx_opcode_initiation_dp", "8,8,8,8,130", To("sm.ptx_timing.dp_add sm.ptx_timing.dp_min_max sm.ptx_timing.dp_mul sm.ptx_timing.dp_fma sm.ptx_timing.dp_div");
    "-ptx_opcode_latency_sfu", "8", To("sm.ptx_timing.sfu");
    "-ptx_opcode_initiation_sfu", "8", To("sm.ptx_timing.sfu");
    "-ptx_opcode_latency_tesnor", "64", To("sm.ptx_timing.tensor");
    "-ptx_opcode_initiation_tensor", "64", To("sm.ptx_timing.tensor");
    "-cdp_latency", "7200,8000,100,12000,1600", Ignored(CDP);
    "-gpgpu_cdp_enabled", "0", Ignored(CDP);

    // Latencies for traces.
    "-trace_opcode_latency_initiation_int", "4,1", To("sm.sass_timing");
    "-trace_opcode_latency_initiation_sp", "4,1", To("sm.sass_timing.fp_add sm.sass_timing.fp_min_max sm.sass_timing.fp_mul sm.sass_timing.fp_fma sm.sass_timing.half");
    "-trace_opcode_latency_initiation_dp", "4,1", To("sm.sass_timing.dp_add sm.sass_timing.dp_min_max sm.sass_timing.dp_mul sm.sass_timing.dp_fma");
    "-trace_opcode_latency_initiation_sfu", "4,1", To("sm.sass_timing.sfu");
    "-trace_opcode_latency_initiation_tensor", "4,1", Ignored("Accel-Sim's opcode tables send matrix instructions to specialized unit 3");
    "-trace_opcode_latency_initiation_spec_op_1", "4,4", To("sm.sass_timing.branch");
    "-trace_opcode_latency_initiation_spec_op_2", "4,4", To("sm.sass_timing.texture");
    "-trace_opcode_latency_initiation_spec_op_3", "4,4", To("sm.sass_timing.tensor");
    "-trace_opcode_latency_initiation_spec_op_4", "4,4", To("sm.sass_timing.uniform");
    "-trace_opcode_latency_initiation_spec_op_5", "4,4", Ignored("Accel-Sim's opcode tables send nothing there");
    "-trace_opcode_latency_initiation_spec_op_6", "4,4", Ignored("Accel-Sim's opcode tables send nothing there");
    "-trace_opcode_latency_initiation_spec_op_7", "4,4", Ignored("Accel-Sim's opcode tables send nothing there");
    "-trace_opcode_latency_initiation_spec_op_8", "4,4", Ignored("Accel-Sim's opcode tables send nothing there");
    "-trace", "./traces/kernelslist.g", Ignored("names the trace to run; it says nothing of the GPU");

    // Shared memory and L1.
    "-gpgpu_shmem_size", "16384", To("sm.shared.bytes");
    "-gpgpu_shmem_num_banks", "16", To("sm.shared.banks");
    "-gpgpu_smem_latency", "3", To("sm.shared.latency_cycles");
    "-gpgpu_shmem_limited_broadcast", "1", To("sm.shared.limited_broadcast");
    "-gpgpu_shmem_warp_parts", "2", Fixed("1", "bank conflicts are counted per part of a warp", "bank conflicts are counted over the whole warp");
    "-gpgpu_shmem_sizeDefault", "16384", Ignored("is the split of L1 and shared memory that -gpgpu_shmem_size also gives");
    "-gpgpu_shmem_size_PrefL1", "16384", Ignored(OTHER_SPLIT);
    "-gpgpu_shmem_size_PrefShared", "16384", Ignored(OTHER_SPLIT);
    "-gpgpu_cache:dl1PrefL1", "none", Ignored(OTHER_SPLIT);
    "-gpgpu_cache:dl1PrefShared", "none", Ignored(OTHER_SPLIT);
    "-gpgpu_adaptive_cache_config", "0", To("sm.l1d.unified_bytes sm.l1d.shared_carveouts_bytes");
    "-gpgpu_unified_l1d_size", "0", To("sm.l1d.unified_bytes");
    "-gpgpu_shmem_option", "0", To("sm.l1d.shared_carveouts_bytes");
    "-gpgpu_cache:dl1", "none", To("sm.l1d.cache");
    "-gpgpu_l1_latency", "1", To("sm.l1d.latency_cycles");
    "-gpgpu_l1_banks", "1", To("sm.l1d.banks");
    "-gpgpu_l1_banks_byte_interleaving", "32", To("sm.l1d.bank_interleave_bytes");
    "-gpgpu_l1_banks_hashing_function", "0", Fixed("0", "the L1 bank is hashed", "the L1 bank follows from address bits");
    "-gpgpu_l1_cache_write_ratio", "0", To("sm.l1d.write_ratio_percent");
    "-gpgpu_gmem_skip_L1D", "0", To("sm.l1d.skip_global");
    "-gpgpu_coalesce_arch", "13", To("sm.l1d.cache.sectored");
    "-gpgpu_mem_unit_ports", "1", Fixed("1", "the load-store unit starts several transactions per cycle", "its rate follows from the banks of L1 and shared memory");
    "-gpgpu_perfect_mem", "0", Fixed("0", "every access hits", "caches and DRAM are simulated");
    "-gpgpu_local_mem_map", "1", Fixed("1", "all threads of the GPU have their local memory side by side, by SM", "CTA by CTA over the SMs");
    "-gpgpu_const_cache:l1", "64:64:2,L:R:f:N,A:2:32,4", To("sm.constant_cache");
    "-gpgpu_tex_cache:l1", "8:128:5,L:R:m:N,F:128:4,128:2", To("sm.texture_cache");
    "-gpgpu_n_ldst_response_buffer_size", "2", Ignored("responses wait at the SM's port only: interconnect.ejection_buffer_packets");

    // Interconnect.
    "-network_mode", "1", Fixed("2", "the Booksim network", "the built-in crossbar");
    "-inter_config_file", "mesh", Ignored(BOOKSIM);
    "-icnt_flit_size", "32", To("interconnect.flit_bytes");
    "-icnt_in_buffer_limit", "64", To("interconnect.input_buffer_packets");
    "-icnt_out_buffer_limit", "64", To("interconnect.output_buffer_packets");
    "-icnt_arbiter_algo", "1", To("interconnect.arbiter");
    "-icnt_subnets", "2", Fixed("2", "requests and answers share a network", "each way has a network of its own");
    "-icnt_grant_cycles", "1", Fixed("1", "a grant holds for several cycles", "every cycle is arbitrated anew");
    "-icnt_verbose", "0", Ignored(OUTPUT);
    "-gpgpu_n_cluster_ejection_buffer_size", "8", To("interconnect.ejection_buffer_packets");

    // L2.
    "-gpgpu_n_mem", "8", To("l2.partitions");
    "-gpgpu_n_sub_partition_per_mchannel", "1", To("l2.slices_per_partition");
    "-gpgpu_cache:dl2", "64:128:8,L:B:m:N,A:16:4,4", To("l2.cache");
    "-gpgpu_cache:dl2_texture_only", "1", Fixed("0", "only textures use L2", "everything uses L2");
    "-l2_ideal", "0", Fixed("0", "L2 always hits", "L2 is simulated");
    "-gpgpu_l2_rop_latency", "85", To("l2.latency_cycles");
    "-gpgpu_dram_partition_queues", "8:8:8:8", To("l2.queue_entries");
    "-gpgpu_memory_partition_indexing", "0", To("l2.partition_index");

    // DRAM.
    "-gpgpu_simple_dram_model", "0", Fixed("0", "DRAM of fixed latency and bandwidth", "banks and their timing are simulated");
    "-gpgpu_dram_scheduler", "1", To("dram.scheduler_queue");
    "-gpgpu_frfcfs_dram_sched_queue_size", "0", To("dram.scheduler_queue");
    "-gpgpu_dram_return_queue_size", "0", To("dram.return_queue");
    "-gpgpu_n_mem_per_ctrlr", "1", To("dram.chips_per_channel");
    "-gpgpu_dram_buswidth", "4", To("dram.bus_bytes");
    "-gpgpu_dram_burst_length", "4", To("dram.burst_length dram.technology");
    "-dram_data_command_freq_ratio", "2", To("dram.data_rate dram.technology");
    "-gpgpu_dram_timing_opt", "4:2:8:12:21:13:34:9:4:5:13:1:0:0", To("dram.timing");
    "-dram_latency", "30", To("dram.latency_cycles");
    "-dram_dual_bus_interface", "0", To("dram.dual_command_bus");
    "-dram_bnk_indexing_policy", "0", To("dram.bank_hash");
    "-dram_bnkgrp_indexing_policy", "0", To("dram.bank_group_low_bits");
    "-dram_seperate_write_queue_enable", "0", To("dram.write_queue");
    "-dram_write_queue_size", "32:28:16", To("dram.write_queue");
    "-dram_elimnate_rw_turnaround", "0", Fixed("0", "no turnaround between reads and writes", "tCDLR and tWL are kept");
    "-gpgpu_mem_addr_mapping", "", To("dram.address_map dram.channel_bit");
    "-gpgpu_mem_address_mask", "0", To("dram.address_map dram.channel_bit");
    "-gpgpu_mem_addr_test", "0", Ignored("is a self-test of the simulator");

    // Everything that is not the GPU.
    "-gpgpu_simt_core_sim_order", "1", Ignored("SMs meet only through time-stamped messages, so their order does not matter");
    "-gpgpu_ptx_sim_mode", "0", Fixed("0", "functional simulation only", "timing is simulated");
    "-gpgpu_ptx_convert_to_ptxplus", "0", Fixed("0", "machine code is run as PTXplus", "PTX is run as it is");
    "-gpgpu_ptx_force_max_capability", "0", Ignored("chooses among the PTX of a binary; the PTX file is given here");
    "-gpgpu_ptx_instruction_classification", "0", Ignored(OUTPUT);
    "-gpgpu_ptx_save_converted_ptxplus", "0", Ignored(TOOL_CHAIN);
    "-gpgpu_ptx_use_cuobjdump", "1", Ignored(TOOL_CHAIN);
    "-gpgpu_experimental_lib_support", "0", Ignored(TOOL_CHAIN);
    "-save_embedded_ptx", "0", Ignored(TOOL_CHAIN);
    "-keep", "0", Ignored(TOOL_CHAIN);
    "-gpgpu_ptx_inst_debug_to_file", "0", Ignored(OUTPUT);
    "-gpgpu_ptx_inst_debug_file", "inst_debug.txt", Ignored(OUTPUT);
    "-gpgpu_ptx_inst_debug_thread_uid", "1", Ignored(OUTPUT);
    "-checkpoint_option", "0", Ignored(CHECKPOINT);
    "-checkpoint_kernel", "1", Ignored(CHECKPOINT);
    "-checkpoint_CTA", "0", Ignored(CHECKPOINT);
    "-checkpoint_CTA_t", "0", Ignored(CHECKPOINT);
    "-checkpoint_insn_Y", "0", Ignored(CHECKPOINT);
    "-resume_option", "0", Ignored(CHECKPOINT);
    "-resume_kernel", "0", Ignored(CHECKPOINT);
    "-resume_CTA", "0", Ignored(CHECKPOINT);
    "-gpgpu_max_cycle", "0", Ignored(RUN_LIMIT);
    "-gpgpu_max_insn", "0", Ignored(RUN_LIMIT);
    "-gpgpu_max_cta", "0", Ignored(RUN_LIMIT);
    "-gpgpu_max_completed_cta", "0", Ignored(RUN_LIMIT);
    "-gpgpu_deadlock_detect", "1", Ignored("the watchdog always watches");
    "-gpgpu_stack_size_limit", "1024", Ignored(DEVICE_QUERY);
    "-gpgpu_heap_size_limit", "8388608", Ignored(DEVICE_QUERY);
    "-gpgpu_runtime_sync_depth_limit", "2", Ignored(CDP);
    "-gpgpu_runtime_pending_launch_count_limit", "2048", Ignored(CDP);
    "-gpgpu_runtime_stat", "10000:0", Ignored(OUTPUT);
    "-gpgpu_memlatency_stat", "0", Ignored(OUTPUT);
    "-gpgpu_warpdistro_shader", "-1", Ignored(OUTPUT);
    "-gpgpu_warp_issue_shader", "0", Ignored(OUTPUT);
    "-gpgpu_cflog_interval", "0", Ignored(OUTPUT);
    "-liveness_message_freq", "1", Ignored(OUTPUT);
    "-visualizer_enabled", "1", Ignored(OUTPUT);
    "-visualizer_outputfile", "NULL", Ignored(OUTPUT);
    "-visualizer_zlevel", "6", Ignored(OUTPUT);
    "-trace_enabled", "0", Ignored(OUTPUT);
    "-trace_components", "none", Ignored(OUTPUT);
    "-trace_sampling_core", "0", Ignored(OUTPUT);
    "-trace_sampling_memory_partition", "-1", Ignored(OUTPUT);
    "-enable_ptx_file_line_stats", "1", Ignored(OUTPUT);
    "-ptx_line_stats_filename", "gpgpu_inst_stats.txt", Ignored(OUTPUT);
    "-n_regfile_gating_group", "4", Ignored(POWER);
    "-gpgpu_clock_gated_reg_file", "0", Ignored(POWER);
    "-gpgpu_clock_gated_lanes", "0", Ignored(POWER);
    "-power_simulation_enabled", "0", Ignored(POWER);
    "-power_simulation_mode", "0", Ignored(POWER);
    "-power_per_cycle_dump", "0", Ignored(POWER);
    "-power_trace_enabled", "0", Ignored(POWER);
    "-power_trace_zlevel", "6", Ignored(POWER);
    "-steady_power_levels_enabled", "0", Ignored(POWER);
    "-steady_state_definition", "8:4", Ignored(POWER);
    "-dvfs_enabled", "0", Ignored(POWER);
    "-aggregate_power_stats", "0", Ignored(POWER);
    "-gpuwattch_xml_file", "gpuwattch.xml", Ignored(POWER);
    "-accelwattch_xml_file", "accelwattch_sass_sim.xml", Ignored(POWER);
    "-hw_perf_file_name", "hw_perf.csv", Ignored(POWER);
    "-hw_perf_bench_name", "", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_L1_RH", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_L1_RM", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_L1_WH", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_L1_WM", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_L2_RH", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_L2_RM", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_L2_WH", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_L2_WM", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_CC_ACC", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_SHARED_ACC", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_DRAM_RD", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_DRAM_WR", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_NOC", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_PIPE_DUTY", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_NUM_SM_IDLE", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_CYCLES", "0", Ignored(POWER);
    "-accelwattch_hybrid_perfsim_VOLTAGE", "0", Ignored(POWER);
}

/// Former names of options, and `SM3_KEPLER_TITAN`'s misspelling of one: (former, present).
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("-smem_latency", "-gpgpu_smem_latency"),
    ("-gmem_skip_L1D", "-gpgpu_gmem_skip_L1D"),
    ("-l1_latency", "-gpgpu_l1_latency"),
    ("-l2_rop_latency", "-gpgpu_l2_rop_latency"),
    ("-rop_latency", "-gpgpu_l2_rop_latency"),
    ("-ptx_opcode_latency_tensor", "-ptx_opcode_latency_tesnor"),
    ("-Seperate_Write_Queue_Enable", "-dram_seperate_write_queue_enable"),
    ("-Write_Queue_Size", "-dram_write_queue_size"),
    ("-mem_unit_ports", "-gpgpu_mem_unit_ports"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;
    use std::collections::BTreeSet;

    #[test]
    fn options_are_listed_once_and_lead_to_keys_that_exist() {
        let mut seen = BTreeSet::new();
        for row in ROWS {
            assert!(row.name.starts_with('-') && seen.insert(row.name), "{}", row.name);
            let To(keys) = row.fate else { continue };
            for key in keys.split(' ') {
                let inside = format!("{key}.");
                assert!(schema::paths().any(|(p, _)| p == key || p.starts_with(&inside)), "{}: {key}", row.name);
            }
        }
        for (former, present) in ALIASES {
            assert!(lookup(former).is_none() && lookup(present).is_some(), "{former}");
        }
    }
}
