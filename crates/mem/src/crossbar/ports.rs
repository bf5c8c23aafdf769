//! Heads of inputs and queues of outputs, as arbiters see them.

use crate::coming::Coming;
use kit::BitSet;

kit::counters! {
    /// What one direction of the crossbar has done.
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
const HEADER_BYTES: u32 = 8;

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
    /// Inputs whose head may go.
    pub heads: BitSet,
    /// The output of each head.
    pub head_to: Box<[u16]>,
    /// Inputs whose head may go later, and the present cycle.
    coming: Coming,
    now: u64,
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
            heads: BitSet::new(inputs),
            head_to: vec![0; inputs].into(),
            coming: Coming::new(inputs),
            now: 0,
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
        self.now = now;
        let Self { heads, head_to, coming, requested, outputs, .. } = self;
        coming.take_due(now, |input| {
            heads.insert(input);
            offer(input, head_to[input].into(), requested, outputs);
        });
    }

    /// The first cycle in which another head may go: exact or early.
    #[inline]
    pub fn next_head(&self) -> u64 {
        self.coming.first()
    }

    /// Whether the head of `input` is known.
    #[inline]
    pub fn has_head(&self, input: usize) -> bool {
        self.heads.contains(input) || self.coming.contains(input)
    }

    /// The head of `input`, which was not known, is for `output` and may go from cycle `from` on.
    pub fn announce(&mut self, input: usize, output: usize, from: u64) {
        self.head_to[input] = output as u16;
        self.coming.insert(input, from);
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
        let now = self.now;
        match next {
            Some((next_to, from)) if from <= now && next_to == output => {}
            Some((next_to, from)) if from <= now => {
                to.withdraw(input, output, &mut self.requested);
                self.head_to[input] = next_to as u16;
                offer(input, next_to, &mut self.requested, &mut self.outputs);
            }
            _ => {
                to.withdraw(input, output, &mut self.requested);
                self.heads.remove(input);
                if let Some((next_to, from)) = next {
                    self.announce(input, next_to, from);
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
    struct Ports { heads, head_to, coming, requested, outputs, counters; skip now, inputs, output_limit, flit_bytes }
}
