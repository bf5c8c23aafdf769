//! The plan of a `cufftHandle`.

use cabi::address::{Address, Handle};
use cabi::stand_in::{Gpu, driver};

use crate::pass::{Axis, Device, Kind, Pass, Side, Tables};
use crate::status::{Result, Status};

/// A type of transform, as `cufftType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Type {
    pub from: Kind,
    pub to: Kind,
    pub double: bool,
}

impl Type {
    /// The type with a number of `cufftType`.
    pub fn numbered(number: i32) -> Result<Self> {
        let (from, to) = match number & 0xf {
            0xa => (Kind::Real, Kind::Half),
            0xc => (Kind::Half, Kind::Real),
            0x9 => (Kind::Full, Kind::Full),
            _ => return Err(Status::INVALID_TYPE),
        };
        match number >> 4 {
            2 => Ok(Self { from, to, double: false }),
            6 => Ok(Self { from, to, double: true }),
            _ => Err(Status::INVALID_TYPE),
        }
    }
}

/// How an array is stored: sizes of its storage, distance of elements, and of transforms.
#[derive(Clone, Debug)]
pub struct Layout {
    pub embed: Vec<i64>,
    pub stride: i64,
    pub dist: i64,
}

/// Transforms: the sizes, how many, and how they are stored; without layouts one after the other.
#[derive(Clone, Debug)]
pub struct Shape {
    pub kind: Type,
    pub sizes: Vec<i64>,
    pub batch: i64,
    pub layouts: Option<[Layout; 2]>,
}

impl Shape {
    /// Fails if a size makes no sense.
    pub fn check(&self) -> Result<()> {
        /// Indices of a transform and bytes of tables stay far below their limits.
        const MOST: i64 = 1 << 32;
        let sizes = self.sizes.iter().try_fold(1_i64, |all, size| all.checked_mul(*size).filter(|all| *all <= MOST));
        if self.sizes.iter().any(|size| *size < 1) || sizes.is_none() {
            return Err(Status::INVALID_SIZE);
        }
        // Lines of a launch.
        let all = sizes.and_then(|sizes| sizes.checked_mul(self.batch));
        if self.batch < 1 || all.is_none_or(|all| all > MOST << 8) {
            return Err(Status::INVALID_VALUE);
        }
        Ok(())
    }

    /// The storage of elements of `kind`, one transform after the other. Real numbers that share it with complex ones
    /// have room for them.
    fn plain(&self, kind: Kind, in_place: bool) -> Layout {
        let mut embed = self.sizes.clone();
        if let Some(last) = embed.last_mut() {
            *last = match kind {
                Kind::Full => *last,
                Kind::Half => *last / 2 + 1,
                Kind::Real if in_place => 2 * (*last / 2 + 1),
                Kind::Real => *last,
            };
        }
        let dist = embed.iter().product();
        Layout { embed, stride: 1, dist }
    }
}

impl Layout {
    /// Elements in memory from one index of each dimension to the next.
    fn strides(&self) -> Vec<i64> {
        let mut strides = vec![self.stride; self.embed.len()];
        for dimension in (1..self.embed.len()).rev() {
            strides[dimension - 1] = strides[dimension].saturating_mul(self.embed[dimension]);
        }
        strides
    }
}

/// A plan with what it has on its device.
#[derive(Default)]
pub struct Plan {
    pub shape: Option<Shape>,
    pub stream: Handle,
    tables: Tables,
}

/// An array of a transform.
#[derive(Clone, Debug)]
struct Array {
    address: Address,
    kind: Kind,
    strides: Vec<i64>,
    dist: i64,
}

impl Plan {
    /// Makes the plan, with its tables.
    pub fn make(&mut self, shape: Shape) -> Result<()> {
        shape.check()?;
        self.tables.clear();
        self.shape = Some(shape);
        // Streams that do not wait for the one of the tables may execute the plan.
        let wait = || Ok(driver("warpwright cuFFT")?.cuStreamSynchronize(0)?);
        let done = self.run(0, 0, false, true).and_then(|()| wait());
        if done.is_err() {
            self.shape = None;
        }
        done
    }

    /// Transforms, inverse ones too.
    pub fn execute(&mut self, from: Address, to: Address, inverse: bool) -> Result<()> {
        if from == 0 || to == 0 {
            return Err(Status::INVALID_VALUE);
        }
        self.run(from, to, inverse, false)
    }

    fn run(&mut self, from: Address, to: Address, inverse: bool, dry: bool) -> Result<()> {
        let shape = self.shape.clone().ok_or(Status::INVALID_PLAN)?;
        // Tables are made for any stream.
        let stream = if dry { 0 } else { self.stream };
        let gpu = Gpu::current("warpwright cuFFT", c"fft", stream)?;
        let device = Device { gpu, double: shape.kind.double, dry };
        let in_place = from == to;
        let [from, to] = [(from, shape.kind.from, 0), (to, shape.kind.to, 1)].map(|(address, kind, which)| {
            let layout = match &shape.layouts {
                Some(layouts) => layouts[which].clone(),
                None => shape.plain(kind, in_place),
            };
            Array { address, kind, strides: layout.strides(), dist: layout.dist }
        });
        let last = shape.sizes.len() - 1;
        let tables = &mut self.tables;
        let mut along = |dimension: usize, from: &Array, to: &Array| {
            device.transform(tables, &pass(&shape, dimension, from, to, inverse))
        };
        if shape.kind.from != Kind::Half || last == 0 {
            along(last, &from, &to)?;
            return (0..last).rev().try_for_each(|dimension| along(dimension, &to, &to));
        }
        // The other dimensions first, in memory of our own: the input may be needed again.
        let plain = shape.plain(Kind::Half, false);
        let elements = usize::try_from(plain.dist * shape.batch).map_err(|_| Status::INVALID_SIZE)?;
        let mut body = |address| {
            let work = Array { address, kind: Kind::Half, strides: plain.strides(), dist: plain.dist };
            along(last - 1, &from, &work)?;
            (0..last - 1).rev().try_for_each(|dimension| along(dimension, &work, &work))?;
            along(last, &work, &to)
        };
        if dry {
            return body(0);
        }
        gpu.with_memory(elements * if shape.kind.double { 16 } else { 8 }, body)
    }
}

/// The pass along a dimension.
fn pass(shape: &Shape, dimension: usize, from: &Array, to: &Array, inverse: bool) -> Pass {
    let last = shape.sizes.len() - 1;
    let n = shape.sizes[dimension];
    let is_half = [from, to].iter().any(|array| array.kind == Kind::Half);
    let side = |array: &Array| Side {
        address: array.address,
        // Along other dimensions numbers of half a line are full ones.
        kind: if dimension == last || array.kind == Kind::Real { array.kind } else { Kind::Full },
        stride: array.strides[dimension],
        step: 1,
        length: n,
        conjugate: inverse,
    };
    let mut axes: Vec<Axis> = (0..=last)
        .rev()
        .filter(|other| *other != dimension)
        .map(|other| Axis {
            size: if other == last && is_half { shape.sizes[other] / 2 + 1 } else { shape.sizes[other] },
            from: from.strides[other],
            to: to.strides[other],
            from_index: 0,
            to_index: 0,
        })
        .collect();
    axes.push(Axis { size: shape.batch, from: from.dist, to: to.dist, from_index: 0, to_index: 0 });
    Pass { n: usize::try_from(n).unwrap_or(0), from: side(from), to: side(to), axes }
}
