//! Beams from an array of antennas.

use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 128;
const TAPS: usize = 64;
/// Of so many samples the second filter keeps one.
const DECIMATION: usize = 2;

pub(super) const WORKLOAD: Workload = Workload {
    name: "beamformer",
    summary: "beams from an array of antennas: filters, weighted sums and detection, each set of signals a launch of one CTA",
    character: "one CTA on the GPU at a time; of each sum all reads are independent, its additions are a chain",
    suite: Suite::Pagoda,
    papers: &[("ghost", "BFM")],
    module: bundled!("beamformer"),
    parameters: &[
        Parameter::new("sets", "sets of signals", [2, 48, 480], 1, 4096),
        Parameter::new("channels", "antennas", [12; 3], 1, 64),
        Parameter::new("samples", "samples of a signal", [64; 3], 2, 4096).in_steps_of(2),
        Parameter::new("beams", "beams", [4; 3], 1, 64),
    ],
    body,
};

type Complex = [f32; 2];

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let [sets, channels, samples, beams] = ["sets", "channels", "samples", "beams"].map(|name| run.param(name));
    let left = samples / DECIMATION;
    let mut complex = |count: usize| run.floats(2 * count, -1.0, 1.0).as_chunks().0.to_vec();
    let signals: Vec<Complex> = complex(sets * channels * samples);
    let (coarse_taps, fine_taps) = (complex(channels * TAPS), complex(channels * TAPS));
    let (weights, pulse_taps) = (complex(beams * channels), complex(beams * TAPS));
    let threshold = run.float(30_000.0, 50_000.0);

    let input = run.upload("signals", signals.as_flattened())?;
    let coarse = run.upload("coarse taps", coarse_taps.as_flattened())?;
    let fine = run.upload("fine taps", fine_taps.as_flattened())?;
    let d_weights = run.upload("weights", weights.as_flattened())?;
    let pulse = run.upload("pulse taps", pulse_taps.as_flattened())?;
    let after_coarse = run.alloc::<f32>("after coarse", 2 * channels * samples)?;
    let after_fine = run.alloc::<f32>("after fine", 2 * channels * left)?;
    let formed = run.alloc::<f32>("beams", 2 * beams * left)?;
    let magnitudes = run.alloc::<f32>("magnitudes", sets * beams * left)?;
    let detections = run.alloc::<i32>("detections", sets * beams * left)?;
    for set in 0..sets {
        let signals = input.address + (set * channels * samples * size_of::<Complex>()) as u64;
        let buffers = [coarse, fine, d_weights, pulse, after_coarse, after_fine, formed].map(Into::into);
        let results = [magnitudes, detections].map(|buffer| (buffer.address + (set * beams * left * 4) as u64).into());
        let sizes = [channels, samples, beams].map(|n| (n as i32).into());
        let args = [&[signals.into()][..], &buffers, &results, &sizes, &[threshold.into()]].concat();
        run.launch("beamformer", 1, THREADS, &args)?;
    }
    let mut expected = Vec::new();
    for signals in signals.chunks(channels * samples) {
        let by_channel = |lines: &[Complex], taps: &[Complex], every: usize| -> Vec<Complex> {
            let lines = lines.chunks(lines.len() / (taps.len() / TAPS)).zip(taps.chunks(TAPS));
            lines.flat_map(|(line, taps)| (0..line.len()).step_by(every).map(|at| filtered(line, at, taps))).collect()
        };
        let fine = by_channel(&by_channel(signals, &coarse_taps, 1), &fine_taps, DECIMATION);
        let formed: Vec<Complex> = weights
            .chunks(channels)
            .flat_map(|weights| {
                let at = |i: usize| {
                    let terms = weights.iter().zip(fine.chunks(left));
                    terms.fold([0.0; 2], |sum, (weight, line)| add_product(sum, *weight, line[i]))
                };
                (0..left).map(at).collect::<Vec<_>>()
            })
            .collect();
        let magnitude = |[x, y]: Complex| x.mul_add(x, y * y).sqrt();
        expected.extend(by_channel(&formed, &pulse_taps, 1).into_iter().map(magnitude));
    }
    let got = run.download::<f32>(magnitudes)?;
    run.check(Check::same_bits("magnitudes", &got, &expected));
    let got = run.download::<i32>(detections)?;
    run.check_equal("detections", &got, &expected.iter().map(|&m| i32::from(m >= threshold)).collect::<Vec<_>>());
    Ok(())
}

fn add_product(sum: Complex, a: Complex, b: Complex) -> Complex {
    [(-a[1]).mul_add(b[1], a[0].mul_add(b[0], sum[0])), a[1].mul_add(b[0], a[0].mul_add(b[1], sum[1]))]
}

/// A sample after a filter; before the first one is silence.
fn filtered(samples: &[Complex], at: usize, taps: &[Complex]) -> Complex {
    let terms = taps.iter().zip(samples[..=at].iter().rev());
    terms.fold([0.0; 2], |sum, (tap, sample)| add_product(sum, *tap, *sample))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_complex_numbers() {
        assert_eq!(add_product([1.0, 2.0], [0.0, 1.0], [3.0, 4.0]), [-3.0, 5.0]);
        let samples = [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]];
        // 1 of the sample and i of the one before.
        let taps = [[1.0, 0.0], [0.0, 1.0]];
        assert_eq!([0, 1, 2].map(|at| filtered(&samples, at, &taps)), [[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]]);
    }
}
