//! Level 1: vectors.

use cabi::address::{Address, read, write};
use cabi::driver::at;

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

/// A Givens rotation, computed on the host as the arguments are there.
fn rotg(call: &Call, kind: Type, a: Address, b: Address, c: Address, s: Address) -> Result<()> {
    if call.on_device {
        return Err(Status::NOT_SUPPORTED);
    }
    let get = |from| Scalar::at(from, kind, false).map(|x| (x.re, x.im));
    let put = |to, kind: Type, (re, im): (f64, f64)| -> Result<()> {
        #[allow(clippy::cast_possible_truncation, reason = "results of single precision")]
        let [re4, im4] = [re as f32, im as f32];
        Ok(match kind {
            Type::F32 => write(to, re4)?,
            Type::F64 => write(to, re)?,
            Type::C32 => write(to, [re4, im4])?,
            _ => write(to, [re, im])?,
        })
    };
    let ((ar, ai), (br, bi)) = (get(a)?, get(b)?);
    let (abs_a, abs_b) = (ar.hypot(ai), br.hypot(bi));
    if kind.is_complex() {
        if abs_a == 0.0 {
            put(c, kind.real(), (0.0, 0.0))?;
            put(s, kind, (1.0, 0.0))?;
            return put(a, kind, (br, bi));
        }
        let norm = abs_a.hypot(abs_b);
        let (ur, ui) = (ar / abs_a, ai / abs_a);
        put(c, kind.real(), (abs_a / norm, 0.0))?;
        put(s, kind, ((ur * br + ui * bi) / norm, (ui * br - ur * bi) / norm))?;
        return put(a, kind, (ur * norm, ui * norm));
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
    put(a, kind, (r, 0.0))?;
    put(b, kind, (z, 0.0))?;
    put(c, kind, (cosine, 0.0))?;
    put(s, kind, (sine, 0.0))
}

// Functions whose types are arguments.

fn same(of: &[i64]) -> Result<Type> {
    let kind = Type::of(of[0])?;
    if of.iter().all(|other| *other == of[0]) { Ok(kind) } else { Err(Status::NOT_SUPPORTED) }
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
    if kind.is_complex() { Err(Status::NOT_SUPPORTED) } else { rotm(call, kind, n, x, incx, y, incy, how) }
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
