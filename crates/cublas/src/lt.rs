//! cuBLASLt: descriptors of products, and the products.
//!
//! A descriptor is memory of the program or of `…Create`; its contents are this library's. All fields begin at zero but
//! for those that `new` sets.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard};

use cabi::address::{Address, Handle, Plain, read, read_bytes, write, write_bytes};
use cabi::stand_in::not_supported;

use crate::element::{Op, Operand, Scalar, Type, size};
use crate::handle::{Call, device};
use crate::level3::add;
use crate::product::{Epilogue, Matrix, Product, Written, computed, exists, types_not_supported};
use crate::status::{Result, Status, valid};

/// `CUBLAS_STATUS_SUCCESS` where a status is part of a result.
const SUCCESS: c_int = 0;

/// A structure that programs see as words without a meaning, and its attributes.
trait Opaque: Plain {
    /// The structure's name in C.
    const NAME: &'static str;
    /// Offset and bytes of an attribute, `None` for one that is not known.
    fn field(attribute: c_int) -> Option<(usize, usize)>;
}

/// Defines a structure and the numbers of its attributes.
macro_rules! opaque {
    ($(#[$about:meta])* struct $name:ident = $c:literal { $($number:literal => $field:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy, Default)]
        struct $name {
            $($field: $kind,)*
        }
        cabi::plain!($name);

        impl Opaque for $name {
            const NAME: &'static str = $c;

            fn field(attribute: c_int) -> Option<(usize, usize)> {
                match attribute {
                    $($number => Some((std::mem::offset_of!($name, $field), size_of::<$kind>())),)*
                    _ => None,
                }
            }
        }
    };
}

opaque! {
    /// A matrix.
    struct Layout = "cublasLtMatrixLayout_t" {
        2 => rows: u64,
        3 => columns: u64,
        4 => leading: i64,
        6 => stride: i64,
        7 => plane: i64,
        0 => kind: c_int,
        1 => order: c_int,
        5 => count: c_int,
        8 => mode: c_int,
    }
}

opaque! {
    /// How a product is made. Fields of eight bytes come first, which leaves no gaps. 184 bytes at most, the room of
    /// version 11.
    struct Matmul = "cublasLtMatmulDesc_t" {
        8 => bias: Address,
        10 => bias_stride: i64,
        11 => aux: Address,
        12 => aux_leading: i64,
        13 => aux_stride: i64,
        14 => alpha_stride: i64,
        17 => scale_a: Address,
        18 => scale_b: Address,
        19 => scale_c: Address,
        20 => scale_d: Address,
        21 => largest_d: Address,
        23 => scale_aux: Address,
        24 => largest_aux: Address,
        0 => compute: c_int,
        1 => scale: c_int,
        2 => pointer_mode: c_int,
        3 => op_a: c_int,
        4 => op_b: c_int,
        5 => op_c: c_int,
        6 => fill: c_int,
        7 => epilogue: c_int,
        15 => sm_target: c_int,
        22 => aux_type: c_int,
        26 => bias_type: c_int,
        25 => fast: u8,
        // Attribute 9 is not given to any field in the headers: it keeps the bytes of the structure whole.
        -1 => spare: [u8; 3],
    }
}

opaque! {
    /// What an algorithm is to be chosen by.
    struct Preference = "cublasLtMatmulPreference_t" {
        1 => workspace: u64,
        0 => mode: c_int,
        3 => reductions: c_int,
        5 => align_a: c_int,
        6 => align_b: c_int,
        7 => align_c: c_int,
        8 => align_d: c_int,
        9 => waves: f32,
        -1 => spare: c_int,
        12 => implementations: u64,
    }
}

opaque! {
    /// How a matrix is transformed.
    struct Transform = "cublasLtMatrixTransformDesc_t" {
        0 => scale: c_int,
        1 => pointer_mode: c_int,
        2 => op_a: c_int,
        3 => op_b: c_int,
    }
}

opaque! {
    /// An algorithm: what a program configures is kept and has no effect.
    struct Algorithm = "cublasLtMatmulAlgo_t" {
        0 => id: c_int,
        1 => tile: c_int,
        2 => split: c_int,
        3 => reduction: c_int,
        4 => swizzle: c_int,
        5 => option: c_int,
        6 => stages: c_int,
        7 => shape: u16,
        8 => cluster: u16,
        -1 => spare: [u64; 4],
    }
}

/// The only algorithm: the library chooses the kernel.
const ALGORITHM: c_int = 1;

impl Layout {
    fn new(kind: c_int, rows: u64, columns: u64, leading: i64) -> Self {
        Self { rows, columns, leading, kind, count: 1, ..Self::default() }
    }
}

impl Matmul {
    fn new(compute: c_int, scale: c_int) -> Self {
        // No bias type of its own, and no fill mode.
        Self { compute, scale, epilogue: 1, bias_type: -1, aux_type: -1, fill: 2, ..Self::default() }
    }
}

/// Descriptors that `…Create` made.
static MADE: Mutex<BTreeSet<Address>> = Mutex::new(BTreeSet::new());

fn made() -> MutexGuard<'static, BTreeSet<Address>> {
    MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Bytes of a descriptor that this library makes: the largest of any version.
const ROOM: usize = 256;

fn create(place: Address, value: impl Plain) -> Result<()> {
    valid(place != 0)?;
    let memory = Box::leak(Box::new([0_u64; ROOM / 8]));
    let address = cabi::driver::into(memory);
    write(address, value)?;
    write(place, address)?;
    made().insert(address);
    Ok(())
}

fn destroy(descriptor: Address) -> Result<()> {
    valid(made().remove(&descriptor))?;
    let memory = std::ptr::with_exposed_provenance_mut::<[u64; ROOM / 8]>(descriptor);
    // SAFETY: `create` leaked a box at this address, which the set of them has given once.
    drop(unsafe { Box::from_raw(memory) });
    Ok(())
}

/// Writes a descriptor into memory of the program, which has `bytes` for it.
fn init(place: Address, bytes: usize, value: impl Plain) -> Result<()> {
    valid(bytes >= size_of_val(&value))?;
    Ok(write(place, value)?)
}

fn set<D: Opaque>(descriptor: Address, attribute: c_int, from: Address, bytes: usize) -> Result<()> {
    let mut all: D = read(descriptor)?;
    let Some((offset, size)) = D::field(attribute) else {
        // Attributes of later hardware: a value that asks for nothing is accepted.
        if (0..bytes).all(|at| read::<u8>(from + at) == Ok(0)) {
            return Ok(());
        }
        return Err(not_supported(&format!("attribute {attribute} of {}", D::NAME)));
    };
    valid(bytes >= size)?;
    let mut value = vec![0; size];
    read_bytes(from, &mut value)?;
    write_bytes(cabi::driver::into(&mut all) + offset, &value)?;
    Ok(write(descriptor, all)?)
}

fn get<D: Opaque>(descriptor: Address, attribute: c_int, to: Address, bytes: usize, written: Address) -> Result<()> {
    let all: D = read(descriptor)?;
    let (offset, size) = D::field(attribute).ok_or(Status::INVALID_VALUE)?;
    if written != 0 {
        write(written, size)?;
    }
    if bytes == 0 {
        return valid(written != 0);
    }
    valid(bytes >= size)?;
    let mut value = vec![0; size];
    read_bytes(cabi::driver::at(&all) + offset, &mut value)?;
    Ok(write_bytes(to, &value)?)
}

/// A requested product without the addresses of its matrices.
struct Plan {
    product: Product,
    /// Whether C and D are by rows.
    by_rows: bool,
    on_device: bool,
}

/// `CUBLASLT_ORDER_COL`.
const BY_COLUMNS: c_int = 0;
/// `CUBLASLT_ORDER_ROW`.
const BY_ROWS: c_int = 1;

/// Checks the descriptors of a product and puts them together.
fn plan(descriptor: Address, layouts: [Address; 4]) -> Result<Plan> {
    let how: Matmul = read(descriptor)?;
    let mut parts = [Layout::default(); 4];
    for (part, address) in parts.iter_mut().zip(layouts) {
        *part = read(address)?;
        if !matches!(part.order, BY_COLUMNS | BY_ROWS) || part.mode != 0 {
            let Layout { order, mode, .. } = *part;
            return Err(not_supported(&format!(
                "a product of cuBLASLt with matrices in order {order}, batch mode {mode}"
            )));
        }
    }
    let [a, b, c, d] = parts;
    let scaled = [how.scale_c, how.scale_d, how.largest_d, how.scale_aux, how.largest_aux];
    if scaled.iter().any(|pointer| *pointer != 0) {
        return Err(not_supported("a product of cuBLASLt that scales C or D, or finds the largest element of D"));
    }
    if how.op_c != 0 || how.fill != 2 || how.pointer_mode > 1 {
        return Err(not_supported("a product of cuBLASLt with an operation on C, a fill mode or vectors of scalars"));
    }
    let kinds = [a, b, c, d].map(|layout| Type::of(layout.kind.into()));
    let [kind_a, kind_b, kind_c, kind_d] = [kinds[0]?, kinds[1]?, kinds[2]?, kinds[3]?];
    let (sums, tf32) = computed(how.compute.into(), kind_a)?;
    let scale = Type::of(how.scale.into())?;
    // Products of integers may be scaled as single precision.
    if kind_c != kind_d || scale != sums || !exists(kind_a, kind_b, kind_d, sums) {
        return Err(types_not_supported([kind_a, kind_b, kind_c, kind_d], scale));
    }
    let number = |value: u64| size(i64::try_from(value).map_err(|_| Status::INVALID_VALUE)?);
    let (op_a, op_b) = (Op::of(how.op_a.into())?, Op::of(how.op_b.into())?);
    let shape = |layout: &Layout, op: Op| -> Result<[i32; 2]> {
        let (rows, columns) = (number(layout.rows)?, number(layout.columns)?);
        let line = if layout.order == BY_ROWS { columns } else { rows };
        valid(layout.leading >= i64::from(line))?;
        Ok(if op.transposed { [columns, rows] } else { [rows, columns] })
    };
    let ([m, k], [k_b, n]) = (shape(&a, op_a)?, shape(&b, op_b)?);
    valid(k == k_b && shape(&d, Op::NONE)? == [m, n] && shape(&c, Op::NONE)? == [m, n])?;
    valid([a, b, c].iter().all(|layout| layout.count == d.count) && d.count >= 0)?;
    let matrix = |layout: &Layout, kind| Matrix { address: 0, kind, leading: layout.leading, stride: layout.stride };
    // A matrix by rows is its transpose by columns.
    let used = |layout: &Layout, op: Op, kind: Type| {
        let op = if layout.order == BY_ROWS { Op { transposed: !op.transposed, ..op } } else { op };
        Operand::general(op).of_kind(kind)
    };
    if c.order != d.order || d.order == BY_ROWS && how.epilogue != 1 {
        return Err(not_supported("a product of cuBLASLt with different orders of C and D, or an epilogue by rows"));
    }
    let scales = [how.scale_a, how.scale_b];
    if scales != [0; 2] && scale != Type::F32 {
        return Err(not_supported("a product of cuBLASLt that scales A or B and sums in another type than f32"));
    }
    let product = Product {
        a: matrix(&a, kind_a),
        b: matrix(&b, kind_b),
        c: matrix(&c, kind_c),
        d: matrix(&d, kind_d),
        how_a: used(&a, op_a, kind_a),
        how_b: used(&b, op_b, kind_b),
        size: [m, n, k],
        alpha: Scalar::default(),
        beta: Scalar::default(),
        scale,
        tf32,
        count: d.count,
        pointers: false,
        written: Written::All,
        hermitian: false,
        mirrored: false,
        factors: [how.scale_a, how.scale_b],
        epilogue: epilogue(&how, kind_d)?,
    };
    Ok(Plan { product, by_rows: d.order == BY_ROWS, on_device: how.pointer_mode == 1 })
}

/// Epilogue of the product, from the bits of `cublasLtEpilogue_t`.
fn epilogue(how: &Matmul, kind: Type) -> Result<Epilogue> {
    const RELU: c_int = 2;
    const BIAS: c_int = 4;
    const GELU: c_int = 32;
    const AUX: c_int = 128;
    let asked = how.epilogue;
    if asked & !(1 | RELU | BIAS | GELU | AUX) != 0 || asked & RELU != 0 && asked & GELU != 0 {
        return Err(not_supported(&format!("epilogue {asked} of cuBLASLt")));
    }
    let mut bits = 0;
    for (bit, ours) in
        [(RELU, Epilogue::RELU), (BIAS, Epilogue::BIAS), (GELU, Epilogue::GELU), (AUX, Epilogue::KEEP_INPUT)]
    {
        bits |= if asked & bit == 0 { 0 } else { ours };
    }
    let bias_type = if how.bias_type < 0 { kind } else { Type::of(how.bias_type.into())? };
    if bits != 0 && kind.is_complex() || bits & Epilogue::KEEP_INPUT != 0 && how.aux_type >= 0 && how.aux_type != kind.0
    {
        return Err(not_supported(
            "an epilogue of cuBLASLt on complex numbers, or that keeps its input in another type",
        ));
    }
    Ok(Epilogue {
        bits,
        bias: how.bias,
        bias_type: bias_type.0,
        bias_stride: how.bias_stride,
        aux: how.aux,
        aux_leading: how.aux_leading,
        aux_stride: how.aux_stride,
    })
}

fn matmul(
    handle: Address,
    stream: Handle,
    descriptor: Address,
    [alpha, beta]: [Address; 2],
    matrices: [Address; 4],
    layouts: [Address; 4],
) -> Result<()> {
    let Plan { mut product, by_rows, on_device } = plan(descriptor, layouts)?;
    let call = Call::light(handle, stream, on_device)?;
    product.alpha = call.scalar(alpha, product.scale)?;
    product.beta = call.scalar(beta, product.scale)?;
    let Product { a, b, c, d, epilogue, .. } = &mut product;
    for (matrix, address) in [a, b, c, d].into_iter().zip(matrices) {
        matrix.address = address;
    }
    // C may be left out where beta is zero.
    valid(matrices[0] != 0 && matrices[1] != 0 && matrices[3] != 0)?;
    valid(epilogue.bits & Epilogue::BIAS == 0 || epilogue.bias != 0)?;
    valid(epilogue.bits & Epilogue::KEEP_INPUT == 0 || epilogue.aux != 0)?;
    if by_rows {
        product = product.transposed();
    }
    product.launch(&call)
}

/// C = alpha * op(A) + beta * op(B), each matrix by columns or by rows. B may be left out.
fn transform(
    handle: Address,
    stream: Handle,
    descriptor: Address,
    [alpha, beta]: [Address; 2],
    [a, b, c]: [Address; 3],
    layouts: [Address; 3],
) -> Result<()> {
    let how: Transform = read(descriptor)?;
    let (of_a, of_c): (Layout, Layout) = (read(layouts[0])?, read(layouts[2])?);
    let of_b = if layouts[1] == 0 { of_c } else { read(layouts[1])? };
    let kind = Type::of(of_c.kind.into())?;
    let exists = matches!(kind, Type::F32 | Type::F64 | Type::C32 | Type::C64) && how.scale == kind.0;
    let plain =
        |layout: &Layout| layout.kind == kind.0 && matches!(layout.order, BY_COLUMNS | BY_ROWS) && layout.mode == 0;
    if !exists || ![of_a, of_b, of_c].iter().all(plain) || !(0..=1).contains(&how.pointer_mode) {
        return Err(not_supported("a transform of cuBLASLt in these types, orders or with vectors of scalars"));
    }
    let number = |value: u64| size(i64::try_from(value).map_err(|_| Status::INVALID_VALUE)?);
    // Where C is by rows, its transpose is made, of the transposes of A and B.
    let flips = of_c.order == BY_ROWS;
    let used = |layout: &Layout, op: Op| -> Result<([i32; 2], Operand)> {
        let (rows, columns) = (number(layout.rows)?, number(layout.columns)?);
        valid(layout.leading >= i64::from(if layout.order == BY_ROWS { columns } else { rows }))?;
        let shape = if op.transposed { [columns, rows] } else { [rows, columns] };
        let op = Op { transposed: op.transposed ^ (layout.order == BY_ROWS) ^ flips, ..op };
        Ok((shape, Operand::general(op).of_kind(kind)))
    };
    let (shape, _) = used(&of_c, Op::NONE)?;
    let (shape_a, how_a) = used(&of_a, Op::of(how.op_a.into())?)?;
    let call = Call::light(handle, stream, how.pointer_mode == 1)?;
    let alpha = call.scalar(alpha, kind)?;
    let beta = if layouts[1] == 0 || b == 0 { Scalar::value(0.0) } else { call.scalar(beta, kind)? };
    let (shape_b, how_b) =
        if layouts[1] == 0 { (shape, Operand::default()) } else { used(&of_b, Op::of(how.op_b.into())?)? };
    valid(shape_a == shape && shape_b == shape && of_a.count == of_c.count && of_b.count == of_c.count)?;
    let [m, n] = if flips { [shape[1], shape[0]] } else { shape };
    let bytes = i64::try_from(kind.bytes()?).map_err(|_| Status::INTERNAL_ERROR)?;
    for member in 0..i64::from(of_c.count) {
        let at = |address: Address, layout: &Layout| {
            let distance = layout.stride.wrapping_mul(member).wrapping_mul(bytes);
            address.wrapping_add_signed(isize::try_from(distance).unwrap_or(isize::MAX))
        };
        let a = (at(a, &of_a), of_a.leading, how_a);
        let b = (at(b, &of_b), of_b.leading, how_b);
        add(&call, kind, m, n, alpha, a, beta, b, at(c, &of_c), of_c.leading)?;
    }
    Ok(())
}

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Found {
    algorithm: Algorithm,
    workspace: usize,
    status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}
cabi::plain!(Found);

fn found() -> Found {
    let algorithm = Algorithm { id: ALGORITHM, ..Algorithm::default() };
    Found { algorithm, workspace: 0, status: SUCCESS, waves: 1.0, reserved: [0; 4] }
}

cabi::functions! {
    Status;
    // A handle has no state: the stream comes with each call, the device is the current one.
    fn cublasLtCreate(place: Address) {
        device(crate::driver::driver()?)?;
        create(place, 0_u64)
    }
    fn cublasLtDestroy(handle: Address) { destroy(handle) }
    fn cublasLtHeuristicsCacheGetCapacity(place: Address) { Ok(write(place, 0_usize)?) }
    fn cublasLtHeuristicsCacheSetCapacity(_capacity: usize) { Ok(()) }

    fn cublasLtMatrixLayoutCreate(place: Address, kind: c_int, rows: u64, columns: u64, leading: i64) {
        create(place, Layout::new(kind, rows, columns, leading))
    }
    fn cublasLtMatrixLayoutInit_internal(
        place: Address, bytes: usize, kind: c_int, rows: u64, columns: u64, leading: i64,
    ) {
        init(place, bytes, Layout::new(kind, rows, columns, leading))
    }
    fn cublasLtMatrixLayoutDestroy(layout: Address) { destroy(layout) }
    fn cublasLtMatrixLayoutSetAttribute(layout: Address, attribute: c_int, from: Address, bytes: usize) {
        set::<Layout>(layout, attribute, from, bytes)
    }
    fn cublasLtMatrixLayoutGetAttribute(
        layout: Address, attribute: c_int, to: Address, bytes: usize, written: Address,
    ) {
        get::<Layout>(layout, attribute, to, bytes, written)
    }

    fn cublasLtMatmulDescCreate(place: Address, compute: c_int, scale: c_int) {
        create(place, Matmul::new(compute, scale))
    }
    fn cublasLtMatmulDescInit_internal(place: Address, bytes: usize, compute: c_int, scale: c_int) {
        init(place, bytes, Matmul::new(compute, scale))
    }
    fn cublasLtMatmulDescDestroy(descriptor: Address) { destroy(descriptor) }
    fn cublasLtMatmulDescSetAttribute(descriptor: Address, attribute: c_int, from: Address, bytes: usize) {
        set::<Matmul>(descriptor, attribute, from, bytes)
    }
    fn cublasLtMatmulDescGetAttribute(
        descriptor: Address, attribute: c_int, to: Address, bytes: usize, written: Address,
    ) {
        get::<Matmul>(descriptor, attribute, to, bytes, written)
    }

    fn cublasLtMatmulPreferenceCreate(place: Address) { create(place, Preference::default()) }
    fn cublasLtMatmulPreferenceInit_internal(place: Address, bytes: usize) {
        init(place, bytes, Preference::default())
    }
    fn cublasLtMatmulPreferenceDestroy(preference: Address) { destroy(preference) }
    fn cublasLtMatmulPreferenceSetAttribute(preference: Address, attribute: c_int, from: Address, bytes: usize) {
        set::<Preference>(preference, attribute, from, bytes)
    }
    fn cublasLtMatmulPreferenceGetAttribute(
        preference: Address, attribute: c_int, to: Address, bytes: usize, written: Address,
    ) {
        get::<Preference>(preference, attribute, to, bytes, written)
    }

    fn cublasLtMatrixTransformDescCreate(place: Address, scale: c_int) {
        create(place, Transform { scale, ..Transform::default() })
    }
    fn cublasLtMatrixTransformDescInit_internal(place: Address, bytes: usize, scale: c_int) {
        init(place, bytes, Transform { scale, ..Transform::default() })
    }
    fn cublasLtMatrixTransformDescDestroy(descriptor: Address) { destroy(descriptor) }
    fn cublasLtMatrixTransformDescSetAttribute(descriptor: Address, attribute: c_int, from: Address, bytes: usize) {
        set::<Transform>(descriptor, attribute, from, bytes)
    }
    fn cublasLtMatrixTransformDescGetAttribute(
        descriptor: Address, attribute: c_int, to: Address, bytes: usize, written: Address,
    ) {
        get::<Transform>(descriptor, attribute, to, bytes, written)
    }

    fn cublasLtMatrixTransform(
        handle: Address, descriptor: Address, alpha: Address, a: Address, layout_a: Address, beta: Address, b: Address,
        layout_b: Address, c: Address, layout_c: Address, stream: Handle,
    ) {
        transform(handle, stream, descriptor, [alpha, beta], [a, b, c], [layout_a, layout_b, layout_c])
    }
    fn cublasLtMatmul(
        handle: Address, descriptor: Address, alpha: Address, a: Address, layout_a: Address, b: Address,
        layout_b: Address, beta: Address, c: Address, layout_c: Address, d: Address, layout_d: Address,
        _algorithm: Address, _workspace: Address, _bytes: usize, stream: Handle,
    ) {
        let layouts = [layout_a, layout_b, layout_c, layout_d];
        matmul(handle, stream, descriptor, [alpha, beta], [a, b, c, d], layouts)
    }
    fn cublasLtMatmulAlgoGetHeuristic(
        _handle: Address, descriptor: Address, layout_a: Address, layout_b: Address, layout_c: Address,
        layout_d: Address, _preference: Address, room: c_int, results: Address, count: Address,
    ) {
        valid(room > 0)?;
        write::<c_int>(count, 0)?;
        plan(descriptor, [layout_a, layout_b, layout_c, layout_d])?;
        write(results, found())?;
        Ok(write::<c_int>(count, 1)?)
    }
    fn cublasLtMatmulAlgoGetIds(
        _handle: Address, _compute: c_int, _scale: c_int, _a: c_int, _b: c_int, _c: c_int, _d: c_int, room: c_int,
        ids: Address, count: Address,
    ) {
        valid(room > 0)?;
        write(ids, ALGORITHM)?;
        if count != 0 {
            write::<c_int>(count, 1)?;
        }
        Ok(())
    }
    fn cublasLtMatmulAlgoInit(
        _handle: Address, _compute: c_int, _scale: c_int, _a: c_int, _b: c_int, _c: c_int, _d: c_int, id: c_int,
        place: Address,
    ) {
        // Programs that were tuned for NVIDIA's algorithms name those.
        valid(id >= 0)?;
        Ok(write(place, Algorithm { id, ..found().algorithm })?)
    }
    fn cublasLtMatmulAlgoCheck(
        _handle: Address, descriptor: Address, layout_a: Address, layout_b: Address, layout_c: Address,
        layout_d: Address, _algorithm: Address, result: Address,
    ) {
        plan(descriptor, [layout_a, layout_b, layout_c, layout_d])?;
        Ok(write(result, found())?)
    }
    fn cublasLtMatmulAlgoConfigSetAttribute(algorithm: Address, attribute: c_int, from: Address, bytes: usize) {
        set::<Algorithm>(algorithm, attribute, from, bytes)
    }
    fn cublasLtMatmulAlgoConfigGetAttribute(
        algorithm: Address, attribute: c_int, to: Address, bytes: usize, written: Address,
    ) {
        get::<Algorithm>(algorithm, attribute, to, bytes, written)
    }
    // Nothing of an algorithm can be chosen: each capability is zero, or no list.
    fn cublasLtMatmulAlgoCapGetAttribute(
        _algorithm: Address, _capability: c_int, to: Address, bytes: usize, written: Address,
    ) {
        let bytes = bytes.min(8);
        if written != 0 {
            write(written, bytes)?;
        }
        Ok(write_bytes(to, &[0; 8][..bytes])?)
    }
}
