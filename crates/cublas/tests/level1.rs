//! Calls of level 1.

use crate::case::{At, Buffer, Case, Number, Place, Size};
use crate::number::{B, C, D, H, I32, I64, Kind, Num, S, Z, ZERO};
use crate::rows::Rows;

/// Arguments of a vector: address, type of functions that take it, increment.
fn vector(case: &mut Case, typed: bool, kind: Kind, buffer: usize, increment: i64) {
    case.arguments.push(At(buffer));
    if typed {
        case.arguments.push(Number(kind.number()));
    }
    case.arguments.push(Number(increment));
}

/// Types of functions whose types are arguments: of elements and of what is computed with.
const TYPED: [(Kind, Kind); 6] = [(S, S), (D, D), (C, C), (Z, Z), (H, S), (B, S)];

/// Two vectors that a function reads, and changes to what `result` says.
fn two(
    case: &mut Case,
    typed: bool,
    kind: Kind,
    changes: impl FnOnce(&mut Case, &[Num], &[Num]) -> [Option<Vec<Num>>; 2],
) {
    let (n, incx, incy) = (case.long(), case.increment(), case.increment());
    let (x, y) = (case.numbers(kind, n), case.numbers(kind, n));
    case.arguments.insert(0, Size(n));
    let (at_x, at_y) = (case.vector(kind, &x, incx), case.vector(kind, &y, incy));
    vector(case, typed, kind, at_x, incx);
    vector(case, typed, kind, at_y, incy);
    let [new_x, new_y] = changes(case, &x, &y);
    for (at, new, increment) in [(at_x, new_x, incx), (at_y, new_y, incy)] {
        if let Some(new) = new {
            case.expect(at, &new, increment);
        }
    }
}

fn computes(case: &mut Case, kind: Kind) {
    case.unit = kind.unit();
}

fn scal(case: &mut Case, typed: bool, kind: Kind, of: Kind) {
    computes(case, of);
    let (n, increment, alpha) = (case.long(), case.random.one_of(&[1, 1, 2, 3]), case.random.factor(of));
    let x = case.numbers(kind, n);
    let at_x = case.vector(kind, &x, increment);
    let alpha_at = case.scalar(of, alpha);
    case.arguments = vec![Size(n), alpha_at];
    if typed {
        case.arguments.push(Number(of.number()));
    }
    vector(case, typed, kind, at_x, increment);
    if typed {
        case.arguments.push(Number(of.number()));
    }
    let x: Vec<Num> = x.into_iter().map(|x| alpha * x).collect();
    case.expect(at_x, &x, increment);
}

fn axpy(case: &mut Case, typed: bool, kind: Kind, of: Kind) {
    computes(case, of);
    let alpha = case.random.factor(of);
    let alpha_at = case.scalar(of, alpha);
    case.arguments = vec![alpha_at];
    if typed {
        case.arguments.push(Number(of.number()));
    }
    two(case, typed, kind, |_, x, y| [None, Some(x.iter().zip(y).map(|(x, y)| alpha * *x + *y).collect())]);
    if typed {
        case.arguments.push(Number(of.number()));
    }
}

fn dot(case: &mut Case, typed: bool, kind: Kind, conj: bool) {
    let of = if matches!(kind, H | B) { S } else { kind };
    computes(case, of);
    two(case, typed, kind, |case, x, y| {
        let sum = x.iter().zip(y).map(|(x, y)| x.conj_if(conj && kind.is_complex()) * *y).sum();
        case.terms = x.len();
        let result = case.result(kind, sum);
        case.arguments.push(result);
        if typed {
            case.arguments.extend([Number(kind.number()), Number(of.number())]);
        }
        [None, None]
    });
}

/// Reduction of one vector: `result`, or zero if its increment is not positive.
fn one(case: &mut Case, typed: bool, kind: Kind, x: &[Num], to: Kind, result: Num) {
    let increment = case.random.one_of(&[1, 1, 2, 3, 0, -1]);
    let at_x = case.vector(kind, x, if increment > 0 { increment } else { 1 });
    case.arguments = vec![Size(x.len())];
    vector(case, typed, kind, at_x, increment);
    let place = case.result(to, if increment > 0 { result } else { ZERO });
    case.arguments.push(place);
    case.terms = x.len();
}

fn typed_result(case: &mut Case, to: Kind, of: Kind) {
    case.arguments.extend([Number(to.number()), Number(of.number())]);
}

fn asum(case: &mut Case, typed: bool, kind: Kind) {
    let of = if matches!(kind, H | B) { S } else { kind.of_reals() };
    let to = kind.of_reals();
    computes(case, of);
    let n = case.long().min(if kind == H { 300 } else { 3000 });
    let x = case.numbers(kind, n);
    one(case, typed, kind, &x, to, Num::real(x.iter().map(|x| x.magnitude()).sum()));
    if typed {
        typed_result(case, to, of);
    }
}

/// Also of numbers whose squares are beyond all numbers of the type.
fn nrm2(case: &mut Case, typed: bool, kind: Kind) {
    let of = if matches!(kind, H | B) { S } else { kind.of_reals() };
    let to = kind.of_reals();
    computes(case, of);
    let n = case.long();
    let by = match kind {
        S | C => case.random.one_of(&[1.0, 1.0, 2_f64.powi(110), 2_f64.powi(-100)]),
        D | Z => case.random.one_of(&[1.0, 1.0, 2_f64.powi(1000), 2_f64.powi(-900)]),
        _ => 1.0,
    };
    let x: Vec<Num> = case.numbers(kind, n).into_iter().map(|x| Num::new(x.re * by, x.im * by)).collect();
    let squares: f64 = x.iter().map(|x| Num::new(x.re / by, x.im / by).square()).sum();
    one(case, typed, kind, &x, to, Num::real(squares.sqrt() * by));
    if typed {
        typed_result(case, to, of);
    }
}

/// Numbers of few bits, so that several are the largest: the first one counts.
fn extreme(case: &mut Case, typed: bool, kind: Kind, least: bool) {
    let n = case.long();
    let coarse = |case: &mut Case| case.random.below(30) as f64 * 0.25 - 3.0;
    let x: Vec<Num> =
        (0..n).map(|_| Num::new(coarse(case), if kind.is_complex() { coarse(case) } else { 0.0 })).collect();
    let mut best = 0;
    for (i, number) in x.iter().enumerate() {
        let (size, known) = (number.magnitude(), x[best].magnitude());
        if if least { size < known } else { size > known } {
            best = i;
        }
    }
    let index = if n == 0 { ZERO } else { Num { size: 0.0, ..Num::real(best as f64 + 1.0) } };
    let to = if case.wide { I64 } else { I32 };
    one(case, typed, kind, &x, to, index);
}

fn rot(case: &mut Case, typed: bool, kind: Kind, of: Kind) {
    let computed = if matches!(kind, H | B) { S } else { kind };
    computes(case, computed);
    let cosine = case.random.number(of.of_reals()).only_real();
    let sine = case.random.number(of);
    two(case, typed, kind, |_, x, y| {
        let turned = |a: f64| {
            move |(x, y): (&Num, &Num)| {
                if a > 0.0 { cosine * *x + sine * *y } else { cosine * *y - sine.conj() * *x }
            }
        };
        [Some(x.iter().zip(y).map(turned(1.0)).collect()), Some(x.iter().zip(y).map(turned(-1.0)).collect())]
    });
    let (c, s) = (case.scalar(of.of_reals(), Num::real(cosine.re)), case.scalar(of, sine));
    case.arguments.extend([c, s]);
    if typed {
        case.arguments.extend([Number(of.number()), Number(computed.number())]);
    }
}

fn rotm(case: &mut Case, typed: bool, kind: Kind) {
    computes(case, kind);
    let flag = case.random.one_of(&[-2.0, -1.0, 0.0, 1.0]);
    let [h11, h21, h12, h22] = [0; 4].map(|_| case.random.number(kind));
    let one = Num::real(1.0);
    // Elements that the flag gives are not read.
    let (parts, [h11, h21, h12, h22]) = match flag {
        -2.0 => (vec![], [one, ZERO, ZERO, one]),
        -1.0 => (vec![(1, h11), (2, h21), (3, h12), (4, h22)], [h11, h21, h12, h22]),
        0.0 => (vec![(2, h21), (3, h12)], [one, h21, h12, one]),
        _ => (vec![(1, h11), (4, h22)], [h11, -one, one, h22]),
    };
    two(case, typed, kind, |_, x, y| {
        let all = || x.iter().zip(y);
        [
            Some(all().map(|(x, y)| h11 * *x + h12 * *y).collect()),
            Some(all().map(|(x, y)| h21 * *x + h22 * *y).collect()),
        ]
    });
    let mut how = Buffer::new(kind, Place::ByMode, 5);
    how.put(0, Num::real(flag));
    for (index, x) in parts {
        how.put(index, x);
    }
    let how = case.buffer(how);
    case.arguments.push(At(how));
    if typed {
        case.arguments.extend([Number(kind.number()), Number(kind.number())]);
    }
}

/// A Givens rotation by its definition.
fn rotg(case: &mut Case, typed: bool, kind: Kind) {
    computes(case, kind);
    let [a, b] = [0; 2].map(|_| if case.random.once_in(4) { ZERO } else { case.random.number(kind) });
    let (abs_a, abs_b) = (a.square().sqrt(), b.square().sqrt());
    let norm = abs_a.hypot(abs_b);
    let (r, z, c, s);
    if kind.is_complex() {
        z = None;
        if abs_a == 0.0 {
            (r, c, s) = (b, ZERO, Num::real(1.0));
        } else {
            let unit = Num::new(a.re / abs_a, a.im / abs_a);
            r = unit * Num::real(norm);
            c = Num::real(abs_a / norm);
            s = unit * b.conj() * Num::real(1.0 / norm);
        }
    } else {
        let larger = if abs_a > abs_b { a.re } else { b.re };
        let signed = norm * larger.signum();
        r = Num::real(signed);
        (c, s) =
            if norm == 0.0 { (Num::real(1.0), ZERO) } else { (Num::real(a.re / signed), Num::real(b.re / signed)) };
        z = Some(match () {
            () if norm == 0.0 => ZERO,
            () if abs_a > abs_b => s,
            () if c.re != 0.0 => Num::real(1.0 / c.re),
            () => Num::real(1.0),
        });
    }
    for (old, new, kind) in
        [(Some(a), Some(r), kind), (Some(b), z, kind), (None, Some(c), kind.of_reals()), (None, Some(s), kind)]
    {
        let mut buffer = Buffer::new(kind, Place::ByMode, 1);
        if let Some(old) = old {
            buffer.put(0, old);
        }
        if let Some(new) = new {
            buffer.expect(0, Num { size: new.magnitude().max(4.0), ..new });
        }
        let buffer = case.buffer(buffer);
        case.arguments.push(At(buffer));
    }
    if typed {
        case.arguments.insert(2, Number(kind.number()));
        case.arguments.extend([Number(kind.number()), Number(kind.number())]);
    }
}

pub fn rows(rows: &mut Rows) {
    for (letter, kind) in [("S", S), ("D", D), ("C", C), ("Z", Z)] {
        let real = kind.of_reals();
        rows.add(format!("cublas{letter}copy_v2"), move |case| {
            two(case, false, kind, |_, x, _| [None, Some(x.to_vec())])
        });
        rows.add(format!("cublas{letter}swap_v2"), move |case| {
            two(case, false, kind, |_, x, y| [Some(y.to_vec()), Some(x.to_vec())]);
        });
        rows.add(format!("cublas{letter}scal_v2"), move |case| scal(case, false, kind, kind));
        rows.add(format!("cublas{letter}axpy_v2"), move |case| axpy(case, false, kind, kind));
        rows.add(format!("cublas{letter}rot_v2"), move |case| rot(case, false, kind, kind));
        rows.single(format!("cublas{letter}rotg_v2"), move |case| rotg(case, false, kind));
        for (name, least) in [("amax", false), ("amin", true)] {
            let letter = letter.to_lowercase();
            rows.add(format!("cublasI{letter}{name}_v2"), move |case| extreme(case, false, kind, least));
        }
        if kind == real {
            rows.add(format!("cublas{letter}dot_v2"), move |case| dot(case, false, kind, false));
            rows.add(format!("cublas{letter}rotm_v2"), move |case| rotm(case, false, kind));
        } else {
            rows.add(format!("cublas{letter}dotu_v2"), move |case| dot(case, false, kind, false));
            rows.add(format!("cublas{letter}dotc_v2"), move |case| dot(case, false, kind, true));
        }
    }
    for (prefix, kind) in [("S", S), ("D", D), ("Sc", C), ("Dz", Z)] {
        rows.add(format!("cublas{prefix}asum_v2"), move |case| asum(case, false, kind));
        rows.add(format!("cublas{prefix}nrm2_v2"), move |case| nrm2(case, false, kind));
    }
    for (prefix, kind, of) in [("Cs", C, S), ("Zd", Z, D)] {
        rows.add(format!("cublas{prefix}scal_v2"), move |case| scal(case, false, kind, of));
        rows.add(format!("cublas{prefix}rot_v2"), move |case| rot(case, false, kind, of));
    }
    let typed = |case: &mut Case| case.random.one_of(&TYPED);
    rows.add("cublasCopyEx", move |case| {
        let (kind, _) = typed(case);
        two(case, true, kind, |_, x, _| [None, Some(x.to_vec())]);
    });
    rows.add("cublasSwapEx", move |case| {
        let (kind, _) = typed(case);
        two(case, true, kind, |_, x, y| [Some(y.to_vec()), Some(x.to_vec())]);
    });
    rows.add("cublasScalEx", move |case| {
        let (kind, of) = typed(case);
        scal(case, true, kind, of);
    });
    rows.add("cublasAxpyEx", move |case| {
        let (kind, of) = typed(case);
        axpy(case, true, kind, of);
    });
    for (name, conj) in [("cublasDotEx", false), ("cublasDotcEx", true)] {
        rows.add(name, move |case| {
            let (kind, _) = typed(case);
            dot(case, true, kind, conj);
        });
    }
    rows.add("cublasAsumEx", move |case| {
        let (kind, _) = typed(case);
        asum(case, true, kind);
    });
    rows.add("cublasNrm2Ex", move |case| {
        let (kind, _) = typed(case);
        nrm2(case, true, kind);
    });
    for (name, least) in [("cublasIamaxEx", false), ("cublasIaminEx", true)] {
        rows.add(name, move |case| {
            let (kind, _) = typed(case);
            extreme(case, true, kind, least);
        });
    }
    rows.add("cublasRotEx", move |case| {
        let (kind, of) = case.random.one_of(&[(S, S), (D, D), (C, S), (C, C), (Z, D), (Z, Z)]);
        rot(case, true, kind, of);
    });
    rows.single("cublasRotgEx", move |case| {
        let kind = case.random.one_of(&[S, D]);
        rotg(case, true, kind);
    });
    rows.add("cublasRotmEx", move |case| {
        let kind = case.random.one_of(&[S, D]);
        rotm(case, true, kind);
    });
}
