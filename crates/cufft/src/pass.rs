//! Transforms of all lines along a dimension, in one launch or several.

use std::collections::BTreeMap;

use cabi::address::Address;
use cabi::stand_in::{Gpu, Memory};

use crate::status::{Result, Status};
use crate::table::{Table, padded};

/// Shared memory of a CTA: what each GPU has without asking.
const SHARED_BYTES: usize = 48 << 10;
/// Threads of a CTA.
const THREADS: u32 = 256;
/// Elements that a CTA has at least, where there are as many lines.
const ELEMENTS: usize = 1024;
/// The largest prime of a length that is transformed by sums.
const LARGEST_PRIME: usize = 61;
/// Axes of a kernel's argument, and radices.
const AXES: usize = 5;
const FACTORS: usize = 24;

/// How elements of a line are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Full,
    Real,
    /// The second half follows from the first.
    Half,
}

/// One end of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    pub address: Address,
    pub kind: Kind,
    /// Elements in memory from one index of the whole transform to the next.
    pub stride: i64,
    /// Indices of the whole transform from one element of a line to the next.
    pub step: i64,
    /// Length of the whole transform.
    pub length: i64,
    pub conjugate: bool,
}

/// One index of the lines: `Axis` of fft.cu.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Axis {
    pub size: i64,
    /// Elements in memory from one line to the next.
    pub from: i64,
    pub to: i64,
    /// The same, in the index of the whole transform.
    pub from_index: i64,
    pub to_index: i64,
}

const NO_AXIS: Axis = Axis { size: 1, from: 0, to: 0, from_index: 0, to_index: 0 };

/// Transforms of lines of `n`.
#[derive(Clone, Debug)]
pub struct Pass {
    pub n: usize,
    pub from: Side,
    pub to: Side,
    pub axes: Vec<Axis>,
}

/// The argument of a kernel: `Lines` of fft.cu.
#[derive(Clone, Copy)]
#[repr(C)]
struct Lines {
    from: Address,
    to: Address,
    roots: Address,
    after: Address,
    strides: [i64; 2],
    steps: [i64; 2],
    lengths: [i64; 2],
    axes: [Axis; AXES],
    lines: i64,
    after_length: i64,
    padded: i64,
    n: i32,
    lines_of_cta: i32,
    factors: i32,
    kinds: [i32; 2],
    conjugate: [i32; 2],
    after_axis: i32,
    across: [i32; 2],
    radix: [i32; FACTORS],
}
cabi::plain!(Lines);

/// Device context of a plan's passes.
pub struct Device {
    pub gpu: Gpu,
    /// Whether results have double precision.
    pub double: bool,
    /// Only makes the tables.
    pub dry: bool,
}

/// Tables on the device, by what they are for.
pub type Tables = BTreeMap<(Table, usize), Memory>;

/// A factor of the results of a pass: number (element * index of the axis) of the roots of `length`.
#[derive(Clone, Copy)]
struct After {
    length: usize,
    axis: usize,
}

/// A size as an index.
fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

fn narrow(size: usize) -> Result<i32> {
    i32::try_from(size).map_err(|_| Status::INVALID_SIZE)
}

/// The radices of a length, if no prime is too large.
fn radices(mut n: usize) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for radix in [4, 2, 3, 5, 7].into_iter().chain((11..=LARGEST_PRIME).step_by(2)) {
        while n.is_multiple_of(radix) {
            all.push(radix);
            n /= radix;
        }
    }
    (n == 1).then_some(all)
}

/// The divisor of `n` that is transformed first: both parts fit into `limit` if that is possible.
fn first_part(n: usize, limit: usize) -> usize {
    let divisors = (1..=limit.min(n)).filter(|part| n.is_multiple_of(*part));
    let fits = |part: &usize| n / part <= limit;
    // The parts are alike, so that no launch has the most lines of few elements.
    divisors.clone().filter(fits).min_by_key(|part| part.abs_diff(n / part)).or_else(|| divisors.max()).unwrap_or(1)
}

impl Pass {
    fn lines(&self) -> usize {
        self.axes.iter().map(|axis| usize::try_from(axis.size).unwrap_or(0)).product()
    }

    /// Distances of the axes in memory where lines follow each other, each of `n` elements.
    fn in_order(&self, n: usize) -> Vec<i64> {
        let mut distance = signed(n);
        let next = |axis: &Axis| {
            let this = distance;
            distance *= axis.size;
            this
        };
        self.axes.iter().map(next).collect()
    }
}

impl Device {
    fn element_bytes(&self) -> usize {
        if self.double { 16 } else { 8 }
    }

    fn limit(&self) -> usize {
        SHARED_BYTES / 2 / self.element_bytes()
    }

    fn with_memory(&self, elements: usize, body: impl FnOnce(Address) -> Result<()>) -> Result<()> {
        if self.dry {
            return body(0);
        }
        let bytes = elements.checked_mul(self.element_bytes()).ok_or(Status::ALLOC_FAILED)?;
        self.gpu.with_memory(bytes, body)
    }

    /// Address of a table, which is made if it is not there.
    fn table(&self, tables: &mut Tables, table: Table, n: usize) -> Result<Address> {
        if let Some(memory) = tables.get(&(table, n)) {
            return Ok(memory.address);
        }
        let values = table.of(n);
        let memory = self.gpu.memory(values.len() * self.element_bytes())?;
        if self.double {
            self.gpu.upload(memory.address, &values)?;
        } else {
            #[allow(clippy::cast_possible_truncation, reason = "rounded to the plan's precision")]
            let values: Vec<[f32; 2]> = values.into_iter().map(|x| x.map(|x| x as f32)).collect();
            self.gpu.upload(memory.address, &values)?;
        }
        Ok(tables.entry((table, n)).or_insert(memory).address)
    }

    fn name(&self, kernel: &str) -> String {
        format!("standin_cufft_{kernel}_{}", if self.double { 'z' } else { 'c' })
    }

    /// Transforms all lines of a pass.
    pub fn transform(&self, tables: &mut Tables, pass: &Pass) -> Result<()> {
        let (n, limit) = (pass.n, self.limit());
        match radices(n) {
            None => self.bluestein(tables, pass),
            Some(radices) if n <= limit => self.launch(tables, pass, &radices, None),
            Some(_) => self.in_parts(tables, pass, first_part(n, limit)),
        }
    }

    /// Bailey's four steps for a length of `first` times `second`: columns with factors, then rows.
    fn in_parts(&self, tables: &mut Tables, pass: &Pass, first: usize) -> Result<()> {
        let (n, second) = (pass.n, pass.n / first);
        self.with_memory(pass.lines() * n, |work| {
            let in_work =
                Side { address: work, kind: Kind::Full, stride: 1, step: 1, length: signed(n), conjugate: false };
            let others = || pass.axes.iter().zip(pass.in_order(n));
            let mut axes = vec![Axis { size: signed(second), from_index: pass.from.step, to_index: 1, ..NO_AXIS }];
            axes.extend(others().map(|(axis, to)| Axis { to, to_index: 0, ..*axis }));
            let from = Side { step: pass.from.step * signed(second), ..pass.from };
            let columns = Pass { n: first, from, to: Side { step: signed(second), ..in_work }, axes };
            let radices = radices(first).ok_or(Status::INVALID_SIZE)?;
            self.launch(tables, &columns, &radices, Some(After { length: n, axis: 0 }))?;
            let mut axes = vec![Axis { size: signed(first), from: signed(second), to_index: pass.to.step, ..NO_AXIS }];
            axes.extend(others().map(|(axis, from)| Axis { from, from_index: 0, ..*axis }));
            let to = Side { step: pass.to.step * signed(first), ..pass.to };
            self.transform(tables, &Pass { n: second, from: in_work, to, axes })
        })
    }

    /// Bluestein's method: a transform is a product with a chirp, a convolution with it, and a product with it.
    fn bluestein(&self, tables: &mut Tables, pass: &Pass) -> Result<()> {
        let (n, lines) = (pass.n, pass.lines());
        let m = padded(n);
        let chirp = self.table(tables, Table::Chirp, n)?;
        let spectrum = self.table(tables, Table::Spectrum, n)?;
        self.with_memory(lines * m, |work| {
            let launch = |kernel: &str, elements: usize, all: &Lines| {
                if self.dry {
                    return Ok(());
                }
                Ok::<_, Status>(self.gpu.launch_over(&self.name(kernel), (lines * elements) as u64, &[all])?)
            };
            let in_work =
                Side { address: work, kind: Kind::Full, stride: 1, step: 1, length: signed(m), conjugate: false };
            let axis = Axis { size: signed(lines), from: signed(m), to: signed(m), ..NO_AXIS };
            let convolution = Pass { n: m, from: in_work, to: in_work, axes: vec![axis] };
            let all = Lines { after: chirp, padded: signed(m), ..self.lines(pass)? };
            launch("chirp_in", m, &Lines { to: work, ..all })?;
            self.transform(tables, &convolution)?;
            launch("chirp_times", m, &Lines { to: work, after: spectrum, ..all })?;
            self.transform(tables, &convolution)?;
            launch("chirp_out", n, &Lines { from: work, ..all })
        })
    }

    fn lines(&self, pass: &Pass) -> Result<Lines> {
        let Pass { from, to, .. } = pass;
        let mut axes = [NO_AXIS; AXES];
        if pass.axes.len() > AXES {
            return Err(Status::INVALID_SIZE);
        }
        axes[..pass.axes.len()].copy_from_slice(&pass.axes);
        let kind = |side: &Side| match side.kind {
            Kind::Full => 0,
            Kind::Real => 1,
            Kind::Half => 2,
        };
        // The first axis of several lines.
        let axis = pass.axes.iter().find(|axis| axis.size > 1).copied().unwrap_or(NO_AXIS);
        let across = |by_line: i64, side: &Side| i32::from(by_line.abs() < (side.step * side.stride).abs());
        Ok(Lines {
            from: from.address,
            to: to.address,
            roots: 0,
            after: 0,
            strides: [from.stride, to.stride],
            steps: [from.step, to.step],
            lengths: [from.length, to.length],
            axes,
            lines: signed(pass.lines()),
            after_length: 1,
            padded: 0,
            n: narrow(pass.n)?,
            lines_of_cta: 1,
            factors: 0,
            kinds: [kind(from), kind(to)],
            conjugate: [from.conjugate.into(), to.conjugate.into()],
            after_axis: 0,
            across: [
                across(axis.from + axis.from_index * from.stride, from),
                across(axis.to + axis.to_index * to.stride, to),
            ],
            radix: [1; FACTORS],
        })
    }

    /// Transforms lines that fit into shared memory.
    fn launch(&self, tables: &mut Tables, pass: &Pass, radices: &[usize], after: Option<After>) -> Result<()> {
        let n = pass.n;
        let mut all = Lines { roots: self.table(tables, Table::Roots, n)?, ..self.lines(pass)? };
        if let Some(After { length, axis }) = after {
            all.after = self.table(tables, Table::Roots, length)?;
            all.after_length = signed(length);
            all.after_axis = narrow(axis)?;
        }
        let lines = pass.lines();
        if self.dry || lines == 0 {
            return Ok(());
        }
        let of_cta = (ELEMENTS / n).clamp(1, lines);
        all.lines_of_cta = narrow(of_cta)?;
        all.factors = narrow(radices.len())?;
        for (place, radix) in all.radix.iter_mut().zip(radices) {
            *place = narrow(*radix)?;
        }
        let grid = u32::try_from(lines.div_ceil(of_cta)).map_err(|_| Status::INVALID_SIZE)?;
        let shared = u32::try_from(2 * of_cta * n * self.element_bytes()).map_err(|_| Status::INVALID_SIZE)?;
        Ok(self.gpu.launch(&self.name("lines"), [grid, 1, 1], THREADS, shared, &[&all])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radices_multiply_to_the_length() {
        for n in 1..5000 {
            if let Some(all) = radices(n) {
                assert_eq!(all.iter().product::<usize>(), n);
                assert!(all.len() <= FACTORS);
            }
        }
        assert_eq!(radices(67), None);
        assert_eq!(radices(61 * 8), Some(vec![4, 2, 61]));
    }

    #[test]
    fn long_lines_have_parts_that_fit() {
        for (n, first) in [(4096, 64), (3072 * 3072, 3072), (6144, 64)] {
            assert_eq!(first_part(n, 3072), first, "{n}");
        }
        // Three launches.
        assert!((1 << 24) / first_part(1 << 24, 1536) > 1536);
    }
}
