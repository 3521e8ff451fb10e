//! `apply`, `delete` and the face of `plan`: manifests from files, into either world.

use std::io::Read;
use std::path::{Path, PathBuf};

use bpa_common::api::{DeletionPolicy, ObjectKey, Provisioning};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::{Common, DeleteArgs, RequiredFiles};
use super::exit::{CliError, CliResult, Exit};
use super::output::note;
use super::plan::{self, PlanArgs};
use super::render::describe::FORCE_DELETE;
use super::render::{get, text};
use super::world::AnyWorld;
use super::{find, manifest_files, plan_text};
use crate::cluster::WorldError;
use crate::cluster::directory::{Loaded, load_files, load_text};
use crate::cluster::kind::{Kind, ObjectId};
use crate::cluster::kubernetes::{Applied, KubernetesWorld};
use crate::matching;

/// Most that is read from standard input, bytes.
const MAX_STDIN: u64 = 64 << 20;

/// Reads files; `-` is standard input.
fn load(paths: &[PathBuf]) -> Result<Loaded, CliError> {
    let stdin = paths.iter().any(|path| path == Path::new("-"));
    let named: Vec<PathBuf> =
        paths.iter().filter(|path| *path != Path::new("-")).cloned().collect();
    let mut loaded = load_files(&named)?;
    if stdin {
        let mut input = String::new();
        std::io::stdin()
            .take(MAX_STDIN)
            .read_to_string(&mut input)
            .map_err(|error| CliError::Other(format!("can't read standard input: {error}")))?;
        loaded.merge(load_text("standard input", &input));
    }
    Ok(loaded)
}

/// `plan`: which host would take which role.
pub async fn plan(common: &Common, args: &PlanArgs) -> CliResult {
    let args = args.clone();
    let asked = move || plan::plan(&args, Timestamp::now());
    let report = tokio::task::spawn_blocking(asked).await.map_err(CliError::other)??;
    common.output.show(&report, || plan_text::render(&report))?;
    Ok(if report.fits { Exit::Ok } else { Exit::NotReady })
}

/// `apply`: all of it is checked before any of it is written.
pub async fn apply(common: &Common, args: &RequiredFiles) -> CliResult {
    let loaded = load(&args.files)?;
    refuse_problems(&loaded)?;
    if loaded.objects().next().is_none() {
        return Err(CliError::Other(
            "no object of ours in these files: nothing to apply".to_owned(),
        ));
    }
    let results = match AnyWorld::open(common).await? {
        AnyWorld::Directory(world) => manifest_files::apply(&world, &loaded).await?,
        AnyWorld::Kubernetes(world) => apply_all(common, &world, &loaded).await?,
    };
    if loaded.ignored > 0 {
        note(&format!("{} objects of other kinds were not looked at", loaded.ignored));
    }
    show_results(common, &results)
}

/// Each object by itself: what was taken before one is refused, stays.
async fn apply_all(
    common: &Common,
    world: &KubernetesWorld,
    loaded: &Loaded,
) -> Result<Vec<(ObjectId, &'static str)>, CliError> {
    let mut results = Vec::new();
    for (id, value) in loaded.objects() {
        let id = placed(common, loaded, id);
        let verb = match world.apply(&id, value).await? {
            Applied::Created => "created",
            Applied::Configured => "configured",
            Applied::Unchanged => "unchanged",
        };
        results.push((id, verb));
    }
    Ok(results)
}

/// Without a namespace of its own an object is where `--namespace` says.
fn placed(common: &Common, loaded: &Loaded, id: &ObjectId) -> ObjectId {
    let mut id = id.clone();
    if let ([only], true) = (&*common.kubernetes.namespaces, loaded.unplaced.contains(&id)) {
        id.key.namespace.clone_from(only);
    }
    id
}

fn refuse_problems(loaded: &Loaded) -> Result<(), CliError> {
    let mut problems = get::problems(&loaded.problems);
    for (id, value) in loaded.objects().filter(|(id, _)| id.kind == Kind::Provisioning) {
        // The types were checked when it was loaded; here the meaning is.
        let Ok(provisioning) = serde_json::from_value::<Provisioning>(value.clone()) else {
            continue;
        };
        match matching::accept(&provisioning) {
            Ok(accepted) => {
                for warning in &accepted.warnings {
                    note(&format!("warning: {id}: {}", text::clean(warning)));
                }
            }
            Err(rejection) => {
                problems
                    .push_str(&format!("refused: {id}: {}\n", text::clean(&rejection.to_string())));
            }
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(CliError::Other(format!("{problems}nothing was applied"))),
    }
}

/// `delete`: takes manifests away; what becomes of the clusters, the coordinator does.
pub async fn delete(common: &Common, args: &DeleteArgs) -> CliResult {
    let world = AnyWorld::open(common).await?;
    if let (Some(kind), Some(name), true) = (&args.kind, &args.name, args.force) {
        force(&world, &named(&world, find::kind(kind)?, name).await?).await?;
    }
    let ids = match (&args.kind, &args.name) {
        (Some(kind), Some(name)) => vec![named(&world, find::kind(kind)?, name).await?],
        _ => {
            let loaded = load(&args.files)?;
            let ids: Vec<ObjectId> =
                loaded.objects().map(|(id, _)| placed(common, &loaded, id)).collect();
            if ids.is_empty() {
                note(get::problems(&loaded.problems).trim_end());
                return Err(CliError::Other("no object of ours in these files".to_owned()));
            }
            ids
        }
    };
    let before = world.snapshot().await?;
    match &world {
        AnyWorld::Directory(world) => manifest_files::remove(world, &ids, args.force).await?,
        AnyWorld::Kubernetes(world) => {
            for id in &ids {
                match world.delete(id).await {
                    // With --force it may have been deleted before.
                    Err(WorldError::Conflict { .. }) if args.force => {}
                    done => done?,
                }
            }
        }
    }
    for p in before.provisionings.iter().filter(|p| !p.status.nodes.is_empty()) {
        if ids.contains(&ObjectId::new(Kind::Provisioning, p.metadata.key())) {
            note(&farewell(p));
        }
    }
    let results: Vec<_> = ids.into_iter().map(|id| (id, "deleted")).collect();
    show_results(common, &results)
}

/// What becomes of a cluster whose manifest was taken away.
fn farewell(p: &Provisioning) -> String {
    let (key, name) = (p.metadata.key(), &p.metadata.name);
    match p.spec.deletion_policy {
        DeletionPolicy::Reset => format!(
            "the hosts of {key} are reset and then free; follow it with: bpa-coordinator watch {name}"
        ),
        DeletionPolicy::Retain => format!(
            "the cluster {key} stays as it is, kubeconfig included (deletionPolicy: Retain); its hosts are free for others"
        ),
    }
}

/// Marks a Provisioning so that its deletion does not wait for a reset.
async fn force(world: &AnyWorld, id: &ObjectId) -> Result<(), CliError> {
    if id.kind != Kind::Provisioning {
        return Err(CliError::Usage(format!(
            "--force is for Provisionings; {} has nothing to wait for",
            id
        )));
    }
    let change = json!({"metadata": {"annotations": {FORCE_DELETE: "true"}}});
    Ok(world.patch(id.clone(), change).await?)
}

async fn named(world: &AnyWorld, kind: Kind, name: &str) -> Result<ObjectId, CliError> {
    let plain = world.plain(&[kind]).await?;
    let keys: Vec<ObjectKey> = plain.into_iter().map(|(id, _)| id.key).collect();
    let index = find::pick_key(kind, &keys, name)?;
    Ok(ObjectId::new(kind, keys[index].clone()))
}

fn show_results(common: &Common, results: &[(ObjectId, &str)]) -> CliResult {
    let values: Vec<Value> = results
        .iter()
        .map(|(id, verb)| {
            json!({"kind": id.kind.name(), "namespace": id.key.namespace, "name": id.key.name, "result": verb})
        })
        .collect();
    common.output.show(&values, || {
        let line = |(id, verb): &(ObjectId, &str)| {
            format!("{}/{} {verb}\n", id.kind.name().to_ascii_lowercase(), id.key.name)
        };
        results.iter().map(line).collect()
    })?;
    let hint = results.iter().find(|(id, _)| id.kind == Kind::Provisioning);
    if let Some((id, verb)) = hint.filter(|(_, verb)| *verb != "unchanged" && *verb != "deleted") {
        note(&format!("{verb}; follow it with: bpa-coordinator watch {}", id.key.name));
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
#[path = "manifests_tests.rs"]
mod tests;
