//! PURE: the probe's lines as values. What a machine did not tell stays unknown.

use std::net::IpAddr;

/// More lines than any probe prints; a machine can't fill our memory.
const LINES: usize = 2000;
/// A value is shown to people: its start is enough.
const VALUE: usize = 120;

/// What one machine says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Its clock when the probe began and ended, milliseconds since 1970.
    pub clock: Option<(i64, i64)>,
    pub hostname: Option<String>,
    pub machine_id: Option<String>,
    pub kernel: Option<String>,
    pub arch: Option<String>,
    pub os_id: Option<String>,
    pub os_version: Option<String>,
    pub os_name: Option<String>,
    /// Of `python3`; none when there is none.
    pub python: Option<Version>,
    pub memory_bytes: Option<u64>,
    pub cpus: Option<u32>,
    /// None when the machine does not tell.
    pub swaps: Option<Vec<Swap>>,
    /// Empty when it has no tool that tells.
    pub addresses: Vec<IpAddr>,
    pub var: Option<Space>,
    pub tmp: Option<Space>,
    pub init: Option<String>,
    pub systemd: bool,
    pub cgroup: Option<u8>,
}

/// Major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub u32, pub u32, pub u32);

/// A swap area in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Swap {
    pub name: String,
    pub bytes: u64,
}

/// Room on a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Space {
    pub free: u64,
    pub whole: u64,
}

impl Facts {
    /// Reads the probe's output; lines of others are passed over. None when it was cut short.
    pub fn parse(text: &str) -> Option<Self> {
        let mut facts = Self::default();
        let (mut begun, mut ended) = (false, false);
        let (mut from, mut to) = (None, None);
        for line in text.lines().take(LINES) {
            let Some((key, value)) =
                line.trim().strip_prefix("bpa.").and_then(|l| l.split_once('='))
            else {
                continue;
            };
            match (key, value.trim()) {
                ("begin", "probe") => begun = true,
                ("end", "probe") => ended = true,
                ("clock", value) => from = milliseconds(value),
                ("clock_end", value) => to = milliseconds(value),
                (key, value) => facts.take(key, value),
            }
        }
        facts.clock = from.zip(to);
        (begun && ended).then_some(facts)
    }

    fn take(&mut self, key: &str, value: &str) {
        let text = || (!value.is_empty()).then(|| clean(value));
        match key {
            "hostname" => self.hostname = text(),
            "machine_id" => self.machine_id = text(),
            "kernel" => self.kernel = text(),
            "arch" => self.arch = text(),
            "os_id" => self.os_id = text(),
            "os_version" => self.os_version = text(),
            "os_name" => self.os_name = text(),
            "python" => self.python = Version::parse(value),
            "memory_kb" => self.memory_bytes = kibibytes(value),
            "cpus" => self.cpus = value.parse().ok(),
            "swap_read" => self.swaps = self.swaps.take().or_else(|| Some(Vec::new())),
            "swap" => {
                if let (Some(swaps), Some((size, name))) = (&mut self.swaps, value.split_once(' '))
                    && let Some(bytes) = kibibytes(size)
                {
                    swaps.push(Swap { name: clean(name), bytes });
                }
            }
            "address" => self.addresses.extend(value.parse::<IpAddr>().ok()),
            "disk/var" => self.var = Space::parse(value),
            "disk/tmp" => self.tmp = Space::parse(value),
            "init" => self.init = text(),
            "systemd" => self.systemd = value == "yes",
            "cgroup" => self.cgroup = value.parse().ok(),
            _ => {}
        }
    }
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        Some(Self(parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Space {
    fn parse(text: &str) -> Option<Self> {
        let (free, whole) = text.split_once(' ')?;
        Some(Self { free: kibibytes(free)?, whole: kibibytes(whole)? })
    }
}

fn kibibytes(text: &str) -> Option<u64> {
    text.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// `1764558000.123456789`; a `date` without nanoseconds leaves something else after the point.
fn milliseconds(text: &str) -> Option<i64> {
    let (seconds, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits = rest.get(..3).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
    let fraction: i64 = digits.and_then(|d| d.parse().ok()).unwrap_or(0);
    seconds.parse::<i64>().ok()?.checked_mul(1000)?.checked_add(fraction)
}

fn clean(text: &str) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(VALUE).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_debian_tells_everything() {
        let facts = Facts::parse(include_str!("golden/debian.probe")).unwrap();
        assert_eq!(facts.clock, Some((1_764_558_000_123, 1_764_558_000_190)));
        assert_eq!(facts.os_name.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(facts.python, Some(Version(3, 11, 2)));
        assert_eq!(facts.memory_bytes, Some(8_130_560 * 1024));
        assert_eq!((facts.cpus, facts.cgroup, facts.systemd), (Some(4), Some(2), true));
        let swap = Swap { name: "/dev/sda2".into(), bytes: 1_000_444 * 1024 };
        assert_eq!(facts.swaps, Some(vec![swap]));
        let wanted = ["127.0.0.1", "10.77.0.50", "fe80::1"].map(|a| a.parse::<IpAddr>().unwrap());
        assert_eq!(facts.addresses, wanted);
        assert_eq!(facts.var, Some(Space { free: 50_000_000 << 10, whole: 100_000_000 << 10 }));
    }

    #[test]
    fn a_small_system_leaves_unknowns() {
        let facts = Facts::parse(include_str!("golden/busybox.probe")).unwrap();
        assert_eq!(facts.clock, Some((1_764_558_000_000, 1_764_558_000_000)));
        assert_eq!((facts.python, facts.swaps, facts.machine_id), (None, None, None));
        assert!(facts.addresses.is_empty() && facts.var.is_none() && !facts.systemd);
    }

    #[test]
    fn half_a_probe_is_none() {
        let whole = include_str!("golden/debian.probe");
        let half = whole.replace("bpa.end=probe\n", "");
        assert_eq!(Facts::parse(&half), None);
        assert_eq!(Facts::parse(""), None);
    }

    #[test]
    fn this_machine_answers_the_probe() {
        let mut command = std::process::Command::new("sh");
        let output = command.arg("-c").arg(super::super::PROBE).output().unwrap();
        let facts = Facts::parse(&String::from_utf8_lossy(&output.stdout)).unwrap();
        assert!(facts.memory_bytes.unwrap() > 100 << 20, "{facts:?}");
        assert!(facts.cpus.unwrap() > 0 && facts.kernel.is_some() && facts.clock.is_some());
        assert!(facts.addresses.contains(&"127.0.0.1".parse().unwrap()), "{facts:?}");
        assert!(facts.var.is_some() && facts.tmp.is_some() && facts.swaps.is_some());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(bpa\\.(clock|swap|disk/var|python|address)=[0-9. :/a-f-]{0,30}\n){0,20}") {
            let _ = Facts::parse(&format!("bpa.begin=probe\n{text}bpa.end=probe\n"));
        }
    }
}
