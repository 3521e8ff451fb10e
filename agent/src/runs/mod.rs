//! Drives the steps of a run, and survives restarts.
//!
//! One task per run; runs of different clusters go on side by side, and admission sees to it that
//! no two share a machine. A task decides nothing: it asks `orders::next` what the journal's facts
//! mean, does that one step, and journals it before and after. So a new process continues where the
//! last one died, by the same code.

mod clock;
mod desk;
mod facts;
mod hands;
mod host;
mod leftover;
mod log;
mod perform;
mod resolve;
mod shop;
mod teller;
#[cfg(test)]
pub(crate) mod testing;
mod turns;
mod worker;

pub use clock::now_ms;
pub use desk::Runs;
pub(crate) use desk::state_word;
pub use host::host_report;
pub use log::read_log;
pub use shop::Shop;
pub use turns::Turns;
