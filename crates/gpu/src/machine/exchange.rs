//! The end of a window: units and memory system meet; CTAs end, kernels end and begin.

use super::{Control, Floor};
use crate::cluster_network::{Multicast, PeerEvent, PeerRequest};
use crate::core::{Core, CoreKernel};
use crate::run::Running;
use crate::unit::{StopAt, Unit};
use isa::{ClusterMember, Fault};
use kit::locks::{own, read, write};
use kit::{Counters, Cycle, NEVER};
use mem::MemorySystem;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl<C: Core> Control<C> {
    /// Cores without threads do what replies bring them, up to the present cycle. After a fault in the window they do not,
    /// and it is returned with its cycle: of several the earliest, then by core.
    pub(super) fn catch_up(&mut self, floor: &Floor<'_, C>) -> Option<(Cycle, Box<Fault>)> {
        let (mut faults, mut behind) = (Vec::new(), Vec::new());
        for (number, mut unit) in floor.units_in(&self.awake) {
            faults.extend(unit.fault.take());
            if unit.next_event() < self.now {
                behind.push(number);
            }
        }
        let first = faults.into_iter().min_by_key(|&(cycle, core, _)| (cycle, core));
        if let Some((cycle, _, fault)) = first {
            return Some((cycle, fault));
        }
        behind.into_iter().for_each(|unit| floor.run_unit(unit, self.now, StopAt::End));
        None
    }

    /// Cores and memory system exchange what they have for each other: messages, and what cores have written.
    /// Operations that wait for this are performed if they are of a cycle before `end`. Returns the units in which CTAs
    /// have ended.
    pub(super) fn exchange(&mut self, floor: &Floor<'_, C>, end: Cycle) -> Result<Vec<usize>, Box<Fault>> {
        let (mut memory, mut world) = (write(&floor.memory), write(&floor.world));
        let shared = &mut *world.0;
        self.exchange_messages(floor, &mut memory);
        let (mut waiting, mut with_ends, mut with_peers) = (Vec::new(), Vec::new(), false);
        let (mut requests, mut multicasts) = (Vec::new(), Vec::new());
        for (number, mut unit) in floor.units_in(&self.awake) {
            with_peers |= unit.cores.iter().any(C::wants_peers);
            if unit.ended.is_some() {
                with_ends.push(number);
            }
            if !std::mem::take(&mut unit.has_run) {
                continue;
            }
            let first = unit.first;
            for (place, core) in unit.cores.iter_mut().enumerate() {
                core.merge(shared);
                requests.extend(core.take_peer_requests().into_iter().map(|request| (first + place, request)));
                multicasts.extend(core.take_multicasts().into_iter().map(|multicast| (first + place, multicast)));
                waiting.extend(core.waiting().first().map(|&cycle| (cycle, number, place)));
            }
        }
        if with_peers {
            floor.each_unit().for_each(|mut unit| unit.cores.iter_mut().for_each(|core| core.lend(shared)));
        }
        // In the order of cycles; of one cycle, in the order of cores.
        let mut held: Vec<_> = waiting.iter().map(|&(_, number, place)| (number, place)).collect();
        let mut queue: BinaryHeap<_> = waiting.into_iter().map(Reverse).collect();
        while let Some(Reverse((cycle, number, place))) = queue.pop() {
            if cycle >= end {
                break;
            }
            let core = &mut own(&floor.units[number]).cores[place];
            core.exchange(shared)?;
            queue.extend(core.waiting().first().map(|&cycle| Reverse((cycle, number, place))));
        }
        if with_peers {
            for (number, mut unit) in floor.each_unit().enumerate() {
                let woken = unit.cores.iter_mut().enumerate().filter_map(|(place, core)| {
                    // Each takes its memory back.
                    core.take_back(shared).then_some((number, place))
                });
                held.extend(woken);
            }
            held.sort_unstable();
            held.dedup();
        }
        self.exchange_peers(floor, &mut memory, requests, multicasts);
        for (number, place) in held {
            let mut unit = own(&floor.units[number]);
            unit.cores[place].end_exchange(self.now);
            unit.wake(place, self.now);
        }
        Ok(with_ends)
    }

    /// Requests for shared memory of other CTAs pass the network of clusters, after the multicasts of the window have
    /// begun or ended. Each comes with its core.
    fn exchange_peers(
        &mut self,
        floor: &Floor<'_, C>,
        memory: &mut MemorySystem,
        mut requests: Vec<(usize, PeerRequest)>,
        multicasts: Vec<(usize, Multicast)>,
    ) {
        for multicast in multicasts {
            self.begin_multicast(floor, memory, multicast);
        }
        // The requests of each core are already in the order of their cycles.
        requests.sort_by_key(|&(core, request)| (request.at, core));
        for (core, request) in requests {
            let Some(route) = self.network.route(core, &request) else { continue };
            let PeerRequest { from, to, message, token, .. } = request;
            let to = ClusterMember { rank: to, ..from };
            self.bring(floor, route.sm, route.arrived, PeerEvent::Arrived { to, from: from.rank, message });
            if let Some(token) = token {
                self.bring(floor, core, route.replied, PeerEvent::Replied { token });
            }
        }
    }

    /// Begins a multicast of `core`: the crossbar delivers its replies to the other CTAs, too. Ends it if it has no
    /// other CTAs.
    fn begin_multicast(
        &mut self,
        floor: &Floor<'_, C>,
        memory: &mut MemorySystem,
        (core, multicast): (usize, Multicast),
    ) {
        let Multicast { from, others, message, token, requests } = multicast;
        let mut receivers = Vec::new();
        for rank in kit::lanes(others.into()) {
            let to = ClusterMember { rank: rank as u8, ..from };
            let Some(sm) = self.network.sm_of(to) else { continue };
            if requests == 0 {
                self.bring(floor, sm, self.now, PeerEvent::Arrived { to, from: from.rank, message });
                continue;
            }
            let mut unit = own(&floor.units[sm / self.cores_per_unit]);
            let token = unit.cores[sm % self.cores_per_unit].receive_multicast(to, &multicast);
            receivers.push((sm as u16, token));
        }
        memory.set_multicast(core as u16, token, receivers);
    }

    /// The network brings `event` to `core` in cycle `at`, or in the first cycle that has not been simulated.
    fn bring(&mut self, floor: &Floor<'_, C>, core: usize, at: Cycle, event: PeerEvent) {
        let (number, place, at) = (core / self.cores_per_unit, core % self.cores_per_unit, at.max(self.now));
        let mut unit = own(&floor.units[number]);
        unit.cores[place].receive_from_peer(at, event);
        unit.wake(place, at);
        self.awake.insert(number);
    }

    /// Units get their replies, and those without anything to do fall asleep.
    pub(super) fn exchange_messages(&mut self, floor: &Floor<'_, C>, memory: &mut MemorySystem) {
        for (number, unit) in floor.units.iter().enumerate() {
            if self.awake.contains(number) || memory.has_replies(number) {
                let mut unit = own(unit);
                let Unit { gate, ports, .. } = &mut **unit;
                memory.exchange(number, gate, ports);
                // A sample is taken of all of them.
                let falls_asleep = self.sample_every == NEVER && unit.is_idle();
                _ = if falls_asleep { self.awake.remove(number) } else { self.awake.insert(number) };
            }
        }
    }

    /// CTAs that have ended, which are in `units`, make room; kernels that have ended are reported.
    pub(super) fn retire(&mut self, floor: &Floor<'_, C>, units: &[usize]) {
        let mut ended = Vec::new();
        for &number in units {
            let mut unit = own(&floor.units[number]);
            unit.ended = None;
            let first = unit.first;
            for (place, core) in unit.cores.iter_mut().enumerate() {
                for cta in core.finished().drain(..) {
                    self.room.insert(first + place);
                    self.has_cluster_room = true;
                    if self.dispatcher.cta_finished(cta.kernel, self.now) {
                        ended.push(cta.kernel);
                    }
                }
            }
        }
        if ended.is_empty() {
            return;
        }
        let after = self.snapshot(floor, self.now);
        for kernel in ended {
            self.network.forget(kernel);
            let at = self.running.iter().position(|r| r.kernel == kernel).expect("it was admitted");
            self.ended.push(self.running.remove(at).until(&after));
        }
        if self.flush_l2 {
            write(&floor.memory).flush_l2();
        }
        self.admit(floor, self.now);
    }

    /// Kernels whose turn has come become resident from cycle `now` on.
    pub(super) fn admit(&mut self, floor: &Floor<'_, C>, now: Cycle) {
        let begun = self.dispatcher.admit(now);
        if !begun.is_empty() {
            let before = self.snapshot(floor, now);
            let (world, mut memory) = (read(&floor.world), write(&floor.memory));
            memory.empty_gpc_caches();
            for (kernel, ready) in begun {
                let loaded = Some(&world.1[kernel.index()]).filter(|_| C::FETCHES_CODE);
                if let Some((address, bytes)) = loaded.and_then(C::Kernel::parameters) {
                    memory.write_parameters(address, bytes);
                }
                if let Some((address, bytes)) = loaded.and_then(C::Kernel::code) {
                    memory.prefetch_code(address, bytes);
                }
                let stream = self.streams[kernel.index()];
                self.running.push(Running { kernel, stream, start: now, ready, before: before.clone() });
            }
            drop((world, memory));
            if self.flush_l1 {
                for mut unit in floor.each_unit() {
                    unit.cores.iter_mut().filter(|core| core.is_idle()).for_each(C::flush_l1);
                }
            }
            self.kernel_ready = self.dispatcher.next_ready(now);
        }
        if self.waiting.since.is_none() && !self.running.is_empty() && self.running.iter().all(|r| r.ready > now) {
            self.waiting.since = Some(Box::new(self.counted(floor, now)));
        }
    }

    /// Kernels whose launch latency is over start: a wait of the whole machine ends.
    pub(super) fn end_launch_latencies(&mut self, floor: &Floor<'_, C>) {
        let now = self.now;
        let counted = self.counted(floor, now);
        if let Some(since) = self.waiting.since.take() {
            self.waiting.ended.add(&counted.wait_since(&since));
            self.waiting.ended_cores.add(&counted.core.since(&since.core));
        }
        let here = self.without_waits(counted);
        for running in self.running.iter_mut().filter(|r| r.ready == now) {
            if !running.only_waited(&here) {
                running.before = here.clone();
            }
        }
    }
}
