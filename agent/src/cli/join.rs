//! `bpa-agent join`.

use std::io::{BufRead, IsTerminal, Read};

use serde_json::json;

use super::args::{Common, JoinArgs};
use super::exit::{CliError, CliResult, Exit};
use super::note;
use crate::{link, private};
use bpa_common::output::print;

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
            "{what} site {0}\nfingerprint of this agent:      {1}\nfingerprint of the coordinator: {2}\n\
             next, here: bpa-agent doctor, then bpa-agent run (or systemctl start bpa-agent)\n\
             next, at the coordinator: compare the fingerprints, then \
             bpa-coordinator site approve {0}\n",
            joined.site, joined.fingerprint, joined.ca_fingerprint
        )
    });
    print(&text.map_err(CliError::other)?).map_err(CliError::other)?;
    Ok(Exit::Ok.into())
}

fn from_input() -> Result<String, CliError> {
    let mut text = String::new();
    let input = std::io::stdin();
    let read = if input.is_terminal() {
        // A person ends a line with Enter, not with the end of the file.
        note("Paste the join line and press Enter:");
        input.lock().take(LONGEST).read_line(&mut text)
    } else {
        input.take(LONGEST).read_to_string(&mut text)
    };
    read.map_err(|error| CliError::Other(format!("can't read standard input: {error}")))?;
    Ok(line_in(&text))
}

/// The line in what was given: there may be words around it, as people copy them.
fn line_in(text: &str) -> String {
    let word = text.split_whitespace().find(|word| word.starts_with("bpa1."));
    word.unwrap_or(text.trim()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_among_words() {
        assert_eq!(line_in("bpa-agent join bpa1.abc\nThis line is\n"), "bpa1.abc");
        assert_eq!(line_in(" bpa1.abc\n"), "bpa1.abc");
        assert_eq!(line_in("  nonsense "), "nonsense");
    }
}
