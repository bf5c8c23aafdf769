//! Arrays, textures, and the memory of the board.

use crate::fake::Program;
use cuda::image::{ArrayDescriptor, Resource, Sampling};
use cuda::{Error, Wait};

const FLOATS: ArrayDescriptor =
    ArrayDescriptor { width: 1024, height: 1024, depth: 0, format: 0x20, channels: 1, flags: 0 };
const CLAMPED: Sampling = Sampling { address: [1; 3], filter: 0, flags: 0, anisotropy: 0, border: [0.0; 4] };

fn texture(program: &mut Program, array: u64) -> u64 {
    let said = [Vec::new(), Vec::new(), Vec::new()];
    program
        .driver
        .images
        .texture_create(&mut program.driver.platform, &Resource::Array(array), Some(&CLAMPED), None, said)
        .unwrap()
}

#[test]
fn an_object_is_used_again_when_nothing_runs() {
    let mut program = Program::new();
    let array = program
        .driver
        .images
        .array_create(
            &mut program.driver.platform,
            &mut program.driver.memory,
            ArrayDescriptor { width: 8, height: 8, ..FLOATS },
        )
        .unwrap();
    let (stream, out) = (program.stream(), program.alloc(128));
    let first = texture(&mut program, array);
    program.spin(out, 100, stream);
    program.driver.images.texture_destroy(&program.driver.platform, first, false).unwrap();
    assert_eq!(
        program.driver.images.texture_destroy(&program.driver.platform, first, false),
        Err(Error::INVALID_VALUE)
    );
    let second = texture(&mut program, array);
    assert_ne!(second, first, "the kernel that runs may read the first one");
    program.synchronise();
    // Objects that programs make and destroy in a loop take no more room.
    let mut last = texture(&mut program, array);
    assert_eq!(last, first);
    for _ in 0..10 {
        program.driver.images.texture_destroy(&program.driver.platform, last, false).unwrap();
        last = texture(&mut program, array);
        assert!(last <= second + 1);
    }
}

#[test]
fn the_board_has_so_much_memory_and_no_more() {
    let mut program = Program::with("board.memory_mib=64");
    let half = 32 << 20;
    assert_eq!(program.driver.memory.info(&program.driver.platform), Ok((2 * half, 2 * half)));
    let x = program.alloc(half);
    assert_eq!(program.driver.mem_alloc(half + 1), Err(Error::OUT_OF_MEMORY));
    // 4 MiB each.
    let arrays: Vec<u64> = (0..8)
        .map(|_| {
            program
                .driver
                .images
                .array_create(&mut program.driver.platform, &mut program.driver.memory, FLOATS)
                .unwrap()
        })
        .collect();
    assert_eq!(program.driver.memory.info(&program.driver.platform), Ok((0, 2 * half)));
    assert_eq!(
        program.driver.images.array_create(&mut program.driver.platform, &mut program.driver.memory, FLOATS),
        Err(Error::OUT_OF_MEMORY)
    );
    assert_eq!(program.driver.mem_alloc(1), Err(Error::OUT_OF_MEMORY));
    program.driver.images.array_destroy(&mut program.driver.platform, &mut program.driver.memory, arrays[0]).unwrap();
    assert_eq!(
        program.driver.images.array_destroy(&mut program.driver.platform, &mut program.driver.memory, arrays[0]),
        Err(Error::INVALID_HANDLE)
    );
    program.driver.memory.release(&mut program.driver.platform, x);
    assert_eq!(program.driver.memory.info(&program.driver.platform), Ok((half + (4 << 20), 2 * half)));
    // The end of the context frees the rest.
    program.driver.primary_reset(0).unwrap();
    assert_eq!(program.driver.memory.info(&program.driver.platform), Ok((2 * half, 2 * half)));
    assert_eq!(program.driver.images.array(arrays[1]).err(), Some(Error::INVALID_HANDLE));
}

#[test]
fn a_mipmapped_array_owns_its_level() {
    let mut program = Program::new();
    let mipmapped = program
        .driver
        .images
        .mipmapped_create(&mut program.driver.platform, &mut program.driver.memory, FLOATS, 1)
        .unwrap();
    let level = program.driver.images.mipmapped_level(mipmapped, 0).unwrap();
    assert_eq!(
        program.driver.images.array_destroy(&mut program.driver.platform, &mut program.driver.memory, level),
        Err(Error::INVALID_HANDLE)
    );
    assert_eq!(
        program.driver.images.mipmapped_create(&mut program.driver.platform, &mut program.driver.memory, FLOATS, 11),
        Err(Error::NOT_SUPPORTED)
    );
    assert_eq!(
        program.driver.images.mipmapped_create(&mut program.driver.platform, &mut program.driver.memory, FLOATS, 0),
        Err(Error::INVALID_VALUE)
    );
    program
        .driver
        .images
        .mipmapped_destroy(&mut program.driver.platform, &mut program.driver.memory, mipmapped)
        .unwrap();
    assert_eq!(program.driver.images.array(level).err(), Some(Error::INVALID_HANDLE));
    assert_eq!(
        program.driver.images.mipmapped_destroy(&mut program.driver.platform, &mut program.driver.memory, mipmapped),
        Err(Error::INVALID_HANDLE)
    );
}

/// A kernel that reads a texture reference.
const LOOK: &str = "
.version 7.5
.target sm_75
.address_size 64
.global .texref line;
.visible .entry look(.param .u64 out)
{
    .reg .b32 %r<2>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [line, {%r1}];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f1;
    ret;
}";

/// Result of the kernel for a reference to memory that contains ones.
fn look(program: &mut Program) -> u32 {
    let (ones, out) = (program.alloc(256), program.alloc(256));
    program.fill(ones, 1.0_f32.to_bits(), 64, 0);
    let module = program.driver.modules.load(&mut program.driver.platform, LOOK.as_bytes()).unwrap();
    let function = program.driver.modules.function(&mut program.driver.platform, module, "look").unwrap();
    let reference = program
        .driver
        .images
        .reference_of(&mut program.driver.platform, &program.driver.modules, module, "line", false)
        .unwrap();
    program.driver.images.reference_set_linear(reference, ones, 256).unwrap();
    let request = program.request(function, &[out], 0);
    program.driver.launch(&request).unwrap();
    program.numbers(out, 1)[0]
}

#[test]
fn a_device_that_was_reset_binds_references_again() {
    let mut program = Program::new();
    assert_eq!(f32::from_bits(look(&mut program)), 1.0);
    program.add(8, 8, 1, 0);
    assert_eq!(program.finish(Wait::Device(0)), Err(Error::ILLEGAL_ADDRESS));
    program.driver.primary_reset(0).unwrap();
    // Same addresses, another simulated GPU.
    assert_eq!(f32::from_bits(look(&mut program)), 1.0);
}
