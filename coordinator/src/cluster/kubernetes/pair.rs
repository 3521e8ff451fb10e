//! A host and its inspection data as one record. Pure.

use std::sync::Arc;

use bpa_common::api::metal3::{BareMetalHost, HardwareData};

use crate::cluster::{HostRecord, ObjectProblem};

/// A host and its inspection data come from two watches, in any order. Each is kept once.
#[derive(Debug, Default)]
pub struct Pair {
    /// Both together; none while there is no host that can be used.
    pub record: Option<Arc<HostRecord>>,
    /// Inspection data while there is no host that could be used.
    lone: Option<HardwareData>,
    bad_host: Option<ObjectProblem>,
    bad_data: Option<ObjectProblem>,
}

impl Pair {
    /// The host came or changed, or can't be used.
    pub fn put_host(&mut self, host: Result<BareMetalHost, ObjectProblem>) {
        let hardware = self.take_data();
        match host {
            Ok(host) => {
                self.bad_host = None;
                self.record = Some(Arc::new(HostRecord { host, hardware }));
            }
            Err(problem) => {
                self.bad_host = Some(problem);
                self.lone = hardware;
            }
        }
    }

    /// Its inspection data came or changed, or can't be used.
    pub fn put_data(&mut self, data: Result<HardwareData, ObjectProblem>) {
        let (data, problem) = match data {
            Ok(data) => (Some(data), None),
            Err(problem) => (None, Some(problem)),
        };
        self.bad_data = problem;
        self.set_data(data);
    }

    /// The host is gone.
    pub fn remove_host(&mut self) {
        self.lone = self.take_data();
        self.bad_host = None;
    }

    /// Its inspection data is gone.
    pub fn remove_data(&mut self) {
        self.bad_data = None;
        self.set_data(None);
    }

    fn set_data(&mut self, data: Option<HardwareData>) {
        match &mut self.record {
            // A snapshot that shares the record keeps the old one.
            Some(record) => Arc::make_mut(record).hardware = data,
            None => self.lone = data,
        }
    }

    /// Takes the record apart; the inspection data is what is left of it.
    fn take_data(&mut self) -> Option<HardwareData> {
        match self.record.take() {
            Some(record) => Arc::unwrap_or_clone(record).hardware,
            None => self.lone.take(),
        }
    }

    /// Whether there is a host, usable or not.
    pub fn has_host(&self) -> bool {
        self.record.is_some() || self.bad_host.is_some()
    }

    /// Whether there is inspection data, usable or not.
    pub fn has_data(&self) -> bool {
        let joined = self.record.as_ref().is_some_and(|record| record.hardware.is_some());
        joined || self.lone.is_some() || self.bad_data.is_some()
    }

    /// Why one of both can't be used.
    pub fn problems(&self) -> impl Iterator<Item = &ObjectProblem> {
        self.bad_host.iter().chain(&self.bad_data)
    }
}
