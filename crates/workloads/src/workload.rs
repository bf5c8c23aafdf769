//! A workload: parameters, inputs from a seed, launches, and a check of the result.

use crate::bounded::Bounded;
use crate::bundled::Bundled;
use crate::check::Check;
use crate::device::{
    ArgBytes, Buffer, Device, DeviceError, LaunchRequest, ModuleCode, ModuleId, ModuleSource, ThreadRegisters,
};
use crate::element::{self, Element};
use isa::{Dim3, Form, Image};
use kit::suggest;
use rand::RngCore;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// How much work a workload does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// About 20,000 to 100,000 warp instructions: for tests.
    #[default]
    Small,
    /// About a million (0.6 to 2.5).
    Medium,
    /// About ten million (6 to 18); two million where that is the known size of a program.
    Large,
}

impl Size {
    /// Every size, smallest first.
    pub const ALL: [Size; 3] = [Size::Small, Size::Medium, Size::Large];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Size::Small => "small",
            Size::Medium => "medium",
            Size::Large => "large",
        }
    }
}

/// The benchmark suite whose program a workload follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the suites")]
pub enum Suite {
    /// None: a program of our own.
    Own,
    Rodinia,
    /// Benchmarks of A. Bakhoda et al., ISPASS 2009.
    Ispass,
    CudaSdk,
    Pagoda,
    Pannotia,
    Tango,
    DeepBench,
}

impl Suite {
    /// Name in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Suite::Own => "own",
            Suite::Rodinia => "Rodinia",
            Suite::Ispass => "ISPASS",
            Suite::CudaSdk => "CUDA SDK",
            Suite::Pagoda => "Pagoda",
            Suite::Pannotia => "Pannotia",
            Suite::Tango => "Tango",
            Suite::DeepBench => "DeepBench",
        }
    }
}

/// A number that the user may choose.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Parameter {
    /// Name on the command line.
    pub name: &'static str,
    /// Meaning of the parameter.
    pub description: &'static str,
    /// Its value for [`Size::Small`], [`Size::Medium`] and [`Size::Large`].
    pub sizes: [u64; 3],
    pub min: u64,
    pub max: u64,
    /// The value must be a multiple of this.
    pub multiple_of: u64,
    /// Whether it chooses one of several programs. Titles name it only if the value is not the default.
    pub is_variant: bool,
}

impl Parameter {
    /// A parameter with a value for each size and a range.
    pub const fn new(name: &'static str, description: &'static str, sizes: [u64; 3], min: u64, max: u64) -> Self {
        Self { name, description, sizes, min, max, multiple_of: 1, is_variant: false }
    }

    /// The same, restricted to multiples.
    pub const fn in_steps_of(self, multiple_of: u64) -> Self {
        Self { multiple_of, ..self }
    }

    /// The same as a choice of the program.
    pub const fn variant(self) -> Self {
        Self { is_variant: true, ..self }
    }
}

/// Why a workload did not run to its end. Wrong results are not errors here: see [`Outcome`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum WorkloadError {
    /// No workload of this name.
    #[error("there is no workload `{name}`{}", suggest::among(name, known))]
    UnknownWorkload { name: String, known: Vec<&'static str> },
    /// The workload has no such parameter.
    #[error("workload `{workload}` has no parameter `{name}`{}", suggest::among(name, known))]
    UnknownParameter { workload: &'static str, name: String, known: Vec<&'static str> },
    /// A value out of range.
    #[error("parameter `{name}` of workload `{workload}` is {value}: {rule}")]
    BadParameter {
        workload: &'static str,
        name: &'static str,
        value: u64,
        /// Condition on the value.
        rule: String,
    },
    /// It is not compiled for the GPU's architecture.
    #[error("workload `{workload}` has machine code for {}, the GPU is sm_{sm_version}", known.join(", "))]
    NoMachineCode {
        workload: &'static str,
        /// Architecture of the GPU.
        sm_version: u32,
        /// Those it is compiled for.
        known: Vec<String>,
    },
    /// Its instructions are in one architecture only.
    #[error(
        "workload `{workload}` needs a GPU of sm_{needs}, whose instructions no other has; the GPU is sm_{sm_version}"
    )]
    OtherArchitecture {
        workload: &'static str,
        /// Architecture of the GPU.
        sm_version: u32,
        /// The one that it needs.
        needs: u32,
    },
    /// The device could not do its part.
    #[error("{0}")]
    Device(#[from] DeviceError),
}

/// The values of a workload's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params(Vec<(&'static str, u64)>);

impl Params {
    /// All names and values, in the workload's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().copied()
    }

    /// Value of a parameter that the workload declares. Panics on others.
    pub fn get(&self, name: &str) -> u64 {
        let found = self.0.iter().find(|(n, _)| *n == name);
        found.unwrap_or_else(|| panic!("parameter `{name}` is not declared")).1
    }
}

/// Outcome of a run.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Outcome {
    pub launches: u64,
    /// Comparisons with the host reference.
    pub checks: Vec<Check>,
}

impl Outcome {
    /// Whether every result is right.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(Check::passed)
    }
}

/// A program with kernels: its inputs, launches and expected results.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Workload {
    /// Name on the command line.
    pub name: &'static str,
    /// One line on what it computes.
    pub summary: &'static str,
    /// Its load on a core, in one line.
    pub character: &'static str,
    pub suite: Suite,
    /// The papers that evaluate the program, as their machines are called (`war` of `papers/war`), and its name there.
    pub papers: &'static [(&'static str, &'static str)],
    pub module: Bundled,
    /// Choices of the user.
    pub parameters: &'static [Parameter],
    /// Generates inputs, launches, reads back and checks.
    pub body: fn(&mut Run<'_>) -> Result<(), WorkloadError>,
}

impl Workload {
    /// Values of all parameters: a size's, except the given ones.
    pub fn params(&'static self, size: Size, given: &[(String, u64)]) -> Result<Params, WorkloadError> {
        let mut params = Params(self.parameters.iter().map(|p| (p.name, p.sizes[size as usize])).collect());
        for (name, value) in given {
            let Some(index) = self.parameters.iter().position(|p| p.name == name) else {
                let known = self.parameters.iter().map(|p| p.name).collect();
                return Err(WorkloadError::UnknownParameter { workload: self.name, name: name.clone(), known });
            };
            self.check_range(&self.parameters[index], *value)?;
            params.0[index].1 = *value;
        }
        Ok(params)
    }

    /// Whether a GPU of an architecture (75 as in sm_75; 0 for a device without one) runs it as such code.
    pub fn runs_on(&self, form: Form, sm_version: u32) -> bool {
        match form {
            Form::Sass => self.module.cubin(sm_version).is_some(),
            Form::Ptx => sm_version == 0 || self.module.only_on().is_none_or(|only| only == sm_version),
        }
    }

    /// The code that it runs as on GPUs of these architectures (75 as in sm_75) unless the user chooses: machine code
    /// where it has some for all of them, else PTX.
    pub fn usual_form(&self, sm_versions: impl IntoIterator<Item = u32>) -> Form {
        let everywhere = sm_versions.into_iter().all(|version| self.runs_on(Form::Sass, version));
        if everywhere { Form::Sass } else { Form::Ptx }
    }

    /// The workload for reports: the name with size, parameters and seed.
    pub fn title(&self, size: Size, params: &Params, seed: u64) -> String {
        let usual = |name: &str, value: u64| {
            let parameter = self.parameters.iter().find(|p| p.name == name);
            parameter.is_some_and(|p| p.is_variant && p.sizes[size as usize] == value)
        };
        let told = params.iter().filter(|&(name, value)| !usual(name, value));
        let params: String = told.map(|(name, value)| format!(", {name}={value}")).collect();
        format!("{} ({}{params}, seed={seed})", self.name, size.name())
    }

    fn check_range(&self, p: &Parameter, value: u64) -> Result<(), WorkloadError> {
        if (p.min..=p.max).contains(&value) && value.is_multiple_of(p.multiple_of) {
            return Ok(());
        }
        let mut rule = format!("it must be from {} to {}", p.min, p.max);
        if p.multiple_of > 1 {
            rule += &format!(" and a multiple of {}", p.multiple_of);
        }
        Err(WorkloadError::BadParameter { workload: self.name, name: p.name, value, rule })
    }

    /// Runs on a device and compares with the host reference. The same seed gives the same inputs
    /// on every machine. The memory is given back at the end, also after an error.
    pub fn run(
        &self,
        device: &mut dyn Device,
        form: Form,
        params: &Params,
        seed: u64,
    ) -> Result<Outcome, WorkloadError> {
        let module = self.load(device, form)?;
        let mut run = Run {
            device,
            bundled: &self.module,
            form,
            module,
            params,
            rng: ChaCha8Rng::seed_from_u64(seed),
            buffers: Vec::new(),
            outcome: Outcome { launches: 0, checks: Vec::new() },
        };
        let result = (self.body)(&mut run);
        let released = run.release();
        result?;
        // Interrupted comparisons have no meaning.
        if kit::stop::requested() { Err(DeviceError::Interrupted.into()) } else { Ok(released?) }
    }

    fn load(&self, device: &mut dyn Device, form: Form) -> Result<ModuleId, WorkloadError> {
        let (bundled, sm_version) = (&self.module, device.sm_version());
        if let Some(needs) = bundled.only_on().filter(|_| !self.runs_on(Form::Ptx, sm_version)) {
            return Err(WorkloadError::OtherArchitecture { workload: self.name, sm_version, needs });
        }
        if form == Form::Ptx {
            let name = format!("{}.ptx", bundled.name);
            return Ok(device.load_module(&ModuleSource { name: &name, code: ModuleCode::BundledPtx(bundled.ptx()) })?);
        }
        let Some(cubin) = bundled.cubin(sm_version) else {
            let known = bundled.cubins().map(|cubin| format!("sm_{}", cubin.sm)).collect();
            return Err(WorkloadError::NoMachineCode { workload: self.name, sm_version, known });
        };
        let name = format!("{}.sm_{}.cubin", bundled.name, cubin.sm);
        Ok(device.load_module(&ModuleSource { name: &name, code: ModuleCode::Binary(cubin.file()) })?)
    }
}

/// A workload's run in progress: what a workload's body works with.
pub struct Run<'a> {
    device: &'a mut dyn Device,
    bundled: &'a Bundled,
    form: Form,
    module: ModuleId,
    params: &'a Params,
    rng: ChaCha8Rng,
    buffers: Vec<Buffer>,
    outcome: Outcome,
}

/// Grid or block of a launch: a number, or an array of two or three.
pub trait IntoDim3 {
    /// The sizes in x, y and z.
    fn dim3(self) -> Dim3;
}

impl IntoDim3 for usize {
    fn dim3(self) -> Dim3 {
        [self, 1, 1].dim3()
    }
}

impl IntoDim3 for [usize; 2] {
    fn dim3(self) -> Dim3 {
        [self[0], self[1], 1].dim3()
    }
}

impl IntoDim3 for [usize; 3] {
    fn dim3(self) -> Dim3 {
        let [x, y, z] = self.map(|n| u32::try_from(n).expect("ranges of parameters keep grids small"));
        Dim3::new(x, y, z)
    }
}

/// The number that `draw` chooses between `low` (included) and `high`.
#[inline]
fn between(low: f32, high: f32, draw: u32) -> f32 {
    low + (high - low) * ((draw >> 8) as f32 / (1 << 24) as f32)
}

impl Run<'_> {
    /// The value of a parameter that the workload declares. Panics on others.
    pub fn param(&self, name: &str) -> usize {
        self.params.get(name) as usize
    }

    /// A whole number from `low` to `high`, both included.
    pub fn integer(&mut self, low: i64, high: i64) -> i64 {
        // Multiplying a 64-bit draw by the width and keeping the top is even enough: the ranges are
        // small.
        let width = (high - low) as u128 + 1;
        low + ((u128::from(self.rng.next_u64()) * width) >> 64) as i64
    }

    /// `count` whole numbers from `low` to `high`, both included.
    pub fn integers<T: TryFrom<i64>>(&mut self, count: usize, low: i64, high: i64) -> Vec<T> {
        let convert = |v| T::try_from(v).unwrap_or_else(|_| panic!("{low} to {high} does not fit the type"));
        (0..count).map(|_| convert(self.integer(low, high))).collect()
    }

    /// A number from `low` (included) to `high`, in steps of the width divided by 2^24.
    pub fn float(&mut self, low: f32, high: f32) -> f32 {
        between(low, high, self.rng.next_u32())
    }

    /// `count` numbers from `low` (included) to `high`.
    pub fn floats(&mut self, count: usize, low: f32, high: f32) -> Vec<f32> {
        let mut values = Vec::with_capacity(count);
        // The draws of `float`, several at a time.
        let mut draws = [0; 1024];
        while values.len() < count {
            let bytes = (4 * (count - values.len())).min(draws.len());
            self.rng.fill_bytes(&mut draws[..bytes]);
            let (words, _) = draws[..bytes].as_chunks();
            values.extend(words.iter().map(|w| between(low, high, u32::from_le_bytes(*w))));
        }
        values
    }

    /// Device memory for `count` values, contents undefined.
    pub fn alloc<T: Element>(&mut self, name: &str, count: usize) -> Result<Buffer, WorkloadError> {
        let buffer = self.device.alloc(name, (count * T::BYTES) as u64)?;
        self.buffers.push(buffer);
        Ok(buffer)
    }

    /// Device memory for `count` values, all bytes zero.
    pub fn zeroed<T: Element>(&mut self, name: &str, count: usize) -> Result<Buffer, WorkloadError> {
        let buffer = self.alloc::<T>(name, count)?;
        self.device.memset(buffer, 0)?;
        Ok(buffer)
    }

    /// Device memory that holds `values`.
    pub fn upload<T: Element>(&mut self, name: &str, values: &[T]) -> Result<Buffer, WorkloadError> {
        let buffer = self.alloc::<T>(name, values.len())?;
        self.write(buffer, values)?;
        Ok(buffer)
    }

    /// Overwrites the start of a buffer.
    pub fn write<T: Element>(&mut self, buffer: Buffer, values: &[T]) -> Result<(), WorkloadError> {
        Ok(self.device.write(buffer, 0, &element::to_bytes(values))?)
    }

    /// Overwrites the start of a module variable.
    pub fn write_symbol<T: Element>(&mut self, name: &str, values: &[T]) -> Result<(), WorkloadError> {
        Ok(self.device.write_symbol(self.module, name, 0, &element::to_bytes(values))?)
    }

    /// A texture or surface, as an argument.
    pub fn image(&mut self, image: &Image) -> Result<ArgBytes, WorkloadError> {
        Ok(self.device.image(image)?.into())
    }

    /// All of a buffer, after all launches so far.
    pub fn download<T: Element>(&mut self, buffer: Buffer) -> Result<Vec<T>, WorkloadError> {
        let count = buffer.bytes as usize / T::BYTES;
        Ok(element::read_values(count, |bytes| self.device.read(buffer, 0, bytes))?)
    }

    /// Launches a kernel without dynamic shared memory.
    pub fn launch(
        &mut self,
        kernel: &str,
        grid: impl IntoDim3,
        block: impl IntoDim3,
        args: &[ArgBytes],
    ) -> Result<(), WorkloadError> {
        self.launch_with_shared(kernel, grid, block, 0, args)
    }

    /// Launches a kernel with dynamic shared memory.
    pub fn launch_with_shared(
        &mut self,
        kernel: &str,
        grid: impl IntoDim3,
        block: impl IntoDim3,
        dynamic_shared_bytes: u32,
        args: &[ArgBytes],
    ) -> Result<(), WorkloadError> {
        // Machine code records its register count itself.
        let recorded = self.bundled.kernel(kernel).filter(|_| self.form == Form::Ptx);
        let known = recorded.and_then(|k| k.registers_on(self.device.sm_version()));
        self.outcome.launches += 1;
        Ok(self.device.launch(&LaunchRequest {
            module: self.module,
            kernel,
            grid: grid.dim3(),
            block: block.dim3(),
            dynamic_shared_bytes,
            args,
            registers: known.map_or(ThreadRegisters::Estimated, ThreadRegisters::Compiled),
            stream: 0,
        })?)
    }

    /// Adds a comparison to the outcome; comparisons of the same name are counted as one.
    pub fn check(&mut self, check: Check) {
        match self.outcome.checks.iter_mut().find(|c| (&c.what, &c.rule) == (&check.what, &check.rule)) {
            Some(earlier) => earlier.append(check),
            None => self.outcome.checks.push(check),
        }
    }

    /// Records whether `got` equals `expected`.
    pub fn check_equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, got: &[T], expected: &[T]) {
        self.check(Check::equal(what, got, expected));
    }

    /// Compares with references that carry their own bounds.
    pub fn check_bounds<T, const P: u32>(&mut self, what: &str, got: &[T], expected: &[Bounded<P>])
    where
        T: Copy + Into<f64> + std::fmt::Debug,
    {
        self.check(Check::within_bounds(what, got, expected));
    }

    /// Whether a comparison found a difference: then what follows from the device's result means
    /// nothing.
    pub fn check_failed(&self) -> bool {
        !self.outcome.passed()
    }

    fn release(mut self) -> Result<Outcome, DeviceError> {
        for buffer in self.buffers.drain(..).rev() {
            self.device.free(buffer)?;
        }
        Ok(self.outcome)
    }
}
