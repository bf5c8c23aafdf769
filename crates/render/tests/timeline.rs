//! Timelines of real runs, in the formats of viewers: each file is checked by the rules of its format, and holds what ran.

use lab::timeline::{Cycles, TimelineWindow};
use lab::{Job, Report, Setup, Unattended};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use warpwright_render::timeline::drawn::{self, Drawing};
use warpwright_render::timeline::{konata, perfetto};
use workloads::{Form, Size};

fn run(core: &str, gpu: &str, cycles: Cycles, sms: &[u16], warps: u128) -> Report {
    let timeline = Some(TimelineWindow { cycles, sms: sms.to_vec(), warps, kernel: None });
    let setup = Setup {
        core: core.into(),
        code: Form::Ptx,
        timeline,
        overview: true,
        ..Setup::new(config::load(gpu).unwrap())
    };
    let job = Job::Workload { name: "reduction".into(), size: Size::Small, params: BTreeMap::new(), seed: 1 };
    lab::run(&setup, &job, &mut Unattended).unwrap()
}

const DESIGNS: [(&str, &str); 5] =
    [("inorder", "rtx2060s"), ("inorder", "gtx480"), ("ghost", "v100"), ("loog", "v100"), ("perfect-memory", "v100")];

#[test]
fn konata_accepts_each_command() {
    for (core, gpu) in DESIGNS {
        let report = run(core, gpu, Cycles::First(3000), &[0, 1], u128::MAX);
        let text = konata::render(&report.timelines);
        let instructions: usize = report.timelines.iter().map(|timeline| timeline.instructions.len()).sum();
        assert!(instructions > 100, "{core}: {instructions}");
        assert_eq!(check_konata(&text), instructions, "{core}");
    }
}

/// Checks a file by the rules of Kanata 0004; returns the number of instructions.
fn check_konata(text: &str) -> usize {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Kanata\t0004"));
    assert!(lines.next().is_some_and(|line| line.starts_with("C=\t")), "the first command sets the cycle");
    let (mut known, mut retired, mut labelled, mut staged) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let id = || fields[1].parse::<u64>().unwrap();
        match (fields[0], fields.len()) {
            ("C", 2) => assert!(id() > 0, "{line}"),
            ("I", 4) => assert!(known.insert(id()) && fields[2..].iter().all(|f| f.parse::<u64>().is_ok()), "{line}"),
            ("L", 4) => {
                assert!(known.contains(&id()) && ["0", "1"].contains(&fields[2]) && labelled.insert(line), "{line}")
            }
            ("S", 4) => {
                assert!(known.contains(&id()) && !retired.contains(&id()) && fields[2] == "0", "{line}");
                staged.insert(id());
            }
            ("R", 4) => assert!(known.contains(&id()) && retired.insert(id()) && fields[3] == "0", "{line}"),
            _ => panic!("not a command: {line}"),
        }
    }
    assert_eq!(staged, known, "each instruction has a stage");
    assert_eq!(labelled.len(), 2 * known.len(), "and both labels");
    known.len()
}

/// Contents of a Perfetto file, by process.
#[derive(Default)]
struct Trace {
    /// Number of asynchronous slices that are in no other, by process and category.
    begun: BTreeMap<(u64, String), usize>,
    /// Slices by process and category.
    slices: BTreeMap<(u64, String), usize>,
    /// Points of counters by process and name, in the order of their times.
    counters: BTreeMap<(u64, String), Vec<(u64, f64)>>,
}

impl Trace {
    /// The value of a counter times the time that it holds, all together.
    fn integral(&self, pid: u64, name: &str) -> f64 {
        let points = &self.counters[&(pid, name.to_owned())];
        points.windows(2).map(|pair| pair[0].1 * (pair[1].0 - pair[0].0) as f64).sum()
    }
}

/// Checks a file by the rules of trace events: each slice ends, those of a thread nest, processes and threads have names,
/// counters go forward in time.
fn check_trace(text: &str) -> Trace {
    let trace: Value = serde_json::from_str(text).unwrap();
    let mut found = Trace::default();
    let mut open: BTreeMap<(u64, String, String), Vec<(String, u64)>> = BTreeMap::new();
    let mut threads: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    let (mut processes, mut named) = (BTreeSet::new(), BTreeSet::new());
    for event in trace["traceEvents"].as_array().unwrap() {
        let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key}: {event}"));
        let (name, pid) = (event["name"].as_str().unwrap().to_owned(), number("pid"));
        let id = || event["id2"]["local"].as_str().unwrap_or_else(|| panic!("of the process: {event}")).to_owned();
        let category = || event["cat"].as_str().unwrap_or_else(|| panic!("{event}")).to_owned();
        match event["ph"].as_str().unwrap() {
            "b" => {
                let stack = open.entry((pid, category(), id())).or_default();
                *found.begun.entry((pid, category())).or_default() += usize::from(stack.is_empty());
                stack.push((name, number("ts")));
            }
            "e" => {
                let stack = open.get_mut(&(pid, category(), id())).unwrap();
                let (opened, from) = stack.pop().unwrap();
                assert!(opened == name && from <= number("ts"), "{event}");
            }
            "X" => {
                assert!(number("dur") > 0, "{event}");
                *found.slices.entry((pid, category())).or_default() += 1;
                threads.entry((pid, number("tid"))).or_default().push((number("ts"), number("ts") + number("dur")));
            }
            "C" => {
                let [(unit, value)] = &event["args"].as_object().unwrap().iter().collect::<Vec<_>>()[..] else {
                    panic!("one series: {event}")
                };
                let points = found.counters.entry((pid, format!("{name} {unit}"))).or_default();
                assert!(points.last().is_none_or(|last| last.0 < number("ts")), "{event}");
                points.push((number("ts"), value.as_f64().unwrap()));
            }
            "M" => match name.as_str() {
                "process_name" => assert!(processes.insert(pid), "{event}"),
                "thread_name" => assert!(named.insert((pid, number("tid"))), "{event}"),
                "thread_sort_index" => assert!(named.contains(&(pid, number("tid"))), "{event}"),
                other => assert_eq!(other, "process_sort_index"),
            },
            other => panic!("{other}: {event}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "each slice ends");
    for ((pid, tid), mut slices) in threads {
        assert!(tid > 0, "Perfetto takes thread 0 for the thread {pid}");
        assert!(tid != pid, "thread {tid} would be the main thread");
        assert!(named.contains(&(pid, tid)), "thread {tid} of {pid} has no name");
        slices.sort_by_key(|&(from, until)| (from, std::cmp::Reverse(until)));
        let mut within: Vec<u64> = Vec::new();
        for (from, until) in slices {
            within.retain(|end| *end > from);
            assert!(within.iter().all(|end| until <= *end), "{pid}, {tid}: {from} to {until} crosses {within:?}");
            within.push(until);
        }
    }
    let known = |(pid, _): &(u64, String)| processes.contains(pid);
    assert!(found.counters.keys().chain(found.begun.keys()).all(known));
    found
}

/// The numbers of the processes of the GPU and of SM 0.
const GPU: u64 = 1_000_000;
const SM: u64 = 1_000_001;

#[test]
fn perfetto_finds_slices_that_nest_and_counters_that_add_up() {
    for (core, gpu) in DESIGNS {
        let report = run(core, gpu, Cycles::Range(0..u64::MAX), &[0], u128::MAX);
        let trace = check_trace(&perfetto::render(&report, &config::load(gpu).unwrap()));
        let (timeline, of_sm) = (&report.timelines[0], |category: &str| (SM, category.to_owned()));
        assert_eq!(trace.slices[&of_sm("instruction")], timeline.instructions.len(), "{core}");
        assert!(trace.slices[&of_sm("stage")] >= 2 * timeline.instructions.len(), "{core}");
        let accesses = timeline.instructions.iter().filter(|passage| passage.served.is_some()).count();
        assert_eq!(accesses > 10, core != "perfect-memory", "{accesses}");
        assert_eq!(trace.begun.get(&of_sm("memory")).copied().unwrap_or(0), accesses, "{core}");
        let warps: usize = timeline.residences.iter().map(|residence| residence.warps.len()).sum();
        assert_eq!(trace.slices[&of_sm("cta")], timeline.residences.len() + warps, "{core}");
        let issued = timeline.instructions.iter().filter(|passage| passage.issued.is_some()).count() as f64;
        assert!((trace.integral(SM, "warp instructions per cycle") - issued).abs() < 1e-6 * issued, "{core}");
        let mut lost: BTreeMap<&str, u64> = BTreeMap::new();
        for gap in &timeline.gaps {
            *lost.entry(gap.stall.name()).or_default() += gap.until - gap.from;
        }
        assert!(lost.len() > 3, "{core}: {lost:?}");
        for (reason, slots) in lost {
            // After the last instruction there are no more points.
            let drawn = trace.integral(SM, &format!("issue slots: {} per cycle", reason.replace('_', " ")));
            let is_all = (drawn - slots as f64).abs() < 1e-6 * slots as f64;
            assert!(is_all || reason == "idle" && drawn <= slots as f64, "{core}, {reason}: {drawn} of {slots}");
        }
        // The whole GPU: launches, each with its latency inside, and what was counted.
        assert_eq!(trace.slices[&(GPU, "launch".to_owned())], 2 * report.kernels.len(), "{core}");
        for (name, statistic, factor) in [
            ("instructions of threads per cycle", "thread_instructions", 1.0),
            ("DRAM bytes per cycle", "dram.bytes", 1.0),
            ("L2 bytes per cycle", "partition.parts", 32.0),
            ("issue slots: raw memory per cycle", "slots.raw_memory", 1.0),
        ] {
            let all = report.total.number(statistic) * factor;
            if all > 0.0 {
                let drawn = trace.integral(GPU, name);
                // A GTX 480 fetches whole lines.
                let drawn = if gpu == "gtx480" && factor > 1.0 { drawn / 4.0 } else { drawn };
                assert!((drawn - all).abs() < 1e-6 * all, "{core} on {gpu}, {name}: {drawn} of {all}");
            }
        }
        assert!(trace.counters.contains_key(&(GPU, "power W".to_owned())), "{core} on {gpu}");
        assert!(trace.counters.contains_key(&(GPU, "occupancy %".to_owned())), "{core} on {gpu}");
    }
}

#[test]
fn a_kernel_is_chosen_by_a_part_of_its_name() {
    let whole = run("inorder", "rtx2060s", Cycles::Range(0..u64::MAX), &[0], u128::MAX);
    let chosen = TimelineWindow {
        cycles: Cycles::Range(0..u64::MAX),
        sms: vec![0],
        warps: u128::MAX,
        kernel: Some("nosuch".into()),
    };
    let setup = Setup { code: Form::Ptx, timeline: Some(chosen), ..Setup::new(config::load("rtx2060s").unwrap()) };
    let job = Job::Workload { name: "reduction".into(), size: Size::Small, params: BTreeMap::new(), seed: 1 };
    let report = lab::run(&setup, &job, &mut Unattended).unwrap();
    assert!(whole.timelines[0].instructions.len() > 100);
    assert!(report.timelines.iter().all(|timeline| timeline.instructions.is_empty()));
}

#[test]
fn a_timeline_has_what_ran_and_changes_nothing() {
    let whole = run("inorder", "rtx2060s", Cycles::Range(0..u64::MAX), &(0..34).collect::<Vec<_>>(), u128::MAX);
    let total = |name: &str| whole.total.number(name) as u64;
    let instructions = || whole.timelines.iter().flat_map(|timeline| &timeline.instructions);
    assert_eq!(instructions().count() as u64, total("warp_instructions"));
    for passage in instructions() {
        let times = [passage.fetched, Some(passage.decoded), passage.issued, passage.operands_read, passage.executing];
        let times: Vec<u64> = times.into_iter().chain([passage.written_back]).flatten().collect();
        assert!(times.is_sorted() && times.len() >= 5, "{passage:?}");
    }
    let gaps = whole.timelines.iter().flat_map(|timeline| &timeline.gaps);
    let raw: u64 = gaps.filter(|gap| gap.stall == sm::Stall::RawMemory).map(|gap| gap.until - gap.from).sum();
    assert_eq!(raw, total("slots.raw_memory"), "empty slots are the run's own");
    // A window has those of the whole that touch it.
    let window = run("inorder", "rtx2060s", Cycles::Range(2000..4000), &[3], 0b11);
    assert_eq!(window.total.number("cycles"), whole.total.number("cycles"));
    let inside =
        |p: &&lab::timeline::Passage| p.warp.0 < 2 && p.decoded < 4000 && p.written_back.is_none_or(|end| end >= 2000);
    let all = whole.timelines.iter().find(|timeline| timeline.sm == 3);
    let expected: Vec<_> =
        all.into_iter().flat_map(|t| &t.instructions).filter(inside).map(|p| (p.warp, p.order)).collect();
    let found: Vec<_> = window.timelines[0].instructions.iter().map(|p| (p.warp, p.order)).collect();
    assert!(!found.is_empty(), "the window is one in which the SM has warps");
    assert_eq!(found, expected);
}

#[test]
fn a_drawing_fits_its_size() {
    let report = run("ghost", "v100", Cycles::First(400), &[0], 0b1);
    let text = drawn::render(&report.timelines, Drawing { most: 10, width: 60, is_whole: false });
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("  w")).collect();
    assert_eq!(rows.len(), 10);
    assert!(rows.iter().all(|row| row.starts_with("  w0 ") && row.len() <= 2 + 4 + 40 + 2 + 60), "{text}");
    assert!(rows[0].contains("FB") || rows[0].contains("F.B"), "{text}");
    assert!(text.contains("more instructions"), "{text}");
    // The whole window in as many columns: the last instruction that is drawn ends within it.
    let text = drawn::render(&report.timelines, Drawing { most: 1000, width: 60, is_whole: true });
    assert!(text.contains("a column is 7 cycles"), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("  w")).collect();
    assert_eq!(rows.len(), report.timelines[0].instructions.len(), "{text}");
    assert!(rows.iter().all(|row| row.len() <= 2 + 4 + 40 + 2 + 60), "{text}");
}
