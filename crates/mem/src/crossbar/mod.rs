//! One subnet of the crossbar: packets from input queues to output queues.
//!
//! The inputs' queues are an SM's outbox or a slice's replies; the crossbar knows the destination of
//! each queue's head, and how many packets are in the queue of each output. Packets are one flit. Per crossbar
//! cycle each output takes at most one packet.
//!
//! To add an arbiter: a file with a type that implements [`Arbiter`], its row in `arbiters!`, and
//! its word in [`config::Arbiter`].

mod islip;
mod oldest_first;
mod ports;
mod round_robin;

use kit::persist::{Archive, Mismatch, Persist};
pub use ports::CrossbarCounters;
use ports::{Arbiter, Ports};
pub(crate) use ports::{HEADER_BYTES, Source, Taken};

macro_rules! arbiters {
    ($($name:ident: $arbiter:ty;)*) => {
        #[derive(Clone, Debug)]
        enum Arbitration {
            $($name($arbiter),)*
        }

        impl Arbitration {
            fn new(name: config::Arbiter, inputs: usize, outputs: usize) -> Self {
                match name {
                    $(config::Arbiter::$name => Self::$name(Arbiter::new(inputs, outputs)),)*
                }
            }

            #[inline]
            fn arbitrate(&mut self, cycle: u64, ports: &mut Ports, source: &mut impl Source) {
                match self {
                    $(Self::$name(arbiter) => arbiter.arbitrate(cycle, ports, source),)*
                }
            }
        }

        impl Persist for Arbitration {
            fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
                match self { $(Self::$name(arbiter) => arbiter.persist(archive),)* }
            }
        }
    };
}

arbiters! {
    RoundRobin: round_robin::RoundRobin;
    Islip: islip::Islip;
    OldestFirst: oldest_first::OldestFirst;
}

/// One direction of the crossbar.
#[derive(Clone, Debug)]
pub(crate) struct Crossbar {
    ports: Ports,
    arbiter: Arbitration,
}

impl Crossbar {
    pub fn new(config: &config::Interconnect, inputs: usize, outputs: usize) -> Self {
        let ports = Ports::new(config, inputs, outputs);
        Self { ports, arbiter: Arbitration::new(config.arbiter, inputs, outputs) }
    }

    /// Whether the head of `input` is known.
    #[inline]
    pub fn has_head(&self, input: usize) -> bool {
        self.ports.has_head(input)
    }

    /// The head of `input`, which was not known, is for `output` and may go from cycle `from` on.
    #[inline]
    pub fn announce(&mut self, input: usize, output: usize, from: u64) {
        self.ports.announce(input, output, from);
    }

    /// The first cycle in which another head may go: exact or early, [`NEVER`](kit::NEVER) if none is announced.
    #[inline]
    pub fn next_head(&self) -> u64 {
        self.ports.next_head()
    }

    /// Whether any packet may go.
    #[inline]
    pub fn has_offers(&self) -> bool {
        !self.ports.requested.is_empty()
    }

    /// One crossbar cycle, number `cycle`; it is cycle `now` of the clock by which heads are announced.
    pub fn transfer(&mut self, cycle: u64, now: u64, source: &mut impl Source) {
        self.ports.begin(now);
        if self.has_offers() {
            self.ports.counters.busy_cycles += 1;
            self.arbiter.arbitrate(cycle, &mut self.ports, source);
        }
    }

    /// A packet has left the queue of `output`.
    #[inline]
    pub fn release(&mut self, output: usize) {
        self.ports.outputs[output].queued -= 1;
    }

    /// The queue of `output` has `packets` packets.
    pub fn set_queued(&mut self, output: usize, packets: usize) {
        self.ports.outputs[output].queued = packets;
    }

    /// Packets that the queue of an output holds.
    pub fn output_limit(&self) -> usize {
        self.ports.output_limit
    }

    pub fn counters(&self) -> &CrossbarCounters {
        &self.ports.counters
    }
}

kit::persist! {
    struct Crossbar { ports, arbiter }
}

#[cfg(test)]
mod tests {
    use super::{Crossbar, Source, Taken};
    use config::Arbiter;
    use std::collections::VecDeque;

    /// Queues of destinations, and of packets at outputs; a packet is `100 * input + sequence`.
    pub(super) struct Queues {
        queues: Vec<VecDeque<usize>>,
        sent: Vec<u32>,
        outputs: Vec<VecDeque<u32>>,
    }

    impl Queues {
        /// Takes the oldest packet at `output`.
        pub fn pop(&mut self, crossbar: &mut Crossbar, output: usize) -> Option<u32> {
            let packet = self.outputs[output].pop_front()?;
            crossbar.release(output);
            Some(packet)
        }
    }

    impl Source for Queues {
        fn take(&mut self, input: usize, output: usize) -> Taken {
            assert_eq!(self.queues[input].pop_front(), Some(output));
            self.sent[input] += 1;
            self.outputs[output].push_back(100 * input as u32 + self.sent[input]);
            Taken { data_bytes: 32 * (input as u32 % 3), next: self.queues[input].front().map(|&output| (output, 0)) }
        }
    }

    pub(super) fn network(arbiter: Arbiter, outputs: usize, queues: &[&[usize]]) -> (Crossbar, Queues) {
        let config = config::Interconnect {
            flit_bytes: 40,
            input_buffer_packets: 8,
            output_buffer_packets: 4,
            arbiter,
            ejection_buffer_packets: 4,
        };
        let mut crossbar = Crossbar::new(&config, queues.len(), outputs);
        for (input, queue) in queues.iter().enumerate() {
            if let Some(&output) = queue.first() {
                crossbar.announce(input, output, 0);
            }
        }
        let queues = queues.iter().map(|q| q.iter().copied().collect()).collect::<Vec<_>>();
        let outputs = vec![VecDeque::new(); outputs];
        (crossbar, Queues { sent: vec![0; queues.len()], queues, outputs })
    }

    pub(super) fn run(
        crossbar: &mut Crossbar,
        queues: &mut Queues,
        cycles: std::ops::Range<u64>,
        output: usize,
    ) -> Vec<u32> {
        let mut out = Vec::new();
        for cycle in cycles {
            crossbar.transfer(cycle, cycle, queues);
            out.extend(queues.pop(crossbar, output));
        }
        out
    }

    #[test]
    fn islip_serves_each_input_in_turn() {
        let (mut crossbar, mut queues) = network(Arbiter::Islip, 1, &[&[0, 0], &[0, 0], &[0, 0]]);
        assert_eq!(run(&mut crossbar, &mut queues, 0..6, 0), [1, 101, 201, 2, 102, 202]);
        assert_eq!(crossbar.counters().conflicts, 2 + 2 + 2 + 2 + 1);
        // Of 8, 40 and 72 bytes, two packets each.
        assert_eq!(crossbar.counters().flits, 2 * (1 + 1 + 2));
        assert!(!crossbar.has_offers());
    }

    #[test]
    fn round_robin_starts_one_port_later_each_cycle() {
        let (mut crossbar, mut queues) = network(Arbiter::RoundRobin, 1, &[&[0, 0], &[0, 0], &[0, 0]]);
        assert_eq!(run(&mut crossbar, &mut queues, 0..6, 0), [1, 101, 201, 2, 102, 202]);
    }

    #[test]
    fn a_head_goes_in_its_cycle_or_later() {
        for arbiter in Arbiter::ALL {
            let (mut crossbar, mut queues) = network(arbiter, 1, &[&[0], &[0]]);
            let mut packets = |cycle, now| {
                crossbar.transfer(cycle, now, &mut queues);
                crossbar.counters().packets
            };
            assert_eq!((packets(0, 0), packets(1, 0)), (1, 2), "{arbiter:?}");
            queues.queues[0].push_back(0);
            queues.queues[1].push_back(0);
            crossbar.announce(0, 0, 1);
            crossbar.announce(1, 0, 3);
            assert!(crossbar.has_head(0) && crossbar.has_head(1) && crossbar.next_head() == 1);
            // The crossbar's clock is the faster one.
            let passed = [(2, 0), (3, 1), (4, 1), (5, 2), (6, 3)].map(|(cycle, now)| {
                crossbar.transfer(cycle, now, &mut queues);
                crossbar.counters().packets
            });
            assert_eq!(passed, [2, 3, 3, 3, 4], "{arbiter:?}");
            assert!(!crossbar.has_head(0) && !crossbar.has_head(1));
        }
    }

    #[test]
    fn each_output_takes_one_packet_a_cycle_and_stops_when_full() {
        for arbiter in Arbiter::ALL {
            let (mut crossbar, mut queues) = network(arbiter, 2, &[&[0, 0, 0, 0, 0], &[1, 1, 1, 1, 1]]);
            for cycle in 0..6 {
                crossbar.transfer(cycle, cycle, &mut queues);
            }
            assert_eq!(crossbar.counters().packets, 8, "{arbiter:?}: four in each output queue");
            assert_eq!(crossbar.counters().output_full, 4);
            queues.pop(&mut crossbar, 1);
            crossbar.transfer(6, 6, &mut queues);
            assert_eq!(crossbar.counters().packets, 9);
        }
    }
}
