//! Lists of the choices that commands take, and of statistics and settings.

pub mod tables;

use super::number;
use super::statistics;
use super::style::{FAINT, HEADING, styled};
use super::table::{Align, Table};
use super::wrap::{is_unbounded, table_limit, wrapped, wrapped_list};
use crate::on_fabric::OnFabric;
use config::DescriptionKind;
use energy::Hardware;
use evidence::{published, published_costs};
use lab::core_cost::{CoreArea, CoreCost};
use lab::design_cost::{self, DesignCost, Process};
use lab::{RunError, StatInfo};
use serde::Serialize;

/// A thing with a name.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Name on the command line.
    pub name: String,
    /// Description, in a line.
    pub description: String,
}

/// A core design in the list, with what was asked for of it.
#[derive(Clone, Debug, Serialize)]
pub struct Core {
    /// Name and description.
    #[serde(flatten)]
    pub named: Named,
    /// The design and parameters that it is a short name of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<&'static str>,
    /// Parameters, with the values that they have if they are not given.
    pub parameters: Vec<CoreParameter>,
    /// Hardware structures of an SM, if asked for; none of a core that is not an SM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structures: Option<Vec<CostedStructure>>,
    /// Their cost; absent if the GPU's process is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Parts of a core that is not an SM, if asked for and the GPU's process is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area: Option<Area>,
}

/// Area of a core that is not an SM.
#[derive(Clone, Debug, Serialize)]
pub struct Area {
    /// Process of the GPU.
    pub node_nm: f64,
    pub volts: f64,
    /// Area of the GPU's die.
    pub die_mm2: f64,
    /// Cores of the GPU.
    pub cores: u32,
    /// Of one core.
    pub area_mm2: f64,
    #[serde(flatten)]
    pub hardware: Hardware,
    /// Published figures, with ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
}

impl Area {
    /// The area of `core`.
    ///
    /// # Errors
    /// A published figure is of a GPU that cannot be built.
    pub fn new(core: &str, gpu: &str, area: CoreArea) -> Result<Self, RunError> {
        let CoreArea { process, die_mm2, cores, hardware } = area;
        Ok(Self {
            node_nm: process.node_nm,
            volts: process.volts,
            die_mm2,
            cores,
            area_mm2: hardware.area_mm2(),
            hardware,
            published: published(core, gpu)?,
        })
    }
}

/// A warp scheduler.
#[derive(Clone, Debug, Serialize)]
pub struct Scheduler {
    /// Its name and description.
    #[serde(flatten)]
    pub named: Named,
    /// Parameters, with the values that they have if they are not given; absent if it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<CoreParameter>,
}

/// A parameter of a core design or a warp scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoreParameter {
    pub name: &'static str,
    /// Its meaning, with its unit.
    pub description: &'static str,
    /// Values that it takes, in words.
    pub accepts: String,
    /// Its value if it is not given.
    pub default: String,
}

impl From<kit::parameters::Parameter> for CoreParameter {
    fn from(parameter: kit::parameters::Parameter) -> Self {
        let kit::parameters::Parameter { name, description, accepts, default } = parameter;
        Self { name, description, accepts: accepts.to_string(), default }
    }
}

/// Cost of the structures of a core design.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Process of the GPU.
    pub node_nm: f64,
    pub volts: f64,
    /// Area of the GPU's die.
    pub die_mm2: f64,
    /// SMs of the GPU.
    pub sms: u32,
    pub all: Sum,
    /// Their cost beyond the in-order core's structures.
    pub beyond_in_order: Sum,
    /// Published figures, with ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
}

/// Structures together, in an SM.
#[derive(Clone, Debug, Serialize)]
pub struct Sum {
    pub area_um2: f64,
    /// Share of all SMs' in the die.
    pub die_percent: f64,
    pub leakage_uw: f64,
    /// Energy of a warp instruction with two sources and a result that accesses no memory.
    pub instruction_pj: f64,
    /// Energy of a cycle of all clocks without gating.
    pub clock_pj: f64,
}

/// A published area or power beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct Published {
    /// The quantity.
    pub what: &'static str,
    /// Unit of both figures.
    pub unit: &'static str,
    /// The paper's figure.
    pub published: f64,
    /// Ours, in the paper's process.
    pub ours: f64,
    /// Paper and section that have it.
    pub source: &'static str,
}

/// The published cost of `core` on `gpu`, with ours.
fn published(core: &str, gpu: &str) -> Result<Vec<Published>, RunError> {
    let of_core = published::costs().iter().filter(|c| c.core == core && c.gpu == gpu);
    let beside = |c: &'static published::Cost| {
        let (unit, ours) = (c.measure.unit(), published_costs::ours(c)?);
        Ok(Published { what: &c.what, unit, published: c.value, ours, source: &c.source })
    };
    of_core.map(beside).collect()
}

impl Cost {
    /// The cost of `core`, whose structures have `cost`.
    ///
    /// # Errors
    /// A published figure is of a GPU that cannot be built.
    pub fn new(core: &str, gpu: &str, cost: &CoreCost) -> Result<Self, RunError> {
        let sum = |part: &DesignCost| Sum {
            area_um2: part.area_um2,
            die_percent: cost.die_percent(part),
            leakage_uw: part.leakage_uw,
            instruction_pj: part.instruction_pj,
            clock_pj: part.clock_pj,
        };
        Ok(Self {
            node_nm: cost.process.node_nm,
            volts: cost.process.volts,
            die_mm2: cost.die_mm2,
            sms: cost.sms,
            all: sum(&cost.all),
            beyond_in_order: sum(&cost.beyond_in_order),
            published: published(core, gpu)?,
        })
    }
}

/// A hardware structure of a core design with its cost.
#[derive(Clone, Debug, Serialize)]
pub struct CostedStructure {
    #[serde(flatten)]
    pub structure: lab::Structure,
    /// Bits in an SM.
    pub total_bits: usize,
    /// Its cost; absent if the GPU's process is not known.
    #[serde(flatten)]
    pub cost: Option<StorageCost>,
}

/// Cost of a hardware structure.
#[derive(Clone, Debug, Serialize)]
pub struct StorageCost {
    /// Area in an SM.
    pub area_um2: f64,
    /// Leakage in an SM.
    pub leakage_uw: f64,
    /// Energy of reading an entry.
    pub read_pj: f64,
    /// Energy of writing an entry.
    pub write_pj: f64,
    /// Energy of using its comparators or its matrix.
    pub search_pj: f64,
}

impl CostedStructure {
    /// Computes the costs on a GPU made in `process`, if that is known.
    pub fn new(structure: lab::Structure, process: Option<Process>) -> Self {
        let cost = process.map(|process| {
            let (cost, instances) = (design_cost::cost(&structure, process), structure.instances as f64);
            StorageCost {
                area_um2: instances * cost.area_um2,
                leakage_uw: instances * cost.leakage_nw * 1e-3,
                read_pj: cost.read_pj,
                write_pj: cost.write_pj,
                search_pj: cost.search_pj,
            }
        });
        Self { total_bits: structure.total_bits(), structure, cost }
    }
}

/// A bundled workload in the list.
#[derive(Clone, Debug, Serialize)]
pub struct Workload {
    /// Name on the command line.
    pub name: &'static str,
    /// Computation, in a line.
    pub description: &'static str,
    /// Feature that makes it interesting, in a line.
    pub character: &'static str,
    /// The benchmark suite whose program it follows, or `own`.
    pub suite: &'static str,
    /// The papers that evaluate the program.
    pub papers: Vec<InPaper>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its kernels on the fabric of `sgmf`.
    pub sgmf: Vec<OnFabric>,
}

/// A paper that evaluates a program.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct InPaper {
    /// The paper, as its machine is called (`war` of `papers/war`).
    pub paper: &'static str,
    /// The program's name there.
    pub name: &'static str,
}

/// A parameter of a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Name on the command line.
    pub name: &'static str,
    pub description: &'static str,
    /// Value at size small.
    pub small: u64,
    /// Value at size medium.
    pub medium: u64,
    /// Value at size large.
    pub large: u64,
    pub min: u64,
    pub max: u64,
    /// The value must be a multiple of this.
    pub multiple_of: u64,
}

/// A key of a GPU description.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// Dotted path, as for `--set`.
    pub key: String,
    /// Unit; empty for choices and switches.
    pub unit: &'static str,
    /// Values that it takes.
    pub values: String,
    pub description: &'static str,
}

/// A GPU description that comes with the program.
#[derive(Clone, Debug, Serialize)]
pub struct Gpu {
    #[serde(flatten)]
    pub named: Named,
    /// [`DescriptionKind::name`].
    pub kind: &'static str,
}

/// Heading of the descriptions of a kind.
const fn heading(kind: DescriptionKind) -> &'static str {
    match kind {
        DescriptionKind::Hardware => "GPUs",
        DescriptionKind::AccelSim => "GPUs as Accel-Sim describes them",
        DescriptionKind::Paper => "Machines of papers",
    }
}

/// The lists asked for; the others are absent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lists {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<Vec<Gpu>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<Vec<Core>>,
    /// Choices that may follow the name of a core design.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_choices: Option<Vec<Named>>,
    /// Parameters of a scalar path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalar_parameters: Option<Vec<CoreParameter>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedulers: Option<Vec<Scheduler>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workloads: Option<Vec<Workload>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Vec<Named>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<Vec<StatInfo>>,
    /// Keys of GPU descriptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Vec<Setting>>,
    /// Entries of the glossary, of `explain` only.
    #[serde(skip)]
    pub glossary: Option<Vec<Named>>,
}

/// The lists as text; `detailed` gives the workloads' parameters too.
pub fn render(lists: &Lists, detailed: bool) -> String {
    let mut sections = Vec::new();
    let named =
        |title, list: &[Named]| section(title, &pairs(list.iter().map(|n| (n.name.as_str(), n.description.as_str()))));
    for kind in DescriptionKind::ALL {
        let of_kind = lists.gpus.iter().flatten().filter(|gpu| gpu.kind == kind.name());
        let list: Vec<_> = of_kind.map(|gpu| (gpu.named.name.as_str(), gpu.named.description.as_str())).collect();
        sections.extend((!list.is_empty()).then(|| section(heading(kind), &pairs(list.into_iter()))));
    }
    sections.extend(lists.cores.iter().flat_map(|list| cores(list)));
    let choices = "Choices (after the name of a core: inorder+scalar+half)";
    sections.extend(lists.core_choices.iter().map(|list| named(choices, list)));
    let parameters = "Parameters of the scalar path (inorder+scalar:alus=4,memory=true)";
    sections.extend(lists.scalar_parameters.iter().map(|list| section(parameters, &core_parameters(list))));
    sections.extend(lists.schedulers.iter().map(|list| section("Schedulers", &schedulers(list, detailed))));
    if let Some(list) = &lists.workloads {
        let text = if detailed {
            list.iter().map(workload).collect::<Vec<_>>().join("\n")
        } else {
            pairs(list.iter().map(|w| (w.name, w.description)))
        };
        sections.push(section("Workloads", &text));
    }
    sections.extend(lists.figures.iter().map(|list| named("Figures (for reproduce)", list)));
    sections.extend(lists.glossary.iter().map(|list| named("Glossary", list)));
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
    let rest = " ".repeat(width + 4);
    list.iter().map(|(name, text)| wrapped(text, &format!("  {name:<width$}  "), &rest)).collect()
}

fn cores(list: &[Core]) -> Vec<String> {
    if list.iter().any(|core| core.structures.is_some()) {
        return vec![section("Cores", &list.iter().map(core).collect::<Vec<_>>().join("\n"))];
    }
    let (short, designs): (Vec<&Core>, Vec<&Core>) = list.iter().partition(|core| core.stands_for.is_some());
    let designs = pairs(designs.iter().map(|core| (core.named.name.as_str(), core.named.description.as_str())));
    let hint = "  `list cores NAME` shows the parameters of a core: ghost:issue_buffer=16\n";
    let setting = |core: &Core| format!("{}: {}", core.stands_for.unwrap_or_default(), core.named.description);
    let short: Vec<(&str, String)> = short.iter().map(|core| (core.named.name.as_str(), setting(core))).collect();
    let short = pairs(short.iter().map(|(name, text)| (*name, text.as_str())));
    vec![section("Cores", &(designs + hint)), section("Short names of cores", &short)]
}

fn schedulers(list: &[Scheduler], detailed: bool) -> String {
    let width = list.iter().map(|s| s.named.name.len()).max().unwrap_or(0);
    let one = |s: &Scheduler| {
        let head = format!("  {:<width$}  ", s.named.name);
        let shown: &[CoreParameter] = if detailed { &s.parameters } else { &[] };
        wrapped(&s.named.description, &head, &" ".repeat(width + 4)) + &parameters(&s.named.name, shown)
    };
    list.iter().map(one).collect()
}

/// The parameters of the core or scheduler `name`.
fn parameters(name: &str, list: &[CoreParameter]) -> String {
    match list {
        [] => String::new(),
        some => {
            let example = kit::parameters::with(name, some[0].name, "…");
            format!("  parameters ({example}), default, values:\n{}", core_parameters(some))
        }
    }
}

/// A line for each parameter: default, values, meaning.
fn core_parameters(list: &[CoreParameter]) -> String {
    let width = |of: fn(&CoreParameter) -> usize| list.iter().map(of).max().unwrap_or(0);
    let (name, default) = (width(|p| p.name.len()), width(|p| p.default.len()));
    let line = |p: &CoreParameter| {
        let head = format!("    {:<name$}  {:<default$}  ", p.name, p.default);
        wrapped(&format!("({}) {}", p.accepts, p.description), &head, &" ".repeat(name + default + 8))
    };
    list.iter().map(line).collect()
}

fn core(core: &Core) -> String {
    let Named { name, description } = &core.named;
    wrapped(description, &format!("  {}: ", styled(HEADING, name)), "    ")
        + &parameters(name, &core.parameters)
        + &structures(core)
}

/// The hardware of a core: its structures in an SM, or its parts, with their areas and costs.
pub fn structures(core: &Core) -> String {
    if let Some(area) = &core.area {
        return hardware(area);
    }
    let list = core.structures.as_deref().unwrap_or_default();
    if list.is_empty() {
        return "  no SM: no structures of one\n".to_owned();
    }
    let columns = ["instances", "entries", "bits", "reads", "writes", "compares", "total bits"];
    let of_cost = ["um2", "leakage uW", "read pJ", "write pJ", "search pJ"];
    let of_cost = if core.cost.is_some() { &of_cost[..] } else { &[] };
    let right = columns.iter().chain(of_cost).map(|&title| (title, Align::Right));
    let mut table = Table::new(std::iter::once(("structure, in an SM", Align::Left)).chain(right));
    for s in list {
        let lab::Structure { name, instances, storage: of, .. } = &s.structure;
        let numbers = [*instances, of.entries, of.bits, of.read_ports, of.write_ports, of.compared_bits, s.total_bits];
        let cells = numbers.iter().map(|&n| number::count(n as u64));
        let cost = s.cost.iter().flat_map(|c| [c.area_um2, c.leakage_uw, c.read_pj, c.write_pj, c.search_pj]);
        let cells = std::iter::once((*name).to_owned()).chain(cells).chain(cost.map(short));
        table.row(&cells.collect::<Vec<_>>());
    }
    let bits: usize = list.iter().map(|s| s.total_bits).sum();
    let (total, kib) = (number::count(bits as u64), bits as f64 / 8.0 / 1024.0);
    let cost = core.cost.as_ref().map_or(String::new(), cost);
    format!("{}  {total} bits in all ({kib:.2} KiB)\n{cost}", table.render_within(table_limit()))
}

/// The parts of a core that is not an SM, with their areas, and the areas by component.
fn hardware(area: &Area) -> String {
    let mm2 = |um2: f64| format!("{:.4}", um2 * 1e-6);
    let share = |mm2: f64| format!("{:.1} %", 100.0 * mm2 / area.area_mm2);
    let columns = ["instances", "bits", "mm2", "share"].map(|title| (title, Align::Right));
    let mut parts =
        Table::new([("part, in a core", Align::Left), ("component", Align::Left)].into_iter().chain(columns));
    for part in &area.hardware.parts {
        let names = [part.name.to_owned(), part.charged_to.replace('_', " ")];
        let counts = [part.instances, part.bits].map(|n| number::count(n as u64));
        let rest = [mm2(part.area_um2), share(part.area_um2 * 1e-6)];
        parts.row(&[names.as_slice(), &counts, &rest].concat());
    }
    let mut components = Table::new([("component", Align::Left), ("mm2", Align::Right), ("share", Align::Right)]);
    for (component, of) in area.hardware.by_component() {
        components.row(&[component.name().replace('_', " "), format!("{of:.4}"), share(of)]);
    }
    let Area { node_nm, volts, die_mm2, cores, area_mm2, .. } = area;
    let of_die = 100.0 * area_mm2 * f64::from(*cores) / die_mm2;
    let leaks = short(area.hardware.leakage_watts(1) * 1e3);
    let sum = format!(
        "{area_mm2:.3} mm2 a core at {node_nm} nm and {volts} V; {cores} cores are {of_die:.1} % of {die_mm2} mm2; leakage of a core beyond the static power of the GPU's: {leaks} mW"
    );
    let notes: String = area.hardware.notes.iter().map(|note| wrapped(note, "  ", "    ")).collect();
    let mut sources: Vec<&str> = area.hardware.parts.iter().map(|part| part.source).collect();
    sources.sort_unstable();
    sources.dedup();
    let sources: String = sources.iter().map(|source| wrapped(&format!("area: {source}"), "  ", "    ")).collect();
    let sources: String = sources.lines().map(|line| format!("{}\n", styled(FAINT, line))).collect();
    [
        parts.render_within(table_limit()),
        wrapped(&sum, "  ", "    "),
        notes,
        components.render(),
        beside(&area.published),
        sources,
    ]
    .concat()
}

/// A value with three significant digits.
fn short(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { 2 - value.abs().log10().floor() as i32 };
    format!("{value:.*}", digits.clamp(0, 6) as usize)
}

fn cost(cost: &Cost) -> String {
    let Cost { node_nm, volts, die_mm2, sms, all, beyond_in_order, published } = cost;
    let line = |title: &str, sum: &Sum| {
        let Sum { area_um2, die_percent, leakage_uw, instruction_pj, clock_pj } = sum;
        let [area, share, leakage, instruction, clock] =
            [*area_um2, *die_percent, *leakage_uw, *instruction_pj, *clock_pj].map(short);
        let figures = format!(
            "{title}: {area} um2 an SM, {share} % of the die; leakage {leakage} uW an SM; {instruction} pJ an instruction; {clock} pJ a cycle of an SM if clocks are not gated"
        );
        wrapped(&figures, "  ", "    ")
    };
    let place = format!("  at {node_nm} nm and {volts} V, {sms} SMs on {die_mm2} mm2\n");
    let mut text = place + &line("all", all) + &line("beyond the in-order core", beyond_in_order);
    text += &beside(published);
    text
}

/// Published figures beside ours, with their sources; nothing if there are none.
fn beside(published: &[Published]) -> String {
    if published.is_empty() {
        return String::new();
    }
    let columns = [("published", Align::Left), ("", Align::Right), ("ours", Align::Right), ("ratio", Align::Right)];
    let (mut table, mut sources) = (Table::new(columns), String::new());
    for p in published {
        let with_unit = |value: f64| format!("{} {}", short(value), p.unit);
        let ratio = short(p.ours / p.published);
        table.row(&[p.what.to_owned(), with_unit(p.published), with_unit(p.ours), ratio]);
        let lines = wrapped(&format!("{}: {}", p.what, p.source), "  ", "    ");
        sources.extend(lines.lines().map(|line| format!("{}\n", styled(FAINT, line))));
    }
    table.render() + &sources
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
    let summary = wrapped(w.description, &format!("  {}: ", styled(HEADING, w.name)), "    ");
    summary + &wrapped(w.character, "    ", "    ") + &origin(w) + &table.render() + &on_fabric(&w.sgmf)
}

/// Suite and papers of a program that is not our own.
fn origin(w: &Workload) -> String {
    let papers: Vec<String> = w.papers.iter().map(|p| format!("{} in `{}`", p.name, p.paper)).collect();
    let text = match &papers[..] {
        [] => w.suite.to_owned(),
        papers => format!("{}: {}", w.suite, papers.join(", ")),
    };
    if w.suite == "own" { String::new() } else { wrapped(&text, "    ", "      ") }
}

/// Whether kernels map onto the fabric of `sgmf`; with reasons, a line each.
fn on_fabric(kernels: &[OnFabric]) -> String {
    if kernels.iter().all(|k| k.reasons.is_empty()) {
        let each: Vec<String> = kernels.iter().map(|k| format!("{} {}", k.kernel, k.outcome)).collect();
        return wrapped_list(&each.join(", "), "    on sgmf: ", "      ");
    }
    let line = |k: &OnFabric| {
        let colon = if k.reasons.is_empty() { "" } else { ": " };
        wrapped(&format!("{} {}{colon}{}", k.kernel, k.outcome, k.reasons), "    on sgmf: ", "      ")
    };
    kernels.iter().map(line).collect()
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
    let rest = " ".repeat(width + 4);
    let row = |i: &&StatInfo| {
        let meaning = format!("{} {}", i.description, styled(FAINT, format!("[{}]", i.unit)));
        wrapped(&meaning, &format!("  {:<width$}  ", i.name), &rest)
    };
    let sections: Vec<String> = groups
        .iter()
        .map(|(g, members)| section(statistics::title(g), &members.iter().map(row).collect::<String>()))
        .collect();
    sections.join("\n")
}

fn settings(list: &[Setting]) -> String {
    let row = |s: &Setting| {
        let unit = if s.unit.is_empty() { String::new() } else { format!(" [{}]", s.unit) };
        let meaning = wrapped(&format!("{}{unit}", s.description), &format!("  {}: ", styled(HEADING, &s.key)), "    ");
        if is_unbounded() {
            return format!("{} {}\n", meaning.trim_end(), styled(FAINT, format!("({})", s.values)));
        }
        let values = wrapped(&s.values, "      ", "      ");
        meaning + &values.lines().map(|line| format!("{}\n", styled(FAINT, line))).collect::<String>()
    };
    section("Settings (keys of a GPU description, for --set)", &list.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests;
