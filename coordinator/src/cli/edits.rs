//! `cancel`, `retry`, `approve`: a person's word, written beside the manifest, or on the object.

use bpa_common::api::Provisioning;
use jiff::Timestamp;
use serde_json::json;

use super::args::{ApproveArgs, Common, NameArg};
use super::exit::{CliError, CliResult, Exit};
use super::find;
use super::output::note;
use super::render::cause;
use super::render::describe::{APPROVE, CANCEL, RETRY, is_active};
use super::world::AnyWorld;
use crate::cluster::kind::{Kind, ObjectId};

/// The Provisioning of this name.
pub async fn provisioning(world: &AnyWorld, name: &str) -> Result<Provisioning, CliError> {
    let snapshot = world.snapshot().await?;
    find::pick(Kind::Provisioning, &snapshot.provisionings, |p| &p.metadata, name)
        .map(|found| Provisioning::clone(found))
}

/// `cancel`.
pub async fn cancel(common: &Common, args: &NameArg) -> CliResult {
    let world = AnyWorld::open(common).await?;
    let p = provisioning(&world, &args.name).await?;
    let Some(run) = p.status.run.as_ref().filter(|run| is_active(run)) else {
        let last =
            p.status.run.as_ref().map(|run| format!("; the last run {} is {}", run.id, run.state));
        return Err(CliError::Conflict(format!(
            "nothing runs for {}{}",
            p.metadata.key(),
            last.unwrap_or_default()
        )));
    };
    annotate(&world, &p, CANCEL, &run.id).await?;
    let sites = world.snapshot().await?.sites;
    if cause::silence(&p, &sites, Timestamp::now()).is_some() {
        note("the site is not connected: it hears of this when it is back");
    }
    let result =
        json!({"name": p.metadata.key().to_string(), "run": run.id, "result": "cancel requested"});
    common.output.show(&result, || {
        format!(
            "run {} of {} is asked to stop.\nThe agent ends the playbook and tells the end; the hosts stay as they are then, and stay claimed.\nFollow it with: bpa-coordinator watch {}\n",
            run.id, p.metadata.key(), p.metadata.name
        )
    })?;
    Ok(Exit::Ok)
}

/// `retry`.
pub async fn retry(common: &Common, args: &NameArg) -> CliResult {
    let world = AnyWorld::open(common).await?;
    let p = provisioning(&world, &args.name).await?;
    let key = p.metadata.key();
    match &p.status.run {
        Some(run) if is_active(run) => {
            return Err(CliError::Conflict(format!(
                "run {} of {key} is still {}",
                run.id, run.state
            )));
        }
        Some(run) if run.state == "Succeeded" && !p.metadata.is_deleting() => {
            return Err(CliError::Conflict(format!(
                "the last run of {key} has succeeded: there is nothing to try again"
            )));
        }
        None => {
            return Err(CliError::Conflict(format!(
                "{key} has had no run; what it waits for is in: bpa-coordinator describe {}",
                p.metadata.name
            )));
        }
        Some(_) => {}
    }
    annotate(&world, &p, RETRY, &Timestamp::now().to_string()).await?;
    let result = json!({"name": key.to_string(), "result": "retry requested"});
    common.output.show(&result, || {
        format!(
            "{key} is tried again.\nFollow it with: bpa-coordinator watch {}\n",
            p.metadata.name
        )
    })?;
    Ok(Exit::Ok)
}

/// `approve`.
pub async fn approve(common: &Common, args: &ApproveArgs) -> CliResult {
    let world = AnyWorld::open(common).await?;
    let p = provisioning(&world, &args.name).await?;
    let key = p.metadata.key();
    let Some(plan) = p.status.plan.as_ref().filter(|plan| !plan.hash.is_empty()) else {
        return Err(CliError::Conflict(format!(
            "{key} has no plan yet; bpa-coordinator describe {} says why",
            p.metadata.name
        )));
    };
    if plan.hash != args.hash {
        return Err(CliError::Conflict(format!(
            "the plan of {key} is {} ({}), not {}; look at it again before you approve",
            plan.hash,
            plan.summary,
            args.hash.escape_debug()
        )));
    }
    annotate(&world, &p, APPROVE, &plan.hash).await?;
    let result = json!({"name": key.to_string(), "plan": plan.hash, "result": "approved"});
    common
        .output
        .show(&result, || format!("plan {} of {key} is approved: {}\n", plan.hash, plan.summary))?;
    Ok(Exit::Ok)
}

/// Writes an annotation.
///
/// # Errors
/// When the object is gone or can't be written.
pub async fn annotate(
    world: &AnyWorld,
    p: &Provisioning,
    name: &str,
    value: &str,
) -> Result<(), CliError> {
    let id = ObjectId::new(Kind::Provisioning, p.metadata.key());
    Ok(world.patch(id, json!({"metadata": {"annotations": {name: value}}})).await?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bpa_common::api::{PlanStatus, ProvisioningStatus, RunStatus};

    use super::super::output::Output;
    use super::*;
    use crate::cluster::World;
    use crate::cluster::directory::{DirectoryWorld, Role};

    /// A world in which `edge` has this status.
    async fn world(dir: &Path, status: ProvisioningStatus) -> Common {
        let common = Common {
            objects: dir.join("objects"),
            state: dir.join("state"),
            output: Output::Table,
            kubernetes: Default::default(),
            log: None,
        };
        std::fs::create_dir(&common.objects).unwrap();
        let text = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: edge, uid: u}\n";
        std::fs::write(common.objects.join("p.yaml"), text).unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let runner = DirectoryWorld::open(&common.objects, &common.state, Role::Runner).unwrap();
        let key = runner.snapshot().await.unwrap().provisionings[0].metadata.key();
        runner.write_provisioning_status(&key, "u", &status).await.unwrap();
        common
    }

    async fn annotations(common: &Common) -> std::collections::BTreeMap<String, String> {
        let world = AnyWorld::open(common).await.unwrap();
        provisioning(&world, "edge").await.unwrap().metadata.annotations
    }

    fn edge() -> NameArg {
        NameArg { name: "edge".to_owned() }
    }

    #[tokio::test]
    async fn a_running_run_is_cancelled_by_its_id() {
        let dir = tempfile::tempdir().unwrap();
        let run =
            RunStatus { id: "r-1".to_owned(), state: "Running".to_owned(), ..Default::default() };
        let common =
            world(dir.path(), ProvisioningStatus { run: Some(run), ..Default::default() }).await;
        assert_eq!(cancel(&common, &edge()).await.unwrap(), Exit::Ok);
        assert_eq!(annotations(&common).await[CANCEL], "r-1");
    }

    #[tokio::test]
    async fn what_does_not_run_can_not_be_cancelled() {
        let dir = tempfile::tempdir().unwrap();
        let run =
            RunStatus { id: "r-1".to_owned(), state: "Succeeded".to_owned(), ..Default::default() };
        let common =
            world(dir.path(), ProvisioningStatus { run: Some(run), ..Default::default() }).await;
        let error = cancel(&common, &edge()).await.unwrap_err();
        assert_eq!(error.exit(), Exit::Conflict);
        assert!(error.to_string().contains("r-1 is Succeeded"), "{error}");
        assert!(annotations(&common).await.is_empty());
    }

    #[tokio::test]
    async fn only_what_ended_badly_is_tried_again() {
        for (state, exit) in
            [("Failed", Exit::Ok), ("Running", Exit::Conflict), ("Succeeded", Exit::Conflict)]
        {
            let dir = tempfile::tempdir().unwrap();
            let run =
                RunStatus { id: "r-1".to_owned(), state: state.to_owned(), ..Default::default() };
            let common =
                world(dir.path(), ProvisioningStatus { run: Some(run), ..Default::default() })
                    .await;
            let found = retry(&common, &edge()).await.unwrap_or_else(|error| error.exit());
            assert_eq!(found, exit, "{state}");
            assert_eq!(annotations(&common).await.contains_key(RETRY), exit == Exit::Ok);
        }
    }

    #[tokio::test]
    async fn only_the_plan_that_was_seen_is_approved() {
        let dir = tempfile::tempdir().unwrap();
        let plan =
            PlanStatus { hash: "abc".to_owned(), summary: "2 nodes".to_owned(), before: None };
        let common =
            world(dir.path(), ProvisioningStatus { plan: Some(plan), ..Default::default() }).await;
        let args = |hash: &str| ApproveArgs { name: "edge".to_owned(), hash: hash.to_owned() };
        let error = approve(&common, &args("old")).await.unwrap_err();
        assert!(error.to_string().contains("abc (2 nodes)"), "{error}");
        approve(&common, &args("abc")).await.unwrap();
        assert_eq!(annotations(&common).await[APPROVE], "abc");
    }
}
