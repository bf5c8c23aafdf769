//! `warpwright list`: what there is to choose from.

use crate::failure::{Exit, Failure, Outcome};
use crate::render::lists::{self, Lists, Named, Parameter, Setting, Workload};
use crate::{output, simulator};
use clap::ValueEnum;
use workloads::Size;

/// List GPUs, core designs, schedulers, workloads, statistics or settings
///
/// Without a topic: everything but statistics and settings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright list
  warpwright list workloads
  warpwright list stats --json")]
pub struct Args {
    /// What to list
    #[arg(value_enum)]
    topic: Option<Topic>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Topic {
    /// GPU descriptions that come with the program
    Gpus,
    /// Core designs
    Cores,
    /// Warp schedulers
    Schedulers,
    /// Bundled workloads with their parameters
    Workloads,
    /// Statistics of a report: name, meaning, unit
    Stats,
    /// Keys of a GPU description, for --set
    Settings,
}

/// Lists.
pub fn run(args: &Args) -> Outcome {
    let lists = lists(args.topic)?;
    if args.json {
        output::print_json(&lists)?;
    } else {
        output::print(&lists::render(&lists, args.topic.is_some()))?;
    }
    Ok(Exit::Success)
}

fn lists(topic: Option<Topic>) -> Result<Lists, Failure> {
    let wanted = |t: Topic| match topic {
        Some(topic) => topic == t,
        None => !matches!(t, Topic::Stats | Topic::Settings),
    };
    let gpus = if wanted(Topic::Gpus) { Some(gpus()?) } else { None };
    Ok(Lists {
        gpus,
        cores: wanted(Topic::Cores).then(|| named(simulator::cores())),
        schedulers: wanted(Topic::Schedulers).then(|| named(simulator::schedulers())),
        workloads: wanted(Topic::Workloads).then(workloads),
        stats: wanted(Topic::Stats).then(simulator::schema),
        settings: wanted(Topic::Settings).then(settings),
    })
}

fn gpus() -> Result<Vec<Named>, Failure> {
    let one = |b: &config::Builtin| {
        let gpu = config::load(b.name).map_err(Failure::failed)?;
        Ok(Named { name: b.name.into(), description: gpu.description })
    };
    config::builtin().iter().map(one).collect()
}

fn named(list: &[(&str, &str)]) -> Vec<Named> {
    list.iter().map(|&(name, description)| Named { name: name.into(), description: description.into() }).collect()
}

fn workloads() -> Vec<Workload> {
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
    let one = |w: &workloads::Workload| Workload {
        name: w.name,
        description: w.summary,
        character: w.character,
        parameters: w.parameters.iter().map(parameter).collect(),
    };
    workloads::suite::ALL.iter().map(one).collect()
}

fn settings() -> Vec<Setting> {
    let one = |key: &config::schema::Key| Setting {
        key: key.path.into(),
        unit: key.unit,
        values: key.kind.describe(),
        description: key.doc,
    };
    config::schema::KEYS.iter().map(one).collect()
}
