//! Video instructions.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::lanes::Reg;
use exec::op::Op;
use exec::video::{Selected, Video};
use num::video::{self, Compare, Part, Simd, Then, Vmad};
use ptx::Type;
use ptx::ast::{Operand, OperandKind};

const COMPARES: [(&str, Compare); 6] = [
    ("eq", Compare::Eq),
    ("ne", Compare::Ne),
    ("lt", Compare::Lt),
    ("le", Compare::Le),
    ("gt", Compare::Gt),
    ("ge", Compare::Ge),
];

/// The part that `b2` or `h1` selects.
fn part(selector: &str) -> Option<Part> {
    let number = selector.get(1..)?.parse().ok()?;
    match selector.as_bytes()[0] {
        b'b' if number < 4 => Some(Part::Byte(number)),
        b'h' if number < 2 => Some(Part::Half(number)),
        _ => None,
    }
}

/// The numbers in `b3210` or `h10`, lowest first; `None` unless `elements` of a register are selected so.
fn numbers(selector: &str, elements: u8) -> Option<Vec<u8>> {
    let digits = selector.strip_prefix(if elements == 2 { 'h' } else { 'b' })?;
    Some(digits.bytes().rev().map(|digit| digit - b'0').collect())
}

impl FunctionLowering<'_, '_> {
    /// The operation and, for `vset`, its comparison.
    fn video_op(&self, m: &Mods<'_>) -> Lowered<video::VideoOp> {
        use video::VideoOp::{AbsDiff, Add, Average, Max, Min, Set, Shl, Shr, Sub};
        let wrap = m.has("wrap");
        Ok(match m.name().trim_end_matches(['2', '4']) {
            "vadd" => Add,
            "vsub" => Sub,
            "vabsdiff" => AbsDiff,
            "vmin" => Min,
            "vmax" => Max,
            "vavrg" => Average,
            "vset" => Set(self.need(m.one_of(&COMPARES), m)?),
            shift if wrap || m.has("clamp") => {
                if shift == "vshl" {
                    Shl { wrap }
                } else {
                    Shr { wrap }
                }
            }
            _ => return Err(self.problem(format!("`{}` needs `.clamp` or `.wrap`", m.text()))),
        })
    }

    /// Whether the types of the destination and of the two sources are signed. For `vset` the first source's
    /// type determines the destination's sign, as in ptxas.
    fn video_signs(&self, m: &Mods<'_>) -> Lowered<[bool; 3]> {
        let types = m.types();
        let signed = |ty: Type| ty == Type::S32;
        match types[..] {
            _ if types.iter().any(|ty| !matches!(ty, Type::U32 | Type::S32)) => {}
            [d, a, b] if !m.name().starts_with("vset") => return Ok([d, a, b].map(signed)),
            [a, b] if m.name().starts_with("vset") => return Ok([signed(a), signed(a), signed(b)]),
            _ => {}
        }
        let count = if m.name().starts_with("vset") { "two" } else { "three" };
        Err(self.problem(format!("`{}` needs {count} types, each `.u32` or `.s32`", m.text())))
    }

    /// A register with the text of its selector, if it has one.
    fn selected(&mut self, o: &Operand) -> Lowered<(Reg, Option<String>)> {
        let OperandKind::Selected(name, selector) = o.kind else { return Ok((self.src(o, Type::B32)?, None)) };
        let whole = Operand { kind: OperandKind::Name(name), span: o.span };
        Ok((self.dst(&whole, Type::B32)?, Some(self.b.scope.ast.name(selector).to_owned())))
    }

    fn selected_part(&mut self, o: &Operand, signed: bool) -> Lowered<(Reg, Selected)> {
        let (register, selector) = self.selected(o)?;
        let part = match selector {
            None => Part::Word,
            Some(text) => {
                part(&text).ok_or_else(|| self.problem(format!("`.{text}` is not a byte or half of a register")))?
            }
        };
        Ok((register, Selected { part, signed }))
    }

    /// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vset`.
    pub fn scalar_video(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let op = self.video_op(m)?;
        let [signed, a_signed, b_signed] = self.video_signs(m)?;
        let sat = m.has("sat");
        self.expect_between(o, 3, 4)?;
        let second = m.one_of(&[("add", Then::Add), ("min", Then::Min), ("max", Then::Max)]);
        let (d, merge) = match o[0].kind {
            OperandKind::Selected(..) => {
                let (d, Selected { part, .. }) = self.selected_part(&o[0], false)?;
                (d, Some(Then::Merge(part)))
            }
            _ => (self.dst(&o[0], Type::B32)?, None),
        };
        if second.is_some() && merge.is_some() || second.or(merge).is_some() && o.len() < 4 {
            return Err(self.problem(format!("`{}` takes a second operation or a part of `d`, and `c`", m.text())));
        }
        let (a, x) = self.selected_part(&o[1], a_signed)?;
        let (b, y) = self.selected_part(&o[2], b_signed)?;
        let c = if o.len() > 3 { self.src(&o[3], Type::B32)? } else { self.b.constant(0, false) };
        let then = second.or(merge).unwrap_or_default();
        Ok(Op::Video(Video::Scalar { op, sources: [x, y], signed, sat, then }, d, [a, b, c]))
    }

    /// `vmad`
    pub fn vmad(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let [_, a_signed, b_signed] = self.video_signs(m)?;
        self.expect(o, 4)?;
        let bare = |o: &Operand| match &o.kind {
            OperandKind::Negated(inner) => ((**inner).clone(), true),
            _ => (o.clone(), false),
        };
        let [(a, minus_a), (b, minus_b), (c, negate_c)] = [&o[1], &o[2], &o[3]].map(bare);
        let flags = Vmad {
            negate_product: minus_a != minus_b,
            negate_c,
            plus_one: m.has("po"),
            scale: m.one_of(&[("shr7", 7), ("shr15", 15)]).unwrap_or(0),
            sat: m.has("sat"),
        };
        if u8::from(flags.negate_product) + u8::from(negate_c) + u8::from(flags.plus_one) > 1 {
            return Err(self.problem("`vmad` negates the product or `c` or adds one: not two of them"));
        }
        let d = self.dst(&o[0], Type::B32)?;
        let (a, x) = self.selected_part(&a, a_signed)?;
        let (b, y) = self.selected_part(&b, b_signed)?;
        let c = self.src(&c, Type::B32)?;
        Ok(Op::Video(Video::Mad { sources: [x, y], flags }, d, [a, b, c]))
    }

    /// `vadd2`, `vadd4` and so on.
    pub fn simd_video(&mut self, m: &Mods<'_>, o: &[Operand], elements: u8) -> Lowered<Op> {
        let op = self.video_op(m)?;
        let [signed, a_signed, b_signed] = self.video_signs(m)?;
        self.expect(o, 4)?;
        let mut flags =
            Simd { a_signed, b_signed, sat: m.has("sat"), add: m.has("add"), ..Simd::plain(elements, signed) };
        let (d, mask) = match o[0].kind {
            OperandKind::Selected(..) => self.selected(&o[0])?,
            _ => (self.dst(&o[0], Type::B32)?, None),
        };
        if let Some(mask) = mask {
            let list = numbers(&mask, elements).filter(|list| {
                list.is_sorted_by(|low, high| low < high) && list.iter().all(|&number| number < elements)
            });
            let list = list.ok_or_else(|| self.problem(format!("`.{mask}` is not a mask of `{}`", m.name())))?;
            flags.mask = list.iter().fold(0, |mask, number| mask | 1 << number);
        }
        let a = self.selected_elements(m, &o[1], &mut flags.a_select, elements)?;
        let b = self.selected_elements(m, &o[2], &mut flags.b_select, elements)?;
        let c = self.src(&o[3], Type::B32)?;
        Ok(Op::Video(Video::Simd(op, flags), d, [a, b, c]))
    }

    /// A source register. The elements of the pair that its selector picks are written to `select`.
    fn selected_elements(&mut self, m: &Mods<'_>, o: &Operand, select: &mut [u8; 4], elements: u8) -> Lowered<Reg> {
        let (register, selector) = self.selected(o)?;
        if let Some(text) = selector {
            let list = numbers(&text, elements).filter(|list| list.len() == usize::from(elements));
            let list = list.ok_or_else(|| self.problem(format!("`.{text}` is not a selector of `{}`", m.name())))?;
            select[..list.len()].copy_from_slice(&list);
        }
        Ok(register)
    }
}
