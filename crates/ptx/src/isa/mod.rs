//! The instructions of PTX ISA 1.0 to 8.8 as data: one row of `table.txt` for each form of an instruction,
//! with its modifiers, types, operands, and the minimum ISA version and target.
//!
//! The checker ([`check`](crate::check)) matches instructions with these rows, the conformance tests generate
//! their cases from them, and docs/ptx.md lists them. A row is read at its first use.
//!
//! # Notation of a row
//! `name modifiers ; operands ; version target`, followed by ` until version target` if a later version
//! removed it
//!
//! **Modifiers**: `.x` is required, `.x?` is optional, `.x/y/z` is one of several, `.T=u32/s32` is the
//! instruction's type `T` (further ones are `U`, `V`, `W`). A choice may have a higher minimum than the row:
//! `relu(7.0,80)`. `.*` is any modifiers: of such instructions only the name is checked. PTX compilers accept
//! modifiers in any order; the order of a row is only the manual's. Types keep their order.
//!
//! **Operands** are sources unless `=` precedes them: `T` register or number of the instruction's type (`2T`
//! of twice its width, `u32` of that type), `T!` register only, `T>` register of that width or wider, `{4}T`
//! vector of four, `{v}T` vector of the length in the modifier `.v2`, `.v4` or `.v8`, `p` predicate, `T|p`
//! register and optional predicate (`T|p!` required), `T.` register or a part of it, `{*}` any vector, `p|p`
//! two predicates, `[g]` address (`g` global, `s` shared, `l` local, `c` constant, `p` parameter, `m`
//! according to the modifiers), `[*]` anything in brackets, `[t]` an image and coordinates, `bar` a barrier's
//! number, `16n` a multiple of 16, `imm` integer, `sym` variable or function, `sreg` special register,
//! `label`, `*` anything, `...` any number of anything. A suffix `_` allows the sink (`=_` is always the
//! sink), `?` makes the operand optional, `@mod` makes it present if and only if the modifier is.

mod form;
mod matching;
mod spelling;

pub use form::{Choice, Form, Item, Needs, OperandShape, SlotKind, TypeOf};
pub(crate) use matching::{Match, Mismatch, match_opcode, mismatch, vector_length};
pub(crate) use spelling::wmma_fragments;
pub use spelling::{DECLARATIONS, Spelling};
use std::sync::{LazyLock, OnceLock};

/// The rows as text.
const TABLE: &str = include_str!("table.txt");

/// The newest ISA version in the table. In modules of a newer version unknown instructions may be correct.
pub const NEWEST: (u32, u32) = (8, 8);

/// All forms, in the order of the table.
pub fn forms() -> &'static [Form] {
    static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| (0..ROWS.len()).map(|row| form(row).clone()).collect());
    &FORMS
}

/// The forms of the instruction `name`, such as `add`.
pub fn forms_of(name: &str) -> impl Iterator<Item = &'static Form> {
    ROWS.iter().enumerate().filter(move |(_, row)| row.name == name).map(|(number, _)| form(number))
}

/// The form of row `number`, read at its first use: a module needs few of them.
fn form(number: usize) -> &'static Form {
    static FORMS: [OnceLock<Form>; ROWS.len()] = [const { OnceLock::new() }; ROWS.len()];
    let Row { section, text, .. } = ROWS[number];
    // The table is part of the program; a test reads every row.
    let read = || Form::read(section, text).unwrap_or_else(|e| panic!("PTX table: {e}: {text}"));
    FORMS[number].get_or_init(read)
}

/// A row of the table.
#[derive(Clone, Copy)]
struct Row {
    section: &'static str,
    name: &'static str,
    text: &'static str,
}

const ROWS: &[Row; read_rows::<0>().1] = &read_rows().0;

/// The first `N` rows, and the number of all.
const fn read_rows<const N: usize>() -> ([Row; N], usize) {
    let (mut rows, mut count, mut section, mut rest) = ([Row { section: "", name: "", text: "" }; N], 0, "", TABLE);
    while !rest.is_empty() {
        let (name, text, after) = first_line(rest);
        if is_any(name, &["#"]) {
            section = text.split_at(2).1;
        } else if !is_any(name, &["", "//"]) {
            if count < N {
                rows[count] = Row { section, name, text };
            }
            count += 1;
        }
        rest = after;
    }
    (rows, count)
}

/// The names of all instructions, in the order of the table. A name occurs once for each group of adjacent rows.
/// Constant, so that an opcode without a lowering does not compile.
pub const NAMES: [&str; read_names::<0>().1] = read_names().0;

/// The first `N` names, and the number of all.
const fn read_names<const N: usize>() -> ([&'static str; N], usize) {
    let (mut names, mut count, mut last, mut row) = ([""; N], 0, "", 0);
    while row < ROWS.len() {
        let name = ROWS[row].name;
        if !is_any(name, &[last]) {
            if count < N {
                names[count] = name;
            }
            (count, last) = (count + 1, name);
        }
        row += 1;
    }
    (names, count)
}

/// The first word of the first line of `text`, that line, and the lines that follow.
const fn first_line(text: &'static str) -> (&'static str, &'static str, &'static str) {
    let bytes = text.as_bytes();
    let mut word = 0;
    while word < bytes.len() && bytes[word] != b' ' && bytes[word] != b'\n' {
        word += 1;
    }
    let mut line = word;
    while line < bytes.len() && bytes[line] != b'\n' {
        line += 1;
    }
    let next = if line < bytes.len() { line + 1 } else { line };
    (text.split_at(word).0, text.split_at(line).0, text.split_at(next).1)
}

/// Whether `name` is one of `names`.
pub const fn is_any(name: &str, names: &[&str]) -> bool {
    let name = name.as_bytes();
    let mut number = 0;
    while number < names.len() {
        let other = names[number].as_bytes();
        let mut at = 0;
        while at < name.len() && name.len() == other.len() && name[at] == other[at] {
            at += 1;
        }
        if at == name.len() && at == other.len() {
            return true;
        }
        number += 1;
    }
    false
}
