//! Vector addition.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

pub(super) const WORKLOAD: Workload = Workload {
    name: "vectoradd",
    summary: "c = a + b, one element per thread",
    character: "streaming: bound by memory bandwidth, no reuse, no divergence",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("vectoradd"),
    parameters: &[
        Parameter::new("n", "elements of each vector", [1 << 16, 1 << 20, 1 << 24], 1, 1 << 28),
        Parameter::new("block", "threads per CTA", [256; 3], 1, 1024),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (n, block) = (run.param("n"), run.param("block"));
    let a = run.floats(n, -1000.0, 1000.0);
    let b = run.floats(n, -1000.0, 1000.0);
    let (da, db) = (run.upload("a", &a)?, run.upload("b", &b)?);
    let dc = run.alloc::<f32>("c", n)?;
    run.launch("vectoradd", n.div_ceil(block), block, &[da.into(), db.into(), dc.into(), (n as i32).into()])?;
    let c = run.download::<f32>(dc)?;
    // One addition, exactly rounded: there is one right result.
    let expected: Vec<f32> = a.iter().zip(&b).map(|(x, y)| x + y).collect();
    run.check_equal("c", &c, &expected);
    Ok(())
}
