//! Electrostatic potential of point charges.

use crate::bounded::F32;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

/// Threads of a CTA, and the points of a row that each of them has.
const BLOCK: [usize; 2] = [16, 8];
const UNROLL: usize = 8;
/// Charges that constant memory holds, and that a launch adds.
const MOST_ATOMS: usize = 4000;
/// Distance of neighbouring points.
const SPACING: f32 = 0.1;
/// CUDA's reciprocal square root is accurate to 2 ulp (CUDA C++ Programming Guide, table of single-precision
/// functions).
const RSQRT_ULPS: f64 = 2.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "cp",
    summary: "electrostatic potential of point charges at the points of a plane",
    character: "reciprocal square roots and multiply-adds, eight independent sums a thread; charges in constant memory",
    suite: Suite::Ispass,
    papers: &[("war", "CP")],
    module: bundled!("cp"),
    parameters: &[
        Parameter::new("width", "points of a row", [256, 512, 512], 128, 8192).in_steps_of(128),
        Parameter::new("height", "rows", [16, 128, 512], 8, 8192).in_steps_of(8),
        Parameter::new("atoms", "charges; a launch adds up to 4000", [60, 100, 200], 1, 1 << 20),
    ],
    body,
};

/// A charge: x, y, square of its distance from the plane, charge.
type Atom = [f32; 4];

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (width, height) = (run.param("width"), run.param("height"));
    let [right, top] = [width, height].map(|points| SPACING * points as f32);
    let place = |run: &mut Run<'_>| -> Atom {
        let distance = run.float(0.5, 4.0);
        [run.float(0.0, right), run.float(0.0, top), distance * distance, run.float(-1.0, 1.0)]
    };
    let atoms: Vec<Atom> = (0..run.param("atoms")).map(|_| place(run)).collect();
    let grid = run.zeroed::<f32>("potential", width * height)?;
    let ctas = [width / (BLOCK[0] * UNROLL), height / BLOCK[1]];
    for part in atoms.chunks(MOST_ATOMS) {
        run.write_symbol("atoms", part.as_flattened())?;
        run.launch("potential", ctas, BLOCK, &[(part.len() as i32).into(), SPACING.into(), grid.into()])?;
    }
    let got = run.download::<f32>(grid)?;
    run.check_bounds("potential", &got, &potential(&atoms, [width, height]));
    Ok(())
}

/// Potential at each point: by launches, within one by charges.
fn potential(atoms: &[Atom], [width, height]: [usize; 2]) -> Vec<F32> {
    let [spacing, columns] = [SPACING, BLOCK[0] as f32].map(F32::from);
    let step = spacing * columns;
    let mut grid = vec![F32::exact(0.0); width * height];
    for part in atoms.chunks(MOST_ATOMS) {
        for (row, points) in grid.chunks_exact_mut(width).enumerate() {
            let y = spacing * F32::from(row as f32);
            let mut sums = vec![F32::exact(0.0); width];
            for &[atom_x, atom_y, beside, charge] in part {
                let dy = y - atom_y.into();
                let beside = dy * dy + beside.into();
                for cta in sums.chunks_exact_mut(BLOCK[0] * UNROLL).zip((0..).step_by(BLOCK[0] * UNROLL)) {
                    for thread in 0..BLOCK[0] {
                        let mut dx = spacing * F32::from((cta.1 + thread) as f32) - atom_x.into();
                        for i in 0..UNROLL {
                            let sum = &mut cta.0[i * BLOCK[0] + thread];
                            *sum = *sum + F32::from(charge) * (dx * dx + beside).rsqrt(RSQRT_ULPS);
                            dx = dx + step;
                        }
                    }
                }
            }
            points.iter_mut().zip(sums).for_each(|(point, sum)| *point = *point + sum);
        }
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charge_by_distance() {
        // Below the point in column 20 of row 3.
        let grid = potential(&[[2.0, 0.3, 4.0, 3.0]], [128, 8]);
        let at = |column: usize, row: usize| grid[128 * row + column];
        assert!((at(20, 3).value() - 1.5).abs() < 1e-6 && at(20, 3).error() < 1e-5);
        let away = (4.0f64 + 1.0 + 0.09).sqrt();
        assert!((at(30, 6).value() - 3.0 / away).abs() < 1e-6);
    }

    #[test]
    fn charges_add_up_over_launches() {
        let atom = [1.0, 1.0, 1.0, 0.5];
        let one = potential(&[atom], [128, 8])[0].value();
        let many = potential(&vec![atom; MOST_ATOMS + 1], [128, 8])[0].value();
        assert!((many / one - (MOST_ATOMS + 1) as f64).abs() < 1e-6);
    }
}
