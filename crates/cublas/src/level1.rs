//! Level 1: vectors.

use cabi::address::{Address, read, write};
use cabi::driver::at;
use cabi::stand_in::not_supported;

use crate::api::{Enum, blas};
use crate::element::{Scalar, Type, first};
use crate::handle::Call;
use crate::kernel::THREADS;
use crate::status::{Result, Status};

use Type as T;

/// CTAs of a reduction at most: each leaves a part of at most 16 bytes in the scratch memory.
const MOST_PARTS: u32 = 256;
/// Where a result and the parts are in the scratch memory.
const RESULT: usize = 64;
const PARTS: usize = 128;

/// `Parts` of blas.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct Parts {
    ticket: Address,
    parts: Address,
    result: Address,
    type_: i32,
    padding: i32,
}
cabi::plain!(Parts);

/// A kind of number whose index in `extreme` has 64 bits: none of `Type`.
const WIDE_INDEX: Type = Type(24);

impl Call {
    /// Runs a reduction whose result has `bytes` and `kind`.
    fn reduce(
        &self,
        result: Address,
        kind: Type,
        bytes: usize,
        n: i64,
        launch: impl FnOnce([u32; 3], &Parts) -> Result<()>,
    ) -> Result<()> {
        if result == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let scratch = self.scratch()?;
        let place = if self.on_device { result } else { scratch + RESULT };
        let parts = Parts { ticket: scratch, parts: scratch + PARTS, result: place, type_: kind.0, padding: 0 };
        launch([self.blocks(n, 4 * THREADS, MOST_PARTS), 1, 1], &parts)?;
        if !self.on_device {
            self.driver.cuMemcpyDtoHAsync_v2(result, place, bytes, self.stream)?;
            self.driver.cuStreamSynchronize(self.stream)?;
        }
        Ok(())
    }

    /// Leaves zero as the result of a reduction over nothing.
    fn nothing(&self, result: Address, bytes: usize) -> Result<()> {
        match self.on_device {
            true => self.driver.cuMemcpyHtoDAsync_v2(result, at(&[0_u8; 16]), bytes, self.stream),
            false => Ok(cabi::address::write_bytes(result, &[0; 16][..bytes])?),
        }
    }
}

fn copy(call: &Call, kind: Type, n: i64, x: Address, incx: i64, y: Address, incy: i64) -> Result<()> {
    move_(call, "copy", kind, n, x, incx, y, incy)
}

fn swap(call: &Call, kind: Type, n: i64, x: Address, incx: i64, y: Address, incy: i64) -> Result<()> {
    move_(call, "swap", kind, n, x, incx, y, incy)
}

fn move_(call: &Call, how: &str, kind: Type, n: i64, x: Address, incx: i64, y: Address, incy: i64) -> Result<()> {
    if n <= 0 {
        return Ok(());
    }
    let (x, y) = (first(x, n, incx, kind)?, first(y, n, incy, kind)?);
    call.launch_over(&format!("{how}_{}", kind.bytes()?), n, &[&n, &x, &incx, &y, &incy])
}

fn scal(call: &Call, kind: Type, of: Type, n: i64, alpha: Address, x: Address, incx: i64) -> Result<()> {
    if n <= 0 || incx <= 0 {
        return Ok(());
    }
    let alpha = call.scalar(alpha, of)?;
    call.launch_over(&format!("scal_{}", kind.letter()?), n, &[&n, &alpha, &x, &incx])
}

fn axpy(
    call: &Call,
    kind: Type,
    of: Type,
    n: i64,
    alpha: Address,
    x: Address,
    incx: i64,
    y: Address,
    incy: i64,
) -> Result<()> {
    if n <= 0 {
        return Ok(());
    }
    let alpha = call.scalar(alpha, of)?;
    let (x, y) = (first(x, n, incx, kind)?, first(y, n, incy, kind)?);
    call.launch_over(&format!("axpy_{}", kind.letter()?), n, &[&n, &alpha, &x, &incx, &y, &incy])
}

fn dot(
    call: &Call,
    kind: Type,
    to: Type,
    conj: bool,
    n: i64,
    x: Address,
    incx: i64,
    y: Address,
    incy: i64,
    result: Address,
) -> Result<()> {
    if n <= 0 {
        return call.nothing(result, to.bytes()?);
    }
    let (x, y) = (first(x, n, incx, kind)?, first(y, n, incy, kind)?);
    let name = format!("dot_{}", kind.letter()?);
    call.reduce(result, to, to.bytes()?, n, |grid, parts| {
        call.launch(&name, grid, [THREADS, 1, 1], 0, &[&n, &x, &incx, &y, &incy, &i32::from(conj), parts])
    })
}

fn asum(call: &Call, kind: Type, to: Type, n: i64, x: Address, incx: i64, result: Address) -> Result<()> {
    sum(call, "asum", kind, to, n, x, incx, result)
}

fn nrm2(call: &Call, kind: Type, to: Type, n: i64, x: Address, incx: i64, result: Address) -> Result<()> {
    sum(call, "nrm2", kind, to, n, x, incx, result)
}

fn sum(call: &Call, what: &str, kind: Type, to: Type, n: i64, x: Address, incx: i64, result: Address) -> Result<()> {
    if n <= 0 || incx <= 0 {
        return call.nothing(result, to.bytes()?);
    }
    let name = format!("{what}_{}", kind.letter()?);
    call.reduce(result, to, to.bytes()?, n, |grid, parts| {
        call.launch(&name, grid, [THREADS, 1, 1], 0, &[&n, &x, &incx, parts])
    })
}

fn extreme(call: &Call, kind: Type, least: bool, n: i64, x: Address, incx: i64, result: Address) -> Result<()> {
    let (index, bytes) = if call.wide { (WIDE_INDEX, 8) } else { (Type::I32, 4) };
    if n <= 0 || incx <= 0 {
        return call.nothing(result, bytes);
    }
    let name = format!("extreme_{}", kind.letter()?);
    call.reduce(result, index, bytes, n, |grid, parts| {
        call.launch(&name, grid, [THREADS, 1, 1], 0, &[&n, &x, &incx, &i32::from(least), parts])
    })
}

fn rot(
    call: &Call,
    kind: Type,
    sine: Type,
    n: i64,
    x: Address,
    incx: i64,
    y: Address,
    incy: i64,
    c: Address,
    s: Address,
) -> Result<()> {
    if n <= 0 {
        return Ok(());
    }
    let (c, s) = (call.scalar(c, kind.real())?, call.scalar(s, sine)?);
    let (x, y) = (first(x, n, incx, kind)?, first(y, n, incy, kind)?);
    call.launch_over(&format!("rot_{}", kind.letter()?), n, &[&n, &x, &incx, &y, &incy, &c, &s])
}

/// `Modified` of blas.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct Modified<R> {
    pointer: Address,
    values: [R; 5],
}
cabi::plain!(Modified<f32>, Modified<f64>);

fn rotm(call: &Call, kind: Type, n: i64, x: Address, incx: i64, y: Address, incy: i64, how: Address) -> Result<()> {
    if n <= 0 {
        return Ok(());
    }
    let pointer = if call.on_device { how } else { 0 };
    let (x, y) = (first(x, n, incx, kind)?, first(y, n, incy, kind)?);
    if kind == Type::F32 {
        let values = if call.on_device { [0.0; 5] } else { read(how)? };
        let how = Modified::<f32> { pointer, values };
        call.launch_over("rotm_s", n, &[&n, &x, &incx, &y, &incy, &how])
    } else {
        let values = if call.on_device { [0.0; 5] } else { read(how)? };
        let how = Modified::<f64> { pointer, values };
        call.launch_over("rotm_d", n, &[&n, &x, &incx, &y, &incy, &how])
    }
}

impl Call {
    /// A number that the host computes with, wherever it is.
    fn fetch(&self, from: Address, kind: Type) -> Result<(f64, f64)> {
        let mut copy = [0_u8; 16];
        let mut place = from;
        if self.on_device {
            place = cabi::driver::into(&mut copy);
            self.driver.cuMemcpyDtoHAsync_v2(place, from, kind.bytes()?, self.stream)?;
            self.driver.cuStreamSynchronize(self.stream)?;
        }
        Scalar::at(place, kind, false).map(|x| (x.re, x.im))
    }

    /// Leaves a number that the host has computed where the program has it.
    fn leave(&self, to: Address, kind: Type, (re, im): (f64, f64)) -> Result<()> {
        #[allow(clippy::cast_possible_truncation, reason = "results of single precision")]
        let [re4, im4] = [re as f32, im as f32];
        let mut copy = [0_u8; 16];
        let place = if self.on_device { cabi::driver::into(&mut copy) } else { to };
        match kind {
            Type::F32 => write(place, re4)?,
            Type::F64 => write(place, re)?,
            Type::C32 => write(place, [re4, im4])?,
            _ => write(place, [re, im])?,
        }
        if self.on_device {
            self.driver.cuMemcpyHtoDAsync_v2(to, place, kind.bytes()?, self.stream)?;
            self.driver.cuStreamSynchronize(self.stream)?;
        }
        Ok(())
    }
}

/// A Givens rotation, computed on the host.
fn rotg(call: &Call, kind: Type, a: Address, b: Address, c: Address, s: Address) -> Result<()> {
    let ((ar, ai), (br, bi)) = (call.fetch(a, kind)?, call.fetch(b, kind)?);
    let (abs_a, abs_b) = (ar.hypot(ai), br.hypot(bi));
    if kind.is_complex() {
        if abs_a == 0.0 {
            call.leave(c, kind.real(), (0.0, 0.0))?;
            call.leave(s, kind, (1.0, 0.0))?;
            return call.leave(a, kind, (br, bi));
        }
        let norm = abs_a.hypot(abs_b);
        let (ur, ui) = (ar / abs_a, ai / abs_a);
        call.leave(c, kind.real(), (abs_a / norm, 0.0))?;
        call.leave(s, kind, ((ur * br + ui * bi) / norm, (ui * br - ur * bi) / norm))?;
        return call.leave(a, kind, (ur * norm, ui * norm));
    }
    let sign = if abs_a > abs_b { ar.signum() } else { br.signum() };
    let r = sign * ar.hypot(br);
    let (cosine, sine) = if r == 0.0 { (1.0, 0.0) } else { (ar / r, br / r) };
    let z = match () {
        () if r == 0.0 => 0.0,
        () if abs_a > abs_b => sine,
        () if cosine != 0.0 => 1.0 / cosine,
        () => 1.0,
    };
    for (place, number) in [(a, r), (b, z), (c, cosine), (s, sine)] {
        call.leave(place, kind, (number, 0.0))?;
    }
    Ok(())
}

/// A rotation without roots: of two numbers with their squares' weights `d1` and `d2`, the second one becomes zero.
struct Rootless {
    flag: f64,
    /// h11, h21, h12, h22.
    h: [f64; 4],
    d1: f64,
    d2: f64,
    x1: f64,
}

impl Rootless {
    fn new(d1: f64, d2: f64, x1: f64, y1: f64) -> Self {
        let none = Self { flag: -1.0, h: [0.0; 4], d1: 0.0, d2: 0.0, x1: 0.0 };
        let (p1, p2) = (d1 * x1, d2 * y1);
        let (q1, q2) = (p1 * x1, p2 * y1);
        if d1 < 0.0 {
            return none;
        }
        if p2 == 0.0 {
            return Self { flag: -2.0, h: [1.0, 0.0, 0.0, 1.0], d1, d2, x1 };
        }
        let mut made = if q1.abs() > q2.abs() {
            let (h21, h12) = (-y1 / x1, p2 / p1);
            let u = 1.0 - h12 * h21;
            if u <= 0.0 {
                return none;
            }
            Self { flag: 0.0, h: [1.0, h21, h12, 1.0], d1: d1 / u, d2: d2 / u, x1: x1 * u }
        } else if q2 < 0.0 {
            return none;
        } else {
            let (h11, h22) = (p1 / p2, x1 / y1);
            let u = 1.0 + h11 * h22;
            Self { flag: 1.0, h: [h11, -1.0, 1.0, h22], d1: d2 / u, d2: d1 / u, x1: y1 * u }
        };
        let by = made.rescale(made.d1, 0);
        made.d1 *= by * by;
        made.x1 /= by;
        let by = made.rescale(made.d2, 1);
        made.d2 *= by * by;
        made
    }

    /// Divides a row by the number whose square brings a weight back between 1 / 4096^2 and 4096^2.
    fn rescale(&mut self, weight: f64, row: usize) -> f64 {
        const STEP: f64 = 4096.0;
        let mut by = 1.0;
        let scaled = |by: f64| (weight * by * by).abs();
        while weight.is_finite() && weight != 0.0 && scaled(by) <= 1.0 / (STEP * STEP) {
            by *= STEP;
        }
        while weight.is_finite() && scaled(by) >= STEP * STEP {
            by /= STEP;
        }
        if by != 1.0 {
            // All elements count from here on.
            self.flag = -1.0;
            self.h[row] /= by;
            self.h[row + 2] /= by;
        }
        by
    }
}

fn rotmg(call: &Call, kind: Type, d1: Address, d2: Address, x1: Address, y1: Address, how: Address) -> Result<()> {
    let get = |from| call.fetch(from, kind).map(|(re, _)| re);
    let made = Rootless::new(get(d1)?, get(d2)?, get(x1)?, get(y1)?);
    let step = kind.bytes()?;
    for (place, number) in [(d1, made.d1), (d2, made.d2), (x1, made.x1), (how, made.flag)] {
        call.leave(place, kind, (number, 0.0))?;
    }
    // Elements that the flag implies keep what they are.
    let counts: &[usize] = match made.flag {
        -2.0 => &[],
        0.0 => &[1, 2],
        1.0 => &[0, 3],
        _ => &[0, 1, 2, 3],
    };
    for element in counts {
        call.leave(how.wrapping_add(step * (element + 1)), kind, (made.h[*element], 0.0))?;
    }
    Ok(())
}

// Functions whose types are arguments.

/// The status of a function that is not there for these types.
fn types_not_supported(of: &[i64]) -> Status {
    not_supported(&format!("a function of vectors with types {of:?} (cudaDataType_t)"))
}

fn same(of: &[i64]) -> Result<Type> {
    let kind = Type::of(of[0])?;
    if of.iter().all(|other| *other == of[0]) { Ok(kind) } else { Err(types_not_supported(of)) }
}

fn copy_ex(call: &Call, n: i64, x: Address, kx: i64, incx: i64, y: Address, ky: i64, incy: i64) -> Result<()> {
    copy(call, same(&[kx, ky])?, n, x, incx, y, incy)
}

fn swap_ex(call: &Call, n: i64, x: Address, kx: i64, incx: i64, y: Address, ky: i64, incy: i64) -> Result<()> {
    swap(call, same(&[kx, ky])?, n, x, incx, y, incy)
}

fn scal_ex(call: &Call, n: i64, alpha: Address, of: i64, x: Address, kx: i64, incx: i64, _in: i64) -> Result<()> {
    scal(call, Type::of(kx)?, Type::of(of)?, n, alpha, x, incx)
}

fn axpy_ex(
    call: &Call,
    n: i64,
    alpha: Address,
    of: i64,
    x: Address,
    kx: i64,
    incx: i64,
    y: Address,
    ky: i64,
    incy: i64,
    _in: i64,
) -> Result<()> {
    axpy(call, same(&[kx, ky])?, Type::of(of)?, n, alpha, x, incx, y, incy)
}

fn dot_ex(
    call: &Call,
    conj: bool,
    n: i64,
    x: Address,
    kx: i64,
    incx: i64,
    y: Address,
    ky: i64,
    incy: i64,
    result: Address,
    to: i64,
    _in: i64,
) -> Result<()> {
    dot(call, same(&[kx, ky])?, Type::of(to)?, conj, n, x, incx, y, incy, result)
}

fn nrm2_ex(call: &Call, n: i64, x: Address, kx: i64, incx: i64, result: Address, to: i64, _in: i64) -> Result<()> {
    nrm2(call, Type::of(kx)?, Type::of(to)?, n, x, incx, result)
}

fn asum_ex(call: &Call, n: i64, x: Address, kx: i64, incx: i64, result: Address, to: i64, _in: i64) -> Result<()> {
    asum(call, Type::of(kx)?, Type::of(to)?, n, x, incx, result)
}

fn extreme_ex(call: &Call, least: bool, n: i64, x: Address, kx: i64, incx: i64, result: Address) -> Result<()> {
    extreme(call, Type::of(kx)?, least, n, x, incx, result)
}

fn rot_ex(
    call: &Call,
    n: i64,
    x: Address,
    kx: i64,
    incx: i64,
    y: Address,
    ky: i64,
    incy: i64,
    c: Address,
    s: Address,
    of: i64,
    _in: i64,
) -> Result<()> {
    rot(call, same(&[kx, ky])?, Type::of(of)?, n, x, incx, y, incy, c, s)
}

fn rotm_ex(
    call: &Call,
    n: i64,
    x: Address,
    kx: i64,
    incx: i64,
    y: Address,
    ky: i64,
    incy: i64,
    how: Address,
    of: i64,
    _in: i64,
) -> Result<()> {
    let kind = same(&[kx, ky, of])?;
    if kind.is_complex() { Err(types_not_supported(&[kx])) } else { rotm(call, kind, n, x, incx, y, incy, how) }
}

fn rotg_ex(call: &Call, a: Address, b: Address, kind: i64, c: Address, s: Address, of: i64, _in: i64) -> Result<()> {
    let types = [kind, of];
    let (kind, of) = (Type::of(kind)?, Type::of(of)?);
    // The cosine is real also where its type, which is the sine's, has imaginary parts.
    if of != kind || !matches!(kind, T::F32 | T::F64) {
        return Err(types_not_supported(&types));
    }
    rotg(call, kind, a, b, c, s)
}

fn rotmg_ex(
    call: &Call,
    d1: Address,
    k1: i64,
    d2: Address,
    k2: i64,
    x1: Address,
    kx: i64,
    y1: Address,
    ky: i64,
    how: Address,
    of: i64,
    _in: i64,
) -> Result<()> {
    match same(&[k1, k2, kx, ky, of])? {
        kind @ (T::F32 | T::F64) => rotmg(call, kind, d1, d2, x1, y1, how),
        _ => Err(types_not_supported(&[k1])),
    }
}

blas! {
    fn(n: Int, x: Address, incx: Int, y: Address, incy: Int) = copy,
        for Scopy_v2(T::F32), Dcopy_v2(T::F64), Ccopy_v2(T::C32), Zcopy_v2(T::C64);
    fn(n: Int, x: Address, incx: Int, y: Address, incy: Int) = swap,
        for Sswap_v2(T::F32), Dswap_v2(T::F64), Cswap_v2(T::C32), Zswap_v2(T::C64);
    fn(n: Int, alpha: Address, x: Address, incx: Int) = scal,
        for Sscal_v2(T::F32, T::F32), Dscal_v2(T::F64, T::F64), Cscal_v2(T::C32, T::C32), Zscal_v2(T::C64, T::C64),
            Csscal_v2(T::C32, T::F32), Zdscal_v2(T::C64, T::F64);
    fn(n: Int, alpha: Address, x: Address, incx: Int, y: Address, incy: Int) = axpy,
        for Saxpy_v2(T::F32, T::F32), Daxpy_v2(T::F64, T::F64), Caxpy_v2(T::C32, T::C32), Zaxpy_v2(T::C64, T::C64);
    fn(n: Int, x: Address, incx: Int, y: Address, incy: Int, result: Address) = dot,
        for Sdot_v2(T::F32, T::F32, false), Ddot_v2(T::F64, T::F64, false), Cdotu_v2(T::C32, T::C32, false),
            Cdotc_v2(T::C32, T::C32, true), Zdotu_v2(T::C64, T::C64, false), Zdotc_v2(T::C64, T::C64, true);
    fn(n: Int, x: Address, incx: Int, result: Address) = asum,
        for Sasum_v2(T::F32, T::F32), Dasum_v2(T::F64, T::F64), Scasum_v2(T::C32, T::F32), Dzasum_v2(T::C64, T::F64);
    fn(n: Int, x: Address, incx: Int, result: Address) = nrm2,
        for Snrm2_v2(T::F32, T::F32), Dnrm2_v2(T::F64, T::F64), Scnrm2_v2(T::C32, T::F32), Dznrm2_v2(T::C64, T::F64);
    fn(n: Int, x: Address, incx: Int, result: Address) = extreme,
        for Isamax_v2(T::F32, false), Idamax_v2(T::F64, false), Icamax_v2(T::C32, false), Izamax_v2(T::C64, false),
            Isamin_v2(T::F32, true), Idamin_v2(T::F64, true), Icamin_v2(T::C32, true), Izamin_v2(T::C64, true);
    fn(n: Int, x: Address, incx: Int, y: Address, incy: Int, c: Address, s: Address) = rot,
        for Srot_v2(T::F32, T::F32), Drot_v2(T::F64, T::F64), Crot_v2(T::C32, T::C32), Zrot_v2(T::C64, T::C64),
            Csrot_v2(T::C32, T::F32), Zdrot_v2(T::C64, T::F64);
    fn(n: Int, x: Address, incx: Int, y: Address, incy: Int, how: Address) = rotm,
        for Srotm_v2(T::F32), Drotm_v2(T::F64);
    fn(a: Address, b: Address, c: Address, s: Address) = rotg,
        for Srotg_v2(T::F32), Drotg_v2(T::F64), Crotg_v2(T::C32), Zrotg_v2(T::C64);
    fn(d1: Address, d2: Address, x1: Address, y1: Address, how: Address) = rotmg,
        for Srotmg_v2(T::F32), Drotmg_v2(T::F64);
    fn(a: Address, b: Address, kind: Enum, c: Address, s: Address, of: Enum, within: Enum) = rotg_ex, for RotgEx();
    fn(d1: Address, k1: Enum, d2: Address, k2: Enum, x1: Address, kx: Enum, y1: Address, ky: Enum, how: Address,
       of: Enum, within: Enum) = rotmg_ex, for RotmgEx();
    fn(n: Int, x: Address, kx: Enum, incx: Int, y: Address, ky: Enum, incy: Int) = copy_ex, for CopyEx();
    fn(n: Int, x: Address, kx: Enum, incx: Int, y: Address, ky: Enum, incy: Int) = swap_ex, for SwapEx();
    fn(n: Int, alpha: Address, of: Enum, x: Address, kx: Enum, incx: Int, within: Enum) = scal_ex, for ScalEx();
    fn(n: Int, alpha: Address, of: Enum, x: Address, kx: Enum, incx: Int, y: Address, ky: Enum, incy: Int,
       within: Enum) = axpy_ex, for AxpyEx();
    fn(n: Int, x: Address, kx: Enum, incx: Int, y: Address, ky: Enum, incy: Int, result: Address, to: Enum,
       within: Enum) = dot_ex, for DotEx(false), DotcEx(true);
    fn(n: Int, x: Address, kx: Enum, incx: Int, result: Address, to: Enum, within: Enum) = nrm2_ex, for Nrm2Ex();
    fn(n: Int, x: Address, kx: Enum, incx: Int, result: Address, to: Enum, within: Enum) = asum_ex, for AsumEx();
    fn(n: Int, x: Address, kx: Enum, incx: Int, result: Address) = extreme_ex,
        for IamaxEx(false), IaminEx(true);
    fn(n: Int, x: Address, kx: Enum, incx: Int, y: Address, ky: Enum, incy: Int, c: Address, s: Address, of: Enum,
       within: Enum) = rot_ex, for RotEx();
    fn(n: Int, x: Address, kx: Enum, incx: Int, y: Address, ky: Enum, incy: Int, how: Address, of: Enum,
       within: Enum) = rotm_ex, for RotmEx();
}
