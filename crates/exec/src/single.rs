//! Memory accesses of one thread, for machines that have no warps. The checks are the same as in [`crate::access`].

use crate::access::{Spaces, explain, params_window};
use crate::atomic::{Atomic, modify};
use crate::memory::{LocalMemory, Reader, SharedMemory, View, generic_space, window_base};
use crate::state::DeviceState;
use isa::{FaultKind, Space};
use kit::WARP_LANES;

/// An element that is loaded or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    /// A loaded element that is narrower than its register is sign-extended.
    pub signed: bool,
    /// Bits of the register: 16, 32 or 64.
    pub register_bits: u8,
}

impl Element {
    /// The register of an element in memory, `raw`, whose other bits are zero.
    pub const fn extended(self, raw: u64) -> u64 {
        let unused = 64 - 8 * self.bytes as u32;
        let value = if self.signed { ((raw << unused) as i64 >> unused) as u64 } else { raw };
        value & (u64::MAX >> (64 - self.register_bits as u32))
    }
}

/// Shared memory of a CTA and local memory of its threads.
#[derive(Clone, Debug, Default)]
pub struct CtaMemory {
    shared: SharedMemory,
    /// Of 32 threads each; none if threads have no local memory.
    local: Vec<LocalMemory>,
    /// Local memory of threads that have none.
    none: LocalMemory,
    /// Of device memory.
    reader: Reader,
}

impl CtaMemory {
    /// Memory, all zero, of a CTA with `threads`: `shared` bytes, and `local` bytes for each thread.
    pub fn new(threads: u32, shared: u32, local: u32) -> Self {
        let mut memory = Self::default();
        memory.shared.reset(0, shared, shared);
        if local > 0 {
            memory.local.resize_with((threads as usize).div_ceil(WARP_LANES), LocalMemory::default);
            memory.local.iter_mut().for_each(|warp| warp.reset(local));
        }
        memory
    }
}

/// The state space of `address` in `space` and the address within it: generic addresses are resolved.
pub const fn resolve(space: Space, address: u64) -> (Space, u64) {
    match space {
        Space::Generic => {
            let of = generic_space(address);
            (of, address - window_base(of))
        }
        space => (space, address),
    }
}

/// An access that faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAccess {
    /// Illegal or misaligned address.
    pub kind: FaultKind,
    /// Description of the fault.
    pub what: String,
}

/// The memory that a thread can access.
#[derive(Debug)]
pub struct ThreadMemory<'a> {
    device: &'a mut DeviceState,
    cta: &'a mut CtaMemory,
    params: &'a [u32],
    thread: usize,
}

impl<'a> ThreadMemory<'a> {
    /// The memory of `thread` of a CTA; `params` are its launch's
    /// ([`Launch::params`](crate::Launch::params)).
    pub fn new(device: &'a mut DeviceState, cta: &'a mut CtaMemory, params: &'a [u32], thread: u32) -> Self {
        Self { device, cta, params, thread: thread as usize }
    }

    /// Loads an element.
    ///
    /// # Errors
    /// The description of the fault.
    pub fn load(&mut self, space: Space, address: u64, element: Element) -> Result<u64, BadAccess> {
        let (space, address) = resolve(space, address);
        let size = u64::from(element.bytes);
        let raw = if address.is_multiple_of(size) { self.read(space, address, size) } else { None };
        raw.map(|raw| element.extended(raw)).ok_or_else(|| self.fault("load from", space, address, size))
    }

    fn read(&mut self, space: Space, address: u64, size: u64) -> Option<u64> {
        if space == Space::Local {
            let lane = self.thread % WARP_LANES;
            let local = self.cta.local.get(self.thread / WARP_LANES).filter(|local| local.holds(address, size))?;
            let word = address as usize / 4;
            let high = if size == 8 { local.column(word + 1)[lane] } else { 0 };
            return Some(joined([local.column(word)[lane], high], address, size));
        }
        let window = match space {
            Space::Param => params_window(self.params, address, size)?,
            Space::Shared => self.cta.shared.window(address, size)?,
            _ => self.device.memory.window(address, size, &self.cta.reader)?,
        };
        let at = window.word(address);
        let high = if size == 8 { window.words[at + 1] } else { 0 };
        Some(joined([window.words[at], high], address, size))
    }

    /// Stores the lower bytes of `value`.
    ///
    /// # Errors
    /// The description of the fault.
    pub fn store(&mut self, space: Space, address: u64, bytes: u8, value: u64) -> Result<(), BadAccess> {
        self.replace(space, address, bytes, "store to", |_| value).map(drop)
    }

    /// Executes the operation of `atomic` on an element with its operands (`cas`: the value to compare with, the
    /// value to store) and returns the old value.
    ///
    /// # Errors
    /// The description of the fault.
    pub fn atomic(&mut self, atomic: &Atomic, address: u64, [b, c]: [u64; 2]) -> Result<u64, BadAccess> {
        let is_shared = resolve(atomic.space, address).0 == Space::Shared;
        let update = |old| atomic.apply(old, b, c, is_shared);
        self.replace(atomic.space, address, atomic.ty.bytes(), "atomic access to", update)
    }

    /// Replaces an element and returns the old value.
    fn replace(
        &mut self,
        space: Space,
        address: u64,
        bytes: u8,
        verb: &str,
        update: impl FnOnce(u64) -> u64,
    ) -> Result<u64, BadAccess> {
        let (space, address) = resolve(space, address);
        let (size, thread) = (u64::from(bytes), self.thread);
        let lane = thread % WARP_LANES;
        let old = self.with_spaces(|spaces| modify(spaces, space, address, size, lane, update));
        old.ok_or_else(|| self.fault(verb, space, address, size))
    }

    fn with_spaces<T>(&mut self, act: impl FnOnce(&mut Spaces<'_, '_>) -> T) -> T {
        let CtaMemory { shared, local, none, reader } = &mut *self.cta;
        let local = local.get_mut(self.thread / WARP_LANES).unwrap_or(none);
        let mut device = View::alone(&mut self.device.memory, reader);
        act(&mut Spaces {
            device: &mut device,
            shared,
            local,
            params: self.params,
            frame: 0,
            cluster: None,
            peers: None,
        })
    }

    #[cold]
    fn fault(&mut self, verb: &str, space: Space, address: u64, size: u64) -> BadAccess {
        let trap = *self.with_spaces(|spaces| explain(spaces, verb, space, &[address; WARP_LANES], 1, size));
        BadAccess { kind: trap.kind, what: trap.what }
    }
}

/// The element at `address` in two words.
const fn joined([low, high]: [u32; 2], address: u64, size: u64) -> u64 {
    match size {
        8 => low as u64 | (high as u64) << 32,
        _ => (low >> (8 * (address % 4)) & (u32::MAX >> (32 - 8 * size))) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Address;
    use crate::atomic::{AtomicOp, AtomicType};
    use crate::lanes::Reg;
    use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW};
    use crate::state::GpuFacts;

    const WORD: Element = Element { bytes: 4, signed: false, register_bits: 32 };

    fn with<T>(act: impl FnOnce(&mut ThreadMemory<'_>, u64) -> T) -> T {
        let mut device = DeviceState::new(1 << 20, GpuFacts::default());
        let base = device.memory.allocate("a", 64).unwrap();
        let mut cta = CtaMemory::new(64, 16, 8);
        act(&mut ThreadMemory::new(&mut device, &mut cta, &[7, 8], 40), base)
    }

    #[test]
    fn every_space_keeps_what_was_stored() {
        with(|thread, base| {
            for (space, at) in [(Space::Global, base), (Space::Shared, 8), (Space::Local, 0)] {
                thread.store(space, at, 8, 0x8877_6655_4433_2211).unwrap();
                thread.store(space, at + 1, 1, 0xffaa).unwrap();
                let mut load = |offset: u64, bytes, signed, register_bits| {
                    thread.load(space, at + offset, Element { bytes, signed, register_bits }).unwrap()
                };
                assert_eq!(load(0, 8, false, 64), 0x8877_6655_4433_aa11);
                assert_eq!(load(1, 1, true, 32), 0xffff_ffaa);
                assert_eq!(load(6, 2, true, 64), 0xffff_ffff_ffff_8877);
                assert_eq!(load(6, 2, true, 16), 0x8877);
                assert_eq!(load(4, 4, false, 64), 0x8877_6655);
            }
            assert_eq!(thread.load(Space::Generic, SHARED_WINDOW + 8, WORD), Ok(0x4433_aa11));
            assert_eq!(thread.load(Space::Generic, LOCAL_WINDOW, WORD), Ok(0x4433_aa11));
            assert_eq!(thread.load(Space::Param, 4, WORD), Ok(8));
        });
    }

    #[test]
    fn threads_do_not_share_local_memory() {
        let (mut device, mut cta) = (DeviceState::default(), CtaMemory::new(64, 0, 4));
        for thread in 0..64 {
            ThreadMemory::new(&mut device, &mut cta, &[], thread).store(Space::Local, 0, 4, thread.into()).unwrap();
        }
        for thread in 0..64 {
            let value = ThreadMemory::new(&mut device, &mut cta, &[], thread).load(Space::Local, 0, WORD);
            assert_eq!(value, Ok(thread.into()));
        }
    }

    #[test]
    fn an_atomic_operation_returns_the_old_value() {
        with(|thread, base| {
            let atomic = |op, ty| Atomic {
                space: Space::Global,
                op,
                ty,
                count: 1,
                d: None,
                unused: false,
                address: Address { base: Reg(0), wide: true, frame: false, offset: 0 },
                b: Reg(0),
                c: None,
            };
            assert_eq!(thread.atomic(&atomic(AtomicOp::Add, AtomicType::U32), base, [5, 0]), Ok(0));
            assert_eq!(thread.atomic(&atomic(AtomicOp::Cas, AtomicType::U32), base, [5, 9]), Ok(5));
            assert_eq!(thread.load(Space::Global, base, WORD), Ok(9));
            let fault = thread.atomic(&atomic(AtomicOp::Add, AtomicType::U64), base + 4, [5, 0]).unwrap_err();
            assert!(fault.what.starts_with("misaligned atomic access to global"), "{fault:?}");
            assert_eq!(fault.kind, FaultKind::MisalignedAddress);
        });
    }

    #[test]
    fn faults_are_those_of_warps() {
        with(|thread, base| {
            let messages = [
                thread.load(Space::Global, base + 64, WORD).unwrap_err(),
                thread.load(Space::Global, base + 2, WORD).unwrap_err(),
                thread.store(Space::Shared, 16, 4, 0).unwrap_err(),
                thread.store(Space::Local, 8, 4, 0).unwrap_err(),
                thread.store(Space::Param, 0, 4, 0).unwrap_err(),
            ];
            use FaultKind::{IllegalAddress, MisalignedAddress};
            let kinds = [IllegalAddress, MisalignedAddress, IllegalAddress, IllegalAddress, IllegalAddress];
            assert_eq!(messages.each_ref().map(|fault| fault.kind), kinds);
            let messages = messages.map(|fault| fault.what);
            let begins =
                ["out-of-bounds load from global", "misaligned load from global", "store to shared address 0x10"];
            for (message, begin) in messages.iter().zip(begins) {
                assert!(message.starts_with(begin), "{message}");
            }
            assert!(messages[3].contains("outside the thread's 8 bytes of local memory"), "{}", messages[3]);
            assert!(messages[4].contains("constant"), "{}", messages[4]);
        });
    }
}
