//! Energy and power of the events of a run.
//!
//! An event-based model like GPUWattch (ISCA 2013) and AccelWattch (MICRO 2021): each [`Event`] has an energy
//! ([`Coefficients`], data files with sources), static power depends on the units in use ([`StaticPower`]),
//! idle SMs and the board draw constant power. [`Coefficients::energy`] converts an [`Activity`] to
//! [`Energy`] by [`Component`].
//!
//! It is independent of the simulator: any caller with counts can use it, so that published counts can be
//! evaluated as well as ours. The energy of a core design's own structures is computed from their sizes
//! ([`Structure`]).
//!
//! ```
//! use energy::{Activity, Coefficients, Component, Event};
//! let v100 = Coefficients::of("v100").unwrap()?;
//! let mut activity = Activity { seconds: 1e-3, sms: 80.0, active_sms: 80.0, lanes: 32.0, ..Activity::default() };
//! activity.events[Event::FpMul] = 1e9;
//! let energy = v100.energy(&activity, v100.volts);
//! assert!((energy.joules(Component::FpLanes) - 1e9 * 3.462e-12).abs() < 1e-9);
//! # Ok::<(), energy::CoefficientError>(())
//! ```

pub mod accelwattch;
mod coefficients;
mod event;
mod hardware;
pub mod logic;
mod model;
pub mod scaling;
mod static_power;
mod storage;
mod structure;
pub mod wire;

pub use coefficients::{CoefficientError, Coefficients};
pub use event::{Component, Event, PerEvent};
pub use hardware::{Hardware, HardwarePart};
pub use model::{Activity, Energy};
pub use static_power::{Lanes, StaticPower};
pub use storage::{Cost, Storage};
pub use structure::{Each, Structure, Uses};
