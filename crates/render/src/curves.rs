//! Figures over an axis of numbers as a picture: lines over a setting that varies, or points of one figure over another.

use crate::drawing::{self, Drawing, HEIGHT, axis, colour, draw_key, keys, tick, visible};
use plotters::prelude::*;

/// A value at a place of the axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Place.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Half of the width of the confidence interval around it.
    pub half: Option<f64>,
    /// Published value.
    pub published: Option<f64>,
}

/// Points in one colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Its points, in the order in which lines join them.
    pub points: Vec<Point>,
}

/// Curves in one picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Caption.
    pub title: String,
    /// Texts at the horizontal axis and at the vertical one.
    pub axes: [String; 2],
    /// Value at which a level line is drawn: 1 of ratios.
    pub neutral: Option<f64>,
    /// Whether lines join the points of a curve.
    pub joined: bool,
    /// Places of the horizontal axis with their names. Without them it has numbers at regular places.
    pub places: Vec<(f64, String)>,
    /// The curves.
    pub curves: Vec<Curve>,
}

const WIDTH: u32 = 760;
/// Pixels of a character at an axis.
const CHARACTER: usize = 7;

/// The curves as a PNG picture.
///
/// # Errors
/// The picture cannot be drawn.
pub fn png(curves: &Curves) -> Result<Vec<u8>, String> {
    drawing::png(curves)
}

/// The curves as an SVG picture.
pub fn svg(curves: &Curves) -> String {
    drawing::svg(curves)
}

/// The horizontal axis: all points, with a margin.
fn horizontal(curves: &Curves) -> std::ops::Range<f64> {
    let points = curves.curves.iter().flat_map(|curve| &curve.points).map(|point| point.x);
    let all = points.chain(curves.places.iter().map(|(x, _)| *x)).filter(|x| x.is_finite());
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    match high - low {
        length if length > 0.0 => low - length * 0.05..high + length * 0.05,
        _ if low.is_finite() => low - 1.0..low + 1.0,
        _ => 0.0..1.0,
    }
}

impl Drawing for Curves {
    fn size(&self) -> (u32, u32) {
        (WIDTH, HEIGHT + keys(self.curves.len()))
    }

    fn draw<Backend: DrawingBackend>(&self, backend: Backend) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let ends = points.flat_map(|point| {
            let half = point.half.unwrap_or(0.0);
            [Some(point.y + half), Some(point.y - half), point.published].into_iter().flatten()
        });
        let (across, values) = (horizontal(self), axis(ends.chain(self.neutral), self.curves.len()));
        let area = backend.into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(visible(&self.title), ("sans-serif", 18))
            .margin(10)
            .x_label_area_size(50)
            .y_label_area_size(60)
            .build_cartesian_2d(across.clone(), values)?;
        let [x, y] = self.axes.each_ref().map(|text| visible(text));
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(x).y_desc(y).y_label_formatter(&tick).x_label_formatter(&tick).light_line_style(WHITE);
        if !self.places.is_empty() {
            // Their names are drawn below.
            mesh.disable_x_mesh().x_labels(0);
        }
        mesh.draw()?;
        let level = |at| PathElement::new([(across.start, at), (across.end, at)], BLACK.mix(0.5));
        chart.draw_series(self.neutral.into_iter().map(level))?;
        for (at, curve) in self.curves.iter().enumerate() {
            let colour = colour(at, self.curves.len());
            let line = curve.points.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>();
            chart.draw_series(self.joined.then(|| PathElement::new(line.clone(), colour.stroke_width(2))))?;
            chart
                .draw_series(line.into_iter().map(|place| Circle::new(place, 4, colour.filled())))?
                .label(visible(&curve.name))
                .legend(move |(x, y)| Circle::new((x + 7, y), 4, colour.filled()));
            let mut bar = |(x, from): (f64, f64), to: f64, width: u32, style: ShapeStyle| {
                let cap = |at| {
                    EmptyElement::at((x, at)) + PathElement::new(vec![(-(width as i32), 0), (width as i32, 0)], style)
                };
                chart.draw_series([cap(from), cap(to)])?;
                chart.draw_series(std::iter::once(PathElement::new([(x, from), (x, to)], style))).map(|_| ())
            };
            for point in &curve.points {
                if let Some(half) = point.half {
                    bar((point.x, point.y - half), point.y + half, 4, BLACK.stroke_width(1))?;
                }
                if let Some(published) = point.published {
                    bar((point.x, published), published, 7, BLACK.stroke_width(3))?;
                }
            }
        }
        self.name_places(&area, |x| chart.plotting_area().map_coordinate(&(x, 0.0)).0)?;
        if self.curves.len() > 1 {
            draw_key(&mut chart)?;
        }
        area.present()
    }
}

impl Curves {
    /// Draws the names of the places under the axis, as far as there is room; `at` is the pixel of a place.
    fn name_places<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, plotters::coord::Shift>,
        at: impl Fn(f64) -> i32,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        use plotters::style::text_anchor::{HPos, Pos, VPos};
        let style = ("sans-serif", 12).into_font().color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
        let bottom = (HEIGHT + keys(self.curves.len()) - 54) as i32;
        let mut free = i32::MIN;
        for (place, name) in &self.places {
            let (x, name) = (at(*place), visible(name));
            let half = (name.chars().count() * CHARACTER / 2) as i32;
            if x - half >= free {
                area.draw_text(&name, &style, (x, bottom))?;
                free = x + half + CHARACTER as i32;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(joined: bool) -> Curves {
        let point = |x: f64, y: f64| Point { x, y, ..Point::default() };
        let with_error = Point { half: Some(0.1), published: Some(1.3), ..point(2.0, 1.2) };
        Curves {
            title: "Speedup over 4".into(),
            axes: ["buffer".into(), "over the baseline".into()],
            neutral: Some(1.0),
            joined,
            places: vec![(0.0, "4".into()), (1.0, "8".into()), (1.001, "hidden".into()), (2.0, "16".into())],
            curves: vec![
                Curve { name: "lud".into(), points: vec![point(0.0, 1.0), point(1.0, 1.1), with_error] },
                Curve { name: "n<n".into(), points: vec![point(0.0, 1.0), point(2.0, 0.9)] },
            ],
        }
    }

    #[test]
    fn a_picture_has_each_point_and_joins_those_of_a_line() {
        let lines = svg(&curves(true));
        let document = roxmltree::Document::parse(&lines).unwrap();
        let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
        for text in ["Speedup over 4", "buffer", "over the baseline", "lud", "n<n", "4", "8", "16"] {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
        assert!(!texts.contains(&"hidden"), "without room");
        // One of the legend each.
        assert_eq!(lines.matches("<circle").count(), 5 + 2);
        let count = |picture: &str| picture.matches("<polyline").count();
        assert_eq!(count(&lines), count(&svg(&curves(false))) + 2);
        assert!(png(&curves(true)).unwrap().starts_with(b"\x89PNG"));
    }

    #[test]
    fn nothing_and_one_point_have_axes() {
        assert_eq!(horizontal(&Curves::default()), 0.0..1.0);
        assert!(svg(&Curves::default()).starts_with("<svg"));
        let one = Curve { name: "one".into(), points: vec![Point { x: 5.0, y: 1.0, ..Point::default() }] };
        assert_eq!(horizontal(&Curves { curves: vec![one], ..Curves::default() }), 4.0..6.0);
    }
}
