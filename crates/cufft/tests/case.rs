//! A transform with its arrays, and the sums that define it.

use std::f64::consts::TAU;

use crate::library::{Memory, at, into};

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) % end as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn number(&mut self) -> f64 {
        self.below(2001) as f64 / 1000.0 - 1.0
    }
}

type Complex = [f64; 2];

fn times([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

/// The sum of products, by halves: one after the other the errors of many would add up.
fn dot(x: &[Complex], y: &[Complex]) -> Complex {
    if x.len() == 1 {
        return times(x[0], y[0]);
    }
    let ((x, others), (y, other)) = (x.split_at(x.len() / 2), y.split_at(y.len() / 2));
    let ([a, b], [c, d]) = (dot(x, y), dot(others, other));
    [a + c, b + d]
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Full,
    Real,
    Half,
}

/// Storage of an array: sizes of it, distance of elements, of transforms, elements before the first.
#[derive(Clone, Debug)]
struct Layout {
    embed: Vec<usize>,
    stride: usize,
    dist: usize,
}

#[derive(Clone, Debug)]
pub struct Case {
    double: bool,
    kinds: [Kind; 2],
    inverse: bool,
    sizes: Vec<usize>,
    batch: usize,
    in_place: bool,
    /// Which function makes the plan.
    how: &'static str,
    layouts: Option<[Layout; 2]>,
}

impl Case {
    /// A forward transform of a line of complex numbers.
    pub fn line(n: usize, double: bool) -> Self {
        Self {
            double,
            kinds: [Kind::Full; 2],
            inverse: false,
            sizes: vec![n],
            batch: 1,
            in_place: false,
            how: "plain",
            layouts: None,
        }
    }

    pub fn draw(random: &mut Random) -> Self {
        let kinds = random.one_of(&[[Kind::Full; 2], [Kind::Real, Kind::Half], [Kind::Half, Kind::Real]]);
        let rank = 1 + random.below(3);
        let most = [400, 30, 10][rank - 1];
        let mut sizes: Vec<usize> = (0..rank).map(|_| 1 + random.below(most)).collect();
        if rank == 1 && random.below(6) == 0 {
            sizes[0] = random.one_of(&[1024, 1009, 2310, 4096, 5000, 4999, 8192]);
        }
        let batch = if random.below(2) == 0 { 1 } else { 1 + random.below(5) };
        let in_place = random.below(3) == 0;
        let mut case = Self {
            double: random.below(2) == 0,
            kinds,
            inverse: kinds[0] == Kind::Half || kinds[0] == Kind::Full && random.below(2) == 0,
            sizes,
            batch,
            in_place,
            how: random.one_of(&["many", "many 64", "typed"]),
            layouts: None,
        };
        match random.below(3) {
            0 if rank == 1 || batch == 1 => case.how = "plain",
            0 => {}
            _ if !in_place => case.layouts = Some([0, 1].map(|which| case.spread(random, which))),
            _ if kinds == [Kind::Full; 2] => {
                let both = case.spread(random, 0);
                case.layouts = Some([both.clone(), both]);
            }
            _ => {
                // As many bytes from one line or transform to the next: two real numbers for a complex one.
                let last = rank - 1;
                let mut embed: Vec<usize> = case.sizes.iter().map(|size| size + random.below(3)).collect();
                let complex = case.sizes[last] / 2 + 1 + random.below(3);
                case.layouts = Some(kinds.map(|kind| {
                    embed[last] = if kind == Kind::Real { 2 * complex } else { complex };
                    Layout { stride: 1, dist: embed.iter().product(), embed: embed.clone() }
                }));
            }
        }
        case
    }

    /// Elements along a dimension that an array has.
    fn stored(&self, which: usize, dimension: usize) -> usize {
        let size = self.sizes[dimension];
        let is_last = dimension == self.sizes.len() - 1;
        if is_last && self.kinds[which] == Kind::Half { size / 2 + 1 } else { size }
    }

    /// A storage with room between elements and transforms.
    fn spread(&self, random: &mut Random, which: usize) -> Layout {
        let embed: Vec<usize> =
            (0..self.sizes.len()).map(|dimension| self.stored(which, dimension) + random.below(3)).collect();
        let stride = 1 + random.below(3);
        // Transforms side by side, or one after the other.
        let all = embed.iter().product::<usize>();
        if random.below(3) == 0 {
            return Layout { embed, stride: stride * self.batch, dist: 1 };
        }
        Layout { dist: all * stride + random.below(3), embed, stride }
    }

    fn layout(&self, which: usize) -> Layout {
        if let Some(layouts) = &self.layouts {
            return layouts[which].clone();
        }
        let mut embed: Vec<usize> = (0..self.sizes.len()).map(|dimension| self.stored(which, dimension)).collect();
        if self.in_place && self.kinds[which] == Kind::Real {
            *embed.last_mut().expect("a size") = 2 * (self.sizes[self.sizes.len() - 1] / 2 + 1);
        }
        Layout { stride: 1, dist: embed.iter().product(), embed }
    }

    /// Indices of each element that an array has, with its place in memory.
    fn places(&self, which: usize) -> Vec<(Vec<usize>, usize)> {
        let layout = self.layout(which);
        let counts: Vec<usize> = (0..self.sizes.len()).map(|dimension| self.stored(which, dimension)).collect();
        let mut all = Vec::new();
        for batch in 0..self.batch {
            for number in 0..counts.iter().product() {
                let (mut rest, mut index) = (number, vec![batch]);
                for size in counts.iter().rev() {
                    index.insert(1, rest % size);
                    rest /= size;
                }
                let mut place = 0;
                for (dimension, i) in index[1..].iter().enumerate() {
                    place = if dimension == 0 { *i } else { place * layout.embed[dimension] + i };
                }
                all.push((index, place * layout.stride + batch * layout.dist));
            }
        }
        all
    }

    fn words(&self, which: usize) -> usize {
        if self.kinds[which] == Kind::Real { 1 } else { 2 }
    }

    /// The plan of the library.
    fn plan(&self) -> i32 {
        let number: i32 = match self.kinds[0] {
            Kind::Full => 0x29,
            Kind::Real => 0x2a,
            Kind::Half => 0x2c,
        } + if self.double { 0x40 } else { 0 };
        let s: Vec<i32> = self.sizes.iter().map(|size| *size as i32).collect();
        let (batch, mut plan) = (self.batch as i32, 0_i32);
        let narrow = |which: usize| self.layout(which).embed.iter().map(|size| *size as i32).collect::<Vec<_>>();
        let wide = |all: &[i32]| all.iter().map(|size| i64::from(*size)).collect::<Vec<_>>();
        let [from, to] = [narrow(0), narrow(1)];
        let given = self.layouts.is_some();
        let or_null = |address: usize| if given { address } else { 0 };
        let layouts = [self.layout(0), self.layout(1)];
        let code = match (self.how, s.as_slice()) {
            ("plain", [n]) => c!("cufftPlan1d", into(&mut plan), *n, number, batch),
            ("plain", [n, m]) => c!("cufftPlan2d", into(&mut plan), *n, *m, number),
            ("plain", [n, m, k]) => c!("cufftPlan3d", into(&mut plan), *n, *m, *k, number),
            ("many", _) => c!(
                "cufftPlanMany",
                into(&mut plan),
                s.len() as i32,
                at(s.as_slice()),
                or_null(at(from.as_slice())),
                layouts[0].stride as i32,
                layouts[0].dist as i32,
                or_null(at(to.as_slice())),
                layouts[1].stride as i32,
                layouts[1].dist as i32,
                number,
                batch
            ),
            (how, _) => {
                let (s, from, to) = (wide(&s), wide(&from), wide(&to));
                let mut work = 1_usize;
                assert_eq!(c!("cufftCreate", into(&mut plan)), 0);
                let code = if how == "typed" {
                    let kind =
                        |which: usize| i32::from(self.double) + if self.kinds[which] == Kind::Real { 0 } else { 4 };
                    c!(
                        "cufftXtMakePlanMany",
                        plan,
                        s.len() as i32,
                        at(s.as_slice()),
                        or_null(at(from.as_slice())),
                        layouts[0].stride as i64,
                        layouts[0].dist as i64,
                        kind(0),
                        or_null(at(to.as_slice())),
                        layouts[1].stride as i64,
                        layouts[1].dist as i64,
                        kind(1),
                        self.batch as i64,
                        into(&mut work),
                        4 + i32::from(self.double)
                    )
                } else {
                    c!(
                        "cufftMakePlanMany64",
                        plan,
                        s.len() as i32,
                        at(s.as_slice()),
                        or_null(at(from.as_slice())),
                        layouts[0].stride as i64,
                        layouts[0].dist as i64,
                        or_null(at(to.as_slice())),
                        layouts[1].stride as i64,
                        layouts[1].dist as i64,
                        number,
                        self.batch as i64,
                        into(&mut work)
                    )
                };
                assert_eq!(work, 0, "no work area is needed");
                code
            }
        };
        assert_eq!(code, 0, "{self:?}");
        plan
    }

    fn execute(&self, plan: i32, from: usize, to: usize) {
        let direction = if self.inverse { 1_i32 } else { -1 };
        let code = match (self.how, self.kinds[0], self.double) {
            ("typed", ..) => c!("cufftXtExec", plan, from, to, direction),
            (_, Kind::Full, false) => c!("cufftExecC2C", plan, from, to, direction),
            (_, Kind::Full, true) => c!("cufftExecZ2Z", plan, from, to, direction),
            (_, Kind::Real, false) => c!("cufftExecR2C", plan, from, to),
            (_, Kind::Real, true) => c!("cufftExecD2Z", plan, from, to),
            (_, Kind::Half, false) => c!("cufftExecC2R", plan, from, to),
            (_, Kind::Half, true) => c!("cufftExecZ2D", plan, from, to),
        };
        assert_eq!(code, 0, "{self:?}");
    }

    /// All numbers of each transform, row by row.
    fn numbers(&self, random: &mut Random) -> Vec<Vec<Complex>> {
        let n = self.sizes.iter().product();
        let mut all: Vec<Vec<Complex>> =
            (0..self.batch).map(|_| (0..n).map(|_| [random.number(), random.number()]).collect::<Vec<_>>()).collect();
        for numbers in &mut all {
            if self.kinds[0] == Kind::Real {
                numbers.iter_mut().for_each(|x| x[1] = 0.0);
            }
            if self.kinds[0] == Kind::Half {
                let before = numbers.clone();
                for (i, x) in numbers.iter_mut().enumerate() {
                    let other = before[self.mirror(i)];
                    *x = [(x[0] + other[0]) / 2.0, (x[1] - other[1]) / 2.0];
                }
            }
            if !self.double {
                numbers.iter_mut().for_each(|x| *x = x.map(|x| f64::from(x as f32)));
            }
        }
        all
    }

    fn index(&self, mut number: usize) -> Vec<usize> {
        let mut index = Vec::new();
        for size in self.sizes.iter().rev() {
            index.insert(0, number % size);
            number /= size;
        }
        index
    }

    fn number(&self, index: &[usize]) -> usize {
        index.iter().zip(&self.sizes).fold(0, |number, (i, size)| number * size + i)
    }

    fn mirror(&self, number: usize) -> usize {
        let index: Vec<usize> = self.index(number).iter().zip(&self.sizes).map(|(i, n)| (n - i) % n).collect();
        self.number(&index)
    }

    /// One result of a transform, as a sum.
    fn sum(&self, numbers: &[Complex], at: &[usize]) -> Complex {
        let sign = if self.inverse { 1.0 } else { -1.0 };
        let roots: Vec<Vec<Complex>> = self
            .sizes
            .iter()
            .zip(at)
            .map(|(n, k)| {
                let root = |j: usize| {
                    let (sine, cosine) = (TAU * ((j * k % n) as f64 / *n as f64)).sin_cos();
                    [cosine, sign * sine]
                };
                (0..*n).map(root).collect()
            })
            .collect();
        let mut sums = numbers.to_vec();
        for roots in roots.iter().rev() {
            sums = sums.chunks(roots.len()).map(|row| dot(row, roots)).collect();
        }
        sums[0]
    }

    /// Runs the case. Returns what is wrong.
    pub fn run(&self, random: &mut Random) -> Result<(), String> {
        if self.double { self.run_in::<f64>(random) } else { self.run_in::<f32>(random) }
    }

    fn run_in<T: Number>(&self, random: &mut Random) -> Result<(), String> {
        let numbers = self.numbers(random);
        let (from, to) = (self.places(0), self.places(1));
        let end = |which: usize, places: &[(Vec<usize>, usize)]| {
            (places.iter().map(|(_, place)| place).max().expect("an element") + 3) * self.words(which)
        };
        let mark = T::of(77.25);
        let (from_end, to_end) = (end(0, &from), end(1, &to));
        let mut given = vec![mark; if self.in_place { from_end.max(to_end) } else { from_end }];
        for (index, place) in &from {
            let x = numbers[index[0]][self.number(&index[1..])];
            let words = self.words(0);
            (0..words).for_each(|word| given[place * words + word] = T::of(x[word]));
        }
        let input = Memory::with(&given);
        let output = (!self.in_place).then(|| Memory::with(&vec![mark; to_end]));
        let plan = self.plan();
        self.execute(plan, input.address, output.as_ref().unwrap_or(&input).address);
        assert_eq!(c!("cufftDestroy", plan), 0);
        let found = output.as_ref().unwrap_or(&input).get();
        if !self.in_place && input.get() != given {
            return Err("the input has changed".to_owned());
        }
        let n: usize = self.sizes.iter().product();
        let norms: Vec<f64> =
            numbers.iter().map(|all| all.iter().map(|[re, im]| re * re + im * im).sum::<f64>().sqrt()).collect();
        // All results of small transforms, some of large ones.
        const SOME: usize = 12;
        let all = to.len() * n <= 300_000;
        let some: Vec<usize> = (0..SOME).map(|_| random.below(to.len())).collect();
        let words = self.words(1);
        let mut written = vec![false; found.len()];
        for (number, (index, place)) in to.iter().enumerate() {
            (0..words).for_each(|word| written[place * words + word] = true);
            if !all && !some.contains(&number) {
                continue;
            }
            let expected = self.sum(&numbers[index[0]], &index[1..]);
            let tolerance = T::UNIT * 4.0 * (2.0 + (n as f64).log2()) * norms[index[0]] + T::UNIT;
            for (word, expected) in expected.iter().enumerate().take(words) {
                let x = found[place * words + word].wide();
                if (x - expected).abs() > tolerance {
                    return Err(format!("result {index:?}, part {word}: {x}, not {expected} within {tolerance:e}"));
                }
            }
        }
        let changed = found.iter().zip(&written).position(|(x, written)| !written && *x != mark);
        // In place the input's own elements may be overwritten.
        match changed.filter(|_| !self.in_place) {
            Some(place) => Err(format!("word {place} of the output is not a result, and has changed")),
            None => Ok(()),
        }
    }
}

trait Number: Copy + PartialEq {
    const UNIT: f64;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
}

impl Number for f32 {
    const UNIT: f64 = 6e-8;
    fn of(x: f64) -> Self {
        x as Self
    }
    fn wide(self) -> f64 {
        self.into()
    }
}

impl Number for f64 {
    const UNIT: f64 = 1.2e-16;
    fn of(x: f64) -> Self {
        x
    }
    fn wide(self) -> f64 {
        self
    }
}
