//! Memory in the order of streams, and memory of graphs.

use crate::fake::Program;
use cuda::graph::Task;
use cuda::{Error, Wait};

#[test]
fn memory_is_freed_when_the_stream_gets_there() {
    let mut program = Program::new();
    let (stream, out) = (program.stream(), program.alloc(128));
    let pool = program.driver.memory.default_pool(&program.driver.platform, 0).unwrap();
    let used = |program: &Program| [7, 8].map(|which| program.driver.memory.pool_attribute(pool, which).unwrap().0);
    let x = program.driver.mem_alloc_async(4096, None, stream).unwrap();
    assert_eq!(used(&program), [4096, 4096]);
    program.fill(x, 5, 32, stream);
    program.add(out, x, 1, stream);
    program.driver.mem_free_async(x, stream).unwrap();
    assert_eq!(used(&program), [0, 4096]);
    assert_eq!(program.driver.mem_free_async(x, stream), Err(Error::INVALID_VALUE));
    assert_eq!(program.driver.memory.owner_of(x, |_| true), Err(Error::INVALID_VALUE));
    assert_eq!(program.numbers(out, 1), [6]);
    // The stream has freed it: a copy from there has nothing to read.
    assert!(cuda::memory::plan_fill(&mut program.driver.platform, 0, (x, 0), (0, 4), [1, 1]).is_err());
    assert_eq!(program.driver.mem_alloc_async(0, None, stream), Err(Error::INVALID_VALUE));
    assert_eq!(program.driver.mem_free_async(64, stream), Err(Error::INVALID_VALUE));
}

#[test]
fn pools_have_attributes() {
    let mut program = Program::new();
    let stream = program.stream();
    let pool = program.driver.memory.pool_create(&program.driver.platform, 0).unwrap();
    assert_eq!(program.driver.memory.pool_create(&program.driver.platform, 3), Err(Error::INVALID_DEVICE));
    assert_eq!(program.driver.memory.pool_attribute(pool, 1), Ok((1, false)));
    program.driver.memory.set_pool_attribute(pool, 4, 1 << 40).unwrap();
    assert_eq!(program.driver.memory.pool_attribute(pool, 4), Ok((1 << 40, true)));
    assert_eq!(program.driver.memory.set_pool_attribute(pool, 8, 5), Err(Error::INVALID_VALUE));
    program.driver.memory.set_present_pool(&program.driver.platform, 0, pool).unwrap();
    let x = program.driver.mem_alloc_async(100, None, stream).unwrap();
    assert_eq!(program.driver.memory.pool_attribute(pool, 7), Ok((100, true)));
    program.driver.memory.release(&mut program.driver.platform, x);
    program.driver.memory.pool_destroy(pool).unwrap();
    let default = program.driver.memory.default_pool(&program.driver.platform, 0).unwrap();
    assert_eq!(program.driver.memory.present_pool(&program.driver.platform, 0), Ok(default));
    assert_eq!(program.driver.memory.pool_destroy(default), Err(Error::INVALID_VALUE));
    assert_eq!(program.driver.mem_alloc_async(100, Some(pool), stream), Err(Error::INVALID_VALUE));
}

#[test]
fn memory_keeps_its_contents_from_a_mapping_to_the_next() {
    const SIZE: u64 = cuda::memory::GRANULARITY_BYTES;
    let mut program = Program::new();
    let (memory, range) = (
        program.driver.memory.physical_create(&program.driver.platform, 0, SIZE).unwrap(),
        program.driver.memory.reserve(&program.driver.platform, 3 * SIZE, 0).unwrap(),
    );
    assert_eq!(program.driver.memory.physical_create(&program.driver.platform, 0, 100), Err(Error::INVALID_VALUE));
    assert!(
        cuda::memory::plan_fill(&mut program.driver.platform, 0, (range, 0), (0, 4), [1, 1]).is_err(),
        "nothing is mapped yet"
    );
    program.driver.memory.map(&mut program.driver.platform, range + SIZE, SIZE, 0, memory).unwrap();
    assert_eq!(
        program.driver.memory.map(&mut program.driver.platform, range, SIZE, 0, memory),
        Err(Error::NOT_SUPPORTED),
        "a second place"
    );
    assert_eq!(
        program.driver.memory.map(&mut program.driver.platform, range + 3 * SIZE, SIZE, 0, memory),
        Err(Error::INVALID_VALUE)
    );
    program.fill(range + SIZE, 7, 64, 0);
    program.synchronise();
    assert_eq!(program.driver.memory.owner_of(range + SIZE, |_| true), Err(Error::INVALID_VALUE), "no allocation");
    assert_eq!(program.driver.memory.unreserve(range, 3 * SIZE), Err(Error::INVALID_VALUE));
    assert_eq!(
        program.driver.memory.unmap(&mut program.driver.platform, range, 2 * SIZE),
        Err(Error::INVALID_VALUE),
        "a gap"
    );
    program.driver.memory.unmap(&mut program.driver.platform, range + SIZE, SIZE).unwrap();
    let second = program.driver.memory.physical_create(&program.driver.platform, 0, SIZE).unwrap();
    program.driver.memory.map(&mut program.driver.platform, range, SIZE, 0, second).unwrap();
    program.driver.memory.map(&mut program.driver.platform, range + SIZE, SIZE, 0, memory).unwrap();
    program.add(range, range + SIZE, 1, 0);
    assert_eq!((program.numbers(range, 1), program.numbers(range + SIZE, 1)), (vec![8], vec![7]));
    program.driver.memory.physical_release(memory).unwrap();
    assert_eq!(program.driver.memory.physical_release(memory), Err(Error::INVALID_VALUE));
    assert_eq!(program.numbers(range + SIZE, 1), [7], "the mapping still has it");
    program.driver.memory.unmap(&mut program.driver.platform, range, 2 * SIZE).unwrap();
    program.driver.memory.unreserve(range, 3 * SIZE).unwrap();
    assert_eq!(program.driver.memory.reserve(&program.driver.platform, SIZE, 0), Ok(range));
}

#[test]
fn memory_of_a_graph_stays_between_its_launches() {
    let mut program = Program::new();
    let (stream, out) = (program.stream(), program.alloc(128));
    let graph = program.graph();
    let (alloc, x) = program
        .driver
        .graphs
        .add_allocation(&mut program.driver.platform, &mut program.driver.memory, graph, &[], 256)
        .unwrap();
    let fill = cuda::memory::plan_fill(&mut program.driver.platform, 0, (x, 0), (8, 4), [32, 1]).unwrap();
    let fill = program.node(graph, &[alloc], Task::Work(cuda::work::Work::Fill(fill))).unwrap();
    assert_eq!(program.driver.graphs.clone_graph(&mut program.driver.memory, graph), Err(Error::NOT_SUPPORTED));
    let executable = program.instantiate(graph, 1).unwrap();
    for round in 0..2 {
        program.driver.graph_launch(executable, stream).unwrap();
        program.add(out, x, round, stream);
        program.driver.mem_free_async(x, stream).unwrap();
        assert_eq!(program.numbers(out, 1), [8 + round as u32]);
    }
    assert_eq!(program.driver.memory.graph_bytes(0), 256);
    // If the program requests it, a launch frees the memory left by the previous one.
    program.driver.graph_launch(executable, stream).unwrap();
    program.driver.graph_launch(executable, stream).unwrap();
    program.driver.mem_free_async(x, stream).unwrap();
    program
        .driver
        .graphs
        .executable_destroy(&mut program.driver.platform, &mut program.driver.memory, executable)
        .unwrap();
    let executable = program.instantiate(graph, 0).unwrap();
    program.driver.graph_launch(executable, stream).unwrap();
    assert_eq!(program.driver.graph_launch(executable, stream), Err(Error::INVALID_VALUE));
    program.driver.mem_free_async(x, stream).unwrap();
    program.driver.graph_launch(executable, stream).unwrap();
    program.driver.mem_free_async(x, stream).unwrap();
    // A node of another graph may free it, once.
    let other = program.graph();
    program.driver.graphs.add_free(&mut program.driver.memory, other, &[], x).unwrap();
    assert_eq!(program.driver.graphs.add_free(&mut program.driver.memory, other, &[], x), Err(Error::INVALID_VALUE));
    let other = program.instantiate(other, 0).unwrap();
    for _ in 0..2 {
        program.driver.graph_launch(executable, stream).unwrap();
        program.driver.graph_launch(other, stream).unwrap();
    }
    let free = program.driver.graphs.add_free(&mut program.driver.memory, graph, &[fill], out);
    assert_eq!(free, Err(Error::INVALID_VALUE), "no memory of a graph");
    program.driver.graphs.destroy(&mut program.driver.platform, &mut program.driver.memory, graph).unwrap();
    assert!(program.driver.memory.find(x).is_some(), "the executable graph still has it");
    program
        .driver
        .graphs
        .executable_destroy(&mut program.driver.platform, &mut program.driver.memory, executable)
        .unwrap();
    assert!(program.driver.memory.find(x).is_none());
    program.finish(Wait::Device(0)).unwrap();
}
