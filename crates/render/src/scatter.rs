//! Pairs of measured and simulated cycles as a scatter plot over logarithmic axes, as text and as a picture.

use crate::drawing::{colour, draw_key};
use plotters::prelude::*;

const SIZE: (u32, u32) = (760, 700);
/// Columns and lines of the plot in text.
const COLUMNS: usize = 64;
const LINES: usize = 24;
const BAND: RGBColor = RGBColor(120, 120, 120);

/// Points of one name.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name in the legend.
    pub name: String,
    /// Measured and simulated cycles of each, above zero.
    pub points: Vec<(f64, f64)>,
}

/// The decades that hold all points: exponents of ten.
fn decades(groups: &[Group]) -> Option<(f64, f64)> {
    let all = groups.iter().flat_map(|g| &g.points).flat_map(|&(x, y)| [x, y]);
    let (least, most) = all.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let (low, high) = (least.log10().floor(), most.log10().ceil());
    (least.is_finite() && least > 0.0).then(|| (low, high.max(low + 1.0)))
}

/// The points in text: measured cycles to the right, simulated ones upwards, each group as a letter from `a` on.
/// Dots are the line of equal cycles; a place of several groups shows the first one's letter. Empty without points.
pub fn text(groups: &[Group]) -> String {
    let Some((low, high)) = decades(groups) else { return String::new() };
    let place = |value: f64, places: usize| {
        let share = (value.log10() - low) / (high - low);
        ((share * (places - 1) as f64).round() as usize).min(places - 1)
    };
    let mut field = vec![[' '; COLUMNS]; LINES];
    for column in 0..COLUMNS {
        field[column * (LINES - 1) / (COLUMNS - 1)][column] = '.';
    }
    let mut lettered: Vec<(&Group, char)> = groups.iter().zip('a'..='z').collect();
    lettered.reverse();
    for (group, letter) in lettered {
        for &(x, y) in &group.points {
            field[place(y, LINES)][place(x, COLUMNS)] = letter;
        }
    }
    let mut out = String::from("  ours\n");
    for (line, cells) in field.iter().enumerate().rev() {
        let label = match line {
            0 => format!("1e{low:.0}"),
            _ if line == LINES - 1 => format!("1e{high:.0}"),
            _ => String::new(),
        };
        out += format!("  {label:>4} |{}", cells.iter().collect::<String>()).trim_end();
        out.push('\n');
    }
    out += &format!("       +{}\n", "-".repeat(COLUMNS));
    out += &format!("        1e{low:<.0}{:>width$}\n", format!("hardware 1e{high:.0}"), width = COLUMNS - 3);
    for (group, letter) in groups.iter().zip('a'..='z').filter(|(group, _)| !group.points.is_empty()) {
        out += &format!("  {letter} {}\n", group.name);
    }
    out
}

/// The same as a picture in SVG, with the lines of equal cycles and of `band_percent` more and less.
///
/// # Errors
/// There are no points, or the picture cannot be drawn.
pub fn svg(groups: &[Group], title: &str, band_percent: f64) -> Result<String, String> {
    let (low, high) = decades(groups).ok_or("there is no point to draw")?;
    let mut out = String::new();
    draw(groups, title, band_percent, (10_f64.powf(low), 10_f64.powf(high)), SVGBackend::with_string(&mut out, SIZE))
        .map_err(|e| e.to_string())?;
    Ok(out)
}

fn draw(
    groups: &[Group],
    title: &str,
    band_percent: f64,
    (low, high): (f64, f64),
    backend: SVGBackend<'_>,
) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    let area = backend.into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(45)
        .y_label_area_size(70)
        .build_cartesian_2d((low..high).log_scale(), (low..high).log_scale())?;
    let power = |v: &f64| format!("1e{:.0}", v.log10());
    chart
        .configure_mesh()
        .x_desc("cycles, hardware")
        .y_desc("cycles, simulated")
        .x_label_formatter(&power)
        .y_label_formatter(&power)
        .light_line_style(WHITE)
        .draw()?;
    let band = band_percent / 100.0;
    for (factor, colour) in [(1.0, BLACK), (1.0 + band, BAND), (1.0 - band, BAND)] {
        let (from, to) = (low.max(low / factor), high.min(high / factor));
        let line = PathElement::new(vec![(from, from * factor), (to, to * factor)], colour.mix(0.6));
        chart.draw_series(std::iter::once(line))?;
    }
    for (at, group) in groups.iter().enumerate().filter(|(_, group)| !group.points.is_empty()) {
        let colour = colour(at, groups.len());
        chart
            .draw_series(group.points.iter().map(|&point| Circle::new(point, 4, colour.filled())))?
            .label(&group.name)
            .legend(move |(x, y)| Circle::new((x + 7, y), 4, colour.filled()));
    }
    draw_key(&mut chart)?;
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Vec<Group> {
        let group = |name: &str, points: &[(f64, f64)]| Group { name: name.into(), points: points.to_vec() };
        vec![group("exact", &[(1e3, 1e3), (1e6, 1e6)]), group("tenfold", &[(1e4, 1e5)]), group("none", &[])]
    }

    #[test]
    fn points_are_where_their_logarithms_are() {
        let text = text(&groups());
        let lines: Vec<&str> = text.lines().collect();
        // From 1e3 to 1e6: corners, and a third along at two thirds of the height.
        let line = |from_below: usize| lines[LINES - from_below];
        let column = |line: &str, letter: char| line.chars().skip(8).position(|c| c == letter);
        assert_eq!(column(line(0), 'a'), Some(0), "{text}");
        assert_eq!(column(line(LINES - 1), 'a'), Some(COLUMNS - 1), "{text}");
        assert_eq!(column(line((LINES - 1) * 2 / 3), 'b'), Some(21), "{text}");
        assert!(text.contains("  a exact\n  b tenfold\n") && !text.contains("none"), "{text}");
        assert_eq!(super::text(&[]), "");
    }

    #[test]
    fn the_picture_has_a_mark_for_each_point() {
        let bare = svg(&groups()[1..2], "title", 25.0).unwrap();
        let more = svg(&groups(), "title", 25.0).unwrap();
        // One of the legend for each group that has points.
        assert_eq!(more.matches("<circle").count(), bare.matches("<circle").count() + 3);
        assert!(svg(&[], "title", 25.0).is_err());
    }
}
