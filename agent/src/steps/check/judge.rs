//! What the API server's answers mean. Pure.

use serde::Deserialize;

use super::super::port::StepFailure;
use super::ApiError;

fn failure(reason: &'static str, message: String, fix: &str) -> StepFailure {
    StepFailure { reason, node: None, message, fix: fix.to_owned() }
}

/// A kubeconfig or an answer that can't be understood.
pub(super) fn invalid(message: &str) -> StepFailure {
    failure("KubeconfigInvalid", message.to_owned(), "look at the artifacts of the run")
}

/// What did not work, in words for the user.
pub(super) fn failed(error: &ApiError) -> StepFailure {
    let message = error.to_string();
    match error {
        ApiError::Kubeconfig(_) => invalid(&message),
        ApiError::Untrusted { .. } => failure(
            "ApiUntrusted",
            message,
            "the address in the kubeconfig must be in the API server's certificate \
             (`supplementary_addresses_in_ssl_keys`), and lead to this cluster",
        ),
        ApiError::Unreachable { .. } => failure(
            "ApiUnreachable",
            message,
            "see that the bootstrap host reaches this address, and that kube-apiserver runs",
        ),
        ApiError::Answer { .. } => {
            failure("ApiNotReady", message, "look at kube-apiserver and etcd on the control plane")
        }
    }
}

/// Days until the admin's certificate ends.
pub(super) fn days_left(ends: i64, now: i64) -> Result<u32, StepFailure> {
    let left = (ends - now).div_euclid(86_400);
    u32::try_from(left).map_err(|_| {
        failure(
            "ClientCertificateExpired",
            format!("the kubeconfig's client certificate ended {} days ago", left.unsigned_abs()),
            "see that the clock of the first control plane is right",
        )
    })
}

/// `gitVersion` of `/version`, without `v`.
pub(super) fn version(json: &str) -> Result<String, StepFailure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        git_version: String,
    }
    let version: Version = serde_json::from_str(json).map_err(|e| invalid(&e.to_string()))?;
    Ok(version.git_version.trim_start_matches('v').chars().take(64).collect())
}

#[derive(Deserialize)]
struct List {
    items: Vec<Node>,
}
#[derive(Deserialize)]
struct Node {
    metadata: Meta,
    #[serde(default)]
    status: Status,
}
#[derive(Deserialize)]
struct Meta {
    name: String,
}
#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}
#[derive(Deserialize)]
struct Condition {
    r#type: String,
    status: String,
    #[serde(default)]
    message: String,
}

/// The nodes that should be Ready and are not; none when all are.
pub(super) fn not_ready(json: &str, wanted: &[&str]) -> Result<Option<StepFailure>, StepFailure> {
    let list: List = serde_json::from_str(json).map_err(|e| invalid(&e.to_string()))?;
    let why = |name: &&str| {
        let Some(node) = list.items.iter().find(|n| n.metadata.name == **name) else {
            return Some(format!("{name} has not joined"));
        };
        match node.status.conditions.iter().find(|c| c.r#type == "Ready") {
            Some(condition) if condition.status == "True" => None,
            Some(condition) => {
                let message: String = condition.message.chars().take(200).collect();
                Some(format!("{name} is not Ready ({message})"))
            }
            None => Some(format!("{name} has not said whether it is Ready")),
        }
    };
    let missing: Vec<(&str, String)> =
        wanted.iter().filter_map(|name| why(name).map(|why| (*name, why))).collect();
    let Some((first, _)) = missing.first() else { return Ok(None) };
    let message: Vec<&str> = missing.iter().map(|(_, why)| why.as_str()).collect();
    Ok(Some(StepFailure {
        reason: "NodesNotReady",
        node: Some((*first).to_owned()),
        message: format!(
            "{} of {} nodes are Ready: {}",
            wanted.len() - missing.len(),
            wanted.len(),
            message.join("; ")
        ),
        fix: "look at the kubelet's journal on that node".to_owned(),
    }))
}
