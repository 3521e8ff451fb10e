//! `bpa-agent doctor`: everything that a run needs, looked at, with what to mend.

mod checks;

use serde::Serialize;

use super::args::Common;
use super::exit::{CliError, CliResult, Exit};
use bpa_common::output::{columns, print};

/// Longest line of what was found, characters: the table fits on a screen of 100.
const WIDEST: usize = 76;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Grade {
    Ok,
    Warning,
    Failed,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    id: &'static str,
    status: Grade,
    found: String,
    /// Empty when there is nothing to do.
    fix: String,
}

impl Finding {
    fn ok(id: &'static str, found: impl Into<String>) -> Self {
        Self { id, status: Grade::Ok, found: found.into(), fix: String::new() }
    }

    fn warning(id: &'static str, found: impl Into<String>, fix: &str) -> Self {
        Self { id, status: Grade::Warning, found: found.into(), fix: fix.to_owned() }
    }

    fn failed(id: &'static str, found: impl Into<String>, fix: &str) -> Self {
        Self { id, status: Grade::Failed, found: found.into(), fix: fix.to_owned() }
    }
}

/// Looks at everything and prints what was found.
pub(super) async fn doctor(common: &Common) -> CliResult {
    let findings = checks::all(common).await;
    let text = common.output.text(&findings, || table(&findings));
    print(&text.map_err(CliError::other)?).map_err(CliError::other)?;
    let failed = findings.iter().any(|f| f.status == Grade::Failed);
    Ok(if failed { Exit::NotReady } else { Exit::Ok }.into())
}

fn table(findings: &[Finding]) -> String {
    let mut rows = vec![["CHECK", "STATUS", "FOUND"].map(str::to_owned).to_vec()];
    for finding in findings {
        let status = format!("{:?}", finding.status).to_lowercase();
        let mut head = [finding.id.to_owned(), status];
        for line in wrapped(&finding.found, WIDEST) {
            rows.push(vec![std::mem::take(&mut head[0]), std::mem::take(&mut head[1]), line]);
        }
    }
    let mut text = columns(&rows);
    let todo: Vec<&Finding> = findings.iter().filter(|f| !f.fix.is_empty()).collect();
    if !todo.is_empty() {
        text.push_str("\nto do:\n");
        for finding in todo {
            text.push_str(&format!("  {}: {}\n", finding.id, finding.fix));
        }
    }
    text
}

/// Text in lines of at most so many characters, broken at blanks; a longer word stays whole.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|line| {
            line.is_empty() || line.chars().count() + 1 + word.chars().count() <= most
        });
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => line.extend([" ", word]),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_done_stands_below_the_table() {
        let findings = [
            Finding::ok("config", "/etc/bpa/agent.toml"),
            Finding::failed("disk", "10 MiB left", "free some space"),
        ];
        let text = table(&findings);
        assert!(text.contains("CHECK    STATUS   FOUND"), "{text}");
        let long = table(&[Finding::failed("x", "many words ".repeat(20), "")]);
        assert!(long.lines().all(|line| line.chars().count() <= 100), "{long}");
        assert!(!long.contains("to do"), "{long}");
        assert!(text.ends_with("to do:\n  disk: free some space\n"), "{text}");
    }
}
