//! The control bits of machine code in a kernel's static instructions, against NVIDIA's disassembly and words decoded
//! by hand.

use isa::{ConstantOperand, ControlBits, Pc};
use lower::{LowerOptions, load_cubin, load_words};
use std::path::Path;

/// The lines of NVIDIA's disassembly of `function`.
fn disassembly<'a>(text: &'a str, function: &str) -> Vec<&'a str> {
    let name = |line: &'a str| line.strip_prefix(".function ");
    let from = text.lines().skip_while(|line| name(line) != Some(function)).skip(1);
    from.take_while(|line| name(line).is_none()).collect()
}

#[test]
fn reuse_bits_are_those_that_the_disassembly_prints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/kernels/cubin");
    let (mut compared, mut reused) = (0, 0);
    for sm in [70, 75, 80, 86] {
        for name in ["bfs", "matmul", "lavamd", "btree", "nbody"] {
            let path = |suffix: &str| folder.join(format!("sm_{sm}/{name}.{suffix}"));
            let cubin = std::fs::read(path("cubin")).unwrap();
            let text = std::fs::read_to_string(path("sass")).unwrap();
            let loaded = load_cubin(name, &cubin, LowerOptions::default()).unwrap();
            for kernel in &loaded.module.kernels {
                let lines = disassembly(&text, kernel.name());
                assert!(!lines.is_empty(), "{name}: {} is not in the disassembly", kernel.name());
                for (inst, line) in kernel.program.insts().iter().zip(&lines) {
                    let bits = inst.control_bits.expect("machine code has control bits");
                    let printed = line.matches(".reuse").count();
                    assert_eq!(bits.reuse.count_ones() as usize, printed, "sm_{sm} {name}: {line}");
                    compared += 1;
                    reused += printed;
                    // A load's result comes at no fixed time: it sets a barrier.
                    if line.contains("LDG.") {
                        assert!(bits.write_barrier.is_some(), "sm_{sm} {name}: {line}");
                    }
                }
            }
        }
    }
    assert!(compared > 2000 && reused > 100, "{reused} of {compared}");
}

/// The bank and the offset of the constant that a line of the disassembly shows.
fn shown(line: &str) -> Option<ConstantOperand> {
    let number = |text: &str| i64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let (bank, rest) = line.split_once(" c[").or_else(|| line.split_once("-c["))?.1.split_once("][")?;
    Some(ConstantOperand { bank: number(bank)? as u8, offset: number(rest.split_once(']')?.0)? as u16 })
}

#[test]
fn constant_operands_are_those_that_the_disassembly_prints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/kernels/cubin");
    let (mut found, mut loads, mut indexed) = (0, 0, 0);
    for sm in [70, 75, 80, 86, 90] {
        for name in ["bfs", "matmul", "lavamd", "btree", "nbody", "aes", "kmeans"] {
            let path = |suffix: &str| folder.join(format!("sm_{sm}/{name}.{suffix}"));
            let (Ok(cubin), Ok(text)) = (std::fs::read(path("cubin")), std::fs::read_to_string(path("sass"))) else {
                continue;
            };
            let loaded = load_cubin(name, &cubin, LowerOptions::default()).unwrap();
            for kernel in &loaded.module.kernels {
                for (inst, line) in kernel.program.insts().iter().zip(&disassembly(&text, kernel.name())) {
                    let is_load = line.starts_with("LDC") || line.contains(" LDC");
                    let is_indexed = line.contains("LDC")
                        && line.contains("][R")
                        && !line.contains("][RZ")
                        && !line.contains("ULDC");
                    assert_eq!(inst.is_indexed_constant_load(), is_indexed, "sm_{sm} {name}: {line}");
                    indexed += u32::from(is_indexed);
                    let shown = shown(line).filter(|_| !is_load);
                    assert_eq!(inst.constant, shown, "sm_{sm} {name}: {line}");
                    found += u32::from(shown.is_some());
                    loads += u32::from(is_load);
                }
            }
        }
    }
    assert!(
        found > 500 && loads > indexed && indexed > 0,
        "{found} operands, {loads} loads, {indexed} with a register"
    );
}

#[test]
fn control_bits_of_words_decoded_by_hand() {
    // IMAD R7, R2, R3, R9: nothing waited for, two cycles; the same with barriers set, waited for, and operand A kept.
    let plain = 0x000f_e400_078e_0209_0000_0003_0207_7224_u128;
    let fields = 0b0001_u128 << 122 | 0b00_0101 << 116 | 3 << 113 | 1 << 110 | 5 << 105;
    let other = plain & ((1 << 105) - 1) | fields;
    let exit = 0x000f_ea00_0380_0000_0000_0000_0000_794d_u128;
    let kernel = load_words("words", 75, &[plain, other, exit], 16).unwrap();
    let of = |pc: u32| kernel.program.inst(Pc(pc)).control_bits.unwrap();
    let none =
        ControlBits { stall_cycles: 2, yields: false, write_barrier: None, read_barrier: None, wait_mask: 0, reuse: 0 };
    assert_eq!(of(0), none);
    let some = ControlBits {
        stall_cycles: 5,
        yields: true,
        write_barrier: Some(1),
        read_barrier: Some(3),
        wait_mask: 5,
        reuse: 1,
    };
    assert_eq!(of(1), some);
}
