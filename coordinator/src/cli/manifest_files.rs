//! `apply` and `delete` in a directory: one file for each object, and never a file of the user's.

use std::path::PathBuf;

use serde_json::Value;

use super::exit::CliError;
use crate::cluster::directory::{DirectoryWorld, Loaded, Place, load_files, load_text};
use crate::cluster::files;
use crate::cluster::kind::ObjectId;

/// What `apply` would do with one object.
struct Step {
    id: ObjectId,
    verb: &'static str,
    /// None when the file says it already.
    write: Option<(PathBuf, String)>,
}

/// Writes objects into the directory: all of it is checked before any of it is written.
///
/// # Errors
/// When an object stands elsewhere already, or can't be written.
pub async fn apply(
    world: &DirectoryWorld,
    loaded: &Loaded,
) -> Result<Vec<(ObjectId, &'static str)>, CliError> {
    let objects = world.objects_dir();
    std::fs::create_dir_all(objects)
        .map_err(|error| CliError::Other(format!("can't make {}: {error}", objects.display())))?;
    let mut steps = Vec::new();
    for (id, value) in loaded.objects() {
        steps.push(step(world, id, value).await?);
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
    Ok(results)
}

/// Removes the files of objects: all of them can be, or none is. With `force` an object may be
/// gone already.
///
/// # Errors
/// When a file holds other objects too, or can't be removed.
pub async fn remove(world: &DirectoryWorld, ids: &[ObjectId], force: bool) -> Result<(), CliError> {
    let mut paths = Vec::new();
    for id in ids {
        match file_to_remove(world, id).await {
            Ok(path) => paths.push(path),
            Err(CliError::Conflict(_)) if force && !has_file(world, id).await? => {}
            Err(error) => return Err(error),
        }
    }
    for path in &paths {
        files::remove(path).map_err(|error| {
            CliError::Other(format!("can't remove {}: {error}", path.display()))
        })?;
    }
    Ok(())
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

async fn has_file(world: &DirectoryWorld, id: &ObjectId) -> Result<bool, CliError> {
    Ok(world.manifest(id.clone()).await?.is_some_and(|(place, _)| stands(world, &place)))
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
