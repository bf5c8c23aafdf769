//! The report of a program as text.

use cuda::report::{DeviceReport, ProgramReport};
use render::report::program;
use render::style::{HEADING, WARNING, styled};
use render::table::{Align, Table};
use render::wrap::wrapped;
use render::{names, number};
use request::Options;
use request::outputs::{self, Program};

/// The commit that was built; `None` if that was not known.
const COMMIT: Option<&str> = {
    let commit = env!("WARPWRIGHT_COMMIT");
    if commit.is_empty() { None } else { Some(commit) }
};

/// This build.
pub const PROGRAM: Program<'static> = Program { commit: COMMIT };

/// The report with colours.
pub fn render(report: &ProgramReport, options: &Options) -> String {
    let mut sections = vec![failures(report), unsupported(report), stand_ins(report)];
    for device in &report.devices {
        sections.push(outputs::text(options, &device.report, false));
        sections.push(untimed(device));
        sections.push(transfers(device));
    }
    sections.push(program(&PROGRAM.version()));
    sections.push(failed(report));
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

fn failures(report: &ProgramReport) -> String {
    if report.failures.is_empty() {
        return String::new();
    }
    let lines = report.failures.iter().flat_map(|text| text.lines()).map(|line| format!("  {line}\n"));
    format!("{}\n{}", styled(WARNING, "Failures"), lines.collect::<String>())
}

/// How many kernels and launches failed, in every report.
fn failed(report: &ProgramReport) -> String {
    if report.failed.any() {
        format!("{}\n", styled(WARNING, report.failed))
    } else {
        "No kernel was refused or faulted, and no launch failed\n".to_owned()
    }
}

fn unsupported(report: &ProgramReport) -> String {
    if report.unsupported.is_empty() {
        return String::new();
    }
    let names: Vec<String> = report.unsupported.iter().map(|(name, calls)| format!("{name} ({calls})")).collect();
    format!("{}\n{}", styled(WARNING, "Not supported (calls)"), wrapped(&names.join(", "), "  ", "  "))
}

/// Which kernels are not the library's that the program calls.
fn stand_ins(report: &ProgramReport) -> String {
    if report.stand_ins.is_empty() {
        return String::new();
    }
    let counts: Vec<String> = report
        .stand_ins
        .iter()
        .map(|(library, launches)| format!("{library} ({})", number::count(*launches)))
        .collect();
    let text = format!("{}: {}", counts.join(", "), names::STAND_INS);
    format!("{}\n{}", styled(WARNING, "In place of libraries (launches)"), wrapped(&text, "  ", "  "))
}

fn untimed(device: &DeviceReport) -> String {
    if device.untimed.is_empty() {
        return String::new();
    }
    let mut table = Table::new([("kernel", Align::Name), ("launches", Align::Right), ("warp insts", Align::Right)]);
    for kernel in &device.untimed {
        table.row(&[kernel.name.clone(), number::count(kernel.launches), number::count(kernel.warp_instructions)]);
    }
    let fills: u64 = device.untimed.iter().map(|kernel| kernel.fills).sum();
    let note = match fills {
        0 => String::new(),
        _ => wrapped(
            &format!(
                "{} of these only filled memory, at least as much as the L2 holds: each takes the time of a memset and leaves the L2 empty (--time-fills simulates them)",
                number::count(fills)
            ),
            "  ",
            "  ",
        ),
    };
    format!("{}\n{}{note}", styled(HEADING, "Executed without time"), table.render())
}

fn transfers(device: &DeviceReport) -> String {
    if device.transfers.is_empty() {
        return String::new();
    }
    let columns =
        [("", Align::Left), ("transfers", Align::Right), ("bytes", Align::Right), ("simulated time", Align::Right)];
    let mut table = Table::new(columns);
    for moved in &device.transfers {
        table.row(&[
            moved.direction.to_owned(),
            number::count(moved.transfers),
            number::count(moved.bytes),
            number::simulated(moved.seconds),
        ]);
    }
    format!("{}\n{}", styled(HEADING, "Transfers, apart from kernels"), table.render())
}
