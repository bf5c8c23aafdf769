//! Memory, name and attributes of devices (`CUdevice_attribute`), from the GPU description. No call changes them.
//!
//! Values that the description does not have are from the tables of the CUDA C++ Programming Guide (technical
//! specifications per compute capability). Attributes of what the library does not support are 0, whatever the hardware
//! has.

use crate::error::{Error, Result};
use crate::image;
use crate::memory::PITCH_ALIGNMENT;
use crate::module::USUAL_SHARED_BYTES;
use crate::platform::Platform;
use config::GpuConfig;

/// The last attribute of CUDA 13.
const LAST: i32 = 161;
const CONSTANT_BYTES: i32 = 64 << 10;
/// Largest pitch of a copy.
pub const MOST_PITCH: u64 = i32::MAX as u64;

/// Device memory of boards that do not say, in MiB.
const USUAL_MEMORY_MIB: u32 = 8192;

/// Bytes of device memory.
pub(crate) fn memory_bytes(gpu: &GpuConfig) -> u64 {
    u64::from(gpu.board.memory_mib.unwrap_or(USUAL_MEMORY_MIB)) << 20
}

/// Name of the product.
pub fn product(gpu: &GpuConfig) -> &str {
    gpu.board.product.as_deref().unwrap_or(&gpu.description)
}

/// The devices of a program, as questions about them see them: apart from the [`Driver`](crate::Driver), which is
/// locked while it simulates.
#[derive(Debug)]
pub struct Devices(Vec<GpuConfig>);

impl Devices {
    /// The devices of `platform`.
    pub fn of(platform: &Platform) -> Self {
        Self(platform.devices.iter().map(|device| device.setup.gpu.clone()).collect())
    }

    /// Number of devices.
    pub fn count(&self) -> i32 {
        number(self.0.len() as u32)
    }

    /// The GPU of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn gpu(&self, ordinal: i32) -> Result<&GpuConfig> {
        usize::try_from(ordinal).ok().and_then(|index| self.0.get(index)).ok_or(Error::INVALID_DEVICE)
    }

    /// Bytes of memory of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn memory_bytes(&self, ordinal: i32) -> Result<u64> {
        self.gpu(ordinal).map(memory_bytes)
    }

    /// An attribute of a device (`CUdevice_attribute`).
    ///
    /// # Errors
    /// There is no such device or attribute.
    pub fn attribute(&self, ordinal: i32, attribute: i32) -> Result<i32> {
        let gpu = self.gpu(ordinal)?;
        let found = of_execution(gpu, attribute)
            .or_else(|| of_memory(gpu, attribute))
            .or_else(|| of_images(gpu.sm_version, attribute))
            .or_else(|| of_support(gpu.sm_version, attribute));
        match (found, attribute) {
            (Some(value), _) => Ok(value),
            // PCI bus, GPU of a board, device, domain.
            (None, 33 | 85) => Ok(ordinal + i32::from(attribute == 33)),
            (None, 1..=LAST) => Ok(0),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

/// Threads, grids, SMs, clocks.
fn of_execution(gpu: &GpuConfig, attribute: i32) -> Option<i32> {
    let sm = gpu.sm_version;
    Some(match attribute {
        // Threads of a CTA, and its x and y.
        1..=3 => 1024,
        4 => 64,
        5 => of_generation(sm, 30, i32::MAX, 65_535),
        6 | 7 => 65_535,
        // Lanes of a warp.
        10 => 32,
        // Registers of a CTA and of an SM.
        12 | 82 => number(gpu.sm.registers),
        13 => (gpu.clocks.core_mhz * 1e3) as i32,
        16 => number(gpu.sm_count),
        39 => number(gpu.sm.max_threads()),
        75 => number(sm / 10),
        76 => number(sm % 10),
        // Single to double precision.
        87 => match sm {
            75 | 50..=53 | 61 | 62 => 32,
            86..=89 | 120 | 121 => 64,
            30 | 32 => 24,
            35 | 37 => 3,
            _ => 2,
        },
        106 => number(gpu.sm.max_ctas),
        _ => return None,
    })
}

/// Shared, constant and device memory, caches, buses.
fn of_memory(gpu: &GpuConfig, attribute: i32) -> Option<i32> {
    let dram = &gpu.dram;
    let bus_bytes = dram.bus_bytes * dram.chips_per_channel * gpu.l2.partitions;
    let most_shared = gpu.sm.l1d.shared_carveouts_bytes.iter().copied().max().unwrap_or(0);
    Some(match attribute {
        8 => number(USUAL_SHARED_BYTES.min(gpu.sm.max_shared_bytes_per_cta)),
        9 => CONSTANT_BYTES,
        11 => MOST_PITCH as i32,
        // Programs multiply it by two beats and the width of the bus.
        36 => (gpu.dram_peak_gb_per_s() * 1e6 / (2.0 * f64::from(bus_bytes))) as i32,
        37 => number(bus_bytes * 8),
        38 => gpu.l2.bytes().try_into().unwrap_or(i32::MAX),
        81 => number(most_shared.max(gpu.sm.shared.bytes).max(gpu.sm.max_shared_bytes_per_cta)),
        97 => number(gpu.sm.max_shared_bytes_per_cta),
        // Reserved by the system.
        111 => of_generation(gpu.sm_version, 80, 1024, 0),
        _ => return None,
    })
}

/// Sizes of textures and surfaces.
fn of_images(sm: u32, attribute: i32) -> Option<i32> {
    let pascal = |since, before| of_generation(sm, 60, since, before);
    Some(match attribute {
        14 | 30 => PITCH_ALIGNMENT as i32,
        51 => image::PITCH_ALIGNMENT as i32,
        // 1D, then 2D.
        21 | 22 => pascal(131_072, 65_536),
        23 => 65_536,
        // 3D, and with one long side.
        24..=26 => pascal(16_384, 4_096),
        47 | 48 => pascal(8_192, 2_048),
        49 => pascal(32_768, 16_384),
        // Layers of each.
        29 | 43 | 62 | 65 => 2_048,
        54 | 68 => 2_046,
        // Layered, gathered, cubes, mipmapped; surfaces of one dimension, layered or cubes.
        27 | 28 | 42 | 45 | 46 | 52 | 53 | 55 | 61 | 63 | 64 | 66 | 67 | 73 | 74 | 77 => pascal(32_768, 16_384),
        // Surfaces of two and three dimensions.
        56 => pascal(131_072, 65_536),
        57 => 65_536,
        58..=60 => pascal(16_384, 4_096),
        // Linear and pitched memory.
        69 => image::MOST_LINEAR as i32,
        70 => image::MOST_PITCHED[0] as i32,
        71 => image::MOST_PITCHED[1] as i32,
        72 => 2_097_120,
        _ => return None,
    })
}

/// Attributes of supported features.
fn of_support(sm: u32, attribute: i32) -> Option<i32> {
    Some(match attribute {
        // Copies during kernels; mapped host memory; several kernels; unified addresses; gather; stream priorities;
        // caching in L1; managed memory; registration; virtual memory; memory pools.
        15 | 19 | 31 | 41 | 44 | 78 | 79 | 80 | 83 | 99 | 102 | 115 => 1,
        // Engines of copies: one for each direction of the link.
        40 => 2,
        // Managed memory during kernels, preemption, cooperative launches.
        89 | 90 | 95 => of_generation(sm, 60, 1, 0),
        // Launches in clusters.
        120 => of_generation(sm, 90, 1, 0),
        // Values of 64 bits in streams, and waits for a bit that is 0.
        122 | 123 => 1,
        126 => 1,
        // No node.
        131 => -1,
        _ => return None,
    })
}

fn of_generation(sm: u32, from: u32, since: i32, before: i32) -> i32 {
    if sm >= from { since } else { before }
}

fn number(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn attributes(name: &str, numbers: &[i32]) -> Vec<i32> {
        let gpu = config::load_with::<&str>(Path::new(name), &[]).unwrap();
        let find = |n| {
            of_execution(&gpu, n)
                .or_else(|| of_memory(&gpu, n))
                .or_else(|| of_images(gpu.sm_version, n))
                .or_else(|| of_support(gpu.sm_version, n))
        };
        numbers.iter().map(|&n| find(n).unwrap_or(0)).collect()
    }

    /// The numbers of the board that `rtx2060s` is modelled after, as NVIDIA's deviceQuery reports them, but for the
    /// clock of the cores.
    #[test]
    fn a_geforce_rtx_2060_super_reports_its_numbers() {
        let numbers = [1, 5, 8, 12, 16, 36, 37, 38, 39, 75, 76, 81, 97, 106, 14, 21, 24, 87];
        let expected = [
            1024,
            i32::MAX,
            49_152,
            65_536,
            34,
            7_000_000,
            256,
            4 << 20,
            1024,
            7,
            5,
            65_536,
            65_536,
            16,
            512,
            131_072,
            16_384,
            32,
        ];
        assert_eq!(attributes("rtx2060s", &numbers), expected);
    }

    #[test]
    fn volta_and_ampere_share_more_memory_and_fermi_less() {
        assert_eq!(attributes("titanv", &[8, 81, 97, 111, 95]), [49_152, 98_304, 98_304, 0, 1]);
        assert_eq!(attributes("rtx3070", &[8, 81, 97, 111, 87]), [49_152, 102_400, 101_376, 1024, 64]);
        assert_eq!((attributes("h100", &[120]), attributes("a100", &[120])), (vec![1], vec![0]));
        assert_eq!(attributes("gtx480", &[5, 8, 95, 21, 87]), [65_535, 49_152, 0, 65_536, 2]);
    }
}
