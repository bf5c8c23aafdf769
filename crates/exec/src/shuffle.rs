//! Exchange between the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `elect`, values of
//! uniform registers.

use crate::lanes::{Column, Lanes, Pred, Reg};
use crate::operand::Destination;
use kit::{LaneMask, WARP_LANES, lanes};

/// The source lane of `shfl`.
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

/// The source lane of a lane in `shfl`, and whether it is within its segment.
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

/// Executes `shfl`. A lane whose source lane does not execute reads zero. The ISA leaves that undefined; reductions
/// over a part of a warp rely on it (NVIDIA's sample `reduction`, kernel 7, whose result is right on hardware only so).
pub(crate) fn shfl(file: &mut Lanes<'_>, mode: ShuffleMode, d: Reg, p: Pred, [a, b, c]: [Reg; 3]) {
    let (mut out, mut within) = ([0; WARP_LANES], 0);
    {
        let (a, b, c) = (file.column(a), file.column(b), file.column(c));
        for lane in 0..WARP_LANES {
            let (source, ok) = shuffle_source(mode, lane, b[lane], c[lane]);
            let executes = file.mask >> source & 1;
            out[lane] = a[source] & executes.wrapping_neg();
            within |= LaneMask::from(ok) << lane;
        }
    }
    file.write(d, &out);
    file.write_pred(p, within);
}

/// The question that `vote` asks about the predicates of the executing lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vote {
    /// Whether all hold.
    All,
    /// Whether one or more hold.
    Any,
    /// Whether all hold, or none.
    Uniform,
    /// Mask of the lanes where it holds.
    Ballot,
}

/// Result of a vote over `members`: a truth value as a full or empty mask, or the ballot.
fn vote(kind: Vote, holds: LaneMask, members: LaneMask) -> LaneMask {
    let holds = holds & members;
    let truth = match kind {
        Vote::All => holds == members,
        Vote::Any => holds != 0,
        Vote::Uniform => holds == members || holds == 0,
        Vote::Ballot => return holds,
    };
    if truth { !0 } else { 0 }
}

/// The lanes of `mask` by the lanes that they name in `members`: those that name the same ones, and these.
/// Lanes of one warp may name different masks in one instruction.
pub(crate) fn by_members(members: &Column, mask: LaneMask) -> impl Iterator<Item = (LaneMask, LaneMask)> + use<> {
    let (members, mut left) = (*members, mask);
    std::iter::from_fn(move || {
        let named = members[lanes(left).next()?];
        let same = lanes(left).fold(0, |m, lane| m | LaneMask::from(members[lane] == named) << lane);
        left &= !same;
        Some((same, named))
    })
}

/// Runs `f` on each group of lanes, `file.mask`, with its members.
fn by_group(file: &mut Lanes<'_>, members: Reg, mut f: impl FnMut(&mut Lanes<'_>, LaneMask)) {
    let mask = file.mask;
    for (same, members) in by_members(file.column(members), mask) {
        file.mask = same;
        f(file, members & mask);
    }
    file.mask = mask;
}

/// Executes `vote`.
pub(crate) fn vote_sync(file: &mut Lanes<'_>, kind: Vote, d: Destination, p: Pred, members: Reg) {
    let holds = file.pred(p);
    by_group(file, members, |file, members| {
        let result = vote(kind, holds, members);
        match d {
            Destination::Reg(d) => file.write(d, &[result; WARP_LANES]),
            Destination::Pred(d) => file.write_pred(d, result),
        }
    });
}

/// Executes `match`. `match.any`: each lane receives the members that have its value. `match.all`: all
/// members if all values are equal, otherwise none, and whether they are. Sources: value, member mask.
pub(crate) fn match_sync(file: &mut Lanes<'_>, (all, wide): (bool, bool), d: Reg, p: Pred, [a, members]: [Reg; 2]) {
    let mut values = [0; WARP_LANES];
    for lane in lanes(file.mask) {
        values[lane] = if wide { file.get::<u64>(a, lane) } else { u64::from(file.get::<u32>(a, lane)) };
    }
    by_group(file, members, |file, members| {
        let equal = |lane: usize| lanes(members).fold(0, |m, o| m | LaneMask::from(values[o] == values[lane]) << o);
        if all {
            let agree = lanes(members).all(|lane| equal(lane) == members);
            file.write(d, &[if agree { members } else { 0 }; WARP_LANES]);
            file.write_pred(p, if agree { !0 } else { 0 });
        } else {
            let mut out = [0; WARP_LANES];
            lanes(file.mask).for_each(|lane| out[lane] = equal(lane));
            file.write(d, &out);
        }
    });
}

/// Executes `elect`: the number of the lowest member, and in each lane whether it is that lane.
pub(crate) fn elect(file: &mut Lanes<'_>, d: Option<Reg>, p: Pred, members: Reg) {
    by_group(file, members, |file, members| {
        let leader = members & members.wrapping_neg();
        if let Some(d) = d {
            file.write(d, &[leader.trailing_zeros(); WARP_LANES]);
        }
        file.write_pred(p, leader);
    });
}

/// Writes the value that the lowest executing lane has to all of `active`: a uniform register is the group's, whatever
/// lanes the guard selects.
pub(crate) fn read_first(file: &mut Lanes<'_>, d: Reg, s: Reg, active: LaneMask) {
    let value = file.column(s)[file.mask.trailing_zeros() as usize];
    file.mask = active;
    file.write(d, &[value; WARP_LANES]);
}

/// Writes whether the predicate holds in an executing lane.
pub(crate) fn any_lane(file: &mut Lanes<'_>, d: Pred, s: Pred) {
    let holds = if file.pred(s) & file.mask != 0 { !0 } else { 0 };
    file.write_pred(d, holds);
}

/// The operation of `redux`.
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

/// Executes `redux`: each executing lane receives the reduction over its members. Sources: value, member
/// mask.
pub(crate) fn redux(file: &mut Lanes<'_>, op: Redux, d: Reg, [a, members]: [Reg; 2]) {
    let column = *file.column(a);
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
    by_group(file, members, |file, members| {
        let result = lanes(members).map(|lane| column[lane]).reduce(combine).unwrap_or(0);
        file.write(d, &[result; WARP_LANES]);
    });
}
