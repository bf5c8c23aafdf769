//! Arrays, texture and surface objects, texture and surface references.

mod array;
mod objects;
mod reference;
mod texture;

pub use objects::{
    ALIGNMENT, Array, ArrayDescriptor, MOST_LINEAR, MOST_PITCHED, NORMALISED, PITCH_ALIGNMENT, READ_AS_INTEGER,
    Reference, Resource, Sampling, Texture, View, channel_of,
};

use crate::handles::{Handles, Kind};
use objects::OfDevice;
use std::collections::BTreeMap;

/// Owner of arrays, texture and surface objects, and references.
pub struct Images {
    arrays: Handles<Array>,
    /// The array of the level of each mipmapped array.
    mipmapped: Handles<u64>,
    /// Texture and surface objects by device and object.
    textures: BTreeMap<(usize, u64), Texture>,
    references: Handles<Reference>,
    /// By device.
    devices: Vec<OfDevice>,
}

impl Images {
    /// None, for as many devices.
    pub(crate) fn new(devices: usize) -> Self {
        Self {
            arrays: Handles::new(Kind::Array),
            mipmapped: Handles::new(Kind::Mipmapped),
            textures: BTreeMap::new(),
            references: Handles::new(Kind::TexRef),
            devices: vec![OfDevice::default(); devices],
        }
    }

    /// Forgets the images of a device whose simulated GPU is gone.
    pub(crate) fn retire(&mut self, device: usize) {
        self.devices[device] = OfDevice::default();
    }

    /// Removes the references of a module.
    pub(crate) fn release_module(&mut self, module: u64) {
        self.references.retain(|reference| reference.of.as_ref().is_none_or(|of| of.0 != module));
    }
}
