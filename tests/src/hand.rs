//! What a person does and reads: with our own commands on a directory, with nothing but kubectl on
//! Kubernetes.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::management::Management;
use crate::process::{Ran, run};
use crate::site::{Site, built};

impl Site {
    /// kubectl in the scenario's namespace; only where objects are in a cluster.
    fn hand(&self, ours: &[&str], kubectls: &[&str]) -> Ran {
        match &self.management {
            Management::Directory(_) => self.ctl(ours),
            Management::Kubernetes(cluster) => cluster.kubectl.try_run(kubectls, ""),
        }
    }

    /// Applies a manifest.
    pub fn apply(&self, manifest: &str) -> Ran {
        if let Management::Kubernetes(cluster) = &self.management {
            return cluster.kubectl.try_run(&["apply", "-f", "-"], manifest);
        }
        self.our_apply(manifest)
    }

    /// Applies a manifest with our own command.
    pub fn our_apply(&self, manifest: &str) -> Ran {
        let file = self.dir.join("apply.yaml");
        fs::write(&file, manifest).expect("the test's directory can be written");
        self.ctl(&["apply", "-f", &file.display().to_string()])
    }

    /// Applies a Provisioning of this name and spec (JSON or YAML flow).
    pub fn provision(&self, name: &str, spec: &str) {
        self.apply(&self.manifest(name, spec)).ok();
    }

    /// A Provisioning of this name and spec as a manifest.
    pub fn manifest(&self, name: &str, spec: &str) -> String {
        let namespace = self.management.namespace();
        format!(
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {spec}\n"
        )
    }

    /// Lets a site take orders.
    pub fn approve_site(&self, name: &str) {
        let patch = json!({"spec": {"approved": true}}).to_string();
        let ours = ["site", "approve", name];
        self.hand(&ours, &["patch", "site", name, "--type", "merge", "-p", &patch]).ok();
    }

    /// Deletes a Provisioning.
    pub fn delete(&self, name: &str) {
        let kubectls = ["delete", "provisioning", name, "--wait=false"];
        self.hand(&["delete", "provisioning", name], &kubectls).ok();
    }

    /// Asks for another attempt after a run that failed.
    pub fn retry(&self, name: &str) {
        let word = format!("bpa.akraino.org/retry={}", jiff::Timestamp::now());
        self.hand(&["retry", name], &["annotate", "--overwrite", "bpa", name, &word]).ok();
    }

    /// Stops the run.
    pub fn cancel(&self, name: &str) {
        let status = self.status(name).expect("status can be read");
        let word = format!("bpa.akraino.org/cancel={}", status["run"]["id"].as_str().unwrap_or(""));
        self.hand(&["cancel", name], &["annotate", "--overwrite", "bpa", name, &word]).ok();
    }

    /// One object as JSON; else why not.
    pub fn get(&self, kind: &str, name: &str) -> Result<Value, String> {
        let ran = match &self.management {
            Management::Kubernetes(cluster) if kind == "hosts" => {
                cluster.hosts.try_run(&["get", "bmh", name, "-o", "json"], "")
            }
            _ => self.hand(&["get", kind, name, "-o", "json"], &["get", kind, name, "-o", "json"]),
        };
        if ran.code != 0 {
            return Err(ran.text());
        }
        let value: Value =
            serde_json::from_str(&ran.out).map_err(|e| format!("{e}: {}", ran.out))?;
        Ok(value.get("items").and_then(|i| i.get(0)).cloned().unwrap_or(value))
    }

    /// The whole story of a Provisioning in words.
    pub fn describe(&self, name: &str) -> String {
        self.hand(&["describe", name], &["describe", "provisioning", name]).text()
    }

    /// Asks the new cluster by its kubeconfig, from the bootstrap host: `/readyz`, `nodes` …
    pub fn kubectl(&self, name: &str, args: &[&str]) -> Ran {
        let place = self.kubeconfig_place(name);
        let kubeconfig = self.management.kubeconfig(&place, &self.dir);
        let kubectl = built("tests/peers/build", &[]).join("bin/kubectl");
        run(Command::new("ip")
            .args(["netns", "exec", &self.lab.info.boot.netns])
            .arg(kubectl)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(args))
    }

    /// Where the status says that the new cluster's kubeconfig is.
    pub fn kubeconfig_place(&self, name: &str) -> String {
        let status = self.status(name).expect("status can be read");
        status["kubeconfigSecret"].as_str().expect("the kubeconfig is home").to_owned()
    }
}
