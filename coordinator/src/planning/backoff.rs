//! Waiting longer after each failure, with jitter so that many don't come back at once.

use jiff::SignedDuration;

/// How long to wait after the n-th failure in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The longest first wait, milliseconds.
    pub first_ms: i64,
    /// The longest wait at all, milliseconds.
    pub most_ms: i64,
}

impl Backoff {
    /// The wait after `failures` failures (1 = the first). `jitter` from 0 to 255 spreads it over
    /// the upper half: from half of the step to the whole.
    pub fn after(self, failures: u32, jitter: u8) -> SignedDuration {
        let doublings = failures.saturating_sub(1).min(20);
        let step = self.first_ms.saturating_mul(1 << doublings).min(self.most_ms);
        SignedDuration::from_millis(step / 2 + (step - step / 2) * i64::from(jitter) / 255)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TRIES: Backoff = Backoff { first_ms: 1000, most_ms: 60_000 };

    #[test]
    fn the_wait_doubles_up_to_the_most() {
        let waits: Vec<i128> = (1..=8).map(|n| TRIES.after(n, 255).as_millis()).collect();
        assert_eq!(waits, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(TRIES.after(1, 0), SignedDuration::from_millis(500));
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_the_most_or_shorter_than_half_a_step(n: u32, jitter: u8) {
            let wait = TRIES.after(n, jitter).as_millis();
            prop_assert!((500..=60_000).contains(&wait));
        }
    }
}
