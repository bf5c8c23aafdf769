//! iSLIP with one iteration (McKeown, IEEE/ACM ToN 1999), as Accel-Sim's built-in crossbar has it:
//! each output, from the first on, takes the first input that wants it from its pointer on, and
//! moves the pointer behind that input.
//!
//! Outputs are served one after the other, so an input whose packet has gone may offer its next one
//! to a later output within the same cycle. Accel-Sim allows that too.

use super::{Crossbar, Output, Source};

pub(super) fn arbitrate(crossbar: &mut Crossbar, source: &mut impl Source) {
    let mut from = 0;
    while let Some(output) = crossbar.wanted.next(from) {
        from = output + 1;
        let Output { wanting, wanting_count, first_choice, .. } = &crossbar.outputs[output];
        crossbar.counters.conflicts += u64::from(*wanting_count) - 1;
        let Some(input) = wanting.next_cyclic(usize::from(*first_choice)) else { continue };
        if !crossbar.has_room(output) {
            crossbar.counters.output_full += 1;
            continue;
        }
        let next = if input + 1 < crossbar.inputs { input + 1 } else { 0 };
        crossbar.outputs[output].first_choice = next as u16;
        crossbar.pass(input, output, source);
    }
}
