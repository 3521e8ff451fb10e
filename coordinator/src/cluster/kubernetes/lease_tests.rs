//! Tests of the election: by hand, and against candidates that pause and calls that take long.

use proptest::prelude::*;

use super::*;

fn lease(holder: &str, version: u64) -> Lease {
    Lease { holder: holder.into(), seconds: 15, version: version.to_string() }
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn a_free_lease_is_taken_and_ours_is_renewed() {
    assert_eq!(evaluate(&lease("", 1), "me", seconds(0)), Decision::Take);
    assert_eq!(evaluate(&lease("me", 1), "me", seconds(100)), Decision::Renew);
    assert_eq!(Observer::default().observe(None, "me", Instant::now()), Decision::Create);
}

#[test]
fn a_holder_is_believed_as_long_as_it_says_within_reason() {
    let held = |seconds: u64| Lease { seconds, ..lease("other", 1) };
    assert_eq!(evaluate(&held(15), "me", seconds(5)), Decision::Wait(seconds(10)));
    assert_eq!(evaluate(&held(60), "me", seconds(15)), Decision::Wait(seconds(45)));
    assert_eq!(evaluate(&held(0), "me", seconds(14)), Decision::Wait(seconds(1)));
    assert_eq!(evaluate(&held(u64::MAX), "me", seconds(300)), Decision::Take);
}

#[test]
fn only_a_lease_that_does_not_change_runs_out() {
    let (mut observer, began) = (Observer::default(), Instant::now());
    for second in 0..100 {
        let version = second / 10;
        let now = began + seconds(second);
        let decision = observer.observe(Some(lease("other", version)), "me", now);
        assert!(matches!(decision, Decision::Wait(_)), "{second}");
    }
    let taken = observer.observe(Some(lease("other", 9)), "me", began + seconds(105));
    assert_eq!(taken, Decision::Take);
}

/// One candidate of the simulation. Its clock began at any time and is not the others'.
struct Candidate {
    name: String,
    observer: Observer,
    epoch: Instant,
    /// By its own clock.
    may_write_until: Option<Instant>,
    /// A call under way: what it writes, when it began, and when it reaches the store.
    call: Option<(Lease, Instant, u64)>,
}

impl Candidate {
    fn now(&self, time: u64) -> Instant {
        self.epoch + Duration::from_millis(time)
    }

    fn may_write(&self, time: u64) -> bool {
        self.may_write_until.is_some_and(|until| self.now(time) < until)
    }

    /// Looks at the store and begins to write, which takes `delay` ms to get there.
    fn step(&mut self, store: &Option<Lease>, time: u64, delay: u64) {
        let now = self.now(time);
        let name = self.name.clone();
        match self.observer.observe(store.clone(), &name, now) {
            Decision::Wait(_) => self.may_write_until = None,
            Decision::Create | Decision::Take | Decision::Renew => {
                let version = store.as_ref().map_or(String::new(), |lease| lease.version.clone());
                self.call = Some((Lease { holder: name, seconds: 15, version }, now, time + delay));
            }
        }
    }

    /// The call reaches the store, which takes it only if nobody was faster.
    fn arrive(&mut self, store: &mut Option<Lease>, time: u64) {
        let Some((lease, began, at)) = self.call.take() else { return };
        if at > time {
            self.call = Some((lease, began, at));
            return;
        }
        let current = store.as_ref().map_or(String::new(), |lease| lease.version.clone());
        if current == lease.version {
            let version = (current.parse::<u64>().unwrap_or(0) + 1).to_string();
            *store = Some(Lease { version, ..lease });
            self.may_write_until = Some(began + WRITE_FOR);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the clocks, pauses and delays: never do two believe that they may write.
    #[test]
    fn two_never_lead_at_once(
        epochs in proptest::collection::vec(0u64..1_000_000, 3),
        steps in proptest::collection::vec((0usize..3, 1u64..8_000, 0u64..5_000), 1..200),
    ) {
        let start = Instant::now();
        let mut candidates: Vec<Candidate> = epochs.iter().enumerate().map(|(n, epoch)| Candidate {
            name: format!("candidate-{n}"),
            observer: Observer::default(),
            epoch: start + seconds(*epoch),
            may_write_until: None,
            call: None,
        }).collect();
        let (mut store, mut time, mut led) = (None, 0, 0);
        for (who, pause, delay) in steps {
            for passed in (0..pause).step_by(100) {
                for candidate in &mut candidates {
                    candidate.arrive(&mut store, time + passed);
                }
                let leaders = candidates.iter().filter(|c| c.may_write(time + passed)).count();
                prop_assert!(leaders <= 1, "{leaders} leaders at {time}");
                led += leaders;
            }
            time += pause;
            if candidates[who].call.is_none() {
                candidates[who].step(&store, time, delay);
            }
        }
        prop_assert!(led > 0 || time < 20_000, "somebody leads sooner or later");
    }
}
