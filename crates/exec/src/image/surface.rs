//! Loads and stores through surfaces, with x in bytes.

use super::Images;
use super::fetch::handle_of;
use crate::access::{self, Format, Spaces};
use crate::fault::{Outcome, Stop, Trap};
use crate::lanes::{Lanes, Reg};
use isa::{Access, CacheOp, DynInst, FaultKind, Image, MemAccess, Shape, Space};
use kit::{LaneMask, WARP_LANES, lanes};

/// Effect of an access outside the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outside {
    /// Loads return zero; stores have no effect.
    Zero,
    /// Accesses the nearest element inside.
    Clamp,
    /// The kernel faults.
    Trap,
}

/// A load or store through a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SurfaceAccess {
    /// A store instead of a load.
    pub store: bool,
    pub outside: Outside,
    /// Dimensions of the coordinates.
    pub shape: Shape,
    pub handle: Reg,
    /// The handle has two columns.
    pub wide: bool,
    /// x in bytes, y, z; the layer follows the other coordinates.
    pub at: [Reg; 3],
    pub format: Format,
    /// Registers that are loaded or stored: one per element of the format.
    pub registers: [Reg; 4],
}

impl SurfaceAccess {
    /// Its memory access as seen by the timing model.
    pub fn mem_access(&self) -> MemAccess {
        let access = if self.store { Access::Store } else { Access::Load };
        MemAccess { space: Space::Global, access, bytes: self.format.total_bytes(), cache: CacheOp::All }
    }

    pub(crate) fn run(
        &self,
        file: &mut Lanes<'_>,
        m: &mut Spaces<'_, '_>,
        images: &Images,
        out: &mut DynInst,
    ) -> Outcome {
        let within = self.addresses(file, images, &mut out.addresses)?;
        out.space = Space::Global;
        match self.format.total_bytes() {
            1 | 2 | 4 => self.transfer::<1>(file, m, within, out),
            8 => self.transfer::<2>(file, m, within, out),
            _ => self.transfer::<4>(file, m, within, out),
        }
    }

    fn transfer<const N: usize>(
        &self,
        file: &mut Lanes<'_>,
        m: &mut Spaces<'_, '_>,
        within: LaneMask,
        out: &DynInst,
    ) -> Outcome {
        let bytes = u64::from(self.format.total_bytes());
        let mut words = [[0; WARP_LANES]; N];
        if self.store {
            words = access::collect(file, self.format, &self.registers);
        }
        if within != 0 && self.store {
            access::write(m, Space::Global, &out.addresses, within, bytes, &words)?;
        } else if within != 0 {
            access::read(m, Space::Global, &out.addresses, within, bytes, &mut words)?;
            // The words of other lanes are undefined.
            words.iter_mut().for_each(|word| {
                (0..WARP_LANES).filter(|lane| within >> lane & 1 == 0).for_each(|lane| word[lane] = 0);
            });
        }
        if !self.store {
            access::deliver(file, self.format, &self.registers, &words);
        }
        Ok(())
    }

    /// Computes the addresses of all lanes and returns those that access memory. For timing the other lanes
    /// touch the nearest element.
    fn addresses(&self, file: &Lanes<'_>, images: &Images, out: &mut [u64; WARP_LANES]) -> Result<LaneMask, Stop> {
        let bytes = i64::from(self.format.total_bytes());
        let mut within = 0;
        for lane in lanes(file.mask) {
            let trap = |kind, what: String| Trap::stop(kind, what, 1 << lane);
            let handle = handle_of(file, self.handle, self.wide, lane);
            let image = images.find(handle, false, self.shape).map_err(|what| trap(FaultKind::Other, what))?;
            let at = self.place(file, lane);
            let last = [image.row_bytes() as i64 - bytes, i64::from(image.size[1]) - 1, i64::from(image.size[2]) - 1];
            if at[0] % bytes != 0 {
                let (x, bytes) = (at[0], kit::text::counted(bytes as u64, "byte"));
                let what = format!("misaligned access to surface {handle:#x}: x is {x}, of {bytes}");
                return Err(trap(FaultKind::MisalignedAddress, what));
            }
            let inside = at.iter().zip(last).all(|(&x, last)| (0..=last).contains(&x));
            if !inside && (self.outside == Outside::Trap || last[0] < 0) {
                return Err(trap(FaultKind::Trap, outside(image, handle, at, bytes)));
            }
            let nearest = [0, 1, 2].map(|axis| at[axis].clamp(0, last[axis]));
            // The end of a row may split an element.
            let x = nearest[0] - nearest[0] % bytes;
            out[lane] = image.address(x as u64, nearest[1] as u32, nearest[2] as u32);
            if inside || self.outside == Outside::Clamp {
                within |= 1 << lane;
            }
        }
        Ok(within)
    }

    /// x, y and z or layer of a lane.
    fn place(&self, file: &Lanes<'_>, lane: usize) -> [i64; 3] {
        let mut at = [0; 3];
        for (k, &r) in self.at[..self.shape.coordinates()].iter().enumerate() {
            // The layer follows y, or x if there is no y.
            let axis = if self.shape.is_layered() && k == self.shape.dimensions() { 2 } else { k };
            at[axis] = i64::from(file.get::<u32>(r, lane) as i32);
        }
        at
    }
}

#[cold]
fn outside(image: &Image, handle: u64, [x, y, z]: [i64; 3], bytes: i64) -> String {
    let [_, height, depth] = image.size;
    let bytes = kit::text::counted(bytes as u64, "byte");
    let row = kit::text::counted(image.row_bytes(), "byte");
    let (height, depth) = (kit::text::counted(height.into(), "row"), kit::text::counted(depth.into(), "slice"));
    format!(
        "access to surface {handle:#x} outside: {bytes} at byte {x} of row {y}, slice {z}; it has {height} of {row} in \
         {depth}"
    )
}
