//! Copies and reductions of boxes of tensors by the copy engine.

use crate::copy_engine::{Copies, Engine, Receivers, add_run};
use crate::fault::{Outcome, Stop};
use crate::lanes::{Lanes, Reg};
use crate::mbarrier::{Arriving, own_shared};
use crate::memory::{generic_space, window_base};
use crate::tensor_map::{ALIGNMENT, BYTES, Element, Interleave, MOST_DIMENSIONS, Place, Row, TensorMap};
use crate::update::{AtomicOp, AtomicType};
use isa::{FaultKind, Space, TensorUse, Transfer, TransferKind};

/// A `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` or `cp.async.bulk.prefetch.tensor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TensorCopy {
    pub kind: TransferKind,
    /// Of a reduction.
    pub reduction: Option<AtomicOp>,
    /// Dimensions.
    pub rank: u8,
    pub im2col: bool,
    /// Address of the map, of two columns.
    pub map: Reg,
    /// Consecutive columns: the address in shared memory, except of a prefetch; of a load, the barrier's; the
    /// coordinates.
    pub operands: Reg,
    /// Offsets of im2col in bits 0 to 15, CTAs of the cluster that receive the data in bits 16 to 31.
    pub extra: Option<Reg>,
    /// The upper half of `extra` says which CTAs receive the data.
    pub multicast: bool,
    /// The warp executes it once, not each lane.
    pub once: bool,
}

/// A copy of one lane.
pub(crate) struct Copy {
    map: TensorMap,
    place: Place,
    /// The source in shared memory, of a copy that is not a load.
    shared: u64,
    /// The receivers of a load.
    to: Option<Receivers>,
}

impl TensorCopy {
    /// Columns before the coordinates.
    const fn head(&self) -> u8 {
        match self.kind {
            TransferKind::Prefetch => 0,
            TransferKind::GlobalToShared => 2,
            _ => 1,
        }
    }

    /// Columns of the operands.
    pub const fn columns(&self) -> u8 {
        self.head() + self.rank
    }

    /// The copy of a lane, which is possible.
    fn copy(&self, file: &Lanes<'_>, engine: &Engine<'_, '_, '_>, transfer: &mut Transfer) -> Result<Copy, Stop> {
        let (lane, kind) = (engine.lane, FaultKind::IllegalInstruction);
        let operand = |k: u8| file.get::<u32>(Reg(self.operands.0 + u16::from(k)), lane);
        let at = file.get::<u64>(self.map, lane);
        let map = read_map(engine, at)?;
        let fault = |what: String| engine.fault(kind, format!("tensor map at {at:#x}: {what}"));
        if map.rank != usize::from(self.rank) {
            return Err(fault(format!("rank {}, and the instruction is for {}", map.rank, self.rank)));
        }
        let is_im2col = matches!(map.shape, crate::tensor_map::Shape::Im2col { .. });
        if is_im2col != self.im2col {
            let [of_map, of_copy] = [is_im2col, self.im2col].map(|is| if is { "im2col" } else { "tiled" });
            return Err(fault(format!("it is {of_map}, and the instruction is {of_copy}")));
        }
        let room = u64::from(engine.m.shared.bytes().max(1 << 18));
        if map.rows() * u64::from(map.pitch()) > room {
            return Err(fault(format!("box: its {} bytes are more than shared memory", map.copied_bytes())));
        }
        let mut place = Place::default();
        for i in 0..self.rank {
            place.coordinates[usize::from(i)] = operand(self.head() + i) as i32;
        }
        let channel = place.coordinates[0];
        if map.interleave != Interleave::None && channel.rem_euclid(map.row_elements() as i32) != 0 {
            let slice = map.row_elements();
            return Err(fault(format!(
                "channel {channel} of an interleaved tensor is not the first of {slice} in a slice"
            )));
        }
        if let Some(extra) = self.extra {
            let extra = file.get::<u32>(extra, lane);
            let bits = [16, 16, 16, 16, 8, 5][usize::from(self.rank).min(MOST_DIMENSIONS)];
            let spatial = usize::from(self.rank).saturating_sub(2).min(3);
            for (k, offset) in place.offsets[..spatial].iter_mut().enumerate().filter(|_| self.im2col) {
                *offset = (extra & 0xffff) >> (bits * k) & ((1 << bits) - 1);
            }
        }
        let (mut shared, mut to) = (0, None);
        if self.kind != TransferKind::Prefetch {
            engine.is_multiple(operand(0).into(), 128, "copy of a box: the shared address")?;
        }
        match self.kind {
            TransferKind::Prefetch => {}
            TransferKind::GlobalToShared => {
                to = Some(engine.receivers(operand(0), self.ctas(file, lane), transfer)?);
            }
            _ => shared = own_shared(engine.m, operand(0).into(), "the source of a box", 1 << lane)?,
        }
        Ok(Copy { map, place, shared, to })
    }

    /// The mask of a multicast.
    fn ctas(&self, file: &Lanes<'_>, lane: usize) -> Option<u16> {
        self.extra.filter(|_| self.multicast).map(|extra| (file.get::<u32>(extra, lane) >> 16) as u16)
    }
}

impl Copies for TensorCopy {
    type Copy = Copy;

    fn kind(&self) -> TransferKind {
        self.kind
    }

    fn is_once(&self) -> bool {
        self.once
    }

    fn prepare(
        &self,
        file: &Lanes<'_>,
        engine: &Engine<'_, '_, '_>,
        transfer: &mut Transfer,
        barriers: &mut Vec<Arriving>,
    ) -> Result<Copy, Stop> {
        let (copy, lane) = (self.copy(file, engine, transfer)?, engine.lane);
        let bytes = copy.map.copied_bytes() as u32;
        use_map(transfer, file.get(self.map, lane), copy.map.rows() as u32);
        copy.map.walk(&copy.place, |row| {
            add_run(transfer, row.address, row.inside);
            Ok::<_, Stop>(())
        })?;
        if self.kind != TransferKind::Prefetch {
            transfer.shared_bytes += bytes;
        }
        if self.kind == TransferKind::GlobalToShared {
            let at = file.get(self.operands.next(), lane);
            engine.arriving((at, bytes), self.ctas(file, lane), barriers)?;
        }
        Ok(copy)
    }

    fn move_data(&self, copy: &Copy, engine: &mut Engine<'_, '_, '_>) -> Outcome {
        match self.kind {
            TransferKind::GlobalToShared => copy.load(engine),
            TransferKind::Prefetch => Ok(()),
            _ => copy.store(engine, self.reduction),
        }
    }
}

/// `prefetch.tensormap`: brings a tensor map to the copy engine. A hint: whatever its address is, it has no other effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapPrefetch {
    /// Address of the map, of two columns.
    pub map: Reg,
    /// The warp executes it once, not each lane.
    pub once: bool,
}

impl Copies for MapPrefetch {
    type Copy = ();

    fn kind(&self) -> TransferKind {
        TransferKind::Prefetch
    }

    fn is_once(&self) -> bool {
        self.once
    }

    fn prepare(
        &self,
        file: &Lanes<'_>,
        engine: &Engine<'_, '_, '_>,
        transfer: &mut Transfer,
        _: &mut Vec<Arriving>,
    ) -> Result<(), Stop> {
        use_map(transfer, file.get(self.map, engine.lane), 0);
        Ok(())
    }

    fn move_data(&self, (): &(), _: &mut Engine<'_, '_, '_>) -> Outcome {
        Ok(())
    }
}

/// Adds a lane's use of the map at this address, with `rows` rows. All lanes count as users of the first one's map.
fn use_map(transfer: &mut Transfer, map: u64, rows: u32) {
    let of_lanes = transfer.tensor.get_or_insert(TensorUse { map, rows: 0 });
    of_lanes.rows = of_lanes.rows.saturating_add(rows);
}

/// Reads and checks the map at a generic address.
fn read_map(engine: &Engine<'_, '_, '_>, address: u64) -> Result<TensorMap, Stop> {
    let space = generic_space(address);
    let mut bytes = [0; BYTES];
    let within = address - window_base(space);
    engine.is_multiple(within, ALIGNMENT, "tensor map: the address")?;
    if matches!(space, Space::Shared | Space::Local) {
        let what = format!("tensor map at {address:#x}: it must be in global, constant or parameter memory");
        return Err(engine.fault(FaultKind::IllegalAddress, what));
    }
    engine.read(space, within, &mut bytes)?;
    TensorMap::of_bytes(&bytes)
        .map_err(|what| engine.fault(FaultKind::IllegalInstruction, format!("tensor map at {address:#x}: {what}")))
}

/// Bytes of a unit that swizzles keep together.
const UNIT: usize = 16;

impl Copy {
    fn load(&self, engine: &mut Engine<'_, '_, '_>) -> Outcome {
        let mut rows: Vec<(u32, Vec<u8>)> = Vec::new();
        let (bytes, fill) = (self.map.row_bytes() as usize, fill(&self.map));
        self.map.walk(&self.place, |Row { shared, before, inside, address }| {
            let mut row = fill.iter().copied().cycle().take(bytes).collect::<Vec<u8>>();
            let within = &mut row[before as usize..][..inside as usize];
            engine.read(Space::Global, address, within)?;
            convert(self.map.element, within);
            rows.push((shared, row));
            Ok::<_, Stop>(())
        })?;
        let Some(to) = self.to else { return Ok(()) };
        for first in to.addresses(engine.m) {
            for (shared, row) in &rows {
                let first = first + u64::from(*shared);
                self.each_unit(first, row.len(), |from, at| engine.write(Space::Shared, at, &row[from]))?;
            }
        }
        Ok(())
    }

    fn store(&self, engine: &mut Engine<'_, '_, '_>, reduction: Option<AtomicOp>) -> Outcome {
        let bytes = self.map.row_bytes() as usize;
        let reduction = match reduction {
            Some(op) => {
                Some((op, self.reduced_type(op).map_err(|what| engine.fault(FaultKind::IllegalInstruction, what))?))
            }
            None => None,
        };
        self.map.walk(&self.place, |Row { shared, before, inside, address }| {
            if inside == 0 {
                return Ok(());
            }
            let mut row = vec![0; bytes];
            self.each_unit(self.shared + u64::from(shared), bytes, |to, at| {
                engine.read(Space::Shared, at, &mut row[to])
            })?;
            let within = &row[before as usize..][..inside as usize];
            match reduction {
                Some(reduction) => engine.reduce(Space::Global, address, within, reduction),
                None => engine.write(Space::Global, address, within),
            }
        })
    }

    /// Calls `f` for the units of a row that begins at the shared address `first`: the part of the row, and its address.
    fn each_unit(
        &self,
        first: u64,
        bytes: usize,
        mut f: impl FnMut(std::ops::Range<usize>, u64) -> Outcome,
    ) -> Outcome {
        if self.map.swizzle.span().is_none() {
            return f(0..bytes, first);
        }
        (0..bytes)
            .step_by(UNIT)
            .try_for_each(|at| f(at..bytes.min(at + UNIT), self.map.swizzle.place(first + at as u64)))
    }

    /// The type as which elements are reduced.
    fn reduced_type(&self, op: AtomicOp) -> Result<AtomicType, String> {
        use AtomicOp::{Add, Dec, Inc, Max, Min};
        let ty = match self.map.element {
            Element::U32 => AtomicType::U32,
            Element::S32 => AtomicType::S32,
            Element::U64 => AtomicType::U64,
            Element::S64 => AtomicType::S64,
            Element::F16 => AtomicType::F16,
            Element::Bf16 => AtomicType::Bf16,
            Element::F32 | Element::F32Ftz | Element::Tf32 | Element::Tf32Ftz => AtomicType::F32,
            Element::F64 => AtomicType::F64,
            Element::U8 | Element::U16 => return Err("elements of 8 or 16 bits cannot be reduced".into()),
        };
        let is_good = match ty {
            AtomicType::F32 | AtomicType::F64 => op == Add,
            AtomicType::F16 | AtomicType::Bf16 => matches!(op, Add | Min | Max),
            AtomicType::U32 => true,
            _ => !matches!(op, Inc | Dec),
        };
        if is_good {
            Ok(ty)
        } else {
            Err(format!("the reduction {op:?} of elements {:?} does not exist", self.map.element))
        }
    }
}

/// Two bytes outside the tensor.
fn fill(map: &TensorMap) -> [u8; 2] {
    const NAN: [u8; 2] = 0x7ff7_u16.to_le_bytes();
    if map.fills_nan && map.element.is_float() { NAN } else { [0; 2] }
}

/// Converts loaded elements by their type.
fn convert(element: Element, bytes: &mut [u8]) {
    let (flush, round) = match element {
        Element::F32Ftz => (true, false),
        Element::Tf32 => (false, true),
        Element::Tf32Ftz => (true, true),
        _ => return,
    };
    for element in bytes.as_chunks_mut::<4>().0 {
        let mut word = u32::from_le_bytes(*element);
        let exponent = word >> 23 & 0xff;
        if flush && exponent == 0 {
            word &= 1 << 31;
        }
        if round && exponent != 0xff {
            word = word.wrapping_add(1 << 12);
        }
        *element = (if round { word & !0x1fff } else { word }).to_le_bytes();
    }
}
