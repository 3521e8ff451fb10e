//! A write that comes late: its leader has lost the lead, and another has written since.

use std::time::Duration;

use super::*;

#[test]
fn a_write_that_is_held_back_until_another_leads_changes_nothing() {
    let (proxy, mut first) = behind("late");
    first.wish("edge", 1);
    first.claimed("edge");
    // From here on nothing of the first one's comes through in time: its lease is not renewed, and
    // the writes that it had begun arrive when another leads.
    let late = Fault::Late(Duration::from_secs(35));
    proxy.fault("PUT", "/leases/", 100, late.clone());
    proxy.fault("PATCH", "/", 100, late);
    let mend = json!({"spec": {"masters": [{"m": {"cpu": 64}}]}});
    first.kubectl.patch("bpa", "edge", "", &mend);
    until("a write of the first to be on its way", 30, || {
        if proxy.count("PATCH", "/provisionings/edge/status") > 0 { Ok(()) } else { Err("none") }
            .map_err(str::to_owned)
    });

    let direct = shared().kubeconfig(User::Coordinator);
    let state = first.dir.path().join("second");
    let second = start(&direct, &first.namespace, &state);
    second.wait_ready();
    first.kubectl.patch("bpa", "edge", "", &json!({"spec": {"masters": [{"m": {}}]}}));
    first.claimed("edge");
    let version = |kind: &str, name: &str| {
        first.kubectl.get(kind, name)["metadata"]["resourceVersion"].clone()
    };
    let before = [version("bpa", "edge"), version("bmh", "h1"), version("bmh", "h2")];
    let begun = first.kubectl.get("bpa", "edge");
    std::thread::sleep(Duration::from_secs(40));
    let after = [version("bpa", "edge"), version("bmh", "h1"), version("bmh", "h2")];
    assert_eq!(after, before, "what came late was refused: {begun}");
    // The first has seen that another leads, and has ended with the code of that.
    let status = until("the first to end", 60, || {
        first.coordinator.ended().ok_or_else(|| "it runs".to_owned())
    });
    assert_eq!(status.code(), Some(6));
}
