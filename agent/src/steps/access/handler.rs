//! What russh asks of us during a connection: is this host key the one?

use std::sync::{Arc, Mutex, PoisonError};

use russh::client::{DisconnectReason, Handler, Session};
use russh::keys::{PublicKey, PublicKeyOrCertificate};

/// A banner is shown to the user in an error: its start is enough.
const BANNER_LIMIT: usize = 300;

/// What the other side showed, kept for messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub key: Option<PublicKey>,
    pub banner: String,
    pub goodbye: String,
}

/// Seen by the connection's task, read by ours.
#[derive(Clone, Debug, Default)]
pub(super) struct Witness(Arc<Mutex<Seen>>);

impl Witness {
    pub fn seen(&self) -> Seen {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, write: impl FnOnce(&mut Seen)) {
        write(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Accepts the expected host key; the first of a host when none is expected yet.
pub(super) struct Guard {
    pub expected: Option<PublicKey>,
    pub witness: Witness,
}

impl Handler for Guard {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        shown: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        // We never ask for certificates: who signed them is nothing that the site knows.
        let PublicKeyOrCertificate::PublicKey { key, .. } = shown else { return Ok(false) };
        self.witness.note(|seen| seen.key = Some(key.clone()));
        Ok(self.expected.as_ref().is_none_or(|wanted| same_key(wanted, key)))
    }

    async fn auth_banner(&mut self, banner: &str, _: &mut Session) -> Result<(), Self::Error> {
        self.witness.note(|seen| seen.banner = printable(banner));
        Ok(())
    }

    async fn disconnected(
        &mut self,
        why: DisconnectReason<Self::Error>,
    ) -> Result<(), Self::Error> {
        let text = match why {
            DisconnectReason::ReceivedDisconnect(info) => printable(&info.message),
            DisconnectReason::Error(error) => error.to_string(),
        };
        self.witness.note(|seen| seen.goodbye = text);
        Ok(())
    }
}

/// Keys are compared without their comments.
pub(super) fn same_key(a: &PublicKey, b: &PublicKey) -> bool {
    a.key_data() == b.key_data()
}

/// The other side's words, cut and without control characters: they go into messages.
pub(super) fn printable(text: &str) -> String {
    let clean = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.take(BANNER_LIMIT).collect()
}
