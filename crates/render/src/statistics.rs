//! All statistics, in groups by the first part of their names.

use crate::number;
use crate::style::{FAINT, HEADING, styled};
use crate::table::{Align, Table};
use lab::{StatInfo, Stats};

/// The group of a statistic: the part of its name before the first dot.
pub fn group(info: &StatInfo) -> &str {
    info.name.split_once('.').map_or("", |(group, _)| group)
}

/// Title of a group: some have one, the others keep their name.
pub fn title(group: &str) -> &str {
    match group {
        "" => "Run",
        "slots" => "Issue slots",
        "occupancy" => "Occupancy",
        "l1d" => "L1 data cache",
        "l2" => "L2 cache",
        "icache" => "Instruction cache",
        "constant" => "Constant cache",
        "shared" => "Shared memory",
        "dram" => "DRAM",
        "crossbar" => "Crossbar",
        other => other,
    }
}

/// Every statistic with its unit. Statistics of a group need not follow each other.
pub fn render(stats: &Stats) -> String {
    let mut groups: Vec<(&str, Table)> = Vec::new();
    for (info, value) in &stats.0 {
        let name = group(info);
        let at = groups.iter().position(|(g, _)| *g == name).unwrap_or_else(|| {
            groups.push((name, Table::new([("", Align::Left), ("", Align::Right), ("", Align::Left)])));
            groups.len() - 1
        });
        groups[at].1.row(&[info.name.to_string(), number::value(*value, info.unit), styled(FAINT, info.unit)]);
    }
    let sections: Vec<String> =
        groups.iter().map(|(name, table)| format!("{}\n{}", styled(HEADING, title(name)), table.render())).collect();
    sections.join("\n")
}
