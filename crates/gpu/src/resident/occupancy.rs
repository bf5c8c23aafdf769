//! How many CTAs of a launch fit on an SM, and what limits them.
//!
//! The limits are as in the CUDA occupancy calculator: thread and warp slots, registers given
//! to warps in units, shared memory, CTA slots. A CTA may also be too large for any SM.

use config::Sm as SmConfig;
use isa::LaunchShape;

macro_rules! limiters {
    ($($(#[doc = $text:literal])+ $limiter:ident = $name:literal,)*) => {
        /// Limit that keeps another CTA off the SM.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Limiter { $($(#[doc = $text])+ $limiter,)* }

        impl Limiter {
            /// Name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Limiter::$limiter => $name,)* }
            }
        }
    };
}

limiters! {
    /// Warp slots (and with them threads).
    Warps = "warps",
    /// Registers.
    Registers = "registers",
    /// Shared memory.
    SharedMemory = "shared memory",
    /// CTA slots.
    CtaSlots = "CTA slots",
    /// The grid has fewer CTAs than would fit.
    Grid = "grid size",
}

/// Resources of an SM that a CTA takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Warp slots.
    pub warps: u32,
    /// Registers.
    pub registers: u32,
    /// Bytes of shared memory, with those that the system takes for a CTA.
    pub shared_bytes: u32,
    /// CTA slots.
    pub ctas: u32,
}

impl Resources {
    /// Resources that one CTA of `shape` takes.
    pub fn of_cta(sm: &SmConfig, shape: &LaunchShape) -> Self {
        let unit = sm.register_allocation_unit.max(1);
        let per_warp = (shape.registers_per_thread * kit::WARP_LANES as u32).next_multiple_of(unit);
        let shared_bytes = shape.shared_bytes.saturating_add(sm.reserved_shared_bytes_per_cta.unwrap_or(0));
        let unit = sm.shared_allocation_unit.unwrap_or(1).max(1);
        let shared_bytes = shared_bytes.checked_next_multiple_of(unit).unwrap_or(u32::MAX);
        Self { warps: shape.warps(), registers: per_warp * shape.warps(), shared_bytes, ctas: 1 }
    }

    /// Resources of an empty SM.
    pub fn of_sm(sm: &SmConfig) -> Self {
        Self { warps: sm.max_warps, registers: sm.registers, shared_bytes: sm.shared.bytes, ctas: sm.max_ctas }
    }

    /// Whether `need` is there.
    pub fn covers(&self, need: &Self) -> bool {
        need.warps <= self.warps
            && need.registers <= self.registers
            && need.shared_bytes <= self.shared_bytes
            && need.ctas <= self.ctas
    }

    /// Takes `need`, which must be there.
    pub fn take(&mut self, need: &Self) {
        debug_assert!(self.covers(need));
        self.warps -= need.warps;
        self.registers -= need.registers;
        self.shared_bytes -= need.shared_bytes;
        self.ctas -= need.ctas;
    }

    /// Gives `taken` back.
    pub fn give_back(&mut self, taken: &Self) {
        self.warps += taken.warps;
        self.registers += taken.registers;
        self.shared_bytes += taken.shared_bytes;
        self.ctas += taken.ctas;
    }
}

/// How many CTAs of a launch run on one SM at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// CTAs per SM; 0 if one is too large.
    pub ctas_per_sm: u32,
    /// Warps of those, as a share of the SM's slots is the occupancy.
    pub warps_per_sm: u32,
    /// Limit that keeps out the next one.
    pub limiter: Limiter,
}

/// The occupancy of `shape` on SMs like `sm`, the grid being large enough.
///
/// A tie goes to the first of warps, registers, shared memory, CTA slots.
pub fn occupancy(sm: &SmConfig, shape: &LaunchShape) -> Occupancy {
    let (have, need) = (Resources::of_sm(sm), Resources::of_cta(sm, shape));
    let fits = |have: u32, need: u32| have.checked_div(need).unwrap_or(u32::MAX);
    let limits = [
        (fits(have.warps, need.warps), Limiter::Warps),
        (fits(have.registers, need.registers), Limiter::Registers),
        (fits(have.shared_bytes, need.shared_bytes), Limiter::SharedMemory),
        (have.ctas, Limiter::CtaSlots),
    ];
    let (ctas_per_sm, limiter) = limits.into_iter().min_by_key(|&(ctas, _)| ctas).expect("there are limits");
    Occupancy { ctas_per_sm, warps_per_sm: ctas_per_sm * need.warps, limiter }
}

kit::persist! {
    new struct Resources { warps, registers, shared_bytes, ctas }
}
