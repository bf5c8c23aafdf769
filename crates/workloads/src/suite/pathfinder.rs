//! Cheapest path down a grid.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const WIDTH: usize = 256;

pub(super) const WORKLOAD: Workload = Workload {
    name: "pathfinder",
    summary: "cheapest path down a grid: dynamic programming, many rows per launch",
    character: "two barriers per row and integer minima in shared memory; wide halos do work twice",
    suite: Suite::Rodinia,
    papers: &[("socgpu", "pathfinder"), ("war", "PFR"), ("scalar", "pathfinder")],
    module: bundled!("pathfinder"),
    parameters: &[
        Parameter::new("cols", "columns", [2048, 20000, 100_000], 1, 1 << 20),
        Parameter::new("rows", "rows", [21, 61, 141], 2, 1024),
        Parameter::new("pyramid", "rows per launch", [20; 3], 1, 120),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (cols, rows, pyramid) = (run.param("cols"), run.param("rows"), run.param("pyramid"));
    let grid = run.integers::<i32>(cols * rows, 0, 9);
    let wall = run.upload("wall", &grid)?;
    let mut src = run.upload("result 0", &grid[..cols])?;
    let mut dst = run.alloc::<i32>("result 1", cols)?;
    for first_row in (1..rows).step_by(pyramid) {
        let steps = pyramid.min(rows - first_row);
        let inner = WIDTH - 2 * steps;
        let sizes = [cols as i32, steps as i32, first_row as i32].map(Into::into);
        let args = [&[wall.into(), src.into(), dst.into()][..], &sizes].concat();
        run.launch("pathfinder", cols.div_ceil(inner), WIDTH, &args)?;
        std::mem::swap(&mut src, &mut dst);
    }
    let got = run.download::<i32>(src)?;
    run.check_equal("result", &got, &cheapest(&grid, cols));
    Ok(())
}

/// Cost of the cheapest path that ends in each column of the last row.
fn cheapest(grid: &[i32], cols: usize) -> Vec<i32> {
    let mut rows = grid.chunks_exact(cols);
    let mut now = rows.next().expect("a row at least").to_vec();
    for row in rows {
        let reach = |x: usize| now[x.saturating_sub(1)..(x + 2).min(cols)].iter().min().expect("not empty");
        now = row.iter().enumerate().map(|(x, &cost)| cost + reach(x)).collect();
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rows() {
        let grid = [1, 9, 9, 9, 9, 1, 9, 9, 9, 9, 1, 9];
        // 1, then diagonally 1, then diagonally 1.
        assert_eq!(cheapest(&grid, 4), [11, 11, 3, 27]);
        assert_eq!(cheapest(&[1, 2, 3], 1), [6]);
    }
}
