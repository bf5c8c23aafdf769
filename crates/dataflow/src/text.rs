//! Graphs as text, one node a line: for golden tests and for people.
//!
//! ```text
//! region 0, from @0: then 1, 2 or the end
//!   n0 = tid.x
//!   n1 = IntAdd Add32(n0, 4)                @3
//! ```

use crate::fabric::{Fabric, Unit};
use crate::graph::{
    Access, AccessKind, Dataflow, Input, LiveId, Node, NodeId, NodeOp, Region, Target, ThreadValue, Uniform,
};
use crate::mapping::{Mapped, Mapping};
use exec::float::Modifiers;
use exec::function::Function;
use exec::op::Op;
use isa::{Pc, Space};
use std::fmt::Write;

/// Column at which instructions are named.
const COLUMN: usize = 56;

/// A kernel.
pub fn dataflow(dataflow: &Dataflow) -> String {
    kernel(dataflow, dataflow.regions.iter().map(|of| region(of, |i| of.nodes[i].pc.map_or(String::new(), at))))
}

/// A kernel on a fabric: each node with its place, the nodes that take its result, each after the links on the
/// route to it, and what `source` says of its instruction.
pub fn mapped(mapped: &Mapped, fabric: &Fabric, source: &dyn Fn(Pc) -> String) -> String {
    let of = |mapping: &Mapping| {
        region(&mapping.region, |i| {
            let id = NodeId(i as u32);
            let unit = mapping.units[i].map_or(String::new(), |unit| {
                let Unit { column, row, .. } = fabric.unit(unit);
                format!("at {column},{row}")
            });
            let routes = mapping.routes.iter().filter(|r| r.from == id);
            let mut routes: Vec<String> = routes.map(|r| format!("{}>n{}", r.links.len(), r.to.0)).collect();
            // A node may take a value at two ports.
            routes.dedup();
            let source = mapping.region.nodes[i].pc.map_or(String::new(), source);
            format!("{unit:8} {source:10} {}", routes.join(" "))
        })
    };
    kernel(&mapped.dataflow, mapped.mappings.iter().map(of))
}

/// A kernel whose regions have the texts `regions`.
fn kernel(dataflow: &Dataflow, regions: impl Iterator<Item = String>) -> String {
    let mut out = format!("kernel {}\n", dataflow.name);
    if dataflow.static_shared > 0 {
        line(&mut out, &format!("  shared: {} bytes of a CTA", dataflow.static_shared));
    }
    if dataflow.local_bytes > 0 {
        line(&mut out, &format!("  local: {} bytes of a thread", dataflow.local_bytes));
    }
    for (i, value) in dataflow.uniforms.iter().enumerate() {
        line(&mut out, &format!("  u{i} = {}", uniform(value)));
    }
    for (i, bytes) in dataflow.live.iter().enumerate() {
        line(&mut out, &format!("  {}: {bytes} bytes of a thread", live(LiveId(i as u32))));
    }
    for (i, (of, text)) in dataflow.regions.iter().zip(regions).enumerate() {
        let barrier = if of.after_barrier { ", after a barrier" } else { "" };
        line(&mut out, &format!("region {i}, from {}{barrier}: {}", at(of.entry), next(of)));
        out.push_str(&text);
    }
    out
}

/// Where the threads of a region continue.
pub fn next(region: &Region) -> String {
    let next: Vec<String> = region.successors.iter().map(|r| r.0.to_string()).collect();
    match (region.always, &next[..]) {
        (Some(always), _) => format!("then {}", always.0),
        (None, []) => "the end".to_owned(),
        (None, some) => format!("then {} or the end", some.join(", ")),
    }
}

/// The nodes of a region, each with a note.
fn region(region: &Region, note: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for (i, of) in region.nodes.iter().enumerate() {
        let text = format!("  n{i} = {}", node(of));
        line(&mut out, format!("{text:COLUMN$} {}", note(i)).trim_end());
    }
    out
}

/// A node with its inputs.
pub fn node(node: &Node) -> String {
    let mut inputs: Vec<String> = node.inputs.iter().map(|i| input(*i)).collect();
    if let NodeOp::Access(access) = &node.op {
        return access_with(access, &inputs);
    }
    match (&node.op, &inputs[..]) {
        (NodeOp::Select, [condition, yes, no]) => return format!("select({condition} ? {yes} : {no})"),
        (NodeOp::Next(_), _) => inputs.insert(0, "if".to_owned()),
        (NodeOp::Inject(_), _) => return operation(&node.op),
        _ => {}
    }
    match &node.op {
        NodeOp::Next(_) => format!("{} {}", operation(&node.op), inputs.join(" ")),
        op => format!("{}({})", operation(op), inputs.join(", ")),
    }
}

/// Operation of a node, in a word or two.
pub fn operation(op: &NodeOp) -> String {
    match op {
        NodeOp::Inject(value) => thread_value(*value),
        NodeOp::Apply(of) => function(of),
        NodeOp::Select => "select".to_owned(),
        NodeOp::Label(table) => label(*table),
        NodeOp::Join => "join".to_owned(),
        NodeOp::Delay(firings) => format!("delay.{firings}"),
        NodeOp::Access(of) => access(of),
        NodeOp::Next(region) => format!("next {}", region.0),
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("strings take text");
}

fn at(pc: Pc) -> String {
    format!("@{}", pc.0)
}

fn live(id: LiveId) -> String {
    format!("live{}", id.0)
}

fn input(input: Input) -> String {
    match input {
        Input::Token(id) => format!("n{}", id.0),
        Input::Uniform(id) => format!("u{}", id.0),
        Input::Immediate(value) if value < 1 << 16 => value.to_string(),
        Input::Immediate(value) => format!("{value:#x}"),
    }
}

fn axis(axis: u8) -> char {
    ['x', 'y', 'z'].get(usize::from(axis)).copied().unwrap_or('?')
}

fn thread_value(value: ThreadValue) -> String {
    match value {
        ThreadValue::Tid(of) => format!("tid.{}", axis(of)),
        ThreadValue::Ctaid(of) => format!("ctaid.{}", axis(of)),
        ThreadValue::Live => "live".to_owned(),
    }
}

fn uniform(value: &Uniform) -> String {
    match value {
        Uniform::Param { offset, bytes, signed, register_bits } => {
            format!("param[{offset}].{}{} in {register_bits} bits", if *signed { 's' } else { 'u' }, 8 * bytes)
        }
        Uniform::Ntid(of) => format!("ntid.{}", axis(*of)),
        Uniform::Nctaid(of) => format!("nctaid.{}", axis(*of)),
        Uniform::Apply(of, inputs) => {
            let inputs: Vec<String> = inputs.iter().map(|i| input(*i)).collect();
            format!("{}({})", function(of), inputs.join(", "))
        }
        Uniform::Select([condition, yes, no]) => {
            format!("select({} ? {} : {})", input(*condition), input(*yes), input(*no))
        }
    }
}

/// A function of two predicates, a and b: the frequent ones by name.
fn label(table: u8) -> String {
    let name = match table & 15 {
        0b1000 => "and",
        0b1110 => "or",
        0b0110 => "xor",
        0b0101 | 0b0001 => "not",
        0b0010 => "and_not_b",
        0b0100 => "and_not_a",
        0b1011 => "or_not_b",
        0b1101 => "or_not_a",
        other => return format!("label.{other:04b}"),
    };
    format!("label.{name}")
}

fn access(access: &Access) -> String {
    let kind = match access.kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic(op) => return format!("atomic {}{}", place(access.target), operation_name(&op)),
    };
    let sign = if access.signed { 's' } else { 'u' };
    format!("{kind} {}.{sign}{}", place(access.target), 8 * u32::from(access.bytes))
}

fn place(target: Target) -> String {
    match target {
        Target::Live(id) => live(id),
        Target::Space(space) => match space {
            Space::Global => "global",
            Space::Local => "local",
            Space::Shared => "shared",
            Space::Constant => "constant",
            Space::Param => "param",
            Space::Generic => "generic",
            Space::Texture => "texture",
        }
        .to_owned(),
    }
}

fn access_with(of: &Access, inputs: &[String]) -> String {
    let mut address = vec![inputs[0].clone()];
    address.extend(of.base.iter().map(|i| input(*i)));
    address.retain(|term| term != "0");
    if address.is_empty() {
        address.push("0".to_owned());
    }
    let address = match of.target {
        Target::Live(_) => String::new(),
        Target::Space(_) => format!("[{}]", address.join(" + ")),
    };
    let data = if of.kind == AccessKind::Load { String::new() } else { format!(" = {}", inputs[1]) };
    let swap = inputs.get(3).map(|value| format!(", {value}")).unwrap_or_default();
    format!("{}{address}{data}{swap} if {}", access(of), inputs[2])
}

fn function(function: &Function) -> String {
    operation_name(function.op())
}

/// The name of an operation, with what distinguishes it but for its operands.
fn operation_name(op: &Op) -> String {
    match op {
        Op::Int1(op, ..) => format!("{op:?}"),
        Op::Int2(op, ..) => format!("{op:?}"),
        Op::Int3(op, ..) => format!("{op:?}"),
        Op::Int4(op, ..) => format!("{op:?}"),
        Op::Float1(op, m, ..) => format!("{op:?}{}", modifiers(m)),
        Op::Float2(op, m, ..) => format!("{op:?}{}", modifiers(m)),
        Op::Float3(op, m, ..) => format!("{op:?}{}", modifiers(m)),
        Op::Convert(op, ..) => format!("{op:?}"),
        Op::Lop3(_, _, table) => format!("Lop3.{table:02x}"),
        Op::Setp { test, .. } | Op::Set { test, .. } => {
            let ftz = if test.ftz { ".ftz" } else { "" };
            let name = if matches!(op, Op::Set { .. }) { "Set" } else { "Setp" };
            format!("{name}{:?}{:?}{ftz}", test.relation, test.ty)
        }
        other => {
            let text = format!("{other:?}");
            text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
        }
    }
}

/// The modifiers of a floating-point operation that are not the usual ones.
fn modifiers(m: &Modifiers) -> String {
    let usual = Modifiers::default();
    let mut out = String::new();
    if m.mode.round != usual.mode.round {
        write!(out, ".{:?}", m.mode.round).expect("strings take text");
    }
    let flags =
        [(m.mode.ftz, ".ftz"), (m.mode.sat, ".sat"), (m.nan, ".nan"), (m.xorsign_abs, ".xorsign"), (m.relu, ".relu")];
    flags.into_iter().filter(|(is_set, _)| *is_set).for_each(|(_, name)| out.push_str(name));
    out
}
