//! The interconnect (§5.3): statically configured links, each with registers that hold a token, and back-pressure.

use crate::configuration::{Configuration, Target};
use crate::fabric::Fabric;
use crate::observer::{Note, Observer};
use crate::statistics::Reason;
use crate::token::Token;
use dataflow::graph::NodeId;
use std::ops::Range;

impl<O: Observer> Fabric<O> {
    /// Segment `s` passes its first token on.
    #[inline]
    pub(crate) fn advance(&mut self, configuration: &Configuration, s: u32, at: u64) {
        let Some(&(due, token)) = self.links.tokens[s as usize].front() else { return };
        if due > at {
            return;
        }
        let segment = &configuration.segments[s as usize];
        if !self.send(configuration, segment.element, &segment.targets, token, at) {
            return;
        }
        let tokens = &mut self.links.tokens[s as usize];
        tokens.pop_front();
        if tokens.front().is_some_and(|&(due, _)| due <= at) {
            self.wheel.wake(at, at + 1, segment.element);
        }
        self.unblock(segment.feeder, at);
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
            Target::Segment(s) => {
                self.links.tokens[s as usize].len() < configuration.segments[s as usize].registers as usize
            }
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
                Target::Segment(s) => {
                    let segment = &configuration.segments[s as usize];
                    let due = at + u64::from(segment.registers);
                    self.links.tokens[s as usize].push_back((due, token));
                    let fabric = &mut self.counts.fabric;
                    fabric.hops += segment.links.len() as u64;
                    fabric.hop_bits += u64::from(segment.bits);
                    fabric.wire_bits += u64::from(segment.wire);
                    fabric.switched_bits += u64::from(segment.switched);
                    self.wheel.wake(at, due, segment.element);
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
