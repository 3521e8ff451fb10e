//! Waits for several futures on one task.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

enum Slot<F: Future> {
    Running(Pin<Box<F>>),
    Done(F::Output),
}

/// The outputs in the order of the futures, when all are done. Few enough futures are wanted that
/// asking each again costs nothing.
pub(super) async fn every<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output>
where
    F::Output: Unpin,
{
    let mut slots: Vec<Slot<F>> = futures.map(|f| Slot::Running(Box::pin(f))).collect();
    poll_fn(|context| {
        let mut all = true;
        for slot in &mut slots {
            if let Slot::Running(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(output) => *slot = Slot::Done(output),
                    Poll::Pending => all = false,
                }
            }
        }
        if all { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let output = |slot| match slot {
        Slot::Done(output) => Some(output),
        Slot::Running(_) => None,
    };
    slots.into_iter().filter_map(output).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn they_run_side_by_side_and_keep_their_order() {
        let begun = Instant::now();
        let naps = [60, 20, 40].map(|ms| async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            ms
        });
        assert_eq!(every(naps.into_iter()).await, [60, 20, 40]);
        assert!(begun.elapsed() < Duration::from_millis(115));
        assert!(every(std::iter::empty::<std::future::Ready<()>>()).await.is_empty());
    }
}
