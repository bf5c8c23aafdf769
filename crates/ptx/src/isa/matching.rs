//! Finds the forms that an opcode matches.

use super::{Form, Item, Needs, forms_of};
use crate::names::Opcode;
use crate::types::Type;

/// An opcode read as one of its forms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match {
    pub form: &'static Form,
    pub types: [Option<Type>; 4],
    /// Minimum version and target of the form and the chosen modifiers.
    pub needs: Needs,
}

/// More modifiers than any form has, including repeated ones: bounds the time for an opcode.
const MOST_MODIFIERS: usize = 32;

/// The forms that have exactly the modifiers of `opcode`.
pub(crate) fn match_opcode(opcode: &Opcode) -> Vec<Match> {
    if opcode.modifiers().len() > MOST_MODIFIERS {
        return Vec::new();
    }
    forms_of(opcode.name()).filter_map(|form| Attempt::of(form, opcode).complete()).collect()
}

/// An opcode read as a form, up to the first part that does not match.
struct Attempt {
    form: &'static Form,
    types: [Option<Type>; 4],
    needs: Needs,
    /// Modifiers, by index, that the form does not have.
    left: Vec<usize>,
    /// Modifiers that the form needs and the opcode does not have.
    missing: Vec<&'static Item>,
}

impl Attempt {
    fn of(form: &'static Form, opcode: &Opcode) -> Self {
        let modifiers = opcode.modifiers();
        let mut left: Vec<usize> = (0..modifiers.len()).collect();
        let (mut types, mut needs, mut missing) = ([None; 4], form.needs, Vec::new());
        for item in &form.items {
            let choice_of = |i: usize| item.choices.iter().find(|c| *c.text == *modifiers[i]);
            // Types keep their order: only the first one left can match.
            let first_type = left.iter().position(|&i| Type::from_name(&modifiers[i]).is_some());
            let at = match first_type.filter(|_| item.is_type()) {
                Some(at) if choice_of(left[at]).is_some() => Some(at),
                _ => left.iter().position(|&i| choice_of(i).is_some_and(|c| c.ty.is_none())),
            };
            match at {
                Some(at) => {
                    let chosen = choice_of(left.remove(at));
                    needs = chosen.map_or(needs, |c| needs.and(c.needs));
                    if let Some(binds) = item.binds {
                        types[binds] = chosen.and_then(|c| c.ty);
                    }
                }
                None if item.optional => {}
                None => missing.push(item),
            }
        }
        needs = needs.and(form.vector_needs(vector_length(|v| opcode.has(v)), types[0]));
        // Some flags may be repeated.
        let twice = |m: &str| matches!(m, "cc" | "sync" | "approx" | "sat" | "uni" | "NaN");
        let flag = |item: &Item, m: &str| item.choices.len() == 1 && item.choices[0].text == m && twice(m);
        left.retain(|&i| !form.items.iter().any(|item| flag(item, &modifiers[i])));
        if form.items.iter().any(Item::is_open) {
            left.clear();
        }
        Self { form, types, needs, left, missing }
    }

    fn complete(self) -> Option<Match> {
        let done = self.left.is_empty() && self.missing.is_empty();
        done.then_some(Match { form: self.form, types: self.types, needs: self.needs })
    }
}

/// The number of elements in `.v2`, `.v4` or `.v8`; 1 without these.
pub(crate) fn vector_length(has: impl Fn(&str) -> bool) -> u32 {
    [("v2", 2), ("v4", 4), ("v8", 8)].into_iter().find(|(v, _)| has(v)).map_or(1, |(_, n)| n)
}

/// The reason why an opcode matches no form of its instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// There is no such instruction.
    Unknown,
    /// It has more modifiers than this maximum.
    TooMany(usize),
    /// No form of the instruction has this modifier.
    NoModifier(String),
    /// The modifier is not possible with the other ones.
    NotHere(String),
    /// One of these is needed.
    Missing(Vec<&'static str>),
    /// The type is not one of these.
    NotType(String, Vec<&'static str>),
}

/// The reason why `opcode` matches no form, by the nearest form.
pub(crate) fn mismatch(opcode: &Opcode) -> Mismatch {
    if opcode.modifiers().len() > MOST_MODIFIERS {
        return Mismatch::TooMany(MOST_MODIFIERS);
    }
    let attempts = forms_of(opcode.name()).map(|form| Attempt::of(form, opcode));
    let Some(nearest) = attempts.min_by_key(|a| a.left.len() + a.missing.len()) else { return Mismatch::Unknown };
    let modifiers = opcode.modifiers();
    let anywhere =
        |m: &str| forms_of(opcode.name()).flat_map(|f| &f.items).flat_map(|item| &item.choices).any(|c| c.text == m);
    if let Some(m) = modifiers.iter().find(|m| !anywhere(m) && Type::from_name(m).is_none()) {
        return Mismatch::NoModifier(m.to_string());
    }
    let texts = |item: &Item| item.choices.iter().map(|c| c.text).collect();
    let typed = nearest.left.iter().find(|&&i| Type::from_name(&modifiers[i]).is_some());
    if let (Some(item), Some(&i)) = (nearest.missing.iter().find(|item| item.is_type()), typed) {
        return Mismatch::NotType(modifiers[i].to_string(), texts(item));
    }
    match (nearest.left.first(), nearest.missing.first()) {
        (Some(&i), _) => Mismatch::NotHere(modifiers[i].to_string()),
        (None, Some(item)) => Mismatch::Missing(texts(item)),
        // Not reached: it matches a form.
        (None, None) => Mismatch::Unknown,
    }
}
