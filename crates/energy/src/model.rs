//! From what happened to joules.

use crate::coefficients::Coefficients;
use crate::event::{Component, Event, PerEvent};

/// What a GPU did in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// Length of the stretch.
    pub seconds: f64,
    /// How often each event happened.
    pub events: PerEvent,
    /// Active lanes of a warp instruction on average: 0 to 32.
    pub lanes: f64,
    /// SMs with a warp, mean over the stretch.
    pub active_sms: f64,
    /// SMs of the GPU.
    pub sms: f64,
    /// Energy of using the core design's own structures, in picojoules.
    pub design_pj: f64,
    /// Power that they leak, in watts.
    pub design_leakage_watts: f64,
}

/// Energy by component.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// Length of the stretch of time that it was spent in.
    pub seconds: f64,
    joules: [f64; Component::ALL.len()],
}

impl Energy {
    /// None spent in no time.
    pub fn none() -> Self {
        Self { seconds: 0.0, joules: [0.0; Component::ALL.len()] }
    }

    /// Energy charged to `component`, in joules.
    pub fn joules(&self, component: Component) -> f64 {
        self.joules[component as usize]
    }

    /// All of it, in joules.
    pub fn total_joules(&self) -> f64 {
        self.joules.iter().sum()
    }

    /// Mean power of `component`, in watts; 0 over no time.
    pub fn watts(&self, component: Component) -> f64 {
        over(self.joules(component), self.seconds)
    }

    /// Mean power, in watts; 0 over no time.
    pub fn total_watts(&self) -> f64 {
        over(self.total_joules(), self.seconds)
    }

    /// Energy by component, in declaration order.
    pub fn parts(&self) -> impl Iterator<Item = (Component, f64)> + '_ {
        Component::ALL.iter().map(|&c| (c, self.joules(c)))
    }

    /// Both stretches of time, one after the other.
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
    /// Dynamic energy grows with the square of the voltage, static power and that of idle SMs with
    /// the voltage; constant power does not depend on it (AccelWattch's DVFS model).
    pub fn energy(&self, activity: &Activity, volts: f64) -> Energy {
        self.energy_with_static(activity, volts, self.static_watts(activity))
    }

    /// Static power at the coefficients' voltage were all SMs active, in watts, for the units and lanes
    /// that `activity` uses.
    pub fn static_watts(&self, activity: &Activity) -> f64 {
        // The figures are of a whole chip: another has as much more static power as it has more SMs.
        let size = if self.scale_static_by_sms { activity.sms / self.sms } else { 1.0 };
        self.static_power.watts(&activity.events, activity.lanes, 1.0) * size
    }

    /// As [`Coefficients::energy`], with [`Coefficients::static_watts`] given: that of a longer stretch
    /// of time, of which `activity` is a part. So the parts add up to the whole.
    pub fn energy_with_static(&self, activity: &Activity, volts: f64, static_watts: f64) -> Energy {
        let ratio = volts / self.volts;
        let mut energy = Energy { seconds: activity.seconds, ..Energy::none() };
        let mut charge = |component: Component, joules: f64| energy.joules[component as usize] += joules;
        for &event in Event::ALL {
            // The duty is a share of all pipelines: a GPU of more SMs has more of them.
            let size = if event == Event::PipelineDuty { activity.sms / self.sms } else { 1.0 };
            let picojoules = activity.events[event] * self.events_pj[event] * size;
            charge(event.component(), picojoules * 1e-12 * ratio * ratio);
        }
        charge(Component::Design, activity.design_pj * 1e-12 * ratio * ratio);
        charge(Component::Design, activity.design_leakage_watts * ratio * activity.seconds);
        let (active, idle) = (activity.active_sms, (activity.sms - activity.active_sms).max(0.0));
        let share = if activity.sms > 0.0 { active / activity.sms } else { 0.0 };
        charge(Component::Static, static_watts * share * ratio * activity.seconds);
        charge(Component::IdleSms, self.idle_sm_watts * idle * ratio * activity.seconds);
        charge(Component::Constant, self.constant_watts * activity.seconds);
        energy
    }
}
