//! Answers that are none: refusals of a busy server, of webhooks, conflicts, answers that got lost.

use std::time::Duration;

use super::*;

/// The whole way of a Provisioning, there and back, while its calls meet these faults.
fn there_and_back(namespace: &str, faults: &[(&'static str, &'static str, usize, Fault)]) {
    let (proxy, mut house) = behind(namespace);
    for (method, path, times, fault) in faults {
        proxy.fault(method, path, *times, fault.clone());
    }
    house.wish("edge", 2);
    house.claimed("edge");
    assert_eq!([house.holder("h1"), house.holder("h2")], [json!("edge"), json!("edge")]);
    let uid = house.kubectl.get("bpa", "edge")["metadata"]["uid"].clone();
    let mark = house.kubectl.get("bmh", "h1")["spec"]["consumerRef"].clone();
    assert_eq!(mark["uid"], uid, "{mark}");
    assert_eq!(proxy.left(), 0, "every fault has happened");
    for (method, path, times, fault) in faults {
        proxy.fault(method, path, *times, fault.clone());
    }
    house.delete("edge");
    proxy.heal();
    house.coordinator.assert_sound();
}

fn answer(code: u16, reason: &'static str, message: &'static str) -> Fault {
    Fault::Answer { code, reason, message, retry_after: None }
}

#[test]
fn a_server_that_is_too_busy_is_asked_again_after_the_time_that_it_names() {
    let busy = Fault::Answer {
        code: 429,
        reason: "TooManyRequests",
        message: "the server has received too many requests and has asked us to try again later",
        retry_after: Some(1),
    };
    there_and_back(
        "busy",
        &[
            ("PATCH", "/baremetalhosts/", 3, busy.clone()),
            ("PATCH", "/provisionings/edge", 4, busy.clone()),
            ("GET", "/baremetalhosts/", 3, busy),
        ],
    );
}

#[test]
fn storms_of_conflicts_and_webhooks_that_are_away_pass() {
    there_and_back(
        "conflicts",
        &[
            (
                "PATCH",
                "/baremetalhosts/",
                6,
                answer(
                    409,
                    "Conflict",
                    "the object has been modified; please apply your changes to the latest version and try again",
                ),
            ),
            (
                "PATCH",
                "/provisionings/edge/status",
                6,
                answer(409, "Conflict", "the object has been modified"),
            ),
            (
                "PATCH",
                "/provisionings/edge",
                5,
                answer(
                    500,
                    "InternalError",
                    "Internal error occurred: failed calling webhook \"v.example.org\": connect: connection refused",
                ),
            ),
            (
                "PATCH",
                "/baremetalhosts/",
                3,
                answer(
                    503,
                    "ServiceUnavailable",
                    "the server is currently unable to handle the request",
                ),
            ),
        ],
    );
}

#[test]
fn a_write_whose_answer_is_lost_is_not_done_twice_nor_given_up() {
    there_and_back(
        "lost",
        &[
            ("PATCH", "/provisionings/edge", 3, Fault::AnswerLost),
            ("PATCH", "/baremetalhosts/", 3, Fault::AnswerLost),
            ("GET", "/baremetalhosts/", 2, Fault::AnswerLost),
        ],
    );
}

#[test]
fn answers_that_take_seconds_are_waited_for_or_asked_for_again() {
    there_and_back(
        "slow",
        &[
            ("PATCH", "/baremetalhosts/", 1, Fault::Slow(Duration::from_secs(3))),
            // Longer than we wait for one call: it was carried out all the same.
            ("PATCH", "/baremetalhosts/", 1, Fault::Slow(Duration::from_secs(7))),
            ("PATCH", "/provisionings/edge/status", 1, Fault::Slow(Duration::from_secs(7))),
        ],
    );
}

/// A watch that is too old says so, and everything is listed again; what happened meanwhile counts.
#[test]
fn a_watch_that_has_expired_begins_again_with_what_is_there() {
    const GONE: &str = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (9)","reason":"Expired","code":410}}"#;
    let (proxy, mut house) = behind("expired");
    house.wish("first", 1);
    house.claimed("first");
    // The next watches of each kind end like this; one that is cut in the middle of a line, too.
    for path in ["/provisionings?", "/baremetalhosts?", "/sites?"] {
        proxy.fault("GET", path, 2, Fault::Watched(GONE));
        proxy.fault("GET", path, 1, Fault::Watched(r#"{"type":"MODIFIED","obj"#));
    }
    proxy.cut();
    house.wish("second", 1);
    house.claimed("second");
    house.delete("first");
    house.delete("second");
    assert_eq!(proxy.left(), 0, "every fault has happened");
    house.coordinator.assert_sound();
}
