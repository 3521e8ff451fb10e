//! The lab (`tests/lab/lab`) as a value; it goes away with the value, also when a test panics.

use std::process::Command;

use serde::Deserialize;

use crate::process::{Ran, run};
use crate::root;

/// What `lab up --json` says.
#[derive(Clone, Debug, Deserialize)]
pub struct LabInfo {
    pub name: String,
    pub dir: String,
    pub mgmt: Place,
    pub boot: Boot,
    pub hosts: Vec<Host>,
}

/// A namespace with an address.
#[derive(Clone, Debug, Deserialize)]
pub struct Place {
    pub netns: String,
    pub address: String,
}

/// The bootstrap host.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Boot {
    pub netns: String,
    pub address: String,
    pub leases: Leases,
    pub files_url: Option<String>,
}

/// Where the DHCP server keeps its leases.
#[derive(Clone, Debug, Deserialize)]
pub struct Leases {
    pub kind: String,
    pub path: String,
}

/// One host.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    pub name: String,
    pub mac: String,
    pub address: Option<String>,
    pub user: String,
    pub password: String,
    pub sudo_password: Option<String>,
}

/// A lab that is up.
pub struct Lab {
    pub info: LabInfo,
}

fn tool() -> Command {
    Command::new(root().join("tests/lab/lab"))
}

impl Lab {
    /// `lab up NAME OPTIONS`; a lab of that name that an earlier run left is removed first.
    pub fn up(name: &str, options: &[&str]) -> Self {
        run(tool().args(["down", name]));
        let ran = run(tool().args(["up", name, "--json"]).args(options)).ok();
        let info = serde_json::from_str(&ran.out)
            .unwrap_or_else(|e| panic!("lab up --json: {e}\n{}", ran.out));
        Self { info }
    }

    /// Any other command of the lab.
    pub fn tool(&self, args: &[&str]) -> Ran {
        run(tool().args(args))
    }

    /// `lab host NAME HOST ACTION`.
    pub fn host(&self, host: &str, action: &[&str]) {
        self.tool(&[&["host", &self.info.name, host], action].concat()).ok();
    }

    /// `lab wan NAME cut|heal`.
    pub fn wan(&self, action: &str) {
        self.tool(&["wan", &self.info.name, action]).ok();
    }

    /// A command inside a place or a host.
    pub fn exec(&self, place: &str, command: &[&str]) -> Ran {
        self.tool(&[&["exec", &self.info.name, place, "--"], command].concat())
    }

    /// BareMetalHosts and HardwareData as Metal3 exports them.
    pub fn manifests(&self) -> String {
        self.tool(&["manifests", &self.info.name]).ok().out
    }

    /// What stands now: addresses may have come since `up`.
    pub fn now(&self) -> LabInfo {
        let ran = self.tool(&["status", &self.info.name, "--json"]).ok();
        serde_json::from_str(&ran.out)
            .unwrap_or_else(|e| panic!("lab status --json: {e}\n{}", ran.out))
    }

    /// The host of this name.
    pub fn get(&self, host: &str) -> &Host {
        self.info.hosts.iter().find(|h| h.name == host).unwrap_or_else(|| panic!("no host {host}"))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if std::env::var_os("BPA_KEEP").is_some() {
            eprintln!("BPA_KEEP: lab {} is left up", self.info.name);
            return;
        }
        let ran = run(tool().args(["down", &self.info.name]));
        if ran.code != 0 {
            eprintln!("lab down {}: {}", self.info.name, ran.text());
        }
    }
}
