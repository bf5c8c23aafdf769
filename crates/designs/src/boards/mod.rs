//! Write-after-read hazards of the in-order core, one way of handling them to a file.
//!
//! Instructions issue in order but read their registers in operand collectors, where one may wait
//! for its banks while a younger one writes a register that it has yet to read. The
//! [`Scoreboard`] sees no reads and does not prevent this: that is the historical
//! behaviour of GPGPU-Sim.

mod access_reads;
mod bloomboard;
mod no_dependences;
mod store_board;
mod war_scoreboard;
mod warpboard;

pub use access_reads::AccessReads;
pub use bloomboard::{BloomConfig, Bloomboard};
pub use no_dependences::NoDependences;
pub use store_board::StoreBoard;
pub use war_scoreboard::WarScoreboard;
pub use warpboard::Warpboard;

use kit::parameters::{self, Parameter, ParameterValue, Parameters};
use sm::scoreboard::{Board, Scoreboard};
use sm::{Flight, WarpMask};

/// The board of a design that reorders, which has to know of reads only if its operand stage serves them late.
pub trait ReorderedBoard: Board<Config = ()> {
    /// It knows of such reads. Otherwise the operand stage keeps writes behind them.
    const SEES_READS: bool;

    /// Whether writes wait until `flight`, which has issued, has read its registers.
    fn awaits_reads(flight: Flight<'_>) -> bool;
}

impl<M: WarpMask> ReorderedBoard for Scoreboard<M> {
    const SEES_READS: bool = false;

    #[inline]
    fn awaits_reads(_: Flight<'_>) -> bool {
        false
    }
}

kit::words! {
    /// When an instruction stops holding others back.
    #[derive(Default)]
    pub enum Release {
        /// When it leaves its operand collector, all registers read.
        Read = "read",
        /// When it has written back.
        #[default]
        Commit = "commit",
    }
}

/// The only choice of a board that protects reads.
impl Parameters for Release {
    fn schema() -> Vec<Parameter> {
        let description = "When an instruction stops holding back those that overwrite what it reads.";
        vec![Parameter {
            name: "release",
            description,
            accepts: Release::accepts(None),
            default: Release::default().written(),
        }]
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name != "release" {
            return Err(parameters::unknown(name, &Self::schema()));
        }
        *self = parameters::read(name, value, None)?;
        Ok(())
    }
}
