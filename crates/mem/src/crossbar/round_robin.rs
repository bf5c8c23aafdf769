//! Plain round robin: inputs are served from a starting point that moves by one input each cycle;
//! an input sends at most one packet per cycle. (Accel-Sim's starting point moves over the ports of
//! both sides, which favours the first input.)

use super::ports::{Arbiter, Ports, Source};
use kit::BitSet;

#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    /// Outputs served in this cycle.
    served: BitSet,
}

impl Arbiter for RoundRobin {
    fn new(_inputs: usize, outputs: usize) -> Self {
        Self { served: BitSet::new(outputs) }
    }

    fn arbitrate(&mut self, cycle: u64, ports: &mut Ports, source: &mut impl Source) {
        let start = (cycle % ports.inputs as u64) as usize;
        self.served.clear();
        for (mut from, end) in [(start, ports.inputs), (0, start)] {
            while let Some(input) = ports.heads.next(from).filter(|&i| i < end) {
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
    struct RoundRobin { served }
}
