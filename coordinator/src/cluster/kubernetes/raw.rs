//! One object as the API server sent it, without what nobody here needs.
//!
//! Objects are decoded one by one, so that one that does not fit can't spoil a whole list.

use std::borrow::Cow;

use bpa_common::api::ObjectKey;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::ApiResource;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Annotation in which `kubectl apply` keeps a second copy of the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object of any kind: its metadata, and all of it as JSON.
#[derive(Clone, Debug)]
pub struct Raw {
    metadata: ObjectMeta,
    body: Map<String, Value>,
}

impl Raw {
    /// Namespace and name.
    pub fn key(&self) -> ObjectKey {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        ObjectKey::new(text(&self.metadata.namespace), text(&self.metadata.name))
    }

    /// Unique among all objects of all times.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Changes with each write.
    pub fn resource_version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }

    /// True once its deletion was asked for.
    pub fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Who holds it back from going away.
    pub fn finalizers(&self) -> &[String] {
        self.metadata.finalizers.as_deref().unwrap_or_default()
    }

    /// The whole object as JSON, without managed fields and the copy of `kubectl apply`.
    pub fn into_value(self) -> Value {
        Value::Object(self.body)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut body = Map::deserialize(deserializer)?;
        if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
            trim(metadata);
        }
        let metadata = body.get("metadata").cloned().unwrap_or_default();
        let metadata = serde_json::from_value(metadata).map_err(D::Error::custom)?;
        Ok(Self { metadata, body })
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.body.serialize(serializer)
    }
}

/// Managed fields and the last applied copy are often larger than the object itself.
fn trim(metadata: &mut Map<String, Value>) {
    metadata.remove("managedFields");
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.remove(LAST_APPLIED);
    }
}

impl Resource for Raw {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_nobody_needs_is_dropped_and_the_rest_is_kept() {
        let raw: Raw = serde_json::from_value(json!({
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7",
                "managedFields": [{"manager": "x"}], "finalizers": ["f"],
                "annotations": {LAST_APPLIED: "{}", "mine": "1"},
            },
            "spec": {"consumerRef": {"name": "c"}},
        }))
        .unwrap();
        assert_eq!((raw.key().to_string().as_str(), raw.uid()), ("n/a", "u"));
        assert_eq!((raw.resource_version(), raw.finalizers()), ("7", &["f".to_owned()][..]));
        assert!(!raw.is_deleting());
        let value = raw.into_value();
        assert_eq!(value["metadata"]["annotations"], json!({"mine": "1"}));
        assert_eq!(value["metadata"].get("managedFields"), None);
    }

    #[test]
    fn an_object_of_any_shape_is_read_as_long_as_its_metadata_is_sound() {
        let read = |value: Value| serde_json::from_value::<Raw>(value);
        assert!(read(json!({"metadata": {"name": "a"}, "spec": 7, "status": []})).is_ok());
        assert!(read(json!({"metadata": {"name": 7}})).is_err());
        assert!(read(json!([])).is_err());
    }
}
