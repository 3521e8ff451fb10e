//! What is written to a host so that Metal3 installs its operating system, and to take that back.
//! Merge patches (RFC 7386), the same in every world. Pure.

use bpa_common::api::metal3::BareMetalHost;
use bpa_common::api::{OS_MARK, OsMark, OsSpec};
use serde_json::{Value, json};

/// Asks for the install. `spec.online` comes with the image: without power Metal3 waits silently.
pub fn install(host: &BareMetalHost, provisioning: &str, os: &OsSpec) -> Value {
    let before = OsMark::of(&host.metadata.annotations).filter(|m| m.provisioning == provisioning);
    let mark = OsMark {
        provisioning: provisioning.to_owned(),
        image: Some(os.image_url().to_owned()),
        user_data: os.user_data_secret.clone(),
        network_data: os.network_data_secret.clone(),
        online: before.map_or(host.spec.online, |mark| mark.online),
    };
    let mut spec = json!({"image": os.image, "online": true});
    if let (Some(_), Some(image)) = (&host.spec.image, spec["image"].as_object_mut()) {
        // Over an older image of ours: what the new one does not say must not stay.
        for field in ["checksum", "checksumType", "format", "ociAuthSecretName"] {
            image.entry(field).or_insert(Value::Null);
        }
    }
    for (field, secret) in [("userData", &mark.user_data), ("networkData", &mark.network_data)] {
        if let Some(name) = secret {
            spec[field] = json!({"name": name, "namespace": host.metadata.namespace});
        }
    }
    json!({"metadata": {"annotations": {OS_MARK: mark.to_string()}}, "spec": spec})
}

/// Takes the image away, and what else is still as we wrote it. None: nothing is to be done.
pub fn clear(host: &BareMetalHost, provisioning: &str) -> Option<Value> {
    let mark = OsMark::of(&host.metadata.annotations).filter(|m| m.provisioning == provisioning)?;
    let url = mark.image.as_deref()?;
    if host.spec.image.as_ref().is_some_and(|image| image.url.trim() != url) {
        return None;
    }
    let mut spec = json!({"image": null, "online": mark.online});
    let data = [
        ("userData", &mark.user_data, &host.spec.user_data),
        ("networkData", &mark.network_data, &host.spec.network_data),
    ];
    for (field, written, found) in data {
        if written.is_some() && found.as_ref().map(|secret| &secret.name) == written.as_ref() {
            spec[field] = Value::Null;
        }
    }
    let mark = OsMark { image: None, user_data: None, network_data: None, ..mark };
    Some(json!({"metadata": {"annotations": {OS_MARK: mark.to_string()}}, "spec": spec}))
}

/// Takes our mark off; the note of an install goes with it, if there is one of ours.
pub fn release(host: &BareMetalHost, provisioning: &str) -> Value {
    let noted = OsMark::of(&host.metadata.annotations);
    let mut patch = json!({"spec": {"consumerRef": null}});
    if noted.is_some_and(|mark| mark.provisioning == provisioning) {
        patch["metadata"] = json!({"annotations": {OS_MARK: null}});
    }
    patch
}

#[cfg(test)]
mod tests {
    use bpa_common::api::metal3::SecretReference;

    use super::*;
    use crate::planning::testing::host;

    fn apply(host: &BareMetalHost, patch: &Value) -> BareMetalHost {
        let mut value = serde_json::to_value(host).unwrap();
        crate::cluster::directory::merge::apply(&mut value, patch);
        serde_json::from_value(value).unwrap()
    }

    fn os() -> OsSpec {
        OsSpec {
            image: json!({"url": "http://site/u.qcow2", "checksum": "abc", "checksumType": "sha256"}),
            user_data_secret: Some("cloud".into()),
            network_data_secret: None,
        }
    }

    fn available() -> BareMetalHost {
        let mut host = host("h1").host;
        host.status.provisioning.state = "available".into();
        host.spec.online = false;
        host
    }

    #[test]
    fn the_image_comes_with_power_data_and_a_note_and_all_of_it_can_be_taken_back() {
        let before = available();
        let patch = install(&before, "u", &os());
        assert_eq!(patch["spec"]["image"], os().image, "as the user wrote it");
        assert_eq!(patch["spec"]["userData"], json!({"name": "cloud", "namespace": "ns"}));
        assert_eq!(patch["spec"].get("networkData"), None);
        let written = apply(&before, &patch);
        assert!(written.spec.online);
        let cleared = apply(&written, &clear(&written, "u").unwrap());
        assert_eq!(cleared.spec, before.spec, "as it was found");
        let mark = OsMark::of(&cleared.metadata.annotations).unwrap();
        assert_eq!(mark.image, None, "it is still told that we wipe it");
        assert_eq!(clear(&cleared, "u"), None, "once");
        let released = apply(&cleared, &release(&cleared, "u"));
        assert_eq!(released.metadata, before.metadata);
    }

    #[test]
    fn what_others_wrote_is_not_taken_back() {
        let mut written = apply(&available(), &install(&available(), "u", &os()));
        assert_eq!(clear(&written, "other"), None, "not ours");
        written.spec.user_data =
            Some(SecretReference { name: "theirs".into(), ..Default::default() });
        let cleared = apply(&written, &clear(&written, "u").unwrap());
        assert_eq!(cleared.spec.user_data.unwrap().name, "theirs");
        written.spec.image.as_mut().unwrap().url = "http://other".into();
        assert_eq!(clear(&written, "u"), None, "someone has chosen another image");
    }

    #[test]
    fn another_image_of_ours_keeps_what_was_found_first() {
        let written = apply(&available(), &install(&available(), "u", &os()));
        let other = OsSpec { image: json!({"url": "http://site/new"}), ..os() };
        let again = apply(&written, &install(&written, "u", &other));
        let mark = OsMark::of(&again.metadata.annotations).unwrap();
        assert_eq!((mark.image.as_deref(), mark.online), (Some("http://site/new"), false));
        assert_eq!(again.spec.image.unwrap().checksum, None, "nothing of the old one stays");
    }

    #[test]
    fn a_host_that_had_its_system_loses_our_mark_and_nothing_else() {
        let host = host("h1").host;
        assert_eq!(release(&host, "u"), json!({"spec": {"consumerRef": null}}));
    }
}
