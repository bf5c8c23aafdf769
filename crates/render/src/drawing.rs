//! Pictures in groups of colours, each as SVG and as PNG: what [`bars`](crate::bars) and [`curves`](crate::curves) share.

use crate::number;
use crate::raster::Picture;
use plotters::coord::CoordTranslate;
use plotters::prelude::*;

/// A picture of plotters, of any size.
pub(crate) trait Drawing {
    /// Width and height.
    fn size(&self) -> (u32, u32);

    /// Draws it.
    fn draw<Backend: DrawingBackend>(&self, backend: Backend) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>>;
}

/// The picture as PNG; an error says why it cannot be drawn.
pub(crate) fn png(drawing: &impl Drawing) -> Result<Vec<u8>, String> {
    let mut picture = Picture::new(drawing.size());
    drawing.draw(picture.canvas()).map_err(|e| e.to_string())?;
    picture.png().map_err(|e| e.to_string())
}

/// The picture as SVG.
pub(crate) fn svg(drawing: &impl Drawing) -> String {
    let mut out = String::new();
    match drawing.draw(SVGBackend::with_string(&mut out, drawing.size())) {
        Ok(()) => out,
        Err(e) => {
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><!-- {} --></svg>", e.to_string().replace('-', " "))
        }
    }
}

/// Pixels of the height without keys, of what is under and over the plot, and of a key.
pub(crate) const HEIGHT: u32 = 430;
const AROUND: u32 = 160;
const KEY: u32 = 15;

/// Pixels that the keys of `series` take, over the plot.
pub(crate) fn keys(series: usize) -> u32 {
    if series > 1 { KEY * (series as u32 + 2) } else { 0 }
}

/// The axis that holds `values`, from zero or their least, with room for the keys of `series` at its upper end.
pub(crate) fn axis(values: impl Iterator<Item = f64>, series: usize) -> std::ops::Range<f64> {
    let (low, high) = values.filter(|v| v.is_finite()).fold((0.0_f64, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    let length = if high > low { high - low } else { 1.0 };
    low..low + length * 1.1 * (1.0 + f64::from(keys(series)) / f64::from(HEIGHT - AROUND))
}

/// Draws the key of the series of `chart` into its upper left corner.
pub(crate) fn draw_key<'a, Backend: DrawingBackend + 'a, Coordinates: CoordTranslate>(
    chart: &mut ChartContext<'a, Backend, Coordinates>,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    let mut key = chart.configure_series_labels();
    key.position(SeriesLabelPosition::UpperLeft).background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.3)).draw()
}

/// A value at an axis, in few characters.
pub(crate) fn tick(value: &f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{}{}", if *value < 0.0 { "-" } else { "" }, number::short(size)),
        size if size > 0.0 && size < 0.01 => format!("{value:.1e}"),
        _ => ((value * 1000.0).round() / 1000.0).to_string(),
    }
}

/// A text as pictures show it.
pub(crate) fn visible(text: &str) -> String {
    text.replace(kit::text::is_invisible, "\u{fffd}")
}

/// Colours in turn: Okabe and Ito's palette, which is distinguishable with any colour vision.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(120, 120, 120),
];

/// Colour `at` of `all`: of the palette, or, where that is too short, as far apart as hues allow.
pub(crate) fn colour(at: usize, all: usize) -> RGBColor {
    match COLOURS.get(at) {
        Some(colour) if all <= COLOURS.len() => *colour,
        _ => {
            let (r, g, b) =
                HSLColor(at as f64 / all as f64, 0.65, if at.is_multiple_of(2) { 0.38 } else { 0.62 }).rgb();
            RGBColor(r, g, b)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_colours_is_distinct() {
        let many: Vec<RGBColor> = (0..24).map(|at| colour(at, 24)).collect();
        assert!(many.iter().enumerate().all(|(at, one)| !many[..at].contains(one)), "{many:?}");
    }

    #[test]
    fn values_at_axes_are_short() {
        let of = [0.0, 0.2, 1.25, 1_500_000.0, -2000.0, 0.000_012].map(|value| tick(&value));
        assert_eq!(of, ["0", "0.2", "1.25", "1.50 M", "-2.00 k", "1.2e-5"]);
    }

    #[test]
    fn an_axis_has_zero_and_all_values() {
        assert_eq!(axis([2.0, f64::NAN].into_iter(), 1), 0.0..2.2);
        assert_eq!(axis([-1.0, 1.0].into_iter(), 1).start, -1.0);
        assert!(axis(std::iter::empty(), 1).end > 0.0);
        assert!(axis([2.0].into_iter(), 3).end > 2.2, "room for keys");
    }
}
