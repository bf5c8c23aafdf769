//! Launches as programs request them.

use crate::error::{Error, Result};
use crate::host::Host;
use crate::platform::Platform;
use crate::work::KernelLaunch;
use exec::{Kernel, Launch};

/// Where a program has put the arguments of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// Address of an array of addresses, one for each parameter.
    Each(u64),
    /// Address and size of all of them, as the kernel has them.
    Packed(u64, u64),
    /// There are none.
    None,
}

/// A requested launch.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Request {
    pub function: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub stream: u64,
    pub arguments: Arguments,
    /// All CTAs must be on the GPU at the same time.
    pub cooperative: bool,
    /// CTAs of a cluster in each dimension, if it is to be in clusters.
    pub cluster: Option<[u32; 3]>,
}

/// The bytes of each argument.
pub(crate) fn arguments(host: &dyn Host, kernel: &Kernel, arguments: Arguments) -> Result<Vec<Vec<u8>>> {
    let addresses: Vec<u64> = match arguments {
        Arguments::Each(list) => {
            let mut bytes = vec![0; 8 * kernel.params.len()];
            if !bytes.is_empty() && !host.read(list, &mut bytes) {
                return Err(Error::INVALID_VALUE);
            }
            bytes.chunks_exact(8).map(|each| u64::from_le_bytes(each.try_into().unwrap_or_default())).collect()
        }
        Arguments::Packed(start, bytes) => {
            if kernel.params.iter().any(|param| u64::from(param.offset + param.bytes) > bytes) {
                return Err(Error::INVALID_VALUE);
            }
            kernel.params.iter().map(|param| start + u64::from(param.offset)).collect()
        }
        Arguments::None if kernel.params.is_empty() => Vec::new(),
        Arguments::None => return Err(Error::INVALID_VALUE),
    };
    let mut values: Vec<Vec<u8>> = kernel.params.iter().map(|param| vec![0; param.bytes as usize]).collect();
    let mut pieces: Vec<(u64, &mut [u8])> =
        addresses.into_iter().zip(values.iter_mut().map(|value| &mut value[..])).collect();
    if host.read_each(&mut pieces) { Ok(values) } else { Err(Error::INVALID_VALUE) }
}

/// Makes a launch one whose CTAs are all on the GPU at the same time.
pub(crate) fn make_cooperative(platform: &mut Platform, device: usize, launch: &mut KernelLaunch) -> Result<()> {
    if launch.live.grid.volume() > resident_ctas(platform, device, &launch.live) {
        return Err(Error::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    platform.timeline(device)?.prepare_workspace().map_err(|_| Error::OUT_OF_MEMORY)?;
    launch.cooperative = true;
    Ok(())
}

/// CTAs of a launch that are on the GPU at the same time.
fn resident_ctas(platform: &Platform, device: usize, live: &Launch) -> u64 {
    let gpu = &platform.devices[device].setup.gpu;
    u64::from(sm::occupancy(&gpu.sm, &live.shape()).ctas_per_sm) * u64::from(gpu.sm_count)
}
