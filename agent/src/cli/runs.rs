//! `bpa-agent runs`: what the journal says, also while the agent works or is down.

use bpa_common::wire::v1::{Event, EventBody, OrderKind, Outcome};
use serde_json::{Value, json};

use super::args::{Common, RunsArgs};
use super::exit::{CliError, CliResult, Exit};
use crate::journal::{FILE_NAME, Journal, StepRow, StoredRun};
use crate::runs::state_word;
use bpa_common::output::{columns, print};

/// The most runs that are listed.
const MOST: usize = 256;

/// Lists the runs, or shows one.
pub(super) fn runs(common: &Common, args: &RunsArgs) -> CliResult {
    let journal = journal(common)?;
    let text = match &args.run {
        None => {
            let runs = journal.runs(MOST).map_err(CliError::other)?;
            let value: Vec<Value> = runs.iter().map(summary).collect();
            common.output.text(&value, || list(&runs))
        }
        Some(name) => {
            let run = find(&journal, name)?;
            let id = run.order.run;
            let steps = journal.steps(id).map_err(CliError::other)?;
            let events = journal.events_of(id).map_err(CliError::other)?;
            let mut value = summary(&run);
            value["steps"] = steps.iter().map(step_value).collect();
            value["events"] = events.iter().map(event_value).collect();
            common.output.text(&value, || one(&run, &steps, &events))
        }
    };
    print(&text.map_err(CliError::other)?).map_err(CliError::other)?;
    Ok(Exit::Ok.into())
}

/// The journal, to look at.
pub(super) fn journal(common: &Common) -> Result<Journal, CliError> {
    let state_dir = common.state_dir()?;
    if !state_dir.join(FILE_NAME).exists() {
        let dir = state_dir.display();
        return Err(CliError::NotFound(format!("no agent has worked in {dir} yet")));
    }
    Journal::open_read_only(&state_dir).map_err(CliError::other)
}

/// The run that is meant by an id, the beginning of one, or `latest`.
pub(super) fn find(journal: &Journal, name: &str) -> Result<StoredRun, CliError> {
    let mut runs = journal.runs(MOST).map_err(CliError::other)?;
    if name == "latest" && !runs.is_empty() {
        return Ok(runs.swap_remove(0));
    }
    let mut fits = runs.into_iter().filter(|r| r.order.run.to_string().starts_with(name));
    match (fits.next(), fits.next()) {
        (Some(run), None) => Ok(run),
        (Some(_), Some(_)) => Err(CliError::Conflict(format!("several runs begin with `{name}`"))),
        (None, _) => {
            Err(CliError::NotFound(format!("no run `{name}`; `bpa-agent runs` lists them")))
        }
    }
}

fn kind(run: &StoredRun) -> &'static str {
    match run.order.kind {
        OrderKind::Install => "install",
        OrderKind::Reset => "reset",
    }
}

fn time(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn summary(run: &StoredRun) -> Value {
    json!({
        "run": run.order.run.to_string(),
        "provisioning": format!("{}/{}", run.order.provisioning.namespace, run.order.provisioning.name),
        "cluster": run.order.cluster.name,
        "kind": kind(run),
        "generation": run.order.generation,
        "state": state_word(run.state),
        "accepted": time(run.accepted_ms),
        "ended": run.ended_ms.map(time),
        "failure": run.failure.as_ref().map(|f| json!({
            "step": f.step.to_string(), "reason": f.reason, "node": f.node,
            "message": f.message, "fix": f.fix,
        })),
    })
}

fn step_value(row: &StepRow) -> Value {
    json!({
        "step": row.step.to_string(),
        "started": time(row.started_ms),
        "ended": row.ended_ms.map(time),
        "end": row.end.map(|end| format!("{end:?}")),
        "message": row.message,
    })
}

fn event_value(event: &Event) -> Value {
    json!({ "seq": event.seq, "at": time(event.at_ms), "text": event_text(&event.body) })
}

fn list(runs: &[StoredRun]) -> String {
    if runs.is_empty() {
        return "no runs yet\n".to_owned();
    }
    let head = ["RUN", "PROVISIONING", "KIND", "STATE", "ACCEPTED", "ENDED", "MESSAGE"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(runs.iter().map(|run| {
        vec![
            run.order.run.to_string().chars().take(8).collect(),
            format!("{}/{}", run.order.provisioning.namespace, run.order.provisioning.name),
            kind(run).to_owned(),
            state_word(run.state).to_owned(),
            time(run.accepted_ms),
            run.ended_ms.map(time).unwrap_or_default(),
            run.failure.as_ref().map(|f| f.reason.clone()).unwrap_or_default(),
        ]
    }));
    columns(&rows)
}

fn one(run: &StoredRun, steps: &[StepRow], events: &[Event]) -> String {
    let mut text = format!(
        "run {} of {}/{} ({}, generation {}): {}\n",
        run.order.run,
        run.order.provisioning.namespace,
        run.order.provisioning.name,
        kind(run),
        run.order.generation,
        state_word(run.state)
    );
    if let Some(failure) = &run.failure {
        let node = failure.node.as_deref().map(|n| format!("{n}: ")).unwrap_or_default();
        text.push_str(&format!(
            "failed in {}: {node}{} ({})\nto do: {}\n",
            failure.step, failure.message, failure.reason, failure.fix
        ));
    }
    let mut rows = vec![["STEP", "STARTED", "ENDED", "END", "MESSAGE"].map(str::to_owned).to_vec()];
    rows.extend(steps.iter().map(|row| {
        vec![
            row.step.to_string(),
            time(row.started_ms),
            row.ended_ms.map(time).unwrap_or_default(),
            row.end.map(|end| format!("{end:?}")).unwrap_or_default(),
            row.message.clone(),
        ]
    }));
    text.push_str(&format!("\n{}\n", columns(&rows)));
    for event in events {
        text.push_str(&format!("{} {}\n", time(event.at_ms), event_text(&event.body)));
    }
    text
}

/// An event in one line; never a secret.
fn event_text(body: &EventBody) -> String {
    match body {
        EventBody::Accepted => "accepted".to_owned(),
        EventBody::StepStarted { step } => format!("step {step} began"),
        EventBody::StepEnded { step, end, message } => format!("step {step}: {end:?} {message}"),
        EventBody::Node { node, state, address, message } => {
            let address = address.map(|a| format!(" {a}")).unwrap_or_default();
            format!("{node}: {state:?}{address} {message}").trim_end().to_owned()
        }
        EventBody::Check(c) => {
            format!("{}: {} {:?}: wanted {}, found {}", c.node, c.id, c.status, c.wanted, c.found)
        }
        EventBody::Phase { name } => format!("phase: {name}"),
        EventBody::Task { name, done } => format!("task {done}: {name}"),
        EventBody::TaskFailed { node, task, path, message } => {
            format!("{node}: `{task}` failed ({path}): {message}")
        }
        EventBody::Recap { hosts } => {
            let hosts: Vec<String> = hosts
                .iter()
                .map(|h| format!("{} ok={} failed={}", h.node, h.ok, h.failed + h.unreachable))
                .collect();
            format!("recap: {}", hosts.join(", "))
        }
        EventBody::Note { message } => message.clone(),
        EventBody::Kubeconfig { server, days_left, .. } => {
            format!("kubeconfig of {server}, {days_left} days left")
        }
        EventBody::Ended { outcome } => match outcome {
            Outcome::Succeeded => "succeeded".to_owned(),
            Outcome::Failed(failure) => format!("failed: {}", failure.message),
            Outcome::Cancelled { by } => format!("cancelled by {by}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use bpa_common::wire::v1::RunId;

    use super::*;
    use crate::runs::testing::order;

    /// The id in full.
    fn id(n: u8) -> String {
        RunId([n; 16]).to_string()
    }

    #[test]
    fn runs_are_found_by_the_beginning_of_their_id() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::open(dir.path()).unwrap();
        journal.accept(&order(0x11), 0).unwrap();
        journal.accept(&order(0x12), 0).unwrap();
        assert_eq!(find(&journal, "latest").unwrap().order.run.to_string(), id(0x12));
        assert_eq!(find(&journal, "11").unwrap().order.run.to_string(), id(0x11));
        assert!(matches!(find(&journal, "1"), Err(CliError::Conflict(_))));
        assert!(matches!(find(&journal, "zz"), Err(CliError::NotFound(_))));
    }

    #[test]
    fn a_run_is_shown_with_its_steps_and_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::open(dir.path()).unwrap();
        let order = order(1);
        journal.accept(&order, 0).unwrap();
        let secret = EventBody::Kubeconfig {
            pem: bpa_common::wire::v1::SecretBytes(b"PLANTED".to_vec()),
            server: "https://10.0.0.1:6443".into(),
            days_left: 9,
            kubernetes_version: "1.35.4".into(),
        };
        journal.tell(order.run, 0, vec![secret], None).unwrap();
        let run = find(&journal, "latest").unwrap();
        let events = journal.events_of(order.run).unwrap();
        let text = one(&run, &journal.steps(order.run).unwrap(), &events);
        assert!(
            text.contains("9 days left") && !text.contains("PLANTED") && !text.contains("80, 76")
        );
        assert!(list(&[run]).contains("default/edge1"));
    }
}
