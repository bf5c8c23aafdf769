//! Matrix transposition.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const TILE: usize = 32;
const ROWS: usize = 8;

pub(super) const WORKLOAD: Workload = Workload {
    name: "transpose",
    summary: "matrix transposition, through a padded tile in shared memory and without one",
    character: "coalesced against scattered writes: the second kernel writes 32 sectors per warp",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("transpose"),
    parameters: &[
        Parameter::new("width", "columns of the input", [256, 1024, 3072], 1, 32768),
        Parameter::new("height", "rows of the input", [192, 1024, 3072], 1, 32768),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (width, height) = (run.param("width"), run.param("height"));
    let matrix = run.floats(width * height, -1.0, 1.0);
    let expected = transposed(&matrix, width);
    let input = run.upload("in", &matrix)?;
    for kernel in ["transpose", "transpose_naive"] {
        let output = run.alloc::<f32>(kernel, width * height)?;
        let args = [input.into(), output.into(), (width as i32).into(), (height as i32).into()];
        run.launch(kernel, [width.div_ceil(TILE), height.div_ceil(TILE)], [TILE, ROWS], &args)?;
        let got = run.download::<f32>(output)?;
        run.check_equal(kernel, &got, &expected);
    }
    Ok(())
}

fn transposed(matrix: &[f32], width: usize) -> Vec<f32> {
    (0..width).flat_map(|x| matrix.iter().skip(x).step_by(width).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_by_three() {
        assert_eq!(transposed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
