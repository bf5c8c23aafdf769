//! Where the issue slots went: a bar for each kernel.

use super::html::{Cell, Section, Table, details, escaped, figure, note, spaced};
use super::kernels::{self, Row};
use super::stack::{self, Bar, Piece};
use crate::number;
use crate::slots;
use crate::summary;
use crate::table::Align;
use lab::{Report, Stats};

/// Colour of the slots that issued.
const ISSUED: &str = "#2a8452";
/// Colours of the reasons: hues by kind. Blue is memory, orange data hazards, violet structures, yellow waiting for
/// other warps, pink the front end, grey no warp. Any two differ by 6 at least (CIEDE2000) to people without red or green
/// cones too (Machado et al., 2009).
const COLOURS: &[(&str, &str)] = &[
    ("memory_pipe_full", "#004fa3"),
    ("raw_memory", "#2c87ee"),
    ("memory_order", "#65a5d5"),
    ("atomic", "#17667b"),
    ("fence", "#3c959d"),
    ("async_copy", "#ade5ee"),
    ("matrix_group", "#d19bfe"),
    ("mbarrier", "#2f94b7"),
    ("raw", "#e08a2e"),
    ("war", "#b5601a"),
    ("waw", "#f2bc82"),
    ("stall_count", "#805d2c"),
    ("unit_busy", "#6e659e"),
    ("operand_collector_full", "#b2adce"),
    ("same_unit", "#d9c0f8"),
    ("design", "#533668"),
    ("barrier", "#e6c330"),
    ("sleep", "#f7e386"),
    ("control", "#c75d87"),
    ("instruction_cache", "#f47889"),
    ("empty_buffer", "#c59ba9"),
    ("drain", "#6f6f6f"),
    ("idle", "#c3c7cd"),
];
/// Colour of a reason that is not named above.
const OTHER: &str = "#3d3d3d";

/// Uses of issue slots, in the order of all stacks, with their colours.
pub fn colours() -> impl Iterator<Item = (&'static str, &'static str)> {
    std::iter::once(("issued", ISSUED)).chain(COLOURS.iter().copied())
}

/// Colour of a stall reason.
pub fn colour(reason: &str) -> &'static str {
    colours().find(|(name, _)| *name == reason).map_or(OTHER, |(_, colour)| colour)
}

/// The use of slots as pieces of a bar, in the order of the schema, so that the same reason has the same place in
/// all bars; empty where no slots were counted, as on a fabric.
pub fn pieces(stats: &Stats) -> Vec<Piece<'static>> {
    let all = stats.number(slots::ALL);
    if all == 0.0 {
        return Vec::new();
    }
    let piece = |name: &str, colour: &'static str, n: f64| Piece {
        name: spaced(name).into(),
        colour: colour.into(),
        share: n / all,
        amount: format!("{} slots", number::count(n as u64)),
    };
    let mut lost = slots::stalls(stats);
    let place = |reason: &str| COLOURS.iter().position(|(name, _)| *name == reason).unwrap_or(COLOURS.len());
    lost.sort_by_key(|(reason, _)| place(reason));
    let issued = std::iter::once(piece("issued", ISSUED, stats.number(slots::ISSUED)));
    issued.chain(lost.into_iter().map(|(reason, n)| piece(reason, colour(reason), n))).collect()
}

/// The use of the slots of schedulers with warps: the same without the idle slots. Empty where there are none.
pub fn pieces_of_busy_sms(stats: &Stats) -> Vec<Piece<'static>> {
    let (all, idle) = (stats.number(slots::ALL), stats.number(slots::IDLE));
    if all <= idle {
        return Vec::new();
    }
    let is_busy = |piece: &Piece<'_>| slots::IDLE.strip_prefix(slots::PREFIX) != Some(&*piece.name);
    let of_busy = |piece: Piece<'static>| Piece { share: piece.share * all / (all - idle), ..piece };
    pieces(stats).into_iter().filter(is_busy).map(of_busy).collect()
}

/// The section; `None` where no slots were counted.
pub fn section(report: &Report) -> Option<Section> {
    let (rows, left_out) = kernels::rows_with_total(report);
    let bar = |row: &Row<'_>| Bar {
        label: row.label.clone(),
        figure: format!("{} cycles", number::count(row.stats.number(summary::CYCLES) as u64)),
        length: 1.0,
        pieces: pieces(&row.stats),
    };
    let bars: Vec<Bar<'_>> = rows.iter().map(bar).filter(|bar| !bar.pieces.is_empty()).collect();
    if bars.is_empty() {
        return None;
    }
    let about = format!(
        "Each warp scheduler has issue slots in each cycle of kernels. A slot issues an instruction or is lost to one named reason; the shares of a bar add up to 100 %. “idle” are slots of schedulers without a warp.{}",
        kernels::left_out(left_out)
    );
    let busy = |row: &Row<'_>| Bar {
        label: row.label.clone(),
        figure: format!("{} SMs active", percent(&row.stats)),
        length: 1.0,
        pieces: pieces_of_busy_sms(&row.stats),
    };
    let busy: Vec<Bar<'_>> = rows.iter().map(busy).filter(|bar| !bar.pieces.is_empty()).collect();
    let groups = [("All slots".to_owned(), bars), ("Slots of schedulers with warps: without idle".to_owned(), busy)];
    let mut body = note(&about) + &figure("Use of issue slots by kernel", &stack::groups(&groups, true));
    body += &details("Figures: slots by reason", &table(&rows));
    body += &details("What the reasons mean", &meanings(&report.total));
    Some(Section { id: "stalls".into(), title: "Issue slots and stall reasons".into(), body })
}

/// Share of cycles in which an SM had a warp.
fn percent(stats: &Stats) -> String {
    let activity = stats.get("occupancy.sm_activity").and_then(lab::Value::number);
    activity.map_or_else(|| number::ABSENT.to_owned(), |share| format!("{share:.1} %"))
}

/// A row for each kernel, a column for each reason that occurred.
fn table(rows: &[Row<'_>]) -> String {
    let mut table = Table::new([
        ("kernel", Align::Name),
        ("use of the slot", Align::Left),
        ("slots", Align::Right),
        ("share", Align::Right),
    ]);
    for row in rows {
        let all = row.stats.number(slots::ALL);
        let issued = [("issued", row.stats.number(slots::ISSUED))];
        for (name, n) in issued.into_iter().chain(slots::stalls(&row.stats)).filter(|_| all > 0.0) {
            let share = n / all * 100.0;
            let cells = [Cell::from(row.label.clone()), spaced(name).into()];
            let amounts =
                [Cell::number(number::count(n as u64), Some(n)), Cell::number(format!("{share:.2} %"), Some(share))];
            table.row(cells.into_iter().chain(amounts));
        }
    }
    table.render()
}

/// Meanings of the reasons that occurred.
fn meanings(stats: &Stats) -> String {
    let reasons: Vec<&str> = slots::stalls(stats).into_iter().map(|(reason, _)| reason).collect();
    let of = |(info, _): &(std::sync::Arc<lab::StatInfo>, lab::Value)| {
        let reason = info.name.strip_prefix(slots::PREFIX).filter(|name| reasons.contains(name))?;
        Some(format!("<dt>{}</dt><dd>{}</dd>\n", escaped(&spaced(reason)), escaped(&info.description)))
    };
    format!("<dl>\n{}</dl>\n", stats.0.iter().filter_map(of).collect::<String>())
}

/// A sentence on what most slots of schedulers with warps were lost to.
pub fn finding(report: &Report) -> Option<String> {
    let stats = &report.total;
    let (all, idle) = (stats.number(slots::ALL), stats.number(slots::IDLE));
    let busy = Some(all - idle).filter(|busy| *busy > 0.0)?;
    let is_idle = |reason: &str| slots::IDLE.strip_prefix(slots::PREFIX) == Some(reason);
    let (reason, n) = slots::stalls(stats).into_iter().find(|(reason, _)| !is_idle(reason))?;
    let issued = stats.number(slots::ISSUED) / busy * 100.0;
    let lost = n / busy * 100.0;
    let (info, _) = stats.0.iter().find(|(info, _)| info.name.strip_prefix(slots::PREFIX) == Some(reason))?;
    Some(format!(
        "Schedulers with warps issued in {issued:.1} % of their slots; most others, {lost:.1} %, were lost to “{}”: {}",
        spaced(reason),
        info.description
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use std::collections::BTreeSet;

    #[test]
    fn every_reason_has_its_own_colour() {
        let known: Vec<_> = lab::schema().into_iter().map(|s| s.name).collect();
        let reasons = known.iter().filter_map(|name| name.strip_prefix(slots::PREFIX));
        let reasons: Vec<&str> = reasons.filter(|name| !["all", "issued"].contains(name)).collect();
        assert!(reasons.len() >= 20, "{reasons:?}");
        for reason in &reasons {
            assert_ne!(colour(reason), OTHER, "{reason}");
        }
        let colours: BTreeSet<&str> = COLOURS.iter().map(|(_, colour)| *colour).chain([ISSUED]).collect();
        assert_eq!(colours.len(), COLOURS.len() + 1);
    }

    #[test]
    fn the_pieces_of_a_bar_are_all_slots() {
        let report = sample::report();
        for pieces in [pieces(&report.total), pieces_of_busy_sms(&report.total)] {
            let sum: f64 = pieces.iter().map(|piece| piece.share).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        }
        assert!(pieces_of_busy_sms(&report.total).iter().all(|piece| piece.name != "idle"));
        assert_eq!(pieces(&Stats::default()), []);
    }

    #[test]
    fn the_finding_is_of_sms_with_warps() {
        // 20,000 + 30,500 lost and 50,176 issued of 100,676 slots that are not idle, each launch.
        let found = finding(&sample::report()).unwrap();
        assert!(
            found.starts_with("Schedulers with warps issued in 49.8 % of their slots; most others, 30.3 %,"),
            "{found}"
        );
    }
}
