//! Products of two sparse matrices (SpGEMM): all terms are written, sorted within rows and summed.

use std::ffi::c_int;

use cabi::address::{Address, Handle};
use cabi::stand_in::{Objects, not_supported};

use crate::descriptor::{Format, SpMat, create, give, remove, set_entries, sparse};
use crate::handle::{Call, call, check};
use crate::problem::{Kind, Problem, Scalar, Sparse, bytes_of, sum_bytes};
use crate::status::{Result, Status, valid};

/// The number of terms of each product that was estimated.
static PRODUCTS: Objects<i64> = Objects::none();

/// A size for buffers, none of which is used: programs call once for the size and once more with a buffer, which must
/// have an address for the two calls to differ.
const BUFFER_BYTES: usize = 16;

struct Factors {
    a: SpMat,
    b: SpMat,
    c: SpMat,
    kind: Kind,
}

/// Device addresses while a product is computed.
struct Terms {
    /// The end of each row's terms.
    ends: Address,
    columns: Address,
    numbers: Address,
    values: Address,
    /// Where each row of the result begins; after them its number of entries.
    first: Address,
}

impl Factors {
    /// `compute` is the type of scalars, where a function has one.
    fn new(
        descriptor: Handle,
        ops: [c_int; 2],
        a: Handle,
        b: Handle,
        c: Handle,
        compute: Option<c_int>,
    ) -> Result<Self> {
        PRODUCTS.with(descriptor, |_| ()).ok_or(Status::INVALID_VALUE)?;
        let (a, b, c) = (sparse(a)?, sparse(b)?, sparse(c)?);
        if ops != [0; 2] {
            return Err(not_supported("a product of sparse matrices that are transposed"));
        }
        valid(a.columns == b.rows && c.rows == a.rows && c.columns == b.columns)?;
        if [&a, &b, &c].iter().any(|matrix| matrix.format != Format::Rows || matrix.batch != 1) {
            return Err(not_supported("a product of sparse matrices of another format than CSR, or of batches"));
        }
        if [b.kind, c.kind, compute.unwrap_or(a.kind)].iter().any(|kind| *kind != a.kind) {
            return Err(not_supported("a product of sparse matrices with mixed types"));
        }
        if c.columns > i64::from(i32::MAX) {
            return Err(not_supported("a product of sparse matrices with 2^31 columns"));
        }
        let kind = Kind::numbered(a.kind)?;
        Ok(Self { a, b, c, kind })
    }

    /// Calls `body` with the places of each row's terms, and their number.
    fn with_places(&self, call: &Call, body: impl FnOnce(Address, i64) -> Result<()>) -> Result<()> {
        let (rows, [a, b]) = (self.a.rows, self.sparse());
        call.gpu.with_memory(sum_bytes(rows)?, |places| {
            call.launch("terms", rows, 1, &[&a, &b, &places])?;
            call.sums(places, rows)?;
            body(places, call.sum_of(places, rows)?)
        })
    }

    fn sparse(&self) -> [Sparse; 2] {
        [Sparse::of(&self.a, false).0, Sparse::of(&self.b, false).0]
    }

    /// Calls `body` with the sorted terms.
    fn with_terms(&self, call: &Call, with_values: bool, body: impl FnOnce(&Terms) -> Result<()>) -> Result<()> {
        let (kind, rows, [a, b]) = (self.kind, self.a.rows, self.sparse());
        self.with_places(call, |ends, count| {
            if count > i64::from(i32::MAX) {
                return Err(not_supported("a product of sparse matrices with 2^31 terms"));
            }
            let values_bytes = if with_values { bytes_of(count, kind.bytes)? } else { 0 };
            let first_bytes = sum_bytes(rows)?;
            let number_bytes = bytes_of(count, 4)?;
            // Numbers of eight bytes come first.
            call.gpu.with_memory(first_bytes + values_bytes + 2 * number_bytes, |first| {
                let values = first + first_bytes;
                let columns = values + values_bytes;
                let numbers = columns + number_bytes;
                let values = if with_values { values } else { 0 };
                let problem = Problem { a, m: rows, ..Problem::default() };
                let items = rows.saturating_mul(32);
                call.launch_of("expand", kind, items, 1, &[&problem, &b, &ends, &columns, &numbers, &values])?;
                call.launch("sort_pairs", rows, 1, &[&rows, &ends, &columns, &numbers])?;
                call.launch("distinct", rows, 1, &[&rows, &ends, &columns, &first])?;
                call.sums(first, rows)?;
                body(&Terms { ends, columns, numbers, values, first })
            })
        })
    }

    /// Finds how many entries the result has.
    fn count(&self, call: &Call, c: Handle) -> Result<()> {
        self.with_terms(call, false, |terms| set_entries(c, call.sum_of(terms.first, self.a.rows)?))
    }

    /// Writes offsets and indices of the result, or its values.
    fn collect(&self, call: &Call, terms: &Terms, [alpha, beta]: [Scalar; 2], with_values: bool) -> Result<()> {
        let problem = Problem { a: Sparse::of(&self.c, false).0, alpha, beta, ..Problem::default() };
        let values = if with_values { terms.values } else { 0 };
        let Terms { ends, columns, numbers, first, .. } = terms;
        call.launch_of("collect", self.kind, self.c.rows, 1, &[&problem, first, ends, columns, numbers, &values])
    }
}

/// Whether a call with the place of a size and a buffer asks for the size, which it then gets.
fn asks(size: Address, buffer: Address) -> Result<bool> {
    if buffer == 0 {
        give(size, BUFFER_BYTES)?;
    }
    Ok(buffer == 0)
}

/// Counts the terms of a product.
fn estimate(handle: Handle, descriptor: Handle, factors: &Factors) -> Result<()> {
    factors.with_places(&call(handle)?, |_, count| {
        PRODUCTS.with(descriptor, |products| *products = count).ok_or(Status::INVALID_VALUE)
    })
}

cabi::functions! {
    Status;
    fn cusparseSpGEMM_createDescr(place: Address) { create(&PRODUCTS, place, 0) }
    fn cusparseSpGEMM_destroyDescr(descriptor: Handle) { remove(&PRODUCTS, descriptor) }
    fn cusparseSpGEMM_workEstimation(
        handle: Handle, op_a: c_int, op_b: c_int, _alpha: Address, a: Handle, b: Handle, _beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, descriptor: Handle, size: Address, buffer: Address,
    ) {
        check(handle)?;
        let factors = Factors::new(descriptor, [op_a, op_b], a, b, c, Some(compute))?;
        if asks(size, buffer)? { Ok(()) } else { estimate(handle, descriptor, &factors) }
    }
    fn cusparseSpGEMM_getNumProducts(descriptor: Handle, place: Address) {
        give(place, PRODUCTS.with(descriptor, |products| *products).ok_or(Status::INVALID_VALUE)?)
    }
    fn cusparseSpGEMM_estimateMemory(
        handle: Handle, op_a: c_int, op_b: c_int, _alpha: Address, a: Handle, b: Handle, _beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, descriptor: Handle, _chunk: f32, size: Address, buffer: Address,
        compute_size: Address,
    ) {
        check(handle)?;
        Factors::new(descriptor, [op_a, op_b], a, b, c, Some(compute))?;
        if !asks(size, buffer)? {
            give(compute_size, BUFFER_BYTES)?;
        }
        Ok(())
    }
    fn cusparseSpGEMM_compute(
        handle: Handle, op_a: c_int, op_b: c_int, _alpha: Address, a: Handle, b: Handle, _beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, descriptor: Handle, size: Address, buffer: Address,
    ) {
        check(handle)?;
        let factors = Factors::new(descriptor, [op_a, op_b], a, b, c, Some(compute))?;
        if asks(size, buffer)? { Ok(()) } else { factors.count(&call(handle)?, c) }
    }
    fn cusparseSpGEMM_copy(
        handle: Handle, op_a: c_int, op_b: c_int, alpha: Address, a: Handle, b: Handle, _beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, descriptor: Handle,
    ) {
        let call = call(handle)?;
        let factors = Factors::new(descriptor, [op_a, op_b], a, b, c, Some(compute))?;
        // The result has no values before.
        let scalars = [call.scalar(alpha, factors.kind)?, Scalar::default()];
        factors.with_terms(&call, true, |terms| {
            factors.collect(&call, terms, scalars, false)?;
            factors.collect(&call, terms, scalars, true)
        })
    }
    fn cusparseSpGEMMreuse_workEstimation(
        handle: Handle, op_a: c_int, op_b: c_int, a: Handle, b: Handle, c: Handle, _algorithm: c_int,
        descriptor: Handle, size: Address, buffer: Address,
    ) {
        check(handle)?;
        let factors = Factors::new(descriptor, [op_a, op_b], a, b, c, None)?;
        if asks(size, buffer)? { Ok(()) } else { estimate(handle, descriptor, &factors) }
    }
    fn cusparseSpGEMMreuse_nnz(
        handle: Handle, op_a: c_int, op_b: c_int, a: Handle, b: Handle, c: Handle, _algorithm: c_int,
        descriptor: Handle, size_2: Address, buffer_2: Address, size_3: Address, _buffer_3: Address,
        size_4: Address, _buffer_4: Address,
    ) {
        check(handle)?;
        let factors = Factors::new(descriptor, [op_a, op_b], a, b, c, None)?;
        if asks(size_2, buffer_2)? {
            give(size_3, BUFFER_BYTES)?;
            return give(size_4, BUFFER_BYTES);
        }
        factors.count(&call(handle)?, c)
    }
    fn cusparseSpGEMMreuse_copy(
        handle: Handle, op_a: c_int, op_b: c_int, a: Handle, b: Handle, c: Handle, _algorithm: c_int,
        descriptor: Handle, size: Address, buffer: Address,
    ) {
        let call = call(handle)?;
        let factors = Factors::new(descriptor, [op_a, op_b], a, b, c, None)?;
        if asks(size, buffer)? {
            return Ok(());
        }
        factors.with_terms(&call, false, |terms| factors.collect(&call, terms, [Scalar::default(); 2], false))
    }
    fn cusparseSpGEMMreuse_compute(
        handle: Handle, op_a: c_int, op_b: c_int, alpha: Address, a: Handle, b: Handle, beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, descriptor: Handle,
    ) {
        let call = call(handle)?;
        let factors = Factors::new(descriptor, [op_a, op_b], a, b, c, Some(compute))?;
        let scalars = [call.scalar(alpha, factors.kind)?, call.scalar(beta, factors.kind)?];
        factors.with_terms(&call, true, |terms| factors.collect(&call, terms, scalars, true))
    }
}
