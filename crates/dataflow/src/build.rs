//! From a kernel to the graphs of its regions.
//!
//! Both sides of a branch are in the graph and compute (section 4.5). What differs is chosen where they meet, by
//! selections for the phi nodes of static single assignment; a label, the condition under which a thread reaches a
//! block, enables the block's memory accesses. Values that live from region to region are stored to memory and
//! loaded again (section 4.6).

use crate::flow::{Exit, Flow};
use crate::graph::{
    Access, AccessKind, Dataflow, Input, LiveId, NodeId, NodeOp, Region, RegionId, Target, ThreadValue,
};
use crate::groups::{Anew, GroupId, Groups, constant, truth};
use crate::nodes::{Nodes, Truth, without_dead};
use crate::order::Order;
use crate::refusal::{Refusal, refusal};
use exec::access::Address;
use exec::function::Function;
use exec::int::Int2;
use exec::kernel::Kernel;
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::Use;
use isa::{CacheOp, Pc, Space};
use std::collections::HashMap;

/// The graphs of `kernel`, which must be of PTX.
///
/// # Errors
/// All reasons why it cannot be mapped.
pub fn dataflow(kernel: &Kernel) -> Result<Dataflow, Vec<Refusal>> {
    if kernel.is_machine_code() {
        return Err(vec![Refusal::new(kernel, 0, "graphs are made of PTX, not of machine code")]);
    }
    let flow = Flow::of(kernel);
    let reached = flow.blocks.iter().flat_map(|b| b.code.start..b.code.end + u32::from(b.ends_at_barrier));
    let refusals: Vec<Refusal> = reached.filter_map(|pc| refusal(kernel, pc)).collect();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut nodes = Nodes::default();
    let Some(groups) = Groups::of(kernel, &flow, &mut nodes) else {
        return Err(vec![Refusal::new(
            kernel,
            0,
            "a register is a part of two different pairs: map virtual registers",
        )]);
    };
    let mut live = Live::default();
    let mut regions = Vec::new();
    for (region, &full) in full_regions(&flow).iter().enumerate() {
        let mut builder = Builder {
            kernel,
            flow: &flow,
            groups: &groups,
            live: &mut live,
            nodes: &mut nodes,
            region,
            enabled: Truth::TRUE,
            conditions: HashMap::new(),
            ends: HashMap::new(),
            loaded: HashMap::new(),
        };
        regions.push(builder.region(full));
    }
    let regions = without_empty(regions);
    Ok(Dataflow {
        name: kernel.name().to_owned(),
        regions,
        uniforms: nodes.uniforms.0,
        live: live.bytes,
        static_shared: kernel.static_shared,
        local_bytes: kernel.local_bytes,
    })
}

/// Regions that all threads pass that have not ended, exactly once: what is before the first branch out of a region.
fn full_regions(flow: &Flow) -> Vec<bool> {
    let mut full = vec![false; flow.heads.len()];
    let entered_from = |head: usize| &flow.predecessors[head];
    full[0] = entered_from(flow.heads[0]).is_empty();
    for r in 1..full.len() {
        if let [p] = entered_from(flow.heads[r])[..] {
            let from = flow.region_of[p];
            let blocks = || (0..flow.blocks.len()).filter(|&b| flow.region_of[b] == from);
            let leaves = |b: usize| flow.blocks[b].exit.targets().into_iter().filter(move |&t| flow.leaves(b, t));
            let ends = |b: usize| matches!(flow.blocks[b].exit, Exit::End | Exit::If(_, [None, _] | [_, None]));
            full[r] = from < r && full[from] && blocks().flat_map(leaves).count() == 1 && !blocks().any(ends);
        }
    }
    full
}

/// Places in memory of the values that live from region to region.
#[derive(Debug, Default)]
struct Live {
    place: HashMap<GroupId, LiveId>,
    bytes: Vec<u8>,
}

impl Live {
    fn place(&mut self, group: GroupId, columns: u8) -> LiveId {
        *self.place.entry(group).or_insert_with(|| {
            self.bytes.push(match columns {
                0 => 1,
                n => 4 * n,
            });
            LiveId(self.bytes.len() as u32 - 1)
        })
    }
}

/// A column: a value, or half of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// 32 bits, or the lower 32 of 64.
    Low(Input),
    High(Input),
}

/// The values of columns and predicates at a place; absent before they are written.
#[derive(Clone, Debug, Default)]
struct Values {
    columns: HashMap<u16, Part>,
    predicates: HashMap<u16, Input>,
}

/// What is known at the end of a block.
#[derive(Clone, Debug, Default)]
struct Ending {
    values: Values,
    order: Order,
}

struct Builder<'a> {
    kernel: &'a Kernel,
    flow: &'a Flow,
    groups: &'a Groups,
    live: &'a mut Live,
    nodes: &'a mut Nodes,
    region: usize,
    /// Whether a thread takes part in the region.
    enabled: Truth,
    /// The conditions under which a block is reached from another that dominates it.
    conditions: HashMap<(usize, usize), Truth>,
    ends: HashMap<usize, Ending>,
    /// Loads of live values, by group.
    loaded: HashMap<GroupId, NodeId>,
}

impl Builder<'_> {
    fn region(&mut self, full: bool) -> Region {
        self.nodes.list.clear();
        if !full {
            self.enabled = Truth::of(self.nodes.inject(ThreadValue::Live));
        }
        let head = self.flow.heads[self.region];
        let blocks: Vec<usize> =
            (head..self.flow.blocks.len()).filter(|&b| self.flow.region_of[b] == self.region).collect();
        for &b in &blocks {
            let mut now = if b == head { self.entry(head) } else { self.merged(b) };
            let here = self.absolute(b);
            for pc in self.flow.blocks[b].code.clone() {
                self.instruction(pc, here, &mut now);
            }
            self.ends.insert(b, now);
        }
        let (successors, always) = self.leave(&blocks);
        let at = &self.flow.blocks[head];
        let after_barrier = self.flow.predecessors[head].iter().any(|&p| self.flow.blocks[p].ends_at_barrier);
        let nodes = without_dead(std::mem::take(&mut self.nodes.list), has_effect);
        Region { nodes, successors, always, after_barrier, entry: Pc(at.code.start) }
    }

    /// Values at the head: loaded from memory, or made anew.
    fn entry(&mut self, head: usize) -> Ending {
        let mut now = Ending::default();
        if self.flow.predecessors[head].is_empty() {
            return now;
        }
        for group in (0..self.groups.len()).filter(|&g| self.groups.live[head][g]) {
            let columns = self.groups.columns[group];
            let value = match self.groups.anew[group] {
                Some(Anew::Uniform(input)) => input,
                Some(Anew::Thread(value)) => self.nodes.inject(value),
                None => {
                    let bytes = if columns == 0 { 1 } else { 4 * columns };
                    let access = Access {
                        kind: AccessKind::Load,
                        target: Target::Live(self.live.place(group, columns)),
                        bytes,
                        signed: false,
                        register_bits: 32 * columns.max(1),
                        base: [Input::Immediate(0); 2],
                    };
                    let enable = self.nodes.inject(ThreadValue::Live);
                    let inputs = vec![Input::Immediate(0), Input::Immediate(0), enable];
                    let node = self.nodes.add(NodeOp::Access(access), inputs, None);
                    self.loaded.insert(group, node);
                    Input::Token(node)
                }
            };
            self.set_group(&mut now.values, group, value);
        }
        now
    }

    fn set_group(&self, values: &mut Values, group: GroupId, value: Input) {
        let first = self.groups.first[group];
        match self.groups.columns[group] {
            0 => {
                let number = group - self.groups.of_predicate(Pred(0)).unwrap_or(group);
                values.predicates.insert(number as u16, value);
            }
            n => write(values, Reg(first), n, value),
        }
    }

    /// The values of a group, if it has been written.
    fn group(&mut self, values: &Values, group: GroupId) -> Option<Input> {
        let first = self.groups.first[group];
        match self.groups.columns[group] {
            0 => {
                let number = group - self.groups.of_predicate(Pred(0)).unwrap_or(group);
                values.predicates.get(&(number as u16)).copied()
            }
            n => self.register(values, Reg(first), n),
        }
    }

    // Conditions.

    /// The block's immediate dominator within the region.
    fn dominator(&self, block: usize) -> usize {
        let head = self.flow.heads[self.region];
        let mut candidate = block;
        // Blocks are few: walk up by the rule that the dominator is the latest block that is on all ways.
        loop {
            candidate -= 1;
            if candidate == head || self.flow.region_of[candidate] == self.region && self.cuts(candidate, head, block) {
                return candidate;
            }
        }
    }

    /// Whether every way from `from` to `to` within the region passes `middle`.
    fn cuts(&self, middle: usize, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.flow.blocks.len()];
        let mut work = vec![from];
        while let Some(b) = work.pop() {
            if b == to {
                return false;
            }
            if b == middle || std::mem::replace(&mut seen[b], true) {
                continue;
            }
            work.extend(self.flow.blocks[b].exit.targets().into_iter().filter(|&t| !self.flow.leaves(b, t)));
        }
        true
    }

    /// Whether every thread that is at `from` comes to `to` before it leaves the region.
    fn surely(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.flow.blocks.len()];
        let mut work = vec![from];
        while let Some(b) = work.pop() {
            if b == to || std::mem::replace(&mut seen[b], true) {
                continue;
            }
            let exit = &self.flow.blocks[b].exit;
            let ends = matches!(exit, Exit::End | Exit::If(_, [None, _] | [_, None]));
            let targets = exit.targets();
            if ends || targets.iter().any(|&t| self.flow.leaves(b, t)) {
                return false;
            }
            work.extend(targets);
        }
        true
    }

    /// The condition under which a thread at the end of `from` continues at `to`; `None` is the end of the thread.
    fn edge(&mut self, from: usize, to: Option<usize>) -> Truth {
        match &self.flow.blocks[from].exit {
            Exit::If(p, [yes, no]) if yes != no => {
                let value = self.predicate(&self.ends[&from].values.clone(), *p);
                let taken = truth(*p, value);
                if *yes == to { taken } else { taken.not() }
            }
            _ => Truth::TRUE,
        }
    }

    /// The condition under which a thread that is at `from`, which dominates `to`, comes to `to`.
    fn condition(&mut self, from: usize, to: usize) -> Truth {
        if from == to {
            return Truth::TRUE;
        }
        if let Some(&known) = self.conditions.get(&(from, to)) {
            return known;
        }
        let dominator = self.dominator(to);
        let condition = if dominator != from {
            let first = self.condition(from, dominator);
            let then = self.condition(dominator, to);
            self.nodes.and(first, then)
        } else if self.surely(from, to) {
            Truth::TRUE
        } else {
            let mut any = Truth::FALSE;
            for p in self.flow.predecessors[to].clone() {
                let way = self.way(from, p, to);
                any = self.nodes.or(any, way);
            }
            any
        };
        self.conditions.insert((from, to), condition);
        condition
    }

    /// The condition under which a thread that is at `from` comes to `to` over block `over`.
    fn way(&mut self, from: usize, over: usize, to: usize) -> Truth {
        let (there, edge) = (self.condition(from, over), self.edge(over, Some(to)));
        self.nodes.and(there, edge)
    }

    /// The condition under which a thread comes to `block`: its label.
    fn absolute(&mut self, block: usize) -> Truth {
        let condition = self.condition(self.flow.heads[self.region], block);
        self.nodes.and(self.enabled, condition)
    }

    /// Values where ways meet.
    fn merged(&mut self, block: usize) -> Ending {
        let from = self.flow.predecessors[block].clone();
        let mut now = self.ends[&from[from.len() - 1]].clone();
        let dominator = self.dominator(block);
        for &p in from[..from.len() - 1].iter().rev() {
            let way = self.way(dominator, p, block);
            let other = self.ends[&p].clone();
            for (&column, &theirs) in &sorted(&other.values.columns) {
                let both = match now.values.columns.get(&column) {
                    None => theirs,
                    Some(&mine) if mine == theirs => continue,
                    Some(&mine) => self.select_part(way, theirs, mine),
                };
                now.values.columns.insert(column, both);
            }
            for (&number, &theirs) in &sorted(&other.values.predicates) {
                let both = match now.values.predicates.get(&number) {
                    None => theirs,
                    Some(&mine) => self.nodes.select(way, theirs, mine),
                };
                now.values.predicates.insert(number, both);
            }
            now.order.join(&other.order);
        }
        now
    }

    fn select_part(&mut self, way: Truth, a: Part, b: Part) -> Part {
        match (a, b) {
            (Part::Low(a), Part::Low(b)) => Part::Low(self.nodes.select(way, a, b)),
            (Part::High(a), Part::High(b)) => Part::High(self.nodes.select(way, a, b)),
            _ => {
                let [a, b] = [a, b].map(|part| self.word(part));
                Part::Low(self.nodes.select(way, a, b))
            }
        }
    }

    // Operands.

    /// A column as a value of 32 bits.
    fn word(&mut self, part: Part) -> Input {
        match part {
            Part::Low(input) => input,
            Part::High(input) => {
                let op = Op::Unpack { d: [None, Some(Reg(2)), None, None], s: Reg(0), parts: 2, bits: 32 };
                self.helper(&op, vec![input])
            }
        }
    }

    /// An operation that no instruction asks for.
    fn helper(&mut self, op: &Op, inputs: Vec<Input>) -> Input {
        let (functions, _) = Function::of(op).expect("it only computes");
        self.nodes.apply(&functions[0].1, inputs, Pc(0))
    }

    /// The value of a register or constant; `None` if it has not been written.
    fn register(&mut self, values: &Values, r: Reg, columns: u8) -> Option<Input> {
        if r.is_constant() {
            return Some(Input::Immediate(constant(self.kernel, r, columns)));
        }
        let column = |k: u16| values.columns.get(&(r.0 + k)).copied();
        match columns {
            1 => {
                let part = column(0)?;
                Some(self.word(part))
            }
            _ => match (column(0)?, column(1)?) {
                (Part::Low(low), Part::High(high)) if low == high => Some(low),
                (low, high) => {
                    let words = [self.word(low), self.word(high)];
                    let op = Op::Pack { d: Reg(4), s: [Reg(0), Reg(1), Reg(2), Reg(3)], parts: 2, bits: 32 };
                    Some(self.helper(&op, words.to_vec()))
                }
            },
        }
    }

    /// The value of a predicate, whether or not it is negated.
    fn predicate(&mut self, values: &Values, p: Pred) -> Input {
        match p.number() {
            None => Input::Immediate(1),
            // What has never been written is as good as false.
            Some(n) => values.predicates.get(&n).copied().unwrap_or(Input::Immediate(0)),
        }
    }

    fn guard(&mut self, values: &Values, p: Pred) -> Truth {
        let value = self.predicate(values, p);
        truth(p, value)
    }

    fn operand(&mut self, values: &Values, operand: Use) -> Input {
        match operand {
            Use::Read(r, n) => self.register(values, r, n).unwrap_or(Input::Immediate(0)),
            Use::ReadPred(p) => self.predicate(values, p),
            _ => unreachable!("operands are read"),
        }
    }

    /// Writes a register under a guard.
    fn write_guarded(&mut self, values: &mut Values, guard: Truth, r: Reg, columns: u8, value: Input) {
        let value = match self.register(values, r, columns) {
            Some(old) if guard != Truth::TRUE => self.nodes.select(guard, value, old),
            _ => value,
        };
        write(values, r, columns, value);
    }

    fn write_predicate(&mut self, values: &mut Values, guard: Truth, p: Pred, value: Input) {
        let Some(number) = p.number() else { return };
        let value = match values.predicates.get(&number).copied() {
            Some(old) if guard != Truth::TRUE => self.nodes.select(guard, value, old),
            _ => value,
        };
        values.predicates.insert(number, value);
    }

    // Instructions.

    /// Adds the nodes of the instruction at `pc`, in a block that is reached under the condition `here`.
    fn instruction(&mut self, pc: u32, here: Truth, now: &mut Ending) {
        let code = &self.kernel.code[pc as usize];
        let guard = self.guard(&now.values.clone(), code.guard);
        match &code.op {
            Op::Special(special, d) => {
                let group = self.groups.of_register(*d);
                let value = match (self.groups.anew[group], crate::groups::thread_value(*special)) {
                    (Some(Anew::Uniform(input)), _) => input,
                    (_, Some(value)) => self.nodes.inject(value),
                    _ => match crate::groups::uniform_of(*special) {
                        Some(uniform) => self.nodes.uniforms.get(uniform),
                        None => Input::Immediate((*special == exec::special::Special::One).into()),
                    },
                };
                self.write_guarded(&mut now.values, guard, *d, 1, value);
            }
            Op::FrameAddress { d, offset, wide } => {
                let value = Input::Immediate(u64::from(*offset));
                self.write_guarded(&mut now.values, guard, *d, 1 + u8::from(*wide), value);
            }
            Op::Load(t) if t.space == Space::Param => {
                for (k, r) in t.registers.iter().take(t.format.count.into()).enumerate() {
                    let base = constant(self.kernel, t.address.base, 1 + u8::from(t.address.wide));
                    let place = base.wrapping_add(t.address.offset as u64) as u32;
                    let value = self.nodes.uniforms.get(crate::graph::Uniform::Param {
                        offset: place + k as u32 * u32::from(t.format.bytes),
                        bytes: t.format.bytes,
                        signed: t.format.signed,
                        register_bits: t.format.register_bits,
                    });
                    self.write_guarded(&mut now.values, guard, *r, t.format.columns(), value);
                }
            }
            Op::Load(t) | Op::Store(t) => {
                let stores = matches!(code.op, Op::Store(_));
                let enable = self.nodes.and(here, guard);
                let cache = self.kernel.program.inst(Pc(pc)).mem.map_or(CacheOp::All, |m| m.cache);
                let (address, base) = self.address(&now.values.clone(), t.address);
                for (k, r) in t.registers.iter().take(t.format.count.into()).enumerate() {
                    let data = if stores {
                        self.register(&now.values.clone(), *r, t.format.columns()).unwrap_or(Input::Immediate(0))
                    } else {
                        Input::Immediate(0)
                    };
                    let offset = (k * usize::from(t.format.bytes)) as u64;
                    let access = Access {
                        kind: if stores { AccessKind::Store } else { AccessKind::Load },
                        target: Target::Space(t.space),
                        bytes: t.format.bytes,
                        signed: t.format.signed,
                        register_bits: t.format.register_bits,
                        base: with_offset(base, offset),
                    };
                    let ordered = (cache != CacheOp::ReadOnly).then_some(t.space);
                    let node = self.access(access, [address, data], enable, ordered, pc, &mut now.order);
                    if !stores {
                        self.write_guarded(&mut now.values, guard, *r, t.format.columns(), Input::Token(node));
                    }
                }
            }
            Op::Atomic(a) => {
                let enable = self.nodes.and(here, guard);
                let columns = 1 + u8::from(a.ty.bytes() == 8);
                let (address, base) = self.address(&now.values.clone(), a.address);
                let data = self.register(&now.values.clone(), a.b, columns).unwrap_or(Input::Immediate(0));
                let access = Access {
                    kind: AccessKind::Atomic(code.op),
                    target: Target::Space(a.space),
                    bytes: a.ty.bytes(),
                    signed: false,
                    register_bits: 32 * columns,
                    base,
                };
                let node = self.access(access, [address, data], enable, Some(a.space), pc, &mut now.order);
                if let Some(d) = a.d {
                    self.write_guarded(&mut now.values, guard, d, columns, Input::Token(node));
                }
            }
            Op::Fence | Op::FenceCta => now.order.fence(),
            op => self.compute(op, pc, guard, &mut now.values),
        }
    }

    fn compute(&mut self, op: &Op, pc: u32, guard: Truth, values: &mut Values) {
        let Some((functions, operands)) = Function::of(op) else { return };
        let inputs: Vec<Input> = operands.iter().map(|u| self.operand(values, *u)).collect();
        for (to, function) in &functions {
            let value = self.nodes.apply(function, inputs.clone(), Pc(pc));
            match *to {
                Use::Write(r, n) => self.write_guarded(values, guard, r, n, value),
                Use::WritePred(p) => self.write_predicate(values, guard, p, value),
                _ => unreachable!("results are written"),
            }
        }
    }

    /// The address token of an access, and what its unit adds to it.
    fn address(&mut self, values: &Values, a: Address) -> (Input, [Input; 2]) {
        let mut token = self.register(values, a.base, 1 + u8::from(a.wide)).unwrap_or(Input::Immediate(0));
        let (mut offset, mut uniform) = (a.offset as u64, None);
        loop {
            match token {
                Input::Immediate(x) => {
                    offset = offset.wrapping_add(x);
                    token = Input::Immediate(0);
                    break;
                }
                Input::Uniform(_) if uniform.is_none() => {
                    uniform = Some(token);
                    token = Input::Immediate(0);
                    break;
                }
                _ => {}
            }
            let Some(node) = self.nodes.node(token) else { break };
            let NodeOp::Apply(function) = &node.op else { break };
            let (Op::Int2(Int2::Add64, ..), [x, y]) = (function.op(), &node.inputs[..]) else { break };
            let (x, y) = if matches!(x, Input::Token(_)) { (*x, *y) } else { (*y, *x) };
            match y {
                Input::Immediate(n) => offset = offset.wrapping_add(n),
                Input::Uniform(_) if uniform.is_none() => uniform = Some(y),
                _ => break,
            }
            token = x;
        }
        (token, [Input::Immediate(offset), uniform.unwrap_or(Input::Immediate(0))])
    }

    /// Adds an access that is performed where `enable` holds, after those that it must wait for.
    fn access(
        &mut self,
        access: Access,
        [address, data]: [Input; 2],
        enable: Truth,
        space: Option<Space>,
        pc: u32,
        order: &mut Order,
    ) -> NodeId {
        let writes = access.kind != AccessKind::Load;
        let before = space.map(|space| order.before(space, writes)).unwrap_or_default();
        // Where the address or the data come from it, they are the order.
        let waits: Vec<NodeId> = before
            .into_iter()
            .filter(|&node| !self.nodes.depends(address, node) && !self.nodes.depends(data, node))
            .collect();
        let mut token = self.nodes.value(enable);
        for node in waits {
            if !self.nodes.depends(token, node) {
                token = self.after(token, node);
            }
        }
        let has_token = [address, data, token].iter().any(|i| matches!(i, Input::Token(_)));
        if !has_token {
            // A unit fires when a token arrives: the thread itself.
            let live = self.nodes.inject(ThreadValue::Live);
            let live = Truth::of(live);
            let both = self.nodes.and(Truth::of(token), live);
            token = self.nodes.value(both);
        }
        let node = self.nodes.add(NodeOp::Access(access), vec![address, data, token], Some(Pc(pc)));
        if let Some(space) = space {
            order.add(space, writes, node);
        }
        node
    }

    /// The value `enable`, after `node` has been performed.
    fn after(&mut self, enable: Input, node: NodeId) -> Input {
        let earlier = &self.nodes.list[node.index()];
        let is_store = matches!(&earlier.op, NodeOp::Access(a) if a.kind == AccessKind::Store);
        // A store passes its own enable on: along a chain of accesses under one label.
        if is_store && (earlier.inputs[2] == enable || self.same_enable(node, enable)) {
            return Input::Token(node);
        }
        Input::Token(self.nodes.add(NodeOp::Join, vec![enable, Input::Token(node)], None))
    }

    /// Whether the result of store `node` is the value `enable`.
    fn same_enable(&self, node: NodeId, enable: Input) -> bool {
        let mut input = self.nodes.list[node.index()].inputs[2];
        while let Some(earlier) = self.nodes.node(input) {
            input = match &earlier.op {
                NodeOp::Join => earlier.inputs[0],
                NodeOp::Access(a) if a.kind == AccessKind::Store => earlier.inputs[2],
                _ => break,
            };
            if input == enable {
                return true;
            }
        }
        input == enable
    }

    // The end of the region.

    /// Stores what lives on and says where threads continue.
    fn leave(&mut self, blocks: &[usize]) -> (Vec<RegionId>, Option<RegionId>) {
        // Edges out of the region: from, to, condition.
        let mut edges: Vec<(usize, Option<usize>, Truth)> = Vec::new();
        for &b in blocks {
            let exit = self.flow.blocks[b].exit.clone();
            let mut to: Vec<Option<usize>> = exit.targets().into_iter().map(Some).collect();
            if matches!(exit, Exit::End | Exit::If(_, [None, _] | [_, None])) {
                to.push(None);
            }
            for t in to {
                if t.is_none_or(|t| self.flow.leaves(b, t)) {
                    let (here, edge) = (self.absolute(b), self.edge(b, t));
                    let condition = self.nodes.and(here, edge);
                    edges.push((b, t, condition));
                }
            }
        }
        self.store_live(&edges);
        let region_of = |t: Option<usize>| t.map(|t| RegionId(self.flow.region_of[t] as u32));
        let mut successors: Vec<RegionId> = edges.iter().filter_map(|e| region_of(e.1)).collect();
        successors.sort_unstable();
        successors.dedup();
        let ends = edges.iter().any(|e| e.1.is_none());
        if let [one] = successors[..]
            && !ends
        {
            return (successors, Some(one));
        }
        for &successor in &successors {
            let mut any = Truth::FALSE;
            for &(_, to, condition) in &edges {
                if region_of(to) == Some(successor) {
                    any = self.nodes.or(any, condition);
                }
            }
            let mut predicate = self.nodes.value(any);
            if !matches!(predicate, Input::Token(_)) {
                let live = self.nodes.inject(ThreadValue::Live);
                let both = self.nodes.and(Truth::of(predicate), Truth::of(live));
                predicate = self.nodes.value(both);
            }
            if predicate != Input::Immediate(0) {
                self.nodes.add(NodeOp::Next(successor), vec![predicate], None);
            }
        }
        (successors, None)
    }

    fn store_live(&mut self, edges: &[(usize, Option<usize>, Truth)]) {
        for group in 0..self.groups.len() {
            if self.groups.anew[group].is_some() {
                continue;
            }
            let loaded = self.loaded.get(&group).map(|&node| Input::Token(node));
            let mut enable = Truth::FALSE;
            let mut value: Option<Input> = None;
            for &(from, to, condition) in edges {
                if !to.is_some_and(|t| self.groups.live[t][group]) {
                    continue;
                }
                let values = self.ends[&from].values.clone();
                let Some(here) = self.group(&values, group).filter(|v| Some(*v) != loaded) else { continue };
                value = Some(match value {
                    None => here,
                    Some(other) => self.nodes.select(condition, here, other),
                });
                enable = self.nodes.or(enable, condition);
            }
            let Some(value) = value else { continue };
            let columns = self.groups.columns[group];
            let bytes = if columns == 0 { 1 } else { 4 * columns };
            let access = Access {
                kind: AccessKind::Store,
                target: Target::Live(self.live.place(group, columns)),
                bytes,
                signed: false,
                register_bits: 32 * columns.max(1),
                base: [Input::Immediate(0); 2],
            };
            let mut token = self.nodes.value(enable);
            // What was loaded from the place has been loaded before it is overwritten.
            if let Some(&load) = self.loaded.get(&group)
                && !self.nodes.depends(value, load)
                && !self.nodes.depends(token, load)
            {
                token = Input::Token(self.nodes.add(NodeOp::Join, vec![token, Input::Token(load)], None));
            }
            if ![value, token].iter().any(|i| matches!(i, Input::Token(_))) {
                let live = self.nodes.inject(ThreadValue::Live);
                let both = self.nodes.and(Truth::of(token), Truth::of(live));
                token = self.nodes.value(both);
            }
            self.nodes.add(NodeOp::Access(access), vec![Input::Immediate(0), value, token], None);
        }
    }
}

/// A map in the order of its keys: nodes are made in the same order in each run.
fn sorted<K: Ord + Copy, V: Copy>(map: &HashMap<K, V>) -> std::collections::BTreeMap<K, V> {
    map.iter().map(|(k, v)| (*k, *v)).collect()
}

fn write(values: &mut Values, r: Reg, columns: u8, value: Input) {
    values.columns.insert(r.0, Part::Low(value));
    if columns == 2 {
        values.columns.insert(r.0 + 1, Part::High(value));
    }
}

fn with_offset([first, uniform]: [Input; 2], offset: u64) -> [Input; 2] {
    match first {
        Input::Immediate(x) => [Input::Immediate(x.wrapping_add(offset)), uniform],
        _ => [first, uniform],
    }
}

/// The regions that do something: what only continues, or ends, is left out. The first one stays.
fn without_empty(mut regions: Vec<Region>) -> Vec<Region> {
    let does = |r: &Region| !r.nodes.is_empty() || r.after_barrier;
    // Where threads come to that continue in each region; none if they end.
    let to: Vec<Option<usize>> = (0..regions.len())
        .map(|r| {
            let mut at = Some(r);
            let mut steps = 0;
            while let Some(r) = at
                && !does(&regions[r])
                && steps < regions.len()
            {
                at = regions[r].always.map(|next| next.0 as usize);
                steps += 1;
            }
            at
        })
        .collect();
    let kept = |r: usize| r == 0 || does(&regions[r]);
    let mut number = vec![None; regions.len()];
    (0..regions.len()).filter(|&r| kept(r)).enumerate().for_each(|(n, r)| number[r] = Some(RegionId(n as u32)));
    let renumbered = |r: RegionId| to[r.0 as usize].and_then(|r| number[r]);
    for region in &mut regions {
        region.always = region.always.and_then(renumbered);
        region.successors = region.successors.iter().copied().filter_map(renumbered).collect();
        region.successors.sort_unstable();
        region.successors.dedup();
        region.nodes.iter_mut().for_each(|node| {
            if let NodeOp::Next(r) = node.op {
                // Of what ends nothing must be said; the node is taken out below.
                node.op = renumbered(r).map_or(NodeOp::Join, NodeOp::Next);
            }
        });
        region.nodes = without_dead(std::mem::take(&mut region.nodes), has_effect);
    }
    regions.into_iter().enumerate().filter(|(r, _)| number[*r].is_some()).map(|(_, region)| region).collect()
}

/// Whether a node is needed for what it does: a load is not.
fn has_effect(op: &NodeOp) -> bool {
    match op {
        NodeOp::Next(_) => true,
        NodeOp::Access(access) => access.kind != AccessKind::Load,
        _ => false,
    }
}
