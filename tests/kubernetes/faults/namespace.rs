//! A namespace that is deleted with everything in it: a real namespace controller does that.

use super::*;

#[test]
fn a_namespace_that_is_deleted_goes_and_its_neighbours_work_on() {
    let plane = ControlPlane::start();
    plane.install_definitions();
    let _controllers = plane.start_controllers();
    let kubeconfig = plane.kubeconfig(User::Coordinator);
    let mut house = House::up(&plane, "stays", kubeconfig.clone());
    let doomed = plane.namespace("doomed");
    make_hosts(&doomed, INSTALLED);
    doomed.apply("{apiVersion: bpa.akraino.org/v1alpha1, kind: Site, metadata: {name: north}, spec: {approved: true}}");
    // One coordinator for both.
    house.coordinator.kill();
    let more = ["--namespace", "stays,doomed", "--system-namespace", "stays"];
    house.coordinator =
        Coordinator::start(&house.kubeconfig, &more, &house.dir.path().join("both"));
    house.coordinator.wait_ready();
    doomed.apply(&wish("edge", &json!({"masters": [{"m": {}}]})).to_string());
    until("a host to be marked", 60, || {
        let held = doomed.run(&["get", "bmh", "-o", "jsonpath={.items[*].spec.consumerRef.name}"]);
        if held == "edge" { Ok(()) } else { Err(held) }
    });

    plane.kubectl(User::Admin).run(&["delete", "namespace", "doomed", "--wait=false"]);
    until("the namespace to be gone", 120, || match house.kubectl.get("namespace", "doomed") {
        Value::Null => Ok(()),
        still => Err(format!("{}\n{}", still["status"], house.coordinator.log())),
    });
    house.wish("edge", 2);
    house.claimed("edge");
    house.delete("edge");
    house.coordinator.assert_sound();
}
