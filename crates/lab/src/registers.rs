//! Which registers PTX runs with.

use config::GpuConfig;
use lower::{RegisterLimits, Registers};

/// Which registers the instructions of PTX name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegisterMode {
    /// Registers of the text: each value has its own.
    #[default]
    Virtual,
    /// Those that the register allocator assigns.
    Allocated,
    /// Allocated so that no write overtakes a read.
    HazardFree,
}

impl RegisterMode {
    /// Every mode, in the order of the documents.
    pub const ALL: [Self; 3] = [Self::Virtual, Self::Allocated, Self::HazardFree];

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Allocated => "allocated",
            Self::HazardFree => "hazard-free",
        }
    }
}

/// Which registers PTX runs with, and how many of them a thread may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct RegisterChoice {
    pub mode: RegisterMode,
    /// Maximum number of registers per thread, where they are allocated; else as many as the GPU allows.
    pub most: Option<u32>,
}

impl RegisterChoice {
    /// The choice for `gpu`, as the loader takes it.
    pub fn on(self, gpu: &GpuConfig) -> Registers {
        let limits =
            RegisterLimits { architecture: gpu.sm.max_registers_per_thread, chosen: self.most, sm: gpu.sm.registers };
        match self.mode {
            RegisterMode::Virtual => Registers::Virtual,
            RegisterMode::Allocated => Registers::Allocated(limits),
            RegisterMode::HazardFree => Registers::HazardFree(limits),
        }
    }
}
