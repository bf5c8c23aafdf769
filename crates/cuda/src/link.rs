//! The time of transfers: a link to the host, and copies within device memory.

use config::GpuConfig;

/// Kinds of transfers, each with an engine that carries out one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Direction {
    ToDevice,
    ToHost,
    /// Within device memory: copies and fills.
    Within,
}

impl Direction {
    /// Number of directions.
    pub const COUNT: usize = 3;

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToDevice => "host to device",
            Self::ToHost => "device to host",
            Self::Within => "within the device",
        }
    }

    /// All of them, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [Self::ToDevice, Self::ToHost, Self::Within];
}

/// A transfer takes a latency and then its bytes over a bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    core_hz: f64,
    /// Bytes per second to and from the host.
    host_bandwidth: f64,
    /// Bytes per second within device memory, reads and writes counted once.
    device_bandwidth: f64,
    /// Seconds of a transfer without its bytes.
    latency: f64,
}

/// Microseconds that a copy takes beside its bytes, on boards that do not say: a guess, of the order that vendors'
/// bandwidth tests show for copies of 4 KiB.
const LATENCY_US: u32 = 10;
/// Megabytes per second to and from the host, on boards that do not say: PCI Express 3.0 with 16 lanes has 15,750, of
/// which bandwidth tests with page-locked memory show 12,000 to 13,000.
const HOST_MB_PER_S: u32 = 12_000;

impl Link {
    /// The link of a GPU.
    pub fn of(gpu: &GpuConfig) -> Self {
        Self {
            core_hz: gpu.clocks.core_mhz * 1e6,
            host_bandwidth: f64::from(gpu.board.link_mb_per_s.unwrap_or(HOST_MB_PER_S)) * 1e6,
            // Each byte is read and written.
            device_bandwidth: gpu.dram_peak_gb_per_s() * 1e9 / 2.0,
            latency: f64::from(gpu.board.link_latency_us.unwrap_or(LATENCY_US)) * 1e-6,
        }
    }

    /// Core cycles per second.
    pub fn core_hz(&self) -> f64 {
        self.core_hz
    }

    /// Core cycles of a transfer of `bytes`.
    pub fn cycles(&self, direction: Direction, bytes: u64) -> u64 {
        let (latency, bandwidth) = match direction {
            Direction::ToDevice | Direction::ToHost => (self.latency, self.host_bandwidth),
            Direction::Within => (self.latency / 4.0, self.device_bandwidth),
        };
        ((latency + bytes as f64 / bandwidth) * self.core_hz).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_board_says_how_long_transfers_take() {
        let seconds = |sets: &[&str], bytes| {
            let gpu = config::load_with(Path::new("rtx2060s"), sets).unwrap();
            let link = Link::of(&gpu);
            link.cycles(Direction::ToDevice, bytes) as f64 / link.core_hz()
        };
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
        near(seconds(&[], 0), 10e-6);
        near(seconds(&[], 12_000_000), 1010e-6);
        near(seconds(&["board.link_mb_per_s=24000", "board.link_latency_us=2"], 12_000_000), 502e-6);
    }
}
