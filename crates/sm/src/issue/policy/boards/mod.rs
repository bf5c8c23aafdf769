//! Write-after-read hazards of the in-order core, one way of handling them to a file.
//!
//! Instructions issue in order but read their registers in operand collectors, where one may wait
//! for its banks while a younger one goes on to write a register that it has yet to read. The
//! [`Scoreboard`](crate::Scoreboard) alone, which sees no reads, does not keep them apart: that is
//! the historical behaviour of GPGPU-Sim.

mod bloomboard;
pub mod scoreboard;
mod store_board;
mod war_scoreboard;
mod warpboard;

pub use bloomboard::{BloomConfig, Bloomboard};
pub use store_board::StoreBoard;
pub use war_scoreboard::WarScoreboard;
pub use warpboard::Warpboard;

/// When an instruction no longer holds others back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// When it leaves its operand collector, all registers read.
    Read,
    /// When it has written back.
    Commit,
}
