//! The papers' parameters of their GPUs, against our descriptions.

use config::{Unit, load};

/// GhOST, table III.
#[test]
fn ghost_turing_and_ampere() {
    for (name, mhz, sms, warps) in [("papers/ghost", 1905.0, 34, 32), ("papers/ghost-rtx3070", 1132.0, 46, 48)] {
        let gpu = load(name).unwrap();
        assert_eq!((gpu.sm.issue.scheduler.as_str(), gpu.sm.frontend.buffer_entries), ("gto", 4), "{name}");
        assert_eq!((gpu.clocks.core_mhz, gpu.sm_count, gpu.sm.max_warps), (mhz, sms, warps), "{name}");
        assert_eq!((gpu.sm.issue.schedulers, gpu.sm.issue.width, gpu.sm.registers), (4, 1, 65536), "{name}");
        assert_eq!(gpu.sm.registers * 4, 256 << 10, "{name}: bytes of the register file");
    }
    assert_eq!(load("papers/ghost").unwrap().sm.l1d.cache.capacity_bytes(), 64 << 10);
}

/// SOCGPU, table 1.
#[test]
fn socgpu_v100() {
    let gpu = load("papers/socgpu").unwrap();
    assert_eq!(gpu.clocks.core_mhz, 1530.0);
    let units = [Unit::Sp, Unit::Dp, Unit::Int, Unit::Sfu, Unit::Mem, Unit::Tensor].map(|u| gpu.sm.units[&u].count);
    assert_eq!(units, [4, 4, 4, 4, 1, 4]);
    assert_eq!((gpu.sm.max_warps, gpu.sm.registers, gpu.sm_count, gpu.sm.issue.schedulers), (64, 65536, 80, 4));
    assert_eq!(gpu.sm.operands.collectors / gpu.sm.issue.schedulers, 2, "collectors per sub-core");
    assert_eq!(gpu.sm.l1d.unified_bytes, 128 << 10);
    assert_eq!((gpu.l2.bytes(), gpu.l2.partitions), (6 << 20, 32));
}

/// SGMF, table 1, the Fermi column. The paper counts the hot clock, at which half a warp starts;
/// GPGPU-Sim and we count whole warps at half of it.
#[test]
fn sgmf_gtx480() {
    let gpu = load("papers/sgmf").unwrap();
    assert_eq!((gpu.sm_count, gpu.l2.partitions, gpu.dram.timing.nbk), (15, 6, 16));
    assert_eq!((gpu.clocks.core_mhz * 2.0, gpu.clocks.l2_mhz, gpu.clocks.dram_mhz), (1400.0, 700.0, 924.0));
    assert_eq!((gpu.clocks.interconnect_mhz, gpu.sm.issue.schedulers), (1400.0, 2));
    assert_eq!((gpu.l2.bytes(), gpu.l2.slices_per_partition, gpu.l2.cache.ways), (786_432, 1, 16));
    assert!(!gpu.launch.host_copies_fill_l2 && gpu.sm.issue.scheduler.as_str() == "gto");
    let l1 = &gpu.sm.l1d.cache;
    assert_eq!((l1.line_bytes, l1.ways, gpu.sm.shared.banks), (128, 4, 32));
    assert_eq!(l1.capacity_bytes() + u64::from(gpu.sm.shared.bytes), 64 << 10, "L1 and shared memory together");
}
