//! Matrices and vectors of the generic interface, and `cusparseMatDescr_t`.

use std::ffi::c_int;

use cabi::address::{Address, Handle, Plain, read, write};
use cabi::stand_in::Objects;

use crate::status::{Result, Status, valid};

/// `cusparseFormat_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Rows,
    Columns,
    Coordinates,
}

impl Format {
    fn number(self) -> c_int {
        match self {
            Self::Rows => 1,
            Self::Columns => 2,
            Self::Coordinates => 3,
        }
    }
}

/// A sparse matrix.
#[derive(Clone, Debug)]
pub struct SpMat {
    pub format: Format,
    pub rows: i64,
    pub columns: i64,
    pub entries: i64,
    /// Offsets of lines; of coordinates: rows.
    pub offsets: Address,
    /// Indices within lines; of coordinates: columns.
    pub indices: Address,
    pub values: Address,
    /// Whether numbers have 64 bits.
    pub wide: [bool; 2],
    pub base: c_int,
    pub kind: c_int,
    /// Matrices of a batch, elements of offsets and of entries from one to the next.
    pub batch: c_int,
    pub offsets_stride: i64,
    pub entries_stride: i64,
    attributes: [c_int; 4],
}

impl SpMat {
    /// Whether systems are of the triangle above the diagonal, as `CUSPARSE_SPMAT_FILL_MODE` says.
    pub const fn is_upper(&self) -> bool {
        self.attributes[0] == 1
    }

    /// Whether systems take the diagonal as 1, as `CUSPARSE_SPMAT_DIAG_TYPE` says.
    pub const fn has_unit_diagonal(&self) -> bool {
        self.attributes[1] == 1
    }
}

/// A dense matrix, or a vector as a column.
#[derive(Clone, Copy, Debug)]
pub struct DnMat {
    pub rows: i64,
    pub columns: i64,
    pub leading: i64,
    pub values: Address,
    pub kind: c_int,
    pub by_rows: bool,
    pub batch: c_int,
    pub stride: i64,
}

/// A sparse vector.
#[derive(Clone, Copy, Debug)]
pub struct SpVec {
    pub size: i64,
    pub entries: i64,
    pub indices: Address,
    pub values: Address,
    index_kind: c_int,
    pub base: c_int,
    pub kind: c_int,
}

impl SpVec {
    /// Whether indices have 64 bits.
    pub const fn is_wide(&self) -> bool {
        self.index_kind == 3
    }
}

static SPARSE: Objects<SpMat> = Objects::none();
static DENSE: Objects<DnMat> = Objects::none();
static VECTORS: Objects<DnMat> = Objects::none();
static SPARSE_VECTORS: Objects<SpVec> = Objects::none();
static LEGACY: Objects<[c_int; 4]> = Objects::none();

/// Handles are multiples of this.
const STEP: Handle = 16;

fn with<T, R>(all: &Objects<T>, handle: Handle, body: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
    all.with(handle, body).unwrap_or(Err(Status::INVALID_VALUE))
}

/// The sparse matrix of a descriptor.
pub fn sparse(handle: Handle) -> Result<SpMat> {
    with(&SPARSE, handle, |matrix| Ok(matrix.clone()))
}

/// Changes a sparse matrix.
pub fn set_entries(handle: Handle, entries: i64) -> Result<()> {
    with(&SPARSE, handle, |matrix| {
        matrix.entries = entries;
        Ok(())
    })
}

/// The dense matrix of a descriptor.
pub fn dense(handle: Handle) -> Result<DnMat> {
    with(&DENSE, handle, |matrix| Ok(*matrix))
}

/// The dense vector of a descriptor, as a column.
pub fn vector(handle: Handle) -> Result<DnMat> {
    with(&VECTORS, handle, |vector| Ok(*vector))
}

/// The sparse vector of a descriptor.
pub fn sparse_vector(handle: Handle) -> Result<SpVec> {
    with(&SPARSE_VECTORS, handle, |vector| Ok(*vector))
}

fn is_wide(kind: c_int) -> Result<bool> {
    match kind {
        2 => Ok(false),
        3 => Ok(true),
        _ => Err(Status::INVALID_VALUE),
    }
}

fn index_kind(wide: bool) -> c_int {
    if wide { 3 } else { 2 }
}

/// Adds an object, whose handle goes to `place`.
pub fn create<T>(all: &Objects<T>, place: Address, object: T) -> Result<()> {
    write(place, 0_usize)?;
    Ok(write(place, all.add(object, STEP))?)
}

/// Removes the object of a handle.
pub fn remove<T>(all: &Objects<T>, handle: Handle) -> Result<()> {
    all.remove(handle).map(drop).ok_or(Status::INVALID_VALUE)
}

fn create_sparse(
    place: Address,
    format: Format,
    [rows, columns, entries]: [i64; 3],
    [offsets, indices, values]: [Address; 3],
    kinds: [c_int; 2],
    base: c_int,
    kind: c_int,
) -> Result<()> {
    valid(rows >= 0 && columns >= 0 && entries >= 0 && (base == 0 || base == 1))?;
    let wide = [is_wide(kinds[0])?, is_wide(kinds[1])?];
    create(
        &SPARSE,
        place,
        SpMat {
            format,
            rows,
            columns,
            entries,
            offsets,
            indices,
            values,
            wide,
            base,
            kind,
            batch: 1,
            offsets_stride: 0,
            entries_stride: 0,
            attributes: [0; 4],
        },
    )
}

/// Writes where the program wants the value.
pub fn give<T: Plain>(place: Address, value: T) -> Result<()> {
    Ok(write(place, value)?)
}

fn get_sparse(
    handle: Handle,
    format: Format,
    sizes: [Address; 3],
    arrays: [Address; 3],
    kinds: &[Address],
    base: Address,
    kind: Address,
) -> Result<()> {
    let matrix = sparse(handle)?;
    valid(matrix.format == format)?;
    for (place, value) in sizes.into_iter().zip([matrix.rows, matrix.columns, matrix.entries]) {
        give(place, value)?;
    }
    for (place, value) in arrays.into_iter().zip([matrix.offsets, matrix.indices, matrix.values]) {
        give(place, value)?;
    }
    for (place, wide) in kinds.iter().zip(matrix.wide) {
        give(*place, index_kind(wide))?;
    }
    give(base, matrix.base)?;
    give(kind, matrix.kind)
}

fn set_pointers(handle: Handle, format: Format, [offsets, indices, values]: [Address; 3]) -> Result<()> {
    with(&SPARSE, handle, |matrix| {
        valid(matrix.format == format)?;
        (matrix.offsets, matrix.indices, matrix.values) = (offsets, indices, values);
        Ok(())
    })
}

fn set_batch(handle: Handle, formats: &[Format], batch: c_int, offsets: i64, entries: i64) -> Result<()> {
    valid(batch >= 1 && offsets >= 0 && entries >= 0)?;
    with(&SPARSE, handle, |matrix| {
        valid(formats.contains(&matrix.format))?;
        (matrix.batch, matrix.offsets_stride, matrix.entries_stride) = (batch, offsets, entries);
        Ok(())
    })
}

fn create_vector(place: Address, size: i64, values: Address, kind: c_int) -> Result<()> {
    valid(size >= 0)?;
    let leading = size.max(1);
    create(
        &VECTORS,
        place,
        DnMat { rows: size, columns: 1, leading, values, kind, by_rows: false, batch: 1, stride: 0 },
    )
}

fn get_vector(handle: Handle, size: Address, values: Address, kind: Address) -> Result<()> {
    let vector = vector(handle)?;
    give(size, vector.rows)?;
    give(values, vector.values)?;
    give(kind, vector.kind)
}

fn create_dense(
    place: Address,
    [rows, columns, leading]: [i64; 3],
    values: Address,
    kind: c_int,
    order: c_int,
) -> Result<()> {
    valid(rows >= 0 && columns >= 0 && (order == 1 || order == 2))?;
    let by_rows = order == 2;
    valid(leading >= if by_rows { columns } else { rows })?;
    create(&DENSE, place, DnMat { rows, columns, leading, values, kind, by_rows, batch: 1, stride: 0 })
}

fn get_dense(handle: Handle, sizes: [Address; 3], values: Address, kind: Address, order: Address) -> Result<()> {
    let matrix = dense(handle)?;
    for (place, value) in sizes.into_iter().zip([matrix.rows, matrix.columns, matrix.leading]) {
        give(place, value)?;
    }
    give(values, matrix.values)?;
    give(kind, matrix.kind)?;
    give::<c_int>(order, if matrix.by_rows { 2 } else { 1 })
}

fn create_sparse_vector(place: Address, vector: SpVec) -> Result<()> {
    valid(vector.size >= 0 && vector.entries >= 0)?;
    is_wide(vector.index_kind)?;
    create(&SPARSE_VECTORS, place, vector)
}

fn get_sparse_vector(
    handle: Handle,
    [size, entries]: [Address; 2],
    arrays: [Address; 2],
    kinds: [Address; 3],
) -> Result<()> {
    let vector = sparse_vector(handle)?;
    give(size, vector.size)?;
    give(entries, vector.entries)?;
    give(arrays[0], vector.indices)?;
    give(arrays[1], vector.values)?;
    for (place, value) in kinds.into_iter().zip([vector.index_kind, vector.base, vector.kind]) {
        give(place, value)?;
    }
    Ok(())
}

/// An attribute of a sparse matrix: a number of 32 bits.
fn attribute(which: c_int, bytes: usize) -> Result<usize> {
    valid(bytes == size_of::<c_int>())?;
    usize::try_from(which).ok().filter(|which| *which < 4).ok_or(Status::INVALID_VALUE)
}

/// The index base of a `cusparseMatDescr_t`.
pub fn legacy_base(handle: Handle) -> Result<c_int> {
    with(&LEGACY, handle, |settings| Ok(settings[3]))
}

/// A setting of `cusparseMatDescr_t`: type, fill mode, diagonal, base.
fn set_legacy(handle: Handle, which: usize, value: c_int, most: c_int) -> Result<()> {
    valid((0..=most).contains(&value))?;
    with(&LEGACY, handle, |settings| {
        settings[which] = value;
        Ok(())
    })
}

macro_rules! legacy {
    ($($name:ident = $which:literal),* $(,)?) => {
        $(
            // SAFETY: the name belongs to this API, which defines it once.
            #[unsafe(no_mangle)]
            extern "C" fn $name(handle: Handle) -> c_int {
                LEGACY.with(handle, |settings| settings[$which]).unwrap_or(0)
            }
        )*
    };
}
legacy! {
    cusparseGetMatType = 0,
    cusparseGetMatFillMode = 1,
    cusparseGetMatDiagType = 2,
    cusparseGetMatIndexBase = 3,
}

/// Functions that have a form for memory that is only read.
macro_rules! both {
    ($(fn $name:ident | $constant:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        cabi::functions! {
            Status;
            $(fn $name($($argument: $kind),*) $body)*
        }
        cabi::functions! {
            Status;
            $(fn $constant($($argument: $kind),*) $body)*
        }
    };
}

both! {
    fn cusparseCreateCsr | cusparseCreateConstCsr(
        place: Address, rows: i64, columns: i64, entries: i64, offsets: Address, indices: Address, values: Address,
        offsets_kind: c_int, indices_kind: c_int, base: c_int, kind: c_int,
    ) {
        let arrays = [offsets, indices, values];
        create_sparse(place, Format::Rows, [rows, columns, entries], arrays, [offsets_kind, indices_kind], base, kind)
    }
    fn cusparseCreateCsc | cusparseCreateConstCsc(
        place: Address, rows: i64, columns: i64, entries: i64, offsets: Address, indices: Address, values: Address,
        offsets_kind: c_int, indices_kind: c_int, base: c_int, kind: c_int,
    ) {
        let arrays = [offsets, indices, values];
        create_sparse(place, Format::Columns, [rows, columns, entries], arrays, [offsets_kind, indices_kind], base, kind)
    }
    fn cusparseCreateCoo | cusparseCreateConstCoo(
        place: Address, rows: i64, columns: i64, entries: i64, of_rows: Address, of_columns: Address, values: Address,
        index: c_int, base: c_int, kind: c_int,
    ) {
        let arrays = [of_rows, of_columns, values];
        create_sparse(place, Format::Coordinates, [rows, columns, entries], arrays, [index; 2], base, kind)
    }
    fn cusparseCsrGet | cusparseConstCsrGet(
        handle: Handle, rows: Address, columns: Address, entries: Address, offsets: Address, indices: Address,
        values: Address, offsets_kind: Address, indices_kind: Address, base: Address, kind: Address,
    ) {
        let (sizes, arrays) = ([rows, columns, entries], [offsets, indices, values]);
        get_sparse(handle, Format::Rows, sizes, arrays, &[offsets_kind, indices_kind], base, kind)
    }
    fn cusparseCscGet | cusparseConstCscGet(
        handle: Handle, rows: Address, columns: Address, entries: Address, offsets: Address, indices: Address,
        values: Address, offsets_kind: Address, indices_kind: Address, base: Address, kind: Address,
    ) {
        let (sizes, arrays) = ([rows, columns, entries], [offsets, indices, values]);
        get_sparse(handle, Format::Columns, sizes, arrays, &[offsets_kind, indices_kind], base, kind)
    }
    fn cusparseCooGet | cusparseConstCooGet(
        handle: Handle, rows: Address, columns: Address, entries: Address, of_rows: Address, of_columns: Address,
        values: Address, index: Address, base: Address, kind: Address,
    ) {
        let (sizes, arrays) = ([rows, columns, entries], [of_rows, of_columns, values]);
        get_sparse(handle, Format::Coordinates, sizes, arrays, &[index], base, kind)
    }
    fn cusparseSpMatGetValues | cusparseConstSpMatGetValues(handle: Handle, place: Address) {
        give(place, sparse(handle)?.values)
    }
    fn cusparseCreateDnVec | cusparseCreateConstDnVec(place: Address, size: i64, values: Address, kind: c_int) {
        create_vector(place, size, values, kind)
    }
    fn cusparseDnVecGet | cusparseConstDnVecGet(handle: Handle, size: Address, values: Address, kind: Address) {
        get_vector(handle, size, values, kind)
    }
    fn cusparseDnVecGetValues | cusparseConstDnVecGetValues(handle: Handle, place: Address) {
        give(place, vector(handle)?.values)
    }
    fn cusparseCreateDnMat | cusparseCreateConstDnMat(
        place: Address, rows: i64, columns: i64, leading: i64, values: Address, kind: c_int, order: c_int,
    ) {
        create_dense(place, [rows, columns, leading], values, kind, order)
    }
    fn cusparseDnMatGet | cusparseConstDnMatGet(
        handle: Handle, rows: Address, columns: Address, leading: Address, values: Address, kind: Address,
        order: Address,
    ) {
        get_dense(handle, [rows, columns, leading], values, kind, order)
    }
    fn cusparseDnMatGetValues | cusparseConstDnMatGetValues(handle: Handle, place: Address) {
        give(place, dense(handle)?.values)
    }
    fn cusparseCreateSpVec | cusparseCreateConstSpVec(
        place: Address, size: i64, entries: i64, indices: Address, values: Address, index_kind: c_int, base: c_int,
        kind: c_int,
    ) {
        create_sparse_vector(place, SpVec { size, entries, indices, values, index_kind, base, kind })
    }
    fn cusparseSpVecGet | cusparseConstSpVecGet(
        handle: Handle, size: Address, entries: Address, indices: Address, values: Address, index: Address,
        base: Address, kind: Address,
    ) {
        get_sparse_vector(handle, [size, entries], [indices, values], [index, base, kind])
    }
    fn cusparseSpVecGetValues | cusparseConstSpVecGetValues(handle: Handle, place: Address) {
        give(place, sparse_vector(handle)?.values)
    }
}

cabi::functions! {
    Status;
    fn cusparseDestroySpMat(handle: Handle) { remove(&SPARSE, handle) }
    fn cusparseDestroyDnMat(handle: Handle) { remove(&DENSE, handle) }
    fn cusparseDestroyDnVec(handle: Handle) { remove(&VECTORS, handle) }
    fn cusparseDestroySpVec(handle: Handle) { remove(&SPARSE_VECTORS, handle) }
    fn cusparseCsrSetPointers(handle: Handle, offsets: Address, indices: Address, values: Address) {
        set_pointers(handle, Format::Rows, [offsets, indices, values])
    }
    fn cusparseCscSetPointers(handle: Handle, offsets: Address, indices: Address, values: Address) {
        set_pointers(handle, Format::Columns, [offsets, indices, values])
    }
    fn cusparseCooSetPointers(handle: Handle, rows: Address, columns: Address, values: Address) {
        set_pointers(handle, Format::Coordinates, [rows, columns, values])
    }
    fn cusparseCooSetStridedBatch(handle: Handle, batch: c_int, stride: i64) {
        set_batch(handle, &[Format::Coordinates], batch, stride, stride)
    }
    fn cusparseCsrSetStridedBatch(handle: Handle, batch: c_int, offsets: i64, entries: i64) {
        set_batch(handle, &[Format::Rows, Format::Columns], batch, offsets, entries)
    }
    fn cusparseSpMatGetStridedBatch(handle: Handle, place: Address) { give(place, sparse(handle)?.batch) }
    fn cusparseSpMatGetFormat(handle: Handle, place: Address) { give(place, sparse(handle)?.format.number()) }
    fn cusparseSpMatGetIndexBase(handle: Handle, place: Address) { give(place, sparse(handle)?.base) }
    fn cusparseSpMatSetValues(handle: Handle, values: Address) {
        with(&SPARSE, handle, |matrix| {
            matrix.values = values;
            Ok(())
        })
    }
    fn cusparseSpMatGetSize(handle: Handle, rows: Address, columns: Address, entries: Address) {
        let matrix = sparse(handle)?;
        give(rows, matrix.rows)?;
        give(columns, matrix.columns)?;
        give(entries, matrix.entries)
    }
    fn cusparseSpMatGetAttribute(handle: Handle, which: c_int, data: Address, bytes: usize) {
        let which = attribute(which, bytes)?;
        give(data, with(&SPARSE, handle, |matrix| Ok(matrix.attributes[which]))?)
    }
    fn cusparseSpMatSetAttribute(handle: Handle, which: c_int, data: Address, bytes: usize) {
        let which = attribute(which, bytes)?;
        let value = read::<c_int>(data)?;
        with(&SPARSE, handle, |matrix| {
            matrix.attributes[which] = value;
            Ok(())
        })
    }
    fn cusparseDnVecSetValues(handle: Handle, values: Address) {
        with(&VECTORS, handle, |vector| {
            vector.values = values;
            Ok(())
        })
    }
    fn cusparseDnMatSetValues(handle: Handle, values: Address) {
        with(&DENSE, handle, |matrix| {
            matrix.values = values;
            Ok(())
        })
    }
    fn cusparseDnMatSetStridedBatch(handle: Handle, batch: c_int, stride: i64) {
        valid(batch >= 1 && stride >= 0)?;
        with(&DENSE, handle, |matrix| {
            (matrix.batch, matrix.stride) = (batch, stride);
            Ok(())
        })
    }
    fn cusparseDnMatGetStridedBatch(handle: Handle, batch: Address, stride: Address) {
        let matrix = dense(handle)?;
        give(batch, matrix.batch)?;
        give(stride, matrix.stride)
    }
    fn cusparseSpVecSetValues(handle: Handle, values: Address) {
        with(&SPARSE_VECTORS, handle, |vector| {
            vector.values = values;
            Ok(())
        })
    }
    fn cusparseSpVecGetIndexBase(handle: Handle, place: Address) {
        give(place, sparse_vector(handle)?.base)
    }

    fn cusparseCreateMatDescr(place: Address) { create(&LEGACY, place, [0; 4]) }
    fn cusparseDestroyMatDescr(handle: Handle) { remove(&LEGACY, handle) }
    fn cusparseSetMatType(handle: Handle, value: c_int) { set_legacy(handle, 0, value, 3) }
    fn cusparseSetMatFillMode(handle: Handle, value: c_int) { set_legacy(handle, 1, value, 1) }
    fn cusparseSetMatDiagType(handle: Handle, value: c_int) { set_legacy(handle, 2, value, 1) }
    fn cusparseSetMatIndexBase(handle: Handle, value: c_int) { set_legacy(handle, 3, value, 1) }
}
