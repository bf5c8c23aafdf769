//! A memory system whose requesters run in step with it, cycle by cycle.

use crate::{Gate, MemoryCounters, MemorySystem, Port};
use config::GpuConfig;
use kit::{Counters, Cycle, NEVER};

/// A memory system with the gates of its clusters, for requesters that are at the same cycle: they see what has left
/// their ports in the cycle before.
#[derive(Debug)]
pub struct InStep {
    /// The memory system.
    pub system: MemorySystem,
    gates: Vec<Gate>,
    sms_per_cluster: usize,
    /// The first cycle that has not been done.
    next: Cycle,
}

impl InStep {
    /// The memory system of a GPU.
    pub fn new(config: &GpuConfig) -> Self {
        let sms_per_cluster = config.sms_per_cluster.max(1) as usize;
        let clusters = (config.sm_count.max(1) as usize).div_ceil(sms_per_cluster);
        let gates = (0..clusters).map(|cluster| Gate::new(config, cluster)).collect();
        Self { system: MemorySystem::new(config), gates, sms_per_cluster, next: 0 }
    }

    /// Does all core cycles up to and including `now`, of which each SM's requests stamped before `now` are known.
    /// `ports[i]` is SM *i*'s. A reply is stamped with the cycle after the one in which it leaves the crossbar.
    pub fn advance(&mut self, now: Cycle, ports: &mut [Port]) {
        loop {
            let due = self.next_event(ports);
            if due > now {
                break;
            }
            for (gate, ports) in self.gates.iter_mut().zip(ports.chunks_mut(self.sms_per_cluster)) {
                gate.eject(due, due + 1, ports);
            }
            self.exchange(ports);
            self.system.run_both(due + 1);
            self.exchange(ports);
            self.next = due + 1;
        }
        self.next = self.next.max(now + 1);
    }

    fn exchange(&mut self, ports: &mut [Port]) {
        for (cluster, (gate, ports)) in self.gates.iter_mut().zip(ports.chunks_mut(self.sms_per_cluster)).enumerate() {
            self.system.exchange(cluster, gate, ports);
        }
    }

    /// The first cycle that has not been done and in which anything can happen, given the contents of the ports: exact
    /// or early, never late; [`NEVER`] if nothing is under way.
    pub fn next_event(&mut self, ports: &[Port]) -> Cycle {
        let mut due = self.system.next_event();
        for (gate, ports) in self.gates.iter().zip(ports.chunks(self.sms_per_cluster)) {
            due = due.min(gate.next_event(self.next, ports));
            for port in ports {
                due = due.min(port.outbox.front().map_or(NEVER, |&(stamp, _)| stamp + 1));
            }
        }
        if due == NEVER { NEVER } else { due.max(self.next) }
    }

    /// Whether nothing is under way, not even a write-back.
    pub fn is_idle(&mut self) -> bool {
        self.system.is_idle() && self.gates.iter().all(Gate::is_empty)
    }

    /// Counts so far.
    pub fn counters(&mut self) -> MemoryCounters {
        let mut all = self.system.counters();
        self.gates.iter().for_each(|gate| all.answers.add(gate.answers()));
        all
    }
}
