//! Whose a host is, by one look at it; and how long to wait for the second look.
//!
//! Cluster API's provider writes its mark without looking: what we wrote may be overwritten by
//! somebody who read before us (CAPM3 issue 3189). So a claim counts only after a second look, and
//! before each step that can't be undone there is another one.

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef};
use jiff::SignedDuration;

/// Set by Cluster API's provider in the same patch as its mark.
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// What a look at a host showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holding {
    /// Every field of the mark is ours, and nobody else has left one.
    Ours,
    /// It is not; in words that follow the host's name.
    Lost(String),
}

/// Judges a host that was to be ours. None: it is gone, or another one of its name is there.
pub fn holding(host: Option<&BareMetalHost>, ours: &ConsumerRef) -> Holding {
    let Some(host) = host else { return Holding::Lost("is gone".to_owned()) };
    match &host.spec.consumer_ref {
        None => Holding::Lost("has lost our mark (its consumerRef is empty)".to_owned()),
        Some(found) if found != ours => {
            Holding::Lost(format!("is held by {} {}/{}", found.kind, found.namespace, found.name))
        }
        Some(_) => match host.metadata.labels.get(CLUSTER_NAME) {
            Some(cluster) => Holding::Lost(format!(
                "belongs to the Cluster API cluster `{cluster}` (label {CLUSTER_NAME})"
            )),
            None => Holding::Ours,
        },
    }
}

/// How long after our mark was written the second look is made: as long as a writer that read the
/// host before may take to write. A host in use (`provisioned`) is chosen by nobody else.
pub fn hold_off(host: &BareMetalHost) -> SignedDuration {
    match host.status.provisioning.state.as_str() {
        "provisioned" | "externally provisioned" => SignedDuration::from_millis(100),
        _ => SignedDuration::from_secs(3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planning::testing::host;

    fn ours() -> ConsumerRef {
        ConsumerRef {
            api_version: "bpa.akraino.org/v1alpha1".into(),
            kind: "Provisioning".into(),
            namespace: "ns".into(),
            name: "edge".into(),
            uid: "u".into(),
        }
    }

    fn look(change: impl FnOnce(&mut BareMetalHost)) -> Holding {
        let mut host = host("h1").host;
        host.spec.consumer_ref = Some(ours());
        change(&mut host);
        holding(Some(&host), &ours())
    }

    #[test]
    fn only_every_field_of_the_mark_makes_it_ours() {
        assert_eq!(look(|_| ()), Holding::Ours);
        let changes: [fn(&mut ConsumerRef); 5] = [
            |c| c.api_version = "x/v1".into(),
            |c| c.kind = "Metal3Machine".into(),
            |c| c.namespace = "x".into(),
            |c| c.name = "x".into(),
            |c| c.uid = "x".into(),
        ];
        for change in changes {
            let found = look(|host| change(host.spec.consumer_ref.as_mut().unwrap()));
            assert!(matches!(found, Holding::Lost(words) if words.starts_with("is held by")));
        }
        assert!(matches!(look(|h| h.spec.consumer_ref = None), Holding::Lost(_)));
        assert_eq!(holding(None, &ours()), Holding::Lost("is gone".into()));
    }

    /// A merge patch leaves the fields that it does not name, our uid among them: the label that
    /// comes in the same patch gives it away even where all else were equal.
    #[test]
    fn the_label_of_a_cluster_is_another_owner() {
        let found = look(|h| drop(h.metadata.labels.insert(CLUSTER_NAME.into(), "c".into())));
        assert!(matches!(found, Holding::Lost(words) if words.contains("cluster `c`")));
    }

    #[test]
    fn a_host_that_others_may_choose_is_looked_at_later() {
        let mut free = host("h1").host;
        let short = hold_off(&free);
        free.status.provisioning.state = "available".into();
        assert!(hold_off(&free) > short * 10);
    }
}
