//! Atomic operations: the read-modify-write of each executing lane, in lane order.

use crate::access::{
    self, Address, SPLIT_SPACES, Spaces, explain, is_for_exchange, majority, owner_mut, split_generic,
};
use crate::fault::{Outcome, Stop};
use crate::lanes::{Lanes, Reg, Value};
use crate::memory::{Reduction, modify_at, modify_device, modify_words};
use crate::update::Update;
pub use crate::update::{AtomicOp, AtomicType};
use isa::{DynInst, Space};
use kit::{LaneMask, WARP_LANES, lanes};

/// An `atom` or `red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Atomic {
    pub space: Space,
    pub op: AtomicOp,
    pub ty: AtomicType,
    /// Number of values at consecutive addresses, whose operands and results are in consecutive registers. Each is
    /// updated by itself.
    pub count: u8,
    /// Receives the old value; `None` for `red`.
    pub d: Option<Reg>,
    /// No instruction reads `d`: it need not be written.
    pub unused: bool,
    pub address: Address,
    /// Operand; for `cas`, the value to compare with.
    pub b: Reg,
    /// The value that `cas` stores.
    pub c: Option<Reg>,
}

impl Atomic {
    /// Computes the new value.
    pub(crate) fn apply(&self, old: u64, b: u64, c: u64, shared: bool) -> u64 {
        self.update().apply(old, b, c, shared)
    }

    /// Effect on a value.
    fn update(&self) -> Update {
        Update { op: self.op, ty: self.ty }
    }

    /// Size of the values of a lane in memory.
    pub fn bytes(&self) -> u8 {
        self.ty.bytes() * self.count
    }

    /// The address of value `k` of a lane; `None` if the lane's address is not aligned.
    fn place(&self, address: u64, k: u8) -> Option<u64> {
        address.is_multiple_of(self.bytes().into()).then(|| address.wrapping_add(u64::from(k * self.ty.bytes())))
    }

    /// Executes it for the lanes of `file`.
    pub(crate) fn run(&self, file: &mut Lanes<'_>, m: &mut Spaces<'_, '_>, out: &mut DynInst) -> Outcome {
        access::addresses(file, self.address, m.frame, &mut out.addresses);
        out.space = self.space;
        let mut masks = [0; 4];
        match self.space {
            Space::Generic => {
                masks = split_generic(&mut out.addresses, file.mask);
                out.space = majority(masks);
            }
            Space::Shared => masks[1] = file.mask,
            Space::Local => masks[2] = file.mask,
            _ => masks[0] = file.mask,
        }
        let (bytes, wide) = (u64::from(self.ty.bytes()), self.ty.bytes() == 8);
        if masks[0] != 0 && m.device.own().is_some() {
            return self.put_off(file, m, masks, out);
        }
        if masks[1] != 0 && is_for_exchange(m, &out.addresses, masks[1]) {
            return Err(Stop::Deferred);
        }
        for k in 0..self.count {
            let mut old = [[0; 32]; 2];
            for (space, mask) in SPLIT_SPACES.into_iter().zip(masks) {
                for lane in lanes(mask) {
                    let [b, c] = self.operands(file, lane, k);
                    let shared = space == Space::Shared;
                    let update = |old| self.apply(old, b, c, shared);
                    let place = self.place(out.addresses[lane], k);
                    let Some(value) = place.and_then(|at| modify(m, space, at, bytes, lane, update)) else {
                        let all = self.bytes().into();
                        return Err(explain(m, "atomic access to", space, &out.addresses, mask, all).into());
                    };
                    <u64 as Value>::put(&mut old, lane, value);
                }
            }
            if let Some(d) = self.d.map(|d| Reg(d.0 + u16::from(k))) {
                file.write(d, &old[0]);
                if wide {
                    file.write(d.next(), &old[1]);
                }
            }
        }
        Ok(())
    }
}

impl Atomic {
    /// The operands of value `k` of a lane; zero for one that it has not.
    fn operands(&self, file: &Lanes<'_>, lane: usize, k: u8) -> [u64; 2] {
        let operand = |first: Reg| {
            let reg = Reg(first.0 + u16::from(k));
            if self.ty.bytes() == 8 { file.get::<u64>(reg, lane) } else { u64::from(file.get::<u32>(reg, lane)) }
        };
        [operand(self.b), self.c.map_or(0, operand)]
    }

    /// The lanes `masks[0]` access global memory, which other SMs see: without a result that is used it is noted with
    /// its operands, otherwise it is for the exchange. Its faults are found now.
    #[inline(never)]
    fn put_off(&self, file: &Lanes<'_>, m: &mut Spaces<'_, '_>, masks: [LaneMask; 4], out: &DynInst) -> Outcome {
        let (mask, bytes) = (masks[0], u64::from(self.bytes()));
        let is_bad = |address: u64| !address.is_multiple_of(bytes) || !m.device.has_room(address, bytes);
        if lanes(mask).any(|lane| is_bad(out.addresses[lane])) {
            return Err(explain(m, "atomic access to", Space::Global, &out.addresses, mask, bytes).into());
        }
        let is_reduction = (self.d.is_none() || self.unused) && masks[1..] == [0; 3];
        let Some((own, ..)) = m.device.own().filter(|_| is_reduction) else { return Err(Stop::Deferred) };
        for lane in lanes(mask) {
            own.overlay.mark_reduced(out.addresses[lane], bytes);
        }
        for k in 0..self.count {
            let (mut addresses, mut operands) = (out.addresses, [[0; 2]; WARP_LANES]);
            for lane in lanes(mask) {
                addresses[lane] += u64::from(k * self.ty.bytes());
                operands[lane] = self.operands(file, lane, k);
            }
            own.reductions.push(Reduction { update: self.update(), mask, addresses, operands });
        }
        Ok(())
    }
}

/// Replaces the value of 1, 2, 4 or 8 bytes at an address and returns the old one; `None` if there is no such memory.
pub(crate) fn modify(
    m: &mut Spaces<'_, '_>,
    space: Space,
    address: u64,
    bytes: u64,
    lane: usize,
    f: impl FnOnce(u64) -> u64,
) -> Option<u64> {
    if !address.is_multiple_of(bytes) {
        return None;
    }
    if space == Space::Local {
        if !m.local.holds(address, bytes) {
            return None;
        }
        let word = address as usize / 4;
        let mut pair = [*m.local.word(word, lane), if bytes == 8 { *m.local.word(word + 1, lane) } else { 0 }];
        let old = modify_words(&mut pair, (address % 4) as u32, bytes, f);
        *m.local.word(word, lane) = pair[0];
        if bytes == 8 {
            *m.local.word(word + 1, lane) = pair[1];
        }
        return Some(old);
    }
    match space {
        Space::Shared => {
            let (shared, address) = owner_mut(m, address)?;
            let w = shared.window_mut(address, bytes)?;
            let (old, new) = modify_at(w.words, w.start, address, bytes, f);
            if new != old {
                m.device.note_change();
            }
            Some(old)
        }
        Space::Param => None,
        // Where others see memory, this is put off.
        _ => {
            let (memory, reader) = m.device.exclusive()?;
            modify_device(memory, reader, address, bytes, f)
        }
    }
}
