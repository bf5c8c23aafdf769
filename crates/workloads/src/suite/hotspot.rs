//! Heat on a chip.

use crate::bounded::F32;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const SIDE: usize = 16;
const AMBIENT: f32 = 300.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "hotspot",
    summary: "temperature of a chip over time: a five-point stencil, several steps per launch",
    character: "tiles whose valid part shrinks with each step: barriers, and divergence at the rims",
    suite: Suite::Rodinia,
    papers: &[("socgpu", "hotspot"), ("scalar", "HotSpot")],
    module: bundled!("hotspot"),
    parameters: &[
        Parameter::new("rows", "rows of cells", [64, 256, 512], 1, 16384),
        Parameter::new("cols", "columns of cells", [64, 256, 512], 1, 16384),
        Parameter::new("steps", "time steps", [4, 4, 10], 1, 10000),
        Parameter::new("pyramid", "time steps per launch", [2; 3], 1, 7),
    ],
    body,
};

/// The chip's constants as the kernel takes them.
#[derive(Clone, Copy)]
struct Chip {
    step_over_cap: f32,
    inv_rx: f32,
    inv_ry: f32,
    inv_rz: f32,
}

impl Chip {
    /// A silicon die of 16 mm x 16 mm x 0.5 mm cut into cells, with half the longest stable step.
    fn new(rows: usize, cols: usize) -> Self {
        const SIDE_M: f64 = 0.016;
        const THICK_M: f64 = 0.0005;
        // Of silicon when hot, in W/(m K).
        const CONDUCTIVITY: f64 = 100.0;
        let (width, height) = (SIDE_M / cols as f64, SIDE_M / rows as f64);
        let inv_rx = 2.0 * CONDUCTIVITY * THICK_M * height / width;
        let inv_ry = 2.0 * CONDUCTIVITY * THICK_M * width / height;
        let inv_rz = CONDUCTIVITY * height * width / THICK_M;
        let step_over_cap = 0.5 / (2.0 * inv_rx + 2.0 * inv_ry + inv_rz);
        Self {
            step_over_cap: step_over_cap as f32,
            inv_rx: inv_rx as f32,
            inv_ry: inv_ry as f32,
            inv_rz: inv_rz as f32,
        }
    }
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (rows, cols) = (run.param("rows"), run.param("cols"));
    let (steps, pyramid) = (run.param("steps"), run.param("pyramid"));
    let chip = Chip::new(rows, cols);
    let heat = run.floats(rows * cols, 0.0, 0.25);
    let start = run.floats(rows * cols, 320.0, 340.0);

    let power = run.upload("power", &heat)?;
    let mut src = run.upload("temperature 0", &start)?;
    let mut dst = run.alloc::<f32>("temperature 1", rows * cols)?;
    let mut done = 0;
    while done < steps {
        let now = pyramid.min(steps - done);
        let inner = SIDE - 2 * now;
        let sizes = [cols as i32, rows as i32, now as i32].map(Into::into);
        let constants = [chip.step_over_cap, chip.inv_rx, chip.inv_ry, chip.inv_rz, AMBIENT].map(Into::into);
        let args = [&[power.into(), src.into(), dst.into()][..], &sizes, &constants].concat();
        run.launch("hotspot", [cols.div_ceil(inner), rows.div_ceil(inner)], [SIDE, SIDE], &args)?;
        std::mem::swap(&mut src, &mut dst);
        done += now;
    }
    let got = run.download::<f32>(src)?;
    run.check_bounds("temperature", &got, &simulate(&heat, &start, rows, cols, steps, chip));
    Ok(())
}

/// All time steps on the whole grid.
///
/// The exact step is a mean of five temperatures with weights that are not negative (the time step
/// is half the longest stable one), so it carries on at most the largest of their errors; the
/// bound of a cell is that plus the rounding errors of the step itself. Plain running error
/// analysis would not see that the centre's two weights nearly cancel, and double each step.
fn simulate(power: &[f32], start: &[f32], rows: usize, cols: usize, steps: usize, chip: Chip) -> Vec<F32> {
    let [step, inv_rx, inv_ry, inv_rz, ambient, two] =
        [chip.step_over_cap, chip.inv_rx, chip.inv_ry, chip.inv_rz, AMBIENT, 2.0].map(F32::from);
    let mut now: Vec<F32> = start.iter().map(|&t| t.into()).collect();
    for _ in 0..steps {
        let cell = |index: usize| {
            let (y, x) = (index / cols, index % cols);
            let centre = now[index];
            let north = now[if y > 0 { index - cols } else { index }];
            let south = now[if y < rows - 1 { index + cols } else { index }];
            let west = now[if x > 0 { index - 1 } else { index }];
            let east = now[if x < cols - 1 { index + 1 } else { index }];
            let five = [centre, north, south, west, east];
            let carried = five.iter().map(|t| t.error()).fold(0.0, f64::max);
            let [centre, north, south, west, east] = five.map(|t| F32::exact(t.value()));
            let flow_y = (south + north - two * centre) * inv_ry;
            let flow_x = (east + west - two * centre) * inv_rx;
            let flow_z = (ambient - centre) * inv_rz;
            let next = centre + step * (F32::from(power[index]) + flow_y + flow_x + flow_z);
            // The device rounds values that differ from ours by far less than one part in 4096.
            F32::with_error(next.value(), next.error() * (1.0 + 1.0 / 4096.0) + carried)
        };
        now = (0..rows * cols).map(cell).collect();
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_at_ambient_without_power_stays_so() {
        let chip = Chip::new(3, 4);
        let end = simulate(&[0.0; 12], &[AMBIENT; 12], 3, 4, 5, chip);
        assert!(end.iter().all(|t| t.value() == f64::from(AMBIENT)));
    }

    #[test]
    fn heat_spreads_to_the_neighbours_alone() {
        let chip = Chip { inv_rz: 0.0, ..Chip::new(3, 3) };
        let mut start = [300.0; 9];
        start[4] = 310.0;
        let end: Vec<f64> = simulate(&[0.0; 9], &start, 3, 3, 1, chip).iter().map(|t| t.value()).collect();
        assert!(end[4] < 310.0 && end[1] > 300.0 && end[3] > 300.0 && end[0] == 300.0);
        let total: f64 = end.iter().sum();
        assert!((total - 2710.0).abs() < 1e-9, "without loss to the air heat is kept: {total}");
    }

    #[test]
    fn bounds_stay_small() {
        let start: Vec<f32> = (0..64).map(|i| 320.0 + (i % 7) as f32).collect();
        let end = simulate(&[0.1; 64], &start, 8, 8, 20, Chip::new(8, 8));
        assert!(end.iter().all(|t| t.error() < 2e-3), "{:?}", end[0]);
    }
}
