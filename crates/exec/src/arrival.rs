//! The state of an `mbarrier`, and the effect of arrivals and bytes on it.
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

use isa::{MessageId, Pc};
use kit::text::counted;

/// The parity of the phase, in the upper word.
pub const PARITY: u32 = 1 << 31;
/// Counts of arrivals are subtracted from this in PTX and on sm_90. A phase expects fewer.
pub const MOST_ARRIVALS: u32 = 1 << 20;
/// The lowest bit of the pending arrivals, in the upper word.
pub const PENDING_AT: u32 = 11;

/// The state of a barrier of PTX or of sm_90.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Arrivals that each phase expects.
    expected: u32,
    /// Arrivals that this phase still expects.
    pub pending: u32,
    /// Bytes that it still expects: negative if bytes arrived before they were expected.
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

    /// The state after the phase expects `bytes` more (fewer if negative) and `count` threads arrive. With `drops`,
    /// later phases expect `count` fewer arrivals.
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
    /// Bytes have arrived.
    Complete,
}

/// An operation on a barrier with its counts, except for [`MbarrierOp::Exchange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub op: MbarrierOp,
    pub count: u32,
    pub bytes: u32,
}

impl Arrival {
    /// The state of the barrier after it.
    ///
    /// # Errors
    /// A count is out of range.
    pub fn apply(self, word: u64) -> Result<u64, String> {
        let Self { op, count, bytes } = self;
        let after = match op {
            MbarrierOp::Init if count == 0 || count >= MOST_ARRIVALS => {
                Err(format!("an `mbarrier` cannot expect {count} arrivals: from 1 to 2^20 - 1"))
            }
            MbarrierOp::Init => Ok(State::new(count)),
            MbarrierOp::Exchange => return Ok(word),
            MbarrierOp::Arrive => State::of(word).after(count, bytes.into(), false),
            MbarrierOp::ArriveDrop => State::of(word).after(count, bytes.into(), true),
            MbarrierOp::Complete => State::of(word).after(0, -i64::from(bytes), false),
        };
        after.map(State::word)
    }
}

/// Bytes for an `mbarrier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arriving {
    /// Rank of the CTA whose barrier it is; 0 without a cluster.
    pub rank: u32,
    /// The address, as that CTA has it.
    pub address: u32,
    pub bytes: u32,
}

impl Arriving {
    /// The arrival of the bytes as an operation on the barrier.
    pub fn arrival(self) -> Arrival {
        Arrival { op: MbarrierOp::Complete, count: 0, bytes: self.bytes }
    }
}

/// An arrival at a barrier of another CTA of the cluster, on its way there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mail {
    /// The access that it belongs to: the rank of the accessing CTA, and the message of its stream.
    pub of: (u8, MessageId),
    pub arrival: Arrival,
    /// The barrier's address, as its CTA has it.
    pub address: u64,
    /// The instruction; none of a copy.
    pub pc: Option<Pc>,
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
    fn a_new_barrier_has_the_words_of_compiled_code() {
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
        assert_eq!(next.after(0, 0, false), Ok(next), "nothing arrives");
    }

    #[test]
    fn threads_that_drop_are_not_expected_again() {
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
