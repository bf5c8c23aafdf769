//! Seven-point stencil in three dimensions.

use crate::bounded::F32;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const WIDE: usize = 32;
const HIGH: usize = 8;

pub(super) const WORKLOAD: Workload = Workload {
    name: "stencil",
    summary: "seven-point stencil on a three-dimensional grid, marching along z",
    character: "registers carry a column, shared memory a plane; weights come from constant memory",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("stencil"),
    parameters: &[
        Parameter::new("nx", "cells along x", [64, 256, 512], 1, 2048),
        Parameter::new("ny", "cells along y", [32, 128, 256], 1, 2048),
        Parameter::new("nz", "cells along z", [8, 16, 48], 1, 256),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (nx, ny, nz) = (run.param("nx"), run.param("ny"), run.param("nz"));
    let cells = run.floats(nx * ny * nz, -1.0, 1.0);
    let weights = run.floats(4, 0.05, 0.25);
    run.write_symbol("weights", &weights)?;
    let input = run.upload("in", &cells)?;
    let output = run.alloc::<f32>("out", cells.len())?;
    let sizes = [nx as i32, ny as i32, nz as i32].map(Into::into);
    let args = [&[input.into(), output.into()][..], &sizes].concat();
    run.launch("stencil", [nx.div_ceil(WIDE), ny.div_ceil(HIGH)], [WIDE, HIGH], &args)?;
    let got = run.download::<f32>(output)?;
    run.check_bounds("out", &got, &apply(&cells, &weights, [nx, ny, nz]));
    Ok(())
}

fn apply(cells: &[f32], weights: &[f32], [nx, ny, nz]: [usize; 3]) -> Vec<F32> {
    let inside = |i: usize, n: usize| i > 0 && i + 1 < n;
    let weight = |i: usize| F32::from(weights[i]);
    let value = |index: usize| {
        let (x, y, z) = (index % nx, index / nx % ny, index / nx / ny);
        let cell = |i: usize| F32::from(cells[i]);
        if !(inside(x, nx) && inside(y, ny) && inside(z, nz)) {
            return cell(index);
        }
        let pair = |step: usize| cell(index - step) + cell(index + step);
        weight(0) * cell(index) + weight(1) * pair(1) + weight(2) * pair(nx) + weight(3) * pair(nx * ny)
    };
    (0..cells.len()).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::Values;

    #[test]
    fn one_inner_cell() {
        let mut cells = vec![0.0; 27];
        (cells[13], cells[12], cells[14], cells[10], cells[22]) = (2.0, 3.0, 4.0, 5.0, 6.0);
        let out = apply(&cells, &[1.0, 10.0, 100.0, 1000.0], [3, 3, 3]).map_values();
        assert_eq!(out[13], 2.0 + 70.0 + 500.0 + 6000.0);
        assert_eq!((out[12], out[22]), (3.0, 6.0), "the rim is copied");
    }
}
