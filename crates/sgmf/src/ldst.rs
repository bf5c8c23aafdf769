//! Load/store units (§4.1, §4.5, §5.2): token buffers for address, data and enable, a reservation buffer, epochs. An
//! access that is not enabled is poisoned: it performs nothing and passes the unit like the others.

use crate::configuration::{Access, Action, Configuration};
use crate::fabric::Fabric;
use crate::l1::Grant;
use crate::memory::Outside;
use crate::observer::{Note, Observer};
use crate::statistics::Reason;
use crate::token::Token;
use dataflow::graph::{AccessKind, NodeId, Target};
use isa::Fault;
use mem::{Request, RequestKind};

/// The ports of an access.
const DATA: usize = 1;
const ENABLE: usize = 2;
const SECOND: usize = 3;

/// Bits of an address on its way to L1.
const ADDRESS_BITS: u32 = 32;

/// Outcome of an attempt to execute a thread's access.
enum Tried {
    Taken,
    Not(Reason),
}

impl<O: Observer> Fabric<O> {
    /// One cycle of load/store unit `u`.
    ///
    /// # Errors
    /// An access faults.
    #[inline]
    pub(crate) fn step_ldst(
        &mut self,
        configuration: &Configuration,
        u: u32,
        at: u64,
        outside: &mut Outside<'_>,
    ) -> Result<(), Box<Fault>> {
        let unit = &configuration.units[u as usize];
        self.settle_unit(unit, u, at);
        let outcome = self.issue(configuration, u, at, outside)?;
        self.drain(configuration, u, at);
        self.account(configuration, u, at, outcome);
        let retries = match outcome {
            Reason::Fired => !self.units[u as usize].ready.is_empty(),
            Reason::BankConflict => true,
            _ => false,
        };
        if retries {
            self.wheel.wake(at, at + 1, unit.element);
        }
        Ok(())
    }

    /// The oldest access of the epoch that can go, goes (FR-FCFS).
    fn issue(
        &mut self,
        configuration: &Configuration,
        u: u32,
        at: u64,
        outside: &mut Outside<'_>,
    ) -> Result<Reason, Box<Fault>> {
        let unit = &configuration.units[u as usize];
        if self.units[u as usize].ready.is_empty() {
            return Ok(self.waiting(unit, u));
        }
        if let Some(reason) = self.is_full(u) {
            return Ok(reason);
        }
        let mut why = None;
        for i in 0..self.units[u as usize].ready.len() {
            let place = self.units[u as usize].ready[i];
            let tag = self.buffers.tag(unit.ports.start, place);
            if !self.is_epoch(u, tag) {
                why = why.or(Some(Reason::Epoch));
                break;
            }
            match self.try_access(configuration, u, place, at, outside)? {
                Tried::Taken => {
                    self.units[u as usize].ready.remove(i);
                    return Ok(Reason::Fired);
                }
                Tried::Not(reason) => {
                    // A bank is free in the next cycle, whatever others wait for.
                    why = Some(if why == Some(Reason::BankConflict) { Reason::BankConflict } else { reason });
                }
            }
        }
        if why == Some(Reason::L1Refused) {
            self.l1.wait(u);
        }
        Ok(why.unwrap_or(Reason::Epoch))
    }

    /// Tries the access of the thread at `place`.
    fn try_access(
        &mut self,
        configuration: &Configuration,
        u: u32,
        place: u8,
        at: u64,
        outside: &mut Outside<'_>,
    ) -> Result<Tried, Box<Fault>> {
        let unit = &configuration.units[u as usize];
        let Action::Access(access) = &unit.action else { return Ok(Tried::Not(Reason::NoToken)) };
        let operands = self.operands(unit, place);
        let tag = self.buffers.tag(unit.ports.start, place);
        let mut token = Token { value: 0, tag, place };
        if operands[ENABLE] & 1 == 0 {
            self.counts.fabric.disabled_accesses += 1;
            self.enter(u, tag, at);
            self.take_tokens(configuration, u, place, tag, at);
            self.finishes(unit, u, token, at, at);
            return Ok(Tried::Taken);
        }
        let tid = self.pass.tid(tag);
        let (address, for_caches) = outside.locate(access, operands[0], tid);
        let grant = self.request(access, for_caches, u, token, at);
        if let Grant::Conflict | Grant::Refused = grant {
            let is_conflict = grant == Grant::Conflict;
            return Ok(Tried::Not(if is_conflict { Reason::BankConflict } else { Reason::L1Refused }));
        }
        let data = [operands[DATA], operands[SECOND]];
        token.value = outside.perform(access, address, data, tid, unit.pc)?;
        self.count_access(access);
        self.observer.note(at, Note::Access { node: NodeId(unit.node), tid, address });
        self.enter(u, tag, at);
        self.take_tokens(configuration, u, place, tag, at);
        match grant {
            Grant::Later(flight) => self.l1.set_value(flight, token.value),
            _ => self.finishes(unit, u, token, at + u64::from(unit.latency) - 1, at),
        }
        Ok(Tried::Taken)
    }

    /// Sends an access to L1, an atomic operation to L2.
    fn request(&mut self, access: &Access, address: u64, u: u32, token: Token, at: u64) -> Grant {
        let bytes = access.element.bytes;
        let byte_mask = (u32::MAX >> (32 - u32::from(bytes))) << (address % 32);
        let request = Request::new(RequestKind::Read, address, 32, 0);
        let request = Request { local: access.is_private(), byte_mask, ..request };
        match access.kind {
            AccessKind::Atomic(_) => {
                let request = Request { address: address & !31, kind: RequestKind::Atomic, ..request };
                self.l1.send_atomic(request, u, token)
            }
            AccessKind::Load => self.l1.look_up(at, self.core_cycle(at), request, bytes, u, token),
            AccessKind::Store => {
                let request = Request { kind: RequestKind::Write, ..request };
                self.l1.look_up(at, self.core_cycle(at), request, bytes, u, token)
            }
        }
    }

    fn count_access(&mut self, access: &Access) {
        let fabric = &mut self.counts.fabric;
        fabric.accesses += 1;
        fabric.live_accesses += u64::from(matches!(access.target, Target::Live(_)));
        fabric.atomics += u64::from(access.atomic.is_some());
        // The address goes to L1 and the result comes back, each tagged; data go one way.
        fabric.bank_bits += u64::from(ADDRESS_BITS + 8 * u32::from(access.element.bytes) + 2 * self.config.tag_bits());
    }
}
