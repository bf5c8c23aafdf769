//! The interconnect (§5.3): statically configured links, each a register that holds a token, with back-pressure.

use crate::configuration::{Configuration, Target};
use crate::fabric::Fabric;
use crate::observer::{Note, Observer};
use crate::statistics::Reason;
use crate::token::Token;
use dataflow::graph::NodeId;
use std::ops::Range;

/// The registers of all links in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    full: Vec<bool>,
    tokens: Vec<Token>,
}

impl Links {
    /// Empty registers.
    pub fn new(registers: usize) -> Self {
        Self { full: vec![false; registers], tokens: vec![Token::default(); registers] }
    }

    /// The token in register `r`.
    pub fn token(&self, r: usize) -> Option<Token> {
        self.full[r].then(|| self.tokens[r])
    }
}

impl<O: Observer> Fabric<O> {
    /// Register `r` passes its token on.
    #[inline]
    pub(crate) fn advance(&mut self, configuration: &Configuration, r: u32, at: u64) {
        if !self.links.full[r as usize] {
            return;
        }
        let register = &configuration.registers[r as usize];
        let token = self.links.tokens[r as usize];
        if self.send(configuration, register.element, &register.targets, token, at) {
            self.links.full[r as usize] = false;
            self.unblock(register.feeder, at);
        }
    }

    /// Whether all `targets` of `element` have room for a token at `place`. If not, the element is looked at again
    /// when one of them gets room.
    #[inline]
    pub(crate) fn can_send(
        &mut self,
        configuration: &Configuration,
        element: u32,
        targets: &Range<u32>,
        place: u8,
    ) -> bool {
        let fits = configuration.targets(targets).iter().all(|target| match *target {
            Target::Register(r) => !self.links.full[r as usize],
            Target::Port(port) => self.buffers.has_room(port, place),
        });
        self.blocked[element as usize] = !fits;
        fits
    }

    /// Sends `token` to all `targets` of `element`, if all have room.
    #[inline]
    pub(crate) fn send(
        &mut self,
        configuration: &Configuration,
        element: u32,
        targets: &Range<u32>,
        token: Token,
        at: u64,
    ) -> bool {
        let fits = self.can_send(configuration, element, targets, token.place);
        if fits {
            self.deliver(configuration, targets, token, at);
        }
        fits
    }

    /// Sends `token` to `targets`, which have room.
    #[inline]
    pub(crate) fn deliver(&mut self, configuration: &Configuration, targets: &Range<u32>, token: Token, at: u64) {
        for target in configuration.targets(targets) {
            match *target {
                Target::Register(r) => {
                    self.links.full[r as usize] = true;
                    self.links.tokens[r as usize] = token;
                    let register = &configuration.registers[r as usize];
                    let fabric = &mut self.counts.fabric;
                    fabric.hops += 1;
                    fabric.hop_bits += u64::from(register.bits);
                    fabric.wire_bits += u64::from(register.wire);
                    fabric.switched_bits += u64::from(register.switched);
                    self.wheel.wake(at, at + 1, register.element);
                }
                Target::Port(port) => self.arrive(configuration, port, token, at),
            }
        }
    }

    /// `token` enters the token buffer of `port`.
    #[inline]
    fn arrive(&mut self, configuration: &Configuration, port: u32, token: Token, at: u64) {
        self.buffers.put(port, token);
        let of = configuration.ports[port as usize];
        let fabric = &mut self.counts.fabric;
        fabric.tokens += 1;
        fabric.token_bits += u64::from(of.bits);
        let unit = &configuration.units[of.unit as usize];
        let tid = self.pass.tid(token.tag);
        self.observer.note(at, Note::Arrive { node: NodeId(unit.node), port: of.input, tid });
        let is_only = unit.ports.end - unit.ports.start == 1;
        self.counts.fabric.matches += u64::from(!is_only);
        if is_only || self.buffers.is_complete(unit.ports.clone(), token.tag, token.place) {
            self.units[of.unit as usize].ready.push_back(token.place);
            self.wheel.wake(at, at + 1, unit.element);
        } else if matches!(self.units[of.unit as usize].reason, Reason::NoToken | Reason::NoThread) {
            self.settle_unit(unit, of.unit, at + 1);
            self.units[of.unit as usize].reason = Reason::Operand;
        }
    }

    /// An element in front of `feeder` has room: if it waits for that, it is looked at in this cycle.
    #[inline]
    pub(crate) fn unblock(&mut self, feeder: u32, at: u64) {
        if std::mem::take(&mut self.blocked[feeder as usize]) {
            self.wheel.wake(at, at, feeder);
        }
    }
}
