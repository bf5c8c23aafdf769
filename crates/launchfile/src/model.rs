//! The contents of a launch file, checked without reading other files.

use super::expr::{Expr, Names};
use isa::Sampler;
use std::ops::Range;
use std::path::PathBuf;
use workloads::element::{Number, ScalarType};

/// A piece of text with its place in the launch file.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// The text, or its value.
    pub item: T,
    /// Bytes of the launch file.
    pub span: Range<usize>,
}

/// A launch file. Made by [`LaunchFile::load`].
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct LaunchFile {
    /// Where it was read from; other files are looked for beside it.
    pub path: PathBuf,
    /// Its text, for messages.
    pub text: String,
    /// One line for reports.
    pub description: String,
    /// The GPU that it runs on by default: a name, or the path of a description.
    pub gpu: Option<Located<String>>,
    /// Seed of random contents.
    pub seed: u64,
    /// Stack of a thread where machine code does not bound its own.
    pub stack_bytes: Option<u32>,
    /// Size of the heap of kernels.
    pub heap_bytes: Option<u64>,
    /// Names of values, buffers and symbols.
    pub names: Names,
    /// The values of `[values]`, in order.
    pub values: Vec<Number>,
    /// Buffers, then symbols.
    pub buffers: Vec<BufferSpec>,
    /// Bindings of texture and surface references.
    pub references: Vec<ReferenceSpec>,
    /// The modules that launches, symbols and references name, each once.
    pub modules: Vec<ModuleSpec>,
    /// Steps, in order.
    pub steps: Vec<Step>,
    /// Outputs: uses of buffers afterwards.
    pub outputs: Vec<OutputSpec>,
}

/// A module.
#[derive(Clone, Debug)]
pub struct ModuleSpec {
    /// As the launch file names it.
    pub name: String,
    /// The place in the launch file; `None` for one that is only on the command line.
    pub span: Option<Range<usize>>,
    /// The file.
    pub path: PathBuf,
}

/// A buffer to allocate and fill, or a variable of a module.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct BufferSpec {
    pub name: Located<String>,
    /// Element type; may be left to a `.npy` file.
    pub ty: Option<ScalarType>,
    /// Elements; may be left to the contents.
    pub length: Option<Expr>,
    pub content: Content,
    /// The variable that it is; else memory is allocated.
    pub symbol: Option<SymbolSpec>,
}

/// A variable of a module, or the part of it from an element on.
#[derive(Clone, Debug)]
pub struct SymbolSpec {
    /// The module, as an index into [`LaunchFile::modules`].
    pub module: usize,
    /// Its name there.
    pub name: Located<String>,
    /// Elements before the part.
    pub offset: Option<Expr>,
}

/// A texture or surface reference of a module and what it is bound to.
#[derive(Clone, Debug)]
pub struct ReferenceSpec {
    /// The module, as an index into [`LaunchFile::modules`].
    pub module: usize,
    /// Its name there.
    pub name: Located<String>,
    /// Image that it reads or writes.
    pub image: ImageSpec,
}

/// First contents of a buffer.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum Content {
    Zero,
    /// Contents that the launch file gives a variable of the module.
    Kept,
    /// One value throughout, or one computed from the index `i`.
    Formula(Expr),
    Values(Vec<Element>),
    /// Structures, each computed from its index `i`.
    Structs(StructSpec),
    Random {
        distribution: Distribution,
        /// Its own seed, if not the file's.
        seed: Option<u64>,
    },
    /// Read from a file.
    File(Located<String>),
}

/// An element of a buffer.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum Element {
    Number(Expr),
    Address(Address),
}

/// The address of a buffer, or of one of its elements.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Address {
    pub buffer: usize,
    pub offset: Option<Expr>,
    /// Where this is 0, the address is null.
    pub when: Option<Expr>,
    /// The place in the launch file.
    pub span: Range<usize>,
}

/// A structure as C lays it out.
#[derive(Clone, Debug)]
pub struct StructSpec {
    /// Each with its byte offset.
    pub members: Vec<(usize, ArgSpec)>,
    /// Size with padding.
    pub bytes: usize,
    /// Alignment.
    pub align: usize,
    /// The place in the launch file.
    pub span: Range<usize>,
}

/// How random values are drawn.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum Distribution {
    /// Evenly from low to high; the high end is included for integers.
    Uniform { low: Expr, high: Expr },
    /// About normally: the sum of twelve even draws.
    Normal { mean: Expr, deviation: Expr },
}

/// How deeply loops are nested at most.
pub const MOST_LOOPS: usize = 8;

/// A step between the first contents and the outputs.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum Step {
    Launch(Box<LaunchSpec>),
    Set(Vec<SetSpec>),
    Loop(Box<LoopSpec>),
}

/// A row of `[[loop]]`.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct LoopSpec {
    /// Number of rounds; the maximum number with a condition.
    pub repeat: Option<Expr>,
    /// Whether another round follows, over present contents of buffers.
    pub condition: Option<Expr>,
    /// Maximum number of rounds, beyond which the condition is wrong.
    pub at_most: Option<Expr>,
    pub steps: Vec<Step>,
    /// Pairs of buffers that change roles after each round.
    pub swap: Vec<(usize, usize)>,
    /// The place in the launch file.
    pub span: Range<usize>,
}

/// New contents of a part of a buffer.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct SetSpec {
    pub buffer: usize,
    /// Its first element.
    pub at: Option<Expr>,
    pub value: SetValue,
    /// The place in the launch file.
    pub span: Range<usize>,
}

/// New contents of a part of a buffer.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum SetValue {
    /// One value, or one for each index `i`, up to the end or `count`.
    Fill {
        value: Element,
        count: Option<Expr>,
    },
    Values(Vec<Element>),
    /// The present contents of another buffer.
    Copy {
        from: usize,
        offset: Option<Expr>,
        count: Option<Expr>,
    },
}

/// A row of `[[launch]]`.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct LaunchSpec {
    /// The module, as an index into [`LaunchFile::modules`].
    pub module: usize,
    pub kernel: Located<String>,
    /// CTAs: one to three expressions.
    pub grid: Vec<Expr>,
    /// Threads per CTA: one to three expressions.
    pub block: Vec<Expr>,
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: Option<Expr>,
    /// Registers per thread, if they are given.
    pub registers: Option<Expr>,
    /// One per kernel parameter.
    pub args: Located<Vec<ArgSpec>>,
    /// Number of repetitions, one after the other.
    pub repeat: Option<Expr>,
    pub stream: Option<Expr>,
    /// Pairs of buffers that change roles after each repetition.
    pub swap: Vec<(usize, usize)>,
    /// Set before each repetition.
    pub set: Vec<SetSpec>,
}

/// An argument of a launch, or a member of a structure.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum ArgSpec {
    Address(Address),
    Scalar {
        value: Expr,
        /// Its type, if not the parameter's.
        ty: Option<ScalarType>,
    },
    Array(Located<Vec<Expr>>, ScalarType),
    Struct(StructSpec),
    /// A struct passed by value, byte by byte.
    Bytes(Located<Vec<u8>>),
    /// A texture or surface over a buffer.
    Image(Box<ImageSpec>),
}

/// A texture or surface over a buffer, whose elements are the channels of its texels.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct ImageSpec {
    pub buffer: usize,
    /// The place in the launch file.
    pub span: Range<usize>,
    /// Texels of a row; all that the buffer holds, if there is one row.
    pub width: Option<Expr>,
    pub height: Option<Expr>,
    /// Slices, of a 3D image.
    pub depth: Option<Expr>,
    /// Layers, of a layered one.
    pub layers: Option<Expr>,
    /// Elements from a row to the next, if not as many as a row has.
    pub pitch: Option<Expr>,
    /// Elements of a texel, if not one.
    pub channels: Option<Expr>,
    /// How it is read, of a texture.
    pub sampler: Option<Sampler>,
}

/// Use of a buffer after the launches.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct OutputSpec {
    pub buffer: usize,
    /// Its place in the file.
    pub span: Range<usize>,
    /// Only this many elements from its start.
    pub count: Option<Expr>,
    /// Print this many elements.
    pub print: Option<Expr>,
    /// Write to a file.
    pub write: Option<Located<String>>,
    pub compare: Option<Compare>,
}

/// A comparison with expected results.
#[derive(Clone, Debug)]
pub struct Compare {
    /// Expected contents of the buffer.
    pub against: Against,
    /// Largest absolute difference that is allowed.
    pub absolute: Option<Expr>,
    /// Largest difference relative to the expected value.
    pub relative: Option<Expr>,
}

/// Expected contents of a buffer.
#[derive(Clone, Debug)]
pub enum Against {
    /// A value or a formula over `i` and the buffers' first contents.
    Formula(Expr),
    /// The contents of a file.
    File(Located<String>),
}
