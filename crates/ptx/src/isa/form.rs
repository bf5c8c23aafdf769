//! Reading of one row of the table.

use crate::types::Type;

/// A form of an instruction.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Form {
    /// Heading of the section in the table.
    pub section: &'static str,
    /// The operation, such as `add`.
    pub name: &'static str,
    /// The text of the row up to the first semicolon.
    pub text: &'static str,
    pub items: Vec<Item>,
    pub operands: Vec<OperandShape>,
    /// The operands in the table's notation.
    pub takes: &'static str,
    /// Minimum version and target of the form.
    pub needs: Needs,
    /// Version and target that, together, removed the form.
    pub until: Option<Needs>,
}

/// A modifier, or a choice between several.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Item {
    /// The modifier may be omitted.
    pub optional: bool,
    /// Index of the instruction's type that it sets: 0 for `T`.
    pub binds: Option<usize>,
    pub choices: Vec<Choice>,
}

/// One of the choices for a modifier.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The modifier without its dot.
    pub text: &'static str,
    /// The type, if it is one.
    pub ty: Option<Type>,
    /// Minimum version and target in addition to the form's.
    pub needs: Needs,
}

/// Minimum ISA version and target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Needs {
    /// From `.version`.
    pub version: (u32, u32),
    /// From `.target`: 80 for `sm_80`.
    pub sm: u32,
    /// Only the architecture-specific target has it, such as `sm_90a`.
    pub own: bool,
}

impl Needs {
    /// The maximum of both.
    #[must_use]
    pub fn and(self, other: Needs) -> Needs {
        let version = self.version.max(other.version);
        Needs { version, sm: self.sm.max(other.sm), own: self.own || other.own }
    }

    /// Whether a module for `target`, such as `sm_90a`, satisfies the minimum target.
    pub fn met_by_target(self, target: &str) -> bool {
        let Some(text) = target.strip_prefix("sm_") else { return true };
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let Ok(sm) = digits.parse::<u32>() else { return true };
        // Features of `sm_90a` are not in later architectures.
        let own = !self.own || (digits.len() < text.len() && (sm == self.sm || self.sm >= 100));
        sm >= self.sm && own
    }

    /// The ISA version that introduced the target, for targets that modules are likely to name.
    pub fn target_version(self) -> (u32, u32) {
        match (self.sm, self.own) {
            (..=13, _) => (1, 0),
            (..=20, _) => (2, 0),
            (..=30, _) => (3, 0),
            (35, _) => (3, 1),
            (..=50, _) => (4, 0),
            (..=52, _) => (4, 1),
            (..=53, _) => (4, 2),
            (..=62, _) => (5, 0),
            (..=70, _) => (6, 0),
            (..=72, _) => (6, 1),
            (..=75, _) => (6, 3),
            (..=80, _) => (7, 0),
            (..=86, _) => (7, 1),
            (..=87, _) => (7, 4),
            (89, _) | (90, false) => (7, 8),
            (..=90, _) => (8, 0),
            (..=101, _) => (8, 6),
            _ => (8, 7),
        }
    }

    /// The target as written in a module.
    pub fn target(self) -> String {
        format!("sm_{}{}", self.sm, if self.own { "a" } else { "" })
    }
}

/// An operand of a form.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct OperandShape {
    pub kind: SlotKind,
    /// The instruction writes it.
    pub written: bool,
    /// It may be the sink `_`.
    pub sink: bool,
    /// It may be omitted.
    pub optional: bool,
    /// The operand is present if and only if this modifier is.
    pub with: Option<&'static str>,
}

/// Kinds of operands that a form accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum SlotKind {
    /// A register, or a number if `number`. Also wider registers if `wider`.
    Value {
        ty: TypeOf,
        /// A literal is accepted.
        number: bool,
        /// A wider register is accepted.
        wider: bool,
    },
    /// `{a, b}` of `count` values. 0: the number in the modifier, or one value without a modifier.
    Vector {
        count: u8,
        ty: TypeOf,
        /// Wider registers are accepted.
        wider: bool,
    },
    /// The parts of a value: `{%r1, %r2}` for one of 64 bits.
    Parts(TypeOf),
    Predicate,
    /// A register and a predicate, which may be omitted unless `always`.
    WithPredicate {
        ty: TypeOf,
        /// The predicate may not be omitted.
        always: bool,
    },
    /// A register, a selected byte or half of one, or a number if `number`.
    Selected {
        ty: TypeOf,
        /// A literal is accepted.
        number: bool,
    },
    /// A vector of any length.
    Registers,
    /// Only the sink `_`.
    Sink,
    /// One predicate or two.
    Predicates,
    /// An address in the state space of this letter.
    Address(u8),
    /// Anything in brackets.
    Brackets,
    /// An image and coordinates in brackets.
    Image,
    Barrier,
    /// A number that is a multiple of this.
    Multiple(u8),
    Integer,
    Symbol,
    Special,
    Label,
    Any,
    /// Any number of anything.
    Rest,
}

/// The type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeOf {
    /// A fixed type.
    Is(Type),
    /// The instruction's type with this index.
    Bound(usize),
    /// Twice the width of the instruction's type with this index.
    Double(usize),
}

impl TypeOf {
    /// The type in an instruction with these types.
    pub fn of(self, types: &[Option<Type>; 4]) -> Option<Type> {
        match self {
            TypeOf::Is(ty) => Some(ty),
            TypeOf::Bound(i) => types[i],
            TypeOf::Double(i) => match types[i]? {
                Type::U16 => Some(Type::U32),
                Type::S16 => Some(Type::S32),
                Type::U32 => Some(Type::U64),
                Type::S32 => Some(Type::S64),
                _ => None,
            },
        }
    }

    fn read(text: &str) -> Option<Self> {
        match text {
            "2T" => Some(TypeOf::Double(0)),
            _ => letter(text).map(TypeOf::Bound).or_else(|| Type::from_name(text).map(TypeOf::Is)),
        }
    }
}

fn letter(text: &str) -> Option<usize> {
    ["T", "U", "V", "W"].iter().position(|l| *l == text)
}

impl Form {
    /// Reads a row. The error names the part that is not valid.
    pub(super) fn read(section: &'static str, row: &'static str) -> Result<Self, String> {
        let mut fields = row.split(';').map(str::trim);
        let text = fields.next().unwrap_or_default();
        let takes = fields.next().ok_or("no operands")?;
        let needs = fields.next().ok_or("no version")?;
        let (needs, until) = match needs.split_once(" until ") {
            Some((needs, until)) => (needs, Some(Needs::read(until)?)),
            None => (needs, None),
        };
        let needs = Needs::read(needs)?;
        let mut words = text.split_whitespace();
        let name = words.next().ok_or("no name")?;
        let items = words.map(Item::read).collect::<Result<_, _>>()?;
        let operands = takes.split_whitespace().map(OperandShape::read).collect::<Result<_, _>>()?;
        Ok(Form { section, name, text, items, operands, takes, needs, until })
    }

    /// Minimum version and target of a load or store of `count` elements of `ty`, in addition to the
    /// modifiers'.
    pub(super) fn vector_needs(&self, count: u32, ty: Option<Type>) -> Needs {
        let wide = matches!(self.name, "ld" | "st") && ty.is_some_and(|ty| count * ty.bits() > 128);
        if wide { Needs { version: (8, 8), sm: 100, own: false } } else { Needs::default() }
    }

    /// Minimum and maximum number of operands of an opcode with these modifiers.
    pub fn arity(&self, has: impl Fn(&str) -> bool) -> (usize, usize) {
        let (mut least, mut most) = (0, 0);
        for operand in &self.operands {
            match operand.with {
                _ if operand.kind == SlotKind::Rest => most = usize::MAX / 2,
                Some(_) if !operand.is_with(&has) => {}
                _ => {
                    least += usize::from(!operand.optional);
                    most += 1;
                }
            }
        }
        (least, most)
    }
}

impl Needs {
    /// `7.0 80` or `8.0 90a`.
    fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a version and a target");
        let (version, target) = text.split_once([' ', ',']).ok_or_else(wrong)?;
        let (major, minor) = version.split_once('.').ok_or_else(wrong)?;
        let number = |t: &str| t.parse::<u32>().map_err(|_| wrong());
        let own = target.ends_with('a');
        Ok(Needs { version: (number(major)?, number(minor)?), sm: number(target.trim_end_matches('a'))?, own })
    }
}

impl Item {
    fn read(word: &'static str) -> Result<Self, String> {
        let word = word.strip_prefix('.').ok_or_else(|| format!("`{word}` has no dot"))?;
        if word == "*" {
            return Ok(Item { optional: true, binds: None, choices: Vec::new() });
        }
        let (optional, word) = match word.strip_suffix('?') {
            Some(word) => (true, word),
            None => (false, word),
        };
        let (binds, word) = match word.split_once('=') {
            Some((name, rest)) => (letter(name), rest),
            None => (None, word),
        };
        let choices = word.split('/').map(Choice::read).collect::<Result<_, _>>()?;
        Ok(Item { optional, binds, choices })
    }

    /// Whether it matches any modifiers.
    pub fn is_open(&self) -> bool {
        self.choices.is_empty()
    }

    /// Whether one of its choices is a type.
    pub fn is_type(&self) -> bool {
        self.choices.iter().any(|c| c.ty.is_some())
    }
}

impl Choice {
    fn read(word: &'static str) -> Result<Self, String> {
        let (text, needs) = match word.split_once('(') {
            Some((text, needs)) => (text, Needs::read(needs.trim_end_matches(')'))?),
            None => (word, Needs::default()),
        };
        Ok(Choice { text, ty: Type::from_name(text), needs })
    }
}

impl OperandShape {
    /// Whether the operand is present in an opcode with these modifiers, if they decide it.
    pub fn is_with(&self, has: impl Fn(&str) -> bool) -> bool {
        self.with.is_none_or(|with| with.split('/').any(has))
    }

    fn read(word: &'static str) -> Result<Self, String> {
        let unknown = || format!("`{word}` is not an operand");
        let (written, rest) = word.strip_prefix('=').map_or((false, word), |rest| (true, rest));
        let (rest, with) = rest.split_once('@').map_or((rest, None), |(rest, with)| (rest, Some(with)));
        let (rest, optional) = rest.strip_suffix('?').map_or((rest, false), |rest| (rest, true));
        let (rest, sink) = rest.strip_suffix('_').map_or((rest, false), |rest| (rest, true));
        let kind = SlotKind::read(rest, written).ok_or_else(unknown)?;
        Ok(OperandShape { kind, written, sink, optional, with })
    }
}

impl SlotKind {
    fn read(text: &'static str, written: bool) -> Option<Self> {
        Some(match text {
            "p" => SlotKind::Predicate,
            "p|p" => SlotKind::Predicates,
            "bar" => SlotKind::Barrier,
            "16n" => SlotKind::Multiple(16),
            "32n" => SlotKind::Multiple(32),
            "[t]" => SlotKind::Image,
            "imm" => SlotKind::Integer,
            "sym" => SlotKind::Symbol,
            "sreg" => SlotKind::Special,
            "label" => SlotKind::Label,
            "[*]" => SlotKind::Brackets,
            "*" => SlotKind::Any,
            "..." => SlotKind::Rest,
            "{*}" => SlotKind::Registers,
            "" => SlotKind::Sink,
            _ => {
                if let Some(space) = text.strip_prefix('[') {
                    return Some(SlotKind::Address(*space.as_bytes().first()?));
                }
                let (text, wider) = text.strip_suffix('>').map_or((text, false), |rest| (rest, true));
                if let Some(rest) = text.strip_prefix('{') {
                    let (count, ty) = rest.split_once('}')?;
                    let ty = TypeOf::read(ty)?;
                    return match count {
                        "" => Some(SlotKind::Parts(ty)),
                        "v" => Some(SlotKind::Vector { count: 0, ty, wider }),
                        _ => Some(SlotKind::Vector { count: count.parse().ok()?, ty, wider }),
                    };
                }
                let (text, only) = text.strip_suffix('!').map_or((text, false), |rest| (rest, true));
                if let Some(ty) = text.strip_suffix("|p") {
                    return Some(SlotKind::WithPredicate { ty: TypeOf::read(ty)?, always: only });
                }
                if let Some(ty) = text.strip_suffix('.') {
                    return Some(SlotKind::Selected { ty: TypeOf::read(ty)?, number: !only && !written });
                }
                SlotKind::Value { ty: TypeOf::read(text)?, number: !only && !written, wider }
            }
        })
    }
}
