//! The kinds of objects that the coordinator reads, and how people and files name them.

use std::fmt;

use bpa_common::api::metal3::{BareMetalHostKind, HardwareDataKind};
use bpa_common::api::{ObjectKey, Provisioning, Resource};
use sha2::{Digest, Sha256};

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Host,
    Hardware,
    Site,
    Provisioning,
    Software,
    Cluster,
}

/// Namespace that an object without one is in.
pub const DEFAULT_NAMESPACE: &str = "default";

impl Kind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::Provisioning, Self::Site, Self::Host, Self::Hardware, Self::Software, Self::Cluster];

    /// `kind` as manifests have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => BareMetalHostKind::KIND,
            Self::Hardware => HardwareDataKind::KIND,
            Self::Site => "Site",
            Self::Provisioning => "Provisioning",
            Self::Software => "Software",
            Self::Cluster => "Cluster",
        }
    }

    /// `apiVersion` that is read.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Host => BareMetalHostKind::API_VERSION,
            Self::Hardware => HardwareDataKind::API_VERSION,
            _ => bpa_common::api::API_VERSION,
        }
    }

    /// API group, without the version.
    pub fn group(self) -> &'static str {
        self.api_version().split('/').next().unwrap_or_default()
    }

    /// Names for the command line, the plural first.
    pub fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Host => &["hosts", "host", "bmh", "baremetalhosts", "baremetalhost"],
            Self::Hardware => &["hardwaredata", "hd"],
            Self::Site => &["sites", "site"],
            Self::Provisioning => &["provisionings", "provisioning", "bpa"],
            Self::Software => &["softwares", "software", "sw"],
            Self::Cluster => &["clusters", "cluster"],
        }
    }

    /// The kind that a person means.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        Self::ALL.into_iter().find(|kind| kind.aliases().contains(&text.as_str()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One object of one kind, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    pub kind: Kind,
    pub key: ObjectKey,
}

impl ObjectId {
    /// The object of this kind, namespace and name.
    pub fn new(kind: Kind, key: ObjectKey) -> Self {
        Self { kind, key }
    }

    /// A file name for this object: `provisioning.default.edge-a`. Unique, and never longer than
    /// file systems allow: names may have 253 characters, so long ones end with a hash.
    pub fn file_stem(&self) -> String {
        const MAX: usize = 180;
        let kind = self.kind.name().to_ascii_lowercase();
        let full = format!("{kind}.{}.{}", self.key.namespace, self.key.name);
        if full.len() <= MAX {
            return full;
        }
        let hash = Sha256::digest(full.as_bytes());
        let short: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let start: String = full.chars().take(MAX).collect();
        format!("{start}~{short}")
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}

/// Name of the cluster that a Provisioning makes: its label `cluster`, or its own name.
pub fn cluster_name(provisioning: &Provisioning) -> &str {
    let metadata = &provisioning.metadata;
    metadata.labels.get("cluster").unwrap_or(&metadata.name)
}

/// True for a DNS-1123 label, which namespaces are.
pub fn is_dns_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty()
        && text.len() <= 63
        && text.chars().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// True for a DNS-1123 subdomain, which object names are.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_may_use_the_names_of_kubectl() {
        assert_eq!(Kind::parse("bmh"), Some(Kind::Host));
        assert_eq!(Kind::parse("BareMetalHost"), Some(Kind::Host));
        assert_eq!(Kind::parse("bpa"), Some(Kind::Provisioning));
        assert_eq!(Kind::parse("sw"), Some(Kind::Software));
        assert_eq!(Kind::parse("pods"), None);
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.name()), Some(kind));
        }
    }

    #[test]
    fn a_file_stem_is_short_and_unique() {
        let id = |name: &str| ObjectId::new(Kind::Provisioning, ObjectKey::new("default", name));
        assert_eq!(id("edge-a").file_stem(), "provisioning.default.edge-a");
        let (a, b) = ("a".repeat(250), format!("{}b", "a".repeat(249)));
        assert_ne!(id(&a).file_stem(), id(&b).file_stem());
        assert!(id(&a).file_stem().len() < 220);
    }

    #[test]
    fn names_that_would_leave_a_directory_are_no_names() {
        for bad in ["", "..", "../x", "a/b", "A", "-a", "a-", "a..b", ".a", "a b"] {
            assert!(!is_dns_subdomain(bad), "{bad}");
        }
        assert!(is_dns_subdomain("rack1.node-3"));
        assert!(!is_dns_label("rack1.node-3"));
    }
}
