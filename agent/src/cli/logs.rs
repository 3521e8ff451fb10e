//! `bpa-agent logs`.

use std::time::Duration;

use super::args::{Common, LogsArgs};
use super::exit::{CliError, CliResult, Exit};
use super::runs::{find, journal};
use crate::runs::read_log;
use crate::steps::Places;
use bpa_common::output::print;

/// At most this much is held at a time, bytes.
const PIECE: usize = 256 * 1024;
/// Between two looks at a log that is followed.
const PAUSE: Duration = Duration::from_millis(300);

/// Prints a run's log, and follows it until the run ends.
pub(super) async fn logs(common: &Common, args: &LogsArgs) -> CliResult {
    let journal = journal(common)?;
    let run = find(&journal, &args.run)?.order.run;
    let path = Places::log_of(&common.state_dir()?, run);
    let mut offset = 0;
    loop {
        // The state first: what was written before the end is printed.
        let stored = journal.run(run).map_err(CliError::other)?;
        let ended = stored.is_none_or(|run| run.state.is_final());
        loop {
            let (bytes, end) = read_log(&path, offset, PIECE);
            offset += bytes.len() as u64;
            print(&String::from_utf8_lossy(&bytes)).map_err(CliError::other)?;
            if end {
                break;
            }
        }
        if ended || !args.follow {
            return Ok(Exit::Ok.into());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
