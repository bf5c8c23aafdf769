//! The passes from the first graph of a kernel to the one that is mapped, each in a file.
//!
//! | pass | what it does |
//! | --- | --- |
//! | `labels` | logic on predicates into truth tables of labels |
//! | `uniform` | constants and uniform values into configuration |
//! | `common` | equal values once |
//! | `strength` | cheaper operations |
//! | `addresses` | constant and uniform parts of addresses into load/store units |
//! | `fuse` | product and sum in one operation |
//! | `places` | live values that need not be kept |
//! | `order` | the order of accesses into enable tokens |
//! | `dead` | nodes and uniform values that nobody needs |
//! | `regions` | regions that do nothing |
//!
//! `labels` to `strength` find work for each other and are repeated until nothing changes.

mod addresses;
mod common;
pub(crate) mod dead;
mod fuse;
mod labels;
mod order;
mod places;
mod regions;
mod strength;
mod uniform;

use crate::draft::{Draft, Program, Uniforms};

/// Changes the graph of a region.
type OfRegion = fn(&mut Draft, &mut Uniforms);

/// Passes that find work for each other.
const SIMPLIFY: [(&str, OfRegion); 4] =
    [("labels", labels::run), ("uniform", uniform::run), ("common", common::run), ("strength", strength::run)];

/// Maximum number of times that they are repeated.
const MOST_ROUNDS: usize = 16;

/// Applies all passes; `watch` sees the kernel after each.
pub(crate) fn apply(program: &mut Program, watch: &mut dyn FnMut(&'static str, &Program)) {
    each(program, "dead", dead::run, watch);
    for _ in 0..MOST_ROUNDS {
        let before = program.drafts.clone();
        for (name, pass) in SIMPLIFY {
            each(program, name, pass, watch);
        }
        if program.drafts == before {
            break;
        }
    }
    each(program, "addresses", addresses::run, watch);
    each(program, "dead", dead::run, watch);
    each(program, "fuse", fuse::run, watch);
    each(program, "dead", dead::run, watch);
    places::run(program);
    watch("places", program);
    each(program, "order", order::run, watch);
    each(program, "dead", dead::run, watch);
    regions::run(program);
    dead::uniforms(program);
    watch("regions", program);
}

fn each(program: &mut Program, name: &'static str, pass: OfRegion, watch: &mut dyn FnMut(&'static str, &Program)) {
    let Program { drafts, uniforms, .. } = program;
    drafts.iter_mut().for_each(|draft| pass(draft, uniforms));
    watch(name, program);
}
