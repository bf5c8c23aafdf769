//! Bitonic sort (K. E. Batcher, AFIPS 1968).

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 256;
/// Keys that a CTA holds in shared memory.
const TILE: usize = 2 * THREADS;

pub(super) const WORKLOAD: Workload = Workload {
    name: "bitonic",
    summary: "bitonic sort: short runs merged in shared memory, long ones in global memory",
    character: "a barrier per step, no divergence; bank conflicts at short distances, many launches of one pass",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("bitonic"),
    parameters: &[Parameter::new("n", "keys", [1 << 12, 1 << 15, 1 << 18], 1, 1 << 24)],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let n = run.param("n");
    let mut keys: Vec<u32> = run.integers(n, 0, u32::MAX.into());
    // The largest key fills up to a power of two, and stays at the end.
    keys.resize(n.next_power_of_two().max(TILE), u32::MAX);
    let buffer = run.upload("keys", &keys)?;
    let tiles = keys.len() / TILE;
    run.launch("sort_tiles", tiles, THREADS, &[buffer.into()])?;
    for length in doubled(2 * TILE, keys.len()) {
        for distance in doubled(TILE, length as usize / 2).rev() {
            run.launch("merge_far", tiles, THREADS, &[buffer.into(), length.into(), distance.into()])?;
        }
        run.launch("merge_tiles", tiles, THREADS, &[buffer.into(), length.into()])?;
    }
    let got = run.download::<u32>(buffer)?;
    keys.sort_unstable();
    run.check_equal("keys", &got, &keys);
    Ok(())
}

/// `first`, twice that and so on, `last` included; both are powers of two.
fn doubled(first: usize, last: usize) -> impl DoubleEndedIterator<Item = u32> {
    (first.ilog2()..=last.ilog2()).map(|log| 1 << log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_distances_double() {
        assert_eq!(doubled(512, 2048).rev().collect::<Vec<_>>(), [2048, 1024, 512]);
        assert_eq!(doubled(1024, 512).count(), 0);
    }
}
