//! The levels of the memory hierarchy, as replies and reports name them.
//!
//! A row is all that profiles, timelines, tables and the schema of reports need of a level. The component that is the
//! level names itself in the replies that it makes or passes on ([`Request::from`](crate::Request::from)).

use config::GpuConfig;

/// Whether a GPU has a level; `None` of the levels that every GPU has.
type Presence = Option<fn(&GpuConfig) -> bool>;

macro_rules! levels {
    ($($(#[doc = $text:literal])+ $level:ident = $name:literal, $key:literal, $served:literal, $presence:expr;)*) => {
        /// The level of the memory hierarchy that data come from, nearest to the SM first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Level { $($(#[doc = $text])+ $level,)* }

        impl Level {
            /// All levels: `ALL[level as usize] == level`.
            pub const ALL: &'static [Self] = &[$(Self::$level,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// Name in texts.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$level => $name,)* }
            }

            /// Key, in JSON and CSV, of the transactions that it served.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$level => $key,)* }
            }

            /// The meaning of the count under that key.
            pub const fn served(self) -> &'static str {
                match self { $(Self::$level => $served,)* }
            }

            const fn presence(self) -> Presence {
                match self { $(Self::$level => $presence,)* }
            }
        }
    };
}

levels! {
    /// L1 had them.
    L1 = "L1", "from_l1", "Transactions of loads and atomics served by L1.", None;
    /// L2 had them.
    L2 = "L2", "from_l2", "By L2.", None;
    /// A slice of L2 in the other half of the chip had them ([`config::L2::far_latency_cycles`]); `L2` is then the half
    /// of the SM.
    L2Far = "L2 far", "from_l2_far",
        "By L2 in the other half of the chip, if that takes longer; otherwise absent, and counted in `from_l2`.",
        Some(|gpu| gpu.l2.far_latency_cycles > Some(0));
    /// They came from DRAM, or were on their way from there.
    Dram = "DRAM", "from_dram", "By DRAM.", None;
}

impl Level {
    /// Whether every GPU has it.
    pub const fn is_everywhere(self) -> bool {
        self.presence().is_none()
    }
}

/// The levels of a GPU, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels(u8);

const _: () = assert!(Level::COUNT <= u8::BITS as usize, "a bit for each");

impl Levels {
    /// The levels of a GPU.
    pub fn of(gpu: &GpuConfig) -> Self {
        Level::ALL.iter().filter(|level| level.presence().is_none_or(|is_in| is_in(gpu))).copied().collect()
    }

    /// Whether `level` is one of them.
    pub const fn has(self, level: Level) -> bool {
        self.0 >> level as u8 & 1 != 0
    }

    /// These levels and `others`.
    #[must_use]
    pub const fn union(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Nearest first.
    pub fn iter(self) -> impl Iterator<Item = Level> {
        Level::ALL.iter().copied().filter(move |&level| self.has(level))
    }
}

impl FromIterator<Level> for Levels {
    fn from_iter<T: IntoIterator<Item = Level>>(levels: T) -> Self {
        Self(levels.into_iter().fold(0, |bits, level| bits | 1 << level as u8))
    }
}

kit::persist! {
    enum Level { L1 = 0, L2 = 1, L2Far = 2, Dram = 3 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_names_are_of_one_level() {
        for (number, &level) in Level::ALL.iter().enumerate() {
            assert_eq!(level as usize, number);
            for &other in &Level::ALL[..number] {
                assert!(level.name() != other.name() && level.key() != other.key(), "{level:?}, {other:?}");
            }
        }
    }

    #[test]
    fn l2_has_a_far_half_where_that_takes_longer() {
        let mut gpu = config::load("v100").unwrap();
        for (far_latency_cycles, is_far) in [(None, false), (Some(0), false), (Some(1), true)] {
            gpu.l2.far_latency_cycles = far_latency_cycles;
            let levels: Vec<Level> = Levels::of(&gpu).iter().collect();
            assert_eq!(levels.contains(&Level::L2Far), is_far, "{far_latency_cycles:?}: {levels:?}");
            assert!(levels.is_sorted() && levels.len() == 3 + usize::from(is_far), "{levels:?}");
        }
    }
}
