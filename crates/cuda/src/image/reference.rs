//! Texture and surface references: names of modules that the host binds to textures and surfaces.
//!
//! A launch takes the bindings of its module with it, so that later ones do not change it.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::image::{ALIGNMENT, Reference, Resource};
use crate::platform::Device;
use exec::ImageReference;
use isa::Image;

/// Images of references that are kept for later launches.
const MOST_KEPT: usize = 256;

impl Driver {
    /// The texture or surface reference `name` of a module.
    ///
    /// # Errors
    /// There is none, or no such module.
    pub fn reference_of(&mut self, module: u64, name: &str, is_surface: bool) -> Result<u64> {
        let (device, context) = self.modules.get(module).map(|m| (m.device, m.context))?;
        let known = self.references.iter().find(|(_, reference)| {
            reference.is_surface == is_surface && reference.of.as_ref().is_some_and(|of| of.0 == module && of.1 == name)
        });
        if let Some((handle, _)) = known {
            return Ok(handle);
        }
        let found = self
            .modules
            .loaded_of(&mut self.platform, module)?
            .module
            .reference(name)
            .filter(|found| found.texture != is_surface);
        let address = found.ok_or(Error::NOT_FOUND)?.address;
        let of = Some((module, name.to_owned(), address));
        Ok(self.references.add(Reference::new(context, device, of, is_surface)))
    }

    /// A texture reference that belongs to no module.
    ///
    /// # Errors
    /// There is no context.
    pub fn reference_create(&mut self) -> Result<u64> {
        let (context, device) = self.platform.place_here()?;
        Ok(self.references.add(Reference::new(context, device, None, false)))
    }

    /// Destroys a reference that belongs to no module.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn reference_destroy(&mut self, reference: u64) -> Result<()> {
        match self.references.get(reference)?.of {
            Some(_) => Err(Error::INVALID_HANDLE),
            None => self.references.remove(reference).map(|_| ()),
        }
    }

    /// A texture or surface reference.
    ///
    /// # Errors
    /// The handle is not one of this kind.
    pub fn reference(&mut self, reference: u64, is_surface: bool) -> Result<&mut Reference> {
        let reference = self.references.get_mut(reference)?;
        if reference.is_surface == is_surface { Ok(reference) } else { Err(Error::INVALID_HANDLE) }
    }

    /// Binds a texture reference to linear memory; returns the bytes from the aligned address to the one that was
    /// given.
    ///
    /// # Errors
    /// It is not a reference.
    pub fn reference_set_linear(&mut self, reference: u64, address: u64, bytes: u64) -> Result<u64> {
        let reference = self.reference(reference, false)?;
        let offset = address % ALIGNMENT;
        let (format, channels) = reference.format;
        let bytes = bytes.checked_add(offset).ok_or(Error::INVALID_VALUE)?;
        reference.resource =
            (address != 0).then_some(Resource::Linear { address: address - offset, format, channels, bytes });
        Ok(offset)
    }

    /// Binds a reference to an array, whose format it takes.
    ///
    /// # Errors
    /// Either handle is invalid.
    pub fn reference_set_array(&mut self, reference: u64, array: u64, is_surface: bool) -> Result<()> {
        let descriptor = self.arrays.get(array)?.descriptor;
        let reference = self.reference(reference, is_surface)?;
        reference.format = (descriptor.format, descriptor.channels);
        reference.resource = Some(Resource::Array(array));
        Ok(())
    }

    /// What the references of a module are bound to: where their handles are, and the handles. A reference to what
    /// is gone or impossible is bound to nothing: only kernels that use it fail.
    pub(crate) fn bindings(&mut self, module: u64) -> Vec<(u64, u64)> {
        let of_module = |reference: &&Reference| reference.of.as_ref().is_some_and(|of| of.0 == module);
        let known: Vec<Reference> = self.references.iter().map(|(_, r)| r).filter(of_module).cloned().collect();
        let mut bindings = Vec::new();
        for reference in known {
            let Some((_, name, address)) = &reference.of else { continue };
            match self.binding(&reference) {
                Ok(handle) => bindings.push((*address, handle)),
                Err(_) => self.unbind(reference.device, name, reference.is_surface, *address),
            }
        }
        bindings
    }

    fn binding(&mut self, reference: &Reference) -> Result<u64> {
        let resource = reference.resource.ok_or(Error::INVALID_VALUE)?;
        let mut image = self.image_of(&in_format(resource, reference.format))?;
        if !reference.is_surface {
            image.sampler = Some(Self::sampler(&reference.sampling, &image)?);
        }
        self.bound_image(reference.device, image)
    }

    fn unbind(&mut self, device: usize, name: &str, is_surface: bool, address: u64) {
        let reference = ImageReference { name: name.to_owned(), texture: !is_surface, address };
        if let Ok(timeline) = self.platform.timeline(device) {
            let _ = timeline.device.shared_state().bind(&reference, None);
        }
    }

    /// The handle of an image for references. Images are kept: a launch that has not run may need them.
    fn bound_image(&mut self, device: usize, image: Image) -> Result<u64> {
        if let Some((_, handle)) = self.platform.devices[device].bound_images.iter().find(|(known, _)| *known == image)
        {
            return Ok(*handle);
        }
        let Device { bound_images, timeline, .. } = &mut self.platform.devices[device];
        if let Some(timeline) = timeline
            && bound_images.len() >= MOST_KEPT
            && timeline.pending() == 0
        {
            for (_, handle) in std::mem::take(bound_images) {
                timeline.device.shared_state().remove_image(handle);
            }
        }
        let added = self.platform.timeline(device)?.device.shared_state().add_image(image);
        let handle = added.map_err(|_| Error::INVALID_VALUE)?;
        self.platform.devices[device].bound_images.push((image, handle));
        Ok(handle)
    }
}

/// A resource with the present format of its reference, which may have been set after it.
fn in_format(resource: Resource, (format, channels): (u32, u32)) -> Resource {
    match resource {
        Resource::Linear { address, bytes, .. } => Resource::Linear { address, format, channels, bytes },
        other => other,
    }
}
