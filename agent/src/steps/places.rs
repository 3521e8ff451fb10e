//! Where the files of a run, and those of its cluster that outlive it, lie.
//!
//! ```text
//! STATE/runs/<run>/            0700; inventory, variables, known_hosts, log, artifacts, attempts
//! STATE/clusters/<name>-<id>/  0700; fact cache, credentials and kubeconfig: they last
//! STATE/cp/<id>/               0700; SSH control sockets: their paths must be short
//! ```

use std::io;
use std::path::{Path, PathBuf};

use bpa_common::wire::v1::{Order, RunId};
use sha2::{Digest, Sha256};

use crate::private;

/// A socket's path may have 108 bytes; ssh adds a name and a suffix of 34 in all.
const LONGEST_CONTROL_PATH: usize = 70;

/// The places of one run.
#[derive(Clone, Debug)]
pub struct Places {
    run: PathBuf,
    cluster: PathBuf,
    control: PathBuf,
}

impl Places {
    /// The places of this order's run. The cluster's are named by the provisioning's uid: another
    /// provisioning of the same name shares nothing with it.
    pub fn new(state_dir: &Path, order: &Order) -> Self {
        let cluster =
            format!("{}-{}", order.cluster.name, short(order.provisioning.uid.as_bytes()));
        let control = format!("cp/{}", short(&order.run.0));
        let mut control_dir = state_dir.join(&control);
        if control_dir.as_os_str().len() > LONGEST_CONTROL_PATH {
            control_dir = Path::new("/tmp").join(control.replace('/', "-")).with_extension("bpa");
        }
        Self {
            run: Self::run_dir(state_dir, order.run),
            cluster: state_dir.join("clusters").join(cluster),
            control: control_dir,
        }
    }

    /// The directory of a run.
    pub fn run_dir(state_dir: &Path, run: RunId) -> PathBuf {
        state_dir.join("runs").join(run.to_string())
    }

    /// The log of a run.
    pub fn log_of(state_dir: &Path, run: RunId) -> PathBuf {
        Self::run_dir(state_dir, run).join("log")
    }

    /// Makes the directories, each 0700. Safe to repeat.
    ///
    /// # Errors
    /// When one can't be made.
    pub fn make(&self) -> io::Result<()> {
        for dir in [
            self.run.clone(),
            self.home(),
            self.temporary(),
            self.become_dir(),
            self.artifacts(),
            self.callbacks(),
            self.facts(),
            self.credentials(),
            self.control.clone(),
        ] {
            private::make_dir(&dir)?;
        }
        Ok(())
    }

    /// Removes what only a running playbook needs, sudo's passwords first. The kubeconfig is kept
    /// with the cluster; a second one in the run's artifacts would outlive it.
    pub fn tidy(&self) {
        let _ = std::fs::remove_file(self.admin_conf());
        for dir in [self.become_dir(), self.control.clone(), self.temporary(), self.home()] {
            if let Err(error) = std::fs::remove_dir_all(&dir)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(path = %dir.display(), %error, "can't remove");
            }
        }
    }

    /// Removes what was kept for the cluster: after a reset there is none.
    pub fn forget_cluster(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.cluster) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    pub fn run(&self) -> &Path {
        &self.run
    }
    pub fn hosts_ini(&self) -> PathBuf {
        self.run.join("hosts.ini")
    }
    pub fn group_vars(&self) -> PathBuf {
        self.run.join("group_vars/all")
    }
    pub fn host_vars(&self) -> PathBuf {
        self.run.join("host_vars")
    }
    /// Variables that win over all others, given by `-e @file`.
    pub fn extra_vars(&self) -> PathBuf {
        self.run.join("extra_vars.json")
    }
    pub fn known_hosts(&self) -> PathBuf {
        self.run.join("known_hosts")
    }
    /// Passwords for sudo, one file per node; removed at the end of the run.
    pub fn become_dir(&self) -> PathBuf {
        self.run.join("become")
    }
    pub fn artifacts(&self) -> PathBuf {
        self.run.join("artifacts")
    }
    /// The kubeconfig as the playbook writes it.
    pub fn admin_conf(&self) -> PathBuf {
        self.artifacts().join("admin.conf")
    }
    pub fn callbacks(&self) -> PathBuf {
        self.run.join("callback")
    }
    pub fn home(&self) -> PathBuf {
        self.run.join("home")
    }
    pub fn temporary(&self) -> PathBuf {
        self.run.join("tmp")
    }
    pub fn log(&self) -> PathBuf {
        self.run.join("log")
    }
    pub fn control(&self) -> &Path {
        &self.control
    }
    pub fn facts(&self) -> PathBuf {
        self.cluster.join("facts")
    }
    pub fn credentials(&self) -> PathBuf {
        self.cluster.join("credentials")
    }
    pub fn kubeconfig(&self) -> PathBuf {
        self.cluster.join("kubeconfig")
    }
}

fn short(bytes: &[u8]) -> String {
    Sha256::digest(bytes)[..4].iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::testing::order;

    #[test]
    fn a_cluster_of_the_same_name_but_another_uid_shares_nothing() {
        let one = order(1);
        let mut two = order(2);
        two.provisioning.uid = "another".into();
        let (a, b) = (Places::new(Path::new("/s"), &one), Places::new(Path::new("/s"), &two));
        assert_ne!(a.facts(), b.facts());
        assert_ne!(a.run(), b.run());
        let mut again = order(3);
        again.provisioning = one.provisioning.clone();
        assert_eq!(Places::new(Path::new("/s"), &again).facts(), a.facts(), "it lasts over runs");
    }

    #[test]
    fn control_sockets_have_short_paths_whatever_the_state_directory() {
        let deep = PathBuf::from(format!("/{}", "x".repeat(90)));
        for state in [Path::new("/var/lib/bpa-agent"), deep.as_path()] {
            let places = Places::new(state, &order(1));
            assert!(places.control().as_os_str().len() <= LONGEST_CONTROL_PATH);
        }
    }

    #[test]
    fn passwords_go_when_a_run_is_over_and_the_cluster_s_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::new(dir.path(), &order(1));
        places.make().unwrap();
        std::fs::write(places.become_dir().join("cp1"), "secret").unwrap();
        places.tidy();
        assert!(!places.become_dir().exists() && !places.control().exists());
        assert!(places.credentials().exists() && places.artifacts().exists());
        places.forget_cluster().unwrap();
        places.forget_cluster().unwrap();
        assert!(!places.credentials().exists());
    }
}
