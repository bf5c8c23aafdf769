//! Arrays, textures, and the memory of the board.

use crate::fake::Program;
use driver::Error;
use driver::image::ArrayDescriptor;
use driver::image::{Resource, Sampling};

const FLOATS: ArrayDescriptor =
    ArrayDescriptor { width: 1024, height: 1024, depth: 0, format: 0x20, channels: 1, flags: 0 };
const CLAMPED: Sampling = Sampling { address: [1; 3], filter: 0, flags: 0, anisotropy: 0, border: [0.0; 4] };

fn texture(program: &mut Program, array: u64) -> u64 {
    let said = [Vec::new(), Vec::new(), Vec::new()];
    program.driver.texture_create(&Resource::Array(array), Some(&CLAMPED), None, said).unwrap()
}

#[test]
fn an_object_is_used_again_when_nothing_runs() {
    let mut program = Program::new();
    let array = program.driver.array_create(ArrayDescriptor { width: 8, height: 8, ..FLOATS }).unwrap();
    let (stream, out) = (program.stream(), program.alloc(128));
    let first = texture(&mut program, array);
    program.spin(out, 100, stream);
    program.driver.texture_destroy(first, false).unwrap();
    assert_eq!(program.driver.texture_destroy(first, false), Err(Error::INVALID_VALUE));
    let second = texture(&mut program, array);
    assert_ne!(second, first, "the kernel that runs may read the first one");
    program.synchronise();
    // Objects that programs make and destroy in a loop take no more room.
    let mut last = texture(&mut program, array);
    assert_eq!(last, first);
    for _ in 0..10 {
        program.driver.texture_destroy(last, false).unwrap();
        last = texture(&mut program, array);
        assert!(last <= second + 1);
    }
}

#[test]
fn the_board_has_so_much_memory_and_no_more() {
    let mut program = Program::with("board.memory_mib=64");
    let half = 32 << 20;
    assert_eq!(program.driver.mem_info(), Ok((2 * half, 2 * half)));
    let x = program.alloc(half);
    assert_eq!(program.driver.mem_alloc(half + 1), Err(Error::OUT_OF_MEMORY));
    // 4 MiB each.
    let arrays: Vec<u64> = (0..8).map(|_| program.driver.array_create(FLOATS).unwrap()).collect();
    assert_eq!(program.driver.mem_info(), Ok((0, 2 * half)));
    assert_eq!(program.driver.array_create(FLOATS), Err(Error::OUT_OF_MEMORY));
    assert_eq!(program.driver.mem_alloc(1), Err(Error::OUT_OF_MEMORY));
    program.driver.array_destroy(arrays[0]).unwrap();
    assert_eq!(program.driver.array_destroy(arrays[0]), Err(Error::INVALID_HANDLE));
    program.driver.release(x);
    assert_eq!(program.driver.mem_info(), Ok((half + (4 << 20), 2 * half)));
    // The end of the context frees the rest.
    program.driver.primary_reset(0).unwrap();
    assert_eq!(program.driver.mem_info(), Ok((2 * half, 2 * half)));
    assert_eq!(program.driver.array(arrays[1]).err(), Some(Error::INVALID_HANDLE));
}

#[test]
fn a_mipmapped_array_owns_its_level() {
    let mut program = Program::new();
    let mipmapped = program.driver.mipmapped_create(FLOATS, 1).unwrap();
    let level = program.driver.mipmapped_level(mipmapped, 0).unwrap();
    assert_eq!(program.driver.array_destroy(level), Err(Error::INVALID_HANDLE));
    assert_eq!(program.driver.mipmapped_create(FLOATS, 11), Err(Error::NOT_SUPPORTED));
    assert_eq!(program.driver.mipmapped_create(FLOATS, 0), Err(Error::INVALID_VALUE));
    program.driver.mipmapped_destroy(mipmapped).unwrap();
    assert_eq!(program.driver.array(level).err(), Some(Error::INVALID_HANDLE));
    assert_eq!(program.driver.mipmapped_destroy(mipmapped), Err(Error::INVALID_HANDLE));
}
