//! Energy and power of a run as text.

use crate::number;
use crate::style::{FAINT, HEADING, WARNING, styled};
use crate::table::{Align, Table};
use energy::Component;
use lab::{Report, Stats};

/// Group of the energies in the schema.
const PREFIX: &str = "energy.";
/// Energy of all components.
pub const TOTAL: &str = "energy.total";
/// Energy of L1.
pub const L1: &str = "energy.l1";
/// Energy of L2.
pub const L2: &str = "energy.l2";
/// Energy of the constant power of chip and board.
pub const CONSTANT: &str = "energy.constant";
/// Energy of all components, by thread instructions, in picojoules.
pub const PER_THREAD_INSTRUCTION: &str = "energy.per_thread_instruction";
/// The same by warp instructions, in picojoules.
const PER_WARP_INSTRUCTION: &str = "energy.per_warp_instruction";
/// Energy by simulated time.
pub const POWER: &str = "power.mean";

/// Energy of managing values and instructions, part of several components.
pub const MANAGEMENT: &str = "energy.management";

/// A line on the whole run.
pub fn line(report: &Report) -> String {
    let Some(model) = &report.energy_model else {
        if !lab::has_energy(&report.core) {
            let what = "not computed: this core has no model of energy";
            return format!("{}  {}\n", styled(HEADING, "Energy"), styled(FAINT, what));
        }
        let (what, hint) = (
            "not computed: the GPU description names no energy model (energy.model)",
            "        give one with --energy-model",
        );
        return format!("{}  {}\n{}\n", styled(HEADING, "Energy"), styled(FAINT, what), styled(FAINT, hint));
    };
    let of = |name: &str| report.total.get(name).and_then(lab::Value::number);
    let joules = of(TOTAL).map_or_else(|| number::ABSENT.to_owned(), |j| number::with_prefix(j, "J"));
    let watts = of(POWER).map_or_else(|| number::ABSENT.to_owned(), number::real);
    let each = of(PER_THREAD_INSTRUCTION).map_or_else(|| number::ABSENT.to_owned(), number::real);
    let volts = model.volts;
    let note = styled(FAINT, format!("        model {}, {volts} V", model.name));
    let heading = styled(HEADING, "Energy");
    format!("{heading}  {joules}, {watts} W on average, {each} pJ per thread instruction\n{note}\n")
}

/// Energy by component, of the whole run and of each kernel.
pub fn table(report: &Report) -> String {
    if report.energy_model.is_none() {
        return line(report);
    }
    let mut out = format!("{}{}", line(report), components(&report.total));
    if report.kernels.len() > 1 {
        out += &format!("\n{}\n{}", styled(HEADING, "Energy of kernels"), kernels(report));
    }
    if report.interrupted {
        out += &format!("  {}\n", styled(WARNING, "of what was simulated"));
    }
    out
}

/// A row for each component that used energy.
fn components(stats: &Stats) -> String {
    let columns = [("component", Align::Left), ("energy", Align::Right), ("W", Align::Right), ("share", Align::Right)];
    let mut table = Table::new(columns);
    let (total, watts) = (stats.number(TOTAL), stats.number(POWER));
    let is_component = |name: &str| ![TOTAL, PER_THREAD_INSTRUCTION, PER_WARP_INSTRUCTION, MANAGEMENT].contains(&name);
    for (info, value) in &stats.0 {
        let Some(name) = info.name.strip_prefix(PREFIX).filter(|_| is_component(&info.name)) else { continue };
        let joules = value.number().unwrap_or(0.0);
        if joules != 0.0 {
            let share = joules / total;
            let cells = [name.replace('_', " "), number::with_prefix(joules, "J"), number::real(watts * share)];
            table.row(&[cells.as_slice(), &[format!("{:.1} %", share * 100.0)]].concat());
        }
    }
    table.render() + &management(stats)
}

/// A line on what manages values and instructions in place of computing.
fn management(stats: &Stats) -> String {
    let Some(joules) = stats.get(MANAGEMENT).and_then(lab::Value::number) else { return String::new() };
    let used =
        Component::ALL.iter().filter(|c| c.is_management() && stats.number(&format!("{PREFIX}{}", c.name())) > 0.0);
    let names: Vec<String> = used.map(|c| c.name().replace('_', " ")).collect();
    let (energy, share) = (number::with_prefix(joules, "J"), 100.0 * joules / stats.number(TOTAL));
    if names.is_empty() {
        String::new()
    } else {
        format!("  management: {energy}, {share:.1} % ({})\n", names.join(", "))
    }
}

fn kernels(report: &Report) -> String {
    let columns = [
        ("#", Align::Right),
        ("kernel", Align::Name),
        ("energy", Align::Right),
        ("W", Align::Right),
        ("pJ/thread inst", Align::Right),
    ];
    let mut table = Table::new(columns);
    for kernel in &report.kernels {
        let of = |name: &str| kernel.statistics.number(name);
        table.row(&[
            kernel.launch.to_string(),
            kernel.name.clone(),
            number::with_prefix(of(TOTAL), "J"),
            number::real(of(POWER)),
            number::real(of(PER_THREAD_INSTRUCTION)),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn golden() {
        insta::assert_snapshot!(sample::plain(&table(&sample::report())));
    }

    #[test]
    fn without_a_model_it_says_how_to_give_one() {
        let mut report = sample::report();
        report.energy_model = None;
        assert!(sample::plain(&table(&report)).contains("give one with --energy-model"));
    }
}
