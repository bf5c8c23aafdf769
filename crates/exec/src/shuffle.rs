//! Exchange between the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `elect`.

use crate::lanes::{Lanes, Pred, Reg};
use kit::{LaneMask, WARP_LANES, lanes};

/// Which lane `shfl` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShuffleMode {
    /// `b` lanes lower.
    Up,
    /// `b` lanes higher.
    Down,
    /// Lane number exclusive-or `b`.
    Butterfly,
    /// Lane `b`.
    Index,
}

/// Lane that each lane reads under `shfl`, and whether that is within its segment.
///
/// `c` holds a clamp value in bits 0-4 and a segment mask in bits 8-12 (PTX ISA, "shfl").
pub fn shuffle_source(mode: ShuffleMode, lane: usize, b: u32, c: u32) -> (usize, bool) {
    let (lane32, b) = (lane as u32, b & 31);
    let (clamp, segment) = (c & 31, c >> 8 & 31);
    let highest = lane32 & segment | clamp & !segment;
    let lowest = lane32 & segment;
    let (source, within) = match mode {
        ShuffleMode::Up => (lane32.wrapping_sub(b), lane32 as i32 - b as i32 >= highest as i32),
        ShuffleMode::Down => (lane32 + b, lane32 + b <= highest),
        ShuffleMode::Butterfly => (lane32 ^ b, lane32 ^ b <= highest),
        ShuffleMode::Index => {
            let source = lowest | b & !segment;
            (source, source <= highest)
        }
    };
    if within { (source as usize & 31, true) } else { (lane, false) }
}

/// Executes `shfl`. A lane that reads from one that does not execute gets that lane's register as
/// it stands (the ISA leaves it undefined).
pub(crate) fn shfl(file: &mut Lanes<'_>, mode: ShuffleMode, d: Reg, p: Pred, [a, b, c]: [Reg; 3]) {
    let (mut out, mut within) = ([0; WARP_LANES], 0);
    {
        let (a, b, c) = (file.column(a), file.column(b), file.column(c));
        for lane in 0..WARP_LANES {
            let (source, ok) = shuffle_source(mode, lane, b[lane], c[lane]);
            out[lane] = a[source];
            within |= LaneMask::from(ok) << lane;
        }
    }
    file.write(d, &out);
    file.write_pred(p, within);
}

/// What `vote` asks of the executing lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vote {
    /// All hold.
    All,
    /// One or more hold.
    Any,
    /// All hold, or none.
    Uniform,
    /// Which hold.
    Ballot,
}

/// Result of a vote over `members`: a truth value as a full or empty mask, or the ballot.
pub fn vote(kind: Vote, holds: LaneMask, members: LaneMask) -> LaneMask {
    let holds = holds & members;
    let truth = match kind {
        Vote::All => holds == members,
        Vote::Any => holds != 0,
        Vote::Uniform => holds == members || holds == 0,
        Vote::Ballot => return holds,
    };
    if truth { !0 } else { 0 }
}

/// Executes `match.any`: each lane gets the executing lanes that have its value; or `match.all`:
/// all executing lanes if all values agree, else none, and whether they do.
pub(crate) fn match_sync(file: &mut Lanes<'_>, all: bool, wide: bool, d: Reg, p: Pred, a: Reg) {
    let mut values = [0; WARP_LANES];
    for lane in lanes(file.mask) {
        values[lane] = if wide { file.get::<u64>(a, lane) } else { u64::from(file.get::<u32>(a, lane)) };
    }
    let mut out = [0; WARP_LANES];
    for lane in lanes(file.mask) {
        out[lane] = lanes(file.mask).fold(0, |m, other| m | LaneMask::from(values[other] == values[lane]) << other);
    }
    if all {
        let agree = lanes(file.mask).all(|lane| out[lane] == file.mask);
        file.write(d, &[if agree { file.mask } else { 0 }; WARP_LANES]);
        file.write_pred(p, if agree { !0 } else { 0 });
    } else {
        file.write(d, &out);
    }
}

/// What `redux` reduces by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum Redux {
    Add,
    MinU32,
    MaxU32,
    MinS32,
    MaxS32,
    And,
    Or,
    Xor,
}

/// Executes `redux`: every executing lane gets the reduction over them all.
pub(crate) fn redux(file: &mut Lanes<'_>, op: Redux, d: Reg, a: Reg) {
    let column = file.column(a);
    let combine = |x: u32, y: u32| match op {
        Redux::Add => x.wrapping_add(y),
        Redux::MinU32 => x.min(y),
        Redux::MaxU32 => x.max(y),
        Redux::MinS32 => (x as i32).min(y as i32) as u32,
        Redux::MaxS32 => (x as i32).max(y as i32) as u32,
        Redux::And => x & y,
        Redux::Or => x | y,
        Redux::Xor => x ^ y,
    };
    let result = lanes(file.mask).map(|lane| column[lane]).reduce(combine).unwrap_or(0);
    file.write(d, &[result; WARP_LANES]);
}
