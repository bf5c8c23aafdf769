//! Several modules as one.
//!
//! | name | in the linked module |
//! | --- | --- |
//! | `.visible`, kernels | one definition |
//! | `.weak` | one definition: a visible one, or the first |
//! | `.common` | one definition: a visible one, or the largest |
//! | `.extern` | the definition of another module |
//! | `.extern .shared` without a size | one for each module, all at the start of dynamic shared memory |
//! | without linkage | one for each module, renamed where another module has the same name |

use crate::ast::{Function, FunctionKind, Item, Module, Variable};
use crate::names::Sym;
use crate::print::print;
use crate::types::{Linkage, StateSpace};
use std::collections::{BTreeMap, HashSet};

/// How much a definition counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Common(u64),
    Weak,
    Strong,
}

/// Use of a name at module level by a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// No other module sees it.
    Private,
    Defines(Strength),
    /// Another module has to define it.
    Needs,
    /// A prototype: another module may define it, or the system.
    Declares,
}

/// Links modules, each with its name for messages; returns the text of one module.
///
/// # Errors
/// Names that two modules define, or none does; all problems.
pub fn link(modules: &mut [(String, Module)]) -> Result<String, Vec<String>> {
    let mut problems = Vec::new();
    if modules.iter().any(|(_, module)| module.address_size != 64) {
        problems.push("modules of 32-bit addressing cannot be linked".to_owned());
    }
    rename_private(modules);
    let chosen = choose(modules, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let newest = modules.iter().map(|(_, module)| module.version).max().unwrap_or_default();
    let target = modules.iter().max_by_key(|(_, module)| module.target_sm()).map(|(_, module)| {
        let words: Vec<&str> = module.target.iter().map(|&word| module.name(word)).collect();
        words.join(", ")
    });
    let (version, target) = (format!("{}.{}", newest.0, newest.1), target.unwrap_or_default());
    let mut text = format!(".version {version}\n.target {target}\n.address_size 64\n");
    let mut files = 0;
    for (at, (_, module)) in modules.iter_mut().enumerate() {
        number_files(module, &mut files);
        let kept = |item: &Item| stays(module, item, |name| chosen.get(name).is_none_or(|&(chosen, _)| chosen == at));
        let stay: Vec<bool> = module.items.iter().map(kept).collect();
        let mut stay = stay.into_iter();
        module.items.retain(|_| stay.next().unwrap_or(true));
        (module.version, module.target) = ((0, 0), Vec::new());
        // The first line is `.address_size`.
        text.push_str(print(module).split_once('\n').map_or("", |(_, rest)| rest));
    }
    Ok(text)
}

/// The name of an item and what the module does with it.
fn role(item: &Item) -> Option<(Sym, Role)> {
    match item {
        Item::Variable(v) => Some((v.name?, role_of_variable(v))),
        Item::Function(f) => Some((f.name, role_of_function(f))),
        Item::Alias(alias) => Some((alias.name, Role::Defines(Strength::Strong))),
        Item::Pragma(_) => None,
    }
}

fn role_of_variable(v: &Variable) -> Role {
    match v.linkage {
        Some(Linkage::Extern) if v.space == StateSpace::Shared => Role::Private,
        Some(Linkage::Extern) => Role::Needs,
        Some(Linkage::Visible) => Role::Defines(Strength::Strong),
        Some(Linkage::Weak) => Role::Defines(Strength::Weak),
        Some(Linkage::Common) => Role::Defines(Strength::Common(v.bytes().unwrap_or(0))),
        None => Role::Private,
    }
}

fn role_of_function(f: &Function) -> Role {
    match (f.linkage, f.kind, &f.body) {
        (Some(Linkage::Weak), _, Some(_)) => Role::Defines(Strength::Weak),
        // The program finds kernels by name, whatever their linkage is.
        (Some(_), _, Some(_)) | (None, FunctionKind::Entry, Some(_)) => Role::Defines(Strength::Strong),
        (None, FunctionKind::Func, Some(_)) => Role::Private,
        (None, FunctionKind::Func, None) => Role::Private,
        (_, _, None) => Role::Declares,
    }
}

/// Renames what no other module sees and another one has at module level too.
fn rename_private(modules: &mut [(String, Module)]) {
    let names = |module: &Module| -> HashSet<String> {
        module.items.iter().filter_map(role).map(|(name, _)| module.name(name).to_owned()).collect()
    };
    let all: Vec<HashSet<String>> = modules.iter().map(|(_, module)| names(module)).collect();
    for at in 0..modules.len() {
        let module = &modules[at].1;
        let is_private = |(_, role): &(Sym, Role)| *role == Role::Private;
        let private: Vec<Sym> = module.items.iter().filter_map(role).filter(is_private).map(|(name, _)| name).collect();
        for name in private {
            let old = modules[at].1.name(name).to_owned();
            if !all.iter().enumerate().any(|(other, names)| other != at && names.contains(&old)) {
                continue;
            }
            let is_free = |new: &String| modules.iter().all(|(_, module)| module.names.get(new).is_none());
            let new = (0..).map(|n| format!("{old}__{at}_{n}")).find(is_free).unwrap_or_default();
            modules[at].1.names.rename(name, &new);
        }
    }
}

/// The module that defines each name that others see, and how.
fn choose(modules: &[(String, Module)], problems: &mut Vec<String>) -> BTreeMap<String, (usize, Strength)> {
    let mut chosen: BTreeMap<String, (usize, Strength)> = BTreeMap::new();
    for (at, (origin, module)) in modules.iter().enumerate() {
        for (name, role) in module.items.iter().filter_map(role) {
            let (name, Role::Defines(strength)) = (module.name(name), role) else { continue };
            match chosen.get(name) {
                Some(&(first, Strength::Strong)) if strength == Strength::Strong && first != at => {
                    problems.push(format!("`{name}` is defined in `{}` and in `{origin}`", modules[first].0));
                }
                Some(&(_, present)) if present >= strength => {}
                _ => {
                    chosen.insert(name.to_owned(), (at, strength));
                }
            }
        }
    }
    for (origin, module) in modules {
        for (name, _) in module.items.iter().filter_map(role).filter(|(_, role)| *role == Role::Needs) {
            let name = module.name(name);
            if !chosen.contains_key(name) {
                problems.push(format!("`{name}` is used in `{origin}` and defined in no module"));
            }
        }
    }
    chosen
}

/// Whether an item stays in its module, which `defines` the names of definitions that were chosen.
fn stays(module: &Module, item: &Item, defines: impl Fn(&str) -> bool) -> bool {
    match role(item) {
        None | Some((_, Role::Private | Role::Declares)) => true,
        Some((_, Role::Needs)) => false,
        Some((name, Role::Defines(_))) => defines(module.name(name)),
    }
}

/// Gives the source files of a module numbers after the files of the modules before it, `used` so far.
fn number_files(module: &mut Module, used: &mut u32) {
    let offset = *used;
    for file in &mut module.files {
        file.index = file.index.saturating_add(offset);
        *used = (*used).max(file.index);
    }
    for loc in &mut module.locs {
        loc.file = loc.file.saturating_add(offset);
        if let Some(inlined) = &mut loc.inlined {
            inlined.file = inlined.file.saturating_add(offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, parse};

    fn linked(texts: &[&str]) -> Result<Module, Vec<String>> {
        let header = ".version 7.8\n.target sm_75\n.address_size 64\n";
        let parsed = texts.iter().enumerate().map(|(i, text)| {
            let parsed = parse("test", format!("{header}{text}"));
            assert!(
                !parsed.diagnostics.has_errors(),
                "{}",
                parsed.diagnostics.render(&parsed.source, crate::Severity::Error)
            );
            (format!("{i}.ptx"), parsed.module)
        });
        let text = link(&mut parsed.collect::<Vec<_>>())?;
        let parsed = parse("linked", &text);
        assert!(parsed.diagnostics.is_empty() && !check(&parsed.module).has_errors(), "{text}");
        Ok(parsed.module)
    }

    fn values(module: &Module) -> Vec<(&str, Option<String>)> {
        let init = |v: &Variable| v.init.as_ref().map(|init| format!("{init:?}"));
        module.variables().map(|v| (v.name.map_or("", |name| module.name(name)), init(v))).collect()
    }

    #[test]
    fn a_definition_takes_the_place_of_declarations_before_and_after_it() {
        let declares = ".extern .global .u32 x;\n.visible .global .u64 at = x;";
        for texts in [[declares, ".visible .global .u32 x = 7;"], [".visible .global .u32 x = 7;", declares]] {
            let module = linked(&texts).unwrap();
            let x: Vec<_> = values(&module).into_iter().filter(|(name, _)| *name == "x").collect();
            assert_eq!(x.len(), 1);
            assert!(x[0].1.as_ref().is_some_and(|init| init.contains('7')));
        }
        assert_eq!(linked(&[declares]).unwrap_err(), ["`x` is used in `0.ptx` and defined in no module"]);
    }

    #[test]
    fn private_names_of_modules_do_not_meet() {
        let text = |n: u32| {
            format!(
                ".global .u32 seed = {n};\n.func (.reg .u32 r) get() {{ ld.global.u32 r, [seed]; ret; }}\n\
                 .visible .entry k{n}() {{ .reg .u32 %r<2>; call (%r1), get, (); ret; }}"
            )
        };
        let module = linked(&[&text(1), &text(2)]).unwrap();
        let names: HashSet<&str> = values(&module).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert_eq!(module.functions().map(|f| f.name).collect::<HashSet<_>>().len(), 4);
    }

    #[test]
    fn of_weak_definitions_one_stays() {
        let weak = ".weak .func f() { ret; }";
        assert_eq!(linked(&[weak, weak]).unwrap().functions().count(), 1);
        let strong = ".visible .func f() { trap; ret; }";
        let module = linked(&[weak, strong]).unwrap();
        assert_eq!(module.functions().map(|f| f.instructions().count()).collect::<Vec<_>>(), [2]);
        assert_eq!(linked(&[strong, strong]).unwrap_err(), ["`f` is defined in `0.ptx` and in `1.ptx`"]);
        let common = |n: u32| format!(".common .global .u32 buffer[{n}];");
        let module = linked(&[&common(2), &common(8), &common(4)]).unwrap();
        assert_eq!(module.variables().map(|v| v.bytes()).collect::<Vec<_>>(), [Some(32)]);
    }

    #[test]
    fn source_files_keep_their_lines() {
        let text = |name: &str| format!(".file 1 \"{name}\"\n.visible .entry {name}() {{ .loc 1 7 3\n ret; }}");
        let module = linked(&[&text("a"), &text("b")]).unwrap();
        let file = |f: &Function| {
            let loc = f.instructions().find_map(|instruction| module.loc(instruction)).unwrap();
            module.files.iter().find(|file| file.index == loc.file).map(|file| file.path.to_string())
        };
        assert_eq!(module.kernels().map(file).collect::<Vec<_>>(), [Some("a".to_owned()), Some("b".to_owned())]);
    }
}
