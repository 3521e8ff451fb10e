//! How long to wait before the next attempt. A value: no clock, no randomness of its own.

use std::time::Duration;

/// The first pause after a lost connection.
const FIRST: Duration = Duration::from_millis(200);
/// The longest pause while the network is away: it must be noticed soon when it is back.
const LONGEST: Duration = Duration::from_millis(2500);
/// The pause when a person has to act first.
const PERSON: Duration = Duration::from_secs(30);
/// A coordinator can't send us away for longer than this.
const MOST: Duration = Duration::from_secs(600);

/// Why the link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// Nobody answered, or the connection broke.
    Lost,
    /// The coordinator is crowded and said when to come back.
    Told(Duration),
    /// Trying again soon gains nothing.
    Person,
}

/// Counts failures and spreads the attempts of many agents over time.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    failures: u32,
    random: u64,
}

impl Backoff {
    /// A back-off whose spread is decided by `seed`.
    pub fn new(seed: u64) -> Self {
        Self { failures: 0, random: seed }
    }

    /// A session stood: the next loss is the first again.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// The pause before the next attempt.
    pub fn after(&mut self, why: Pause) -> Duration {
        match why {
            Pause::Lost => {
                let full = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
                self.failures = self.failures.saturating_add(1);
                // Between half and all of it.
                full / 2 + self.part_of(full / 2)
            }
            Pause::Person => PERSON + self.part_of(PERSON),
            Pause::Told(told) => {
                let told = told.min(MOST);
                told + self.part_of(told / 2)
            }
        }
    }

    /// A made-up part of a span (splitmix64).
    fn part_of(&mut self, span: Duration) -> Duration {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let permille = u32::try_from(z % 1001).unwrap_or(0);
        span * permille / 1000
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pauses_grow_and_begin_small_again_after_a_success() {
        let mut backoff = Backoff::new(1);
        let pauses: Vec<_> = (0..8).map(|_| backoff.after(Pause::Lost)).collect();
        assert!(pauses[0] <= FIRST && pauses[7] > pauses[0], "{pauses:?}");
        backoff.succeeded();
        assert!(backoff.after(Pause::Lost) <= FIRST);
    }

    #[test]
    fn agents_with_other_seeds_come_at_other_times() {
        let pause = |seed| {
            let mut backoff = Backoff::new(seed);
            (0..6).map(|_| backoff.after(Pause::Lost)).last()
        };
        let mut pauses: Vec<_> = (0..50).map(pause).collect();
        pauses.sort();
        pauses.dedup();
        assert!(pauses.len() > 40, "{}", pauses.len());
        assert_eq!(pause(7), pause(7), "the same seed gives the same times");
    }

    proptest! {
        #[test]
        fn every_pause_is_within_its_bounds(seed: u64, count in 0..100usize, told in 0..10_000_000u64) {
            let mut backoff = Backoff::new(seed);
            for _ in 0..count {
                let pause = backoff.after(Pause::Lost);
                prop_assert!((FIRST / 2..=LONGEST).contains(&pause), "{pause:?}");
            }
            prop_assert!((PERSON..=PERSON * 2).contains(&backoff.after(Pause::Person)));
            let told = Duration::from_millis(told);
            let pause = backoff.after(Pause::Told(told));
            prop_assert!(pause >= told.min(MOST) && pause <= MOST * 3 / 2);
        }
    }
}
