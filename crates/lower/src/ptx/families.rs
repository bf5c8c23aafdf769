//! The family that lowers an instruction, by its opcode. Every opcode of the table of PTX ([`ptx::isa`]) is in one
//! family; opcodes that are not executable are in the last one.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::op::Op;
use ptx::ast::Operand;
use ptx::isa::{NAMES, is_any};
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
    (&["mbarrier"], |f, m, o| f.mbarrier(m, o)),
    (&["mapa", "getctarank"], |f, m, o| f.cluster_address(m, o)),
    (&["tensormap"], |f, m, o| f.tensormap(m, o)),
    (&["ldmatrix", "stmatrix", "movmatrix", "mma", "wmma"], |f, m, o| f.matrix(m, o)),
    (&["wgmma"], |f, m, o| f.group_matrix(m, o)),
    (
        &["multimem", "istypep", "sured", "tcgen05", "clusterlaunchcontrol", "stacksave", "stackrestore", "alloca"],
        refused,
    ),
];

fn refused(f: &mut FunctionLowering<'_, '_>, m: &Mods<'_>, _: &[Operand]) -> Lowered<Op> {
    let why = match m.name() {
        "multimem" => ": it accesses the memory of several GPUs, and one is simulated",
        "tcgen05" | "clusterlaunchcontrol" => ": no GPU of sm_100 is simulated; compile for sm_90 or an older one",
        _ => "",
    };
    Err(f.problem(format!("`{}` is not executable{why}", m.name())))
}

/// An opcode of the table without a family, a family's name that is not in the table, and a name in two families do not
/// compile: the error shows the name.
const _: () = {
    let mut at = 0;
    while at < NAMES.len() {
        match families_of(NAMES[at]) {
            1 => at += 1,
            _ => panic!("{}", NAMES[at]), // not in exactly one family
        }
    }
    let mut family = 0;
    while family < FAMILIES.len() {
        let (names, mut at) = (FAMILIES[family].0, 0);
        while at < names.len() {
            if !is_any(names[at], &NAMES) {
                panic!("{}", names[at]); // not in ptx/src/isa/table.txt
            }
            at += 1;
        }
        family += 1;
    }
};

/// Number of families that have `name`.
const fn families_of(name: &str) -> usize {
    let (mut found, mut family) = (0, 0);
    while family < FAMILIES.len() {
        found += is_any(name, FAMILIES[family].0) as usize;
        family += 1;
    }
    found
}
