//! Which registers a kernel gets, and how many.

/// Which registers the instructions of PTX name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Registers {
    /// Those of the text, each value its own; how many a thread takes is estimated.
    #[default]
    Virtual,
    /// Allocated ones.
    Allocated(RegisterLimits),
    /// Allocated so that no write overtakes a read of an instruction with a result.
    HazardFree(RegisterLimits),
}

/// How many registers a thread may have. The smallest bound holds, `.maxnreg` and `.minnctapersm` of
/// the kernel among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterLimits {
    /// That the architecture allows.
    pub architecture: u32,
    /// That the user allows, as `-maxrregcount` of nvcc.
    pub chosen: Option<u32>,
    /// Registers of an SM, for `.minnctapersm`.
    pub sm: u32,
}

impl Default for RegisterLimits {
    /// Those of most architectures.
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
            // Registers are given out by eight to a thread.
            u64::from(self.sm) / ctas.saturating_mul(threads).max(1) / 8 * 8
        });
        let all = [first("maxnreg"), resident, self.chosen.map(u64::from)];
        all.into_iter().flatten().map(|n| n as u32).fold(self.architecture, u32::min)
    }
}

/// There are too few registers, even with everything spilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortage;
