//! Particles in boxes that act on the particles of the boxes around.

use crate::bounded::F64;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

/// The potential of a unit charge at a distance r is exp(-DECAY r^2).
const DECAY: f64 = 0.5;
/// x, y, z, charge; of a result force x, y, z, potential.
const FIELDS: usize = 4;
/// A box and those that it touches.
const MOST_NEIGHBOURS: usize = 27;

pub(super) const WORKLOAD: Workload = Workload {
    name: "lavamd",
    summary: "forces between the particles of neighbouring boxes in space, in double precision",
    character: "double-precision arithmetic and exponentials; uniform reads of shared memory",
    suite: Suite::Rodinia,
    papers: &[("ghost", "LAV"), ("scalar", "LavaMD")],
    module: bundled!("lavamd"),
    parameters: &[
        Parameter::new("boxes", "boxes along each of the three dimensions", [2, 4, 5], 1, 64),
        Parameter::new("particles", "particles in a box", [28, 28, 60], 1, 1024),
        Parameter::new("block", "threads per CTA", [32, 32, 64], 1, 512),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (side, per_box, block) = (run.param("boxes"), run.param("particles"), run.param("block"));
    let boxes = side.pow(3);
    let mut particles = Vec::with_capacity(boxes * per_box * FIELDS);
    for number in 0..boxes {
        for _ in 0..per_box {
            // A box is 1 wide.
            particles.extend(place(number, side).map(|corner| corner as f64 + f64::from(run.float(0.0, 1.0))));
            particles.push(run.float(0.1, 1.0).into());
        }
    }
    let lists = neighbours(side);
    let counts: Vec<i32> = lists.iter().map(|list| list.len() as i32).collect();
    let table: Vec<i32> = lists
        .iter()
        .flat_map(|list| list.iter().map(|&number| number as i32).chain(std::iter::repeat(-1)).take(MOST_NEIGHBOURS))
        .collect();

    let (input, table) = (run.upload("particle", &particles)?, run.upload("neighbours", &table)?);
    let counts = run.upload("neighbour count", &counts)?;
    let result = run.alloc::<f64>("result", particles.len())?;
    let args = [input.into(), table.into(), counts.into(), result.into(), (per_box as i32).into(), DECAY.into()];
    let shared = (per_box * FIELDS * size_of::<f64>()) as u32;
    run.launch_with_shared("box_forces", boxes, block, shared, &args)?;
    let got = run.download::<f64>(result)?;
    run.check_bounds("result", &got, &forces(&particles, per_box, &lists));
    Ok(())
}

/// Where a box is in the grid.
fn place(number: usize, side: usize) -> [usize; 3] {
    [number % side, number / side % side, number / (side * side)]
}

/// The boxes around each box and itself, in order.
fn neighbours(side: usize) -> Vec<Vec<usize>> {
    let near = |at: usize| at.saturating_sub(1)..=(at + 1).min(side - 1);
    let around = |home| {
        let [x, y, z] = place(home, side);
        let rows = near(z).flat_map(|z| near(y).map(move |y| (z * side + y) * side));
        rows.flat_map(|row| near(x).map(move |x| row + x)).collect()
    };
    (0..side.pow(3)).map(around).collect()
}

/// Force and potential at each particle.
fn forces(particles: &[f64], per_box: usize, neighbours: &[Vec<usize>]) -> Vec<F64> {
    let mut results = Vec::with_capacity(particles.len());
    for (me, number) in particles.chunks_exact(FIELDS).zip(0..) {
        let mut sums = [F64::exact(0.0); FIELDS];
        for near in &neighbours[number / per_box] {
            let in_box = &particles[near * per_box * FIELDS..][..per_box * FIELDS];
            for other in in_box.chunks_exact(FIELDS) {
                let away: [F64; 3] = std::array::from_fn(|axis| F64::exact(me[axis]) - F64::exact(other[axis]));
                let [x, y, z] = away;
                let squared = x * x + y * y + z * z;
                // CUDA's exponential is accurate to 1 ulp (CUDA C++ Programming Guide, table of
                // double-precision functions).
                let potential = F64::exact(other[3]) * (F64::exact(-DECAY) * squared).exp(1.0);
                let push = F64::exact(2.0 * DECAY) * potential;
                sums.iter_mut().zip(away).for_each(|(sum, distance)| *sum = *sum + distance * push);
                sums[3] = sums[3] + potential;
            }
        }
        results.extend(sums);
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_edges_faces_and_the_middle() {
        let lists = neighbours(3);
        assert_eq!([0, 1, 4, 13].map(|number: usize| lists[number].len()), [8, 12, 18, 27]);
        assert_eq!(lists[1], [0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14]);
        assert_eq!(neighbours(1), [[0]]);
    }

    #[test]
    fn two_particles_push_each_other_apart() {
        let result = forces(&[0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 3.0], 2, &neighbours(1));
        let values: Vec<f64> = result.iter().map(|r| r.value()).collect();
        let one = (-4.0 * DECAY).exp();
        let expected = [-12.0 * DECAY * one, 0.0, 0.0, 1.0 + 3.0 * one, 4.0 * DECAY * one, 0.0, 0.0, 3.0 + one];
        assert!(values.iter().zip(expected).all(|(got, want)| (got - want).abs() < 1e-14), "{values:?}");
        assert!(result.iter().all(|r| r.error() < 1e-14));
    }

    #[test]
    fn boxes_further_away_do_not_count() {
        // One particle in each of 27 boxes: from one corner box only 7 others are seen.
        let particles: Vec<f64> = (0..27)
            .flat_map(|number| {
                let [x, y, z] = place(number, 3).map(|corner| corner as f64);
                [x, y, z, 1.0]
            })
            .collect();
        let potential = forces(&particles, 1, &neighbours(3))[3].value();
        let along = 1.0 + (-DECAY).exp();
        assert!((potential - along.powi(3)).abs() < 1e-14, "{potential}");
    }
}
