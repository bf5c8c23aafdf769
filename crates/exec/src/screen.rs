//! Whether the first CTAs of a launch may have races at all, found while they are executed without time.
//!
//! Accesses are recorded by lines of 128 bytes with a bit for each word, so that a coalesced access is one operation. A
//! conflict here need not be a race: the accesses may be to other bytes of a word, or a barrier of some warps may give
//! them an order. [`decisive_races`](crate::decisive_races) decides. Of the same instructions it finds nothing that
//! passes here.

use crate::check::{is_strong, may_synchronise};
use crate::functional::{FunctionalStats, Observer, Order, Round, run_ctas, run_in_order};
use crate::launch::Launch;
use crate::memory::{WINDOW_BYTES, WINDOWS_END};
use crate::op::Op;
use crate::probe::{CTAS, MOST_WATCHED};
use crate::state::{DeviceState, Undo};
use crate::stream::LiveStream;
use isa::{Access, Control, DynInst, Fault, Inst, MemAccess, Space};
use kit::{LaneMask, WARP_LANES, lanes};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::ControlFlow;

/// Words of a line: a bit each.
type Words = u32;

/// As [`run_ctas`](crate::run_ctas) of all CTAs. `None` if the first ones may have races, so that
/// [`decisive_races`](crate::decisive_races) is due: a part of them has run. An undo log ends after the first CTAs; with
/// `None` nothing of them remains.
pub fn run_screened(
    state: &mut DeviceState,
    launch: &Launch,
    undo: Option<Undo>,
    observer: &mut impl Observer,
) -> Option<Result<Option<FunctionalStats>, Box<Fault>>> {
    let all = launch.grid.volume();
    if launch.cluster().is_some() {
        // CTAs of a cluster run together, and access each other's shared memory: they are not screened.
        undo.into_iter().for_each(|undo| state.keep(undo));
        return Some(run_ctas(state, launch, 0..all, observer));
    }
    let first = all.min(CTAS);
    let mut screen = RaceScreen::new(launch, observer);
    let (mut stream, begun) = (LiveStream::new(), (Order::default(), FunctionalStats::default()));
    let mut others = first..all;
    let ran = run_in_order(state, &mut stream, launch, (0..first, &mut others), begun, &mut screen);
    let is_suspicious = screen.is_suspicious;
    match undo {
        Some(undo) if is_suspicious => state.undo(undo),
        Some(undo) => state.keep(undo),
        None => {}
    }
    if is_suspicious {
        return None;
    }
    Some(match ran {
        Ok(Some(stats)) if !others.is_empty() => {
            run_in_order(state, &mut stream, launch, (others, 0..0), (Order::default(), stats), observer)
        }
        ended => ended,
    })
}

/// Stops a run at the first conflict.
#[derive(Debug)]
struct RaceScreen<'a, O> {
    launch: &'a Launch,
    observer: &'a mut O,
    /// The CTA that began last, and its warp whose turn it is; of older CTAs none.
    cta: Option<u64>,
    warp: usize,
    /// Instructions of the warp that are yet to be looked at.
    left: u32,
    /// The warps, as before their present turns.
    warps: Vec<Progress>,
    /// Barriers of the CTA after which its accesses may have an order by memory.
    most_barriers: u32,
    shared: SharedLines,
    global: HashMap<u64, Footprint, BuildHasherDefault<LineHasher>>,
    is_suspicious: bool,
}

/// A warp of the CTA.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// Instructions that are yet to be looked at.
    left: u32,
    /// Barriers at which it has arrived.
    barriers: u32,
}

/// Words of a line that were accessed.
#[derive(Clone, Copy, Debug, Default)]
struct Footprint {
    written: Words,
    read: Words,
}

impl<'a, O> RaceScreen<'a, O> {
    fn new(launch: &'a Launch, observer: &'a mut O) -> Self {
        Self {
            launch,
            observer,
            cta: None,
            warp: 0,
            left: 0,
            warps: Vec::new(),
            most_barriers: u32::MAX,
            shared: SharedLines::default(),
            global: HashMap::default(),
            is_suspicious: false,
        }
    }

    fn start_cta(&mut self, cta: u64) {
        let warps = self.launch.shape().warps() as usize;
        let left = (MOST_WATCHED / warps.max(1) as u64) as u32;
        self.cta = Some(cta);
        self.warps.clear();
        self.warps.resize(warps, Progress { left, barriers: 0 });
        self.most_barriers = u32::MAX;
        self.shared.clear(warps);
    }

    /// An instruction that at least one lane has executed.
    #[inline(never)]
    fn screen(&mut self, inst: &Inst, out: &DynInst) {
        let warp = &mut self.warps[self.warp];
        match inst.control {
            // The barrier of all threads divides the accesses of all warps into those before and after.
            Control::BarrierSync => {
                let all = out.barrier.threads == 0 || u64::from(out.barrier.threads) >= self.launch.block.volume();
                self.is_suspicious |= !all;
                warp.barriers += 1;
            }
            Control::BarrierArrive => self.is_suspicious = true,
            _ => {}
        }
        if warp.barriers > self.most_barriers || may_synchronise(inst) {
            self.left = 0;
            self.most_barriers = self.most_barriers.min(warp.barriers);
            return;
        }
        let Some(mem) = inst.mem else { return };
        let (now, writes) = (warp.barriers, mem.access != Access::Load);
        if mem.access == Access::AsyncCopy {
            self.see_shared(out.mask, out.second_addresses(), &mem, now);
            return;
        }
        debug_assert!(!is_strong(&mem), "it may synchronise");
        let [shared, global] = spaces(&mem, out);
        if shared != 0 && self.warps.len() > 1 {
            self.see_shared(shared, &out.addresses, &mem, now);
        }
        let op = self.launch.kernel.code.get(out.pc.index()).map(|guarded| &guarded.op);
        if global != 0 && self.launch.grid.volume() > 1 && !matches!(op, Some(Op::Surface(_))) {
            self.see_global(global, &out.addresses, mem.bytes, writes);
        }
    }

    fn see_shared(&mut self, mask: LaneMask, addresses: &[u64; WARP_LANES], mem: &MemAccess, now: u32) {
        let (warp, writes) = (self.warp, mem.access != Access::Load);
        each_line(mask, addresses, mem.bytes, |line, words| {
            self.is_suspicious |= self.shared.touch(line as usize, words, (warp, now), writes);
        });
    }

    /// The first CTA leaves its footprint, the second one must not meet it.
    fn see_global(&mut self, mask: LaneMask, addresses: &[u64; WARP_LANES], bytes: u8, writes: bool) {
        let Self { global, is_suspicious, cta, .. } = self;
        each_line(mask, addresses, bytes, |line, words| {
            if *cta == Some(0) {
                let first = global.entry(line).or_default();
                *(if writes { &mut first.written } else { &mut first.read }) |= words;
            } else if let Some(first) = global.get(&line) {
                *is_suspicious |= words & (first.written | if writes { first.read } else { 0 }) != 0;
            }
        });
    }
}

impl<O: Observer> Observer for RaceScreen<'_, O> {
    fn turn(&mut self, cta: u64, warp: usize) {
        self.observer.turn(cta, warp);
        if let Some(before) = self.warps.get_mut(self.warp) {
            before.left = self.left;
        }
        if Some(cta) < self.cta {
            // Others have joined a CTA that waits for them.
            (self.warp, self.left) = (usize::MAX, 0);
            return;
        }
        if Some(cta) > self.cta {
            self.start_cta(cta);
        }
        self.warp = warp;
        self.left = self.warps[warp].left;
    }

    #[inline]
    fn see(&mut self, live: LaneMask, out: &DynInst) -> ControlFlow<()> {
        self.observer.see(live, out)?;
        if self.left == 0 {
            return ControlFlow::Continue(());
        }
        self.left -= 1;
        let launch = self.launch;
        let inst = launch.kernel.program.inst(out.pc);
        if out.mask != 0 && (inst.mem.is_some() || inst.control != Control::None) {
            self.screen(inst, out);
        }
        if self.is_suspicious { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn look(&mut self, round: Round<'_>) -> ControlFlow<()> {
        self.observer.look(round)
    }
}

/// The lanes that access shared memory, and the lanes that access global memory.
fn spaces(mem: &MemAccess, out: &DynInst) -> [LaneMask; 2] {
    let lanes_in = |is_there: fn(u64) -> bool| {
        lanes(out.mask).filter(|&lane| is_there(out.addresses[lane])).fold(0, |mask, lane| mask | 1 << lane)
    };
    match (mem.space, out.space) {
        (Space::Global, _) => [0, out.mask],
        (Space::Shared, _) => [out.mask, 0],
        (Space::Generic, Space::Shared) => [lanes_in(|at| at < WINDOW_BYTES), lanes_in(|at| at >= WINDOWS_END)],
        (Space::Generic, _) => [0, lanes_in(|at| at >= WINDOWS_END)],
        _ => [0, 0],
    }
}

/// Gives the lines that the lanes of `mask` access, and the words of each; a line may be given several times.
#[inline(always)]
fn each_line(mask: LaneMask, addresses: &[u64; WARP_LANES], bytes: u8, mut give: impl FnMut(u64, Words)) {
    // An access is aligned to its size, so that it is within a line.
    let access = (1_u32 << bytes.div_ceil(4)) - 1;
    let words_at = |address: u64| access << (address / 4 % 32);
    let first = addresses[0] / 128;
    if mask == LaneMask::MAX && addresses.iter().fold(0, |other, &at| other | ((at / 128) ^ first)) == 0 {
        return give(first, addresses.iter().fold(0, |words, &at| words | words_at(at)));
    }
    let (mut line, mut words) = (0, 0);
    for lane in lanes(mask) {
        let at = addresses[lane];
        if at / 128 != line {
            if words != 0 {
                give(line, words);
            }
            (line, words) = (at / 128, 0);
        }
        words |= words_at(at);
    }
    give(line, words);
}

/// Shared memory of a CTA since the last barrier.
#[derive(Debug, Default)]
struct SharedLines {
    lines: Vec<SharedLine>,
    /// By line and warp.
    own: Vec<Footprint>,
    warps: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct SharedLine {
    /// Barriers before these accesses, and one more; 0 if there are none.
    since: u32,
    all: Footprint,
    /// Words that several warps have read.
    read_by_several: Words,
}

impl SharedLines {
    fn clear(&mut self, warps: usize) {
        self.lines.clear();
        self.own.clear();
        self.warps = warps;
    }

    /// An access of `warp` after `barriers`; whether it conflicts with one of another warp.
    fn touch(&mut self, line: usize, words: Words, (warp, barriers): (usize, u32), writes: bool) -> bool {
        if line >= self.lines.len() {
            self.lines.resize(line + 1, SharedLine::default());
            self.own.resize((line + 1) * self.warps, Footprint::default());
        }
        let own = &mut self.own[line * self.warps..][..self.warps];
        let line = &mut self.lines[line];
        if line.since != barriers + 1 {
            own.fill(Footprint::default());
            *line = SharedLine { since: barriers + 1, ..SharedLine::default() };
        }
        let own = &mut own[warp];
        let mut others = line.all.written & !own.written;
        if writes {
            others |= line.all.read & (!own.read | line.read_by_several);
            line.all.written |= words;
            own.written |= words;
        } else {
            line.read_by_several |= line.all.read & !own.read & words;
            line.all.read |= words;
            own.read |= words;
        }
        others & words != 0
    }
}

/// Hashes the number of a line.
#[derive(Debug, Default)]
struct LineHasher(u64);

impl Hasher for LineHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, line: u64) {
        self.0 = (self.0 ^ line).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(mask: LaneMask, bytes: u8, address: impl Fn(u64) -> u64) -> Vec<(u64, Words)> {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let mut lines = Vec::new();
        each_line(mask, &addresses, bytes, |line, words| lines.push((line, words)));
        lines
    }

    #[test]
    fn lanes_access_words_of_lines() {
        assert_eq!(lines_of(LaneMask::MAX, 4, |lane| 256 + 4 * lane), [(2, Words::MAX)]);
        assert_eq!(lines_of(LaneMask::MAX, 1, |lane| 300 + lane), [(2, 0xff << 11)]);
        assert_eq!(lines_of(LaneMask::MAX, 4, |lane| 64 + 4 * lane), [(0, 0xffff_0000), (1, 0xffff)]);
        assert_eq!(lines_of(0b101, 8, |lane| 128 * lane), [(0, 3), (2, 3)]);
        assert_eq!(lines_of(2, 16, |_| 112), [(0, 0xf000_0000)]);
    }

    #[test]
    fn warps_conflict_at_a_word_that_one_of_them_writes_between_two_barriers() {
        let mut shared = SharedLines::default();
        shared.clear(3);
        assert!(!shared.touch(1, 0xf, (0, 0), true));
        assert!(!shared.touch(1, 0x3, (0, 0), false), "its own");
        assert!(!shared.touch(1, 0xf0, (1, 0), true), "other words");
        assert!(shared.touch(1, 0x8, (1, 0), false), "written, then read");
        assert!(!shared.touch(1, 0xff, (2, 1), true), "a barrier is between");
        assert!(!shared.touch(0, 1, (0, 1), false));
        assert!(!shared.touch(0, 1, (1, 1), false), "both read");
        assert!(shared.touch(0, 1, (1, 1), true), "another has read it, too");
        assert!(shared.touch(0, 1, (2, 1), true), "written twice");
    }
}
