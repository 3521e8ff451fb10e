//! Everything that can keep us from a host: what was wanted, what was found, what to do.

use std::time::Duration;

use crate::steps::{NodeTarget, StepFailure};

/// Why there is no access. Each has one reason word, which programs and tests rely on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Nobody answers on the port; `how` is the network's last word.
    Unreachable {
        how: Silence,
        waited: Duration,
    },
    /// Something answers, but the SSH handshake does not come to its end.
    NoHandshake {
        found: String,
    },
    /// No algorithm in common.
    NoAlgorithm {
        found: String,
    },
    HostKeyChanged {
        wanted: String,
        found: String,
        known_as: Option<String>,
    },
    /// A second connection, a moment later, showed another key.
    TwoMachines {
        first: String,
        second: String,
    },
    Pins(String),
    NotPinned,
    Credentials(String),
    NoCredentials {
        user: String,
        source: Option<String>,
    },
    WrongPassword {
        user: String,
        origin: String,
    },
    PasswordNotTaken {
        user: String,
        origin: String,
        taken: String,
    },
    PasswordExpired {
        user: String,
    },
    KeyRefused {
        user: String,
        origin: String,
    },
    LoginRefused {
        user: String,
        found: String,
    },
    KeyNotInstalled {
        user: String,
        found: String,
    },
    KeyNotAccepted {
        user: String,
    },
    NotTheMachine {
        wanted: String,
        found: String,
    },
    NoIdentity {
        found: String,
    },
    NoSudo {
        user: String,
    },
    SudoNotAllowed {
        user: String,
    },
    SudoPasswordMissing {
        user: String,
        origin: Option<String>,
    },
    SudoPasswordWrong {
        user: String,
        origin: String,
    },
    SudoNeedsTty {
        user: String,
    },
    CommandFailed {
        what: String,
        found: String,
    },
    Lost {
        what: String,
        found: String,
    },
    TooSlow {
        what: String,
        limit: Duration,
    },
    TooMuchOutput {
        what: String,
        limit: usize,
    },
    Cancelled,
}

/// How a port stays silent. The three have different causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The machine is up and says that nobody listens.
    Refused,
    /// The network has no way there, or no machine answers for the address.
    NoRoute,
    /// Packets vanish.
    TimedOut,
    /// The connection opens and is closed before SSH begins.
    Closed,
}

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Refused => "connection refused",
            Self::NoRoute => "no route to host",
            Self::TimedOut => "no answer",
            Self::Closed => "the connection is closed at once",
        })
    }
}

impl Silence {
    fn fix(self) -> &'static str {
        match self {
            Self::Refused => {
                "the machine is up, but no SSH server listens: start sshd there, or check the port"
            }
            Self::NoRoute => {
                "check that the machine is powered on, its cable, and that its lease is not an old one"
            }
            Self::TimedOut => {
                "check that the machine is powered on and that no firewall drops the port"
            }
            Self::Closed => {
                "look at sshd's log on the machine (its console): hosts.deny, MaxStartups, missing host keys"
            }
        }
    }
}

impl Problem {
    /// The failure of the step on this node.
    pub(crate) fn on(self, target: &NodeTarget) -> StepFailure {
        let at = format!("{} port {}", target.address, target.port);
        let (reason, message, fix) = match self {
            Self::Cancelled => {
                ("Cancelled", "stopped on request".to_owned(), "run it again".to_owned())
            }
            other => other.connecting(target, &at),
        };
        StepFailure { reason, node: Some(target.name.clone()), message, fix }
    }

    fn connecting(self, target: &NodeTarget, at: &str) -> Words {
        match self {
            Self::Unreachable { how, waited } => (
                "HostUnreachable",
                format!("{at}: {how}, tried for {} s", waited.as_secs()),
                how.fix().to_owned(),
            ),
            Self::NoHandshake { found } => (
                "HostUnreachable",
                format!("{at} answers, but not as an SSH server should: {found}"),
                "check which service listens there, and sshd's log on the machine".into(),
            ),
            Self::NoAlgorithm { found } => (
                "NoCommonAlgorithm",
                format!("{at}: the SSH server and the agent share no algorithm: {found}"),
                "enable ed25519 or ecdsa host keys and current algorithms in the machine's sshd_config".into(),
            ),
            Self::HostKeyChanged { wanted, found, known_as } => {
                let known = known_as.map_or(String::new(), |host| {
                    format!("; the key found is the one of host {host}: the address may lead to that machine now")
                });
                (
                    "HostKeyChanged",
                    format!("{at}: the SSH host key changed, wanted {wanted}, found {found}{known}"),
                    format!("if the OS was installed anew on purpose, run: bpa-agent keys forget {}; else find out who answers at {}", target.host, target.address),
                )
            }
            Self::TwoMachines { first, second } => (
                "HostKeyChanged",
                format!("{at}: two connections within seconds showed two SSH host keys, {first} and {second}"),
                "two machines use this address: find the second one and take it off the network".into(),
            ),
            Self::Pins(message) => ("PinsUnusable", message, "then run it again".into()),
            Self::NotPinned => (
                "HostKeyUnknown",
                "wanted a pinned SSH host key, found none".into(),
                "run it again: the access step pins it".into(),
            ),
            other => other.logging_in(at),
        }
    }

    fn logging_in(self, at: &str) -> Words {
        match self {
            Self::Credentials(message) => ("CredentialsUnusable", message, "then run it again".into()),
            Self::NoCredentials { user, source } => (
                "NoCredentials",
                format!("the site's key is not installed for {user} on this host, and no credentials are there to log in with"),
                source.map_or(
                    "name a credentials file in agent.toml (credentials = \"/etc/bpa/credentials.toml\") with a password or key for it".into(),
                    |path| format!("add a [[host]], a [[pattern]] or a [default] with a password or key to {path}"),
                ),
            ),
            Self::WrongPassword { user, origin } => (
                "WrongPassword",
                format!("{at} refuses the password of {user} ({origin})"),
                format!("mend the password in {origin}{}", root_hint(&user)),
            ),
            Self::PasswordNotTaken { user, origin, taken } => (
                "PasswordNotTaken",
                format!("{at} takes no password from {user} ({origin}), only: {taken}"),
                format!("give a `key` there, or allow PasswordAuthentication in the machine's sshd_config{}", root_hint(&user)),
            ),
            Self::PasswordExpired { user } => (
                "PasswordExpired",
                format!("the password of {user} has expired: the machine wants a new one before it runs anything"),
                format!("on the machine, run: chage -M -1 -d $(date +%F) {user}"),
            ),
            Self::KeyRefused { user, origin } => (
                "KeyRefused",
                format!("{at} refuses the private key for {user} ({origin})"),
                format!("put its public key into the authorized_keys of {user}, or name another key in {origin}"),
            ),
            Self::LoginRefused { user, found } => (
                "LoginRefused",
                format!("{at} ended the connection while {user} logged in: {found}"),
                "look at sshd's log on the machine: locked account, AllowUsers, pam_nologin while it boots".into(),
            ),
            Self::KeyNotInstalled { user, found } => (
                "KeyNotInstalled",
                format!("the site's key could not be written to the authorized_keys of {user}: {found}"),
                format!("check that the home directory of {user} exists, is theirs and has space"),
            ),
            Self::KeyNotAccepted { user } => (
                "KeyNotAccepted",
                format!("the site's key is in the authorized_keys of {user}, but {at} refuses it"),
                format!("check PubkeyAuthentication, AuthorizedKeysFile and AllowUsers in the machine's sshd_config, and that only {user} may write to their home directory"),
            ),
            other => other.becoming_root(at),
        }
    }

    fn becoming_root(self, at: &str) -> Words {
        match self {
            Self::NotTheMachine { wanted, found } => (
                "NotTheMachine",
                format!("the machine at {at} is not the one: wanted {wanted}, found {found}"),
                "check which machine has this lease (swapped cables, a second DHCP server, an old lease); nothing was changed on it".into(),
            ),
            Self::NoIdentity { found } => (
                "NoIdentity",
                format!("the machine at {at} does not tell its network interfaces: {found}"),
                "wanted a Linux with /sys mounted and a POSIX shell as the login shell".into(),
            ),
            Self::NoSudo { user } => (
                "NoSudo",
                format!("{user} is not root, and the machine has no sudo"),
                "install sudo there, or use root in the credentials".into(),
            ),
            Self::SudoNotAllowed { user } => (
                "SudoNotAllowed",
                format!("sudo does not allow {user} to become root"),
                format!("on the machine, run as root: usermod -aG sudo {user} (on some systems the group is wheel)"),
            ),
            Self::SudoPasswordMissing { user, origin } => (
                "SudoPasswordMissing",
                format!("sudo wants a password from {user}, and none is known"),
                format!("add sudo_password for this host to {}", origin.as_deref().unwrap_or("the credentials file")),
            ),
            Self::SudoPasswordWrong { user, origin } => (
                "SudoPasswordWrong",
                format!("sudo refuses the password of {user} ({origin})"),
                format!("mend sudo_password (or password) in {origin}"),
            ),
            Self::SudoNeedsTty { user } => (
                "SudoNeedsTty",
                format!("sudo wants a terminal from {user}"),
                "remove requiretty from the machine's sudoers: ansible has no terminal either".into(),
            ),
            other => other.working(at),
        }
    }

    fn working(self, at: &str) -> Words {
        match self {
            Self::CommandFailed { what, found } => (
                "CommandFailed",
                format!("{what} failed: {found}"),
                "try it by hand on the machine".into(),
            ),
            Self::Lost { what, found } => (
                "ConnectionLost",
                format!("the connection to {at} was lost during {what}: {found}"),
                "check the machine and the network between, then run it again".into(),
            ),
            Self::TooSlow { what, limit } => (
                "TooSlow",
                format!("{what} took longer than {} s", limit.as_secs()),
                "check the machine's load, its disk and its name resolution".into(),
            ),
            Self::TooMuchOutput { what, limit } => (
                "TooMuchOutput",
                format!("{what} printed more than {limit} bytes"),
                "check what the account's shell start-up files print".into(),
            ),
            other => ("AccessFailed", format!("{other:?}"), "run it again".into()),
        }
    }
}

/// Reason, message, fix.
type Words = (&'static str, String, String);

fn root_hint(user: &str) -> &'static str {
    if user == "root" {
        "; sshd may also refuse root (PermitRootLogin): then name a user with sudo"
    } else {
        ""
    }
}
