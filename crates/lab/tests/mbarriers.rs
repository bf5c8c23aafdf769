//! Warps that wait at an `mbarrier`, and the warps that they wait for, on one scheduler.

use exec::{Arg, Launch};
use isa::Dim3;
use lab::{Setup, SimulatedDevice};
use workloads::{Device, ModuleCode, ModuleSource, ThreadRegisters};

/// The last warp arrives after some work; the others wait for it.
const PTX: &str = "
    .version 8.0
    .target sm_90
    .address_size 64
    .shared .align 8 .b64 barrier;
    .visible .entry wait(.param .u64 out)
    {
        .reg .pred p, last;
        .reg .b32 at, thread, value;
        .reg .b64 out, offset;
        mov.u32 thread, %tid.x;
        mov.u32 at, barrier;
        setp.ne.u32 p, thread, 0;
        @!p mbarrier.init.shared::cta.b64 [at], 32;
        bar.sync 0;
        mov.u32 value, %ntid.x;
        sub.u32 value, value, 32;
        setp.ge.u32 last, thread, value;
        @!last bra AWAIT;
        mul.lo.u32 value, thread, thread;
        mad.lo.u32 value, value, thread, 7;
        mad.lo.u32 value, value, thread, 7;
        mbarrier.arrive.shared::cta.b64 _, [at];
    AWAIT:
        mbarrier.try_wait.parity.shared::cta.b64 p, [at], 0;
        @!p bra AWAIT;
        ld.param.u64 out, [out];
        mul.wide.u32 offset, thread, 4;
        add.u64 out, out, offset;
        add.u32 value, thread, 1;
        st.global.u32 [out], value;
        ret;
    }";

#[test]
fn every_scheduler_issues_the_warp_that_others_wait_for() {
    const THREADS: u32 = 288;
    // Of the warps 0, 4 and 8 of one scheduler, the last arrives.
    for scheduler in ["lrr", "gto", "gty", "srr", "two_level:active=1", "laggard"] {
        let gpu = config::load("h100").unwrap();
        let setup = Setup { scheduler: Some(scheduler.into()), max_cycles: Some(200_000), ..Setup::new(gpu) };
        let mut device = SimulatedDevice::new(&setup).unwrap();
        let module = device.load_module(&ModuleSource { name: "wait", code: ModuleCode::Ptx(PTX) }).unwrap();
        let kernel = device.loaded(module).unwrap().kernel("wait").unwrap().clone();
        let out = device.memory().allocate("out", u64::from(4 * THREADS)).unwrap();
        let shape = (Dim3::new(1, 1, 1), Dim3::new(THREADS, 1, 1));
        let launch = Launch::new(kernel, shape.0, shape.1, 0, &[Arg::Pointer(out)]).unwrap();
        device.enqueue(0, launch, ThreadRegisters::Estimated, 0).unwrap();
        device.synchronize().unwrap_or_else(|error| panic!("{scheduler}: {error}"));
        let mut bytes = vec![0; 4 * THREADS as usize];
        device.memory().read(out, &mut bytes).unwrap();
        let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        assert!(words.eq(1..=THREADS), "{scheduler}");
    }
}
