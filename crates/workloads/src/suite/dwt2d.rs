//! Wavelet transform of a picture.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const SPLIT_THREADS: usize = 256;
/// Rows that a CTA transforms at a time.
const ROWS: usize = 8;
/// CTAs that share a column of windows.
const DOWN: usize = 15;

pub(super) const WORKLOAD: Workload = Workload {
    name: "dwt2d",
    summary: "wavelet transform of a picture in colours by whole numbers, 5/3 filter, several levels",
    character: "a window slides down the picture: short loops over shared memory between barriers, stores in four bands",
    suite: Suite::Rodinia,
    papers: &[("ghost", "DWT"), ("socgpu", "dwt2d")],
    module: bundled!("dwt2d"),
    parameters: &[
        Parameter::new("width", "columns of the picture", [64, 256, 1024], 1, 8192),
        Parameter::new("height", "rows of the picture", [64, 256, 1024], 1, 8192),
        Parameter::new("levels", "levels of the transform", [3; 3], 1, 12),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let [width, height, levels] = ["width", "height", "levels"].map(|name| run.param(name));
    let count = width * height;
    let picture: Vec<u8> = run.integers((3 * count).next_multiple_of(4), 0, 255);
    let bytes = run.upload("picture", &picture)?;
    let (mut components, mut results) = (Vec::new(), Vec::new());
    for name in ["red", "green", "blue"] {
        components.push(run.alloc::<i32>(name, count)?);
        results.push(run.alloc::<i32>(&format!("{name}, transformed"), count)?);
    }
    let spare = run.alloc::<i32>("low band", count)?;
    let sizes = [count, picture.len() / 4].map(|n| (n as i32).into());
    let buffers = [bytes, components[0], components[1], components[2]].map(Into::into);
    run.launch("split_components", count.div_ceil(SPLIT_THREADS), SPLIT_THREADS, &[&buffers[..], &sizes].concat())?;

    for (colour, (&component, &result)) in components.iter().zip(&results).enumerate() {
        let (mut from, mut to) = (component, spare);
        let (mut columns, mut rows) = (width, height);
        for level in 1..=levels {
            let window = match columns {
                0..480 => 64,
                480..960 => 128,
                _ => 192,
            };
            let steps = rows.div_ceil(ROWS * DOWN);
            let grid = [columns.div_ceil(window), rows.div_ceil(ROWS * steps)];
            // The last one's low band is part of the result.
            let (low, low_stride) = if level == levels { (result, width) } else { (to, columns.div_ceil(2)) };
            let [in_stride, low_stride, stride, columns_, rows_, steps] =
                [columns, low_stride, width, columns, rows, steps].map(|n| (n as i32).into());
            let args = [from.into(), in_stride, low.into(), low_stride, result.into(), stride, columns_, rows_, steps];
            run.launch("fdwt53", grid, window, &args)?;
            (from, to) = (to, from);
            (columns, rows) = (columns.div_ceil(2), rows.div_ceil(2));
        }
        let mut expected: Vec<i32> =
            picture.iter().skip(colour).step_by(3).map(|&byte| i32::from(byte) - 128).collect();
        expected.truncate(count);
        let got = run.download::<i32>(result)?;
        run.check_equal("transformed", &got, &transformed(expected, width, levels));
    }
    Ok(())
}

/// A picture of rows of `width`, by several levels, in place: averages, then differences, of rows and of columns.
fn transformed(mut picture: Vec<i32>, width: usize, levels: usize) -> Vec<i32> {
    let (mut columns, mut rows) = (width, picture.len() / width);
    for _ in 0..levels {
        for row in 0..rows {
            let line = &mut picture[row * width..][..columns];
            let bands = lifted(line);
            line.copy_from_slice(&bands);
        }
        for column in 0..columns {
            let line: Vec<i32> = (0..rows).map(|row| picture[row * width + column]).collect();
            for (row, value) in lifted(&line).into_iter().enumerate() {
                picture[row * width + column] = value;
            }
        }
        (columns, rows) = (columns.div_ceil(2), rows.div_ceil(2));
    }
    picture
}

/// The low band of a line, then the high one (ITU-T T.800, F.4.8.1), which mirrors at its ends.
fn lifted(line: &[i32]) -> Vec<i32> {
    let last = line.len() as isize - 1;
    if last == 0 {
        return line.to_vec();
    }
    let at = |i: isize| if i.abs() > last { line[(2 * last - i.abs()) as usize] } else { line[i.unsigned_abs()] };
    let high = |i: isize| at(i) - ((at(i - 1) + at(i + 1)) >> 1);
    let low = |i: isize| at(i) + ((high(i - 1) + high(i + 1) + 2) >> 2);
    (0..=last).step_by(2).map(low).chain((1..=last).step_by(2).map(high)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        assert_eq!(lifted(&[7]), [7]);
        assert_eq!(lifted(&[5; 6]), [5, 5, 5, 0, 0, 0]);
        // High: 10 - (0 + 4) / 2, 1 - 4; low: 0 + (8 + 8 + 2) / 4, 4 + (8 - 3 + 2) / 4.
        assert_eq!(lifted(&[0, 10, 4, 1]), [4, 5, 8, -3]);
    }

    #[test]
    fn a_level_halves_the_low_band() {
        let mut expected = [0; 5 * 3];
        expected[..2].fill(3);
        assert_eq!(transformed(vec![3; 5 * 3], 5, 2), expected);
    }
}
