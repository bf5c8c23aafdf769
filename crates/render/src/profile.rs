//! Where issue slots went, by instruction.

use crate::number;
use crate::style::{FAINT, HEADING, styled};
use crate::table::{Align, Table};
use lab::listing::TextLine;
use lab::profile::{Accesses, InstructionProfile, KernelProfile, Latency, LineProfile, Profile};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The order of the instructions of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Those that took most issue slots first.
    #[default]
    Slots,
    /// Those that others waited for most first.
    Causes,
    /// Those that caused most energy first.
    Energy,
    /// As in the code.
    Code,
}

/// The form of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// A table of instructions.
    #[default]
    Instructions,
    /// A table of lines of the source.
    Lines,
    /// The code in order, instructions below their lines of source and PTX.
    Listing,
    /// A table of loads and atomics by the level that their data came from.
    Latencies,
}

/// Choice of rows and order of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Detail {
    /// Rows of the table.
    pub view: View,
    /// The order of instructions or lines.
    pub order: Order,
    /// Maximum number of them per kernel.
    pub most: usize,
}

impl Default for Detail {
    fn default() -> Self {
        Self { view: View::default(), order: Order::default(), most: 20 }
    }
}

/// Length of the bar of the instruction that took most slots.
const FULL: f64 = 10.0;
/// Reasons shown of an instruction.
const REASONS: usize = 2;
/// Components shown of the energy that belongs to no instruction.
const REST: usize = 3;
/// Column of a listing where PTX stands.
const LISTED: usize = 36;

/// The profile as text with colours: a section for each kernel, and what energy belongs to no instruction.
pub fn render(profile: &Profile, detail: Detail) -> String {
    let all: u64 = profile.kernels.iter().map(KernelProfile::slots).sum();
    let energy = all_joules(profile);
    let sections = profile.kernels.iter().map(|kernel| section(kernel, all, energy, detail));
    let energy = Some(energy_line(profile)).filter(|line| !line.is_empty());
    sections.chain(energy).collect::<Vec<_>>().join("\n")
}

fn section(kernel: &KernelProfile, all: u64, energy: Option<f64>, detail: Detail) -> String {
    let slots = kernel.slots();
    let issued: u64 = kernel.instructions.iter().map(|i| i.issues).sum();
    let mut out = format!("{}\n", styled(HEADING, &kernel.name));
    let _ = writeln!(
        out,
        "  {} of the slots of all kernels; in {} of its slots an instruction issued, in {} one waited",
        percent(slots, all),
        percent(issued, slots),
        percent(slots - issued, slots)
    );
    out += &match detail.view {
        View::Instructions => {
            let (shown, left) = hottest(kernel.instructions.iter().collect(), detail, keys);
            table(&shown, slots, energy).render() + &more(left, "instruction")
        }
        View::Lines => {
            let (shown, left) = hottest(kernel.lines(), detail, |line| Keys {
                slots: line.slots(),
                causes: line.instructions.iter().map(|i| i.caused()).sum(),
                joules: line_joules(line),
            });
            lines(&shown, slots, energy).render() + &more(left, "line")
        }
        View::Listing => listing(kernel, slots, energy, detail.most),
        View::Latencies => {
            let loads = kernel.instructions.iter().filter(|i| !i.latency_by_level.is_empty()).collect();
            let (shown, left) = hottest(loads, detail, keys);
            match latencies(&shown) {
                Some(table) => table.render() + &more(left, "instruction"),
                None => "  No load or atomic brought data from a level of memory.\n".to_owned(),
            }
        }
    };
    out
}

fn keys(i: &&InstructionProfile) -> Keys {
    Keys { slots: i.slots(), causes: i.caused(), joules: joules(i) }
}

/// Order of the rows.
struct Keys {
    slots: u64,
    causes: u64,
    joules: f64,
}

/// The first rows in the order asked for, and the number of the others.
fn hottest<T>(mut rows: Vec<T>, detail: Detail, keys: impl Fn(&T) -> Keys) -> (Vec<T>, usize) {
    // Stable: ties stay in the order of the code.
    match detail.order {
        Order::Slots => rows.sort_by_key(|row| std::cmp::Reverse(keys(row).slots)),
        Order::Causes => rows.sort_by_key(|row| std::cmp::Reverse(keys(row).causes)),
        Order::Energy => rows.sort_by(|one, other| keys(other).joules.total_cmp(&keys(one).joules)),
        Order::Code => {}
    }
    let left = rows.len().saturating_sub(detail.most);
    rows.truncate(detail.most);
    (rows, left)
}

/// Dynamic energy that the instruction caused; 0 without a model.
pub(crate) fn joules(i: &InstructionProfile) -> f64 {
    i.energy.as_ref().map_or(0.0, |energy| energy.joules)
}

pub(crate) fn line_joules(line: &LineProfile<'_>) -> f64 {
    line.instructions.iter().map(|i| joules(i)).sum()
}

/// Dynamic energy of all instructions of a run, in joules; `None` without a model.
pub(crate) fn all_joules(profile: &Profile) -> Option<f64> {
    profile.shared_energy.as_ref()?;
    Some(profile.kernels.iter().flat_map(|kernel| &kernel.instructions).map(joules).sum())
}

/// Share of the run's energy that instructions caused, and the rest.
fn energy_line(profile: &Profile) -> String {
    let Some((by_instruction, shared)) = all_joules(profile).zip(profile.shared_energy.as_ref()) else {
        return String::new();
    };
    let all = by_instruction + shared.iter().map(|(_, joules)| joules).sum::<f64>();
    let part = |&(name, joules): &(&str, f64)| format!("{} {}", name.replace('_', " "), share(joules, all));
    let rest: Vec<String> = shared.iter().take(REST).map(part).collect();
    let what =
        format!("instructions caused {} of the run's {}", share(by_instruction, all), number::with_prefix(all, "J"));
    format!("{}  {what}; the rest: {}\n", styled(HEADING, "energy"), rest.join(", "))
}

/// A line that says that there are `left` more; nothing if there are none.
pub(crate) fn more(left: usize, noun: &str) -> String {
    if left == 0 {
        return String::new();
    }
    let text = format!("and {} more {}", number::count(left as u64), kit::text::plural(left as u64, noun));
    format!("  {}\n", styled(FAINT, text))
}

fn table(instructions: &[&InstructionProfile], slots: u64, energy: Option<f64>) -> Table {
    let mut table = Table::new([
        ("slots", Align::Right),
        ("", Align::Left),
        ("issued", Align::Right),
        ("lanes", Align::Right),
        ("waited", Align::Right),
        ("for", Align::Left),
        ("awaited", Align::Right),
        ("latency", Align::Right),
        ("95 %", Align::Right),
        ("energy", Align::Right),
        ("memory", Align::Left),
        ("pc", Align::Right),
        ("instruction", Align::Left),
        ("source", Align::Name),
    ]);
    let longest = instructions.iter().map(|i| i.slots()).max().unwrap_or(0);
    for i in instructions {
        let latency = i.latency.as_ref();
        table.row(&[
            percent(i.slots(), slots),
            bar(i.slots(), longest),
            number::count(i.issues),
            ratio(i.lanes, i.issues),
            percent(i.stalled(), slots),
            reasons(&i.stalls),
            percent(i.caused(), slots),
            latency.map_or_else(|| number::ABSENT.to_owned(), |l| number::real(l.mean)),
            latency.map_or_else(|| number::ABSENT.to_owned(), |l| number::count(l.p95)),
            energy.map_or_else(|| number::ABSENT.to_owned(), |all| share(joules(i), all)),
            i.memory.as_ref().map_or_else(String::new, memory),
            i.pc.to_string(),
            i.text.clone(),
            source(i),
        ]);
    }
    table
}

/// Lines of the source with what their instructions took together.
fn lines(shown: &[LineProfile<'_>], slots: u64, energy: Option<f64>) -> Table {
    let mut table = Table::new([
        ("slots", Align::Right),
        ("", Align::Left),
        ("issued", Align::Right),
        ("lanes", Align::Right),
        ("waited", Align::Right),
        ("for", Align::Left),
        ("awaited", Align::Right),
        ("energy", Align::Right),
        ("memory", Align::Left),
        ("line", Align::Left),
        ("", Align::Left),
    ]);
    let longest = shown.iter().map(LineProfile::slots).max().unwrap_or(0);
    for line in shown {
        let stalls = line.stalls();
        table.row(&[
            percent(line.slots(), slots),
            bar(line.slots(), longest),
            number::count(line.instructions.iter().map(|i| i.issues).sum()),
            ratio(line.instructions.iter().map(|i| i.lanes).sum(), line.instructions.iter().map(|i| i.issues).sum()),
            percent(stalls.iter().map(|(_, slots)| slots).sum(), slots),
            reasons(&stalls),
            percent(line.instructions.iter().map(|i| i.caused()).sum(), slots),
            energy.map_or_else(|| number::ABSENT.to_owned(), |all| share(line_joules(line), all)),
            line_memory(line),
            line.source.map_or_else(|| "unknown".to_owned(), place),
            line.source.and_then(|source| source.text.clone()).unwrap_or_default(),
        ]);
    }
    table
}

/// Accesses of the instruction of a line that moves most sectors or, without such, takes most passes.
fn line_memory(line: &LineProfile<'_>) -> String {
    let accesses = line.instructions.iter().filter_map(|i| i.memory.as_ref());
    accesses.max_by_key(|m| (m.sectors, m.transactions)).map_or_else(String::new, memory)
}

/// A histogram with a bar for each power of two: the power that the cycles are below, and the number of issues.
pub(crate) fn by_power(latency: &Latency) -> BTreeMap<u64, u64> {
    let mut powers = BTreeMap::new();
    for &(longest, issues) in &latency.histogram {
        *powers.entry((longest + 1).next_power_of_two()).or_default() += issues;
    }
    powers
}

/// The powers of two that the histograms of any of the instructions have.
pub(crate) fn powers(instructions: &[&InstructionProfile]) -> BTreeSet<u64> {
    let latencies = instructions.iter().flat_map(|i| &i.latency_by_level);
    latencies.flat_map(|(_, latency)| by_power(latency).into_keys()).collect()
}

/// Rows of loads and atomics by level, with the share of the issues that took less than each power of two and not less
/// than the one before it; `None` without rows.
fn latencies(shown: &[&InstructionProfile]) -> Option<Table> {
    let powers = powers(shown);
    let columns = [
        ("pc", Align::Right),
        ("instruction", Align::Left),
        ("level", Align::Left),
        ("issues", Align::Right),
        ("mean", Align::Right),
        ("95 %", Align::Right),
        ("longest", Align::Right),
    ];
    let columns = columns.map(|(name, align)| (name.to_owned(), align)).into_iter();
    let groups = powers.iter().map(|power| (format!("<{power}"), Align::Right));
    let mut table = Table::new(columns.chain(groups).chain([("source".to_owned(), Align::Name)]));
    for i in shown {
        for (number, (level, latency)) in i.latency_by_level.iter().enumerate() {
            let (pc, text, place) =
                if number == 0 { (i.pc.to_string(), i.text.clone(), source(i)) } else { Default::default() };
            let by_power = by_power(latency);
            let issues = by_power.values().sum();
            let mut cells = vec![pc, text, (*level).to_owned(), number::count(issues), number::real(latency.mean)];
            cells.extend([number::count(latency.p95), number::count(latency.max)]);
            cells.extend(
                powers.iter().map(|power| by_power.get(power).map_or_else(String::new, |n| percent(*n, issues))),
            );
            cells.push(place);
            table.row(&cells);
        }
    }
    (!table.is_empty()).then_some(table)
}

/// The code in order: where the line of the source changes it stands above, with the calls it was inlined for; so does
/// the PTX's.
fn listing(kernel: &KernelProfile, slots: u64, energy: Option<f64>, most: usize) -> String {
    let mut out = format!("  {}\n", styled(FAINT, "slots  energy  waited for"));
    let (mut source, mut ptx) = (None, None);
    for i in kernel.instructions.iter().take(most) {
        if is_heading(i) && i.source.as_ref() != source {
            for (number, line) in i.source.iter().chain(&i.calls).enumerate() {
                let word = if number == 0 { "" } else { "inlined at " };
                let text = line.text.as_deref().unwrap_or_default();
                let _ = writeln!(out, "{}  {text}", styled(HEADING, format!("{word}{}", place(line))));
            }
        }
        if let Some(line) = i.ptx.as_ref().filter(|line| Some(*line) != ptx) {
            let text = line.text.as_deref().unwrap_or_default();
            let _ = writeln!(out, "{:LISTED$}{}", "", styled(FAINT, format!("PTX {}  {text}", line.line)));
        }
        (source, ptx) = (i.source.as_ref(), i.ptx.as_ref());
        let joules = energy.map_or_else(|| number::ABSENT.to_owned(), |all| share(joules(i), all));
        let why = i.stalls.first().map_or("", |(reason, _)| reason);
        let _ = writeln!(out, "{:>7} {joules:>7}  {why:<18} {:>5}  {}", percent(i.slots(), slots), i.pc, i.text);
    }
    out + &more(kernel.instructions.len().saturating_sub(most), "instruction")
}

/// Whether the line of its source says more than the instruction itself.
pub(crate) fn is_heading(i: &InstructionProfile) -> bool {
    i.source.as_ref().is_some_and(|line| line.text.as_deref() != Some(&i.text))
}

fn bar(slots: u64, longest: u64) -> String {
    "█".repeat(if longest > 0 { (slots as f64 / longest as f64 * FULL).round() as usize } else { 0 })
}

pub(crate) fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", part / whole * 100.0) } else { number::ABSENT.to_owned() }
}

pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { number::ABSENT.to_owned() } else { format!("{:.1} %", part as f64 / whole as f64 * 100.0) }
}

pub(crate) fn ratio(count: u64, of: u64) -> String {
    if of == 0 { number::ABSENT.to_owned() } else { format!("{:.1}", count as f64 / of as f64) }
}

/// The reasons for which it waited most, each with its share of the slots in which it waited.
pub(crate) fn reasons(stalls: &[(&'static str, u64)]) -> String {
    let all = stalls.iter().map(|(_, slots)| slots).sum();
    let shown = stalls.iter().take(REASONS).map(|&(reason, slots)| match percent(slots, all) {
        _ if slots == all => reason.to_owned(),
        share => format!("{reason} {share}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Sums of its accesses, each figure per access.
pub(crate) fn memory(m: &Accesses) -> String {
    let all: u64 = m.served.iter().map(|(_, count)| count).sum();
    let mut parts = Vec::new();
    if m.sectors > 0 {
        parts.push(format!("{} sectors", ratio(m.sectors, m.accesses)));
    } else if m.transactions > m.accesses {
        parts.push(format!("{} passes", ratio(m.transactions, m.accesses)));
    }
    if m.excess_passes > 0 {
        parts.push(format!("{} of them conflicts", percent(m.excess_passes, m.transactions)));
    }
    if m.excess_sectors > 0 {
        parts.push(format!("{} of them unused", percent(m.excess_sectors, m.sectors)));
    }
    let served = m.served.iter().filter(|(_, n)| *n > 0);
    parts.extend(served.map(|(level, n)| format!("{} {}", percent(n, all), level.name())));
    parts.join(", ")
}

/// A kernel of several profiles, instruction by instruction.
pub(crate) struct Compared<'a> {
    /// As it ran on the first machine.
    pub(crate) kernel: &'a KernelProfile,
    /// Labels of the others that ran the same code.
    pub(crate) labels: Vec<&'a str>,
    /// Instructions whose slots differ, the greatest difference first, with the change of each of the others.
    pub(crate) rows: Vec<(&'a InstructionProfile, Vec<i64>)>,
    /// Number of further ones.
    pub(crate) left: usize,
    /// The change of all instructions together.
    pub(crate) all: Vec<i64>,
}

/// The kernels of the first profile that others have with the same code; up to `most` instructions of each.
pub(crate) fn compared<'a>(profiles: &[(&'a str, &'a Profile)], most: usize) -> Vec<Compared<'a>> {
    let [(_, baseline), others @ ..] = profiles else { return Vec::new() };
    let of_kernel = |kernel: &'a KernelProfile| {
        let same = |&(label, profile): &(&'a str, &'a Profile)| {
            Some((label, profile.kernels.iter().find(|other| is_same_code(kernel, other))?))
        };
        let (labels, others): (Vec<&str>, Vec<&KernelProfile>) = others.iter().filter_map(same).unzip();
        let slots = |of: &KernelProfile, pc: u32| instruction(of, pc).map_or(0, InstructionProfile::slots);
        let change = |of: &&KernelProfile, i: &InstructionProfile| slots(of, i.pc) as i64 - i.slots() as i64;
        let changes = |i: &'a InstructionProfile| (i, others.iter().map(|of| change(of, i)).collect::<Vec<_>>());
        let greatest = |changes: &[i64]| changes.iter().map(|change| change.abs()).max().unwrap_or(0);
        let mut rows: Vec<_> = kernel.instructions.iter().map(changes).filter(|row| greatest(&row.1) > 0).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(greatest(&row.1)));
        let left = rows.len().saturating_sub(most);
        rows.truncate(most);
        let all = others.iter().map(|other| other.slots() as i64 - kernel.slots() as i64).collect();
        (!labels.is_empty()).then_some(Compared { kernel, labels, rows, left, all })
    };
    baseline.kernels.iter().filter_map(of_kernel).collect()
}

/// The instruction at `pc`, if anything happened to it.
fn instruction(of: &KernelProfile, pc: u32) -> Option<&InstructionProfile> {
    of.instructions.binary_search_by_key(&pc, |i| i.pc).ok().map(|at| &of.instructions[at])
}

/// Whether two kernels have the same instructions, as far as they ran.
fn is_same_code(one: &KernelProfile, other: &KernelProfile) -> bool {
    one.name == other.name
        && one.length == other.length
        && one.instructions.iter().all(|i| instruction(other, i.pc).is_none_or(|same| same.text == i.text))
}

/// A change with its sign.
pub(crate) fn signed(n: i64) -> String {
    format!("{}{}", if n < 0 { "-" } else { "+" }, number::count(n.unsigned_abs()))
}

/// Profiles of the same kernels on several machines, each with its label: the slots of each instruction in the first one,
/// and what the others take more or less, the greatest change first. Kernels whose code differs are left out.
pub fn compare(profiles: &[(&str, &Profile)], most: usize) -> String {
    let first = profiles.first().map_or("", |(label, _)| label);
    let sections: Vec<String> = compared(profiles, most).iter().map(|kernel| changes(kernel, first)).collect();
    sections.join("\n")
}

fn changes(of: &Compared<'_>, first: &str) -> String {
    let columns = [("pc", Align::Right), ("instruction", Align::Left), (first, Align::Right)];
    let labels = of.labels.iter().map(|label| (*label, Align::Right));
    let mut table = Table::new(columns.into_iter().chain(labels).chain([("source", Align::Name)]));
    for (i, changes) in &of.rows {
        let mut cells = vec![i.pc.to_string(), i.text.clone(), number::count(i.slots())];
        cells.extend(changes.iter().map(|&change| signed(change)));
        cells.push(source(i));
        table.row(&cells);
    }
    let mut cells = vec![String::new(), "all".to_owned(), number::count(of.kernel.slots())];
    cells.extend(of.all.iter().map(|&change| signed(change)));
    cells.push(String::new());
    table.row(&cells);
    let title = styled(HEADING, &of.kernel.name);
    let note = styled(FAINT, "issue slots, and the change");
    format!("{title}  {note}\n{}", table.render()) + &more(of.left, "instruction")
}

/// File and line of the source; empty if unknown.
pub(crate) fn source(i: &InstructionProfile) -> String {
    i.source.as_ref().map_or_else(String::new, place)
}

/// File, without folders, and line.
pub(crate) fn place(line: &TextLine) -> String {
    let file = line.file.as_deref().unwrap_or_default();
    format!("{}:{}", file.rsplit(['/', '\\']).next().unwrap_or(file), line.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::attribution::InstructionEnergy;
    use lab::profile::{Level, Levels, Served};

    fn instruction(pc: u32, issues: u64, waited: u64, awaited: u64) -> InstructionProfile {
        InstructionProfile {
            pc,
            text: format!("INST R{pc}"),
            place: String::new(),
            source: Some(TextLine {
                file: Some("/home/me/a.cu".into()),
                line: 10 + pc,
                text: Some(format!("x[{pc}];")),
            }),
            calls: Vec::new(),
            ptx: Some(TextLine { file: None, line: 5, text: Some("ld.global".into()) }),
            issues,
            lanes: issues * 32,
            divergences: 0,
            stalls: if waited > 0 { vec![("raw_memory", waited)] } else { vec![] },
            causes: if awaited > 0 { vec![("raw_memory", awaited)] } else { vec![] },
            latency: Some(Latency { mean: 4.0, p95: 4, max: 4, histogram: vec![(4, issues)] }),
            latency_by_level: Vec::new(),
            memory: None,
            energy: Some(InstructionEnergy { joules: f64::from(3 - pc), parts: vec![("l2", f64::from(3 - pc))] }),
        }
    }

    fn rendered(view: View, order: Order, most: usize) -> String {
        let mut load = instruction(1, 10, 0, 80);
        let mut counts = [0; Level::COUNT];
        (counts[Level::L1 as usize], counts[Level::Dram as usize]) = (30, 10);
        let served = Served::new(Levels::of(&config::load("rtx2060s").unwrap()), counts);
        let all = Accesses {
            accesses: 10,
            transactions: 40,
            sectors: 40,
            excess_sectors: 10,
            conflict_cycles: 0,
            excess_passes: 0,
            served,
        };
        load.memory = Some(all);
        let of = |histogram: &[(u64, u64)]| Latency { mean: 99.5, p95: 250, max: 300, histogram: histogram.to_vec() };
        load.latency_by_level = vec![("L1", of(&[(27, 1), (31, 2)])), ("DRAM", of(&[(31, 1), (223, 1), (319, 6)]))];
        let instructions = vec![instruction(0, 10, 0, 0), load, instruction(2, 10, 70, 0)];
        let kernel = KernelProfile { name: "k".into(), length: 4, instructions };
        let shared_energy = Some(vec![("static", 12.0), ("constant", 6.0)]);
        let profile = Profile { nobody: vec![("idle", 5)], shared_energy, kernels: vec![kernel], ..Profile::default() };
        anstream::adapter::strip_str(&render(&profile, Detail { view, order, most })).to_string()
    }

    #[test]
    fn energy_is_a_share_of_what_instructions_caused() {
        let text = rendered(View::Instructions, Order::Energy, 3);
        let shares: Vec<_> = ["50.0 %", "33.3 %", "16.7 %"].iter().map(|share| text.find(share).unwrap()).collect();
        assert!(shares.is_sorted(), "{text}");
        assert!(
            text.contains("caused 25.0 % of the run's 24") && text.contains("static 50.0 %, constant 25.0 %"),
            "{text}"
        );
    }

    #[test]
    fn lines_have_what_their_instructions_took() {
        let text = rendered(View::Lines, Order::Slots, 2);
        let row = text.lines().find(|line| line.contains("a.cu:12")).unwrap();
        assert!(row.contains("80.0 %") && row.contains("raw_memory") && row.ends_with("x[2];"), "{text}");
        assert!(text.contains("and 1 more line\n"), "{text}");
    }

    #[test]
    fn loads_have_a_row_for_each_level_with_its_histogram() {
        let text = rendered(View::Latencies, Order::Slots, 9);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let heading = rows.iter().position(|row| row.contains(&"longest")).unwrap();
        assert_eq!(rows[heading][7..], ["longest", "<32", "<256", "<512", "source"], "{text}");
        assert_eq!(rows[heading + 1], ["1", "INST", "R1", "L1", "3", "99.50", "250", "300", "100.0", "%", "a.cu:11"]);
        let shares = ["DRAM", "8", "99.50", "250", "300", "12.5", "%", "12.5", "%", "75.0", "%"];
        assert_eq!(rows[heading + 2], shares, "{text}");
        assert!(!text.contains("INST R2"), "an instruction that is not a load has no levels: {text}");
    }

    #[test]
    fn a_listing_has_each_line_above_its_instructions() {
        let text = rendered(View::Listing, Order::Slots, 9);
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        let order =
            [at("a.cu:10  x[0];"), at("PTX 5  ld.global"), at("INST R0"), at("a.cu:11"), at("INST R1"), at("INST R2")];
        assert!(order.is_sorted(), "{text}");
        assert_eq!(text.matches("PTX 5").count(), 1, "as long as it stays the same: {text}");
    }

    #[test]
    fn instructions_come_in_the_order_asked_for() {
        let pcs = |order| {
            let text = rendered(View::Instructions, order, 3);
            let places = text.lines().filter_map(|line| Some(line.split("INST R").nth(1)?.as_bytes()[0] - b'0'));
            places.collect::<Vec<_>>()
        };
        assert_eq!(pcs(Order::Slots), [2, 0, 1]);
        assert_eq!(pcs(Order::Causes), [1, 0, 2]);
        assert_eq!(pcs(Order::Code), [0, 1, 2]);
    }

    #[test]
    fn shares_are_of_the_kernels_slots() {
        let text = rendered(View::Instructions, Order::Slots, 1);
        assert!(text.contains("100.0 % of the slots of all kernels"), "{text}");
        assert!(text.contains("in 30.0 % of its slots an instruction issued, in 70.0 % one waited"), "{text}");
        assert!(text.contains("80.0 %  ██████████") && text.contains("a.cu:12"), "{text}");
        assert!(text.contains("and 2 more instructions"), "{text}");
        let text = rendered(View::Instructions, Order::Causes, 1);
        assert!(text.contains("4.0 sectors, 25.0 % of them unused, 75.0 % L1, 25.0 % DRAM"), "{text}");
    }

    #[test]
    fn designs_are_compared_by_instruction() {
        let profile = |waited: [u64; 3]| {
            let instructions = (0..3).map(|pc| instruction(pc as u32, 10, waited[pc], 0)).collect();
            let kernel = KernelProfile { name: "k".into(), length: 3, instructions };
            Profile { kernels: vec![kernel], ..Profile::default() }
        };
        let (one, two) = (profile([5, 70, 1000]), profile([5, 90, 400]));
        let text = anstream::adapter::strip_str(&compare(&[("inorder", &one), ("ghost", &two)], 10)).to_string();
        let rows: Vec<Vec<&str>> = text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["2", "INST", "R2", "1,010", "-600", "a.cu:12"], "{text}");
        assert_eq!(rows[1], ["1", "INST", "R1", "80", "+20", "a.cu:11"], "{text}");
        assert_eq!(rows[2], ["all", "1,105", "-580"], "what does not change is left out: {text}");
        let mut other = profile([5, 70, 1000]);
        other.kernels[0].length = 4;
        assert_eq!(compare(&[("inorder", &one), ("ghost", &other)], 10), "", "other code");
    }
}
