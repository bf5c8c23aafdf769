//! Warp schedulers: which of the warps with a candidate issues.
//!
//! A new scheduler is one file with a [`WarpScheduler`] and its two lines here: the `mod` and the
//! row of the table. Its parameters are in its own file.

mod gto;
mod laggard;
mod lrr;
mod scheduler;
mod srr;
mod two_level;

pub use scheduler::{View, WarpScheduler};

use crate::spec::CoreSpec;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;
use kit::Parameters;
use kit::parameters::{self, Parameter};
use kit::persist::{Archive, Mismatch, Persist};
use kit::suggest;
pub use two_level::TwoLevelConfig;

/// Takes a scheduler's name apart from its parameters.
fn split(text: &str) -> Result<(&str, parameters::Settings<'_>), String> {
    parameters::split(text, "two_level:active=4")
}

/// The configuration `C` that `settings` give the scheduler `name`.
fn configured<C: Parameters>(name: &str, settings: &[(&str, &str)]) -> Result<C, String> {
    parameters::configured(&format!("warp scheduler `{name}`"), settings)
}

/// The parameters of the scheduler `name`, whose configuration is `C`, with what `settings` set as their defaults.
fn schema<C: Parameters>(name: &str, settings: &[(&str, &str)]) -> Result<Vec<Parameter>, String> {
    configured::<C>(name, settings)?;
    Ok(parameters::with_defaults(C::schema(), settings))
}

/// Declares the schedulers: the enum over them, their names, parameters and the dispatch.
macro_rules! schedulers {
    ($($(#[doc = $text:literal])+ $variant:ident($type:ty) = $name:literal,)*) => {
        /// Name and description of each scheduler.
        pub const NAMES: &[(&str, &str)] = &[$(($name, concat!($($text,)+).trim_ascii()),)*];

        /// The parameters of the scheduler that `text` names, such as `two_level:active=4`, with what `text` sets
        /// them to as their defaults.
        ///
        /// # Errors
        /// There is no such scheduler or parameter, or it does not take its value: what there is.
        pub fn parameters(text: &str) -> Result<Vec<Parameter>, String> {
            type M = u64;
            match split(text)? {
                $(($name, settings) => schema::<<$type as WarpScheduler<M>>::Config>($name, &settings),)*
                (name, _) => {
                    let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
                    Err(suggest::unknown("warp scheduler", name, &known))
                }
            }
        }

        /// One of the warp schedulers. Which one stands in a byte: it is asked twice for each instruction.
        #[derive(Debug)]
        #[repr(u8)]
        pub enum Scheduler<M> { $($(#[doc = $text])+ $variant($type),)* }

        impl<M: WarpMask> Persist for Scheduler<M> {
            fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
                match self { $(Self::$variant(s) => WarpScheduler::<M>::persist(s, archive),)* }
            }
        }

        impl<M: WarpMask> Scheduler<M> {
            /// The scheduler that `spec` names, which has been checked.
            pub fn of(spec: &CoreSpec, mine: M) -> Self {
                const CHECKED: &str = "the scheduler was checked with the specification";
                match split(spec.scheduler_name()).expect(CHECKED) {
                    $(($name, settings) => {
                        let config = configured($name, &settings).expect(CHECKED);
                        Self::$variant(<$type as WarpScheduler<M>>::new(&config, spec, mine))
                    })*
                    (name, _) => unreachable!("{CHECKED}: {name}"),
                }
            }

            /// See [`WarpScheduler::CONSIDERS_LIVE`].
            pub fn considers_live(&self) -> bool {
                match self { $(Self::$variant(_) => <$type as WarpScheduler<M>>::CONSIDERS_LIVE,)* }
            }

            /// See [`WarpScheduler::considered`].
            #[inline]
            pub fn considered(&mut self, view: &View<'_, M>) -> M {
                match self { $(Self::$variant(s) => s.considered(view),)* }
            }

            /// The warp of `warps` that it would choose if all could issue.
            pub fn first(&mut self, warps: M, view: &View<'_, M>) -> WarpSlot {
                match self { $(Self::$variant(s) => s.choose(warps, view),)* }
            }

            /// `warp`, the [first](Self::first) one, issues.
            #[inline(always)]
            pub fn note_issue(&mut self, warp: WarpSlot) {
                match self { $(Self::$variant(s) => WarpScheduler::<M>::on_issue(s, warp),)* }
            }

            /// Chooses one of `ready`, which issues: see [`WarpScheduler::choose`].
            #[inline(always)]
            pub fn choose(&mut self, ready: M, view: &View<'_, M>) -> WarpSlot {
                match self {
                    $(Self::$variant(s) => {
                        let warp = s.choose(ready, view);
                        WarpScheduler::<M>::on_issue(s, warp);
                        warp
                    })*
                }
            }
        }
    };
}

schedulers! {
    /// Loose round robin: the first ready warp after the one that issued last.
    Lrr(lrr::LooseRoundRobin) = "lrr",
    /// Greedy then oldest: the warp that issued last, else the oldest ready one.
    Gto(gto::Greedy<M, gto::Oldest>) = "gto",
    /// Greedy then youngest: the warp that issued last, else the youngest ready one.
    Gty(gto::Greedy<M, gto::Youngest>) = "gty",
    /// Strict round robin: only the warp whose turn it is may issue.
    Srr(srr::StrictRoundRobin) = "srr",
    /// Two-level: loose round robin over an active set, from which warps that wait long are demoted.
    TwoLevel(two_level::TwoLevel<M>) = "two_level",
    /// Greedy, then the warp with the fewest instructions completed (criticality, after CAWA).
    Laggard(gto::Greedy<M, laggard::FewestCompleted>) = "laggard",
}
