//! First contact on ALPN `bpa-join/1`: one request, one answer, nothing else.

use std::sync::Arc;
use std::time::Duration;

use bpa_common::identity::{IdentityError, SiteName};
use bpa_common::link::{CloseCode, close};
use bpa_common::wire::v1::{JoinGranted, JoinRefused, JoinRequest};
use bpa_common::wire::{FrameError, FrameReader, FrameWriter, Message};
use jiff::Timestamp;
use quinn::Connection;

use super::admit::{VERSIONS, common_version};
use super::audit::{Action, Record};
use super::enrol::{Standing, Verdict, judge};
use super::server::Context;
use super::store::{self, KeyRecord, StoreError};
use crate::cluster::Vault;

/// How long a join may take in all.
pub(super) const JOIN_LIMIT: Duration = Duration::from_secs(10);
/// How long the agent may take to read the answer and close.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves one joining agent.
pub(super) async fn welcome<V: Vault, S>(context: Arc<Context<V, S>>, connection: Connection) {
    let remote = connection.remote_address();
    match tokio::time::timeout(JOIN_LIMIT, talk(&context, &connection)).await {
        Ok(Ok(())) => {
            let _ = tokio::time::timeout(FAREWELL, connection.closed()).await;
            close(&connection, CloseCode::Done, "");
        }
        Ok(Err(error)) => {
            tracing::warn!(%remote, %error, "a join broke off");
            close(&connection, CloseCode::Protocol, "the join request could not be read");
        }
        Err(_) => close(&connection, CloseCode::Silent, "the join request did not come in time"),
    }
}

async fn talk<V: Vault, S>(
    context: &Arc<Context<V, S>>,
    connection: &Connection,
) -> Result<(), FrameError> {
    let (send, receive) = connection.accept_bi().await.map_err(std::io::Error::from)?;
    let request: JoinRequest = FrameReader::new(receive, JoinRequest::MAX).require().await?;
    let remote = connection.remote_address();
    let site = printable(&request.site);
    let decided = decide(context.clone(), request).await;
    let mut writer = FrameWriter::new(send);
    match decided {
        Ok((granted, fingerprint)) => {
            let record = Record::new(Action::Enrolled, &site).key(fingerprint).from(remote);
            context.sites.audit.record(record);
            writer.send(&granted).await?;
        }
        Err(refused) => {
            let record = Record::new(Action::JoinRefused, &site).from(remote);
            context.sites.audit.record(record.because(format!("{refused:?}")));
            writer.send(&refused).await?;
        }
    }
    let _ = writer.get_mut().finish();
    Ok(())
}

/// A name from a stranger, safe to log.
fn printable(text: &str) -> String {
    text.chars().take(63).flat_map(char::escape_debug).collect()
}

async fn decide<V: Vault, S>(
    context: Arc<Context<V, S>>,
    request: JoinRequest,
) -> Result<(JoinGranted, String), JoinRefused> {
    // One at a time, so that two keys can't use one line at once.
    let _turn = context.joins.lock().await;
    let (vault, authority) = (context.vault.clone(), context.authority.clone());
    let work = move || enrol(&*vault, &authority, &request, Timestamp::now());
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| JoinRefused::Internal { message: e.to_string() })?
}

fn enrol(
    vault: &impl Vault,
    authority: &bpa_common::identity::Authority,
    request: &JoinRequest,
    now: Timestamp,
) -> Result<(JoinGranted, String), JoinRefused> {
    if common_version(request.min_version, request.max_version).is_none() {
        return Err(JoinRefused::Version { min: *VERSIONS.start(), max: *VERSIONS.end() });
    }
    let invalid = |message: String| JoinRefused::Invalid { message };
    let site: SiteName = request.site.parse().map_err(|_| JoinRefused::UnknownSite)?;
    let internal = |error: StoreError| {
        tracing::error!(%error, "a join could not be decided");
        JoinRefused::Internal { message: "the coordinator can't use its vault; see its log".into() }
    };
    let standing = Standing {
        invitation: store::invitation(vault, &site).map_err(internal)?,
        key: store::key(vault, &site).map_err(internal)?,
    };
    // Certifying first proves that the request was signed by its key; nothing leaves before the
    // verdict.
    let certificate = authority.certify(&site, &request.csr, now).map_err(|error| match error {
        IdentityError::Request(problem) => invalid(problem),
        other => JoinRefused::Internal { message: other.to_string() },
    })?;
    let verdict = judge(&standing, &site, &request.secret.0, certificate.fingerprint, now)?;
    let fingerprint = certificate.fingerprint.to_string();
    if let (Verdict::Enrol, Some(invitation)) = (verdict, standing.invitation) {
        let record = KeyRecord {
            fingerprint: fingerprint.clone(),
            enrolled: now,
            invitation: invitation.tag,
        };
        store::keep_key(vault, &site, &record).map_err(internal)?;
    }
    let granted = JoinGranted {
        certificate: certificate.der.to_vec(),
        ca: authority.certificate().to_vec(),
        not_after: certificate.not_after.as_second(),
        clock_ms: now.as_millisecond(),
    };
    Ok((granted, fingerprint))
}
