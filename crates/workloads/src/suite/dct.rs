//! Discrete cosine transform.

use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const SIDE: usize = 8;

pub(super) const WORKLOAD: Workload = Workload {
    name: "dct",
    summary: "discrete cosine transform of pictures by squares of 8 x 8, each picture a launch of one CTA",
    character: "one CTA of two warps on the GPU at a time; short products of matrices in shared memory with barriers between them",
    suite: Suite::Pagoda,
    papers: &[("ghost", "DCT")],
    module: bundled!("dct"),
    parameters: &[
        Parameter::new("pictures", "pictures", [1, 32, 256], 1, 4096),
        Parameter::new("width", "columns of a picture", [128; 3], 8, 8192).in_steps_of(8),
        Parameter::new("height", "rows of a picture", [96, 128, 128], 8, 8192).in_steps_of(8),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let [count, width, height] = ["pictures", "width", "height"].map(|name| run.param(name));
    let pictures = run.floats(count * width * height, -128.0, 128.0);
    let cosines = cosines();
    run.write_symbol("cosines", cosines.as_flattened())?;
    let (input, out) = (run.upload("pictures", &pictures)?, run.alloc::<f32>("out", pictures.len())?);
    let sizes = [width, height].map(|n| (n as i32).into());
    for picture in 0..count {
        let offset = (picture * width * height * size_of::<f32>()) as u64;
        let places = [input, out].map(|buffer| (buffer.address + offset).into());
        run.launch("dct8x8", 1, [SIDE, SIDE], &[&places[..], &sizes].concat())?;
    }
    let got = run.download::<f32>(out)?;
    let mut expected = vec![0.0; pictures.len()];
    // Rows of all pictures, one picture below the other: squares are in one picture each.
    for corner in (0..count * height).step_by(SIDE).flat_map(|y| (0..width).step_by(SIDE).map(move |x| y * width + x)) {
        let square = std::array::from_fn(|y| std::array::from_fn(|x| pictures[corner + y * width + x]));
        for (y, row) in transformed(&square, &cosines).iter().enumerate() {
            expected[corner + y * width..][..SIDE].copy_from_slice(row);
        }
    }
    run.check(Check::same_bits("out", &got, &expected));
    Ok(())
}

type Square = [[f32; SIDE]; SIDE];

/// The matrix of the transform: by frequency, then by place.
fn cosines() -> Square {
    let angle = |frequency: usize, place: usize| (2 * place + 1) as f64 * frequency as f64 / 16.0;
    let scale = |frequency: usize| if frequency == 0 { 0.125f64.sqrt() } else { 0.5 };
    let entry = |frequency, place| (scale(frequency) * (std::f64::consts::PI * angle(frequency, place)).cos()) as f32;
    std::array::from_fn(|frequency| std::array::from_fn(|place| entry(frequency, place)))
}

/// The matrix times the square times the matrix turned, by the kernel's order of operations.
fn transformed(square: &Square, cosines: &Square) -> Square {
    let sum = |term: &dyn Fn(usize) -> [f32; 2]| (0..SIDE).map(term).fold(0.0f32, |sum, [a, b]| a.mul_add(b, sum));
    let half: Square = std::array::from_fn(|y| std::array::from_fn(|x| sum(&|i| [cosines[y][i], square[i][x]])));
    std::array::from_fn(|y| std::array::from_fn(|x| sum(&|i| [half[y][i], cosines[x][i]])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_squares_have_one_frequency_and_energy_is_kept() {
        let out = transformed(&[[3.0; SIDE]; SIDE], &cosines());
        assert!((out[0][0] - 24.0).abs() < 1e-4);
        assert!(out.as_flattened()[1..].iter().all(|value| value.abs() < 1e-4));
        let square: Square = std::array::from_fn(|y| std::array::from_fn(|x| (x * y % 5) as f32));
        let energy = |square: &Square| square.as_flattened().iter().map(|value| value * value).sum::<f32>();
        let [before, after] = [energy(&square), energy(&transformed(&square, &cosines()))];
        assert!((before - after).abs() < 1e-3 * before);
    }
}
