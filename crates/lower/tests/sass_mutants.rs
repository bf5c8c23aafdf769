//! Damaged cubins and arbitrary instructions are loaded or refused, and executed or end with a fault. Nothing
//! panics, and memory use is bounded by the file's size.

use exec::{Arg, DeviceState, Kernel, Launch, LiveStream};
use isa::{CtaSlot, Dim3, DynInst, StepContext, WarpSlot, WarpStream};
use lower::{LowerOptions, load_cubin, load_words};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sass::decode::{decode, table};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ARCHITECTURES: [u8; 6] = [70, 75, 80, 86, 89, 90];
/// Registers of kernels of arbitrary instructions.
const REGISTERS: u32 = 32;

/// `EXIT`, always.
const EXIT: u128 = 0x000fea00_03800000_00000000_0000794d;

/// The bundled cubins, in order.
fn cubins() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/kernels/cubin");
    let list = |folder: &Path| -> Vec<PathBuf> {
        let mut list: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        list.sort();
        list
    };
    let folders = list(&root).into_iter().filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| list(&folder));
    files.filter(|path| path.extension().is_some_and(|e| e == "cubin")).collect()
}

/// Changes a few bytes, mostly where structure is: near the start and the end, and numbers.
fn mutate(file: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    for _ in 0..random.random_range(1..8) {
        let length = file.len();
        let at = match random.random_range(0..3) {
            0 => random.random_range(0..length.min(64)),
            1 => length - 1 - random.random_range(0..length.min(4096)),
            _ => random.random_range(0..length),
        };
        match random.random_range(0..7) {
            0 => file[at] ^= 1 << random.random_range(0..8),
            1 => file[at] = *[0, 1, 0x7f, 0x80, 0xff].choose(random).unwrap(),
            2 => file[at] = random.random(),
            3 => {
                let to = random.random_range(0..length);
                let bytes = random.random_range(1..64).min(length - at.max(to));
                file.copy_within(at..at + bytes, to);
            }
            4 => {
                let value: u64 = *[0, 1, 0xffff_ffff, 1 << 31, !0, length as u64].choose(random).unwrap();
                let bytes = 8.min(length - at);
                file[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
            5 if random.random_range(0..8) == 0 => file.truncate(at.max(1)),
            _ => {
                let bytes = random.random_range(1..16).min(length - at);
                file[at..at + bytes].fill(random.random());
            }
        }
    }
}

#[test]
fn damaged_cubins_are_loaded_or_refused() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut loaded_files, mut refused_files, mut refused_kernels) = (0, 0, 0);
    let files = cubins();
    assert!(files.len() > 50);
    for path in files {
        let original = fs::read(&path).unwrap();
        for _ in 0..30 {
            let mut file = original.clone();
            mutate(&mut file, &mut random);
            match load_cubin("mutant", &file, LowerOptions::default()) {
                Err(error) => {
                    assert!(error.text.starts_with("mutant: "), "{}", error.text);
                    refused_files += 1;
                }
                Ok(loaded) => {
                    loaded_files += 1;
                    refused_kernels += loaded.rejected.len();
                    assert!(loaded.rejected.iter().all(|r| r.error.text.lines().count() > 1));
                    let initial: usize = loaded.module.variables.iter().map(|v| v.init.len()).sum();
                    assert!(initial <= file.len(), "{initial} bytes of initial values");
                    let instructions: usize = loaded.module.kernels.iter().map(|k| k.program.insts().len()).sum();
                    assert!(16 * instructions <= file.len(), "{instructions} instructions");
                }
            }
        }
    }
    // The mutants reach everything: the reader's checks, the loader, and kernels without change.
    assert!(loaded_files > 300 && refused_files > 300 && refused_kernels > 50);
}

/// A word that some row of the instruction table describes, random elsewhere; small register numbers
/// are more likely.
fn likely_word(random: &mut ChaCha8Rng, sm: u8) -> u128 {
    let rows: Vec<_> = table::rows().filter(|row| (row.sm.0..=row.sm.1).contains(&sm)).collect();
    let row = rows.choose(random).unwrap();
    let forms: Vec<u32> = (0..8).filter(|form| row.forms >> form & 1 == 1).collect();
    let mut word = random.random::<u128>();
    if random.random() {
        // Bits that are mostly zero.
        word &= random.random::<u128>() & random.random::<u128>();
    }
    for at in [16, 24, 32, 64] {
        if random.random_range(0..4) > 0 {
            let register = *[0, 2, 4, 8, 16, 255].choose(random).unwrap();
            word = word & !(0xff << at) | register << at;
        }
    }
    word = word & !0xffff | u128::from(row.code) | u128::from(*forms.choose(random).unwrap()) << 9 | 7 << 12;
    for &(field, value) in row.fixed {
        word = word & !field.mask() | u128::from(value) << field.lo;
    }
    word
}

/// Executes at most `limit` instructions of one warp; whether it met no fault.
fn execute(kernel: Kernel, limit: usize) -> bool {
    let length = kernel.program.insts().len();
    let mut state = DeviceState::default();
    let _ = state.memory.allocate("memory", 4096).unwrap();
    let (one, block) = (Dim3::new(1, 1, 1), Dim3::new(32, 1, 1));
    let launch = Launch::new(Arc::new(kernel), one, block, 1024, &[Arg::Bytes(vec![0x55; 64])]).unwrap();
    let id = state.add_launch(launch);
    let (warp, mut stream, mut out) = (WarpSlot::from(0_usize), LiveStream::new(), DynInst::default());
    stream.start_cta(&state, id, Dim3::new(0, 0, 0), CtaSlot(0), &[warp]);
    for now in 0..limit as u64 {
        let Some(pc) = stream.next_pc(warp) else { break };
        assert!(pc.index() < length, "the timing model looks it up");
        if stream.step_alone(&mut state, warp, StepContext { now, sm: 0 }, &mut out).is_err() {
            return false;
        }
    }
    true
}

#[test]
fn arbitrary_instructions_execute_or_fault() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let (mut refused, mut fine, mut faults) = (0, 0, 0);
    for sm in ARCHITECTURES {
        let mut known = Vec::new();
        for _ in 0..4000 {
            let word = likely_word(&mut random, sm);
            match load_words("word", sm, &[word, EXIT], REGISTERS) {
                Err(problems) => {
                    assert!(problems.iter().all(|p| !p.is_empty()));
                    refused += 1;
                }
                Ok(kernel) => {
                    known.push(word);
                    if execute(kernel, 4) { fine += 1 } else { faults += 1 }
                }
            }
        }
        // Together: each on the results of the others.
        for code in known.chunks(24) {
            let code: Vec<u128> = code.iter().copied().chain([EXIT]).collect();
            let text = || code.iter().map(|&w| format!("{}\n", decode(w, 0, sm).unwrap())).collect::<String>();
            // A branch may be valid at one place only.
            let Ok(kernel) = load_words("words", sm, &code, REGISTERS) else { continue };
            assert_eq!(kernel.program.insts().len(), code.len(), "{}", text());
            execute(kernel, 100);
        }
    }
    assert!(refused > 1000 && fine > 1000 && faults > 100, "{refused} {fine} {faults}");
}

#[test]
fn more_constants_than_operands_can_name_are_refused() {
    // MOV R0, number
    let code = |count: u128| (0..count).map(|n| 0x7802 | (n + 1) << 32 | 0xf << 72).chain([EXIT]).collect::<Vec<_>>();
    assert!(load_words("k", 75, &code(30_000), REGISTERS).is_ok());
    let problems = load_words("k", 75, &code(33_000), REGISTERS).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("33000 different words of constants"), "{problems:?}");
}

/// A jump that loading accepts faults the warp; no instruction beyond the code executes.
#[test]
fn jumps_beyond_the_code_fault() {
    let words = |code: &[u128]| load_words("k", 75, code, REGISTERS);
    const NOP: u128 = 0x000fc000_00000000_00000000_00007918;
    let refused = words(&[NOP]).unwrap_err();
    assert!(refused[0].contains("`k` neither ends nor jumps"), "{refused:?}");
    let guarded = EXIT & !(0xf << 12);
    assert!(words(&[guarded]).unwrap_err()[0].contains("neither ends nor jumps"), "an exit of some lanes");
    assert!(words(&[EXIT, NOP, NOP]).is_ok(), "padding is not reached");
    let mov = |value: u32| 0x000fc800_00000f00_00000000_00007802_u128 | u128::from(value) << 32;
    // RET.REL R0 0x20: to the third instruction and as many bytes on as R0 says.
    let ret = 0x000fea00_03c00000_00000000_00007950_u128;
    for bytes in [0x10, 0x20, 8, 0x7fff_fff0, u32::MAX - 15, u32::MAX] {
        assert!(!execute(words(&[mov(bytes), ret, EXIT]).unwrap(), 10), "{bytes:#x} bytes after the third instruction");
    }
    assert!(execute(words(&[mov(0), ret, EXIT]).unwrap(), 10));
    // Reached by an indirect jump only, so that nothing is known before.
    assert!(!execute(words(&[mov(0x10), ret, EXIT, NOP]).unwrap(), 10), "it runs past the end");
}

/// A cubin whose first section of code has `bytes` bytes, if given, and the size of that section before.
fn with_text_of(file: &[u8], bytes: Option<u64>) -> (Vec<u8>, u64) {
    let word = |at: usize, n: usize| file[at..at + n].iter().rev().fold(0, |word, &byte| word << 8 | usize::from(byte));
    let (sections, entry, count) = (word(0x28, 8), word(0x3a, 2), word(0x3c, 2));
    let names = word(sections + word(0x3e, 2) * entry + 0x18, 8);
    let is_text = |at: &usize| file[names + word(*at, 4)..].starts_with(b".text.");
    let size = (0..count).map(|n| sections + n * entry).find(is_text).unwrap() + 0x20;
    let mut changed = file.to_vec();
    if let Some(bytes) = bytes {
        changed[size..size + 8].copy_from_slice(&bytes.to_le_bytes());
    }
    (changed, word(size, 8) as u64)
}

#[test]
fn code_of_every_shorter_length_is_refused() {
    for (name, folder) in [("vectoradd", "sm_75"), ("vectoradd", "sm_90"), ("reduction", "sm_86"), ("bfs", "sm_80")] {
        let path = cubins().into_iter().find(|path| path.ends_with(format!("{folder}/{name}.cubin"))).unwrap();
        let file = fs::read(path).unwrap();
        let (_, size) = with_text_of(&file, None);
        let load = |bytes| load_cubin("cut", &with_text_of(&file, Some(bytes)).0, LowerOptions::default());
        let (mut refused, mut loads) = (0, false);
        for bytes in (0..=size).step_by(16) {
            let case = format!("{bytes} of {size} bytes of {folder}/{name}");
            assert!(bytes == size || load(bytes + 8).is_err(), "{case} and half an instruction");
            let loaded = load(bytes).unwrap_or_else(|e| panic!("{case}: {e}"));
            // Padding after the last instruction that is reached may be missing.
            loads |= loaded.rejected.is_empty();
            assert_eq!(loaded.rejected.is_empty(), loads, "{case}");
            refused += u32::from(!loads);
            let why = ["neither ends nor jumps", "has no instructions", "outside the code"];
            let said = loaded.rejected.iter().all(|r| why.iter().any(|why| r.error.text.contains(why)));
            assert!(said, "{case}: {:?}", loaded.rejected.iter().map(|r| &r.error.text).collect::<Vec<_>>());
        }
        assert!(loads && refused > 10, "{refused} lengths of {folder}/{name} are refused");
    }
}
