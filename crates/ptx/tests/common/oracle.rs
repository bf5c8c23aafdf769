//! Verdicts on single instructions: ours, and those of a PTX compiler.

use ptx::isa::DECLARATIONS;
use ptx::{Parsed, Severity};
use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;

/// Version and target of a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    pub version: (u32, u32),
    pub target: String,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} {}", self.version.0, self.version.1, self.target)
    }
}

impl Setting {
    fn sm(&self) -> u32 {
        self.target.trim_start_matches("sm_").trim_end_matches('a').parse().unwrap()
    }
}

pub type Case = (Setting, String);

/// A module with one instruction a line, and the line of the first.
fn module(setting: &Setting, instructions: &[&str]) -> (String, usize) {
    let (items, body) = DECLARATIONS;
    let (major, minor) = setting.version;
    let target = &setting.target;
    let head = format!(
        ".version {major}.{minor}\n.target {target}\n.address_size 64\n{items}.entry k(.param .u64 pv)\n{{\n{body}"
    );
    let list = instructions.iter().any(|i| i.contains("LIST")).then_some("LIST: .branchtargets DONE;\n");
    let head = head + list.unwrap_or_default();
    let first = head.matches('\n').count() + 1;
    (format!("{head}{}\nDONE: ret;\n}}\n", instructions.join("\n")), first)
}

/// Indices of the cases of each setting, in groups.
fn pieces(cases: &[Case], most: usize) -> Vec<(&Setting, Vec<usize>)> {
    let mut by_setting = BTreeMap::<&Setting, Vec<usize>>::new();
    for (i, (setting, _)) in cases.iter().enumerate() {
        by_setting.entry(setting).or_default().push(i);
    }
    let cut = |(setting, all): (_, Vec<usize>)| all.chunks(most).map(|c| (setting, c.to_vec())).collect::<Vec<_>>();
    by_setting.into_iter().flat_map(cut).collect()
}

/// This crate's error for each case, or `None`. Checks that each error has a position.
pub fn ours(cases: &[Case]) -> Vec<Option<String>> {
    let mut verdicts = vec![None; cases.len()];
    for (setting, piece) in pieces(cases, 90) {
        let texts: Vec<&str> = piece.iter().map(|&i| &*cases[i].1).collect();
        let (text, first) = module(setting, &texts);
        let Parsed { module, source, mut diagnostics } = ptx::parse("case.ptx", &text);
        diagnostics.append(ptx::check(&module));
        for d in diagnostics.iter().filter(|d| d.severity == Severity::Error) {
            let at = source.position(d.span.start);
            let case = (at.line as usize).checked_sub(first).and_then(|n| piece.get(n));
            let case = *case.unwrap_or_else(|| panic!("{}", d.render(&source)));
            assert!(at.column as usize <= cases[case].1.len(), "{}", d.render(&source));
            verdicts[case] = Some(d.message.clone());
        }
    }
    verdicts
}

/// A PTX compiler to compare with.
pub struct Oracle {
    ptxas: String,
    newest: (u32, u32),
}

impl Oracle {
    pub fn from_environment() -> Self {
        let ptxas = std::env::var("WARPWRIGHT_PTXAS").expect("WARPWRIGHT_PTXAS names ptxas");
        let out = Command::new(&ptxas).arg("--version").output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let release = text.split("release ").nth(1).and_then(|t| t.split(',').next()).unwrap();
        let (major, minor) = release.split_once('.').unwrap();
        let (major, minor): (u32, u32) = (major.parse().unwrap(), minor.parse().unwrap());
        // CUDA 11.8 knows PTX 7.8; 12.0 knows 8.0, and 12.9 8.8, since 12.7 was left out.
        let newest = if major == 11 { (7, minor) } else { (8, minor - u32::from(minor > 7)) };
        Self { ptxas, newest }
    }

    pub fn knows(&self, setting: &Setting) -> bool {
        let sm = setting.sm();
        let old = self.newest < (8, 0);
        let known = if old { sm <= 90 && !setting.target.ends_with('a') } else { sm <= 121 };
        setting.version <= self.newest && known
    }

    /// The compiler's error for each case, or `None`.
    pub fn ask(&self, cases: &[Case]) -> Vec<Option<String>> {
        let mut verdicts = vec![None; cases.len()];
        for (setting, piece) in pieces(cases, 150) {
            let mut left = vec![piece];
            while let Some(piece) = left.pop() {
                let texts: Vec<&str> = piece.iter().map(|&i| &*cases[i].1).collect();
                let (bad, elsewhere) = self.errors(setting, &texts);
                for (&n, message) in &bad {
                    verdicts[piece[n]] = Some(message.clone());
                }
                // Some errors are reported only when others are gone, some without a position.
                let rest = || (0..piece.len()).filter(|n| !bad.contains_key(n)).map(|n| piece[n]).collect::<Vec<_>>();
                match elsewhere {
                    // An error of compilation, not of the instruction.
                    Some(message) if message.contains("32-Bit") && piece.len() == 1 => {}
                    Some(message) if message.contains("does not support .target") || piece.len() == 1 => {
                        piece.iter().for_each(|&i| verdicts[i] = Some(message.clone()));
                    }
                    Some(_) if bad.is_empty() => {
                        let (one, other) = piece.split_at(piece.len() / 2);
                        left.extend([one.to_vec(), other.to_vec()]);
                    }
                    _ if bad.is_empty() => {}
                    _ => left.push(rest()),
                }
            }
        }
        verdicts
    }

    /// The errors of one run by number of the instruction, and one that has another place.
    fn errors(&self, setting: &Setting, instructions: &[&str]) -> (BTreeMap<usize, String>, Option<String>) {
        let (text, first) = module(setting, instructions);
        let file = tempfile::Builder::new().suffix(".ptx").tempfile().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let sm = setting.sm();
        let oldest = if self.newest < (8, 0) { 35 } else { 50 };
        let arch = if sm < oldest { format!("sm_{oldest}") } else { setting.target.clone() };
        let run = Command::new(&self.ptxas).args(["-O0", "-arch", &arch, "-o", "/dev/null"]).arg(file.path()).output();
        let run = run.unwrap();
        let text = String::from_utf8_lossy(&run.stderr).into_owned();
        let (mut errors, mut elsewhere) = (BTreeMap::new(), None);
        for row in text.lines() {
            let Some((place, message)) = row.split_once("; error") else { continue };
            let number = place.rsplit("line ").next().and_then(|n| n.parse::<usize>().ok());
            if let Some(n) = number.and_then(|n| n.checked_sub(first)).filter(|&n| n < instructions.len()) {
                errors.entry(n).or_insert_with(|| message.trim_start_matches([' ', ':']).to_owned());
            } else {
                elsewhere = Some(row.to_owned());
            }
        }
        if !run.status.success() && errors.is_empty() && elsewhere.is_none() {
            elsewhere = Some(text.lines().last().unwrap_or("it crashed").to_owned());
        }
        (errors, elsewhere)
    }
}
