//! Takes the kubeconfig that the playbook wrote, and keeps it with the cluster's files.

mod kubeconfig;
#[cfg(test)]
pub(crate) mod testing;

use std::io::Read;

pub use kubeconfig::{Kubeconfig, KubeconfigError};

use super::places::Places;
use super::port::StepFailure;
use crate::private;

/// A kubeconfig is some 6 KiB.
const LIMIT: u64 = 1 << 20;

/// Reads `admin.conf` from the run's artifacts, makes sure that it can be used, and keeps it (0600)
/// where it outlives the run.
///
/// # Errors
/// When there is none, or it is not what a kubeconfig must be.
pub fn collect(places: &Places) -> Result<Kubeconfig, StepFailure> {
    let path = places.admin_conf();
    let mut text = Vec::new();
    let read = std::fs::File::open(&path).and_then(|f| f.take(LIMIT).read_to_end(&mut text));
    if let Err(error) = read {
        return Err(StepFailure {
            reason: "KubeconfigMissing",
            node: None,
            message: format!("the playbook left no kubeconfig at {}: {error}", path.display()),
            fix: "the bundle must honour `kubeconfig_localhost` and `artifacts_dir`".to_owned(),
        });
    }
    let kubeconfig = Kubeconfig::parse(&text).map_err(|e| wrong(&e))?;
    private::write(&places.kubeconfig(), &text).map_err(|error| StepFailure {
        reason: "KubeconfigNotKept",
        node: None,
        message: format!("can't keep {}: {error}", places.kubeconfig().display()),
        fix: "free some space on the bootstrap host".to_owned(),
    })?;
    Ok(kubeconfig)
}

/// The kubeconfig that an earlier execution has kept.
///
/// # Errors
/// When it is gone or damaged.
pub fn kept(places: &Places) -> Result<Kubeconfig, StepFailure> {
    let path = places.kubeconfig();
    match std::fs::read(&path) {
        Ok(text) => Kubeconfig::parse(&text).map_err(|e| wrong(&e)),
        Err(_) => collect(places),
    }
}

fn wrong(error: &KubeconfigError) -> StepFailure {
    StepFailure {
        reason: "KubeconfigInvalid",
        node: None,
        message: error.to_string(),
        fix: "look at admin.conf in the run's artifacts; the playbook wrote it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::runs::testing::order;

    #[test]
    fn the_kubeconfig_is_kept_private_and_outlives_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::new(dir.path(), &order(1));
        places.make().unwrap();
        assert_eq!(collect(&places).unwrap_err().reason, "KubeconfigMissing");
        std::fs::write(places.artifacts().join("admin.conf"), "nonsense: [").unwrap();
        assert_eq!(collect(&places).unwrap_err().reason, "KubeconfigInvalid");
        let authority = testing::Authority::new();
        let text = authority.kubeconfig("https://10.0.0.1:6443", 300);
        std::fs::write(places.artifacts().join("admin.conf"), &text).unwrap();
        assert_eq!(collect(&places).unwrap().server(), "https://10.0.0.1:6443");
        let mode = places.kubeconfig().metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        std::fs::remove_dir_all(places.run()).unwrap();
        assert_eq!(kept(&places).unwrap().server(), "https://10.0.0.1:6443");
    }
}
