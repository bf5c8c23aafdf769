//! Energy and power of runs: parts add up, time and voltage scale them, what is simulated stays.

use energy::{Coefficients, Component, Energy};
use gpu::Snapshot;
use lab::energy::EnergyModel;
use lab::{Job, Report, Setup, Stats, Unattended, run};
use sm::SmTotals;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

fn job(name: &str) -> Job {
    Job::Workload { name: name.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 1 }
}

fn report(setup: &Setup, name: &str) -> Report {
    run(setup, &job(name), &mut Unattended).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn setup(gpu: &str) -> Setup {
    Setup::new(config::load(gpu).unwrap())
}

fn components(stats: &Stats) -> f64 {
    Component::ALL.iter().map(|c| stats.number(&format!("energy.{}", c.name()))).sum()
}

fn agree(a: f64, b: f64, of: &str) {
    assert!((a - b).abs() <= 1e-9 * a.abs(), "{of}: {a} and {b}");
}

/// Kernels of one stream follow each other without a gap, so they add up to the run.
#[test]
fn components_add_up_and_kernels_do() {
    for gpu in ["gtx480", "v100"] {
        let report = report(&setup(gpu), "bfs");
        let total = report.total.number("energy.total");
        agree(components(&report.total), total, "components");
        assert!(report.kernels.len() > 1);
        let kernels = report.kernels.iter().map(|k| k.statistics.number("energy.total")).sum();
        agree(kernels, total, "kernels");
        let watts = report.total.number("power.mean");
        agree(watts * report.total.number("total_time") * 1e-6, total, "power");
    }
}

/// A sample is taken at a cycle that the run loop would jump over, and between SMs that run ahead of
/// each other (traces); the run is the same with and without.
#[test]
fn power_over_time_adds_up_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let exported = lab::export(
        &Setup { core: lab::CORE_OF_TRACES.into(), ..setup("v100") },
        &job("bfs"),
        folder.path(),
        lab::TraceFormat::Native { values: false },
        false,
        &mut Unattended,
    );
    let trace = Job::Trace { path: exported.unwrap().path, concurrent_streams: false };
    for job in [job("bfs"), trace] {
        let silent = setup("v100");
        let plain = run(&silent, &job, &mut Unattended).unwrap();
        assert!(plain.power.is_none());
        for interval in [100, 777, 1_000_000_000] {
            let setup = Setup { power_interval: NonZeroU64::new(interval), ..silent.clone() };
            let report = run(&setup, &job, &mut Unattended).unwrap();
            assert_eq!(report.total, plain.total);
            assert_eq!(report.kernels, plain.kernels);
            let series = report.power.unwrap();
            let cycles = plain.total.number("total_cycles") as u64;
            assert_eq!(series.intervals.len() as u64, cycles.div_ceil(interval));
            let mut at = 0;
            for one in &series.intervals {
                assert_eq!((one.start_cycle, one.end_cycle), (at, (at + interval).min(cycles)));
                at = one.end_cycle;
            }
            let sum = series.intervals.iter().fold(Energy::none(), |sum, one| sum.and(&one.energy));
            agree(sum.total_joules(), plain.total.number("energy.total"), "intervals");
            for &c in Component::ALL {
                agree(sum.joules(c), plain.total.number(&format!("energy.{}", c.name())), c.name());
            }
            let lines = series.csv().lines().count();
            assert_eq!(lines, series.intervals.len() + 1);
        }
    }
}

#[test]
fn the_clock_scales_time_and_the_voltage_everything_but_constant_power() {
    let of =
        |settings: &[&str]| report(&Setup::new(config::load_with("accel-sim/v100", settings).unwrap()), "matmul").total;
    // All clocks at once: the same cycles.
    let fast = ["clocks.core_mhz=2264", "clocks.interconnect_mhz=2264", "clocks.l2_mhz=2264", "clocks.dram_mhz=1700"];
    let (one, two, low) = (of(&[]), of(&fast), of(&["energy.volts=0.5"]));
    assert_eq!((one.number("cycles"), one.number("cycles")), (two.number("cycles"), low.number("cycles")));
    for &component in Component::ALL {
        let name = format!("energy.{}", component.name());
        let (time, voltage) = match component {
            Component::Constant => (0.5, 1.0),
            Component::Static | Component::IdleSms => (0.5, 0.5),
            _ => (1.0, 0.25),
        };
        agree(two.number(&name), one.number(&name) * time, &name);
        agree(low.number(&name), one.number(&name) * voltage, &name);
    }
}

#[test]
fn nothing_counted_costs_only_time() {
    let gpu = config::load("v100").unwrap();
    let idle = Snapshot::<SmTotals> { cycles: 1_530_000, ..Snapshot::default() }.erased();
    let model = EnergyModel::of(&gpu).unwrap().unwrap();
    let energy = model.energy(&idle, &gpu);
    let c = model.coefficients();
    agree(energy.total_joules(), (c.constant_watts + 80.0 * c.idle_sm_watts) * 1e-3, "a millisecond");
}

/// The same warp instructions with a quarter of the lanes, by static power, lanes and registers.
#[test]
fn more_active_lanes_cost_more() {
    let gpu = config::load("v100").unwrap();
    let counted = |lanes: u64| {
        let mut counted = Snapshot::<SmTotals> { cycles: 10_000, ..Snapshot::default() };
        let s = &mut counted.core;
        s.sm.unit_instructions = 1000;
        s.works.0[sm::Work::FpMul as usize] = 1000 * lanes;
        (s.sm.warp_instructions, s.sm.thread_instructions, s.sm.active_cycles) = (1000, 1000 * lanes, 80 * 10_000);
        (s.sm.lane_reads, s.sm.lane_writes) = (3000 * lanes, 1000 * lanes);
        counted.erased()
    };
    let model = EnergyModel::of(&gpu).unwrap().unwrap();
    let [few, many] = [8, 32].map(|lanes| model.energy(&counted(lanes), &gpu));
    for c in [Component::FpLanes, Component::RegisterFile, Component::Pipeline] {
        agree(many.joules(c), 4.0 * few.joules(c), c.name());
    }
    let c = Coefficients::of("v100").unwrap().unwrap();
    let other = c.static_power.other;
    agree(many.watts(Component::Static) - few.watts(Component::Static), 24.0 * other.added_watts, "static");
}

#[test]
fn designs_pay_for_their_own_structures() {
    let of = |core: &str| {
        let setup = Setup { core: core.into(), ..setup("rtx2060s") };
        report(&setup, "reduction").total.number("energy.design")
    };
    assert_eq!(of("inorder"), 0.0);
    let [ghost, socgpu] = ["ghost", "socgpu"].map(of);
    assert!(ghost > 0.0 && socgpu > 0.0 && ghost != socgpu, "GhOST {ghost} J, SOCGPU {socgpu} J");
}

#[test]
fn descriptions_inherit_name_or_lack_a_model() {
    let ghost = "papers/ghost";
    let model = EnergyModel::of(&config::load(ghost).unwrap()).unwrap().unwrap();
    assert_eq!(model.coefficients().name, "rtx2060s");
    let mut gpu = config::load("v100").unwrap();
    gpu.energy.model = Some("v10".into());
    let error = run(&Setup::new(gpu.clone()), &job("vectoradd"), &mut Unattended).unwrap_err();
    assert!(error.bad_input && error.message.contains("titanv, rtx2060s"), "{error}");
    gpu.energy.model = None;
    let report = report(&Setup::new(gpu), "vectoradd");
    assert!(report.energy_model.is_none() && report.check.unwrap().passed);
    assert_eq!(report.total.get("energy.total").unwrap().number(), None);
}
