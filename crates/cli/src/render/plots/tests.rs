//! Pictures of comparisons.

use super::*;
use crate::render::{sample, summary};
use lab::Value;
use request::comparison::{Cell, Input};
use workloads::Form;

fn ran(cycles: u64) -> Cell {
    let mut report = sample::report();
    for (info, value) in &mut report.total.0 {
        match &*info.name {
            summary::CYCLES => *value = Value::Count(cycles),
            summary::TIME => *value = Value::Real(Some(cycles as f64 / 500.0)),
            summary::OCCUPANCY => *value = Value::Real(Some(cycles as f64 / 10.0)),
            _ => {}
        }
    }
    Cell::Complete(Box::new(report))
}

/// Columns with these values of the axes `names`, compared with the first one.
fn comparison(names: &[&str], columns: &[&[&str]], rows: &[&[u64]]) -> Comparison {
    let axis = |(name, value): (&&str, &&str)| Axis { name: (*name).into(), value: (*value).into(), is_setting: true };
    let column = |values: &&[&str]| Column {
        label: values.join(" "),
        core: "inorder".into(),
        axes: names.iter().zip(*values).map(axis).collect(),
        ..Column::default()
    };
    Comparison {
        workloads: (0..rows.len()).map(|row| format!("row{row}")).collect(),
        codes: vec![Form::Sass; rows.len()],
        inputs: vec![Input::default(); rows.len()],
        remarks: vec![None; rows.len()],
        columns: columns.iter().map(column).collect(),
        cells: rows.iter().flat_map(|cycles| cycles.iter().map(|&cycles| ran(cycles))).collect(),
        ..Comparison::default()
    }
}

fn of_names() -> Comparison {
    comparison(&["scheduler"], &[&["gto"], &["lrr"]], &[&[1000, 500], &[900, 900]])
}

fn drawn(of: &Comparison, show: &[Shown], kind: Option<PlotKind>) -> Plot {
    of_comparison(of, show, kind).expect("there is something to draw")
}

fn curves(plot: Plot) -> Curves {
    match plot {
        Plot::Curves(curves) => curves,
        Plot::Bars(bars) => panic!("{bars:?}"),
    }
}

fn bars_of(plot: Plot) -> Bars {
    match plot {
        Plot::Bars(bars) => bars,
        Plot::Curves(curves) => panic!("{curves:?}"),
    }
}

#[test]
fn bars_are_of_the_first_figure_that_is_a_number() {
    let of = of_names();
    let bars = bars_of(drawn(&of, &[Shown::Occupancy, Shown::Speedup], None));
    assert_eq!((&*bars.title, &*bars.unit, bars.neutral), ("Achieved occupancy (%)", "%", None));
    assert_eq!(bars.series, ["gto", "lrr"]);
    let values = |bars: &Bars| -> Vec<Vec<Option<f64>>> {
        bars.groups.iter().map(|(_, bars)| bars.iter().map(|bar| bar.value).collect()).collect()
    };
    assert_eq!(values(&bars), [[Some(100.0), Some(50.0)], [Some(90.0), Some(90.0)]]);
    let speedup = bars_of(drawn(&of, &[Shown::Lost, Shown::Speedup], None));
    assert_eq!(
        (&*speedup.title, &*speedup.unit, speedup.neutral),
        ("Speedup over gto", "over the baseline", Some(1.0))
    );
    assert_eq!(speedup.series, ["lrr"]);
    assert_eq!(values(&speedup), [[Some(2.0)], [Some(1.0)], [geometric_mean(&[2.0, 1.0])]], "with the mean");
    assert_eq!(bars_of(drawn(&of, &[], None)), speedup);
    assert_eq!(of_comparison(&of, &[Shown::Speedup], Some(PlotKind::None)), None);
    assert_eq!(of_comparison(&of, &[Shown::Lost], None), None);
    let again = vec![comparison(&["scheduler"], &[&["gto"], &["lrr"]], &[&[1000, 600], &[900, 900]])];
    let repeated = bars_of(drawn(&Comparison { again, ..of }, &[Shown::Occupancy], None));
    let bar = repeated.groups[0].1[1];
    assert!(bar.value == Some(55.0) && bar.half.is_some_and(|half| half > 5.0), "{bar:?}");
}

#[test]
fn a_setting_with_numbers_has_lines() {
    let names = ["sm.frontend.buffer_entries", "scheduler"];
    let values: [&[&str]; 6] = [
        &["buffer_entries=2", "gto"],
        &["buffer_entries=2", "lrr"],
        &["buffer_entries=4", "gto"],
        &["buffer_entries=4", "lrr"],
        &["buffer_entries=16", "gto"],
        &["buffer_entries=16", "lrr"],
    ];
    let of = comparison(&names, &values, &[&[1000, 500, 800, 400, 500, 250]]);
    let lines = curves(drawn(&of, &[Shown::Speedup], None));
    assert_eq!((&*lines.axes[0], lines.joined), ("buffer_entries", true));
    let places: Vec<(f64, &str)> = lines.places.iter().map(|(x, name)| (*x, &**name)).collect();
    assert_eq!(places, [(1.0, "2"), (2.0, "4"), (4.0, "16")], "evenly spaced powers of two");
    let of_curve = |curve: &Curve| (curve.name.clone(), curve.points.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>());
    let got: Vec<_> = lines.curves.iter().map(of_curve).collect();
    let expected = [
        ("gto".to_owned(), vec![(1.0, 1.0), (2.0, 1.25), (4.0, 2.0)]),
        ("lrr".to_owned(), vec![(1.0, 2.0), (2.0, 2.5), (4.0, 4.0)]),
    ];
    assert_eq!(got, expected, "with the baseline's point");
    assert!(matches!(drawn(&of, &[Shown::Speedup], Some(PlotKind::Bars)), Plot::Bars(_)));
    let rows: [&[u64]; 2] = [&[1000, 500, 800, 400, 500, 250]; 2];
    let several = curves(drawn(&comparison(&names, &values, &rows), &[Shown::Speedup], None));
    let names: Vec<&str> = several.curves.iter().map(|curve| &*curve.name).collect();
    let expected = ["row0 gto", "row0 lrr", "row1 gto", "row1 lrr", "geometric mean gto", "geometric mean lrr"];
    assert_eq!(names, expected);
}

#[test]
fn many_rows_have_bars_and_lines_of_means_if_asked_for() {
    let values: [&[&str]; 2] = [&["ways=2"], &["ways=4"]];
    let of = comparison(&["l2.cache.ways"], &values, &[&[1000, 500][..]; 30]);
    assert!(matches!(drawn(&of, &[], None), Plot::Bars(_)));
    let lines = curves(drawn(&of, &[], Some(PlotKind::Line)));
    assert_eq!(lines.curves.iter().map(|curve| &*curve.name).collect::<Vec<_>>(), ["geometric mean"]);
    assert_eq!(curves(drawn(&of, &[Shown::Cycles], Some(PlotKind::Line))).curves.len(), 30);
}

#[test]
fn a_parameter_of_a_design_has_a_line_and_other_designs_are_level() {
    let values: [&[&str]; 3] = [&["inorder"], &["ghost:issue_buffer=4"], &["ghost:issue_buffer=8"]];
    let of = comparison(&["core"], &values, &[&[1000, 800, 500]]);
    let cycles = curves(drawn(&of, &[Shown::Cycles], None));
    let got: Vec<(&str, Vec<f64>)> =
        cycles.curves.iter().map(|curve| (&*curve.name, curve.points.iter().map(|p| p.y).collect())).collect();
    assert_eq!(got, [("inorder", vec![1000.0, 1000.0]), ("ghost", vec![800.0, 500.0])]);
    let speedup = curves(drawn(&of, &[Shown::Speedup], None));
    assert_eq!(speedup.curves.iter().map(|curve| &*curve.name).collect::<Vec<_>>(), ["ghost"], "1 is the line at 1");
}

#[test]
fn a_scatter_is_the_first_figure_over_the_second() {
    let scatter = curves(drawn(&of_names(), &[Shown::Speedup, Shown::Occupancy], Some(PlotKind::Scatter)));
    let points: Vec<(f64, f64)> = scatter.curves[0].points.iter().map(|point| (point.x, point.y)).collect();
    assert_eq!((points, scatter.joined), (vec![(50.0, 2.0), (90.0, 1.0)], false));
    assert_eq!(scatter.axes, ["Achieved occupancy (%)", "over the baseline"]);
}

#[test]
fn a_claimed_correlation_is_drawn() {
    let of =
        |column| Correlation { title: "they correlate", part: 1, column, figure: "speedup", with: summary::OCCUPANCY };
    let drawn = curves(of_correlation(&[of_names()], of("lrr")).unwrap());
    assert_eq!((drawn.curves[0].points.len(), &*drawn.title), (2, "they correlate"));
    assert_eq!(drawn.axes, [format!("{} (%)", summary::OCCUPANCY), "speedup over gto".into()]);
    assert_eq!(of_correlation(&[of_names()], of("srr")), None);
}

#[test]
fn forms_without_a_meaning_are_refused() {
    let columns = &of_names().columns;
    assert!(check(Some(PlotKind::Line), &[], columns).unwrap_err().contains("`vary`"));
    assert!(
        check(Some(PlotKind::Scatter), &[Shown::Speedup, Shown::Lost], columns).unwrap_err().contains("two figures")
    );
    assert_eq!(check(Some(PlotKind::Scatter), &[Shown::Speedup, Shown::Ipc], columns), Ok(()));
    assert_eq!(check(None, &[], columns), Ok(()));
}

#[test]
fn numbers_have_one_unit() {
    assert_eq!(quantity("32KiB"), Some((32.0, "KiB")));
    assert_eq!([quantity("x0.5"), quantity("1_000")], [Some((0.5, "")), Some((1000.0, ""))]);
    assert_eq!([quantity("lru"), quantity("[1,2]"), quantity("")], [None; 3]);
    let of = |values: [&[&str]; 2]| Swept::of(&comparison(&["l2.size"], &values, &[&[1, 1]]).columns);
    assert!(of([&["size=1MiB"], &["size=2MiB"]]).is_some());
    assert!(of([&["size=512KiB"], &["size=2MiB"]]).is_none());
    let of = |design: &str| parameter(design, "n");
    let parts = |value: &str, rest: &str| Some((value.to_owned(), rest.to_owned()));
    assert_eq!(of("ghost:n=4"), parts("4", "ghost"));
    assert_eq!(of("ghost:n=4,b=1+scalar:c=2"), parts("4", "ghost:b=1+scalar:c=2"));
    assert_eq!(of("ghost:b=1,n=4+scalar"), parts("4", "ghost:b=1+scalar"));
    assert_eq!(of("ghost:b=1"), None);
}
