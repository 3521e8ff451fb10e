//! What sessions put in: events and logs, durable before they are acknowledged.

use std::io;
use std::sync::Arc;

use bpa_common::wire::v1::{Event, RunId};

use super::fold;
use super::folder::Folder;
use super::record::RunRecord;
use super::store::{Entry, Known, RunStore, Shared};
use crate::sites::{RunSink, SinkError};

/// Most runs of one site that were not ordered here (an agent of another coordinator's time).
const MAX_UNKNOWN_RUNS: usize = 256;

impl RunSink for RunStore {
    fn events_seen(&self, site: &str) -> u64 {
        self.0.read(|known| known.seen.get(site).copied().unwrap_or(0))
    }

    async fn append_events(&self, site: &str, events: Vec<Event>) -> Result<(), SinkError> {
        self.told(site, move |shared, site| shared.keep_events(site, &events)).await
    }

    fn log_len(&self, run: RunId) -> u64 {
        self.0.read(|known| known.runs.get(&run).map_or(0, |entry| entry.log.seen))
    }

    async fn append_log(
        &self,
        site: &str,
        run: RunId,
        offset: u64,
        piece: Vec<u8>,
    ) -> Result<(), SinkError> {
        self.told(site, move |shared, site| shared.keep_log(site, run, offset, &piece)).await
    }
}

impl RunStore {
    async fn told(
        &self,
        site: &str,
        work: impl FnOnce(&Shared, &str) -> io::Result<()> + Send + 'static,
    ) -> Result<(), SinkError> {
        let (shared, name) = (Arc::clone(&self.0), site.to_owned());
        let done =
            tokio::task::spawn_blocking(move || shared.lanes.run(&name, || work(&shared, &name)));
        done.await.unwrap_or_else(|e| Err(io::Error::other(e))).map_err(|source| SinkError {
            site: site.to_owned(),
            message: format!("{source}; check the coordinator's state directory and its space"),
        })
    }
}

impl Known {
    /// Whether this site may tell about this run.
    fn may_tell(&self, site: &str, run: RunId) -> bool {
        match self.runs.get(&run) {
            // A folder that a crash left empty belongs to nobody yet.
            Some(entry) if !entry.record.site.is_empty() => entry.record.site == site,
            _ => {
                let unknown = |e: &&Entry| e.record.site == site && e.record.order.is_none();
                self.runs.values().filter(unknown).count() < MAX_UNKNOWN_RUNS
            }
        }
    }
}

impl Shared {
    /// Keeps events in order: each stretch of one run is durable before the next begins, so that
    /// what is found after a crash is always a beginning of what was told.
    fn keep_events(&self, site: &str, events: &[Event]) -> io::Result<()> {
        let seen = self.read(|known| known.seen.get(site).copied().unwrap_or(0));
        let fresh: Vec<&Event> = events.iter().filter(|e| e.seq > seen).collect();
        if !fresh.is_sorted_by_key(|e| e.seq) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "events are out of order"));
        }
        for stretch in fresh.chunk_by(|a, b| a.run == b.run) {
            let owned: Vec<Event> = stretch.iter().map(|e| (*e).clone()).collect();
            self.keep_stretch(site, &owned)?;
        }
        Ok(())
    }

    fn keep_stretch(&self, site: &str, events: &[Event]) -> io::Result<()> {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return Ok(()) };
        let (run, last_seq) = (first.run, last.seq);
        if !self.read(|known| known.may_tell(site, run)) {
            tracing::warn!(%run, site, "a site tells about a run that is not its own; ignored");
            self.publish(|known| {
                known.seen.insert(site.to_owned(), last_seq);
            });
            return Ok(());
        }
        let old = self.read(|known| known.runs.get(&run).map(|e| Arc::clone(&e.record)));
        let known_steps = old.as_ref().map(|r| (r.progress.state(), r.progress.steps.clone()));
        let mut record = old.map_or_else(RunRecord::default, |r| (*r).clone());
        record.site = site.to_owned();
        let home = record.order.as_ref().is_none_or(|o| o.kubeconfig_home);
        let folder = Folder::of(&self.root, run);
        folder.create()?;
        let kept = folder.append(site, events, home)?;
        record = events.iter().fold(record, fold);
        // Only a copy for readers (after a restart the events tell), so not at every task.
        if known_steps != Some((record.progress.state(), record.progress.steps.clone())) {
            folder.write_record(&record)?;
        }
        self.publish(|known| {
            let entry = known.runs.entry(run).or_default();
            entry.record = Arc::new(record);
            entry.has_kubeconfig |= kept;
            known.seen.insert(site.to_owned(), last_seq);
        });
        Ok(())
    }

    fn keep_log(&self, site: &str, run: RunId, offset: u64, piece: &[u8]) -> io::Result<()> {
        if !self.read(|known| known.may_tell(site, run)) {
            let message = format!("run {run} is not of this site");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let mut entry = self.read(|known| known.runs.get(&run).cloned()).unwrap_or_default();
        let folder = Folder::of(&self.root, run);
        folder.create()?;
        entry.log.append(&folder.log(), offset, piece)?;
        self.publish(|known| {
            let known = known.runs.entry(run).or_default();
            if known.record.site.is_empty() {
                known.record =
                    Arc::new(RunRecord { site: site.to_owned(), ..RunRecord::default() });
            }
            known.log = entry.log;
        });
        Ok(())
    }
}
