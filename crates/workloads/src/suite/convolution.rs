//! Separable convolution.

use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const RADIUS: usize = 8;
const THREADS: usize = 128;

pub(super) const WORKLOAD: Workload = Workload {
    name: "convolution",
    summary: "separable convolution of pictures, 17 taps along rows, then along columns, each a launch of one CTA",
    character: "one CTA on the GPU at a time; of each sum all reads are independent, its additions are a chain",
    suite: Suite::Pagoda,
    papers: &[("ghost", "CNV")],
    module: bundled!("convolution"),
    parameters: &[
        Parameter::new("pictures", "pictures", [1, 16, 128], 1, 4096),
        Parameter::new("width", "columns of a picture", [128; 3], 1, 8192),
        Parameter::new("height", "rows of a picture", [40, 128, 128], 1, 8192),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let [count, width, height] = ["pictures", "width", "height"].map(|name| run.param(name));
    let pictures = run.floats(count * width * height, 0.0, 1.0);
    let taps = run.floats(2 * RADIUS + 1, -0.5, 1.0);
    run.write_symbol("taps", &taps)?;
    let input = run.upload("pictures", &pictures)?;
    let [half, out] = ["half", "out"].map(|name| run.alloc::<f32>(name, pictures.len()));
    let (half, out) = (half?, out?);
    let sizes = [width, height].map(|n| (n as i32).into());
    for picture in 0..count {
        let offset = (picture * width * height * size_of::<f32>()) as u64;
        for (kernel, from, to) in [("convolve_rows", input, half), ("convolve_columns", half, out)] {
            let places = [from, to].map(|buffer| (buffer.address + offset).into());
            run.launch(kernel, 1, THREADS, &[&places[..], &sizes].concat())?;
        }
    }
    let expected: Vec<f32> = pictures
        .chunks_exact(width * height)
        .flat_map(|picture| convolved(&convolved(picture, &taps, width, 1), &taps, height, width))
        .collect();
    let got = run.download::<f32>(out)?;
    run.check(Check::same_bits("out", &got, &expected));
    Ok(())
}

/// Lines of `length` values that are `stride` apart, convolved with the taps; beyond their ends is zero.
fn convolved(values: &[f32], taps: &[f32], length: usize, stride: usize) -> Vec<f32> {
    let point = |i: usize| {
        let (at, reach) = (i / stride % length, RADIUS as isize);
        let tap = |sum: f32, away: isize| {
            let inside = at.checked_add_signed(away).is_some_and(|place| place < length);
            let value = if inside { values[i.wrapping_add_signed(away * stride as isize)] } else { 0.0 };
            taps[(reach - away) as usize].mul_add(value, sum)
        };
        (-reach..=reach).fold(0.0, tap)
    };
    (0..values.len()).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_becomes_the_taps() {
        let taps: Vec<f32> = (0..17).map(|tap| tap as f32).collect();
        // Two lines of 20, of which the second has a one at 5.
        let mut values = [0.0; 40];
        values[2 * 5 + 1] = 1.0;
        let out = convolved(&values, &taps, 20, 2);
        assert!((0..20).all(|i| out[2 * i] == 0.0));
        assert!((0..20).all(|i| out[2 * i + 1] == if i + 8 >= 5 && i <= 13 { (i + 3) as f32 } else { 0.0 }));
    }
}
