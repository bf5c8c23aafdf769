//! Cube maps: directions that point to texels give these, in PTX and in machine code.

use exec::{Arg, DeviceState, Launch, run};
use isa::{Channel, Dim3, Image, Sampler, Shape};
use lower::{Loaded, LowerOptions, load, load_cubin};

const PTX: &str = include_str!("data/cubes.ptx");
const CUBINS: [&[u8]; 5] = [
    include_bytes!("data/cubes.sm_70.cubin"),
    include_bytes!("data/cubes.sm_75.cubin"),
    include_bytes!("data/cubes.sm_80.cubin"),
    include_bytes!("data/cubes.sm_86.cubin"),
    include_bytes!("data/cubes.sm_90.cubin"),
];
const SIDE: u32 = 4;
const CUBES: u32 = 3;
const LANES: usize = 32;
/// Reads of `cube`, then of `layered`, by the form of the kernel.
const FORMS: [(Shape, usize); 2] = [(Shape::Cube, 0), (Shape::LayeredCube, 2)];

fn modules() -> Vec<Loaded> {
    let ptx = load("cubes.ptx", PTX, LowerOptions::default()).unwrap();
    assert!(ptx.problems().is_none(), "{:?}", ptx.problems());
    let cubin = |file| load_cubin("cubes", file, LowerOptions::default()).unwrap();
    std::iter::once(ptx).chain(CUBINS.map(cubin)).collect()
}

/// The first channel of a texel; the second one is a thousand more.
fn texel(cube: u32, face: u32, column: u32, row: u32) -> f32 {
    (((cube * 6 + face) * SIDE + row) * SIDE + column) as f32
}

/// The direction of a place on a face, both from -1 to 1 (as the sample `simpleCubemapTexture` computes it).
fn direction(face: u32, u: f32, v: f32) -> [f32; 3] {
    [[1.0, -v, -u], [-1.0, -v, u], [u, 1.0, v], [u, -1.0, -v], [u, -v, 1.0], [-u, -v, -1.0]][face as usize]
}

/// The middle of texel `index` of a row or column.
fn middle(index: u32) -> f32 {
    (index as f32 + 0.5) / SIDE as f32 * 2.0 - 1.0
}

/// The first two channels that each form reads at each place: a direction of any length and a layer.
fn read(loaded: &Loaded, sampler: Sampler, places: &[([f32; 3], u32); LANES]) -> [Vec<[f32; 4]>; 5] {
    let mut state = DeviceState::default();
    let handles = [(Shape::Cube, 1), (Shape::LayeredCube, CUBES)].map(|(shape, cubes)| {
        let size = [SIDE, SIDE, 6 * cubes];
        let values = (0..SIDE * SIDE * 6 * cubes).flat_map(|k| [k as f32, k as f32 + 1000.0]);
        let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
        let base = state.memory.allocate("image", bytes.len() as u64).unwrap();
        state.memory.write(base, &bytes).unwrap();
        let pitch = u64::from(SIDE) * 8;
        let image = Image { base, shape, size, pitch, channel: Channel::F32, channels: 2, sampler: Some(sampler) };
        state.add_image(image).unwrap()
    });
    let bytes = places.iter().flat_map(|(at, layer)| [at[0].to_bits(), at[1].to_bits(), at[2].to_bits(), *layer]);
    let bytes: Vec<u8> = bytes.flat_map(u32::to_le_bytes).collect();
    let [input, out] = [bytes.len(), 5 * 16 * LANES].map(|n| state.memory.allocate("test", n as u64).unwrap());
    state.memory.write(input, &bytes).unwrap();
    let args = [Arg::U64(handles[0]), Arg::U64(handles[1]), Arg::Pointer(input), Arg::Pointer(out)];
    let kernel = loaded.kernel("cubes").unwrap().clone();
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(LANES as u32, 1, 1), 0, &args).unwrap();
    run(&mut state, &launch).unwrap_or_else(|fault| panic!("{fault}"));
    [0, 1, 2, 3, 4].map(|form| {
        let mut bytes = vec![0; 16 * LANES];
        state.memory.read(out + form * 16 * LANES as u64, &mut bytes).unwrap();
        let words: Vec<f32> = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        words.as_chunks().0.to_vec()
    })
}

/// A reciprocal of machine code may be off by its last bit.
fn assert_close(found: f32, expected: f32, context: &str) {
    assert!((found - expected).abs() <= 1e-2, "{found} is not {expected}: {context}");
}

#[test]
fn a_direction_to_the_middle_of_a_texel_reads_it() {
    for (which, loaded) in modules().iter().enumerate() {
        for linear in [false, true] {
            for face in 0..6 {
                // Directions have any length; a layer beyond the last is the last.
                let places = std::array::from_fn(|lane| {
                    let (k, stretch) = (lane as u32 % (SIDE * SIDE), [1.0, 3.0][lane / 16]);
                    let at = direction(face, middle(k % SIDE), middle(k / SIDE)).map(|x| stretch * x);
                    (at, lane as u32 % 4)
                });
                let found = read(loaded, Sampler { linear, ..Sampler::default() }, &places);
                for (lane, (_, layer)) in places.into_iter().enumerate() {
                    let k = lane as u32 % (SIDE * SIDE);
                    let context = format!("module {which}, face {face}, lane {lane}, linear {linear}");
                    for (shape, form) in FORMS {
                        let cube = if shape == Shape::Cube { 0 } else { layer.min(CUBES - 1) };
                        let expected = texel(cube, face, k % SIDE, k / SIDE);
                        for [first, second, third, fourth] in [found[form][lane], found[form + 1][lane]] {
                            assert_close(first, expected, &context);
                            assert_close(second, expected + 1000.0, &context);
                            assert_eq!([third, fourth], [0.0, 1.0], "{context}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_edge_of_a_face_is_blended_with_the_next_face_if_seamless() {
    // Between the last column of +z and the first of +x, in the middle of row 1 and between rows 1 and 2.
    let (z, x) = (|row| texel(0, 4, SIDE - 1, row), |row| texel(0, 0, 0, row));
    for loaded in modules() {
        let mut places = [([1.0, -middle(1), 1.0], 0); LANES];
        places[1] = ([1.0, 0.0, 1.0], 0);
        // A corner of the cube: three texels and their mean.
        places[2] = ([1.0, 1.0, 1.0], 0);
        let read = |seamless| {
            let sampler = Sampler { linear: true, seamless, ..Sampler::default() };
            read(&loaded, sampler, &places)[0][..3].iter().map(|texel| texel[0]).collect::<Vec<_>>()
        };
        let apart = read(false);
        let corner = [z(0), x(0), texel(0, 2, SIDE - 1, SIDE - 1)];
        for (found, expected) in apart.iter().zip([z(1), z(1).midpoint(z(2)), corner[0]]) {
            assert_close(*found, expected, "each face for itself");
        }
        let expected = [z(1).midpoint(x(1)), (z(1) + z(2) + x(1) + x(2)) / 4.0, corner.iter().sum::<f32>() / 3.0];
        for (found, expected) in read(true).into_iter().zip(expected) {
            assert_close(found, expected, "seamless");
        }
    }
}

/// `tld4` reads a channel of the texels that filtering would blend.
#[test]
fn a_gather_stays_on_the_face() {
    for loaded in modules() {
        let found = read(&loaded, Sampler::default(), &[([0.0, 0.0, -2.0], 0); LANES]);
        let expected = [[1, 2], [2, 2], [2, 1], [1, 1]].map(|[x, y]| texel(0, 5, x, y) + 1000.0);
        assert_eq!(found[4][7], expected);
    }
}
