//! Bulk copies and reductions of consecutive bytes by the copy engine.

use crate::access::Spaces;
use crate::copy_engine::{Copies, Engine, add_run};
use crate::fault::{Outcome, Stop};
use crate::lanes::{Lanes, Reg};
use crate::mbarrier::own_shared;
use crate::update::{AtomicOp, AtomicType};
use isa::{FaultKind, Space, Transfer, TransferKind};
use kit::LaneMask;

/// Bytes of the unit in which bulk copies count.
const UNIT: u64 = 16;

/// A `cp.async.bulk`, `cp.reduce.async.bulk` or `cp.async.bulk.prefetch` without a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct BulkCopy {
    pub kind: TransferKind,
    /// Of a reduction.
    pub reduction: Option<(AtomicOp, AtomicType)>,
    /// The address in global memory, of two columns; between shared memories the destination, of one.
    pub outer: Reg,
    /// The address in shared memory; unused by a prefetch.
    pub shared: Reg,
    /// The address of the barrier to which the bytes come, if it is one.
    pub barrier: Option<Reg>,
    /// In bytes.
    pub size: Reg,
    /// CTAs of the cluster that receive the data, in bits 0 to 15.
    pub ctas: Option<Reg>,
    /// The warp executes it once, not each lane.
    pub once: bool,
}

/// A lane's operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    outer: u64,
    shared: u64,
    size: u32,
}

impl BulkCopy {
    /// Columns of the first operand.
    pub const fn outer_columns(&self) -> u8 {
        if matches!(self.kind, TransferKind::SharedToShared) { 1 } else { 2 }
    }

    /// Whether the first operand is in shared memory, too.
    const fn is_within(&self) -> bool {
        matches!(self.kind, TransferKind::SharedToShared)
    }

    fn operands(&self, file: &Lanes<'_>, engine: &Engine<'_, '_, '_>) -> Result<Operands, Stop> {
        let lane = engine.lane;
        let bit: LaneMask = 1 << lane;
        let size = file.get::<u32>(self.size, lane);
        engine.is_multiple(size.into(), UNIT, "the size of a bulk copy")?;
        let outer = if self.is_within() {
            own_shared(engine.m, file.get::<u32>(self.outer, lane).into(), "the destination of a bulk copy", bit)?
        } else {
            file.get::<u64>(self.outer, lane)
        };
        let space = if self.is_within() { "shared" } else { "global" };
        engine.is_multiple(outer, UNIT, &format!("bulk copy: the {space} address"))?;
        let mut shared = 0;
        if self.kind != TransferKind::Prefetch {
            shared = own_shared(engine.m, file.get::<u32>(self.shared, lane).into(), "a bulk copy's bytes", bit)?;
            engine.is_multiple(shared, UNIT, "bulk copy: the shared address")?;
        }
        if let Some(ctas) = self.ctas {
            engine.own_cta_only(file.get::<u32>(ctas, lane) as u16)?;
        }
        Ok(Operands { outer, shared, size })
    }
}

impl Copies for BulkCopy {
    type Copy = Operands;

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
        barriers: &mut Vec<(u32, u32)>,
    ) -> Result<Operands, Stop> {
        let operands @ Operands { outer, size, .. } = self.operands(file, engine)?;
        if !self.is_within() {
            add_run(transfer, outer, size);
        }
        transfer.shared_bytes += if self.kind == TransferKind::Prefetch { 0 } else { size };
        if let Some(barrier) = self.barrier {
            barriers.push((barrier_at(engine.m, file.get(barrier, engine.lane), engine.lane)?, size));
        }
        Ok(operands)
    }

    fn move_data(&self, &Operands { outer, shared, size }: &Operands, engine: &mut Engine<'_, '_, '_>) -> Outcome {
        let (from, to) = match self.kind {
            TransferKind::GlobalToShared => ((Space::Global, outer), (Space::Shared, shared)),
            TransferKind::SharedToShared => ((Space::Shared, shared), (Space::Shared, outer)),
            TransferKind::SharedToGlobal | TransferKind::SharedReduction => {
                ((Space::Shared, shared), (Space::Global, outer))
            }
            TransferKind::Prefetch => return Ok(()),
        };
        // More than there is of shared memory is out of bounds without being read.
        let room = u64::from(engine.m.shared.bytes()) + 4096;
        if u64::from(size) > room {
            let what = format!("bulk copy of {size} bytes, more than the CTA's shared memory");
            return Err(engine.fault(FaultKind::IllegalAddress, what));
        }
        let mut bytes = vec![0; size as usize];
        engine.read(from.0, from.1, &mut bytes)?;
        match self.reduction {
            Some(reduction) => engine.reduce(to.0, to.1, &bytes, reduction),
            None => engine.write(to.0, to.1, &bytes),
        }
    }
}

/// The place of a barrier in the CTA's shared memory.
pub(crate) fn barrier_at(m: &Spaces<'_, '_>, address: u32, lane: usize) -> Result<u32, Stop> {
    let within = own_shared(m, address.into(), "an `mbarrier`", 1 << lane)?;
    if within.is_multiple_of(8) {
        return Ok(within as u32);
    }
    let what = format!("the address {within:#x} of an `mbarrier` is not a multiple of 8");
    Err(crate::fault::Trap::stop(FaultKind::MisalignedAddress, what, 1 << lane))
}
