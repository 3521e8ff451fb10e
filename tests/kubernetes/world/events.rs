//! Events: seen by kubectl in their order, counted when they repeat, and never a flood.

use bpa_coordinator::cluster::ObjectEvent;
use serde_json::Value;

use super::*;

fn event(place: &Place, reason: &str, message: &str) -> ObjectEvent {
    ObjectEvent {
        kind: "Provisioning",
        key: place.key("edge"),
        warning: reason == "Bad",
        reason: reason.into(),
        message: message.into(),
    }
}

fn events(place: &Place) -> Vec<Value> {
    let text = place.kubectl.run(&["get", "events", "-o", "json"]);
    let list: Value = serde_json::from_str(&text).unwrap();
    list["items"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_describe_tells_the_story_in_its_order() {
    let place = place("events-story").await;
    place.edge().await;
    let reasons = ["Accepted", "HostsMatched", "Bad", "HostsClaimed", "Installed"];
    for reason in reasons {
        place.world.record_event(event(&place, reason, "something happened")).await.unwrap();
    }
    wait_for("all events", || (events(&place).len() == reasons.len()).then_some(())).await;
    let text = place.kubectl.run(&["describe", "provisioning", "edge"]);
    let told = text.split("Events:").nth(1).unwrap();
    let places: Vec<usize> = reasons.iter().map(|reason| told.find(reason).unwrap()).collect();
    assert!(places.is_sorted(), "{told}");
    assert!(told.contains("Warning") && told.contains("bpa-coordinator"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_repeats_are_one_event_and_a_loop_of_news_is_a_few() {
    let place = place("events-flood").await;
    place.edge().await;
    for n in 0..1000 {
        place.world.record_event(event(&place, "Same", "again")).await.unwrap();
        place.world.record_event(event(&place, "News", &format!("number {n}"))).await.unwrap();
        tokio::task::yield_now().await;
    }
    let of = |reason: &str| -> Vec<Value> {
        events(&place).into_iter().filter(|event| event["reason"] == reason).collect()
    };
    // The count is written with the next look, after ten seconds.
    let count = wait_for("the count of the repeats", || {
        let same = of("Same");
        assert!(same.len() <= 1, "{same:?}");
        same.first()?["count"].as_u64().filter(|count| *count > 1)
    });
    assert!(count.await > 1);
    let news = of("News").len();
    assert!((1..=25).contains(&news), "{news} events of one loop");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_a_namespace_that_goes_away_is_no_trouble() {
    let place = place("events-gone").await;
    place.edge().await;
    // Nobody finishes the deletion here: the namespace stays `Terminating`.
    place.kubectl.run(&["delete", "namespace", "events-gone", "--wait=false"]);
    place.world.record_event(event(&place, "Late", "nobody hears this")).await.unwrap();
    let key = place.key("edge");
    place.world.set_finalizer(&key, true).await.unwrap();
    place.world.set_finalizer(&key, false).await.unwrap();
    let saved = place.world.save_kubeconfig(&*place.edge().await, &"x".into()).await.unwrap_err();
    assert!(saved.to_string().contains("being terminated"), "{saved}");
    assert!(events(&place).iter().all(|event| event["reason"] != "Late"));
}
