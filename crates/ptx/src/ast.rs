//! The syntax tree of a PTX module.
//!
//! The tree keeps the text with little interpretation: opcodes keep their modifiers as written, operands are
//! names and literals. Names ([`Sym`]) and opcodes ([`OpcodeId`]) are interned, so that a later pass looks up
//! each distinct one once. The declaration of a name (register, label, variable, function) depends on scope;
//! [`Scopes`](crate::Scopes) resolves it.
//!
//! Every node has a [`Span`]; [`SourceText`](crate::SourceText) converts it to line and column. Spans always
//! compare equal, so `==` on trees ignores layout.

use crate::names::{Names, Opcode, OpcodeId, Opcodes, Sym};
use crate::span::Span;
use crate::types::{Component, Linkage, StateSpace, Type};

/// A module: one PTX file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Module {
    /// From `.version`; (0, 0) if the file has none, which is reported as an error.
    pub version: (u32, u32),
    /// From `.target`: the architecture first (`sm_80`), then options (`texmode_independent`).
    pub target: Vec<Sym>,
    /// From `.address_size`: 32 or 64; 64 if there is none.
    pub address_size: u32,
    /// Variables and functions in the order of the file.
    pub items: Vec<Item>,
    /// From `.file`: the files that [`Loc::file`] refers to.
    pub files: Vec<FileEntry>,
    /// Source locations of instructions.
    pub locs: Vec<Loc>,
    pub names: Names,
    pub opcodes: Opcodes,
}

impl Module {
    /// The text of a name.
    pub fn name(&self, sym: Sym) -> &str {
        self.names.text(sym)
    }

    /// The opcode of an instruction.
    pub fn opcode(&self, instruction: &Instruction) -> &Opcode {
        self.opcodes.get(instruction.opcode)
    }

    /// The source location of an instruction, if `.loc` gives one.
    pub fn loc(&self, instruction: &Instruction) -> Option<&Loc> {
        instruction.loc.map(|id| &self.locs[id.index()])
    }

    /// The functions: kernels, device functions and prototypes.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            Item::Variable(_) | Item::Alias(_) | Item::Pragma(_) => None,
        })
    }

    /// The kernels that have a body.
    pub fn kernels(&self) -> impl Iterator<Item = &Function> {
        self.functions().filter(|f| f.kind == FunctionKind::Entry && f.body.is_some())
    }

    /// The variables at module level, in the order of the file.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.items.iter().filter_map(|item| match item {
            Item::Variable(variable) => Some(variable),
            Item::Function(_) | Item::Alias(_) | Item::Pragma(_) => None,
        })
    }

    /// The number in the target architecture: 80 for `sm_80` and `compute_80`, 90 for `sm_90a`. `None` if there is no
    /// target of that form.
    pub fn target_sm(&self) -> Option<u32> {
        let text = self.name(*self.target.first()?);
        let text = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_"))?;
        text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()
    }
}

/// An item at module level.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Item {
    Variable(Variable),
    /// A kernel, a device function or a prototype.
    Function(Function),
    /// `.alias name, target;`
    Alias(Alias),
    /// `.pragma "text";`
    Pragma(Pragma),
}

/// `.alias name, target;`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Alias {
    /// The additional name.
    pub name: Sym,
    /// The function that it names.
    pub target: Sym,
    pub span: Span,
}

/// `.pragma "text", "text";`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Pragma {
    /// The texts without quotes.
    pub texts: Vec<Box<str>>,
    pub span: Span,
}

/// `.file index "path", time, size`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct FileEntry {
    /// The number that `.loc` refers to.
    pub index: u32,
    /// The path as written.
    pub path: Box<str>,
    /// Time stamp and size, if present.
    pub stamp: Option<(u64, u64)>,
    pub span: Span,
}

kit::id! {
    /// Index into [`Module::locs`].
    pub struct LocId(u32);
}

/// `.loc file line column`, with the place of inlining.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Loc {
    /// Index of a [`FileEntry`].
    pub file: u32,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// Present if the code was inlined.
    pub inlined: Option<Inlined>,
    pub span: Span,
}

/// `function_name label+offset, inlined_at file line column`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// Label in the debug section at the function's name.
    pub function: Sym,
    /// Bytes after that label.
    pub offset: i64,
    /// Index of a [`FileEntry`].
    pub file: u32,
    /// Line of the call.
    pub line: u32,
    /// Column of the call.
    pub column: u32,
}

/// A variable in memory, or a parameter: at module level, in a body, or in a parameter list (where
/// [`StateSpace::Reg`] is also possible).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Variable {
    pub space: StateSpace,
    /// Visibility in other modules; `None`: not visible.
    pub linkage: Option<Linkage>,
    /// From `.align`, in bytes; `None` for the natural alignment. See [`Variable::alignment`].
    pub align: Option<u32>,
    /// Elements of a vector: 1 (scalar), 2 or 4.
    pub vector: u8,
    /// Type of the scalars.
    pub ty: Type,
    /// `None` for the `_` of a prototype.
    pub name: Option<Sym>,
    /// From `name<count>`: declares the names `name0` to `name(count-1)`.
    pub count: Option<u32>,
    /// Array dimensions, outermost first; `None` is `[]`, which only the first may be.
    pub dims: Vec<Option<u64>>,
    /// From `.ptr` in a kernel's parameter list.
    pub ptr: Option<Pointer>,
    /// From `.attribute(...)`: `.managed`, `.unified(…)`, as written.
    pub attributes: Vec<Box<str>>,
    pub init: Option<Init>,
    /// Position of the name (or of the `_`).
    pub name_span: Span,
    pub span: Span,
}

impl Variable {
    /// Size of an element in bytes, all parts of a vector together.
    pub const fn element_bytes(&self) -> u64 {
        self.ty.bytes() as u64 * self.vector as u64
    }

    /// Number of elements: the product of the dimensions; 1 for a scalar. A first dimension `[]` has the
    /// length of the initialiser, or 0 without one. `None` on overflow.
    pub fn elements(&self) -> Option<u64> {
        let inferred = match &self.init {
            Some(Init::List(list, _)) => list.len() as u64,
            Some(Init::Value(..)) | None => 0,
        };
        self.dims.iter().try_fold(1_u64, |n, dim| n.checked_mul(dim.unwrap_or(inferred)))
    }

    /// Size in bytes; see [`Variable::elements`]. `None` on overflow.
    pub fn bytes(&self) -> Option<u64> {
        self.elements()?.checked_mul(self.element_bytes())
    }

    /// Alignment in bytes: as declared, or an element's.
    pub fn alignment(&self) -> u32 {
        self.align.unwrap_or(self.element_bytes() as u32).max(1)
    }

    /// Whether the launch or another module sets the size: `.extern .shared x[]`.
    pub fn is_unsized(&self) -> bool {
        self.dims.first() == Some(&None) && self.init.is_none()
    }
}

/// `.ptr.space.align n` on a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// State space that it points to; `None` is generic.
    pub space: Option<StateSpace>,
    /// Alignment of the pointed-to memory, in bytes.
    pub align: Option<u32>,
}

/// An initial value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Init {
    /// Value of a scalar.
    Value(InitValue, Span),
    /// Values of an array or a vector: `{a, b, …}`. May be shorter than the array: the rest is zero.
    List(Vec<Init>, Span),
}

/// An initial value of one scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum InitValue {
    Number(Immediate),
    /// The address of a variable or function, plus an offset.
    Address {
        symbol: Sym,
        /// Bytes that are added.
        offset: i64,
        /// The generic address (`generic(symbol)`) instead of the one within the state space.
        generic: bool,
        /// From `0xFF00(symbol)`: bits to extract; they are shifted down to bit 0.
        mask: Option<u64>,
    },
}

/// The kind of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// A kernel: `.entry`.
    Entry,
    /// A device function: `.func`.
    Func,
}

/// A kernel, a device function, or the prototype of one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Function {
    pub kind: FunctionKind,
    /// Visibility in other modules.
    pub linkage: Option<Linkage>,
    pub name: Sym,
    /// Return parameters; empty for kernels.
    pub returns: Vec<Variable>,
    pub params: Vec<Variable>,
    /// Directives between the parameters and the body.
    pub directives: Vec<FunctionDirective>,
    /// The body; `None` for a prototype.
    pub body: Option<Block>,
    /// Position of the name.
    pub name_span: Span,
    /// The header, up to the body.
    pub span: Span,
}

impl Function {
    /// The instructions of the body in order, nested scopes included.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.body.iter().flat_map(Block::walk).filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction),
            _ => None,
        })
    }

    /// The numbers of the performance directive `name` (without its dot), such as `maxntid`: up to three.
    pub fn directive(&self, name: &str) -> Option<&[u64]> {
        self.directives.iter().find(|d| &*d.name == name).map(|d| &*d.values)
    }
}

/// A directive between a function's parameters and its body: `.maxntid 256, 1, 1`,
/// `.reqntid`, `.minnctapersm`, `.maxnreg`, `.noreturn`, `.explicitcluster`, `.reqnctapercluster`,
/// `.abi_preserve`, `.pragma "…"`, `.attribute(…)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct FunctionDirective {
    /// The name without its dot.
    pub name: Box<str>,
    pub values: Vec<u64>,
    /// Its texts (for `.pragma` and `.attribute`), as written, without quotes.
    pub texts: Vec<Box<str>>,
    pub span: Span,
}

/// A `{ … }`: a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Block {
    pub statements: Vec<Statement>,
    /// From `{` to `}`.
    pub span: Span,
}

impl Block {
    /// The statements in order; a nested [`Statement::Block`] precedes its statements.
    pub fn walk(&self) -> impl Iterator<Item = &Statement> {
        let mut open = vec![self.statements.iter()];
        std::iter::from_fn(move || {
            loop {
                let statement = match open.last_mut()?.next() {
                    Some(statement) => statement,
                    None => {
                        open.pop();
                        continue;
                    }
                };
                if let Statement::Block(block) = statement {
                    open.push(block.statements.iter());
                }
                return Some(statement);
            }
        })
    }
}

/// A statement of a body. Declarations and labels are visible in their block and in nested ones. The large ones, which
/// are few, are in boxes: most statements are instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Statement {
    Instruction(Instruction),
    Label(Label),
    Registers(Registers),
    /// `.local`, `.shared`, `.param`, `.const` or `.global` variable.
    Variable(Box<Variable>),
    Block(Block),
    /// `label: .branchtargets a, b, …;` (for `brx.idx`).
    BranchTargets(Targets),
    /// `label: .calltargets f, g, …;` (for indirect calls).
    CallTargets(Targets),
    /// `label: .callprototype …;` (for indirect calls).
    CallPrototype(Box<CallPrototype>),
    /// `.pragma "text";`
    Pragma(Pragma),
}

/// `name:`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Label {
    pub name: Sym,
    pub span: Span,
}

/// `.reg .v2 .f32 a, b<10>;`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Registers {
    pub ty: Type,
    /// Elements of a vector: 1 (scalar), 2 or 4.
    pub vector: u8,
    pub names: Vec<RegisterName>,
    pub span: Span,
}

/// A name, or a row of numbered names, in a `.reg` directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct RegisterName {
    /// The name, or the common start of the numbered names.
    pub name: Sym,
    /// From `name<count>`: declares the registers `name0` to `name(count-1)`.
    pub count: Option<u32>,
    pub span: Span,
}

/// A labelled list of branch or call targets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Targets {
    /// The label by which instructions refer to it.
    pub label: Sym,
    /// The labels or functions, in order.
    pub targets: Vec<(Sym, Span)>,
    pub span: Span,
}

/// `label: .callprototype (returns) _ (params);`
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CallPrototype {
    /// The label by which calls refer to it.
    pub label: Sym,
    /// Return parameters.
    pub returns: Vec<Variable>,
    pub params: Vec<Variable>,
    /// `.noreturn` and similar directives.
    pub directives: Vec<FunctionDirective>,
    pub span: Span,
}

/// `@p opcode.modifiers operands;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The predicate under which it takes effect.
    pub guard: Option<Guard>,
    /// Opcode with its modifiers; [`Module::opcode`] returns the text.
    pub opcode: OpcodeId,
    /// In the order of the text, destinations first.
    pub operands: Box<[Operand]>,
    /// Location in the high-level source; see [`Module::loc`].
    pub loc: Option<LocId>,
    /// From the guard to the semicolon.
    pub span: Span,
}

/// `@p` or `@!p`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Guard {
    pub register: Sym,
    /// Takes effect where the predicate is false.
    pub negated: bool,
    pub span: Span,
}

/// An operand with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Operand {
    pub kind: OperandKind,
    pub span: Span,
}

impl Operand {
    /// The 64 bits of an integer literal.
    pub const fn integer(&self) -> Option<u64> {
        match self.kind {
            OperandKind::Immediate(value) => value.int_bits(),
            _ => None,
        }
    }
}

/// Forms of operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// A register, special register, label, variable or function: `%r1`, `%laneid`, `buf`.
    Name(Sym),
    /// An element of a vector register: `%tid.x`.
    Component(Sym, Component),
    /// Bytes or half-words of a register, for video instructions: `%r1.b0`, `%r1.h1`,
    /// `%r1.b3210`. The second name is the selector without its dot.
    Selected(Sym, Sym),
    /// A number. Constant expressions are folded.
    Immediate(Immediate),
    /// A variable's address or a register plus an offset that is not 0, without brackets: `buf+4`.
    Offset(Sym, i64),
    /// An element of an array variable, without brackets: `buf[4]` or `buf[%r1]`.
    Element(Sym, Box<Operand>),
    /// `!p`: the negation of a predicate.
    Not(Sym),
    /// `-r`: the negative of a register, or of a part of one, for `vmad`.
    Negated(Box<Operand>),
    /// `p|q`: two destinations. Either may be the sink `_` (`None`), not both.
    Pair(Option<Sym>, Option<Sym>),
    /// `_`: a discarded destination.
    Sink,
    /// `{a, b, c, d}`
    Vector(Box<[Operand]>),
    /// `(a, b)`: arguments or results of a call.
    List(Box<[Operand]>),
    /// `[base+offset]`
    Address(Address),
    /// `[tex, {x, y}]`, `[tex, sampler, {x, y}]`, `[tensor_map, {x, y}]`: several parts in brackets.
    Texture(Box<[Operand]>),
}

/// The contents of the brackets of a memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Address {
    pub base: AddressBase,
    /// In bytes.
    pub offset: i64,
}

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressBase {
    /// A register or a variable.
    Name(Sym),
    /// No base: the offset is the address, as bits of a `u64`.
    Absolute,
}

/// A literal number, or a constant expression's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Immediate {
    /// A signed 64-bit integer.
    Signed(i64),
    /// An unsigned 64-bit integer: with suffix `U`, or too large for a signed one.
    Unsigned(u64),
    /// `0f3f800000`: the bits of a single-precision number.
    F32(u32),
    /// `0d3ff0000000000000` or `1.0`: the bits of a double-precision number.
    F64(u64),
}

impl Immediate {
    /// The 64 bits of an integer; `None` for a floating-point number.
    pub const fn int_bits(self) -> Option<u64> {
        match self {
            Immediate::Signed(value) => Some(value as u64),
            Immediate::Unsigned(value) => Some(value),
            Immediate::F32(_) | Immediate::F64(_) => None,
        }
    }

    /// The value of a floating-point literal (single precision is exact in double precision); `None` for an
    /// integer.
    pub fn float(self) -> Option<f64> {
        match self {
            Immediate::F32(bits) => Some(f64::from(f32::from_bits(bits))),
            Immediate::F64(bits) => Some(f64::from_bits(bits)),
            Immediate::Signed(_) | Immediate::Unsigned(_) => None,
        }
    }

    /// The bits of the literal in a register read as `ty`. Integers are truncated to the width.
    /// Floating-point numbers are converted to `f32` or `f64` (round to nearest even), or reinterpreted for
    /// other types of the same width as the literal. `None` where PTX has no such conversion.
    pub fn bits_as(self, ty: Type) -> Option<u64> {
        let mask = u64::MAX >> (64 - ty.bits().clamp(1, 64));
        match (self, ty) {
            (Immediate::F32(bits), Type::F32 | Type::B32 | Type::U32 | Type::S32) => Some(u64::from(bits)),
            (Immediate::F32(bits), Type::F64) => Some(f64::from(f32::from_bits(bits)).to_bits()),
            (Immediate::F64(bits), Type::F64 | Type::B64 | Type::U64 | Type::S64) => Some(bits),
            (Immediate::F64(bits), Type::F32) => Some(u64::from((f64::from_bits(bits) as f32).to_bits())),
            (Immediate::F32(_) | Immediate::F64(_), _) => None,
            (Immediate::Signed(v), Type::F32 | Type::F64) if v != 0 => float_bits(v as f64, ty),
            (Immediate::Unsigned(v), Type::F32 | Type::F64) if v != 0 => float_bits(v as f64, ty),
            (Immediate::Signed(v), _) => Some(v as u64 & mask),
            (Immediate::Unsigned(v), _) => Some(v & mask),
        }
    }
}

fn float_bits(value: f64, ty: Type) -> Option<u64> {
    match ty {
        Type::F32 => Some(u64::from((value as f32).to_bits())),
        Type::F64 => Some(value.to_bits()),
        _ => None,
    }
}
