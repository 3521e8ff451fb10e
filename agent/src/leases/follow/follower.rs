//! One source: what was read last, what is believed of it, when to look again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::files::{self, ReadError, Reading, Stamp};
use super::guard::Guard;
use crate::leases::kind::{SourceKind, SourceSpec};
use crate::leases::parsers::{Limits, ParseError, detect, parse};
use crate::leases::record::SourceTable;
use crate::leases::table::SourceView;

/// A file that is rewritten in place must be unchanged for so long before it is read.
const SETTLE: Duration = Duration::from_millis(25);
/// If it never rests, it is read after this time; nothing disappears then.
const RESTLESS_MS: u64 = 500;
/// After a failure the next look comes soon: most failures are a file being replaced.
const SOON: Duration = Duration::from_millis(50);
/// Quick looks in a row, then only the slow poll looks: a file that stays broken must cost nothing.
const QUICK_LOOKS: u32 = 100;

/// The moment of a look: seconds since 1970, and milliseconds of a clock that does not jump.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub now: i64,
    pub steady: u64,
}

/// What came of a look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The view of the source is another one now.
    pub changed: bool,
    /// Look again after this time; none = when something happens.
    pub again: Option<Duration>,
}

/// Follows one source.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    limits: Limits,
    view: SourceView,
    guard: Guard,
    /// Of the last reading that needs no second look.
    read: Option<Vec<Stamp>>,
    /// Seen last, and since when the file was not at rest.
    seen: Option<Vec<Stamp>>,
    restless_since: Option<u64>,
    failures: u32,
    quick_looks: u32,
}

impl Follower {
    /// A follower that has not looked yet.
    pub fn new(source: SourceSpec, limits: Limits) -> Self {
        let view = SourceView::of(&source);
        Self {
            path: source.path,
            limits,
            view,
            guard: Guard::default(),
            read: None,
            seen: None,
            restless_since: None,
            failures: 0,
            quick_looks: 0,
        }
    }

    /// The source as it is believed to be.
    pub fn view(&self) -> &SourceView {
        &self.view
    }

    /// The file that is followed.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Looks at the files and reads them if they changed.
    pub fn look(&mut self, moment: Moment) -> Look {
        let before = (self.view.table.clone(), self.view.error.clone());
        let again = self.step(moment);
        let same = Arc::ptr_eq(&before.0, &self.view.table) && before.1 == self.view.error;
        self.quick_looks = if again.is_some() { self.quick_looks + 1 } else { 0 };
        Look { changed: !same, again: again.filter(|_| self.quick_looks <= QUICK_LOOKS) }
    }

    fn step(&mut self, moment: Moment) -> Option<Duration> {
        let kind = self.kind();
        let stamps = match files::stamps(kind, &self.path) {
            Ok(stamps) => stamps,
            Err(error) => return self.fail(error.to_string()),
        };
        if self.read.as_ref() == Some(&stamps) {
            self.good(moment);
            return None;
        }
        if rewritten_in_place(kind) && !self.at_rest(stamps, moment) {
            return Some(SETTLE);
        }
        match files::read(kind, &self.path, self.limits.bytes) {
            Ok(reading) => self.take(reading, moment),
            Err(ReadError::Restless { .. }) => Some(SOON),
            Err(error) => self.fail(error.to_string()),
        }
    }

    /// The kind of the source; where it is to be told by the content, as soon as there is some.
    fn kind(&mut self) -> SourceKind {
        if self.view.kind == SourceKind::Auto {
            let reading = files::read(SourceKind::Auto, &self.path, self.limits.bytes);
            let found = reading.ok().and_then(|r| detect(r.parts.first()?));
            self.view.kind = found.unwrap_or(SourceKind::Auto);
        }
        self.view.kind
    }

    /// True when the file is as it was at the last look, or has not rested for too long.
    fn at_rest(&mut self, stamps: Vec<Stamp>, moment: Moment) -> bool {
        if self.seen.as_ref() == Some(&stamps) {
            return true;
        }
        self.seen = Some(stamps);
        self.quick_looks = 0;
        let since = *self.restless_since.get_or_insert(moment.steady);
        moment.steady.saturating_sub(since) >= RESTLESS_MS
    }

    fn take(&mut self, reading: Reading, moment: Moment) -> Option<Duration> {
        let parts: Vec<&[u8]> = reading.parts.iter().map(Vec::as_slice).collect();
        let table = match parse(self.view.kind, &parts, &self.limits) {
            Ok(table) => table,
            Err(error) => return self.unreadable(&error),
        };
        if let Some(doubt) = doubt(&table) {
            return self.fail(doubt);
        }
        // A server that appends may be at work during the reading: what is complete is true.
        let in_place = rewritten_in_place(self.view.kind);
        let whole = !in_place || (reading.settled && table.unfinished.is_none());
        let admitted = self.guard.admit(&self.view.table, table, whole, moment.now, moment.steady);
        if *self.view.table != admitted.table {
            self.view.table = Arc::new(admitted.table);
        }
        self.view.written = reading.stamps.iter().map(Stamp::written).max();
        self.good(moment);
        self.restless_since = None;
        match admitted.look_again_ms {
            Some(ms) => Some(Duration::from_millis(ms)),
            None if whole => {
                self.read = Some(reading.stamps);
                None
            }
            None => Some(SETTLE),
        }
    }

    fn unreadable(&mut self, error: &ParseError) -> Option<Duration> {
        self.fail(format!("{} can't be read: {error}", self.path.display()))
    }

    /// Keeps the last good view. The first failure is not told: it may be a file being replaced.
    fn fail(&mut self, error: String) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        self.read = None;
        if self.failures < 2 && self.view.good_at.is_some() {
            return Some(SOON);
        }
        if self.view.error.as_deref() != Some(error.as_str()) {
            self.view.error = Some(error.into());
        }
        None
    }

    fn good(&mut self, moment: Moment) {
        self.failures = 0;
        self.view.good_at = Some(moment.now);
        self.view.error = None;
    }
}

/// Servers that write over the file that is there; the others append to it or replace it.
fn rewritten_in_place(kind: SourceKind) -> bool {
    use SourceKind::{Auto, Bootpd, Dnsmasq, Isc, Kea, Libvirt, Networkd, Udhcpd};
    match kind {
        Dnsmasq | Udhcpd | Bootpd | Auto => true,
        Isc | Kea | Libvirt | Networkd => false,
    }
}

/// A file of which nothing can be read is most likely another kind of file.
fn doubt(table: &SourceTable) -> Option<String> {
    let first = table.skips.first().filter(|_| table.count == 0)?;
    Some(format!(
        "none of {} records can be read (line {}: {}); check the kind of this source",
        table.skipped, first.line, first.reason
    ))
}
