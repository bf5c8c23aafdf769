//! Bars in groups as a picture, in the form of the papers' figures: a group for each workload, a bar for each design,
//! error bars where runs were repeated, and a mark where a paper has a value.

use crate::drawing::{self, Drawing, HEIGHT, axis, colour, draw_key, keys, tick, visible};
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
    /// Text at the axis of values: their unit.
    pub unit: String,
    /// Value at which a line is drawn: 1 of ratios.
    pub neutral: Option<f64>,
    /// Name of each bar of a group.
    pub series: Vec<String>,
    /// Name and bars of each group.
    pub groups: Vec<(String, Vec<Bar>)>,
}

/// Pixels of a bar, and of a picture's least and greatest width.
const BAR: u32 = 14;
const WIDTHS: (u32, u32) = (640, 8000);
/// Characters of a group's name that there is room for.
const LABEL: usize = 18;

/// The bars as a PNG picture.
///
/// # Errors
/// The picture cannot be drawn.
pub fn png(bars: &Bars) -> Result<Vec<u8>, String> {
    drawing::png(bars)
}

/// The bars as an SVG picture.
pub fn svg(bars: &Bars) -> String {
    drawing::svg(bars)
}

/// A name as far as there is room, without its middle: names that differ at their ends stay different.
fn short(name: &str) -> String {
    kit::text::middle_cut(&visible(name), LABEL).into_owned()
}

impl Drawing for Bars {
    fn size(&self) -> (u32, u32) {
        let each = (self.series.len() as u32 + 1) * BAR;
        let width = (120 + self.groups.len() as u32 * each).clamp(WIDTHS.0, WIDTHS.1);
        (width, HEIGHT + keys(self.series.len()))
    }

    fn draw<Backend: DrawingBackend>(&self, backend: Backend) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        draw(self, backend)
    }
}

fn draw<Backend: DrawingBackend>(
    bars: &Bars,
    backend: Backend,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    let all = bars.groups.iter().flat_map(|(_, bars)| bars);
    let ends = all.flat_map(|bar| {
        let of = |half: f64| bar.value.map(|value| value + half);
        let half = bar.half.unwrap_or(0.0);
        [of(half), of(-half), bar.published].into_iter().flatten()
    });
    let values = axis(ends.chain(bars.neutral), bars.series.len());
    let area = backend.into_drawing_area();
    area.fill(&WHITE)?;
    let groups = bars.groups.len().max(1) as f64;
    let mut chart = ChartBuilder::on(&area)
        .caption(visible(&bars.title), ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(110)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..groups, values)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_desc(visible(&bars.unit))
        .y_label_formatter(&tick)
        .light_line_style(WHITE)
        .draw()?;
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
    let line = |at| PathElement::new([(0.0, at), (groups, at)], BLACK.mix(0.5));
    chart.draw_series(bars.neutral.into_iter().map(line))?;
    // Read from below, ending at the axis.
    let upwards = ("sans-serif", 12).into_font().transform(FontTransform::Rotate270);
    let style = upwards.color(&BLACK).pos(Pos::new(HPos::Right, VPos::Center));
    let (plot, bottom) = (chart.plotting_area(), (HEIGHT + keys(bars.series.len()) - 114) as i32);
    for (group, (name, _)) in bars.groups.iter().enumerate() {
        let (x, _) = plot.map_coordinate(&(group as f64 + 0.5, 0.0));
        area.draw_text(&short(name), &style, (x, bottom))?;
    }
    if bars.series.len() > 1 {
        draw_key(&mut chart)?;
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
            unit: "over the baseline".into(),
            neutral: Some(1.0),
            series: vec!["ghost".into(), "l<o>og".into()],
            groups: vec![
                ("lud".into(), vec![bar(Some(1.1), Some(0.02), Some(1.08)), bar(Some(0.9), None, None)]),
                ("a name that is far too long for its place".into(), vec![bar(None, None, None); 2]),
            ],
        };
        let picture = svg(&bars);
        let document = roxmltree::Document::parse(&picture).unwrap();
        let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
        for text in ["Speedup over inorder", "over the baseline", "ghost", "l<o>og", "lud", "a nam…or its place"] {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
        let count = |colour: &str| picture.matches(&format!("fill=\"{colour}\"")).count();
        // A bar and a key each.
        assert_eq!([count("#0072B2"), count("#E69F00")], [2, 2], "{picture}");
        assert!(svg(&Bars::default()).starts_with("<svg"));
        assert!([&bars, &Bars::default()].iter().all(|bars| png(bars).unwrap().starts_with(b"\x89PNG")));
        let power = Bars { unit: "W".into(), neutral: None, ..bars.clone() };
        let lines = |bars: &Bars| svg(bars).matches("<polyline").count();
        assert_eq!(lines(&bars), lines(&power) + 1, "the line at 1");
    }
}
