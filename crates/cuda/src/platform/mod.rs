//! The devices and contexts of a program, and the process that they are in. The owners of all other objects get a
//! [`Platform`] with the calls that need one.

pub mod attributes;
mod context;
mod wait;

pub use context::{current, pop_current};
pub use wait::{MOST_PENDING, Step, Wait};

use crate::error::{Error, Result};
use crate::handles::{Handles, Kind};
use crate::host::Host;
use crate::memory::MOST_DEVICES;
use crate::origin::{Origin, Origins};
use crate::report::Notes;
use crate::settings::Settings;
use crate::timeline::{OpId, Timeline};
use lab::Setup;
use request::values::By;
use std::collections::BTreeMap;

/// A device of the program.
pub struct Device {
    /// GPU, core and choices.
    pub setup: Setup,
    /// The simulated GPU, from its first use.
    pub(crate) timeline: Option<Timeline>,
    /// The primary context while it is retained.
    pub(crate) primary: Option<u64>,
    pub(crate) retained: u32,
    pub(crate) primary_flags: u32,
    /// The first operation of the next simulated GPU: streams and events may still have operations of former ones.
    pub(crate) first_op: OpId,
}

/// A context.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Context {
    pub device: usize,
    pub primary: bool,
    pub flags: u32,
    /// A fault of a kernel: every later call fails with it.
    pub broken: Option<Error>,
    /// Uses of it beside its creation (`cuCtxAttach`).
    pub attached: u32,
    /// Limits that the program has set, by number.
    pub limits: BTreeMap<u32, u64>,
    /// Preference of caches that the program has set.
    pub cache_config: u32,
    /// Preference of shared memory banks that the program has set.
    pub shared_config: u32,
}

/// Devices, contexts, process and notes for the report.
pub struct Platform {
    pub(crate) host: Box<dyn Host>,
    initialised: bool,
    /// The devices, by ordinal.
    pub devices: Vec<Device>,
    pub(crate) contexts: Handles<Context>,
    /// Parts of the report beside the figures of the devices.
    pub notes: Notes,
    /// Criterion by which the report groups kernels.
    pub(crate) by: Option<By>,
    /// Launches that only fill memory are simulated in time.
    pub(crate) times_fills: bool,
    pub(crate) origins: Origins,
    /// Origin of new launches.
    pub(crate) origin: Origin,
}

impl Platform {
    /// The devices of `settings`, in the process `host`.
    pub(crate) fn new(settings: &Settings, host: Box<dyn Host>) -> Self {
        let devices = settings.devices.iter().take(MOST_DEVICES).map(|setup| Device {
            setup: setup.clone(),
            timeline: None,
            primary: None,
            retained: 0,
            primary_flags: 0,
            first_op: 1,
        });
        Self {
            host,
            initialised: false,
            devices: devices.collect(),
            contexts: Handles::new(Kind::Context),
            notes: Notes::default(),
            by: settings.options.by,
            times_fills: settings.options.time_fills,
            origins: Origins::default(),
            origin: Origin::NONE,
        }
    }

    /// The process.
    pub fn host(&self) -> &dyn Host {
        &*self.host
    }

    /// `cuInit`.
    ///
    /// # Errors
    /// There are no devices, or flags are set.
    pub fn init(&mut self, flags: u32) -> Result<()> {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if self.devices.is_empty() {
            return Err(Error::NO_DEVICE);
        }
        self.initialised = true;
        Ok(())
    }

    /// Whether `cuInit` has been called.
    ///
    /// # Errors
    /// It has not.
    pub fn check_initialised(&self) -> Result<()> {
        if self.initialised { Ok(()) } else { Err(Error::NOT_INITIALIZED) }
    }

    /// The device of an ordinal.
    ///
    /// # Errors
    /// There is none.
    pub fn device(&self, ordinal: i32) -> Result<&Device> {
        self.check_initialised()?;
        usize::try_from(ordinal).ok().and_then(|i| self.devices.get(i)).ok_or(Error::INVALID_DEVICE)
    }

    /// The place of the device of an ordinal in [`Platform::devices`].
    ///
    /// # Errors
    /// There is none.
    pub fn index_of(&self, ordinal: i32) -> Result<usize> {
        self.device(ordinal).map(|_| ordinal as usize)
    }

    /// Whether the first and the last of `bytes` from `address` are memory of the process.
    pub(crate) fn is_in_process(&self, address: u64, bytes: u64) -> bool {
        let Some(last) = address.checked_add(bytes - 1) else { return false };
        let (mut first_byte, mut last_byte) = ([0], [0]);
        self.host.read_each(&mut [(address, &mut first_byte), (last, &mut last_byte)])
    }

    /// Whether `bytes` from `address` are within one piece of memory of a device.
    pub(crate) fn is_on_device(&mut self, device: usize, address: u64, bytes: u64) -> bool {
        let Ok(timeline) = self.timeline(device) else { return false };
        timeline.device.memory().allocation_of(address).is_some_and(|a| bytes <= a.bytes - (address - a.base))
    }

    /// Notes that something is not supported; says so once.
    pub fn unsupported(&mut self, what: &'static str) -> Error {
        let count = self.notes.unsupported.entry(what).or_insert(0);
        *count += 1;
        if *count == 1 {
            self.host.message(&format!("{what} is not supported"));
        }
        Error::NOT_SUPPORTED
    }
}

impl Context {
    pub(crate) fn of(device: usize, primary: bool, flags: u32) -> Self {
        let limits = BTreeMap::new();
        Self { device, primary, flags, broken: None, attached: 0, limits, cache_config: 0, shared_config: 0 }
    }
}
