//! Wrong descriptions: everything is reported at once, with its place and what to do.

use config::{ConfigError, Raw};
use proptest::prelude::*;

fn v100() -> &'static str {
    config::builtin().iter().find(|b| b.name == "accel-sim/v100").unwrap().text
}

/// Accel-Sim's V100 with each `from` replaced by its `to`.
fn changed(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(v100().to_string(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

fn error(text: &str) -> ConfigError {
    Raw::parse(text, "gpu.toml").and_then(|raw| raw.config()).expect_err("should be refused")
}

#[test]
fn all_problems_come_at_once_with_line_column_and_hint() {
    let text = changed(&[
        ("max_warps = 64", "max_warps = 130"),
        ("flit_bytes = 40", "flit_bytes = \"wide\""),
        ("sub_cores = true", "sub_core = true"),
    ]);
    let line = |needle: &str| text.lines().position(|l| l.starts_with(needle)).unwrap() + 1;
    let shown = error(&text).to_string();
    for expected in [
        format!("gpu.toml:{}:1: `sm.max_warps` is 130, must be an integer from 1 to 128", line("max_warps")),
        "    max_warps = 130\n    ^\n    hint: it means: Warp slots of an SM.".to_string(),
        format!("gpu.toml:{}:1: `interconnect.flit_bytes` is \"wide\", must be an integer", line("flit_bytes")),
        format!("gpu.toml:{}:1: `sm.operands.sub_core` is not a key of a GPU description", line("sub_core")),
        "hint: did you mean `sm.operands.sub_cores`?".to_string(),
        "`sm.operands.sub_cores` is missing: true or false".to_string(),
    ] {
        assert!(shown.contains(&expected), "{expected}\nnot in\n{shown}");
    }
}

#[test]
fn problems_stand_in_the_order_of_the_file() {
    let text =
        changed(&[("max_warps = 64", "max_warps = 0"), ("sm_count = 80", "sm_count = 0"), ("nbk = 16", "nbk = 3")]);
    let lines: Vec<u32> = error(&text).problems.iter().map(|p| p.spot.as_ref().unwrap().line).collect();
    assert!(lines.len() >= 3 && lines.is_sorted(), "{lines:?}");
}

#[test]
fn relations_between_values_are_checked() {
    for (changes, key, says) in [
        (&[("schedulers = 4", "schedulers = 3")][..], "sm.max_warps", "does not divide among 3 schedulers"),
        (&[("banks = 16", "banks = 18")], "sm.operands.banks", "does not divide among 4 schedulers"),
        (&[("collectors = 8", "collectors = 6")], "sm.operands.collectors", "does not divide"),
        (&[("int = { count = 4,", "#")], "sm.ptx_timing.int_add.unit", "the SM has no such unit"),
        (
            &[("fence = { unit = \"mem\", latency_cycles = 1", "fence = { unit = \"mem\", latency_cycles = 9")],
            "sm.ptx_timing.fence.latency_cycles",
            "must be 1",
        ),
        (&[("fence = { unit = \"mem\"", "load = { unit = \"mem\"")], "sm.ptx_timing.load.unit", "is not a key"),
        (&[("mem = { count = 1", "mem = { count = 2")], "sm.units.mem.count", "must be 1"),
        (&[("registers = 65536", "registers = 4096")], "sm.registers", "less than one warp may ask for"),
        (&[("bytes = 98304\nbanks", "bytes = 4096\nbanks")], "sm.max_shared_bytes_per_cta", "more than the SM has"),
        (&[("[0, 8192, 16384", "[8192, 0, 16384")], "sm.l1d.shared_carveouts_bytes", "must ascend"),
        (&[("unified_bytes = 131072", "unified_bytes = 0")], "sm.l1d.shared_carveouts_bytes", "must be empty"),
        (&[("unified_bytes = 131072", "unified_bytes = 98304")], "sm.l1d.shared_carveouts_bytes", "leaves no L1"),
        (
            &[("write = \"write_through\"\nallocate = \"on_miss\"", "write = \"write_evict\"\nallocate = \"on_fill\"")],
            "sm.l1d.cache.write_allocate",
            "not write_through",
        ),
        (
            &[(
                "allocate = \"on_miss\"\nwrite_allocate = \"lazy_fetch_on_read\"\nindex = \"linear\"",
                "allocate = \"on_fill\"\nwrite_allocate = \"fetch_on_write\"\nindex = \"linear\"",
            )],
            "sm.l1d.cache.write_allocate",
            "needs allocate = on_miss",
        ),
        (
            &[("write = \"write_back\"\nallocate = \"on_miss\"", "write = \"write_back\"\nallocate = \"on_fill\"")],
            "l2.cache.allocate",
            "can deadlock",
        ),
        (&[("port_bytes = 32", "port_bytes = 256")], "sm.l1d.cache.port_bytes", "wider than a line"),
        (&[("nbk = 16", "nbk = 8")], "dram.address_map", "4 bank bits (B), but 8 banks"),
        (&[("RBBBCCCB", "RBBBXCCB")], "dram.address_map", "has `X`"),
        (&[("tRC = 40", "tRC = 4")], "dram.timing.tRC", "less than tRAS"),
        (&[("tRC = 40", "tRC = 40\ntREFI = 50")], "dram.timing.tREFI", "no time to use rows"),
        (&[("nbkgrp = 4", "nbkgrp = 32")], "dram.timing.nbkgrp", "more than there are banks"),
        (&[("bus_bytes = 16", "bus_bytes = 16\nwrite_queue = [8, 9, 2]")], "dram.write_queue", "must descend"),
        (&[("dram_mhz = 850.0", "dram_mhz = 0.0")], "clocks.dram_mhz", "from 1 to 100000"),
        (&[("dram_mhz = 850.0", "dram_mhz = nan")], "clocks.dram_mhz", "from 1 to 100000"),
        (
            &[("dp = { count = 4", "dp = { count = 3")],
            "sm.units.dp.count",
            "4 sub-cores (sm.operands.sub_cores) cannot share",
        ),
        (
            &[("[sm.shared]", "[sm.instruction_caches]\nl1_line_bytes = 64\n[sm.shared]")],
            "sm.instruction_caches.l0_line_bytes",
            "is 128, more than the line of L1 that it comes from (64)",
        ),
        (
            &[("[sm.shared]", "[sm.instruction_caches]\nl0_line_bytes = 32\nl1_line_bytes = 32\n[sm.shared]")],
            "sm.instruction_caches.constant_line_bytes",
            "is 64, more than the line of L1 that it comes from (32)",
        ),
        (
            &[("[sm.shared]", "[gpc_cache]\nsets = 64\nline_bytes = 64\n[sm.shared]")],
            "sm.instruction_caches.l1_line_bytes",
            "is 128, more than the line of the GPC's cache that it comes from (64)",
        ),
        (
            &[("[launch]", "[launch]\nprefetched_code_bytes = 512")],
            "launch.prefetched_code_bytes",
            "needs a cache to fetch into",
        ),
        (
            &[("[launch]", "[launch]\nprefetches_parameters = true")],
            "launch.prefetches_parameters",
            "needs a cache to fetch into",
        ),
        (
            &[("[sm.shared]", "[sm.tensor]\nf16 = { latency_cycles = 9 }\n[sm.shared]")],
            "sm.tensor.f16.multiply_adds_per_cycle",
            "is missing",
        ),
        (
            &[("[sm.shared]", "[sm.tensor.b1]\nlatency_cycles = 9\nmultiply_adds_per_cycle = 8\n[sm.shared]")],
            "sm.tensor.b1.multiply_adds_per_cycle",
            "takes 4105 cycles",
        ),
        (
            &[("[sm.shared]", "[sm.tensor]\nf99 = { latency_cycles = 9 }\n[sm.shared]")],
            "sm.tensor.f99.latency_cycles",
            "is not a key",
        ),
        (
            &[("[sm.sass_timing]", "[sm.sass_timing]\nvote = { unit = \"int\" }")],
            "sm.sass_timing.vote.latency_cycles",
            "is missing",
        ),
        (
            &[("kernel_latency_cycles = 5000", "")],
            "launch.kernel_latency_cycles",
            "is missing, and launch.kernel_latency_ns too",
        ),
        (
            &[("kernel_latency_cycles = 5000", "kernel_latency_cycles = 5000\nkernel_latency_ns = 1")],
            "launch.kernel_latency_ns",
            "two ways to say one thing",
        ),
        (&[("fp_add = {", "fp_sub = {")], "sm.ptx_timing.fp_sub.unit", "is not a key"),
        (&[("fp_add = {", "fp_sub = {")], "sm.ptx_timing.fp_add.latency_cycles", "is missing"),
    ] {
        let error = error(&changed(changes));
        let found = error.problems.iter().find(|p| p.key == key && p.to_string().contains(says));
        let found = found.unwrap_or_else(|| panic!("{key}: {says}\nnot in\n{error}"));
        assert!(found.spot.as_ref().is_some_and(|s| s.line > 0), "{found}");
    }
}

#[test]
fn what_is_not_toml_is_reported_with_its_place() {
    let shown = error("name = \"x\"\n[sm\nmax_warps = = 3\n").to_string();
    assert!(shown.starts_with("gpu.toml:2:"), "{shown}");
    assert!(shown.contains("not TOML"), "{shown}");
    let shown = error("").to_string();
    assert!(shown.contains("`name` is missing") && shown.contains("`dram.timing.tRTPL` is missing"), "{shown}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let shown = config::load("rtx2060").unwrap_err().to_string();
    assert!(shown.contains("no built-in GPU `rtx2060`") && shown.contains("did you mean `rtx2060s`?"), "{shown}");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("binary.toml");
    std::fs::write(&path, [0x7f, b'E', b'L', b'F', 0xff, 0xfe]).unwrap();
    let shown = config::load(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(shown.contains("not a text file: byte 4 is not UTF-8"), "{shown}");
    let shown = config::load(dir.path().to_str().unwrap()).unwrap_err().to_string();
    assert!(shown.contains("cannot be read"), "{shown}");
}

#[test]
fn a_description_extends_another() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write(
        "mine.toml",
        "extends = \"accel-sim/v100\"\nname = \"mine\"\n[sm]\nmax_warps = 32\n[sources]\n\"sm.max_warps\" = \"a guess\"\n",
    );
    write("child.toml", "extends = \"mine.toml\"\nsm_count = 3\n[launch]\nkernel_latency_ns = 2000\n");
    let path = dir.path().join("child.toml");
    let raw = Raw::open(path.to_str().unwrap()).unwrap();
    let gpu = raw.config().unwrap();
    assert_eq!((gpu.name.as_str(), gpu.sm.max_warps, gpu.sm_count, gpu.sm.max_ctas), ("mine", 32, 3, 32));
    assert_eq!((gpu.launch.kernel_latency_cycles, gpu.launch.kernel_latency_ns), (None, Some(2000)));
    assert_eq!(raw.source_of("sm.max_warps"), Some("a guess"));
    assert!(raw.source_of("sm.max_ctas").unwrap().contains("-gpgpu_shader_cta"));

    write("bad.toml", "extends = \"accel-sim/v100\"\n[sm]\nmax_warps = 129\n");
    let shown = config::load(dir.path().join("bad.toml").to_str().unwrap()).unwrap_err().to_string();
    assert!(shown.contains("bad.toml:3:1: `sm.max_warps` is 129"), "{shown}");

    write("loop.toml", "extends = \"loop.toml\"\n");
    let shown = config::load(dir.path().join("loop.toml").to_str().unwrap()).unwrap_err().to_string();
    assert!(shown.contains("extend each other"), "{shown}");
}

#[test]
fn assignments_change_values() {
    let gpu = config::load_with(
        "rtx3070",
        &[
            "sm.issue.scheduler=gto",
            "clocks.core_mhz = 1500",
            "sm.l1d.skip_global=true",
            "sm.ptx_timing.fp_fma.latency_cycles=6",
            "l2.queue_entries=[8,8,8,8]",
            "description=\"a b\"",
        ],
    )
    .unwrap();
    assert_eq!((gpu.sm.issue.scheduler.as_str(), gpu.clocks.core_mhz, gpu.sm.l1d.skip_global), ("gto", 1500.0, true));
    assert_eq!((gpu.sm.ptx_timing["fp_fma"].latency_cycles, gpu.l2.queue_entries[0]), (6, 8));
    assert_eq!(gpu.description, "a b");
}

/// Settings of docs/gpus.md for the older GTX 480 are consistent.
#[test]
fn the_older_gtx_480_of_the_document_loads() {
    let gpu = config::load_with(
        "gtx480",
        &[
            "l2.cache.sectored=false",
            "l2.cache.write_allocate=write",
            "l2.cache.mshr_entries=32",
            "sm.l1d.cache.mshr_entries=32",
            "l2.queue_entries=[8, 8, 8, 8]",
            "dram.scheduler_queue=16",
            "interconnect.flit_bytes=32",
            "launch.flush_l1_between_kernels=false",
            "sm.l1d.latency_cycles=1",
        ],
    );
    assert!(!gpu.unwrap().l2.cache.sectored);
}

#[test]
fn wrong_assignments_are_all_reported() {
    let error = config::load_with(
        "v100",
        &["sm.isue.width=2", "width=2", "sm.max_warps=lots", "sm.max_warps", "sm.max_warps=999", "sm=1"],
    )
    .unwrap_err();
    let shown = error.to_string();
    for expected in [
        "--set sm.isue.width=2: `sm.isue.width` is not a key",
        "did you mean `sm.issue.width`?",
        "--set sm.max_warps=lots: `sm.max_warps` cannot be `lots`: must be an integer from 1 to 128",
        "--set sm.max_warps: is not of the form key=value",
        "`sm.max_warps` cannot be `999`",
        "`sm` is not a key",
    ] {
        assert!(shown.contains(expected), "{expected}\nnot in\n{shown}");
    }
    assert_eq!(shown.matches("did you mean `sm.issue.width`?").count(), 2, "also for `width` alone\n{shown}");
    // Consistency is checked after all assignments, and the culprit is named.
    let shown = config::load_with("v100", &["sm.issue.schedulers=3"]).unwrap_err().to_string();
    assert!(shown.contains("does not divide among 3 schedulers"), "{shown}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in "[a-z.=\\[\\]{}\"0-9_#\n ,é-]{0,300}") {
        let _ = Raw::parse(&text, "any").map(|raw| raw.config());
    }

    #[test]
    fn no_damage_panics(at in 0usize..9000, junk in "\\PC{0,6}", cut in any::<bool>()) {
        let text = v100();
        let at = at.min(text.len());
        let tail = if cut { "" } else { &text[(at + junk.len()).min(text.len())..] };
        let _ = Raw::parse(&format!("{}{junk}{tail}", &text[..at]), "damaged").map(|raw| raw.config());
    }

    /// Any single value replaced: consistent, or refused with a place.
    #[test]
    fn no_value_panics(key in 0usize..1000, value in prop_oneof![
        Just("0".to_string()), Just("1".to_string()), Just("-1".to_string()), Just("4294967295".to_string()),
        Just("true".to_string()), Just("[]".to_string()), "[0-9]{1,4}", "[a-z_]{1,12}",
    ]) {
        let mut raw = Raw::open("rtx2060s").unwrap();
        let keys: Vec<String> = raw.keys().map(String::from).collect();
        let key = &keys[key % keys.len()];
        if raw.set(&format!("{key}={value}")).is_ok()
            && let Err(error) = raw.config()
        {
            prop_assert!(error.problems.iter().all(|p| p.spot.is_some()), "{error}");
        }
    }
}

#[test]
fn the_capacity_of_a_cache_is_no_key_of_a_file_but_the_message_says_what_makes_it() {
    for (key, cache) in [("sm.l1d.bytes", "sm.l1d.cache"), ("l2.cache.bytes", "l2.cache")] {
        let text = format!("extends = \"v100\"\n{key} = 32768\n");
        let problem = Raw::parse(&text, "my.toml").and_then(|raw| raw.config()).unwrap_err();
        let expected = format!("`{cache}.sets` x `{cache}.ways` x `{cache}.line_bytes`");
        assert!(problem.to_string().contains(&expected), "{problem}");
    }
}

#[test]
fn numbers_of_settings_may_have_units() {
    let mut raw = Raw::open("gtx480").unwrap();
    raw.set("clocks.core_mhz=1.4GHz").unwrap();
    raw.set("sm.shared.bytes=48KiB").unwrap();
    let gpu = raw.config().unwrap();
    assert_eq!((gpu.clocks.core_mhz, gpu.sm.shared.bytes), (1400.0, 48 << 10));
    assert!(raw.set("sm.max_warps=1KiB").is_err(), "a number of warps has no unit");
}
