//! `plan`: the assignment or the explanation from manifests alone.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::cluster::directory::{load_files, load_text};
use crate::cluster::{ObjectProblem, Snapshot, WorldError};
use crate::matching::{PlanReport, ProvisioningPlan, Unreadable, plan_among};

/// Arguments of `bpa-coordinator plan`.
#[derive(clap::Args, Clone, Debug)]
pub struct PlanArgs {
    /// Manifests of hosts (BareMetalHost, HardwareData) and wishes (Provisioning): files or
    /// directories; `-` reads standard input. May be given several times.
    #[arg(short = 'f', long = "filename", required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Standard input is not read beyond this.
const MAX_STDIN: u64 = 64 << 20;

/// Reads the files and plans. `now` stands for the creation time of objects that have none.
///
/// # Errors
/// When a file can't be read at all; what can't be used in it is part of the report.
pub fn plan(args: &PlanArgs, now: Timestamp) -> Result<PlanReport, WorldError> {
    let (stdin, paths): (Vec<_>, Vec<_>) =
        args.files.iter().cloned().partition(|f| f == Path::new("-"));
    let mut loaded = load_files(&paths)?;
    if !stdin.is_empty() {
        let mut text = String::new();
        std::io::stdin().take(MAX_STDIN).read_to_string(&mut text).map_err(|source| {
            WorldError::Io { action: "read", path: "standard input".to_owned(), source }
        })?;
        // Hosts may come from one file and their HardwareData from another.
        loaded.merge(load_text("standard input", &text));
    }
    Ok(report(&loaded.snapshot(now)))
}

fn report(snapshot: &Snapshot) -> PlanReport {
    let hosts: Vec<_> =
        snapshot.hosts.iter().map(|record| (&record.host, record.hardware.as_ref())).collect();
    let no_hosts = hosts.is_empty();
    let mut report =
        plan_among(&snapshot.provisionings, &hosts, &snapshot.uses, &snapshot.choosers);
    if no_hosts {
        for plan in &mut report.provisionings {
            let warning = "no BareMetalHost is in these files; name those with the hosts too";
            plan.warnings.push(warning.to_owned());
        }
    }
    for problem in &snapshot.problems {
        match &problem.key {
            // A wish that can't be read is a wish that is refused.
            Some(key) if problem.kind == "Provisioning" => {
                report.fits = false;
                report.provisionings.push(ProvisioningPlan {
                    namespace: key.namespace.clone(),
                    name: key.name.clone(),
                    problems: vec![format!("{}: {}", problem.place, problem.message)],
                    ..ProvisioningPlan::default()
                });
            }
            _ => report.unreadable.push(unreadable(problem)),
        }
    }
    report
}

fn unreadable(problem: &ObjectProblem) -> Unreadable {
    Unreadable { place: problem.place.clone(), message: problem.message.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> PlanReport {
        report(&load_text("t", text).snapshot(Timestamp::UNIX_EPOCH))
    }

    #[test]
    fn a_wish_that_cannot_be_read_is_refused_and_hurts_no_other() {
        let plans = of(
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: bad}\nspec: {masters: [{m: {cpu: ten}}]}\n---\napiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: good}\nspec: {masters: [{m: {cpu: 4}}]}\n",
        );
        let by_name = |name: &str| plans.provisionings.iter().find(|p| p.name == name).unwrap();
        assert!(!plans.fits && by_name("good").accepted);
        assert!(
            by_name("bad").problems[0].contains("whole number"),
            "{:?}",
            by_name("bad").problems
        );
    }

    #[test]
    fn a_plan_without_hosts_says_so() {
        let text = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: p}\nspec: {masters: [{m: {cpu: 4}}]}\n";
        let plans = of(text);
        assert!(plans.provisionings[0].warnings[0].contains("no BareMetalHost"));
    }

    /// An export of a cluster has the objects of Cluster API beside the hosts.
    #[test]
    fn what_others_have_or_may_be_given_counts_in_a_plan_too() {
        let host = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h, namespace: m}\nspec: {online: false}\nstatus: {operationalStatus: OK, provisioning: {state: available}}\n---\n";
        let wish = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: p}\nspec: {masters: [{m: {}}], os: {image: {url: 'http://site/i', checksum: c}}}\n---\n";
        let api = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n";
        let template = format!(
            "{api}kind: Metal3MachineTemplate\nmetadata: {{name: t, namespace: m}}\nspec: {{template: {{spec: {{}}}}}}\n"
        );
        let found = of(&format!("{host}{wish}{template}"));
        assert!(found.fits, "{found:?}");
        let warning = &found.provisionings[0].warnings[0];
        assert!(warning.starts_with("Metal3MachineTemplate m/t (no hostSelector"), "{warning}");
        let machine = format!(
            "{api}kind: Metal3Machine\nmetadata: {{name: t, namespace: m, annotations: {{metal3.io/BareMetalHost: m/h}}}}\n"
        );
        let found = of(&format!("{host}{wish}{machine}"));
        let reasons = found.provisionings[0].ineligible.iter().map(|line| line.reason.as_str());
        assert_eq!(reasons.collect::<Vec<_>>(), ["UsedByMachine"]);
    }

    #[test]
    fn a_host_that_cannot_be_read_is_named_with_its_place() {
        let plans = of(
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h}\nspec: {online: maybe}\n",
        );
        assert!(plans.unreadable[0].place.contains("document 1"), "{:?}", plans.unreadable);
    }
}
