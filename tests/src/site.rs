//! A lab with a coordinator in its management namespace and an agent on its bootstrap host.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::kubernetes::User;
use crate::lab::Lab;
use crate::management::{Management, World};
use crate::process::{Process, Ran, run};
use crate::wait::until;
use crate::{binary, root};

/// Port of the coordinator.
const PORT: u16 = 7443;

/// Everything that one scenario runs on.
pub struct Site {
    // Before the lab: what leads into its namespaces goes first.
    pub management: Management,
    pub lab: Lab,
    pub dir: PathBuf,
    pub coordinator: Option<Process>,
    pub agent: Option<Process>,
    pub bundle: PathBuf,
}

/// What a scenario may choose.
pub struct Options<'a> {
    pub world: World,
    pub lab: &'a [&'a str],
    /// `lite`, `full`.
    pub bundle: &'a str,
    /// More lines for the agent's configuration.
    pub agent_config: &'a str,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            world: World::Directory,
            lab: &["--hosts", "3", "--kind", "ns", "--server", "kea"],
            bundle: "lite",
            agent_config: "",
        }
    }
}

pub(crate) fn built(tool: &str, args: &[&str]) -> PathBuf {
    PathBuf::from(run(Command::new(root().join(tool)).args(args)).ok().out.trim())
}

fn private(path: &Path, text: &str) {
    fs::write(path, text).expect("the test's directory can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("mode can be set");
}

impl Site {
    /// Lab up, coordinator up, site joined and approved, agent running.
    pub fn up(name: &str, options: &Options<'_>) -> Self {
        let mut site = Self::prepared(name, options);
        site.go();
        site
    }

    /// Coordinator up, site joined and approved, agent running.
    pub fn go(&mut self) {
        let site = self;
        site.start_coordinator();
        let line = site.join_line();
        site.join(&line).ok();
        site.start_agent();
        site.approve_site("edge");
        site.wait_connected();
    }

    /// Lab up and files written; nothing of ours runs yet.
    pub fn prepared(name: &str, options: &Options<'_>) -> Self {
        let bundle = built("tests/bundle/build", &[options.bundle]);
        let text = bundle.display().to_string();
        let name = &options.world.lab(name);
        let lab = Lab::up(name, &[options.lab, &["--bundle", &text]].concat());
        let dir = PathBuf::from("/run/bpa-test").join(name);
        let _ = fs::remove_dir_all(&dir);
        for sub in ["state", "agent"] {
            fs::create_dir_all(dir.join(sub)).expect("the test's directory can be made");
        }
        let management = Management::new(options.world, name, &lab, &dir);
        let site = Self { management, lab, dir, coordinator: None, agent: None, bundle };
        site.management.write_hosts(&site.lab.manifests());
        site.write_credentials(None);
        site.write_agent_config(options.agent_config);
        site
    }

    /// The coordinator's state.
    pub fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// Credentials of the hosts; `password` replaces the right one.
    pub fn write_credentials(&self, password: Option<&str>) {
        let host = &self.lab.info.hosts[0];
        let mut text = format!(
            "[default]\nuser = \"{}\"\npassword = \"{}\"\n",
            host.user,
            password.unwrap_or(&host.password)
        );
        if let Some(sudo) = &host.sudo_password {
            text.push_str(&format!("sudo_password = \"{sudo}\"\n"));
        }
        private(&self.dir.join("credentials.toml"), &text);
    }

    fn write_agent_config(&self, more: &str) {
        let boot = &self.lab.info.boot;
        let ansible = built("tests/bundle/ansible", &[]);
        let text = format!(
            r#"state_dir = "{dir}/agent"
credentials = "{dir}/credentials.toml"

[[lease]]
kind = "{kind}"
path = "{path}"

[[bundle]]
path = "{bundle}"
ansible_bin = "{ansible}/bin"
vars = {{ files_repo = "{files}" }}
{more}
"#,
            dir = self.dir.display(),
            kind = boot.leases.kind,
            path = boot.leases.path,
            bundle = self.bundle.display(),
            ansible = ansible.display(),
            files = boot.files_url.as_deref().unwrap_or(""),
        );
        private(&self.dir.join("agent.toml"), &text);
    }

    /// Uses a changed copy of the bundle from the next agent start on.
    pub fn use_bundle(&mut self, bundle: PathBuf) {
        let path = self.dir.join("agent.toml");
        let text = fs::read_to_string(&path).expect("the configuration is there");
        private(
            &path,
            &text.replace(&self.bundle.display().to_string(), &bundle.display().to_string()),
        );
        self.bundle = bundle;
    }

    pub fn start_coordinator(&mut self) {
        let state = self.state().display().to_string();
        let listen = format!("{}:{PORT}", self.lab.info.mgmt.address);
        self.coordinator = Some(Process::start(
            &self.lab.info.mgmt.netns,
            &binary("bpa-coordinator"),
            &["run", "--state", &state, "--listen", &listen, "--advertise", &listen],
            &self.management.environment(User::Coordinator),
            &self.dir.join("coordinator.log"),
        ));
    }

    pub fn start_agent(&mut self) {
        let config = self.dir.join("agent.toml").display().to_string();
        self.agent = Some(Process::start(
            &self.lab.info.boot.netns,
            &binary("bpa-agent"),
            &["run", "--config", &config],
            &[],
            &self.dir.join("agent.log"),
        ));
    }

    /// kill -9 of the coordinator.
    pub fn kill_coordinator(&mut self) {
        self.coordinator.take().expect("the coordinator runs").kill();
    }

    /// kill -9 of the agent.
    pub fn kill_agent(&mut self) {
        self.agent.take().expect("the agent runs").kill();
    }

    /// A command of `bpa-coordinator` in the management namespace.
    pub fn ctl(&self, args: &[&str]) -> Ran {
        run(Command::new("ip")
            .args(["netns", "exec", &self.lab.info.mgmt.netns])
            .arg(binary("bpa-coordinator"))
            .args(args)
            .envs(self.management.environment(User::Other))
            .env("BPA_STATE", self.state()))
    }

    /// A command of `bpa-agent` on the bootstrap host.
    pub fn agentctl(&self, args: &[&str]) -> Ran {
        run(Command::new("ip")
            .args(["netns", "exec", &self.lab.info.boot.netns])
            .arg(binary("bpa-agent"))
            .args(args)
            .env("BPA_CONFIG", self.dir.join("agent.toml")))
    }

    /// The one-use line of a new site.
    pub fn join_line(&self) -> String {
        let advertise = format!("{}:{PORT}", self.lab.info.mgmt.address);
        let ran = self.ctl(&["site", "add", "edge", "--advertise", &advertise]).ok();
        let line = ran.out.split_whitespace().find(|word| word.starts_with("bpa1."));
        line.unwrap_or_else(|| panic!("no join line in: {}", ran.text())).to_owned()
    }

    pub fn join(&self, line: &str) -> Ran {
        self.agentctl(&["join", line])
    }

    pub fn wait_connected(&self) {
        until("the site to be connected and approved", 30, || {
            let site = self.get("sites", "edge")?;
            let connected = site["status"]["connected"] == true && site["spec"]["approved"] == true;
            if connected { Ok(()) } else { Err(site["status"].to_string()) }
        });
    }

    /// The status of a Provisioning.
    pub fn status(&self, name: &str) -> Result<Value, String> {
        Ok(self.get("provisionings", name)?["status"].clone())
    }

    /// Waits until a Provisioning is no more.
    pub fn wait_gone(&self, name: &str, seconds: u64) {
        until(&format!("{name} to be gone"), seconds, || match self.status(name) {
            // Our exit code, kubectl's word: no other failure is taken for it.
            Err(words) if words.starts_with("exit 4") || words.contains("(NotFound)") => Ok(()),
            Err(words) => Err(words),
            Ok(status) => Err(status.to_string()),
        });
    }

    /// Waits until the phase is one of these; fails early when it is `Failed` or `Invalid` and that
    /// was not asked for.
    pub fn wait_phase(&self, name: &str, phases: &[&str], seconds: u64) -> Value {
        let last = until(&format!("{name} to be {phases:?}"), seconds, || {
            let object = self.get("provisionings", name)?;
            let status = object["status"].clone();
            let asked = &object["metadata"]["annotations"]["bpa.akraino.org/retry"];
            if !asked.is_null() && *asked != status["handledRetry"] {
                return Err(format!("the retry was not looked at yet: {status}"));
            }
            let phase = status["phase"].as_str().unwrap_or_default();
            let stop = ["Failed", "Invalid", "Cancelled"].contains(&phase);
            if phases.contains(&phase) || stop { Ok(status) } else { Err(status.to_string()) }
        });
        let phase = last["phase"].as_str().unwrap_or_default();
        assert!(
            phases.contains(&phase),
            "{name} is {phase}, wanted {phases:?}\n{}",
            self.describe(name)
        );
        last
    }

    /// Waits until this condition has this reason; gives its message.
    pub fn wait_condition(&self, name: &str, kind: &str, reason: &str, seconds: u64) -> String {
        until(&format!("{name} {kind}={reason}"), seconds, || {
            let status = self.status(name)?;
            let found =
                status["conditions"].as_array().into_iter().flatten().find(|c| c["type"] == kind);
            match found {
                Some(c) if c["reason"] == reason => {
                    Ok(c["message"].as_str().unwrap_or_default().to_owned())
                }
                _ => Err(status["conditions"].to_string()),
            }
        })
    }

    /// Waits until a run's step has begun (or is over).
    pub fn wait_step(&self, name: &str, step: &str, seconds: u64) {
        until(&format!("step {step} of {name}"), seconds, || {
            let status = self.status(name)?;
            let steps = status["run"]["steps"].as_array().cloned().unwrap_or_default();
            if steps.iter().any(|s| s["name"] == step) {
                Ok(())
            } else {
                Err(status["run"].to_string())
            }
        });
    }

    /// Every run that the agent's journal holds.
    pub fn runs(&self) -> Vec<Value> {
        let ran = self.agentctl(&["runs", "--output", "json"]).ok();
        let value: Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}", ran.out));
        value.get("runs").unwrap_or(&value).as_array().cloned().unwrap_or_default()
    }

    /// Exactly one run, ended once: by the agent's journal and by the coordinator's record.
    pub fn assert_one_run_ended_once(&self) {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "one run, found {runs:?}");
        for entry in fs::read_dir(self.state().join("runs")).expect("runs are kept").flatten() {
            let path = entry.path().join("events.jsonl");
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let ends = text.lines().filter(|l| l.contains("\"Ended\"")).count();
            assert_eq!(ends, 1, "{}: ended {ends} times", path.display());
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.agent = None;
        self.coordinator = None;
        if std::thread::panicking() {
            for log in ["coordinator.log", "agent.log"] {
                let text = fs::read_to_string(self.dir.join(log)).unwrap_or_default();
                let tail: Vec<&str> = text.lines().rev().take(40).collect();
                eprintln!("--- the end of {log}:");
                tail.iter().rev().for_each(|line| eprintln!("{line}"));
            }
        }
    }
}
