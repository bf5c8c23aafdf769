//! Plain round robin: inputs are served from a starting point that moves by one input each cycle;
//! an input sends at most one packet per cycle. (Accel-Sim's starting point moves over the ports of
//! both sides, which favours the first input.)

use super::ports::{Arbiter, Ports, Source};
use kit::BitSet;

#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    /// Inputs whose head may go, and outputs served in this cycle.
    heads: BitSet,
    served: BitSet,
}

impl Arbiter for RoundRobin {
    fn new(inputs: usize, outputs: usize) -> Self {
        Self { heads: BitSet::new(inputs), served: BitSet::new(outputs) }
    }

    fn arbitrate(&mut self, cycle: u64, ports: &mut Ports, source: &mut impl Source) {
        let start = (cycle % ports.inputs as u64) as usize;
        self.served.clear();
        self.heads.clear();
        ports.heads().for_each(|input| _ = self.heads.insert(input));
        for (mut from, end) in [(start, ports.inputs), (0, start)] {
            while let Some(input) = self.heads.next(from).filter(|&i| i < end) {
                from = input + 1;
                let output = usize::from(ports.head_to[input]);
                if self.served.contains(output) {
                    ports.counters.conflicts += 1;
                } else if ports.has_room(output) {
                    self.served.insert(output);
                    ports.pass(input, output, source);
                } else {
                    ports.counters.output_full += 1;
                }
            }
        }
    }
}

kit::persist! {
    struct RoundRobin { served; skip heads }
}
