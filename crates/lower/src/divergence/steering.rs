//! Effect of steering instructions of machine code on the state of the analysis: which lanes diverge and
//! meet.

use super::Analysis;
use super::groups::{BARRIERS, Slot, State, conditional, steering};
use exec::kernel::Guarded;
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::steer::Steer;

impl Analysis<'_> {
    /// Effect of an instruction on the groups of lanes. `part`: a part of the live lanes may execute it.
    pub(super) fn steer(&mut self, at: u32, steer: Steer, guard: Pred, part: bool, state: &mut State) {
        let guarded = guard != Pred::TRUE;
        let parts = self.varies(state, guard);
        let kernel = self.kernel;
        let all_lanes = |r: Reg| r.is_constant() && kernel.constants[usize::from(r.0 - Reg::CONSTANTS)][0] == !0;
        match steer {
            Steer::Branch(_, p) => state.apart |= parts || self.varies(state, p),
            Steer::BranchIfDiverged(..) => state.apart |= parts,
            Steer::BranchIndirect(r, _, p) => {
                state.apart |= parts || self.varies(state, p) || self.column_varies(state, r);
                self.go_back(at, r, state);
            }
            Steer::CtaBarrier { .. } | Steer::Collective(..) | Steer::Clear(..) => {
                if let Steer::Collective(r, ..) = steer {
                    self.doubt_all(part, state);
                    state.apart |= self.column_varies(state, r);
                }
                self.operate(at, &Op::Steer(steer), (part, !guarded), state);
            }
            Steer::Exit(_) | Steer::BranchIfAny(..) => {}
            // Lanes at convergence barriers may continue without those that yield or wait elsewhere.
            Steer::Yield => self.doubt_all(part, state),
            Steer::Gather(..) | Steer::Meet(..) | Steer::Leave(..) | Steer::WarpSync(..) => {
                let differ = matches!(steer, Steer::WarpSync(r, _) if self.column_varies(state, r));
                if let Steer::WarpSync(..) = steer {
                    self.doubt_all(part, state);
                }
                let Some(groups) = &mut self.machine else { return };
                match steer {
                    Steer::WarpSync(..) if differ => state.apart = true,
                    Steer::Gather(n, ..) => {
                        let slot = &mut state.slots[usize::from(n) % BARRIERS];
                        if part || guarded {
                            groups.doubt(*slot);
                            *slot = Slot::Unknown;
                        } else {
                            *slot = Slot::Open(at);
                        }
                    }
                    Steer::Meet(n, _) => {
                        let slot = std::mem::replace(&mut state.slots[usize::from(n) % BARRIERS], Slot::Shut);
                        state.apart &= !groups.meet(at, slot, guarded);
                    }
                    Steer::Leave(n, ..) => groups.doubt(state.slots[usize::from(n) % BARRIERS]),
                    Steer::WarpSync(r, _) if state.apart => state.apart = !groups.sync(at, !guarded && all_lanes(r)),
                    _ => {}
                }
            }
        }
    }

    /// Whether lanes meet at the open convergence barriers is in doubt, where a part of the live lanes executes.
    fn doubt_all(&mut self, part: bool, state: &State) {
        if let Some(groups) = &mut self.machine
            && part
        {
            state.slots.iter().for_each(|slot| groups.doubt(*slot));
        }
    }

    /// `RET`, `ENDCOLLECTIVE`, or an indirect branch with unknown targets.
    fn go_back(&mut self, at: u32, base: Reg, state: &State) {
        let Some(groups) = &mut self.machine else { return };
        if base == groups.machine.collective {
            return;
        }
        if groups.machine.returns.binary_search(&at).is_err() {
            groups.unknown_target = true;
            return;
        }
        for routine in groups.routines.values_mut().filter(|r| r.returns.contains(&at)) {
            let changed = match &mut routine.after {
                Some(after) => {
                    let changed = after.varying.union_with(&state.varying) | (state.apart && !after.apart);
                    after.apart |= state.apart;
                    changed
                }
                unknown => {
                    *unknown = Some(state.clone());
                    true
                }
            };
            if changed {
                routine.callers.iter().for_each(|&block| self.due[block] = true);
            }
        }
    }

    /// Continues after a block of machine code.
    pub(super) fn leave_as_group(&mut self, block: usize, state: &State) {
        let last = self.graph.range(block).end - 1;
        let Guarded { op, guard, .. } = self.kernel.code[last as usize];
        let Some(steer) = steering(self.kernel, &op) else { return self.leave(block, state) };
        match steer {
            // Lanes that are together have not diverged.
            Steer::BranchIfDiverged(_, _, true) if !state.apart => self.fall_through(block, state),
            Steer::Branch(target, p) => {
                let groups = self.machine.as_mut();
                let routine = groups.filter(|g| g.machine.is_call(last)).and_then(|g| {
                    let routine = g.routines.get(&target).filter(|r| !r.returns.is_empty())?;
                    let touches = routine.touches;
                    let after = routine.after.as_ref().map(|after| {
                        let mut varying = state.varying.clone();
                        for register in routine.writes.iter() {
                            if after.varying.contains(register) {
                                varying.insert(register);
                            } else {
                                varying.remove(register);
                            }
                        }
                        (varying, after.apart || state.apart)
                    });
                    let mut slots = state.slots;
                    for (n, slot) in slots.iter_mut().enumerate() {
                        if touches >> n & 1 == 1 {
                            g.doubt(*slot);
                            *slot = Slot::Unknown;
                        }
                    }
                    Some(after.map(|(varying, apart)| State { varying, apart, slots }))
                });
                let Some(behind) = routine else { return self.leave(block, state) };
                let within = State { slots: [Slot::Unknown; BARRIERS], ..state.clone() };
                self.flow_to(self.graph.block_of(target), &within);
                if let Some(behind) = behind {
                    self.fall_through(block, &behind);
                }
                if conditional(guard, p) {
                    self.fall_through(block, state);
                }
            }
            _ => self.leave(block, state),
        }
    }

    fn fall_through(&mut self, block: usize, state: &State) {
        if block + 1 < self.graph.blocks() {
            self.flow_to(block + 1, state);
        }
    }
}
