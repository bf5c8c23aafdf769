//! Bits of the configuration registers of a region (§5.2): what is loaded before its threads run.
//!
//! The paper says that each unit has a configuration register with opcode and destinations, and that switches are
//! configured, without sizes. Counted for the units and switches that a region uses:
//!
//! | register | bits |
//! | --- | --- |
//! | unit | 8 of opcode; for each of its 8 outgoing links, whether it sends there; for each port that takes tokens, which of 8 links it comes by; for each input that is configured, 64 of value |
//! | switch | for each of its 8 outgoing links, which of the 8 incoming ones it repeats, if any |
//! | injector | for each of its links, which value it sends: 4 |

use crate::fabric::{End, Fabric};
use crate::graph::{Input, Node, NodeOp};
use crate::mapping::{LinkId, Route};
use std::collections::BTreeSet;

const OPCODE: u64 = 8;
const UNIT_OUTPUTS: u64 = 8;
/// One of eight links.
const SOURCE: u64 = 3;
const VALUE: u64 = 64;
/// Bits of the register of a switch: eight links, each repeating one of eight or none.
pub const SWITCH: u64 = 8 * 4;
const INJECTED: u64 = 4;

/// Bits of the register of a unit with this many ports, each of which may be configured.
pub const fn register_bits(ports: u64) -> u64 {
    OPCODE + UNIT_OUTPUTS + (SOURCE + VALUE) * ports
}

/// Bits for nodes on units and their routes.
pub fn bits(nodes: &[Node], routes: &[Route], fabric: &Fabric) -> u64 {
    let units: u64 = nodes.iter().filter(|n| !matches!(n.op, NodeOp::Inject(_))).map(unit).sum();
    let links: BTreeSet<LinkId> = routes.iter().flat_map(|r| r.links.iter().copied()).collect();
    let (mut switches, mut injected) = (BTreeSet::new(), 0);
    for link in links {
        match fabric.link(link).from {
            End::Switch(column, row) => {
                switches.insert((column, row));
            }
            End::Injector => injected += 1,
            End::Unit(_) => {}
        }
    }
    units + switches.len() as u64 * SWITCH + injected * INJECTED
}

fn unit(node: &Node) -> u64 {
    let base: &[Input] = match &node.op {
        NodeOp::Access(access) => &access.base,
        _ => &[],
    };
    let is_value = |input: &&Input| !matches!(input, Input::Token(_) | Input::Immediate(0));
    let values = node.inputs.iter().chain(base).filter(is_value).count() as u64;
    OPCODE + UNIT_OUTPUTS + SOURCE * node.tokens().count() as u64 + VALUE * values
}
