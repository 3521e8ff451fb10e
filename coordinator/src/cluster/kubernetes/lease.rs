//! Who leads: decided from a Lease and our own clock alone. Pure.
//!
//! Timestamps in a Lease come from other clocks and are never compared with ours. What counts is
//! when *we* saw the Lease change last: a holder that does not change it for its duration is gone.
//!
//! Why two never write at once: whoever holds the lease may write for [`WRITE_FOR`] from the moment
//! *before* it asked for the last renewal. Another takes it at the earliest `duration` after it
//! *saw* that renewal, which is later than the asking. The difference is the longest call.

use std::time::{Duration, Instant};

/// Another may take the lease when it was not renewed for this long.
pub const LEASE: Duration = Duration::from_secs(15);
/// From the last renewal a leader may begin writes for this long.
pub const WRITE_FOR: Duration = Duration::from_secs(10);
/// How often a leader renews, and a candidate looks.
pub const EVERY: Duration = Duration::from_secs(2);
/// A duration that a holder names is believed within these bounds, seconds.
const BELIEVED: std::ops::RangeInclusive<u64> = 1..=300;

/// What a Lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Empty when nobody holds it.
    pub holder: String,
    /// How long the holder may be silent, seconds; 0 when it does not say.
    pub seconds: u64,
    /// Anything that changes with each renewal, the resourceVersion.
    pub version: String,
}

/// A Lease as we saw it, and since when it is so.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    seen: Option<(Lease, Instant)>,
}

/// What to do about the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// There is none: make it, held by us.
    Create,
    /// It is free or its holder is gone: write our name over this version.
    Take,
    /// It is ours: renew it.
    Renew,
    /// Another holds it, for at least this long.
    Wait(Duration),
}

impl Observer {
    /// Takes in the Lease as it was read, and says what to do.
    pub fn observe(&mut self, lease: Option<Lease>, me: &str, now: Instant) -> Decision {
        let Some(lease) = lease else {
            self.seen = None;
            return Decision::Create;
        };
        match &self.seen {
            Some((old, _)) if *old == lease => {}
            _ => self.seen = Some((lease, now)),
        }
        self.seen.as_ref().map_or(Decision::Create, |(lease, since)| {
            evaluate(lease, me, now.saturating_duration_since(*since))
        })
    }
}

/// What to do about a Lease that did not change for `unchanged`.
pub fn evaluate(lease: &Lease, me: &str, unchanged: Duration) -> Decision {
    if lease.holder == me {
        return Decision::Renew;
    }
    if lease.holder.is_empty() {
        return Decision::Take;
    }
    // A holder of another build may need longer than we would.
    let named = Duration::from_secs(lease.seconds.clamp(*BELIEVED.start(), *BELIEVED.end()));
    match named.max(LEASE).checked_sub(unchanged) {
        Some(left) if !left.is_zero() => Decision::Wait(left),
        _ => Decision::Take,
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
