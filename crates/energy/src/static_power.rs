//! Static power of active SMs by the lanes in use (AccelWattch, MICRO 2021, section 4.4).
//!
//! A GPU gates units that a kernel does not use. Static power therefore depends on the *kinds* of units in
//! use and on the number of active lanes of a warp: `first + (lanes - 1) x added` for all SMs together, times
//! the share of active SMs. The figures were measured with kernels of one mix each; a mix that was not
//! measured uses their geometric mean.

use crate::event::{Event, PerEvent};
use serde::Deserialize;

/// Static power of all SMs for one mix of units.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// With one active lane per warp, in watts.
    pub first_watts: f64,
    /// For each further active lane, in watts.
    #[serde(default)]
    pub added_watts: f64,
}

/// Static power by the mix of units in use.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticPower {
    /// Only integer addition.
    pub int_add: Lanes,
    /// Only integer multiplication.
    pub int_mul: Lanes,
    /// Both kinds of integer unit.
    pub int: Lanes,
    /// Integer and single precision.
    pub int_fp: Lanes,
    /// Integer, single and double precision.
    pub int_fp_dp: Lanes,
    /// Integer, single precision and special functions.
    pub int_fp_sfu: Lanes,
    /// Integer, single precision and texture.
    pub int_fp_texture: Lanes,
    /// Integer, single precision and tensor cores.
    pub int_fp_tensor: Lanes,
    /// Any other mix: the geometric mean of the measured ones.
    pub other: Lanes,
    /// No unit: accesses to the L1.
    pub l1: Lanes,
    /// No unit: accesses to shared memory.
    pub shared: Lanes,
    /// No unit: accesses to the L2.
    pub l2: Lanes,
    /// No unit and no access to memory.
    pub light: Lanes,
}

impl StaticPower {
    /// Static power of a GPU without gating: the same for all mixes.
    pub fn flat(watts: f64) -> Self {
        let l = Lanes { first_watts: watts, added_watts: 0.0 };
        Self {
            int_add: l,
            int_mul: l,
            int: l,
            int_fp: l,
            int_fp_dp: l,
            int_fp_sfu: l,
            int_fp_texture: l,
            int_fp_tensor: l,
            other: l,
            l1: l,
            shared: l,
            l2: l,
            light: l,
        }
    }

    /// All mixes with their names in files.
    pub(crate) fn mixes(&self) -> [(&'static str, Lanes); 13] {
        [
            ("int_add", self.int_add),
            ("int_mul", self.int_mul),
            ("int", self.int),
            ("int_fp", self.int_fp),
            ("int_fp_dp", self.int_fp_dp),
            ("int_fp_sfu", self.int_fp_sfu),
            ("int_fp_texture", self.int_fp_texture),
            ("int_fp_tensor", self.int_fp_tensor),
            ("other", self.other),
            ("l1", self.l1),
            ("shared", self.shared),
            ("l2", self.l2),
            ("light", self.light),
        ]
    }

    /// The mix of units that `events` use.
    fn mix(&self, events: &PerEvent) -> Lanes {
        use Event as E;
        let used = |of: &[E]| of.iter().any(|&e| events[e] != 0.0);
        let (add, mul) = (used(&[E::IntAdd]), used(&[E::IntMul, E::IntDiv]));
        let fp = used(&[E::FpAdd, E::FpMul, E::FpDiv]);
        let dp = used(&[E::DpAdd, E::DpMul, E::DpDiv]);
        let sfu = used(&[E::Sqrt, E::Log, E::Sin, E::Exp]);
        let (tensor, texture) = (used(&[E::Tensor]), used(&[E::Texture]));
        match (add || mul, fp, dp, sfu, tensor, texture) {
            (true, true, true, false, false, false) => self.int_fp_dp,
            (true, true, false, false, true, false) => self.int_fp_tensor,
            (true, true, false, true, false, false) => self.int_fp_sfu,
            (true, true, false, false, false, true) => self.int_fp_texture,
            (true, true, false, false, false, false) => self.int_fp,
            (true, false, false, false, false, false) => match (add, mul) {
                (true, false) => self.int_add,
                (false, _) => self.int_mul,
                (true, true) => self.int,
            },
            (false, false, false, false, false, false) => self.no_unit(events),
            _ => self.other,
        }
    }

    /// For kernels, or periods, in which no lane computes.
    fn no_unit(&self, events: &PerEvent) -> Lanes {
        use Event as E;
        let used = |of: &[E]| of.iter().any(|&e| events[e] != 0.0);
        if used(&[E::L1ReadHit, E::L1ReadMiss, E::L1WriteHit, E::L1WriteMiss]) {
            self.l1
        } else if used(&[E::SharedAccess]) {
            self.shared
        } else if used(&[E::L2ReadHit, E::L2ReadMiss, E::L2WriteHit, E::L2WriteMiss]) {
            self.l2
        } else {
            self.light
        }
    }

    /// Static power in watts while `events` happen, for a mean of `lanes` active lanes per warp instruction
    /// (rounded up, as in AccelWattch; 0 if no warp instruction was issued) and the share `active` of active
    /// SMs.
    pub fn watts(&self, events: &PerEvent, lanes: f64, active: f64) -> f64 {
        let lanes = lanes.ceil();
        let mix = if lanes == 0.0 { self.no_unit(events) } else { self.mix(events) };
        (mix.first_watts + (lanes - 1.0).max(0.0) * mix.added_watts) * active
    }
}
