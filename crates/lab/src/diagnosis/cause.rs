//! The results of a diagnosis.

use serde::{Deserialize, Serialize};

/// A gain that is worth a sentence.
pub const LEAST: f64 = 1.08;
/// Share of a roof from which it is the limit.
pub const BOUND: f64 = 0.6;
/// Why a run takes the time it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The roof of the longest kernel, as a sentence.
    pub limit: String,
    /// Causes that can be removed, the greatest bound first.
    pub causes: Vec<Cause>,
    /// The roofs of each kernel that was looked at, the longest kernel first.
    #[serde(default)]
    pub kernels: Vec<KernelRoofs>,
}

impl Diagnosis {
    /// Adds causes. Of equal bounds the one that was there first stays first.
    pub fn add(&mut self, causes: impl IntoIterator<Item = Cause>) {
        self.causes.extend(causes);
        self.causes.sort_by(|a, b| b.saved_cycles.total_cmp(&a.saved_cycles));
    }
}

/// The roofs of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelRoofs {
    /// Name of the kernel.
    pub kernel: String,
    /// Its roofs.
    pub roofs: Vec<RoofInUse>,
}

/// The share of a roof that a kernel used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoofInUse {
    /// The roof.
    pub name: String,
    /// Share in use over the kernel's cycles.
    pub percent: f64,
}

/// A cause that can be removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Name of the rule.
    pub rule: String,
    /// The kernel.
    pub kernel: String,
    /// The sentence, with its bound.
    pub sentence: String,
    /// A change that may help.
    pub remedy: String,
    /// The instruction, if the run was profiled.
    pub instruction: Option<String>,
    /// Its place in the code.
    pub pc: Option<u32>,
    /// The file of its line.
    pub file: Option<String>,
    /// Its line.
    pub line: Option<u32>,
    /// Cycles of the run that the cause costs.
    pub saved_cycles: f64,
    /// How many times as fast the kernel is without it.
    pub times_faster: f64,
    /// Whether these two are bounds. Otherwise they count slots that are lost to a latency: without it warps issue in
    /// another order and may wait less for other reasons, too.
    #[serde(default = "yes")]
    pub is_bound: bool,
}

/// Rules of the user give a bound.
fn yes() -> bool {
    true
}
