//! The clients: one for reading and watching, one for writing.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::options::KubernetesOptions;
use crate::cluster::WorldError;

/// The pod's own namespace, as Kubernetes mounts it.
const POD_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// An API server that can't be connected to in this time is away.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// A way to the API server.
#[derive(Clone)]
pub struct Connection {
    pub client: Client,
    /// With what the client was made.
    pub config: Config,
    /// Its address, as people know it.
    pub server: String,
    /// Namespace of our own objects.
    pub system_namespace: String,
}

/// The settings for a client, from a file, the environment or the pod.
///
/// # Errors
/// [`WorldError::Connect`] with what was looked at.
pub async fn config(options: &KubernetesOptions) -> Result<Config, WorldError> {
    let problem = |server: String, message: String| WorldError::Connect { server, message };
    let Some(path) = &options.kubeconfig else {
        return Config::infer().await.map_err(|error| {
            let message = format!(
                "{error}; give --kubeconfig FILE, set KUBECONFIG, or run it in a pod with a service account"
            );
            problem("an unknown address".to_owned(), message)
        });
    };
    let place = format!("the address in {}", path.display());
    let read = Kubeconfig::read_from(path).map_err(|e| problem(place.clone(), e.to_string()))?;
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(read, &options)
        .await
        .map_err(|error| problem(place, error.to_string()))
}

/// Makes the client. Nothing is asked of the server yet.
///
/// # Errors
/// [`WorldError::Connect`] when the settings can't be used.
pub fn connect(mut config: Config, options: &KubernetesOptions) -> Result<Connection, WorldError> {
    // A second call finds it installed; both are the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = config.cluster_url.to_string();
    config.connect_timeout = Some(CONNECT_LIMIT);
    // The client's own retries may wait for minutes and know nothing of lost leadership.
    config.default_retry = false;
    let client = Client::try_from(config.clone()).map_err(|error| WorldError::Connect {
        server: server.clone(),
        message: error.to_string(),
    })?;
    let pod = pod_namespace(Path::new(POD_NAMESPACE));
    let system_namespace = options.system_namespace(pod.as_deref());
    Ok(Connection { client, config, server, system_namespace })
}

fn pod_namespace(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let name = text.trim();
    crate::cluster::kind::is_dns_label(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_kubeconfig_that_cannot_be_used_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kubeconfig");
        std::fs::write(&path, "clusters: 7").unwrap();
        for path in [dir.path().join("none"), path] {
            let options =
                KubernetesOptions { kubeconfig: Some(path.clone()), ..Default::default() };
            let error = config(&options).await.unwrap_err().to_string();
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
    }

    #[test]
    fn the_pods_namespace_is_read_and_nothing_odd_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("namespace");
        assert_eq!(pod_namespace(&path), None);
        std::fs::write(&path, "edge\n").unwrap();
        assert_eq!(pod_namespace(&path).as_deref(), Some("edge"));
        std::fs::write(&path, "../x").unwrap();
        assert_eq!(pod_namespace(&path), None);
    }
}
