//! `mbarrier`, as the assembler makes it for sm_80: its state is in shared memory ([`exec::mbarrier`]), arrivals
//! are atomic operations, and a test compares parities.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::access::{Address, Format, Transfer};
use exec::atomic::{Atomic, AtomicOp, AtomicType};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::int::{Int1, Int2};
use exec::lanes::{Pred, Reg};
use exec::mbarrier::{EXPECTED, PARITY};
use exec::op::Op;
use isa::{ALL_COPIES, Space};
use ptx::Type;
use ptx::ast::{Operand, OperandKind};

impl FunctionLowering<'_, '_> {
    /// Lowers `mbarrier`.
    pub fn mbarrier(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.types();
        m.ignore(&["release", "acquire", "relaxed", "cta", "cluster"]);
        if m.has("init") {
            self.expect(o, 2)?;
            let (space, address) = self.mbarrier_at(m, &o[0])?;
            let count = self.src(&o[1], Type::U32)?;
            return Ok(self.init(space, address, count));
        }
        if m.has("inval") {
            self.expect(o, 1)?;
            self.mbarrier_at(m, &o[0])?;
            return Ok(Op::Nop);
        }
        if m.has("pending_count") {
            self.expect(o, 2)?;
            let (d, state) = (self.dst(&o[0], Type::U32)?, self.src(&o[1], Type::B64)?);
            let [count, parity] = [!PARITY, PARITY].map(|value| self.word(value));
            let pending = self.below(Int2::And32, [state.next(), count], "and; without the parity");
            return Ok(Op::Int2(Int2::Sub32, d, [parity, pending]));
        }
        if m.has("test_wait") || m.has("try_wait") {
            return self.test(m, o);
        }
        let dropping = self.need(m.one_of(&[("arrive", false), ("arrive_drop", true)]), m)?;
        self.arrive(m, o, dropping)
    }

    /// `cp.async.mbarrier.arrive`: the warp waits until its copies are done. Without `.noinc` the arrival adds to
    /// what the phase expects, which it then takes away.
    pub(super) fn copies_arrive(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.types();
        m.ignore(&["mbarrier", "arrive"]);
        self.expect(o, 1)?;
        let (space, address) = self.mbarrier_at(m, &o[0])?;
        if !m.has("noinc") {
            return Ok(Op::AsyncWait(ALL_COPIES));
        }
        self.push(Op::AsyncWait(ALL_COPIES), "cp.async.wait_all; before the arrival".into());
        let (op, ty, b) = (AtomicOp::Arrive, AtomicType::U64, self.b.constant(1, true));
        Ok(Op::Atomic(Atomic { space, op, ty, d: None, unused: false, address, b, c: None }))
    }

    /// The space and address of a barrier.
    fn mbarrier_at(&mut self, m: &Mods<'_>, o: &Operand) -> Lowered<(Space, Address)> {
        let (space, address, _) = self.target(m, o)?;
        match space {
            Space::Shared | Space::Generic => Ok((space, address)),
            _ => Err(self.problem("an `mbarrier` is in shared memory")),
        }
    }

    fn init(&mut self, space: Space, address: Address, count: Reg) -> Op {
        let state = self.b.new_register(2);
        let minus = |f: &mut Self, d, from, what: &str| {
            let from = f.word(from);
            f.push(Op::Int2(Int2::Sub32, d, [from, count]), what.into());
        };
        minus(self, state, EXPECTED, "sub; the arrivals of each phase");
        minus(self, state.next(), PARITY, "sub; the arrivals of this phase");
        let format = Format { bytes: 8, count: 1, signed: false, register_bits: 64 };
        Op::Store(Transfer { space, format, address, registers: [state, Reg(0), Reg(0), Reg(0)] })
    }

    /// `mbarrier.arrive{_drop}{.noComplete}.b64 state, [address]{, count}`
    fn arrive(&mut self, m: &Mods<'_>, o: &[Operand], dropping: bool) -> Lowered<Op> {
        self.expect_between(o, 2, 3)?;
        let d = if o[0].kind == OperandKind::Sink { None } else { Some(self.dst(&o[0], Type::B64)?) };
        let (space, address) = self.mbarrier_at(m, &o[1])?;
        let count = o.get(2).map(|o| self.src(o, Type::U32)).transpose()?;
        let none = self.word(0);
        let (op, b) = match (count, m.has("noComplete")) {
            // Nothing else happens to a phase that does not end.
            (Some(count), true) => (AtomicOp::Add, self.pair(if dropping { count } else { none }, count)),
            (count, _) => {
                let op = if dropping { AtomicOp::ArriveDrop } else { AtomicOp::Arrive };
                let one = self.b.constant(1, true);
                (op, count.map_or(one, |count| self.pair(count, none)))
            }
        };
        Ok(Op::Atomic(Atomic { space, op, ty: AtomicType::U64, d, unused: false, address, b, c: None }))
    }

    /// `mbarrier.test_wait{.parity}.b64 p, [address], state`, and `try_wait`, which need not suspend.
    fn test(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        self.expect_between(o, 3, 4)?;
        let p = self.pred_dst(&o[0])?;
        let (space, mut address) = self.mbarrier_at(m, &o[1])?;
        let awaited = if m.has("parity") {
            let (parity, shift) = (self.src(&o[2], Type::U32)?, self.word(31));
            self.below(Int2::Shl32, [parity, shift], "shl; the parity")
        } else {
            self.src(&o[2], Type::B64)?.next()
        };
        if let Some(time) = o.get(3) {
            self.src(time, Type::U32)?;
        }
        address.offset += 4;
        let now = self.b.new_register(1);
        let format = Format { bytes: 4, count: 1, signed: false, register_bits: 32 };
        let load = Transfer { space, format, address, registers: [now, Reg(0), Reg(0), Reg(0)] };
        self.push(Op::Load(load), "ld; the present phase".into());
        let differs = self.below(Int2::Xor32, [now, awaited], "xor; the parities");
        let test = Comparison { relation: Relation::Lt, ty: CompareType::S32, ftz: false };
        let zero = self.word(0);
        Ok(Op::Setp { test, s: [differs, zero], d: [p, Pred::TRUE], with: (Combine::And, Pred::TRUE) })
    }

    fn word(&mut self, value: u32) -> Reg {
        self.b.constant(value.into(), false)
    }

    /// The result of an operation that precedes the instruction.
    fn below(&mut self, op: Int2, s: [Reg; 2], what: &str) -> Reg {
        let d = self.b.new_register(1);
        self.push(Op::Int2(op, d, s), what.into());
        d
    }

    /// A register of 64 bits of two words.
    fn pair(&mut self, low: Reg, high: Reg) -> Reg {
        let d = self.b.new_register(2);
        for (d, s) in [(d, low), (d.next(), high)] {
            self.push(Op::Int1(Int1::Mov32, d, [s]), "mov; a word of the number of arrivals".into());
        }
        d
    }
}
