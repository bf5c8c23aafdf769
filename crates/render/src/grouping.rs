//! The kernels of a program by what launched them, as text.

use crate::names::short;
use crate::number;
use crate::style::{FAINT, HEADING, styled};
use crate::table::{Align, Table};
use lab::grouping::{Group, GroupKernel, Grouping};

/// Groups that are listed unless all kernels are.
const MOST_GROUPS: usize = 60;
/// Characters of a name, with those around it indented.
const MOST_NAME: usize = 48;
/// Characters of a kernel's name in a list of several.
const MOST_KERNEL: usize = 24;

/// A name of a group in a list in which groups are indented within others.
pub fn label(group: &Group) -> String {
    match group.path.split_last() {
        Some((name, around)) => format!("{}{name}", "  ".repeat(around.len())),
        None => "(none)".to_owned(),
    }
}

/// The dearest kernels of a group, with their launches.
pub fn dearest(group: &Group) -> String {
    let one = |kernel: &GroupKernel| {
        let name = kit::text::middle_cut(short(&kernel.name), MOST_KERNEL);
        format!("{name} x{}", number::count(kernel.launches))
    };
    group.kernels.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Heading of the groups.
pub const fn title(grouping: &Grouping) -> &'static str {
    match grouping.by.as_bytes() {
        b"python" => "Kernels by line of Python",
        _ => "Kernels by NVTX range",
    }
}

/// Heading of the column of their names.
pub const fn noun(grouping: &Grouping) -> &'static str {
    match grouping.by.as_bytes() {
        b"python" => "line",
        _ => "range",
    }
}

/// The section.
pub fn section(grouping: &Grouping, is_whole: bool) -> String {
    if grouping.groups.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        (noun(grouping), Align::Left),
        ("launches", Align::Right),
        ("cycles", Align::Right),
        ("time", Align::Right),
        ("share", Align::Right),
        ("dearest kernels", Align::Left),
    ]);
    let least = least_cycles(grouping, is_whole);
    let mut left_out = 0;
    for group in &grouping.groups {
        if group.cycles < least {
            left_out += 1;
            continue;
        }
        table.row(&[
            kit::text::middle_cut(&label(group), MOST_NAME).into_owned(),
            number::count(group.launches),
            number::count(group.cycles.round() as u64),
            number::simulated(group.seconds),
            group.share_percent.map_or_else(|| number::ABSENT.to_owned(), |share| format!("{share:.1} %")),
            dearest(group),
        ]);
    }
    let untimed: u64 = grouping.groups.iter().filter(|group| group.path.len() <= 1).map(|group| group.untimed).sum();
    let mut notes = String::new();
    if untimed > 0 {
        notes += &format!("  {} without cycles among them\n", number::counted(untimed, "launch"));
    }
    if left_out > 0 {
        let groups = number::counted(left_out, "group");
        notes += &format!("  {groups} of fewer cycles left out; --all-kernels lists each\n");
    }
    let notes = if notes.is_empty() { notes } else { styled(FAINT, notes) };
    format!("{}\n{}{notes}", styled(HEADING, title(grouping)), table.render())
}

/// Cycles that a group needs to be listed. Those around it have at least as many.
fn least_cycles(grouping: &Grouping, is_whole: bool) -> f64 {
    if is_whole || grouping.groups.len() <= MOST_GROUPS {
        return 0.0;
    }
    let mut cycles: Vec<f64> = grouping.groups.iter().map(|group| group.cycles).collect();
    cycles.sort_by(|a, b| b.total_cmp(a));
    cycles[MOST_GROUPS - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn each_kernel_of_a_list_is_cut_by_itself() {
        let mut group = sample::grouped_report().grouping.unwrap().groups[0].clone();
        let kernel = |name: &str| GroupKernel { name: name.into(), ..group.kernels[0].clone() };
        group.kernels = vec![kernel("standin_cublas_gemm_s_128x128_nn"), kernel("vectorized_elementwise_kernel")];
        assert_eq!(dearest(&group), "standin…emm_s_128x128_nn x2, vectori…ementwise_kernel x2");
    }

    #[test]
    fn groups_are_indented_and_the_cheapest_left_out() {
        let mut grouping = sample::grouped_report().grouping.unwrap();
        let text = anstream::adapter::strip_str(&section(&grouping, false)).to_string();
        insta::assert_snapshot!(text);
        let last = grouping.groups.last().unwrap().clone();
        grouping.groups.extend((0..80).map(|i| Group { cycles: f64::from(i), ..last.clone() }));
        let text = anstream::adapter::strip_str(&section(&grouping, false)).to_string();
        assert!(text.contains("groups of fewer cycles left out"), "{text}");
        let all = anstream::adapter::strip_str(&section(&grouping, true)).to_string();
        assert!(all.lines().count() > 80 && !all.contains("left out"), "{all}");
    }
}
