//! Textures and surfaces against a host implementation in double precision, after the CUDA C++
//! Programming Guide's appendix "Texture Fetching": PTX and what the assembler makes of it.

use exec::{Arg, DeviceState, Launch, run};
use isa::{AddressMode, Channel, Dim3, Fault, Image, Sampler, Shape};
use lower::{Loaded, LowerOptions, load, load_cubin};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PTX: &str = include_str!("data/images.ptx");
const CUBINS: [(u32, &[u8]); 5] = [
    (70, include_bytes!("data/images.sm_70.cubin")),
    (75, include_bytes!("data/images.sm_75.cubin")),
    (80, include_bytes!("data/images.sm_80.cubin")),
    (86, include_bytes!("data/images.sm_86.cubin")),
    (90, include_bytes!("data/images.sm_90.cubin")),
];
const SHAPES: [Shape; 5] = [Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2];
const CHANNELS: [Channel; 8] =
    [Channel::U8, Channel::S8, Channel::U16, Channel::S16, Channel::U32, Channel::S32, Channel::F16, Channel::F32];
const MODES: [AddressMode; 4] = [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border];
const LANES: usize = 32;
/// Bytes that a form of the kernels writes.
const FORM_BYTES: usize = 16 * LANES;

/// The module by architecture, PTX first.
fn modules() -> Vec<(u32, Loaded)> {
    let ptx = load("images.ptx", PTX, LowerOptions::default()).unwrap();
    assert!(ptx.problems().is_none(), "{:?}", ptx.problems());
    let cubin = |(sm, file)| (sm, load_cubin("images", file, LowerOptions::default()).unwrap());
    std::iter::once((0, ptx)).chain(CUBINS.map(cubin)).collect()
}

/// An image and the contents of its memory.
#[derive(Clone)]
struct Picture {
    image: Image,
    bytes: Vec<u8>,
}

impl Picture {
    fn new(
        random: &mut ChaCha8Rng,
        shape: Shape,
        (channel, channels): (Channel, u8),
        sampler: Option<Sampler>,
    ) -> Self {
        let mut size = [random.random_range(1..10), 1, 1];
        if shape.dimensions() > 1 {
            size[1] = random.random_range(1..7);
        }
        if shape.dimensions() > 2 || shape.is_layered() {
            size[2] = random.random_range(1..5);
        }
        let mut image = Image { base: 0, shape, size, pitch: 0, channel, channels, sampler };
        let texel = u64::from(image.texel_bytes());
        image.pitch = image.row_bytes() + texel * random.random_range(0..3);
        let elements = image.bytes().unwrap() / u64::from(channel.bytes());
        let bytes = (0..elements).flat_map(|_| element(random, channel));
        Self { image, bytes: bytes.collect() }
    }

    /// Copies it to device memory; returns its handle.
    fn place(&mut self, state: &mut DeviceState) -> u64 {
        self.image.base = state.memory.allocate("image", self.bytes.len() as u64).unwrap();
        state.memory.write(self.image.base, &self.bytes).unwrap();
        state.add_image(self.image).unwrap()
    }

    /// A texel's channels as bits and as numbers; none outside.
    fn texel(&self, at: [i64; 3]) -> Option<([u32; 4], [f64; 4])> {
        let Image { size, pitch, channel, channels, sampler, .. } = self.image;
        if (0..3).any(|k| at[k] < 0 || at[k] >= i64::from(size[k])) {
            return None;
        }
        let [x, y, z] = at.map(|i| i as u64);
        let start = (z * u64::from(size[1]) + y) * pitch + x * u64::from(self.image.texel_bytes());
        let as_float = sampler.is_some_and(|s| s.as_float);
        let (mut bits, mut numbers) = ([0; 4], [0.0, 0.0, 0.0, 1.0]);
        bits[3] = if as_float || channel.is_float() { 1.0_f32.to_bits() } else { 1 };
        for c in 0..usize::from(channels) {
            let raw = &self.bytes[start as usize + c * channel.bytes() as usize..];
            let byte = raw[0];
            let half = || u16::from_le_bytes([raw[0], raw[1]]);
            let word = || u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]);
            let (integer, most) = match channel {
                Channel::U8 => (i64::from(byte), 255.0),
                Channel::S8 => (i64::from(byte as i8), 127.0),
                Channel::U16 => (i64::from(half()), 65535.0),
                Channel::S16 => (i64::from(half() as i16), 32767.0),
                Channel::U32 => (i64::from(word()), 1.0),
                Channel::S32 => (i64::from(word() as i32), 1.0),
                // Halves are drawn as small whole numbers over 8, of either sign: see `element`.
                Channel::F16 => (0, num::half::to_f64::<num::half::F16>(half())),
                Channel::F32 => (0, f64::from(f32::from_bits(word()))),
            };
            numbers[c] = if channel.is_float() { most } else { (integer as f64 / most).max(-1.0) };
            if as_float && channel == Channel::U8 && c < 3 && sampler.is_some_and(|s| s.srgb) {
                let x = f64::from(numbers[c] as f32);
                numbers[c] = if x > 0.04045 { ((x + 0.055) / 1.055).powf(2.4) } else { x / 12.92 };
            }
            bits[c] = if as_float || channel.is_float() { (numbers[c] as f32).to_bits() } else { integer as u32 };
        }
        Some((bits, numbers))
    }

    /// The texel at index `at` of an axis of a texture.
    fn index(&self, axis: usize, at: i64) -> i64 {
        let sampler = self.image.sampler.unwrap();
        let count = i64::from(self.image.size[axis]);
        match sampler.address[axis] {
            AddressMode::Border => at,
            AddressMode::Wrap if sampler.normalised => (at % count + count) % count,
            _ => at.max(0).min(count - 1),
        }
    }

    /// A coordinate in texels.
    fn unnormalised(&self, axis: usize, x: f32) -> f64 {
        let (sampler, x, count) = (self.image.sampler.unwrap(), f64::from(x), f64::from(self.image.size[axis]));
        if !sampler.normalised {
            return x;
        }
        let fraction = x - x.floor();
        count
            * match sampler.address[axis] {
                AddressMode::Wrap => fraction,
                AddressMode::Mirror if x.floor() as i64 % 2 != 0 => 1.0 - fraction,
                AddressMode::Mirror => fraction,
                _ => x,
            }
    }

    /// For each axis of a position: the two texels that linear filtering blends and the weight of the second
    /// one; without filtering the texel.
    fn around(&self, at: [f32; 3], layer: u32, linear: bool) -> [([i64; 2], f64); 3] {
        let mut axes = [([0, 0], 0.0); 3];
        for (k, axis) in axes.iter_mut().enumerate().take(self.image.shape.dimensions()) {
            let x = self.unnormalised(k, at[k]);
            *axis = if linear {
                let below = (x - 0.5).floor();
                let weight = ((x - 0.5 - below) * 256.0).round() / 256.0;
                ([self.index(k, below as i64), self.index(k, below as i64 + 1)], weight)
            } else {
                // A mirrored edge is the last texel's.
                let mirrored = x == f64::from(self.image.size[k]) && self.mirrors(k);
                ([self.index(k, x.floor() as i64 - i64::from(mirrored)); 2], 0.0)
            };
        }
        if self.image.shape.is_layered() {
            axes[2] = ([i64::from(layer.min(self.image.size[2] - 1)); 2], 0.0);
        }
        axes
    }

    fn mirrors(&self, axis: usize) -> bool {
        let sampler = self.image.sampler.unwrap();
        sampler.normalised && sampler.address[axis] == AddressMode::Mirror
    }

    /// Result of sampling, as bits or, filtered, as numbers.
    fn sample(&self, at: [f32; 3], layer: u32) -> Result<[u32; 4], [f64; 4]> {
        let Sampler { linear, border, .. } = self.image.sampler.unwrap();
        let [x, y, z] = self.around(at, layer, linear);
        if !linear {
            return Ok(self.texel([x.0[0], y.0[0], z.0[0]]).map_or(border, |t| t.0));
        }
        let mut sum = [0.0; 4];
        for (i, j, k) in (0..8).map(|n| (n & 1, n >> 1 & 1, n >> 2)) {
            let part = |axis: ([i64; 2], f64), side| if side == 1 { axis.1 } else { 1.0 - axis.1 };
            let weight = part(x, i) * part(y, j) * part(z, k);
            let texel =
                self.texel([x.0[i], y.0[j], z.0[k]]).map_or(border.map(|b| f64::from(f32::from_bits(b))), |t| t.1);
            (0..4).for_each(|c| sum[c] += weight * texel[c]);
        }
        Err(sum)
    }

    fn gather(&self, at: [f32; 3], layer: u32, channel: usize) -> [u32; 4] {
        let [x, y, z] = self.around(at, layer, true);
        let border = self.image.sampler.unwrap().border;
        [[0, 1], [1, 1], [1, 0], [0, 0]]
            .map(|[i, j]| self.texel([x.0[i], y.0[j], z.0[0]]).map_or(border[channel], |texel| texel.0[channel]))
    }
}

/// A random value of a channel; floating-point ones are of a middling size.
fn element(random: &mut ChaCha8Rng, channel: Channel) -> Vec<u8> {
    let number = f64::from(random.random_range(-800..800)) / 8.0;
    match channel {
        Channel::F32 => (number as f32).to_le_bytes().into(),
        Channel::F16 => num::half::from_f64::<num::half::F16>(number, num::Rounding::NearestEven).to_le_bytes().into(),
        _ => random.random::<u32>().to_le_bytes()[..channel.bytes() as usize].into(),
    }
}

/// Input of a lane.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: [f32; 3],
    index: [i32; 3],
    layer: u32,
}

fn bytes_of(places: &[Place]) -> Vec<u8> {
    let words = |p: &Place| {
        let at = p.at.map(f32::to_bits).into_iter().chain(p.index.map(|i| i as u32));
        at.chain([p.layer, 0]).collect::<Vec<u32>>()
    };
    places.iter().flat_map(words).flat_map(u32::to_le_bytes).collect()
}

/// Runs a kernel on one warp with handles as parameters, or in memory; returns what it writes.
fn try_run(
    loaded: &Loaded,
    (name, in_memory): (&str, bool),
    state: &mut DeviceState,
    handles: [u64; 5],
    places: &[Place],
    mut out: Vec<u8>,
) -> Result<Vec<u8>, Box<Fault>> {
    let mut upload = |bytes: &[u8]| {
        let buffer = state.memory.allocate("test", bytes.len() as u64).unwrap();
        state.memory.write(buffer, bytes).unwrap();
        buffer
    };
    let table: Vec<u8> = handles.into_iter().flat_map(u64::to_le_bytes).collect();
    let mut args = if in_memory { vec![Arg::U64(upload(&table))] } else { handles.map(Arg::U64).to_vec() };
    let buffers = [upload(&bytes_of(places)), upload(&out)];
    args.extend(buffers.map(Arg::Pointer));
    let kernel = loaded.kernel(name).unwrap_or_else(|e| panic!("{e}")).clone();
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(LANES as u32, 1, 1), 0, &args).unwrap();
    run(state, &launch)?;
    state.memory.read(buffers[1], &mut out).unwrap();
    Ok(out)
}

fn words(out: &[u8], form: usize, lane: usize) -> [u32; 4] {
    let at = form * FORM_BYTES + 16 * lane;
    std::array::from_fn(|k| u32::from_le_bytes(out[at + 4 * k..][..4].try_into().unwrap()))
}

fn sampler(random: &mut ChaCha8Rng, channel: Channel) -> Sampler {
    let as_float = !channel.is_float() && channel.bytes() < 4 && random.random();
    Sampler {
        address: std::array::from_fn(|_| MODES[random.random_range(0..4)]),
        linear: (as_float || channel.is_float()) && random.random(),
        normalised: random.random(),
        as_float,
        srgb: random.random(),
        border: std::array::from_fn(|_| random.random_range(-1.0_f32..1.0).to_bits()),
        ..Sampler::default()
    }
}

fn places(random: &mut ChaCha8Rng, normalised: bool) -> Vec<Place> {
    let coordinate = |random: &mut ChaCha8Rng| {
        let span = if normalised { 3.0 } else { 20.0 };
        let x: f32 = random.random_range(-span..span);
        match random.random_range(0..6) {
            // On edges and in the middle of texels.
            0 if normalised => (x * 4.0).round() / 4.0,
            0 => (x * 2.0).round() / 2.0,
            1 => x.round(),
            _ => x,
        }
    };
    let place = |_| Place {
        at: std::array::from_fn(|_| coordinate(random)),
        index: std::array::from_fn(|_| random.random_range(-3..12)),
        layer: random.random_range(0..6),
    };
    (0..LANES).map(place).collect()
}

#[test]
fn textures_are_read_as_the_guide_says() {
    let modules = modules();
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let (mut filtered, mut exact) = (0, 0);
    for round in 0..240 {
        let channel = CHANNELS[round % 8];
        let (channels, sampler) = ([1, 2, 4][random.random_range(0..3)], sampler(&mut random, channel));
        let mut pictures = SHAPES.map(|shape| Picture::new(&mut random, shape, (channel, channels), Some(sampler)));
        let places = places(&mut random, sampler.normalised);
        for (sm, loaded) in &modules {
            let mut state = DeviceState::default();
            let handles = std::array::from_fn(|k| pictures[k].place(&mut state));
            let kernel = [("textures", false), ("bindless", true)][(round + *sm as usize) % 2];
            let out = vec![0; 20 * FORM_BYTES];
            let out = try_run(loaded, kernel, &mut state, handles, &places, out).unwrap_or_else(|f| panic!("{f}"));
            for (lane, &Place { at, index, layer }) in places.iter().enumerate() {
                let context = || format!("sm_{sm}, {sampler:?}, {channel:?} x {channels}, {at:?} {index:?} {layer}");
                for (k, picture) in pictures.iter().enumerate() {
                    for found in [words(&out, k, lane), words(&out, 5 + k, lane)] {
                        match picture.sample(at, layer) {
                            Ok(bits) => assert_eq!(found, bits, "{:?}: {}", picture.image.size, context()),
                            Err(numbers) => {
                                for (found, expected) in found.into_iter().zip(numbers) {
                                    let found = f64::from(f32::from_bits(found));
                                    let close = (found - expected).abs() <= 1e-5;
                                    assert!(close, "{found} is not {expected}: {:?} {}", picture.image.size, context());
                                }
                                filtered += 1;
                            }
                        }
                        exact += 1;
                    }
                    let dimensions = picture.image.shape.dimensions();
                    let mut texel = [0; 3];
                    (0..dimensions).for_each(|k| texel[k] = index[k].into());
                    if picture.image.shape.is_layered() {
                        texel[2] = layer.min(picture.image.size[2] - 1).into();
                    }
                    let expected = picture.texel(texel).map_or([0; 4], |t| t.0);
                    assert_eq!(words(&out, 10 + k, lane), expected, "{:?}: {}", picture.image.size, context());
                }
                for channel in 0..4 {
                    let expected = pictures[1].gather(at, layer, channel);
                    assert_eq!(words(&out, 15 + channel, lane), expected, "{:?}: {}", pictures[1].image, context());
                }
                assert_eq!(words(&out, 19, lane), pictures[4].gather(at, layer, 1), "{}", context());
            }
        }
    }
    assert!(filtered > 10_000 && exact > filtered);
}

#[test]
fn sizes_are_those_of_the_image() {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    // The assembler for sm_90 reads them from tables of the driver.
    for (sm, loaded) in modules().iter().filter(|(sm, _)| *sm < 90) {
        let mut pictures =
            SHAPES.map(|shape| Picture::new(&mut random, shape, (Channel::F32, 1), Some(Sampler::default())));
        let mut state = DeviceState::default();
        let handles = std::array::from_fn(|k| pictures[k].place(&mut state));
        let places = places(&mut random, false);
        let out = try_run(loaded, ("sizes", false), &mut state, handles, &places, vec![0; FORM_BYTES]).unwrap();
        let [line, plane, volume] = [0, 1, 2].map(|k| pictures[k].image.size);
        assert_eq!(words(&out, 0, 31), [plane[0], plane[1], volume[2], line[0]], "sm_{sm}");
    }
}

/// On sm_90, a loop over the handles of the lanes, in which `R2UR` reports lanes with other values.
#[test]
fn each_lane_may_have_a_texture_of_its_own() {
    let mut random = ChaCha8Rng::seed_from_u64(16);
    for (sm, loaded) in modules() {
        let sampler = Sampler { linear: false, ..sampler(&mut random, Channel::U32) };
        let mut pictures: [Picture; 5] =
            std::array::from_fn(|_| Picture::new(&mut random, Shape::D2, (Channel::U32, 4), Some(sampler)));
        let mut state = DeviceState::default();
        let handles = std::array::from_fn(|k| pictures[k].place(&mut state));
        let places = places(&mut random, sampler.normalised);
        let out = try_run(&loaded, ("own", true), &mut state, handles, &places, vec![0; FORM_BYTES]).unwrap();
        for (lane, place) in places.iter().enumerate() {
            let expected = pictures[lane % 5].sample(place.at, 0).unwrap();
            assert_eq!(words(&out, 0, lane), expected, "sm_{sm}, {place:?}");
        }
    }
}

/// Surfaces whose rows have a multiple of 16 bytes, with x at multiples of 16, inside and outside.
fn surfaces(random: &mut ChaCha8Rng) -> ([Picture; 5], Vec<Place>) {
    let pictures = SHAPES.map(|shape| {
        let mut picture = Picture::new(random, shape, (Channel::U32, 4), None);
        picture.image.size[0] = 8;
        picture.image.pitch = 8 * 16 + 16;
        picture.bytes = (0..picture.image.bytes().unwrap()).map(|_| random.random()).collect();
        picture
    });
    let place = |lane: i32| {
        // No two lanes meet.
        let (x, y) = (lane % 10 - 1, lane / 10 - 1);
        Place { at: [0.0; 3], index: [16 * x, y, y + 1], layer: (y + 1) as u32 }
    };
    (pictures, (0..LANES as i32).map(place).collect())
}

/// Position of a lane's bytes in a surface's memory: x, y, z or layer; clamped if allowed.
fn offset(picture: &Picture, place: &Place, bytes: u64, clamp: bool) -> Option<usize> {
    let Image { shape, size, pitch, .. } = picture.image;
    let row = picture.image.row_bytes() as i64;
    let [x, y, z] = place.index.map(i64::from);
    let mut at = [x, 0, 0];
    if shape.dimensions() > 1 {
        at[1] = y;
    }
    at[2] = if shape.is_layered() { place.layer.into() } else { z * i64::from(shape == Shape::D3) };
    let most = [row - bytes as i64, i64::from(size[1]) - 1, i64::from(size[2]) - 1];
    let inside = (0..3).all(|k| (0..=most[k]).contains(&at[k]));
    let [x, y, z] = std::array::from_fn(|k| at[k].clamp(0, most[k]) as u64);
    (inside || clamp).then_some(((z * u64::from(size[1]) + y) * pitch + x) as usize)
}

#[test]
fn surface_loads_go_by_bytes() {
    let mut random = ChaCha8Rng::seed_from_u64(13);
    /// Surface, bytes of the access, whether it clamps.
    const FORMS: [(usize, u64, bool); 10] = [
        (0, 4, false),
        (1, 4, false),
        (2, 4, false),
        (3, 4, false),
        (4, 4, false),
        (1, 1, false),
        (1, 4, true),
        (1, 8, true),
        (1, 16, false),
        (2, 4, true),
    ];
    for (sm, loaded) in modules() {
        for _ in 0..20 {
            let (mut pictures, places) = surfaces(&mut random);
            let mut state = DeviceState::default();
            let handles = std::array::from_fn(|k| pictures[k].place(&mut state));
            let out = vec![0; FORMS.len() * FORM_BYTES];
            let out = try_run(&loaded, ("loads", false), &mut state, handles, &places, out).unwrap();
            for (form, (surface, bytes, clamp)) in FORMS.into_iter().enumerate() {
                for (lane, place) in places.iter().enumerate() {
                    let at = form * FORM_BYTES + 16 * lane;
                    let mut expected = vec![0; 16];
                    if let Some(from) = offset(&pictures[surface], place, bytes, clamp) {
                        let bytes = bytes as usize;
                        expected[..bytes].copy_from_slice(&pictures[surface].bytes[from..from + bytes]);
                    }
                    assert_eq!(out[at..at + 16], expected, "sm_{sm}, form {form}, {place:?}");
                }
            }
        }
    }
}

#[test]
fn surface_stores_go_by_bytes() {
    let mut random = ChaCha8Rng::seed_from_u64(14);
    for (sm, loaded) in modules() {
        for round in 0..20 {
            let (mut pictures, places) = surfaces(&mut random);
            let mut state = DeviceState::default();
            let handles = std::array::from_fn(|k| pictures[k].place(&mut state));
            let given: Vec<u8> = (0..FORM_BYTES).map(|_| random.random()).collect();
            let kernel = [("stores", false), ("stores_bindless", true)][round % 2];
            try_run(&loaded, kernel, &mut state, handles, &places, given.clone()).unwrap();
            for (lane, place) in places.iter().enumerate() {
                let [a, b, c, d] = words(&given, 0, lane);
                let packed = u32::from_le_bytes([a, b, c, d].map(|w| w as u8));
                let halves = c & 0xffff | d << 16;
                let data: [&[u32]; 5] = [&[a], &[packed], &[a, b], &[halves], &[a, b, c, d]];
                for (picture, data) in pictures.iter_mut().zip(data) {
                    let bytes: Vec<u8> = data.iter().flat_map(|w| w.to_le_bytes()).collect();
                    // Rows and layers of the 1D ones are few: the last lane wins there.
                    if let Some(at) = offset(picture, place, bytes.len() as u64, false) {
                        picture.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
                    }
                }
            }
            for picture in &pictures {
                let mut found = vec![0; picture.bytes.len()];
                state.memory.read(picture.image.base, &mut found).unwrap();
                assert!(found == picture.bytes, "sm_{sm}, {:?}", picture.image);
            }
        }
    }
}

#[test]
fn handles_that_name_nothing_are_faults() {
    let mut random = ChaCha8Rng::seed_from_u64(15);
    let places = places(&mut random, false);
    for (sm, loaded) in modules() {
        let mut state = DeviceState::default();
        let mut pictures =
            SHAPES.map(|shape| Picture::new(&mut random, shape, (Channel::F32, 1), Some(Sampler::default())));
        let mut handles: [u64; 5] = std::array::from_fn(|k| pictures[k].place(&mut state));
        let mut surface = Picture { image: Image { sampler: None, ..pictures[2].image }, ..pictures[2].clone() };
        let surface = surface.place(&mut state);
        for (handle, says) in [
            (0, "0x0 names no texture".to_owned()),
            (99, "0x63 names no texture".to_owned()),
            (surface, format!("{surface:#x} names a surface, not a texture")),
            (handles[1], format!("texture {:#x} is 2D; the instruction is for 3D", handles[1])),
        ] {
            let good = std::mem::replace(&mut handles[2], handle);
            let out = vec![0; 20 * FORM_BYTES];
            let fault = try_run(&loaded, ("textures", false), &mut state, handles, &places, out).unwrap_err();
            assert!(fault.what.contains(&says) && fault.lanes == 1, "sm_{sm}: {fault}");
            assert!(fault.spot.text.to_lowercase().contains("3d"), "sm_{sm}: {fault}");
            handles[2] = good;
        }
        state.memory.free(pictures[2].image.base).unwrap();
        let out = vec![0; 20 * FORM_BYTES];
        let fault = try_run(&loaded, ("textures", false), &mut state, handles, &places, out).unwrap_err();
        assert!(fault.what.starts_with(&format!("read through texture {:#x}: ", handles[2])), "{fault}");
    }
}

#[test]
fn images_that_cannot_be_are_refused() {
    let mut state = DeviceState::default();
    let base = state.memory.allocate("image", 1024).unwrap();
    let good = Image {
        base,
        shape: Shape::D2,
        size: [8, 8, 1],
        pitch: 128,
        channel: Channel::F32,
        channels: 4,
        sampler: Some(Sampler::default()),
    };
    assert_eq!(state.add_image(good), Ok(1));
    let linear = Some(Sampler { linear: true, ..Sampler::default() });
    let as_float = Some(Sampler { as_float: true, ..Sampler::default() });
    for (image, says) in [
        (Image { channels: 3, ..good }, "1, 2 or 4 channels, not 3"),
        (Image { size: [0, 8, 1], ..good }, "width is from 1 to"),
        (Image { size: [8, u32::MAX, 1], ..good }, "height is from 1 to"),
        (Image { size: [8, 8, 2], ..good }, "is not 2D"),
        (Image { shape: Shape::D1, ..good }, "is not 1D"),
        (Image { base: base + 4, ..good }, "multiples of the texel's 16 bytes"),
        (Image { pitch: 112, ..good }, "less than a row's 128"),
        (Image { pitch: 144, ..good }, "is not within a buffer"),
        (Image { pitch: !15, ..good }, "larger than memory"),
        (Image { base: base + 16, ..good }, "is not within a buffer"),
        (Image { base: 16, ..good }, "is not within a buffer"),
        (Image { sampler: as_float, ..good }, "only integers of 8 or 16 bits"),
        (Image { sampler: linear, channel: Channel::U32, ..good }, "linear filtering needs floating point"),
    ] {
        let error = state.add_image(image).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    // Each has a handle of its own.
    assert_eq!(state.add_image(Image { sampler: linear, ..good }), Ok(2));
}
