//! Which units a graph needs, and whether a fabric has them (§4.6).

use crate::fabric::{Fabric, KINDS, UnitKind};
use crate::graph::{Node, NodeId, NodeOp, Region};
use exec::float::{Float1, Float2};
use exec::function::Function;
use exec::op::Op;
use isa::OpClass;
use std::fmt;

/// Number of units by kind.
pub type Counts = [usize; KINDS];

/// Classes of operations that special units execute, and no others (§4.2).
pub const SPECIAL_CLASSES: [OpClass; 4] = [OpClass::IntDiv, OpClass::FpDiv, OpClass::DpDiv, OpClass::Sfu];

/// The kind of unit that executes an operation; `None` for what the injector sends.
pub fn kind(op: &NodeOp) -> Option<UnitKind> {
    Some(match op {
        NodeOp::Inject(_) => return None,
        NodeOp::Apply(function) => kind_of_function(function),
        NodeOp::Select => UnitKind::Compute,
        NodeOp::Label(_) | NodeOp::Join | NodeOp::Delay(_) | NodeOp::Next(_) => UnitKind::Control,
        NodeOp::Access(_) => UnitKind::LoadStore,
    })
}

fn kind_of_function(function: &Function) -> UnitKind {
    let is_division = match function.op() {
        Op::Float1(op, ..) => matches!(
            op,
            Float1::RcpF32 | Float1::RcpApprox | Float1::RcpF64 | Float1::RcpApproxF64 | Float1::RcpHighF64
        ),
        Op::Float2(op, ..) => matches!(op, Float2::DivF64),
        _ => false,
    };
    match function.class() {
        OpClass::IntDiv => UnitKind::IntDivider,
        OpClass::FpDiv => UnitKind::FpDivider,
        OpClass::Sfu | OpClass::DpDiv if is_division => UnitKind::FpDivider,
        OpClass::Sfu | OpClass::DpDiv => UnitKind::Root,
        _ => UnitKind::Compute,
    }
}

/// Units that nodes need.
pub fn needs<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Counts {
    let mut counts = [0; KINDS];
    for kind in nodes.into_iter().filter_map(|node| kind(&node.op)) {
        counts[kind as usize] += 1;
    }
    counts
}

/// Why a graph does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it all")]
pub enum Misfit {
    /// More nodes of a kind than units.
    Units { kind: UnitKind, needed: usize, available: usize },
    /// A node takes more tokens than its unit has ports.
    Ports { node: NodeId, kind: UnitKind, tokens: usize },
    /// The units suffice, the links between them do not.
    Links { missing: usize },
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units { kind, needed, available } => {
                write!(f, "{} units: {needed} needed, {available} available", kind.name())
            }
            Self::Links { missing } => write!(f, "links: {missing} missing"),
            Self::Ports { node, kind, tokens } => {
                let ports = kind.ports();
                write!(f, "node n{} takes {tokens} tokens, and a {} unit has {ports} ports", node.0, kind.name())
            }
        }
    }
}

/// All reasons why a graph that needs `needed` units does not fit `available` ones.
pub fn shortages(needed: &Counts, available: &Counts) -> Vec<Misfit> {
    let of = |kind: UnitKind| (kind, needed[kind as usize], available[kind as usize]);
    UnitKind::ALL
        .into_iter()
        .map(of)
        .filter(|(_, needed, available)| needed > available)
        .map(|(kind, needed, available)| Misfit::Units { kind, needed, available })
        .collect()
}

/// All reasons why a region does not fit a fabric; none if it does.
pub fn misfits(region: &Region, fabric: &Fabric) -> Vec<Misfit> {
    let mut all = shortages(&needs(&region.nodes), &fabric.counts());
    all.extend(narrow_ports(region));
    all
}

/// Nodes that take more tokens than any unit of their kind: no partition helps them.
pub fn narrow_ports(region: &Region) -> impl Iterator<Item = Misfit> + '_ {
    region.nodes.iter().enumerate().filter_map(|(i, node)| {
        let (kind, tokens) = (kind(&node.op)?, node.tokens().count());
        (tokens > kind.ports()).then_some(Misfit::Ports { node: NodeId(i as u32), kind, tokens })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::FabricSpec;
    use crate::graph::{Input, ThreadValue};
    use exec::float::Modifiers;
    use exec::int::Int2;
    use exec::lanes::Reg;

    fn of(op: Op) -> Option<UnitKind> {
        let (functions, _) = Function::of(&op).unwrap();
        let (function, kind) = (functions[0].1, kind_of_function(&functions[0].1));
        let is_special = matches!(kind, UnitKind::IntDivider | UnitKind::FpDivider | UnitKind::Root);
        assert_eq!(SPECIAL_CLASSES.contains(&function.class()), is_special, "{op:?}");
        Some(kind)
    }

    #[test]
    fn divisions_roots_and_the_rest_have_their_units() {
        let (d, m) = (Reg(0), Modifiers::default());
        let one = |op| of(Op::Float1(op, m, d, [Reg(2)]));
        let two = |op| of(Op::Float2(op, m, d, [Reg(2), Reg(4)]));
        assert_eq!(of(Op::Int2(Int2::RemU32, d, [Reg(1), Reg(2)])), Some(UnitKind::IntDivider));
        assert_eq!(of(Op::Int2(Int2::MulLo32, d, [Reg(1), Reg(2)])), Some(UnitKind::Compute));
        for op in [Float1::RcpF32, Float1::RcpApprox, Float1::RcpF64] {
            assert_eq!(one(op), Some(UnitKind::FpDivider), "{op:?}");
        }
        for op in [Float1::SqrtF32, Float1::RsqrtApprox, Float1::SinApprox, Float1::SqrtF64] {
            assert_eq!(one(op), Some(UnitKind::Root), "{op:?}");
        }
        for op in [Float2::DivFull, Float2::DivF64] {
            assert_eq!(two(op), Some(UnitKind::FpDivider), "{op:?}");
        }
        assert_eq!(two(Float2::MulF64), Some(UnitKind::Compute));
    }

    #[test]
    fn a_misfit_says_how_much_is_missing() {
        let inject = Node { op: NodeOp::Inject(ThreadValue::Live), inputs: vec![], pc: None };
        let join = Node { op: NodeOp::Join, inputs: vec![Input::Token(NodeId(0)); 2], pc: None };
        let mut region = Region { nodes: vec![inject, join], ..Region::default() };
        let fabric = Fabric::new(FabricSpec { columns: 3, rows: 4, int_dividers: 0, roots: 0, ..FabricSpec::DEFAULT });
        let fabric = fabric.unwrap();
        assert_eq!(fabric.counts()[..2], [2, 0]);
        let message = |region: &Region| misfits(region, &fabric).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(message(&region), ["control units: 1 needed, 0 available"]);
        region.nodes[1] = Node { op: NodeOp::Select, inputs: vec![Input::Token(NodeId(0)); 3], pc: None };
        assert!(message(&region).is_empty());
        region.nodes[1].op = NodeOp::Next(crate::graph::RegionId(0));
        assert_eq!(message(&region)[1], "node n1 takes 3 tokens, and a control unit has 2 ports");
    }
}
