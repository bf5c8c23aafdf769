//! Where issue slots went, by instruction.

use crate::number;
use crate::style::{FAINT, HEADING, styled};
use crate::table::{Align, Table};
use lab::profile::{Accesses, InstructionProfile, KernelProfile, Profile};
use std::fmt::Write as _;

/// The order of the instructions of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Those that took most issue slots first.
    #[default]
    Slots,
    /// Those that others waited for most first.
    Causes,
    /// As in the code.
    Code,
}

/// What to show of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Detail {
    /// The order of instructions.
    pub order: Order,
    /// Maximum number of instructions per kernel.
    pub most: usize,
}

impl Default for Detail {
    fn default() -> Self {
        Self { order: Order::default(), most: 20 }
    }
}

/// Length of the bar of the instruction that took most slots.
const FULL: f64 = 10.0;
/// Reasons shown of an instruction.
const REASONS: usize = 2;

/// The profile as text with colours: a table for each kernel.
pub fn render(profile: &Profile, detail: Detail) -> String {
    let all: u64 = profile.kernels.iter().map(KernelProfile::slots).sum();
    let sections: Vec<String> = profile.kernels.iter().map(|kernel| section(kernel, all, detail)).collect();
    if sections.is_empty() {
        return String::new();
    }
    sections.join("\n")
}

fn section(kernel: &KernelProfile, all: u64, detail: Detail) -> String {
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
    let mut shown: Vec<&InstructionProfile> = kernel.instructions.iter().collect();
    // Stable: ties stay in the order of the code.
    match detail.order {
        Order::Slots => shown.sort_by_key(|i| std::cmp::Reverse(i.slots())),
        Order::Causes => shown.sort_by_key(|i| std::cmp::Reverse(i.caused())),
        Order::Code => {}
    }
    let left = shown.len().saturating_sub(detail.most);
    shown.truncate(detail.most);
    out += &table(&shown, slots).render();
    if left > 0 {
        let _ = writeln!(out, "  {}", styled(FAINT, more(left)));
    }
    out
}

/// That there are `left` more instructions.
fn more(left: usize) -> String {
    format!("and {} more {}", number::count(left as u64), kit::text::plural(left as u64, "instruction"))
}

fn table(instructions: &[&InstructionProfile], slots: u64) -> Table {
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
            reasons(i),
            percent(i.caused(), slots),
            latency.map_or_else(|| number::ABSENT.to_owned(), |l| number::real(l.mean)),
            latency.map_or_else(|| number::ABSENT.to_owned(), |l| number::count(l.p95)),
            i.memory.as_ref().map_or_else(String::new, memory),
            i.pc.to_string(),
            i.text.clone(),
            source(i),
        ]);
    }
    table
}

fn bar(slots: u64, longest: u64) -> String {
    "█".repeat(if longest > 0 { (slots as f64 / longest as f64 * FULL).round() as usize } else { 0 })
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { number::ABSENT.to_owned() } else { format!("{:.1} %", part as f64 / whole as f64 * 100.0) }
}

fn ratio(count: u64, of: u64) -> String {
    if of == 0 { number::ABSENT.to_owned() } else { format!("{:.1}", count as f64 / of as f64) }
}

/// The reasons for which it waited most, each with its share of the slots in which it waited.
fn reasons(i: &InstructionProfile) -> String {
    let all = i.stalled();
    let shown = i.stalls.iter().take(REASONS).map(|&(reason, slots)| match percent(slots, all) {
        _ if slots == all => reason.to_owned(),
        share => format!("{reason} {share}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// What its accesses come to, each figure per access.
fn memory(m: &Accesses) -> String {
    let served = [("L1", m.from_l1), ("L2", m.from_l2), ("DRAM", m.from_dram)];
    let all: u64 = served.iter().map(|(_, count)| count).sum();
    let mut parts = Vec::new();
    if m.sectors > 0 {
        parts.push(format!("{} sectors", ratio(m.sectors, m.accesses)));
    } else if m.transactions > m.accesses {
        parts.push(format!("{} passes", ratio(m.transactions, m.accesses)));
    }
    if m.excess_sectors > 0 {
        parts.push(format!("{} of them unused", percent(m.excess_sectors, m.sectors)));
    }
    parts.extend(served.iter().filter(|(_, n)| *n > 0).map(|(level, n)| format!("{} {level}", percent(*n, all))));
    parts.join(", ")
}

/// Profiles of the same kernels on several machines, each with its label: the slots of each instruction in the first one,
/// and what the others take more or less, the greatest change first. Kernels whose code differs are left out.
pub fn compare(profiles: &[(&str, &Profile)], most: usize) -> String {
    let [(first, baseline), others @ ..] = profiles else { return String::new() };
    let mut sections = Vec::new();
    for kernel in &baseline.kernels {
        let same = |profile: &'_ &Profile| profile.kernels.iter().find(|other| is_same_code(kernel, other)).cloned();
        let found: Vec<Option<KernelProfile>> = others.iter().map(|(_, profile)| same(profile)).collect();
        let labels = others.iter().zip(&found).filter(|(_, other)| other.is_some()).map(|((label, _), _)| *label);
        let labels: Vec<&str> = labels.collect();
        let found: Vec<KernelProfile> = found.into_iter().flatten().collect();
        if !found.is_empty() {
            sections.push(changes(kernel, &found, (first, &labels), most));
        }
    }
    sections.join("\n")
}

/// Whether two kernels have the same instructions, as far as they ran.
fn is_same_code(one: &KernelProfile, other: &KernelProfile) -> bool {
    let text = |pc: u32| other.instructions.iter().find(|i| i.pc == pc).map(|i| &i.text);
    one.name == other.name
        && one.length == other.length
        && one.instructions.iter().all(|i| text(i.pc).is_none_or(|text| *text == i.text))
}

fn changes(kernel: &KernelProfile, others: &[KernelProfile], (first, labels): (&str, &[&str]), most: usize) -> String {
    let columns = [("pc", Align::Right), ("instruction", Align::Left), (first, Align::Right)];
    let mut table = Table::new(
        columns.into_iter().chain(labels.iter().map(|label| (*label, Align::Right))).chain([("source", Align::Name)]),
    );
    let slots =
        |of: &KernelProfile, pc: u32| of.instructions.iter().find(|i| i.pc == pc).map_or(0, InstructionProfile::slots);
    let change = |of: &KernelProfile, i: &InstructionProfile| slots(of, i.pc) as i64 - i.slots() as i64;
    let greatest = |i: &InstructionProfile| others.iter().map(|other| change(other, i).abs()).max().unwrap_or(0);
    let mut shown: Vec<&InstructionProfile> = kernel.instructions.iter().filter(|i| greatest(i) > 0).collect();
    shown.sort_by_key(|i| std::cmp::Reverse(greatest(i)));
    let left = shown.len().saturating_sub(most);
    shown.truncate(most);
    let signed = |n: i64| format!("{}{}", if n < 0 { "-" } else { "+" }, number::count(n.unsigned_abs()));
    for i in shown {
        let mut cells = vec![i.pc.to_string(), i.text.clone(), number::count(i.slots())];
        cells.extend(others.iter().map(|other| signed(change(other, i))));
        cells.push(source(i));
        table.row(&cells);
    }
    let mut cells = vec![String::new(), "all".to_owned(), number::count(kernel.slots())];
    cells.extend(others.iter().map(|other| signed(other.slots() as i64 - kernel.slots() as i64)));
    cells.push(String::new());
    table.row(&cells);
    let title = styled(HEADING, &kernel.name);
    let mut out = format!("{title}  {}\n{}", styled(FAINT, "issue slots, and the change"), table.render());
    if left > 0 {
        let _ = writeln!(out, "  {}", styled(FAINT, more(left)));
    }
    out
}

/// File and line of the source; empty if unknown.
fn source(i: &InstructionProfile) -> String {
    let Some((file, line)) = &i.source else { return String::new() };
    format!("{}:{line}", file.rsplit(['/', '\\']).next().unwrap_or(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::profile::Latency;

    fn instruction(pc: u32, issues: u64, waited: u64, awaited: u64) -> InstructionProfile {
        InstructionProfile {
            pc,
            text: format!("INST R{pc}"),
            place: String::new(),
            source: Some(("/home/me/a.cu".into(), 10 + pc)),
            issues,
            lanes: issues * 32,
            divergences: 0,
            stalls: if waited > 0 { vec![("raw_memory", waited)] } else { vec![] },
            causes: if awaited > 0 { vec![("raw_memory", awaited)] } else { vec![] },
            latency: Some(Latency { mean: 4.0, p95: 4, max: 4, histogram: vec![(4, issues)] }),
            latency_by_level: Vec::new(),
            memory: None,
        }
    }

    fn rendered(order: Order, most: usize) -> String {
        let mut load = instruction(1, 10, 0, 80);
        let all = Accesses {
            accesses: 10,
            transactions: 40,
            sectors: 40,
            excess_sectors: 10,
            conflict_cycles: 0,
            from_l1: 30,
            from_l2: 0,
            from_dram: 10,
        };
        load.memory = Some(all);
        let instructions = vec![instruction(0, 10, 0, 0), load, instruction(2, 10, 70, 0)];
        let kernel = KernelProfile { name: "k".into(), length: 4, instructions };
        let profile = Profile { nobody: vec![("idle", 5)], kernels: vec![kernel] };
        anstream::adapter::strip_str(&render(&profile, Detail { order, most })).to_string()
    }

    #[test]
    fn instructions_come_in_the_order_asked_for() {
        let pcs = |order| {
            let text = rendered(order, 3);
            let places = text.lines().filter_map(|line| Some(line.split("INST R").nth(1)?.as_bytes()[0] - b'0'));
            places.collect::<Vec<_>>()
        };
        assert_eq!(pcs(Order::Slots), [2, 0, 1]);
        assert_eq!(pcs(Order::Causes), [1, 0, 2]);
        assert_eq!(pcs(Order::Code), [0, 1, 2]);
    }

    #[test]
    fn shares_are_of_the_kernels_slots() {
        let text = rendered(Order::Slots, 1);
        assert!(text.contains("100.0 % of the slots of all kernels"), "{text}");
        assert!(text.contains("in 30.0 % of its slots an instruction issued, in 70.0 % one waited"), "{text}");
        assert!(text.contains("80.0 %  ██████████") && text.contains("a.cu:12"), "{text}");
        assert!(text.contains("and 2 more instructions"), "{text}");
        let text = rendered(Order::Causes, 1);
        assert!(text.contains("4.0 sectors, 25.0 % of them unused, 75.0 % L1, 25.0 % DRAM"), "{text}");
    }

    #[test]
    fn designs_are_compared_by_instruction() {
        let profile = |waited: [u64; 3]| {
            let instructions = (0..3).map(|pc| instruction(pc as u32, 10, waited[pc], 0)).collect();
            let kernel = KernelProfile { name: "k".into(), length: 3, instructions };
            Profile { nobody: Vec::new(), kernels: vec![kernel] }
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
