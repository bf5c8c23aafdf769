//! iSLIP with one iteration (McKeown, IEEE/ACM ToN 1999), as Accel-Sim's built-in crossbar has it:
//! each output, from the first on, takes the first input that requests it from its pointer on, and
//! moves the pointer past that input.
//!
//! Outputs are served one after the other, so an input whose packet has gone may offer its next one
//! to a later output within the same cycle. Accel-Sim allows that too.

use super::ports::{Arbiter, Output, Ports, Source};

#[derive(Clone, Debug)]
pub(super) struct Islip {
    /// For each output, the input that is asked first.
    pointers: Box<[u16]>,
}

impl Arbiter for Islip {
    fn new(_inputs: usize, outputs: usize) -> Self {
        Self { pointers: vec![0; outputs].into() }
    }

    fn arbitrate(&mut self, _cycle: u64, ports: &mut Ports, source: &mut impl Source) {
        let mut from = 0;
        while let Some(output) = ports.requested.next(from) {
            from = output + 1;
            let Output { requests, request_count, queued } = &ports.outputs[output];
            ports.counters.conflicts += u64::from(*request_count) - 1;
            if *queued >= ports.output_limit {
                ports.counters.output_full += 1;
                continue;
            }
            let pointer = &mut self.pointers[output];
            let input = requests.next_cyclic(usize::from(*pointer)).expect("a head requests it");
            let next = if input + 1 < ports.inputs { input + 1 } else { 0 };
            *pointer = next as u16;
            ports.pass(input, output, source);
        }
    }
}

kit::persist! {
    struct Islip { pointers }
}
