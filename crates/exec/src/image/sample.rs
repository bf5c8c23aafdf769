//! Conversion of coordinates to texels, after the CUDA C++ Programming Guide's appendix "Texture Fetching".

use super::{cube, mode_of, value};
use crate::memory::{DeviceMemory, MemoryError};
use isa::{AddressMode, Channel, Image};

/// Weights of linear filtering have 8 fractional bits (same appendix). Their rounding is not published; here
/// it is to nearest.
const WEIGHT_STEPS: f64 = 256.0;

/// The two texels along an axis around a coordinate; `None` reads as zero. Without filtering both are the
/// texel that contains it.
#[derive(Clone, Copy, Debug)]
struct Span {
    texels: [Option<u32>; 2],
    /// Weight of the second texel.
    weight: f64,
    /// The same two texels, clamped to the image.
    nearest: [u32; 2],
}

impl Span {
    fn of(indices: [i64; 2], weight: f64, mode: AddressMode, count: u32) -> Self {
        let n = i64::from(count);
        let nearest = indices.map(|i| match mode {
            AddressMode::Wrap => i.rem_euclid(n) as u32,
            // Coordinates were mirrored before; they exceed the image by half a texel at most.
            _ => i.clamp(0, n - 1) as u32,
        });
        let outside = |i: i64| mode == AddressMode::Border && !(0..n).contains(&i);
        Self { texels: [0, 1].map(|k| (!outside(indices[k])).then_some(nearest[k])), weight, nearest }
    }

    /// The span of an axis that the image does not have.
    const fn none() -> Self {
        Self { texels: [Some(0); 2], weight: 0.0, nearest: [0; 2] }
    }

    fn only(index: u32) -> Self {
        Self { texels: [Some(index); 2], weight: 0.0, nearest: [index; 2] }
    }
}

/// The result of a read by one lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read {
    pub channels: [u32; 4],
    /// Addresses of the texel and of the one diagonally opposite.
    pub touched: [u64; 2],
}

/// The coordinate of `axis` in texels.
fn in_texels(image: &Image, axis: usize, x: f64) -> f64 {
    /// Far outside any image; additions to it are still exact.
    const FAR: f64 = (1_u64 << 40) as f64;
    let (x, count) = (if x.is_nan() { 0.0 } else { x }, f64::from(image.size[axis]));
    let x = if image.shape.is_cube() || image.sampler.is_some_and(|s| s.normalised) {
        let whole = x.floor();
        let within = if x.is_finite() { x - whole } else { 0.0 };
        let place = match mode_of(image, axis) {
            AddressMode::Wrap => within,
            AddressMode::Mirror if whole.rem_euclid(2.0) == 1.0 => 1.0 - within,
            AddressMode::Mirror => within,
            AddressMode::Clamp | AddressMode::Border => x,
        };
        place * count
    } else {
        x
    };
    x.clamp(-FAR, FAR)
}

/// The weight of a texel at distance `x` of the other one, not negative.
fn weight(x: f64) -> f64 {
    // To nearest, halves upwards.
    f64::from((x * WEIGHT_STEPS + 0.5) as u32) / WEIGHT_STEPS
}

/// The texel at `x`, or the two around it.
fn span(image: &Image, axis: usize, x: f64, linear: bool) -> Span {
    let x = in_texels(image, axis, x);
    let (mode, count) = (mode_of(image, axis), image.size[axis]);
    if linear {
        let below = (x - 0.5).floor();
        let first = below as i64;
        return Span::of([first, first + 1], weight(x - 0.5 - below), mode, count);
    }
    // In a mirrored image the far edge belongs to the last texel. That is also the result where a product is
    // rounded up.
    let index = match mode {
        AddressMode::Border => x.floor() as i64,
        _ => (x.floor() as i64).min(i64::from(count) - 1),
    };
    Span::of([index; 2], 0.0, mode, count)
}

/// Coordinates along the axes of an image, and the layer or face.
fn located(image: &Image, at: [f32; 3], layer: u32) -> ([f64; 3], u32) {
    let at = at.map(f64::from);
    if !image.shape.is_cube() {
        return (at, layer);
    }
    let (face, [s, t]) = cube::face(at);
    let cube = layer.min(image.size[2] / cube::FACES - 1);
    ([(s + 1.0) / 2.0, (t + 1.0) / 2.0, 0.0], cube * cube::FACES + face)
}

/// The spans of all axes; a layer is a whole number.
fn spans(image: &Image, at: [f64; 3], layer: u32, linear: bool) -> [Span; 3] {
    let mut spans = [Span::none(); 3];
    for axis in 0..image.shape.axes() {
        spans[axis] = span(image, axis, at[axis], linear);
    }
    if image.shape.is_sliced() {
        spans[2] = Span::only(layer.min(image.size[2] - 1));
    }
    spans
}

fn touched(image: &Image, spans: &[Span; 3]) -> [u64; 2] {
    let texel = u64::from(image.texel_bytes());
    [0, 1].map(|k| {
        let [x, y, z] = [0, 1, 2].map(|axis| spans[axis].nearest[k]);
        image.address(u64::from(x) * texel, y, z)
    })
}

/// The channels of a texel; missing ones are 0, 0 and 1. Outside the image they are the border's.
fn texel(image: &Image, memory: &DeviceMemory, place: [Option<u32>; 3]) -> Result<[u32; 4], MemoryError> {
    let [Some(x), Some(y), Some(z)] = place else { return Ok(image.sampler.unwrap_or_default().border) };
    let (bytes, channel) = (image.texel_bytes(), image.channel);
    let as_float = image.sampler.is_some_and(|s| s.as_float);
    let mut raw = [0; 16];
    memory.read(image.address(u64::from(x) * u64::from(bytes), y, z), &mut raw[..bytes as usize])?;
    let one = if as_float || channel.is_float() { 1.0_f32.to_bits() } else { 1 };
    let mut channels = [0, 0, 0, one];
    let parts = raw[..bytes as usize].chunks_exact(channel.bytes() as usize);
    channels.iter_mut().zip(parts).for_each(|(c, part)| *c = value(channel, part, as_float));
    if as_float && channel == Channel::U8 && image.sampler.is_some_and(|s| s.srgb) {
        channels.iter_mut().take(usize::from(image.channels.min(3))).for_each(|c| *c = linear_of_srgb(*c));
    }
    Ok(channels)
}

/// A number from 0 to 1 without the gamma of sRGB (IEC 61966-2-1).
fn linear_of_srgb(bits: u32) -> u32 {
    let x = f64::from(f32::from_bits(bits));
    let linear = if x <= 0.04045 { x / 12.92 } else { libm::pow((x + 0.055) / 1.055, 2.4) };
    (linear as f32).to_bits()
}

/// A read of a cube map with linear filtering that blends texels of adjacent faces.
fn seamless(image: &Image, memory: &DeviceMemory, at: [f64; 3], layer: u32) -> Result<[u32; 4], MemoryError> {
    let side = image.size[0];
    let (cube, face) = (layer - layer % cube::FACES, layer % cube::FACES);
    let [x, y] = [0, 1].map(|axis| {
        let x = in_texels(image, axis, at[axis]) - 0.5;
        (x.floor() as i64, weight(x - x.floor()))
    });
    let mut found = [None; 4];
    for (corner, found) in found.iter_mut().enumerate() {
        let at = [x.0 + (corner & 1) as i64, y.0 + (corner >> 1) as i64];
        if let Some((face, [x, y])) = cube::across(face, at, side) {
            let channels = texel(image, memory, [Some(x), Some(y), Some(cube + face)])?;
            *found = Some(channels.map(|c| f64::from(f32::from_bits(c))));
        }
    }
    let known = found.iter().flatten().count().max(1) as f64;
    let mean = [0, 1, 2, 3].map(|c| found.iter().flatten().map(|texel| texel[c]).sum::<f64>() / known);
    let mut sums = [0.0; 4];
    for (corner, found) in found.into_iter().enumerate() {
        let weight = [(x.1, corner & 1), (y.1, corner >> 1)].map(|(w, far)| if far == 1 { w } else { 1.0 - w });
        sums.iter_mut().zip(found.unwrap_or(mean)).for_each(|(sum, c)| *sum += weight[0] * weight[1] * c);
    }
    Ok(sums.map(|sum| (sum as f32).to_bits()))
}

/// Reads the texture at a position, filtered.
pub(super) fn sample(image: &Image, memory: &DeviceMemory, at: [f32; 3], layer: u32) -> Result<Read, MemoryError> {
    let linear = image.sampler.is_some_and(|s| s.linear);
    let (at, layer) = located(image, at, layer);
    let spans = spans(image, at, layer, linear);
    let touched = touched(image, &spans);
    if !linear {
        return Ok(Read { channels: texel(image, memory, spans.map(|s| s.texels[0]))?, touched });
    }
    if image.shape.is_cube() && image.sampler.is_some_and(|s| s.seamless) {
        return Ok(Read { channels: seamless(image, memory, at, layer)?, touched });
    }
    let mut sums = [0.0; 4];
    // Along other axes both texels are one.
    for corner in 0..1_usize << image.shape.axes() {
        let side = |axis: usize| corner >> axis & 1;
        let weights = [0, 1, 2].map(|a| if side(a) == 1 { spans[a].weight } else { 1.0 - spans[a].weight });
        let weight: f64 = weights.iter().product();
        if weight != 0.0 {
            let found = texel(image, memory, [0, 1, 2].map(|a| spans[a].texels[side(a)]))?;
            sums.iter_mut().zip(found).for_each(|(sum, c)| *sum += weight * f64::from(f32::from_bits(c)));
        }
    }
    Ok(Read { channels: sums.map(|sum| (sum as f32).to_bits()), touched })
}

/// Reads the texel at integer coordinates.
pub(super) fn fetch(image: &Image, memory: &DeviceMemory, at: [i32; 3], layer: u32) -> Result<Read, MemoryError> {
    let mut spans = spans(image, [0.0; 3], layer, false);
    for axis in 0..image.shape.axes() {
        spans[axis] = Span::of([at[axis].into(); 2], 0.0, AddressMode::Border, image.size[axis]);
    }
    let touched = touched(image, &spans);
    let place = spans.map(|s| s.texels[0]);
    let channels = if place.contains(&None) { [0; 4] } else { texel(image, memory, place)? };
    Ok(Read { channels, touched })
}

/// One channel of the four texels that linear filtering would blend, counter-clockwise from below left
/// (PTX ISA, `tld4`).
pub(super) fn gather(
    image: &Image,
    memory: &DeviceMemory,
    (at, layer): ([f32; 3], u32),
    channel: u8,
) -> Result<Read, MemoryError> {
    const CORNERS: [[usize; 2]; 4] = [[0, 1], [1, 1], [1, 0], [0, 0]];
    let (at, layer) = located(image, at, layer);
    let spans = spans(image, at, layer, true);
    let mut read = Read { channels: [0; 4], touched: touched(image, &spans) };
    for (found, [x, y]) in read.channels.iter_mut().zip(CORNERS) {
        let place = [spans[0].texels[x], spans[1].texels[y], spans[2].texels[0]];
        *found = texel(image, memory, place)?[usize::from(channel & 3)];
    }
    Ok(read)
}
