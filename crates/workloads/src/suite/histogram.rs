//! Histogram of bytes.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const BINS: usize = 256;

pub(super) const WORKLOAD: Workload = Workload {
    name: "histogram",
    summary: "histogram of bytes: atomics in shared memory, then in global memory",
    character: "atomics whose conflicts depend on the data; CTAs contend for the same 256 words",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("histogram"),
    parameters: &[
        Parameter::new("bytes", "bytes counted", [1 << 16, 1 << 22, 1 << 26], 4, 1 << 30).in_steps_of(4),
        Parameter::new("blocks", "CTAs", [32, 256, 512], 1, 65535),
        Parameter::new("block", "threads per CTA", [256; 3], 1, 1024),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, blocks, block) = (run.param("bytes"), run.param("blocks"), run.param("block"));
    // The mean of two even draws: middling bytes are the most frequent, as in a photograph.
    let bytes: Vec<u8> = (0..count).map(|_| ((run.integer(0, 255) + run.integer(0, 255)) / 2) as u8).collect();
    let input = run.upload("words", &bytes)?;
    let bins = run.zeroed::<u32>("bins", BINS)?;
    run.launch("histogram", blocks, block, &[input.into(), bins.into(), ((count / 4) as i32).into()])?;
    let counted = run.download::<u32>(bins)?;
    run.check_equal("bins", &counted, &histogram(&bytes));
    Ok(())
}

fn histogram(bytes: &[u8]) -> Vec<u32> {
    let mut bins = vec![0; BINS];
    bytes.iter().for_each(|&b| bins[usize::from(b)] += 1);
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let bins = histogram(&[0, 7, 7, 255]);
        assert_eq!((bins[0], bins[7], bins[255], bins.iter().sum::<u32>()), (1, 2, 1, 4));
    }
}
