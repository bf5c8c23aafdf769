//! The instructions of PTX ISA 1.0 to 8.8 as data: one row of `table.txt` for each form of an
//! instruction, with its modifiers, types, operands, and the ISA version and target it needs.
//!
//! The checker ([`check`](crate::check)) reads instructions by these rows, the conformance tests
//! generate their cases from them, and docs/ptx.md lists them. The table is read once, when it is
//! first needed.
//!
//! # Notation of a row
//! `name modifiers ; operands ; version target`, with ` until version target` if from there on it is gone
//!
//! **Modifiers**: `.x` is needed, `.x?` may be there, `.x/y/z` is one of several, `.T=u32/s32` is
//! the instruction's type `T` (further ones are `U`, `V`, `W`). A choice may need more than the
//! row: `relu(7.0,80)`. `.*` is any modifiers: of such instructions only the name is checked.
//! PTX compilers take modifiers in any order, so the order of a row is only
//! the manual's way to write them; types keep their order.
//!
//! **Operands**, sources unless a `=` says that they are written:
//! `T` register or number of the instruction's type (`2T` of twice its width, `u32` of that type),
//! `T!` register only, `T>` register of that width or wider, `{4}T` vector of four, `{v}T` as the
//! modifier `.v2`, `.v4` or `.v8` says, `p` predicate, `T|p` register and maybe a predicate (`T|p!` always), `T.` register or a part of it,
//! `{*}` any vector, `p|p` two
//! predicates, `_` after it: may be the sink (`=_` always is), `[g]` address (`g` global, `s` shared, `l` local,
//! `c` constant, `p` parameter, `m` whatever the modifiers say), `[*]` anything in brackets, `[t]` an image and coordinates,
//! `bar` a barrier's number, `16n` a multiple of 16, `imm` integer, `sym` variable or function, `sreg` special register, `label`, `*` anything,
//! `...` any number of anything. `?` after it: may be left out; `@mod`: there if and only if the
//! modifier is.

mod form;
mod matching;
mod spelling;

pub use form::{Choice, Form, Item, Kind, Needs, OperandShape, TypeOf};
pub(crate) use matching::{Match, Mismatch, match_opcode, mismatch, vector_length};
pub(crate) use spelling::wmma_fragments;
pub use spelling::{DECLARATIONS, Spelling};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The rows as text.
const TABLE: &str = include_str!("table.txt");

/// The newest ISA version that the table knows. What a module of a newer version holds beyond the
/// table may be right.
pub const NEWEST: (u32, u32) = (8, 8);

/// All forms, in the order of the table.
pub fn forms() -> &'static [Form] {
    &FORMS.0
}

/// The forms of the instruction `name`, such as `add`.
pub fn forms_of(name: &str) -> impl Iterator<Item = &'static Form> {
    FORMS.1.get(name).into_iter().flatten().map(|&i| &FORMS.0[i])
}

/// The names of all instructions.
pub fn names() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    forms().iter().map(|f| f.name).filter(move |name| std::mem::replace(&mut last, name) != *name)
}

type Index = HashMap<&'static str, Vec<usize>>;

static FORMS: LazyLock<(Vec<Form>, Index)> = LazyLock::new(|| {
    let (mut forms, mut index, mut section) = (Vec::new(), Index::new(), "");
    for line in TABLE.lines() {
        match line.strip_prefix("# ") {
            Some(title) => section = title,
            None if line.is_empty() || line.starts_with("//") => {}
            // The table is part of the program; a test reads every row.
            None => {
                let form = Form::read(section, line).unwrap_or_else(|e| panic!("PTX table: {e}: {line}"));
                index.entry(form.name).or_default().push(forms.len());
                forms.push(form);
            }
        }
    }
    (forms, index)
});
