//! Sum of integers in one launch.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

pub(super) const WORKLOAD: Workload = Workload {
    name: "lastblock",
    summary: "sum of integers in one launch: the CTA that draws the last ticket adds the partial sums",
    character: "memory fences and an atomic counter order CTAs; volatile accesses bypass caches",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("lastblock"),
    parameters: &[
        Parameter::new("n", "elements", [1 << 15, 1 << 21, 1 << 25], 1, 1 << 28),
        Parameter::new("blocks", "CTAs", [32, 256, 1024], 1, 65535),
        Parameter::new("block", "threads per CTA", [256; 3], 32, 1024).in_steps_of(32),
        Parameter::new("launches", "times that the sum is taken", [2, 1, 1], 1, 1000),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (n, blocks, block) = (run.param("n"), run.param("blocks"), run.param("block"));
    let values: Vec<u32> = (0..n).map(|_| run.integer(0, u32::MAX.into()) as u32).collect();
    let expected = values.iter().fold(0u32, |sum, &v| sum.wrapping_add(v));
    let input = run.upload("in", &values)?;
    let partial = run.alloc::<u32>("partial", blocks)?;
    for launch in 1..=run.param("launches") {
        let total = run.zeroed::<u32>("total", 1)?;
        run.launch("sum_once", blocks, block, &[input.into(), partial.into(), total.into(), (n as i32).into()])?;
        let got = run.download::<u32>(total)?;
        run.check_equal(&format!("total, launch {launch}"), &got, &[expected]);
    }
    Ok(())
}
