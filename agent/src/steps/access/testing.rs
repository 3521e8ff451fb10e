//! What tests of hosts share: targets, and a real sshd on loopback.
//!
//! The sshd runs in a mount namespace of its own, with its own accounts, homes, sudoers and network
//! interfaces (as far as /sys tells), so that tests need no account of this machine and leave none.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bpa_common::net::MacAddress;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{Access, AccessContext, Pins, Progress, SiteKey, prepare};
use crate::credentials::CredentialSource;
use crate::steps::{NodeTarget, StepFailure};

/// The password of both accounts, `root` and `ops`.
pub(crate) const PASSWORD: &str = "Marked-pa55 'word\"";
/// The MAC that the sshd's machine seems to have.
pub(crate) const MAC: MacAddress = MacAddress::new([0x52, 0x54, 0, 0xaa, 0, 1]);
const OPS: u32 = 4242;

/// A machine on loopback with one MAC.
pub(crate) fn target(name: &str, port: u16) -> NodeTarget {
    NodeTarget {
        name: name.into(),
        host: name.into(),
        address: Ipv4Addr::LOCALHOST.into(),
        port,
        macs: vec![MAC],
        serial: None,
        host_uid: format!("uid-{name}"),
        installation: "one".into(),
        control_plane: true,
        cpu: None,
        memory_bytes: None,
        disk_bytes: None,
    }
}

/// A port that nobody listens on, a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A running sshd. Ends when dropped.
pub(crate) struct Sshd {
    dir: TempDir,
    pub port: u16,
    child: Option<Child>,
}

const ENTER: &str = r#"set -e
cd "$1"
mount --bind passwd /etc/passwd
mount --bind shadow /etc/shadow
mount --bind net /sys/class/net
mount --bind run /run
mount --bind sudoers /etc/sudoers
mount -t tmpfs tmpfs /etc/sudoers.d
exec /usr/sbin/sshd -D -e -f "$1/sshd_config"
"#;

impl Sshd {
    /// An sshd with further lines of sshd_config.
    pub fn start(config: &str) -> Self {
        Self::start_with(config, "ops ALL=(ALL) ALL\n")
    }

    /// The same with these rules for sudo.
    pub fn start_with(config: &str, sudoers: &str) -> Self {
        let mut sshd = Self::prepared(config, sudoers, free_port());
        sshd.run();
        sshd
    }

    /// Everything but running.
    pub fn prepared(config: &str, sudoers: &str, port: u16) -> Self {
        let root = rustix::process::geteuid().is_root();
        assert!(root, "these tests start an sshd with accounts of its own: run them as root");
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["root", "home", "home/ops", "net/lan0", "net/lo", "run/sshd"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::set_permissions(at("run/sshd"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(at("home/ops"), Some(OPS), Some(OPS)).unwrap();
        fs::write(at("net/lan0/address"), format!("{MAC}\n")).unwrap();
        fs::write(at("net/lo/address"), "00:00:00:00:00:00\n").unwrap();
        write_accounts(dir.path());
        fs::write(at("sudoers"), format!("Defaults !lecture\nroot ALL=(ALL) ALL\n{sudoers}"))
            .unwrap();
        fs::set_permissions(at("sudoers"), fs::Permissions::from_mode(0o440)).unwrap();
        make_host_key(&at("host_key"), "ed25519");
        let text = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\nUseDNS no\nLogLevel VERBOSE\n{config}\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication yes\n",
            at("host_key").display()
        );
        fs::write(at("sshd_config"), text).unwrap();
        Self { dir, port, child: None }
    }

    /// Starts it, and waits until it listens.
    pub fn run(&mut self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path("log")).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh"]);
        command.arg(self.dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().unwrap());
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "no sshd: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the listener; connections stay.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// As after a new installation of the OS, or another machine at the same address.
    pub fn change_host_key(&mut self) {
        self.stop();
        fs::remove_file(self.path("host_key")).unwrap();
        make_host_key(&self.path("host_key"), "ed25519");
        self.run();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// What root's authorized_keys hold.
    pub fn keys_of_root(&self) -> String {
        fs::read_to_string(self.path("root/.ssh/authorized_keys")).unwrap_or_default()
    }

    /// The machine behind it.
    pub fn target(&self) -> NodeTarget {
        target("host1", self.port)
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn make_host_key(path: &Path, kind: &str) {
    let mut command = Command::new("ssh-keygen");
    let made = command.args(["-q", "-t", kind, "-N", "", "-f"]).arg(path).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

fn write_accounts(dir: &Path) {
    let mut command = Command::new("openssl");
    let hash = command.args(["passwd", "-6", PASSWORD]).output().unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap();
    let hash = hash.trim();
    let machine = fs::read_to_string("/etc/passwd").unwrap();
    let others = machine.lines().filter(|l| !l.starts_with("root:")).collect::<Vec<_>>().join("\n");
    let at = dir.display();
    let passwd = format!(
        "root:x:0:0::{at}/root:/bin/sh\nops:x:{OPS}:{OPS}::{at}/home/ops:/bin/sh\n{others}\n"
    );
    fs::write(dir.join("passwd"), passwd).unwrap();
    let shadow = format!("root:{hash}:20000:0:99999:7:::\nops:{hash}:20000:0:99999:7:::\n");
    fs::write(dir.join("shadow"), shadow).unwrap();
    fs::set_permissions(dir.join("shadow"), fs::Permissions::from_mode(0o600)).unwrap();
}

/// An agent's side: state, credentials, and what it told.
pub(crate) struct Agent {
    pub state: TempDir,
    pub context: AccessContext,
    pub told: Arc<Mutex<Vec<Progress>>>,
    pub cancel: CancellationToken,
}

impl Agent {
    /// An agent with this credentials file; without a text there is none.
    pub fn new(credentials: Option<&str>) -> Self {
        let state = tempfile::tempdir().unwrap();
        let path = credentials.map(|_| state.path().join("credentials.toml"));
        let context = AccessContext {
            site_key: Arc::new(SiteKey::load_or_create(state.path(), "test").unwrap()),
            credentials: CredentialSource::new(path),
            pins: Pins::new(state.path()),
            ssh_wait: Duration::from_secs(3),
        };
        let agent = Self { state, context, told: Arc::default(), cancel: CancellationToken::new() };
        if let Some(text) = credentials {
            agent.write_credentials(text);
        }
        agent
    }

    /// An agent that knows the password of this account.
    pub fn with_password(user: &str) -> Self {
        Self::new(Some(&format!("[default]\nuser = \"{user}\"\npassword = '''{PASSWORD}'''\n")))
    }

    pub fn write_credentials(&self, text: &str) {
        let path = self.state.path().join("credentials.toml");
        crate::private::write(&path, text.as_bytes()).unwrap();
    }

    pub async fn prepare(&self, target: &NodeTarget) -> Result<Access, StepFailure> {
        let told = Arc::clone(&self.told);
        let tell = move |progress| told.lock().unwrap().push(progress);
        prepare(&self.context, target, &tell, &self.cancel).await
    }

    /// The failure of a preparation that must fail.
    pub async fn refused(&self, target: &NodeTarget) -> StepFailure {
        match self.prepare(target).await {
            Ok(access) => panic!("wanted a failure, got {access:?}"),
            Err(failure) => failure,
        }
    }

    pub fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}
