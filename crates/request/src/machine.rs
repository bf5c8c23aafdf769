//! Options as machines: the one place where a [`Setup`] is made.

use crate::BadRequest;
use crate::comparison::Column;
use crate::option::Way;
use crate::options::Options;
use crate::shown::{POWER_INTERVAL, Recorded, TIMELINE_CYCLES};
use crate::values::distinct;
use config::GpuConfig;
use lab::energy::EnergyModel;
use lab::timeline::{Cycles, TimelineWindow};
use lab::{HostThreads, RegisterChoice, Setup};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::LazyLock;

/// The host threads of runs that name none: runs at the same time share them.
static HOST: LazyLock<HostThreads> = LazyLock::new(HostThreads::all);

/// The host threads that are asked for, which the runs of a request share.
pub(crate) fn host(options: &Options) -> HostThreads {
    match options.threads {
        _ if options.scaling => HostThreads::measuring(),
        Some(threads) => HostThreads::new(threads.get()),
        None => HOST.clone(),
    }
}

/// The column with the settings that it has in the end, and its machine. The code is chosen by workload.
pub(crate) fn of_column(
    mut column: Column,
    options: &Options,
    host: &HostThreads,
) -> Result<(Column, Setup), BadRequest> {
    let called = |name: &str| options.called(name);
    let model = options.energy_model.as_ref().map(|model| model.0.as_path());
    column.settings.extend(model.map(|model| format!("energy.model={}", model.display())));
    if let Some(profiled_as) = options.profiled_as {
        // A latency may be given as a time, too.
        let given = |key: &str| {
            let keys = [key, if key == "launch.kernel_latency_cycles" { "launch.kernel_latency_ns" } else { key }];
            column.settings.iter().filter_map(|s| s.split_once('=')).any(|(given, _)| keys.contains(&given.trim()))
        };
        let plain = crate::gpu::load(&column.gpu_path, &column.settings)?;
        let all = profiled_as.settings(&plain).into_iter().filter(|(key, _)| !given(key));
        let all: Vec<String> = all.map(|(key, value)| format!("{key}={value}")).collect();
        column.settings.extend(all);
    }
    let (gpu, settings) =
        column.choice.apply(&column.gpu_path, &column.settings, column.scheduler.as_deref(), &called)?;
    column.settings = settings;
    if column.core.is_empty() {
        let core = if options.way == Way::Trace { lab::CORE_OF_TRACES } else { gpu.usual_core() };
        core.clone_into(&mut column.core);
        lab::check_core(&column.core).map_err(|e| BadRequest::new(format!("`core` of {}: {e}", gpu.name)))?;
    }
    // A core design with a scheduler of its own has it in place of the description's, but not of one that is asked for.
    if column.scheduler.is_none() && lab::scheduler_of(&column.core).is_some() {
        let of = |setting: &String| setting.split_once('=').is_some_and(|(key, _)| key.trim() == "sm.issue.scheduler");
        column.scheduler = column.settings.iter().any(of).then(|| gpu.sm.issue.scheduler.clone());
    }
    check_places(options, &gpu)?;
    // As it was given: the path need not be text, and the setting is.
    let energy = match model {
        Some(path) => EnergyModel::named(path, &gpu).map(Some),
        None => EnergyModel::of(&gpu),
    };
    if options.way.compares() {
        energy.as_ref().map_err(BadRequest::new)?;
    }
    let (sample_interval, power_interval) = intervals(options, &gpu, &column.core)?;
    let setup = Setup {
        energy,
        power_interval,
        sample_interval,
        // Stored runs have no figures over time.
        overview: !options.way.stores()
            && (options.way.is_python() || options.html.is_some() || is_for_perfetto(options)),
        core: column.core.clone(),
        scheduler: column.scheduler.clone(),
        settings: column.settings.clone(),
        max_cycles: options.max_cycles,
        livelock_cycles: NonZeroU64::new(*options.livelock_cycles),
        registers: RegisterChoice { mode: options.registers.unwrap_or_default(), most: options.max_registers },
        any_architecture: options.any_architecture,
        shift_addresses: options.shift_addresses.unwrap_or_default(),
        stack_bytes: options.stack_bytes,
        audit: options.audit,
        profile: options.profile,
        timeline: options.timeline.is_some().then(|| window(options)),
        out_of_bounds: *options.out_of_bounds,
        check_memory: options.check_memory,
        time: (*options.time).clone(),
        threads: host.clone(),
        ..Setup::new(gpu)
    };
    Ok((column, setup))
}

/// Intervals of statistics and of power over time.
fn intervals(
    options: &Options,
    gpu: &GpuConfig,
    core: &str,
) -> Result<(Option<NonZeroU64>, Option<NonZeroU64>), BadRequest> {
    if let Some(sample) = &options.sample {
        let has_power = gpu.energy.model.is_some() && lab::has_energy(core);
        return Ok((Some(sample.interval), has_power.then_some(sample.interval)));
    }
    let is_asked = options.power.is_some() || options.power_plot.is_some();
    let interval = options.power_interval.or(is_asked.then_some(POWER_INTERVAL));
    if interval.is_some() && gpu.energy.model.is_none() {
        let (gpu, model) = (&gpu.name, options.called("energy_model"));
        return Err(BadRequest::new(format!(
            "{gpu} names no energy model (energy.model)\n  hint: give one with {model}, such as v100"
        )));
    }
    Ok((None, interval))
}

/// The window of a timeline.
fn window(options: &Options) -> TimelineWindow {
    TimelineWindow {
        cycles: options
            .cycles
            .as_ref()
            .map_or(Cycles::First(TIMELINE_CYCLES), |cycles| Cycles::Range(cycles.0.clone())),
        sms: options.sm.clone(),
        warps: options.warps.map_or(u128::MAX, |warps| warps.mask()),
        kernel: options.kernel.clone(),
    }
}

/// Whether the timeline is written as Perfetto reads it.
pub fn is_for_perfetto(options: &Options) -> bool {
    let file = options.timeline.as_ref().and_then(Recorded::file);
    file.and_then(Path::extension).is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Whether the SMs and the warp slots are some of `gpu`, and something shows them.
fn check_places(options: &Options, gpu: &GpuConfig) -> Result<(), BadRequest> {
    let option = options.called("sm");
    distinct(&option, &options.sm.iter().map(u16::to_string).collect::<Vec<_>>())?;
    let (name, sms, slots) = (&gpu.name, gpu.sm_count, gpu.sm.max_warps);
    if let Some(sm) = options.sm.iter().find(|sm| u32::from(**sm) >= sms) {
        return Err(BadRequest::new(format!("{option} {sm}: {name} has SMs 0 to {}", sms - 1)));
    }
    if let Some(first) = options.warps.map(|warps| warps.first).filter(|first| *first >= slots) {
        let (last, option) = (slots - 1, options.called("warps"));
        return Err(BadRequest::new(format!("{option} from {first} on: an SM of {name} has warp slots 0 to {last}")));
    }
    let without_effect = options.without_effect();
    if without_effect.is_empty() { Ok(()) } else { Err(BadRequest::new(without_effect.join("\n"))) }
}
