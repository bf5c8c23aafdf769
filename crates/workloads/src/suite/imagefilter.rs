//! Rotating and sharpening an image.

use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};
use isa::{Channel, Image, Sampler, Shape};

const TILE: [usize; 2] = [32, 8];
/// Bytes of a pixel.
const PIXEL: usize = 4;

pub(super) const WORKLOAD: Workload = Workload {
    name: "imagefilter",
    summary: "rotation of an image with bilinear sampling, then sharpening, written through surfaces",
    character: "filtered texture reads along slanted lines, five texels each with reuse, surface stores",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("imagefilter"),
    parameters: &[
        Parameter::new("width", "columns of the image", [160, 640, 2048], 1, 16384),
        Parameter::new("height", "rows of the image", [120, 480, 1536], 1, 16384),
        Parameter::new("angle", "degrees of rotation", [30; 3], 0, 359),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (width, height) = (run.param("width"), run.param("height"));
    let angle = (run.param("angle") as f64).to_radians();
    let (cosine, sine) = (angle.cos() as f32, angle.sin() as f32);
    let pixels: Vec<u8> = run.integers(PIXEL * width * height, 0, 255);
    let input = run.upload("image", &pixels)?;
    let (turned, output) = (run.alloc::<u8>("turned", pixels.len())?, run.alloc::<u8>("out", pixels.len())?);
    let image = |buffer: crate::device::Buffer, sampler| Image {
        base: buffer.address,
        shape: Shape::D2,
        size: [width as u32, height as u32, 1],
        pitch: (PIXEL * width) as u64,
        channel: Channel::U8,
        channels: PIXEL as u8,
        sampler,
    };
    let filtered = Sampler { linear: true, as_float: true, ..Sampler::default() };
    let size = [(width as i32).into(), (height as i32).into()];
    let grid = [width.div_ceil(TILE[0]), height.div_ceil(TILE[1])];

    let images = [run.image(&image(input, Some(filtered)))?, run.image(&image(turned, None))?];
    run.launch("rotate", grid, TILE, &[&images[..], &size, &[cosine.into(), sine.into()]].concat())?;
    let got = run.download::<u8>(turned)?;
    let expected = rotated(&pixels, [width, height], [cosine, sine]);
    // Hardware may add up the four texels in its own precision.
    run.check(Check::by_rule("rotate", "within 1", got.len(), |i| {
        (got[i].abs_diff(expected[i]) > 1).then(|| (expected[i].to_string(), got[i].to_string()))
    }));

    let images = [run.image(&image(turned, Some(Sampler::default())))?, run.image(&image(output, None))?];
    run.launch("sharpen", grid, TILE, &[&images[..], &size].concat())?;
    let sharp = run.download::<u8>(output)?;
    run.check_equal("sharpen", &sharp, &sharpened(&got, [width, height]));
    Ok(())
}

/// Bilinear samples of the pixels; outside is the edge. Weights have 8 fraction bits.
fn rotated(pixels: &[u8], [width, height]: [usize; 2], [cosine, sine]: [f32; 2]) -> Vec<u8> {
    let half = [0.5 * width as f32, 0.5 * height as f32];
    let at = |x: i64, y: i64, channel: usize| {
        let (x, y) = (x.clamp(0, width as i64 - 1) as usize, y.clamp(0, height as i64 - 1) as usize);
        f64::from(pixels[(y * width + x) * PIXEL + channel])
    };
    let split = |place: f32| {
        let place = f64::from(place) - 0.5;
        (place.floor() as i64, ((place - place.floor()) * 256.0).round() / 256.0)
    };
    let mut out = Vec::with_capacity(pixels.len());
    for row in 0..height {
        for column in 0..width {
            let (u, v) = (column as f32 + 0.5 - half[0], row as f32 + 0.5 - half[1]);
            let (x, right) = split(u.mul_add(cosine, v.mul_add(sine, half[0])));
            let (y, below) = split(v.mul_add(cosine, u.mul_add(-sine, half[1])));
            out.extend((0..PIXEL).map(|c| {
                let upper = at(x, y, c) * (1.0 - right) + at(x + 1, y, c) * right;
                let lower = at(x, y + 1, c) * (1.0 - right) + at(x + 1, y + 1, c) * right;
                (upper * (1.0 - below) + lower * below).round_ties_even() as u8
            }));
        }
    }
    out
}

fn sharpened(pixels: &[u8], [width, height]: [usize; 2]) -> Vec<u8> {
    let at = |x: usize, y: usize, c: usize| i32::from(pixels[(y * width + x) * PIXEL + c]);
    let mut out = Vec::with_capacity(pixels.len());
    for y in 0..height {
        let (up, down) = (y.saturating_sub(1), (y + 1).min(height - 1));
        for x in 0..width {
            let (left, right) = (x.saturating_sub(1), (x + 1).min(width - 1));
            let colour = |c| 5 * at(x, y, c) - at(left, y, c) - at(right, y, c) - at(x, up, c) - at(x, down, c);
            out.extend((0..PIXEL - 1).map(|c| colour(c).clamp(0, 255) as u8));
            out.push(at(x, y, PIXEL - 1) as u8);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row of grey pixels.
    fn row(values: &[u8]) -> Vec<u8> {
        values.iter().flat_map(|&v| [v, v, v, 9]).collect()
    }

    #[test]
    fn no_rotation_changes_nothing_and_half_a_turn_reverses() {
        let pixels = row(&[10, 20, 40, 80]);
        assert_eq!(rotated(&pixels, [4, 1], [1.0, 0.0]), pixels);
        assert_eq!(rotated(&pixels, [4, 1], [-1.0, 0.0]), row(&[80, 40, 20, 10]));
    }

    #[test]
    fn sharpening_leaves_even_areas_and_raises_peaks() {
        assert_eq!(sharpened(&row(&[7, 7, 7]), [3, 1]), row(&[7, 7, 7]));
        // The rows above and below are the row itself.
        assert_eq!(sharpened(&row(&[10, 20, 10]), [3, 1]), row(&[0, 40, 0]));
    }
}
