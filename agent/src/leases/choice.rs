//! Which of several records is the newest.

use super::record::{Ends, Record};

/// A stamp this far ahead was written by a wrong clock and must not win for ever.
const CLOCK_SLACK_SECONDS: i64 = 86_400;

/// What is needed to place a source's records in time.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// When the answer is asked for.
    pub now: i64,
    /// When the source was last written, at most `now`.
    pub written: i64,
    /// The latest end in the source.
    pub latest_end: Option<i64>,
}

/// Orders records by age: greater is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Freshness {
    credible: bool,
    time: i64,
    order: u32,
}

impl Placement {
    /// How new a record is: by the client's newest transaction where the server writes it, else by
    /// its end, as if the lease that ends last had been renewed when the file was written.
    pub fn freshness(&self, record: &Record) -> Freshness {
        let time = record.renewed.unwrap_or(match record.ends {
            Ends::At(end) => {
                let behind = self.latest_end.unwrap_or(end).saturating_sub(end);
                self.written.saturating_sub(behind)
            }
            // The greatest end of all.
            Ends::Never => self.written.saturating_add(1),
            Ends::Unknown => i64::MIN,
        });
        let credible = time <= self.now.saturating_add(CLOCK_SLACK_SECONDS);
        Freshness { credible, time, order: record.order }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_796_078_000;

    fn record(renewed: Option<i64>, ends: Ends, order: u32) -> Record {
        Record { renewed, ends, order, ..Record::bound([10, 0, 0, 1].into()) }
    }

    fn place() -> Placement {
        Placement { now: NOW, written: NOW - 10, latest_end: Some(NOW + 500) }
    }

    #[test]
    fn the_newer_transaction_is_newer_whatever_the_ends_say() {
        let long = record(Some(NOW - 60), Ends::At(NOW + 9000), 1);
        let short = record(Some(NOW - 30), Ends::At(NOW + 10), 0);
        assert!(place().freshness(&short) > place().freshness(&long));
    }

    #[test]
    fn without_transactions_the_greater_end_is_newer_and_never_is_the_greatest() {
        let early = record(None, Ends::At(NOW + 400), 9);
        let late = record(None, Ends::At(NOW + 500), 1);
        let never = record(None, Ends::Never, 0);
        assert!(place().freshness(&late) > place().freshness(&early));
        assert!(place().freshness(&never) > place().freshness(&late));
    }

    #[test]
    fn a_guessed_time_can_be_compared_with_a_written_one() {
        // This one ends 100 s before the newest, so it was renewed about 110 s ago.
        let guessed = record(None, Ends::At(NOW + 400), 0);
        assert!(
            place().freshness(&guessed)
                > place().freshness(&record(Some(NOW - 200), Ends::Never, 0))
        );
        assert!(
            place().freshness(&guessed)
                < place().freshness(&record(Some(NOW - 50), Ends::Never, 0))
        );
    }

    #[test]
    fn a_stamp_from_the_future_loses_to_a_credible_one() {
        let future = record(Some(NOW + 300_000_000), Ends::At(NOW + 300_000_600), 0);
        let past = record(Some(NOW - 300), Ends::At(NOW + 300), 0);
        assert!(place().freshness(&past) > place().freshness(&future));
    }

    #[test]
    fn the_order_in_the_file_breaks_a_tie() {
        let first = record(Some(NOW), Ends::At(NOW + 9), 1);
        let second = record(Some(NOW), Ends::At(NOW + 5), 2);
        assert!(place().freshness(&second) > place().freshness(&first));
    }
}
