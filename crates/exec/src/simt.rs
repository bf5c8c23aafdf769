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

    /// Whether lanes that are not active could execute now.
    pub fn has_others(&self) -> bool {
        self.is_apart() && self.leaves().into_iter().any(|at| self.below[at].waiting.is_ready())
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
mod tests;
