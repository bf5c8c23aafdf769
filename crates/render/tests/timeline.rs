//! Timelines of real runs, in the formats of viewers: each file is checked by the rules of its format, and holds what ran.

use lab::timeline::{Cycles, TimelineWindow};
use lab::{Job, Report, Setup, Unattended};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use warpwright_render::timeline::{drawn, konata, perfetto};
use workloads::{Form, Size};

fn run(core: &str, gpu: &str, cycles: Cycles, sms: &[u16], warps: u128) -> Report {
    let timeline = Some(TimelineWindow { cycles, sms: sms.to_vec(), warps, kernel: None });
    let setup = Setup { core: core.into(), code: Form::Ptx, timeline, ..Setup::new(config::load(gpu).unwrap()) };
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

#[test]
fn perfetto_finds_slices_that_nest() {
    for (core, gpu) in DESIGNS {
        let report = run(core, gpu, Cycles::First(3000), &[0], u128::MAX);
        let trace: Value = serde_json::from_str(&perfetto::render(&report.timelines)).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let mut open: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
        let mut busy: BTreeMap<u64, u64> = BTreeMap::new();
        let mut begun = 0;
        for event in events {
            let (name, ts) = (event["name"].as_str().unwrap().to_owned(), event["ts"].as_u64().unwrap_or(0));
            match event["ph"].as_str().unwrap() {
                "b" => {
                    let stack = open.entry(event["id"].as_u64().unwrap()).or_default();
                    begun += u64::from(stack.is_empty());
                    stack.push((name, ts));
                }
                "e" => {
                    let stack = open.get_mut(&event["id"].as_u64().unwrap()).unwrap();
                    let (opened, from) = stack.pop().unwrap();
                    assert!(opened == name && from <= ts, "{core}: {event}");
                }
                "X" if event["cat"] == "stall" => {
                    // The slots' own slices follow each other.
                    let until = busy.entry(event["tid"].as_u64().unwrap()).or_default();
                    assert!(*until <= ts && event["dur"].as_u64().unwrap() > 0, "{core}: {event}");
                    *until = ts + event["dur"].as_u64().unwrap();
                }
                "X" | "M" | "C" => {}
                other => panic!("{core}: {other}"),
            }
        }
        assert!(open.values().all(Vec::is_empty), "{core}: each slice ends");
        assert_eq!(begun as usize, report.timelines[0].instructions.len(), "{core}");
    }
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
    let text = drawn::render(&report.timelines, 10, 60);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("  w")).collect();
    assert_eq!(rows.len(), 10);
    assert!(rows.iter().all(|row| row.starts_with("  w0 ") && row.len() <= 2 + 4 + 40 + 2 + 60), "{text}");
    assert!(rows[0].contains("FB") || rows[0].contains("F.B"), "{text}");
    assert!(text.contains("more instructions"), "{text}");
}
