//! Particle filter (M. A. Goodrum et al., A4MMC 2010): where a disk is in a noisy video.

use crate::bounded::{Bounded, F32};
use crate::bundled;
use crate::device::Buffer;
use crate::element::Element;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};
use std::f64::consts::PI;

const THREADS: usize = 512;
const BACKGROUND: u8 = 100;
const FOREGROUND: u8 = 228;
const NOISE: f64 = 400.0;
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
        Parameter::new("real_words", "precision: 1 single, 2 double with sums as in Rodinia", [1; 3], 1, 2).variant(),
    ],
    body,
};

/// The precision of positions and weights, whose rounding errors [`Bounded`] has by its `P`.
trait Real<const P: u32>: Element + PartialOrd + From<f32> + Into<f64> {
    /// How the names of its kernels end.
    const SUFFIX: &'static str;
    /// Whether the weights are divided in place, and the running sums are of divided weights. Otherwise the weights stay,
    /// and the running sums and thresholds are of them.
    const DIVIDES: bool;

    fn bounded(self) -> Bounded<P> {
        Bounded::exact(self.into())
    }
}

impl Real<24> for f32 {
    const SUFFIX: &'static str = "";
    const DIVIDES: bool = false;
}

impl Real<53> for f64 {
    const SUFFIX: &'static str = "_double";
    const DIVIDES: bool = true;
}

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
    weights: Buffer,
    cumulative: Buffer,
    thresholds: Buffer,
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    if run.param("real_words") == 1 { body_in::<f32, 24>(run) } else { body_in::<f64, 53>(run) }
}

fn body_in<T: Real<P>, const P: u32>(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let particles = run.param("particles");
    let (width, height, frames) = (run.param("width"), run.param("height"), run.param("frames"));
    let video = Video::random(run, width, height, frames);
    let seeds: Vec<u32> = run.integers(particles + 1, 0, u32::MAX.into());
    let middle = |side: usize| vec![T::from((side / 2) as f32); particles];
    let (x, y) = (run.alloc::<T>("x", particles)?, run.alloc::<T>("y", particles)?);
    let chosen_x = run.upload("chosen_x", &middle(width))?;
    let chosen_y = run.upload("chosen_y", &middle(height))?;
    let d_seeds = run.upload("seeds", &seeds)?;
    let raw = run.alloc::<T>("raw", particles)?;
    let partial = run.alloc::<T>("partial", particles.div_ceil(THREADS))?;
    let offsets: Vec<i32> = disk().iter().flat_map(|&(x, y)| [x, y]).collect();
    let d_disk = run.upload("disk", &offsets)?;
    let d_video = run.upload("video", &video.pixels)?;
    let pixels = run.alloc::<i32>("pixels", particles * disk().len())?;
    let mut results = |name| run.alloc::<T>(name, particles);
    let (weights, cumulative, thresholds) = (results("weights")?, results("cumulative")?, results("thresholds")?);
    let seeds = d_seeds;
    let arrays = Arrays { x, y, chosen_x, chosen_y, seeds, raw, partial, weights, cumulative, thresholds };
    // Each launch is compared by itself, from what it read.
    for frame in 1..frames {
        weigh::<T, P>(run, &arrays, &video, [d_disk, d_video, pixels], frame)?;
        resample::<T, P>(run, &arrays)?;
        if run.check_failed() {
            break;
        }
    }
    Ok(())
}

fn kernel<T: Real<P>, const P: u32>(name: &str) -> String {
    format!("{name}{}", T::SUFFIX)
}

/// Moves the particles and weighs them.
fn weigh<T: Real<P>, const P: u32>(
    run: &mut Run<'_>,
    arrays: &Arrays,
    video: &Video,
    [d_disk, d_video, d_pixels]: [Buffer; 3],
    frame: usize,
) -> Result<(), WorkloadError> {
    let (particles, disk) = (run.param("particles"), disk());
    let (from_x, from_y) = (run.download::<T>(arrays.chosen_x)?, run.download::<T>(arrays.chosen_y)?);
    let mut seeds = run.download::<u32>(arrays.seeds)?;
    let Arrays { x, y, chosen_x, chosen_y, seeds: d_seeds, raw, partial, weights, .. } = *arrays;
    let mut buffers = vec![chosen_x, chosen_y, x, y, d_seeds, d_disk, d_video, d_pixels, raw];
    buffers.extend(T::DIVIDES.then_some(weights));
    buffers.push(partial);
    let buffers: Vec<_> = buffers.into_iter().map(Into::into).collect();
    let sizes = [particles, disk.len(), video.width, video.height, video.frames, frame].map(|n| (n as i32).into());
    let grid = particles.div_ceil(THREADS);
    run.launch(&kernel::<T, P>("likelihood"), grid, THREADS, &[&buffers[..], &sizes].concat())?;

    let moves: Vec<[F32; 2]> = seeds[..particles].iter_mut().map(|seed| [normal(seed), normal(seed)]).collect();
    let exact = Bounded::<P>::exact;
    let step =
        |from: T, by: f64, spread: f64, normal: F32| from.bounded() + exact(by) + exact(spread) * normal.convert();
    let expected_x: Vec<_> = from_x.iter().zip(&moves).map(|(&x, m)| step(x, 1.0, 5.0, m[0])).collect();
    let expected_y: Vec<_> = from_y.iter().zip(&moves).map(|(&y, m)| step(y, -2.0, 2.0, m[1])).collect();
    let (got_x, got_y) = (run.download::<T>(x)?, run.download::<T>(y)?);
    run.check_bounds("x", &got_x, &expected_x);
    run.check_bounds("y", &got_y, &expected_y);
    let got_seeds = run.download::<u32>(d_seeds)?;
    run.check_equal("seeds", &got_seeds, &seeds);

    let pixels: Vec<i32> =
        got_x.iter().zip(&got_y).flat_map(|(&x, &y)| seen(video, &disk, x.into(), y.into(), frame)).collect();
    let got_pixels = run.download::<i32>(d_pixels)?;
    run.check_equal("pixels", &got_pixels, &pixels);
    let expected: Vec<_> = pixels.chunks(disk.len()).map(|pixels| weight::<P>(video, pixels, particles)).collect();
    let got = run.download::<T>(raw)?;
    run.check_bounds("likelihoods", &got, &expected);
    if T::DIVIDES {
        let copy = run.download::<T>(weights)?;
        run.check_equal("weights before the division", &copy, &got);
    }
    let sums: Vec<_> = got.chunks(THREADS).map(tree_sum).collect();
    let got_sums = run.download::<T>(partial)?;
    run.check_bounds("partial sums", &got_sums, &sums);
    Ok(())
}

/// Makes probabilities of the weights, and chooses particles by them.
fn resample<T: Real<P>, const P: u32>(run: &mut Run<'_>, arrays: &Arrays) -> Result<(), WorkloadError> {
    let particles = run.param("particles");
    let (grid, count) = (particles.div_ceil(THREADS), particles as i32);
    let Arrays { x, y, chosen_x, chosen_y, seeds, raw, partial, weights, cumulative, thresholds } = *arrays;
    let (parts, got_raw) = (run.download::<T>(partial)?, run.download::<T>(raw)?);
    let seed = advance(run.download::<u32>(seeds)?[particles]);

    run.launch(&kernel::<T, P>("sum"), grid, THREADS, &[partial.into(), seeds.into(), count.into()])?;
    let total = run.download::<T>(partial)?[0];
    let sums = running_sums(parts.iter().map(|part| part.bounded()));
    run.check_bounds("sum", &[total], &[*sums.last().expect("at least one CTA")]);

    let buffers = [raw, weights, partial, cumulative, thresholds, seeds].map(Into::into);
    let args = [&buffers[..], &[count.into()]].concat();
    run.launch(&kernel::<T, P>("normalize_weights"), grid, THREADS, &args)?;
    let divided: Vec<_> = got_raw.iter().map(|w| w.bounded() / total.bounded()).collect();
    let got_weights = run.download::<T>(weights)?;
    run.check_bounds("weights", &got_weights, &divided);
    let got_sums = run.download::<T>(cumulative)?;
    run.check_bounds("running sums", &got_sums, &summed(&got_raw, &got_weights, &divided));
    let got_thresholds = run.download::<T>(thresholds)?;
    run.check_bounds("thresholds", &got_thresholds, &expected_thresholds(seed, particles, total));

    let buffers = [x, y, cumulative, thresholds, chosen_x, chosen_y].map(Into::into);
    let args = [&buffers[..], &[count.into()]].concat();
    run.launch(&kernel::<T, P>("find_index"), grid, THREADS, &args)?;
    let index = |&threshold: &T| got_sums.iter().position(|&sum| sum >= threshold).unwrap_or(particles - 1);
    let chosen: Vec<usize> = got_thresholds.iter().map(index).collect();
    for (what, from, to) in [("chosen x", x, chosen_x), ("chosen y", y, chosen_y)] {
        let (from, to) = (run.download::<T>(from)?, run.download::<T>(to)?);
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
fn seen(video: &Video, disk: &[(i32, i32)], x: f64, y: f64, frame: usize) -> Vec<i32> {
    let (x, y) = (x.round_ties_even() as i32, y.round_ties_even() as i32);
    disk.iter().map(|&(dx, dy)| video.index(x.saturating_add(dx), y.saturating_add(dy), frame) as i32).collect()
}

/// The weight of a particle. The sum of squares is exact.
fn weight<const P: u32>(video: &Video, pixels: &[i32], particles: usize) -> Bounded<P> {
    let from = |pixel: u8, level: u8| (f64::from(pixel) - f64::from(level)).powi(2);
    let brightness = pixels.iter().map(|&at| video.pixels[at as usize]);
    let sum: f64 = brightness.map(|pixel| from(pixel, BACKGROUND) - from(pixel, FOREGROUND)).sum();
    let scale = Bounded::exact(NOISE * pixels.len() as f64);
    Bounded::exact(1.0) / Bounded::exact(particles as f64) * (Bounded::exact(sum) / scale).exp(2.0)
}

/// The sum of a CTA's values by halves.
fn tree_sum<T: Real<P>, const P: u32>(values: &[T]) -> Bounded<P> {
    let mut tree = [Bounded::exact(0.0); THREADS];
    tree.iter_mut().zip(values).for_each(|(sum, &value)| *sum = value.bounded());
    let mut half = THREADS / 2;
    while half > 0 {
        for i in 0..half {
            tree[i] = tree[i] + tree[i + half];
        }
        half /= 2;
    }
    tree[0]
}

/// The running sums: of the weights, or of divided ones, of which the first CTA's are those in memory.
fn summed<T: Real<P>, const P: u32>(raw: &[T], weights: &[T], divided: &[Bounded<P>]) -> Vec<Bounded<P>> {
    if !T::DIVIDES {
        return running_sums(raw.iter().map(|weight| weight.bounded()));
    }
    let own = weights.iter().take(THREADS).map(|weight| weight.bounded());
    running_sums(own.chain(divided.iter().skip(THREADS).copied()))
}

fn running_sums<const P: u32>(values: impl Iterator<Item = Bounded<P>>) -> Vec<Bounded<P>> {
    let sum = |sum: &mut Bounded<P>, value: Bounded<P>| {
        *sum = *sum + value;
        Some(*sum)
    };
    values.scan(Bounded::exact(0.0), sum).collect()
}

/// One threshold in each of as many equal parts of the sum as there are particles.
fn expected_thresholds<T: Real<P>, const P: u32>(seed: u32, particles: usize, total: T) -> Vec<Bounded<P>> {
    let count = Bounded::exact(particles as f64);
    let (one, drawn) = (Bounded::exact(1.0), Bounded::exact(uniform(seed)));
    let first = if T::DIVIDES { one / count * drawn } else { drawn / count };
    let part = |i: usize| first + Bounded::exact(i as f64) / count;
    (0..particles).map(|i| if T::DIVIDES { part(i) } else { part(i) * total.bounded() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::Values;

    #[test]
    fn a_bright_disk_weighs_more() {
        let video = Video { width: 2, height: 1, frames: 2, pixels: vec![0, BACKGROUND, 0, FOREGROUND] };
        assert_eq!(seen(&video, &[(0, 0), (-1, 0), (0, 7)], 0.6, -3.0, 1), [3, 1, 3]);
        let [dark, bright] = [1, 3].map(|pixel| weight::<24>(&video, &[pixel], 1).value());
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
        assert_eq!(tree_sum(&[1.0_f32, 2.0, 3.0]).value(), 6.0);
        let (raw, halves) = ([2.0_f32, 4.0, 6.0], [1.0, 2.0, 3.0]);
        assert_eq!(summed(&raw, &halves.map(|w| w as f32), &halves.map(F32::exact)).map_values(), [2.0, 6.0, 12.0]);
        let raw = raw.map(f64::from);
        assert_eq!(summed(&raw, &halves, &halves.map(Bounded::<53>::exact)).map_values(), [1.0, 3.0, 6.0]);
        assert_eq!(expected_thresholds(u32::MAX, 4, 8.0_f32).map_values(), [2.0, 4.0, 6.0, 8.0]);
        assert_eq!(expected_thresholds(u32::MAX, 4, 8.0_f64).map_values(), [0.25, 0.5, 0.75, 1.0]);
    }

    /// Weights of other CTAs are divided by the thread that adds them up.
    #[test]
    fn sums_of_more_than_a_cta() {
        let (weights, divided) = (vec![1.0_f64; THREADS + 1], vec![Bounded::<53>::exact(3.0); THREADS + 1]);
        let sums = summed(&weights, &weights, &divided).map_values();
        assert_eq!(sums[THREADS - 1..], [THREADS as f64, THREADS as f64 + 3.0]);
    }
}
