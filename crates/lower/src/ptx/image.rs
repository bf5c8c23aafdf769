//! Textures and surfaces.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::image::{Fetch, FetchKind, Outside, Query, QueryKind, SurfaceAccess};
use exec::lanes::Reg;
use exec::op::Op;
use isa::Shape;
use ptx::Type;
use ptx::ast::{Operand, OperandKind};

const SHAPES: [(&str, Shape); 7] = [
    ("1d", Shape::D1),
    ("2d", Shape::D2),
    ("3d", Shape::D3),
    ("a1d", Shape::Layered1),
    ("a2d", Shape::Layered2),
    ("cube", Shape::Cube),
    ("acube", Shape::LayeredCube),
];

impl FunctionLowering<'_, '_> {
    /// Lowers textures and surfaces.
    pub fn image(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        match m.name() {
            "tex" => self.texture(m, o),
            "tld4" => self.gather(m, o),
            "suld" => self.surface(m, o, false),
            "sust" => self.surface(m, o, true),
            _ => self.query(m, o),
        }
    }

    /// `[image, {coordinates}]`: returns the image and the coordinates. The first coordinate has the first of
    /// `types`, all others the second. Vectors of three are written with four elements.
    fn texel_place(&mut self, o: &Operand, shape: Shape, types: [Type; 2]) -> Lowered<(Reg, Vec<Reg>)> {
        let OperandKind::Texture(parts) = &o.kind else {
            return Err(self.problem("a texture or surface and coordinates, `[object, {x, y}]`, are needed here"));
        };
        let [object, at] = &parts[..] else {
            return Err(self.problem("samplers apart from their textures are not executable"));
        };
        let handle = self.src(object, Type::B64)?;
        let parts = self.parts(at);
        let count = shape.coordinates();
        // Old PTX writes four coordinates for all shapes.
        if parts.len() < count || parts.len() > count.next_power_of_two() && parts.len() != 4 {
            return Err(self.problem(format!(
                "{} expected here, not {}",
                kit::text::counted(count as u64, "coordinate"),
                parts.len()
            )));
        }
        let coordinates = parts[..count]
            .iter()
            .enumerate()
            .map(|(k, part)| self.src(part, types[k.min(1)]))
            .collect::<Lowered<_>>()?;
        Ok((handle, coordinates))
    }

    /// The four registers that a texture instruction writes, and a mask of the used ones.
    fn texel(&mut self, o: &Operand, ty: Type) -> Lowered<([Reg; 4], u8)> {
        let parts = self.parts(o);
        if parts.len() != 4 {
            return Err(self.problem(format!("four registers are needed here, not {}", parts.len())));
        }
        let (mut d, mut kept) = ([Reg(0); 4], 0);
        for (k, part) in parts.iter().enumerate() {
            if part.kind != OperandKind::Sink {
                d[k] = self.dst(part, ty)?;
                kept |= 1 << k;
            }
        }
        Ok((d, kept))
    }

    /// The types of texels and coordinates.
    fn texture_types(&self, m: &Mods<'_>) -> Lowered<(Type, Type)> {
        m.has("v4");
        match m.types()[..] {
            [texel @ (Type::F32 | Type::S32 | Type::U32), at @ (Type::F32 | Type::S32)] => Ok((texel, at)),
            _ => Err(self.problem(format!("`{}` is not executable", m.text()))),
        }
    }

    /// `tex{.level}.shape.v4.type.type d, [texture, {coordinates}]{, level}`
    fn texture(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let shape = self.need(m.one_of(&SHAPES), m)?;
        let (texel, ty) = self.texture_types(m)?;
        let level = m.has("level");
        self.expect(o, 2 + usize::from(level))?;
        let (d, channels) = self.texel(&o[0], texel)?;
        let first = if shape.is_layered() { Type::U32 } else { ty };
        let (handle, mut coordinates) = self.texel_place(&o[1], shape, [first, ty])?;
        if level {
            coordinates.push(self.src(&o[2], ty)?);
        }
        let kind = if ty == Type::F32 { FetchKind::Sample } else { FetchKind::Texel };
        Ok(fetch(kind, shape, handle, (&coordinates, level), (d, channels)))
    }

    /// `tld4.channel.shape.v4.type.f32 d, [texture, {coordinates}]`
    fn gather(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let channel = self.need(m.one_of(&[("r", 0), ("g", 1), ("b", 2), ("a", 3)]), m)?;
        let shape = self.need(m.one_of(&[SHAPES[1], SHAPES[4], SHAPES[5], SHAPES[6]]), m)?;
        let (texel, ty) = self.texture_types(m)?;
        self.expect(o, 2)?;
        let (d, channels) = self.texel(&o[0], texel)?;
        let first = if shape.is_layered() { Type::U32 } else { ty };
        let (handle, coordinates) = self.texel_place(&o[1], shape, [first, ty])?;
        Ok(fetch(FetchKind::Gather(channel), shape, handle, (&coordinates, false), (d, channels)))
    }

    /// `suld.b.shape{.vec}.type.outside d, [surface, {coordinates}]`, and `sust`, which has the data last.
    fn surface(&mut self, m: &Mods<'_>, o: &[Operand], store: bool) -> Lowered<Op> {
        let ty = self.need_type(m)?;
        self.expect(o, 2)?;
        let (format, registers) = if store { self.stored(m, ty, &o[1])? } else { self.loaded(m, ty, &o[0])? };
        m.has("b");
        let shape = self.need(m.one_of(&SHAPES), m)?;
        let modes = [("trap", Outside::Trap), ("clamp", Outside::Clamp), ("zero", Outside::Zero)];
        let outside = m.one_of(&modes).unwrap_or(Outside::Trap);
        let (handle, mut coordinates) = self.texel_place(&o[usize::from(!store)], shape, [Type::B32; 2])?;
        if shape.is_layered() {
            // The layer is first in PTX, last in the operation.
            coordinates.rotate_left(1);
        }
        let mut at = [Reg(0); 3];
        at[..coordinates.len()].copy_from_slice(&coordinates);
        Ok(Op::Surface(SurfaceAccess { store, outside, shape, handle, wide: true, at, format, registers }))
    }

    /// `txq.width.b32 d, [texture]`, and `suq` in the same form.
    fn query(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let kinds = [("width", QueryKind::Width), ("height", QueryKind::Height), ("depth", QueryKind::Depth)];
        let kind = self.need(m.one_of(&kinds), m)?;
        let ty = self.need_type(m)?;
        self.expect(o, 2)?;
        let d = self.dst(&o[0], ty)?;
        let address = self.address(&o[1])?.0;
        Ok(Op::Query(Query { kind, handle: address.base, wide: address.wide, d }))
    }
}

fn fetch(
    kind: FetchKind,
    shape: Shape,
    handle: Reg,
    (sources, level): (&[Reg], bool),
    (d, channels): ([Reg; 4], u8),
) -> Op {
    let mut at = [Reg(0); 5];
    at[..sources.len()].copy_from_slice(sources);
    Op::Fetch(Fetch { kind, shape, handle, wide: true, at, level, channels, d })
}
