//! Carries out a launch file on a device.

mod outcome;
mod output;
mod plan;
mod steps;

pub use outcome::{LaunchFileRunError, LaunchOutcome};

use super::content;
use super::diagnostics::Problem;
use super::model::{Content, LaunchFile, ModuleSpec, SymbolSpec};
use super::scope::{Contents, Filled, write_addresses};
use outcome::refused_for;
use plan::Planned;
use steps::Running;
use workloads::device::{Buffer, Device, DeviceError, ModuleCode, ModuleId, ModuleSource};
use workloads::element::ScalarType;

impl LaunchFile {
    /// Runs it: fills the buffers, checks every launch against its kernel, launches, then prints,
    /// writes and compares. Problems that can be known before the first launch are reported
    /// together before it.
    pub fn run(&self, device: &mut dyn Device) -> Result<LaunchOutcome, LaunchFileRunError> {
        kit::output::check(&self.outputs(), &self.inputs())?;
        if let Some(bytes) = self.stack_bytes {
            device.set_stack_bytes(bytes);
        }
        if let Some(bytes) = self.heap_bytes {
            device.set_heap_bytes(bytes);
        }
        let mut problems = Vec::new();
        let loaded = self.load_modules(device, &mut problems);
        let symbols = match &loaded {
            Ok(modules) if problems.is_empty() => self.find_symbols(device, modules, &mut problems),
            _ => vec![None; self.buffers.len()],
        };
        let filled = self.fill_buffers(device, &symbols, &mut problems)?;
        if !problems.is_empty() {
            return Err(refused_for(self, problems));
        }
        let modules = loaded?;
        let scope = Contents { values: &self.values, buffers: &filled };
        problems.extend(self.outputs.iter().filter_map(|output| self.check_output(output, &scope).err()));
        let plans = match plan::plan(self, device, &modules, &scope) {
            Ok(plans) if problems.is_empty() => plans,
            Ok(_) => return Err(refused_for(self, problems)),
            Err(found) => return Err(refused_for(self, [found, problems].concat())),
        };
        let mut owned = Vec::new();
        let result = self.run_on(device, &modules, &plans, &symbols, &scope, &mut owned);
        // Give the memory back also after an error.
        let freed: Result<(), DeviceError> = owned.into_iter().try_for_each(|b| device.free(b));
        let outcome = result?;
        freed?;
        Ok(outcome)
    }

    fn load_modules(
        &self,
        device: &mut dyn Device,
        problems: &mut Vec<Problem>,
    ) -> Result<Vec<ModuleId>, LaunchFileRunError> {
        let mut ids = Vec::new();
        for ModuleSpec { span, path, .. } in &self.modules {
            let name = path.display().to_string();
            let bytes = match kit::files::read_code(path) {
                Ok(bytes) => bytes,
                Err(e) => {
                    problems.push(Problem { span: span.clone(), message: format!("{name}: {e}") });
                    continue;
                }
            };
            let text;
            let code = if kit::files::is_machine_code(&bytes)
                || path.extension().is_some_and(|e| e == "cubin" || e == "fatbin")
            {
                ModuleCode::Binary(&bytes)
            } else {
                // The PTX reader reports bytes that are not text, with their place.
                text = String::from_utf8_lossy(&bytes);
                ModuleCode::Ptx(&text)
            };
            ids.push(device.load_module(&ModuleSource { name: &name, code })?);
        }
        Ok(ids)
    }

    /// The variables that symbols are, by buffer.
    fn find_symbols(
        &self,
        device: &mut dyn Device,
        modules: &[ModuleId],
        problems: &mut Vec<Problem>,
    ) -> Vec<Option<Buffer>> {
        let mut find = |spec: &SymbolSpec| {
            let found = device.symbol(modules[spec.module], &spec.name.item);
            found.map_err(|e| problems.push(Problem::new(spec.name.span.clone(), e.to_string()))).ok()
        };
        self.buffers.iter().map(|spec| find(spec.symbol.as_ref()?)).collect()
    }

    fn fill_buffers(
        &self,
        device: &mut dyn Device,
        symbols: &[Option<Buffer>],
        problems: &mut Vec<Problem>,
    ) -> Result<Vec<Filled>, LaunchFileRunError> {
        let mut filled = Vec::new();
        for (spec, symbol) in self.buffers.iter().zip(symbols) {
            let scope = Contents { values: &self.values, buffers: &filled };
            let contents = content::fill(self, spec, symbol.map(|variable| variable.bytes), &scope);
            let mut contents = contents.unwrap_or_else(|problem| {
                problems.push(problem);
                // Something for later expressions to refer to; nothing is run.
                Filled { length: 1, ..Filled::new(spec.ty.unwrap_or(ScalarType::U8), Vec::new()) }
            });
            if let (Content::Kept, Some(variable)) = (&spec.content, symbol)
                && problems.is_empty()
            {
                contents.bytes = vec![0; contents.size_bytes() as usize];
                device.read(*variable, contents.skipped_bytes, &mut contents.bytes)?;
            }
            filled.push(contents);
        }
        let scope = Contents { values: &self.values, buffers: &filled };
        let addresses = filled.iter().flat_map(|f| &f.addresses);
        problems.extend(addresses.filter_map(|address| address.check(&scope).err()));
        Ok(filled)
    }

    fn run_on(
        &self,
        device: &mut dyn Device,
        modules: &[ModuleId],
        plans: &[Planned<'_>],
        symbols: &[Option<Buffer>],
        scope: &Contents<'_>,
        owned: &mut Vec<Buffer>,
    ) -> Result<LaunchOutcome, LaunchFileRunError> {
        let mut buffers = Vec::new();
        for ((spec, contents), symbol) in self.buffers.iter().zip(scope.buffers).zip(symbols) {
            let bytes = contents.size_bytes();
            buffers.push(match symbol {
                Some(variable) => Buffer { address: variable.address + contents.skipped_bytes, bytes },
                None => {
                    let buffer = device.alloc(&spec.name.item, bytes)?;
                    owned.push(buffer);
                    buffer
                }
            });
        }
        for ((spec, contents), &buffer) in self.buffers.iter().zip(scope.buffers).zip(&buffers) {
            if !matches!(spec.content, Content::Kept) {
                write_contents(device, contents, buffer, scope, &buffers)?;
            }
        }
        let mut running = Running::new(self, device, modules, scope, buffers);
        running.steps(plans)?;
        let (buffers, mut outcome) = running.end()?;
        for output in &self.outputs {
            // The others are made all the same.
            if let Err(error) = self.output(device, output, scope, &buffers, &mut outcome) {
                outcome.error.get_or_insert(error);
            }
            // An interrupted comparison has no meaning.
            if kit::stop::requested() {
                return Err(DeviceError::Interrupted.into());
            }
        }
        Ok(outcome)
    }
}

/// Writes first contents, and zeros where there are none.
fn write_contents(
    device: &mut dyn Device,
    contents: &Filled,
    buffer: Buffer,
    scope: &Contents<'_>,
    buffers: &[Buffer],
) -> Result<(), DeviceError> {
    if (contents.bytes.len() as u64) < buffer.bytes {
        device.memset(buffer, 0)?;
    }
    if contents.addresses.is_empty() {
        return if contents.bytes.is_empty() { Ok(()) } else { device.write(buffer, 0, &contents.bytes) };
    }
    let mut bytes = contents.bytes.clone();
    write_addresses(&mut bytes, &contents.addresses, scope, buffers);
    device.write(buffer, 0, &bytes)
}
