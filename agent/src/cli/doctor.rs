//! `bpa-agent doctor`: everything that a run needs, looked at, with what to mend.

mod checks;

use serde::Serialize;

use super::args::Common;
use super::exit::{CliError, CliResult, Exit};
use super::output::{columns, print};

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
    rows.extend(findings.iter().map(|f| {
        let status = format!("{:?}", f.status).to_lowercase();
        vec![f.id.to_owned(), status, f.found.clone()]
    }));
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
        assert!(text.contains("CHECK   STATUS  FOUND"), "{text}");
        assert!(text.ends_with("to do:\n  disk: free some space\n"), "{text}");
    }
}
