//! Streams that capture.

use crate::fake::Program;
use cuda::stream::{Mode, exchange_mode};
use cuda::work::Work;
use cuda::{Error, Wait};

#[test]
fn a_capture_is_done_when_its_graph_is_launched() {
    let mut program = Program::new();
    let (a, b, x) = (program.stream(), program.stream(), program.alloc(512));
    let source = program.fake.put(&[3; 128]);
    program.fill(x, 0, 96, 0);
    program.driver.capture_begin(a, Mode::Global, None).unwrap();
    assert_eq!(program.capture(a).unwrap().status, 1);
    program.copy_in(x, source, 128, a).unwrap();
    program.order(a, b);
    assert_eq!(program.capture(b).unwrap().id, program.capture(a).unwrap().id);
    program.add(x + 128, x, 1, a);
    program.add(x + 256, x, 2, b);
    program.call(9, b);
    program.order(b, a);
    let graph = program.driver.capture_end(a).unwrap();
    assert_eq!(program.capture(b).unwrap().status, 0);
    let kinds: Vec<u32> = program
        .driver
        .graphs
        .nodes_of(graph)
        .unwrap()
        .iter()
        .map(|&n| program.driver.graphs.node(n).unwrap().task.kind())
        .collect();
    assert_eq!(kinds, [1, 0, 0, 3]);
    assert_eq!(program.driver.graphs.edges(graph).unwrap().len(), 3);
    program.synchronise();
    assert_eq!(program.numbers(x, 1), [0], "nothing was done yet");

    let executable = program.instantiate(graph, 0).unwrap();
    // The copy reads host memory at the launch.
    cuda::Host::write(&program.fake, source, &[4; 128]);
    program.driver.graph_launch(executable, a).unwrap();
    program.synchronise();
    assert_eq!((program.numbers(x, 1), program.calls.clone()), (vec![0x0404_0404], vec![9]));
    assert_eq!((program.numbers(x + 128, 1), program.numbers(x + 256, 1)), (vec![0x0404_0405], vec![0x0404_0406]));

    // A launch within a capture is a graph within the graph.
    program.driver.capture_begin(b, Mode::Relaxed, None).unwrap();
    program.driver.graph_launch(executable, b).unwrap();
    let outer = program.driver.capture_end(b).unwrap();
    let outer = program.instantiate(outer, 0).unwrap();
    program.driver.graph_launch(outer, b).unwrap();
    program.synchronise();
    assert_eq!(program.calls, [9, 9]);
}

/// Every error of captures, each by what a program does wrong.
#[test]
fn illegal_calls_have_their_errors_and_invalidate() {
    let mut program = Program::new();
    let (a, b, c) = (program.stream(), program.stream(), program.stream_with(1, 0));
    let out = program.alloc(128);
    let begin = |program: &mut Program, stream| program.driver.capture_begin(stream, Mode::Global, None).unwrap();
    let invalid = |program: &mut Program, stream| {
        assert_eq!(program.capture(stream).unwrap().status, 2);
        assert_eq!(program.driver.capture_end(stream), Err(Error::STREAM_CAPTURE_INVALIDATED));
        assert_eq!(program.capture(stream).unwrap().status, 0);
    };
    assert_eq!(program.driver.capture_begin(0, Mode::Global, None), Err(Error::STREAM_CAPTURE_UNSUPPORTED));
    assert_eq!(program.driver.capture_end(a), Err(Error::ILLEGAL_STATE));

    // 900: waits, and what may wait.
    begin(&mut program, a);
    assert_eq!(program.driver.capture_begin(a, Mode::Global, None), Err(Error::ILLEGAL_STATE));
    assert_eq!(program.stream_wait(a, false), Err(Error::STREAM_CAPTURE_UNSUPPORTED));
    // 901: work after that.
    let request = program.request(program.spin, &[out, 1], a);
    assert_eq!(program.driver.launch(&request), Err(Error::STREAM_CAPTURE_INVALIDATED));
    invalid(&mut program, a);
    begin(&mut program, a);
    assert_eq!(program.driver.mem_alloc(16), Err(Error::STREAM_CAPTURE_UNSUPPORTED));
    invalid(&mut program, a);
    begin(&mut program, a);
    assert_eq!(exchange_mode(Mode::Relaxed), Mode::Global);
    assert!(program.driver.mem_alloc(16).is_ok());
    assert_eq!(exchange_mode(Mode::Global), Mode::Relaxed);
    assert_eq!(program.driver.streams.refuse_captures_on(0), Err(Error::STREAM_CAPTURE_UNSUPPORTED));
    invalid(&mut program, a);
    begin(&mut program, a);
    assert_eq!(program.stream_destroy(a), Err(Error::STREAM_CAPTURE_UNSUPPORTED));
    invalid(&mut program, a);

    // 902: two captures meet.
    begin(&mut program, a);
    begin(&mut program, b);
    let event = program.mark(a);
    assert_eq!(program.driver.stream_wait_event(b, event, false), Err(Error::STREAM_CAPTURE_MERGE));
    invalid(&mut program, a);
    invalid(&mut program, b);

    // 903: the end in another stream. 904: a stream that was not waited for.
    begin(&mut program, a);
    program.order(a, b);
    assert_eq!(program.driver.capture_end(b), Err(Error::STREAM_CAPTURE_UNMATCHED));
    invalid(&mut program, a);
    begin(&mut program, a);
    program.order(a, b);
    program.spin(out, 1, b);
    assert_eq!(program.driver.capture_end(a), Err(Error::STREAM_CAPTURE_UNJOINED));
    assert_eq!(program.capture(b).unwrap().status, 0);

    // 905: a wait for work outside.
    let outside = program.mark(b);
    begin(&mut program, a);
    assert_eq!(program.driver.stream_wait_event(a, outside, false), Err(Error::STREAM_CAPTURE_ISOLATION));
    invalid(&mut program, a);

    // 906: the legacy default stream would wait for the capture; not for one of a stream that does not block.
    begin(&mut program, c);
    program.fill(out, 1, 1, 0);
    assert!(program.driver.capture_end(c).is_ok());
    begin(&mut program, a);
    assert_eq!(program.capture(0), Err(Error::STREAM_CAPTURE_IMPLICIT));
    assert_eq!(program.driver.fill(out, 0, (1, 4), [1, 1], 0), Err(Error::STREAM_CAPTURE_IMPLICIT));
    invalid(&mut program, a);

    // 907: an event of a capture.
    begin(&mut program, a);
    let event = program.mark(a);
    assert_eq!(program.driver.streams.event_wait(event, true), Err(Error::CAPTURED_EVENT));
    assert_eq!(
        program.driver.streams.event_elapsed(&program.driver.platform, event, outside),
        Err(Error::CAPTURED_EVENT)
    );
    assert!(program.driver.capture_end(a).is_ok());
    assert_eq!(program.driver.stream_wait_event(b, event, false), Err(Error::CAPTURED_EVENT));
    program.driver.event_record(event, a, false).unwrap();
    assert!(program.driver.streams.event_wait(event, false).is_ok());

    // 908: the end in another thread.
    let context = cuda::platform::current().unwrap_or(0);
    begin(&mut program, a);
    let driver = &mut program.driver;
    let elsewhere = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                driver.platform.set_current(context).unwrap();
                driver.capture_end(a)
            })
            .join()
            .unwrap()
    });
    assert_eq!(elsewhere, Err(Error::STREAM_CAPTURE_WRONG_THREAD));
    assert!(program.driver.capture_end(a).is_ok());
    program.synchronise();
}

/// As NVIDIA's sample graphMemoryNodes does: the second stream is destroyed before the capture ends.
#[test]
fn a_stream_that_takes_part_in_a_capture_can_be_destroyed() {
    let mut program = Program::new();
    let (a, b, c, x) = (program.stream(), program.stream(), program.stream(), program.alloc(512));
    program.driver.capture_begin(a, Mode::Global, None).unwrap();
    program.order(a, b);
    program.add(x, x, 1, b);
    program.order(b, a);
    assert_eq!(program.stream_destroy(b), Ok(()));
    let graph = program.driver.capture_end(a).unwrap();
    assert_eq!(program.driver.graphs.nodes_of(graph).unwrap().len(), 1);

    // Its work must have been waited for all the same.
    program.driver.capture_begin(a, Mode::Global, None).unwrap();
    program.order(a, c);
    program.add(x, x, 1, c);
    assert_eq!(program.stream_destroy(c), Ok(()));
    assert_eq!(program.driver.capture_end(a), Err(Error::STREAM_CAPTURE_UNJOINED));
}

#[test]
fn captures_can_be_led_by_hand() {
    let mut program = Program::new();
    let (a, x) = (program.stream(), program.alloc(512));
    let graph = program.graph();
    let first = program.node(graph, &[], cuda::graph::Task::Work(Work::Nothing)).unwrap();
    program.driver.capture_begin(a, Mode::ThreadLocal, Some((graph, vec![first]))).unwrap();
    assert_eq!(program.capture(a).unwrap().after.1, 1);
    program.add(x, x, 1, a);
    program.driver.capture_follow(a, &[first], true).unwrap();
    program.add(x + 128, x, 1, a);
    let followers = program.driver.graphs.node_followers(first).unwrap();
    assert_eq!(followers.len(), 2);
    assert_eq!(program.driver.capture_follow(a, &[x], false), Err(Error::INVALID_VALUE));
    program.driver.capture_follow(a, &followers[..1], false).unwrap();
    let event = program.event();
    program.driver.event_record(event, a, true).unwrap();
    assert_eq!(program.driver.stream_wait_event(a, event, true), Ok(Wait::Nothing));
    assert_eq!(program.driver.capture_end(a), Ok(graph));
    let last = *program.driver.graphs.nodes_of(graph).unwrap().last().unwrap();
    assert_eq!(program.driver.graphs.node(last).unwrap().task.kind(), 6);
    let record = program.driver.graphs.node(last).unwrap().after[0];
    assert_eq!(program.driver.graphs.node(record).unwrap().task.kind(), 7);
    assert_eq!(program.driver.graphs.node(record).unwrap().after.len(), 2);
}
