//! Scaled vector addition.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

pub(super) const WORKLOAD: Workload = Workload {
    name: "saxpy",
    summary: "y = a x + y, one element per thread",
    character: "streaming: one fused multiply-add per two loads and a store to where one of them was from",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("saxpy"),
    parameters: &[
        Parameter::new("n", "elements of each vector", [1 << 16, 1 << 20, 1 << 24], 1, 1 << 28),
        Parameter::new("block", "threads per CTA", [256; 3], 1, 1024),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (n, block) = (run.param("n"), run.param("block"));
    let a = run.float(-2.0, 2.0);
    let x = run.floats(n, -1000.0, 1000.0);
    let y = run.floats(n, -1000.0, 1000.0);
    let (dx, dy) = (run.upload("x", &x)?, run.upload("y", &y)?);
    run.launch("saxpy", n.div_ceil(block), block, &[a.into(), dx.into(), dy.into(), (n as i32).into()])?;
    let got = run.download::<f32>(dy)?;
    // The kernel rounds once, in PTX and in machine code.
    let expected: Vec<f32> = x.iter().zip(&y).map(|(&x, &y)| a.mul_add(x, y)).collect();
    run.check_equal("y", &got, &expected);
    Ok(())
}
