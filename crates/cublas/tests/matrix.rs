//! Matrices as mathematics has them, and how they are stored.

use crate::case::Case;
use crate::number::{Kind, Num, ONE, ZERO};

/// A matrix by columns.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    elements: Vec<Num>,
}

impl Matrix {
    pub fn new(rows: usize, columns: usize, mut element: impl FnMut(usize, usize) -> Num) -> Self {
        let elements = (0..rows * columns).map(|at| element(at % rows, at / rows)).collect();
        Self { rows, columns, elements }
    }

    /// One of random numbers.
    pub fn random(case: &mut Case, kind: Kind, rows: usize, columns: usize) -> Self {
        Self::new(rows, columns, |_, _| case.random.number(kind))
    }

    pub fn at(&self, i: usize, j: usize) -> Num {
        self.elements[i + j * self.rows]
    }

    /// op(A) for a `cublasOperation_t`.
    pub fn used(&self, op: i64) -> Self {
        let conj = op >= 2;
        if op == 1 || op == 2 {
            Self::new(self.columns, self.rows, |i, j| self.at(j, i).conj_if(conj))
        } else {
            Self::new(self.rows, self.columns, |i, j| self.at(i, j).conj_if(conj))
        }
    }

    pub fn times(&self, other: &Self) -> Self {
        assert_eq!(self.columns, other.rows);
        let sum = |i, j| (0..self.columns).map(|k| self.at(i, k) * other.at(k, j)).sum();
        Self::new(self.rows, other.columns, sum)
    }

    pub fn map(&self, change: impl Fn(Num) -> Num) -> Self {
        Self::new(self.rows, self.columns, |i, j| change(self.at(i, j)))
    }

    pub fn plus(&self, other: &Self) -> Self {
        Self::new(self.rows, self.columns, |i, j| self.at(i, j) + other.at(i, j))
    }

    /// alpha * self + beta * c.
    pub fn scaled(&self, alpha: Num, beta: Num, c: &Self) -> Self {
        self.map(|x| alpha * x).plus(&c.map(|x| crate::case::scaled(beta, x)))
    }

    /// A column.
    pub fn column(x: &[Num]) -> Self {
        Self::new(x.len(), 1, |i, _| x[i])
    }

    pub fn elements(&self) -> &[Num] {
        &self.elements
    }

    /// The solution X of self * X = B for a triangle, `upper` or lower.
    pub fn solve(&self, upper: bool, b: &Self) -> Self {
        let mut x = b.clone();
        let n = self.rows;
        for column in 0..b.columns {
            for done in 0..n {
                let i = if upper { n - 1 - done } else { done };
                let known = if upper { i + 1..n } else { 0..i };
                let sum: Num = known.map(|k| self.at(i, k) * x.at(k, column)).sum();
                x.elements[i + column * n] = (b.at(i, column) - sum) / self.at(i, i);
            }
        }
        x
    }

    /// The triangle of a matrix, with zeros or the mirror image for the other one.
    pub fn shaped(&self, shape: Shape, upper: bool) -> Self {
        Self::new(self.rows, self.columns, |i, j| {
            let other = if upper { i > j } else { i < j };
            match shape {
                Shape::Triangular { unit } if i == j && unit => ONE,
                Shape::Triangular { .. } => {
                    if other {
                        ZERO
                    } else {
                        self.at(i, j)
                    }
                }
                Shape::Symmetric if other => self.at(j, i),
                Shape::Symmetric => self.at(i, j),
                Shape::Hermitian if i == j => Num::real(self.at(i, j).re),
                Shape::Hermitian if other => self.at(j, i).conj(),
                Shape::Hermitian => self.at(i, j),
            }
        })
    }

    /// Zeros beyond the diagonals of a band.
    pub fn banded(&self, below: usize, above: usize) -> Self {
        Self::new(self.rows, self.columns, |i, j| if i > j + below || j > i + above { ZERO } else { self.at(i, j) })
    }

    /// A Hermitian matrix as it may be in memory: the imaginary parts of its diagonal are not read.
    pub fn with_any_diagonal(&self) -> Self {
        let any = |x: Num| Num { im: f64::NAN, ..x };
        Self::new(self.rows, self.columns, |i, j| if i == j { any(self.at(i, j)) } else { self.at(i, j) })
    }

    /// With elements beside the diagonal that are small beside it, so that errors of a solution do not grow.
    pub fn dominant(&self) -> Self {
        let by = Num::real(0.5 / self.rows.max(1).next_power_of_two() as f64);
        Self::new(self.rows, self.columns, |i, j| {
            let x = self.at(i, j);
            if i == j { Num::new(x.re.abs() + 1.0, x.im) } else { x * by }
        })
    }
}

/// Which elements of a matrix count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Symmetric,
    Hermitian,
    Triangular { unit: bool },
}

/// Part of a matrix in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    All,
    /// A triangle, its diagonal with it or not.
    Upper {
        diagonal: bool,
    },
    Lower {
        diagonal: bool,
    },
}

/// The triangle that `cublasFillMode_t` names.
pub fn triangle(upper: bool, diagonal: bool) -> Part {
    if upper { Part::Upper { diagonal } } else { Part::Lower { diagonal } }
}

/// How a matrix is stored.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    pub form: Form,
    pub part: Part,
}

#[derive(Clone, Copy, Debug)]
pub enum Form {
    Full {
        leading: usize,
    },
    Band {
        leading: usize,
        below: usize,
        above: usize,
    },
    Packed {
        upper: bool,
    },
    /// By rows.
    Rows {
        leading: usize,
    },
}

impl Store {
    pub fn full(leading: usize) -> Self {
        Self { form: Form::Full { leading }, part: Part::All }
    }

    /// Elements in memory, up to the last one that the matrix has.
    pub fn length(self, x: &Matrix) -> usize {
        let last = |leading: usize, lines: usize, each: usize| lines.saturating_sub(1) * leading + each;
        match self.form {
            Form::Full { leading } => last(leading, x.columns, x.rows),
            Form::Rows { leading } => last(leading, x.rows, x.columns),
            Form::Band { leading, below, above } => last(leading, x.columns, below + above + 1),
            Form::Packed { .. } => x.rows * (x.rows + 1) / 2,
        }
    }

    /// Visits the elements in memory with their indices.
    pub fn each(self, x: &Matrix, mut visit: impl FnMut(usize, Num)) {
        for j in 0..x.columns {
            for i in 0..x.rows {
                let counts = match self.part {
                    Part::All => true,
                    Part::Upper { diagonal } => i < j || diagonal && i == j,
                    Part::Lower { diagonal } => i > j || diagonal && i == j,
                };
                if !counts {
                    continue;
                }
                let index = match self.form {
                    Form::Full { leading } => i + j * leading,
                    Form::Rows { leading } => i * leading + j,
                    Form::Band { below, above, .. } if i > j + below || j > i + above => continue,
                    Form::Band { leading, above, .. } => above + i - j + j * leading,
                    Form::Packed { upper: true } => i + j * (j + 1) / 2,
                    Form::Packed { upper: false } => i + j * (2 * x.rows - j - 1) / 2,
                };
                visit(index, x.at(i, j));
            }
        }
    }
}
