//! The nodes of an instruction.

use super::builder::{Builder, Ending};
use super::values::Values;
use crate::draft::copied;
use crate::graph::{Access, AccessKind, Input, NodeId, NodeOp, Target, Uniform};
use crate::groups::{Anew, constant, thread_value, uniform_of};
use crate::truth::Truth;
use exec::access::{Address, Transfer};
use exec::atomic::Atomic;
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::function::Function;
use exec::int::{Int1, Int2};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::Use;
use exec::special::Special;
use isa::{CacheOp, Pc, Space};

/// An access of an instruction, before its order is known.
struct Request {
    access: Access,
    /// Address, data, enable, and what a unit with a fourth port takes.
    inputs: Vec<Input>,
    /// The space whose order it keeps.
    ordered: Option<Space>,
    pc: u32,
}

/// An asynchronous copy.
struct Copy {
    to: Address,
    from: Address,
    bytes: u8,
    source_bytes: Option<Reg>,
    ignore: Option<Pred>,
}

impl Builder<'_> {
    /// Adds the nodes of the instruction at `pc`, in a block that is reached under the condition `here`.
    pub(super) fn instruction(&mut self, pc: u32, here: Truth, now: &mut Ending) {
        let code = &self.kernel.code[pc as usize];
        let guard = self.guard(&now.values, code.guard);
        match &code.op {
            Op::Special(special, d) => {
                let value = self.special(*special, *d);
                self.write_guarded(&mut now.values, guard, *d, 1, value);
            }
            Op::FrameAddress { d, offset, wide } => {
                let value = Input::Immediate(u64::from(*offset));
                self.write_guarded(&mut now.values, guard, *d, 1 + u8::from(*wide), value);
            }
            Op::Load(t) if t.space == Space::Param => self.parameters(t, guard, &mut now.values),
            Op::Load(t) | Op::Store(t) => {
                let is_store = matches!(code.op, Op::Store(_));
                self.transfer(t, is_store, here, guard, pc, now);
            }
            Op::Atomic(a) => self.atomic(a, here, guard, pc, now),
            &Op::AsyncCopy { shared: to, global: from, bytes, source_bytes, ignore } => {
                let enable = self.draft.and(here, guard);
                self.copy(&Copy { to, from, bytes, source_bytes, ignore }, enable, pc, now);
            }
            Op::Fence | Op::FenceCta => now.order.fence(),
            op => self.compute(op, pc, guard, &mut now.values),
        }
    }

    fn special(&mut self, special: Special, d: Reg) -> Input {
        let group = self.groups.of_register(d);
        match (self.groups.anew[group], thread_value(special), uniform_of(special)) {
            (Some(Anew::Uniform(input)), ..) => input,
            (_, Some(value), _) => self.draft.inject(value),
            (_, _, Some(uniform)) => self.program.uniforms.get(uniform),
            _ => Input::Immediate(0),
        }
    }

    fn parameters(&mut self, t: &Transfer, guard: Truth, values: &mut Values) {
        for (k, r) in t.registers.iter().take(t.format.count.into()).enumerate() {
            let base = constant(self.kernel, t.address.base, 1 + u8::from(t.address.wide));
            let place = base.wrapping_add(t.address.offset as u64) as u32;
            let value = self.program.uniforms.get(Uniform::Param {
                offset: place + k as u32 * u32::from(t.format.bytes),
                bytes: t.format.bytes,
                signed: t.format.signed,
                register_bits: t.format.register_bits,
            });
            self.write_guarded(values, guard, *r, t.format.columns(), value);
        }
    }

    fn transfer(&mut self, t: &Transfer, is_store: bool, here: Truth, guard: Truth, pc: u32, now: &mut Ending) {
        let enable = self.draft.and(here, guard);
        let enable = self.draft.value(enable);
        let cache = self.kernel.program.inst(Pc(pc)).mem.map_or(CacheOp::All, |m| m.cache);
        let ordered = (cache != CacheOp::ReadOnly).then_some(t.space);
        let token = self.address(&now.values, t.address, t.space);
        for (k, r) in t.registers.iter().take(t.format.count.into()).enumerate() {
            let data = match is_store {
                true => self.register(&now.values, *r, t.format.columns()).unwrap_or(Input::Immediate(0)),
                false => Input::Immediate(0),
            };
            let offset = (k * usize::from(t.format.bytes)) as u64;
            let access = Access {
                kind: if is_store { AccessKind::Store } else { AccessKind::Load },
                target: Target::Space(t.space),
                bytes: t.format.bytes,
                signed: t.format.signed,
                register_bits: t.format.register_bits,
                base: base(t.address, offset),
            };
            let node = self.access(Request { access, inputs: vec![token, data, enable], ordered, pc }, now);
            if !is_store {
                self.write_guarded(&mut now.values, guard, *r, t.format.columns(), Input::Token(node));
            }
        }
    }

    /// An atomic operation. A compare-and-swap has two values: of up to 32 bits they are one token, lower half first;
    /// of 64 bits the second one takes a port of its own, which is there if another input is configured.
    fn atomic(&mut self, a: &Atomic, here: Truth, guard: Truth, pc: u32, now: &mut Ending) {
        let enable = self.draft.and(here, guard);
        let enable = self.draft.value(enable);
        let columns = 1 + u8::from(a.ty.bytes() == 8);
        let token = self.address(&now.values, a.address, a.space);
        let mut value = |r: Reg| self.register(&now.values, r, columns).unwrap_or(Input::Immediate(0));
        let mut inputs = vec![token, value(a.b), enable];
        match a.c.map(value) {
            Some(c) if columns == 1 => {
                let op = Op::Pack { d: Reg(4), s: [Reg(0), Reg(1), Reg(2), Reg(3)], parts: 2, bits: 32 };
                inputs[1] = self.draft.apply(&op, vec![inputs[1], c]);
            }
            c => inputs.extend(c),
        }
        let access = Access {
            kind: AccessKind::Atomic(Op::Atomic(*a)),
            target: Target::Space(a.space),
            bytes: a.ty.bytes(),
            signed: false,
            register_bits: 32 * columns,
            base: base(a.address, 0),
        };
        let node = self.access(Request { access, inputs, ordered: Some(a.space), pc }, now);
        if let Some(d) = a.d {
            self.write_guarded(&mut now.values, guard, d, columns, Input::Token(node));
        }
    }

    /// An asynchronous copy is loads and stores, in the order of the program: what waits for it finds it done.
    fn copy(&mut self, copy: &Copy, enable: Truth, pc: u32, now: &mut Ending) {
        let ignored = copy.ignore.map_or(Truth::FALSE, |p| self.guard(&now.values, p));
        let reads = self.draft.and(enable, ignored.not());
        let enable = self.draft.value(enable);
        let shared = self.address(&now.values, copy.to, Space::Shared);
        let global = self.address(&now.values, copy.from, Space::Global);
        let source = copy.source_bytes.map(|r| self.register(&now.values, r, 1).unwrap_or(Input::Immediate(0)));
        // The source may end within a word.
        let element = copy.bytes.min(if source.is_some() { 4 } else { 8 });
        for offset in (0..copy.bytes).step_by(element.into()).map(u64::from) {
            let access = |kind, space, address| Access {
                kind,
                target: Target::Space(space),
                bytes: element,
                signed: false,
                register_bits: 8 * element,
                base: base(address, offset),
            };
            let (reads, mask) = match source {
                Some(source) => self.part_read(source, offset, reads),
                None => (reads, None),
            };
            let reads = self.draft.value(reads);
            let load = access(AccessKind::Load, Space::Global, copy.from);
            let inputs = vec![global, Input::Immediate(0), reads];
            let loaded = self.access(Request { access: load, inputs, ordered: Some(Space::Global), pc }, now);
            let mut value = Input::Token(loaded);
            if let Some(mask) = mask {
                value = self.draft.apply(&two(Int2::And32), vec![value, mask]);
            }
            let store = access(AccessKind::Store, Space::Shared, copy.to);
            let inputs = vec![shared, value, enable];
            self.access(Request { access: store, inputs, ordered: Some(Space::Shared), pc }, now);
        }
    }

    /// Whether the word at `offset` of a copy of `source` bytes is read, and the mask of what is read of it.
    fn part_read(&mut self, source: Input, offset: u64, reads: Truth) -> (Truth, Option<Input>) {
        let test = Comparison { relation: Relation::Gt, ty: CompareType::U32, ftz: false };
        let with = (Combine::And, Pred::TRUE);
        let is_more = Op::Setp { test, s: [Reg(2), Reg(4)], d: [Pred(0), Pred::TRUE], with };
        let is_more = self.draft.apply(&is_more, vec![source, Input::Immediate(offset)]);
        let reads = self.draft.and(reads, Truth::of(is_more));
        let rest = self.draft.apply(&two(Int2::Sub32), vec![source, Input::Immediate(offset)]);
        let bits = self.draft.apply(&two(Int2::Shl32), vec![rest, Input::Immediate(3)]);
        let mask = self.draft.apply(&two(Int2::BmskClamp), vec![Input::Immediate(0), bits]);
        (reads, Some(mask))
    }

    fn compute(&mut self, op: &Op, pc: u32, guard: Truth, values: &mut Values) {
        let Some((functions, operands)) = Function::of(op) else { return };
        let inputs: Vec<Input> = operands.iter().map(|u| self.operand(values, *u)).collect();
        for (to, function) in &functions {
            // In static single assignment a copy is a name.
            let value = copied(function, &inputs).unwrap_or_else(|| {
                Input::Token(self.draft.add(NodeOp::Apply(*function), inputs.clone(), Some(Pc(pc))))
            });
            match *to {
                Use::Write(r, n) => self.write_guarded(values, guard, r, n, value),
                Use::WritePred(p) => self.write_predicate(values, guard, p, value),
                _ => unreachable!("results are written"),
            }
        }
    }

    /// The register of an address. That of an address of 64 bits in a register of 32 is extended: its token may have
    /// upper bits that a word has not.
    fn address(&mut self, values: &Values, a: Address, space: Space) -> Input {
        let register = self.register(values, a.base, 1 + u8::from(a.wide)).unwrap_or(Input::Immediate(0));
        if a.wide || matches!(space, Space::Shared | Space::Local) {
            return register;
        }
        self.draft.apply(&Op::Int1(Int1::Zext64, Reg(2), [Reg(0)]), vec![register])
    }

    /// Adds an access that comes after those that it must wait for.
    fn access(&mut self, request: Request, now: &mut Ending) -> NodeId {
        let writes = request.access.kind != AccessKind::Load;
        let node = self.draft.add(NodeOp::Access(request.access), request.inputs, Some(Pc(request.pc)));
        if let Some(space) = request.ordered {
            self.draft.waits[node.index()].extend(now.order.before(space, writes));
            now.order.add(space, writes, node);
        }
        node
    }
}

/// Part of the address that the access's unit adds.
fn base(a: Address, offset: u64) -> [Input; 2] {
    [Input::Immediate((a.offset as u64).wrapping_add(offset)), Input::Immediate(0)]
}

fn two(op: Int2) -> Op {
    Op::Int2(op, Reg(0), [Reg(2), Reg(4)])
}
