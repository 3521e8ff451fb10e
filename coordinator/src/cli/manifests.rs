//! `apply`, `delete` and the face of `plan`: manifests from files.

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
use super::{find, plan_text};
use crate::cluster::directory::{DirectoryWorld, Loaded, Place, load_files, load_text};
use crate::cluster::kind::{Kind, ObjectId};
use crate::cluster::{World, files};
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

/// What `apply` would do with one object.
struct Step {
    id: ObjectId,
    verb: &'static str,
    /// None when the file says it already.
    write: Option<(PathBuf, String)>,
}

/// `apply`: all of it is checked before any of it is written.
pub async fn apply(common: &Common, args: &RequiredFiles) -> CliResult {
    let loaded = load(&args.files)?;
    refuse_problems(&loaded)?;
    std::fs::create_dir_all(&common.objects).map_err(|error| {
        CliError::Other(format!("can't make {}: {error}", common.objects.display()))
    })?;
    let world = find::open(common)?;
    let mut steps = Vec::new();
    for (id, value) in loaded.objects() {
        steps.push(step(&world, id, value).await?);
    }
    if steps.is_empty() {
        return Err(CliError::Other(
            "no object of ours in these files: nothing to apply".to_owned(),
        ));
    }
    let mut results = Vec::new();
    for step in steps {
        if let Some((path, text)) = &step.write {
            files::write_with_mode(path, text.as_bytes(), 0o644).map_err(|error| {
                CliError::Other(format!("can't write {}: {error}", path.display()))
            })?;
        }
        results.push((step.id, step.verb));
    }
    if loaded.ignored > 0 {
        note(&format!("{} objects of other kinds were not looked at", loaded.ignored));
    }
    show_results(common, &results)
}

/// Writes one object of our own making.
///
/// # Errors
/// When it stands elsewhere already, or can't be written.
pub async fn create(common: &Common, value: &Value) -> Result<(), CliError> {
    let loaded = load_text("a new object", &value.to_string());
    std::fs::create_dir_all(&common.objects).map_err(CliError::other)?;
    let world = find::open(common)?;
    for (id, value) in loaded.objects() {
        if let Some((path, text)) = step(&world, id, value).await?.write {
            files::write_with_mode(&path, text.as_bytes(), 0o644).map_err(CliError::other)?;
        }
    }
    Ok(())
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

async fn step(world: &DirectoryWorld, id: &ObjectId, value: &Value) -> Result<Step, CliError> {
    let existing = world.manifest(id.clone()).await?;
    let place = existing.as_ref().map(|(place, _)| place).filter(|place| stands(world, place));
    let file = file_for(world, id, place);
    let verb = match &existing {
        Some((place, old)) if old == value && stands(world, place) => {
            return Ok(Step { id: id.clone(), verb: "unchanged", write: None });
        }
        Some(_) => "configured",
        None => "created",
    };
    if let Some(place) = place.filter(|place| Some(&place.file) != file.as_ref()) {
        return Err(CliError::Conflict(format!(
            "{id} stands in {place} of {}, a file of your own: change it there, or remove it there and apply again; nothing was applied",
            world.objects_dir().display()
        )));
    }
    let file = file.ok_or_else(|| {
        CliError::Conflict(format!("the files that {id} would be kept in hold other objects"))
    })?;
    let write = Some((world.objects_dir().join(file), manifest_text(value)?));
    Ok(Step { id: id.clone(), verb, write })
}

/// False for what is only remembered of a file that is gone.
fn stands(world: &DirectoryWorld, place: &Place) -> bool {
    world.objects_dir().join(&place.file).exists()
}

/// The file that `apply` keeps an object in: `kind-namespace-name.yaml`. As `-` may be part of names
/// too, another object may have that file already; then dots tell the parts apart.
fn file_for(world: &DirectoryWorld, id: &ObjectId, place: Option<&Place>) -> Option<String> {
    let stem = id.file_stem();
    let names = [format!("{}.yaml", stem.replacen('.', "-", 2)), format!("{stem}.yaml")];
    let own = |name: &String| place.is_some_and(|place| place.file == *name);
    let free = |name: &String| !world.objects_dir().join(name).exists();
    names.iter().find(|name| own(name)).or_else(|| names.iter().find(|name| free(name))).cloned()
}

/// YAML that reads back as the same value. JSON, which is YAML too, if it would not.
fn manifest_text(value: &Value) -> Result<String, CliError> {
    let yaml = serde_saphyr::to_string(value).map_err(CliError::other)?;
    let loaded = load_text("check", &yaml);
    if loaded.objects().map(|(_, read)| read).eq([value]) {
        return Ok(yaml);
    }
    serde_json::to_string_pretty(value).map_err(CliError::other)
}

/// `delete`: takes manifests away; what becomes of the clusters, the coordinator does.
pub async fn delete(common: &Common, args: &DeleteArgs) -> CliResult {
    let world = find::open(common)?;
    if let (Some(kind), Some(name), true) = (&args.kind, &args.name, args.force) {
        force(&world, &named(&world, find::kind(kind)?, name).await?).await?;
    }
    let ids = match (&args.kind, &args.name) {
        (Some(kind), Some(name)) => vec![named(&world, find::kind(kind)?, name).await?],
        _ => {
            let loaded = load(&args.files)?;
            let ids: Vec<ObjectId> = loaded.objects().map(|(id, _)| id.clone()).collect();
            if ids.is_empty() {
                note(get::problems(&loaded.problems).trim_end());
                return Err(CliError::Other("no object of ours in these files".to_owned()));
            }
            ids
        }
    };
    let before = world.snapshot().await?;
    let mut paths = Vec::new();
    for id in &ids {
        match file_to_remove(&world, id).await {
            Ok(path) => paths.push(path),
            // With --force it may have been deleted before.
            Err(CliError::Conflict(_)) if args.force && !has_file(&world, id).await? => {}
            Err(error) => return Err(error),
        }
    }
    for path in &paths {
        files::remove(path).map_err(|error| {
            CliError::Other(format!("can't remove {}: {error}", path.display()))
        })?;
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
async fn force(world: &DirectoryWorld, id: &ObjectId) -> Result<(), CliError> {
    if id.kind != Kind::Provisioning {
        return Err(CliError::Usage(format!(
            "--force is for Provisionings; {} has nothing to wait for",
            id
        )));
    }
    let change = json!({"metadata": {"annotations": {FORCE_DELETE: "true"}}});
    Ok(world.patch(id.clone(), change).await?)
}

async fn has_file(world: &DirectoryWorld, id: &ObjectId) -> Result<bool, CliError> {
    Ok(world.manifest(id.clone()).await?.is_some_and(|(place, _)| stands(world, &place)))
}

async fn named(world: &DirectoryWorld, kind: Kind, name: &str) -> Result<ObjectId, CliError> {
    let plain = world.plain().await?;
    let keys: Vec<ObjectKey> =
        plain.iter().filter(|(id, ..)| id.kind == kind).map(|(id, ..)| id.key.clone()).collect();
    let index = find::pick_key(kind, &keys, name)?;
    Ok(ObjectId::new(kind, keys[index].clone()))
}

/// The file that holds this object and nothing else.
async fn file_to_remove(world: &DirectoryWorld, id: &ObjectId) -> Result<PathBuf, CliError> {
    let Some((place, _)) = world.manifest(id.clone()).await? else {
        return Err(CliError::NotFound(format!("no {id} in {}", world.objects_dir().display())));
    };
    let path = world.objects_dir().join(&place.file);
    if !path.exists() {
        return Err(CliError::Conflict(format!("{id} is being deleted already")));
    }
    let inside = load_files(std::slice::from_ref(&path))?;
    if inside.objects().count() != 1 || !inside.problems.is_empty() || inside.ignored > 0 {
        return Err(CliError::Conflict(format!(
            "{id} stands in {} together with other documents; take it out of that file, nothing was deleted",
            path.display()
        )));
    }
    Ok(path)
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
