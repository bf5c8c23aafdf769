//! Gravity between all pairs of bodies in double precision.

use crate::bounded::F64;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const SOFTENING: f64 = 1e-3;
/// x, y, z, mass.
const FIELDS: usize = 4;

pub(super) const WORKLOAD: Workload = Workload {
    name: "nbody",
    summary: "accelerations of bodies that attract each other, in double precision",
    character: "double-precision arithmetic, square roots and divisions; dynamic shared memory",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("nbody"),
    parameters: &[
        Parameter::new("bodies", "bodies", [256, 1024, 4096], 1, 1 << 17),
        Parameter::new("block", "threads per CTA", [64; 3], 1, 512),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, block) = (run.param("bodies"), run.param("block"));
    let mut coordinate = |low, high| f64::from(run.float(low, high));
    let bodies: Vec<f64> = (0..count)
        .flat_map(|_| [coordinate(-1.0, 1.0), coordinate(-1.0, 1.0), coordinate(-1.0, 1.0), coordinate(0.1, 1.0)])
        .collect();
    let input = run.upload("body", &bodies)?;
    let outputs = ["ax", "ay", "az"];
    let mut buffers = Vec::new();
    for name in outputs {
        buffers.push(run.alloc::<f64>(name, count)?);
    }
    let mut args = vec![input.into()];
    args.extend(buffers.iter().map(|&b| b.into()));
    args.extend([(count as i32).into(), SOFTENING.into()]);
    let shared = (block * FIELDS * size_of::<f64>()) as u32;
    run.launch_with_shared("accelerations", count.div_ceil(block), block, shared, &args)?;

    let expected = accelerations(&bodies);
    for (axis, name) in outputs.iter().enumerate() {
        let got = run.download::<f64>(buffers[axis])?;
        run.check_bounds(name, &got, &expected[axis]);
    }
    Ok(())
}

/// By axis, then by body.
fn accelerations(bodies: &[f64]) -> [Vec<F64>; 3] {
    let mut sums = [const { Vec::new() }; 3];
    for me in bodies.chunks_exact(FIELDS) {
        let mut pulls = [F64::exact(0.0); 3];
        for other in bodies.chunks_exact(FIELDS) {
            let away: [F64; 3] = std::array::from_fn(|axis| F64::exact(other[axis]) - F64::exact(me[axis]));
            let [x, y, z] = away;
            let squared = x * x + y * y + z * z + F64::exact(SOFTENING);
            let pull = F64::exact(other[3]) / (squared * squared.sqrt());
            pulls.iter_mut().zip(away).for_each(|(sum, distance)| *sum = *sum + distance * pull);
        }
        sums.iter_mut().zip(pulls).for_each(|(axis, pull)| axis.push(pull));
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bodies_attract_each_other() {
        let [x, y, z] = accelerations(&[0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 3.0]);
        let expected = 3.0 * 2.0 / (4.0f64 + SOFTENING).powf(1.5);
        assert!((x[0].value() - expected).abs() < 1e-14);
        assert!((x[1].value() + expected / 3.0).abs() < 1e-14);
        assert_eq!((y[0].value(), z[1].value()), (0.0, 0.0));
        assert!(x[0].error() < 1e-14);
    }
}
