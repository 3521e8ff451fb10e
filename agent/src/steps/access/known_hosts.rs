//! The pins as OpenSSH's `known_hosts`, so that ansible trusts the same keys and no others.

use std::net::IpAddr;

use super::pins::Pins;
use super::problem::Problem;
use crate::steps::{NodeTarget, StepFailure};

/// One line for each target.
///
/// # Errors
/// When a target has no pin: `prepare` comes first.
pub fn known_hosts<'a>(
    pins: &Pins,
    targets: impl IntoIterator<Item = &'a NodeTarget>,
) -> Result<String, StepFailure> {
    let mut text = String::new();
    for target in targets {
        let found = pins.find(&target.host_uid, &target.installation);
        let pin = found.map_err(|e| Problem::Pins(e.to_string()).on(target))?;
        let pin = pin.ok_or_else(|| Problem::NotPinned.on(target))?;
        text.push_str(&name(target.address, target.port));
        text.push(' ');
        text.push_str(&pin.key);
        text.push('\n');
    }
    Ok(text)
}

fn name(address: IpAddr, port: u16) -> String {
    if port == 22 { address.to_string() } else { format!("[{address}]:{port}") }
}

#[cfg(test)]
mod tests {
    use super::super::pins::Pin;
    use super::*;
    use crate::steps::access::testing::target;

    #[test]
    fn a_line_names_the_address_as_ssh_looks_it_up() {
        assert_eq!(name("10.77.0.50".parse().unwrap(), 22), "10.77.0.50");
        assert_eq!(name("fd00::1".parse().unwrap(), 22), "fd00::1");
        assert_eq!(name("fd00::1".parse().unwrap(), 2222), "[fd00::1]:2222");
    }

    #[test]
    fn a_host_without_a_pin_stops() {
        let dir = tempfile::tempdir().unwrap();
        let pins = Pins::new(dir.path());
        let host1 = target("host1", 22);
        assert_eq!(known_hosts(&pins, [&host1]).unwrap_err().reason, "HostKeyUnknown");
        pins.save(Pin {
            host_uid: host1.host_uid.clone(),
            installation: host1.installation.clone(),
            host: host1.host.clone(),
            key: "ssh-ed25519 AAAA".into(),
            user: "root".into(),
        })
        .unwrap();
        assert_eq!(known_hosts(&pins, [&host1]).unwrap(), "127.0.0.1 ssh-ed25519 AAAA\n");
    }
}
