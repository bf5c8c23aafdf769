//! Resident CTAs.

use crate::check::CtaWatch;
use crate::cluster::Membership;
use crate::copy_engine::Started;
use crate::mbarrier::Wait;
use crate::memory::SharedMemory;
use crate::warp::{BARRIERS, Reduction};
use isa::{Dim3, WarpSlot};

/// A resident CTA: shared memory, barriers, warps.
#[derive(Debug)]
pub(crate) struct Cta {
    pub position: Dim3,
    pub shared: SharedMemory,
    pub warps: Vec<WarpSlot>,
    pub reductions: [Reduction; BARRIERS],
    /// Warps that wait at an `mbarrier`.
    pub waits: Vec<Wait>,
    /// An `mbarrier` has changed since these were last looked at.
    pub barriers_changed: bool,
    /// A transfer that has started and whose end is not noted yet.
    pub started: Option<Started>,
    /// Its part in a cluster, if clusters have any effect in its launch.
    pub cluster: Option<Box<Membership>>,
    /// Accesses of its warps, if they are checked.
    pub watch: Option<Box<CtaWatch>>,
}

impl Default for Cta {
    fn default() -> Self {
        Self {
            position: Dim3::new(0, 0, 0),
            shared: SharedMemory::default(),
            warps: Vec::new(),
            reductions: [Reduction::default(); BARRIERS],
            waits: Vec::new(),
            barriers_changed: false,
            started: None,
            cluster: None,
            watch: None,
        }
    }
}
