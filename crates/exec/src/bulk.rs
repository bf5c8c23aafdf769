//! Bulk copies and reductions of consecutive bytes by the copy engine.

use crate::copy_engine::{Copies, Engine, Receivers, add_run};
use crate::fault::{Outcome, Stop};
use crate::lanes::{Lanes, Reg};
use crate::mbarrier::{Arriving, own_shared};
use crate::update::{AtomicOp, AtomicType};
use isa::{FaultKind, Space, Transfer, TransferKind};

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
    /// The address in global memory; unused between shared memories.
    global: u64,
    /// The source, if it is in shared memory.
    shared: u64,
    /// The receivers, if the destination is in shared memory.
    to: Option<Receivers>,
    size: u32,
}

impl BulkCopy {
    /// Columns of the first operand.
    pub const fn outer_columns(&self) -> u8 {
        if self.is_within() { 1 } else { 2 }
    }

    /// Whether the first operand is in shared memory, too.
    const fn is_within(&self) -> bool {
        matches!(self.kind, TransferKind::SharedToShared)
    }

    fn operands(
        &self,
        file: &Lanes<'_>,
        engine: &Engine<'_, '_, '_>,
        transfer: &mut Transfer,
    ) -> Result<Operands, Stop> {
        let lane = engine.lane;
        let size = file.get::<u32>(self.size, lane);
        engine.is_multiple(size.into(), UNIT, "the size of a bulk copy")?;
        let mut operands = Operands { global: 0, shared: 0, to: None, size };
        if !self.is_within() {
            operands.global = file.get::<u64>(self.outer, lane);
            engine.is_multiple(operands.global, UNIT, "bulk copy: the global address")?;
        }
        let to = match self.kind {
            TransferKind::GlobalToShared => Some(self.shared),
            TransferKind::SharedToShared => Some(self.outer),
            _ => None,
        };
        if let Some(to) = to {
            let address = file.get::<u32>(to, lane);
            engine.is_multiple(address.into(), UNIT, "bulk copy: the shared address of the destination")?;
            operands.to = Some(engine.receivers(address, self.ctas(file, lane), transfer)?);
        }
        if !matches!(self.kind, TransferKind::GlobalToShared | TransferKind::Prefetch) {
            let address = file.get::<u32>(self.shared, lane);
            operands.shared = own_shared(engine.m, address.into(), "the source of a bulk copy", 1 << lane)?;
            engine.is_multiple(operands.shared, UNIT, "bulk copy: the shared address")?;
        }
        Ok(operands)
    }

    /// The mask of a multicast.
    fn ctas(&self, file: &Lanes<'_>, lane: usize) -> Option<u16> {
        self.ctas.map(|ctas| file.get::<u32>(ctas, lane) as u16)
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
        barriers: &mut Vec<Arriving>,
    ) -> Result<Operands, Stop> {
        let operands @ Operands { global, size, .. } = self.operands(file, engine, transfer)?;
        if !self.is_within() {
            add_run(transfer, global, size);
        }
        transfer.shared_bytes += if self.kind == TransferKind::Prefetch { 0 } else { size };
        if let Some(barrier) = self.barrier {
            let at = file.get(barrier, engine.lane);
            engine.arriving((at, size), self.ctas(file, engine.lane), barriers)?;
        }
        Ok(operands)
    }

    fn move_data(&self, operands: &Operands, engine: &mut Engine<'_, '_, '_>) -> Outcome {
        let &Operands { global, shared, to, size } = operands;
        let from = match self.kind {
            TransferKind::GlobalToShared => (Space::Global, global),
            TransferKind::Prefetch => return Ok(()),
            _ => (Space::Shared, shared),
        };
        // More than there is of shared memory is out of bounds without being read.
        let room = u64::from(engine.m.shared.bytes()) + 4096;
        if u64::from(size) > room {
            let what = format!("bulk copy of {size} bytes, more than the CTA's shared memory");
            return Err(engine.fault(FaultKind::IllegalAddress, what));
        }
        let mut bytes = vec![0; size as usize];
        engine.read(from.0, from.1, &mut bytes)?;
        let addresses = to.map(|to| to.addresses(engine.m));
        let mut put = |(space, at)| match self.reduction {
            Some(reduction) => engine.reduce(space, at, &bytes, reduction),
            None => engine.write(space, at, &bytes),
        };
        match addresses {
            Some(mut addresses) => addresses.try_for_each(|at| put((Space::Shared, at))),
            None => put((Space::Global, global)),
        }
    }
}
