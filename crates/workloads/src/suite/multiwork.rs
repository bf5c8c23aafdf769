//! Tasks of several programs in turn.

use super::{mandelbrot, matrixmul};
use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const TAPS: usize = 32;
/// A branch of the bank keeps one sample of this many.
const DECIMATION: usize = 8;
/// Points along an edge of a picture, and steps at most.
const SIDE: usize = 64;
const MOST: usize = 100;

pub(super) const WORKLOAD: Workload = Workload {
    name: "multiwork",
    summary: "a bank of filters, a part of the Mandelbrot set and a product of matrices in turn, each a launch of one CTA",
    character: "one CTA on the GPU at a time; sums of products, loops of different lengths, barriers in one kernel of three",
    suite: Suite::Pagoda,
    papers: &[("ghost", "MWK")],
    module: bundled!("multiwork"),
    parameters: &[
        Parameter::new("rounds", "launches of each kernel", [1, 16, 144], 1, 4096),
        Parameter::new("samples", "samples of a signal", [1024; 3], 8, 4096).in_steps_of(DECIMATION as u64),
        Parameter::new("branches", "filters of the bank", [8; 3], 1, 64),
        Parameter::new("n", "rows and columns of a matrix", [48; 3], 1, 1024),
        Parameter::new("block", "threads per CTA", [256; 3], 1, 1024),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let [rounds, samples, branches, n, block] =
        ["rounds", "samples", "branches", "n", "block"].map(|name| run.param(name));
    let signals = run.floats(rounds * samples, -1.0, 1.0);
    let (analysis, synthesis) = (run.floats(branches * TAPS, -1.0, 1.0), run.floats(branches * TAPS, -1.0, 1.0));
    let corners: Vec<[f32; 2]> = (0..rounds).map(|_| [run.float(-2.0, 0.3), run.float(-1.2, 1.0)]).collect();
    let distance = 0.6 / SIDE as f32;
    let (a, b) = (run.floats(rounds * n * n, -1.0, 1.0), run.floats(rounds * n * n, -1.0, 1.0));

    let (d_signals, d_analysis) = (run.upload("signals", &signals)?, run.upload("analysis", &analysis)?);
    let (d_synthesis, filtered) = (run.upload("synthesis", &synthesis)?, run.alloc::<f32>("filtered", signals.len())?);
    let steps = run.alloc::<i32>("steps", rounds * SIDE * SIDE)?;
    let (d_a, d_b) = (run.upload("a", &a)?, run.upload("b", &b)?);
    let d_c = run.alloc::<f32>("c", a.len())?;
    let number = |n: usize| (n as i32).into();
    for (round, &[real, imaginary]) in corners.iter().enumerate() {
        let part = |of: crate::device::Buffer, words: usize| (of.address + (4 * round * words) as u64).into();
        let [signal, out] = [d_signals, filtered].map(|of| part(of, samples));
        let sizes = [samples, branches].map(number);
        let args = [&[signal, d_analysis.into(), d_synthesis.into(), out][..], &sizes].concat();
        run.launch("filter_bank", 1, block, &args)?;
        let place = [real, imaginary, distance].map(Into::into);
        let args = [&[part(steps, SIDE * SIDE)][..], &place, &[SIDE, MOST].map(number)].concat();
        run.launch("mandelbrot_steps", 1, block, &args)?;
        let matrices = [d_a, d_b, d_c].map(|of| part(of, n * n));
        run.launch("product_of_pair", 1, block, &[&matrices[..], &[number(n)]].concat())?;
    }
    let got = run.download::<f32>(filtered)?;
    let expected: Vec<f32> =
        signals.chunks(samples).flat_map(|signal| through_bank(signal, &analysis, &synthesis)).collect();
    run.check(Check::same_bits("filtered", &got, &expected));
    let got = run.download::<i32>(steps)?;
    let of = |&[real, imaginary]: &[f32; 2]| mandelbrot::steps_in([real, imaginary, distance], SIDE, MOST);
    run.check_equal("steps", &got, &corners.iter().flat_map(of).collect::<Vec<_>>());
    let got = run.download::<f32>(d_c)?;
    let pairs = a.chunks(n * n).zip(b.chunks(n * n));
    let expected: Vec<f32> = pairs.flat_map(|(a, b)| matrixmul::product(a, b, n)).collect();
    run.check(Check::same_bits("c", &got, &expected));
    Ok(())
}

/// A signal after the bank of filters; before its first sample is silence.
fn through_bank(signal: &[f32], analysis: &[f32], synthesis: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0f32; signal.len()];
    for (analysis, synthesis) in analysis.chunks(TAPS).zip(synthesis.chunks(TAPS)) {
        let before = |at: usize| analysis.iter().zip(signal[..=at].iter().rev());
        let kept = |at: usize| before(at).fold(0.0f32, |sum, (tap, sample)| tap.mul_add(*sample, sum));
        let kept: Vec<f32> = (0..signal.len()).step_by(DECIMATION).map(kept).collect();
        for (at, sum) in out.iter_mut().enumerate() {
            let samples = kept[..=at / DECIMATION].iter().rev();
            let taps = synthesis.iter().skip(at % DECIMATION).step_by(DECIMATION);
            *sum = taps.zip(samples).fold(*sum, |sum, (tap, sample)| tap.mul_add(*sample, sum));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bank_keeps_one_sample_of_eight() {
        let mut first = [0.0; TAPS];
        first[0] = 1.0;
        let signal: Vec<f32> = (1..=24).map(|i| i as f32).collect();
        let out = through_bank(&signal, &first, &first);
        let expected = |at: usize| if at.is_multiple_of(DECIMATION) { at as f32 + 1.0 } else { 0.0 };
        assert_eq!(out, (0..24).map(expected).collect::<Vec<_>>());
        // Twice the branch is twice the sum, and the second filter repeats a sample by its second tap.
        let mut second = [0.0; TAPS];
        second[1] = 0.5;
        let out = through_bank(&signal, &[first, first].concat(), &[second, second].concat());
        assert_eq!((out[0], out[1], out[9], out[10]), (0.0, 1.0, 9.0, 0.0));
    }
}
