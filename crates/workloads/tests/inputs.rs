//! Requests of workloads to a device, on one that executes nothing.

use insta::assert_snapshot;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use workloads::Form;
use workloads::suite::{ALL, find};
use workloads::{
    Buffer, Device, DeviceError, LaunchRequest, ModuleId, ModuleSource, Outcome, ParameterInfo, Size, ThreadRegisters,
    Workload, WorkloadError,
};

/// Keeps memory, digests all that is written and launched, and executes nothing.
#[derive(Default)]
struct Recorder {
    memory: Vec<Option<Vec<u8>>>,
    digest: Sha256,
    launches: Vec<String>,
    fail_launch: bool,
    sm_version: u32,
}

impl Recorder {
    /// An sm_75, if that runs the workload.
    fn new(workload: &Workload) -> Self {
        Self { sm_version: workload.module.only_on().unwrap_or(75), ..Self::default() }
    }

    fn at(&mut self, buffer: Buffer) -> &mut Vec<u8> {
        self.memory[(buffer.address >> 32) as usize].as_mut().expect("not freed")
    }
}

impl Device for Recorder {
    fn sm_version(&self) -> u32 {
        self.sm_version
    }
    fn load_module(&mut self, _: &ModuleSource<'_>) -> Result<ModuleId, DeviceError> {
        Ok(ModuleId(0))
    }
    fn kernels(&self, _: ModuleId) -> Result<Vec<String>, DeviceError> {
        Ok(Vec::new())
    }
    fn parameters(&self, _: ModuleId, _: &str) -> Result<Vec<ParameterInfo>, DeviceError> {
        Ok(Vec::new())
    }
    fn alloc(&mut self, _: &str, bytes: u64) -> Result<Buffer, DeviceError> {
        // Nothing that a reference would leave.
        self.memory.push(Some(vec![0x5a; bytes as usize]));
        Ok(Buffer { address: (self.memory.len() as u64 - 1) << 32, bytes })
    }
    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.memory[(buffer.address >> 32) as usize].take().map(|_| ()).ok_or(DeviceError::Other("freed twice".into()))
    }
    fn write(&mut self, buffer: Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.digest.update(bytes);
        self.at(buffer)[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    fn read(&mut self, buffer: Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        bytes.copy_from_slice(&self.at(buffer)[offset as usize..][..bytes.len()]);
        Ok(())
    }
    fn memset(&mut self, buffer: Buffer, byte: u8) -> Result<(), DeviceError> {
        self.at(buffer).fill(byte);
        Ok(())
    }
    fn symbol(&mut self, _: ModuleId, name: &str) -> Result<Buffer, DeviceError> {
        Err(DeviceError::UnknownSymbol { name: name.to_owned(), known: Vec::new() })
    }
    fn write_symbol(&mut self, _: ModuleId, _: &str, _: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.digest.update(bytes);
        Ok(())
    }
    fn image(&mut self, image: &isa::Image) -> Result<u64, DeviceError> {
        self.digest.update(format!("{image:?}"));
        Ok(1)
    }
    fn bind_image(&mut self, _: ModuleId, name: &str, _: u64) -> Result<(), DeviceError> {
        Err(DeviceError::UnknownReference { name: name.to_owned(), known: Vec::new() })
    }
    fn launch(&mut self, launch: &LaunchRequest<'_>) -> Result<(), DeviceError> {
        if self.fail_launch {
            return Err(DeviceError::Interrupted);
        }
        let ThreadRegisters::Compiled(registers) = launch.registers else {
            panic!("{} is not recorded", launch.kernel)
        };
        self.launches.push(format!("{} {} {} {registers}", launch.kernel, launch.grid, launch.block));
        Ok(())
    }
    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

fn run(workload: &'static Workload, seed: u64) -> (Recorder, Outcome) {
    let mut device = Recorder::new(workload);
    let params = workload.params(Size::Small, &[]).unwrap();
    let outcome = workload.run(&mut device, Form::Ptx, &params, seed).unwrap();
    (device, outcome)
}

fn digest(recorder: Recorder) -> String {
    recorder.digest.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect()
}

/// The same seed gives the same bytes on every machine and with every version.
#[test]
fn inputs_follow_from_the_seed() {
    let mut text = String::new();
    for workload in ALL {
        let first = digest(run(workload, 1).0);
        assert_eq!(first, digest(run(workload, 1).0), "{}", workload.name);
        assert_ne!(first, digest(run(workload, 2).0), "{}", workload.name);
        _ = writeln!(text, "{} {first}", workload.name);
    }
    assert_snapshot!(text);
}

/// A device that does nothing does not pass: the checks check something.
#[test]
fn doing_nothing_is_found_out() {
    for workload in ALL {
        let (_, outcome) = run(workload, 1);
        assert!(!outcome.passed(), "{}", workload.name);
    }
}

#[test]
fn launch_sequences_of_the_small_sizes() {
    let mut text = String::new();
    for workload in ALL {
        _ = writeln!(text, "{}", workload.name);
        let launches = run(workload, 1).0.launches;
        for (i, launch) in launches.iter().enumerate().take(6) {
            _ = writeln!(text, "  {launch}{}", if i == 5 { " ..." } else { "" });
        }
    }
    assert_snapshot!(text);
}

#[test]
fn memory_is_given_back_whatever_comes() {
    for workload in ALL {
        for fail_launch in [false, true] {
            let mut device = Recorder { fail_launch, ..Recorder::new(workload) };
            let params = workload.params(Size::Small, &[]).unwrap();
            let result = workload.run(&mut device, Form::Ptx, &params, 1);
            assert_eq!(result.is_err(), fail_launch);
            assert!(device.memory.iter().all(Option::is_none), "{}", workload.name);
        }
    }
}

#[test]
fn parameters_are_checked() {
    let matmul = find("matmul").unwrap();
    let error = |name: &str, value| matmul.params(Size::Small, &[(name.to_owned(), value)]).unwrap_err().to_string();
    assert_eq!(error("x", 1), "workload `matmul` has no parameter `x`; did you mean `m`?");
    assert_eq!(error("n", 0), "parameter `n` of workload `matmul` is 0: it must be from 1 to 16384");
    let lud = find("lud").unwrap();
    let error = lud.params(Size::Small, &[("n".to_owned(), 40)]).unwrap_err().to_string();
    assert_eq!(error, "parameter `n` of workload `lud` is 40: it must be from 16 to 8192 and a multiple of 16");
    assert!(find("hotspott").unwrap_err().to_string().ends_with("did you mean `hotspot`?"));
    assert_eq!(matmul.params(Size::Medium, &[("m".to_owned(), 7)]).unwrap().get("m"), 7);
}

#[test]
fn sizes_keep_to_their_ranges_and_grow() {
    for workload in ALL {
        for p in workload.parameters {
            assert!(!p.description.is_empty() && p.min <= p.max);
            for value in p.sizes {
                assert!((p.min..=p.max).contains(&value) && value % p.multiple_of == 0, "{} {}", workload.name, p.name);
            }
        }
        let amounts = || workload.parameters.iter().filter(|p| !p.is_variant);
        let volume = |size: usize| amounts().map(|p| p.sizes[size] as f64).product::<f64>();
        assert!(volume(0) < volume(1) && volume(1) < volume(2), "{}", workload.name);
    }
}

#[test]
fn values_that_do_not_fit_each_other_are_refused() {
    type Values = &'static [(&'static str, u64)];
    let cases: [(&str, Values, &str); 6] = [
        ("gemm", &[("math", 2), ("k", 2049)], "k"),
        ("convlayer", &[("taps_across", 15)], "taps_across"),
        ("convlayer", &[("height", 2), ("taps_down", 5)], "taps_down"),
        ("convlayer", &[("width", 1024), ("height", 1024), ("channels", 4096)], "batch"),
        ("rnn", &[("persistent", 1), ("hidden", 65)], "hidden"),
        ("wgmma", &[("bits", 8), ("k", 4096)], "k"),
    ];
    for (name, given, refused) in cases {
        let workload = find(name).unwrap();
        let given: Vec<(String, u64)> = given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let params = workload.params(Size::Small, &given).unwrap();
        let outcome = workload.run(&mut Recorder::new(workload), Form::Ptx, &params, 1);
        assert!(
            matches!(&outcome, Err(WorkloadError::BadParameter { name, .. }) if *name == refused),
            "{name} {given:?}: {outcome:?}"
        );
    }
}

#[test]
fn another_architecture_is_refused() {
    let workload = find("wgmma").unwrap();
    let params = workload.params(Size::Small, &[]).unwrap();
    for (form, sm_version) in [(Form::Ptx, 75), (Form::Sass, 86), (Form::Ptx, 100)] {
        let mut device = Recorder { sm_version, ..Recorder::default() };
        let error = workload.run(&mut device, form, &params, 1).unwrap_err().to_string();
        let expected = "workload `wgmma` needs a GPU of sm_90, whose instructions no other has; the GPU is sm_";
        assert_eq!(error, format!("{expected}{sm_version}"));
        assert!(!workload.runs_on(form, sm_version) && workload.runs_on(form, 90));
    }
    assert!(workload.runs_on(Form::Ptx, 0));
}
