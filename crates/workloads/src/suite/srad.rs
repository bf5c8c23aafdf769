//! Smoothing of speckled images.

use crate::bounded::F32;
use crate::bundled;
use crate::device::Buffer;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 512;
const RATE: f32 = 0.5;
/// CUDA's exponential and logarithm are accurate to 2 and 1 ulp (CUDA C++ Programming Guide, table of single-precision
/// functions).
const EXP_ULPS: f64 = 2.0;
const LN_ULPS: f64 = 1.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "srad",
    summary: "speckle-reducing anisotropic diffusion of an image (Rodinia's srad_v1)",
    character: "six kernels, most of them streaming; divisions, neighbours by tables, sums by a tree of halves",
    suite: Suite::Rodinia,
    papers: &[("ghost", "SRA"), ("socgpu", "srad_v1")],
    module: bundled!("srad"),
    parameters: &[
        Parameter::new("rows", "rows of the image", [32, 251, 502], 4, 8192),
        Parameter::new("cols", "columns of the image", [64, 229, 458], 4, 8192),
        Parameter::new("steps", "steps of diffusion", [1, 2, 5], 1, 1000),
    ],
    body,
};

/// Buffers of a pixel's worth each.
struct Buffers {
    image: Buffer,
    sums: [Buffer; 2],
    /// Differences from the neighbours north, south, west and east.
    differences: [Buffer; 4],
    coefficients: Buffer,
}

/// Places of the neighbours by row and by column; at the edge a pixel is its own neighbour.
struct Neighbours {
    north: Vec<i32>,
    south: Vec<i32>,
    west: Vec<i32>,
    east: Vec<i32>,
}

impl Neighbours {
    fn new(rows: usize, cols: usize) -> Self {
        let before = |count: usize| (0..count as i32).map(|i| (i - 1).max(0)).collect();
        let after = |count: usize| (0..count as i32).map(|i| (i + 1).min(count as i32 - 1)).collect();
        Self { north: before(rows), south: after(rows), west: before(cols), east: after(cols) }
    }

    /// Those of a pixel of an image that is stored by columns: north, south, west, east.
    fn of(&self, i: usize) -> [usize; 4] {
        let rows = self.north.len();
        let (row, column) = (i % rows, i / rows);
        let at = |row: i32, column: i32| row as usize + rows * column as usize;
        let (own_row, own_column) = (row as i32, column as i32);
        [
            at(self.north[row], own_column),
            at(self.south[row], own_column),
            at(own_row, self.west[column]),
            at(own_row, self.east[column]),
        ]
    }
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (rows, cols) = (run.param("rows"), run.param("cols"));
    let (count, steps) = (rows * cols, run.param("steps"));
    let start: Vec<f32> = run.integers::<u8>(count, 1, 255).into_iter().map(f32::from).collect();
    let neighbours = Neighbours::new(rows, cols);
    let Neighbours { north, south, west, east } = &neighbours;
    let [north, south] = [("north", north), ("south", south)].map(|(name, table)| run.upload(name, table));
    let [west, east] = [("west", west), ("east", east)].map(|(name, table)| run.upload(name, table));
    let (north, south, west, east) = (north?, south?, west?, east?);
    let image = run.upload("image", &start)?;
    let mut pixels = |name| run.alloc::<f32>(name, count);
    let buffers = Buffers {
        image,
        sums: [pixels("sums")?, pixels("squares")?],
        differences: [pixels("to north")?, pixels("to south")?, pixels("to west")?, pixels("to east")?],
        coefficients: pixels("coefficients")?,
    };
    let (ctas, size) = (count.div_ceil(THREADS), (count as i32).into());
    let differences = buffers.differences.map(Into::into);

    run.launch("extract", ctas, THREADS, &[image.into(), Clone::clone(&size)])?;
    let mut before = run.download::<f32>(image)?;
    let exponential = |&grey: &f32| (F32::from(grey) / F32::from(255.0)).exp(EXP_ULPS);
    run.check_bounds("extracted", &before, &start.iter().map(exponential).collect::<Vec<_>>());
    for _ in 0..steps {
        let sums = sum_up(run, &buffers, &before)?;
        // The host's part: how speckled the image is.
        let mean = sums[0] / count as f32;
        let speckle = (sums[1] / count as f32 - mean * mean) / (mean * mean);
        let tables = [north, south, west, east].map(Into::into);
        let sizes = [(rows as i32).into(), Clone::clone(&size)];
        let coefficients = [buffers.coefficients.into()];
        let args = [&[image.into()][..], &tables, &differences, &coefficients, &sizes, &[speckle.into()]].concat();
        run.launch("srad1", ctas, THREADS, &args)?;
        let tables = [south, east].map(Into::into);
        let args = [&[image.into()][..], &tables, &differences, &coefficients, &sizes, &[RATE.into()]].concat();
        run.launch("srad2", ctas, THREADS, &args)?;

        // Each kernel from what the device had before it, so that errors do not add up.
        let mut got = Vec::new();
        for buffer in buffers.differences {
            got.push(run.download::<f32>(buffer)?);
        }
        let got_coefficients = run.download::<f32>(buffers.coefficients)?;
        let diffusion = (0..count).map(|i| diffusion(&before, neighbours.of(i), i, speckle)).collect::<Vec<_>>();
        for (direction, name) in ["to north", "to south", "to west", "to east"].into_iter().enumerate() {
            let expected: Vec<F32> = diffusion.iter().map(|(differences, _)| differences[direction]).collect();
            run.check_bounds(name, &got[direction], &expected);
        }
        run.check_bounds("coefficients", &got_coefficients, &diffusion.iter().map(|(_, c)| *c).collect::<Vec<_>>());
        let after = run.download::<f32>(image)?;
        let step = |i: usize| {
            let [_, below, _, right] = neighbours.of(i);
            let coefficients = [i, below, i, right].map(|at| got_coefficients[at]);
            let flows = [0, 1, 2, 3].map(|direction| F32::exact_product(coefficients[direction], got[direction][i]));
            let divergence = flows.into_iter().reduce(|sum, flow| sum + flow).unwrap_or(F32::exact(0.0));
            F32::from(before[i]) + F32::from(0.25 * RATE) * divergence
        };
        run.check_bounds("image", &after, &(0..count).map(step).collect::<Vec<_>>());
        before = after;
    }
    run.launch("compress", ctas, THREADS, &[image.into(), size])?;
    let got = run.download::<f32>(image)?;
    let logarithm = |&pixel: &f32| F32::from(pixel).ln(LN_ULPS) * F32::from(255.0);
    run.check_bounds("compressed", &got, &before.iter().map(logarithm).collect::<Vec<_>>());
    Ok(())
}

/// Sums of the pixels and of their squares, by as many launches as it takes.
fn sum_up(run: &mut Run<'_>, buffers: &Buffers, pixels: &[f32]) -> Result<[f32; 2], WorkloadError> {
    let [sums, squares] = buffers.sums;
    let count = pixels.len();
    let args = [buffers.image, sums, squares].map(Into::into);
    run.launch("prepare", count.div_ceil(THREADS), THREADS, &[&args[..], &[(count as i32).into()]].concat())?;
    let (mut left, mut stride) = (count, 1);
    loop {
        let ctas = left.div_ceil(THREADS);
        let sizes = [left, stride].map(|n| (n as i32).into());
        run.launch("reduce", ctas, THREADS, &[&[sums.into(), squares.into()][..], &sizes].concat())?;
        if ctas == 1 {
            break;
        }
        (left, stride) = (ctas, stride * THREADS);
    }
    let got = [run.download::<f32>(sums)?[0], run.download::<f32>(squares)?[0]];
    let of = |square: bool| {
        let term = |&pixel: &f32| if square { F32::exact_product(pixel, pixel) } else { pixel.into() };
        tree_sum(pixels.iter().map(term).collect())
    };
    run.check_bounds("sums", &got, &[of(false), of(true)]);
    Ok(got)
}

/// The sum by the tree of the kernels: of CTAs, then of CTAs of their sums.
fn tree_sum(mut terms: Vec<F32>) -> F32 {
    while terms.len() > 1 {
        let of_cta = |cta: &[F32]| {
            let mut terms = cta.to_vec();
            terms.resize(THREADS, F32::exact(0.0));
            while terms.len() > 1 {
                terms = terms.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
            }
            terms[0]
        };
        terms = terms.chunks(THREADS).map(of_cta).collect();
    }
    terms[0]
}

/// A pixel's differences from its neighbours, and its coefficient.
fn diffusion(image: &[f32], neighbours: [usize; 4], i: usize, speckle: f32) -> ([F32; 4], F32) {
    let here = F32::from(image[i]);
    let differences = neighbours.map(|at| F32::from(image[at]) - here);
    let add = |a: F32, b: F32| a + b;
    let [n, s, w, e] = differences;
    let gradient = [n * n, s * s, w * w, e * e].into_iter().reduce(add).unwrap_or(n) / (here * here);
    let laplace = differences.into_iter().reduce(add).unwrap_or(n) / here;
    let one = F32::exact(1.0);
    let above = F32::from(0.5) * gradient - F32::from(0.0625) * (laplace * laplace);
    let below = one + F32::from(0.25) * laplace;
    let speckle = F32::from(speckle);
    let excess = (above / (below * below) - speckle) / (speckle * (one + speckle));
    let coefficient = one / (one + excess);
    // Cut off to 0 to 1 on the device as well, which takes it no further from ours.
    (differences, F32::with_error(coefficient.value().clamp(0.0, 1.0), coefficient.error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_at_the_edge_are_their_own_neighbours() {
        let neighbours = Neighbours::new(3, 2);
        assert_eq!(neighbours.of(0), [0, 1, 0, 3]);
        assert_eq!(neighbours.of(4), [3, 5, 1, 4]);
    }

    #[test]
    fn even_images_do_not_change() {
        let (differences, coefficient) = diffusion(&[2.0; 4], [0, 1, 0, 2], 0, 0.25);
        assert!(differences.iter().all(|d| d.value() == 0.0));
        // No variation is less than speckle: all of it is smoothed.
        assert_eq!(coefficient.value(), 1.0);
    }

    #[test]
    fn sums_of_several_levels() {
        let terms = vec![F32::exact(0.5); THREADS * THREADS + 1];
        assert_eq!(tree_sum(terms).value(), 0.5 * (THREADS * THREADS + 1) as f64);
    }
}
