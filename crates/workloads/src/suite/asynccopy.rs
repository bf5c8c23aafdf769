//! Matrix product with asynchronous copies.

use super::matmul::product;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const TILE: usize = 16;

pub(super) const WORKLOAD: Workload = Workload {
    name: "asynccopy",
    summary: "C = A B with tiles copied to shared memory asynchronously, in two buffers",
    character: "cp.async hides the copies behind the products (PTX for sm_80)",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("asynccopy"),
    parameters: &[
        Parameter::new("m", "rows of A and C", [64, 256, 448], 16, 8192).in_steps_of(TILE as u64),
        Parameter::new("n", "columns of B and C", [64, 256, 448], 16, 8192).in_steps_of(TILE as u64),
        Parameter::new("k", "columns of A, rows of B", [64, 256, 448], 16, 8192).in_steps_of(TILE as u64),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (m, n, k) = (run.param("m"), run.param("n"), run.param("k"));
    let a = run.floats(m * k, -1.0, 1.0);
    let b = run.floats(k * n, -1.0, 1.0);
    let (da, db) = (run.upload("a", &a)?, run.upload("b", &b)?);
    let dc = run.alloc::<f32>("c", m * n)?;
    let args = [da.into(), db.into(), dc.into(), (n as i32).into(), (k as i32).into()];
    run.launch("asynccopy_matmul", [n / TILE, m / TILE], [TILE, TILE], &args)?;
    let c = run.download::<f32>(dc)?;
    run.check_bounds("c", &c, &product(&a, &b, m, n, k));
    Ok(())
}
