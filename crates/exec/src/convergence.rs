//! Divergence with a program counter per thread and convergence barriers: machine code since Volta.
//!
//! Lanes with the same program counter form a group; one group of a warp executes at a time. After a branch
//! that splits a group, the lanes that jump execute first. `BSSY` records which lanes will meet; `BSYNC`
//! holds a group until all of these have arrived, left (`BREAK`) or exited. Groups do not merge otherwise.
//!
//! # Rules
//! The same rules hold for PTX ([`crate::simt`]), where a reconvergence point takes the place of `BSYNC`.
//! `lower/tests/turns.rs` draws each of them, for both.
//!
//! | state of a lane | holds those at `BSYNC` | holds those at `WARPSYNC` that name it | leaves the state |
//! | --- | --- | --- | --- |
//! | executes, or waits for its turn | yes | yes | |
//! | has yielded | no | yes | when its group gets its turn |
//! | waits at `BSYNC` | at another one: yes; at the same one: no | yes | when no lane holds it |
//! | waits at `WARPSYNC` | no | if it waits for other lanes | when all lanes that it names wait with it |
//! | waits at a CTA barrier | yes | yes | when the CTA's barrier is complete |
//! | has exited | no | no | |
//!
//! - **Yielding.** Lanes that execute `YIELD` are in the yielded state until their group executes again. A
//!   convergence barrier is cleared when all its lanes have arrived or have yielded; lanes that arrive after
//!   it was cleared do not wait for those that have passed (Nickolls and Stone, claim 1).
//! - **Turns.** A group executes until it waits, yields, ends, or has jumped back 32 times while others wait
//!   for their turn. Then the group that has waited longest executes; when a group waits or ends, the group
//!   that was suspended last.
//! - **No deadlock at `BSYNC`.** If no group can execute, the lanes that arrived first at a `BSYNC` continue.
//!   Convergence there saves time; no result may depend on it.
//!
//! Sources: Nickolls and Stone, US patent 10,067,768 (convergence barriers); NVIDIA, "Tesla V100 GPU
//! architecture" white paper, section on independent thread scheduling; the output of ptxas 11.8. It puts
//! `YIELD` into loops with a volatile load or with an atomic whose result is used, and checks convergence
//! (`BRA.DIV`, `WARPSYNC`) before a shuffle that follows the `BSYNC` of such a loop, but not after other loops.
//! It leaves `BREAK` out where the exit of a loop leads to a `WARPSYNC`, and only there.
//!
//! # Deviations and choices
//! 1. Groups change only at branches, barriers, `WARPSYNC`, `YIELD` and `EXIT`. Each group
//!    has its own uniform registers: ptxas keeps values in them across backward jumps in divergent code, where groups may
//!    change here.
//! 2. Which group hardware executes first, and for how long, is not published: the rule on turns is a choice.
//! 3. Inferred: that lanes at `WARPSYNC` do not hold those at `BSYNC` (from where ptxas omits `BREAK`), and
//!    the rule on deadlock (from the guarantee of progress for each thread).
//! 4. A convergence barrier is a register of each lane; it holds the lanes that meet. Groups may therefore
//!    use one barrier register for different gatherings at the same time, in different calls of a recursive
//!    function for example. Lanes that meet by `WARPSYNC` may hold different lanes; at `BSYNC` they wait for all.
//! 5. Lanes that set a barrier anew (`BSSY`, or `BMOV.CLEAR` without a destination) before they have met there
//!    leave the gathering that it held. Compilers use one barrier again where lanes branch out of its region.
//! 6. `BSSY` names the instruction after its `BSYNC`: the reconvergence PC of the lanes between the two after
//!    they diverge. It is only reported; the barrier registers decide which lanes meet. A second `BSSY` of the
//!    same lanes, barrier and target replaces the first, so that a recursive call leaves no stale record.
//! 7. All live lanes of a warp arrive at a CTA barrier together: groups that arrive early wait. Groups at
//!    barriers of different numbers arrive one after the other.

use kit::LaneMask;

/// Backward jumps of a group before another group gets its turn.
const PATIENCE: u32 = 32;

/// Event that a suspended group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Waiting {
    /// Its turn to execute.
    Turn,
    /// Its turn, after `YIELD`.
    YieldedTurn,
    /// Other lanes, at a gathering.
    Lanes(Gathering),
    /// The warp's other lanes, at the CTA barrier of this number.
    CtaBarrier(u32),
}

impl Waiting {
    /// Whether the group can execute.
    fn is_ready(self) -> bool {
        matches!(self, Waiting::Turn | Waiting::YieldedTurn)
    }
}

/// Lanes that meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gathering {
    /// Number of the convergence barrier, or [`Gathering::WARPSYNC`] or [`Gathering::COLLECTIVE`].
    pub place: u8,
    /// The lanes that meet.
    pub lanes: LaneMask,
}

impl Gathering {
    /// The place of lanes that meet by `WARPSYNC`.
    pub const WARPSYNC: u8 = u8::MAX;
    /// The place of lanes that meet by `WARPSYNC.COLLECTIVE`: they continue as one group, whatever their
    /// program counters were.
    pub const COLLECTIVE: u8 = u8::MAX - 1;

    /// Whether the lanes must meet there. Elsewhere, at `BSYNC`, they meet if they can.
    fn is_required(self) -> bool {
        self.place >= Self::COLLECTIVE
    }
}

#[derive(Clone, Copy, Debug, Hash)]
struct Group {
    pc: u32,
    mask: LaneMask,
    waiting: Waiting,
}

/// Lanes between a `BSSY` and the end of its region.
#[derive(Clone, Copy, Debug, Hash)]
struct Region {
    gathering: Gathering,
    /// Instruction at which they continue together.
    target: u32,
}

/// A convergence barrier that was cleared before all its lanes arrived.
#[derive(Clone, Copy, Debug, Hash)]
struct Cleared {
    gathering: Gathering,
    /// The lanes that have passed it.
    passed: LaneMask,
}

/// Whether lanes at a gathering can continue. Arguments: those that have come, and those that yield now.
type IsComplete = fn(&Convergence, Gathering, LaneMask, LaneMask) -> bool;

/// Every group waits for lanes that will not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck;

/// Program counters of a warp's lanes, by group.
#[derive(Clone, Debug, Default, Hash)]
pub struct Convergence {
    pc: u32,
    active: LaneMask,
    live: LaneMask,
    /// Suspended groups, the one that has waited longest first.
    others: Vec<Group>,
    /// Innermost region last. Each region has a live lane.
    regions: Vec<Region>,
    /// Each is still to be reached by a live lane.
    cleared: Vec<Cleared>,
    /// Backward jumps since the last change of groups.
    jumps: u32,
}

impl Convergence {
    /// Starts the lanes of `mask` at `pc`.
    pub fn start(&mut self, pc: u32, mask: LaneMask) {
        self.others.clear();
        self.regions.clear();
        self.cleared.clear();
        (self.pc, self.active, self.live, self.jumps) = (pc, mask, mask, 0);
    }

    /// The next instruction; `None` once all lanes have exited.
    #[inline]
    pub fn pc(&self) -> Option<u32> {
        (self.live != 0).then_some(self.pc)
    }

    /// Lanes that execute the next instruction.
    #[inline]
    pub fn active(&self) -> LaneMask {
        self.active
    }

    /// Lanes that have not exited.
    pub fn live(&self) -> LaneMask {
        self.live
    }

    /// The reconvergence PC of the active lanes: of the innermost region that contains all of them and
    /// also other lanes.
    #[inline]
    pub fn reconvergence(&self) -> Option<u32> {
        if self.others.is_empty() {
            return None;
        }
        let apart = |r: &&Region| self.active & !r.gathering.lanes == 0 && r.gathering.lanes & !self.active != 0;
        self.regions.iter().rev().find(apart).map(|r| r.target)
    }

    /// Advances to the next instruction in memory.
    #[inline]
    pub fn advance(&mut self) {
        self.pc += 1;
    }

    /// Sends the lanes `taken` to `target` and the other active lanes to the next instruction. Returns
    /// whether they diverge.
    pub fn branch(&mut self, taken: LaneMask, target: u32) -> bool {
        let (from, stay) = (self.pc, self.active & !taken);
        self.pc += 1;
        if taken == 0 {
            return false;
        }
        let diverged = stay != 0 && self.pc != target;
        if diverged {
            self.others.push(Group { pc: self.pc, mask: stay, waiting: Waiting::Turn });
            self.active = taken;
        }
        self.pc = target;
        if target <= from {
            self.jump_back();
        }
        diverged
    }

    /// Sends the lanes of each of `ways`, all of them active, to its target and the other active lanes to the
    /// next instruction. Returns whether they diverge.
    pub fn branch_many(&mut self, ways: &[(u32, LaneMask)]) -> bool {
        let jumping = ways.iter().fold(0, |mask, way| mask | way.1);
        let stay = self.active & !jumping;
        let Some((&(target, mask), rest)) = ways.split_last() else {
            self.pc += 1;
            return false;
        };
        if stay != 0 {
            self.others.push(Group { pc: self.pc + 1, mask: stay, waiting: Waiting::Turn });
        }
        let suspended = rest.iter().map(|&(pc, mask)| Group { pc, mask, waiting: Waiting::Turn });
        self.others.extend(suspended);
        let back = target <= self.pc;
        (self.pc, self.active) = (target, mask);
        if back {
            self.jump_back();
        }
        stay != 0 || !rest.is_empty()
    }

    /// Records that the lanes of `gathering`, all of them active, will meet there and continue at `target`.
    /// Advances the active lanes.
    pub fn gather(&mut self, gathering: Gathering, target: u32) {
        self.pc += 1;
        self.cleared.retain(|c| c.gathering != gathering);
        self.end_regions(gathering.lanes, |r| r.gathering.place == gathering.place && r.target == target);
        if gathering.lanes != 0 {
            self.regions.push(Region { gathering, target });
        }
    }

    /// Whether lanes of the warp are at another program counter than the active ones.
    pub fn is_apart(&self) -> bool {
        !self.others.is_empty()
    }

    /// Whether lanes that are not active could execute now.
    pub fn has_others(&self) -> bool {
        self.others.iter().any(|group| group.waiting.is_ready())
    }

    /// Lanes `gone`, all of them active, will not arrive at `gathering`.
    pub fn abandon(&mut self, gathering: Gathering, gone: LaneMask) {
        let mut waited = false;
        if let Some(cleared) = self.cleared.iter_mut().find(|c| c.gathering == gathering) {
            cleared.gathering.lanes &= !gone;
            self.forget_cleared();
        }
        for group in self.others.iter_mut().filter(|g| g.waiting == Waiting::Lanes(gathering)) {
            group.waiting = Waiting::Lanes(Gathering { lanes: gathering.lanes & !gone, ..gathering });
            waited = true;
        }
        if waited {
            self.settle();
        }
    }

    /// Forgets the cleared barriers that no lane will reach.
    fn forget_cleared(&mut self) {
        let live = self.live;
        self.cleared.retain(|c| c.gathering.lanes & live & !c.passed != 0);
    }

    /// The lanes that `gathering` holds.
    fn held_by(&self, gathering: Gathering) -> LaneMask {
        let cleared = self.cleared.iter().find(|c| c.gathering == gathering);
        gathering.lanes & self.live & !cleared.map_or(0, |c| c.passed)
    }

    /// Notes that `lanes` pass the `BSYNC` of `gathering` at which other lanes have yet to arrive, if any.
    fn pass(&mut self, gathering: Gathering, lanes: LaneMask) {
        if gathering.is_required() {
            return;
        }
        if self.cleared.is_empty() && gathering.lanes & self.live & !lanes == 0 {
            return;
        }
        match self.cleared.iter_mut().find(|c| c.gathering == gathering) {
            Some(cleared) => cleared.passed |= lanes,
            None => self.cleared.push(Cleared { gathering, passed: lanes }),
        }
        self.forget_cleared();
    }

    /// Removes `lanes` from the regions that `f` selects.
    fn end_regions(&mut self, lanes: LaneMask, f: impl Fn(&Region) -> bool) {
        self.regions.retain_mut(|r| {
            r.gathering.lanes &= if f(r) { !lanes } else { !0 };
            r.gathering.lanes != 0
        });
    }

    /// Removes `lanes` from the innermost regions of the barrier at `place`.
    fn end_innermost(&mut self, place: u8, mut lanes: LaneMask) {
        for region in self.regions.iter_mut().rev().filter(|r| r.gathering.place == place) {
            let these = region.gathering.lanes & lanes;
            region.gathering.lanes &= !these;
            lanes &= !these;
        }
        self.regions.retain(|r| r.gathering.lanes != 0);
    }

    /// The active lanes arrive at a gathering. They continue when all its live lanes have arrived.
    ///
    /// # Errors
    /// [`Stuck`].
    pub fn meet(&mut self, gathering: Gathering) -> Result<(), Stuck> {
        if self.held_by(gathering) & !self.active == 0 {
            self.pc += 1;
            self.pass(gathering, self.active);
            self.end_innermost(gathering.place, self.active);
            return Ok(());
        }
        self.suspend(Waiting::Lanes(gathering));
        self.settle();
        self.next_group()
    }

    /// The active lanes arrive at a `WARPSYNC` at `place`; `groups` divides them by the lanes that they wait
    /// for. Lanes whose awaited lanes have all arrived continue together; if `exclusive`, only with lanes
    /// that wait for the same ones.
    ///
    /// # Errors
    /// [`Stuck`].
    pub fn sync(&mut self, place: u8, groups: &[(LaneMask, LaneMask)], exclusive: bool) -> Result<(), Stuck> {
        let all = groups.iter().fold(0, |all, group| all | group.1);
        if groups.len() == 1 || !exclusive && all & self.live & !self.active == 0 {
            return self.meet(Gathering { place, lanes: all });
        }
        let waiting = |lanes| Waiting::Lanes(Gathering { place, lanes });
        self.others.extend(groups.iter().map(|&(mask, all)| Group { pc: self.pc, mask, waiting: waiting(all) }));
        self.active = 0;
        self.settle();
        self.next_group()
    }

    /// Lanes `gone`, all of them active, leave the region of `gathering`, at which they will not arrive.
    pub fn leave(&mut self, gathering: Gathering, gone: LaneMask) {
        self.end_innermost(gathering.place, gone);
        self.abandon(gathering, gone);
    }

    /// Lanes `mask`, all of them active, exit; the other active lanes advance.
    ///
    /// # Errors
    /// [`Stuck`].
    pub fn exit(&mut self, mask: LaneMask) -> Result<(), Stuck> {
        self.live &= !mask;
        self.active &= !mask;
        self.pc += 1;
        self.end_regions(mask, |_| true);
        self.forget_cleared();
        self.settle();
        if self.active == 0 && self.live != 0 { self.next_group() } else { Ok(()) }
    }

    /// The active lanes yield: they advance, no longer hold those at convergence barriers, and other groups
    /// execute first.
    pub fn yield_turn(&mut self) {
        self.pc += 1;
        if !self.others.is_empty() {
            self.settle_but(self.active);
            self.give_turn(Waiting::YieldedTurn);
        }
    }

    /// The active lanes arrive at CTA barrier `number`. True if the warp arrives with them, because no other
    /// group can execute. Otherwise they wait while the other groups execute.
    pub fn reach_cta_barrier(&mut self, number: u32) -> bool {
        if self.others.iter().any(|g| g.waiting.is_ready()) {
            self.suspend(Waiting::CtaBarrier(number));
            // A group that waits for its turn was found above.
            let _ = self.next_group();
            return false;
        }
        // Groups that arrived early continue with the others.
        let at = self.pc;
        self.others.retain_mut(|g| {
            let here = g.waiting == Waiting::CtaBarrier(number);
            if here && g.pc == at {
                self.active |= g.mask;
                return false;
            }
            if here {
                (g.pc, g.waiting) = (g.pc + 1, Waiting::Turn);
            }
            true
        });
        true
    }

    fn suspend(&mut self, waiting: Waiting) {
        self.others.push(Group { pc: self.pc, mask: self.active, waiting });
        self.active = 0;
    }

    fn jump_back(&mut self) {
        if self.others.is_empty() {
            return;
        }
        self.jumps += 1;
        if self.jumps >= PATIENCE {
            self.give_turn(Waiting::Turn);
        }
    }

    /// Executes the group that has waited longest for its turn, if there is one; the active lanes wait.
    fn give_turn(&mut self, waiting: Waiting) {
        self.jumps = 0;
        if let Some(at) = self.others.iter().position(|g| g.waiting.is_ready()) {
            let next = self.others.remove(at);
            self.suspend(waiting);
            (self.pc, self.active) = (next.pc, next.mask);
        }
    }

    /// Chooses the next group when none executes: of those that may continue, the one suspended last, one that
    /// has yielded after others.
    fn next_group(&mut self) -> Result<(), Stuck> {
        self.jumps = 0;
        let at = match self.ready() {
            Some(at) => at,
            None => {
                self.clear_oldest()?;
                self.ready().ok_or(Stuck)?
            }
        };
        let next = self.others.remove(at);
        (self.pc, self.active) = (next.pc, next.mask);
        Ok(())
    }

    /// The suspended group that executes next when none does.
    fn ready(&self) -> Option<usize> {
        let last = |waiting| self.others.iter().rposition(|g| g.waiting == waiting);
        let yielded = || self.others.iter().position(|g| g.waiting == Waiting::YieldedTurn);
        let at_cta_barrier = || self.others.iter().rposition(|g| matches!(g.waiting, Waiting::CtaBarrier(_)));
        last(Waiting::Turn).or_else(yielded).or_else(at_cta_barrier)
    }

    /// Clears the convergence barrier of the lanes that arrived first at one.
    fn clear_oldest(&mut self) -> Result<(), Stuck> {
        let first = self.others.iter().position(|g| matches!(g.waiting, Waiting::Lanes(at) if !at.is_required()));
        self.release(first.ok_or(Stuck)?);
        self.settle();
        Ok(())
    }

    /// Groups that wait for each other, among them the one at `index` of the suspended ones, and the lanes that
    /// have arrived. In a recursive function, lanes at the same place of an outer call wait for these lanes, but
    /// these lanes do not wait for them.
    fn meets(&self, index: usize) -> Option<(Gathering, LaneMask, impl Fn(&Group) -> bool + use<>)> {
        let group = self.others[index];
        let Waiting::Lanes(gathering) = group.waiting else { return None };
        let here = move |g: &Group| {
            matches!(g.waiting, Waiting::Lanes(at)
                if at.place == gathering.place && group.mask & !at.lanes == 0 && g.mask & !gathering.lanes == 0)
        };
        let come = self.others.iter().filter(|g| here(g)).fold(0, |mask, g| mask | g.mask);
        Some((gathering, come, here))
    }

    /// Lets the group at `index` and those that wait with it continue. Groups at one program counter merge.
    fn release(&mut self, index: usize) {
        let Some((gathering, come, here)) = self.meets(index) else { return };
        let mut merged: Vec<Group> = Vec::new();
        self.others.retain(|g| {
            if !here(g) {
                return true;
            }
            let as_one = gathering.place == Gathering::COLLECTIVE;
            match merged.iter_mut().find(|m| m.pc == g.pc + 1 || as_one) {
                Some(same) => same.mask |= g.mask,
                None => merged.push(Group { pc: g.pc + 1, mask: g.mask, waiting: Waiting::Turn }),
            }
            false
        });
        self.others.append(&mut merged);
        self.pass(gathering, come);
        self.end_innermost(gathering.place, come);
    }

    /// Releases the groups that no lane holds.
    fn settle(&mut self) {
        self.settle_but(0);
    }

    /// As [`Convergence::settle`], with `yielding` lanes among the active ones.
    fn settle_but(&mut self, yielding: LaneMask) {
        // Lanes that can meet do, before others continue without them.
        let steps: [IsComplete; 2] = [
            |warp, gathering, come, _| warp.held_by(gathering) & !come == 0,
            |warp, gathering, come, yielding| {
                let elsewhere = |g: &&Group| match g.waiting {
                    Waiting::Lanes(at) => at.is_required(),
                    waiting => waiting == Waiting::YieldedTurn,
                };
                let gone = warp.others.iter().filter(elsewhere).fold(yielding, |mask, g| mask | g.mask);
                !gathering.is_required() && warp.held_by(gathering) & !(come | gone) == 0
            },
        ];
        'settled: loop {
            for step in steps {
                let complete = (0..self.others.len()).find(|&index| {
                    self.meets(index).is_some_and(|(gathering, come, _)| step(self, gathering, come, yielding))
                });
                if let Some(index) = complete {
                    self.release(index);
                    continue 'settled;
                }
            }
            break;
        }
    }
}

#[cfg(test)]
mod tests;
