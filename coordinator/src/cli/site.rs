//! `site …`: adding, approving and looking at sites.

use bpa_common::api::{ObjectKey, ObjectMeta, Site};
use jiff::Timestamp;
use secrecy::ExposeSecret;
use serde_json::json;

use super::args::{Common, GetArgs, NameArg, SiteAddArgs, SiteCommand};
use super::exit::{CliError, CliResult, Exit};
use super::lease_file::LeaseFile;
use super::output::note;
use super::render::text;
use super::world::AnyWorld;
use super::{find, lease_file, logs, objects, run, run_kubernetes};
use crate::cluster::kind::{DEFAULT_NAMESPACE, Kind, ObjectId};
use crate::cluster::kubernetes::SecretVault;
use crate::cluster::{FileVault, Vault, files};
use crate::sites::{Invitation, JoinLine, SiteAddError, site_add};

/// All of `site …`.
pub async fn site(common: &Common, command: &SiteCommand) -> CliResult {
    match command {
        SiteCommand::Add(args) => add(common, args).await,
        SiteCommand::Approve(args) => approve(common, args).await,
        SiteCommand::List => {
            objects::get(common, &GetArgs { kind: Some("sites".to_owned()), name: None }).await
        }
        SiteCommand::Leases(args) => leases(common, args).await,
    }
}

async fn add(common: &Common, args: &SiteAddArgs) -> CliResult {
    let namespace = namespace(common)?;
    let world = AnyWorld::open(common).await?;
    let line = match &world {
        AnyWorld::Directory(_) => {
            files::private_dir(&common.state).map_err(CliError::other)?;
            let vault = FileVault::open(&common.state).map_err(CliError::other)?;
            invite(vault, args, run::advertised(&common.state)).await?
        }
        AnyWorld::Kubernetes(world) => {
            let vault = SecretVault::open(world)?;
            let asked = vault.clone();
            let advertised =
                tokio::task::spawn_blocking(move || run_kubernetes::advertised(&asked)).await;
            invite(vault, args, advertised.map_err(CliError::other)??).await?
        }
    };
    make_object(&world, namespace, &args.name).await?;
    let value = json!({
        "site": line.site,
        "line": line.line.expose_secret(),
        "expires": line.expires,
        "caFingerprint": line.ca_fingerprint,
        "replaces": line.replaces,
    });
    common.output.show(&value, || format!("{}\n", line.line.expose_secret()))?;
    note(&format!(
        "This line is a secret, good for one use before {1}, and shown only now.\nOn the bootstrap host of {0}: run `bpa-agent join -` and give it the line on standard input.\nThe coordinator's fingerprint is {2}.\nThen: bpa-coordinator site approve {0}",
        line.site,
        text::moment(line.expires),
        line.ca_fingerprint,
    ));
    if let Some(old) = &line.replaces {
        note(&format!("It replaces the enrolled key {old}."));
    }
    Ok(Exit::Ok)
}

/// Makes the line. `advertised` is what `run` was told.
async fn invite<V: Vault>(
    vault: V,
    args: &SiteAddArgs,
    advertised: Vec<String>,
) -> Result<JoinLine, CliError> {
    let addresses = match args.advertise.as_slice() {
        [] => advertised,
        given => given.to_vec(),
    };
    if addresses.is_empty() {
        return Err(CliError::Usage(
            "where do agents reach this coordinator? Give --advertise HOST:PORT here, or to `bpa-coordinator run`".to_owned(),
        ));
    }
    let invitation =
        Invitation { site: args.name.clone(), ttl: args.ttl, addresses, replace: args.replace };
    let made = move || site_add(&vault, &invitation, Timestamp::now());
    tokio::task::spawn_blocking(made).await.map_err(CliError::other)?.map_err(|error| match error {
        SiteAddError::Name(_) | SiteAddError::Address(_) | SiteAddError::Ttl { .. } => {
            CliError::Usage(error.to_string())
        }
        SiteAddError::Enrolled { .. } => CliError::Conflict(error.to_string()),
        SiteAddError::Line(_) | SiteAddError::Store(_) => CliError::other(error),
    })
}

/// A site that is invited is also an object, so that it can be seen and approved.
async fn make_object(world: &AnyWorld, namespace: &str, name: &str) -> Result<(), CliError> {
    let key = ObjectKey::new(namespace, name);
    if let Ok(snapshot) = world.snapshot().await
        && snapshot.sites.iter().any(|site| site.metadata.key() == key)
    {
        return Ok(());
    }
    let metadata =
        ObjectMeta { name: name.to_owned(), namespace: namespace.to_owned(), ..Default::default() };
    world.create_site(&Site::new(metadata, Default::default())).await
}

/// Namespace of the Site object: that of the Provisionings which use it.
fn namespace(common: &Common) -> Result<&str, CliError> {
    match common.kubernetes.namespaces.as_slice() {
        [] => Ok(DEFAULT_NAMESPACE),
        [only] => Ok(only),
        several => Err(CliError::Usage(format!(
            "a site is in one namespace: give --namespace once, not {}",
            several.join(", ")
        ))),
    }
}

async fn approve(common: &Common, args: &NameArg) -> CliResult {
    let world = AnyWorld::open(common).await?;
    let snapshot = world.snapshot().await?;
    let site = find::pick(Kind::Site, &snapshot.sites, |site| &site.metadata, &args.name)?;
    let key = site.metadata.key();
    let id = ObjectId::new(Kind::Site, key.clone());
    world.patch(id, json!({"spec": {"approved": true}})).await?;
    let result = json!({"name": key.to_string(), "fingerprint": site.status.fingerprint, "result": "approved"});
    common.output.show(&result, || {
        let key_text = match site.status.fingerprint.as_str() {
            "" => "it has not joined yet; its orders wait until it does".to_owned(),
            fingerprint => format!("its key is {fingerprint}"),
        };
        format!("site {key} is approved and takes orders; {key_text}\n")
    })?;
    Ok(Exit::Ok)
}

async fn leases(common: &Common, args: &NameArg) -> CliResult {
    let world = AnyWorld::open(common).await?;
    let snapshot = world.snapshot().await?;
    let site = find::pick(Kind::Site, &snapshot.sites, |site| &site.metadata, &args.name)?;
    let ObjectKey { name, .. } = site.metadata.key();
    let Some(file) = LeaseFile::read(&common.state, &name).map_err(CliError::other)? else {
        let elsewhere = logs::elsewhere(common, &format!("site leases {name}"));
        return Err(CliError::NotFound(format!(
            "site {name} has reported no leases yet{elsewhere}"
        )));
    };
    common.output.show(&file, || lease_file::render(&file, Timestamp::now()))?;
    Ok(Exit::Ok)
}
