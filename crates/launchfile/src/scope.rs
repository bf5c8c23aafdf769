//! Names that are known while expressions are evaluated: values, first contents of buffers, rounds of loops.

use super::diagnostics::Problem;
use super::expr::{Expr, Scope};
use std::ops::{Range, RangeInclusive};
use workloads::device::Buffer;
use workloads::element::{Number, ScalarType};

/// Bytes of an address, and of a texture or surface object.
pub const ADDRESS_BYTES: usize = 8;

/// A buffer's first contents on the host.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Filled {
    pub ty: ScalarType,
    /// Number of elements.
    pub length: u64,
    /// Little-endian elements from the first on; those that are missing are zero.
    pub bytes: Vec<u8>,
    /// Addresses that are missing in the bytes.
    pub addresses: Vec<Pending>,
    /// Bytes of the variable before the first element, of a symbol.
    pub skipped_bytes: u64,
}

impl Filled {
    /// Elements that are all given.
    pub fn new(ty: ScalarType, bytes: Vec<u8>) -> Self {
        Self { ty, length: (bytes.len() / ty.bytes()) as u64, bytes, addresses: Vec::new(), skipped_bytes: 0 }
    }

    /// Size of the whole buffer.
    pub fn size_bytes(&self) -> u64 {
        self.length * self.ty.bytes() as u64
    }

    /// The element at `index`; none beyond the end.
    pub fn element(&self, index: u64) -> Option<Number> {
        let start = usize::try_from(index).ok()?.checked_mul(self.ty.bytes())?;
        let bytes = self.bytes.get(start..start.checked_add(self.ty.bytes())?);
        (index < self.length).then(|| bytes.map_or(self.ty.decode(&[0; 8][..self.ty.bytes()]), |b| self.ty.decode(b)))
    }
}

/// Values and buffers that expressions may refer to, once some of the buffers are filled.
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Contents<'a> {
    pub values: &'a [Number],
    /// The buffers filled so far.
    pub buffers: &'a [Filled],
}

impl Scope for Contents<'_> {
    fn value(&self, slot: usize) -> Number {
        self.values[slot]
    }
    fn length(&self, buffer: usize) -> u64 {
        self.buffers[buffer].length
    }
    fn element(&self, buffer: usize, index: u64) -> Option<Number> {
        self.buffers[buffer].element(index)
    }
}

/// Where expressions are evaluated.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// Values and first contents of buffers.
    pub scope: &'a Contents<'a>,
    /// Repetitions of each loop, outermost first.
    pub rounds: &'a [u64],
    /// The index `i`.
    pub element: u64,
}

/// An address that is not known yet.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Where it is written: a byte offset.
    pub at: usize,
    /// The buffer, by index.
    pub buffer: usize,
    /// The element of it.
    pub element: u64,
    /// Where the launch file says so.
    pub span: Range<usize>,
}

impl Pending {
    /// Refuses an element beyond the end of its buffer.
    pub fn check(&self, scope: &Contents<'_>) -> Result<(), Problem> {
        let length = scope.buffers[self.buffer].length;
        if self.element <= length {
            return Ok(());
        }
        let message = format!("this is {}; it must be a whole number from 0 to {length}", self.element);
        Err(Problem::new(self.span.clone(), message))
    }

    fn address(&self, scope: &Contents<'_>, buffers: &[Buffer]) -> u64 {
        buffers[self.buffer].address + self.element * scope.buffers[self.buffer].ty.bytes() as u64
    }
}

/// Writes addresses where they are missing.
pub fn write_addresses(bytes: &mut [u8], addresses: &[Pending], scope: &Contents<'_>, buffers: &[Buffer]) {
    for pending in addresses {
        let address = pending.address(scope, buffers).to_le_bytes();
        bytes[pending.at..pending.at + ADDRESS_BYTES].copy_from_slice(&address);
    }
}

/// A number as an element; a problem at the expression if it does not fit.
pub fn encode(expr: &Expr, value: Number, ty: ScalarType) -> Result<Vec<u8>, Problem> {
    let problem = || Problem::new(expr.span.clone(), format!("{value} does not fit {}", ty.with_article()));
    ty.encode(value).ok_or_else(problem)
}

/// An expression's value as a whole number within a range.
pub fn whole(expr: &Expr, scope: &dyn Scope, rounds: &[u64], range: RangeInclusive<u64>) -> Result<u64, Problem> {
    as_whole(expr, expr.evaluate(scope, rounds, 0)?, range)
}

/// The same of its `value`.
pub fn as_whole(expr: &Expr, value: Number, range: RangeInclusive<u64>) -> Result<u64, Problem> {
    let number = match value {
        Number::Int(i) => u64::try_from(i).ok(),
        Number::Float(f) if f.fract() == 0.0 && (0.0..1e18).contains(&f) => Some(f as u64),
        Number::Float(_) => None,
    };
    number.filter(|n| range.contains(n)).ok_or_else(|| {
        let message = format!("this is {value}; it must be a whole number from {} to {}", range.start(), range.end());
        Problem::new(expr.span.clone(), message)
    })
}
