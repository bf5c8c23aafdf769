//! Kind and number of a kernel's registers.

/// The registers that instructions of PTX name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Registers {
    /// The registers of the text, each value in its own; the number per thread is estimated. A kernel with more than 32,767
    /// registers or predicates gets allocated ones.
    #[default]
    Virtual,
    /// Allocated ones, within the limits.
    Allocated(RegisterLimits),
    /// Allocated so that no write overtakes a read of an instruction that has a result.
    HazardFree(RegisterLimits),
}

/// Bounds of the number of registers of a thread. The smallest one holds, including `.maxnreg` and
/// `.minnctapersm` of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterLimits {
    /// Maximum of the architecture.
    pub architecture: u32,
    /// Maximum that the user sets, as `-maxrregcount` of nvcc.
    pub chosen: Option<u32>,
    /// Number of registers of an SM, for `.minnctapersm`.
    pub sm: u32,
}

impl Default for RegisterLimits {
    /// The bounds of most architectures.
    fn default() -> Self {
        Self { architecture: 255, chosen: None, sm: 65_536 }
    }
}

impl RegisterLimits {
    /// The limit of a kernel with these directives.
    pub(crate) fn of<'a>(&self, directive: impl Fn(&str) -> Option<&'a [u64]>) -> u32 {
        let first = |name: &str| directive(name).and_then(|n| n.first()).copied();
        let threads: Option<u64> = directive("reqntid").or_else(|| directive("maxntid")).map(|n| n.iter().product());
        let resident = first("minnctapersm").zip(threads).map(|(ctas, threads)| {
            // Hardware allocates eight registers of a thread at a time.
            u64::from(self.sm) / ctas.saturating_mul(threads).max(1) / 8 * 8
        });
        let all = [first("maxnreg"), resident, self.chosen.map(u64::from)];
        all.into_iter().flatten().map(|n| n as u32).fold(self.architecture, u32::min)
    }
}

/// There are too few registers, even if everything is spilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortage;
