//! Where the API server is and what of it is looked at.

use std::path::PathBuf;

/// Namespace of the coordinator's own objects when nothing says otherwise.
pub const SYSTEM_NAMESPACE: &str = "bpa-system";

/// How to reach the API server, and which namespaces count.
#[derive(Clone, Debug, Default)]
pub struct KubernetesOptions {
    /// This kubeconfig; when absent `KUBECONFIG`, `~/.kube/config`, then the pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// Namespaces whose objects count; all when empty.
    pub namespaces: Vec<String>,
    /// Namespace of our own Secret and Lease; when absent the pod's, then [`SYSTEM_NAMESPACE`].
    pub system_namespace: Option<String>,
    /// For a command of a person: a kind that may not be read is a problem that is told, and the
    /// rest is shown. The coordinator itself must see everything.
    pub lenient: bool,
}

impl KubernetesOptions {
    /// The namespaces to watch: `None` is all of them.
    pub fn scopes(&self) -> Vec<Option<String>> {
        let mut names = self.namespaces.clone();
        names.sort();
        names.dedup();
        match names.is_empty() {
            true => vec![None],
            false => names.into_iter().map(Some).collect(),
        }
    }

    /// Namespace of our own objects. `pod` is the namespace of the service account, if there is one.
    pub fn system_namespace(&self, pod: Option<&str>) -> String {
        let own = self.system_namespace.as_deref().or(pod);
        own.unwrap_or(SYSTEM_NAMESPACE).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_namespace_means_all_and_each_is_watched_once() {
        let mut options = KubernetesOptions::default();
        assert_eq!(options.scopes(), [None]);
        options.namespaces = vec!["b".into(), "a".into(), "b".into()];
        assert_eq!(options.scopes(), [Some("a".to_owned()), Some("b".to_owned())]);
    }

    #[test]
    fn our_own_namespace_is_the_one_given_then_the_pods() {
        let mut options = KubernetesOptions::default();
        assert_eq!(options.system_namespace(None), "bpa-system");
        assert_eq!(options.system_namespace(Some("pod")), "pod");
        options.system_namespace = Some("given".into());
        assert_eq!(options.system_namespace(Some("pod")), "given");
    }
}
