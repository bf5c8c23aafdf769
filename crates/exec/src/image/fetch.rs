//! Reads through textures.

use super::{Images, sample};
use crate::fault::{Outcome, Trap};
use crate::lanes::{Lanes, Reg};
use crate::memory::DeviceMemory;
use isa::{DynInst, FaultKind, Shape, Space};
use kit::{WARP_LANES, lanes};

/// The kind of read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FetchKind {
    /// The filtered texture at a position.
    Sample,
    /// The texel at integer coordinates.
    Texel,
    /// A channel of the four texels around a position.
    Gather(u8),
}

/// A read through a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Fetch {
    pub kind: FetchKind,
    /// Dimensions of the coordinates.
    pub shape: Shape,
    pub handle: Reg,
    /// The handle has two columns.
    pub wide: bool,
    /// The layer of a layered texture, the coordinates, then the level of detail if `level`.
    pub at: [Reg; 5],
    pub level: bool,
    /// Channels that are kept, one bit each.
    pub channels: u8,
    /// Destination of each channel.
    pub d: [Reg; 4],
}

/// The handle of a lane.
pub(super) fn handle_of(file: &Lanes<'_>, handle: Reg, wide: bool, lane: usize) -> u64 {
    if wide { file.get(handle, lane) } else { file.get::<u32>(handle, lane).into() }
}

impl Fetch {
    fn kept(&self) -> impl Iterator<Item = usize> + use<> {
        let channels = self.channels;
        (0..4).filter(move |k| channels >> k & 1 == 1)
    }

    pub(crate) fn run(
        &self,
        file: &mut Lanes<'_>,
        images: &Images,
        memory: &DeviceMemory,
        out: &mut DynInst,
    ) -> Outcome {
        out.space = Space::Texture;
        let mut columns = [[0; WARP_LANES]; 4];
        for lane in lanes(file.mask) {
            let trap = |kind, what: String| Trap::stop(kind, what, 1 << lane);
            let handle = handle_of(file, self.handle, self.wide, lane);
            let image = images.find(handle, true, self.shape).map_err(|what| trap(FaultKind::Other, what))?;
            let first = usize::from(self.shape.is_layered());
            let layer = if first == 1 { file.get(self.at[0], lane) } else { 0 };
            let mut at = [0_u32; 3];
            for (place, &r) in at.iter_mut().zip(&self.at[first..]).take(self.shape.dimensions()) {
                *place = file.get(r, lane);
            }
            let read = match self.kind {
                FetchKind::Sample => sample::sample(image, memory, at.map(f32::from_bits), layer),
                FetchKind::Texel => sample::fetch(image, memory, at.map(|i| i as i32), layer),
                FetchKind::Gather(c) => sample::gather(image, memory, (at.map(f32::from_bits), layer), c),
            };
            let illegal = |e| trap(FaultKind::IllegalAddress, format!("read through texture {handle:#x}: {e}"));
            let read = read.map_err(illegal)?;
            columns.iter_mut().zip(read.channels).for_each(|(column, c)| column[lane] = c);
            // The timing model expects addresses of words.
            [out.addresses[lane], out.second_addresses_mut()[lane]] = read.touched.map(|a| a & !3);
        }
        self.kept().for_each(|k| file.write(self.d[k], &columns[k]));
        Ok(())
    }
}

/// The property of a texture or surface that a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum QueryKind {
    Width,
    Height,
    /// Depth or number of layers.
    Depth,
}

/// A query of a property of a texture or surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Query {
    pub kind: QueryKind,
    pub handle: Reg,
    /// The handle has two columns.
    pub wide: bool,
    pub d: Reg,
}

impl Query {
    pub(crate) fn run(&self, file: &mut Lanes<'_>, images: &Images) -> Outcome {
        let mut column = [0; WARP_LANES];
        for lane in lanes(file.mask) {
            let handle = handle_of(file, self.handle, self.wide, lane);
            let image = images.any(handle).map_err(|what| Trap::stop(FaultKind::Other, what, 1 << lane))?;
            let faces = if image.shape.is_cube() && self.kind == QueryKind::Depth { 6 } else { 1 };
            column[lane] = image.size[self.kind as usize] / faces;
        }
        file.write(self.d, &column);
        Ok(())
    }
}
