//! Graphs that programs build.

use crate::fake::Program;
use cuda::Error;
use cuda::graph::Task;
use cuda::work::{Call, Work};

impl Program {
    fn kernel_task(&mut self, function: u64, args: &[u64]) -> Task {
        let request = self.request(function, args, 0);
        Task::Work(Work::Launch(self.driver.prepare(&request).unwrap()))
    }

    fn add_task(&mut self, to: u64, from: u64, n: u64) -> Task {
        self.kernel_task(self.add, &[to, from, n])
    }

    fn fill_task(&mut self, address: u64, value: u32, count: u64) -> Task {
        Task::Work(Work::Fill(
            cuda::memory::plan_fill(&mut self.driver.platform, 0, (address, 0), (value, 4), [count, 1]).unwrap(),
        ))
    }

    /// Microseconds of a launch.
    fn launch_time(&mut self, executable: u64, stream: u64) -> f64 {
        self.synchronise();
        let start = self.mark(stream);
        self.driver.graph_launch(executable, stream).unwrap();
        let end = self.mark(stream);
        self.between(start, end)
    }
}

#[test]
fn nodes_run_after_those_that_they_follow() {
    let mut program = Program::new();
    let (stream, x) = (program.stream(), program.alloc(512));
    let graph = program.graph();
    let fill = program.fill_task(x, 10, 32);
    let first = program.node(graph, &[], fill).unwrap();
    let task = program.add_task(x + 128, x, 1);
    let left = program.node(graph, &[first], task).unwrap();
    let task = program.add_task(x + 256, x, 2);
    let right = program.node(graph, &[first], task).unwrap();
    let call = Task::Work(Work::Call(Call { function: 1, argument: 77, stream: None }));
    let last = program.node(graph, &[left], call).unwrap();
    program.driver.graphs.add_dependences(graph, &[(right, last)]).unwrap();
    assert_eq!(program.driver.graphs.roots(graph), Ok(vec![first]));
    assert_eq!(program.driver.graphs.edges(graph).unwrap().len(), 4);
    assert_eq!(program.driver.graphs.node_followers(first), Ok(vec![left, right]));
    assert_eq!(program.driver.graphs.add_dependences(graph, &[(right, last)]), Err(Error::INVALID_VALUE));

    let executable = program.instantiate(graph, 0).unwrap();
    program.driver.graphs.destroy(&mut program.driver.platform, &mut program.driver.memory, graph).unwrap();
    assert_eq!(program.driver.graphs.nodes_of(graph), Err(Error::INVALID_VALUE));
    program.driver.graph_launch(executable, stream).unwrap();
    program.driver.graph_launch(executable, stream).unwrap();
    program.synchronise();
    assert_eq!(program.calls, [77, 77]);
    assert_eq!((program.numbers(x + 128, 1), program.numbers(x + 256, 1)), (vec![11], vec![12]));
    program
        .driver
        .graphs
        .executable_destroy(&mut program.driver.platform, &mut program.driver.memory, executable)
        .unwrap();
    assert_eq!(program.driver.graph_launch(executable, stream), Err(Error::INVALID_VALUE));
}

#[test]
fn independent_nodes_overlap_and_launches_of_a_graph_do_not() {
    let mut program = Program::new();
    let (stream, x) = (program.stream(), program.alloc(512));
    let mut time = |chained: bool| {
        let graph = program.graph();
        let mut after = Vec::new();
        for i in 0..3 {
            let task = program.kernel_task(program.spin, &[x + 128 * i, 1500]);
            let node = program.node(graph, &after, task).unwrap();
            after = if chained { vec![node] } else { Vec::new() };
        }
        let executable = program.instantiate(graph, 0).unwrap();
        program.launch_time(executable, stream)
    };
    let (apart, together) = (time(true), time(false));
    assert!(apart > 2.8 * together, "{apart} {together}");

    let graph = program.graph();
    let task = program.kernel_task(program.spin, &[x, 1500]);
    program.node(graph, &[], task).unwrap();
    let executable = program.instantiate(graph, 0).unwrap();
    let other = program.stream();
    program.synchronise();
    let start = program.mark(stream);
    program.driver.graph_launch(executable, stream).unwrap();
    program.driver.graph_launch(executable, other).unwrap();
    let end = program.mark(other);
    assert!(program.between(start, end) > 1.8 * together);
}

#[test]
fn graphs_within_graphs_and_clones() {
    let mut program = Program::new();
    let (stream, x) = (program.stream(), program.alloc(512));
    let child = program.graph();
    let task = program.add_task(x, x, 1);
    let inner = program.node(child, &[], task).unwrap();
    let task = program.add_task(x, x, 2);
    program.node(child, &[inner], task).unwrap();

    let graph = program.graph();
    let task = program.fill_task(x, 100, 32);
    let fill = program.node(graph, &[], task).unwrap();
    let both = program.driver.graphs.add_child(&mut program.driver.memory, graph, &[fill], child).unwrap();
    let task = program.add_task(x + 128, x, 0);
    program.node(graph, &[both], task).unwrap();
    let clone = program.driver.graphs.clone_graph(&mut program.driver.memory, graph).unwrap();
    let fill_of_clone = program.driver.graphs.node_in_clone(fill, clone).unwrap();
    let task = program.fill_task(x, 200, 32);
    program.driver.graphs.node_set(&mut program.driver.memory, fill_of_clone, task).unwrap();
    let Task::Child(owned) = program.driver.graphs.node(both).unwrap().task else { panic!("a graph") };
    assert_ne!(owned, child);
    assert_eq!(
        program.driver.graphs.destroy(&mut program.driver.platform, &mut program.driver.memory, owned),
        Err(Error::INVALID_VALUE),
        "the node owns it"
    );

    for (graph, sum) in [(graph, 103), (clone, 203)] {
        let executable = program.instantiate(graph, 0).unwrap();
        program.driver.graph_launch(executable, stream).unwrap();
        program.synchronise();
        assert_eq!(program.numbers(x + 128, 2), [sum, sum]);
    }
}

#[test]
fn executable_graphs_can_be_changed() {
    let mut program = Program::new();
    let (stream, x) = (program.stream(), program.alloc(512));
    let build = |program: &mut Program, n: u64, kernels: usize| {
        let graph = program.graph();
        let task = program.fill_task(x, 0, 32);
        let mut nodes = vec![program.node(graph, &[], task).unwrap()];
        for _ in 0..kernels {
            let task = program.add_task(x, x, n);
            nodes.push(program.node(graph, &nodes[nodes.len() - 1..], task).unwrap());
        }
        (graph, nodes)
    };
    let (graph, nodes) = build(&mut program, 1, 2);
    let executable = program.instantiate(graph, 0).unwrap();
    let result = |program: &mut Program| {
        program.driver.graph_launch(executable, stream).unwrap();
        program.synchronise();
        program.numbers(x, 1)[0]
    };
    assert_eq!(result(&mut program), 2);
    // The graph is no longer connected to it.
    let task = program.add_task(x, x, 50);
    program.driver.graphs.node_set(&mut program.driver.memory, nodes[1], task).unwrap();
    assert_eq!(result(&mut program), 2);
    let task = program.add_task(x, x, 10);
    program.driver.graphs.executable_set(executable, nodes[1], task).unwrap();
    assert_eq!(result(&mut program), 11);
    let wrong = program.fill_task(x, 0, 1);
    assert_eq!(program.driver.graphs.executable_set(executable, nodes[1], wrong), Err(Error::INVALID_VALUE));
    *program.driver.graphs.step_enabled(executable, nodes[1]).unwrap() = false;
    assert_eq!(result(&mut program), 1);
    *program.driver.graphs.step_enabled(executable, nodes[1]).unwrap() = true;

    let (other, _) = build(&mut program, 7, 2);
    assert_eq!(program.driver.graphs.executable_update(executable, other), Ok(None));
    assert_eq!(result(&mut program), 14);
    let (larger, _) = build(&mut program, 7, 3);
    let difference = program.driver.graphs.executable_update(executable, larger).unwrap().unwrap();
    assert_eq!(difference.reason, 2, "another topology");
    let (kinds, nodes) = build(&mut program, 7, 1);
    let task = program.fill_task(x, 0, 32);
    let node = program.node(kinds, &nodes[1..], task).unwrap();
    let difference = program.driver.graphs.executable_update(executable, kinds).unwrap().unwrap();
    assert_eq!((difference.reason, difference.node), (3, node), "another kind");
    assert_eq!(result(&mut program), 14);
}

#[test]
fn circles_and_foreign_nodes_are_refused() {
    let mut program = Program::new();
    let graph = program.graph();
    let nothing = || Task::Work(Work::Nothing);
    let a = program.node(graph, &[], nothing()).unwrap();
    let b = program.node(graph, &[a], nothing()).unwrap();
    let other = program.graph();
    assert_eq!(program.node(other, &[a], nothing()), Err(Error::INVALID_VALUE));
    assert_eq!(program.node(graph, &[a, a], nothing()), Err(Error::INVALID_VALUE));
    assert_eq!(program.node(a, &[], nothing()), Err(Error::INVALID_VALUE));
    assert_eq!(program.driver.graphs.add_dependences(graph, &[(a, a)]), Err(Error::INVALID_VALUE));
    program.driver.graphs.add_dependences(graph, &[(b, a)]).unwrap();
    assert_eq!(program.instantiate(graph, 0), Err(Error::INVALID_VALUE));
    program.driver.graphs.remove_dependences(graph, &[(b, a)]).unwrap();
    program.driver.graphs.node_destroy(&mut program.driver.platform, &mut program.driver.memory, a).unwrap();
    assert_eq!(program.driver.graphs.node(b).unwrap().after, [0_u64; 0]);
    assert_eq!(program.instantiate(graph, 4), Err(Error::NOT_SUPPORTED), "launches by the device");
    assert_eq!(program.instantiate(graph, 64), Err(Error::INVALID_VALUE));
    program.instantiate(graph, 0).unwrap();
}

#[test]
fn objects_of_the_program_live_as_long_as_graphs_refer_to_them() {
    let mut program = Program::new();
    let (stream, x) = (program.stream(), program.alloc(128));
    let destructor = Call { function: 1, argument: 5, stream: None };
    assert_eq!(
        program.driver.graphs.user_object_create(&program.driver.platform, destructor, 0),
        Err(Error::INVALID_VALUE)
    );
    let object = program.driver.graphs.user_object_create(&program.driver.platform, destructor, 2).unwrap();
    let graph = program.graph();
    let task = program.kernel_task(program.spin, &[x, 100]);
    program.node(graph, &[], task).unwrap();
    assert_eq!(program.driver.graphs.retain_object(graph, object, 3, true), Err(Error::INVALID_VALUE));
    program.driver.graphs.retain_object(graph, object, 1, true).unwrap();
    program.driver.graphs.user_object_release(&mut program.driver.platform, object, 1, &[]).unwrap();
    let clone = program.driver.graphs.clone_graph(&mut program.driver.memory, graph).unwrap();
    program.driver.graphs.release_object(&mut program.driver.platform, graph, object, 1).unwrap();
    assert_eq!(
        program.driver.graphs.release_object(&mut program.driver.platform, graph, object, 1),
        Err(Error::INVALID_VALUE)
    );
    let executable = program.instantiate(clone, 0).unwrap();
    program.driver.graphs.destroy(&mut program.driver.platform, &mut program.driver.memory, clone).unwrap();
    program.synchronise();
    assert_eq!(program.calls, [0_u64; 0]);
    program.driver.graph_launch(executable, stream).unwrap();
    program
        .driver
        .graphs
        .executable_destroy(&mut program.driver.platform, &mut program.driver.memory, executable)
        .unwrap();
    assert_eq!(program.driver.graphs.user_object_retain(object, 1), Err(Error::INVALID_VALUE));
    program.synchronise();
    assert_eq!(program.calls, [5]);
}

#[test]
fn nodes_of_kernels_can_be_made_cooperative() {
    let mut program = Program::new();
    let x = program.alloc(128);
    let graph = program.graph();
    let mut node = |grid: u32| {
        let request = cuda::module::Request { grid: [grid, 1, 1], ..program.request(program.add, &[x, x, 1], 0) };
        let task = Task::Work(Work::Launch(program.driver.prepare(&request).unwrap()));
        program.node(graph, &[], task).unwrap()
    };
    let (small, large) = (node(1), node(100_000));
    let yes = vec![1, 0, 0, 0];
    program
        .driver
        .graphs
        .node_set_attribute(&mut program.driver.platform, &mut program.driver.memory, small, 2, yes.clone())
        .unwrap();
    let Task::Work(Work::Launch(launch)) = &program.driver.graphs.node(small).unwrap().task else { panic!("a kernel") };
    assert!(launch.cooperative);
    assert_eq!(
        program.driver.graphs.node_set_attribute(
            &mut program.driver.platform,
            &mut program.driver.memory,
            large,
            2,
            yes
        ),
        Err(Error::COOPERATIVE_LAUNCH_TOO_LARGE)
    );
}

#[test]
fn events_are_recorded_and_waited_for_by_nodes() {
    let mut program = Program::new();
    let (a, b, x) = (program.stream(), program.stream(), program.alloc(512));
    let (begun, ended) = (program.event(), program.event());
    let graph = program.graph();
    let wait = program.node(graph, &[], Task::Wait(begun)).unwrap();
    let task = program.add_task(x + 128, x, 5);
    let kernel = program.node(graph, &[wait], task).unwrap();
    program.node(graph, &[kernel], Task::Record(ended)).unwrap();
    let executable = program.instantiate(graph, 0).unwrap();
    let start = program.mark(a);
    program.spin(x + 256, 1000, a);
    program.fill(x, 1, 32, a);
    program.driver.event_record(begun, a, false).unwrap();
    program.driver.graph_launch(executable, b).unwrap();
    assert_eq!(program.driver.streams.event_elapsed(&program.driver.platform, start, ended), Err(Error::NOT_READY));
    let (early, late) = (program.between(start, begun), program.between(start, ended));
    assert!(early > 0.0 && late > early, "{early} {late}");
    assert_eq!(program.numbers(x + 128, 1), [6]);
}
