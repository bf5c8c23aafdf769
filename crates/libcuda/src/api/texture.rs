//! Texture and surface objects, texture and surface references.

use super::array::descriptor_2d;
use crate::api;
use crate::values::{Fields, get, get_text, put, put_if, put_new};
use cuda::image::{Resource, Sampling, View};
use cuda::{Driver, Error, Result};

/// Sizes of `CUDA_RESOURCE_DESC`, `CUDA_TEXTURE_DESC` and `CUDA_RESOURCE_VIEW_DESC`.
const RESOURCE_BYTES: usize = 144;
const TEXTURE_BYTES: usize = 104;
const VIEW_BYTES: usize = 112;

fn resource(fields: &Fields<RESOURCE_BYTES>) -> Result<Resource> {
    let (first, format, channels) = (fields.u64(8), fields.u32(16), fields.u32(20));
    // Flags are reserved.
    if fields.u32(136) != 0 {
        return Err(Error::INVALID_VALUE);
    }
    Ok(match fields.u32(0) {
        0 => Resource::Array(first),
        1 => Resource::Mipmapped(first),
        2 => Resource::Linear { address: first, format, channels, bytes: fields.u64(24) },
        3 => {
            let (width, height, pitch) = (fields.u64(24), fields.u64(32), fields.u64(40));
            Resource::Pitched { address: first, format, channels, width, height, pitch }
        }
        _ => return Err(Error::INVALID_VALUE),
    })
}

fn sampling(fields: &Fields<TEXTURE_BYTES>) -> Sampling {
    Sampling {
        address: [0, 4, 8].map(|at| fields.u32(at)),
        filter: fields.u32(12),
        flags: fields.u32(16),
        anisotropy: fields.u32(20),
        border: [40, 44, 48, 52].map(|at| f32::from_bits(fields.u32(at))),
    }
}

fn view(fields: &Fields<VIEW_BYTES>) -> View {
    View {
        format: fields.u32(0),
        size: [8, 16, 24].map(|at| fields.u64(at)),
        levels: [32, 36].map(|at| fields.u32(at)),
        layers: [40, 44].map(|at| fields.u32(at)),
    }
}

/// Writes a description that the program has given; `which` counts them.
fn put_said(driver: &mut Driver, to: u64, object: u64, is_surface: bool, which: usize) -> Result<()> {
    let said = driver.images.texture(&driver.platform, object, is_surface)?.said[which].clone();
    // An object without a view has none to return.
    let wrote = !said.is_empty() && driver.platform.host().write(to, &said);
    if wrote { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Changes how a texture reference reads.
fn sample(driver: &mut Driver, reference: u64, change: impl FnOnce(&mut Sampling)) -> Result<()> {
    change(&mut driver.images.reference(reference, false)?.sampling);
    Ok(())
}

/// Writes how a texture reference reads.
fn put_sampling(driver: &mut Driver, to: u64, reference: u64, of: impl FnOnce(&Sampling) -> u32) -> Result<()> {
    let value = of(&driver.images.reference(reference, false)?.sampling);
    put(driver, to, value)
}

/// Settings that are supported only with their first values.
fn only(driver: &mut Driver, reference: u64, is_usual: bool, what: &'static str) -> Result<()> {
    driver.images.reference(reference, false)?;
    if is_usual { Ok(()) } else { Err(driver.platform.unsupported(what)) }
}

fn set_pitched(driver: &mut Driver, reference: u64, descriptor: u64, address: u64, pitch: u64) -> Result<()> {
    let descriptor = descriptor_2d(driver, descriptor)?;
    let (format, channels) = (descriptor.format, descriptor.channels);
    let (width, height) = (descriptor.width, descriptor.height);
    let reference = driver.images.reference(reference, false)?;
    reference.format = (format, channels);
    reference.resource = Some(Resource::Pitched { address, format, channels, width, height, pitch });
    Ok(())
}

/// `CU_TRSA_OVERRIDE_FORMAT`: arrays have their own format in any case.
const OVERRIDE_FORMAT: u32 = 1;

api! {
    fn cuTexObjectCreate(object: u64, resource_at: u64, texture_at: u64, view_at: u64) |driver| {
        let said = (Fields(get(driver, resource_at)?), Fields(get(driver, texture_at)?));
        let seen = if view_at == 0 { None } else { Some(Fields(get(driver, view_at)?)) };
        let (resource, sampling) = (resource(&said.0)?, sampling(&said.1));
        let bytes = [said.0.0.to_vec(), said.1.0.to_vec(), seen.as_ref().map_or_else(Vec::new, |v| v.0.to_vec())];
        let view = seen.as_ref().map(view);
        put_new(driver, object, |Driver { images, platform, .. }| {
            images.texture_create(platform, &resource, Some(&sampling), view.as_ref(), bytes)
        })
    }

    fn cuTexObjectDestroy(object: u64) |driver| { driver.images.texture_destroy(&driver.platform, object, false) }
    fn cuTexObjectGetResourceDesc(to: u64, object: u64) |driver| { put_said(driver, to, object, false, 0) }
    fn cuTexObjectGetTextureDesc(to: u64, object: u64) |driver| { put_said(driver, to, object, false, 1) }
    fn cuTexObjectGetResourceViewDesc(to: u64, object: u64) |driver| { put_said(driver, to, object, false, 2) }

    fn cuSurfObjectCreate(object: u64, resource_at: u64) |driver| {
        let said = Fields(get(driver, resource_at)?);
        let (resource, bytes) = (resource(&said)?, [said.0.to_vec(), Vec::new(), Vec::new()]);
        put_new(driver, object, |Driver { images, platform, .. }| {
            images.texture_create(platform, &resource, None, None, bytes)
        })
    }

    fn cuSurfObjectDestroy(object: u64) |driver| { driver.images.texture_destroy(&driver.platform, object, true) }
    fn cuSurfObjectGetResourceDesc(to: u64, object: u64) |driver| { put_said(driver, to, object, true, 0) }

    fn cuModuleGetTexRef(reference: u64, module: u64, name: u64) |driver| {
        let name = get_text(driver, name)?;
        let handle = driver.images.reference_of(&mut driver.platform, &driver.modules, module, &name, false)?;
        put(driver, reference, handle)
    }
    fn cuModuleGetSurfRef(reference: u64, module: u64, name: u64) |driver| {
        let name = get_text(driver, name)?;
        let handle = driver.images.reference_of(&mut driver.platform, &driver.modules, module, &name, true)?;
        put(driver, reference, handle)
    }
    fn cuSurfRefSetArray(reference: u64, array: u64, _flags: u32) |driver| {
        driver.images.reference_set_array(reference, array, true)
    }
    fn cuSurfRefGetArray(array: u64, reference: u64) |driver| { put_array(driver, array, reference, true) }

    fn cuTexRefCreate(reference: u64) |driver| {
        let handle = driver.images.reference_create(&driver.platform)?;
        put(driver, reference, handle)
    }
    fn cuTexRefDestroy(reference: u64) |driver| { driver.images.reference_destroy(reference) }
    fn cuTexRefSetArray(reference: u64, array: u64, flags: u32) |driver| {
        if flags & !OVERRIDE_FORMAT != 0 {
            return Err(Error::INVALID_VALUE);
        }
        driver.images.reference_set_array(reference, array, false)
    }
    fn cuTexRefGetArray(array: u64, reference: u64) |driver| { put_array(driver, array, reference, false) }
    fn cuTexRefSetMipmappedArray(reference: u64, mipmapped: u64, flags: u32) |driver| {
        if flags & !OVERRIDE_FORMAT != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let array = driver.images.mipmapped_level(mipmapped, 0)?;
        driver.images.reference_set_array(reference, array, false)?;
        driver.images.reference(reference, false)?.resource = Some(Resource::Mipmapped(mipmapped));
        Ok(())
    }
    fn cuTexRefGetMipmappedArray(mipmapped: u64, reference: u64) |driver| {
        match driver.images.reference(reference, false)?.resource {
            Some(Resource::Mipmapped(handle)) => put(driver, mipmapped, handle),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    fn cuTexRefSetAddress_v2(offset: u64, reference: u64, address: u64, bytes: u64) |driver| {
        let from = driver.images.reference_set_linear(reference, address, bytes)?;
        if offset == 0 && from != 0 { Err(Error::INVALID_VALUE) } else { put_if(driver, offset, from) }
    }
    fn cuTexRefGetAddress_v2(address: u64, reference: u64) |driver| {
        match driver.images.reference(reference, false)?.resource {
            Some(Resource::Linear { address: at, .. } | Resource::Pitched { address: at, .. }) => put(driver, address, at),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    fn cuTexRefSetAddress2D_v3(reference: u64, descriptor: u64, address: u64, pitch: u64) = cuTexRefSetAddress2D_v2 |driver| {
        set_pitched(driver, reference, descriptor, address, pitch)
    }
    fn cuTexRefSetFormat(reference: u64, format: u32, channels: i32) |driver| {
        let channels = u32::try_from(channels).map_err(|_| Error::INVALID_VALUE)?;
        cuda::image::channel_of(format)?;
        if !matches!(channels, 1 | 2 | 4) {
            return Err(Error::INVALID_VALUE);
        }
        driver.images.reference(reference, false)?.format = (format, channels);
        Ok(())
    }
    fn cuTexRefGetFormat(format: u64, channels: u64, reference: u64) |driver| {
        let (number, count) = driver.images.reference(reference, false)?.format;
        put_if(driver, format, number)?;
        put_if(driver, channels, count)
    }
    fn cuTexRefSetAddressMode(reference: u64, dimension: i32, mode: u32) |driver| {
        if !(0..3).contains(&dimension) || mode > 3 {
            return Err(Error::INVALID_VALUE);
        }
        sample(driver, reference, |sampling| sampling.address[dimension as usize] = mode)
    }
    fn cuTexRefGetAddressMode(mode: u64, reference: u64, dimension: i32) |driver| {
        let modes = driver.images.reference(reference, false)?.sampling.address;
        let dimension = usize::try_from(dimension).map_err(|_| Error::INVALID_VALUE)?;
        let set = *modes.get(dimension).ok_or(Error::INVALID_VALUE)?;
        put(driver, mode, set)
    }
    fn cuTexRefSetFilterMode(reference: u64, mode: u32) |driver| {
        if mode > 1 {
            return Err(Error::INVALID_VALUE);
        }
        sample(driver, reference, |sampling| sampling.filter = mode)
    }
    fn cuTexRefGetFilterMode(mode: u64, reference: u64) |driver| {
        put_sampling(driver, mode, reference, |sampling| sampling.filter)
    }
    fn cuTexRefSetFlags(reference: u64, flags: u32) |driver| {
        sample(driver, reference, |sampling| sampling.flags = flags)
    }
    fn cuTexRefGetFlags(flags: u64, reference: u64) |driver| {
        put_sampling(driver, flags, reference, |sampling| sampling.flags)
    }
    fn cuTexRefSetBorderColor(reference: u64, colour: u64) |driver| {
        let fields = Fields(get::<16>(driver, colour)?);
        sample(driver, reference, |sampling| sampling.border = [0, 4, 8, 12].map(|at| f32::from_bits(fields.u32(at))))
    }
    fn cuTexRefGetBorderColor(colour: u64, reference: u64) |driver| {
        let border = driver.images.reference(reference, false)?.sampling.border;
        (0..).zip(border).try_for_each(|(i, channel)| put(driver, colour + 4 * i, channel))
    }
    fn cuTexRefSetMaxAnisotropy(reference: u64, most: u32) |driver| {
        sample(driver, reference, |sampling| sampling.anisotropy = most)
    }
    fn cuTexRefGetMaxAnisotropy(most: u64, reference: u64) |driver| {
        put_sampling(driver, most, reference, |sampling| sampling.anisotropy)
    }
    fn cuTexRefSetMipmapFilterMode(reference: u64, mode: u32) |driver| {
        only(driver, reference, mode == 0, "a filter between levels of a texture")
    }
    fn cuTexRefGetMipmapFilterMode(mode: u64, reference: u64) |driver| {
        driver.images.reference(reference, false)?;
        put(driver, mode, 0_u32)
    }
    fn cuTexRefSetMipmapLevelBias(reference: u64, bias: f32) |driver| {
        only(driver, reference, bias == 0.0, "a bias of the level of a texture")
    }
    fn cuTexRefGetMipmapLevelBias(bias: u64, reference: u64) |driver| {
        driver.images.reference(reference, false)?;
        put(driver, bias, 0.0_f32)
    }
    // Textures have one level, which any clamp includes.
    fn cuTexRefSetMipmapLevelClamp(reference: u64, _least: f32, _most: f32) |driver| {
        driver.images.reference(reference, false).map(|_| ())
    }
    fn cuTexRefGetMipmapLevelClamp(least: u64, most: u64, reference: u64) |driver| {
        driver.images.reference(reference, false)?;
        put_if(driver, least, 0.0_f32)?;
        put_if(driver, most, 0.0_f32)
    }
    // References are found by their names: functions need no list of them.
    fn cuParamSetTexRef(function: u64, _unit: i32, reference: u64) |driver| {
        driver.modules.function_of(function)?;
        driver.images.reference(reference, false).map(|_| ())
    }
}

fn put_array(driver: &mut Driver, to: u64, reference: u64, is_surface: bool) -> Result<()> {
    match driver.images.reference(reference, is_surface)?.resource {
        Some(Resource::Array(array)) => put(driver, to, array),
        _ => Err(Error::INVALID_VALUE),
    }
}
