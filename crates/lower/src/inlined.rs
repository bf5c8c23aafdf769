//! Calls that code was inlined for, each kept once.

use isa::{InlinedCall, Lines};
use std::collections::HashMap;

/// Adds calls to the lines of a program.
#[derive(Debug, Default)]
pub struct Calls {
    known: HashMap<InlinedCall, u32>,
}

impl Calls {
    /// Says that the instruction `index` of `all` was inlined for `calls`, files and lines, the innermost first.
    pub fn add(&mut self, lines: &mut Lines, (index, all): (usize, usize), mut calls: Vec<(u16, u32)>) {
        calls.reverse();
        let inlined = calls.into_iter().fold(None, |outer, at| {
            let call = InlinedCall { at, outer };
            Some(*self.known.entry(call).or_insert_with(|| {
                lines.calls.push(call);
                lines.calls.len() as u32 - 1
            }))
        });
        if inlined.is_some() {
            lines.inlined.resize(all, None);
            lines.inlined[index] = inlined;
        }
    }
}
