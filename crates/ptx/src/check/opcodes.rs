//! Every instruction is known and has operands that it can have.

use crate::ast::*;
use crate::diag::{Diagnostic, Diagnostics};
use crate::names::Opcode;
use crate::suggest;

/// How many operands an instruction takes, and whether it writes its first one.
#[derive(Clone, Copy, Debug)]
struct Shape {
    least: usize,
    most: usize,
    writes: bool,
}

const fn writes(least: usize, most: usize) -> Shape {
    Shape { least, most, writes: true }
}

const fn takes(least: usize, most: usize) -> Shape {
    Shape { least, most, writes: false }
}

/// By operation, in the order of the chapters of the ISA. Where modifiers decide how many operands
/// there are, the widest range that any of them allows.
#[rustfmt::skip]
fn shape(name: &str) -> Option<Shape> {
    Some(match name {
        "add" | "sub" | "mul" | "mul24" | "div" | "rem" | "addc" | "subc" => writes(3, 3),
        "min" | "max" => writes(3, 4),
        "mad" | "mad24" | "madc" | "fma" | "sad" | "dp4a" | "dp2a" => writes(4, 4),
        "abs" | "neg" | "popc" | "clz" | "brev" | "bfind" | "not" | "cnot" => writes(2, 2),
        "fns" | "bfe" | "prmt" | "shf" => writes(4, 4),
        "szext" | "bmsk" | "and" | "or" | "xor" | "shl" | "shr" | "copysign" => writes(3, 3),
        "bfi" => writes(5, 5),
        "lop3" => writes(5, 6),
        "testp" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => writes(2, 2),
        "set" | "setp" => writes(3, 4),
        "selp" | "slct" => writes(4, 4),
        "mov" | "ldu" | "cvta" | "isspacep" | "istypep" | "getctarank" | "alloca" => writes(2, 2),
        "ld" => writes(2, 3),
        "st" => takes(2, 3),
        "cvt" => writes(2, 4),
        "shfl" => writes(4, 5),
        "prefetch" | "prefetchu" | "discard" | "applypriority" => takes(1, 2),
        "createpolicy" => writes(1, 4),
        "stacksave" | "activemask" => writes(1, 1),
        "stackrestore" | "nanosleep" | "pmevent" | "bra" | "setmaxnreg" => takes(1, 1),
        "multimem" | "cp" | "st_async" | "red_async" | "tensormap" | "mbarrier" => takes(0, 6),
        "tex" | "tld4" | "txq" | "suld" | "suq" => writes(2, 5),
        "sust" | "sured" => takes(2, 3),
        "brx" => takes(2, 2),
        "call" => takes(1, 4),
        "ret" | "exit" | "trap" | "brkpt" | "membar" => takes(0, 0),
        "fence" => takes(0, 2),
        "bar" | "barrier" => takes(0, 4),
        "atom" => writes(2, 5),
        "red" => takes(2, 4),
        "vote" => writes(2, 3),
        "match" | "redux" | "mapa" => writes(3, 3),
        "griddepcontrol" => takes(0, 0),
        "elect" => writes(2, 2),
        "ldmatrix" | "movmatrix" => writes(2, 2),
        "stmatrix" => takes(2, 2),
        "mma" => writes(4, 10),
        "wmma" => takes(2, 4),
        "wgmma" => takes(0, 12),
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vset" => writes(3, 4),
        "vmad" => writes(4, 4),
        "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" | "vset2" => writes(3, 4),
        "vadd4" | "vsub4" | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4" | "vset4" => writes(3, 4),
        _ => return None,
    })
}

/// All operations, for hints.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "add", "sub", "mul", "mul24", "div", "rem", "addc", "subc", "min", "max", "mad", "mad24", "madc", "fma", "sad",
    "dp4a", "dp2a", "abs", "neg", "popc", "clz", "brev", "bfind", "not", "cnot", "fns", "bfe", "prmt", "shf", "szext",
    "bmsk", "and", "or", "xor", "shl", "shr", "copysign", "bfi", "lop3", "testp", "rcp", "sqrt", "rsqrt", "sin", "cos",
    "lg2", "ex2", "tanh", "set", "setp", "selp", "slct", "mov", "ld", "ldu", "st", "cvt", "cvta", "isspacep", "shfl",
    "prefetch", "prefetchu", "cp", "mbarrier", "tex", "tld4", "txq", "suld", "sust", "sured", "suq", "bra", "brx",
    "call", "ret", "exit", "trap", "brkpt", "membar", "fence", "bar", "barrier", "atom", "red", "vote", "match",
    "redux", "activemask", "nanosleep", "elect", "ldmatrix", "stmatrix", "movmatrix", "mma", "wmma", "wgmma", "vadd",
    "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset",
];

pub(super) fn check(module: &Module, diagnostics: &mut Diagnostics) {
    // One look-up for each distinct opcode, not for each instruction.
    let shapes: Vec<Option<Shape>> = module.opcodes.all().iter().map(|o| shape(o.name())).collect();
    let mut warned = vec![false; shapes.len()];
    for function in module.functions() {
        for instruction in function.instructions() {
            let index = instruction.opcode.index();
            match shapes[index] {
                Some(shape) => operands(module, instruction, shape, diagnostics),
                None if !std::mem::replace(&mut warned[index], true) => {
                    diagnostics.push(unknown(module.opcode(instruction), instruction));
                }
                None => {}
            }
        }
    }
}

fn unknown(opcode: &Opcode, instruction: &Instruction) -> Diagnostic {
    let message = format!("unknown instruction `{}`", opcode.name());
    let diagnostic = Diagnostic::warning(instruction.span, message);
    match suggest::nearest(opcode.name(), NAMES.iter().copied()) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

fn operands(module: &Module, instruction: &Instruction, shape: Shape, diagnostics: &mut Diagnostics) {
    let count = instruction.operands.len();
    if !(shape.least..=shape.most).contains(&count) {
        let opcode = module.opcode(instruction).text();
        let takes = match (shape.least, shape.most) {
            (0, 0) => "no operands".to_owned(),
            (1, 1) => "1 operand".to_owned(),
            (least, most) if least == most => format!("{least} operands"),
            (0, most) => format!("at most {}", kit::text::counted(most as u64, "operand")),
            (least, most) => format!("{least} to {most} operands"),
        };
        let message = format!("`{opcode}` takes {takes}, not {count}");
        diagnostics.push(Diagnostic::error(instruction.span, message));
        return;
    }
    let Some(first) = instruction.operands.first().filter(|_| shape.writes) else { return };
    let what = match first.kind {
        OperandKind::Immediate(_) => "a number",
        OperandKind::Address(_) => "memory",
        OperandKind::Not(_) => "a negated predicate",
        _ => return,
    };
    let message = format!("`{}` writes its first operand, which cannot be {what}", module.opcode(instruction).text());
    diagnostics.push(Diagnostic::error(first.span, message));
}
