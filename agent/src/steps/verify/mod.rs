//! Is this machine the machine? Its hardware addresses and serial number against the order.
//!
//! Asked before anything is changed there: a lease may lead to another machine.

mod identity;

pub(crate) use identity::Identity;

use super::access::{Access, Problem, Session};
use super::port::{NodeTarget, StepFailure};

const SCRIPT: &str = include_str!("identity.sh");

/// Compares the machine with the order: one of its MACs must be there, and the serial number must
/// be the same where both are known.
///
/// # Errors
/// `NotTheMachine`, with what was wanted and found.
pub async fn verify(access: &Access, target: &NodeTarget) -> Result<(), StepFailure> {
    let mut identity = read(access.session()).await.map_err(|p| p.on(target))?;
    if identity.serial.is_none() && target.serial.is_some() {
        // Only root may read it.
        let command = "cat /sys/class/dmi/id/product_serial";
        let output = access.run_as_root("reading the serial number", command).await?;
        if output.ok() {
            identity.serial = identity::serial_of(&output.stdout);
        }
    }
    identity.compare(target).map_err(|p| p.on(target))
}

/// The same for a connection that has not been introduced yet: no sudo, nothing but reading.
pub(crate) async fn check(session: &Session, target: &NodeTarget) -> Result<(), Problem> {
    read(session).await?.compare(target)
}

async fn read(session: &Session) -> Result<Identity, Problem> {
    let output = session.script("asking the machine who it is", SCRIPT, &[]).await?;
    if output.stderr.contains("password has expired") {
        return Err(Problem::PasswordExpired { user: session.user().to_owned() });
    }
    Identity::parse(&output.stdout).ok_or_else(|| Problem::NoIdentity { found: output.complaint() })
}
