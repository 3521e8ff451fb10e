//! Conditions and states in plain words.

use bpa_common::api::{ConditionStatus, Provisioning};

/// What a condition of a Provisioning or a Site means when it holds, and when it does not.
const CONDITIONS: [(&str, &str, &str); 17] = [
    ("Accepted", "the spec makes sense", "the spec can't be carried out"),
    ("HostsMatched", "every node has a host that meets its needs", "not every node has a host"),
    ("HostsClaimed", "the hosts are marked as ours", "the hosts are not all ours yet"),
    ("HostsProvisioned", "Linux is installed on the hosts", "hosts are without Linux"),
    ("AddressesKnown", "every host has an address", "the address of a host is not known"),
    ("OrderAccepted", "the site has taken the order", "the site has not taken the order"),
    ("AccessReady", "the agent can log in to every host", "the agent can't log in to every host"),
    ("PreflightPassed", "the hosts passed all checks", "checks have not passed"),
    ("Installed", "the playbook has done its work", "the playbook has not done its work"),
    ("KubeconfigSaved", "the kubeconfig is here", "the kubeconfig is not here yet"),
    ("HostsDoubtful", "something should be known of the hosts", "nothing is odd about the hosts"),
    ("Ready", "the cluster is up and answers", "the cluster is not ready"),
    ("Approved", "the site may take orders", "in quarantine: leases are taken, orders not given"),
    ("Connected", "the agent is connected", "the agent is not connected"),
    ("LeasesReadable", "the agent reads the DHCP leases", "leases can't be read at the site"),
    ("ClockInStep", "the site's clock is right", "the site's clock is off"),
    ("ResourcesEnough", "the site's host has room to work", "the site's host runs short"),
];

/// A condition in words; unknown types speak for themselves.
pub fn condition(kind: &str, status: ConditionStatus) -> String {
    let known = CONDITIONS.iter().find(|(name, ..)| *name == kind);
    match (known, status) {
        (Some((_, yes, _)), ConditionStatus::True) => (*yes).to_owned(),
        (Some((_, _, no)), ConditionStatus::False) => (*no).to_owned(),
        (Some((_, yes, _)), ConditionStatus::Unknown) => format!("not known yet whether {yes}"),
        (None, _) => kind.to_owned(),
    }
}

/// `yes`, `no`, `?`.
pub fn mark(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "yes",
        ConditionStatus::False => "no",
        ConditionStatus::Unknown => "?",
    }
}

/// How many nodes are done, of how many: `2/3`.
pub fn ready_nodes(provisioning: &Provisioning) -> String {
    let nodes = &provisioning.status.nodes;
    if nodes.is_empty() {
        return "-".to_owned();
    }
    let done = nodes.iter().filter(|node| node.state == "Installed").count();
    format!("{done}/{}", nodes.len())
}

/// The phase as shown: a Provisioning that nobody looked at yet has none.
pub fn phase(provisioning: &Provisioning) -> String {
    match provisioning.status.phase.as_str() {
        phase
            if provisioning.metadata.is_deleting()
                && !matches!(phase, "Resetting" | "Releasing") =>
        {
            "Deleting".to_owned()
        }
        "" => "New".to_owned(),
        phase => phase.to_owned(),
    }
}

/// The one sentence that says why it is where it is.
pub fn message(provisioning: &Provisioning) -> String {
    let status = &provisioning.status;
    if status.phase.is_empty() {
        // At the very end of a deletion the status is gone before the object is.
        let gone = provisioning.metadata.is_deleting();
        return if gone { "" } else { "no coordinator has looked at it yet" }.to_owned();
    }
    let failed = matches!(status.phase.as_str(), "Failed" | "Cancelled");
    if let Some(run) = status.run.as_ref().filter(|run| failed && !run.message.is_empty()) {
        return run.message.clone();
    }
    let conditions = &status.conditions.0;
    let waiting = conditions
        .iter()
        .find(|c| c.kind != "Ready" && c.status != ConditionStatus::True && !c.message.is_empty());
    let ready = status.conditions.get("Ready").filter(|c| !c.message.is_empty());
    // A `Ready` that does not hold only points at what it waits for.
    let holds = ready.filter(|c| c.status == ConditionStatus::True);
    // While it goes, the conditions of the install are of the past.
    let ready_first = if provisioning.metadata.is_deleting() { ready } else { holds };
    ready_first.or(waiting).or(ready).map(|c| c.message.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn conditions_speak_and_unknown_ones_keep_their_name() {
        assert_eq!(condition("Ready", ConditionStatus::True), "the cluster is up and answers");
        assert_eq!(condition("HostsMatched", ConditionStatus::False), "not every node has a host");
        assert!(condition("Installed", ConditionStatus::Unknown).starts_with("not known yet"));
        assert_eq!(condition("Novel", ConditionStatus::True), "Novel");
    }

    #[test]
    fn the_sentence_is_the_reason_that_matters() {
        let mut provisioning = testing::failed();
        assert!(message(&provisioning).contains("wrong password"), "{}", message(&provisioning));
        provisioning.status.run = None;
        assert!(message(&provisioning).contains("log in"), "{}", message(&provisioning));
        provisioning.status = Default::default();
        assert_eq!(phase(&provisioning), "New");
        assert_eq!(ready_nodes(&provisioning), "-");
    }
}
