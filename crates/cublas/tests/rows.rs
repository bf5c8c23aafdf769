//! All functions with random calls.

use crate::case::Case;
use crate::number::Random;

type Build = Box<dyn Fn(&mut Case)>;

/// A function with how its calls are drawn.
pub struct Row {
    pub name: String,
    /// Whether there is a form with sizes of 64 bits, `…_64`.
    pub both: bool,
    build: Build,
}

#[derive(Default)]
pub struct Rows(pub Vec<Row>);

impl Rows {
    /// All of them.
    pub fn all() -> Self {
        let mut rows = Self::default();
        crate::level1::rows(&mut rows);
        crate::level2::rows(&mut rows);
        crate::level3::rows(&mut rows);
        crate::product::rows(&mut rows);
        crate::solver::rows(&mut rows);
        crate::light::rows(&mut rows);
        rows
    }

    pub fn add(&mut self, name: impl Into<String>, build: impl Fn(&mut Case) + 'static) {
        self.0.push(Row { name: name.into(), both: true, build: Box::new(build) });
    }

    /// A function without sizes, or that the headers declare with 32 bits only.
    pub fn single(&mut self, name: impl Into<String>, build: impl Fn(&mut Case) + 'static) {
        self.0.push(Row { name: name.into(), both: false, build: Box::new(build) });
    }

    /// The function of a call.
    pub fn row(&self, number: u64) -> &Row {
        &self.0[(number % self.0.len() as u64) as usize]
    }

    /// A call by its number, the same for the same seed.
    pub fn case(&self, seed: u64, number: u64) -> Case {
        let row = self.row(number);
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9) ^ number.wrapping_mul(0x0100_0000_01b3));
        random.bits();
        let mut case = Case::new(&row.name, random);
        if !row.both {
            case.function.truncate(row.name.len());
            case.wide = false;
        }
        (row.build)(&mut case);
        case
    }
}
