//! The API server and its store go away and come back, forget old versions, and are slow to start.

use std::time::Duration;

use super::*;

#[test]
fn what_was_asked_for_while_the_server_restarts_is_done_when_it_is_back() {
    let plane = ControlPlane::start();
    plane.install_definitions();
    let mut house = House::up(&plane, "restart", plane.kubeconfig(User::Coordinator));
    house.wish("first", 1);
    house.claimed("first");

    plane.kill_api();
    std::thread::sleep(Duration::from_secs(3));
    plane.start_api();
    plane.wait_ready();
    house.wish("second", 1);
    house.claimed("second");

    // Its store dies under a running server, in the middle of work.
    house.kubectl.run(&["delete", "bpa", "first", "--wait=false"]);
    plane.kill_etcd();
    std::thread::sleep(Duration::from_secs(3));
    plane.start_etcd();
    plane.wait_ready();
    house.gone("first");
    house.delete("second");

    // Both at once; then everything that a watch could go on from is forgotten.
    plane.kill_api();
    plane.kill_etcd();
    plane.start_etcd();
    plane.compact();
    plane.start_api();
    plane.wait_ready();
    house.wish("third", 2);
    house.claimed("third");
    house.delete("third");
    house.coordinator.assert_sound();
}

/// The server's clock stands still for longer than a call may take, but not than a lease lasts.
#[test]
fn a_server_that_stands_still_for_seconds_is_waited_for() {
    let plane = ControlPlane::start();
    plane.install_definitions();
    let mut house = House::up(&plane, "still", plane.kubeconfig(User::Coordinator));
    house.wish("edge", 2);
    for _ in 0..3 {
        plane.pause_api(true);
        std::thread::sleep(Duration::from_secs(6));
        plane.pause_api(false);
        std::thread::sleep(Duration::from_secs(1));
    }
    house.claimed("edge");
    house.delete("edge");
    house.coordinator.assert_sound();
}
