//! The table of instructions: every form loads, neighbouring forms do not, and PTX compilers agree.

use crate::common;

use common::oracle::{Oracle, Setting, ours};
use ptx::isa::{Needs, Spelling, forms};
use ptx::{StateSpace, Type};

/// Targets in order, to find the one before another.
const TARGETS: [u32; 22] = [10, 11, 12, 13, 20, 30, 32, 35, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90];
const VERSIONS: [(u32, u32); 42] = {
    let rows = [(1, 0, 5), (2, 0, 3), (3, 0, 2), (4, 0, 3), (5, 0, 0), (6, 0, 5), (7, 0, 8), (8, 0, 8)];
    let (mut all, mut n, mut i) = ([(0, 0); 42], 0, 0);
    while i < rows.len() {
        let mut minor = rows[i].1;
        while minor <= rows[i].2 {
            all[n] = (rows[i].0, minor);
            n += 1;
            minor += 1;
        }
        i += 1;
    }
    all
};

/// The oldest module that has `needs`. Compilers of today know PTX 3.0 and sm_20 at least.
fn setting(needs: Needs) -> Setting {
    let needs = Needs { sm: needs.sm.max(20), ..needs };
    let version = needs.version.max((3, 0)).max(needs.target_version());
    Setting { version, target: needs.target() }
}

fn line(spelling: &Spelling) -> Option<String> {
    let operands = spelling.operands.as_ref()?.join(", ");
    Some(format!("{} {operands};", spelling.opcode).replace(" ;", ";"))
}

/// Every form written out, in the oldest module that has it.
fn allowed() -> Vec<(Setting, String)> {
    let spellings = forms().iter().flat_map(|form| form.spellings());
    spellings.filter_map(|s| Some((setting(s.needs), line(&s)?))).collect()
}

/// The same with a version or target that is one too old.
fn too_old() -> Vec<(Setting, String)> {
    let mut cases = Vec::new();
    // Handles of textures in registers are newer than the instructions, which take names, too.
    let named = |name: &str| matches!(name, "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq");
    for spelling in forms().iter().filter(|form| !named(form.name)).flat_map(|form| form.spellings()) {
        let Some(text) = line(&spelling) else { continue };
        let needs = spelling.needs;
        if let Some(&sm) = TARGETS.iter().rev().find(|&&sm| sm >= 20 && sm < needs.sm) {
            let older = Setting { version: setting(needs).version, target: Needs { sm, own: false, ..needs }.target() };
            cases.push((older, text.clone()));
        }
        if let Some(&version) = VERSIONS.iter().rev().find(|&&v| v >= (3, 0) && v < needs.version) {
            let older = Setting { version, target: setting(needs).target };
            let target = Needs { sm: needs.sm.max(20), ..needs };
            if version >= target.target_version() {
                cases.push((older, text));
            }
        }
    }
    cases
}

/// Neighbours of each form: another type, one modifier more or less, another kind of operand, one operand
/// more or less. Some of them are allowed.
fn neighbours(share: usize) -> Vec<(Setting, String)> {
    const OPERANDS: [&str; 24] = [
        "%pred_8",
        "!%pred_8",
        "%b8_8",
        "%b16_8",
        "%u16_8",
        "%b32_8",
        "%u32_8",
        "%s32_8",
        "%b64_8",
        "%s64_8",
        "%f32_8",
        "%f64_8",
        "1",
        "-1",
        "1.0",
        "0f3f800000",
        "[%b64_8]",
        "[gv]",
        "[sv]",
        "gv",
        "%tid.x",
        "_",
        "DONE",
        "{%u32_7, %u32_8}",
    ];
    const MODIFIERS: [&str; 22] = [
        "sat", "ftz", "rn", "rz", "rni", "cc", "relu", "NaN", "approx", "full", "lo", "hi", "wide", "v2", "global",
        "shared", "sync", "aligned", "x2", "gpu", "and", "frob",
    ];
    let mut cases = Vec::new();
    for form in forms().iter().step_by(share) {
        let Some(base) = form.spellings().into_iter().next() else { continue };
        let Some(operands) = base.operands.clone() else { continue };
        let newest = if base.needs.sm > 100 {
            "sm_120a"
        } else if base.needs.sm > 90 {
            "sm_100a"
        } else {
            "sm_90a"
        };
        let setting = Setting { version: (8, 8), target: newest.into() };
        let mut push = |opcode: &str, operands: &[String]| {
            cases.push((setting.clone(), format!("{opcode} {};", operands.join(", ")).replace(" ;", ";")));
        };
        for at in 0..operands.len() {
            for other in OPERANDS {
                let mut changed = operands.clone();
                changed[at] = other.into();
                push(&base.opcode, &changed);
            }
        }
        if let Some((last, rest)) = operands.split_last() {
            push(&base.opcode, rest);
            push(&base.opcode, &[&operands[..], std::slice::from_ref(last)].concat());
        }
        let parts: Vec<&str> = base.opcode.split('.').collect();
        for at in 1..parts.len() {
            let mut fewer = parts.clone();
            fewer.remove(at);
            push(&fewer.join("."), &operands);
            let others: Vec<&str> = match (Type::from_name(parts[at]), StateSpace::from_name(parts[at])) {
                (Some(_), _) => Type::ALL.iter().map(|t| t.name()).collect(),
                (_, Some(_)) => StateSpace::ALL.iter().map(|s| s.name()).collect(),
                _ => Vec::new(),
            };
            for other in others {
                let mut changed = parts.clone();
                changed[at] = other;
                push(&changed.join("."), &operands);
            }
        }
        for more in MODIFIERS {
            push(&format!("{}.{more}", base.opcode), &operands);
        }
    }
    cases
}

/// Everything that the table allows is allowed.
#[test]
fn forms_load() {
    let cases = allowed();
    assert!(cases.len() > 5000, "{}", cases.len());
    for ((setting, text), error) in cases.iter().zip(ours(&cases)) {
        assert_eq!(error, None, "{text} for {setting:?}");
    }
}

/// Nothing is allowed in a module that is too old for it.
#[test]
fn forms_need_their_version_and_target() {
    let cases = too_old();
    assert!(cases.len() > 5000, "{}", cases.len());
    for ((setting, text), error) in cases.iter().zip(ours(&cases)) {
        let error = error.unwrap_or_else(|| panic!("{text} is allowed for {setting:?}"));
        assert!(error.contains(" needs `."), "{text}: {error}");
    }
}

/// Verdicts of ptxas 12.9 and ours on neighbours of forms: `+` both accept it, `-` both refuse it, `~` only
/// we accept it, `!` only ptxas does.
const VERDICTS: &str = include_str!("data/neighbours.txt");

#[test]
fn what_is_next_to_forms_is_judged_as_by_ptxas() {
    let read = |line: &str| {
        let mut fields = line.splitn(4, ' ');
        let (sign, version, target) = (fields.next()?, fields.next()?, fields.next()?);
        let (major, minor) = version.split_once('.')?;
        let version = (major.parse().ok()?, minor.parse().ok()?);
        Some((sign.to_owned(), (Setting { version, target: target.into() }, fields.next()?.to_owned())))
    };
    let (signs, cases): (Vec<String>, Vec<_>) = VERDICTS.lines().filter_map(read).unzip();
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for ((sign, (setting, text)), error) in signs.iter().zip(&cases).zip(ours(&cases)) {
        let taken = matches!(sign.as_str(), "+" | "~");
        assert_eq!(error.is_none(), taken, "`{sign}` {text} for {setting}: {error:?}");
        *counts.entry(sign).or_default() += 1;
    }
    let of = |sign: &str| counts.get(sign).copied().unwrap_or(0);
    assert!(of("-") > 1000 && of("+") > 50, "{counts:?}");
    // Forms that ptxas accepts and the manual lacks, and numbers that only ptxas checks.
    assert!(of("~") <= 3 && of("!") <= 5, "{counts:?}");
}

/// Writes the verdicts anew, of every sixteenth form.
#[test]
#[ignore = "needs ptxas 12.9 in WARPWRIGHT_PTXAS"]
fn renew_the_verdicts() {
    let oracle = Oracle::from_environment();
    let mut cases = neighbours(16);
    cases.sort();
    cases.dedup();
    let mut out = String::new();
    for (((setting, text), ours), theirs) in cases.iter().zip(ours(&cases)).zip(oracle.ask(&cases)) {
        let sign = match (ours.is_none(), theirs.is_none()) {
            (true, true) => '+',
            (false, false) => '-',
            (true, false) => '~',
            (false, true) => '!',
        };
        out += &format!("{sign} {setting} {text}\n");
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/neighbours.txt"), out).unwrap();
}

/// Compares the table with the `ptxas` in `WARPWRIGHT_PTXAS`; prints each difference.
#[test]
#[ignore = "needs ptxas"]
fn agrees_with_ptxas() {
    let oracle = Oracle::from_environment();
    // All neighbours take long: by default those of every tenth form.
    let share = std::env::var("WARPWRIGHT_PTXAS_SHARE").map_or(10, |n| n.parse().unwrap());
    let mut differences = 0;
    for (what, cases) in [("allowed", allowed()), ("too old", too_old()), ("neighbour", neighbours(share))] {
        let cases: Vec<_> = cases.into_iter().filter(|(setting, _)| oracle.knows(setting)).collect();
        let (mut worse, mut laxer) = (0, 0);
        for (((setting, text), ours), theirs) in cases.iter().zip(ours(&cases)).zip(oracle.ask(&cases)) {
            match (ours, theirs) {
                (Some(error), None) => {
                    worse += 1;
                    println!("{what}: REFUSED {text} for {setting}: {error}");
                }
                (None, Some(error)) => {
                    laxer += 1;
                    println!("{what}: ACCEPTED {text} for {setting}: {error}");
                }
                _ => {}
            }
        }
        println!("{what}: {} cases, {worse} refused by us only, {laxer} by ptxas only", cases.len());
        differences += worse;
    }
    assert_eq!(differences, 0, "refused here, accepted by ptxas");
}
