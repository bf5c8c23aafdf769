//! The importer of Accel-Sim's files: what is read, what is reported, what is refused.

use config::{GpuConfig, Import, OpTiming, Outcome, Raw, Unit, UnitConfig, import_accelsim};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const SMALL: &str = include_str!("fixtures/small.gpgpusim.config");
const SMALL_TRACE: &str = include_str!("fixtures/small.trace.config");

fn small() -> Import {
    import_accelsim(SMALL, SMALL_TRACE).unwrap_or_else(|e| panic!("{e}"))
}

fn outcome<'a>(import: &'a Import, option: &str) -> &'a Outcome {
    &import.report.iter().find(|r| r.option == option).unwrap_or_else(|| panic!("{option} is not reported")).outcome
}

fn op(unit: Unit, latency_cycles: u32, initiation_cycles: u32) -> OpTiming {
    OpTiming { unit, latency_cycles, initiation_cycles }
}

#[test]
fn chip_and_clocks() {
    let gpu = small().config;
    assert_eq!((gpu.sm_version, gpu.sm_count), (75, 4));
    assert_eq!((gpu.sm.max_warps, gpu.sm.max_ctas, gpu.sm.registers), (32, 16, 65536));
    assert_eq!((gpu.clocks.core_mhz, gpu.clocks.dram_mhz), (1000.0, 2000.0));
    assert_eq!((gpu.sm.issue.scheduler.as_str(), gpu.sm.issue.two_level_active_warps), ("two_level", 4));
    // Absent, so GPGPU-Sim's defaults.
    assert_eq!((gpu.kernel_latency_cycles(), gpu.launch.max_concurrent_kernels), (0, 8));
}

#[test]
fn units_and_timing_for_ptx() {
    let sm = small().config.sm;
    let two = UnitConfig { count: 2, issue_latches: 2, dispatch_latches: 2 };
    let kinds = [Unit::Sp, Unit::Int, Unit::Sfu, Unit::Mem, Unit::Branch, Unit::Uniform];
    assert_eq!(sm.units.keys().copied().collect::<Vec<_>>(), kinds, "no double precision, no matrix unit");
    assert_eq!(sm.units[&Unit::Sp], two);
    assert_eq!(sm.units[&Unit::Mem], UnitConfig { count: 1, ..two });
    assert_eq!(sm.writeback_width, 4);
    for (class, expected) in [
        ("int_add", op(Unit::Int, 4, 1)),
        ("int_min_max", op(Unit::Int, 5, 2)),
        ("int_mul", op(Unit::Int, 6, 3)),
        ("int_mad", op(Unit::Int, 7, 4)),
        ("int_div", op(Unit::Sfu, 50, 8)),
        ("shuffle", op(Unit::Int, 20, 5)),
        ("fp_min_max", op(Unit::Sp, 8, 3)),
        ("fp_div", op(Unit::Sfu, 40, 9)),
        ("dp_fma", op(Unit::Sfu, 13, 19)),
        ("dp_div", op(Unit::Sfu, 300, 130)),
        ("sfu", op(Unit::Sfu, 30, 8)),
        ("tensor", op(Unit::Sp, 64, 64)),
        ("fence", op(Unit::Mem, 1, 1)),
    ] {
        assert_eq!(sm.ptx_timing[class], expected, "{class}");
    }
}

#[test]
fn units_and_timing_for_machine_code() {
    let sm = small().config.sm;
    for (class, expected) in [
        ("int_mad", op(Unit::Int, 4, 2)),
        ("fp_fma", op(Unit::Sp, 4, 2)),
        ("half", op(Unit::Sp, 4, 1)),
        ("dp_add", op(Unit::Sfu, 64, 32)),
        ("sfu", op(Unit::Sfu, 21, 8)),
        ("branch", op(Unit::Branch, 6, 3)),
        ("uniform", op(Unit::Uniform, 7, 1)),
        ("texture", op(Unit::Int, 4, 2)),
        ("exit", op(Unit::Int, 1, 1)),
    ] {
        assert_eq!(sm.sass_timing[class], expected, "{class}");
    }
}

#[test]
fn memory() {
    let gpu = small().config;
    let l1 = &gpu.sm.l1d;
    assert_eq!((l1.cache.sets, l1.cache.ways, l1.cache.mshr_entries, l1.cache.mshr_merges), (4, 64, 256, 32));
    assert_eq!((l1.cache.miss_queue, l1.cache.port_bytes, l1.cache.sectored), (16, 32, true));
    assert_eq!(l1.cache.write, config::WritePolicy::WriteThrough);
    assert_eq!(l1.cache.write_allocate, config::WriteAllocate::LazyFetchOnRead);
    assert_eq!((l1.unified_bytes, l1.shared_carveouts_bytes.as_slice()), (98304, [32768, 65536].as_slice()));
    assert_eq!(gpu.sm.constant_cache.port_bytes, 64, "a line, where the file gives no width");
    assert_eq!((gpu.l2.partitions, gpu.l2.slices_per_partition, gpu.l2.latency_cycles), (2, 2, 150));
    assert_eq!(gpu.l2.cache.index, config::IndexFunction::IPoly);
    assert_eq!(gpu.dram.latency_cycles, 200, "100 core cycles of 1000 MHz at 2000 MHz");
    assert_eq!(
        (gpu.dram.timing.nbk, gpu.dram.timing.tRC, gpu.dram.timing.tCCDL, gpu.dram.timing.tRTPL),
        (16, 62, 6, 4)
    );
    assert_eq!(gpu.dram.channel_bit, 8);
    assert!(gpu.dram.address_map.ends_with("RBBBCCCC.BCCSSSSS"));
    assert_eq!(gpu.interconnect.input_buffer_packets, 64, "GPGPU-Sim's default");
}

#[test]
fn each_option_is_accounted_for() {
    let import = small();
    for (option, starts) in [
        ("-gpgpu_n_clusters", "understood: sm_count"),
        ("-gpgpu_n_cores_per_cluster", "understood: sms_per_cluster, sm_count"),
        ("-visualizer_enabled", "ignored: chooses what"),
        ("-gpgpu_frobnicate", "cannot be honoured: is not an option"),
        ("-gpgpu_memory_partition_indexing", "cannot be honoured: a random partition"),
        ("-gpgpu_shmem_warp_parts", "understood: always so"),
        // Absent, and its default cannot be honoured.
        ("-gpgpu_cache:dl2_texture_only", "cannot be honoured: only textures use L2"),
    ] {
        let found = outcome(&import, option).to_string();
        assert!(found.starts_with(starts), "{option}: {found}");
    }
    let given = |text: &str| text.lines().filter(|l| l.starts_with('-')).count();
    let reported = import.report.iter().filter(|r| r.at.is_some()).count();
    assert_eq!(reported, given(SMALL) + given(SMALL_TRACE));
}

#[test]
fn the_written_file_reads_back_and_has_a_source_for_everything() {
    let import = small();
    let text = import.to_toml();
    let raw = Raw::parse(&text, "written").unwrap();
    assert_eq!(raw.config().unwrap(), import.config);
    let bare: Vec<_> = raw.keys().filter(|k| raw.source_of(k).is_none()).collect();
    assert_eq!(bare, Vec::<&str>::new());
    assert_eq!(raw.source_of("l2.partitions"), Some("gpgpusim.config: -gpgpu_n_mem 2"));
    assert_eq!(raw.source_of("sm.frontend.buffer_entries"), Some("GPGPU-Sim 4 shader.h: IBUFFER_SIZE"));
    assert_eq!(config::to_toml(&raw.config().unwrap(), raw.sources()), text, "writing is a fixed point");
}

#[test]
fn builtin_files_survive_writing() {
    for gpu in config::builtin() {
        let raw = Raw::open(gpu.name).unwrap();
        let config = raw.config().unwrap();
        let again = Raw::parse(&config::to_toml(&config, raw.sources()), "written").unwrap();
        assert_eq!(again.config().unwrap(), config);
        assert_eq!(again.sources(), raw.sources());
    }
}

/// `small` with one line replaced, or with one added if there is none of that option.
fn with(option: &str, line: &str) -> String {
    let mut found = false;
    let mut text = String::new();
    for l in SMALL.lines() {
        let hit = l.split_whitespace().next() == Some(option);
        found |= hit;
        text.push_str(if hit { line } else { l });
        text.push('\n');
    }
    if !found {
        text.push_str(line);
    }
    text
}

#[test]
fn a_misspelt_option_is_told_from_a_foreign_one() {
    let import = import_accelsim(&with("-gpgpu_n_mem", "-gpgpu_n_mems 2"), "").unwrap();
    assert!(outcome(&import, "-gpgpu_n_mems").to_string().contains("did you mean -gpgpu_n_mem?"));
    assert!(!outcome(&import, "-gpgpu_frobnicate").to_string().contains("did you mean"));
    assert_eq!(import.config.l2.partitions, 8, "GPGPU-Sim's default");
    assert_eq!(import.sources["l2.partitions"], "Accel-Sim default: -gpgpu_n_mem 8");
}

#[test]
fn former_names_are_read() {
    let import = import_accelsim(&with("-gpgpu_smem_latency", "-smem_latency 24"), "").unwrap();
    assert_eq!(import.config.sm.shared.latency_cycles, 24);
    assert_eq!(outcome(&import, "-smem_latency").to_string(), "understood: sm.shared.latency_cycles");
}

#[test]
fn the_last_of_several_values_counts() {
    let import = import_accelsim(&format!("-gpgpu_n_mem 7\n{SMALL}"), SMALL_TRACE).unwrap();
    assert_eq!(import.config.l2.partitions, 2);
    assert!(outcome(&import, "-gpgpu_n_mem").to_string().starts_with("ignored: given again in gpgpusim.config line"));
}

#[test]
fn old_notations_are_read() {
    let old = with("-gpgpu_cache:il1", "-gpgpu_cache:il1 4:128:4,L:R:f:N,A:2:32,4");
    let cache = import_accelsim(&old, "").unwrap().config.sm.frontend.icache;
    assert_eq!((cache.sectored, cache.sets, cache.index), (false, 4, config::IndexFunction::Linear));

    let line = "-gpgpu_dram_timing_opt 16:2:6:12:28:12:40:12:4:5:12:4:3:2\n-ignore \"";
    let old = with("-gpgpu_dram_timing_opt", line);
    let timing = import_accelsim(&old, "").unwrap().config.dram.timing;
    assert_eq!((timing.nbk, timing.tRCD, timing.tCL, timing.nbkgrp, timing.tRTPL), (16, 12, 12, 4, 2));

    let seven = with("-gpgpu_pipeline_widths", "-gpgpu_pipeline_widths 2,4,6,8,10,12,14")
        .replace("-gpgpu_num_int_units 2", "-gpgpu_num_int_units 0");
    let sm = import_accelsim(&seven, "").unwrap().config.sm;
    let sfu = sm.units[&Unit::Sfu];
    assert_eq!((sfu.issue_latches, sfu.dispatch_latches, sm.writeback_width), (4, 10, 14));
    assert_eq!(sm.ptx_timing["int_add"].unit, Unit::Sp, "no integer unit, so SP does its work");
}

#[test]
fn a_gpu_without_l1_sends_global_memory_to_l2() {
    let none = with("-gpgpu_cache:dl1", "-gpgpu_cache:dl1 none").replace("-gpgpu_adaptive_cache_config 1", "");
    let import = import_accelsim(&none, "").unwrap();
    assert!(import.config.sm.l1d.skip_global);
    assert!(matches!(outcome(&import, "-gpgpu_cache:dl1"), Outcome::CannotHonour { .. }));
}

#[test]
fn sets_are_masked_where_they_are_not_a_power_of_two() {
    let l1 = |index| with("-gpgpu_cache:dl1", &format!("-gpgpu_cache:dl1 S:3:128:64,L:T:m:L:{index},A:256:32,16:0,32"));
    let fixed = |text: String| text.replace("-gpgpu_adaptive_cache_config 1", "");
    let cache = import_accelsim(&fixed(l1("L")), SMALL_TRACE).unwrap().config.sm.l1d.cache;
    assert_eq!((cache.sets, cache.index), (3, config::IndexFunction::Masked));
    for hash in ["P", "X"] {
        let error = import_accelsim(&fixed(l1(hash)), SMALL_TRACE).unwrap_err().to_string();
        assert!(error.contains("(from -gpgpu_cache:dl1) is 3; this index function needs a power of two"), "{error}");
    }
}

/// The same bits by `dramid`, by `D`, and by the number of a mask.
#[test]
fn channels_of_the_address_map() {
    let option = "-gpgpu_mem_addr_mapping";
    let map_of =
        |text: &str| import_accelsim(text, SMALL_TRACE).map(|i| (i.config.dram.address_map, i.config.dram.channel_bit));
    let linear = with("-gpgpu_memory_partition_indexing", "-gpgpu_memory_partition_indexing 0");
    let mapped = |map: &str| linear.replace(linear.lines().find(|l| l.starts_with(option)).unwrap(), map);
    let by_bit = map_of(&mapped(&format!("{option} dramid@8;RRRRRRRR.RRRRRBBB.CCCCBCCS.SSSS"))).unwrap();
    let by_letter = map_of(&mapped(&format!("{option} RRRRRRRR.RRRRRBBB.CCCDCBCC.SSSSS"))).unwrap();
    assert_eq!(by_bit.1, 8);
    assert_eq!(by_letter, ("RRRRRRRR.RRRRRBBB.CCCCBCC.SSSSS".into(), 9));

    let timing = linear.replace("nbk=16", "nbk=4").replace(linear.lines().find(|l| l.starts_with(option)).unwrap(), "");
    for (number, map, channel_bit) in [
        (0, "RRRRRRRRRRRRRRCCCBBCCCCCCCC", 10),
        (1, "RRRRRRRRRRRRRRBBCCCCCCCCCCC", 13),
        (3, "RRRRRRRRRRRRRRRBBCCCCCCCCCCC", 11),
        (15, "RRRRRRRRRRRRRRBBCCCCCCCCCCC", 15),
    ] {
        let text = format!("{timing}\n-gpgpu_mem_address_mask {number}\n");
        assert_eq!(map_of(&text).unwrap(), (map.to_string(), channel_bit), "{number}");
    }
    assert_eq!(map_of(&timing).unwrap().1, 10, "GPGPU-Sim's default");

    for (map, part) in [
        ("RRRRRRRR.RRRRRBBB.CDCDCBCC.SSSSS", "neighbouring D"),
        ("RRRRRRRR.RRRRRBBB.CCCDDBCC.SSSSS", "neighbouring D"),
        ("dramid@8;RRRRRRRR.RRRRRBBB.CCCDCBCC.SSSSS", "neighbouring D"),
        ("RRRRRRRR.RRRRRBBB.CCCXCBCC.SSSSS", "neighbouring D"),
    ] {
        let error = map_of(&mapped(&format!("{option} {map}"))).unwrap_err().to_string();
        assert!(error.contains(part), "{map}: {error}");
    }
    let hashed = mapped(&format!("{option} RRRRRRRR.RRRRRBBB.CCCDCBCC.SSSSS"))
        .replace("-gpgpu_memory_partition_indexing 0", "-gpgpu_memory_partition_indexing 2");
    assert!(map_of(&hashed).unwrap_err().to_string().contains("not hashed"));
}

#[test]
fn what_is_wrong_is_reported_with_its_line_and_all_at_once() {
    let broken = "-gpgpu_n_clusters many\n-gpgpu_clock_domains 1:2:3\n-gpgpu_cache:dl2 S:64\n-gpgpu_n_mem\n-gpgpu_mem_addr_mapping dramid\n";
    let error = import_accelsim(broken, "stray").unwrap_err().to_string();
    for expected in [
        "gpgpusim.config:1:1: `-gpgpu_n_clusters` cannot be `many`",
        "gpgpusim.config:2:1: `-gpgpu_clock_domains` cannot be `1:2:3`",
        "gpgpusim.config:3:1: `-gpgpu_cache:dl2` cannot be `S:64`",
        "gpgpusim.config:4:1: `-gpgpu_n_mem` has no value",
        "trace.config:1:1: `stray` belongs to no option",
        "`-gpgpu_mem_addr_mapping` cannot be `dramid`",
    ] {
        assert!(error.contains(expected), "{expected}\nnot in\n{error}");
    }
}

#[test]
fn values_that_make_no_gpu_are_blamed_on_their_option() {
    let bad = with("-gpgpu_num_reg_banks", "-gpgpu_num_reg_banks 7");
    let error = import_accelsim(&bad, SMALL_TRACE).unwrap_err();
    let [problem] = &error.problems[..] else { panic!("{error}") };
    let line = bad.lines().position(|l| l.contains("reg_banks")).unwrap() as u32 + 1;
    assert_eq!(problem.spot.as_ref().unwrap().line, line);
    assert!(problem.to_string().contains("-gpgpu_num_reg_banks"), "{problem}");
}

#[test]
fn an_empty_file_is_no_configuration() {
    for text in ["", "\n\n# only a comment\n"] {
        let error = import_accelsim(text, "").unwrap_err().to_string();
        assert!(error.contains("has no options in it"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text: an error or a description, never a panic.
    #[test]
    fn no_text_panics(text in "[-a-z0-9_:,;\"# \n@.]{0,200}", trace in "\\PC{0,60}") {
        let _ = import_accelsim(&text, &trace);
    }

    /// A good file with some bytes damaged, or cut off.
    #[test]
    fn no_damage_panics(at in 0usize..3000, junk in "\\PC{0,8}", cut in any::<bool>()) {
        let mut at = at.min(SMALL.len());
        while !SMALL.is_char_boundary(at) {
            at -= 1;
        }
        let tail = if cut { "" } else { &SMALL[(at + junk.len()).min(SMALL.len())..] };
        if let Ok(import) = import_accelsim(&format!("{}{junk}{tail}", &SMALL[..at]), SMALL_TRACE) {
            prop_assert!(import.config.check().is_ok());
        }
    }

    /// Each option with an arbitrary number, or word: consistent or refused.
    #[test]
    fn no_value_panics(option in 1usize..70, value in prop_oneof!["[0-9]{1,10}", "[-:,a-zA-Z0-9]{1,20}"]) {
        let name = SMALL.lines().filter(|l| l.starts_with('-')).nth(option - 1).and_then(|l| l.split(' ').next());
        let name = name.unwrap_or("-gpgpu_l1_banks_byte_interleaving");
        if let Ok(import) = import_accelsim(&with(name, &format!("{name} {value}")), SMALL_TRACE) {
            prop_assert!(import.config.check().is_ok());
        }
    }
}

/// Accel-Sim's own files, where someone has put them beside the repository.
fn accelsim_configs() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/accelsim_configs");
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: Accel-Sim's configurations are not at {}", dir.display());
    None
}

fn import_from(dir: &Path, gpu: &str) -> Import {
    let read = |file: &str| std::fs::read_to_string(dir.join(gpu).join(file)).unwrap();
    import_accelsim(&read("gpgpusim.config"), &read("trace.config")).unwrap_or_else(|e| panic!("{gpu}:\n{e}"))
}

#[test]
fn accelsims_own_files_are_read_without_an_unknown_option() {
    let Some(dir) = accelsim_configs() else { return };
    let mut gpus: Vec<_> =
        std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    gpus.sort();
    assert_eq!(gpus.len(), 9);
    for gpu in gpus {
        let import = import_from(&dir, &gpu);
        let count = |f: fn(&Outcome) -> bool| import.report.iter().filter(|r| f(&r.outcome)).count();
        println!(
            "{gpu}: {} understood, {} ignored, {} not honoured",
            count(|o| matches!(o, Outcome::Understood(_))),
            count(|o| matches!(o, Outcome::Ignored(_))),
            count(|o| matches!(o, Outcome::CannotHonour { .. }))
        );
        for r in &import.report {
            assert!(!r.outcome.to_string().contains("is not an option"), "{gpu}: {r}");
            if matches!(r.outcome, Outcome::CannotHonour { .. }) {
                println!("    {r}");
            }
        }
        let raw = Raw::parse(&import.to_toml(), &gpu).unwrap();
        assert_eq!(raw.config().unwrap(), import.config);
        assert!(raw.keys().all(|k| raw.source_of(k).is_some()), "{gpu}");
    }
}

#[test]
fn the_descriptions_named_after_accelsim_are_what_the_importer_makes() {
    let Some(dir) = accelsim_configs() else { return };
    for (ours, theirs) in [
        ("v100", "SM7_QV100"),
        ("gv100", "SM7_GV100"),
        ("titanv", "SM7_TITANV"),
        ("rtx2060", "SM75_RTX2060"),
        ("rtx2060s", "SM75_RTX2060_S"),
        ("rtx3070", "SM86_RTX3070"),
    ] {
        let ours = config::load(format!("accel-sim/{ours}")).unwrap();
        let import = import_from(&dir, theirs).config;
        let GpuConfig { name, description, energy, .. } = ours.clone();
        assert_eq!(GpuConfig { name, description, energy, ..import }, ours, "{theirs}");
    }
}
