//! Gaussian elimination.

use crate::bounded::F32;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

pub(super) const WORKLOAD: Workload = Workload {
    name: "gaussian",
    summary: "Gaussian elimination without pivoting, two launches per column",
    character: "many short launches of tiny CTAs; late launches have almost nothing to do",
    suite: Suite::Rodinia,
    papers: &[("ghost", "GAS"), ("socgpu", "gaussian"), ("sgmf", "GE")],
    module: bundled!("gaussian"),
    parameters: &[
        Parameter::new("n", "equations", [32, 96, 208], 2, 4096),
        Parameter::new("line", "threads per CTA that compute factors", [512; 3], 1, 1024),
        Parameter::new("side", "side of the square CTAs that eliminate", [4; 3], 1, 32),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (n, line, side) = (run.param("n"), run.param("line"), run.param("side"));
    let mut a = run.floats(n * n, -1.0, 1.0);
    let b = run.floats(n, -10.0, 10.0);
    // A dominant diagonal, so that elimination is stable without pivoting.
    (0..n).for_each(|i| a[i * n + i] += n as f32);

    let (d_a, d_b) = (run.upload("a", &a)?, run.upload("b", &b)?);
    let factors = run.zeroed::<f32>("factors", n * n)?;
    for t in 0..n - 1 {
        let (size, column) = (n as i32, t as i32);
        run.launch("multipliers", n.div_ceil(line), line, &[d_a.into(), factors.into(), size.into(), column.into()])?;
        let args = [factors.into(), d_a.into(), d_b.into(), size.into(), column.into()];
        run.launch("eliminate", [n.div_ceil(side); 2], [side, side], &args)?;
    }
    let mut system = System::new(&a, &b);
    system.eliminate();
    let (got_a, got_b, got_factors) = (run.download::<f32>(d_a)?, run.download::<f32>(d_b)?, run.download(factors)?);
    run.check_bounds("a", &got_a, &system.a);
    run.check_bounds("b", &got_b, &system.b);
    run.check_bounds::<f32, 24>("factors", &got_factors, &system.factors);
    Ok(())
}

struct System {
    n: usize,
    a: Vec<F32>,
    b: Vec<F32>,
    factors: Vec<F32>,
}

impl System {
    fn new(a: &[f32], b: &[f32]) -> Self {
        let exact = |values: &[f32]| values.iter().map(|&v| F32::from(v)).collect();
        Self { n: b.len(), a: exact(a), b: exact(b), factors: vec![F32::exact(0.0); a.len()] }
    }

    /// As the kernels do it, entries below the diagonal included.
    fn eliminate(&mut self) {
        let n = self.n;
        for t in 0..n - 1 {
            for row in t + 1..n {
                let factor = self.a[row * n + t] / self.a[t * n + t];
                self.factors[row * n + t] = factor;
                for col in t..n {
                    self.a[row * n + col] = self.a[row * n + col] - factor * self.a[t * n + col];
                }
                self.b[row] = self.b[row] - factor * self.b[t];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::Values;

    #[test]
    fn three_equations() {
        let mut system = System::new(&[2.0, 1.0, 1.0, 4.0, 5.0, 3.0, -2.0, 5.0, 5.0], &[1.0, 2.0, 3.0]);
        system.eliminate();
        assert_eq!(system.a.map_values(), [2.0, 1.0, 1.0, 0.0, 3.0, 1.0, 0.0, 0.0, 4.0]);
        assert_eq!(system.b.map_values(), [1.0, 0.0, 4.0]);
        assert_eq!(system.factors.map_values(), [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, -1.0, 2.0, 0.0]);
    }
}
