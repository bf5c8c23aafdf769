//! Plain round robin: inputs are served from a starting point that moves by one input each cycle;
//! an input sends at most one packet per cycle. (Accel-Sim's starting point moves over the ports of
//! both sides, which favours the first input.)

use super::{Crossbar, Source};

pub(super) fn arbitrate(crossbar: &mut Crossbar, cycle: u64, source: &mut impl Source) {
    let start = (cycle % crossbar.inputs as u64) as usize;
    crossbar.served.clear();
    for (mut from, end) in [(start, crossbar.inputs), (0, start)] {
        while let Some(input) = crossbar.heads.next(from).filter(|&i| i < end) {
            from = input + 1;
            let output = usize::from(crossbar.head_to[input]);
            if crossbar.served.contains(output) {
                crossbar.counters.conflicts += 1;
            } else if crossbar.has_room(output) {
                crossbar.served.insert(output);
                crossbar.pass(input, output, source);
            } else {
                crossbar.counters.output_full += 1;
            }
        }
    }
}
