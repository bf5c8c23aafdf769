//! Addresses in shared memory of other CTAs of the cluster, whose form [`exec::cluster`] defines.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::cluster::{MOST_RANKS, RANK_BIT};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::int::{Int1, Int2};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::special::{ClusterRegister, Special};
use ptx::Type;
use ptx::ast::Operand;

impl FunctionLowering<'_, '_> {
    /// Lowers `mapa` and `getctarank`, of addresses in the shared window and generic ones.
    pub fn cluster_address(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let ty = self.need_type(m)?;
        m.ignore(&["shared::cluster"]);
        if m.name() == "mapa" {
            self.expect(o, 3)?;
            let d = self.dst(&o[0], ty)?;
            let (a, rank) = (self.src(&o[1], ty)?, self.src(&o[2], Type::U32)?);
            return Ok(self.mapped(ty, d, a, rank));
        }
        self.expect(o, 2)?;
        let d = self.dst(&o[0], Type::U32)?;
        let a = self.src(&o[1], ty)?;
        Ok(self.rank(d, a))
    }

    /// The address of the CTA with this rank: one more than the rank, which is cut at the largest number that there is.
    fn mapped(&mut self, ty: Type, d: Reg, a: Reg, rank: Reg) -> Op {
        let most = self.word(MOST_RANKS - 1);
        let cut = self.below(Int2::MinU32, [rank, most], "min; the largest rank");
        let one = self.word(1);
        let number = self.below(Int2::Add32, [cut, one], "add; the number in the address");
        let shift = self.word(RANK_BIT);
        let high = self.below(Int2::Shl32, [number, shift], "shl; its place");
        let mask = self.word((1 << RANK_BIT) - 1);
        let offset = self.below(Int2::And32, [a, mask], "and; the offset in shared memory");
        if ty.bits() == 64 {
            // The upper word first: it may be the register of the lower one's source.
            let upper = self.b.new_register(1);
            self.push(Op::Int1(Int1::Mov32, upper, [a.next()]), "mov; the upper word of the address".into());
            self.push(Op::Int2(Int2::Or32, d, [offset, high]), "or; the lower word".into());
            return Op::Int1(Int1::Mov32, d.next(), [upper]);
        }
        Op::Int2(Int2::Or32, d, [offset, high])
    }

    /// The rank of the CTA that an address is of.
    fn rank(&mut self, d: Reg, a: Reg) -> Op {
        let (shift, one, zero) = (self.word(RANK_BIT), self.word(1), self.word(0));
        let tag = self.below(Int2::ShrU32, [a, shift], "shr; the number in the address");
        let other = self.below(Int2::Sub32, [tag, one], "sub; the rank of another CTA");
        let own = self.b.new_register(1);
        self.push(Op::Special(Special::Cluster(ClusterRegister::CtaRank), own), "mov; the own rank".into());
        let number = self.b.new_predicate();
        let p = self.b.names.predicate(number);
        let test = Comparison { relation: Relation::Eq, ty: CompareType::U32, ftz: false };
        let with = (Combine::And, Pred::TRUE);
        self.push(
            Op::Setp { test, s: [tag, zero], d: [p, Pred::TRUE], with },
            "setp; whether it is the own CTA".into(),
        );
        Op::Selp { d, s: [own, other], wide: false, p }
    }
}
