//! Which events are told, counted or held back: repeats and floods never reach the API server. Pure.

use std::collections::HashMap;

use bpa_common::api::ObjectKey;
use jiff::{SignedDuration, Timestamp};

use crate::cluster::ObjectEvent;

/// A repeat in this time is counted on the same Event; the API server forgets events after an hour.
const WINDOW: SignedDuration = SignedDuration::from_mins(50);
/// The count of an Event is written this often at most.
const EVERY: SignedDuration = SignedDuration::from_secs(10);
/// New Events about one object at once, and after how long there may be one more.
const BURST: u32 = 25;
const REFILL: SignedDuration = SignedDuration::from_secs(30);
/// Entries that are kept.
const MOST: usize = 4096;
/// Longest message, bytes.
const MAX_MESSAGE: usize = 1024;
/// Longest name of an object.
const MAX_NAME: usize = 253;

/// What is to be done about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Telling {
    /// Make an Event of this name.
    Create { name: String },
    /// Write this count and time to the Event of this name.
    Count { name: String, count: u32, first: Timestamp },
    /// Nothing now.
    Hold,
}

/// Everything in which repeats are the same.
pub type Identity = (&'static str, ObjectKey, bool, String, String);

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    first: Timestamp,
    last: Timestamp,
    count: u32,
    /// What the API server has.
    told: u32,
    written: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: u32,
    since: Timestamp,
}

/// What was told, for a while.
#[derive(Debug, Default)]
pub struct Book {
    entries: HashMap<Identity, Entry>,
    buckets: HashMap<(&'static str, ObjectKey), Bucket>,
}

/// The identity of an event, its message within bounds and on one line: kubectl shows events as rows
/// of a table, and would begin a second line at its very left.
pub fn identity(event: &ObjectEvent) -> Identity {
    let lines: Vec<&str> = event.message.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let message = clip(&lines.join("; "), MAX_MESSAGE);
    (event.kind, event.key.clone(), event.warning, event.reason.clone(), message)
}

impl Book {
    /// An event happened.
    pub fn record(&mut self, event: &ObjectEvent, now: Timestamp) -> Telling {
        self.forget(now);
        let id = identity(event);
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.count = entry.count.saturating_add(1);
            entry.last = now;
            return entry.due(now);
        }
        if !self.may_create((event.kind, event.key.clone()), now) {
            return Telling::Hold;
        }
        let name = event_name(&event.key.name, now);
        let entry =
            Entry { name: name.clone(), first: now, last: now, count: 1, told: 1, written: now };
        self.entries.insert(id, entry);
        Telling::Create { name }
    }

    /// Counts that were held back and may be written now.
    pub fn due(&mut self, now: Timestamp) -> Vec<(Identity, Telling)> {
        let due = self.entries.iter_mut().map(|(id, entry)| (id.clone(), entry.due(now)));
        due.filter(|(_, telling)| *telling != Telling::Hold).collect()
    }

    /// The Event is not there (any more): the next of its kind is a new one.
    pub fn lost(&mut self, id: &Identity) {
        self.entries.remove(id);
    }

    fn may_create(&mut self, about: (&'static str, ObjectKey), now: Timestamp) -> bool {
        let bucket = self.buckets.entry(about).or_insert(Bucket { left: BURST, since: now });
        let passed = now.duration_since(bucket.since).as_secs() / REFILL.as_secs();
        if passed > 0 {
            bucket.left = bucket.left.saturating_add(passed.try_into().unwrap_or(BURST)).min(BURST);
            bucket.since = now;
        }
        let may = bucket.left > 0;
        bucket.left = bucket.left.saturating_sub(1);
        may
    }

    /// Old entries go; in a flood of new ones all do, which costs a few repeats.
    fn forget(&mut self, now: Timestamp) {
        self.entries.retain(|_, entry| now.duration_since(entry.first) < WINDOW);
        if self.entries.len() >= MOST {
            self.entries.clear();
        }
        if self.buckets.len() >= MOST {
            self.buckets.retain(|_, bucket| now.duration_since(bucket.since) < WINDOW);
            if self.buckets.len() >= MOST {
                self.buckets.clear();
            }
        }
    }
}

impl Entry {
    fn due(&mut self, now: Timestamp) -> Telling {
        if self.count == self.told || now.duration_since(self.written) < EVERY {
            return Telling::Hold;
        }
        (self.told, self.written) = (self.count, now);
        Telling::Count { name: self.name.clone(), count: self.count, first: self.first }
    }
}

/// Later events have later names, as kubectl sorts those of one second by name.
fn event_name(object: &str, now: Timestamp) -> String {
    let stamp = format!(".{:016x}", now.as_nanosecond().max(0));
    let object = clip(object, MAX_NAME - stamp.len());
    format!("{}{stamp}", object.trim_end_matches(['.', '-', '…']))
}

fn clip(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max.saturating_sub('…'.len_utf8())).rev().find(|&at| text.is_char_boundary(at));
    format!("{}…", &text[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(message: &str) -> ObjectEvent {
        ObjectEvent {
            kind: "Provisioning",
            key: ObjectKey::new("n", "edge"),
            warning: false,
            reason: "Claimed".into(),
            message: message.into(),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn name(telling: Telling) -> String {
        match telling {
            Telling::Create { name } => name,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_repeat_is_counted_and_the_count_is_written_now_and_then() {
        let mut book = Book::default();
        let first = name(book.record(&event("a"), at(0)));
        for second in 1..10 {
            assert_eq!(book.record(&event("a"), at(second)), Telling::Hold);
        }
        let count = |count, name: &str| Telling::Count { name: name.into(), count, first: at(0) };
        assert_eq!(book.record(&event("a"), at(10)), count(11, &first));
        assert_eq!(book.record(&event("a"), at(11)), Telling::Hold);
        assert!(book.due(at(12)).is_empty());
        let due = book.due(at(20));
        assert_eq!(due, [(identity(&event("a")), count(12, &first))]);
        assert!(book.due(at(40)).is_empty(), "nothing is new");
    }

    #[test]
    fn a_loop_that_says_something_new_each_time_is_no_flood() {
        let mut book = Book::default();
        let created = |book: &mut Book, from: i64| {
            let all = (0..1000).map(|n| book.record(&event(&format!("{from} {n}")), at(from)));
            all.filter(|telling| *telling != Telling::Hold).count()
        };
        assert_eq!(created(&mut book, 0), 25);
        assert_eq!(created(&mut book, 60), 2);
        let mut other = event("x");
        other.key = ObjectKey::new("n", "other");
        assert_ne!(book.record(&other, at(60)), Telling::Hold, "others are not held back");
    }

    #[test]
    fn an_event_that_the_api_server_has_forgotten_is_made_anew() {
        let mut book = Book::default();
        name(book.record(&event("a"), at(0)));
        name(book.record(&event("a"), at(3600)));
        book.lost(&identity(&event("a")));
        name(book.record(&event("a"), at(3601)));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut book = Book::default();
        for n in 0..20_000 {
            let mut event = event("x");
            event.key = ObjectKey::new("n", format!("edge-{n}"));
            book.record(&event, at(0));
        }
        assert!(book.entries.len() <= MOST && book.buckets.len() <= MOST);
    }

    #[test]
    fn a_message_of_several_lines_is_one_row() {
        let told = identity(&event("1 host too few\n  host1: cpu wanted 64\n\nwould fit: x\n")).4;
        assert_eq!(told, "1 host too few; host1: cpu wanted 64; would fit: x");
    }

    #[test]
    fn names_are_in_the_order_of_time_and_never_too_long() {
        assert!(event_name("edge", at(1)) < event_name("edge", at(2)));
        let long = event_name(&"a.b-".repeat(63), at(1));
        assert!(crate::cluster::kind::is_dns_subdomain(&long), "{long}");
        assert!(event_name(&"a".repeat(253), at(1)).len() <= MAX_NAME);
        let message = identity(&event(&"ä".repeat(2000))).4;
        assert!(message.len() <= MAX_MESSAGE && message.ends_with('…'));
    }
}
