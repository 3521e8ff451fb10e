//! A fake of Metal3's baremetal-operator beside a real API server: it follows `spec.image` of the
//! hosts of a namespace through its states, a step at a time (states and their order: the facts on
//! Metal3, 1.3), and writes nothing but their status.
//!
//! Not imitated: registration, inspection, power, errors that come by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::Kubectl;

/// Works until it is dropped.
#[derive(Debug)]
pub struct Metal3 {
    stop: Arc<AtomicBool>,
    work: Option<JoinHandle<()>>,
}

impl Metal3 {
    /// One step of each host every 300 ms.
    pub fn start(kubectl: &Kubectl) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (kubectl, told) = (kubectl.clone(), Arc::clone(&stop));
        let work = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                look(&kubectl);
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        Self { stop, work: Some(work) }
    }
}

impl Drop for Metal3 {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(work) = self.work.take() {
            let _ = work.join();
        }
    }
}

fn look(kubectl: &Kubectl) {
    let ran = kubectl.try_run(&["get", "bmh", "-o", "json"], "");
    let list: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    for host in list["items"].as_array().into_iter().flatten() {
        let Some(provisioning) = step(host) else { continue };
        let status = json!({"status": {"provisioning": provisioning}}).to_string();
        let name = host["metadata"]["name"].as_str().unwrap_or_default();
        // The host may be gone by now.
        kubectl.try_run(
            &["patch", "bmh", name, "--subresource", "status", "--type", "merge", "-p", &status],
            "",
        );
    }
}

/// What changes in `status.provisioning` of a host, if anything does.
fn step(host: &Value) -> Option<Value> {
    let url = |image: &Value| image["url"].as_str().unwrap_or_default().to_owned();
    let wanted = url(&host["spec"]["image"]);
    let provisioning = &host["status"]["provisioning"];
    let installed = url(&provisioning["image"]);
    let on = host["spec"]["online"] == true;
    match provisioning["state"].as_str()? {
        "available" if !wanted.is_empty() && on => {
            Some(json!({"state": "provisioning", "image": {"url": wanted}}))
        }
        "provisioning" if wanted == installed => Some(json!({"state": "provisioned"})),
        "provisioning" => Some(json!({"state": "deprovisioning"})),
        "provisioned" if wanted != installed && !installed.is_empty() => {
            Some(json!({"state": "deprovisioning"}))
        }
        "deprovisioning" => Some(json!({"state": "available", "image": {"url": ""}})),
        _ => None,
    }
}
