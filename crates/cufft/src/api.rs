//! The functions of cufft.h and cufftXt.h.

use std::ffi::{c_int, c_longlong};
use std::sync::atomic::{AtomicI32, Ordering};

use cabi::address::{Address, Handle, Plain, read, write};
use cabi::stand_in::{Objects, not_supported};

use crate::plan::{Layout, Plan, Shape, Type};
use crate::status::{Result, Status};

/// The version that the library is of, as `cufftGetVersion` gives it.
static VERSION: AtomicI32 = AtomicI32::new(0);

/// Called when the library is loaded.
pub fn set_version(version: c_int) {
    VERSION.store(version, Ordering::Relaxed);
}

static PLANS: Objects<Plan> = Objects::none();

fn with<T>(plan: c_int, body: impl FnOnce(&mut Plan) -> Result<T>) -> Result<T> {
    let handle = usize::try_from(plan).map_err(|_| Status::INVALID_PLAN)?;
    PLANS.with(handle, body).unwrap_or(Err(Status::INVALID_PLAN))
}

fn create(place: Address, plan: Plan) -> Result<()> {
    write(place, 0_i32)?;
    let handle = c_int::try_from(PLANS.add(plan, 1)).map_err(|_| Status::ALLOC_FAILED)?;
    Ok(write(place, handle)?)
}

/// Makes a plan with a new handle.
fn plan(place: Address, shape: Result<Shape>) -> Result<()> {
    write(place, 0_i32)?;
    let mut plan = Plan::default();
    plan.make(shape?)?;
    create(place, plan)
}

/// Bytes of a work area: passes take memory of their own.
fn no_work(place: Address) -> Result<()> {
    if place == 0 { Ok(()) } else { Ok(write(place, 0_usize)?) }
}

fn make(plan: c_int, shape: Result<Shape>, work: Address) -> Result<()> {
    with(plan, |plan| plan.make(shape?))?;
    no_work(work)
}

/// Bytes of work area that a plan would need: none.
fn size(shape: Result<Shape>, work: Address) -> Result<()> {
    shape?.check()?;
    no_work(work)
}

fn size_with(plan: c_int, shape: Result<Shape>, work: Address) -> Result<()> {
    with(plan, |_| Ok(()))?;
    size(shape, work)
}

fn plain(sizes: &[c_int], kind: c_int, batch: c_int) -> Result<Shape> {
    let sizes = sizes.iter().map(|size| i64::from(*size)).collect();
    Ok(Shape { kind: Type::numbered(kind)?, sizes, batch: batch.into(), layouts: None })
}

/// Numbers of the program, of 32 or 64 bits.
fn numbers<T: Plain + Into<i64>>(at: Address, count: usize) -> Result<Vec<i64>> {
    let one = |i| at.checked_add(i * size_of::<T>()).ok_or(Status::INVALID_VALUE);
    (0..count).map(|i| Ok(read::<T>(one(i)?)?.into())).collect()
}

/// An array as a function of many transforms gets it: sizes of its storage, distance of elements, and of transforms.
type Stored = (Address, i64, i64);

fn many<T: Plain + Into<i64>>(
    rank: c_int,
    sizes: Address,
    from: Stored,
    to: Stored,
    kind: Result<Type>,
    batch: i64,
) -> Result<Shape> {
    let rank = usize::try_from(rank).ok().filter(|rank| (1..=3).contains(rank)).ok_or(Status::INVALID_SIZE)?;
    let sizes = numbers::<T>(sizes, rank)?;
    let layout = |(embed, stride, dist): Stored| -> Result<Layout> {
        let embed = numbers::<T>(embed, rank)?;
        if stride < 1 || embed[1..].iter().any(|size| *size < 1) {
            return Err(Status::INVALID_SIZE);
        }
        Ok(Layout { embed, stride, dist })
    };
    let is_plain = from.0 == 0 || to.0 == 0;
    let layouts = if is_plain { None } else { Some([layout(from)?, layout(to)?]) };
    Ok(Shape { kind: kind?, sizes, batch, layouts })
}

/// The type of a transform between types of elements, `cudaDataType_t`.
fn between(from: c_int, to: c_int, by: c_int) -> Result<Type> {
    let number = match (from, to, by) {
        (4, 4, 4) => 0x29,
        (0, 4, 4 | 0) => 0x2a,
        (4, 0, 4 | 0) => 0x2c,
        (5, 5, 5) => 0x69,
        (1, 5, 5 | 1) => 0x6a,
        (5, 1, 5 | 1) => 0x6c,
        _ => return Err(not_supported(&format!("a transform from type {from} to type {to} in type {by}"))),
    };
    Type::numbered(number)
}

/// Executes a plan whose type is `kind`.
fn execute(plan: c_int, kind: Option<c_int>, from: Address, to: Address, inverse: bool) -> Result<()> {
    with(plan, |plan| {
        let is = plan.shape.as_ref().ok_or(Status::INVALID_PLAN)?.kind;
        if kind.is_some_and(|kind| Type::numbered(kind) != Ok(is)) {
            return Err(Status::INVALID_TYPE);
        }
        // Transforms between real and complex numbers have one direction.
        let inverse = match is.from {
            crate::pass::Kind::Full => inverse,
            crate::pass::Kind::Real => false,
            crate::pass::Kind::Half => true,
        };
        plan.execute(from, to, inverse)
    })
}

fn is_inverse(direction: c_int) -> Result<bool> {
    match direction {
        -1 => Ok(false),
        1 => Ok(true),
        _ => Err(Status::INVALID_VALUE),
    }
}

cabi::functions! {
    Status;
    fn cufftCreate(place: Address) { create(place, Plan::default()) }
    fn cufftDestroy(plan: c_int) {
        let handle = usize::try_from(plan).map_err(|_| Status::INVALID_PLAN)?;
        PLANS.remove(handle).map(drop).ok_or(Status::INVALID_PLAN)
    }
    fn cufftSetStream(plan: c_int, stream: Handle) {
        with(plan, |plan| {
            plan.stream = stream;
            Ok(())
        })
    }
    // Passes take memory of their own.
    fn cufftSetWorkArea(plan: c_int, _memory: Address) { with(plan, |_| Ok(())) }
    fn cufftXtSetWorkArea(plan: c_int, _memory: Address) { with(plan, |_| Ok(())) }
    fn cufftSetAutoAllocation(plan: c_int, _on: c_int) { with(plan, |_| Ok(())) }
    fn cufftXtSetWorkAreaPolicy(plan: c_int, _policy: c_int, work: Address) {
        with(plan, |_| Ok(()))?;
        no_work(work)
    }
    fn cufftGetSize(plan: c_int, work: Address) {
        with(plan, |_| Ok(()))?;
        no_work(work)
    }
    fn cufftGetVersion(place: Address) { Ok(write(place, VERSION.load(Ordering::Relaxed))?) }
    fn cufftGetProperty(which: c_int, place: Address) {
        let version = VERSION.load(Ordering::Relaxed);
        let value = match which {
            0 => version / 1000,
            1 => version / 100 % 10,
            2 => version % 100,
            _ => return Err(Status::INVALID_VALUE),
        };
        Ok(write(place, value)?)
    }

    fn cufftPlan1d(place: Address, n: c_int, kind: c_int, batch: c_int) { plan(place, plain(&[n], kind, batch)) }
    fn cufftPlan2d(place: Address, n: c_int, m: c_int, kind: c_int) { plan(place, plain(&[n, m], kind, 1)) }
    fn cufftPlan3d(place: Address, n: c_int, m: c_int, k: c_int, kind: c_int) {
        plan(place, plain(&[n, m, k], kind, 1))
    }
    fn cufftPlanMany(
        place: Address, rank: c_int, sizes: Address, inembed: Address, istride: c_int, idist: c_int, onembed: Address,
        ostride: c_int, odist: c_int, kind: c_int, batch: c_int,
    ) {
        let (from, to) = ((inembed, istride.into(), idist.into()), (onembed, ostride.into(), odist.into()));
        plan(place, many::<c_int>(rank, sizes, from, to, Type::numbered(kind), batch.into()))
    }

    fn cufftMakePlan1d(plan: c_int, n: c_int, kind: c_int, batch: c_int, work: Address) {
        make(plan, plain(&[n], kind, batch), work)
    }
    fn cufftMakePlan2d(plan: c_int, n: c_int, m: c_int, kind: c_int, work: Address) {
        make(plan, plain(&[n, m], kind, 1), work)
    }
    fn cufftMakePlan3d(plan: c_int, n: c_int, m: c_int, k: c_int, kind: c_int, work: Address) {
        make(plan, plain(&[n, m, k], kind, 1), work)
    }
    fn cufftMakePlanMany(
        plan: c_int, rank: c_int, sizes: Address, inembed: Address, istride: c_int, idist: c_int, onembed: Address,
        ostride: c_int, odist: c_int, kind: c_int, batch: c_int, work: Address,
    ) {
        let (from, to) = ((inembed, istride.into(), idist.into()), (onembed, ostride.into(), odist.into()));
        make(plan, many::<c_int>(rank, sizes, from, to, Type::numbered(kind), batch.into()), work)
    }
    fn cufftMakePlanMany64(
        plan: c_int, rank: c_int, sizes: Address, inembed: Address, istride: c_longlong, idist: c_longlong,
        onembed: Address, ostride: c_longlong, odist: c_longlong, kind: c_int, batch: c_longlong, work: Address,
    ) {
        let (from, to) = ((inembed, istride, idist), (onembed, ostride, odist));
        make(plan, many::<i64>(rank, sizes, from, to, Type::numbered(kind), batch), work)
    }
    fn cufftXtMakePlanMany(
        plan: c_int, rank: c_int, sizes: Address, inembed: Address, istride: c_longlong, idist: c_longlong,
        input: c_int, onembed: Address, ostride: c_longlong, odist: c_longlong, output: c_int, batch: c_longlong,
        work: Address, by: c_int,
    ) {
        let (from, to) = ((inembed, istride, idist), (onembed, ostride, odist));
        make(plan, many::<i64>(rank, sizes, from, to, between(input, output, by), batch), work)
    }

    fn cufftEstimate1d(n: c_int, kind: c_int, batch: c_int, work: Address) { size(plain(&[n], kind, batch), work) }
    fn cufftEstimate2d(n: c_int, m: c_int, kind: c_int, work: Address) { size(plain(&[n, m], kind, 1), work) }
    fn cufftEstimate3d(n: c_int, m: c_int, k: c_int, kind: c_int, work: Address) {
        size(plain(&[n, m, k], kind, 1), work)
    }
    fn cufftEstimateMany(
        rank: c_int, sizes: Address, inembed: Address, istride: c_int, idist: c_int, onembed: Address,
        ostride: c_int, odist: c_int, kind: c_int, batch: c_int, work: Address,
    ) {
        let (from, to) = ((inembed, istride.into(), idist.into()), (onembed, ostride.into(), odist.into()));
        size(many::<c_int>(rank, sizes, from, to, Type::numbered(kind), batch.into()), work)
    }
    fn cufftGetSize1d(plan: c_int, n: c_int, kind: c_int, batch: c_int, work: Address) {
        size_with(plan, plain(&[n], kind, batch), work)
    }
    fn cufftGetSize2d(plan: c_int, n: c_int, m: c_int, kind: c_int, work: Address) {
        size_with(plan, plain(&[n, m], kind, 1), work)
    }
    fn cufftGetSize3d(plan: c_int, n: c_int, m: c_int, k: c_int, kind: c_int, work: Address) {
        size_with(plan, plain(&[n, m, k], kind, 1), work)
    }
    fn cufftGetSizeMany(
        plan: c_int, rank: c_int, sizes: Address, inembed: Address, istride: c_int, idist: c_int, onembed: Address,
        ostride: c_int, odist: c_int, kind: c_int, batch: c_int, work: Address,
    ) {
        let (from, to) = ((inembed, istride.into(), idist.into()), (onembed, ostride.into(), odist.into()));
        size_with(plan, many::<c_int>(rank, sizes, from, to, Type::numbered(kind), batch.into()), work)
    }
    fn cufftGetSizeMany64(
        plan: c_int, rank: c_int, sizes: Address, inembed: Address, istride: c_longlong, idist: c_longlong,
        onembed: Address, ostride: c_longlong, odist: c_longlong, kind: c_int, batch: c_longlong, work: Address,
    ) {
        let (from, to) = ((inembed, istride, idist), (onembed, ostride, odist));
        size_with(plan, many::<i64>(rank, sizes, from, to, Type::numbered(kind), batch), work)
    }
    fn cufftXtGetSizeMany(
        plan: c_int, rank: c_int, sizes: Address, inembed: Address, istride: c_longlong, idist: c_longlong,
        input: c_int, onembed: Address, ostride: c_longlong, odist: c_longlong, output: c_int, batch: c_longlong,
        work: Address, by: c_int,
    ) {
        let (from, to) = ((inembed, istride, idist), (onembed, ostride, odist));
        size_with(plan, many::<i64>(rank, sizes, from, to, between(input, output, by), batch), work)
    }

    fn cufftExecC2C(plan: c_int, from: Address, to: Address, direction: c_int) {
        execute(plan, Some(0x29), from, to, is_inverse(direction)?)
    }
    fn cufftExecZ2Z(plan: c_int, from: Address, to: Address, direction: c_int) {
        execute(plan, Some(0x69), from, to, is_inverse(direction)?)
    }
    fn cufftExecR2C(plan: c_int, from: Address, to: Address) { execute(plan, Some(0x2a), from, to, false) }
    fn cufftExecD2Z(plan: c_int, from: Address, to: Address) { execute(plan, Some(0x6a), from, to, false) }
    fn cufftExecC2R(plan: c_int, from: Address, to: Address) { execute(plan, Some(0x2c), from, to, true) }
    fn cufftExecZ2D(plan: c_int, from: Address, to: Address) { execute(plan, Some(0x6c), from, to, true) }
    fn cufftXtExec(plan: c_int, from: Address, to: Address, direction: c_int) {
        execute(plan, None, from, to, direction == 1)
    }
}

// Callbacks, several GPUs, settings of cuFFT's own kernels.
cabi::not_supported! {
    Status;
    cufftGetPlanPropertyInt64, cufftResetPlanProperty, cufftSetPlanPropertyInt64, cufftXtClearCallback,
    cufftXtExecDescriptor, cufftXtExecDescriptorC2C, cufftXtExecDescriptorC2R, cufftXtExecDescriptorD2Z,
    cufftXtExecDescriptorR2C, cufftXtExecDescriptorZ2D, cufftXtExecDescriptorZ2Z, cufftXtFree, cufftXtMalloc,
    cufftXtMemcpy, cufftXtQueryPlan, cufftXtSetCallback, cufftXtSetCallbackSharedSize, cufftXtSetDistribution,
    cufftXtSetGPUs, cufftXtSetJITCallback, __cufftXtSetJITCallback_12_7,
}
