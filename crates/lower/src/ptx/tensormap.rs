//! `tensormap`: changes of a tensor map in memory ([`exec::tensor_map`]), as stores of its words.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::access::{Address, Format, Transfer};
use exec::int::{Int1, Int2};
use exec::lanes::Reg;
use exec::op::Op;
use exec::special::Special;
use isa::Space;
use ptx::ast::Operand;

/// The first version of PTX in which a stride is in bytes. Compilers before it count in units of 16.
const STRIDES_IN_BYTES: (u32, u32) = (8, 5);

/// A field of a map: byte of its word, lowest bit, and bits.
#[derive(Clone, Copy)]
struct Field(i64, u32, u32);

impl FunctionLowering<'_, '_> {
    /// Lowers `tensormap`.
    pub fn tensormap(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        if m.has("cp_fenceproxy") {
            return self.copy_map(m, o);
        }
        let fields = [
            "global_address",
            "rank",
            "box_dim",
            "global_dim",
            "global_stride",
            "element_stride",
            "elemtype",
            "interleave_layout",
            "swizzle_mode",
            "fill_mode",
        ];
        let field = fields.into_iter().find(|field| m.has(field));
        let field = self.need(field, m)?;
        let ty = self.need_type(m)?;
        m.ignore(&["replace", "tile", "b1024"]);
        let has_number = matches!(field, "box_dim" | "global_dim" | "global_stride" | "element_stride");
        self.expect(o, 2 + usize::from(has_number))?;
        let number = if has_number { self.number(&o[1], if field == "global_stride" { 4 } else { 5 })? } else { 0 };
        let place = self.map_at(m, &o[0])?;
        let value = self.src(&o[o.len() - 1], ty)?;
        let at = |k: u32| 4 * i64::from(k + number);
        match field {
            "global_address" => {
                self.put(place, 0, value)?;
                self.put_last(place, 4, value.next())
            }
            "global_dim" => {
                let less = self.less_one(value);
                self.put_last(place, at(8), less)
            }
            "global_stride" => {
                let units = if self.b.scope.ast.version < STRIDES_IN_BYTES {
                    value
                } else {
                    let (d, four) = (self.b.new_register(2), self.b.constant(4, false));
                    self.push(Op::Int2(Int2::ShrU64, d, [value, four]), "shr; the stride in units".into());
                    d
                };
                self.put(place, at(3), units)?;
                self.replace(place, Field(28, 4 * number, 4), units.next())
            }
            "box_dim" | "element_stride" => {
                let less = self.less_one(value);
                let field = match (field, number) {
                    ("element_stride", _) => Field(52, 3 * number, 3),
                    (_, 0) => Field(52, 24, 8),
                    _ => Field(56, 8 * (number - 1), 8),
                };
                self.replace(place, field, less)
            }
            "rank" => self.replace(place, Field(8, 4, 3), value),
            "interleave_layout" => self.replace(place, Field(8, 11, 2), value),
            "swizzle_mode" => self.replace(place, Field(8, 13, 2), value),
            "fill_mode" => self.replace(place, Field(8, 15, 1), value),
            _ => {
                // Types 11 and 12 are tf32, encoded as the two types of f32 and a bit.
                let code = self.number(&o[1], 13)?;
                let [code, tf32] = [if code > 10 { code - 4 } else { code }, u32::from(code > 10)];
                let [code, tf32] = [code, tf32].map(|word| self.b.constant(word.into(), false));
                let last = self.replace(place, Field(8, 7, 4), code)?;
                self.push(last, "st; the type".into());
                self.replace(place, Field(8, 16, 1), tf32)
            }
        }
    }

    /// A number that the instruction has as an operand, below `most`.
    fn number(&self, o: &Operand, most: u32) -> Lowered<u32> {
        let value = o.integer().filter(|&value| value < u64::from(most));
        value.map(|value| value as u32).ok_or_else(|| self.problem(format!("a number below {most} is needed here")))
    }

    /// Space and address of a map.
    fn map_at(&mut self, m: &Mods<'_>, o: &Operand) -> Lowered<(Space, Address)> {
        let (space, address, _) = self.target(m, o)?;
        Ok((space, address))
    }

    fn less_one(&mut self, value: Reg) -> Reg {
        let (d, one) = (self.b.new_register(1), self.b.constant(1, false));
        self.push(Op::Int2(Int2::Sub32, d, [value, one]), "sub; the number of the map".into());
        d
    }

    fn word_at((space, mut address): (Space, Address), at: i64, word: Reg) -> Transfer {
        address.offset += at;
        let format = Format { bytes: 4, count: 1, signed: false, register_bits: 32 };
        Transfer { space, format, address, registers: [word, Reg(0), Reg(0), Reg(0)] }
    }

    fn put_last(&mut self, place: (Space, Address), at: i64, word: Reg) -> Lowered<Op> {
        Ok(Op::Store(Self::word_at(place, at, word)))
    }

    fn put(&mut self, place: (Space, Address), at: i64, word: Reg) -> Lowered<()> {
        let store = self.put_last(place, at, word)?;
        self.push(store, "st; a word of the map".into());
        Ok(())
    }

    /// Replaces a field of a word. The last operation is the instruction's.
    fn replace(&mut self, place: (Space, Address), Field(at, low, bits): Field, value: Reg) -> Lowered<Op> {
        let old = self.b.new_register(1);
        self.push(Op::Load(Self::word_at(place, at, old)), "ld; a word of the map".into());
        let mask = ((1 << bits) - 1) << low;
        let [low, mask, rest] = [low, mask, !mask].map(|word| self.b.constant(word.into(), false));
        let step = |f: &mut Self, op, s| {
            let d = f.b.new_register(1);
            f.push(Op::Int2(op, d, s), "a field of the map".into());
            d
        };
        let field = step(self, Int2::Shl32, [value, low]);
        let field = step(self, Int2::And32, [field, mask]);
        let old = step(self, Int2::And32, [old, rest]);
        let new = step(self, Int2::Or32, [old, field]);
        self.put_last(place, at, new)
    }

    /// `tensormap.cp_fenceproxy`: each lane copies a word from shared to global memory.
    fn copy_map(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.ignore(&["global", "shared::cta", "tensormap::generic", "release", "cta", "cluster", "gpu", "sys"]);
        m.ignore(&["sync", "aligned"]);
        self.expect(o, 3)?;
        if self.number(&o[2], 129)? != 128 {
            return Err(self.problem("a map has 128 bytes"));
        }
        let (to, from) = (self.global_place(&o[0])?, self.shared_place(&o[1])?);
        let text = || "the word of the lane".to_string();
        let [lane, offset, at, word] = [1; 4].map(|columns| self.b.new_register(columns));
        let [wide, target] = [2; 2].map(|columns| self.b.new_register(columns));
        let two = self.b.constant(2, false);
        self.push(Op::Special(Special::Laneid, lane), text());
        self.push(Op::Int2(Int2::Shl32, offset, [lane, two]), text());
        self.push(Op::Int2(Int2::Add32, at, [from, offset]), text());
        self.push(Op::Int1(Int1::Zext64, wide, [offset]), text());
        self.push(Op::Int2(Int2::Add64, target, [to, wide]), text());
        let address = |base, wide| Address { base, wide, frame: false, offset: 0 };
        self.push(Op::Load(Self::word_at((Space::Shared, address(at, false)), 0, word)), text());
        self.put_last((Space::Global, address(target, true)), 0, word)
    }
}
