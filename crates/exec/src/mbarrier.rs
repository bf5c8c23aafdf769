//! `mbarrier`: a barrier of 64 bits in shared memory.
//!
//! Two layouts, found by compiling each form of the PTX instructions.
//!
//! PTX and machine code of sm_90, which initialises a barrier by a number that it computes, and takes the pending
//! count and the parity out of the state that an arrival returns:
//!
//! | bits | are |
//! | --- | --- |
//! | 0 | 0 |
//! | 1 to 21 | 2^20 minus the number of arrivals that each phase expects |
//! | 22 to 42 | transaction count: bytes that are still missing, a signed number (its place here is a choice) |
//! | 43 to 62 | minus the number of arrivals that the phase still expects, modulo 2^20 |
//! | 63 | parity of the phase |
//!
//! A phase ends when it expects neither arrivals nor bytes.
//!
//! Machine code of sm_80 to sm_89, whose last arrival of a phase carries into the parity:
//!
//! | bits | are |
//! | --- | --- |
//! | 0 to 29 | minus the number of arrivals that each phase expects; 2^30 if it expects none |
//! | 32 to 62 | minus the number of arrivals that the phase still expects |
//! | 63 | parity of the phase |
//!
//! **Waiting.** A `try_wait` holds its warp until the phase is complete: hardware suspends it for a time that is not
//! published, and programs repeat it. It fails at once, as `test_wait`, where its lanes wait for different phases,
//! or where other lanes of the warp could execute in the meantime. A program that depends on the failure of a
//! `try_wait`, without any other warp that completes the phase, is reported as a deadlock.
//!
//! Deviation: a warp waits at `cp.async.mbarrier.arrive` until its copies are done, where hardware continues.
//! Instructions in its instruction buffer have executed by then, so that an arrival directly after it may be seen
//! before the copies are done in time; their data is there.

use crate::access::{self, Address, Spaces, explain, is_for_exchange, split_generic};
use crate::atomic::modify;
use crate::cluster::RANK_BIT;
use crate::fault::{Outcome, Stop, Trap};
use crate::lanes::{Lanes, Pred, Reg};
use crate::memory::SharedMemory;
use isa::{DynInst, FaultKind, Pc, Space, WarpSlot};
use kit::text::counted;
use kit::{LaneMask, WARP_LANES, lanes};

/// The parity of the phase, in the upper word.
pub const PARITY: u32 = 1 << 31;
/// From this a phase's arrivals are counted down, in PTX and on sm_90. A phase expects fewer.
pub const MOST_ARRIVALS: u32 = 1 << 20;
/// The lowest bit of the pending arrivals, in the upper word.
pub const PENDING_AT: u32 = 11;

/// Bytes of a barrier.
const BYTES: u64 = 8;

/// The state of a barrier of PTX or of sm_90.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Arrivals that each phase expects.
    expected: u32,
    /// Arrivals that this phase still expects.
    pub pending: u32,
    /// Bytes that it still expects: negative if bytes have come before they were expected.
    pub bytes: i32,
    /// Parity of the phase.
    pub odd: bool,
}

impl State {
    /// A barrier in its first phase.
    pub fn new(arrivals: u32) -> Self {
        Self { expected: arrivals, pending: arrivals, bytes: 0, odd: false }
    }

    pub fn of(word: u64) -> Self {
        let expected =
            MOST_ARRIVALS.wrapping_sub((word >> 1) as u32 & (2 * MOST_ARRIVALS - 1)) & (2 * MOST_ARRIVALS - 1);
        let pending = ((word >> 43) as u32).wrapping_neg() & (MOST_ARRIVALS - 1);
        Self { expected, pending, bytes: ((word << 21) as i64 >> 43) as i32, odd: word >> 63 == 1 }
    }

    pub fn word(self) -> u64 {
        let Self { expected, pending, bytes, odd } = self;
        let expected = u64::from(MOST_ARRIVALS.wrapping_sub(expected) & (2 * MOST_ARRIVALS - 1));
        let pending = u64::from(pending.wrapping_neg() & (MOST_ARRIVALS - 1));
        expected << 1 | (bytes as u64 & 0x1f_ffff) << 22 | pending << 43 | u64::from(odd) << 63
    }

    /// The state after `bytes` more are expected (fewer if negative), then `count` arrivals, which do not come in later
    /// phases if `drops`.
    pub fn after(self, count: u32, bytes: i64, drops: bool) -> Result<Self, String> {
        let Self { expected, pending, .. } = self;
        let sum = i64::from(self.bytes) + bytes;
        if sum.unsigned_abs() >= MOST_ARRIVALS.into() {
            return Err(format!("the phase would expect {sum} bytes: at most 2^20 - 1 can be counted"));
        }
        if count > pending {
            let arrivals = counted(count.into(), "arrival");
            return Err(format!("{arrivals} at a phase that expects {pending}"));
        }
        let expected = if drops { expected.saturating_sub(count) } else { expected };
        let mut next = Self { expected, pending: pending - count, bytes: sum as i32, ..self };
        if (next.pending, next.bytes) == (0, 0) && (count, bytes) != (0, 0) {
            next = Self { pending: expected, odd: !next.odd, ..next };
        }
        Ok(next)
    }
}

/// The effect of an instruction on a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MbarrierOp {
    /// Begins its first phase; the operand is the number of arrivals.
    Init,
    /// Replaces its state, which machine code has computed.
    Exchange,
    /// Expects bytes, then arrives.
    Arrive,
    /// The same, by threads that do not arrive in later phases.
    ArriveDrop,
    /// Bytes have come.
    Complete,
}

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
            let mut problem = None;
            let update = |word: u64| {
                let after = match self.op {
                    MbarrierOp::Init if count == 0 || count >= MOST_ARRIVALS => {
                        Err(format!("an `mbarrier` cannot expect {count} arrivals: from 1 to 2^20 - 1"))
                    }
                    MbarrierOp::Init => Ok(State::new(count)),
                    MbarrierOp::Exchange => return file.get::<u64>(self.count, lane),
                    MbarrierOp::Arrive => State::of(word).after(count, bytes.into(), false),
                    MbarrierOp::ArriveDrop => State::of(word).after(count, bytes.into(), true),
                    MbarrierOp::Complete => State::of(word).after(0, -i64::from(bytes), false),
                };
                after.map(State::word).unwrap_or_else(|what| {
                    problem = Some(what);
                    word
                })
            };
            let address = out.addresses[lane];
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
        let phase = if self.odd { "odd" } else { "even" };
        let state = state_at(shared, self.address.into()).unwrap_or(State::new(0));
        let arrivals = counted(state.pending.into(), "arrival");
        let bytes = match state.bytes {
            0 => String::new(),
            n @ 1.. => format!(" and {}", counted(n as u64, "byte")),
            n => format!(", and {} more than expected have come", counted(n.unsigned_abs().into(), "byte")),
        };
        format!(
            "the {phase} phase of the mbarrier at shared address {:#x}, which lacks {arrivals}{bytes}",
            self.address
        )
    }
}

/// Bytes that come to an `mbarrier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arriving {
    /// Rank of the CTA whose barrier it is; 0 without a cluster.
    pub rank: u32,
    /// The address, as that CTA has it.
    pub address: u32,
    pub bytes: u32,
}

/// Bytes of a transfer have come to a barrier. It may have been invalidated; a count beyond its range stays.
pub(crate) fn complete(shared: &mut SharedMemory, Arriving { address, bytes, .. }: Arriving) {
    let address = u64::from(address);
    let Some(state) = state_at(shared, address) else { return };
    let Ok(after) = state.after(0, -i64::from(bytes), false) else { return };
    if let Some(w) = shared.window_mut(address, BYTES) {
        let (word, after) = (w.word(address), after.word());
        (w.words[word], w.words[word + 1]) = (after as u32, (after >> 32) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::{EXPECTED_80, arrive_80};

    fn new_80(count: u32) -> u64 {
        u64::from(EXPECTED_80 - count) | u64::from(PARITY - count) << 32
    }

    #[test]
    fn a_phase_of_sm_80_ends_with_its_last_arrival() {
        let mut state = new_80(3);
        for parity in [0, PARITY, 0] {
            for _ in 0..3 {
                assert_eq!((state >> 32) as u32 & PARITY, parity);
                state = arrive_80(state, 1);
            }
        }
        assert_eq!(state, arrive_80(new_80(3), 3), "three phases, or one");
    }

    /// Machine code computes `(2^20 - n) << 1` and `(2^20 - n) << 11` as the words of a new barrier.
    #[test]
    fn the_words_of_a_new_barrier_are_those_of_compiled_code() {
        for n in [1, 2, 256, MOST_ARRIVALS - 1] {
            let r = MOST_ARRIVALS - n;
            let word = u64::from(r << 1) | u64::from(r << 11) << 32;
            assert_eq!(State::new(n).word(), word, "{n}");
            assert_eq!(State::of(word), State::new(n), "{n}");
        }
    }

    #[test]
    fn a_phase_ends_when_neither_arrivals_nor_bytes_are_missing() {
        let state = State::new(2).after(1, 96, false).unwrap();
        assert_eq!(state, State { expected: 2, pending: 1, bytes: 96, odd: false });
        let early = state.after(0, -128, false).unwrap();
        assert_eq!((early.bytes, early.odd, State::of(early.word())), (-32, false, early));
        let all = early.after(1, 0, false).unwrap();
        assert_eq!((all.pending, all.bytes, all.odd, State::of(all.word())), (0, -32, false, all));
        let next = all.after(0, 32, false).unwrap();
        assert_eq!(next, State { odd: true, ..State::new(2) });
        assert_eq!(next.after(0, 0, false), Ok(next), "nothing comes");
    }

    #[test]
    fn those_that_drop_are_expected_no_more() {
        let state = State::new(3).after(1, 0, true).unwrap().after(1, 0, false).unwrap();
        assert!(!state.odd, "the phase still expects three");
        let next = state.after(1, 0, false).unwrap();
        assert_eq!(next, State { odd: true, ..State::new(2) });
        let none = next.after(2, 0, true).unwrap();
        assert_eq!((none, State::of(none.word())), (State::new(0), none), "none, in the next phase");
        assert!(none.after(1, 0, false).is_err());
    }

    #[test]
    fn counts_have_limits() {
        let most = i64::from(MOST_ARRIVALS) - 1;
        for bytes in [most, -most] {
            let state = State::new(1).after(0, bytes, false).unwrap();
            assert_eq!((i64::from(state.bytes), State::of(state.word())), (bytes, state));
        }
        assert!(State::new(1).after(0, most + 1, false).is_err());
        assert!(State::new(1).after(2, 0, false).is_err());
    }
}
