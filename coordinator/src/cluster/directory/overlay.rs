//! Edits of objects whose manifests are not ours to rewrite: merge patches kept beside. Pure.
//!
//! An overlay is bound to one object by uid. For a host's `consumerRef` the manifest wins when it
//! says something else than the overlay knew: then somebody else has the host, and that must be
//! seen, never hidden.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::merge;

/// The edits of one object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overlay {
    pub uid: String,
    pub patch: Value,
    /// The consumerRef that we took off; a manifest exported before may still have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released: Option<Value>,
}

impl Overlay {
    /// An overlay without edits.
    pub fn new(uid: &str) -> Self {
        Self { uid: uid.to_owned(), patch: json!({}), released: None }
    }

    /// Adds an edit, and drops what the manifest says by itself.
    pub fn edit(&mut self, change: &Value, base: &Value) {
        merge::compose(&mut self.patch, change);
        if merge::prune(&mut self.patch, Some(base)) {
            self.patch = json!({});
        }
    }

    /// True when it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.patch.as_object().is_none_or(serde_json::Map::is_empty)
    }

    /// The object as it counts: the manifest with the edits on it.
    pub fn apply(&self, base: &mut Value) {
        let mut patch = self.patch.clone();
        let theirs = base["spec"].get("consumerRef").filter(|found| !found.is_null());
        let ours = patch.get("spec").and_then(|spec| spec.get("consumerRef"));
        if let (Some(theirs), Some(ours)) = (theirs, ours) {
            let known = if ours.is_null() { self.released.as_ref() } else { Some(ours) };
            if known != Some(theirs)
                && let Some(Value::Object(spec)) = patch.get_mut("spec")
            {
                spec.remove("consumerRef");
            }
        }
        merge::apply(base, &patch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(consumer: Value) -> Value {
        let mut host = json!({"metadata": {"name": "h"}, "spec": {"online": true}});
        if !consumer.is_null() {
            host["spec"]["consumerRef"] = consumer;
        }
        host
    }

    fn applied(overlay: &Overlay, mut base: Value) -> Value {
        overlay.apply(&mut base);
        base
    }

    #[test]
    fn a_claim_is_seen_and_a_release_takes_it_away() {
        let ours = json!({"kind": "Provisioning", "name": "a"});
        let mut overlay = Overlay::new("u");
        overlay.edit(&json!({"spec": {"consumerRef": ours}}), &host(Value::Null));
        assert_eq!(applied(&overlay, host(Value::Null)), host(ours.clone()));
        overlay.edit(&json!({"spec": {"consumerRef": null}}), &host(Value::Null));
        assert!(overlay.is_empty(), "{overlay:?}");
    }

    #[test]
    fn someone_elses_claim_in_the_manifest_is_never_hidden() {
        let (ours, theirs) = (json!({"name": "a"}), json!({"name": "metal3machine"}));
        let mut overlay = Overlay::new("u");
        overlay.edit(&json!({"spec": {"consumerRef": ours}}), &host(Value::Null));
        assert_eq!(applied(&overlay, host(theirs.clone())), host(theirs.clone()));
        // After our release too: only the ref that we took off is gone.
        let mut overlay = Overlay::new("u");
        overlay.edit(&json!({"spec": {"consumerRef": null}}), &host(ours.clone()));
        overlay.released = Some(ours.clone());
        assert_eq!(applied(&overlay, host(ours)), host(Value::Null));
        assert_eq!(applied(&overlay, host(theirs.clone())), host(theirs));
    }

    #[test]
    fn an_edit_that_the_manifest_makes_by_itself_is_dropped() {
        let mut overlay = Overlay::new("u");
        overlay.edit(&json!({"spec": {"approved": true}}), &json!({"spec": {}}));
        overlay.edit(&json!({"spec": {"approved": true}}), &json!({"spec": {"approved": true}}));
        assert!(overlay.is_empty());
    }
}
