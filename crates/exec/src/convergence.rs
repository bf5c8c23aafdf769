//! Divergence with a program counter per thread and convergence barriers: machine code since Volta.
//!
//! Lanes with the same program counter form a group; one group of a warp executes at a time. After a branch
//! that splits a group, the lanes that jump execute first. `BSSY` records which lanes will meet; `BSYNC`
//! holds a group until all of these have arrived, left (`BREAK`) or exited. Groups do not merge otherwise.
//!
//! Sources: Nickolls and Stone, US patent 2016/0019066 A1 (convergence barriers); NVIDIA, "Tesla
//! V100 GPU architecture" white paper, section on independent thread scheduling; the compilers'
//! output.
//!
//! # Deviations and choices
//! 1. Because uniform registers belong to the warp, groups change only where hardware may change them and
//!    compilers expect it: at branches, barriers, `WARPSYNC`, `YIELD` and `EXIT`.
//! 2. Which group hardware executes first is not published. Here the lanes that jump are first, as with the
//!    reconvergence stack. After 32 backward jumps the group that has waited longest gets its turn, so that no
//!    lane spins indefinitely while another one could progress.
//! 3. A convergence barrier is a register of each lane; it holds the lanes that meet. Groups may therefore
//!    use one barrier register for different gatherings at the same time.
//! 4. Lanes that set a barrier anew (`BSSY`, or `BMOV.CLEAR` without a destination) before they have met there
//!    leave the gathering that it held. Compilers use one barrier again where lanes branch out of its region.
//! 5. `BSSY` names the instruction after its `BSYNC`: the reconvergence PC of the lanes between the two after
//!    they diverge. It is only reported; the barrier registers decide which lanes meet. A second `BSSY` of the
//!    same lanes, barrier and target replaces the first, so that a recursive call leaves no stale record.
//! 6. All live lanes of a warp arrive at a CTA barrier together: groups that arrive early wait.

use kit::LaneMask;

/// Backward jumps of a group before another group gets its turn.
const PATIENCE: u32 = 32;

/// What a suspended group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Waiting {
    /// Its turn to execute.
    Turn,
    /// Other lanes, at a gathering.
    Lanes(Gathering),
    /// The warp's other lanes, at a CTA barrier.
    CtaBarrier,
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
    /// Backward jumps since the last change of groups.
    jumps: u32,
}

impl Convergence {
    /// Starts the lanes of `mask` at `pc`.
    pub fn start(&mut self, pc: u32, mask: LaneMask) {
        self.others.clear();
        self.regions.clear();
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

    /// The reconvergence PC of the active lanes: that of the innermost region that contains all of them and
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
        self.end_regions(gathering.lanes, |r| r.gathering.place == gathering.place && r.target == target);
        if gathering.lanes != 0 {
            self.regions.push(Region { gathering, target });
        }
    }

    /// Whether lanes of the warp are at another program counter than the active ones.
    pub fn is_apart(&self) -> bool {
        !self.others.is_empty()
    }

    /// Lanes `gone`, all of them active, will not arrive at `gathering`.
    pub fn abandon(&mut self, gathering: Gathering, gone: LaneMask) {
        let mut waited = false;
        for group in self.others.iter_mut().filter(|g| g.waiting == Waiting::Lanes(gathering)) {
            group.waiting = Waiting::Lanes(Gathering { lanes: gathering.lanes & !gone, ..gathering });
            waited = true;
        }
        if waited {
            self.settle();
        }
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
        if gathering.lanes & self.live & !self.active == 0 {
            self.pc += 1;
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

    /// Lanes `gone`, all of them active, will not arrive at the gathering at `place`. Advances the active
    /// lanes.
    pub fn leave(&mut self, place: u8, gone: LaneMask) {
        self.pc += 1;
        for group in &mut self.others {
            if let Waiting::Lanes(gathering) = &mut group.waiting
                && gathering.place == place
            {
                gathering.lanes &= !gone;
            }
        }
        self.end_innermost(place, gone);
        self.settle();
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
        self.settle();
        if self.active == 0 && self.live != 0 { self.next_group() } else { Ok(()) }
    }

    /// Advances the active lanes and lets other groups execute first.
    pub fn yield_turn(&mut self) {
        self.pc += 1;
        self.give_turn();
    }

    /// The active lanes arrive at a CTA barrier. True if the warp arrives with them, because no other group
    /// can execute. Otherwise they wait while the other groups execute.
    pub fn reach_cta_barrier(&mut self) -> bool {
        if self.others.iter().any(|g| g.waiting == Waiting::Turn) {
            self.suspend(Waiting::CtaBarrier);
            // A group that waits for its turn was found above.
            let _ = self.next_group();
            return false;
        }
        // Groups that arrived early continue with the others.
        let at = self.pc;
        self.others.retain_mut(|g| {
            let here = g.waiting == Waiting::CtaBarrier;
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
            self.give_turn();
        }
    }

    /// Executes the group that has waited longest for its turn, if there is one.
    fn give_turn(&mut self) {
        self.jumps = 0;
        if let Some(at) = self.others.iter().position(|g| g.waiting == Waiting::Turn) {
            let next = self.others.remove(at);
            self.suspend(Waiting::Turn);
            (self.pc, self.active) = (next.pc, next.mask);
        }
    }

    /// Chooses the next group when none executes: of those that may continue, the one suspended last.
    fn next_group(&mut self) -> Result<(), Stuck> {
        self.jumps = 0;
        let ready = |waiting| self.others.iter().rposition(|g| g.waiting == waiting);
        let at = ready(Waiting::Turn).or_else(|| ready(Waiting::CtaBarrier)).ok_or(Stuck)?;
        let next = self.others.remove(at);
        (self.pc, self.active) = (next.pc, next.mask);
        Ok(())
    }

    /// Releases groups whose awaited lanes have all arrived. Groups at one program counter merge.
    fn settle(&mut self) {
        let mut from = 0;
        while let Some(group) = self.others.get(from).copied() {
            from += 1;
            let Waiting::Lanes(gathering) = group.waiting else { continue };
            // Groups that wait for each other meet. In a recursive function, lanes at the same place of an
            // outer call wait for these lanes, but these lanes do not wait for them.
            let meets = |g: &Group, w: Gathering| {
                w.place == gathering.place && group.mask & !w.lanes == 0 && g.mask & !gathering.lanes == 0
            };
            let here = |g: &Group| matches!(g.waiting, Waiting::Lanes(w) if meets(g, w));
            let come = self.others.iter().filter(|g| here(g)).fold(0, |mask, g| mask | g.mask);
            if gathering.lanes & self.live & !come != 0 {
                continue;
            }
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
            self.end_innermost(gathering.place, come);
            from = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Gathering = Gathering { place: 0, lanes: !0 };

    fn started(pc: u32) -> Convergence {
        let mut warp = Convergence::default();
        warp.start(pc, !0);
        warp
    }

    #[test]
    fn both_sides_of_a_branch_meet_at_the_barrier() {
        let mut warp = started(0);
        // 0: @p bra 3; 1: …; 2: …; 3: bsync
        assert!(warp.branch(0xf, 3));
        assert_eq!((warp.pc(), warp.active()), (Some(3), 0xf));
        warp.meet(ALL).unwrap();
        assert_eq!((warp.pc(), warp.active()), (Some(1), !0xf));
        warp.advance();
        warp.advance();
        warp.meet(ALL).unwrap();
        assert_eq!((warp.pc(), warp.active()), (Some(4), !0));
    }

    #[test]
    fn lanes_apart_have_a_reconvergence_pc() {
        let mut warp = started(0);
        let inner = Gathering { place: 1, lanes: 0xf };
        warp.gather(ALL, 20);
        assert_eq!(warp.reconvergence(), None, "they are together");
        warp.branch(0xf, 10);
        assert_eq!(warp.reconvergence(), Some(20));
        warp.gather(inner, 15);
        assert_eq!(warp.reconvergence(), Some(20), "the lanes of the inner one are together");
        warp.branch(0x3, 14);
        assert_eq!(warp.reconvergence(), Some(15));
        warp.meet(inner).unwrap();
        assert_eq!((warp.active(), warp.reconvergence()), (0xc, Some(15)));
        warp.leave(1, 0xc);
        assert_eq!((warp.active(), warp.reconvergence()), (0xc, Some(20)), "they have left the inner one");
        warp.exit(0xc).unwrap();
        assert_eq!((warp.pc(), warp.reconvergence()), (Some(15), Some(20)), "the inner one is over");
        warp.exit(0x3).unwrap();
        assert_eq!((warp.active(), warp.reconvergence()), (!0xf, None), "no others are left");
    }

    #[test]
    fn a_barrier_used_once_more_within_hides_nothing() {
        let mut warp = started(0);
        warp.gather(ALL, 20);
        warp.branch(0xf, 10);
        // The register is saved, used and restored, as around a call.
        warp.gather(Gathering { place: 0, lanes: 0xf }, 30);
        warp.branch(0x1, 14);
        assert_eq!(warp.reconvergence(), Some(30));
        warp.meet(Gathering { place: 0, lanes: 0xf }).unwrap();
        warp.meet(Gathering { place: 0, lanes: 0xf }).unwrap();
        assert_eq!(warp.reconvergence(), Some(20));
    }

    #[test]
    fn lanes_of_an_inner_call_do_not_release_those_of_the_outer_one() {
        let mut warp = started(0);
        // 1: bssy; @p bra 9; 2: call 1; 9: bsync. Lanes 0 to 3 do not call, 4 to 7 do not call once more.
        let inner = Gathering { place: 0, lanes: !0xf };
        warp.gather(ALL, 10);
        warp.branch(0xf, 9);
        warp.meet(ALL).unwrap();
        warp.gather(inner, 10);
        warp.branch(0xf0, 9);
        warp.meet(inner).unwrap();
        assert_eq!(warp.active(), !0xff);
        warp.branch(!0xff, 9);
        warp.meet(inner).unwrap();
        assert_eq!((warp.pc(), warp.active()), (Some(10), !0xf), "the inner call returns");
        warp.branch(!0xf, 9);
        warp.meet(ALL).unwrap();
        assert_eq!((warp.pc(), warp.active()), (Some(10), !0));
    }

    #[test]
    fn a_loop_that_begins_a_region_in_each_turn_notes_it_once() {
        let mut warp = started(0);
        for _ in 0..100 {
            warp.gather(ALL, 20);
        }
        assert_eq!(warp.regions.len(), 1);
    }

    #[test]
    fn an_exit_or_a_break_releases_those_that_wait() {
        let mut warp = started(0);
        warp.branch(0xf, 10);
        warp.meet(ALL).unwrap();
        warp.exit(!0xf).unwrap();
        assert_eq!((warp.pc(), warp.active(), warp.live()), (Some(11), 0xf, 0xf));
        let mut warp = started(0);
        warp.branch(0xf, 10);
        warp.meet(ALL).unwrap();
        warp.leave(0, !0xf);
        warp.yield_turn();
        assert_eq!((warp.pc(), warp.active()), (Some(11), 0xf));
    }

    #[test]
    fn a_group_that_spins_lets_others_go_on() {
        let mut warp = started(5);
        warp.branch(0xff, 7);
        // Lanes 0 to 7 spin at 7 until the others, at 6, have done something.
        let mut turns = 0;
        while warp.pc() == Some(7) && turns < 1000 {
            warp.branch(warp.active(), 7);
            turns += 1;
        }
        assert_eq!((warp.pc(), warp.active()), (Some(6), !0xff));
    }

    #[test]
    fn lanes_come_to_a_cta_barrier_together() {
        let mut warp = started(0);
        warp.branch(0xf, 8);
        assert!(!warp.reach_cta_barrier());
        assert_eq!((warp.pc(), warp.active()), (Some(1), !0xf));
        warp.branch(warp.active(), 8);
        assert!(warp.reach_cta_barrier());
        assert_eq!((warp.pc(), warp.active()), (Some(8), !0));
    }

    #[test]
    fn a_group_at_a_cta_barrier_goes_on_when_the_others_exit() {
        let mut warp = started(0);
        warp.branch(0xf, 8);
        assert!(!warp.reach_cta_barrier());
        warp.exit(!0xf).unwrap();
        assert_eq!((warp.pc(), warp.active()), (Some(8), 0xf));
        assert!(warp.reach_cta_barrier());
    }

    #[test]
    fn waiting_for_lanes_that_wait_for_each_other_is_noticed() {
        let mut warp = started(0);
        warp.branch(0xf, 8);
        warp.meet(Gathering { place: 1, lanes: 0xff }).unwrap();
        assert_eq!(warp.meet(ALL), Err(Stuck));
    }

    #[test]
    fn an_indirect_branch_runs_each_way_once() {
        let mut warp = started(0);
        assert!(warp.branch_many(&[(10, 0xff), (20, 0xff00), (30, 0xffff_0000)]));
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push((warp.pc().unwrap(), warp.active()));
            warp.branch(warp.active(), 40);
            warp.meet(ALL).unwrap();
        }
        assert_eq!(seen, [(30, 0xffff_0000), (20, 0xff00), (10, 0xff)]);
        assert_eq!((warp.pc(), warp.active()), (Some(41), !0));
    }
}
