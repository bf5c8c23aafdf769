//! A device that knows three kernels by heart, and launch files on it.

use launchfile::{LaunchFile, LaunchOutcome, Overrides};
use std::path::Path;
use workloads::{
    ArgBytes, Buffer, Device, DeviceError, LaunchRequest, ModuleId, ModuleSource, ParameterInfo, ThreadRegisters,
};

/// A device whose kernels are written in Rust: `saxpy`, `sum`, `less`, which takes one from a word, and `record`,
/// which only notes its launch. Its module has a variable of 32 bytes.
#[derive(Default)]
pub struct Fake {
    memory: Vec<Option<Vec<u8>>>,
    pub log: Vec<String>,
    weights: Vec<u8>,
}

/// Where the variable is: the upper half of its address.
const SYMBOL: u64 = 0xff;

impl Fake {
    /// The memory that holds `address`, from there on.
    fn at(&mut self, address: u64) -> &mut [u8] {
        let memory = match address >> 32 {
            SYMBOL => &mut self.weights,
            number => self.memory[number as usize - 1].as_mut().expect("not freed"),
        };
        &mut memory[address as u32 as usize..]
    }

    fn floats(&mut self, address: u64) -> Vec<f32> {
        self.at(address).chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    }

    fn set_floats(&mut self, address: u64, values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.at(address)[..bytes.len()].copy_from_slice(&bytes);
    }
}

fn word(arg: &ArgBytes) -> u64 {
    let mut bytes = [0; 8];
    bytes[..arg.bytes().len()].copy_from_slice(arg.bytes());
    u64::from_le_bytes(bytes)
}

impl Device for Fake {
    fn sm_version(&self) -> u32 {
        0
    }
    fn load_module(&mut self, _: &ModuleSource<'_>) -> Result<ModuleId, DeviceError> {
        self.weights = (1..9).flat_map(|n: i32| n.to_le_bytes()).collect();
        Ok(ModuleId(0))
    }
    fn kernels(&self, _: ModuleId) -> Result<Vec<String>, DeviceError> {
        Ok(["saxpy", "sum", "less", "record"].map(str::to_owned).to_vec())
    }
    fn parameters(&self, module: ModuleId, kernel: &str) -> Result<Vec<ParameterInfo>, DeviceError> {
        let types: &[(&str, u32)] = match kernel {
            "saxpy" => &[("f32", 4), ("u64", 8), ("u64", 8), ("u32", 4)],
            "sum" => &[("u64", 8), ("u64", 8), ("u32", 4)],
            "less" => &[("u64", 8)],
            "record" => &[("b64", 8), ("b32", 4), ("b8", 3)],
            _ => return Err(DeviceError::UnknownKernel { name: kernel.to_owned(), known: self.kernels(module)? }),
        };
        let info = |(index, &(name, bytes)): (usize, &(&str, u32))| ParameterInfo {
            name: format!("{kernel}_param_{index}"),
            bytes,
            type_name: name.to_owned(),
        };
        Ok(types.iter().enumerate().map(info).collect())
    }
    fn alloc(&mut self, _: &str, bytes: u64) -> Result<Buffer, DeviceError> {
        self.memory.push(Some(vec![0xcd; bytes as usize]));
        Ok(Buffer { address: (self.memory.len() as u64) << 32, bytes })
    }
    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.memory[(buffer.address >> 32) as usize - 1].take().map(|_| ()).ok_or(DeviceError::Other("twice".into()))
    }
    fn write(&mut self, buffer: Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.at(buffer.address)[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    fn read(&mut self, buffer: Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        bytes.copy_from_slice(&self.at(buffer.address)[offset as usize..][..bytes.len()]);
        Ok(())
    }
    fn memset(&mut self, buffer: Buffer, byte: u8) -> Result<(), DeviceError> {
        self.at(buffer.address).fill(byte);
        Ok(())
    }
    fn symbol(&mut self, _: ModuleId, name: &str) -> Result<Buffer, DeviceError> {
        if name != "weights" {
            return Err(DeviceError::UnknownSymbol { name: name.to_owned(), known: vec!["weights".into()] });
        }
        Ok(Buffer { address: SYMBOL << 32, bytes: 32 })
    }
    fn write_symbol(&mut self, _: ModuleId, _: &str, _: u64, _: &[u8]) -> Result<(), DeviceError> {
        unreachable!("symbols are written like buffers")
    }
    fn image(&mut self, image: &isa::Image) -> Result<u64, DeviceError> {
        self.log.push(format!("{image:?}"));
        Ok(self.log.len() as u64)
    }
    fn bind_image(&mut self, _: ModuleId, name: &str, object: u64) -> Result<(), DeviceError> {
        if name != "pixels" {
            return Err(DeviceError::UnknownReference { name: name.to_owned(), known: vec!["pixels".into()] });
        }
        self.log.push(format!("bind {name} {object}"));
        Ok(())
    }
    fn launch(&mut self, l: &LaunchRequest<'_>) -> Result<(), DeviceError> {
        let args: Vec<u64> = l.args.iter().map(word).collect();
        match l.kernel {
            "saxpy" => {
                let (x, y) = (self.floats(args[1]), self.floats(args[2]));
                let a = f32::from_bits(args[0] as u32);
                let out: Vec<f32> = x.iter().zip(&y).map(|(x, y)| a.mul_add(*x, *y)).collect();
                assert_eq!(out.len() as u64, args[3]);
                self.set_floats(args[2], &out);
            }
            "sum" => {
                let sum = self.floats(args[0]).iter().map(|&v| f64::from(v)).sum::<f64>();
                self.set_floats(args[1], &[sum as f32]);
            }
            "less" => {
                let word = self.at(args[0]).first_chunk_mut().unwrap();
                *word = (i32::from_le_bytes(*word) - 1).to_le_bytes();
            }
            _ => {}
        }
        let words: Vec<String> = args.iter().map(|a| format!("{a:#x}")).collect();
        let registers = match l.registers {
            ThreadRegisters::Given(n) => format!(" registers {n}"),
            _ => String::new(),
        };
        let (grid, block, shared, stream) = (l.grid, l.block, l.dynamic_shared_bytes, l.stream);
        let text =
            format!("{} {grid} {block} shared {shared}{registers} stream {stream}: {}", l.kernel, words.join(" "));
        self.log.push(text);
        Ok(())
    }
    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

pub fn example(name: &str) -> LaunchFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch").join(name);
    LaunchFile::load(&path, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a text in a folder with an (empty) module; returns the outcome and the launches.
pub fn run(text: &str) -> Result<(LaunchOutcome, Vec<String>), String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.ptx"), "").unwrap();
    let path = folder.path().join("test.toml");
    let show = |e: String| e.replace(&format!("{}/", folder.path().display()), "");
    let file = LaunchFile::parse(&path, text, &Overrides::default()).map_err(|e| show(e.to_string()))?;
    let mut device = Fake::default();
    let outcome = file.run(&mut device);
    assert!(device.memory.iter().all(Option::is_none), "all memory is given back");
    let mut outcome = outcome.map_err(|e| show(e.to_string()))?;
    match outcome.error.take() {
        Some(error) => Err(show(error.to_string())),
        None => Ok((outcome, device.log)),
    }
}

pub fn mistakes(text: &str) -> String {
    run(text).map(|(outcome, log)| format!("no mistake: {outcome:?} {log:?}")).unwrap_or_else(|e| e)
}

pub const IMAGES: &str =
    "module = \"k.ptx\"\n[buffers.x]\ntype = \"f32\"\nlength = 24\n[buffers.d]\ntype = \"f64\"\nlength = 4\n";

pub fn launch_of(args: &str) -> String {
    format!("{IMAGES}[[launch]]\nkernel = \"sum\"\ngrid = 1\nblock = 1\nargs = [{args}, 0]\n")
}

/// A file with a word `n` of 3, a buffer `x`, and steps.
pub fn counting(steps: &str) -> String {
    format!(
        "module = 'k.ptx'\nbuffers.n = {{ type = 'i32', values = [3, 7] }}\n\
             buffers.x = {{ type = 'f32', values = [1, 2, 3, 4] }}\n{steps}\n"
    )
}

pub const LESS: &str = "{ kernel = 'less', grid = 1, block = 1, args = ['n'] }";
