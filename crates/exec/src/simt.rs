//! Divergence by a reconvergence stack on immediate post-dominators, as in GPGPU-Sim's SIMT stack
//! and in the description of Fung et al., "Dynamic Warp Formation" (MICRO 2007), section 3, with progress for
//! each thread as from Volta on.
//!
//! The top entry executes. A branch that splits its lanes turns the entry into one that waits at the
//! reconvergence point, a *join*, and pushes one entry per path. An entry that arrives at its reconvergence
//! point is popped, and its lanes continue in the join. Paths are executed one after the other, the last
//! pushed first.
//!
//! The entries are a tree: an entry is above all whose lanes it shares. Entries without lanes in common may
//! therefore change places, and any entry whose lanes are in none above it can become the top. Lanes that wait
//! have the states that [`crate::convergence`] lists, with these differences:
//!
//! - A join takes the place of `BSYNC`. Lanes that continue before the others have arrived become an entry
//!   beside the join. They meet the others at the reconvergence point around it.
//! - A backward branch of a *polling* loop takes the place of `YIELD`: one with a volatile load or an atomic
//!   whose result is used, as ptxas chooses loops. Other loops do not give up their turn.
//! - Lanes that meet at one instruction that names them execute it together. Lanes of one call continue
//!   together, in the innermost region that contains all of them.
//!
//! The executor uses this type only through its methods, as it does [`crate::convergence`].

use crate::convergence::Stuck;
use kit::LaneMask;

/// The reconvergence point of paths that do not meet before they end.
pub const NOWHERE: u32 = u32::MAX;

/// Maximum number of entries of a stack. It bounds recursion; other growth is bounded by the program.
const MAX_ENTRIES: usize = 16_384;

/// Event that an entry waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Waiting {
    /// Its turn, or the lanes of the entries above it.
    Turn,
    /// Its turn, at an instruction whose lanes have met.
    Met,
    /// Its turn, after a jump in a polling loop.
    YieldedTurn,
    /// These lanes.
    Lanes(LaneMask),
    /// The warp's other lanes, at the CTA barrier of this number.
    CtaBarrier(u32),
}

impl Waiting {
    /// Whether the entry can execute.
    fn is_ready(self) -> bool {
        matches!(self, Waiting::Turn | Waiting::Met | Waiting::YieldedTurn)
    }

    /// Whether its lanes do not hold those at a join.
    fn is_elsewhere(self) -> bool {
        matches!(self, Waiting::YieldedTurn | Waiting::Lanes(_))
    }
}

#[derive(Clone, Copy, Debug, Hash)]
struct Entry {
    pc: u32,
    reconverge: u32,
    mask: LaneMask,
    /// The call that the entry is in: its place in the stack's calls, plus 1; 0 for the kernel itself.
    frame: u32,
    waiting: Waiting,
}

impl Entry {
    /// The top of an empty stack.
    const NONE: Self = Self { pc: 0, reconverge: NOWHERE, mask: 0, frame: 0, waiting: Waiting::Turn };

    fn has_arrived(&self) -> bool {
        self.pc == self.reconverge
    }
}

/// A call.
#[derive(Clone, Debug, Hash)]
struct Frame<F> {
    /// Lanes that have not returned.
    mask: LaneMask,
    data: F,
}

/// Program counters and active masks of a warp. `F` is what the executor keeps per call.
#[derive(Clone, Debug, Hash)]
pub struct SimtStack<F> {
    /// The entry that executes; without lanes if all have exited.
    top: Entry,
    /// The entries below it.
    below: Vec<Entry>,
    frames: Vec<Frame<F>>,
    /// Places of calls that have ended, to be used again.
    free_frames: Vec<u32>,
    live: LaneMask,
}

impl<F> Default for SimtStack<F> {
    fn default() -> Self {
        Self { top: Entry::NONE, below: Vec::new(), frames: Vec::new(), free_frames: Vec::new(), live: 0 }
    }
}

/// The stack has more entries than its bound: runaway recursion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

/// Lanes of one warp at an instruction.
pub type Group = (u32, LaneMask);

impl<F> SimtStack<F> {
    /// Starts the lanes of `mask` at `pc`.
    pub fn start(&mut self, pc: u32, mask: LaneMask) {
        self.below.clear();
        self.frames.clear();
        self.free_frames.clear();
        self.live = mask;
        self.top = Entry { pc, mask, ..Entry::NONE };
    }

    /// The next instruction; `None` once all lanes have exited.
    #[inline]
    pub fn pc(&self) -> Option<u32> {
        (self.top.mask != 0).then_some(self.top.pc)
    }

    /// Reconvergence point of the top entry, if it has one.
    #[inline]
    pub fn reconvergence(&self) -> Option<u32> {
        (self.top.reconverge != NOWHERE).then_some(self.top.reconverge)
    }

    /// Lanes that execute the next instruction.
    #[inline]
    pub fn active(&self) -> LaneMask {
        self.top.mask
    }

    /// Lanes that have not exited.
    pub fn live(&self) -> LaneMask {
        self.live
    }

    /// Entries in use.
    pub fn height(&self) -> usize {
        self.below.len() + usize::from(self.top.mask != 0)
    }

    /// Whether lanes of the warp may be at another program counter than the active ones.
    #[inline]
    pub fn is_apart(&self) -> bool {
        !self.below.is_empty()
    }

    /// The innermost call that the active lanes are in.
    #[inline]
    pub fn frame(&self) -> Option<&F> {
        self.frames.get((self.top.frame as usize).wrapping_sub(1)).map(|frame| &frame.data)
    }

    /// Advances to the next instruction in memory.
    #[inline]
    pub fn advance(&mut self) {
        self.top.pc += 1;
        if self.top.pc == self.top.reconverge {
            self.settle();
        }
    }

    /// Sends the lanes `taken` to `target` and the other active lanes to the next instruction; they meet at
    /// `reconverge`. Returns whether they diverge.
    ///
    /// # Errors
    /// [`Overflow`].
    #[inline]
    pub fn branch(&mut self, taken: LaneMask, target: u32, reconverge: u32) -> Result<bool, Overflow> {
        let stay = self.top.mask & !taken;
        let next = self.top.pc + 1;
        let diverged = stay != 0 && taken != 0 && next != target;
        if diverged {
            self.split(reconverge);
            self.push(next, reconverge, stay)?;
            self.push(target, reconverge, taken)?;
        } else {
            self.top.pc = if taken != 0 { target } else { next };
        }
        self.settle();
        Ok(diverged)
    }

    /// Sends each active lane to its target in `ways`, which partition the active mask; they meet at
    /// `reconverge`. Returns whether they diverge.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn branch_many(&mut self, ways: &[Group], reconverge: u32) -> Result<bool, Overflow> {
        match ways {
            [] => {}
            [(target, _)] => self.top.pc = *target,
            _ => {
                self.split(reconverge);
                for &(target, mask) in ways {
                    self.push(target, reconverge, mask)?;
                }
            }
        }
        self.settle();
        Ok(ways.len() > 1)
    }

    /// Lanes `mask` call the function at `target`; afterwards all active lanes continue at the next
    /// instruction.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn call(&mut self, mask: LaneMask, target: u32, data: F) -> Result<(), Overflow> {
        self.top.pc += 1;
        self.enter(mask, target, data)
    }

    /// As [`SimtStack::call`], for further targets of one call: does not advance the caller.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn enter(&mut self, mask: LaneMask, target: u32, data: F) -> Result<(), Overflow> {
        if mask != 0 {
            let frame = Frame { mask, data };
            let place = self.free_frames.pop().unwrap_or(self.frames.len() as u32);
            match self.frames.get_mut(place as usize) {
                Some(free) => *free = frame,
                None => self.frames.push(frame),
            }
            self.push(target, NOWHERE, mask)?;
            self.top.frame = place + 1;
        }
        self.settle();
        Ok(())
    }

    /// Lanes `mask` return from the innermost call; the other active lanes advance.
    pub fn ret(&mut self, mask: LaneMask) {
        let frame = self.top.frame;
        self.top.pc += 1;
        let entries = std::iter::once(&mut self.top).chain(&mut self.below);
        entries.filter(|e| e.frame == frame).for_each(|entry| entry.mask &= !mask);
        if let Some(place) = frame.checked_sub(1) {
            self.leave_frame(place, mask);
        }
        self.settle();
    }

    /// Lanes `mask` exit; the other active lanes advance.
    pub fn exit(&mut self, mask: LaneMask) {
        self.top.pc += 1;
        self.live &= !mask;
        self.top.mask &= !mask;
        self.below.iter_mut().for_each(|entry| entry.mask &= !mask);
        (0..self.frames.len() as u32).for_each(|place| self.leave_frame(place, mask));
        self.settle();
    }

    /// Lanes `mask` are no longer in the call at `place`.
    fn leave_frame(&mut self, place: u32, mask: LaneMask) {
        let frame = &mut self.frames[place as usize];
        if frame.mask != 0 {
            frame.mask &= !mask;
            if frame.mask == 0 {
                self.free_frames.push(place);
            }
        }
    }

    /// The active lanes jump back in a polling loop: they yield to the entry that has waited longest, and do
    /// not hold lanes at joins until they execute again.
    #[inline]
    pub fn poll(&mut self) {
        if !self.below.is_empty() {
            self.yield_turn();
        }
    }

    #[cold]
    fn yield_turn(&mut self) {
        self.release_waiting(self.top.mask);
        let first = self.leaves().into_iter().rfind(|&at| self.below[at].waiting.is_ready());
        if let Some(at) = first {
            let next = self.below.remove(at);
            self.below.push(Entry { waiting: Waiting::YieldedTurn, ..self.top });
            self.execute(next);
        }
    }

    /// The active lanes are at an instruction that waits for lanes. `named` divides those that execute it by the
    /// lanes that they name. Returns the lanes that execute it now, if active ones do: these, and lanes of other calls
    /// that have met there. The others wait.
    ///
    /// # Errors
    /// [`Stuck`].
    pub fn meet(&mut self, named: &[(LaneMask, LaneMask)]) -> Result<Option<LaneMask>, Stuck> {
        let here = self.top;
        self.top.waiting = Waiting::Turn;
        if here.waiting == Waiting::Met {
            return Ok(Some(self.executing()));
        }
        for &(mask, all) in named.iter().filter(|(_, all)| all & self.live & !here.mask != 0) {
            let mask = if named.len() == 1 { here.mask } else { mask };
            self.below.push(Entry { mask, waiting: Waiting::Lanes(all), ..here });
            self.top.mask &= !mask;
        }
        if self.top.mask == 0 {
            self.next_entry()?;
        }
        let executes = self.top.mask & here.mask != 0 && self.top.pc == here.pc;
        if executes {
            self.top.waiting = Waiting::Turn;
        }
        Ok(executes.then(|| self.executing()))
    }

    /// The active lanes, and lanes of other calls that have met at their instruction.
    fn executing(&self) -> LaneMask {
        self.met_elsewhere().into_iter().fold(self.top.mask, |mask, at| mask | self.below[at].mask)
    }

    /// Entries of other calls whose lanes have met at the instruction of the active ones, the uppermost first.
    fn met_elsewhere(&self) -> Vec<usize> {
        let has_met = |&at: &usize| (self.below[at].pc, self.below[at].waiting) == (self.top.pc, Waiting::Met);
        self.leaves().into_iter().filter(has_met).collect()
    }

    /// As [`SimtStack::advance`], for all lanes that have executed an instruction at which they met.
    pub fn advance_met(&mut self) {
        for at in self.met_elsewhere() {
            let entry = &mut self.below[at];
            (entry.pc, entry.waiting) = (entry.pc + 1, Waiting::Turn);
            if entry.has_arrived() {
                self.below.remove(at);
            }
        }
        self.advance();
    }

    /// The active lanes arrive at CTA barrier `number`. If no other entry can execute, the warp arrives with
    /// them: the other groups that do are returned, with their instructions, after which they continue.
    /// Otherwise the active lanes wait while others execute.
    pub fn reach_cta_barrier(&mut self, number: u32) -> Option<Vec<Group>> {
        let leaves = self.leaves();
        if leaves.iter().any(|&at| self.below[at].waiting.is_ready()) {
            self.below.push(Entry { waiting: Waiting::CtaBarrier(number), ..self.top });
            self.top = Entry::NONE;
            // An entry that can execute was found above.
            let _ = self.next_entry();
            return None;
        }
        let waits = |entry: &Entry| entry.mask != 0 && entry.waiting == Waiting::CtaBarrier(number);
        let here: Vec<usize> = leaves.into_iter().filter(|&at| waits(&self.below[at])).collect();
        // In descending order: indices of the others stay true.
        let mut others = Vec::new();
        for at in here {
            let entry = &mut self.below[at];
            if (entry.pc, entry.frame) == (self.top.pc, self.top.frame) {
                let entry = self.below.remove(at);
                self.top = self.joined(&[entry, self.top]);
                continue;
            }
            others.push((entry.pc, entry.mask));
            (entry.pc, entry.waiting) = (entry.pc + 1, Waiting::Turn);
            if entry.has_arrived() {
                self.below.remove(at);
            }
        }
        Some(others)
    }

    /// Turns the top entry into one that waits at `reconverge`. If it would only be popped there (further
    /// iterations of a loop), the join of its region, which contains its lanes, waits instead.
    fn split(&mut self, reconverge: u32) {
        if reconverge == NOWHERE || reconverge == self.top.reconverge {
            self.top.mask = 0;
        } else {
            self.top.pc = reconverge;
        }
    }

    fn push(&mut self, pc: u32, reconverge: u32, mask: LaneMask) -> Result<(), Overflow> {
        if self.height() >= MAX_ENTRIES {
            return Err(Overflow);
        }
        if pc != reconverge {
            // That its lanes have met holds for its present instruction only.
            self.top.waiting = Waiting::Turn;
            if self.top.mask != 0 {
                self.below.push(self.top);
            }
            self.top = Entry { pc, reconverge, mask, ..self.top };
        }
        Ok(())
    }

    /// Pops entries that have arrived or are empty.
    #[inline]
    fn settle(&mut self) {
        if self.top.mask == 0 || self.top.has_arrived() {
            self.pop_finished();
        }
    }

    #[inline(never)]
    fn pop_finished(&mut self) {
        while self.top.mask == 0 || self.top.has_arrived() {
            let Some(below) = self.below.pop() else {
                self.top = Entry::NONE;
                return;
            };
            self.top = below;
        }
        if !matches!(self.top.waiting, Waiting::Turn | Waiting::Met) {
            // If all entries are stuck, the top's instruction reports it.
            let _ = self.next_entry();
        }
    }

    fn execute(&mut self, next: Entry) {
        let waiting = if next.waiting == Waiting::Met { Waiting::Met } else { Waiting::Turn };
        self.top = Entry { waiting, ..next };
        self.settle();
    }

    /// Suspended entries whose lanes are in no other one above, the uppermost first.
    fn leaves(&self) -> Vec<usize> {
        let mut above = self.top.mask;
        let mut leaves = Vec::new();
        for (at, entry) in self.below.iter().enumerate().rev() {
            if entry.mask != 0 && entry.mask & above == 0 {
                leaves.push(at);
            }
            above |= entry.mask;
        }
        leaves
    }

    /// Chooses the next entry when the top cannot execute: of those that can, the one suspended last, one that
    /// has yielded after others. If there is none, lanes at the innermost join continue without the others.
    #[cold]
    fn next_entry(&mut self) -> Result<(), Stuck> {
        if self.top.mask != 0 {
            self.below.push(std::mem::replace(&mut self.top, Entry::NONE));
        }
        self.top = Entry::NONE;
        loop {
            self.release_waiting(0);
            let leaves = self.leaves();
            let uppermost = |f: fn(Waiting) -> bool| leaves.iter().copied().find(|&at| f(self.below[at].waiting));
            let next = uppermost(|w| matches!(w, Waiting::Turn | Waiting::Met))
                .or_else(|| leaves.iter().copied().rfind(|&at| self.below[at].waiting.is_ready()))
                .or_else(|| uppermost(|w| matches!(w, Waiting::CtaBarrier(_))));
            if let Some(at) = next {
                let next = self.below.remove(at);
                self.execute(next);
                return Ok(());
            }
            let join = (0..self.below.len()).rev().find(|&at| self.arrived(at).0 != 0);
            match (join, leaves.first()) {
                (Some(join), _) => self.release(join),
                (None, Some(&waits)) => {
                    self.top = self.below.remove(waits);
                    return Err(Stuck);
                }
                (None, None) => {
                    self.below.clear();
                    return Ok(());
                }
            }
        }
    }

    /// Lanes that have arrived at the join `at`, and those that have yet to; no lanes if it is not one.
    fn arrived(&self, at: usize) -> (LaneMask, LaneMask) {
        let above = self.below[at + 1..].iter().fold(self.top.mask, |mask, entry| mask | entry.mask);
        let entry = &self.below[at];
        let inside = entry.mask & above;
        if inside == 0 { (0, 0) } else { (entry.mask & !above, inside) }
    }

    /// The lanes that have arrived at the join `at` continue.
    fn release(&mut self, at: usize) {
        let (arrived, inside) = self.arrived(at);
        let entry = &mut self.below[at];
        let free = Entry { mask: arrived, ..*entry };
        entry.mask = inside;
        if !free.has_arrived() {
            self.below.push(free);
        }
    }

    /// Releases lanes that wait for lanes that have met them, then those at joins that no lane holds. The lanes
    /// `yielding` of the top hold none.
    fn release_waiting(&mut self, yielding: LaneMask) {
        while let Some(met) = self.met() {
            self.join(&met);
        }
        let leaves = self.leaves();
        let elsewhere = leaves.into_iter().map(|at| &self.below[at]).filter(|entry| entry.waiting.is_elsewhere());
        let gone = elsewhere.fold(yielding, |mask, entry| mask | entry.mask);
        for at in (0..self.below.len()).rev() {
            let (arrived, inside) = self.arrived(at);
            if arrived != 0 && inside & !gone == 0 {
                self.release(at);
            }
        }
    }

    /// Entries that wait for each other's lanes only.
    fn met(&self) -> Option<Vec<usize>> {
        let leaves = self.leaves();
        let waits = |at: usize| match self.below[at] {
            Entry { mask, waiting: Waiting::Lanes(all), .. } => Some((mask, all)),
            _ => None,
        };
        leaves.iter().find_map(|&first| {
            let (mask, all) = waits(first)?;
            let meets = |&at: &usize| waits(at).is_some_and(|(m, a)| mask & !a == 0 && m & !all == 0);
            let group: Vec<usize> = leaves.iter().copied().filter(meets).collect();
            let come = group.iter().fold(0, |mask, &at| mask | self.below[at].mask);
            (all & self.live & !come == 0).then_some(group)
        })
    }

    /// The entries at `group`, in descending order, have met. Those at one instruction become one entry.
    fn join(&mut self, group: &[usize]) {
        let mut entries: Vec<Entry> = group.iter().map(|&at| self.below.remove(at)).collect();
        while let Some(first) = entries.last().copied() {
            let same = |e: &Entry| (e.pc, e.frame) == (first.pc, first.frame);
            let together: Vec<Entry> = entries.iter().copied().filter(same).collect();
            entries.retain(|e| !same(e));
            let joined = self.joined(&together);
            self.below.push(Entry { waiting: Waiting::Met, ..joined });
        }
    }

    /// One entry of `entries`, which are at one instruction of one call and no longer in the stack. Lanes leave the
    /// regions that do not contain all of them.
    fn joined(&mut self, entries: &[Entry]) -> Entry {
        let [first, rest @ ..] = entries else { return Entry::NONE };
        let mut joined = *first;
        joined.mask = entries.iter().fold(0, |mask, e| mask | e.mask);
        if rest.is_empty() {
            return joined;
        }
        let mask = joined.mask;
        joined.reconverge = NOWHERE;
        for entry in &mut self.below {
            if entry.mask & mask == mask {
                joined.reconverge = if entry.frame == joined.frame { entry.pc } else { NOWHERE };
            } else {
                entry.mask &= !mask;
            }
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(pc: u32) -> SimtStack<u8> {
        let mut stack = SimtStack::default();
        stack.start(pc, !0);
        stack
    }

    #[test]
    fn both_sides_of_a_branch_run_and_meet() {
        let mut stack = started(0);
        // 0: @p bra 3; 1: …; 2: bra 4; 3: …; 4: join
        assert!(stack.branch(0xf, 3, 4).unwrap());
        assert_eq!((stack.pc(), stack.active()), (Some(3), 0xf));
        assert_eq!(stack.reconvergence(), Some(4));
        stack.advance();
        assert_eq!((stack.pc(), stack.active()), (Some(1), !0xf));
        stack.advance();
        assert!(!stack.branch(!0xf, 4, 4).unwrap());
        assert_eq!((stack.pc(), stack.active(), stack.height()), (Some(4), !0, 1));
        assert_eq!(stack.reconvergence(), None);
    }

    #[test]
    fn a_loop_with_different_trip_counts_does_not_grow_the_stack() {
        let mut stack = started(5);
        // 5: body; 6: @p bra 5; 7: after
        let mut trips = 0;
        for lane in 0..31 {
            stack.advance();
            stack.branch(stack.active() & !(1 << lane), 5, 7).unwrap();
            trips += 1;
            assert!(stack.height() <= 2);
        }
        stack.advance();
        stack.branch(0, 5, 7).unwrap();
        assert_eq!((stack.pc(), stack.active(), stack.height(), trips), (Some(7), !0, 1, 31));
    }

    #[test]
    fn lanes_that_exit_in_one_way_are_gone_at_the_join() {
        let mut stack = started(0);
        stack.branch(0xff, 10, NOWHERE).unwrap();
        stack.exit(0xff);
        assert_eq!((stack.pc(), stack.active(), stack.live()), (Some(1), !0xff, !0xff));
        stack.exit(!0xff);
        assert_eq!((stack.pc(), stack.live()), (None, 0));
    }

    #[test]
    fn lanes_that_return_early_wait_for_the_rest_of_the_call() {
        let mut stack = started(0);
        stack.call(0xffff, 100, 7).unwrap();
        // In the function: lanes 0-3 return at once, the others one instruction later.
        stack.branch(0xf, 110, NOWHERE).unwrap();
        assert_eq!(stack.pc(), Some(110));
        stack.ret(0xf);
        assert_eq!((stack.frame(), stack.pc(), stack.active()), (Some(&7), Some(101), 0xfff0));
        stack.ret(0xfff0);
        assert_eq!((stack.frame(), stack.pc(), stack.active()), (None, Some(1), !0));
    }

    #[test]
    fn runaway_recursion_is_an_error() {
        let mut stack = started(0);
        let mut depth = 0;
        while stack.call(!0, 0, 0).is_ok() {
            depth += 1;
        }
        assert!(depth > 1000);
    }

    #[test]
    fn an_indirect_branch_runs_each_way_once() {
        let mut stack = started(0);
        stack.branch_many(&[(10, 0xff), (20, 0xff00), (30, 0xffff_0000)], 40).unwrap();
        let mut seen = Vec::new();
        while stack.pc() != Some(40) {
            seen.push((stack.pc().unwrap(), stack.active()));
            stack.branch(stack.active(), 40, 40).unwrap();
        }
        assert_eq!(seen, [(30, 0xffff_0000), (20, 0xff00), (10, 0xff)]);
        assert_eq!(stack.active(), !0);
    }

    /// 0: @p bra 10; they meet at 20. Lanes 0 to 15 are at 10 and execute, the others at 1.
    fn parted() -> SimtStack<u8> {
        let mut stack = started(0);
        stack.branch(0xffff, 10, 20).unwrap();
        stack
    }

    fn at(stack: &SimtStack<u8>) -> (Option<u32>, LaneMask) {
        (stack.pc(), stack.active())
    }

    #[test]
    fn paths_take_turns_in_polling_loops() {
        let mut stack = parted();
        for _ in 0..4 {
            stack.branch(0xffff, 10, 12).unwrap();
            stack.poll();
            assert_eq!(at(&stack), (Some(1), 0xffff_0000));
            stack.branch(0xffff_0000, 1, 3).unwrap();
            stack.poll();
            assert_eq!(at(&stack), (Some(10), 0xffff));
        }
        stack.branch(0xffff, 20, 20).unwrap();
        assert_eq!(at(&stack), (Some(20), 0xffff), "the others have yielded");
        stack.exit(0xffff);
        assert_eq!(at(&stack), (Some(1), 0xffff_0000));
    }

    #[test]
    fn lanes_that_poll_do_not_hold_those_at_the_join() {
        let mut stack = started(0);
        // 0: poll; 1: @p bra 0; 2: after, up to the end at 9, which lanes reach one by one.
        stack.advance();
        stack.branch(!1, 0, 2).unwrap();
        stack.poll();
        assert_eq!(at(&stack), (Some(2), 1), "lane 0 has what the others poll for");
        stack.exit(1);
        assert_eq!(at(&stack), (Some(0), !1));
        stack.advance();
        stack.branch(0, 0, 2).unwrap();
        assert_eq!((at(&stack), stack.height()), ((Some(2), !1), 1), "the others have met");
    }

    #[test]
    fn lanes_meet_at_an_instruction_that_names_them() {
        let mut stack = parted();
        assert_eq!(stack.meet(&[(0xffff, 0xffff)]), Ok(Some(0xffff)), "they are together");
        stack.advance();
        assert_eq!(stack.meet(&[(0xffff, !0)]), Ok(None));
        assert_eq!(at(&stack), (Some(1), 0xffff_0000));
        stack.branch(0xffff_0000, 11, 20).unwrap();
        assert_eq!(stack.meet(&[(0xffff_0000, !0)]), Ok(Some(!0)), "all are at 11 now");
        assert_eq!(at(&stack), (Some(11), !0));
        stack.branch(!0, 20, 20).unwrap();
        assert_eq!((at(&stack), stack.height()), ((Some(20), !0), 1));
    }

    #[test]
    fn that_lanes_have_met_is_for_one_instruction() {
        let mut stack = parted();
        assert_eq!(stack.meet(&[(0xffff, !0)]), Ok(None));
        // Lanes 0 to 15 have met the others, which exit.
        assert_eq!(stack.meet(&[(0xffff_0000, !0)]), Ok(Some(0xffff_0000)));
        stack.exit(0xffff_0000);
        assert_eq!((at(&stack), stack.is_apart()), ((Some(10), 0xffff), true));
        // They branch without executing the instruction for which they met.
        assert_eq!(stack.top.waiting, Waiting::Met);
        stack.branch(0xff, 12, 15).unwrap();
        assert!(stack.below.iter().all(|entry| entry.waiting == Waiting::Turn));
        assert_eq!(stack.meet(&[(0xff, 0xffff)]), Ok(None), "the others are at 11");
    }

    #[test]
    fn lanes_of_different_calls_meet() {
        let mut stack = parted();
        stack.call(0xffff, 100, 7).unwrap();
        assert_eq!(stack.meet(&[(0xffff, !0)]), Ok(None));
        stack.call(0xffff_0000, 100, 8).unwrap();
        assert_eq!(stack.meet(&[(0xffff_0000, !0)]), Ok(Some(!0)), "all lanes execute it");
        stack.advance_met();
        assert_eq!((at(&stack), stack.frame()), ((Some(101), 0xffff_0000), Some(&8)));
        stack.ret(0xffff_0000);
        assert_eq!((at(&stack), stack.frame()), ((Some(101), 0xffff), Some(&7)), "it is executed once");
        stack.ret(0xffff);
        assert_eq!((at(&stack), stack.frame()), ((Some(2), 0xffff_0000), None));
        stack.branch(0xffff_0000, 20, 20).unwrap();
        assert_eq!((at(&stack), stack.frame()), ((Some(11), 0xffff), None));
    }

    #[test]
    fn lanes_at_different_instructions_meet_and_continue_there() {
        let mut stack = parted();
        assert_eq!(stack.meet(&[(0xffff, !0)]), Ok(None));
        assert_eq!(stack.meet(&[(0xffff_0000, !0)]), Ok(Some(0xffff_0000)));
        stack.branch(0xffff_0000, 20, 20).unwrap();
        assert_eq!((at(&stack), stack.meet(&[(0xffff, !0)])), ((Some(10), 0xffff), Ok(Some(0xffff))));
        stack.branch(0xffff, 20, 20).unwrap();
        assert_eq!((at(&stack), stack.height()), ((Some(20), !0), 1));
    }

    #[test]
    fn lanes_at_the_join_are_released_by_lanes_that_wait_for_them() {
        let mut stack = started(0);
        // Lanes 0 to 15 are at the join, 20; the others name them at 1.
        stack.branch(0xffff, 20, 20).unwrap();
        assert_eq!(at(&stack), (Some(1), 0xffff_0000));
        assert_eq!(stack.meet(&[(0xffff_0000, !0)]), Ok(None));
        assert_eq!(at(&stack), (Some(20), 0xffff));
        stack.exit(0xffff);
        assert_eq!((at(&stack), stack.meet(&[(0xffff_0000, !0)])), ((Some(1), 0xffff_0000), Ok(Some(0xffff_0000))));
    }

    #[test]
    fn lanes_of_one_instruction_that_name_different_lanes_wait_separately() {
        let mut stack = parted();
        assert_eq!(stack.meet(&[(0xff, 0xff), (0xff00, !0xff)]), Ok(Some(0xff)));
        assert_eq!(at(&stack), (Some(10), 0xff), "these have all that they name");
        stack.exit(0xff);
        assert_eq!(stack.meet(&[(0xffff_0000, !0xff)]), Ok(Some(0xffff_0000)));
    }

    #[test]
    fn waiting_for_lanes_that_wait_for_others_is_noticed() {
        let mut stack = parted();
        assert_eq!(stack.meet(&[(0xffff, 0xff_ffff)]), Ok(None));
        assert_eq!(stack.meet(&[(0xffff_0000, 0xffff_ff00)]), Err(Stuck));
    }

    #[test]
    fn lanes_come_to_a_cta_barrier_together() {
        let mut stack = parted();
        assert_eq!(stack.reach_cta_barrier(0), None);
        assert_eq!(at(&stack), (Some(1), 0xffff_0000));
        assert_eq!(stack.reach_cta_barrier(0), Some(vec![(10, 0xffff)]));
        stack.advance();
        assert_eq!(at(&stack), (Some(2), 0xffff_0000));
        stack.branch(0xffff_0000, 20, 20).unwrap();
        assert_eq!(at(&stack), (Some(11), 0xffff));
        let mut stack = parted();
        stack.branch(0xffff, 1, 20).unwrap();
        assert_eq!(stack.reach_cta_barrier(0), None);
        assert_eq!((stack.reach_cta_barrier(0), at(&stack)), (Some(vec![]), (Some(1), !0)), "at one instruction");
    }

    #[test]
    fn lanes_in_different_calls_take_turns() {
        let mut stack = parted();
        stack.call(0xffff, 100, 7).unwrap();
        stack.branch(0xffff, 100, 102).unwrap();
        stack.poll();
        assert_eq!((at(&stack), stack.frame()), ((Some(1), 0xffff_0000), None));
        stack.call(0xffff_0000, 200, 8).unwrap();
        stack.branch(0xffff_0000, 200, 202).unwrap();
        stack.poll();
        assert_eq!((at(&stack), stack.frame()), ((Some(100), 0xffff), Some(&7)));
        stack.ret(0xffff);
        assert_eq!((at(&stack), stack.frame()), ((Some(11), 0xffff), None), "the others have yielded");
        stack.branch(0xffff, 20, 20).unwrap();
        assert_eq!((at(&stack), stack.frame()), ((Some(20), 0xffff), None));
    }
}
