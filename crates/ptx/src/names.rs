//! Names and opcodes: each is stored once per module and has a small id.

use crate::types::Type;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

kit::id! {
    /// A name in a module: register, variable, label, function. Equal names have equal ids.
    pub struct Sym(u32);
    /// An opcode with its modifiers, such as `ld.global.f32`. Equal texts have equal ids.
    pub struct OpcodeId(u32);
}

/// The names of a module.
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Vec<Box<str>>,
    by_text: HashMap<Box<str>, Sym, BuildHasherDefault<TextHasher>>,
}

impl Names {
    /// The id of `text`; a new one if it has none.
    pub fn intern(&mut self, text: &str) -> Sym {
        if let Some(&sym) = self.by_text.get(text) {
            return sym;
        }
        let sym = Sym::from(self.texts.len());
        self.texts.push(text.into());
        self.by_text.insert(text.into(), sym);
        sym
    }

    /// Gives `sym` another text, which no name has.
    pub(crate) fn rename(&mut self, sym: Sym, text: &str) {
        let old = std::mem::replace(&mut self.texts[sym.index()], text.into());
        self.by_text.remove(&old);
        self.by_text.insert(text.into(), sym);
    }

    /// The id of `text`, if it has one.
    pub fn get(&self, text: &str) -> Option<Sym> {
        self.by_text.get(text).copied()
    }

    /// The text of `sym`. Panics if the id is another module's and out of range.
    pub fn text(&self, sym: Sym) -> &str {
        &self.texts[sym.index()]
    }

    /// Number of names: ids are `0..len`.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Eq for Names {}

/// An opcode, split into its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opcode {
    text: Box<str>,
    parts: Box<[Box<str>]>,
}

impl Opcode {
    pub(crate) fn new(text: &str) -> Self {
        // A double colon belongs to its modifier; a single dot starts the next one.
        Self { text: text.into(), parts: text.split('.').map(Into::into).collect() }
    }

    /// The whole text, such as `ld.global.v4.f32`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The operation, such as `ld`.
    pub fn name(&self) -> &str {
        &self.parts[0]
    }

    /// The modifiers without their dots, including types, such as `global`, `v4`, `f32`. A modifier may
    /// contain colons: `shared::cta`, `L2::128B`.
    pub fn modifiers(&self) -> &[Box<str>] {
        &self.parts[1..]
    }

    /// Whether `modifier` (without its dot) is among them.
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers().iter().any(|m| &**m == modifier)
    }

    /// The modifiers that are types, in order: `F16` and `F32` for `cvt.rn.f16.f32`.
    pub fn types(&self) -> impl DoubleEndedIterator<Item = Type> + '_ {
        self.modifiers().iter().filter_map(|m| Type::from_name(m))
    }

    /// The modifiers that are not types, in order: `lt` and `ftz` for `setp.lt.ftz.f32`.
    pub fn qualifiers(&self) -> impl DoubleEndedIterator<Item = &str> + '_ {
        self.modifiers().iter().map(|m| &**m).filter(|m| Type::from_name(m).is_none())
    }
}

/// The opcodes of a module.
#[derive(Clone, Debug, Default)]
pub struct Opcodes {
    items: Vec<Opcode>,
    by_text: HashMap<Box<str>, OpcodeId, BuildHasherDefault<TextHasher>>,
}

impl Opcodes {
    /// The id of the opcode `text`; a new one if it has none.
    pub fn intern(&mut self, text: &str) -> OpcodeId {
        if let Some(&id) = self.by_text.get(text) {
            return id;
        }
        let id = OpcodeId::from(self.items.len());
        self.items.push(Opcode::new(text));
        self.by_text.insert(text.into(), id);
        id
    }

    /// The opcode `id`.
    pub fn get(&self, id: OpcodeId) -> &Opcode {
        &self.items[id.index()]
    }

    /// All opcodes, ordered by id, which is the order of first use in the module.
    pub fn all(&self) -> &[Opcode] {
        &self.items
    }
}

impl PartialEq for Opcodes {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl Eq for Opcodes {}

/// FNV-1a over eight bytes at a time: a module has many short names.
#[derive(Clone, Copy)]
struct TextHasher(u64);

impl Default for TextHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for TextHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 ^= self.0 >> 29;
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
