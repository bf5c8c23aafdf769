//! Heads of inputs and queues of outputs, as arbiters see them.

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
    /// The output of the next packet of that input.
    pub next: Option<usize>,
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
    /// Inputs whose head is known.
    pub heads: BitSet,
    /// The output of each head.
    pub head_to: Box<[u16]>,
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
            requested: BitSet::new(outputs),
            outputs: vec![output; outputs].into(),
            output_limit: config.output_buffer_packets.max(1) as usize,
            flit_bytes: config.flit_bytes.max(1),
            counters: CrossbarCounters::default(),
        }
    }

    #[inline]
    pub fn offer(&mut self, input: usize, output: usize) {
        self.heads.insert(input);
        self.head_to[input] = output as u16;
        let to = &mut self.outputs[output];
        to.requests.insert(input);
        to.request_count += 1;
        self.requested.insert(output);
    }

    #[inline]
    pub fn has_room(&self, output: usize) -> bool {
        self.outputs[output].queued < self.output_limit
    }

    /// Moves the head of `input` to `output`; the next packet of the input is its head then.
    #[inline(always)]
    pub fn pass(&mut self, input: usize, output: usize, source: &mut impl Source) {
        let Taken { data_bytes, next } = source.take(input, output);
        let to = &mut self.outputs[output];
        to.queued += 1;
        self.counters.packets += 1;
        self.counters.flits += u64::from((HEADER_BYTES + data_bytes).div_ceil(self.flit_bytes));
        if next == Some(output) {
            return;
        }
        to.requests.remove(input);
        to.request_count -= 1;
        if to.request_count == 0 {
            self.requested.remove(output);
        }
        match next {
            Some(next) => self.offer(input, next),
            None => _ = self.heads.remove(input),
        }
    }
}

kit::persist! {
    struct Output { requests, request_count, queued }
    struct Ports { heads, head_to, requested, outputs, counters; skip inputs, output_limit, flit_bytes }
}
