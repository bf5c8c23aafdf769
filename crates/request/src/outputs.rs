//! The files of a run's results: which are asked for, and their contents.

use crate::comparison::Input;
use crate::machine;
use crate::options::Options;
use crate::shown::{Destination, Recorded, Statistics};
use crate::tables;
use crate::write::{csv, json, save_as};
use config::GpuConfig;
use kit::suggest;
use lab::Report;
use lab::profile::Profile;
use render::timeline::{konata, perfetto};
use render::{accelsim, number, page, power, profile, report};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Files in the folder of a program's report.
const IN_FOLDER: [&str; 3] = ["report.txt", "report.json", "power.csv"];

/// The build that made the results.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Commit, if it is known.
    pub commit: Option<&'a str>,
}

impl Program<'_> {
    /// Version and commit: `0.1.0 (0123456789ab)`.
    pub fn version(self) -> String {
        let commit = self.commit.map_or_else(String::new, |commit| format!(" ({commit})"));
        format!("{}{commit}", env!("CARGO_PKG_VERSION"))
    }
}

/// The files that the results are written to.
pub fn files(options: &Options) -> Vec<PathBuf> {
    let printed = [&options.json, &options.csv].into_iter().flatten().filter_map(Destination::file);
    let sample = options.sample.as_ref().and_then(|sample| sample.file.as_deref());
    let timeline = options.timeline.as_ref().and_then(Recorded::file);
    let others = [options.html.as_deref(), options.power.as_deref(), options.power_plot.as_deref(), sample, timeline];
    let folder = options.out.iter().flat_map(|folder| IN_FOLDER.map(|name| folder.join(name)));
    printed.chain(others.into_iter().flatten()).map(Path::to_owned).chain(folder).collect()
}

/// A report of a run for people, with the profile if there is one.
pub fn text(options: &Options, report: &Report, failed: bool) -> String {
    if *options.stats == Statistics::Accelsim {
        return accelsim::render(report);
    }
    let all_statistics = *options.stats == Statistics::All;
    let detail = report::Detail { all_statistics, all_kernels: options.all_kernels, energy: options.energy, failed };
    let profile = report.profile.as_ref().map_or_else(String::new, |counted| {
        format!("\n{}", profile::render(&kernels_of(options, counted), profile::Detail::default()))
    });
    report::render(report, detail) + &profile
}

/// The counts of the kernels that are to be shown.
pub fn kernels_of(options: &Options, counted: &Profile) -> Profile {
    options.kernel.as_ref().map_or_else(|| counted.clone(), |kernel| counted.of_kernels(kernel))
}

/// Messages that no run of `reports` had the kernel or the cycles that the options choose, with what there was.
pub fn not_found(options: &Options, reports: &[&Report]) -> Vec<String> {
    let kernels = reports.iter().flat_map(|report| &report.by_kernel).map(|kernel| &kernel.name[..]);
    missing_kernel(options, kernels).into_iter().chain(missing_cycles(options, reports)).collect()
}

/// The message that `--kernel` chooses none of the kernels that `ran`.
pub fn missing_kernel<'a>(options: &Options, ran: impl Iterator<Item = &'a str>) -> Option<String> {
    let kernel = options.kernel.as_deref()?;
    let mut names: Vec<&str> = Vec::new();
    for name in ran {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let is_there = names.iter().any(|name| name.contains(kernel));
    (!is_there).then(|| format!("--kernel {kernel}: no such kernel ran{}", suggest::among(kernel, &names)))
}

/// The message that the timelines of `reports` are empty because no run has come to their cycles.
pub fn missing_cycles(options: &Options, reports: &[&Report]) -> Option<String> {
    let asked = options.cycles.as_ref().filter(|_| options.timeline.is_some())?;
    let cycles = reports.iter().map(|report| report.total.number("total_cycles") as u64).max().unwrap_or(0);
    let is_empty = reports.iter().flat_map(|report| &report.timelines).all(|one| one.instructions.is_empty());
    (asked.0.start >= cycles && is_empty)
        .then(|| format!("--cycles {asked}: the run took {} cycles", number::count(cycles)))
}

/// Writes the files of one run that are of that run only: timeline, power, statistics over time, page. Of several devices
/// of a program the `number`th has its number in the names, except the first.
///
/// # Errors
/// A file cannot be written: which, and why. The others are written.
pub fn of_run(
    options: &Options,
    report: &Report,
    gpu: &GpuConfig,
    number: usize,
    program: Program<'_>,
) -> Result<(), String> {
    let mut problems = Vec::new();
    let mut save = |path: &Path, contents: &dyn Fn() -> Result<Vec<u8>, String>| {
        let saved = contents().and_then(|bytes| save_as(&numbered(path, number), |out| out.write_all(&bytes)));
        problems.extend(saved.err());
    };
    if let Some(path) = options.timeline.as_ref().and_then(Recorded::file) {
        save(path, &|| {
            let is_for_perfetto = machine::is_for_perfetto(options);
            let text = if is_for_perfetto { perfetto::render(report, gpu) } else { konata::render(&report.timelines) };
            Ok(text.into_bytes())
        });
    }
    if let Some(series) = &report.power {
        let in_folder = options.out.as_ref().map(|folder| folder.join("power.csv"));
        for path in options.power.iter().chain(&in_folder) {
            save(path, &|| Ok(series.csv().into_bytes()));
        }
        if let Some(path) = &options.power_plot {
            let title = format!("{} on {}, core {}", report.workload, report.gpu, report.core);
            let is_png = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("png"));
            save(path, &|| {
                if is_png { power::png(series, &title) } else { power::svg(series, &title).map(String::into_bytes) }
            });
        }
    }
    if let Some(path) = &options.html {
        save(path, &|| Ok(page::run(&page::Run { report, gpu, program: &program.version() }).into_bytes()));
    }
    if let Some((path, samples)) =
        options.sample.as_ref().and_then(|sample| sample.file.as_ref()).zip(report.samples.as_ref())
    {
        let saved = save_as(&numbered(path, number), |out| samples.write_csv(report.power.as_ref(), out));
        problems.extend(saved.err());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// `power.csv` as `power1.csv`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(number.to_string());
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Writes the files of a program's results: `document` as JSON, `text` for people, its `reports` as CSV, and what is of
/// one device each.
///
/// # Errors
/// Files cannot be written: which, and why. The others are written.
pub fn of_program(
    options: &Options,
    document: &impl Serialize,
    text: &str,
    reports: &[(&Report, &GpuConfig)],
    program: Program<'_>,
) -> Result<(), String> {
    let mut problems = Vec::new();
    if let Some(folder) = &options.out {
        // A folder that cannot be made is reported with the first file in it.
        let _ = std::fs::create_dir_all(folder);
        problems.extend(save_as(&folder.join("report.txt"), |out| out.write_all(text.as_bytes())).err());
    }
    let in_folder = options.out.as_ref().map(|folder| folder.join("report.json"));
    for path in options.json.iter().filter_map(Destination::file).chain(in_folder.as_deref()) {
        problems.extend(save_as(path, |out| json(document, program.commit, out)).err());
    }
    if let Some(path) = options.csv.as_ref().and_then(Destination::file) {
        let rows = || reports.iter().flat_map(|(report, _)| tables::of_run(report, Input::default(), program.commit));
        problems.extend(save_as(path, |out| csv(rows(), out)).err());
    }
    for (number, (report, gpu)) in reports.iter().enumerate() {
        problems.extend(of_run(options, report, gpu, number, program).err());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_later_devices_have_numbers() {
        assert_eq!(numbered(Path::new("a/power.csv"), 0), Path::new("a/power.csv"));
        assert_eq!(numbered(Path::new("a/power.csv"), 2), Path::new("a/power2.csv"));
        assert_eq!(numbered(Path::new("report"), 1), Path::new("report1"));
    }
}
