//! The cache of constants and parameters.

use crate::inflight::InFlight;
use crate::kernel;
use crate::spec::CoreSpec;
use isa::Space;
use mem::Cache;
use mem::cache::CacheCounters;

/// Where kernel parameters lie for the caches: 64 KiB per launch.
const PARAM_BASE: u64 = 1 << 41;
/// Where constants lie for the caches.
const CONSTANT_BASE: u64 = 1 << 42;

/// The cache of constants and parameters, and which loads look it up.
#[derive(Debug)]
pub(in crate::memory) struct Constants {
    /// Absent if every load hits.
    pub(super) cache: Option<Cache>,
    /// Bytes that one miss fetches.
    pub(super) fetch_bytes: u32,
    of_sub_cores: bool,
}

impl Constants {
    /// As the description gives it: every load of constants or parameters looks it up.
    pub fn of(spec: &CoreSpec) -> Self {
        let (config, perfect) = (&spec.sm.constant_cache, spec.sm.perfect_instruction_and_constant_caches);
        Self { cache: (!perfect).then(|| Cache::new(config)), fetch_bytes: config.fetch_bytes(), of_sub_cores: false }
    }

    /// The cache beside sub-cores that look up constant operands by themselves: only `LDC` by a register looks it up, as
    /// `ld.const` and `ld.param` of PTX and of traces may have been operands. It is empty when a kernel comes to an SM without CTAs.
    pub fn of_sub_cores(config: Option<&config::Cache>) -> Self {
        let fetch_bytes = config.map_or(1, config::Cache::fetch_bytes);
        Self { cache: config.map(Cache::new), fetch_bytes, of_sub_cores: true }
    }

    /// Whether `load`, a load of constants or parameters, looks them up.
    #[inline]
    pub(super) fn looks_up(&self, load: &InFlight) -> bool {
        self.cache.is_some() && (!self.of_sub_cores || load.is_constant_move())
    }

    /// Of `passes` through the port, those in which no look-up of one of `lines` takes place: on sub-cores each look-up
    /// is in one of the passes.
    #[inline]
    pub(super) fn passes_without_look_up(&self, passes: u32, lines: usize) -> u32 {
        let with_look_up = if self.of_sub_cores { lines as u32 } else { 1 };
        passes.saturating_sub(with_look_up)
    }

    /// Where the constants of `load` lie for the caches. On sub-cores, parameters are in the bank that a launch writes, and
    /// the other banks are where the module is.
    #[inline]
    pub(super) fn base(&self, load: &InFlight) -> u64 {
        let is_parameter = load.mem.is_some_and(|mem| mem.space == Space::Param);
        match (is_parameter, self.of_sub_cores) {
            (true, true) => kernel::CONSTANT_BASE,
            (false, true) => 0,
            (true, false) => PARAM_BASE + (u64::from(load.kernel.0) << 16),
            (false, false) => CONSTANT_BASE,
        }
    }

    pub(super) fn counters(&self) -> CacheCounters {
        self.cache.as_ref().map_or_else(CacheCounters::default, |cache| cache.counters().clone())
    }

    /// A kernel comes to an SM without CTAs.
    pub(super) fn begin_kernel(&mut self) {
        if self.of_sub_cores
            && let Some(cache) = &mut self.cache
        {
            cache.invalidate();
        }
    }
}
