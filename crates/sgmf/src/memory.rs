//! Memory that the threads of a core access: device memory, and the core's own windows for data by thread or by CTA,
//! so that L1 and L2 see its address.

use crate::batch::Batch;
use crate::configuration::Access;
use crate::kernel::SgmfKernel;
use dataflow::evaluate::address;
use dataflow::graph::{AccessKind, LiveId, Target, operands};
use exec::DeviceState;
use exec::single::{ThreadMemory, resolve};
use gpu::CoreKernel;
use isa::{Fault, Pc, Space};

/// Where windows of local memory begin, as in the SM.
const PRIVATE_BASE: u64 = 1 << 43;
/// Distance between the windows of cores, and of the spaces within one.
const CORE_BYTES: u64 = 1 << 34;
const WINDOW_BYTES: u64 = 1 << 32;

/// By which rows of what is kept by thread are apart besides their size, so that those of one thread are in
/// different sets of L1.
const SKEW_BYTES: u64 = 128;

/// Addresses of a core's windows as the caches see them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    base: u64,
    /// Threads for which the windows have places.
    threads: u64,
}

impl Windows {
    /// The windows of core `number` with at most this many `threads`.
    pub fn new(number: u32, threads: u32) -> Self {
        Self { base: PRIVATE_BASE + u64::from(number) * CORE_BYTES, threads: threads.into() }
    }

    /// The place of the live value of `slot`, before which a thread has `offset` bytes of others: those of
    /// consecutive threads are adjacent.
    const fn live(&self, slot: u32, offset: u32, bytes: u8, tid: u32) -> u64 {
        self.base + offset as u64 * self.threads + slot as u64 * SKEW_BYTES + tid as u64 * bytes as u64
    }

    /// The place of a byte of local memory: words of 8 bytes of consecutive threads are adjacent.
    const fn local(&self, address: u64, tid: u32) -> u64 {
        let word = address / 8;
        self.base + WINDOW_BYTES + word * (self.threads * 8 + SKEW_BYTES) + tid as u64 * 8 + address % 8
    }

    /// The place of a byte of shared memory, of which a CTA has `bytes`.
    const fn shared(&self, address: u64, cta: usize, bytes: u32) -> u64 {
        self.base + 2 * WINDOW_BYTES + cta as u64 * (bytes as u64).next_multiple_of(128) + address
    }
}

/// Parts of the core that the fabric uses in a cycle.
pub(crate) struct Outside<'a> {
    pub device: &'a mut DeviceState,
    pub kernel: &'a SgmfKernel,
    pub batch: &'a mut Batch,
    pub windows: Windows,
}

impl Outside<'_> {
    /// Where an access goes within its space, and where that is for the caches.
    #[inline]
    pub fn locate(&self, access: &Access, token: u64, tid: u32) -> (u64, u64) {
        match access.target {
            Target::Live(LiveId(slot)) => {
                let offset = self.kernel.live_offsets.get(slot as usize).copied().unwrap_or(0);
                (0, self.windows.live(slot, offset, access.element.bytes, tid))
            }
            Target::Space(space) => {
                let at = address(space, token, [access.base, 0]);
                let place = match resolve(space, at) {
                    (Space::Shared, at) => {
                        let bytes = self.kernel.shape().shared_bytes;
                        self.windows.shared(at, self.batch.place(tid).0, bytes)
                    }
                    (Space::Local, at) => self.windows.local(at, tid),
                    (_, at) => at,
                };
                (at, place)
            }
        }
    }

    /// Performs an access of thread `tid`; returns the value of its token.
    ///
    /// # Errors
    /// The access faults.
    #[inline]
    pub fn perform(
        &mut self,
        access: &Access,
        address: u64,
        data: [u64; 2],
        tid: u32,
        pc: Option<Pc>,
    ) -> Result<u64, Box<Fault>> {
        let Self { device, kernel, batch, .. } = self;
        let (number, thread) = batch.place(tid);
        let space = match access.target {
            Target::Live(LiveId(slot)) => {
                let value = &mut batch.live[slot as usize][tid as usize];
                if access.kind == AccessKind::Load {
                    return Ok(*value);
                }
                *value = data[0] & (u64::MAX >> (64 - 8 * u32::from(access.element.bytes)));
                return Ok(1);
            }
            Target::Space(space) => space,
        };
        let cta = &mut batch.ctas[number];
        let mut memory = ThreadMemory::new(device, &mut cta.memory, &kernel.params, thread);
        let done = match (access.kind, &access.atomic) {
            (AccessKind::Load, _) => memory.load(space, address, access.element),
            (AccessKind::Store, _) => memory.store(space, address, access.element.bytes, data[0]).map(|()| 1),
            (AccessKind::Atomic(_), Some(atomic)) => memory.atomic(atomic, address, operands(atomic, data)),
            (AccessKind::Atomic(_), None) => Ok(0),
        };
        done.map_err(|bad| kernel.fault(bad, pc, cta.position, batch.positions[thread as usize]))
    }
}
