//! A bundle at the site: a directory with `bundle.json`, playbooks and, for sites without
//! internet, files.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bpa_common::wire::v1::{BundleReport, OrderKind};
use serde::Deserialize;

use crate::config::BundleConfig;

/// The schema of `bundle.json` that is known here.
const SCHEMA: u32 = 1;

/// `bundle.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub schema: u32,
    pub name: String,
    pub version: String,
    #[serde(default)]
    pub kubespray_contract: String,
    #[serde(default)]
    pub kubernetes_versions: Vec<String>,
    /// Playbooks by what they do: `cluster`, `reset`, and extra ones by their own names.
    pub playbooks: BTreeMap<String, String>,
    #[serde(default)]
    pub expects: Expects,
}

/// What holds after an install.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Expects {
    /// All nodes become Ready.
    #[serde(default)]
    pub nodes_ready: bool,
}

/// A bundle as the configuration names it.
#[derive(Clone, Debug)]
pub struct Bundle {
    pub directory: PathBuf,
    pub manifest: Manifest,
    pub vars: toml::Table,
    ansible_bin: Option<PathBuf>,
    problems: Vec<String>,
}

impl Bundle {
    /// Looks at a configured bundle. One that can't be used comes back with its problems.
    pub fn inspect(config: &BundleConfig) -> Self {
        let mut problems = Vec::new();
        let manifest = manifest(&config.path).unwrap_or_else(|problem| {
            problems.push(problem);
            let name = config.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Manifest {
                schema: SCHEMA,
                name,
                version: String::new(),
                kubespray_contract: String::new(),
                kubernetes_versions: Vec::new(),
                playbooks: BTreeMap::new(),
                expects: Expects::default(),
            }
        });
        let mut bundle = Self {
            directory: config.path.clone(),
            manifest,
            vars: config.vars.clone(),
            ansible_bin: config.ansible_bin.clone(),
            problems,
        };
        if bundle.problems.is_empty() {
            bundle.problems = bundle.missing();
        }
        bundle
    }

    fn missing(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for name in ["cluster", "reset"] {
            match self.manifest.playbooks.get(name) {
                None => problems.push(format!("bundle.json names no playbook `{name}`")),
                Some(file) if !self.directory.join(file).is_file() => {
                    problems.push(format!("{} is missing", self.directory.join(file).display()));
                }
                Some(_) => {}
            }
        }
        let config = self.directory.join("ansible.cfg");
        if !config.is_file() {
            problems.push(format!("{} is missing", config.display()));
        }
        for name in ["ansible-playbook", "ansible-inventory"] {
            if let Err(problem) = self.tool(name) {
                problems.push(problem);
            }
        }
        problems
    }

    /// As the coordinator is told.
    pub fn report(&self) -> BundleReport {
        BundleReport {
            name: self.manifest.name.clone(),
            version: self.manifest.version.clone(),
            kubernetes_versions: self.manifest.kubernetes_versions.clone(),
            problems: self.problems.clone(),
        }
    }

    /// The playbook of a kind of order.
    pub fn playbook(&self, kind: OrderKind) -> Option<PathBuf> {
        let name = match kind {
            OrderKind::Install => "cluster",
            OrderKind::Reset => "reset",
        };
        self.extra_playbook(name)
    }

    /// A playbook by its name in `bundle.json`.
    pub fn extra_playbook(&self, name: &str) -> Option<PathBuf> {
        self.manifest.playbooks.get(name).map(|file| self.directory.join(file))
    }

    /// A program of ansible, from the configured directory or from `PATH`.
    ///
    /// # Errors
    /// Where it was looked for.
    pub fn tool(&self, name: &str) -> Result<PathBuf, String> {
        let runs = |path: &Path| {
            path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
        };
        if let Some(directory) = &self.ansible_bin {
            let path = directory.join(name);
            let said = format!("{} is no program; set `ansible_bin` of the bundle", path.display());
            return runs(&path).then_some(path).ok_or(said);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).map(|dir| dir.join(name)).find(|p| runs(p)).ok_or_else(|| {
            format!(
                "{name} is not in PATH; install ansible-core or set `ansible_bin` of the bundle"
            )
        })
    }

    /// The directory of ansible's programs, for `PATH`.
    pub fn ansible_bin(&self) -> Option<&Path> {
        self.ansible_bin.as_deref()
    }
}

fn manifest(directory: &Path) -> Result<Manifest, String> {
    let path = directory.join("bundle.json");
    let text = std::fs::read(&path).map_err(|e| format!("can't read {}: {e}", path.display()))?;
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|e| format!("{} is wrong: {e}", path.display()))?;
    if manifest.schema != SCHEMA {
        return Err(format!(
            "{} has schema {}, this agent knows {SCHEMA}",
            path.display(),
            manifest.schema
        ));
    }
    let inside = |file: &str| {
        let mut parts = Path::new(file).components();
        parts.all(|part| matches!(part, std::path::Component::Normal(_)))
    };
    match manifest.playbooks.values().find(|file| !inside(file)) {
        Some(file) => Err(format!("{}: the playbook `{file}` is outside", path.display())),
        None => Ok(manifest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(directory: &Path) -> BundleConfig {
        BundleConfig {
            path: directory.join("b"),
            ansible_bin: Some(directory.join("bin")),
            vars: toml::Table::new(),
        }
    }

    fn complete() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("b")).unwrap();
        std::fs::create_dir_all(dir.path().join("bin")).unwrap();
        for file in ["b/cluster.yml", "b/reset.yml", "b/ansible.cfg"] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        for file in ["bin/ansible-playbook", "bin/ansible-inventory"] {
            let path = dir.path().join(file);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let text = r#"{"schema":1,"name":"kubeadm","version":"1.0.0","kubesprayContract":"2.31",
            "kubernetesVersions":["1.35.4"],"expects":{"nodesReady":true},
            "playbooks":{"cluster":"cluster.yml","reset":"reset.yml"}}"#;
        std::fs::write(dir.path().join("b/bundle.json"), text).unwrap();
        dir
    }

    #[test]
    fn a_complete_bundle_has_no_problems() {
        let dir = complete();
        let bundle = Bundle::inspect(&config(dir.path()));
        assert_eq!(bundle.report().problems, [""; 0]);
        assert_eq!(bundle.report().kubernetes_versions, ["1.35.4"]);
        assert!(bundle.manifest.expects.nodes_ready);
        assert_eq!(bundle.playbook(OrderKind::Reset), Some(dir.path().join("b/reset.yml")));
        assert_eq!(bundle.extra_playbook("other"), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let dir = complete();
        std::fs::remove_file(dir.path().join("b/reset.yml")).unwrap();
        std::fs::remove_file(dir.path().join("bin/ansible-inventory")).unwrap();
        let problems = Bundle::inspect(&config(dir.path())).report().problems;
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("reset.yml") && problems[1].contains("ansible_bin"));
    }

    #[test]
    fn a_manifest_that_is_wrong_or_leads_outside_is_a_problem() {
        let dir = complete();
        for text in [
            "{",
            r#"{"schema":2,"name":"x","version":"1","playbooks":{}}"#,
            r#"{"schema":1,"name":"x","version":"1","playbooks":{"cluster":"../../etc/x"}}"#,
        ] {
            std::fs::write(dir.path().join("b/bundle.json"), text).unwrap();
            assert_eq!(Bundle::inspect(&config(dir.path())).report().problems.len(), 1, "{text}");
        }
        let nowhere = BundleConfig { path: "/nowhere".into(), ..config(dir.path()) };
        assert!(Bundle::inspect(&nowhere).report().problems[0].contains("/nowhere"));
    }
}
