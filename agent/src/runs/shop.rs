//! What all runs of an agent share.

use std::path::PathBuf;
use std::sync::Arc;

use bpa_common::wire::v1::{BundleReport, ClusterPlan};

use super::turns::Turns;
use crate::config::{BundleConfig, RunsConfig};
use crate::journal::Journal;
use crate::leases::LeaseFeed;
use crate::steps::access::AccessContext;
use crate::steps::kubespray::Bundle;

/// What all runs of an agent share.
pub struct Shop {
    pub state_dir: PathBuf,
    pub journal: Arc<Journal>,
    pub access: AccessContext,
    pub leases: LeaseFeed,
    pub bundles: Vec<BundleConfig>,
    pub config: RunsConfig,
    pub turns: Turns,
    /// The program of the supervisor: `bpa-agent` itself.
    pub agent: PathBuf,
}

impl Shop {
    /// The bundles as they are on the disk now: one that was mended needs no restart.
    pub fn inspect(&self) -> Vec<Bundle> {
        self.bundles.iter().map(Bundle::inspect).collect()
    }

    /// As the coordinator is told.
    pub fn reports(&self) -> Vec<BundleReport> {
        self.inspect().iter().map(Bundle::report).collect()
    }

    /// The bundle of an order: the one it names, or the only one.
    pub fn bundle(&self, plan: &ClusterPlan) -> Option<Bundle> {
        let mut all = self.inspect();
        match &plan.bundle {
            Some(name) => all.into_iter().find(|b| b.manifest.name == *name),
            None if all.len() == 1 => all.pop(),
            None => None,
        }
    }
}
