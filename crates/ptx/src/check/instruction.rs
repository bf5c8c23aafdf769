//! Checks that every instruction matches a form of the [table](crate::isa) and its operands, and that the
//! module's `.version` and `.target` have it.

use super::declared::Declared;
use super::operand::{Operands, cut, shown};
use crate::ast::*;
use crate::diag::Diagnostic;
use crate::isa::{self, Match, Mismatch, Needs};
use crate::names::Opcode;
use crate::scope::Scopes;
use kit::suggest;

/// The opcodes of a module as forms: one look-up for each distinct opcode.
pub(super) struct Instructions {
    readings: Vec<Result<Vec<Match>, Mismatch>>,
    target: String,
}

impl Instructions {
    pub fn of(module: &Module) -> Self {
        let read = |opcode: &Opcode| {
            let matches = isa::match_opcode(opcode);
            if matches.is_empty() { Err(isa::mismatch(opcode)) } else { Ok(matches) }
        };
        let target = module.target.first().map_or(String::new(), |&t| module.name(t).to_owned());
        Self { readings: module.opcodes.all().iter().map(read).collect(), target }
    }

    /// The error of an instruction, if any; without a `hint` if the error will not be shown.
    pub fn check(&self, module: &Module, scopes: &Scopes<Declared>, i: &Instruction, hint: bool) -> Option<Diagnostic> {
        let opcode = module.opcode(i);
        let operands = Operands { module, scopes, opcode };
        if let Some(guard) = &i.guard
            && let Some(what) = operands.not_a_predicate(guard.register)
        {
            let message = format!("a guard is a predicate; `{}` is {what}", module.name(guard.register));
            return Some(Diagnostic::error(guard.span, message));
        }
        let matches = match &self.readings[i.opcode.index()] {
            Ok(matches) => matches,
            Err(why) => return Some(wrong_opcode(module, opcode, i, why, hint)),
        };
        let counted: Vec<&Match> = matches.iter().filter(|m| operands.counted(m.form, i.operands.len())).collect();
        if counted.is_empty() {
            return Some(wrong_count(opcode, matches, i));
        }
        let (mut fitting, mut gone) = (None::<Needs>, None::<Needs>);
        let mut farthest: Option<(usize, Diagnostic)> = None;
        for m in counted {
            match operands.check(m, &i.operands) {
                Ok(()) if m.form.until.is_some_and(|until| self.meets(module, until)) => gone = m.form.until,
                Ok(()) if self.meets(module, m.needs) => return None,
                Ok(()) => fitting = Some(fitting.map_or(m.needs, |n| n.min(m.needs))),
                Err((at, diagnostic)) if farthest.as_ref().is_none_or(|(f, _)| at > *f) => {
                    farthest = Some((at, diagnostic));
                }
                Err(_) => {}
            }
        }
        if let Some(until) = gone {
            let ((major, minor), target) = (until.version, until.target());
            let message = format!("`{}` does not exist since `.version {major}.{minor}` and {target}", shown(opcode));
            return Some(Diagnostic::error(i.span, message).hint("use the form with `.sync`"));
        }
        match fitting {
            Some(needs) => Some(self.too_new(module, opcode, i, needs)),
            None => farthest.map(|(_, diagnostic)| diagnostic),
        }
    }

    fn meets(&self, module: &Module, needs: Needs) -> bool {
        // The table has no older instructions apart from those of 1.4 and sm_20: earlier modules have their
        // implied modifiers, and 64-bit arithmetic, which ptxas accepts for all targets.
        let target = needs.sm <= 20 || needs.met_by_target(&self.target);
        module.version.max((1, 4)) >= needs.version && target
    }

    fn too_new(&self, module: &Module, opcode: &Opcode, i: &Instruction, needs: Needs) -> Diagnostic {
        let (text, target) = (shown(opcode), needs.target());
        if !needs.met_by_target(&self.target) {
            let only = if needs.own && needs.sm < 100 { "" } else { " or newer" };
            let message = format!("`{text}` needs `.target {target}`{only}; the module is for {}", self.target);
            return Diagnostic::error(i.span, message);
        }
        let ((major, minor), (have, have_minor)) = (needs.version, module.version);
        let message =
            format!("`{text}` needs `.version {major}.{minor}` or newer; the module says {have}.{have_minor}");
        Diagnostic::error(i.span, message)
    }
}

fn list(choices: &[&str], last: &str) -> String {
    let dotted: Vec<String> = choices.iter().map(|c| format!("`.{c}`")).collect();
    match dotted.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{} {last} {end}", rest.join(", ")),
        _ => dotted.concat(),
    }
}

fn wrong_opcode(module: &Module, opcode: &Opcode, i: &Instruction, why: &Mismatch, hint: bool) -> Diagnostic {
    let (name, text) = (opcode.name(), shown(opcode));
    let (message, hint) = match why {
        Mismatch::Unknown => {
            let near = suggest::nearest(name, isa::NAMES.iter().copied().filter(|_| hint));
            (format!("unknown instruction `{}`", cut(name)), near.map(|near| format!("did you mean `{near}`?")))
        }
        Mismatch::TooMany(most) => (format!("an opcode has at most {most} modifiers"), None),
        Mismatch::NoModifier(m) => {
            let known = isa::forms_of(name).flat_map(|f| &f.items).flat_map(|item| &item.choices).map(|c| c.text);
            let near = suggest::nearest(m, known.filter(|_| hint)).map(|near| format!("did you mean `.{near}`?"));
            (format!("`{name}` has no modifier `.{}`", cut(m)), near)
        }
        Mismatch::NotHere(m) => (format!("`.{m}` is not possible in `{text}`"), None),
        Mismatch::Missing(choices) => (format!("`{text}` needs {}", list(choices, "or")), None),
        Mismatch::NotType(ty, types) => {
            (format!("`.{ty}` is not a type of `{text}`"), Some(format!("here it can be {}", list(types, "or"))))
        }
    };
    // Unknown instructions of a newer version may be correct.
    let mut diagnostic = match module.version > isa::NEWEST {
        true => Diagnostic::warning(i.span, message),
        false => Diagnostic::error(i.span, message),
    };
    diagnostic.hint = hint;
    diagnostic
}

fn wrong_count(opcode: &Opcode, matches: &[Match], i: &Instruction) -> Diagnostic {
    let arities = || matches.iter().map(|m| m.form.arity(|modifier| opcode.has(modifier)));
    let least = arities().map(|a| a.0).min().unwrap_or(0);
    let most = arities().map(|a| a.1).max().unwrap_or(0);
    let takes = match (least, most) {
        (0, 0) => "no operands".to_owned(),
        (1, 1) => "1 operand".to_owned(),
        (least, most) if least == most => format!("{least} operands"),
        (0, most) => format!("at most {}", kit::text::counted(most as u64, "operand")),
        (least, most) => format!("{least} to {most} operands"),
    };
    Diagnostic::error(i.span, format!("`{}` takes {takes}, not {}", shown(opcode), i.operands.len()))
}
