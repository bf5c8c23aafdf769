//! Exchange between lanes, barriers, fences.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::lanes::Pred;
use exec::op::Op;
use exec::operand::Destination;
use exec::shuffle::{Redux, ShuffleMode, Vote};
use exec::steer::{BarrierOp, ClusterBarrier, Steer};
use ptx::Type;
use ptx::ast::Operand;

impl FunctionLowering<'_, '_> {
    /// Lowers exchange between lanes, barriers and fences.
    pub fn warp(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let sync = usize::from(m.has("sync"));
        match m.name() {
            "shfl" => {
                let modes = [
                    ("up", ShuffleMode::Up),
                    ("down", ShuffleMode::Down),
                    ("bfly", ShuffleMode::Butterfly),
                    ("idx", ShuffleMode::Index),
                ];
                let ty = self.need_type(m)?;
                let mode = self.need(m.one_of(&modes), m)?;
                self.expect(o, 4 + sync)?;
                let (d, p) = self.dst_and_pred(&o[0], ty)?;
                let [b, c] = self.srcs(&o[2..4], Type::B32)?;
                let members = o.get(4).map(|members| self.src(members, Type::B32)).transpose()?;
                Ok(Op::Shuffle { mode, d, p, s: [self.src(&o[1], Type::B32)?, b, c], members })
            }
            "vote" => self.vote(m, o, sync),
            "match" => {
                let ty = self.need_type(m)?;
                let all = m.has("all");
                m.ignore(&["any"]);
                self.expect(o, 3)?;
                let (d, p) = self.dst_and_pred(&o[0], Type::B32)?;
                let (a, members) = (self.src(&o[1], ty)?, self.src(&o[2], Type::B32)?);
                Ok(Op::Match { all, wide: ty.bits() == 64, d, p, a, members })
            }
            "activemask" => {
                m.types();
                self.expect(o, 1)?;
                Ok(Op::ActiveMask(self.dst(&o[0], Type::B32)?))
            }
            "redux" => {
                let ty = self.need_type(m)?;
                let signed = ty == Type::S32;
                let operations = [
                    ("add", Redux::Add),
                    ("min", if signed { Redux::MinS32 } else { Redux::MinU32 }),
                    ("max", if signed { Redux::MaxS32 } else { Redux::MaxU32 }),
                    ("and", Redux::And),
                    ("or", Redux::Or),
                    ("xor", Redux::Xor),
                ];
                let op = self.need(m.one_of(&operations).filter(|_| !ty.is_float()), m)?;
                self.expect(o, 3)?;
                Ok(Op::Redux(op, self.dst(&o[0], ty)?, [self.src(&o[1], ty)?, self.src(&o[2], Type::B32)?]))
            }
            "elect" => {
                self.expect(o, 2)?;
                let (d, p) = self.dst_and_pred(&o[0], Type::B32)?;
                Ok(Op::Elect { d: Some(d), p, members: self.src(&o[1], Type::B32)? })
            }
            "bar" | "barrier" => self.barrier(m, o),
            "membar" | "fence" => {
                // Proxies of one CTA's accesses: only their order is meant.
                let cta = m.has("cta") | m.has("async") | m.has("async::generic") | m.has("mbarrier_init");
                m.ignore(&["global", "shared::cta", "shared::cluster"]);
                m.ignore(&["gl", "gpu", "sys", "cluster", "sc", "acq_rel", "acquire", "release", "proxy"]);
                m.ignore_prefixed(&["alias", "tensormap", "sync_restrict"]);
                Ok(if cta { Op::FenceCta } else { Op::Fence })
            }
            "nanosleep" => {
                m.types();
                self.expect(o, 1)?;
                Ok(Op::Sleep(self.src(&o[0], Type::U32)?))
            }
            // Grids of a stream follow each other, so that there is nothing to wait for; a warp always has the registers
            // that its kernel was compiled for.
            _ => {
                m.ignore(&["launch_dependents", "wait", "inc", "dec", "aligned"]);
                m.types();
                Ok(Op::Nop)
            }
        }
    }

    fn vote(&mut self, m: &Mods<'_>, o: &[Operand], sync: usize) -> Lowered<Op> {
        let kinds = [("all", Vote::All), ("any", Vote::Any), ("uni", Vote::Uniform), ("ballot", Vote::Ballot)];
        let kind = self.need(m.one_of(&kinds), m)?;
        m.types();
        self.expect(o, 2 + sync)?;
        let d = if kind == Vote::Ballot {
            Destination::Reg(self.dst(&o[0], Type::B32)?)
        } else {
            Destination::Pred(self.pred_dst(&o[0])?)
        };
        let p = self.pred_src(&o[1])?;
        let members = if sync == 1 { self.src(&o[2], Type::B32)? } else { self.b.constant(u32::MAX.into(), false) };
        Ok(Op::Vote { kind, d, p, members, waits: sync == 1 })
    }

    fn barrier(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.types();
        if m.has("cluster") {
            m.ignore(&["aligned", "release", "relaxed", "acquire"]);
            self.expect(o, 0)?;
            let op = self.need(m.one_of(&[("arrive", ClusterBarrier::Arrive), ("wait", ClusterBarrier::Wait)]), m)?;
            return Ok(Op::ClusterBarrier(op));
        }
        if m.has("warp") {
            self.expect(o, 1)?;
            return Ok(Op::Steer(Steer::WarpSync(self.src(&o[0], Type::B32)?, false)));
        }
        m.ignore(&["cta"]);
        let aligned = m.has("aligned") || m.name() == "bar";
        let red = m.has("red");
        let reductions = [("popc", BarrierOp::RedPopc), ("and", BarrierOp::RedAnd), ("or", BarrierOp::RedOr)];
        let op = match (red, m.has("arrive")) {
            (true, _) => self.need(m.one_of(&reductions), m)?,
            (false, true) => BarrierOp::Arrive,
            (false, false) => BarrierOp::Sync,
        };
        if !red {
            self.expect_between(o, 1, 2)?;
            let threads = if o.len() > 1 { Some(self.src(&o[1], Type::U32)?) } else { None };
            let id = self.src(&o[0], Type::U32)?;
            return Ok(Op::Barrier { op, id, threads, d: None, p: Pred::TRUE, aligned });
        }
        self.expect_between(o, 3, 4)?;
        let d = if op == BarrierOp::RedPopc {
            Destination::Reg(self.dst(&o[0], Type::U32)?)
        } else {
            Destination::Pred(self.pred_dst(&o[0])?)
        };
        let threads = if o.len() > 3 { Some(self.src(&o[2], Type::U32)?) } else { None };
        let p = self.pred_src(&o[o.len() - 1])?;
        Ok(Op::Barrier { op, id: self.src(&o[1], Type::U32)?, threads, d: Some(d), p, aligned })
    }
}
