//! Conversion of an activity to joules.

use crate::coefficients::Coefficients;
use crate::event::{Component, Event, PerEvent};

/// Activity of a GPU in a period.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// Length of the period.
    pub seconds: f64,
    /// Count of each event.
    pub events: PerEvent,
    /// Mean number of active lanes of a warp instruction: 0 to 32.
    pub lanes: f64,
    /// Mean number of SMs with a warp in the period.
    pub active_sms: f64,
    /// Number of SMs of the GPU.
    pub sms: f64,
    /// Energy of using the core design's own structures, in picojoules.
    pub design_pj: f64,
    /// Leakage of these structures, in watts.
    pub design_leakage_watts: f64,
    /// Leakage of parts of cores that the static power of the GPU does not have, in watts.
    pub added_leakage_watts: f64,
}

/// Energy by component, in a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// Length of the period.
    pub seconds: f64,
    joules: [f64; Component::ALL.len()],
}

impl Energy {
    /// No energy in an empty period.
    pub fn none() -> Self {
        Self { seconds: 0.0, joules: [0.0; Component::ALL.len()] }
    }

    /// Energy charged to `component`, in joules.
    pub fn joules(&self, component: Component) -> f64 {
        self.joules[component as usize]
    }

    /// Total energy, in joules.
    pub fn total_joules(&self) -> f64 {
        self.joules.iter().sum()
    }

    /// Energy of managing values and instructions ([`Component::is_management`]), in joules.
    pub fn management_joules(&self) -> f64 {
        self.parts().filter(|(component, _)| component.is_management()).map(|(_, joules)| joules).sum()
    }

    /// Mean power of `component`, in watts; 0 for an empty period.
    pub fn watts(&self, component: Component) -> f64 {
        over(self.joules(component), self.seconds)
    }

    /// Mean total power, in watts; 0 for an empty period.
    pub fn total_watts(&self) -> f64 {
        over(self.total_joules(), self.seconds)
    }

    /// Energy by component, in the order of declaration.
    pub fn parts(&self) -> impl Iterator<Item = (Component, f64)> + '_ {
        Component::ALL.iter().map(|&c| (c, self.joules(c)))
    }

    /// Energy of two consecutive periods.
    pub fn and(mut self, next: &Self) -> Self {
        self.seconds += next.seconds;
        self.joules.iter_mut().zip(next.joules).for_each(|(sum, j)| *sum += j);
        self
    }
}

fn over(joules: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { joules / seconds } else { 0.0 }
}

impl Coefficients {
    /// Energy of `activity` on a GPU with these coefficients, at `volts`.
    ///
    /// Dynamic energy is proportional to the square of the voltage, static power and idle SMs' power to the
    /// voltage; constant power does not depend on it (AccelWattch's DVFS model).
    pub fn energy(&self, activity: &Activity, volts: f64) -> Energy {
        self.energy_with_static(activity, volts, self.static_watts(activity))
    }

    /// Static power in watts if all SMs were active, at the coefficients' voltage, for the units and lanes
    /// that `activity` uses.
    pub fn static_watts(&self, activity: &Activity) -> f64 {
        // The figures are for a whole chip; static power is proportional to the number of SMs.
        let size = if self.scale_static_by_sms { activity.sms / self.sms } else { 1.0 };
        self.static_power.watts(&activity.events, activity.lanes, 1.0) * size
    }

    /// Energy of the events of `activity` at `volts`, in joules.
    pub fn event_joules(&self, activity: &Activity, volts: f64) -> PerEvent {
        let ratio = volts / self.volts;
        let mut joules = PerEvent::default();
        for &event in Event::ALL {
            // The duty is a share of all pipelines: a GPU with more SMs has more pipelines.
            let size = if event == Event::PipelineDuty { activity.sms / self.sms } else { 1.0 };
            let picojoules = activity.events[event] * self.events_pj[event] * size;
            joules[event] = picojoules * 1e-12 * ratio * ratio;
        }
        joules
    }

    /// Energy of using the core design's own structures at `volts`, in joules.
    pub fn design_joules(&self, activity: &Activity, volts: f64) -> f64 {
        let ratio = volts / self.volts;
        activity.design_pj * 1e-12 * ratio * ratio
    }

    /// As [`Coefficients::energy`] with a given [`Coefficients::static_watts`], for a longer period that
    /// includes `activity`. The energies of the parts then add up to the whole.
    pub fn energy_with_static(&self, activity: &Activity, volts: f64, static_watts: f64) -> Energy {
        let ratio = volts / self.volts;
        let mut energy = Energy { seconds: activity.seconds, ..Energy::none() };
        let mut charge = |component: Component, joules: f64| energy.joules[component as usize] += joules;
        let of_events = self.event_joules(activity, volts);
        Event::ALL.iter().for_each(|&event| charge(event.component(), of_events[event]));
        charge(Component::Design, self.design_joules(activity, volts));
        charge(Component::Design, activity.design_leakage_watts * ratio * activity.seconds);
        charge(Component::Static, activity.added_leakage_watts * ratio * activity.seconds);
        let (active, idle) = (activity.active_sms, (activity.sms - activity.active_sms).max(0.0));
        let share = if activity.sms > 0.0 { active / activity.sms } else { 0.0 };
        charge(Component::Static, static_watts * share * ratio * activity.seconds);
        charge(Component::IdleSms, self.idle_sm_watts * idle * ratio * activity.seconds);
        charge(Component::Constant, self.constant_watts * activity.seconds);
        energy
    }
}
