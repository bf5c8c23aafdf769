//! Which family lowers an instruction, by its opcode: one row for each of the table of PTX ([`ptx::isa`]), those that
//! are refused among them.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::op::Op;
use ptx::ast::Operand;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Lowers the instructions of a family.
pub(super) type Family = fn(&mut FunctionLowering<'_, '_>, &Mods<'_>, &[Operand]) -> Lowered<Op>;

/// The family of the opcode `name`, such as `add`.
pub(super) fn family(name: &str) -> Family {
    BY_NAME.get(name).copied().unwrap_or(refused)
}

static BY_NAME: LazyLock<HashMap<&str, Family>> = LazyLock::new(|| {
    FAMILIES.iter().flat_map(|&(names, family)| names.iter().map(move |&name| (name, family))).collect()
});

const FAMILIES: &[(&[&str], Family)] = &[
    (&["mov", "cvta", "selp", "slct", "setp", "set", "testp", "isspacep"], |f, m, o| f.moves(m, o)),
    (&["add", "sub", "mul", "mad", "div", "rem", "min", "max", "neg", "abs"], |f, m, o| f.arithmetic(m, o)),
    (&["fma", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "copysign"], |f, m, o| f.float(m, o)),
    (
        &[
            "addc", "subc", "madc", "mul24", "mad24", "sad", "dp4a", "dp2a", "bfe", "bfi", "bfind", "brev", "clz",
            "popc", "prmt", "shf", "lop3", "szext", "bmsk", "fns", "and", "or", "xor", "not", "cnot", "shl", "shr",
        ],
        |f, m, o| f.int(m, o),
    ),
    (&["cvt"], |f, m, o| f.cvt(m, o)),
    (&["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"], |f, m, o| f.scalar_video(m, o)),
    (&["vmad"], |f, m, o| f.vmad(m, o)),
    (&["vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2"], |f, m, o| f.simd_video(m, o, 2)),
    (&["vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4"], |f, m, o| f.simd_video(m, o, 4)),
    (
        &["ld", "ldu", "st", "atom", "red", "cp", "prefetch", "prefetchu", "applypriority", "discard", "createpolicy"],
        |f, m, o| f.memory(m, o),
    ),
    (&["tex", "tld4", "txq", "suq", "suld", "sust"], |f, m, o| f.image(m, o)),
    (
        &[
            "shfl",
            "vote",
            "match",
            "activemask",
            "redux",
            "elect",
            "bar",
            "barrier",
            "membar",
            "fence",
            "nanosleep",
            "griddepcontrol",
            "setmaxnreg",
        ],
        |f, m, o| f.warp(m, o),
    ),
    (&["bra", "brx", "call", "ret", "exit", "trap", "brkpt", "pmevent"], |f, m, o| f.control(m, o)),
    (&["ldmatrix", "stmatrix", "movmatrix", "mma", "wmma"], |f, m, o| f.matrix(m, o)),
    (
        &[
            "multimem",
            "mapa",
            "getctarank",
            "tensormap",
            "istypep",
            "sured",
            "mbarrier",
            "wgmma",
            "tcgen05",
            "clusterlaunchcontrol",
            "stacksave",
            "stackrestore",
            "alloca",
        ],
        refused,
    ),
];

fn refused(f: &mut FunctionLowering<'_, '_>, m: &Mods<'_>, _: &[Operand]) -> Lowered<Op> {
    Err(f.problem(format!("`{}` is not executable", m.name())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_opcode_of_the_table_has_a_family_and_no_other() {
        let named: Vec<&str> = FAMILIES.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        let known: BTreeSet<&str> = ptx::isa::names().collect();
        let once: BTreeSet<&str> = named.iter().copied().collect();
        assert_eq!(once.len(), named.len(), "a name is in two families");
        let missing: Vec<_> = known.difference(&once).collect();
        assert!(missing.is_empty(), "in no family: {missing:?}");
        let unknown: Vec<_> = once.difference(&known).collect();
        assert!(unknown.is_empty(), "not in the table of PTX: {unknown:?}");
    }
}
