//! Barriers of part of a CTA, streams, and what the user meets when a kernel goes wrong, on the
//! whole timed GPU.

use isa::Dim3;
use lab::{Setup, SimulatedDevice};
use workloads::{Arg, Buffer, Code, Device, DeviceError, Launch, ModuleSource, Registers};

fn setup() -> Setup {
    let gpu = config::load("rtx2060s").unwrap();
    Setup { max_cycles: Some(5_000_000), ..Setup::new(gpu) }
}

/// A kernel `k(u64 p)` with registers to use and `%i`, the thread's number in its CTA.
fn module(body: &str) -> String {
    format!(
        ".version 6.4\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %i, %r<9>;\n.reg .b64 %p, %at;\n.reg .pred %q<4>;\n.shared .align 4 .b8 s[4096];\n\
         mov.u32 %i, %tid.x;\nld.param.u64 %p, [p];\nmul.wide.u32 %at, %i, 4;\nadd.u64 %at, %at, %p;\n\
         {body}\nret;\n}}\n"
    )
}

struct Bench {
    device: SimulatedDevice<'static>,
    module: workloads::ModuleId,
    buffer: Buffer,
}

impl Bench {
    fn new(body: &str) -> Self {
        let mut device = SimulatedDevice::new(&setup()).unwrap();
        let text = module(body);
        let module = device.load_module(&ModuleSource { name: "test.ptx", code: Code::Ptx(&text) }).unwrap();
        let buffer = device.alloc("words", 4096).unwrap();
        device.write(buffer, 0, &[0; 4096]).unwrap();
        Self { device, module, buffer }
    }

    fn launch(&mut self, ctas: u32, threads: u32, stream: u32) {
        let launch = Launch {
            module: self.module,
            kernel: "k",
            grid: Dim3::new(ctas, 1, 1),
            block: Dim3::new(threads, 1, 1),
            dynamic_shared_bytes: 0,
            args: &[Arg::from(self.buffer)],
            registers: Registers::Given(16),
            stream,
        };
        self.device.launch(&launch).unwrap();
    }

    fn words(&mut self, count: usize) -> Result<Vec<u32>, DeviceError> {
        let mut bytes = vec![0; 4 * count];
        self.device.read(self.buffer, 0, &mut bytes)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect())
    }
}

#[test]
fn a_barrier_whose_guard_fails_in_a_whole_warp_is_no_arrival() {
    // Warp 0 produces for warp 1 over barrier 1; warps 2 and 3 skip it.
    let mut bench = Bench::new(
        "setp.lt.u32 %q1, %i, 64;\nsetp.lt.u32 %q2, %i, 32;\nadd.u32 %r1, %i, 7;\n\
         mul.lo.u32 %r2, %i, 4;\nmov.u32 %r4, s;\nadd.u32 %r2, %r2, %r4;\n\
         @%q2 st.shared.u32 [%r2], %r1;\n@%q1 bar.sync 1, 64;\n\
         mov.u32 %r3, 1;\n@%q2 bra DONE;\n@%q1 ld.shared.u32 %r3, [%r2+-128];\nDONE:\nst.global.u32 [%at], %r3;",
    );
    bench.launch(1, 128, 0);
    let words = bench.words(128).unwrap();
    let expected = |i: usize| if (32..64).contains(&i) { i as u32 - 32 + 7 } else { 1 };
    assert_eq!(words, (0..128).map(expected).collect::<Vec<_>>());
}

#[test]
fn kernels_of_two_streams_overlap_and_those_of_one_do_not() {
    // About 20,000 cycles of dependent work in one warp.
    let body = "mov.u32 %r1, 2000;\nL:\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r2, %r2, %r2;\nsub.u32 %r1, %r1, 1;\n\
                setp.ne.u32 %q1, %r1, 0;\n@%q1 bra L;\nst.global.u32 [%at], %r2;";
    let cycles = |streams: [u32; 2]| {
        let mut bench = Bench::new(body);
        streams.into_iter().for_each(|stream| bench.launch(1, 32, stream));
        bench.device.synchronize().unwrap();
        assert_eq!(bench.device.kernel_reports().len(), 2);
        bench.device.total_statistics().number("cycles")
    };
    let (serial, parallel) = (cycles([0, 0]), cycles([0, 1]));
    assert!(parallel < 0.51 * serial, "{parallel} against {serial} cycles");
    assert!(parallel > 0.49 * serial, "{parallel} against {serial} cycles");
}

#[test]
fn a_store_out_of_bounds_names_kernel_thread_line_and_allocation() {
    let mut bench = Bench::new("add.u64 %at, %at, 4096;\nst.global.u32 [%at+64], %i;");
    bench.launch(2, 32, 0);
    let message = bench.words(1).unwrap_err().to_string();
    for part in ["`k`", "`words`", "4096", "thread (0,0,0)", "CTA (0,0,0)", "st.global.u32", "line 15"] {
        assert!(message.contains(part), "no {part} in:\n{message}");
    }
    // The device says so ever after, and does not crash.
    assert!(bench.words(1).unwrap_err().to_string().contains("stopped earlier"));
}

#[test]
fn a_barrier_that_cannot_complete_is_reported_with_who_waits() {
    let mut bench = Bench::new("setp.lt.u32 %q1, %i, 32;\n@%q1 bra DONE;\nbar.sync 2, 128;\nDONE:");
    bench.launch(1, 64, 0);
    let message = bench.words(1).unwrap_err().to_string();
    for part in ["deadlock", "barrier 2", "`k`", "warp 1"] {
        assert!(message.contains(part), "no {part} in:\n{message}");
    }
}
