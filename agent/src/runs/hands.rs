//! Access to all hosts of a run: got side by side, told host by host.

use std::sync::Arc;

use bpa_common::wire::v1::{EventBody, NodeState};
use futures_util::future::join_all;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::teller::Teller;
use crate::steps::access::{Access, AccessContext, Progress, prepare};
use crate::steps::{Journaled, NodeTarget, StepFailure, verify};

/// So many hosts are talked to at a time.
const AT_A_TIME: usize = 16;

/// Gets access to every target. All are tried, so that one run tells every host that refuses.
///
/// # Errors
/// The first failure in the order of the targets; the others are told as events.
pub(super) async fn reach(
    context: &AccessContext,
    targets: &[NodeTarget],
    teller: &Arc<Teller>,
    cancel: &CancellationToken,
) -> Result<Vec<Access>, StepFailure> {
    let gate = Arc::new(Semaphore::new(AT_A_TIME));
    let mut tasks = JoinSet::new();
    for (at, target) in targets.iter().cloned().enumerate() {
        let (context, teller) = (context.clone(), Arc::clone(teller));
        let (cancel, gate) = (cancel.clone(), Arc::clone(&gate));
        tasks.spawn(async move {
            let _turn = gate.acquire().await;
            (at, one(&context, &target, &teller, &cancel).await)
        });
    }
    let mut all = Vec::new();
    while let Some(done) = tasks.join_next().await {
        match done {
            Ok(done) => all.push(done),
            Err(error) => {
                return Err(StepFailure {
                    reason: "Internal",
                    node: None,
                    message: format!("a task of the agent ended by itself: {error}"),
                    fix: "this is a fault of the agent: report it with its log".into(),
                });
            }
        }
    }
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

async fn one(
    context: &AccessContext,
    target: &NodeTarget,
    teller: &Teller,
    cancel: &CancellationToken,
) -> Result<Access, StepFailure> {
    let say = |state, message| teller.tell(node(target, state, message));
    say(NodeState::Connecting, String::new());
    let progress = |progress: Progress| say(NodeState::Connecting, progress.to_string());
    let access = prepare(context, target, &progress, cancel).await;
    match &access {
        Ok(access) => {
            let user = access.user();
            say(NodeState::AccessReady, format!("key login as {user}"));
        }
        Err(failure) if !cancel.is_cancelled() => {
            say(NodeState::Failed, format!("{}; {}", failure.message, failure.fix));
        }
        Err(_) => {}
    }
    access
}

/// Makes sure that each machine is the one that was ordered: all are asked side by side.
///
/// # Errors
/// The first that is not, in the order of the hands.
pub(super) async fn verify_all(hands: &[Access], teller: &Teller) -> Result<(), StepFailure> {
    let turns = Semaphore::new(AT_A_TIME);
    let answers = hands.iter().map(|access| {
        let turns = &turns;
        async move {
            let _turn = turns.acquire().await;
            let target = access.target();
            let answer = verify::verify(access, target).await;
            match &answer {
                Ok(()) => teller.tell(node(target, NodeState::Verified, String::new())),
                Err(failure) => {
                    teller.tell(node(target, NodeState::Failed, failure.message.clone()));
                }
            }
            answer
        }
    });
    join_all(answers).await.into_iter().collect()
}

fn node(target: &NodeTarget, state: NodeState, message: String) -> EventBody {
    EventBody::Node { node: target.name.clone(), state, address: Some(target.address), message }
}
