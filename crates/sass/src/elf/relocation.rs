//! Relocations of sections.

/// Value that a relocation writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocationKind {
    /// A 64-bit address.
    Address64,
    /// Lower 32 bits of an address at bit 32 of an instruction.
    Low32,
    /// Upper 32 bits of an address at bit 32 of an instruction.
    High32,
    /// An address as the target of a jump.
    JumpTarget,
    /// The handle of the image that a texture reference is bound to, a word.
    TextureHandle,
    /// The same for a surface reference.
    SurfaceHandle,
    /// None: the instruction is `YIELD`, of which a linker may make a no-operation (`R_CUDA_YIELD_OPCODE9_0`,
    /// `R_CUDA_YIELD_CLEAR_PRED4_87`).
    Yield,
    /// Another kind, by its number.
    Other(u32),
}

/// Kind of object that a symbol names. Names do not say it: local functions and variables of several translation units
/// may have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The function of this [`id`](super::ElfFunction::id).
    Function(u32),
    /// The variable at this index in [`Cubin::variables`](super::Cubin::variables).
    Variable(u32),
}

/// A relocation: an address that the loader writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Relocation<'a> {
    /// Section that is changed; for a function, its code.
    pub section: &'a str,
    /// The [`id`](super::ElfFunction::id) of the function to which the section belongs, if it belongs to one.
    pub owner: Option<u32>,
    /// In bytes, in the section.
    pub offset: u64,
    pub kind: RelocationKind,
    /// Symbol whose address is written.
    pub symbol: &'a str,
    /// The object that it names; `None` if that is not in the file.
    pub target: Option<Target>,
    /// Number that is added to the address.
    pub addend: i64,
}
