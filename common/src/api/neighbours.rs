//! Objects of others that have hosts or choose them: machines of Cluster API's provider for Metal3,
//! and HostClaims. We read them so as to keep out of their way; they are never written.

use std::collections::BTreeMap;

use super::ObjectKey;

/// A kind of object that may have a host, or choose one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeighbourKind {
    /// `Metal3Machine`: has one host, or looks for one.
    Machine,
    /// `Metal3MachineTemplate`: machines are made from it at any time.
    Template,
    /// `HostClaim`.
    Claim,
}

impl NeighbourKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Machine, Self::Template, Self::Claim];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "Metal3Machine",
            Self::Template => "Metal3MachineTemplate",
            Self::Claim => "HostClaim",
        }
    }

    /// Its group.
    pub fn group(self) -> &'static str {
        match self {
            Self::Machine | Self::Template => "infrastructure.cluster.x-k8s.io",
            Self::Claim => "metal3.io",
        }
    }
}

impl std::fmt::Display for NeighbourKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Somebody else's object that says that it has a host, whatever the host itself says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostUse {
    pub host: ObjectKey,
    pub kind: NeighbourKind,
    /// Of the object that points at the host.
    pub by: ObjectKey,
}

/// Somebody else's object for which a host may be chosen at any moment, without a look at us.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostChooser {
    pub kind: NeighbourKind,
    /// Hosts of its namespace alone are chosen.
    pub by: ObjectKey,
    pub selector: HostSelector,
}

/// `hostSelector` of a Metal3Machine. It looks like a Kubernetes selector and is read in another
/// way, so its operators are kept as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostSelector {
    pub match_labels: BTreeMap<String, String>,
    pub match_expressions: Vec<HostSelectorTerm>,
}

/// One of `matchExpressions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostSelectorTerm {
    pub key: String,
    pub operator: String,
    pub values: Vec<String>,
}

impl std::fmt::Display for HostSelector {
    /// As one line: `rack=a, zone NotIn (b, c)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let labels = self.match_labels.iter().map(|(key, value)| format!("{key}={value}"));
        let terms = self.match_expressions.iter().map(|term| match term.values.as_slice() {
            [] => format!("{} {}", term.key, term.operator),
            values => format!("{} {} ({})", term.key, term.operator, values.join(", ")),
        });
        f.write_str(&labels.chain(terms).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_reads_as_one_line() {
        let term = |key: &str, operator: &str, values: &[&str]| HostSelectorTerm {
            key: key.into(),
            operator: operator.into(),
            values: values.iter().map(|v| (*v).into()).collect(),
        };
        let selector = HostSelector {
            match_labels: [("rack".to_owned(), "a".to_owned())].into(),
            match_expressions: vec![term("zone", "NotIn", &["b", "c"]), term("gpu", "!", &[])],
        };
        assert_eq!(selector.to_string(), "rack=a, zone NotIn (b, c), gpu !");
        assert_eq!(HostSelector::default().to_string(), "");
        assert_eq!(NeighbourKind::Template.to_string(), "Metal3MachineTemplate");
    }
}
