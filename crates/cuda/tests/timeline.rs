//! Streams and events in simulated time.

use crate::fake::{KERNELS, Program};
use cuda::link::{Direction, Link};
use cuda::work::Comparison;
use cuda::{Error, MOST_PENDING, Step, Wait};
use lab::{Setup, SimulatedDevice};
use workloads::device::{ArgBytes, Device, LaunchRequest, ModuleCode, ModuleSource, ThreadRegisters};

/// Microseconds of two kernels, each in a stream.
fn two_kernels(program: &mut Program, first: u64, second: u64) -> f64 {
    let out = program.alloc(256);
    program.synchronise();
    let start = program.mark(first);
    program.driver.stream_wait_event(second, start, false).unwrap();
    program.spin(out, 2000, first);
    program.spin(out + 128, 2000, second);
    program.order(second, first);
    let end = program.mark(first);
    program.between(start, end)
}

#[test]
fn kernels_of_streams_overlap_and_those_of_one_follow_each_other() {
    let mut program = Program::new();
    let (a, b) = (program.stream(), program.stream());
    let (together, apart) = (two_kernels(&mut program, a, b), two_kernels(&mut program, a, a));
    assert!(apart > 1.9 * together && apart < 2.1 * together, "{together} {apart}");
    // Not so with the legacy default stream, except for streams that do not block.
    let legacy = two_kernels(&mut program, 0, a);
    assert!(legacy > 1.9 * together, "{legacy}");
    let free = program.stream_with(1, 0);
    let out = program.alloc(256);
    program.synchronise();
    let start = program.mark(free);
    program.spin(out, 2000, 0);
    program.spin(out + 128, 20, free);
    let (end, legacy_end) = (program.mark(free), program.mark(0));
    let (short, long) = (program.between(start, end), program.between(start, legacy_end));
    assert!(short < 0.3 * long, "{short} {long}");
}

#[test]
fn a_query_of_the_default_stream_does_not_order_other_streams() {
    let mut program = Program::new();
    let (a, b) = (program.stream(), program.stream());
    let out = program.alloc(256);
    program.spin(out, 2000, a);
    let mut polls = 0;
    while !program.is_idle(0).unwrap() {
        let wait = program.stream_wait(0, true).unwrap();
        assert!(matches!(wait, Wait::Query(..)));
        program.finish(wait).unwrap();
        polls += 1;
        if polls == 1 {
            program.spin(out + 128, 20, b);
            let wait = program.stream_wait(b, false).unwrap();
            program.finish(wait).unwrap();
            assert!(!program.is_idle(a).unwrap(), "the short kernel did not wait for the long one");
        }
    }
    assert!(polls > 3, "{polls}");
}

/// Launches in a row, with the same results and cycles as on a device without streams.
#[test]
fn kernels_have_the_cycles_of_a_launch_file() {
    let mut program = Program::new();
    let settings = program.driver.settings.clone();
    let (stream, out) = (program.stream(), program.alloc(128));
    for rounds in [10, 300, 20, 7] {
        program.spin(out, rounds, stream);
        program.add(out, out, rounds, stream);
    }
    program.synchronise();
    let report = program.driver.platform.finish();
    let cycles = |kernels: &[lab::KernelReport]| -> Vec<(u64, f64)> {
        kernels.iter().map(|kernel| (kernel.start_cycle, kernel.statistics.number("cycles"))).collect()
    };
    let ours = cycles(&report.devices[0].report.kernels);

    let setup: &Setup = &settings.devices[0];
    let mut device = SimulatedDevice::new(setup).unwrap();
    let module = device.load_module(&ModuleSource { name: "kernels", code: ModuleCode::Ptx(KERNELS) }).unwrap();
    let out = device.alloc("out", 128).unwrap().address;
    for rounds in [10_u32, 300, 20, 7] {
        let (address, number) = (out.to_le_bytes().to_vec(), rounds.to_le_bytes().to_vec());
        let spin = [address.clone(), number.clone()].map(ArgBytes::from_bytes);
        let add = [address.clone(), address, number].map(ArgBytes::from_bytes);
        for (kernel, args) in [("spin", &spin[..]), ("add", &add[..])] {
            let request = LaunchRequest {
                module,
                kernel,
                grid: isa::Dim3::new(1, 1, 1),
                block: isa::Dim3::new(32, 1, 1),
                dynamic_shared_bytes: 0,
                args,
                stream: 0,
                registers: ThreadRegisters::Estimated,
            };
            device.launch(&request).unwrap();
        }
    }
    device.synchronize().unwrap();
    assert_eq!(ours, cycles(device.kernel_reports()));
    assert_eq!(ours.len(), 8);
}

#[test]
fn copies_of_both_directions_overlap_with_each_other_and_with_kernels() {
    let mut program = Program::new();
    let bytes = 1 << 20;
    let (up, down, run) = (program.stream(), program.stream(), program.stream());
    let (to, from, out) = (program.alloc(bytes), program.alloc(bytes), program.alloc(256));
    let source = program.fake.put(&vec![1; bytes as usize]);
    let target = program.driver.mem_alloc_shared(bytes, cuda::memory::Place::Host, 0).unwrap();
    program.synchronise();
    let time = |program: &mut Program, streams: [u64; 3]| {
        let start = program.mark(streams[0]);
        for stream in [streams[1], streams[2]] {
            program.driver.stream_wait_event(stream, start, false).unwrap();
        }
        program.copy_in(to, source, bytes, streams[0]).unwrap();
        assert_eq!(program.copy_out(target, from, bytes, streams[1]), Ok(Wait::Nothing));
        program.spin(out, 10_000, streams[2]);
        program.order(streams[1], streams[0]);
        program.order(streams[2], streams[0]);
        let end = program.mark(streams[0]);
        program.between(start, end)
    };
    let together = time(&mut program, [up, down, run]);
    let copies_in_a_row = time(&mut program, [up, up, run]);
    let all_in_a_row = time(&mut program, [up, up, up]);
    let gpu = &program.driver.settings.devices[0].gpu;
    let copy = Link::of(gpu).cycles(Direction::ToDevice, bytes) as f64 / gpu.clocks.core_mhz;
    assert!((copies_in_a_row - 2.0 * copy).abs() < 0.2 * copy, "{copies_in_a_row} {copy}");
    assert!(together < 1.3 * copy && all_in_a_row > copies_in_a_row + 0.5 * copy, "{together} {all_in_a_row} {copy}");
}

#[test]
fn a_higher_priority_goes_first() {
    let mut program = Program::with("launch.max_concurrent_kernels=1");
    let low = program.stream_with(0, 0);
    let lower = program.stream_with(0, 7);
    let high = program.stream_with(0, -3);
    assert_eq!(program.driver.streams.facts(lower).unwrap().1, 0, "priorities are brought into the range");
    let out = program.alloc(512);
    let start = program.mark(low);
    let ends: Vec<u64> = [low, lower, high]
        .iter()
        .enumerate()
        .map(|(i, &stream)| {
            program.spin(out + 128 * i as u64, 100, stream);
            program.mark(stream)
        })
        .collect();
    let times: Vec<f64> = ends.into_iter().map(|end| program.between(start, end)).collect();
    assert!(times[2] < times[0] && times[0] < times[1], "{times:?}");
}

#[test]
fn work_of_a_stream_that_is_gone_is_done_and_waited_for() {
    let mut program = Program::new();
    let (stream, out) = (program.stream(), program.alloc(128));
    program.fill(out, 5, 32, stream);
    program.spin(out, 500, stream);
    program.stream_destroy(stream).unwrap();
    assert_eq!(program.stream_destroy(stream), Err(Error::INVALID_HANDLE));
    // In the default stream, which waits for streams that block.
    program.add(out, out, 1, 0);
    let spun = program.numbers(out, 32);
    let mut other = Program::new();
    let out = other.alloc(128);
    other.spin(out, 500, 0);
    other.add(out, out, 1, 0);
    assert_eq!(spun, other.numbers(out, 32));
}

#[test]
fn many_requests_take_bounded_memory() {
    let mut program = Program::new();
    let (a, b, out) = (program.stream(), program.stream(), program.alloc(256));
    let mut waits = 0;
    for i in 0..3 * MOST_PENDING as u32 {
        program.fill(out + 128 * u64::from(i % 2), i, 32, if i % 2 == 0 { a } else { b });
        let wait = program.driver.platform.backlog();
        if wait != Wait::Nothing {
            waits += 1;
            program.finish(wait).unwrap();
        }
    }
    assert!((2..=6).contains(&waits), "{waits}");
    program.synchronise();
    let last = 3 * MOST_PENDING as u32 - 1;
    assert_eq!((program.numbers(out, 1), program.numbers(out + 128, 1)), (vec![last - 1], vec![last]));
}

#[test]
fn the_same_program_takes_the_same_time() {
    let run = || {
        let mut program = Program::new();
        let (a, b, out) = (program.stream(), program.stream(), program.alloc(512));
        let start = program.mark(a);
        for i in 0..10 {
            program.spin(out, 100 + i, a);
            program.spin(out + 128, 150, b);
            program.call(i, b);
            program.fill(out + 256, 1, 32, 0);
        }
        let ends = [program.mark(a), program.mark(b), program.mark(0)];
        ends.map(|end| program.between(start, end).to_bits())
    };
    assert_eq!(run(), run());
}

#[test]
fn streams_wait_for_values_that_others_store() {
    let mut program = Program::new();
    let (a, b, flag) = (program.stream(), program.stream(), program.alloc(256));
    let wait =
        cuda::memory::value_work(&mut program.driver.platform, 0, flag, (3, false), Some(Comparison::AtLeast)).unwrap();
    program.driver.request_values(a, vec![wait]).unwrap();
    program.fill(flag + 128, 7, 1, a);
    program.spin(flag + 128, 500, b);
    let device = Wait::Device(0);
    assert_eq!(program.driver.platform.wait(device), Ok(Step::Elsewhere), "the program itself may store the value");
    let small = cuda::memory::value_work(&mut program.driver.platform, 0, flag, (2, false), None).unwrap();
    program.driver.request_values(b, vec![small]).unwrap();
    assert_eq!(program.driver.platform.wait(device), Ok(Step::Elsewhere));
    let stored = cuda::memory::value_work(&mut program.driver.platform, 0, flag, (4, true), None).unwrap();
    program.driver.request_values(b, vec![stored]).unwrap();
    program.synchronise();
    assert_eq!((program.numbers(flag, 1), program.numbers(flag + 128, 1)), (vec![4], vec![7]));
    assert_eq!(
        cuda::memory::value_work(&mut program.driver.platform, 0, flag + 2, (0, false), None).unwrap_err(),
        Error::INVALID_VALUE
    );
    assert_eq!(
        cuda::memory::value_work(&mut program.driver.platform, 0, 64, (0, false), None).unwrap_err(),
        Error::INVALID_VALUE
    );
}

#[test]
fn streams_of_a_device_that_was_reset_do_not_wait_for_former_work() {
    let mut program = Program::new();
    let out = program.alloc(128);
    program.fill(out, 1, 32, 0);
    program.add(out, 0x70_0000_0000, 0, 0);
    assert_eq!(program.finish(Wait::Device(0)), Err(Error::ILLEGAL_ADDRESS));
    assert_eq!(program.driver.mem_alloc(16), Err(Error::ILLEGAL_ADDRESS));
    program.driver.primary_reset(0).unwrap();
    let module = program.driver.modules.load(&mut program.driver.platform, KERNELS.as_bytes()).unwrap();
    program.spin = program.driver.modules.function(&mut program.driver.platform, module, "spin").unwrap();
    // The second operation has the number of the kernel that failed, if numbers begin anew.
    let (a, b, out) = (program.stream(), program.stream(), program.alloc(256));
    let start = program.mark(a);
    program.spin(out, 1000, a);
    program.spin(out + 128, 1000, b);
    let ends = [program.mark(a), program.mark(b)];
    let [first, second] = ends.map(|end| program.between(start, end));
    assert!(second < 1.2 * first, "{first} {second}");
}

#[test]
fn a_call_that_another_thread_makes_is_no_deadlock() {
    let mut program = Program::new();
    let (stream, out) = (program.stream(), program.alloc(128));
    program.call(1, stream);
    program.fill(out, 9, 32, stream);
    let Ok(Step::Call(device, op, call)) = program.driver.platform.wait(Wait::Device(0)) else { panic!("a call") };
    assert_eq!(call.argument, 1);
    // Another thread waits meanwhile, or asks.
    let wait = program.stream_wait(stream, false).unwrap();
    assert_eq!(program.driver.platform.wait(wait), Ok(Step::Elsewhere));
    let query = program.stream_wait(stream, true).unwrap();
    assert_eq!(program.driver.platform.wait(query), Ok(Step::Done));
    assert!(!program.is_idle(stream).unwrap());
    program.driver.platform.called(device, op);
    assert_eq!(program.driver.platform.wait(wait), Ok(Step::Done));
    assert_eq!(program.numbers(out, 1), [9]);
}

/// Memory of the program that is missing fails what waits for a copy, once, and not the device.
#[test]
fn a_copy_to_missing_memory_is_an_error_of_its_waits() {
    let mut program = Program::new();
    let (memory, stream) = (program.alloc(256), program.stream());
    // There is memory at both ends, and none between.
    let hole = program.fake.put(&[0; 16]);
    let end = program.fake.put(&[0; 16]) + 16;
    let wait = program.copy_out(hole, memory, end - hole, stream).unwrap();
    assert_eq!(program.finish(wait), Err(Error::INVALID_VALUE));
    program.synchronise();
    // Work that was requested after the copy, before its end.
    program.copy_out(hole, memory, end - hole, stream).unwrap();
    program.spin(memory, 10, stream);
    let wait = program.stream_wait(stream, false).unwrap();
    assert_eq!(program.finish(wait), Err(Error::INVALID_VALUE));
    assert_eq!(program.finish(Wait::Device(0)), Err(Error::INVALID_VALUE));
    program.synchronise();
    assert!(program.fake.messages().iter().any(|text| text.contains("host memory")));
}
