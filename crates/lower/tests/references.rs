//! Texture and surface references: images that the host binds to names.

use crate::common::versions;
use exec::{Arg, DeviceState, Launch, run};
use isa::{Channel, Dim3, Image, Sampler, Shape};
use lower::{Loaded, LowerOptions, load_cubin};

const LANES: usize = 32;
const PTX: &str = include_str!("data/references.ptx");
const CUBINS: [(&str, &[u8]); 6] = [
    ("sm_70", include_bytes!("data/references.sm_70.cubin")),
    ("sm_75", include_bytes!("data/references.sm_75.cubin")),
    ("sm_75 -O0", include_bytes!("data/references_O0.sm_75.cubin")),
    ("sm_80", include_bytes!("data/references.sm_80.cubin")),
    ("sm_86", include_bytes!("data/references.sm_86.cubin")),
    ("sm_90", include_bytes!("data/references.sm_90.cubin")),
];

/// The module as PTX and as machine code.
fn modules() -> Vec<(&'static str, Loaded)> {
    versions("references", PTX, &CUBINS)
}

/// A device with the module and an output buffer.
struct Device<'a> {
    loaded: &'a Loaded,
    state: DeviceState,
    out: u64,
}

impl<'a> Device<'a> {
    fn new(loaded: &'a Loaded) -> Self {
        let mut state = DeviceState::default();
        state.load(&loaded.module).unwrap();
        let out = state.memory.allocate("out", 4 * LANES as u64).unwrap();
        Self { loaded, state, out }
    }

    /// Creates an image of rows of `LANES` texels.
    fn image(
        &mut self,
        (channel, channels): (Channel, u8),
        shape: Shape,
        rows: &[&[u8]],
        sampler: Option<Sampler>,
    ) -> u64 {
        let bytes = rows.concat();
        let base = self.state.memory.allocate("image", bytes.len() as u64).unwrap();
        self.state.memory.write(base, &bytes).unwrap();
        let size = [LANES as u32, rows.len() as u32, 1];
        let pitch = rows[0].len() as u64;
        self.state.add_image(Image { base, shape, size, pitch, channel, channels, sampler }).unwrap()
    }

    fn bind(&mut self, name: &str, handle: Option<u64>) {
        let reference = self.loaded.module.reference(name).unwrap_or_else(|| panic!("no reference `{name}`"));
        self.state.bind(reference, handle).unwrap();
    }

    fn run(&mut self, kernel: &str) -> Result<Vec<f32>, String> {
        let kernel = self.loaded.kernel(kernel).unwrap_or_else(|e| panic!("{e}")).clone();
        let args = [Arg::Pointer(self.out), Arg::I32(LANES as i32)];
        let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(LANES as u32, 1, 1), 0, &args).unwrap();
        run(&mut self.state, &launch).map_err(|fault| fault.to_string())?;
        Ok(self.floats(self.out))
    }

    fn floats(&self, address: u64) -> Vec<f32> {
        let mut bytes = [0; 4 * LANES];
        self.state.memory.read(address, &mut bytes).unwrap();
        bytes.chunks(4).map(|w| f32::from_le_bytes(w.try_into().unwrap())).collect()
    }
}

/// A row of texels, the first `first`, each larger by 1.
fn row(first: f32) -> Vec<u8> {
    (0..LANES).flat_map(|x| (first + x as f32).to_le_bytes()).collect()
}

const FLOAT: (Channel, u8) = (Channel::F32, 1);

#[test]
fn launches_read_the_images_that_are_bound() {
    for (name, loaded) in modules() {
        assert!(loaded.problems().is_none(), "{name}: {:?}", loaded.problems());
        let mut names: Vec<(&str, bool)> = loaded.module.references.iter().map(|r| (&*r.name, r.texture)).collect();
        names.sort_unstable();
        assert_eq!(names, [("canvas", false), ("colours", true), ("line", true), ("plane", true)], "{name}");
        let mut device = Device::new(&loaded);
        let sampler = Some(Sampler::default());
        let line = device.image(FLOAT, Shape::D1, &[&row(100.0)], sampler);
        device.bind("line", Some(line));
        let expected: Vec<f32> = (0..LANES).rev().map(|x| 2.0 * (100.0 + x as f32)).collect();
        assert_eq!(device.run("lookup").unwrap(), expected, "{name}");
        // A kernel that uses several, one of them bound anew.
        let line = device.image(FLOAT, Shape::D1, &[&row(7.0)], sampler);
        device.bind("line", Some(line));
        let plane = device.image(FLOAT, Shape::D2, &[&row(0.5), &row(-3.5)], sampler);
        device.bind("plane", Some(plane));
        let colour: Vec<u8> = (0..LANES as u8).flat_map(|x| [x, 0, 0, 51]).collect();
        let colours = device.image(
            (Channel::U8, 4),
            Shape::D2,
            &[&[9; 4 * LANES], &colour],
            Some(Sampler { as_float: true, ..Sampler::default() }),
        );
        device.bind("colours", Some(colours));
        for (x, found) in device.run("blend").unwrap().into_iter().enumerate() {
            let expected = 7.0 + x as f32 + 4.0 + x as f32 / 255.0 + 0.2;
            assert!((found - expected).abs() < 1e-4, "{name}: {found} at {x}, not {expected}");
        }
    }
}

#[test]
fn surface_references_are_written() {
    for (name, loaded) in modules() {
        let mut device = Device::new(&loaded);
        device.state.memory.write(device.out, &row(1000.0)).unwrap();
        let canvas = device.image(FLOAT, Shape::D2, &[&row(5.0), &row(0.0)], None);
        device.bind("canvas", Some(canvas));
        device.run("paint").unwrap();
        let image = device.state.memory.allocations().find(|a| a.name == "image").unwrap().base;
        let expected: Vec<f32> = (0..LANES).map(|x| 1005.0 + 2.0 * x as f32).collect();
        assert_eq!(device.floats(image + 4 * LANES as u64), expected, "{name}");
    }
}

#[test]
fn a_reference_without_an_image_is_a_fault_of_the_kernels_that_use_it() {
    for (name, loaded) in modules() {
        let mut device = Device::new(&loaded);
        assert_eq!(device.run("plain").unwrap(), [LANES as f32; LANES], "{name}");
        let fault = device.run("lookup").unwrap_err();
        assert!(fault.contains("texture reference `line` is not bound"), "{name}: {fault}");
        let fault = device.run("paint").unwrap_err();
        assert!(fault.contains("surface reference `canvas` is not bound"), "{name}: {fault}");
        // Bound and released.
        let line = device.image(FLOAT, Shape::D1, &[&row(1.0)], Some(Sampler::default()));
        device.bind("line", Some(line));
        device.run("lookup").unwrap();
        device.bind("line", None);
        let fault = device.run("lookup").unwrap_err();
        assert!(fault.contains("texture reference `line` is not bound"), "{name}: {fault}");
    }
}

/// The relocation of `symbol` gets a kind that does not exist.
fn damaged(symbol: &str) -> Vec<u8> {
    let mut file = CUBINS[1].1.to_vec();
    let cubin = sass::elf::Cubin::parse(CUBINS[1].1).unwrap();
    let target = cubin.relocations.iter().find(|r| r.symbol == symbol).unwrap();
    // Offset, kind, symbol.
    let entry = target.offset.to_le_bytes();
    let is_entry = |at: &usize| file[*at..].starts_with(&entry) && matches!(file[*at + 8], 0x06 | 0x34);
    let at = (0..file.len() - 16).find(is_entry).unwrap();
    file[at + 8] = 0xee;
    file
}

#[test]
fn an_unknown_relocation_spoils_only_the_kernels_that_depend_on_it() {
    let loaded = load_cubin("damaged", &damaged("canvas"), LowerOptions::default()).unwrap();
    let rejected: Vec<&str> = loaded.rejected.iter().map(|r| &*r.name).collect();
    assert_eq!(rejected, ["paint"]);
    let problem = loaded.problems().unwrap();
    assert!(problem.contains("relocation Other(238) of `canvas` in .nv.constant0.paint is not supported"), "{problem}");
    assert_eq!(Device::new(&loaded).run("plain").unwrap(), [LANES as f32; LANES]);
    let options = LowerOptions { deferred: true, ..LowerOptions::default() };
    let mut later = load_cubin("damaged", &damaged("canvas"), options).unwrap();
    assert!(later.problems().is_none());
    later.prepare(Some("paint"));
    assert_eq!(later.problems().unwrap(), problem);
}
