//! The head of a page of one run: what ran on what, whether the result is right, and what stands out.

use super::html::{Section, details, escaped, note, pairs};
use super::input::Run;
use super::{occupancy, stalls};
use crate::diagnosis::paragraph;
use crate::energy::TOTAL;
use crate::names::{self, in_text};
use crate::number::{self, ABSENT};
use crate::report::figure;
use crate::slots;
use crate::summary;
use lab::{Report, Value, Violation};
use std::fmt::Write as _;
use workloads::Form;

/// Maximum number of lines of output.
const MOST_LINES: usize = 200;

/// The section.
pub fn section(run: &Run<'_>) -> Section {
    let report = run.report;
    let mut body = result(report) + &tiles(report);
    let limit = report.diagnosis.as_ref().map(|diagnosis| diagnosis.limit.clone());
    let mut findings: Vec<String> =
        report.diagnosis.iter().flat_map(|diagnosis| diagnosis.causes.iter().map(paragraph)).collect();
    findings.extend([limit, stalls::finding(report), occupancy::finding(run)].into_iter().flatten());
    body += &list("What stands out", &findings, "findings");
    let stand_ins = is_in_place_of_a_library(report).then(|| format!("In place of libraries: {}", names::STAND_INS));
    let remarks: Vec<String> = stand_ins.into_iter().chain(report.remarks.iter().cloned()).collect();
    body += &list("Remarks", &remarks, "warn");
    body += &audit(report);
    body += &settings(run);
    body += &output(report);
    Section { id: "summary".into(), title: "Summary".into(), body }
}

/// Whether a kernel that ran is one of ours in place of a library's.
fn is_in_place_of_a_library(report: &Report) -> bool {
    let names = report.kernels.iter().map(|kernel| &kernel.name);
    names.chain(report.by_kernel.iter().map(|kernel| &kernel.name)).any(|name| name.starts_with("standin_"))
}

/// Whether the run came to its end and its result is right.
fn result(report: &Report) -> String {
    let badge = |class: &str, word: &str, text: &str| {
        format!("<p class=\"result {class}\"><b>{word}</b> {}</p>\n", escaped(&in_text(text.trim_end())))
    };
    let mut out = String::new();
    if let Some(error) = &report.error {
        out += &badge("bad", "Failed", &format!("{error}. The figures are of what was simulated."));
    }
    if report.interrupted {
        out += &badge("warned", "Ended early", "The figures are of what was simulated so far.");
    }
    match &report.check {
        Some(check) if check.passed => out += &badge("good", "Correct", &check.details),
        Some(check) => out += &badge("bad", "Wrong result", &check.details),
        None if out.is_empty() => {
            out += &badge("plain", "Not checked", "There was nothing to compare the result with.")
        }
        None => {}
    }
    out
}

/// The main figures.
fn tiles(report: &Report) -> String {
    let stats = &report.total;
    let of = |name: &str| stats.get(name).and_then(Value::number);
    let slots = of(slots::ALL).filter(|all| *all > 0.0);
    let issued = slots.map(|all| format!("{:.1}", stats.number(slots::ISSUED) / all * 100.0));
    let energy = of(TOTAL).map(|joules| number::with_prefix(joules, "J"));
    let mut out = String::from("<div class=\"tiles\">\n");
    for (label, name, unit) in summary::TILES {
        let value = match name {
            slots::ISSUED => issued.clone(),
            TOTAL => energy.clone(),
            _ => Some(figure(stats, name)).filter(|text| text != ABSENT),
        };
        if let Some(value) = value {
            let _ =
                writeln!(out, "<div class=\"tile\"><span>{label}</span><b>{}</b> <i>{unit}</i></div>", escaped(&value));
        }
    }
    out + "</div>\n"
}

/// Sentences under a small heading; nothing without sentences.
pub fn list(title: &str, sentences: &[String], class: &str) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let items: String = sentences.iter().map(|s| format!("<li>{}</li>\n", escaped(&in_text(s)))).collect();
    format!("<div class=\"{class}\"><h3>{}</h3>\n<ul>\n{items}</ul></div>\n", escaped(title))
}

/// Findings of hazard auditors and checks of memory accesses.
fn audit(report: &Report) -> String {
    let mut found = Vec::new();
    if let Some(audit) = &report.audit {
        let checked = number::counted(audit.instructions, "instruction");
        let none = (audit.total() == 0).then(|| format!("Hazard audit: {checked} checked, no violation."));
        found.extend(none);
        let kinds = Violation::ALL.iter().filter_map(|&kind| Some((kind, audit.first(kind)?)));
        found.extend(kinds.map(|(kind, first)| {
            format!("Hazard audit: {} {}, the first {first}", number::count(audit.count(kind)), kind.name())
        }));
    }
    if let Some(checks) = &report.memory_checks {
        let checked = number::counted(checks.instructions, "instruction");
        found.extend(checks.accesses.is_empty().then(|| format!("Memory checks: {checked} checked, nothing found.")));
        found.extend(checks.findings.iter().take(MOST_LINES).map(|f| format!("Memory checks: {}", f.sentence)));
    }
    list("Checks", &found, "findings")
}

/// The workload and its machine.
fn settings(run: &Run<'_>) -> String {
    let Run { report, gpu, program } = run;
    let code = report.code().map_or("PTX and machine code", Form::name);
    let machine = format!(
        "{} at {} MHz, {} and {} each; L2 {}, DRAM {} {} GB/s",
        number::counted(gpu.sm_count.into(), "SM"),
        gpu.clocks.core_mhz,
        number::counted(gpu.sm.max_warps.into(), "warp slot"),
        number::counted(gpu.sm.issue.schedulers.into(), "warp scheduler"),
        number::bytes(gpu.l2.bytes()),
        gpu.dram.technology,
        number::real(gpu.dram_peak_gb_per_s())
    );
    let host = &report.host;
    let rows = [
        ("Workload", report.workload.clone()),
        ("GPU", format!("{}: {}", report.gpu, gpu.description)),
        ("", machine),
        ("Core", report.core.clone()),
        ("Scheduler", report.scheduler.clone()),
        ("Code", if report.kernels.is_empty() { String::new() } else { code.to_owned() }),
        ("Settings", report.settings.join(" ")),
        ("Launches", number::count(report.kernels.len() as u64)),
        ("Program", format!("warpwright {program}")),
        (
            "Simulated in",
            format!("{}, {} cycles/s", number::seconds(host.seconds), number::short(host.cycles_per_second)),
        ),
    ];
    pairs(&rows)
}

fn output(report: &Report) -> String {
    let lines: Vec<&str> = report.output.iter().flat_map(|text| text.lines()).collect();
    if lines.is_empty() {
        return String::new();
    }
    let shown = lines.len().min(MOST_LINES);
    let more = if shown < lines.len() {
        note(&format!("{} more lines left out.", number::count((lines.len() - shown) as u64)))
    } else {
        String::new()
    };
    let text = format!("<pre>{}</pre>\n{more}", escaped(&lines[..shown].join("\n")));
    details(&format!("Output ({})", number::counted(lines.len() as u64, "line")), &text)
}
