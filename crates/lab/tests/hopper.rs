//! The compiled kernels of Hopper in time: what `wgmma`, bulk copies, copies of tensors and barriers leave in memory on
//! every core design that runs machine code is what they leave without a pipeline. PTX and machine code of two
//! compilers; the tests of `lower` hold the values against the host. `data/sm_90/README.md` there describes the files.

use exec::tensor_map::{Element, Interleave, Shape, Swizzle, TensorMap};
use exec::{Arg, Kernel, Launch};
use isa::Dim3;
use lab::{CORES, Setup, SimulatedDevice, is_sm, needs_ptx, stands_for};
use lower::{Loaded, LowerOptions};
use std::collections::HashSet;
use std::sync::Arc;
use workloads::ThreadRegisters;

/// Designs that each kernel of each file runs on.
const DESIGNS_OF_A_FORM: usize = 3;

macro_rules! file {
    ($name:literal) => {
        File::new($name, include_bytes!(concat!("../../lower/tests/data/sm_90/", $name)))
    };
}

/// Kernels of one file.
struct File {
    name: &'static str,
    loaded: Loaded,
}

impl File {
    fn new(name: &'static str, content: &[u8]) -> Self {
        let options = LowerOptions { gpu_sm: Some(90), ..LowerOptions::default() };
        let loaded = match name.ends_with(".ptx") {
            true => lower::load(name, content, options),
            false => lower::load_cubin(name, content, options),
        };
        Self { name, loaded: loaded.unwrap_or_else(|e| panic!("{name}: {e}")) }
    }

    fn kernel(&self, name: &str) -> Arc<Kernel> {
        self.loaded.kernel(name).unwrap_or_else(|e| panic!("{}: {e}", self.name)).clone()
    }
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// An argument of a launch, whose buffers get these words first.
enum Input {
    Buffer(Vec<u32>),
    /// A tensor map, in memory or as the argument itself, of the tensor in this argument.
    Map {
        map: TensorMap,
        of: usize,
        in_memory: bool,
    },
    U32(u32),
    U64(u64),
}

/// A launch of a kernel of a file.
struct Form<'a> {
    file: &'a File,
    kernel: &'a str,
    ctas: u32,
    threads: u32,
    inputs: Vec<Input>,
}

impl Form<'_> {
    /// The contents of all buffers after a run.
    fn run(&self, device: &mut SimulatedDevice<'_>) -> Result<Vec<Vec<u8>>, String> {
        let (mut args, mut buffers) = (Vec::new(), Vec::new());
        let mut place = |device: &mut SimulatedDevice<'_>, content: &[u8]| {
            let at = device.memory().allocate_aligned("data", content.len() as u64, 1 << 12).unwrap();
            device.memory().write(at, content).unwrap();
            buffers.push((at, content.len()));
            at
        };
        let mut addresses = vec![0; self.inputs.len()];
        for (address, input) in addresses.iter_mut().zip(&self.inputs) {
            if let Input::Buffer(words) = input {
                *address = place(device, &bytes_of(words));
            }
        }
        for (input, &address) in self.inputs.iter().zip(&addresses) {
            args.push(match input {
                Input::Buffer(_) => Arg::Pointer(address),
                Input::Map { map, of, in_memory } => {
                    let map = TensorMap { address: addresses[*of] + map.address, ..*map };
                    let map = bytes_of(&map.encode());
                    if *in_memory { Arg::Pointer(place(device, &map)) } else { Arg::Bytes(map) }
                }
                Input::U32(value) => Arg::U32(*value),
                Input::U64(value) => Arg::U64(*value),
            });
        }
        let kernel = self.file.kernel(self.kernel);
        args.truncate(kernel.params.len());
        let shape = (Dim3::new(self.ctas, 1, 1), Dim3::new(self.threads, 1, 1));
        let launch = Launch::new(kernel, shape.0, shape.1, 0, &args).unwrap();
        device.enqueue(0, launch, ThreadRegisters::Estimated, 0).map_err(|e| e.to_string())?;
        workloads::Device::synchronize(device).map_err(|e| e.to_string())?;
        let read = |(at, length): (u64, usize)| {
            let mut bytes = vec![0; length];
            device.memory().read(at, &mut bytes).unwrap();
            device.memory().free(at).unwrap();
            bytes
        };
        Ok(buffers.into_iter().map(read).collect())
    }
}

/// A GPU of a few SMs.
fn device(core: &str) -> SimulatedDevice<'static> {
    let mut setup =
        Setup { core: core.into(), max_cycles: Some(2_000_000), ..Setup::new(config::load("h100").unwrap()) };
    setup.gpu.sm_count = 2;
    SimulatedDevice::new(&setup).unwrap_or_else(|e| panic!("{core}: {e}"))
}

/// The designs of SMs that run machine code; of a design with several short names only the design.
fn designs() -> Vec<&'static str> {
    let all = CORES.iter().map(|(core, _)| *core);
    let designs: Vec<_> = all.filter(|core| is_sm(core) && !needs_ptx(core) && stands_for(core).is_none()).collect();
    assert!(designs.len() >= 15, "{designs:?}");
    designs
}

/// Runs each form on some designs, in rotation, so that each design runs some of them. Returns the buffers of each.
fn check(forms: &[Form<'_>]) -> Vec<Vec<Vec<u8>>> {
    let designs = designs();
    assert!(DESIGNS_OF_A_FORM * forms.len() >= designs.len(), "{} forms", forms.len());
    let mut functional = device("functional");
    let run = |form: &Form<'_>| {
        form.run(&mut functional).unwrap_or_else(|e| panic!("{} {}: {e}", form.file.name, form.kernel))
    };
    let expected: Vec<_> = forms.iter().map(run).collect();
    for (form, expected) in forms.iter().zip(&expected) {
        let before = form.inputs.iter().filter_map(|input| match input {
            Input::Buffer(words) => Some(bytes_of(words)),
            _ => None,
        });
        let has_changed = before.zip(expected).any(|(before, after)| before != *after);
        assert_eq!(has_changed, !form.kernel.starts_with("prefetch"), "{} {}", form.file.name, form.kernel);
    }
    for (number, core) in designs.iter().enumerate() {
        let mut device = device(core);
        for (at, (form, expected)) in forms.iter().zip(&expected).enumerate() {
            if (number + designs.len() - at * DESIGNS_OF_A_FORM % designs.len()) % designs.len() >= DESIGNS_OF_A_FORM {
                continue;
            }
            let found =
                form.run(&mut device).unwrap_or_else(|e| panic!("{core}, {} {}: {e}", form.file.name, form.kernel));
            for (buffer, (found, expected)) in found.iter().zip(expected).enumerate() {
                let wrong = (0..found.len()).find(|&i| found[i] != expected[i]);
                assert_eq!(wrong, None, "{core}, {} {}, buffer {buffer}", form.file.name, form.kernel);
            }
        }
    }
    expected
}

/// Words that are ordinary numbers in every format: near 1.8 as f16, 0.7 as bf16 and 1 as f32, with both signs.
fn numbers(seed: u32, count: u32) -> Vec<u32> {
    let word = |i: u32| {
        let drawn = (i ^ seed << 20).wrapping_mul(0x9e37_79b9);
        0x3f38_3f38 ^ (drawn ^ drawn >> 15) & 0x8007_8007
    };
    (0..count).map(word).collect()
}

#[test]
fn products_of_warp_groups() {
    let files = [
        file!("wgmma.ptx"),
        file!("wgmma.cuda124.sm_90.cubin"),
        file!("wgmma_groups.ptx"),
        file!("wgmma_groups.cuda124.sm_90.cubin"),
        file!("wgmma_groups.debug.cuda124.sm_90.cubin"),
        file!("wgmma_groups.cuda130.sm_90.cubin"),
    ];
    // The layout without swizzling: 64 rows of A, then B. Of a sparse operation the rows of B are twice as long.
    let descriptor = |start: u64, stride: u64| start >> 4 | 8 << 16 | stride >> 4 << 32;
    let mut forms = Vec::new();
    for file in &files {
        for kernel in &file.loaded.module.kernels {
            let name = kernel.name();
            let parts: Vec<&str> = name.split('_').collect();
            let columns = parts.get(3).map_or(8, |part| part[1..].parse().unwrap());
            let registers: u32 = columns / if parts[0] == "f16" { 4 } else { 2 };
            let is_sparse = parts.last().unwrap().starts_with("sp");
            // Of each thread four registers of A and four of metadata.
            let own = numbers(2, 1024).into_iter().enumerate();
            let own = own.map(|(i, word)| if i % 8 < 4 { word } else { 0x4444_4444 }).collect();
            let inputs = vec![
                Input::Buffer(numbers(1, 5120)),
                Input::U32(4 * 5120),
                Input::U64(descriptor(0, 256)),
                Input::U64(descriptor(2048, if is_sparse { 512 } else { 256 })),
                Input::Buffer(numbers(3, 128 * registers)),
                Input::Buffer(own),
                // With the first sums the products of this kernel cancel.
                Input::U32(u32::from(name != "groups")),
            ];
            forms.push(Form { file, kernel: name, ctas: 1, threads: 128, inputs });
        }
    }
    assert_eq!(forms.len(), 2 * 37 + 4 * 2);
    for (form, left) in forms.iter().zip(check(&forms)) {
        let sums: HashSet<_> = left[1].as_chunks::<4>().0.iter().copied().collect();
        assert!(sums.len() > 100, "{}: the sums are {} numbers", form.kernel, sums.len());
    }
}

/// Forms of kernels with an output and an input, each with its CTAs and threads, of each file.
fn simple<'a>(files: &'a [File], kernels: &[(&'a str, u32, u32)]) -> Vec<Form<'a>> {
    let buffer = |seed| Input::Buffer(numbers(seed, 1024));
    let kernels = |file| kernels.iter().map(move |&(kernel, ctas, threads)| (file, kernel, ctas, threads));
    let form = |(file, kernel, ctas, threads)| Form { file, kernel, ctas, threads, inputs: vec![buffer(1), buffer(2)] };
    files.iter().flat_map(kernels).map(form).collect()
}

#[test]
fn bulk_copies_and_reductions() {
    let files = [file!("bulk.ptx"), file!("bulk.cuda124.sm_90.cubin"), file!("bulk.cuda130.sm_90.cubin")];
    check(&simple(&files, &[("copies", 1, 64), ("each", 1, 32), ("reductions", 1, 32), ("shared_reductions", 1, 32)]));
}

#[test]
fn phases_of_barriers() {
    let files = [
        file!("barriers.ptx"),
        file!("barriers.cuda124.sm_90.cubin"),
        file!("barriers.debug.cuda124.sm_90.cubin"),
        file!("barriers.cuda130.sm_90.cubin"),
    ];
    check(&simple(&files, &[("states", 2, 32), ("ring", 2, 128), ("lanes", 1, 64)]));
}

/// Words of the tensor.
const TENSOR: u32 = 1 << 12;

/// A tensor of words of `rank` dimensions, with a box that leaves it at the edges.
fn map(rank: usize, is_im2col: bool) -> TensorMap {
    let shape = match is_im2col {
        false => Shape::Tiled { size: std::array::from_fn(|k| if k < rank { [16, 3, 2, 2, 2][k] } else { 1 }) },
        true => Shape::Im2col { channels: 16, pixels: 9, lower: [-1, 0, 0], upper: [-1, 0, 0] },
    };
    TensorMap {
        address: 64,
        element: Element::U32,
        rank,
        sizes: std::array::from_fn(|k| if k < rank { [19, 5, 4, 3, 2][k] } else { 1 }),
        strides: std::array::from_fn(|k| if k + 1 < rank { [96, 480, 1920, 5760][k] } else { 0 }),
        element_strides: [1; 5],
        shape,
        interleave: Interleave::None,
        swizzle: Swizzle::Bytes64,
        promotion: 0,
        fills_nan: false,
    }
}

#[test]
fn copies_and_reductions_of_tensors() {
    let files = [file!("tensor.ptx"), file!("tensor.cuda124.sm_90.cubin"), file!("tensor.cuda130.sm_90.cubin")];
    let mut forms = Vec::new();
    for file in &files {
        for kernel in &file.loaded.module.kernels {
            let name = kernel.name();
            // It replaces fields with numbers of its own; ptxas 13 takes strides in bytes.
            if name == "replace" {
                continue;
            }
            let is_im2col = name.contains("im2col");
            let rank = name.chars().last().and_then(|last| last.to_digit(10));
            let rank = rank.map_or(if is_im2col { 4 } else { 2 }, |rank| rank as usize);
            let map = map(rank, is_im2col);
            let coordinates = std::array::from_fn::<i32, 5, _>(|k| if k < rank { [4, -1, 1, 0, 1][k] } else { 0 });
            let mut head: Vec<u32> = coordinates.map(|c| c as u32).into();
            // A swizzle moves units of 16 bytes within lines of 128 bytes.
            let words = (map.copied_bytes() as u32).next_multiple_of(128) / 4;
            head.extend([2, 1, 0, map.copied_bytes() as u32, words]);
            head.resize(16, 0);
            head.extend(numbers(2, words));
            let inputs = vec![
                Input::Buffer(vec![0xee; words as usize]),
                Input::Buffer(head),
                Input::Map { map, of: 3, in_memory: name != "load_parameter" },
                // Not an argument: the tensor.
                Input::Buffer(numbers(3, TENSOR)),
            ];
            forms.push(Form { file, kernel: name, ctas: 1, threads: 32, inputs });
        }
    }
    assert_eq!(forms.len(), 3 * 30);
    check(&forms);
}
