//! Figures over time as stacked areas: SVG.

use super::html::escaped;
use super::number_axis::ticks;
use super::stack;
use crate::number;
use std::fmt::Write as _;

/// Margins of the axes: left, right, top, bottom.
const MARGINS: (f64, f64, f64, f64) = (78.0, 16.0, 14.0, 44.0);
const WIDTH: f64 = 960.0;

/// An area, on top of those before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Name in the legend.
    pub name: String,
    /// Colour as `#rrggbb`.
    pub colour: String,
    /// Its height in each column.
    pub values: Vec<f64>,
    /// Its tooltip.
    pub tip: String,
}

/// Pixels between numbers of the upright axis, at least.
const LEAST_APART: f64 = 16.0;

/// A chart of stacked areas over columns of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart<'a> {
    /// Its contents, in words.
    pub label: &'a str,
    /// Names of the axes.
    pub axes: (&'a str, &'a str),
    /// Height in pixels at full width.
    pub height: f64,
    /// Start and end of each column.
    pub columns: Vec<(f64, f64)>,
    /// From the bottom up.
    pub layers: Vec<Layer>,
    /// End of the upright axis; the highest column, if there is none.
    pub highest: Option<f64>,
}

/// The chart with its legend; layers without height are left out.
pub fn render(chart: &Chart<'_>) -> String {
    let Chart { label, axes, height, columns, layers, .. } = chart;
    let (left, right, top, bottom) = MARGINS;
    let end = columns.last().map_or(1.0, |column| column.1).max(f64::MIN_POSITIVE);
    let sum = |at: usize| layers.iter().map(|layer| layer.values[at]).sum::<f64>();
    let most = chart.highest.unwrap_or_else(|| (0..columns.len()).map(sum).fold(0.0, f64::max));
    let marks = ticks(most);
    let highest = chart.highest.or(marks.last().copied()).unwrap_or(1.0);
    let x = |time: f64| left + time / end * (WIDTH - left - right);
    let y = |value: f64| height - bottom - value.min(highest) / highest * (height - top - bottom);
    let label = escaped(label);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\" class=\"chart\">"
    );
    // Every second or third tick has a number where the chart is too low for all.
    let apart = marks.get(1).map_or(*height, |tick| y(0.0) - y(*tick));
    let stride = (LEAST_APART / apart.max(1.0)).ceil() as usize;
    for (i, tick) in marks.into_iter().enumerate().filter(|(_, tick)| *tick <= highest) {
        let at = y(tick);
        let name = if i % stride == 0 { axis_number(tick) } else { String::new() };
        let _ = write!(
            out,
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" class=\"grid\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{name}</text>",
            WIDTH - right,
            left - 8.0,
            at + 4.0
        );
    }
    for tick in ticks(end).into_iter().filter(|t| *t <= end) {
        let (at, foot, name) = (x(tick), height - bottom + 18.0, axis_number(tick));
        let _ = write!(out, "<text x=\"{at:.1}\" y=\"{foot:.1}\" class=\"mid\">{name}</text>");
    }
    let mut below = vec![0.0; columns.len()];
    let mut keys = Vec::new();
    for layer in layers {
        let above: Vec<f64> = layer.values.iter().zip(&below).map(|(value, y)| y + value).collect();
        if above == below {
            continue;
        }
        let mut path = String::new();
        for (i, ((from, to), &value)) in columns.iter().zip(&above).enumerate() {
            let go = if i == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{go}{:.1} {:.1}H{:.1}", x(*from), y(value), x(*to));
        }
        for ((from, to), &value) in columns.iter().zip(&below).rev() {
            let _ = write!(path, "L{:.1} {:.1}H{:.1}", x(*to), y(value), x(*from));
        }
        let (colour, name, tip) = (escaped(&layer.colour), escaped(&layer.name), escaped(&layer.tip));
        let _ =
            write!(out, "<g class=\"mark\"><path d=\"{path}Z\" fill=\"{colour}\"/><title>{name}: {tip}</title></g>");
        keys.push((layer.name.as_str(), layer.colour.as_str()));
        below = above;
    }
    let (middle, foot) = (left + (WIDTH - left - right) / 2.0, height - 6.0);
    let side = top + (height - top - bottom) / 2.0;
    let _ = writeln!(
        out,
        "<text x=\"{middle:.1}\" y=\"{foot:.1}\" class=\"mid soft\">{}</text><text transform=\"translate(14 {side:.1}) rotate(-90)\" class=\"mid soft\">{}</text></svg>",
        escaped(axes.0),
        escaped(axes.1)
    );
    let legend = if keys.len() > 1 { stack::keys(keys) } else { String::new() };
    legend + &out
}

/// A number of an axis without needless zeros.
fn axis_number(x: f64) -> String {
    if x >= 1000.0 { number::count(x.round() as u64) } else { format!("{}", (x * 1e6).round() / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_an_axis_are_apart() {
        let drawn = |height: f64| {
            let layer = Layer { name: "a".into(), colour: "#000".into(), tip: String::new(), values: vec![9.5] };
            let (columns, axes) = (vec![(0.0, 100.0)], ("cycle", "per cycle"));
            render(&Chart { label: "a", axes, height, columns, layers: vec![layer], highest: None })
        };
        let places = |text: &str| -> Vec<f64> {
            let numbers =
                text.split("<text ").filter(|part| part.contains("class=\"end\">") && !part.contains("\"></text>"));
            numbers.map(|part| part.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()).collect()
        };
        let (high, low) = (places(&drawn(400.0)), places(&drawn(120.0)));
        assert!(high.len() > low.len() && low.len() >= 2, "{high:?} {low:?}");
        assert!(low.windows(2).all(|pair| pair[0] - pair[1] >= 14.0), "{low:?}");
    }
}
