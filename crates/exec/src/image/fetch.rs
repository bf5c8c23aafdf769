//! Reads through textures.

use super::{Images, sample};
use crate::fault::{Outcome, Trap};
use crate::lanes::{Lanes, Reg};
use crate::memory::DeviceMemory;
use isa::{DynInst, Shape, Space};
use kit::{WARP_LANES, lanes};

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FetchKind {
    /// The texture at a place, filtered.
    Sample,
    /// The texel with these numbers.
    Texel,
    /// A channel of the four texels around a place.
    Gather(u8),
}

/// A read through a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fetch {
    /// What is read.
    pub kind: FetchKind,
    /// The coordinates that there are.
    pub shape: Shape,
    /// The texture.
    pub handle: Reg,
    /// The handle takes two columns.
    pub wide: bool,
    /// The layer, if there are layers, and the coordinates; then the level of detail, if given.
    pub at: [Reg; 4],
    /// A level of detail is given.
    pub level: bool,
    /// Channels that are kept, a bit each.
    pub channels: u8,
    /// Where they go, by channel.
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
            let trap = |what: String| Trap::new(what, 1 << lane);
            let handle = handle_of(file, self.handle, self.wide, lane);
            let image = images.find(handle, true, self.shape).map_err(trap)?;
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
            let read = read.map_err(|e| trap(format!("read through texture {handle:#x}: {e}")))?;
            columns.iter_mut().zip(read.channels).for_each(|(column, c)| column[lane] = c);
            // Timing knows words.
            [out.addresses[lane], out.addresses2[lane]] = read.touched.map(|a| a & !3);
        }
        self.kept().for_each(|k| file.write(self.d[k], &columns[k]));
        Ok(())
    }
}

/// What is asked of a texture or surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum QueryKind {
    Width,
    Height,
    /// Or layers.
    Depth,
}

/// A question about a texture or surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// What is asked.
    pub kind: QueryKind,
    /// The image.
    pub handle: Reg,
    /// The handle takes two columns.
    pub wide: bool,
    /// Takes the answer.
    pub d: Reg,
}

impl Query {
    pub(crate) fn run(&self, file: &mut Lanes<'_>, images: &Images) -> Outcome {
        let mut column = [0; WARP_LANES];
        for lane in lanes(file.mask) {
            let handle = handle_of(file, self.handle, self.wide, lane);
            let image = images.any(handle).map_err(|what| Trap::new(what, 1 << lane))?;
            column[lane] = image.size[self.kind as usize];
        }
        file.write(self.d, &column);
        Ok(())
    }
}
