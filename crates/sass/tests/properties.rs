//! Any word decodes to text or to an error; any file is read or refused with an offset inside it.

use proptest::prelude::*;
use sass::decode::{control_bits, decode, table};
use sass::elf::Cubin;
use sass::fatbin;

const ARCHITECTURES: [u8; 6] = [70, 75, 80, 86, 89, 90];

const CUBIN: &[u8] = include_bytes!("data/lastblock.sm_80.cubin");
const LINES: &[u8] = include_bytes!("../../workloads/kernels/cubin/sm_75/saxpy.cubin");
const FATBIN: &[u8] = include_bytes!("data/vectoradd.fatbin");

/// Words that some row describes, random elsewhere.
fn likely_word() -> impl Strategy<Value = (u128, u8)> {
    let rows: Vec<_> = table::rows().collect();
    (any::<prop::sample::Index>(), any::<u128>(), 0u32..8, 0usize..6).prop_map(move |(index, random, form, sm)| {
        let row = rows[index.index(rows.len())];
        let forms: Vec<u32> = (0..8).filter(|form| row.forms >> form & 1 == 1).collect();
        let form = forms[form as usize % forms.len()];
        let mut word = random & !0xfff | u128::from(row.code) | u128::from(form) << 9;
        for &(field, value) in row.fixed {
            word = word & !field.mask() | u128::from(value) << field.lo;
        }
        (word, ARCHITECTURES[sm].clamp(row.sm.0, row.sm.1))
    })
}

/// Asks for the lines of every instruction.
fn walk_lines(cubin: &Cubin<'_>) -> Result<(), TestCaseError> {
    let lines = cubin.lines();
    for function in &cubin.functions {
        let Some(of) = lines.function(function.id) else { continue };
        for offset in (0..function.code.len() as u64).step_by(16) {
            let first = of.source_at(offset);
            prop_assert!(std::iter::successors(first, |entry| of.call_of(*entry)).count() < 1000);
            prop_assert!(of.ptx_at(offset) != Some(0));
        }
    }
    Ok(())
}

/// Reads a file in every format that it may have.
fn read(file: &[u8]) -> Result<(), TestCaseError> {
    match Cubin::parse(file) {
        Err(error) => prop_assert!(!error.to_string().is_empty()),
        Ok(cubin) => walk_lines(&cubin)?,
    }
    match fatbin::entries(file) {
        Err(error) => prop_assert!(!error.to_string().is_empty()),
        Ok(entries) => {
            for entry in entries {
                if let Ok(data) = entry.extract() {
                    let _ = Cubin::parse(&data);
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_word_prints_or_is_refused(word: u128, address: u64, sm in 0usize..6) {
        match decode(word, address, ARCHITECTURES[sm]) {
            Ok(inst) => prop_assert!(!inst.to_string().is_empty()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn words_of_the_table_print((word, sm) in likely_word(), address in 0u64..1 << 40) {
        if let Ok(inst) = decode(word, address, sm) {
            let text = inst.to_string();
            prop_assert!(text.contains(inst.row.op.name()), "{text}");
            prop_assert!(!text.contains("  ") && !text.ends_with(' '), "{text:?}");
            prop_assert!(inst.shown_operands().count() <= inst.operands().count());
        }
    }

    #[test]
    fn control_bits_are_where_they_are(stall in 0u8..16, wait in 0u8..64, reuse in 0u8..16, write in 0u8..8) {
        let word = u128::from(stall) << 105 | u128::from(wait) << 116 | u128::from(reuse) << 122 | u128::from(write) << 110;
        let control = control_bits(word);
        prop_assert_eq!((control.stall_cycles, control.wait_mask, control.reuse), (stall, wait, reuse));
        prop_assert_eq!(control.write_barrier, (write != 7).then_some(write));
        prop_assert!(control.yields);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes)?;
    }

    #[test]
    fn truncated_files_are_refused_or_read(len in 0..CUBIN.len(), fat in 0..FATBIN.len()) {
        read(&CUBIN[..len])?;
        read(&FATBIN[..fat])?;
    }

    #[test]
    fn damaged_line_tables_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        // The tables of a small cubin follow its symbols.
        let mut damaged = LINES.to_vec();
        let (from, to) = (0x200, LINES.len() / 2);
        for (index, value) in &flips {
            damaged[from + index.index(to - from)] = *value;
        }
        read(&damaged)?;
    }

    #[test]
    fn damaged_files_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        headers in any::<bool>(),
    ) {
        for file in [CUBIN, FATBIN] {
            let mut damaged = file.to_vec();
            for (index, value) in &flips {
                // Half of the damage goes to the section headers and tables at the end.
                let at = if headers { file.len() - 1 - index.index(file.len().min(1200)) } else { index.index(file.len()) };
                damaged[at] = *value;
            }
            read(&damaged)?;
        }
    }
}
