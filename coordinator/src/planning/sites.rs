//! The site of a provisioning: which one, and whether it can take an order now.

use bpa_common::api::Site;

use super::draft::{Draft, Held};
use super::words::condition;
use crate::sites::SiteView;

/// The Site object that the spec names, or the only one of the namespace.
pub fn choose<'v>(draft: &mut Draft<'v>) -> Result<&'v Site, Held> {
    let provisioning = draft.view.provisioning;
    let namespace = &provisioning.metadata.namespace;
    let sites: Vec<&Site> =
        draft.view.sites.iter().filter(|s| s.metadata.namespace == *namespace).collect();
    let names: Vec<&str> = sites.iter().map(|s| s.metadata.name.as_str()).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    match &provisioning.spec.site {
        Some(name) => match sites.iter().find(|s| s.metadata.name == *name) {
            Some(site) => Ok(site),
            None => Err(draft.held(
                condition::ACCEPTED,
                "SiteUnknown",
                format!(
                    "spec.site is `{name}`, but namespace {namespace} has no Site of this name (known: {known}); {}",
                    elsewhere(draft.view.sites, Some(name)).unwrap_or_else(|| format!(
                        "make it with `bpa-coordinator site add {name}`, or correct spec.site"
                    ))
                ),
            )),
        },
        None => match sites.as_slice() {
            [only] => Ok(only),
            [] => Err(draft.held(
                condition::ACCEPTED,
                "SiteUnknown",
                format!(
                    "namespace {namespace} has no Site; {}",
                    elsewhere(draft.view.sites, None).unwrap_or_else(|| {
                        "make one with `bpa-coordinator site add NAME` and join its agent".to_owned()
                    })
                ),
            )),
            _ => Err(draft.held(
                condition::ACCEPTED,
                "SiteAmbiguous",
                format!("namespace {namespace} has several Sites ({known}); name one in spec.site"),
            )),
        },
    }
}

/// The live view of the site, once its agent is connected.
pub fn connected<'v>(draft: &mut Draft<'v>, site: &Site, kind: &str) -> Result<&'v SiteView, Held> {
    let name = &site.metadata.name;
    let view = draft.view.fleet.get(name);
    if let Some(view) = view.filter(|view| view.connected) {
        return Ok(view);
    }
    // After a restart of ours the Site's own status remembers.
    match view.and_then(|view| view.last_seen).or(site.status.last_seen) {
        Some(seen) => Err(draft.held(
            kind,
            "SiteNotConnected",
            format!(
                "site {name} is not connected (last seen {seen:.0}); start bpa-agent there or check the network"
            ),
        )),
        None => Err(draft.held(
            kind,
            "SiteNotConnected",
            format!(
                "site {name} has not connected yet; run `bpa-coordinator site add {name}` here and `bpa-agent join` there"
            ),
        )),
    }
}

/// Whether the site may have orders, and has what this one needs.
pub fn can_take_order<'v>(
    draft: &mut Draft<'v>,
    site: &Site,
    version: Option<&str>,
) -> Result<&'v SiteView, Held> {
    const KIND: &str = condition::ORDER_ACCEPTED;
    let name = &site.metadata.name;
    let view = connected(draft, site, KIND)?;
    if !site.spec.approved {
        return Err(draft.held(
            KIND,
            "SiteNotApproved",
            format!(
                "site {name} is in quarantine; compare its fingerprint ({}) with `bpa-agent keys` at the site, then run `bpa-coordinator site approve {name}`",
                view.fingerprint
            ),
        ));
    }
    bundle(draft, name, view, version)?;
    Ok(view)
}

/// The bundle at the site: there, complete, and with the wanted version.
fn bundle(
    draft: &mut Draft<'_>,
    site: &str,
    view: &SiteView,
    version: Option<&str>,
) -> Result<(), Held> {
    const KIND: &str = condition::ORDER_ACCEPTED;
    let names: Vec<&str> = view.bundles.iter().map(|b| b.name.as_str()).collect();
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let found = match &draft.view.provisioning.spec.bundle {
        Some(wanted) => view.bundles.iter().find(|b| b.name == *wanted).ok_or(format!(
            "bundle `{wanted}` is not at site {site} (there: {there}); name it in agent.toml there and restart bpa-agent, or correct spec.bundle"
        )),
        None => match view.bundles.as_slice() {
            [only] => Ok(only),
            [] => Err(format!(
                "site {site} has no bundle; add a [[bundle]] to agent.toml there and restart bpa-agent"
            )),
            _ => Err(format!("site {site} has several bundles ({there}); name one in spec.bundle")),
        },
    };
    let bundle = match found {
        Ok(bundle) => bundle,
        Err(message) => return Err(draft.held(KIND, "NoBundle", message)),
    };
    if !bundle.problems.is_empty() {
        let message = format!(
            "bundle `{}` at site {site} is not complete: {}",
            bundle.name,
            bundle.problems.join("; ")
        );
        return Err(draft.held(KIND, "BundleIncomplete", message));
    }
    match version {
        Some(version)
            if !bundle.kubernetes_versions.is_empty()
                && !bundle
                    .kubernetes_versions
                    .iter()
                    .any(|v| v.trim_start_matches('v') == version) =>
        {
            let message = format!(
                "Kubernetes {version} is wanted, but bundle `{}` at site {site} has {}; choose one of these in spec.kubernetes.version, or give the site another bundle",
                bundle.name,
                bundle.kubernetes_versions.join(", ")
            );
            Err(draft.held(KIND, "VersionNotInBundle", message))
        }
        _ => Ok(()),
    }
}

/// What to do when a site (of this name) is in another namespace than the one that was looked in.
fn elsewhere(sites: &[Site], name: Option<&str>) -> Option<String> {
    let found = sites.iter().find(|site| name.is_none_or(|name| site.metadata.name == name))?;
    let (site, namespace) = (&found.metadata.name, &found.metadata.namespace);
    Some(format!(
        "Site {site} is in namespace {namespace}: a Provisioning belongs beside its Site, so apply it there"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_of_another_namespace_is_pointed_at() {
        let site: Site = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "north", "namespace": "edge", "uid": "u"}, "spec": {}
        }))
        .unwrap();
        let sites = [site];
        for name in [None, Some("north")] {
            let told = elsewhere(&sites, name).unwrap();
            assert!(told.starts_with("Site north is in namespace edge:"), "{told}");
        }
        assert_eq!(elsewhere(&sites, Some("south")), None);
        assert_eq!(elsewhere(&[], None), None);
    }
}
