//! PURE: which host takes which role, and why (design, section 5).
//!
//! - `slot`: what a provisioning asks for; `accept`: from a spec to slots, or the reasons against it
//! - `offer`: what a host has, every part may be unknown; `eligibility`: why a host can't be taken
//! - `requirement`: one need against one offer, with wanted, found, short by
//! - `doubt`: what to know of a plan that fits
//! - `solve`: a full assignment whenever there is one; `explain` and `remedy`: the words when not
//! - `report`: the answer of `bpa-coordinator plan`, versioned
//!
//! No I/O, clock or randomness: the same input gives the same answer in any order.

mod accept;
mod catalog;
mod classes;
mod cost;
mod doubt;
mod eligibility;
mod explain;
mod flow;
mod group;
mod offer;
mod plan;
mod remedy;
mod report;
mod requirement;
mod slot;
mod solve;

pub use accept::{Accepted, Rejection, accept, check_node_name};
pub use catalog::Catalog;
pub use cost::waste;
pub use doubt::{Doubt, Others};
pub use eligibility::{Ineligible, IneligibleReason, is_installable};
pub use explain::{Competition, Explanation, NearMiss};
pub use offer::{Claimant, HostId, Offer};
pub use plan::{
    Against, BarOf, Planned, Pool, assigned_to, consumer_of, lease_mac, plan_all, plan_among,
    plan_hash, plan_one,
};
pub use report::{
    AssignmentReport, HostReport, IneligibleGroup, IneligibleReport, PLAN_SCHEMA, PlanReport,
    ProvisioningPlan, Remedy, Unreadable, in_groups,
};
pub use requirement::{Miss, misses};
pub use slot::{Need, Slot};
pub use solve::{Assignment, Bottleneck, Solution, Wish, most_in_a_domain, solve};

#[cfg(test)]
mod bug_tests;
#[cfg(test)]
mod statements;
#[cfg(test)]
mod testing;
