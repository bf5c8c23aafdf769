//! Whole pages.

use super::*;
use crate::sample;
use crate::slots;
use ::energy::{Activity, Coefficients};
use config::GpuConfig;
use lab::attribution::InstructionEnergy;
use lab::listing::TextLine;
use lab::profile::{InstructionProfile, KernelProfile, Profile};
use lab::{
    Interval, KernelReport, KernelTotal, Overview, PowerSeries, Report, Sample, SampleSeries, StatInfo, Value, Values,
};
use roxmltree::{Document, Node, ParsingOptions};
use std::sync::Arc;

fn gpu() -> GpuConfig {
    config::load("rtx2060s").unwrap()
}

fn page_of(report: &Report) -> String {
    run(&Run { report, gpu: &gpu(), program: "0.1.0 (0123)" })
}

/// Parses a page and checks what holds of every page.
fn checked(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}\n{page}"));
    let mut ids = Vec::new();
    for node in document.descendants().filter(Node::is_element) {
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            if ["src", "href", "data", "action", "srcset"].contains(&name) {
                assert!(value.starts_with('#') && value.len() > 1, "{name}={value}");
            }
            let is_number = ["x", "y", "x1", "x2", "y1", "y2", "width", "height", "cx", "cy"].contains(&name);
            assert!(!is_number || !value.contains("NaN") && !value.contains("inf"), "{name}={value}");
        }
        assert!(!["link", "img", "iframe", "object", "embed", "base"].contains(&node.tag_name().name()));
        ids.extend(node.attribute("id"));
        let is_empty = node.first_child().is_none();
        let is_void = ["meta", "rect", "line", "circle", "path"].contains(&node.tag_name().name());
        assert!(!is_void || is_empty, "{}", node.tag_name().name());
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an anchor twice");
    for link in document.descendants().filter_map(|node| node.attribute("href")) {
        assert!(ids.contains(&&link[1..]), "{link}");
    }
    // In style and script, too, nothing is fetched.
    assert!(!page.contains("url(") && !page.contains("@import") && !page.contains("fetch("));
    document
}

fn has_class(node: &Node<'_, '_>, class: &str) -> bool {
    node.attribute("class").is_some_and(|all| all.split(' ').any(|one| one == class))
}

/// The widths of the pieces of each stacked bar of a section, in percent of the place.
fn stacks(document: &Document<'_>, section: &str) -> Vec<Vec<f64>> {
    let section = document.descendants().find(|n| n.attribute("id") == Some(section)).unwrap();
    stacks_of(section.descendants().filter(|n| has_class(n, "bar")))
}

fn stacks_of<'a, 'd: 'a>(bars: impl Iterator<Item = Node<'a, 'd>>) -> Vec<Vec<f64>> {
    let percent = |node: Node<'_, '_>| node.attribute("width")?.strip_suffix('%')?.parse::<f64>().ok();
    let pieces = |bar: Node<'_, '_>| {
        let marks = bar.descendants().filter(|n| has_class(n, "mark"));
        marks.filter_map(|mark| percent(mark.first_element_child()?)).collect()
    };
    bars.map(pieces).collect()
}

fn text(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|n| n.text()).collect()
}

/// A report of `kernels` kernels with `launches` launches each.
fn report_of(kernels: usize, launches: u32) -> Report {
    let mut report = sample::report();
    let kernel = report.kernels[0].clone();
    let name = |k: usize| format!("_Z12a_kernel_of_{k}PKfS0_Pfiii");
    let launch = |n: u32| KernelReport {
        launch: n,
        name: name(n as usize % kernels),
        start_cycle: u64::from(n) * 17_345,
        ..kernel.clone()
    };
    report.kernels = (0..kernels as u32 * launches).map(launch).collect();
    let total = |k| KernelTotal { name: name(k), launches: launches.into(), statistics: report.total.clone().into() };
    report.by_kernel = (0..kernels).map(total).collect();
    report
}

#[test]
fn a_page_is_well_formed_and_needs_nothing_else() {
    let page = page_of(&sample::report());
    let document = checked(&page);
    let sections = document.descendants().filter(|n| n.has_tag_name(("http://www.w3.org/1999/xhtml", "section")));
    let ids: Vec<&str> = sections.filter_map(|n| n.attribute("id")).collect();
    let expected = ["summary", "stalls", "roofline", "occupancy", "memory", "energy", "timeline", "tables"];
    assert_eq!(ids, expected);
}

#[test]
fn shares_of_each_stack_add_up() {
    let page = page_of(&report_of(10, 1));
    let stacks = stacks(&checked(&page), "stalls");
    assert_eq!(stacks.len(), 22, "the whole run and ten kernels, of all slots and without idle ones");
    for pieces in stacks {
        let sum: f64 = pieces.iter().sum();
        assert!((sum - 100.0).abs() < 0.01, "{sum}: {pieces:?}");
    }
}

#[test]
fn names_of_users_are_escaped() {
    let mut report = report_of(2, 1);
    let evil = "<script>alert(\"x\")</script>&amp;'\u{1b}";
    report.workload = evil.into();
    report.kernels[0].name = evil.into();
    report.by_kernel[0].name = evil.into();
    report.settings = vec![evil.into()];
    report.remarks = vec![evil.into()];
    report.output = vec![evil.into()];
    report.gpu = evil.into();
    let page = page_of(&report);
    let document = checked(&page);
    let scripts = document.descendants().filter(|n| n.tag_name().name() == "script").count();
    assert_eq!((scripts, page.matches("alert(").count() > 5, page.matches("<script>alert").count()), (1, true, 0));
    let heading = document.descendants().find(|n| n.tag_name().name() == "h1").unwrap();
    assert_eq!(text(heading), evil.replace('\u{1b}', "\u{fffd}"));
}

#[test]
fn kernels_in_place_of_a_librarys_have_a_remark() {
    let mut report = sample::report();
    assert!(!page_of(&report).contains("In place of libraries"));
    report.kernels[0].name = "standin_cublas_gemm_s_64x64_nn".into();
    assert!(page_of(&report).contains("In place of libraries: kernels standin_… are Warpwright&#39;s"));
}

#[test]
fn pages_stay_small() {
    for (kernels, launches, most) in [(1, 1, 110_000), (10, 1, 200_000), (3, 5000, 320_000), (300, 20, 650_000)] {
        let page = page_of(&report_of(kernels, launches));
        checked(&page);
        assert!(page.len() < most, "{kernels} kernels, {launches} launches: {} bytes", page.len());
    }
}

#[test]
fn power_over_time_is_drawn_if_it_was_sampled() {
    let mut report = sample::report();
    assert!(!page_of(&report).contains("Power over time"));
    let v100 = Coefficients::of("v100").unwrap().unwrap();
    let energy = v100.energy(&Activity { seconds: 1e-6, sms: 80.0, ..Activity::default() }, v100.volts);
    let interval = |n: u64| Interval { start_cycle: n, end_cycle: n + 1, energy: energy.clone() };
    report.power = Some(PowerSeries { interval_cycles: 1, intervals: (0..5000).map(interval).collect() });
    let page = page_of(&report);
    checked(&page);
    assert!(page.contains("aria-label=\"Power over time\" class=\"chart\"") && page.len() < 250_000, "{}", page.len());
}

#[test]
fn a_run_that_failed_at_once_has_a_page() {
    let mut report = sample::report();
    (report.kernels, report.by_kernel) = (Vec::new(), Vec::new());
    report.total = lab::Stats::default();
    report.error = Some("deadlock: <all> warps wait".into());
    report.check = None;
    let page = page_of(&report);
    let document = checked(&page);
    assert!(page.contains("deadlock: &lt;all&gt; warps wait. The figures are"), "{page}");
    assert!(document.descendants().all(|n| n.attribute("id") != Some("stalls")));
}

#[test]
fn cores_that_are_no_sms_have_pages_without_the_sections_of_sms() {
    for core in ["sgmf", "functional"] {
        let page = page_of(&Report { core: core.into(), ..sample::report() });
        checked(&page);
        assert!(!page.contains("id=\"roofline\"") && !page.contains("id=\"occupancy\""), "{core}");
        assert!(page.contains("id=\"memory\""));
    }
}

/// A profile of a kernel of so many instructions, each on a line of its own, the later ones hotter.
fn profile_of(instructions: u32) -> Profile {
    let line = |line| TextLine { file: Some("/src/a.cu".into()), line, text: Some(format!("x<{line}> = y;")) };
    let instruction = |pc: u32| InstructionProfile {
        pc,
        text: format!("LDG.E R{pc}, [R2]"),
        place: String::new(),
        source: Some(line(pc + 1)),
        calls: if pc.is_multiple_of(7) { vec![line(100_000)] } else { Vec::new() },
        ptx: Some(TextLine { file: None, line: pc / 2, text: Some("ld.global.f32".into()) }),
        issues: 10,
        lanes: 320,
        divergences: 0,
        stalls: vec![("raw_memory", u64::from(pc) * 10), ("barrier", 5)],
        causes: vec![("raw_memory", 7)],
        latency: None,
        latency_by_level: Vec::new(),
        memory: None,
        energy: Some(InstructionEnergy { joules: 1e-9, parts: Vec::new() }),
    };
    let kernel = KernelProfile {
        name: "k<int>".into(),
        length: instructions as usize,
        instructions: (0..instructions).map(instruction).collect(),
    };
    Profile { kernels: vec![kernel], shared_energy: Some(vec![("static", 1e-6)]), ..Profile::default() }
}

#[test]
fn hot_lines_have_their_source_and_reason() {
    let report = Report { profile: Some(profile_of(30)), ..sample::report() };
    let page = page_of(&report);
    let document = checked(&page);
    let section = document.descendants().find(|n| n.attribute("id") == Some("instructions")).unwrap();
    let first = section.descendants().find(|n| n.tag_name().name() == "tbody").unwrap();
    let row = text(first.first_element_child().unwrap());
    assert!(row.contains("a.cu:30") && row.contains("x<30> = y;") && row.contains("raw memory"), "{row}");
    assert!(page.contains("inlined at ") && page.contains("PTX 14"), "the listing");
    for pieces in stacks_of(section.descendants().filter(|n| has_class(n, "wide"))) {
        assert!(pieces.len() == 3 && pieces.iter().sum::<f64>() <= 100.01, "{pieces:?}");
    }
}

#[test]
fn a_kernel_of_ten_thousand_instructions_has_a_page() {
    let report = Report { profile: Some(profile_of(10_000)), ..sample::report() };
    let page = page_of(&report);
    checked(&page);
    assert!(page.len() < 400_000, "{} bytes", page.len());
    assert!(page.contains("9,900 instructions of fewer slots left out"), "the table");
    assert!(page.contains("9,600 instructions of fewer slots"), "the listing");
}

#[test]
fn the_run_is_drawn_over_time() {
    assert!(!page_of(&sample::report()).contains("over-time"));
    let column = |name: &'static str| Arc::new(StatInfo { name: name.into(), unit: "", description: "".into() });
    let columns = ["slots.all", "slots.issued", "slots.raw", "thread_instructions", "occupancy.achieved"].map(column);
    let row = |n: u64| Sample {
        start_cycle: n * 512,
        end_cycle: (n + 1) * 512,
        values: vec![
            Value::Count(2048),
            Value::Count(n % 2048),
            Value::Count(2048 - n % 2048),
            Value::Count(32 * n),
            Value::Real((n > 3).then_some(50.0)),
        ]
        .into_iter()
        .collect(),
    };
    let samples = SampleSeries { columns: columns.to_vec(), rows: (0..5000).map(row).collect() };
    let report = Report { overview: Some(Overview { samples, power: None }), ..sample::report() };
    let page = page_of(&report);
    let document = checked(&page);
    let section = document.descendants().find(|n| n.attribute("id") == Some("over-time")).unwrap();
    let rows = section.descendants().filter(|n| n.tag_name().name() == "tr").count();
    assert!((200..=241).contains(&rows), "{rows} rows");
    for label in ["Issue slots over time", "Instructions of threads per cycle", "Occupancy of SMs with warps"] {
        assert!(page.contains(label), "{label}");
    }
    assert!(page.len() < 220_000, "{} bytes", page.len());
}

#[test]
fn idle_sms_do_not_hide_what_the_others_do() {
    let column = |name: &'static str| Arc::new(StatInfo { name: name.into(), unit: "", description: "".into() });
    let page_with = |idle: u64| {
        let columns = ["slots.all", "slots.issued", "slots.idle"].map(column).to_vec();
        let values = [2048, 2048 - idle, idle].map(Value::Count).into_iter().collect::<Values>();
        let row = |n: u64| Sample { start_cycle: n * 512, end_cycle: (n + 1) * 512, values: values.clone() };
        let samples = SampleSeries { columns, rows: (0..5).map(row).collect() };
        page_of(&Report { overview: Some(Overview { samples, power: None }), ..sample::report() })
    };
    let (some, most) = (page_with(1000), page_with(2000));
    assert!(some.contains("<title>issued: 51.2 % of all slots</title>") && some.contains("<title>idle: 48.8 %"));
    let tip = "<title>issued: 100.0 % of the slots of schedulers with warps</title>";
    assert!(
        most.contains(tip) && most.contains("% of slots of schedulers with warps") && !most.contains("<title>idle: 97")
    );
}

/// Without the script nothing is lost, and the keyboard reaches everything.
#[test]
fn a_page_needs_neither_script_nor_mouse() {
    let report = Report { profile: Some(profile_of(30)), ..report_of(3, 2) };
    let page = page_of(&report);
    let document = checked(&page);
    for node in document.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        let handlers = node.attributes().filter(|attribute| attribute.name().starts_with("on")).count();
        assert!(handlers == 0 && node.attribute("hidden").is_none(), "{name}");
        assert!(node.attribute("role") != Some("button"), "{name}: not a native control");
        match name {
            "details" => assert_eq!(node.first_element_child().unwrap().tag_name().name(), "summary"),
            "figure" => {
                assert!(
                    node.attribute("tabindex") == Some("0")
                        && node.attribute("aria-label").is_some_and(|l| !l.is_empty())
                );
            }
            "a" => assert!(node.attribute("href").is_some()),
            _ => assert!(node.attribute("tabindex").is_none(), "{name}"),
        }
        if has_class(&node, "mark") {
            let title = node.children().find(|child| child.tag_name().name() == "title");
            assert!(title.is_some_and(|title| !text(title).is_empty()), "a mark without its figure");
        }
        if name == "svg" && node.attribute("aria-hidden").is_none() {
            assert!(node.attribute("aria-label").is_some(), "a drawing without a name");
        }
    }
    // Narrow pages have other labels in bars, and no other difference.
    let screen = STYLE.split("@media print").next().unwrap();
    let screen = screen.replace("svg .tight { display: none; }", "").replace("svg .roomy { display: none; }", "");
    assert!(!screen.contains("display: none") && !screen.contains("visibility"), "content that only a script shows");
}

/// Workloads on an in-order core and a faster one; the last run of the latter failed.
fn compared(reports: &[Report], workloads: &[String], check: impl Fn(&Comparison<'_>)) {
    let design = |label: &str, baseline, mean: Option<(f64, usize)>| comparison::Design {
        label: label.into(),
        machine: format!("rtx2060s, core {label}"),
        baseline,
        mean,
        half: None,
        published: Some(comparison::PublishedMeans {
            mean: Some(1.069),
            in_common: Some((2, 1.02, 1.08)),
            source: "A paper <ISCA>".into(),
        }),
    };
    let outcome = |i: usize| {
        let last = i + 1 == 2 * workloads.len();
        comparison::Outcome {
            report: Some(&reports[i % 2]),
            complete: !last,
            reason: last.then_some("the result is <wrong>"),
            speedup: Some(if i.is_multiple_of(2) { 1.0 } else { 1.25 }).filter(|_| !last),
            half: None,
            published: (i == 1).then_some(1.4),
        }
    };
    check(&Comparison {
        command: None,
        workloads,
        designs: vec![design("inorder", 0, Some((1.0, 2))), design("ghost", 0, Some((1.25, 1)))],
        outcomes: (0..2 * workloads.len()).map(outcome).collect(),
    });
}

#[test]
fn designs_are_side_by_side() {
    let fast = sample::report();
    let mut slow = fast.clone();
    for (info, value) in &mut slow.total.0 {
        if let (true, Some(x)) = (info.name == crate::summary::TIME, value.number()) {
            *value = Value::Real(Some(x * 1.25));
        }
    }
    let workloads = ["lud".to_owned(), "a<b".to_owned()];
    compared(&[slow, fast], &workloads, |of| {
        let page = comparison("lud, a<b", &["about".into()], std::slice::from_ref(of), Vec::new(), "0.1.0");
        let document = checked(&page);
        let stacks = stacks(&document, "stalls");
        let sums: Vec<f64> = stacks.iter().map(|pieces| pieces.iter().sum()).collect();
        // As long as the design takes compared with the slower one; the failed run has none.
        assert_eq!(sums.len(), 3, "{sums:?}");
        assert!(sums.iter().zip([100.0, 80.0, 100.0]).all(|(a, b)| (a - b).abs() < 0.01), "{sums:?}");
        assert!(
            page.contains("<b>1.250</b> <i>paper 1.400</i>")
                && page.contains("a&lt;b on ghost: the result is &lt;wrong&gt;")
        );
        let parts = comparison("two", &[], &[of.clone(), of.clone()], Vec::new(), "");
        checked(&parts);
        assert!(parts.contains("id=\"part2-speedup\"") && parts.contains("Part 2: Speedup"));
    });
}

#[test]
fn large_comparisons_stay_bounded() {
    let reports = [sample::report(), sample::report()];
    let workloads: Vec<String> = (0..5000).map(|i| format!("trace-{i}")).collect();
    compared(&reports, &workloads, |of| {
        let page = comparison("many", &[], std::slice::from_ref(of), Vec::new(), "");
        checked(&page);
        // The table of all runs has a row for each.
        assert!(page.len() < 5000 * 2 * 700, "{}", page.len());
        assert!(page.contains("4,700 workloads more in the table of all runs"));
    });
}

#[test]
fn many_designs_are_a_table_with_colours() {
    let reports = [sample::report(), sample::report()];
    let workloads: Vec<String> = (0..30).map(|i| format!("workload-{i}")).collect();
    compared(&reports, &workloads, |of| {
        let (faster, outcomes) = (of.designs[1].clone(), &of.outcomes);
        let designs = (0..12).map(|i| match i {
            0 => of.designs[0].clone(),
            i => comparison::Design { label: format!("v100 ghost core.issue_buffer={i}"), ..faster.clone() },
        });
        let row = |row: usize| (0..12).map(move |i| outcomes[2 * row + usize::from(i > 0)]);
        let of = Comparison { designs: designs.collect(), outcomes: (0..30).flat_map(row).collect(), ..of.clone() };
        let page = comparison("many", &[], &[of], Vec::new(), "");
        let document = checked(&page);
        let section = |id: &str| document.descendants().find(|node| node.attribute("id") == Some(id)).unwrap();
        let speedups = section("speedup");
        let is = |node: &Node<'_, '_>, name: &str| node.tag_name().name() == name;
        // A line for each workload and the means: no bars, which would be twelve times as high.
        assert_eq!(speedups.descendants().filter(|node| is(node, "tr")).count(), 32);
        assert_eq!(speedups.descendants().filter(|node| is(node, "svg")).count(), 0);
        assert_eq!(speedups.descendants().filter(|node| has_class(node, "faster")).count(), 31 * 11 - 11);
        // Parts higher than a screen are closed at first.
        let closed = |id: &str| section(id).descendants().filter(|node| is(node, "details")).count();
        assert_eq!((closed("stalls"), closed("figures")), (31, 1));
    });
}

#[test]
fn slots_by_reason_in_the_table() {
    let report = sample::report();
    let page = page_of(&report);
    let all = report.total.number(slots::ALL);
    let share = format!("{:.2} %", report.total.number(slots::ISSUED) / all * 100.0);
    assert!(page.contains(&format!(">{share}</td>")), "{share}");
}

#[test]
fn golden_parts() {
    let report = sample::report();
    let gpu = gpu();
    let run = Run { report: &report, gpu: &gpu, program: "0.1.0" };
    let stalls = stalls::section(&report).unwrap().body;
    insta::assert_snapshot!("stalls", stalls.split("<details>").next().unwrap());
    insta::assert_snapshot!("summary", overview::section(&run).body);
}
