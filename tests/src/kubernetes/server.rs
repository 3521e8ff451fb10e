//! etcd and kube-apiserver as processes of the test. They end with the test, however it ends.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard};

use rustix::process::{Pid, Signal};

use super::{Kubectl, programs};
use crate::process::run;
use crate::root;
use crate::wait::until;

/// Who asks the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// May do everything.
    Admin,
    /// The coordinator's service account: what `deploy/rbac.yaml` says.
    Coordinator,
    /// A user who may do everything, told apart in the server's eyes: another writer.
    Other,
}

impl User {
    fn token(self) -> &'static str {
        match self {
            Self::Admin => "admin-token",
            Self::Coordinator => "coordinator-token",
            Self::Other => "other-token",
        }
    }
}

const TOKENS: &str = "admin-token,admin,1,system:masters\n\
    other-token,other,2,system:masters\n\
    coordinator-token,system:serviceaccount:bpa-system:bpa-coordinator,3,\"system:serviceaccounts,system:serviceaccounts:bpa-system\"\n";

/// The two processes.
#[derive(Default)]
struct Processes {
    etcd: Option<Child>,
    api: Option<Child>,
}

/// A running control plane: an API and its store.
pub struct ControlPlane {
    dir: PathBuf,
    pub port: u16,
    etcd: u16,
    etcd_peer: u16,
    processes: Mutex<Processes>,
}

impl ControlPlane {
    /// Starts both and waits until the API is ready. No definitions are there yet.
    pub fn start() -> Self {
        let dir = own_dir();
        std::fs::write(dir.join("tokens.csv"), TOKENS).expect("the tokens can be written");
        let key = dir.join("sa.key").display().to_string();
        run(Command::new("openssl").args(["genrsa", "-out", &key, "2048"])).ok();
        let [port, etcd, etcd_peer] = free_ports();
        let plane = Self { dir, port, etcd, etcd_peer, processes: Mutex::default() };
        plane.start_etcd();
        plane.start_api();
        plane.wait_ready();
        plane
    }

    fn lock(&self) -> MutexGuard<'_, Processes> {
        self.processes.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Starts etcd, again or for the first time, on the same data.
    pub fn start_etcd(&self) {
        let client = format!("http://127.0.0.1:{}", self.etcd);
        let peer = format!("http://127.0.0.1:{}", self.etcd_peer);
        let args = [
            format!("--data-dir={}", self.dir.join("etcd").display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            "--unsafe-no-fsync".to_owned(),
        ];
        self.lock().etcd = Some(self.spawn("etcd", &args));
    }

    /// Starts the API server, again or for the first time.
    pub fn start_api(&self) {
        let path = |name: &str| self.dir.join(name).display().to_string();
        let args = [
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd),
            format!("--secure-port={}", self.port),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", path("certs")),
            format!("--service-account-key-file={}", path("sa.key")),
            format!("--service-account-signing-key-file={}", path("sa.key")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--token-auth-file={}", path("tokens.csv")),
            "--authorization-mode=RBAC".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/24".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--shutdown-delay-duration=0s".to_owned(),
        ];
        self.lock().api = Some(self.spawn("kube-apiserver", &args));
    }

    /// Waits until the API says that it is ready.
    pub fn wait_ready(&self) {
        until("the API certificate", 60, || {
            std::fs::read(self.dir.join("certs/apiserver.crt")).map_err(|e| e.to_string())
        });
        let kubectl = self.kubectl(User::Admin);
        until("the API to be ready", 120, || {
            let ran = kubectl.try_run(&["get", "--raw", "/readyz"], "");
            let log = self.log("kube-apiserver");
            if ran.out == "ok" { Ok(()) } else { Err(format!("{} (log: {log})", ran.err)) }
        });
    }

    /// kill -9 of the API server.
    pub fn kill_api(&self) {
        end(self.lock().api.take());
    }

    /// kill -9 of etcd.
    pub fn kill_etcd(&self) {
        end(self.lock().etcd.take());
    }

    /// Stops the API server's clock: it answers nothing, but its connections stay.
    pub fn pause_api(&self, paused: bool) {
        let signal = if paused { Signal::STOP } else { Signal::CONT };
        let processes = self.lock();
        let child = processes.api.as_ref().expect("the API server runs");
        rustix::process::kill_process(Pid::from_child(child), signal).expect("it can be signalled");
    }

    /// Has the store forget all versions but the newest: watches can't go on from where they were.
    /// The store must run.
    pub fn compact(&self) {
        let ask = |path: &str, body: &str| {
            let url = format!("http://127.0.0.1:{}/v3/kv/{path}", self.etcd);
            run(Command::new("curl").args(["-sS", "--fail", "-X", "POST", "-d", body, &url]))
        };
        let newest = until("etcd to answer", 30, || {
            let ran = ask("range", r#"{"key": "AA=="}"#);
            let value: serde_json::Value =
                serde_json::from_str(&ran.out).map_err(|e| format!("{e}: {}", ran.text()))?;
            let newest = value["header"]["revision"].as_str().unwrap_or_default().to_owned();
            if newest.is_empty() { Err(ran.out) } else { Ok(newest) }
        });
        ask("compaction", &format!(r#"{{"revision": "{newest}", "physical": true}}"#)).ok();
    }

    /// The controllers that delete what is in a namespace that goes, and what has lost its owner.
    pub fn start_controllers(&self) -> Controllers {
        let args = [
            format!("--kubeconfig={}", self.kubeconfig(User::Admin).display()),
            "--controllers=namespace-controller,garbage-collector-controller".to_owned(),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        Controllers(Some(self.spawn("kube-controller-manager", &args)))
    }

    /// Metal3's published definitions and ours, and the coordinator's rights.
    pub fn install_definitions(&self) {
        let kubectl = self.kubectl(User::Admin);
        let metal3 = root().join("../shared/metal3-crds");
        let ours = root().join("deploy/crds");
        for dir in [&metal3, &ours] {
            let dir = dir.display().to_string();
            kubectl.run(&["apply", "--server-side", "-f", &dir]);
        }
        let rbac = root().join("deploy/rbac.yaml").display().to_string();
        kubectl.run(&["apply", "-f", &rbac]);
        until("the definitions to be served", 30, || {
            let kinds = ["provisionings.bpa.akraino.org", "baremetalhosts.metal3.io"];
            let ran = kubectl.try_run(&["get", &kinds.join(",")], "");
            if ran.code == 0 { Ok(()) } else { Err(ran.err) }
        });
    }

    /// kubectl as this user.
    pub fn kubectl(&self, user: User) -> Kubectl {
        Kubectl::new(self.kubeconfig(user))
    }

    /// A new namespace, and kubectl in it.
    pub fn namespace(&self, name: &str) -> Kubectl {
        let kubectl = self.kubectl(User::Admin);
        kubectl.run(&["create", "namespace", name]);
        kubectl.in_namespace(name)
    }

    /// A kubeconfig file of this user.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        let path = self.dir.join(format!("{user:?}.kubeconfig"));
        // Other threads read it: it is there as a whole or not at all.
        let _one = self.lock();
        if !path.exists() {
            let new = path.with_extension("new");
            std::fs::write(&new, self.kubeconfig_text(user)).expect("a kubeconfig can be written");
            std::fs::rename(&new, &path).expect("a kubeconfig can be renamed");
        }
        path
    }

    fn kubeconfig_text(&self, user: User) -> String {
        let authority = self.dir.join("certs/apiserver.crt").display().to_string();
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters: [{{name: test, cluster: {{server: \"https://127.0.0.1:{}\", certificate-authority: \"{authority}\"}}}}]\n\
             users: [{{name: test, user: {{token: {}}}}}]\n\
             contexts: [{{name: test, context: {{cluster: test, user: test}}}}]\n",
            self.port,
            user.token()
        )
    }

    /// The end of a process's log.
    pub fn log(&self, program: &str) -> String {
        let text = std::fs::read(self.dir.join(format!("{program}.log"))).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let from = text.char_indices().rev().nth(2000).map_or(0, |(at, _)| at);
        text[from..].to_owned()
    }

    /// Started by a thread that never ends: the kernel kills the child when that thread is gone,
    /// which is when the test process is.
    fn spawn(&self, program: &str, args: &[String]) -> Child {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.dir.join(format!("{program}.log")))
            .expect("a log can be written");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(programs().join(program)).args(args);
        command.stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a log handle can be copied")).stderr(log);
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = tell.send(command.spawn());
            loop {
                std::thread::park();
            }
        });
        told.recv().expect("the thread tells").expect("setpriv starts")
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        self.kill_api();
        self.kill_etcd();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A running kube-controller-manager; it ends with the value.
pub struct Controllers(Option<Child>);

impl Drop for Controllers {
    fn drop(&mut self) {
        end(self.0.take());
    }
}

fn end(child: Option<Child>) {
    if let Some(mut child) = child {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A directory of this process; those of processes that are gone are removed.
fn own_dir() -> PathBuf {
    const PREFIX: &str = "bpa-control-plane-";
    let base = std::env::temp_dir();
    for entry in std::fs::read_dir(&base).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let dir = tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .tempdir_in(&base)
        .expect("a temporary directory can be made");
    dir.keep()
}

/// Ports that nobody listens on just now.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners: [TcpListener; N] =
        std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").expect("a port is free"));
    listeners.map(|listener| listener.local_addr().expect("it listens").port())
}
