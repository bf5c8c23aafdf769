//! What there is to choose from.

use super::number;
use super::statistics;
use super::style::{FAINT, HEADING, styled};
use super::table::{Align, Table};
use lab::StatInfo;
use serde::Serialize;

/// A thing with a name.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Name on the command line.
    pub name: String,
    /// What it is, in a line.
    pub description: String,
}

/// A core design.
#[derive(Clone, Debug, Serialize)]
pub struct Core {
    /// What it is called.
    #[serde(flatten)]
    pub named: Named,
    /// Hardware structures of an SM, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structures: Option<Vec<Storage>>,
}

/// A hardware structure of a core design.
#[derive(Clone, Debug, Serialize)]
pub struct Storage {
    /// What it is, in the paper's words.
    pub name: &'static str,
    /// How many of it an SM has.
    pub instances: usize,
    /// Entries of one.
    pub entries: usize,
    /// Bits of an entry.
    pub bits: usize,
    /// Entries that can be read in one cycle.
    pub read_ports: usize,
    /// Entries that can be written in one cycle.
    pub write_ports: usize,
    /// Bits in an SM.
    pub total_bits: usize,
}

impl From<lab::Structure> for Storage {
    fn from(s: lab::Structure) -> Self {
        let total_bits = s.total_bits();
        let lab::Structure { name, instances, entries, bits, read_ports, write_ports } = s;
        Self { name, instances, entries, bits, read_ports, write_ports, total_bits }
    }
}

/// A workload.
#[derive(Clone, Debug, Serialize)]
pub struct Workload {
    /// Name on the command line.
    pub name: &'static str,
    /// What it computes, in a line.
    pub description: &'static str,
    /// What makes it interesting, in a line.
    pub character: &'static str,
    /// What may be chosen.
    pub parameters: Vec<Parameter>,
}

/// A parameter of a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Name on the command line.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Value by size.
    pub small: u64,
    /// Value by size.
    pub medium: u64,
    /// Value by size.
    pub large: u64,
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// What the value must be a multiple of.
    pub multiple_of: u64,
}

/// A key of a GPU description.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// Dotted path, as for `--set`.
    pub key: String,
    /// Unit; empty for choices and switches.
    pub unit: &'static str,
    /// What values it takes.
    pub values: String,
    /// Meaning.
    pub description: &'static str,
}

/// What was asked for; the rest is absent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lists {
    /// GPU descriptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<Vec<Named>>,
    /// Core designs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<Vec<Core>>,
    /// Warp schedulers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedulers: Option<Vec<Named>>,
    /// Workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workloads: Option<Vec<Workload>>,
    /// Experiments of papers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Vec<Named>>,
    /// Statistics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<Vec<StatInfo>>,
    /// Keys of GPU descriptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Vec<Setting>>,
}

/// The lists as text; `detailed` gives the workloads' parameters too.
pub fn render(lists: &Lists, detailed: bool) -> String {
    let mut sections = Vec::new();
    let named =
        |title, list: &[Named]| section(title, &pairs(list.iter().map(|n| (n.name.as_str(), n.description.as_str()))));
    sections.extend(lists.gpus.iter().map(|list| named("GPUs", list)));
    sections.extend(lists.cores.iter().map(|list| section("Cores", &cores(list))));
    sections.extend(lists.schedulers.iter().map(|list| named("Schedulers", list)));
    if let Some(list) = &lists.workloads {
        let text = if detailed {
            list.iter().map(workload).collect::<Vec<_>>().join("\n")
        } else {
            pairs(list.iter().map(|w| (w.name, w.description)))
        };
        sections.push(section("Workloads", &text));
    }
    sections.extend(lists.figures.iter().map(|list| named("Figures (for reproduce)", list)));
    if let Some(list) = &lists.stats {
        sections.push(stats(list));
    }
    if let Some(list) = &lists.settings {
        sections.push(settings(list));
    }
    sections.join("\n")
}

fn section(title: &str, text: &str) -> String {
    format!("{}\n{text}", styled(HEADING, title))
}

fn pairs<'a>(list: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let list: Vec<_> = list.collect();
    let width = list.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    list.iter().map(|(name, text)| format!("  {name:<width$}  {text}\n")).collect()
}

fn cores(list: &[Core]) -> String {
    if list.iter().all(|core| core.structures.is_none()) {
        return pairs(list.iter().map(|core| (core.named.name.as_str(), core.named.description.as_str())));
    }
    list.iter().map(core).collect::<Vec<_>>().join("\n")
}

fn core(core: &Core) -> String {
    let Named { name, description } = &core.named;
    let mut table = Table::new([
        ("structure, in an SM", Align::Left),
        ("instances", Align::Right),
        ("entries", Align::Right),
        ("bits", Align::Right),
        ("reads", Align::Right),
        ("writes", Align::Right),
        ("total bits", Align::Right),
    ]);
    let list = core.structures.as_deref().unwrap_or_default();
    for s in list {
        let numbers = [s.instances, s.entries, s.bits, s.read_ports, s.write_ports, s.total_bits];
        let cells = numbers.iter().map(|&n| number::count(n as u64));
        table.row(&std::iter::once(s.name.to_owned()).chain(cells).collect::<Vec<_>>());
    }
    let bits: usize = list.iter().map(|s| s.total_bits).sum();
    let (total, kib) = (number::count(bits as u64), bits as f64 / 8.0 / 1024.0);
    format!("  {}: {description}\n{}  {total} bits in all ({kib:.2} KiB)\n", styled(HEADING, name), table.render())
}

fn workload(w: &Workload) -> String {
    let mut table = Table::new([
        ("", Align::Left),
        ("small", Align::Right),
        ("medium", Align::Right),
        ("large", Align::Right),
        ("", Align::Left),
    ]);
    for p in &w.parameters {
        let [small, medium, large] = [p.small, p.medium, p.large].map(|n| n.to_string());
        table.row(&[format!("  {}", p.name), small, medium, large, styled(FAINT, p.description)]);
    }
    format!("  {}: {}\n    {}\n{}", styled(HEADING, w.name), w.description, w.character, table.render())
}

fn stats(list: &[StatInfo]) -> String {
    let mut groups: Vec<(&str, Vec<&StatInfo>)> = Vec::new();
    for info in list {
        let name = statistics::group(info);
        match groups.iter_mut().find(|(g, _)| *g == name) {
            Some((_, members)) => members.push(info),
            None => groups.push((name, vec![info])),
        }
    }
    let width = list.iter().map(|i| i.name.len()).max().unwrap_or(0);
    let row =
        |i: &&StatInfo| format!("  {:<width$}  {} {}\n", i.name, i.description, styled(FAINT, format!("[{}]", i.unit)));
    let sections: Vec<String> = groups
        .iter()
        .map(|(g, members)| section(statistics::title(g), &members.iter().map(row).collect::<String>()))
        .collect();
    sections.join("\n")
}

fn settings(list: &[Setting]) -> String {
    let row = |s: &Setting| {
        let unit = if s.unit.is_empty() { String::new() } else { format!(" [{}]", s.unit) };
        format!("  {}: {}{unit}\n      {}\n", styled(HEADING, &s.key), s.description, styled(FAINT, &s.values))
    };
    section("Settings (keys of a GPU description, for --set)", &list.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;

    fn lists() -> Lists {
        let named = |name: &str, description: &str| Named { name: name.into(), description: description.into() };
        let parameter = Parameter {
            name: "n",
            description: "elements",
            small: 64,
            medium: 4096,
            large: 65536,
            min: 1,
            max: 1 << 20,
            multiple_of: 1,
        };
        let stats = sample::report().total.0.into_iter().map(|(info, _)| info).collect();
        Lists {
            gpus: Some(vec![named("v100", "V100, 80 SMs"), named("rtx2060s", "RTX 2060 Super, 34 SMs")]),
            cores: Some(vec![Core { named: named("inorder", "in order"), structures: None }]),
            schedulers: Some(vec![named("gto", "greedy then oldest")]),
            workloads: Some(vec![Workload {
                name: "sum",
                description: "adds up",
                character: "streaming",
                parameters: vec![parameter],
            }]),
            figures: Some(vec![named("ghost-fig13", "GhOST, figure 13: speedup")]),
            stats: Some(stats),
            settings: Some(vec![Setting {
                key: "sm_count".into(),
                unit: "SMs",
                values: "an integer of at least 1".into(),
                description: "SMs on the chip.",
            }]),
        }
    }

    #[test]
    fn golden() {
        let brief = Lists { stats: None, settings: None, ..lists() };
        insta::assert_snapshot!(sample::plain(&render(&brief, false)));
    }

    #[test]
    fn golden_of_structures() {
        let structure = |name, instances, entries, bits| {
            Storage::from(lab::Structure { name, instances, entries, bits, read_ports: 1, write_ports: 2 })
        };
        let structures = Some(vec![structure("instruction buffer", 32, 2, 64), structure("board", 32, 1, 8)]);
        let core = Core { named: lists().gpus.unwrap().remove(0), structures };
        insta::assert_snapshot!(sample::plain(&render(&Lists { cores: Some(vec![core]), ..Lists::default() }, true)));
    }

    #[test]
    fn golden_with_details() {
        insta::assert_snapshot!(sample::plain(&render(&lists(), true)));
    }
}
