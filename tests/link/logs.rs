//! Logs: followed while they grow, resumed where the coordinator has them, ended once.

use crate::agent::Agent;
use crate::coordinator::Coordinator;
use crate::eventually;
use crate::fakes::run;

fn text(from: usize, lines: usize) -> Vec<u8> {
    (from..from + lines).flat_map(|n| format!("line {n} of the playbook\n").into_bytes()).collect()
}

#[tokio::test]
async fn a_growing_log_is_followed_and_its_end_is_told_once() {
    let coordinator = Coordinator::start().await;
    let agent = Agent::connected(&coordinator, "north").await;
    let kept = || coordinator.sink.0.lock().unwrap().logs.get(&run(1)).cloned().unwrap_or_default();
    let done = || agent.desk.journal.lock().unwrap().logs_done.contains(&run(1));
    agent.desk.write_log(run(1), &text(0, 10), false);
    eventually("the beginning came", || kept() == text(0, 10)).await;
    agent.desk.write_log(run(1), &text(10, 5), false);
    eventually("the next lines came", || kept() == text(0, 15)).await;
    assert!(!done());
    agent.desk.write_log(run(1), b"", true);
    eventually("the end is known", done).await;
}

#[tokio::test]
async fn a_long_log_goes_on_where_it_was_after_a_restart() {
    let mut coordinator = Coordinator::start().await;
    let agent = Agent::connected(&coordinator, "north").await;
    let whole = text(0, 40_000);
    agent.desk.write_log(run(7), &whole[..300_000], false);
    let kept = |c: &Coordinator| c.sink.0.lock().unwrap().logs.get(&run(7)).map_or(0, Vec::len);
    eventually("the first part came", || kept(&coordinator) == 300_000).await;
    let pieces = coordinator.sink.0.lock().unwrap().pieces;
    coordinator.stop().await;
    agent.desk.write_log(run(7), &whole[300_000..], true);
    coordinator.restart().await;
    let done = || agent.desk.journal.lock().unwrap().logs_done.contains(&run(7));
    eventually("the whole log came", done).await;
    let sink = coordinator.sink.0.lock().unwrap();
    assert_eq!(sink.logs[&run(7)], whole);
    let rest = (whole.len() - 300_000).div_ceil(64 * 1024);
    assert!(sink.pieces - pieces <= rest, "nothing was sent twice");
}

#[tokio::test]
async fn many_logs_and_events_go_side_by_side() {
    let coordinator = Coordinator::start().await;
    let agent = Agent::connected(&coordinator, "north").await;
    for n in 0..50 {
        agent.desk.write_log(run(n), &text(usize::from(n), 2000), true);
    }
    agent.desk.happen(300);
    let done = || agent.desk.journal.lock().unwrap().logs_done.len() == 50;
    eventually("all logs are there", done).await;
    eventually("all events are there", || coordinator.sink.seqs("north").len() == 300).await;
    let sink = coordinator.sink.0.lock().unwrap();
    assert!((0..50).all(|n| sink.logs[&run(n)] == text(usize::from(n), 2000)));
}
