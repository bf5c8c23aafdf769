//! Evaluates a kernel's graphs for one thread; nodes of a region fire in any order that their tokens allow.

use dataflow::graph::{AccessKind, Dataflow, Input, NodeOp, Region, Target, ThreadValue};
use exec::function::Evaluator;
use std::collections::BTreeMap;

/// Effects of a thread.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Memory that it has written, by address.
    pub memory: BTreeMap<u64, u64>,
    /// Loads, by address and value, sorted.
    pub loads: Vec<(u64, u64)>,
    /// Stores, by address and value, in order.
    pub stores: Vec<(u64, u64)>,
}

const UNIFORMS: [u64; 3] = [0x1000, 64, 3];

/// Runs thread `tid`; `pick` chooses one of the n nodes that are ready.
pub fn run(dataflow: &Dataflow, tid: u64, mut pick: impl FnMut(usize) -> usize) -> Done {
    let mut done = Done::default();
    let mut live = vec![None; dataflow.live.len()];
    let mut next = Some(0);
    let mut passes = 0;
    while let Some(region) = next {
        passes += 1;
        assert!(passes < 100, "the graphs of the tests end");
        next = pass(&dataflow.regions[region], tid, &mut live, &mut done, &mut pick);
    }
    done.loads.sort_unstable();
    done
}

fn pass(
    region: &Region,
    tid: u64,
    live: &mut [Option<u64>],
    done: &mut Done,
    pick: &mut impl FnMut(usize) -> usize,
) -> Option<usize> {
    let mut values: Vec<Option<u64>> = vec![None; region.nodes.len()];
    let mut next = region.always.map(|r| r.0 as usize);
    let mut evaluator = Evaluator::default();
    for _ in 0..region.nodes.len() {
        let is_ready = |i: &usize| {
            values[*i].is_none() && region.nodes[*i].tokens().all(|(_, from)| values[from.index()].is_some())
        };
        let ready: Vec<usize> = (0..region.nodes.len()).filter(is_ready).collect();
        let at = ready[pick(ready.len())];
        let node = &region.nodes[at];
        let of = |input: &Input| match input {
            Input::Token(id) => values[id.index()].expect("it has fired"),
            Input::Immediate(value) => *value,
            Input::Uniform(id) => UNIFORMS[id.0 as usize],
        };
        let inputs: Vec<u64> = node.inputs.iter().map(of).collect();
        values[at] = Some(match &node.op {
            NodeOp::Inject(ThreadValue::Tid(_)) => tid,
            NodeOp::Inject(ThreadValue::Ctaid(_)) => tid / 3,
            NodeOp::Inject(ThreadValue::Live) => 1,
            NodeOp::Apply(function) => evaluator.apply(function, &inputs),
            NodeOp::Select => inputs[if inputs[0] & 1 == 1 { 1 } else { 2 }],
            NodeOp::Label(table) => u64::from(table >> (inputs[0] & 1 | (inputs[1] & 1) << 1) & 1),
            NodeOp::Join | NodeOp::Delay(_) => inputs[0],
            NodeOp::Next(to) => {
                if inputs[0] & 1 == 1 {
                    next = Some(to.0 as usize);
                }
                0
            }
            NodeOp::Access(_) if inputs[2] & 1 == 0 => 0,
            NodeOp::Access(access) => match (access.target, access.kind) {
                (Target::Live(place), AccessKind::Load) => {
                    live[place.0 as usize].expect("a live value is stored before it is loaded")
                }
                (Target::Live(place), _) => {
                    let kept = if access.bytes == 8 { u64::MAX } else { (1 << (8 * access.bytes)) - 1 };
                    live[place.0 as usize] = Some(inputs[1] & kept);
                    1
                }
                (Target::Space(_), kind) => {
                    // Few places, so that loads find what was stored.
                    let address = (inputs[0] + of(&access.base[0]) + of(&access.base[1])) % 5;
                    if kind == AccessKind::Load {
                        let value = done.memory.get(&address).copied().unwrap_or(address * 77);
                        done.loads.push((address, value));
                        value
                    } else {
                        done.memory.insert(address, inputs[1] & 0xffff_ffff);
                        done.stores.push((address, inputs[1] & 0xffff_ffff));
                        1
                    }
                }
            },
        });
    }
    next
}
