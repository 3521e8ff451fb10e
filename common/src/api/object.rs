//! The frame that every object has: apiVersion, kind, metadata, spec, status.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::ObjectMeta;

/// What is fixed for a kind of resource.
pub trait Resource {
    /// `apiVersion` that we read and write.
    const API_VERSION: &'static str;
    /// `kind`, in singular.
    const KIND: &'static str;
    /// Plural name as used on the command line and in paths.
    const PLURAL: &'static str;
}

/// An object with a typed spec and status; `K` names the kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(serialize = "S: Serialize, T: Serialize"))]
#[serde(bound(deserialize = "S: Deserialize<'de>, T: Deserialize<'de> + Default"))]
pub struct Object<K, S, T> {
    #[serde(default)]
    pub api_version: String,
    #[serde(default)]
    pub kind: String,
    pub metadata: ObjectMeta,
    pub spec: S,
    #[serde(default)]
    pub status: T,
    #[serde(skip)]
    pub marker: PhantomData<K>,
}

impl<K: Resource, S, T: Default> Object<K, S, T> {
    /// A new object of this kind with an empty status.
    pub fn new(metadata: ObjectMeta, spec: S) -> Self {
        Self {
            api_version: K::API_VERSION.to_owned(),
            kind: K::KIND.to_owned(),
            metadata,
            spec,
            status: T::default(),
            marker: PhantomData,
        }
    }
}

/// Declares the marker type of a kind.
macro_rules! resource {
    ($(#[$doc:meta])* $name:ident, $api:expr, $kind:literal, $plural:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;
        impl $crate::api::Resource for $name {
            const API_VERSION: &'static str = $api;
            const KIND: &'static str = $kind;
            const PLURAL: &'static str = $plural;
        }
    };
}
pub(crate) use resource;
