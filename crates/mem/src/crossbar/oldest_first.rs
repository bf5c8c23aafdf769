//! Age-based arbitration (Abts and Weisser, "Age-based packet arbitration in large-radix k-ary
//! n-cubes", SC 2007): each output takes the packet that has waited longest. An input sends at most
//! one packet per cycle.
//!
//! Deviation: the age of a packet counts from the first cycle in which it is the head of its input,
//! since the queues before that are the SMs' and slices' own. Of equal ages, the first input from
//! one that moves by one each cycle goes.

use super::ports::{Arbiter, Ports, Source};
use kit::BitSet;

#[derive(Clone, Debug)]
pub(super) struct OldestFirst {
    /// Inputs whose head has its age.
    aged: BitSet,
    /// The first cycle of each head.
    since: Box<[u64]>,
}

impl OldestFirst {
    fn note_new_heads(&mut self, cycle: u64, ports: &Ports) {
        for input in ports.heads() {
            if self.aged.insert(input) {
                self.since[input] = cycle;
            }
        }
    }
}

impl Arbiter for OldestFirst {
    fn new(inputs: usize, _outputs: usize) -> Self {
        Self { aged: BitSet::new(inputs), since: vec![0; inputs].into() }
    }

    fn arbitrate(&mut self, cycle: u64, ports: &mut Ports, source: &mut impl Source) {
        self.note_new_heads(cycle, ports);
        let inputs = ports.inputs as u64;
        let turn = |input: usize| (input as u64 + inputs - cycle % inputs) % inputs;
        let mut from = 0;
        while let Some(output) = ports.requested.next(from) {
            from = output + 1;
            // The next packet of an input that was served in this cycle has no age yet.
            let waiting = || ports.outputs[output].requests.iter().filter(|&i| self.aged.contains(i));
            let Some(input) = waiting().min_by_key(|&i| (self.since[i], turn(i))) else { continue };
            let others = waiting().count() - 1;
            ports.counters.conflicts += others as u64;
            if ports.has_room(output) {
                self.aged.remove(input);
                ports.pass(input, output, source);
            } else {
                ports.counters.output_full += 1;
            }
        }
    }
}

kit::persist! {
    struct OldestFirst { aged, since }
}

#[cfg(test)]
mod tests {
    use crate::crossbar::tests::{network, run};
    use config::Arbiter;
    use proptest::prelude::*;

    #[test]
    fn the_head_that_waits_longest_goes_first() {
        let (mut crossbar, mut queues) = network(Arbiter::OldestFirst, 2, &[&[0, 0, 0], &[1, 0], &[0]]);
        // Input 2 has waited since cycle 0, then inputs 0 and 1 since cycle 1; in cycle 2 the turn of
        // input 0 comes first.
        assert_eq!(run(&mut crossbar, &mut queues, 0..5, 0), [1, 201, 2, 102, 3]);
        assert_eq!(crossbar.counters().conflicts, 1 + 2 + 1 + 1);
    }

    proptest! {
        #[test]
        fn agrees_with_its_definition(
            queues in prop::collection::vec(prop::collection::vec(0usize..3, 0..8), 1..6),
        ) {
            let borrowed: Vec<&[usize]> = queues.iter().map(Vec::as_slice).collect();
            let (mut crossbar, mut source) = network(Arbiter::OldestFirst, 3, &borrowed);
            let (mut sent, mut since) = (vec![0; queues.len()], vec![0; queues.len()]);
            for cycle in 0..50 {
                crossbar.transfer(cycle, cycle, &mut source);
                let heads: Vec<Option<usize>> = queues.iter().zip(&sent).map(|(q, &n)| q.get(n).copied()).collect();
                for output in 0..3 {
                    let turn = |i: usize| (i + 1000 * queues.len() - cycle as usize) % queues.len();
                    let oldest = (0..queues.len()).filter(|&i| heads[i] == Some(output))
                        .min_by_key(|&i| (since[i], turn(i)));
                    let expected = oldest.map(|i| {
                        (sent[i], since[i]) = (sent[i] + 1, cycle + 1);
                        (100 * i + sent[i]) as u32
                    });
                    prop_assert_eq!(source.pop(&mut crossbar, output), expected);
                }
            }
            prop_assert!(!crossbar.has_offers());
        }
    }
}
