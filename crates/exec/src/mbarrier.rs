//! `mbarrier`: a barrier of 64 bits in shared memory.
//!
//! The layout of its state is in [`crate::arrival`].
//!
//! **Waiting.** A `try_wait` holds its warp until the phase is complete: hardware suspends it for a time that is not
//! published, and programs repeat it. It fails at once, as `test_wait`, where its lanes wait for different phases,
//! or where other lanes of the warp could execute in the meantime. A program that depends on the failure of a
//! `try_wait`, without any other warp that completes the phase, is reported as a deadlock.
//!
//! Deviation: a warp waits at `cp.async.mbarrier.arrive` until its copies are done, where hardware continues.
//! Instructions in its instruction buffer have executed by then, so that an arrival directly after it may be seen
//! before the copies are done in time; their data is there.

pub(crate) use crate::arrival::{Arrival, Arriving, Mail, State};
pub use crate::arrival::{MOST_ARRIVALS, MbarrierOp, PARITY, PENDING_AT};

use crate::access::{self, Address, Spaces, explain, is_for_exchange, split_generic};
use crate::atomic::modify;
use crate::cluster::RANK_BIT;
use crate::fault::{Outcome, Stop, Trap};
use crate::lanes::{Column, Lanes, Pred, Reg};
use crate::memory::SharedMemory;
use isa::{DynInst, FaultKind, Pc, Space, WarpSlot};
use kit::text::counted;
use kit::{LaneMask, WARP_LANES, lanes};

/// Bytes of a barrier.
const BYTES: u64 = 8;

/// An instruction that changes a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Mbarrier {
    pub op: MbarrierOp,
    pub space: Space,
    pub address: Address,
    /// Receives the state before, of two columns.
    pub d: Option<Reg>,
    /// Arrivals; of an exchange, the state, of two columns.
    pub count: Reg,
    /// Bytes.
    pub bytes: Reg,
    /// The lower word that it returns has the lanes at the barrier, and the upper one is from before all of them.
    pub together: bool,
}

/// Addresses within shared memory of the lanes, for the timing model too.
fn locate(file: &Lanes<'_>, m: &Spaces<'_, '_>, (space, at): (Space, Address), out: &mut DynInst) -> Outcome {
    access::addresses(file, at, m.frame, &mut out.addresses);
    out.space = Space::Shared;
    if space == Space::Generic {
        let masks = split_generic(&mut out.addresses, file.mask);
        if masks[1] != file.mask {
            let what = "an `mbarrier` is in shared memory";
            return Err(Trap::stop(FaultKind::IllegalAddress, what, file.mask & !masks[1]));
        }
        return Ok(());
    }
    Ok(())
}

/// Rank of the CTA of the cluster whose shared memory has `address`, and the address as that CTA has it.
///
/// # Errors
/// It is outside the cluster.
pub(crate) fn located(m: &Spaces<'_, '_>, address: u64, what: &str, lane: LaneMask) -> Result<(u32, u64), Stop> {
    let found = match m.cluster {
        Some(place) => place.resolve(address),
        None => Some((0, address)).filter(|_| address >> RANK_BIT == 0),
    };
    found.ok_or_else(|| {
        Trap::stop(FaultKind::IllegalAddress, format!("{what} at {address:#x}, outside the cluster"), lane)
    })
}

/// The address that the CTA has for one of the cluster's shared memory, which is to be its own.
///
/// # Errors
/// For another CTA's memory.
pub(crate) fn own_shared(m: &Spaces<'_, '_>, address: u64, what: &str, lane: LaneMask) -> Result<u64, Stop> {
    match located(m, address, what, lane)? {
        (rank, within) if m.cluster.is_none_or(|place| place.rank == rank) => Ok(within),
        (rank, _) => {
            let what = format!("{what} in the shared memory of CTA {rank} of the cluster: it must be the own CTA's");
            Err(Trap::stop(FaultKind::IllegalInstruction, what, lane))
        }
    }
}

impl Mbarrier {
    /// Executes it for the lanes of `file`, one after the other.
    pub(crate) fn run(&self, file: &mut Lanes<'_>, m: &mut Spaces<'_, '_>, out: &mut DynInst) -> Outcome {
        locate(file, m, (self.space, self.address), out)?;
        let mut old = [[0; WARP_LANES]; 2];
        let mask = file.mask;
        if is_for_exchange(m, &out.addresses, mask) {
            return Err(Stop::Deferred);
        }
        for lane in lanes(mask) {
            let (count, bytes) = (file.get::<u32>(self.count, lane), file.get::<u32>(self.bytes, lane));
            let arrival = Arrival { op: self.op, count, bytes };
            let address = out.addresses[lane];
            if self.d.is_none() && post(m, address, arrival, out.pc) {
                continue;
            }
            let mut problem = None;
            let update = |word: u64| match self.op {
                MbarrierOp::Exchange => file.get::<u64>(self.count, lane),
                _ => arrival.apply(word).unwrap_or_else(|what| {
                    problem = Some(what);
                    word
                }),
            };
            let Some(value) = modify(m, Space::Shared, address, BYTES, lane, update) else {
                return Err(explain(m, "access to", Space::Shared, &out.addresses, mask, BYTES).into());
            };
            if let Some(what) = problem {
                let what = format!("`mbarrier` at shared address {address:#x}: {what}");
                return Err(Trap::stop(FaultKind::IllegalInstruction, what, 1 << lane));
            }
            (old[0][lane], old[1][lane]) = (value as u32, (value >> 32) as u32);
        }
        let Some(d) = self.d else { return Ok(()) };
        if self.together {
            for lane in lanes(mask) {
                let here = lanes(mask).filter(|&other| out.addresses[other] == out.addresses[lane]);
                old[0][lane] = here.fold(0, |all, lane| all | 1 << lane);
            }
            for lane in lanes(mask) {
                old[1][lane] = old[1][old[0][lane].trailing_zeros() as usize];
            }
        }
        file.write(d, &old[0]);
        file.write(d.next(), &old[1]);
        Ok(())
    }
}

/// Sends an arrival to the barrier at `address`, if it is another CTA's and arrivals take time. Returns whether it was
/// sent.
fn post(m: &mut Spaces<'_, '_>, address: u64, arrival: Arrival, pc: Pc) -> bool {
    let (Some(place), Some(peers)) = (m.cluster, &mut m.peers) else { return false };
    let (Some(of), Some((rank, address))) = (peers.sending, place.resolve(address)) else { return false };
    let is_there = |shared: &SharedMemory| state_at(shared, address).is_some();
    if rank == place.rank || !peers.shared(place, rank).is_some_and(is_there) {
        return false;
    }
    m.device.note_change();
    peers.post(place, rank, Mail { of, arrival, address, pc: Some(pc) });
    true
}

/// Performs an arrival at the barrier at `address`.
///
/// # Errors
/// A count is out of range.
pub(crate) fn arrive(shared: &mut SharedMemory, address: u64, arrival: Arrival) -> Result<(), String> {
    let Some(w) = shared.window_mut(address, BYTES).filter(|_| address.is_multiple_of(BYTES)) else { return Ok(()) };
    let word = w.word(address);
    let after = arrival.apply(u64::from(w.words[word]) | u64::from(w.words[word + 1]) << 32)?;
    (w.words[word], w.words[word + 1]) = (after as u32, (after >> 32) as u32);
    Ok(())
}

/// `test_wait` or `try_wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct MbarrierWait {
    pub space: Space,
    pub address: Address,
    /// Whether the phase is complete.
    pub d: Pred,
    /// The parity of the phase in bit 31.
    pub phase: Reg,
    /// The warp waits.
    pub suspends: bool,
}

impl MbarrierWait {
    /// Executes it for the lanes of `file`. Returns the barrier and the parity for which all of them wait, if they do.
    pub(crate) fn run(
        &self,
        file: &mut Lanes<'_>,
        m: &Spaces<'_, '_>,
        out: &mut DynInst,
    ) -> Result<Option<(u32, bool)>, Stop> {
        locate(file, m, (self.space, self.address), out)?;
        let mask = file.mask;
        let (mut complete, mut common) = (0, None);
        for lane in lanes(mask) {
            let address = own_shared(m, out.addresses[lane], "a wait at an `mbarrier`", 1 << lane)?;
            out.addresses[lane] = address;
            let Some(state) = state_at(m.shared, address) else {
                return Err(explain(m, "load from", Space::Shared, &out.addresses, mask, BYTES).into());
            };
            let phase = file.get::<u32>(self.phase, lane) & PARITY != 0;
            complete |= LaneMask::from(state.odd != phase) << lane;
            let this = (address as u32, phase);
            common = match common {
                None => Some(Some(this)),
                Some(first) => Some(first.filter(|first| *first == this)),
            };
        }
        file.write_pred(self.d, complete);
        Ok(common.flatten().filter(|_| complete == 0 && self.suspends))
    }

    /// The phases that the lanes of `done` found incomplete, in words: at most `most`. It has executed with these
    /// registers and constants.
    pub(crate) fn incomplete(
        &self,
        (regs, constants): (&[Column], &[Column]),
        shared: &SharedMemory,
        done: &DynInst,
        most: usize,
    ) -> Vec<String> {
        let column = match self.phase.0.checked_sub(Reg::CONSTANTS) {
            Some(constant) => constants.get(usize::from(constant)),
            None => regs.get(usize::from(self.phase.0)),
        };
        let Some(phase) = column else { return Vec::new() };
        let mut polled: Vec<_> =
            lanes(done.mask).map(|lane| (done.addresses[lane], phase[lane] & PARITY != 0)).collect();
        polled.sort_unstable();
        polled.dedup();
        polled.retain(|&(address, odd)| state_at(shared, address).is_some_and(|state| state.odd == odd));
        polled.iter().take(most).map(|&(address, odd)| describe(shared, address, odd)).collect()
    }
}

/// The state of the barrier at a shared address.
pub(crate) fn state_at(shared: &SharedMemory, address: u64) -> Option<State> {
    let w = shared.window(address, BYTES).filter(|_| address.is_multiple_of(BYTES))?;
    let word = w.word(address);
    Some(State::of(u64::from(w.words[word]) | u64::from(w.words[word + 1]) << 32))
}

/// A warp that waits at a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub warp: WarpSlot,
    /// The instruction.
    pub pc: Pc,
    pub address: u32,
    pub odd: bool,
    /// Becomes true in these lanes.
    pub d: Pred,
    pub mask: LaneMask,
}

impl Wait {
    /// Whether the phase is complete.
    pub fn is_over(&self, shared: &SharedMemory) -> bool {
        state_at(shared, self.address.into()).is_none_or(|state| state.odd != self.odd)
    }

    /// For messages.
    pub fn describe(&self, shared: &SharedMemory) -> String {
        describe(shared, self.address.into(), self.odd)
    }
}

/// A phase of the barrier at a shared address, and what it lacks.
fn describe(shared: &SharedMemory, address: u64, odd: bool) -> String {
    let phase = if odd { "odd" } else { "even" };
    let state = state_at(shared, address).unwrap_or(State::new(0));
    let arrivals = counted(state.pending.into(), "arrival");
    let bytes = match state.bytes {
        0 => String::new(),
        n @ 1.. => format!(" and {}", counted(n as u64, "byte")),
        n => format!(", and {} more than expected have come", counted(n.unsigned_abs().into(), "byte")),
    };
    format!("the {phase} phase of the mbarrier at shared address {address:#x}, which lacks {arrivals}{bytes}")
}

/// Counts bytes of a transfer at a barrier. It may have been invalidated; a count out of range leaves it unchanged.
pub(crate) fn complete(shared: &mut SharedMemory, arriving: Arriving) {
    let _ = arrive(shared, arriving.address.into(), arriving.arrival());
}
