//! Lists as rows of CSV: of one topic its own columns, of several topics names and descriptions.

use super::{Core, CoreParameter, Gpu, Lists, Named, Parameter, Scheduler, Setting, Workload};
use lab::StatInfo;
use serde::Serialize;

/// A row of the table of `list`, of which kind the topic decides.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Row<'a> {
    Any(Any<'a>),
    Named(&'a Named),
    Gpu(GpuRow<'a>),
    Parametric(Parametric<'a>),
    Part(Part<'a>),
    Workload(WorkloadRow<'a>),
    Stat(&'a StatInfo),
    Setting(&'a Setting),
}

/// A thing of any list.
#[derive(Debug, Serialize)]
pub struct Any<'a> {
    topic: &'static str,
    name: &'a str,
    description: &'a str,
}

/// A GPU description.
#[derive(Debug, Serialize)]
pub struct GpuRow<'a> {
    name: &'a str,
    kind: &'a str,
    description: &'a str,
}

/// A core design or a warp scheduler with one of its parameters, or without any.
#[derive(Debug, Serialize)]
pub struct Parametric<'a> {
    name: &'a str,
    stands_for: Option<&'a str>,
    description: &'a str,
    parameter: Option<&'a str>,
    parameter_default: Option<&'a str>,
    parameter_values: Option<&'a str>,
    parameter_description: Option<&'a str>,
}

/// A hardware structure of a core design, or a part of a core that is not an SM; areas, bits and leakage of all
/// instances in a core, energies of an access.
#[derive(Debug, Default, Serialize)]
pub struct Part<'a> {
    core: &'a str,
    part: &'a str,
    component: Option<&'a str>,
    instances: usize,
    entries: Option<usize>,
    entry_bits: Option<usize>,
    read_ports: Option<usize>,
    write_ports: Option<usize>,
    compared_bits: Option<usize>,
    total_bits: usize,
    area_um2: Option<f64>,
    leakage_uw: Option<f64>,
    read_pj: Option<f64>,
    write_pj: Option<f64>,
    search_pj: Option<f64>,
}

/// A workload with one of its parameters, or without any.
#[derive(Debug, Serialize)]
pub struct WorkloadRow<'a> {
    workload: &'a str,
    suite: &'a str,
    /// The papers that evaluate it.
    papers: String,
    description: &'a str,
    parameter: Option<&'a str>,
    small: Option<u64>,
    medium: Option<u64>,
    large: Option<u64>,
    min: Option<u64>,
    max: Option<u64>,
    multiple_of: Option<u64>,
    parameter_description: Option<&'a str>,
}

/// The table of the only topic of `lists`, or of everything if there are several.
pub fn only(lists: &Lists) -> Vec<Row<'_>> {
    let Lists { gpus, cores, schedulers, workloads, figures, stats, settings, .. } = lists;
    match (gpus, cores, schedulers, workloads, figures, stats, settings) {
        (Some(gpus), None, None, None, None, None, None) => gpus.iter().map(gpu).map(Row::Gpu).collect(),
        (None, Some(cores), None, None, None, None, None) if cores.iter().any(|core| core.structures.is_some()) => {
            parts(cores).into_iter().map(Row::Part).collect()
        }
        (None, Some(cores), None, None, None, None, None) => {
            cores.iter().flat_map(|core| parametric(&core.named, core.stands_for, &core.parameters)).collect()
        }
        (None, None, Some(schedulers), None, None, None, None) => {
            schedulers.iter().flat_map(|Scheduler { named, parameters }| parametric(named, None, parameters)).collect()
        }
        (None, None, None, Some(workloads), None, None, None) => workloads.iter().flat_map(workload).collect(),
        (None, None, None, None, Some(figures), None, None) => figures.iter().map(Row::Named).collect(),
        (None, None, None, None, None, Some(stats), None) => stats.iter().map(Row::Stat).collect(),
        (None, None, None, None, None, None, Some(settings)) => settings.iter().map(Row::Setting).collect(),
        _ => everything(lists),
    }
}

fn gpu(Gpu { named, kind }: &Gpu) -> GpuRow<'_> {
    GpuRow { name: &named.name, kind, description: &named.description }
}

fn parametric<'a>(named: &'a Named, stands_for: Option<&'a str>, parameters: &'a [CoreParameter]) -> Vec<Row<'a>> {
    let row = |parameter: Option<&'a CoreParameter>| {
        Row::Parametric(Parametric {
            name: &named.name,
            stands_for,
            description: &named.description,
            parameter: parameter.map(|p| p.name),
            parameter_default: parameter.map(|p| &*p.default),
            parameter_values: parameter.map(|p| &*p.accepts),
            parameter_description: parameter.map(|p| p.description),
        })
    };
    for_each_or_none(parameters, row)
}

/// A row for each parameter, or one without.
fn for_each_or_none<'a, P, R>(parameters: &'a [P], row: impl Fn(Option<&'a P>) -> R) -> Vec<R> {
    if parameters.is_empty() { vec![row(None)] } else { parameters.iter().map(|p| row(Some(p))).collect() }
}

/// The structures of `cores`, or their parts, a row for each.
pub fn parts(cores: &[Core]) -> Vec<Part<'_>> {
    cores.iter().flat_map(|core| structures(core).chain(areas(core))).collect()
}

fn structures(core: &Core) -> impl Iterator<Item = Part<'_>> {
    core.structures.iter().flatten().map(|of| {
        let lab::Structure { name, instances, storage, .. } = &of.structure;
        let cost = of.cost.as_ref();
        Part {
            core: &core.named.name,
            part: name,
            component: None,
            instances: *instances,
            entries: Some(storage.entries),
            entry_bits: Some(storage.bits),
            read_ports: Some(storage.read_ports),
            write_ports: Some(storage.write_ports),
            compared_bits: Some(storage.compared_bits),
            total_bits: of.total_bits,
            area_um2: cost.map(|c| c.area_um2),
            leakage_uw: cost.map(|c| c.leakage_uw),
            read_pj: cost.map(|c| c.read_pj),
            write_pj: cost.map(|c| c.write_pj),
            search_pj: cost.map(|c| c.search_pj),
        }
    })
}

fn areas(core: &Core) -> impl Iterator<Item = Part<'_>> {
    core.area.iter().flat_map(|area| &area.hardware.parts).map(|part| Part {
        core: &core.named.name,
        part: part.name,
        component: Some(part.charged_to),
        instances: part.instances,
        total_bits: part.bits,
        area_um2: Some(part.area_um2),
        leakage_uw: Some(part.leakage_nw * 1e-3),
        ..Part::default()
    })
}

fn workload(of: &Workload) -> Vec<Row<'_>> {
    let row = |p: Option<&Parameter>| {
        Row::Workload(WorkloadRow {
            workload: of.name,
            suite: of.suite,
            papers: of.papers.iter().map(|paper| paper.paper).collect::<Vec<_>>().join(" "),
            description: of.description,
            parameter: p.map(|p| p.name),
            small: p.map(|p| p.small),
            medium: p.map(|p| p.medium),
            large: p.map(|p| p.large),
            min: p.map(|p| p.min),
            max: p.map(|p| p.max),
            multiple_of: p.map(|p| p.multiple_of),
            parameter_description: p.map(|p| p.description),
        })
    };
    for_each_or_none(&of.parameters, row)
}

fn everything(lists: &Lists) -> Vec<Row<'_>> {
    let gpus = lists.gpus.iter().flatten().map(|gpu| ("gpus", &gpu.named));
    let cores = lists.cores.iter().flatten().map(|core| ("cores", &core.named));
    let schedulers = lists.schedulers.iter().flatten().map(|one| ("schedulers", &one.named));
    let figures = lists.figures.iter().flatten().map(|one| ("figures", one));
    let workloads = lists.workloads.iter().flatten().map(|w| ("workloads", w.name, w.description));
    let named = gpus.chain(cores).chain(schedulers).chain(figures);
    let named = named.map(|(topic, of)| Any { topic, name: &of.name, description: &of.description });
    let workloads = workloads.map(|(topic, name, description)| Any { topic, name, description });
    named.chain(workloads).map(Row::Any).collect()
}
