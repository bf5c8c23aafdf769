//! The Mandelbrot set.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

pub(super) const WORKLOAD: Workload = Workload {
    name: "mandelbrot",
    summary: "parts of the Mandelbrot set, each a launch of one CTA",
    character: "one CTA on the GPU at a time; a chain of multiply-adds in a loop that each thread leaves at its own time",
    suite: Suite::Pagoda,
    papers: &[("ghost", "MND")],
    module: bundled!("mandelbrot"),
    parameters: &[
        Parameter::new("pictures", "pictures", [4, 64, 640], 1, 1 << 16),
        Parameter::new("side", "points along an edge of a picture", [16, 32, 32], 1, 1024),
        Parameter::new("most", "steps at most", [100; 3], 1, 1 << 20),
        Parameter::new("block", "threads per CTA", [128; 3], 1, 1024),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let [count, side, most, block] = ["pictures", "side", "most", "block"].map(|name| run.param(name));
    // The set is between -2 and 0.5, and between -1.2 and 1.2.
    let picture = |run: &mut Run<'_>| [run.float(-2.0, 0.3), run.float(-1.2, 1.0), run.float(0.2, 1.0) / side as f32];
    let pictures: Vec<[f32; 3]> = (0..count).map(|_| picture(run)).collect();
    let input = run.upload("pictures", pictures.as_flattened())?;
    let steps = run.zeroed::<i32>("steps", count * side * side)?;
    let sizes = [side, most].map(|n| (n as i32).into());
    for number in 0..count {
        let picture = input.address + (number * size_of_val(&pictures[0])) as u64;
        let out = steps.address + (number * side * side * size_of::<i32>()) as u64;
        run.launch("mandelbrot", 1, block, &[&[picture.into(), out.into()][..], &sizes].concat())?;
    }
    let got = run.download::<i32>(steps)?;
    let expected: Vec<i32> = pictures.iter().flat_map(|&place| steps_in(place, side, most)).collect();
    run.check_equal("steps", &got, &expected);
    Ok(())
}

/// The steps of all points of a picture, from its lower left corner and the distance of points.
pub(super) fn steps_in([x, y, distance]: [f32; 3], side: usize, most: usize) -> impl Iterator<Item = i32> {
    let start = move |i: usize| [((i % side) as f32).mul_add(distance, x), ((i / side) as f32).mul_add(distance, y)];
    (0..side * side).map(move |i| steps_of(start(i), most as i32))
}

/// Steps after which a point leaves the circle of radius 2; `most` if it does not before.
fn steps_of([real, imaginary]: [f32; 2], most: i32) -> i32 {
    let (mut x, mut y) = (0.0f32, 0.0f32);
    for count in 0..most {
        if x.mul_add(x, y * y) > 4.0 {
            return count;
        }
        (x, y) = (x.mul_add(x, (-y).mul_add(y, real)), (2.0 * x).mul_add(y, imaginary));
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_and_outside() {
        assert_eq!(steps_of([0.0, 0.0], 1000), 1000);
        assert_eq!(steps_of([-1.0, 0.0], 1000), 1000);
        // 0, 1, 2, 5: the circle itself is inside.
        assert_eq!(steps_of([1.0, 0.0], 1000), 3);
    }
}
