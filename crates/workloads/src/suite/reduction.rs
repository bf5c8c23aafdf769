//! Sum of an array.

use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const WARP: usize = 32;

pub(super) const WORKLOAD: Workload = Workload {
    name: "reduction",
    summary: "sum of an array: grid-stride loop, warp shuffles, shared memory, two launches",
    character: "a long chain of dependent loads and adds, then shuffles; the second launch has one CTA",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("reduction"),
    parameters: &[
        Parameter::new("n", "elements", [1 << 16, 1 << 21, 1 << 25], 1, 1 << 28),
        Parameter::new("blocks", "CTAs of the first launch", [64, 256, 1024], 1, 65535),
        Parameter::new("block", "threads per CTA", [256; 3], 32, 1024).in_steps_of(32),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (n, blocks, block) = (run.param("n"), run.param("blocks"), run.param("block"));
    let values = run.floats(n, 0.0, 1.0);
    let input = run.upload("in", &values)?;
    let partial = run.alloc::<f32>("partial", blocks)?;
    let total = run.alloc::<f32>("total", 1)?;
    run.launch("reduce_sum", blocks, block, &[input.into(), partial.into(), (n as i32).into()])?;
    run.launch("reduce_sum", 1, block, &[partial.into(), total.into(), (blocks as i32).into()])?;

    // Only additions, in an order that the kernel fixes: the sum has one right value, to the bit.
    let partial_sums = reduce(&values, blocks, block);
    let sum = reduce(&partial_sums, 1, block);
    let (got_partial, got_total) = (run.download::<f32>(partial)?, run.download::<f32>(total)?);
    run.check(Check::same_bits("partial", &got_partial, &partial_sums));
    run.check(Check::same_bits("total", &got_total, &sum));
    Ok(())
}

/// Result of one launch, added in the kernel's order.
fn reduce(values: &[f32], blocks: usize, block: usize) -> Vec<f32> {
    let stride = blocks * block;
    let thread_sum = |thread: usize| values.iter().skip(thread).step_by(stride).fold(0.0f32, |sum, v| sum + v);
    let cta_sum = |cta: usize| {
        let mut warp_sums = [0.0; WARP];
        for (warp, sum) in warp_sums.iter_mut().enumerate().take(block / WARP) {
            *sum = tree(std::array::from_fn(|lane| thread_sum(cta * block + warp * WARP + lane)));
        }
        tree(warp_sums)
    };
    (0..blocks).map(cta_sum).collect()
}

/// The shuffle tree, as lane 0 sees it.
fn tree(mut lanes: [f32; WARP]) -> f32 {
    for offset in [16, 8, 4, 2, 1] {
        for lane in 0..offset {
            lanes[lane] += lanes[lane + offset];
        }
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sums() {
        let ones = vec![1.0; 1000];
        assert_eq!(reduce(&ones, 1, 32), [1000.0]);
        assert_eq!(reduce(&ones, 4, 64).iter().sum::<f32>(), 1000.0);
        assert_eq!(reduce(&[], 2, 32), [0.0, 0.0]);
        // 64 threads in one CTA: element i goes to thread i.
        let values: Vec<f32> = (0..64).map(|i| i as f32).collect();
        assert_eq!(reduce(&values, 1, 64), [2016.0]);
    }
}
