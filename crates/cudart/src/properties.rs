//! `cudaDeviceProp`: the structure of each version, filled from the device's attributes.

use std::ffi::c_int;

use crate::context::with_device;
use crate::driver::{Driver, into, out};
use crate::error::Result;
use cabi::address::{Address, write_bytes};

/// The layouts of the structure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Of version 11, and of the function's old name in version 12.
    Eleven,
    /// Version 12: more fields and a reserve at the end.
    Twelve,
    /// Version 13: without clock rates and other fields that only attributes report.
    Thirteen,
}

impl Layout {
    const fn size(self) -> usize {
        match self {
            Self::Eleven => 728,
            Self::Twelve => 1032,
            Self::Thirteen => 1008,
        }
    }

    /// Where a row of the table is in this layout.
    fn offset(self, row: &Row) -> Option<usize> {
        let offset = if self == Self::Thirteen { row.3 } else { row.2 };
        (offset < self.size()).then_some(offset)
    }
}

const NAME: usize = 0;
const NAME_SIZE: usize = 256;
const UUID: usize = 256;
const TOTAL_MEMORY: usize = 288;

/// Writes the properties of a device in a layout.
pub fn write_properties(place: Address, device: c_int, layout: Layout) -> Result<()> {
    Ok(write_bytes(place, &properties(with_device(device)?, device, layout)?)?)
}

fn properties(driver: &Driver, device: c_int, layout: Layout) -> Result<Vec<u8>> {
    let mut bytes = vec![0; layout.size()];
    let mut name = [0_u8; NAME_SIZE];
    driver.cuDeviceGetName(into(&mut name), NAME_SIZE as c_int, device)?;
    put(&mut bytes, NAME, &name);
    let memory: usize = out(|place| driver.cuDeviceTotalMem_v2(place, device))?;
    put(&mut bytes, TOTAL_MEMORY, &memory.to_ne_bytes());
    // A device need not have one. The locally unique number after it exists on Windows only.
    if let Ok(uuid) = out::<[u8; 16]>(|place| driver.cuDeviceGetUuid_v2(place, device)) {
        put(&mut bytes, UUID, &uuid);
    }
    for row in FIELDS {
        let Some(offset) = layout.offset(row) else {
            continue;
        };
        // Zero where the driver is older than the attribute.
        let value: c_int = out(|place| driver.cuDeviceGetAttribute(place, row.0, device)).unwrap_or(0);
        if row.1 == 8 {
            put(&mut bytes, offset, &i64::from(value).to_ne_bytes());
        } else {
            put(&mut bytes, offset, &value.to_ne_bytes());
        }
    }
    Ok(bytes)
}

fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    bytes[offset..offset + value.len()].copy_from_slice(value);
}

/// Attribute, bytes, and where the field is in versions 11 and 12, and in version 13. The
/// offsets are those that a C compiler gives for the public headers.
type Row = (c_int, usize, usize, usize);

/// The version's structure has no such field.
const NONE: usize = usize::MAX;

#[rustfmt::skip]
const FIELDS: &[Row] = &[
    (8, 8, 296, 296), // sharedMemPerBlock
    (12, 4, 304, 304), // regsPerBlock
    (10, 4, 308, 308), // warpSize
    (11, 8, 312, 312), // memPitch
    (1, 4, 320, 320), // maxThreadsPerBlock
    (2, 4, 324, 324), // maxThreadsDim
    (3, 4, 328, 328),
    (4, 4, 332, 332),
    (5, 4, 336, 336), // maxGridSize
    (6, 4, 340, 340),
    (7, 4, 344, 344),
    (13, 4, 348, NONE), // clockRate
    (9, 8, 352, 352), // totalConstMem
    (75, 4, 360, 360), // major
    (76, 4, 364, 364), // minor
    (14, 8, 368, 368), // textureAlignment
    (51, 8, 376, 376), // texturePitchAlignment
    (15, 4, 384, NONE), // deviceOverlap
    (16, 4, 388, 384), // multiProcessorCount
    (17, 4, 392, NONE), // kernelExecTimeoutEnabled
    (18, 4, 396, 388), // integrated
    (19, 4, 400, 392), // canMapHostMemory
    (20, 4, 404, NONE), // computeMode
    (21, 4, 408, 396), // maxTexture1D
    (77, 4, 412, 400), // maxTexture1DMipmap
    (69, 4, 416, NONE), // maxTexture1DLinear
    (22, 4, 420, 404), // maxTexture2D
    (23, 4, 424, 408),
    (73, 4, 428, 412), // maxTexture2DMipmap
    (74, 4, 432, 416),
    (70, 4, 436, 420), // maxTexture2DLinear
    (71, 4, 440, 424),
    (72, 4, 444, 428),
    (45, 4, 448, 432), // maxTexture2DGather
    (46, 4, 452, 436),
    (24, 4, 456, 440), // maxTexture3D
    (25, 4, 460, 444),
    (26, 4, 464, 448),
    (47, 4, 468, 452), // maxTexture3DAlt
    (48, 4, 472, 456),
    (49, 4, 476, 460),
    (52, 4, 480, 464), // maxTextureCubemap
    (42, 4, 484, 468), // maxTexture1DLayered
    (43, 4, 488, 472),
    (27, 4, 492, 476), // maxTexture2DLayered
    (28, 4, 496, 480),
    (29, 4, 500, 484),
    (53, 4, 504, 488), // maxTextureCubemapLayered
    (54, 4, 508, 492),
    (55, 4, 512, 496), // maxSurface1D
    (56, 4, 516, 500), // maxSurface2D
    (57, 4, 520, 504),
    (58, 4, 524, 508), // maxSurface3D
    (59, 4, 528, 512),
    (60, 4, 532, 516),
    (61, 4, 536, 520), // maxSurface1DLayered
    (62, 4, 540, 524),
    (63, 4, 544, 528), // maxSurface2DLayered
    (64, 4, 548, 532),
    (65, 4, 552, 536),
    (66, 4, 556, 540), // maxSurfaceCubemap
    (67, 4, 560, 544), // maxSurfaceCubemapLayered
    (68, 4, 564, 548),
    (30, 8, 568, 552), // surfaceAlignment
    (31, 4, 576, 560), // concurrentKernels
    (32, 4, 580, 564), // ECCEnabled
    (33, 4, 584, 568), // pciBusID
    (34, 4, 588, 572), // pciDeviceID
    (50, 4, 592, 576), // pciDomainID
    (35, 4, 596, 580), // tccDriver
    (40, 4, 600, 584), // asyncEngineCount
    (41, 4, 604, 588), // unifiedAddressing
    (36, 4, 608, NONE), // memoryClockRate
    (37, 4, 612, 592), // memoryBusWidth
    (38, 4, 616, 596), // l2CacheSize
    (108, 4, 620, 600), // persistingL2CacheMaxSize
    (39, 4, 624, 604), // maxThreadsPerMultiProcessor
    (78, 4, 628, 608), // streamPrioritiesSupported
    (79, 4, 632, 612), // globalL1CacheSupported
    (80, 4, 636, 616), // localL1CacheSupported
    (81, 8, 640, 624), // sharedMemPerMultiprocessor
    (82, 4, 648, 632), // regsPerMultiprocessor
    (83, 4, 652, 636), // managedMemory
    (84, 4, 656, 640), // isMultiGpuBoard
    (85, 4, 660, 644), // multiGpuBoardGroupID
    (86, 4, 664, 648), // hostNativeAtomicSupported
    (87, 4, 668, NONE), // singleToDoublePrecisionPerfRatio
    (88, 4, 672, 652), // pageableMemoryAccess
    (89, 4, 676, 656), // concurrentManagedAccess
    (90, 4, 680, 660), // computePreemptionSupported
    (91, 4, 684, 664), // canUseHostPointerForRegisteredMem
    (95, 4, 688, 668), // cooperativeLaunch
    (96, 4, 692, NONE), // cooperativeMultiDeviceLaunch
    (97, 8, 696, 672), // sharedMemPerBlockOptin
    (100, 4, 704, 680), // pageableMemoryAccessUsesHostPageTables
    (101, 4, 708, 684), // directManagedMemAccessFromHost
    (106, 4, 712, 688), // maxBlocksPerMultiProcessor
    (109, 4, 716, 692), // accessPolicyMaxWindowSize
    (111, 8, 720, 696), // reservedSharedMemPerBlock
    (99, 4, 728, 704), // hostRegisterSupported
    (112, 4, 732, 708), // sparseCudaArraySupported
    (113, 4, 736, 712), // hostRegisterReadOnlySupported
    (114, 4, 740, 716), // timelineSemaphoreInteropSupported
    (115, 4, 744, 720), // memoryPoolsSupported
    (116, 4, 748, 724), // gpuDirectRDMASupported
    (117, 4, 752, 728), // gpuDirectRDMAFlushWritesOptions
    (118, 4, 756, 732), // gpuDirectRDMAWritesOrdering
    (119, 4, 760, 736), // memoryPoolSupportedHandleTypes
    (121, 4, 764, 740), // deferredMappingCudaArraySupported
    (125, 4, 768, 744), // ipcEventSupported
    (120, 4, 772, 748), // clusterLaunch
    (129, 4, 776, 752), // unifiedFunctionPointers
    (130, 4, NONE, 756), // deviceNumaConfig
    (131, 4, NONE, 760), // deviceNumaId
    (133, 4, NONE, 764), // mpsEnabled
    (134, 4, NONE, 768), // hostNumaId
    (139, 4, NONE, 772), // gpuPciDeviceID
    (140, 4, NONE, 776), // gpuPciSubsystemID
    (143, 4, NONE, 780), // hostNumaMultinodeIpcSupported
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges that no row covers: what other calls fill, gaps of alignment, the reserve.
    fn uncovered(layout: Layout) -> Vec<(usize, usize)> {
        let mut covered = vec![false; layout.size()];
        for row in FIELDS {
            let Some(offset) = layout.offset(row) else {
                continue;
            };
            assert_eq!(offset % row.1, 0, "attribute {} is aligned", row.0);
            for byte in &mut covered[offset..offset + row.1] {
                assert!(!*byte, "attribute {} has a place of its own", row.0);
                *byte = true;
            }
        }
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for at in (0..covered.len()).filter(|&at| !covered[at]) {
            match ranges.last_mut() {
                Some(range) if range.1 == at => range.1 = at + 1,
                _ => ranges.push((at, at + 1)),
            }
        }
        ranges
    }

    /// Sizes, gaps and reserves of `struct cudaDeviceProp` as gcc lays it out for the headers of
    /// 11.8, 12.9 and 13.1.
    #[test]
    fn every_field_of_the_structures_has_a_row() {
        assert_eq!(uncovered(Layout::Eleven), [(0, 296)]);
        assert_eq!(uncovered(Layout::Twelve), [(0, 296), (780, 1032)]);
        let gaps = [(0, 296), (348, 352), (620, 624), (784, 1008)];
        assert_eq!(uncovered(Layout::Thirteen), gaps);
    }
}
