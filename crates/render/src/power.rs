//! Power over time as a picture: the watts of groups of components, stacked.

use crate::raster::Picture;
use energy::Component;
use lab::{Interval, PowerSeries};
use plotters::prelude::*;

/// Maximum number of columns of the picture; intervals of longer series are combined.
const MOST_COLUMNS: usize = 1000;
const SIZE: (u32, u32) = (1100, 560);

/// Areas of the picture, from the bottom up: name, colour, components.
const GROUPS: &[(&str, RGBColor, &[Component])] = {
    use Component as C;
    &[
        ("board", RGBColor(112, 112, 112), &[C::Constant]),
        ("static, idle SMs", RGBColor(180, 180, 180), &[C::Static, C::IdleSms]),
        ("fetch, decode, schedule", RGBColor(78, 121, 167), &[C::InstructionBuffer, C::InstructionCache, C::Scheduler]),
        ("core design", RGBColor(176, 122, 161), &[C::Design]),
        ("registers", RGBColor(242, 142, 43), &[C::RegisterFile]),
        (
            "links, buffers, control of a fabric",
            RGBColor(255, 157, 167),
            &[C::Interconnect, C::TokenBuffers, C::UnitControl, C::Configuration],
        ),
        (
            "lanes, pipeline",
            RGBColor(225, 87, 89),
            &[C::IntLanes, C::FpLanes, C::DpLanes, C::SfuLanes, C::TensorLanes, C::TextureUnits, C::Pipeline],
        ),
        ("memory in the SMs", RGBColor(237, 201, 72), &[C::SharedMemory, C::L1, C::ConstantCache, C::TextureCache]),
        ("crossbar, L2", RGBColor(89, 161, 79), &[C::Crossbar, C::L2]),
        ("DRAM", RGBColor(118, 183, 178), &[C::Dram]),
    ]
};

/// The series as a picture in SVG.
///
/// # Errors
/// The picture cannot be drawn.
pub fn svg(series: &PowerSeries, title: &str) -> Result<String, String> {
    let mut out = String::new();
    let title = title.replace(kit::text::is_invisible, "\u{fffd}");
    draw(series, &title, SVGBackend::with_string(&mut out, SIZE)).map_err(|e| e.to_string())?;
    Ok(out)
}

/// The series as a picture in PNG.
///
/// # Errors
/// The picture cannot be drawn.
pub fn png(series: &PowerSeries, title: &str) -> Result<Vec<u8>, String> {
    let mut picture = Picture::new(SIZE);
    let title = title.replace(kit::text::is_invisible, "\u{fffd}");
    draw(series, &title, picture.canvas()).map_err(|e| e.to_string())?;
    picture.png().map_err(|e| e.to_string())
}

/// Watts of each group over a stretch of time in microseconds.
pub(crate) struct ColumnOfWatts {
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) watts: Vec<f64>,
}

/// Names, colours as `#rrggbb` and components of the areas, from the bottom up.
pub(crate) fn groups() -> impl Iterator<Item = (&'static str, String, &'static [Component])> {
    GROUPS.iter().map(|&(name, RGBColor(r, g, b), of)| (name, format!("#{r:02x}{g:02x}{b:02x}"), of))
}

/// The series in `most` columns or fewer.
pub(crate) fn columns(series: &PowerSeries, most: usize) -> Vec<ColumnOfWatts> {
    let each = series.intervals.len().div_ceil(most).max(1);
    let mut start = 0.0;
    let column = |intervals: &[Interval]| {
        let seconds: f64 = intervals.iter().map(|i| i.energy.seconds).sum();
        let joules = |c: &Component| intervals.iter().map(|i| i.energy.joules(*c)).sum::<f64>();
        let watts = |(_, _, of): &(&str, RGBColor, &[Component])| of.iter().map(joules).sum::<f64>() / seconds;
        let column = ColumnOfWatts { start, end: start + seconds * 1e6, watts: GROUPS.iter().map(watts).collect() };
        start = column.end;
        column
    };
    series.intervals.chunks(each).map(column).collect()
}

fn draw<Backend: DrawingBackend>(
    series: &PowerSeries,
    title: &str,
    backend: Backend,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    let columns = columns(series, MOST_COLUMNS);
    let end = columns.last().map_or(1.0, |c| c.end);
    let most = columns.iter().map(|c| c.watts.iter().sum::<f64>()).fold(1.0, f64::max);
    let area = backend.into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..end, 0.0..most * 1.3)?;
    chart.configure_mesh().x_desc("simulated time (us)").y_desc("power (W)").light_line_style(WHITE).draw()?;
    let mut below = vec![0.0; columns.len()];
    for (g, &(name, colour, _)) in GROUPS.iter().enumerate() {
        let above: Vec<f64> = columns.iter().zip(&below).map(|(c, y)| y + c.watts[g]).collect();
        if above == below {
            continue;
        }
        let steps = |y: &[f64]| {
            columns.iter().zip(y).flat_map(|(c, &y)| [(c.start, y), (c.end, y)]).collect::<Vec<(f64, f64)>>()
        };
        let outline: Vec<_> = steps(&above).into_iter().chain(steps(&below).into_iter().rev()).collect();
        chart
            .draw_series(std::iter::once(Polygon::new(outline, colour.filled())))?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], colour.filled()));
        below = above;
    }
    chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.3)).draw()?;
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;
    use energy::{Activity, Coefficients};

    #[test]
    fn every_component_is_in_one_group() {
        let all: Vec<Component> = GROUPS.iter().flat_map(|(_, _, of)| of.iter().copied()).collect();
        for component in Component::ALL {
            assert_eq!(all.iter().filter(|c| *c == component).count(), 1, "{}", component.name());
        }
    }

    #[test]
    fn long_series_are_put_together() {
        let v100 = Coefficients::of("v100").unwrap().unwrap();
        let energy = v100.energy(&Activity { seconds: 1e-6, sms: 80.0, ..Activity::default() }, v100.volts);
        let interval = |n: u64| {
            let energy = energy.clone();
            Interval { start_cycle: n, end_cycle: n + 1, energy }
        };
        let series = PowerSeries { interval_cycles: 1, intervals: (0..2500).map(interval).collect() };
        let columns = columns(&series, MOST_COLUMNS);
        assert_eq!(columns.len(), 834);
        assert!((columns.last().unwrap().end - 2500.0).abs() < 1e-6);
        assert!((columns[0].watts[0] - v100.constant_watts).abs() < 1e-9);
        assert!(svg(&series, "nothing").unwrap().starts_with("<svg"));
        assert!(png(&series, "nothing").unwrap().starts_with(b"\x89PNG"));
        // Any title leaves well-formed XML with the title in it.
        for title in ["a<b>&amp;\"'", "]]>", "\0\u{1b}[1m", "\u{202e}\u{2066}x\u{ffff}\u{fffe}", "\r\n\t", "😀é"] {
            let picture = svg(&series, title).unwrap();
            let document = roxmltree::Document::parse(&picture).unwrap_or_else(|e| panic!("{title:?}: {e}"));
            let shown = title.replace(kit::text::is_invisible, "\u{fffd}");
            let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
            assert!(texts.contains(&shown.trim()), "{title:?}: {texts:?}");
        }
    }
}
