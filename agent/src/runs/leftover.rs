//! After a cancel: what may still run on the hosts. No signal stops what ansible has started there.

use std::sync::Arc;
use std::time::Duration;

use bpa_common::wire::v1::{EventBody, Order};
use tokio_util::sync::CancellationToken;

use super::hands::reach;
use super::resolve::resolve_now;
use super::shop::Shop;
use super::teller::Teller;
use crate::steps::Journaled;

/// For all hosts together.
const LIMIT: Duration = Duration::from_secs(20);
/// Whoever changes a host on the playbook's behalf. The brackets keep the line from finding itself.
const SCRIPT: &str = "ps -eo args= 2>/dev/null | \
    grep -E '[k]ubeadm|[a]nsible|[a]pt-get|[d]pkg' | cut -c1-120 | head -5";

/// Asks every host, and tells what is still at work there.
pub(super) async fn tell_leftovers(shop: &Shop, order: &Order, teller: &Arc<Teller>) {
    let quiet = CancellationToken::new();
    let targets = resolve_now(order, &shop.leases);
    let mut context = shop.access.clone();
    context.ssh_wait = Duration::from_secs(5);
    let ask = async {
        let hands = reach(&context, &targets, teller, &quiet).await?;
        let mut busy = Vec::new();
        for access in &hands {
            let output = access.script("looking for what still runs", SCRIPT).await?;
            busy.extend(output.stdout.lines().map(|l| format!("{}: {l}", access.target().name)));
        }
        Ok::<_, crate::steps::StepFailure>(busy)
    };
    let message = match tokio::time::timeout(LIMIT, Box::pin(ask)).await {
        Ok(Ok(busy)) if busy.is_empty() => "nothing of the playbook runs on the hosts".to_owned(),
        Ok(Ok(busy)) => format!("still at work on the hosts, let it end: {}", busy.join("; ")),
        Ok(Err(failure)) => format!("what still runs on the hosts is not known: {failure}"),
        Err(_) => "what still runs on the hosts is not known: they did not answer".to_owned(),
    };
    teller.tell(EventBody::Note { message });
}
