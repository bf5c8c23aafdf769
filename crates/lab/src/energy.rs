//! From counters to joules: the model of a GPU's energy, with coefficients and voltage.
//!
//! The counters give the events ([`AnySnapshot::activity`]). `docs/energy.md` has the deviations; one of them is
//! here:
//!
//! - D-E5: static power follows the units and lanes in use over a whole kernel, not over 500 cycles.

use config::GpuConfig;
use energy::{Coefficients, Energy, Hardware};
use gpu::AnySnapshot;
use std::path::Path;

/// Coefficients and voltage that energy and power of a GPU are computed with.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyModel {
    coefficients: Coefficients,
    volts: f64,
}

impl EnergyModel {
    /// The one that the description of `gpu` names; `None` if it names none.
    ///
    /// # Errors
    /// There is no such model, or its file has mistakes (all are listed).
    pub fn of(gpu: &GpuConfig) -> Result<Option<Self>, String> {
        gpu.energy.model.as_ref().map(|name| Self::named(Path::new(name), gpu)).transpose()
    }

    /// One that comes with the program or is in a file, for the description `gpu`.
    ///
    /// # Errors
    /// As [`EnergyModel::of`].
    pub fn named(name_or_path: &Path, gpu: &GpuConfig) -> Result<Self, String> {
        let coefficients = coefficients(name_or_path)?;
        let volts = gpu.energy.volts.unwrap_or(coefficients.volts);
        Ok(Self { coefficients, volts })
    }

    /// The coefficients that energy is computed with.
    pub fn coefficients(&self) -> &Coefficients {
        &self.coefficients
    }

    /// The model on cores of `hardware`, from whose structures the energies of their own events follow.
    pub fn on(self, hardware: &Hardware) -> Self {
        Self { coefficients: self.coefficients.on(hardware), ..self }
    }

    /// Chip voltage that energy is computed at.
    pub fn volts(&self) -> f64 {
        self.volts
    }

    /// Energy of the events in `counted` on `gpu`, with the in-order core.
    pub fn energy(&self, counted: &AnySnapshot, gpu: &GpuConfig) -> Energy {
        self.coefficients.energy(&counted.activity(gpu), self.volts)
    }
}

/// Coefficients that come with the program, or those in a file.
fn coefficients(path: &Path) -> Result<Coefficients, String> {
    let name = &*kit::text::excerpt(&path.to_string_lossy());
    let known = || Coefficients::builtin().collect::<Vec<_>>().join(", ");
    let parsed = match path.to_str().and_then(Coefficients::of) {
        Some(parsed) => parsed,
        None => {
            let text = kit::files::read_text(path).map_err(|e| {
                let known = known();
                format!("there is no energy model `{name}` and the file cannot be read: {e}\n  hint: models that come with the program: {known}; `warpwright docs energy` describes files of your own")
            })?;
            Coefficients::parse(&text)
        }
    };
    parsed.map_err(|e| format!("energy model `{name}`:\n{e}"))
}
