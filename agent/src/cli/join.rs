//! `bpa-agent join`.

use std::io::Read;

use serde_json::json;

use super::args::{Common, JoinArgs};
use super::exit::{CliError, CliResult, Exit};
use super::output::print;
use crate::{link, private};

/// A join line is shorter than this, bytes.
const LONGEST: u64 = 64 * 1024;

/// Joins the site of the line.
pub(super) async fn join(common: &Common, args: &JoinArgs) -> CliResult {
    let state_dir = common.state_dir()?;
    let line = if args.line == "-" { from_input()? } else { args.line.clone() };
    private::make_dir(&state_dir).map_err(|e| {
        CliError::Other(format!("can't use the state directory {}: {e}", state_dir.display()))
    })?;
    let joined = link::join(line.trim(), &state_dir).await.map_err(CliError::other)?;
    let value = json!({
        "site": joined.site,
        "fingerprint": joined.fingerprint,
        "caFingerprint": joined.ca_fingerprint,
        "already": joined.already,
    });
    let text = common.output.text(&value, || {
        let what = if joined.already { "had joined already" } else { "joined" };
        format!(
            "{what}: site {}\nkey of this agent:  {}\nkey of the coordinator's CA: {}\n\
             next: bpa-agent doctor, then bpa-agent run; the coordinator's side approves with \
             `bpa-coordinator site approve {}`\n",
            joined.site, joined.fingerprint, joined.ca_fingerprint, joined.site
        )
    });
    print(&text.map_err(CliError::other)?).map_err(CliError::other)?;
    Ok(Exit::Ok.into())
}

fn from_input() -> Result<String, CliError> {
    let mut text = String::new();
    std::io::stdin().take(LONGEST).read_to_string(&mut text).map_err(CliError::other)?;
    // `site add` prints words around the line; the line is the one word that begins so.
    let word = text.split_whitespace().find(|word| word.starts_with("bpa1."));
    Ok(word.unwrap_or(text.trim()).to_owned())
}
