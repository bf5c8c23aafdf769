//! Counts of a kernel, in the form in which rules use them.

use super::cause::{BOUND, KernelRoofs, RoofInUse};
use super::roofs::{Resource, Roof, nearest, roofs};
use crate::listing::TextLine;
use crate::profile::{InstructionProfile, KernelProfile};
use crate::report::KernelReport;
use config::GpuConfig;
use gpu::Stats;
use sm::Stall;
use std::collections::BTreeMap;

/// A kernel over all of its launches.
pub struct Facts<'a> {
    pub gpu: &'a GpuConfig,
    /// The longest of its launches.
    pub launch: &'a KernelReport,
    /// Counts of all.
    pub stats: Stats,
    pub profile: Option<&'a KernelProfile>,
    pub roofs: Vec<Roof>,
    /// Counts of the longest launch.
    pub longest: Stats,
    /// Cycles of all launches.
    pub cycles: f64,
    /// Cycles of the launches that have the shape of the longest one.
    pub shape_cycles: f64,
    /// CTAs of a launch, on average over the cycles of all.
    pub mean_ctas: f64,
    /// Cycles of all launches, each multiplied by the share of empty places for CTAs.
    pub empty_cycles: f64,
    /// Issue slots of schedulers with warps.
    busy: f64,
}

impl<'a> Facts<'a> {
    /// `None` if it took no time.
    pub fn new(
        gpu: &'a GpuConfig,
        launch: &'a KernelReport,
        launches: &[&'a KernelReport],
        stats: Stats,
        profile: Option<&'a KernelProfile>,
    ) -> Option<Self> {
        let is_one_shape = launches.iter().all(|of| (of.grid, of.block) == (launch.grid, launch.block));
        let of_launches = launches.iter().map(|of| (of.statistics.number("cycles"), ctas(of), waves(of, gpu)));
        let (all, ctas_by_cycles, empty_cycles) = of_launches.fold((0.0, 0.0, 0.0), |sum, (cycles, ctas, waves)| {
            (sum.0 + cycles, sum.1 + cycles * ctas, sum.2 + cycles * (1.0 - waves).max(0.0))
        });
        let mean_ctas = ctas_by_cycles / f64::max(all, 1.0);
        let roofs = roofs(&stats, gpu, launch.code);
        let cycles = stats.number("cycles");
        let busy = stats.number("slots.all") - stats.number("slots.idle");
        let longest = launch.statistics.unpacked();
        let shape_cycles = if is_one_shape { cycles } else { longest.number("cycles") };
        let is_timed = cycles > 0.0 && busy > 0.0;
        is_timed.then_some(Self {
            gpu,
            launch,
            stats,
            profile,
            roofs,
            longest,
            cycles,
            shape_cycles,
            mean_ctas,
            empty_cycles,
            busy,
        })
    }

    pub fn number(&self, name: &str) -> f64 {
        self.stats.number(name)
    }

    /// SMs with warps, on average over its cycles.
    pub fn active_sms(&self) -> f64 {
        f64::from(self.gpu.sm_count) * self.number("occupancy.sm_activity") / 100.0
    }

    /// Cycles that `slots` issue slots of schedulers with warps take.
    pub fn cycles_of(&self, slots: f64) -> f64 {
        self.cycles * slots / self.busy
    }

    /// Cycles whose slots were lost for these reasons.
    pub fn lost(&self, reasons: &[&str]) -> f64 {
        self.cycles_of(reasons.iter().map(|reason| self.number(&format!("slots.{reason}"))).sum())
    }

    /// CTAs of the longest launch.
    pub fn ctas(&self) -> f64 {
        ctas(self.launch)
    }

    /// How often its CTAs fill the GPU.
    pub fn waves(&self) -> f64 {
        waves(self.launch, self.gpu)
    }

    /// Cycles that it takes at least because of roofs; of those `relieved` it keeps the share beside each.
    pub fn floor(&self, relieved: &[(Resource, f64)]) -> f64 {
        let share = |roof: &Roof| relieved.iter().find(|(of, _)| *of == roof.resource).map_or(1.0, |&(_, kept)| kept);
        let least = self.roofs.iter().map(|roof| roof.share.min(1.0) * share(roof));
        least.fold(0.0, f64::max) * self.cycles
    }

    /// The share of a resource that is in use.
    pub fn share(&self, resource: Resource) -> f64 {
        self.roofs.iter().find(|roof| roof.resource == resource).map_or(0.0, |roof| roof.share.min(1.0))
    }

    /// Its roofs, for the report.
    pub fn roofs_in_use(&self) -> KernelRoofs {
        let roof = |roof: &Roof| RoofInUse { name: roof.name.to_owned(), percent: 100.0 * roof.share };
        KernelRoofs { kernel: self.launch.name.clone(), roofs: self.roofs.iter().map(roof).collect() }
    }

    /// Instructions, if there is a profile.
    pub fn instructions(&self) -> &'a [InstructionProfile] {
        self.profile.map_or(&[], |profile| &profile.instructions)
    }

    /// The instruction of the greatest `count` that is above zero, of the line with the greatest sum.
    pub fn most(&self, count: impl Fn(&InstructionProfile) -> u64) -> Option<&'a InstructionProfile> {
        let rows = self.instructions();
        let mut by_line: BTreeMap<_, u64> = BTreeMap::new();
        let line = |row: &'a InstructionProfile| match line_of(row) {
            Some(line) => (line.file.as_deref().unwrap_or_default(), line.line, 0),
            None => ("", 0, row.pc),
        };
        rows.iter().for_each(|row| *by_line.entry(line(row)).or_default() += count(row));
        // The first of equals.
        let counted = rows.iter().rev().filter(|row| count(row) > 0);
        counted.max_by_key(|row| (by_line[&line(row)], count(row)))
    }

    /// A sentence on the roof of the greatest share.
    pub fn limit(&self) -> String {
        let (name, cycles) = (&self.launch.name, self.cycles);
        let Some(Roof { name: roof, share, .. }) = nearest(&self.roofs) else {
            return format!("{name} reaches no roof.");
        };
        let percent = 100.0 * share.min(1.0);
        if *share > BOUND {
            return format!("{name} is limited by the {roof}: {percent:.0} % are in use.");
        }
        let lost = |stall: &Stall| self.lost(&[stall.name()]);
        let waits = Stall::ALL.iter().rev().filter(|&&stall| stall != Stall::Idle);
        let Some(most) = waits.max_by(|a, b| lost(a).total_cmp(&lost(b))) else { return String::new() };
        format!(
            "{name} is limited by waiting, not by a rate: of the {roof}, its nearest roof, {percent:.0} % are in use; most slots of schedulers with warps, {:.0} %, are lost to {} ({}).",
            100.0 * lost(most) / cycles,
            most.name(),
            most.description().trim_end_matches('.')
        )
    }
}

/// CTAs of a launch.
fn ctas(launch: &KernelReport) -> f64 {
    let grid = launch.grid;
    f64::from(grid.x) * f64::from(grid.y) * f64::from(grid.z)
}

/// How often the CTAs of a launch fill the GPU.
fn waves(launch: &KernelReport, gpu: &GpuConfig) -> f64 {
    ctas(launch) / (f64::from(gpu.sm_count) * f64::from(launch.occupancy.ctas_per_sm.max(1)))
}

/// The line of an instruction: of inlined code the line that it was inlined for.
pub fn line_of(row: &InstructionProfile) -> Option<&TextLine> {
    row.calls.last().or(row.source.as_ref())
}

/// An instruction with its line, for a sentence.
pub fn named(row: &InstructionProfile) -> String {
    match line_of(row) {
        Some(line) => {
            let file = line.file.as_deref().unwrap_or("PTX");
            format!("`{}` at {}:{}", row.text, file.rsplit('/').next().unwrap_or(file), line.line)
        }
        None => format!("`{}` (instruction {})", row.text, row.pc),
    }
}

/// Lanes of an execution, on average.
pub fn lanes(row: &InstructionProfile) -> f64 {
    row.lanes as f64 / row.issues.max(1) as f64
}
