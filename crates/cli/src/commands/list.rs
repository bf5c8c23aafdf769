//! `warpwright list`: the choices that other commands take.

use crate::failure::{Exit, Failure, Outcome};
use crate::on_fabric::{self, OnFabric};
use crate::options::Formats;
use crate::output;
use crate::render::lists::{
    self, Area, Core, CoreParameter, Cost, CostedStructure, Gpu, InPaper, Lists, Named, Parameter, Scheduler, Setting,
    Workload,
};
use crate::render::wrap;
use clap::ValueEnum;
use experiment::file::{self, Experiment};
use kit::suggest;
use kit::text::excerpt;
use lab::core_cost::{CoreArea, CoreCost};
use lab::{Setup, StatInfo};
use render::summary;
use request::{gpu, values};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::PathBuf;
use workloads::Size;

/// List GPUs, core designs, schedulers, workloads, experiments, statistics or settings
///
/// Without a topic: everything but statistics and settings. Names after the topic select from its list; for core designs they also show the hardware structures and their cost.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright list
  warpwright list workloads
  warpwright list workloads imagefilter
  warpwright list workloads rodinia
  warpwright list cores ghost ghost-precise --gpu v100
  warpwright list cores ghost:issue_buffer=24
  warpwright list schedulers two_level
  warpwright list stats --json
  warpwright list workloads --csv=workloads.csv")]
pub struct Args {
    /// Topic
    #[arg(value_enum)]
    topic: Option<Topic>,
    /// Which of the topic; workloads also by suite or paper (rodinia, ghost) [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Show the hardware structures of all core designs and what they cost
    #[arg(long)]
    structures: bool,
    /// GPU whose SMs have the structures: a built-in one or the path of a description
    #[arg(long, value_name = "NAME|FILE", default_value = values::USUAL_GPU)]
    gpu: PathBuf,
    #[command(flatten)]
    formats: Formats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Topic {
    /// GPU descriptions that come with the program
    #[value(alias = "gpu")]
    Gpus,
    /// Core designs
    #[value(aliases = ["core", "designs", "design"])]
    Cores,
    /// Warp schedulers
    #[value(alias = "scheduler")]
    Schedulers,
    /// Bundled workloads with their parameters
    #[value(alias = "workload")]
    Workloads,
    /// Experiments of papers, for `reproduce`
    #[value(alias = "figure")]
    Figures,
    /// Statistics of a report: name, meaning, unit
    #[value(aliases = ["stat", "statistics", "statistic"])]
    Stats,
    /// Keys of a GPU description, for --set
    #[value(alias = "setting")]
    Settings,
}

/// Prints the lists asked for.
pub fn run(args: &Args) -> Outcome {
    output::check(args.formats.files()?, &gpu::files(&args.gpu))?;
    values::distinct("list", &args.names)?;
    output::check_names(args.names.iter().map(String::as_str))?;
    let lists = lists(args)?;
    // A row is a line for other programs.
    if std::env::var_os("COLUMNS").is_none() && !std::io::stdout().is_terminal() {
        wrap::set_columns(None);
    }
    if args.formats.as_text() {
        output::print(&lists::render(&lists, args.topic.is_some()))?;
    }
    args.formats.give(&lists, || lists::tables::only(&lists))?;
    Ok(Exit::Success)
}

pub(super) fn lists(args: &Args) -> Result<Lists, Failure> {
    let wanted = |t: Topic| match args.topic {
        Some(topic) => topic == t,
        None => !matches!(t, Topic::Stats | Topic::Settings),
    };
    // The names are those of the only topic.
    let pick = &args.names;
    Ok(Lists {
        gpus: wanted(Topic::Gpus).then(|| picked(gpus()?, pick, |g| &g.named.name)).transpose()?,
        cores: wanted(Topic::Cores).then(|| cores(args)).transpose()?,
        core_choices: (wanted(Topic::Cores) && pick.is_empty() && !args.structures).then(core_choices),
        scalar_parameters: (args.topic == Some(Topic::Cores) && pick.is_empty() && !args.structures)
            .then(|| lab::scalar_parameters().into_iter().map(CoreParameter::from).collect()),
        schedulers: wanted(Topic::Schedulers).then(|| schedulers(pick)).transpose()?,
        workloads: wanted(Topic::Workloads).then(|| picked_workloads(pick)).transpose()?,
        figures: wanted(Topic::Figures).then(|| picked(figures(), pick, |f| &f.name)).transpose()?,
        stats: wanted(Topic::Stats).then(|| picked_statistics(pick)).transpose()?,
        settings: wanted(Topic::Settings).then(|| picked_settings(pick)).transpose()?,
        glossary: None,
    })
}

/// The items of `list` that `pick` names, all of them if it is empty.
fn picked<T>(list: Vec<T>, pick: &[String], name: impl Fn(&T) -> &str) -> Result<Vec<T>, Failure> {
    if let Some(unknown) = pick.iter().find(|p| !list.iter().any(|item| name(item) == **p)) {
        let known: Vec<&str> = list.iter().map(&name).collect();
        return Err(not_listed(unknown, &known));
    }
    let chosen = |item: &T| pick.is_empty() || pick.iter().any(|p| p == name(item));
    Ok(list.into_iter().filter(chosen).collect())
}

fn not_listed(unknown: &str, known: &[&str]) -> Failure {
    let among = suggest::among(unknown, known);
    Failure::bad_input(format!("there is no `{}` in this list{among}", excerpt(unknown)))
}

fn cores(args: &Args) -> Result<Vec<Core>, Failure> {
    let detailed = args.structures || !args.names.is_empty();
    let gpu = detailed.then(|| gpu::load(&args.gpu, &[])).transpose()?;
    let core = |named: Named| {
        let parameters = lab::core_parameters(&named.name).map_err(Failure::bad_input)?;
        let parameters = parameters.into_iter().map(CoreParameter::from).collect();
        let stands_for = lab::stands_for(&named.name);
        let Some(gpu) = &gpu else {
            return Ok(Core { named, stands_for, parameters, structures: None, cost: None, area: None });
        };
        let setup = Setup { core: named.name.clone(), ..Setup::new(gpu.clone()) };
        if !lab::is_sm(&named.name) {
            let area =
                CoreArea::of(&setup).and_then(|area| area.map(|of| Area::new(&named.name, &gpu.name, of)).transpose());
            let area = area.map_err(Failure::bad_input)?;
            return Ok(Core { named, stands_for, parameters, structures: Some(Vec::new()), cost: None, area });
        }
        let structures = lab::structures(&setup).map_err(Failure::bad_input)?;
        let cost = CoreCost::of(&setup).map_err(Failure::bad_input)?;
        let process = cost.as_ref().map(|cost| cost.process);
        let cost = cost.map(|cost| Cost::new(&named.name, &gpu.name, &cost)).transpose();
        let cost = cost.map_err(Failure::bad_input)?;
        Ok(Core {
            named,
            stands_for,
            parameters,
            structures: Some(structures.into_iter().map(|s| CostedStructure::new(s, process)).collect()),
            cost,
            area: None,
        })
    };
    let mut known = named(lab::cores());
    if args.structures && args.names.is_empty() {
        known.retain(|core| lab::is_sm(&core.name));
    }
    // Composed names are in no list.
    for name in args.names.iter().filter(|name| name.contains([':', '+'])) {
        lab::check_core(name).map_err(Failure::bad_input)?;
        let description = if name.contains('+') { "with a scalar path" } else { "with parameters" };
        known.push(Named { name: name.clone(), description: description.into() });
    }
    picked(known, &args.names, |c| &c.name)?.into_iter().map(core).collect()
}

fn schedulers(pick: &[String]) -> Result<Vec<Scheduler>, Failure> {
    let mut known = named(lab::schedulers());
    for name in pick.iter().filter(|name| name.contains(':')) {
        lab::check_scheduler(name).map_err(Failure::bad_input)?;
        known.push(Named { name: name.clone(), description: "with parameters".into() });
    }
    let scheduler = |named: Named| {
        let parameters = lab::scheduler_parameters(&named.name).map_err(Failure::bad_input)?;
        Ok(Scheduler { named, parameters: parameters.into_iter().map(CoreParameter::from).collect() })
    };
    picked(known, pick, |s| &s.name)?.into_iter().map(scheduler).collect()
}

fn core_choices() -> Vec<Named> {
    let choice = |c: &lab::ScalarChoice| Named { name: format!("+{}", c.name), description: c.description.into() };
    lab::SCALAR_CHOICES.iter().map(choice).collect()
}

fn gpus() -> Result<Vec<Gpu>, Failure> {
    let one = |b: &config::Builtin| {
        let gpu = config::load(b.name).map_err(Failure::failed)?;
        Ok(Gpu { named: Named { name: b.name.into(), description: gpu.description }, kind: b.kind.name() })
    };
    config::builtin().iter().map(one).collect()
}

fn named(list: &[(&str, &str)]) -> Vec<Named> {
    list.iter().map(|&(name, description)| Named { name: name.into(), description: description.into() }).collect()
}

/// The bundled workloads; with the reasons why their kernels are in parts or refused on a fabric.
fn workloads(with_reasons: bool) -> Vec<Workload> {
    let parameter = |p: &workloads::Parameter| Parameter {
        name: p.name,
        description: p.description,
        small: p.sizes[Size::Small as usize],
        medium: p.sizes[Size::Medium as usize],
        large: p.sizes[Size::Large as usize],
        min: p.min,
        max: p.max,
        multiple_of: p.multiple_of,
    };
    let shown = |row: OnFabric| if with_reasons { row } else { OnFabric { reasons: "", ..row } };
    let one = |w: &workloads::Workload| Workload {
        name: w.name,
        description: w.summary,
        character: w.character,
        suite: w.suite.name(),
        papers: w.papers.iter().map(|&(paper, name)| InPaper { paper, name }).collect(),
        parameters: w.parameters.iter().map(parameter).collect(),
        sgmf: on_fabric::rows().filter(|row| row.workload == w.name).map(shown).collect(),
    };
    workloads::suite::ALL.iter().map(one).collect()
}

/// The workloads that `pick` names, by themselves, by suite or by paper; all of them if it is empty.
fn picked_workloads(pick: &[String]) -> Result<Vec<Workload>, Failure> {
    let is_in_group = |w: &Workload, name: &str| {
        w.suite.eq_ignore_ascii_case(name) || w.papers.iter().any(|paper| paper.paper.eq_ignore_ascii_case(name))
    };
    let all = workloads(pick.iter().any(|name| workloads::suite::find(name).is_ok()));
    let groups = all.iter().flat_map(|w| std::iter::once(w.suite).chain(w.papers.iter().map(|paper| paper.paper)));
    let known: BTreeSet<&str> = all.iter().map(|w| w.name).chain(groups).collect();
    let is_known = |name: &String| all.iter().any(|w| w.name == name || is_in_group(w, name));
    if let Some(unknown) = pick.iter().find(|name| !is_known(name)) {
        return Err(not_listed(unknown, &Vec::from_iter(known)));
    }
    let chosen = |w: &Workload| pick.is_empty() || pick.iter().any(|name| w.name == name || is_in_group(w, name));
    Ok(all.into_iter().filter(chosen).collect())
}

fn figures() -> Vec<Named> {
    let one = |(name, Experiment { title, about, .. }): (&str, Experiment)| Named {
        name: name.into(),
        description: format!("{title}: {about}"),
    };
    file::bundled().map(one).collect()
}

fn setting(path: &str, key: &config::schema::Key) -> Setting {
    Setting { key: path.into(), unit: key.unit, values: key.kind.describe(), description: key.doc }
}

/// The statistics that `pick` names, all of them if it is empty.
fn picked_statistics(pick: &[String]) -> Result<Vec<StatInfo>, Failure> {
    let every = lab::schema();
    let mut chosen = vec![pick.is_empty(); every.len()];
    for name in pick {
        let found = statistics_named(name, &every, true);
        if found.is_empty() {
            let known: Vec<&str> = every.iter().map(|info| &*info.name).collect();
            let unknown = suggest::unknown("statistic", name, &known);
            return Err(Failure::bad_input(format!(
                "{unknown}\n  hint: `warpwright list stats` describes them; `warpwright explain WORD` other words of reports"
            )));
        }
        found.into_iter().for_each(|at| chosen[at] = true);
    }
    Ok(every.into_iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(info, _)| info).collect())
}

/// Positions in `every` of the statistics that match `name`: the full name, a label of reports, a part of the dotted
/// name or, if `in_words`, words within the name.
pub(super) fn statistics_named(name: &str, every: &[StatInfo], in_words: bool) -> Vec<usize> {
    let word = name.trim().to_lowercase().replace([' ', '-'], "_");
    let parts = |info: &StatInfo| {
        let dotted = format!(".{}.", info.name.to_lowercase());
        dotted.contains(&format!(".{word}."))
    };
    let words =
        |info: &StatInfo| in_words && word.len() > 2 && info.name.to_lowercase().replace('.', "_").contains(&word);
    let shown = summary::of_label(name);
    let label =
        |info: &StatInfo| shown.iter().any(|of| info.name == *of || of.ends_with('.') && info.name.starts_with(of));
    let rules: [&dyn Fn(&StatInfo) -> bool; 4] = [&|info| info.name == name, &label, &parts, &words];
    let by_rule = |rule: &dyn Fn(&StatInfo) -> bool| (0..every.len()).filter(|&at| rule(&every[at])).collect();
    rules.into_iter().map(by_rule).find(|found: &Vec<usize>| !found.is_empty()).unwrap_or_default()
}

/// Settings by their names: as in the list, or as `--set` takes them (`sm.l1d.cache.ways` is
/// `<cache>.ways` there); the name of a table gives all its keys, and another part of keys each key with it.
fn picked_settings(pick: &[String]) -> Result<Vec<Setting>, Failure> {
    let rows = || config::schema::KEYS.iter().map(|key| setting(key.path, key));
    if pick.is_empty() {
        return Ok(rows().collect());
    }
    let every: Vec<Setting> = config::schema::paths().map(|(path, key)| setting(&path, key)).collect();
    let mut found: Vec<Setting> = Vec::new();
    for name in pick {
        let (inside, part) = (format!("{name}."), format!(".{name}."));
        let of = |is_meant: &dyn Fn(&str) -> bool| every.iter().filter(|s| is_meant(&s.key)).cloned().collect();
        let listed: Vec<Setting> = rows().filter(|s| s.key == *name).collect();
        let of_table = || of(&|key| key == name || key.starts_with(&inside));
        let with_part = || of(&|key| format!(".{key}.").contains(&part));
        let ways: [&dyn Fn() -> Vec<Setting>; 3] = [&|| listed.clone(), &of_table, &with_part];
        let matching = ways.iter().map(|way| way()).find(|matching| !matching.is_empty());
        let matching = matching.ok_or_else(|| Failure::bad_input(config::unknown_key(name)))?;
        for setting in matching {
            if found.iter().all(|known| known.key != setting.key) {
                found.push(setting);
            }
        }
    }
    Ok(found)
}
