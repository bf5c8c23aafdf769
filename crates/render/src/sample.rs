//! A fixed report for tests of rendering.

use isa::Dim3;
use lab::diagnosis::{Cause, Diagnosis};
use lab::grouping::{Group, GroupKernel, GroupedLaunch, Grouping};
use lab::{
    CheckResult, EnergyModelInUse, GroupSample, HostFigures, How, KernelReport, LaunchSample, OccupancyReport,
    RegisterSource, Report, Sampling, StatInfo, Stats, Value,
};
use workloads::Form;

type Row = (&'static str, &'static str, Value);

fn count(scale: u64, name: &'static str, unit: &'static str, n: u64) -> Row {
    (name, unit, Value::Count(n * scale))
}

fn real(name: &'static str, unit: &'static str, x: f64) -> Row {
    (name, unit, Value::Real(Some(x)))
}

fn stats(scale: u64) -> Stats {
    let rows = [
        count(scale, "cycles", "cycles", 12_345),
        real("time", "us", 24.69 * scale as f64),
        count(scale, "launch_cycles", "cycles", 5000),
        count(scale, "total_cycles", "cycles", 17_345),
        count(scale, "warp_instructions", "warp instructions", 50_176),
        count(scale, "thread_instructions", "thread instructions", 1_605_632),
        real("ipc", "thread instructions per cycle", 130.063_18),
        real("warp_ipc", "warp instructions per cycle", 4.064_48),
        real("energy.total", "J", 0.004_321 * scale as f64),
        real("energy.per_thread_instruction", "pJ", 2691.2),
        real("energy.per_warp_instruction", "pJ", 86_117.0),
        real("power.mean", "W", 175.01),
        real("energy.management", "J", 0.001_5 * scale as f64),
        real("energy.register_file", "J", 0.001_5 * scale as f64),
        real("energy.dram", "J", 0.002_021 * scale as f64),
        real("energy.design", "J", 0.0),
        real("energy.static", "J", 0.000_8 * scale as f64),
        real("occupancy.achieved", "%", 48.234),
        count(scale, "slots.all", "issue slots", 600_676),
        count(scale, "slots.issued", "issue slots", 50_176),
        count(scale, "slots.raw", "issue slots", 20_000),
        count(scale, "slots.raw_memory", "issue slots", 30_500),
        count(scale, "slots.war", "issue slots", 0),
        count(scale, "slots.idle", "issue slots", 500_000),
        count(scale, "stalls.hazards", "issue slots", 50_500),
        count(scale, "l1d.accesses", "requests", 4096),
        real("l1d.hit_rate", "%", 75.0),
        count(scale, "l2.accesses", "requests", 1024),
        real("l2.hit_rate", "%", 33.333_333),
        ("constant.hit_rate", "%", Value::Real(None)),
        count(scale, "dram.bytes", "bytes", 21_856),
        real("dram.bandwidth", "GB/s", 112.5),
    ];
    let info = |(name, unit, value): Row| {
        (StatInfo { name: name.into(), unit, description: format!("The {name}.").into() }.into(), value)
    };
    Stats(rows.into_iter().map(info).collect())
}

fn kernel(launch: u32, register_source: RegisterSource) -> KernelReport {
    KernelReport {
        launch,
        name: "_Z6matmulPKfS0_Pfiii".into(),
        stream: 0,
        code: Form::Sass,
        grid: Dim3::new(4, 4, 1),
        block: Dim3::new(16, 16, 1),
        registers_per_thread: 32,
        register_source,
        shared_bytes: 2048,
        occupancy: OccupancyReport {
            ctas_per_sm: 4,
            warps_per_sm: 32,
            theoretical_percent: 100.0,
            limiter: "warps".into(),
        },
        start_cycle: 0,
        statistics: stats(1).into(),
    }
}

/// A run of two launches whose result is right.
pub fn report() -> Report {
    Report {
        schema: 2,
        version: "0.1.0".into(),
        workload: "matmul m=64 n=64 k=64 seed=1".into(),
        gpu: "rtx2060s".into(),
        core: "inorder".into(),
        scheduler: "gto".into(),
        settings: vec!["sm.issue.width=1".into()],
        interrupted: false,
        error: None,
        kernels: vec![kernel(0, RegisterSource::Compiled), kernel(1, RegisterSource::Estimated)],
        total: stats(2),
        l2_slice_accesses: Vec::new(),
        by_kernel: Vec::new(),
        energy_model: Some(EnergyModelInUse { name: "rtx2060s".into(), volts: 1.0, core_mhz: 500.0 }),
        power: None,
        samples: None,
        overview: None,
        remarks: Vec::new(),
        output: vec!["thread 0 says hello".into()],
        check: Some(CheckResult { passed: true, details: "c: 4,096 values within their bounds".into() }),
        audit: None,
        diagnosis: Some(Diagnosis {
            limit: "matmul is limited by the issue slots: 70 % are in use.".into(),
            causes: vec![Cause {
                rule: "bank_conflicts".into(),
                kernel: "matmul".into(),
                sentence: "32 lanes of `LDS R1, [R2]` at matmul.cu:14 take 32.0 passes through the banks of shared memory, of which 31.0 are bank conflicts; without conflicts at most 2.40 times as fast.".into(),
                remedy: "Pad the rows of the array by a word.".into(),
                instruction: Some("LDS R1, [R2]".into()),
                pc: Some(7),
                file: Some("matmul.cu".into()),
                line: Some(14),
                saved_cycles: 7200.0,
                is_bound: true,
                times_faster: 2.4,
            }],
            kernels: Vec::new(),
        }),
        changes: None,
        profile: None,
        timelines: Vec::new(),
        grouping: None,
        memory_checks: None,
        sampling: None,
        host: HostFigures {
            seconds: 0.346,
            cycles_per_second: 71_358.0,
            warp_instructions_per_second: 290_035.0,
            peak_memory_bytes: None,
            scaling: None,
        },
    }
}

/// The same in ranges: two steps, the second of which has a range of its own within.
pub fn grouped_report() -> Report {
    let mut report = report();
    let cycles = 12_345.0;
    let name = report.kernels[0].name.clone();
    let group = |path: &[&str], launches: u64| Group {
        path: path.iter().map(|name| (*name).to_owned()).collect(),
        launches,
        untimed: 0,
        cycles: cycles * launches as f64,
        seconds: 24.69e-6 * launches as f64,
        share_percent: Some(50.0 * launches as f64),
        kernels: vec![GroupKernel { name: name.clone(), launches, cycles: cycles * launches as f64 }],
    };
    let launch = |launch, group, ranges: &[u64]| GroupedLaunch { launch, group, ranges: ranges.to_vec() };
    report.kernels[1].start_cycle = 17_345;
    report.grouping = Some(Grouping {
        by: "nvtx",
        groups: vec![group(&["step"], 2), group(&["step", "layer"], 1)],
        launches: vec![launch(0, 0, &[1]), launch(1, 1, &[2, 3])],
    });
    report
}

/// The same of which the second launch and two more were not timed.
pub fn sampled_report() -> Report {
    let mut report = report();
    report.kernels.truncate(1);
    let launch = |launch, how, timed_cycles, inferred: Option<(f64, f64)>| LaunchSample {
        launch,
        name: report.kernels[0].name.clone(),
        how,
        group: Some(0),
        ctas: (how == How::Partly).then_some([0, 7]),
        warp_instructions: Some(50_176),
        timed_cycles,
        inferred_cycles: inferred.map(|(cycles, _)| cycles),
        error_cycles: inferred.map(|(_, error)| error),
    };
    let kernels = vec![
        launch(0, How::Timed, Some(12_345), None),
        launch(1, How::Functional, None, Some((12_345.0, 617.25))),
        launch(2, How::Functional, None, Some((12_345.0, 617.25))),
        launch(3, How::Partly, Some(6789), Some((13_000.0, 1400.0))),
    ];
    report.sampling = Some(Sampling {
        choice: "representative:tolerance=5".into(),
        launches: 4,
        timed: 1,
        partly: 1,
        untimed: 2,
        unknown: 0,
        timed_warp_instructions: 75_264,
        untimed_warp_instructions: Some(125_440),
        timed_cycles: 19_134,
        inferred_cycles: 30_901.0,
        total_cycles: 50_035.0,
        error_cycles: Some(2273.0),
        error_percent: Some(4.5428),
        seconds: 50_035.0 / 5e8,
        groups: vec![GroupSample {
            name: report.kernels[0].name.clone(),
            grid: [4, 4, 1],
            block: [16, 16, 1],
            launches: 4,
            timed: 1,
            cycles_per_warp_instruction: Some(0.246_034),
            spread_percent: Some(1.2),
            spread_is_borrowed: true,
            from_other_groups: false,
        }],
        kernels,
        unmatched: Vec::new(),
    });
    report
}

/// Text without colours.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
