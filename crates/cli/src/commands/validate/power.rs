//! `warpwright validate accelwattch --rerun`: power of runs of AccelWattch's kernels beside measured power.

use super::rerun::{Launch, Machine, Programs, Ran};
use crate::failure::Failure;
use crate::output;
use crate::render::table::{Align, Table};
use evidence::applications::Agreement;
use evidence::power::{Kernel, agreement, measured_power, off_percent};
use serde::Serialize;
use std::path::Path;

/// The machine of the runs.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    pub gpu: &'a str,
    pub core: Option<&'a str>,
    pub energy_model: &'a str,
    /// Text in the names of the kernels.
    pub filter: &'a str,
}

#[derive(Debug, Serialize)]
pub struct Document {
    schema: u32,
    gpu: String,
    core: String,
    energy_model: String,
    pub runs: Vec<Run>,
    /// Kernels without a figure of this build, with the reason.
    left_out: Vec<LeftOut>,
    ours: Agreement,
    hardware_variant: Agreement,
    simulated_variant: Agreement,
}

/// A kernel of which a run was made.
#[derive(Debug, Serialize)]
pub struct Run {
    kernel: &'static str,
    measured_watts: f64,
    hardware_variant_watts: Option<f64>,
    simulated_variant_watts: f64,
    ours_watts: f64,
    /// Cycles of the launch, launch latency included.
    cycles: f64,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    kernel: &'static str,
    reason: String,
}

/// Runs the kernels whose programs are in the folder.
pub fn rerun(programs: &Programs, choice: Choice<'_>) -> Result<Document, Failure> {
    request::gpu::load(Path::new(choice.gpu), &[])?;
    let (mut runs, mut left_out, mut core) = (Vec::new(), Vec::new(), None);
    // Kernels of one run follow each other in the list.
    let mut before: Option<(&Kernel, Result<Ran, String>)> = None;
    for kernel in measured_power().kernels.iter().filter(|kernel| kernel.name.contains(choice.filter)) {
        if !programs.has(&kernel.program) {
            left_out
                .push(LeftOut { kernel: &kernel.name, reason: format!("there is no program `{}`", kernel.program) });
            continue;
        }
        let same =
            |of: &Kernel| (&of.program, &of.arguments, &of.time) == (&kernel.program, &kernel.arguments, &kernel.time);
        let machine = Machine {
            gpu: choice.gpu,
            core: choice.core,
            // Hardware launched the kernel again and again while its power was sampled (docs/measured-power.toml), so caches
            // were warm and the power between kernels is in the mean.
            profiled_as: None,
            time: Some(&kernel.time),
            energy_model: Some(choice.energy_model),
        };
        let ran = match before.take_if(|(of, _)| same(of)) {
            Some((_, ran)) => ran,
            None => {
                output::remark(&format!("{} {}\n", kernel.program, kernel.arguments));
                programs.run(&kernel.program, &kernel.arguments, machine)
            }
        };
        let run = ran.as_ref().map_err(Clone::clone).and_then(|ran| {
            core.get_or_insert_with(|| ran.core.clone());
            of(kernel, &ran.launches)
        });
        before = Some((kernel, ran));
        match run {
            Ok(run) => runs.push(run),
            Err(reason) => left_out.push(LeftOut { kernel: &kernel.name, reason }),
        }
    }
    if runs.is_empty() {
        let no_kernel = || format!("no kernel has `{}` in its name", choice.filter);
        let why = left_out.first().map_or_else(no_kernel, |first| first.reason.clone());
        return Err(Failure::bad_input(format!("nothing could be run: {why}")));
    }
    Ok(Document {
        schema: 1,
        gpu: choice.gpu.to_owned(),
        core: core.unwrap_or_default(),
        energy_model: choice.energy_model.to_owned(),
        ours: of_runs(&runs, |run| Some(run.ours_watts)),
        hardware_variant: of_runs(&runs, |run| run.hardware_variant_watts),
        simulated_variant: of_runs(&runs, |run| Some(run.simulated_variant_watts)),
        runs,
        left_out,
    })
}

/// Agreement of the watts that `watts` takes of runs.
fn of_runs(runs: &[Run], watts: fn(&Run) -> Option<f64>) -> Agreement {
    agreement(runs.iter().map(|run| (watts(run), run.measured_watts)))
}

/// Mean power of the last launch of a kernel, with its launch latency.
fn of(kernel: &'static Kernel, launches: &[Launch]) -> Result<Run, String> {
    let last = launches.iter().rfind(|launch| kit::text::matches(&kernel.kernel, &launch.name));
    let Some(last) = last.filter(|launch| launch.total_micros > 0.0 && launch.joules > 0.0) else {
        return Err(format!("no launch of `{}` was simulated in time with energy", kernel.kernel));
    };
    Ok(Run {
        kernel: &kernel.name,
        measured_watts: kernel.measured_watts,
        hardware_variant_watts: kernel.hardware_variant_watts,
        simulated_variant_watts: kernel.simulated_variant_watts,
        ours_watts: last.joules / (last.total_micros * 1e-6),
        cycles: last.total_cycles,
    })
}

pub fn render(document: &Document) -> String {
    let names =
        ["kernel", "measured W", "ours W", "off %", "simulated variant W", "off %", "hardware variant W", "off %"];
    let align = |(at, name)| (name, if at == 0 { Align::Left } else { Align::Right });
    let mut table = Table::new(names.into_iter().enumerate().map(align));
    for run in &document.runs {
        let off = |watts: f64| format!("{:+.1}", off_percent(watts, run.measured_watts));
        let watts = |watts: f64| format!("{watts:.1}");
        let hardware = run.hardware_variant_watts;
        table.row(&[
            run.kernel.to_owned(),
            watts(run.measured_watts),
            watts(run.ours_watts),
            off(run.ours_watts),
            watts(run.simulated_variant_watts),
            off(run.simulated_variant_watts),
            hardware.map_or_else(String::new, watts),
            hardware.map_or_else(String::new, off),
        ]);
    }
    let said = |name: &str, a: &Agreement| match a.runs {
        0 => String::new(),
        _ => format!(
            "{name}: mean {:.1} %, median {:.1} %, signed {:+.1} % over {}\n",
            a.mean_error_percent,
            a.median_error_percent,
            a.signed_mean_percent,
            kit::text::counted(a.runs as u64, "kernel")
        ),
    };
    let mut text = format!(
        "{} with core {} and coefficients {}, beside AccelWattch's two variants\n{}\n",
        document.gpu,
        document.core,
        document.energy_model,
        table.render()
    );
    text += &said("ours", &document.ours);
    text += &said("AccelWattch, simulated", &document.simulated_variant);
    text += &said("AccelWattch, hardware's counters", &document.hardware_variant);
    for LeftOut { kernel, reason } in &document.left_out {
        text += &format!("{kernel}: {reason}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(name: &str, total_micros: f64, joules: f64) -> Launch {
        Launch { name: name.to_owned(), total_cycles: 1000.0, total_micros, joules, ..Launch::default() }
    }

    #[test]
    fn power_is_energy_over_time_of_the_kernels_last_launch() {
        let kernel = measured_power().kernels.iter().find(|kernel| kernel.name == "srad_v1_k1").unwrap();
        let launches = [launch("srad", 10.0, 9.0), launch("srad", 30.0, 4.5e-3), launch("srad2", 10.0, 9.0)];
        let run = of(kernel, &launches).unwrap();
        assert!((run.ours_watts - 150.0).abs() < 1e-9 && run.cycles == 1000.0, "{run:?}");
        assert!(of(kernel, &launches[2..]).is_err());
    }
}
