//! Registers of machine code for the timing model: those that the text of an instruction names.

use exec::Kernel;
use lower::{LowerOptions, load_cubin};
use sass::decode::operand::{PT, RZ, URZ};
use sass::decode::{SassInst, SassOp, SassOperand, decode_function};
use std::collections::BTreeSet;
use std::path::Path;

/// Maximum number of registers of an operand: a matrix of a warp, and the sums of a warp group.
const WIDEST: [u16; 2] = [8, 128];
/// General predicates, and as many uniform ones.
const PREDICATES: u16 = 7;

/// Names of the registers of a list.
fn names(kernel: &Kernel, list: &[isa::RegId]) -> BTreeSet<String> {
    let (general, uniform) = (kernel.program.regs.vector, kernel.program.regs.uniform - PREDICATES);
    let name = |id: &isa::RegId| match id.0 {
        n if n < general => format!("R{n}"),
        n if n < general + PREDICATES => format!("P{}", n - general),
        n if n < general + PREDICATES + uniform => format!("UR{}", n - general - PREDICATES),
        n => format!("UP{}", n - general - PREDICATES - uniform),
    };
    list.iter().map(name).collect()
}

/// Registers that operands name, and those that may follow each as parts of a wider one.
fn named(operands: impl Iterator<Item = SassOperand>, widest: u16) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut first, mut all) = (BTreeSet::new(), BTreeSet::new());
    let mut add = |uniform: bool, index: u8| {
        let (file, zero) = if uniform { ("UR", URZ) } else { ("R", RZ) };
        if index != zero {
            first.insert(format!("{file}{index}"));
            all.extend((0..widest).map(|k| format!("{file}{}", u16::from(index) + k)));
        }
    };
    let mut predicates = Vec::new();
    // The first two are read only where A is in shared memory.
    let mut descriptors = Vec::new();
    for operand in operands {
        match operand {
            SassOperand::Register(r) | SassOperand::Indirect { register: r, .. } => add(r.uniform, r.index),
            SassOperand::Memory(m) => {
                add(false, m.base);
                m.uniform.into_iter().for_each(|index| add(true, index));
            }
            SassOperand::Descriptors(d) => descriptors.extend((0..4).map(|k| format!("UR{}", d.register + k))),
            SassOperand::Constant(c) => c.index.into_iter().for_each(|r| add(r.uniform, r.index)),
            SassOperand::Predicate { index, uniform, .. } if index != PT => {
                predicates.push(format!("{}{index}", if uniform { "UP" } else { "P" }));
            }
            _ => {}
        }
    }
    first.extend(predicates.iter().cloned());
    all.extend(predicates.into_iter().chain(descriptors));
    (first, all)
}

/// Compares the description of an instruction with its text.
fn check(kernel: &Kernel, inst: &SassInst, described: &isa::Inst) {
    // These name all predicates at once.
    if matches!(inst.row.op, SassOp::P2R | SassOp::R2P | SassOp::UP2Ur | SassOp::UR2Up) {
        return;
    }
    let guard = inst.guard();
    let guard = [SassOperand::Predicate { index: guard.index, uniform: guard.uniform, not: guard.not }];
    let widest = WIDEST[usize::from(matches!(inst.row.op, SassOp::HGmma | SassOp::QGmma))];
    let (shown, _) = named(inst.shown_operands().chain(guard), widest);
    let (_, possible) = named(inst.operands().chain(guard), widest);
    let mut used = names(kernel, kernel.program.dsts(described));
    used.append(&mut names(kernel, kernel.program.srcs(described)));
    assert!(shown.is_subset(&used), "{inst}: of {shown:?} only {used:?} are described");
    assert!(used.is_subset(&possible), "{inst}: {used:?} are described, of {possible:?} in the text");
}

#[test]
fn described_registers_are_those_of_the_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/kernels/cubin");
    let mut count = 0;
    for sm in [70, 75, 80, 86, 90] {
        for entry in std::fs::read_dir(root.join(format!("sm_{sm}"))).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "cubin") {
                continue;
            }
            let file = std::fs::read(&path).unwrap();
            let cubin = sass::elf::Cubin::parse(&file).unwrap();
            let loaded = load_cubin("cubin", &file, LowerOptions::default()).unwrap();
            assert!(loaded.rejected.is_empty(), "{}: {}", path.display(), loaded.rejected[0].error);
            for kernel in &loaded.module.kernels {
                let function = cubin.functions.iter().find(|f| f.name == kernel.name()).unwrap();
                for (i, inst) in decode_function(function.code, sm).enumerate() {
                    check(kernel, &inst.unwrap(), kernel.program.inst(isa::Pc(i as u32)));
                    count += 1;
                }
            }
        }
    }
    assert!(count > 10_000, "only {count} instructions");
}
