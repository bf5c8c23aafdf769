//! The parts of a core that is not an SM, with their area and leakage, and the energies of its own events.

use crate::event::{Component, Event};
use crate::storage::{Cost, Storage};
use serde::Serialize;

/// A part of a core, all of its instances together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HardwarePart {
    /// Name of the part.
    pub name: &'static str,
    /// Name of the component to which its energy is charged.
    pub charged_to: &'static str,
    /// The component itself.
    #[serde(skip)]
    pub component: Component,
    /// Number of instances.
    pub instances: usize,
    /// Bits that it stores in all.
    pub bits: usize,
    /// Area in square micrometres.
    pub area_um2: f64,
    /// Leakage in nanowatts; 0 where the static power of the GPU's cores has it already.
    pub leakage_nw: f64,
    /// Where its area is from.
    pub source: &'static str,
}

impl HardwarePart {
    /// `instances` of a structure of standard cells that is charged to `component`.
    pub fn stored(name: &'static str, component: Component, instances: usize, storage: Storage, cost: &Cost) -> Self {
        let all = instances as f64;
        Self {
            bits: instances * storage.total_bits(),
            area_um2: all * cost.area_um2,
            leakage_nw: all * cost.leakage_nw,
            ..Self::block(name, component, instances, 0.0, "cells of the NanGate 45 nm library, scaled")
        }
    }

    /// `instances` of a block of `um2` each, which leaks as the GPU's cores.
    pub fn block(name: &'static str, component: Component, instances: usize, um2: f64, source: &'static str) -> Self {
        Self {
            name,
            charged_to: component.name(),
            component,
            instances,
            bits: 0,
            area_um2: instances as f64 * um2,
            leakage_nw: 0.0,
            source,
        }
    }
}

/// The parts of a core, and the energies of the events that only such a core has.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hardware {
    /// Its parts.
    pub parts: Vec<HardwarePart>,
    /// Remarks on its sizes.
    pub notes: Vec<String>,
    /// Picojoules of each event.
    #[serde(skip)]
    pub events_pj: Vec<(Event, f64)>,
}

impl Hardware {
    /// Area of all parts, in square millimetres.
    pub fn area_mm2(&self) -> f64 {
        self.parts.iter().map(|part| part.area_um2).sum::<f64>() * 1e-6
    }

    /// Area by component, in square millimetres, in the order of components.
    pub fn by_component(&self) -> Vec<(Component, f64)> {
        let of = |&component: &Component| {
            let parts = self.parts.iter().filter(|part| part.component == component);
            (component, parts.map(|part| part.area_um2).sum::<f64>() * 1e-6)
        };
        Component::ALL.iter().map(of).filter(|(_, mm2)| *mm2 > 0.0).collect()
    }

    /// Leakage of `cores` such cores, in watts.
    pub fn leakage_watts(&self, cores: u32) -> f64 {
        self.parts.iter().map(|part| part.leakage_nw).sum::<f64>() * 1e-9 * f64::from(cores)
    }
}
