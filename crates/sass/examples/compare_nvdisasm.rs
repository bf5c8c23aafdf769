//! Compares this crate's disassembly with an installed `nvdisasm`.
//!
//! ```text
//! cargo run -p warpwright-sass --example compare_nvdisasm -- [--nvdisasm PATH] [--mutants N] [--seed S]
//!     [--flips] [--show N] FILE...
//! ```
//!
//! Files are cubins, fat binaries, or host programs. Every instruction of every function is compared; white
//! space and the final semicolon are ignored. With `--mutants N`, N copies of each instruction with one to
//! three flipped bits are compared too. With `--flips`, one instruction of each form (operation, modifiers
//! and kinds of operands) is compared with each of its bits flipped: a flip that changes `nvdisasm`'s text
//! must change ours or be refused, so that no bit is ignored silently. Words that `nvdisasm` refuses are
//! skipped. So are those in whose text a field is invalid (`INVALID`, `???`): here they must be refused or
//! printed in any form. Mutants that are refused only here are counted separately. Exit status 1: an
//! instruction of a file differs, or a bit is ignored silently.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Words per call of `nvdisasm`: a call of any size takes about half a second.
const BATCH: usize = 1 << 16;

struct Options {
    nvdisasm: PathBuf,
    mutants: usize,
    flips: bool,
    seed: u64,
    show: usize,
    files: Vec<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options =
        Options { nvdisasm: "nvdisasm".into(), mutants: 0, flips: false, seed: 1, show: 3, files: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match argument.as_str() {
            "--nvdisasm" => options.nvdisasm = value()?.into(),
            "--mutants" => options.mutants = number(value()?)? as usize,
            "--flips" => options.flips = true,
            "--seed" => options.seed = number(value()?)?,
            "--show" => options.show = number(value()?)? as usize,
            _ => options.files.push(argument.into()),
        }
    }
    if options.files.is_empty() { Err("no file given".into()) } else { Ok(options) }
}

/// A small generator of pseudo-random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

/// A word with one to three flipped bits outside opcode and scheduling bits.
fn mutant(word: u128, random: &mut Random) -> u128 {
    (0..1 + random.below(3)).fold(word, |word, _| word ^ 1 << (BITS.start as usize + random.below(BITS.len())))
}

/// The bits outside opcode and scheduling bits.
const BITS: std::ops::Range<u32> = 12..105;

/// The first word of each form with each of its bits flipped in turn, each with the word it comes from.
fn flips(words: &[u128], sm: u8) -> BTreeMap<u128, u128> {
    let mut forms = BTreeMap::new();
    for &word in words {
        let text = sass::decode::decode(word, 0, sm).map_or_else(|e| e.to_string(), |inst| inst.to_string());
        let form: String = text.chars().filter(|c| !c.is_ascii_digit() && *c != '-').collect();
        forms.entry((word & 0xfff, form)).or_insert(word);
    }
    forms.into_values().flat_map(|word| BITS.map(move |bit| (word ^ 1 << bit, word))).collect()
}

/// Words of all functions of a file, by architecture.
fn words(file: &Path, words: &mut BTreeMap<u8, Vec<u128>>) -> Result<(), String> {
    let data = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let context = |error: sass::elf::ElfError| format!("{}: {error}", file.display());
    for entry in sass::fatbin::entries(&data).map_err(context)? {
        if entry.kind != sass::fatbin::Kind::Cubin {
            continue;
        }
        let cubin = entry.extract().map_err(context)?;
        let cubin = sass::elf::Cubin::parse(&cubin).map_err(context)?;
        for function in &cubin.functions {
            let code = function.code.chunks_exact(16);
            let code = code.map(|word| u128::from_le_bytes(word.try_into().expect("a chunk has 16 bytes")));
            words.entry(cubin.sm).or_default().extend(code);
        }
    }
    Ok(())
}

/// The text by `nvdisasm` for each word at its address; `None` for words that it refuses.
fn reference(nvdisasm: &Path, words: &[u128], sm: u8) -> Result<Vec<(u64, u128, String)>, String> {
    let raw = std::env::temp_dir().join(format!("compare_nvdisasm-{}.bin", std::process::id()));
    let mut words = words.to_vec();
    loop {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&raw, bytes).map_err(|error| format!("{}: {error}", raw.display()))?;
        let output = Command::new(nvdisasm).args(["-b", &format!("SM{sm}"), "-hex", "-ndf"]).arg(&raw).output();
        let output = output.map_err(|error| format!("{}: {error}", nvdisasm.display()))?;
        if output.status.success() {
            let _ = std::fs::remove_file(&raw);
            return Ok(parse(&String::from_utf8_lossy(&output.stdout), &words));
        }
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        let bad: Vec<usize> = complaints
            .split("at address 0x")
            .skip(1)
            .filter_map(|rest| {
                let digits: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
                usize::from_str_radix(&digits, 16).ok().map(|address| address / 16)
            })
            .collect();
        if bad.is_empty() {
            return Err(format!("{}: {complaints}", nvdisasm.display()));
        }
        let mut at = 0;
        let bad: std::collections::HashSet<usize> = bad.into_iter().collect();
        words.retain(|_| {
            at += 1;
            !bad.contains(&(at - 1))
        });
    }
}

/// Lines such as `/*0010*/  MOV R1, RZ ;  /* 0x... */`.
fn parse(text: &str, words: &[u128]) -> Vec<(u64, u128, String)> {
    let instruction = |line: &str| {
        let rest = line.trim_start().strip_prefix("/*")?;
        let (address, rest) = rest.split_once("*/")?;
        let address = u64::from_str_radix(address.trim(), 16).ok()?;
        let (text, _) = rest.split_once("/*")?;
        Some((address, *words.get(address as usize / 16)?, normal(text)))
    };
    text.lines().filter_map(instruction).collect()
}

/// Single spaces, none before commas or between brackets, no semicolon, no scheduling notes; no
/// descriptor `desc[UR4]` before addresses, which newer versions print.
fn normal(text: &str) -> String {
    let text = text.split(';').next().unwrap_or_default();
    let text = text.split("?PM").next().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ",").replace("] [", "][");
    match text.split_once(" desc[").and_then(|(before, rest)| Some((before, rest.split_once(']')?.1))) {
        Some((before, after)) => format!("{before} {after}"),
        None => text,
    }
}

#[derive(Default)]
struct Tally {
    compared: usize,
    refused: usize,
    opcodes: std::collections::BTreeSet<&'static str>,
    wrong: BTreeMap<String, Vec<String>>,
}

fn compare(options: &Options, sm: u8, words: &[u128], tally: &mut Tally, mutants: bool) -> Result<(), String> {
    for batch in words.chunks(BATCH) {
        for (address, word, expected) in reference(&options.nvdisasm, batch, sm)? {
            if mutants && (expected.contains("INVALID") || expected.contains("???")) {
                continue;
            }
            tally.compared += 1;
            let ours = match sass::decode::decode(word, address, sm) {
                Ok(inst) => {
                    tally.opcodes.insert(inst.row.op.name());
                    inst.to_string()
                }
                Err(error) if mutants => {
                    tally.refused += 1;
                    let _ = error;
                    continue;
                }
                Err(error) => format!("refused: {error}"),
            };
            if ours != expected {
                let mnemonic = expected.split(' ').find(|part| !part.starts_with('@')).unwrap_or_default();
                let opcode = mnemonic.split('.').next().unwrap_or_default();
                let wrong = tally.wrong.entry(format!("{opcode} {:#05x}", word & 0xfff)).or_default();
                wrong.push(format!("sm_{sm} {word:#034x}\n      nvdisasm  {expected}\n      ours      {ours}"));
            }
        }
    }
    Ok(())
}

/// Flips after which `nvdisasm` prints another text than for the original word, and we do not.
fn silent(
    options: &Options,
    sm: u8,
    words: &[u128],
    bases: &BTreeMap<u128, u128>,
    tally: &mut Tally,
) -> Result<(), String> {
    let text = |word, address| sass::decode::decode(word, address, sm).map(|inst| inst.to_string()).ok();
    for batch in words.chunks(BATCH) {
        // Both at address 0, for targets of branches.
        let plain: Vec<u128> = batch.iter().map(|word| bases[word]).collect();
        let before: BTreeMap<u128, String> = reference(&options.nvdisasm, &plain, sm)?
            .into_iter()
            .map(|(_, w, text)| (w, without_target(text)))
            .collect();
        for (_, word, after) in reference(&options.nvdisasm, batch, sm)? {
            tally.compared += 1;
            let base = bases[&word];
            let ours = text(word, 0);
            let changed = before.get(&base).is_some_and(|before| *before != without_target(after.clone()));
            if changed && ours.is_some() && ours == text(base, 0) {
                let wrong = tally.wrong.entry(format!("{:#05x}", word & 0xfff)).or_default();
                let ours = ours.unwrap_or_default();
                wrong.push(format!("sm_{sm} {word:#034x}\n      nvdisasm  {after}\n      ours      {ours}"));
            }
        }
    }
    Ok(())
}

/// The text without targets of branches, which depend on the address.
fn without_target(text: String) -> String {
    match text.rsplit_once("0x") {
        Some((start, _)) if ["BRA", "CALL", "BSSY", "RET"].iter().any(|op| text.contains(op)) => {
            start.trim_end_matches('-').to_owned()
        }
        _ => text,
    }
}

fn report(title: &str, tally: &Tally, show: usize) {
    let wrong: usize = tally.wrong.values().map(Vec::len).sum();
    println!(
        "{title}: {} compared, {} operations, {wrong} different, {} refused here only",
        tally.compared,
        tally.opcodes.len(),
        tally.refused
    );
    for (opcode, examples) in &tally.wrong {
        println!("  {opcode}: {}", examples.len());
        examples.iter().take(show).for_each(|example| println!("    {example}"));
    }
}

fn run() -> Result<bool, String> {
    let options = options()?;
    let mut all = BTreeMap::new();
    for file in &options.files {
        words(file, &mut all)?;
    }
    let [mut plain, mut mutated, mut flipped, mut ignored] = [(); 4].map(|()| Tally::default());
    let mut random = Random(options.seed.max(1));
    for (&sm, words) in &all {
        compare(&options, sm, words, &mut plain, false)?;
        let mut mutants: Vec<u128> =
            (0..options.mutants).flat_map(|_| words.clone()).map(|word| mutant(word, &mut random)).collect();
        mutants.sort_unstable();
        mutants.dedup();
        compare(&options, sm, &mutants, &mut mutated, true)?;
        if options.flips {
            let flips = flips(words, sm);
            let words: Vec<u128> = flips.keys().copied().collect();
            compare(&options, sm, &words, &mut flipped, true)?;
            silent(&options, sm, &words, &flips, &mut ignored)?;
        }
    }
    report("instructions", &plain, options.show);
    if options.mutants > 0 {
        report("mutants", &mutated, options.show);
    }
    if options.flips {
        report("flips", &flipped, options.show);
        report("bits ignored in silence", &ignored, options.show);
    }
    Ok(plain.wrong.is_empty() && ignored.wrong.is_empty())
}

fn main() {
    match run() {
        Ok(true) => {}
        Ok(false) => std::process::exit(1),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(2);
        }
    }
}
