//! Particle filter (M. A. Goodrum et al., A4MMC 2010): where a disk is in a noisy video.

use crate::bounded::F32;
use crate::bundled;
use crate::device::Buffer;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};
use std::f64::consts::PI;

const THREADS: usize = 512;
const BACKGROUND: u8 = 100;
const FOREGROUND: u8 = 228;
const NOISE: f32 = 400.0;
const RADIUS: i32 = 5;

pub(super) const WORKLOAD: Workload = Workload {
    name: "particlefilter",
    summary: "particle filter that follows a disk through a noisy video, four launches per frame",
    character: "a serial loop of one thread between barriers, searches of different lengths, scattered byte reads",
    suite: Suite::Rodinia,
    papers: &[("ghost", "PFF"), ("socgpu", "particlefilter_float"), ("sgmf", "PF")],
    module: bundled!("particlefilter"),
    parameters: &[
        Parameter::new("particles", "particles", [256, 512, 1000], 1, 1 << 16),
        Parameter::new("width", "pixels of a frame in x", [64, 128, 128], 1, 1024),
        Parameter::new("height", "pixels of a frame in y", [64, 128, 128], 1, 1024),
        Parameter::new("frames", "frames of the video", [3, 10, 10], 2, 1000),
    ],
    body,
};

/// Brightness by x, y and frame.
struct Video {
    width: usize,
    height: usize,
    frames: usize,
    pixels: Vec<u8>,
}

impl Video {
    /// The disk starts in the middle and moves by (1, -2) per frame.
    fn random(run: &mut Run<'_>, width: usize, height: usize, frames: usize) -> Self {
        let mut pixels = Vec::with_capacity(width * height * frames);
        for x in 0..width as i32 {
            for y in 0..height as i32 {
                for frame in 0..frames as i32 {
                    let from_centre = (x - width as i32 / 2 - frame, y - height as i32 / 2 + 2 * frame);
                    let clean = if in_disk(from_centre) { FOREGROUND } else { BACKGROUND };
                    let noise: i64 = (0..3).map(|_| run.integer(-4, 4)).sum();
                    pixels.push((i64::from(clean) + noise) as u8);
                }
            }
        }
        Self { width, height, frames, pixels }
    }

    /// The index of a pixel, or of the nearest one of the picture.
    fn index(&self, x: i32, y: i32, frame: usize) -> usize {
        let clamp = |value: i32, end: usize| value.clamp(0, end as i32 - 1) as usize;
        (clamp(x, self.width) * self.height + clamp(y, self.height)) * self.frames + frame
    }
}

fn in_disk((x, y): (i32, i32)) -> bool {
    x * x + y * y < RADIUS * RADIUS
}

/// The pixels of a disk around (0, 0).
fn disk() -> Vec<(i32, i32)> {
    let side = -RADIUS..=RADIUS;
    side.clone().flat_map(|x| side.clone().map(move |y| (x, y))).filter(|&at| in_disk(at)).collect()
}

/// The arrays on the device that the kernels share.
struct Arrays {
    x: Buffer,
    y: Buffer,
    chosen_x: Buffer,
    chosen_y: Buffer,
    seeds: Buffer,
    raw: Buffer,
    partial: Buffer,
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let particles = run.param("particles");
    let (width, height, frames) = (run.param("width"), run.param("height"), run.param("frames"));
    let video = Video::random(run, width, height, frames);
    let seeds: Vec<u32> = run.integers(particles + 1, 0, u32::MAX.into());
    let arrays = Arrays {
        x: run.alloc::<f32>("x", particles)?,
        y: run.alloc::<f32>("y", particles)?,
        chosen_x: run.upload("chosen_x", &vec![(width / 2) as f32; particles])?,
        chosen_y: run.upload("chosen_y", &vec![(height / 2) as f32; particles])?,
        seeds: run.upload("seeds", &seeds)?,
        raw: run.alloc::<f32>("raw", particles)?,
        partial: run.alloc::<f32>("partial", particles.div_ceil(THREADS))?,
    };
    let offsets: Vec<i32> = disk().iter().flat_map(|&(x, y)| [x, y]).collect();
    let d_disk = run.upload("disk", &offsets)?;
    let d_video = run.upload("video", &video.pixels)?;
    let pixels = run.alloc::<i32>("pixels", particles * disk().len())?;
    let mut results = |name| run.alloc::<f32>(name, particles);
    let rest = [results("weights")?, results("cumulative")?, results("thresholds")?];
    // Each launch is compared by itself, from what it read.
    for frame in 1..frames {
        weigh(run, &arrays, &video, [d_disk, d_video, pixels], frame)?;
        resample(run, &arrays, rest)?;
        if run.check_failed() {
            break;
        }
    }
    Ok(())
}

/// Moves the particles and weighs them.
fn weigh(
    run: &mut Run<'_>,
    arrays: &Arrays,
    video: &Video,
    [d_disk, d_video, d_pixels]: [Buffer; 3],
    frame: usize,
) -> Result<(), WorkloadError> {
    let (particles, disk) = (run.param("particles"), disk());
    let (from_x, from_y) = (run.download::<f32>(arrays.chosen_x)?, run.download::<f32>(arrays.chosen_y)?);
    let mut seeds = run.download::<u32>(arrays.seeds)?;
    let Arrays { x, y, chosen_x, chosen_y, seeds: d_seeds, raw, partial } = *arrays;
    let buffers = [chosen_x, chosen_y, x, y, d_seeds, d_disk, d_video, d_pixels, raw, partial].map(Into::into);
    let sizes = [particles, disk.len(), video.width, video.height, video.frames, frame].map(|n| (n as i32).into());
    run.launch("likelihood", particles.div_ceil(THREADS), THREADS, &[&buffers[..], &sizes].concat())?;

    let moves: Vec<[F32; 2]> = seeds[..particles].iter_mut().map(|seed| [normal(seed), normal(seed)]).collect();
    let step =
        |from: f32, by: f32, spread: f32, normal: F32| F32::from(from) + F32::from(by) + F32::from(spread) * normal;
    let expected_x: Vec<F32> = from_x.iter().zip(&moves).map(|(&x, m)| step(x, 1.0, 5.0, m[0])).collect();
    let expected_y: Vec<F32> = from_y.iter().zip(&moves).map(|(&y, m)| step(y, -2.0, 2.0, m[1])).collect();
    let (got_x, got_y) = (run.download::<f32>(x)?, run.download::<f32>(y)?);
    run.check_bounds("x", &got_x, &expected_x);
    run.check_bounds("y", &got_y, &expected_y);
    let got_seeds = run.download::<u32>(d_seeds)?;
    run.check_equal("seeds", &got_seeds, &seeds);

    let pixels: Vec<i32> = got_x.iter().zip(&got_y).flat_map(|(&x, &y)| seen(video, &disk, x, y, frame)).collect();
    let got_pixels = run.download::<i32>(d_pixels)?;
    run.check_equal("pixels", &got_pixels, &pixels);
    let expected: Vec<F32> = pixels.chunks(disk.len()).map(|pixels| weight(video, pixels, particles)).collect();
    let got = run.download::<f32>(raw)?;
    run.check_bounds("likelihoods", &got, &expected);
    let sums: Vec<F32> = got.chunks(THREADS).map(tree_sum).collect();
    let got_sums = run.download::<f32>(partial)?;
    run.check_bounds("partial sums", &got_sums, &sums);
    Ok(())
}

/// Makes probabilities of the weights, and chooses particles by them.
fn resample(
    run: &mut Run<'_>,
    arrays: &Arrays,
    [weights, cumulative, thresholds]: [Buffer; 3],
) -> Result<(), WorkloadError> {
    let particles = run.param("particles");
    let (grid, count) = (particles.div_ceil(THREADS), particles as i32);
    let Arrays { x, y, chosen_x, chosen_y, seeds, raw, partial } = *arrays;
    let (parts, got_raw) = (run.download::<f32>(partial)?, run.download::<f32>(raw)?);
    let seed = advance(run.download::<u32>(seeds)?[particles]);

    run.launch("sum", grid, THREADS, &[partial.into(), seeds.into(), count.into()])?;
    let total = run.download::<f32>(partial)?[0];
    run.check_bounds("sum", &[total], &[*running_sums(&parts).last().expect("at least one CTA")]);

    let buffers = [raw, weights, partial, cumulative, thresholds, seeds].map(Into::into);
    run.launch("normalize_weights", grid, THREADS, &[&buffers[..], &[count.into()]].concat())?;
    let expected: Vec<F32> = got_raw.iter().map(|&w| F32::from(w) / F32::from(total)).collect();
    let got_weights = run.download::<f32>(weights)?;
    run.check_bounds("weights", &got_weights, &expected);
    let got_sums = run.download::<f32>(cumulative)?;
    run.check_bounds("running sums", &got_sums, &running_sums(&got_raw));
    let got_thresholds = run.download::<f32>(thresholds)?;
    run.check_bounds("thresholds", &got_thresholds, &expected_thresholds(seed, particles, total));

    let buffers = [x, y, cumulative, thresholds, chosen_x, chosen_y].map(Into::into);
    run.launch("find_index", grid, THREADS, &[&buffers[..], &[count.into()]].concat())?;
    let index = |&threshold: &f32| got_sums.iter().position(|&sum| sum >= threshold).unwrap_or(particles - 1);
    let chosen: Vec<usize> = got_thresholds.iter().map(index).collect();
    for (what, from, to) in [("chosen x", x, chosen_x), ("chosen y", y, chosen_y)] {
        let (from, to) = (run.download::<f32>(from)?, run.download::<f32>(to)?);
        run.check_equal(what, &to, &chosen.iter().map(|&i| from[i]).collect::<Vec<_>>());
    }
    Ok(())
}

fn advance(seed: u32) -> u32 {
    seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
}

/// Exact in single precision; above 0, at most 1.
fn uniform(seed: u32) -> f64 {
    f64::from((seed >> 8) + 1) / f64::from(1 << 24)
}

/// Result of a function accurate to two units in the last place.
fn accurate(value: f64) -> F32 {
    F32::with_error(value, value.abs() / f64::from(1 << 22) + f64::from(f32::MIN_POSITIVE))
}

/// A number from the normal distribution.
fn normal(seed: &mut u32) -> F32 {
    let first = advance(*seed);
    *seed = advance(first);
    let root = (F32::from(-2.0) * accurate(uniform(first).ln())).sqrt();
    // The sine or cosine of less than half a right angle, so that zeros are zero.
    let turn = 2.0 * uniform(*seed);
    let quarters = (2.0 * turn).round();
    let rest = PI * (turn - quarters / 2.0);
    let cosine = match quarters as u32 % 4 {
        0 => rest.cos(),
        1 => -rest.sin(),
        2 => -rest.cos(),
        _ => rest.sin(),
    };
    root * accurate(cosine)
}

/// The indices of the pixels of a disk around a particle.
fn seen(video: &Video, disk: &[(i32, i32)], x: f32, y: f32, frame: usize) -> Vec<i32> {
    let (x, y) = (x.round_ties_even() as i32, y.round_ties_even() as i32);
    disk.iter().map(|&(dx, dy)| video.index(x.saturating_add(dx), y.saturating_add(dy), frame) as i32).collect()
}

/// The weight of a particle. The sum of squares is exact.
fn weight(video: &Video, pixels: &[i32], particles: usize) -> F32 {
    let from = |pixel: u8, level: u8| (f64::from(pixel) - f64::from(level)).powi(2);
    let brightness = pixels.iter().map(|&at| video.pixels[at as usize]);
    let sum: f64 = brightness.map(|pixel| from(pixel, BACKGROUND) - from(pixel, FOREGROUND)).sum();
    let scale = F32::exact(f64::from(NOISE) * pixels.len() as f64);
    F32::from(1.0) / F32::exact(particles as f64) * (F32::exact(sum) / scale).exp(2.0)
}

/// The sum of a CTA's values by halves.
fn tree_sum(values: &[f32]) -> F32 {
    let mut tree = [F32::exact(0.0); THREADS];
    tree.iter_mut().zip(values).for_each(|(sum, &value)| *sum = value.into());
    let mut half = THREADS / 2;
    while half > 0 {
        for i in 0..half {
            tree[i] = tree[i] + tree[i + half];
        }
        half /= 2;
    }
    tree[0]
}

fn running_sums(values: &[f32]) -> Vec<F32> {
    let sum = |sum: &mut F32, &value: &f32| {
        *sum = *sum + F32::from(value);
        Some(*sum)
    };
    values.iter().scan(F32::exact(0.0), sum).collect()
}

/// One threshold in each of as many equal parts of the sum as there are particles.
fn expected_thresholds(seed: u32, particles: usize, total: f32) -> Vec<F32> {
    let count = F32::exact(particles as f64);
    let first = F32::exact(uniform(seed)) / count;
    (0..particles).map(|i| (first + F32::exact(i as f64) / count) * F32::from(total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::Values;

    #[test]
    fn a_bright_disk_weighs_more() {
        let video = Video { width: 2, height: 1, frames: 2, pixels: vec![0, BACKGROUND, 0, FOREGROUND] };
        assert_eq!(seen(&video, &[(0, 0), (-1, 0), (0, 7)], 0.6, -3.0, 1), [3, 1, 3]);
        let [dark, bright] = [1, 3].map(|pixel| weight(&video, &[pixel], 1).value());
        assert!((dark * bright - 1.0).abs() < 1e-9 && bright > 1e17);
        assert_eq!(disk().len(), 69);
    }

    #[test]
    fn normal_numbers() {
        let mut seed = 7;
        let numbers: Vec<f64> = (0..10_000).map(|_| normal(&mut seed).value()).collect();
        let mean = numbers.iter().sum::<f64>() / 1e4;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn sums() {
        assert_eq!(tree_sum(&[1.0, 2.0, 3.0]).value(), 6.0);
        assert_eq!(running_sums(&[1.0, 2.0, 3.0]).map_values(), [1.0, 3.0, 6.0]);
        let thresholds = expected_thresholds(u32::MAX, 4, 8.0);
        assert_eq!(thresholds.map_values(), [2.0, 4.0, 6.0, 8.0]);
    }
}
