//! A fake of Metal3's baremetal-operator: what it does with a host, one step of its state machine a
//! call (BMO `internal/controller/metal3.io/host_state_machine.go`, as told in the facts).
//!
//! Faults included: a failed install loops through `deprovisioning` and `available` and is tried
//! again; the status shows the old state for a while after a change of the spec; a limit on
//! installs holds hosts back as `delayed`. Not imitated: registration, inspection, Ironic, firmware.

use bpa_common::api::metal3::BareMetalHost;

/// How the install on a host goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Install {
    Works,
    Fails,
    /// Held back by the limit on installs at a time.
    Delayed,
}

/// One step. True when something changed.
pub fn step(host: &mut BareMetalHost, install: Install) -> bool {
    let before = host.clone();
    let url = host.spec.image.as_ref().map(|image| image.url.clone());
    let installed = host.status.provisioning.image.as_ref().map(|image| image.url.clone());
    host.status.powered_on = host.spec.online;
    let next = match host.status.provisioning.state.as_str() {
        "available" | "ready" if host.spec.externally_provisioned => "externally provisioned",
        "available" | "ready" if url.is_some() && host.spec.online => {
            if install == Install::Delayed {
                host.status.operational_status = "delayed".to_owned();
                return *host != before;
            }
            host.status.provisioning.image = host.spec.image.clone();
            "provisioning"
        }
        "provisioning" if url.is_none() || url != installed => "deprovisioning",
        "provisioning" if install == Install::Fails => {
            host.status.operational_status = "error".to_owned();
            host.status.error_type = "provisioning error".to_owned();
            host.status.error_message = "checksum does not match".to_owned();
            host.status.provisioning_fail_count += 1;
            host.status.provisioning.state = "deprovisioning".to_owned();
            return true;
        }
        "provisioning" => {
            host.status.provisioning_fail_count = 0;
            "provisioned"
        }
        // One whose system was there before (status without an image) has none to lose.
        "provisioned" if installed.is_some() && url != installed => "deprovisioning",
        "deprovisioning" => {
            host.status.provisioning.image = None;
            "available"
        }
        other => {
            host.status.provisioning.state = other.to_owned();
            return *host != before;
        }
    };
    next.clone_into(&mut host.status.provisioning.state);
    host.status.operational_status = "OK".to_owned();
    host.status.error_type.clear();
    host.status.error_message.clear();
    *host != before
}
