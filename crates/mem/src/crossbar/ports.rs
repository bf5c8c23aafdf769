//! Heads of inputs and queues of outputs, as arbiters see them.

use crate::coming::Coming;
use kit::BitSet;

kit::counters! {
    /// Counts of one direction of the crossbar.
    pub struct CrossbarCounters {
        /// Packets moved.
        pub packets: "packets",
        /// Flits of those packets, header and data. Only for energy: a packet takes one cycle.
        pub flits: "flits",
        /// Packets that waited a cycle because another went to their output.
        pub conflicts: "packet cycles",
        /// Cycles in which an output had no room for a packet.
        pub output_full: "output cycles",
        /// Cycles in which at least one packet waited at an input.
        pub busy_cycles: "crossbar cycles",
    }
}

/// Bytes of a packet beside its data (GPGPU-Sim: `READ_PACKET_SIZE`, `WRITE_PACKET_SIZE`).
pub(crate) const HEADER_BYTES: u32 = 8;

/// Number of no output.
const NO_OUTPUT: u16 = u16::MAX;

/// A packet that leaves its input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// Bytes of data in the packet, header left out.
    pub data_bytes: u32,
    /// The output of the next packet of that input, and the first cycle in which it may go.
    pub next: Option<(usize, u64)>,
}

/// Where packets come from.
pub(crate) trait Source {
    /// Takes the head of `input`, and puts it into the queue of `output`.
    fn take(&mut self, input: usize, output: usize) -> Taken;
}

#[derive(Clone, Debug)]
pub(super) struct Output {
    /// Inputs whose head is for this output.
    pub requests: BitSet,
    pub request_count: u32,
    /// Packets in its queue, which is the source's.
    pub queued: usize,
}

impl Output {
    /// The head of `input` has left it for this output, which has number `output`.
    #[inline(always)]
    fn withdraw(&mut self, input: usize, output: usize, requested: &mut BitSet) {
        self.requests.remove(input);
        self.request_count -= 1;
        if self.request_count == 0 {
            requested.remove(output);
        }
    }
}

/// An arbitration policy: which input each output takes.
pub(super) trait Arbiter {
    fn new(inputs: usize, outputs: usize) -> Self;
    /// Passes packets in crossbar cycle `cycle`: at most one to each output, and none to an output
    /// without room. Called in every cycle in which a head is known.
    fn arbitrate(&mut self, cycle: u64, ports: &mut Ports, source: &mut impl Source);
}

/// Heads of inputs, and queues of outputs.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    pub inputs: usize,
    /// The output of each input's head; [`NO_OUTPUT`] if the head is not known.
    pub head_to: Box<[u16]>,
    /// Inputs whose head may go from the next cycle on, and those whose head may go later.
    soon: BitSet,
    coming: Coming,
    /// The cycle after the present one.
    next: u64,
    /// Outputs of some head.
    pub requested: BitSet,
    pub outputs: Box<[Output]>,
    pub output_limit: usize,
    pub flit_bytes: u32,
    pub counters: CrossbarCounters,
}

impl Ports {
    pub fn new(config: &config::Interconnect, inputs: usize, outputs: usize) -> Self {
        let output = Output { requests: BitSet::new(inputs), request_count: 0, queued: 0 };
        Self {
            inputs,
            head_to: vec![NO_OUTPUT; inputs].into(),
            soon: BitSet::new(inputs),
            coming: Coming::new(inputs),
            next: 0,
            requested: BitSet::new(outputs),
            outputs: vec![output; outputs].into(),
            output_limit: config.output_buffer_packets.max(1) as usize,
            flit_bytes: config.flit_bytes.max(1),
            counters: CrossbarCounters::default(),
        }
    }

    /// Begins cycle `now`, in which further heads may go.
    #[inline]
    pub fn begin(&mut self, now: u64) {
        let Self { head_to, soon, coming, next, requested, outputs, .. } = self;
        let mut come = |input: usize| offer(input, head_to[input].into(), requested, outputs);
        // A crossbar may have several cycles in one of the clock that heads go by.
        if *next <= now {
            soon.take_all(&mut come);
            *next = now + 1;
        }
        coming.take_due(now, come);
    }

    /// The first cycle in which another head may go: exact or early.
    #[inline]
    pub fn next_head(&self) -> u64 {
        if self.soon.is_empty() { self.coming.first() } else { self.next }
    }

    /// Whether the head of `input` is known.
    #[inline]
    pub fn has_head(&self, input: usize) -> bool {
        self.head_to[input] != NO_OUTPUT
    }

    /// The head of `input`, which was not known, is for `output` and may go from cycle `from` on.
    #[inline]
    pub fn announce(&mut self, input: usize, output: usize, from: u64) {
        self.head_to[input] = output as u16;
        if from <= self.next {
            self.soon.insert(input);
        } else {
            self.coming.insert(input, from);
        }
    }

    /// Inputs whose head may go.
    pub fn heads(&self) -> impl Iterator<Item = usize> {
        self.requested.iter().flat_map(|output| self.outputs[output].requests.iter())
    }

    #[inline]
    pub fn has_room(&self, output: usize) -> bool {
        self.outputs[output].queued < self.output_limit
    }

    /// Moves the head of `input` to `output`; the next packet of the input is its head then. By itself it has registers
    /// enough, which it would not have within an arbiter's loop.
    #[inline(never)]
    pub fn pass(&mut self, input: usize, output: usize, source: &mut impl Source) {
        let Taken { data_bytes, next } = source.take(input, output);
        self.counters.packets += 1;
        let bytes = HEADER_BYTES + data_bytes;
        // Most packets are one flit; a division takes the host long.
        self.counters.flits += if bytes <= self.flit_bytes { 1 } else { bytes.div_ceil(self.flit_bytes).into() };
        let to = &mut self.outputs[output];
        to.queued += 1;
        let later = self.next;
        match next {
            Some((next_to, from)) if from < later && next_to == output => {}
            Some((next_to, from)) if from < later => {
                to.withdraw(input, output, &mut self.requested);
                self.head_to[input] = next_to as u16;
                offer(input, next_to, &mut self.requested, &mut self.outputs);
            }
            _ => {
                to.withdraw(input, output, &mut self.requested);
                match next {
                    Some((next_to, from)) => self.announce(input, next_to, from),
                    None => self.head_to[input] = NO_OUTPUT,
                }
            }
        }
    }
}

/// The head of `input` requests `output`.
#[inline]
fn offer(input: usize, output: usize, requested: &mut BitSet, outputs: &mut [Output]) {
    let to = &mut outputs[output];
    to.requests.insert(input);
    to.request_count += 1;
    requested.insert(output);
}

kit::persist! {
    struct Output { requests, request_count, queued }
    struct Ports { head_to, soon, coming, requested, outputs, counters; skip next, inputs, output_limit, flit_bytes }
}
