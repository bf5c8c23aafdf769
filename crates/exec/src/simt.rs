//! Divergence by a reconvergence stack on immediate post-dominators, as in GPGPU-Sim's SIMT stack
//! and in the description of Fung et al., "Dynamic Warp Formation" (MICRO 2007), section 3.
//!
//! The top entry executes. A branch that splits its lanes turns the entry into one that waits at the
//! reconvergence point and pushes one entry per path. An entry that arrives at its reconvergence point is
//! popped, and its lanes continue in the entry below. Paths are executed one after the other, the last pushed
//! first: a spin lock whose holder waits in a lower entry never ends, as on GPUs before Volta.
//!
//! The executor uses this type only through its methods, as it does [`crate::convergence`].

use kit::LaneMask;

/// The reconvergence point of paths that do not meet before they end.
pub const NOWHERE: u32 = u32::MAX;

/// Maximum number of entries of a stack. It bounds recursion; other growth is bounded by the program.
const MAX_ENTRIES: usize = 16_384;

#[derive(Clone, Copy, Debug, Hash)]
struct Entry {
    pc: u32,
    reconverge: u32,
    mask: LaneMask,
    /// Number of calls that the entry is in.
    depth: u32,
}

impl Entry {
    /// The top of an empty stack.
    const NONE: Self = Self { pc: 0, reconverge: NOWHERE, mask: 0, depth: 0 };
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame<F> {
    /// Lanes that made the call.
    pub mask: LaneMask,
    /// What the caller stores about it.
    pub data: F,
}

/// Program counters and active masks of a warp. `F` is what the executor keeps per call.
#[derive(Clone, Debug, Hash)]
pub struct SimtStack<F> {
    /// The entry that executes; without lanes if all have exited.
    top: Entry,
    /// The entries below it.
    below: Vec<Entry>,
    frames: Vec<Frame<F>>,
    live: LaneMask,
}

impl<F> Default for SimtStack<F> {
    fn default() -> Self {
        Self { top: Entry::NONE, below: Vec::new(), frames: Vec::new(), live: 0 }
    }
}

/// The stack has more entries than its bound: runaway recursion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

impl<F> SimtStack<F> {
    /// Starts the lanes of `mask` at `pc`.
    pub fn start(&mut self, pc: u32, mask: LaneMask) {
        self.below.clear();
        self.frames.clear();
        self.live = mask;
        self.top = Entry { pc, reconverge: NOWHERE, mask, depth: 0 };
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

    /// Calls that have not returned.
    pub fn depth(&self) -> usize {
        self.frames.len()
    }

    /// The innermost call.
    pub fn frame(&self) -> Option<&Frame<F>> {
        self.frames.last()
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
    pub fn branch_many(&mut self, ways: &[(u32, LaneMask)], reconverge: u32) -> Result<bool, Overflow> {
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
            self.frames.push(Frame { mask, data });
            self.push(target, NOWHERE, mask)?;
        }
        self.settle();
        Ok(())
    }

    /// Lanes `mask` return from the innermost call; the other active lanes advance. Take the calls that ended
    /// with [`SimtStack::finished_frame`].
    pub fn ret(&mut self, mask: LaneMask) {
        let depth = self.frames.len() as u32;
        self.top.pc += 1;
        let entries = std::iter::once(&mut self.top).chain(self.below.iter_mut().rev());
        entries.take_while(|e| e.depth == depth).for_each(|entry| entry.mask &= !mask);
        self.settle();
    }

    /// Lanes `mask` exit; the other active lanes advance. Take the calls that ended with
    /// [`SimtStack::finished_frame`].
    pub fn exit(&mut self, mask: LaneMask) {
        self.top.pc += 1;
        self.live &= !mask;
        self.top.mask &= !mask;
        self.below.iter_mut().for_each(|entry| entry.mask &= !mask);
        self.settle();
    }

    /// Removes an innermost call that no lane is in any more, and returns it.
    #[inline]
    pub fn finished_frame(&mut self) -> Option<Frame<F>> {
        if self.frames.len() as u32 > self.top.depth { self.frames.pop() } else { None }
    }

    /// Turns the top entry into one that waits at `reconverge`. If it would only be popped there (further
    /// iterations of a loop), the entry below, which contains its lanes, waits instead.
    fn split(&mut self, reconverge: u32) {
        if reconverge == NOWHERE || reconverge == self.top.reconverge {
            self.top = self.below.pop().unwrap_or(Entry::NONE);
        } else {
            self.top.pc = reconverge;
        }
    }

    fn push(&mut self, pc: u32, reconverge: u32, mask: LaneMask) -> Result<(), Overflow> {
        if self.height() >= MAX_ENTRIES {
            return Err(Overflow);
        }
        if pc != reconverge {
            if self.top.mask != 0 {
                self.below.push(self.top);
            }
            self.top = Entry { pc, reconverge, mask, depth: self.frames.len() as u32 };
        }
        Ok(())
    }

    /// Pops entries that have arrived or are empty.
    #[inline]
    fn settle(&mut self) {
        if self.top.mask == 0 || self.top.pc == self.top.reconverge {
            self.pop_finished();
        }
    }

    #[inline(never)]
    fn pop_finished(&mut self) {
        while self.top.mask == 0 || self.top.pc == self.top.reconverge {
            let Some(below) = self.below.pop() else {
                self.top = Entry::NONE;
                return;
            };
            self.top = below;
        }
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
        assert_eq!((stack.finished_frame(), stack.pc(), stack.active()), (None, Some(101), 0xfff0));
        stack.ret(0xfff0);
        assert_eq!(stack.finished_frame(), Some(Frame { mask: 0xffff, data: 7 }));
        assert_eq!((stack.pc(), stack.active(), stack.depth()), (Some(1), !0, 0));
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
}
