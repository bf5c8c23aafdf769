//! Comparisons as text.

use super::*;
use crate::render::{sample, summary};
use lab::Value;
use request::comparison::{Axis, Cell, Column, Input};

fn column(scheduler: &str) -> Column {
    Column {
        label: scheduler.into(),
        gpu: "v100".into(),
        core: "inorder".into(),
        scheduler: Some(scheduler.into()),
        settings: vec!["sm.issue.width=1".into()],
        ..Column::default()
    }
}

fn ran(cycles: u64) -> Cell {
    let mut report = sample::report();
    for (info, value) in &mut report.total.0 {
        match &*info.name {
            summary::CYCLES => *value = Value::Count(cycles),
            summary::TIME => *value = Value::Real(Some(cycles as f64 / 500.0)),
            _ => {}
        }
    }
    Cell::Complete(Box::new(report))
}

fn comparison() -> Comparison {
    let why = "fault in kernel `k`\nthread (0,0,0)".to_owned();
    Comparison {
        workloads: vec!["matmul".into(), "bfs".into()],
        codes: vec![Form::Sass; 2],
        inputs: vec![Input::default(); 2],
        remarks: vec![None; 2],
        columns: vec![column("gto"), column("lrr"), column("srr")],
        cells: vec![ran(1000), ran(2000), ran(500), ran(900), Cell::Failed(why, None), Cell::Interrupted(None)],
        ..Comparison::default()
    }
}

#[test]
fn golden() {
    insta::assert_snapshot!(sample::plain(&render(&comparison(), &[], false)));
}

#[test]
fn golden_of_repeats() {
    let mut repeated = comparison();
    repeated.cells = vec![ran(1000), ran(2000), ran(500), ran(900), ran(903), ran(890)];
    let again = |cycles: [u64; 6]| Comparison { cells: cycles.map(ran).to_vec(), ..repeated.clone() };
    repeated.again = vec![again([1010, 1990, 510, 910, 900, 880]), again([990, 2010, 505, 890, 895, 885])];
    insta::assert_snapshot!(sample::plain(&render(&repeated, &[], false)));
}

#[test]
fn golden_of_one_workload() {
    let mut one = comparison();
    one.workloads.truncate(1);
    one.cells.truncate(3);
    insta::assert_snapshot!(sample::plain(&render(&one, &[], false)));
}

#[test]
fn golden_beside_a_paper() {
    let mut papers = comparison();
    papers.workloads[0] = "lud".into();
    for (column, core) in papers.columns.iter_mut().zip(["inorder", "ghost", "ghost-precise"]) {
        (column.label, column.core, column.gpu) = (core.into(), core.into(), "rtx2060s".into());
    }
    let shown = [Shown::Speedup, Shown::Stalls, Shown::Occupancy, Shown::Lost];
    insta::assert_snapshot!(sample::plain(&render(&papers, &shown, true)));
    papers.workloads.truncate(1);
    papers.cells.truncate(3);
    insta::assert_snapshot!("one_workload_beside_a_paper", sample::plain(&render(&papers, &shown, true)));
    papers.columns.iter_mut().for_each(|column| column.gpu = "titanv".into());
    assert!(sample::plain(&render(&papers, &[], true)).contains("No paper reports"));
}

#[test]
fn speedups_and_means() {
    let mut two = comparison();
    two.cells[4] = ran(450);
    assert_eq!([two.speedup(0, 0), two.speedup(0, 1), two.speedup(1, 1)], [Some(1.0), Some(0.5), Some(2.0)]);
    let mean = two.mean(1);
    assert!((mean.speedup.unwrap() - 1.0).abs() < 1e-12 && mean.workloads == 2, "{mean:?}");
    assert_eq!(two.mean(2).workloads, 1);
}

#[test]
fn the_baseline_is_a_choice() {
    let mut over = comparison();
    over.columns[1].baseline = 1;
    over.columns[2].baseline = 1;
    assert_eq!([over.speedup(0, 0), over.speedup(0, 1), over.speedup(0, 2)], [Some(1.0), Some(1.0), Some(4.0)]);
}

#[test]
fn schedulers_over_one_another_under_each_core() {
    let mut over = comparison();
    let axis = |name: &str, value: &str| Axis { name: name.into(), value: value.into(), is_setting: false };
    let machines = [("inorder", "lrr", 0), ("inorder", "gto", 0), ("ghost", "lrr", 2), ("ghost", "gto", 2)];
    over.columns = machines
        .map(|(core, scheduler, baseline)| Column {
            label: format!("{core} {scheduler}"),
            core: core.into(),
            axes: vec![axis("core", core), axis("scheduler", scheduler)],
            baseline,
            ..column(scheduler)
        })
        .to_vec();
    over.cells = [1000, 800, 1000, 1250, 900, 900, 900, 450].map(ran).to_vec();
    let text = sample::plain(&render(&over, &[Shown::Speedup, Shown::Variation], false));
    assert!(text.contains("Speedup over lrr\n"), "{text}");
    let row = |name: &str| text.lines().rfind(|line| line.trim_start().starts_with(name)).unwrap();
    assert!(
        text.contains("gto over lrr\n") && row("matmul").ends_with("0.450") && row("bfs").ends_with("1.000"),
        "{text}"
    );
    over.cells[3] = Cell::Interrupted(None);
    let text = sample::plain(&render(&over, &[Shown::Variation], false));
    assert!(!text.contains("0.450"), "{text}");
}

#[test]
fn means_beside_a_paper_are_over_the_rows_in_common() {
    let mut papers = comparison();
    papers.workloads = vec!["lud".into(), "matmul".into()];
    papers.columns.truncate(2);
    for (column, core) in papers.columns.iter_mut().zip(["inorder", "ghost"]) {
        (column.label, column.core, column.gpu) = (core.into(), core.into(), "rtx2060s".into());
    }
    papers.cells = vec![ran(1000), ran(800), ran(1000), ran(500)];
    let common = papers.in_common(1).unwrap();
    assert_eq!((common.workloads, common.ours, common.published), (1, 1.25, 1.0832));
    assert!((papers.mean(1).speedup.unwrap() - 2.5_f64.sqrt()).abs() < 1e-12);
    let text = sample::plain(&render(&papers, &[Shown::Speedup], true));
    assert!(text.contains("1.25 of 1") || text.contains("1.250 of 1"), "{text}");
    let mean = text.lines().find(|line| line.trim_start().starts_with("geometric mean")).unwrap();
    assert!(!mean.contains("1.06") && text.contains("1.069 over all 28 of its programs"), "{text}");
    assert!(text.contains("programs of the same name"), "{text}");
}

#[test]
fn what_flatters_a_core_is_said() {
    let mut cores = comparison();
    let none = |c: &Comparison| sample::plain(&render(c, &[], false));
    assert!(!none(&cores).contains("write-after-read"), "one core: nothing to judge");
    for (column, core) in cores.columns.iter_mut().zip(["inorder", "ghost", "loog"]) {
        column.core = core.into();
    }
    let text = none(&cores);
    assert!(text.contains("inorder has no protection") && !text.contains("PTX"), "{text}");
    cores.columns[0].core = "inorder-war-exact".into();
    cores.cells[0] = Cell::Interrupted(None);
    for cell in &mut cores.cells[3..] {
        let Cell::Complete(report) = cell else { continue };
        report.kernels.iter_mut().for_each(|kernel| kernel.code = Form::Ptx);
    }
    let text = none(&cores);
    assert!(!text.contains("no protection") && text.contains("PTX (bfs): virtual registers"), "{text}");
}
