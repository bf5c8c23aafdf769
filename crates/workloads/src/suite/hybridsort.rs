//! Sort by buckets and merging.

use crate::bundled;
use crate::check::Check;
use crate::device::ArgBytes;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 256;
const BINS: usize = 1024;
/// Numbers of a thread where buckets are counted.
const EACH: usize = 16;
/// Numbers that are sorted at once.
const GROUP: usize = 4;

pub(super) const WORKLOAD: Workload = Workload {
    name: "hybridsort",
    summary: "sort of numbers into buckets, then by passes that merge runs of groups of four",
    character: "seven kernels: atomics in shared memory, searches, scattered stores, then long merges by few threads",
    suite: Suite::Rodinia,
    papers: &[("socgpu", "hybridsort")],
    module: bundled!("hybridsort"),
    parameters: &[
        Parameter::new("n", "numbers", [8192, 1 << 16, 1 << 19], 1, 1 << 24),
        Parameter::new("bucket_bits", "logarithm of the number of buckets", [6, 10, 10], 0, 10),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, buckets) = (run.param("n"), 1 << run.param("bucket_bits"));
    // More of small ones.
    let numbers: Vec<f32> = run.floats(count, 0.0, 1.0).into_iter().map(|x| x * x).collect();
    let int = |n: usize| ArgBytes::from(n as i32);

    let low = numbers.iter().copied().fold(f32::INFINITY, f32::min);
    let high = numbers.iter().copied().fold(0.0, f32::max);
    let scale = if high > low { BINS as f32 / (high - low) } else { 0.0 };
    let input = run.upload("numbers", &numbers)?;
    let bins = run.zeroed::<i32>("histogram", BINS)?;
    let args = [input.into(), bins.into(), int(count), low.into(), scale.into()];
    run.launch("histogram1024", count.div_ceil(THREADS).min(64), THREADS, &args)?;
    let histogram = run.download::<i32>(bins)?;
    let mut expected = vec![0; BINS];
    for &number in &numbers {
        expected[(((number - low) * scale) as usize).min(BINS - 1)] += 1;
    }
    run.check_equal("histogram", &histogram, &expected);

    let bounds = bounds(&expected, buckets, low, 1.0 / scale);
    let d_bounds = run.upload("bounds", &bounds)?;
    let (bucket_of, rank_of) = (run.alloc::<i32>("bucket of", count)?, run.alloc::<i32>("rank of", count)?);
    let ctas = count.div_ceil(THREADS * EACH);
    let counts = run.alloc::<i32>("counts", ctas * buckets)?;
    let buffers = [input, d_bounds, bucket_of, rank_of, counts].map(Into::into);
    run.launch("bucket_count", ctas, THREADS, &[&buffers[..], &[int(count), int(buckets)]].concat())?;
    let d_sizes = run.alloc::<i32>("sizes", buckets)?;
    let args = [counts.into(), d_sizes.into(), int(ctas), int(buckets)];
    run.launch("bucket_prefix", buckets.div_ceil(THREADS), THREADS, &args)?;
    let sizes = run.download::<i32>(d_sizes)?;
    let mut expected = vec![0; buckets];
    for number in &numbers {
        expected[bounds[..buckets - 1].partition_point(|bound| bound <= number)] += 1;
    }
    run.check_equal("sizes of buckets", &sizes, &expected);

    // Buckets of whole groups, filled up by what is larger than all.
    let starts = sums(expected.iter().map(|&size: &i32| (size as usize).next_multiple_of(GROUP) as i32));
    let (total, places) = (starts[buckets] as usize, sums(expected.iter().copied()));
    let largest = starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize / GROUP).max().unwrap_or(0);
    let (d_starts, d_places) = (run.upload("starts", &starts)?, run.upload("places", &places)?);
    let fill = vec![f32::INFINITY; total];
    let (mut from, mut to) = (run.upload("runs", &fill)?, run.upload("merged", &fill)?);
    let buffers = [input, bucket_of, rank_of, counts, d_starts, from].map(Into::into);
    run.launch("bucket_scatter", ctas, THREADS, &[&buffers[..], &[int(count), int(buckets)]].concat())?;

    let groups = total / GROUP;
    run.launch("merge_first", groups.div_ceil(THREADS), THREADS, &[from.into(), int(groups)])?;
    let mut length = 1;
    while length < largest {
        let pairs = largest.div_ceil(2 * length);
        let args = [from.into(), to.into(), d_starts.into(), int(length), int(pairs), int(buckets)];
        run.launch("merge_pass", (pairs * buckets).div_ceil(THREADS), THREADS, &args)?;
        std::mem::swap(&mut from, &mut to);
        length *= 2;
    }
    let sorted = run.alloc::<f32>("sorted", count)?;
    run.launch("merge_pack", buckets, THREADS, &[from, d_starts, d_sizes, d_places, sorted].map(Into::into))?;
    let got = run.download::<f32>(sorted)?;
    let mut expected = numbers;
    expected.sort_unstable_by(f32::total_cmp);
    run.check(Check::same_bits("sorted", &got, &expected));
    Ok(())
}

/// The lower bounds of all buckets but the first, so that all have about the same count if numbers are spread evenly in
/// each bin.
fn bounds(histogram: &[i32], buckets: usize, low: f32, width: f32) -> Vec<f32> {
    let count = f64::from(histogram.iter().sum::<i32>());
    let (mut bin, mut before) = (0, 0.0);
    let bound = |bucket: usize| {
        let wanted = count * bucket as f64 / buckets as f64;
        while bin + 1 < histogram.len() && before + f64::from(histogram[bin]) < wanted {
            before += f64::from(histogram[bin]);
            bin += 1;
        }
        let share = (wanted - before) / f64::from(histogram[bin].max(1));
        low + (bin as f64 + share) as f32 * width
    };
    // One bucket needs none, but a buffer is not empty.
    (1..buckets.max(2)).map(bound).collect()
}

/// The sums before each and of all.
fn sums(sizes: impl Iterator<Item = i32>) -> Vec<i32> {
    let mut sum = 0;
    let mut sums = vec![0];
    sums.extend(sizes.map(|size| {
        sum += size;
        sum
    }));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_equal_shares() {
        // Six in the first quarter, two in the third.
        assert_eq!(bounds(&[6, 0, 2, 0], 4, 1.0, 0.25), [1.0 + 0.25 / 3.0, 1.0 + 0.5 / 3.0, 1.25]);
        assert_eq!(sums([3, 0, 2].into_iter()), [0, 3, 3, 5]);
    }
}
