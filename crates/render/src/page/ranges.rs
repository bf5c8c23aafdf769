//! The kernels of a program by what launched them: ranges above, kernels below, over the cycles of the run; a table.

use super::html::{Cell, Section, Table, escaped, figure, note};
use super::number_axis::ticks;
use crate::grouping::{dearest, noun, title};
use crate::names::short;
use crate::number;
use crate::summary;
use crate::table::Align;
use lab::Report;
use lab::grouping::{Group, Grouping};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Columns in which the time of a chart is cut; what follows each other within one is drawn as one.
const COLUMNS: u64 = 400;
const WIDTH: f64 = 960.0;
const LEFT: f64 = 70.0;
const LINE: f64 = 22.0;
/// Levels of ranges that are drawn.
const MOST_LEVELS: usize = 10;
/// Lines of kernels that run at the same time.
const MOST_LANES: usize = 4;
/// Groups in the table.
const MOST_GROUPS: usize = 200;
/// Width of a character, about.
const CHARACTER: f64 = 7.6;

/// Colours of ranges, by their names.
const COLOURS: [&str; 8] = ["#8fbce6", "#f0b27a", "#9ed3a3", "#d7a6d9", "#f2d16b", "#a5c9c4", "#e8a0a0", "#b9b6e3"];
const KERNEL: &str = "#5fae82";

/// The section; `None` if the kernels are not grouped.
pub fn section(report: &Report) -> Option<Section> {
    let grouping = report.grouping.as_ref()?;
    let launches = launches(report, grouping);
    let mut body = String::new();
    if let Some(end) = launches.iter().map(|launch| launch.span.end).max() {
        let whole = chart(&launches, 0..end);
        body += &note(
            "Kernels over the core cycles of the run, and above them what launched them: from the launch of the first of their kernels to the end of the last. The host takes no time here.",
        );
        body += &figure(title(grouping), &whole);
        if let Some((name, one)) = last_of_several(grouping, &launches) {
            let heading = format!("The last of several: {name}");
            body += &format!("<h3>{}</h3>\n{}", escaped(&heading), figure(&heading, &chart(&launches, one)));
        }
    }
    body += &table(grouping);
    Some(Section { id: "ranges".into(), title: title(grouping).into(), body })
}

/// A launch that was timed.
struct Drawn<'a> {
    name: &'a str,
    path: &'a [String],
    ranges: &'a [u64],
    span: Range<u64>,
}

impl Drawn<'_> {
    /// Names and numbers of the ranges down to a level.
    fn within(&self, level: usize) -> Option<(&[String], &[u64])> {
        (level < self.path.len()).then(|| (&self.path[..=level], self.ranges.get(..=level).unwrap_or_default()))
    }
}

/// The launches in the order of requests.
fn launches<'a>(report: &'a Report, grouping: &'a Grouping) -> Vec<Drawn<'a>> {
    let kernels: BTreeMap<u32, _> = report.kernels.iter().map(|kernel| (kernel.launch, kernel)).collect();
    let of = |one: &'a lab::grouping::GroupedLaunch| {
        let kernel = kernels.get(&one.launch)?;
        let cycles = kernel.statistics.number(summary::TOTAL_CYCLES) as u64;
        let path = &grouping.groups.get(one.group)?.path;
        let span = kernel.start_cycle..kernel.start_cycle + cycles.max(1);
        Some(Drawn { name: &kernel.name, path, ranges: &one.ranges, span })
    };
    grouping.launches.iter().filter_map(of).collect()
}

/// The cycles of the last of the outermost ranges of most cycles, if there are several with its name.
fn last_of_several<'a>(grouping: &'a Grouping, launches: &[Drawn<'_>]) -> Option<(&'a str, Range<u64>)> {
    let dearest = grouping.groups.iter().find(|group| group.path.len() == 1)?;
    let of = |launch: &&Drawn<'_>| launch.path.first() == dearest.path.first();
    let numbers: Vec<u64> = launches.iter().filter(of).filter_map(|launch| launch.ranges.first().copied()).collect();
    let (first, last) = (numbers.iter().min()?, numbers.iter().max()?);
    let within = launches.iter().filter(|launch| of(launch) && launch.ranges.first() == Some(last));
    let start = within.clone().map(|launch| launch.span.start).min()?;
    let end = within.map(|launch| launch.span.end).max()?;
    (first != last).then(|| (&*dearest.path[0], start..end))
}

/// A box of a chart.
#[derive(Clone, Debug, PartialEq)]
struct Piece<'a> {
    name: &'a str,
    span: Range<u64>,
    /// Boxes drawn as one.
    count: u64,
}

/// Puts boxes that are too narrow together.
fn merged<'a>(mut pieces: Vec<Piece<'a>>, window: &Range<u64>) -> Vec<Piece<'a>> {
    let near = (window.end - window.start).div_ceil(COLUMNS);
    pieces.retain(|piece| piece.span.end > window.start && piece.span.start < window.end);
    pieces.sort_by_key(|piece| piece.span.start);
    let mut out: Vec<Piece<'a>> = Vec::new();
    for piece in pieces {
        match out.last_mut() {
            Some(last) if piece.span.end.saturating_sub(last.span.start) <= near => {
                last.span.end = last.span.end.max(piece.span.end);
                last.count += piece.count;
                if last.name != piece.name {
                    last.name = "";
                }
            }
            _ => out.push(piece),
        }
    }
    out
}

/// The boxes of a level: launches that follow each other in the same range are in one.
fn level<'a>(launches: &[Drawn<'a>], level: usize, window: &Range<u64>) -> Vec<Piece<'a>> {
    let mut pieces: Vec<Piece<'a>> = Vec::new();
    let mut last = None;
    for launch in launches {
        let within = launch.within(level);
        if let Some((path, _)) = within {
            match pieces.last_mut().filter(|_| within == last) {
                Some(piece) => {
                    piece.span.start = piece.span.start.min(launch.span.start);
                    piece.span.end = piece.span.end.max(launch.span.end);
                }
                None => {
                    // The text outlives the launch.
                    let name = launch.path.get(path.len() - 1).map_or("", String::as_str);
                    pieces.push(Piece { name, span: launch.span.clone(), count: 1 });
                }
            }
        }
        last = within;
    }
    merged(pieces, window)
}

/// The kernels, those that run at the same time in different lines.
fn lanes<'a>(launches: &[Drawn<'a>], window: &Range<u64>) -> Vec<Vec<Piece<'a>>> {
    let mut order: Vec<&Drawn<'a>> = launches.iter().collect();
    order.sort_by_key(|launch| launch.span.start);
    let mut lanes: Vec<Vec<Piece<'a>>> = Vec::new();
    for launch in order {
        let piece = Piece { name: short(launch.name), span: launch.span.clone(), count: 1 };
        let is_free = |lane: &Vec<Piece<'_>>| lane.last().is_none_or(|last| last.span.end <= launch.span.start);
        match lanes.iter().position(is_free) {
            Some(lane) => lanes[lane].push(piece),
            None if lanes.len() < MOST_LANES => lanes.push(vec![piece]),
            None => {}
        }
    }
    lanes.into_iter().map(|lane| merged(lane, window)).collect()
}

fn chart(launches: &[Drawn<'_>], window: Range<u64>) -> String {
    let levels = launches.iter().map(|launch| launch.path.len()).max().unwrap_or(0).min(MOST_LEVELS);
    let rows: Vec<Vec<Piece<'_>>> = (0..levels).map(|at| level(launches, at, &window)).collect();
    let kernels = lanes(launches, &window);
    let foot = (rows.len() + kernels.len()) as f64 * LINE + 10.0;
    let height = foot + 40.0;
    let scale = (WIDTH - LEFT - 16.0) / (window.end - window.start) as f64;
    let x = |cycle: u64| LEFT + (cycle.clamp(window.start, window.end) - window.start) as f64 * scale;
    let mut out = format!(
        "<div class=\"scroll\"><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"What launched kernels, over time\" class=\"chart\">"
    );
    let cycles = window.end - window.start;
    for tick in ticks(cycles as f64).into_iter().filter(|tick| *tick <= cycles as f64) {
        let at = x(window.start + tick as u64);
        let text = number::count(tick as u64);
        let _ = write!(
            out,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{foot:.1}\" class=\"grid\"/><text x=\"{at:.1}\" y=\"{:.1}\" class=\"mid\">{text}</text>",
            foot + 16.0
        );
    }
    let axis = match window.start {
        0 => "core cycle".to_owned(),
        start => format!("core cycles from {} on", number::count(start)),
    };
    let middle = (LEFT + WIDTH) / 2.0;
    let _ = write!(out, "<text x=\"{middle:.1}\" y=\"{:.1}\" class=\"mid soft\">{axis}</text>", foot + 34.0);
    let mut names: Vec<&str> = Vec::new();
    let all = rows.iter().map(|row| (row, true)).chain(kernels.iter().map(|row| (row, false)));
    for (at, (row, is_range)) in all.enumerate() {
        let top = at as f64 * LINE + if is_range { 2.0 } else { 6.0 };
        if at == rows.len() {
            let _ =
                write!(out, "<text x=\"{:.1}\" y=\"{:.1}\" class=\"end soft\">kernels</text>", LEFT - 8.0, top + 13.0);
        }
        for piece in row {
            let colour = if is_range { colour(&mut names, piece.name) } else { KERNEL };
            draw(&mut out, piece, (x(piece.span.start), x(piece.span.end)), top, colour);
        }
    }
    out.push_str("</svg></div>\n");
    out
}

/// The colour of a name, by the order of names.
fn colour<'a>(names: &mut Vec<&'a str>, name: &'a str) -> &'static str {
    let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    COLOURS[at % COLOURS.len()]
}

fn draw(out: &mut String, piece: &Piece<'_>, (from, to): (f64, f64), top: f64, colour: &str) {
    let width = (to - from).max(0.6);
    let name = match piece.count {
        1 => piece.name.to_owned(),
        count if piece.name.is_empty() => format!("{} different", number::count(count)),
        count => format!("{} x{}", piece.name, number::count(count)),
    };
    let _ = write!(
        out,
        "<g class=\"mark\"><rect x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"18\" rx=\"2\" fill=\"{colour}\"/><title>{}: cycles {} to {}</title></g>",
        escaped(&name),
        number::count(piece.span.start),
        number::count(piece.span.end)
    );
    let room = (width / CHARACTER) as usize;
    if room >= 4 {
        let text = kit::text::middle_cut(&name, room);
        let (at, foot) = (from + width / 2.0, top + 13.0);
        let _ = write!(out, "<text x=\"{at:.1}\" y=\"{foot:.1}\" class=\"on dark\">{}</text>", escaped(&text));
    }
}

fn table(grouping: &Grouping) -> String {
    let mut table = Table::new([
        (noun(grouping), Align::Name),
        ("launches", Align::Right),
        ("cycles", Align::Right),
        ("simulated time", Align::Right),
        ("share (%)", Align::Right),
        ("dearest kernels", Align::Name),
    ]);
    for group in grouping.groups.iter().take(MOST_GROUPS) {
        let figure = |text: String, value: f64| Cell::number(text, Some(value));
        let share = group.share_percent.unwrap_or(0.0);
        table.row([
            path(group).into(),
            figure(number::count(group.launches), group.launches as f64),
            figure(number::count(group.cycles.round() as u64), group.cycles),
            figure(number::simulated(group.seconds), group.seconds),
            figure(format!("{share:.1}"), share),
            dearest(group).into(),
        ]);
    }
    let left_out = grouping.groups.len().saturating_sub(MOST_GROUPS) as u64;
    let about =
        if left_out > 0 { note(&format!("{} left out.", number::counted(left_out, "group"))) } else { String::new() };
    table.render() + &about
}

fn path(group: &Group) -> String {
    if group.path.is_empty() { "(none)".to_owned() } else { group.path.join(" / ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn ranges_span_their_kernels() {
        let report = sample::grouped_report();
        let grouping = report.grouping.as_ref().unwrap();
        let launches = launches(&report, grouping);
        let piece = |name, span| Piece { name, span, count: 1 };
        assert_eq!(
            level(&launches, 0, &(0..34_690)),
            [piece("step", 0..17_345), piece("step", 17_345..34_690)],
            "two ranges of one name"
        );
        assert_eq!(level(&launches, 1, &(0..34_690)), [piece("layer", 17_345..34_690)]);
        assert_eq!(lanes(&launches, &(0..34_690)).len(), 1);
        assert_eq!(last_of_several(grouping, &launches), Some(("step", 17_345..34_690)));
    }

    #[test]
    fn narrow_boxes_are_drawn_as_one() {
        let one = |at: u64| Piece { name: if at < 50 { "a" } else { "b" }, span: at..at + 1, count: 1 };
        let all: Vec<Piece<'_>> = (0..4000).map(one).collect();
        let together = merged(all, &(0..4000));
        assert_eq!(
            (together.len(), &together[0], &together[399]),
            (400, &Piece { name: "a", span: 0..10, count: 10 }, &Piece { name: "b", span: 3990..4000, count: 10 })
        );
    }

    #[test]
    fn kernels_at_the_same_time_have_lines_of_their_own() {
        let mut report = sample::grouped_report();
        report.kernels[1].start_cycle = 100;
        let grouping = report.grouping.as_ref().unwrap();
        assert_eq!(lanes(&launches(&report, grouping), &(0..20_000)).len(), 2);
    }
}
