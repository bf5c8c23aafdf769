//! `mbarrier`: its state is in shared memory ([`exec::mbarrier`]).

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::access::Address;
use exec::int::Int2;
use exec::lanes::Reg;
use exec::mbarrier::{MOST_ARRIVALS, Mbarrier, MbarrierOp, MbarrierWait, PENDING_AT};
use exec::op::Op;
use isa::{ALL_COPIES, Space};
use ptx::Type;
use ptx::ast::{Operand, OperandKind};

impl FunctionLowering<'_, '_> {
    /// Lowers `mbarrier`.
    pub fn mbarrier(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.types();
        m.ignore(&["release", "acquire", "relaxed", "cta", "cluster"]);
        let [none, one] = [0, 1].map(|n| self.word(n));
        if m.has("init") {
            self.expect(o, 2)?;
            let count = self.src(&o[1], Type::U32)?;
            return self.change(m, MbarrierOp::Init, None, &o[0], [count, none]);
        }
        if m.has("inval") {
            self.expect(o, 1)?;
            self.mbarrier_at(m, &o[0])?;
            return Ok(Op::Nop);
        }
        if m.has("pending_count") {
            self.expect(o, 2)?;
            let (d, state) = (self.dst(&o[0], Type::U32)?, self.src(&o[1], Type::B64)?);
            let [shift, all] = [PENDING_AT, MOST_ARRIVALS - 1].map(|value| self.word(value));
            let minus = self.below(Int2::ShrU32, [state.next(), shift], "shr; minus the pending arrivals");
            let pending = self.below(Int2::Sub32, [none, minus], "sub; the pending arrivals");
            return Ok(Op::Int2(Int2::And32, d, [pending, all]));
        }
        if m.has("test_wait") || m.has("try_wait") {
            return self.test(m, o);
        }
        // Before an `arrive`: both are modifiers then.
        let arrives = m.one_of(&[("arrive", MbarrierOp::Arrive), ("arrive_drop", MbarrierOp::ArriveDrop)]);
        let Some(op) = arrives else {
            self.expect(o, 2)?;
            let bytes = self.src(&o[1], Type::U32)?;
            let op = if m.has("complete_tx") { MbarrierOp::Complete } else { MbarrierOp::Arrive };
            self.need(m.has("expect_tx").then_some(()).or((op == MbarrierOp::Complete).then_some(())), m)?;
            return self.change(m, op, None, &o[0], [none, bytes]);
        };
        self.expect_between(o, 2, 3)?;
        // An arrival that does not complete the phase is one like others.
        m.ignore(&["noComplete"]);
        let d = if o[0].kind == OperandKind::Sink { None } else { Some(self.dst(&o[0], Type::B64)?) };
        let operand = o.get(2).map(|o| self.src(o, Type::U32)).transpose()?;
        let operands = match operand {
            Some(bytes) if m.has("expect_tx") => [one, bytes],
            Some(count) => [count, none],
            None => [one, none],
        };
        self.change(m, op, d, &o[1], operands)
    }

    /// `cp.async.mbarrier.arrive`: the warp waits until its copies are done. Without `.noinc` the arrival adds to
    /// what the phase expects, which it then takes away.
    pub(super) fn copies_arrive(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.types();
        m.ignore(&["mbarrier", "arrive"]);
        self.expect(o, 1)?;
        if !m.has("noinc") {
            self.mbarrier_at(m, &o[0])?;
            return Ok(Op::AsyncWait(ALL_COPIES));
        }
        self.push(Op::AsyncWait(ALL_COPIES), "cp.async.wait_all; before the arrival".into());
        let operands = [1, 0].map(|n| self.word(n));
        self.change(m, MbarrierOp::Arrive, None, &o[0], operands)
    }

    /// An `access` to the cluster's shared memory whose bytes are counted by the barrier in the last operand.
    pub(super) fn completing(
        &mut self,
        m: &Mods<'_>,
        o: &[Operand],
        access: fn(&mut Self, &Mods<'_>, &[Operand]) -> Lowered<Op>,
    ) -> Lowered<Op> {
        m.ignore(&["mbarrier::complete_tx::bytes"]);
        let (Some(barrier), before) = (o.last(), &o[..o.len().saturating_sub(1)]) else {
            return Err(self.problem("an `mbarrier` is needed here"));
        };
        let op = access(self, m, before)?;
        let bytes = match &op {
            Op::Store(transfer) => transfer.format.total_bytes(),
            Op::Atomic(atomic) => atomic.ty.bytes(),
            _ => return Err(self.problem("the access is not to the cluster's shared memory")),
        };
        self.push(op, "the access, whose bytes the barrier then counts".into());
        let operands = [0, bytes.into()].map(|n| self.word(n));
        self.change(m, MbarrierOp::Complete, None, barrier, operands)
    }

    /// The space and address of a barrier.
    fn mbarrier_at(&mut self, m: &Mods<'_>, o: &Operand) -> Lowered<(Space, Address)> {
        let (space, address, _) = self.target(m, o)?;
        match space {
            Space::Shared | Space::Generic => Ok((space, address)),
            _ => Err(self.problem("an `mbarrier` is in shared memory")),
        }
    }

    fn change(
        &mut self,
        m: &Mods<'_>,
        op: MbarrierOp,
        d: Option<Reg>,
        at: &Operand,
        [count, bytes]: [Reg; 2],
    ) -> Lowered<Op> {
        let (space, address) = self.mbarrier_at(m, at)?;
        Ok(Op::Mbarrier(Mbarrier { op, space, address, d, count, bytes, together: false }))
    }

    /// `mbarrier.test_wait{.parity}.b64 p, [address], state`, and `try_wait` with a time limit, which has no effect.
    fn test(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        self.expect_between(o, 3, 4)?;
        let d = self.pred_dst(&o[0])?;
        let (space, address) = self.mbarrier_at(m, &o[1])?;
        let phase = if m.has("parity") {
            let (parity, shift) = (self.src(&o[2], Type::U32)?, self.word(31));
            self.below(Int2::Shl32, [parity, shift], "shl; the parity")
        } else {
            self.src(&o[2], Type::B64)?.next()
        };
        if let Some(time) = o.get(3) {
            self.src(time, Type::U32)?;
        }
        Ok(Op::MbarrierWait(MbarrierWait { space, address, d, phase, suspends: m.has("try_wait") }))
    }

    /// A constant.
    pub(super) fn word(&mut self, value: u32) -> Reg {
        self.b.constant(value.into(), false)
    }

    /// The result of an operation that precedes the instruction.
    pub(super) fn below(&mut self, op: Int2, s: [Reg; 2], what: &str) -> Reg {
        let d = self.b.new_register(1);
        self.push(Op::Int2(op, d, s), what.into());
        d
    }
}
