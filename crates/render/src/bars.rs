//! Bars of ratios in groups as a picture, in the form of the papers' figures: a group for each workload, a bar for each
//! design, error bars where runs were repeated, and a mark where a paper has a value.

use crate::raster::Picture;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bar {
    /// Its value; no bar if it is absent.
    pub value: Option<f64>,
    /// Half of the width of the confidence interval around it.
    pub half: Option<f64>,
    /// Published value.
    pub published: Option<f64>,
}

/// Groups of bars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// Caption.
    pub title: String,
    /// Name of each bar of a group.
    pub series: Vec<String>,
    /// Name and bars of each group.
    pub groups: Vec<(String, Vec<Bar>)>,
}

/// Colours of the bars of a group, in turn: Okabe and Ito's palette, which is distinguishable with any colour vision.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(120, 120, 120),
];
/// Pixels of the height without keys, of what lies under and over the bars, of a key, of a bar, and of a picture's least
/// and greatest width.
const HEIGHT: u32 = 430;
const AROUND: u32 = 160;
const KEY: u32 = 15;
const BAR: u32 = 14;
const WIDTHS: (u32, u32) = (640, 8000);
/// Characters of a group's name that there is room for.
const LABEL: usize = 18;

/// Width and height of the picture.
fn size(bars: &Bars) -> (u32, u32) {
    let each = (bars.series.len() as u32 + 1) * BAR;
    ((120 + bars.groups.len() as u32 * each).clamp(WIDTHS.0, WIDTHS.1), HEIGHT + keys(bars))
}

/// The bars as a PNG picture.
///
/// # Errors
/// The picture cannot be drawn.
pub fn png(bars: &Bars) -> Result<Vec<u8>, String> {
    let mut picture = Picture::new(size(bars));
    draw(bars, picture.canvas()).map_err(|e| e.to_string())?;
    picture.png().map_err(|e| e.to_string())
}

/// The bars as an SVG picture.
pub fn svg(bars: &Bars) -> String {
    let mut out = String::new();
    match draw(bars, SVGBackend::with_string(&mut out, size(bars))) {
        Ok(()) => out,
        Err(e) => {
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><!-- {} --></svg>", e.to_string().replace('-', " "))
        }
    }
}

/// Pixels that the keys take, over the bars.
fn keys(bars: &Bars) -> u32 {
    if bars.series.len() > 1 { KEY * (bars.series.len() as u32 + 2) } else { 0 }
}

fn visible(text: &str) -> String {
    text.replace(kit::text::is_invisible, "\u{fffd}")
}

/// A name as far as there is room, without its middle: names that differ at their ends stay different.
fn short(name: &str) -> String {
    kit::text::middle_cut(&visible(name), LABEL).into_owned()
}

/// Colour of bar `at` of a group of `all`: of the palette, or, where that is too short, as far apart as hues allow.
fn colour(at: usize, all: usize) -> RGBColor {
    match COLOURS.get(at) {
        Some(colour) if all <= COLOURS.len() => *colour,
        _ => {
            let (r, g, b) =
                HSLColor(at as f64 / all as f64, 0.65, if at.is_multiple_of(2) { 0.38 } else { 0.62 }).rgb();
            RGBColor(r, g, b)
        }
    }
}

fn draw<Backend: DrawingBackend>(
    bars: &Bars,
    backend: Backend,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    let all = || bars.groups.iter().flat_map(|(_, bars)| bars);
    let upper = |bar: &Bar| bar.value.unwrap_or(0.0) + bar.half.unwrap_or(0.0);
    let most = all().flat_map(|bar| [upper(bar), bar.published.unwrap_or(0.0)]).fold(1.0, f64::max);
    let area = backend.into_drawing_area();
    area.fill(&WHITE)?;
    let groups = bars.groups.len().max(1) as f64;
    let mut chart = ChartBuilder::on(&area)
        .caption(visible(&bars.title), ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(110)
        .y_label_area_size(50)
        .build_cartesian_2d(
            0.0..groups,
            0.0..most * 1.1 * (1.0 + f64::from(keys(bars)) / f64::from(HEIGHT - AROUND)),
        )?;
    chart.configure_mesh().disable_x_mesh().x_labels(0).y_desc("over the baseline").light_line_style(WHITE).draw()?;
    let width = 1.0 / (bars.series.len() as f64 + 1.0);
    let left = |group: usize, series: usize| group as f64 + width * (series as f64 + 0.5);
    for (series, name) in bars.series.iter().enumerate() {
        let colour = colour(series, bars.series.len());
        let values = bars.groups.iter().enumerate().filter_map(|(group, (_, bars))| Some((group, bars.get(series)?)));
        let filled = values.clone().filter_map(|(group, bar)| {
            let (from, value) = (left(group, series), bar.value?);
            Some(Rectangle::new([(from, 0.0), (from + width, value)], colour.filled()))
        });
        chart
            .draw_series(filled)?
            .label(visible(name))
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        let middle = |group| left(group, series) + width / 2.0;
        // A line over the interval with a cap at each end.
        let errors = values.clone().filter_map(|(group, bar)| {
            let (value, half) = (bar.value?, bar.half?);
            let (x, (low, high), cap) = (middle(group), (value - half, value + half), width / 4.0);
            Some([[(x, low), (x, high)], [(x - cap, low), (x + cap, low)], [(x - cap, high), (x + cap, high)]])
        });
        chart.draw_series(errors.flatten().map(|line| PathElement::new(line, BLACK.stroke_width(1))))?;
        let marks = values.filter_map(|(group, bar)| {
            let (from, published) = (left(group, series), bar.published?);
            Some(PathElement::new([(from, published), (from + width, published)], BLACK.stroke_width(3)))
        });
        chart.draw_series(marks)?;
    }
    chart.draw_series(std::iter::once(PathElement::new([(0.0, 1.0), (groups, 1.0)], BLACK.mix(0.5))))?;
    // Read from below, ending at the axis.
    let upwards = ("sans-serif", 12).into_font().transform(FontTransform::Rotate270);
    let style = upwards.color(&BLACK).pos(Pos::new(HPos::Right, VPos::Center));
    let (plot, bottom) = (chart.plotting_area(), (HEIGHT + keys(bars) - 114) as i32);
    for (group, (name, _)) in bars.groups.iter().enumerate() {
        let (x, _) = plot.map_coordinate(&(group as f64 + 0.5, 0.0));
        area.draw_text(&short(name), &style, (x, bottom))?;
    }
    if bars.series.len() > 1 {
        let mut labels = chart.configure_series_labels();
        labels
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
    }
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_each_bar_with_its_error_and_the_papers_mark() {
        let bar = |value, half, published| Bar { value, half, published };
        let bars = Bars {
            title: "Speedup over inorder".into(),
            series: vec!["ghost".into(), "l<o>og".into()],
            groups: vec![
                ("lud".into(), vec![bar(Some(1.1), Some(0.02), Some(1.08)), bar(Some(0.9), None, None)]),
                ("a name that is far too long for its place".into(), vec![bar(None, None, None); 2]),
            ],
        };
        let picture = svg(&bars);
        let document = roxmltree::Document::parse(&picture).unwrap();
        let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
        for text in ["Speedup over inorder", "ghost", "l<o>og", "lud", "a nam…or its place"] {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
        let count = |colour: &str| picture.matches(&format!("fill=\"{colour}\"")).count();
        // A bar and a key each.
        assert_eq!([count("#0072B2"), count("#E69F00")], [2, 2], "{picture}");
        assert!(svg(&Bars::default()).starts_with("<svg"));
        assert!([&bars, &Bars::default()].iter().all(|bars| png(bars).unwrap().starts_with(b"\x89PNG")));
        let many: Vec<RGBColor> = (0..24).map(|at| colour(at, 24)).collect();
        assert!(many.iter().enumerate().all(|(at, one)| !many[..at].contains(one)), "{many:?}");
    }
}
