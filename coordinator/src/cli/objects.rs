//! `get` and `describe`: reading the world.

use bpa_common::api::ObjectMeta;
use jiff::Timestamp;
use serde_json::Value;

use super::args::{Common, DescribeArgs, GetArgs};
use super::exit::{CliError, CliResult, Exit};
use super::find;
use super::output::{Output, list, note, print};
use super::render::table::Table;
use super::render::{describe, describe_site, get};
use super::world::AnyWorld;
use crate::cluster::Snapshot;
use crate::cluster::directory::running;
use crate::cluster::kind::{Kind, ObjectId};

/// Kinds that `get` without a kind shows.
const IMPORTANT: [Kind; 3] = [Kind::Provisioning, Kind::Site, Kind::Host];

/// `get`.
pub async fn get(common: &Common, args: &GetArgs) -> CliResult {
    let world = AnyWorld::open(common).await?;
    if args.kind.as_deref().is_some_and(|kind| matches!(kind, "events" | "event" | "ev")) {
        return events(common, &world).await;
    }
    let kinds = match &args.kind {
        Some(kind) => vec![find::kind(kind)?],
        None => IMPORTANT.to_vec(),
    };
    let only = match (&args.name, kinds.as_slice()) {
        (Some(name), [kind]) => Some(named(&world, *kind, name).await?),
        _ => None,
    };
    if common.output == Output::Table {
        let mut snapshot = world.snapshot().await?;
        if let Some(only) = &only {
            keep(&mut snapshot, only);
        }
        print(&tables(&snapshot, &kinds, Timestamp::now()))?;
        say_when_alone(common);
        note_problems(&snapshot);
        return Ok(Exit::Ok);
    }
    let wanted = |id: &ObjectId| only.as_ref().is_none_or(|only| id == only);
    let plain = world.plain(&kinds).await?;
    let items: Vec<Value> =
        plain.into_iter().filter(|(id, _)| wanted(id)).map(|(_, value)| value).collect();
    common.output.show(&list(items, only.is_some()), String::new)?;
    Ok(Exit::Ok)
}

async fn events(common: &Common, world: &AnyWorld) -> CliResult {
    let events = world.events().await?;
    common.output.show(&events, || get::events(events.iter(), Timestamp::now()).render(""))?;
    Ok(Exit::Ok)
}

async fn named(world: &AnyWorld, kind: Kind, name: &str) -> Result<ObjectId, CliError> {
    let plain = world.plain(&[kind]).await?;
    let keys: Vec<_> = plain.into_iter().map(|(id, _)| id.key).collect();
    let index = find::pick_key(kind, &keys, name)?;
    Ok(ObjectId::new(kind, keys[index].clone()))
}

/// Leaves only one object in a snapshot.
fn keep(snapshot: &mut Snapshot, id: &ObjectId) {
    let is = |meta: &ObjectMeta| meta.key() == id.key;
    snapshot.hosts.retain(|record| is(&record.host.metadata));
    snapshot.sites.retain(|site| is(&site.metadata));
    snapshot.provisionings.retain(|p| is(&p.metadata));
    snapshot.softwares.retain(|s| is(&s.metadata));
    snapshot.clusters.retain(|c| is(&c.metadata));
    snapshot.problems.retain(|problem| problem.key.as_ref() == Some(&id.key));
}

fn tables(snapshot: &Snapshot, kinds: &[Kind], now: Timestamp) -> String {
    let mut parts = Vec::new();
    for kind in kinds {
        let table = table(snapshot, *kind, now);
        if !table.is_empty() {
            parts.push(table.render(""));
        } else if kinds.len() == 1 {
            parts.push(format!("No {} here.\n", kind.aliases().first().unwrap_or(&kind.name())));
        }
    }
    match parts.is_empty() {
        true => "Nothing here yet. Begin with: bpa-coordinator apply -f FILE\n".to_owned(),
        false => parts.join("\n"),
    }
}

fn table(snapshot: &Snapshot, kind: Kind, now: Timestamp) -> Table {
    match kind {
        Kind::Provisioning => get::provisionings(snapshot, now),
        Kind::Site => get::sites(snapshot, now),
        Kind::Host => get::hosts(snapshot),
        Kind::Hardware => {
            let data = snapshot.hosts.iter().filter_map(|record| record.hardware.as_ref());
            get::named(data.map(|data| &data.metadata), now)
        }
        Kind::Software => get::named(snapshot.softwares.iter().map(|s| &s.metadata), now),
        Kind::Cluster => get::named(snapshot.clusters.iter().map(|c| &c.metadata), now),
    }
}

fn note_problems(snapshot: &Snapshot) {
    let text = get::problems(&snapshot.problems);
    if !text.is_empty() {
        note(text.trim_end());
    }
}

/// What is shown is old when no coordinator keeps it up.
fn say_when_alone(common: &Common) {
    if !common.kubernetes.on && common.state.exists() && !running(&common.state) {
        note("no coordinator runs on this state directory: this is what it wrote last");
    }
}

/// `describe`.
pub async fn describe(common: &Common, args: &DescribeArgs) -> CliResult {
    let (kind, name) = match args.what.as_slice() {
        [name] => (Kind::Provisioning, name),
        [kind, name] => (find::kind(kind)?, name),
        _ => return Err(CliError::Usage("wanted NAME, or KIND and NAME".to_owned())),
    };
    let world = AnyWorld::open(common).await?;
    if common.output != Output::Table {
        let id = named(&world, kind, name).await?;
        let plain = world.plain(&[kind]).await?;
        let items = plain.into_iter().filter(|(found, _)| *found == id).map(|(_, v)| v).collect();
        common.output.show(&list(items, true), String::new)?;
        return Ok(Exit::Ok);
    }
    let snapshot = world.snapshot().await?;
    say_when_alone(common);
    let events = world.events().await?;
    let now = Timestamp::now();
    let text = match kind {
        Kind::Provisioning => {
            let found = find::pick(kind, &snapshot.provisionings, |p| &p.metadata, name);
            let p = found.map_err(|error| or_problem(error, &snapshot, kind, name))?;
            describe::provisioning(p, &events, &snapshot.problems, &snapshot.sites, now)
        }
        Kind::Site => {
            let found = find::pick(kind, &snapshot.sites, |site| &site.metadata, name);
            let site = found.map_err(|error| or_problem(error, &snapshot, kind, name))?;
            describe_site::site(site, &events, now)
        }
        Kind::Host => {
            let found = find::pick(kind, &snapshot.hosts, |record| &record.host.metadata, name);
            let host = found.map_err(|error| or_problem(error, &snapshot, kind, name))?;
            describe_site::host(host, &snapshot, &events, now)
        }
        other => {
            return Err(CliError::Usage(format!(
                "nothing more is known of a {other} than its manifest; see it with: bpa-coordinator get {} {name} -o yaml",
                other.name().to_ascii_lowercase()
            )));
        }
    };
    print(&text)?;
    Ok(Exit::Ok)
}

/// An object that is there but can't be used: then the reason is the answer.
fn or_problem(error: CliError, snapshot: &Snapshot, kind: Kind, name: &str) -> CliError {
    let name = name.rsplit('/').next().unwrap_or(name);
    let about = |problem: &&crate::cluster::ObjectProblem| {
        problem.kind == kind.name() && problem.key.as_ref().is_some_and(|key| key.name == name)
    };
    match snapshot.problems.iter().find(about) {
        Some(problem) => {
            CliError::Other(get::problems(std::slice::from_ref(problem)).trim_end().to_owned())
        }
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::super::render::testing;
    use super::*;

    #[test]
    fn an_empty_world_says_how_to_begin() {
        let text = tables(&Snapshot::default(), &IMPORTANT, testing::now());
        assert!(text.contains("apply -f"), "{text}");
        let text = tables(&Snapshot::default(), &[Kind::Site], testing::now());
        assert_eq!(text, "No sites here.\n");
    }

    #[test]
    fn one_name_leaves_one_object() {
        let mut snapshot = Snapshot {
            provisionings: vec![testing::ready().into()],
            sites: vec![testing::site()],
            ..Snapshot::default()
        };
        let id = ObjectId::new(Kind::Site, testing::site().metadata.key());
        keep(&mut snapshot, &id);
        assert_eq!((snapshot.sites.len(), snapshot.provisionings.len()), (1, 0));
    }

    #[tokio::test]
    async fn an_object_that_cannot_be_used_is_described_by_its_mistake() {
        let dir = tempfile::tempdir().unwrap();
        let common = Common {
            objects: dir.path().to_owned(),
            state: dir.path().join("state"),
            output: Output::Table,
            kubernetes: Default::default(),
            log: None,
        };
        let text = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: p}\nspec: {masters: 7}\n";
        std::fs::write(dir.path().join("p.yaml"), text).unwrap();
        let what =
            |words: &[&str]| DescribeArgs { what: words.iter().map(|w| w.to_string()).collect() };
        let error = describe(&common, &what(&["p"])).await.unwrap_err();
        assert!(error.to_string().contains("spec.masters"), "{error}");
        let error = describe(&common, &what(&["site", "p"])).await.unwrap_err();
        assert_eq!(error.exit(), Exit::NotFound);
        assert!(!common.state.exists(), "reading makes no state");
    }
}
