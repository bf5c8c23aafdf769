//! Laplace's equation in space.

use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const TILE: [usize; 2] = [32, 4];

pub(super) const WORKLOAD: Workload = Workload {
    name: "lps",
    summary: "Laplace's equation on a box of points, by sweeps that replace each point by the mean of its neighbours",
    character: "three planes in shared memory, two barriers a plane; the threads of the first warps fetch the rims",
    suite: Suite::Ispass,
    papers: &[("ghost", "LPS"), ("war", "LPS")],
    module: bundled!("lps"),
    parameters: &[
        Parameter::new("nx", "points along x", [40, 100, 128], 1, 2048),
        Parameter::new("ny", "points along y", [10, 100, 128], 1, 2048),
        Parameter::new("nz", "points along z", [20, 100, 128], 1, 2048),
        Parameter::new("sweeps", "sweeps", [1, 1, 4], 1, 1000),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let [nx, ny, nz] = ["nx", "ny", "nz"].map(|name| run.param(name));
    let mut points = run.floats(nx * ny * nz, 0.0, 1.0);
    let mut src = run.upload("points 0", &points)?;
    let mut dst = run.alloc::<f32>("points 1", points.len())?;
    let grid = [nx.div_ceil(TILE[0]), ny.div_ceil(TILE[1])];
    let sizes = [nx, ny, nz].map(|n| (n as i32).into());
    for _ in 0..run.param("sweeps") {
        run.launch("laplace", grid, TILE, &[&[src.into(), dst.into()][..], &sizes].concat())?;
        std::mem::swap(&mut src, &mut dst);
        points = sweep(&points, [nx, ny, nz]);
    }
    let got = run.download::<f32>(src)?;
    run.check(Check::same_bits("points", &got, &points));
    Ok(())
}

/// One sweep, by the kernel's order of additions.
fn sweep(now: &[f32], [nx, ny, nz]: [usize; 3]) -> Vec<f32> {
    let is_inner = |at: usize, n: usize| at > 0 && at + 1 < n;
    let point = |i: usize| {
        let (x, y, z) = (i % nx, i / nx % ny, i / (nx * ny));
        if !(is_inner(x, nx) && is_inner(y, ny) && is_inner(z, nz)) {
            return now[i];
        }
        let plane = nx * ny;
        (now[i - 1] + now[i + 1] + now[i - nx] + now[i + nx] + now[i - plane] + now[i + plane]) * (1.0 / 6.0)
    };
    (0..now.len()).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_becomes_the_mean_and_the_faces_stay() {
        let points: Vec<f32> = (0..27).map(|i| i as f32).collect();
        let after = sweep(&points, [3, 3, 3]);
        assert_eq!(after[13], 13.0);
        assert!((0..27).all(|i| i == 13 || after[i] == points[i]));
        let mut hot = [0.0; 27];
        hot[4] = 6.0;
        assert_eq!(sweep(&hot, [3, 3, 3])[13], 1.0);
    }
}
