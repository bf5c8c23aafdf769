//! Statistics over time add up to those of the run, and change nothing.

use energy::Component;
use lab::{CORES, Job, Report, Setup, Unattended, Value};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use workloads::Size;

fn run(workload: &str, core: &str, interval: u64) -> Report {
    let interval = NonZeroU64::new(interval);
    let setup = Setup { core: core.into(), ..Setup::new(config::load("rtx2060s").unwrap()) };
    let power_interval = interval.filter(|_| lab::has_energy(core));
    let setup = Setup { sample_interval: interval, power_interval, ..setup };
    let job = Job::Workload { name: workload.into(), size: Size::Small, params: BTreeMap::new(), seed: 1 };
    lab::run(&setup, &job, &mut Unattended).unwrap()
}

#[test]
fn intervals_add_up_to_the_run() {
    // One launch, many launches, a design with counters of its own, a core without energy.
    for (workload, core) in
        [("matmul", "inorder"), ("bfs", "inorder"), ("reduction", "ghost"), ("vectoradd", "functional")]
    {
        let (plain, sampled) = (run(workload, core, 0), run(workload, core, 777));
        assert_eq!(plain.total, sampled.total, "{workload} on {core}: sampling changes what happens");
        assert!(plain.samples.is_none());
        let samples = sampled.samples.as_ref().unwrap();
        let mut end = 0;
        for sample in &samples.rows {
            assert!(sample.start_cycle == end && sample.end_cycle > end, "{workload} on {core}");
            assert_eq!(sample.values.iter().count(), samples.columns.len());
            end = sample.end_cycle;
        }
        assert!(samples.rows.len() > 1, "{workload} on {core}: {} intervals", samples.rows.len());
        let mut counts = 0;
        for (at, info) in samples.columns.iter().enumerate() {
            let Some(Value::Count(all)) = sampled.total.get(&info.name) else { continue };
            let of = |value: Value| if let Value::Count(n) = value { n } else { panic!("{} is a count", info.name) };
            let sum: u64 = samples.rows.iter().map(|sample| of(sample.values.at(at))).sum();
            assert_eq!(sum, all, "{workload} on {core}: {}", info.name);
            counts += usize::from(all > 0);
        }
        assert!(counts > 2, "{workload} on {core}");
        let mut csv = Vec::new();
        samples.write_csv(sampled.power.as_ref(), &mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let widths: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
        assert!(widths.len() == samples.rows.len() + 1 && widths.iter().all(|width| *width == widths[0]), "{csv}");
        assert_eq!(csv.contains(",power.dram"), lab::has_energy(core), "{workload} on {core}");
    }
}

/// Rows of short intervals leave the machine while kernels run, rows of long ones at the end: both have the same sums.
#[test]
fn rows_do_not_depend_on_when_they_are_taken() {
    let (long, short) = (run("bfs", "inorder", 777), run("bfs", "inorder", 7));
    assert_eq!(long.total, short.total);
    let [long, short] = [long, short].map(|report| report.samples.unwrap());
    assert_eq!(short.rows.len().div_ceil(111), long.rows.len());
    for (one, parts) in long.rows.iter().zip(short.rows.chunks(111)) {
        assert_eq!((one.start_cycle, one.end_cycle), (parts[0].start_cycle, parts[parts.len() - 1].end_cycle));
        for (at, value) in one.values.iter().enumerate() {
            let Value::Count(count) = value else { continue };
            let parts = parts.iter().map(|part| part.values.at(at).number().unwrap() as u64);
            assert_eq!(parts.sum::<u64>(), count, "{} from cycle {}", long.columns[at].name, one.start_cycle);
        }
    }
}

/// No count of an interval is lowered in a later one: each is at most the count of the run, and no power is negative.
#[test]
fn counts_of_no_design_fall() {
    let designs = CORES.iter().map(|(name, _)| (*name).to_owned());
    for core in designs.chain(["inorder+scalar", "ghost+scalar", "modern+scalar"].map(str::to_owned)) {
        for workload in ["vectoradd", "nn"] {
            let report = run(workload, &core, 11);
            let samples = report.samples.as_ref().unwrap();
            for (at, info) in samples.columns.iter().enumerate() {
                let Some(Value::Count(all)) = report.total.get(&info.name) else { continue };
                let sum = samples.rows.iter().fold(0u64, |sum, row| match row.values.at(at) {
                    Value::Count(n) if n <= all => sum + n,
                    other => {
                        panic!("{workload} on {core}, from cycle {}: {} {other:?} of {all}", row.start_cycle, info.name)
                    }
                });
                assert_eq!(sum, all, "{workload} on {core}: {}", info.name);
            }
            for interval in report.power.iter().flat_map(|power| &power.intervals) {
                // A design that leaves structures out saves energy.
                for &component in Component::ALL.iter().filter(|component| **component != Component::Design) {
                    let watts = interval.energy.watts(component);
                    assert!(watts >= 0.0, "{workload} on {core}, to cycle {}: {watts} W", interval.end_cycle);
                }
            }
        }
    }
}

#[test]
fn an_overview_is_bounded_and_adds_up() {
    // The second has more cycles than the shortest intervals hold, so that they are combined.
    for (workload, core) in [("vectoradd", "inorder"), ("gaussian", "ghost")] {
        let setup = Setup { core: core.into(), ..Setup::new(config::load("rtx2060s").unwrap()) };
        let job = Job::Workload { name: workload.into(), size: Size::Small, params: BTreeMap::new(), seed: 1 };
        let plain = lab::run(&setup, &job, &mut Unattended).unwrap();
        let report = lab::run(&Setup { overview: true, ..setup }, &job, &mut Unattended).unwrap();
        assert_eq!(plain.total, report.total, "{workload}: looking changes what happens");
        let overview = report.overview.as_ref().unwrap();
        let rows = &overview.samples.rows;
        assert!(rows.len() <= 481, "{workload}: {} intervals", rows.len());
        if report.total.number("total_cycles") > 480.0 * 512.0 {
            assert!(rows[0].end_cycle > 512 && rows.len() > 200, "{workload}: {} intervals", rows.len());
        }
        let at = overview.samples.columns.iter().position(|info| info.name == "slots.issued").unwrap();
        let issued: f64 = rows.iter().filter_map(|row| row.values.at(at).number()).sum();
        assert_eq!(issued, report.total.number("slots.issued"), "{workload}");
        let power = overview.power.as_ref().unwrap();
        assert_eq!(power.intervals.len(), rows.len());
        let ends = |of: &lab::Interval| of.end_cycle;
        assert!(power.intervals.iter().map(ends).eq(rows.iter().map(|row| row.end_cycle)), "{workload}");
    }
}
