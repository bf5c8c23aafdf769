//! Texture and surface references: names of modules that the host binds to textures and surfaces.
//!
//! A launch takes the bindings of its module with it, so that later ones do not change it.

use crate::error::{Error, Result};
use crate::image::texture::sampler;
use crate::image::{ALIGNMENT, Images, Reference, Resource};
use crate::module::Modules;
use crate::platform::Platform;
use exec::ImageReference;
use isa::Image;

/// Images of references that are kept for later launches.
const MOST_KEPT: usize = 256;

impl Images {
    /// The texture or surface reference `name` of a module.
    ///
    /// # Errors
    /// There is none, or no such module.
    pub fn reference_of(
        &mut self,
        platform: &mut Platform,
        modules: &Modules,
        module: u64,
        name: &str,
        is_surface: bool,
    ) -> Result<u64> {
        let (device, context) = modules.get(module).map(|m| (m.device, m.context))?;
        let known = self.references.iter().find(|(_, reference)| {
            reference.is_surface == is_surface && reference.of.as_ref().is_some_and(|of| of.0 == module && of.1 == name)
        });
        if let Some((handle, _)) = known {
            return Ok(handle);
        }
        let found =
            modules.loaded_of(platform, module)?.module.reference(name).filter(|found| found.texture != is_surface);
        let address = found.ok_or(Error::NOT_FOUND)?.address;
        let of = Some((module, name.to_owned(), address));
        Ok(self.references.add(Reference::new(context, device, of, is_surface)))
    }

    /// A texture reference that belongs to no module.
    ///
    /// # Errors
    /// There is no context.
    pub fn reference_create(&mut self, platform: &Platform) -> Result<u64> {
        let (context, device) = platform.place_here()?;
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

    /// Bindings of a module's references: where their handles are, and the handles. A reference to what
    /// is gone or impossible is bound to nothing: only kernels that use it fail.
    pub(crate) fn bindings(&mut self, platform: &mut Platform, module: u64) -> Vec<(u64, u64)> {
        let of_module = |reference: &&Reference| reference.of.as_ref().is_some_and(|of| of.0 == module);
        let known: Vec<Reference> = self.references.iter().map(|(_, r)| r).filter(of_module).cloned().collect();
        let mut bindings = Vec::new();
        for reference in known {
            let Some((_, name, address)) = &reference.of else { continue };
            match self.binding(platform, &reference) {
                Ok(handle) => bindings.push((*address, handle)),
                Err(_) => unbind(platform, reference.device, name, reference.is_surface, *address),
            }
        }
        bindings
    }

    fn binding(&mut self, platform: &mut Platform, reference: &Reference) -> Result<u64> {
        let resource = reference.resource.ok_or(Error::INVALID_VALUE)?;
        let mut image = self.image_of(&in_format(resource, reference.format))?;
        if !reference.is_surface {
            image.sampler = Some(sampler(&reference.sampling, &image)?);
        }
        self.bound_image(platform, reference.device, image)
    }

    /// The handle of an image for references. Images are kept: a launch that has not run may need them.
    fn bound_image(&mut self, platform: &mut Platform, device: usize, image: Image) -> Result<u64> {
        if let Some((_, handle)) = self.devices[device].bound.iter().find(|(known, _)| *known == image) {
            return Ok(*handle);
        }
        let bound = &mut self.devices[device].bound;
        if let Some(timeline) = &mut platform.devices[device].timeline
            && bound.len() >= MOST_KEPT
            && timeline.pending() == 0
        {
            for (_, handle) in std::mem::take(bound) {
                timeline.device.shared_state().remove_image(handle);
            }
        }
        let added = platform.timeline(device)?.device.shared_state().add_image(image);
        let handle = added.map_err(|_| Error::INVALID_VALUE)?;
        self.devices[device].bound.push((image, handle));
        Ok(handle)
    }
}

fn unbind(platform: &mut Platform, device: usize, name: &str, is_surface: bool, address: u64) {
    let reference = ImageReference { name: name.to_owned(), texture: !is_surface, address };
    if let Ok(timeline) = platform.timeline(device) {
        let _ = timeline.device.shared_state().bind(&reference, None);
    }
}

/// A resource with the present format of its reference, which may have been set after it.
fn in_format(resource: Resource, (format, channels): (u32, u32)) -> Resource {
    match resource {
        Resource::Linear { address, bytes, .. } => Resource::Linear { address, format, channels, bytes },
        other => other,
    }
}
