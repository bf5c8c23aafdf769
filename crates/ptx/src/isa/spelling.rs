//! Opcodes and operands generated from forms, for the conformance tests and the list of what can be executed.

use super::{Form, Item, Needs, OperandShape, SlotKind, TypeOf, vector_length};
use crate::types::Type;

/// A generated instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// The opcode with its modifiers.
    pub opcode: String,
    /// The operands; `None` where the form does not determine them.
    pub operands: Option<Vec<String>>,
    /// Minimum version and target.
    pub needs: Needs,
    /// Index of the choice of each modifier of the form; `None` where it is omitted.
    pub choices: Vec<Option<usize>>,
}

/// Declarations for the operands of [`Spelling`]s: at module level, and in a body. The parameter `pv` is
/// declared by the kernel.
pub const DECLARATIONS: (&str, &str) = (
    ".global .align 16 .b32 gv[64];\n.const .align 16 .b32 cv[64];\n.shared .align 16 .b32 sv[64];\n\
     .func fv() { ret; }\n",
    ".local .align 16 .b32 lv[64];\n.param .align 16 .b8 qv[64];\n.reg .pred %pred_<9>;\n.reg .b8 %b8_<9>;\n.reg .u8 %u8_<9>;\n.reg .s8 %s8_<9>;\n\
     .reg .b16 %b16_<9>;\n.reg .u16 %u16_<9>;\n.reg .s16 %s16_<9>;\n.reg .b32 %b32_<128>;\n.reg .u32 %u32_<9>;\n\
     .reg .s32 %s32_<128>;\n.reg .b64 %b64_<9>;\n.reg .u64 %u64_<9>;\n.reg .s64 %s64_<9>;\n.reg .f32 %f32_<128>;\n\
     .reg .f64 %f64_<36>;\n",
);

/// Maximum number of spellings of a form with many modifiers.
const MOST: usize = 400;

impl Form {
    /// Spellings of the form: all of them if they are few, otherwise enough that each choice and each pair of
    /// types occurs.
    pub fn spellings(&self) -> Vec<Spelling> {
        let counts: Vec<usize> = self.items.iter().map(Item::ways).collect();
        let all = counts.iter().try_fold(1_usize, |n, &c| n.checked_mul(c).filter(|&n| n <= MOST));
        let picks = match all {
            Some(_) => product(&counts, |_| true),
            None => {
                // All types with the first choice of other modifiers, then each other choice.
                let mut picks = product(&counts, |i| self.items[i].is_type());
                for (i, &count) in counts.iter().enumerate().filter(|(i, _)| !self.items[*i].is_type()) {
                    picks.extend((1..count).map(|pick| {
                        let mut one = vec![0; counts.len()];
                        one[i] = pick;
                        one
                    }));
                }
                picks
            }
        };
        picks.iter().map(|pick| self.spelling(pick)).collect()
    }

    fn spelling(&self, pick: &[usize]) -> Spelling {
        let (mut opcode, mut types, mut needs) = (self.name.to_owned(), [None; 4], self.needs);
        let mut choices = Vec::with_capacity(pick.len());
        for (item, &way) in self.items.iter().zip(pick) {
            let number = if item.optional { way.checked_sub(1) } else { Some(way) };
            choices.push(number);
            let Some(choice) = number.and_then(|n| item.choices.get(n)) else { continue };
            opcode = format!("{opcode}.{}", choice.text);
            needs = needs.and(choice.needs);
            if let Some(binds) = item.binds {
                types[binds] = choice.ty;
            }
        }
        let length = vector_length(|v| opcode.split('.').any(|m| m == v));
        needs = needs.and(self.vector_needs(length, types[0]));
        let operands = self.write_operands(&opcode, &types);
        // Handles in registers are newer than references by name.
        if matches!(self.name, "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq") {
            needs = needs.and(Needs { version: (3, 1), sm: 20, own: false });
        }
        Spelling { opcode, operands, needs, choices }
    }

    fn write_operands(&self, opcode: &str, types: &[Option<Type>; 4]) -> Option<Vec<String>> {
        let has = |modifier: &str| opcode.split('.').any(|m| m == modifier);
        if self.items.iter().any(Item::is_open) {
            return None;
        }
        match self.name {
            "call" => return Some(vec!["fv".into()]),
            "tex" | "tld4" | "suld" | "sust" | "sured" => return image(self.name, opcode),
            "wmma" => return wmma(opcode),
            "wgmma" if has("mma_async") => return wgmma(opcode),
            _ => {}
        }
        let there = self.operands.iter().filter(|o| o.is_with(has) && !o.optional);
        there.enumerate().map(|(i, o)| write_operand(self, o, i, opcode, types)).collect()
    }
}

impl Item {
    /// Number of spellings of the modifier.
    fn ways(&self) -> usize {
        self.choices.len() + usize::from(self.optional)
    }
}

/// All combinations of the counts for which `varies`, the others 0.
fn product(counts: &[usize], varies: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for (i, &count) in counts.iter().enumerate() {
        let count = if varies(i) { count } else { 1 };
        all = all.into_iter().flat_map(|pick| (0..count).map(move |way| [&pick[..], &[way]].concat())).collect();
    }
    all
}

/// A register that holds a value of type `ty`.
fn register(ty: Type, number: usize) -> String {
    let name = match ty {
        _ if !ty.is_float() && !matches!(ty, Type::U16x2 | Type::S16x2) => ty.name(),
        Type::F32 | Type::F64 => ty.name(),
        _ if ty.bits() == 16 => "b16",
        _ if ty.bits() == 32 => "b32",
        _ => "b64",
    };
    format!("%{name}_{number}")
}

fn vector(ty: Type, count: usize) -> String {
    let parts: Vec<String> = (0..count).map(|i| register(ty, i)).collect();
    format!("{{{}}}", parts.join(", "))
}

fn write_operand(
    form: &Form,
    operand: &OperandShape,
    at: usize,
    opcode: &str,
    types: &[Option<Type>; 4],
) -> Option<String> {
    let has = |modifier: &str| opcode.split('.').any(|m| m == modifier);
    let of = |ty: TypeOf| ty.of(types).filter(|ty| ty.bits() >= 8 && *ty != Type::B128);
    Some(match operand.kind {
        SlotKind::Value { ty, .. } | SlotKind::Selected { ty, .. } => register(of(ty)?, at),
        SlotKind::WithPredicate { ty, always: true } => format!("{}|%pred_{at}", register(of(ty)?, at)),
        SlotKind::WithPredicate { ty, .. } => register(of(ty)?, at),
        SlotKind::Sink => "_".into(),
        SlotKind::Vector { count: 0, ty, .. } => match vector_length(has) {
            1 => register(of(ty)?, at),
            length => vector(of(ty)?, length as usize),
        },
        SlotKind::Vector { count, ty, .. } => vector(of(ty)?, usize::from(count)),
        SlotKind::Parts(ty) => match of(ty)?.bits() {
            64 => vector(Type::B32, 2),
            32 => vector(Type::B16, 2),
            _ => vector(Type::B8, 2),
        },
        SlotKind::Predicate | SlotKind::Predicates => format!("%pred_{at}"),
        SlotKind::Address(space) => address(space, opcode),
        SlotKind::Brackets | SlotKind::Image => "[%b64_1]".into(),
        SlotKind::Barrier | SlotKind::Multiple(_) => register(Type::U32, at),
        SlotKind::Integer => integer(form.name, &has).into(),
        SlotKind::Symbol => match address(b'm', opcode).trim_matches(['[', ']']) {
            "%b64_1" if form.name == "mov" => "gv".into(),
            "%b64_1" => "sv".into(),
            variable => variable.into(),
        },
        SlotKind::Special => match types[1].or(types[0]) {
            Some(Type::Pred) => "%is_explicit_cluster".into(),
            _ if has("v2") || has("v4") => "%tid".into(),
            Some(ty) if ty.bits() == 64 => "%clock64".into(),
            _ => "%tid.x".into(),
        },
        SlotKind::Label if form.name == "brx" => "LIST".into(),
        SlotKind::Label => "DONE".into(),
        SlotKind::Any if form.name == "vmad" => register(types[at - 1]?, at),
        SlotKind::Any | SlotKind::Registers | SlotKind::Rest => return None,
    })
}

fn address(space: u8, opcode: &str) -> String {
    let has = |modifier: &str| opcode.split('.').any(|m| m.split("::").next() == Some(modifier));
    match space {
        b'g' => "[gv]",
        b's' => "[sv]",
        _ if has("shared") => "[sv]",
        _ if has("global") => "[gv]",
        _ if has("local") => "[lv]",
        _ if has("const") => "[cv]",
        _ if has("param") && opcode.starts_with("st") => "[qv]",
        _ if has("param") || has("param::func") => "[pv]",
        _ => "[%b64_1]",
    }
    .into()
}

/// An integer that the instruction allows.
fn integer(name: &str, has: &dyn Fn(&str) -> bool) -> &'static str {
    match name {
        "cp" if has("wait_group") => "1",
        "cp" => "16",
        "setmaxnreg" => "64",
        "mma" | "wgmma" => "0",
        "pmevent" => "1",
        "st" => "0",
        _ => "128",
    }
}

/// Operands of textures and surfaces: a handle, coordinates for the geometry, and further ones for the kind
/// of access.
fn image(name: &str, opcode: &str) -> Option<Vec<String>> {
    let modifiers: Vec<&str> = opcode.split('.').collect();
    let has = |modifier: &str| modifiers.contains(&modifier);
    let types: Vec<Type> = modifiers.iter().filter_map(|m| Type::from_name(m)).collect();
    let count = vector_length(has);
    let value = |ty| if count == 1 { register(ty, 3) } else { vector(ty, count as usize) };
    if matches!(name, "suld" | "sust" | "sured") {
        let at = match () {
            () if has("1d") => "{%s32_1}",
            () if has("2d") | has("a1d") => "{%s32_1, %s32_2}",
            () => "{%s32_1, %s32_2, %s32_3, %s32_4}",
        };
        let place = format!("[%u64_1, {at}]");
        return Some(if name == "suld" { vec![value(types[0]), place] } else { vec![place, value(types[0])] });
    }
    let c = |n: usize| register(types[1], n);
    let layer = || "%u32_5".to_owned();
    let at = match () {
        () if has("1d") => vec![c(1)],
        () if has("2d") => vec![c(1), c(2)],
        () if has("a1d") => vec![layer(), c(1)],
        () if has("a2d") => vec![layer(), c(1), c(2), c(2)],
        () if has("acube") => vec![layer(), c(1), c(2), c(3)],
        () if has("2dms") => vec![layer(), c(1), c(2), c(2)],
        () if has("a2dms") => vec![layer(), layer(), c(1), c(2)],
        () => vec![c(1), c(2), c(3), c(3)],
    };
    let mut operands = vec![value(types[0]), format!("[%u64_1, {{{}}}]", at.join(", "))];
    if has("level") {
        operands.push(c(4));
    }
    if has("grad") {
        let slope = match () {
            () if has("1d") | has("a1d") => vec![c(1)],
            () if has("2d") | has("a2d") => vec![c(1), c(2)],
            () => vec![c(1), c(2), c(3), c(3)],
        };
        operands.extend([format!("{{{}}}", slope.join(", ")), format!("{{{}}}", slope.join(", "))]);
    }
    Some(operands)
}

/// Number and type of the registers of a thread's part of a matrix.
fn fragment(part: char, shape: &str, ty: &str) -> (Type, usize) {
    let ab = |square, a_is_small, large| match (shape, part) {
        ("m8n32k16", 'a') | ("m32n8k16", 'b') => a_is_small,
        ("m8n32k16", _) | ("m32n8k16", _) => large,
        _ => square,
    };
    match (ty, part) {
        ("f16", 'a' | 'b') => (Type::F16x2, 8),
        ("bf16", _) => (Type::Bf16x2, ab(4, 2, 8)),
        ("u8" | "s8", _) => (Type::B32, ab(2, 1, 4)),
        ("tf32", _) => (Type::Tf32, 4),
        ("f64", 'a' | 'b') => (Type::F64, 1),
        ("f64", _) => (Type::F64, 2),
        ("u4" | "s4" | "b1", _) => (Type::B32, 1),
        ("f16", _) => (Type::F16x2, 4),
        ("s32", _) if shape.starts_with("m8n8") => (Type::S32, 2),
        ("s32", _) => (Type::S32, 8),
        _ => (Type::F32, 8),
    }
}

/// The matrices among the operands of a `wmma` with these modifiers: type and number of registers of each.
pub(crate) fn wmma_fragments(modifiers: &[impl AsRef<str>]) -> Option<Vec<Option<(Type, usize)>>> {
    let modifiers: Vec<&str> = modifiers.iter().map(AsRef::as_ref).collect();
    let shape = modifiers.iter().find(|m| m.starts_with('m') && m.contains('k'))?;
    let types: Vec<&str> = modifiers.iter().copied().filter(|m| Type::from_name(m).is_some()).collect();
    let matrix = |part, ty| Some(fragment(part, shape, ty));
    match (*modifiers.first()?, &types[..]) {
        ("load", [ty]) => Some(vec![matrix(modifiers.get(1)?.chars().next()?, ty), None, None]),
        ("store", [ty]) => Some(vec![None, matrix('d', ty), None]),
        (_, [d, c]) => Some(vec![matrix('d', d), matrix('a', "f16"), matrix('b', "f16"), matrix('c', c)]),
        (_, [d, a, b, c]) => Some(vec![matrix('d', d), matrix('a', a), matrix('b', b), matrix('c', c)]),
        _ => None,
    }
}

fn wmma(opcode: &str) -> Option<Vec<String>> {
    let modifiers: Vec<&str> = opcode.split('.').skip(1).collect();
    // The stride comes last.
    let mut others = vec!["%u32_1".to_owned(), address(b'm', opcode)];
    let mut write = |f: Option<(Type, usize)>| match f {
        Some((ty, count)) => Some(vector(ty, count)),
        None => others.pop(),
    };
    wmma_fragments(&modifiers)?.into_iter().map(&mut write).collect()
}

/// Operands of `wgmma.mma_async` with both factors in shared memory.
fn wgmma(opcode: &str) -> Option<Vec<String>> {
    let modifiers: Vec<&str> = opcode.split('.').collect();
    let shape = modifiers.iter().find_map(|m| m.strip_prefix("m64n"))?;
    let columns: usize = shape.split_once('k')?.0.parse().ok()?;
    let types: Vec<Type> = modifiers.iter().filter_map(|m| Type::from_name(m)).collect();
    let (ty, registers) = match types[..] {
        [Type::F16, ..] => (Type::F16x2, columns / 4),
        [ty, ..] => (ty, columns / 2),
        [] => return None,
    };
    let mut operands = vec![vector(ty, registers), "%b64_1".to_owned(), "%b64_2".to_owned()];
    let mut add = |more: &[&str]| operands.extend(more.iter().map(|&text| text.to_owned()));
    if modifiers.contains(&"sp") {
        add(&["%b32_1", "0"]);
    }
    add(&["%pred_1"]);
    if types[1].is_float() {
        add(&["1", "1"]);
    }
    if types[1].bits() == 16 {
        add(&["0", "0"]);
    }
    Some(operands)
}
