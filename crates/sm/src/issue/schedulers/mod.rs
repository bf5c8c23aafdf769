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
use kit::parameters::{self, Parameter};
use kit::suggest;
use kit::text::excerpt;
pub use two_level::TwoLevelConfig;

/// Takes a scheduler's name apart from its parameters.
fn split(text: &str) -> Result<(&str, parameters::Settings<'_>), String> {
    parameters::split(text, "two_level:active=4")
}

/// The configuration `C` that `text`, the name of a scheduler with parameters, gives.
fn configured<C: kit::Parameters>(text: &str) -> Result<C, String> {
    let (name, settings) = split(text)?;
    parameters::configured(&format!("warp scheduler `{name}`"), &settings)
}

/// The message that there is no scheduler `name`.
fn unknown(name: &str) -> String {
    let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    format!("there is no warp scheduler `{}`{}", excerpt(name), suggest::among(name, &known))
}

/// Declares the schedulers: the enum over them, their names, parameters and the dispatch.
macro_rules! schedulers {
    ($($(#[doc = $text:literal])+ $variant:ident($type:ty) = $name:literal,)*) => {
        /// Name and description of each scheduler.
        pub const NAMES: &[(&str, &str)] = &[$(($name, concat!($($text,)+).trim_ascii()),)*];

        /// Checks the name of a scheduler with its parameters, such as `two_level:active=4`.
        ///
        /// # Errors
        /// There is no such scheduler or parameter, or it does not take its value: what there is.
        pub fn check(text: &str) -> Result<(), String> {
            type M = u64;
            match split(text)?.0 {
                $($name => configured::<<$type as WarpScheduler<M>>::Config>(text).map(|_| ()),)*
                name => Err(unknown(name)),
            }
        }

        /// The parameters of the scheduler that `text` names, with what `text` sets them to as their defaults.
        ///
        /// # Errors
        /// See [`check`].
        pub fn parameters(text: &str) -> Result<Vec<Parameter>, String> {
            type M = u64;
            check(text)?;
            let (name, settings) = split(text)?;
            let schema = match name {
                $($name => <<$type as WarpScheduler<M>>::Config as kit::Parameters>::schema(),)*
                name => return Err(unknown(name)),
            };
            Ok(parameters::with_defaults(schema, &settings))
        }

        /// One of the warp schedulers.
        #[derive(Debug)]
        pub enum Scheduler<M> { $($(#[doc = $text])+ $variant($type),)* }

        impl<M: WarpMask> Scheduler<M> {
            /// The scheduler that `spec` names, which has been checked.
            pub fn of(spec: &CoreSpec, mine: M) -> Self {
                let text = spec.scheduler_name();
                match split(text).unwrap_or_default().0 {
                    $($name => {
                        let config = configured(text).expect("the parameters were checked with the specification");
                        Self::$variant(<$type as WarpScheduler<M>>::new(&config, spec, mine))
                    })*
                    name => unreachable!("scheduler `{name}` was checked with the specification"),
                }
            }

            /// See [`WarpScheduler::considered`].
            #[inline]
            pub fn considered(&mut self, view: &View<'_, M>) -> M {
                match self { $(Self::$variant(s) => s.considered(view),)* }
            }

            /// Chooses one of `ready`, which issues: see [`WarpScheduler::choose`].
            #[inline]
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
    /// Strict round robin: only the warp whose turn it is may issue.
    Srr(srr::StrictRoundRobin) = "srr",
    /// Two-level: loose round robin over an active set, from which warps that wait long are demoted.
    TwoLevel(two_level::TwoLevel<M>) = "two_level",
    /// Greedy, then the warp with the fewest instructions completed (criticality, after CAWA).
    Laggard(gto::Greedy<M, laggard::FewestCompleted>) = "laggard",
}
