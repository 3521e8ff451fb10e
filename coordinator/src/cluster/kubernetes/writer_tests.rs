//! Tests of calls: what is tried again, how often, and never without leadership. Against an API
//! server of a few lines, which answers as it is told.

use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// Answers with these statuses one after the other, the last one for ever; counts the requests.
/// `asked` is called with each request.
async fn server(
    statuses: Vec<u16>,
    asked: impl Fn(usize) + Send + 'static,
) -> (Client, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            // One small request a connection: all of it comes at once.
            let _ = stream.read(&mut request).await;
            let number = {
                let mut count = counted.lock().unwrap();
                *count += 1;
                *count
            };
            asked(number);
            let status = statuses[(number - 1).min(statuses.len() - 1)];
            let body = match status {
                200 => {
                    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#.to_owned()
                }
                // As API servers that are crowded do, in plain words.
                429 => "Too many requests, please try again later.".to_owned(),
                _ => format!(r#"{{"kind":"Status","code":{status},"message":"told so"}}"#),
            };
            let answer = format!(
                "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = Config::new(format!("http://{address}").parse().unwrap());
    config.default_retry = false;
    (Client::try_from(config).unwrap(), count)
}

async fn get(client: Client) -> kube::Result<ConfigMap> {
    let api: Api<ConfigMap> = Api::namespaced(client, "n");
    api.get("a").await
}

#[tokio::test]
async fn a_crowded_or_broken_server_is_asked_again_until_it_answers() {
    let (client, count) = server(vec![429, 503, 500, 200], |_| {}).await;
    let writer = Writer { client, guard: Guard::free() };
    assert_eq!(writer.write(get).await.unwrap().metadata.name.as_deref(), Some("a"));
    assert_eq!(*count.lock().unwrap(), 4);
}

#[tokio::test]
async fn a_server_that_stays_broken_is_not_asked_for_ever() {
    let (client, count) = server(vec![503], |_| {}).await;
    let writer = Writer { client, guard: Guard::free() };
    let failed = writer.read(get).await.unwrap_err();
    assert_eq!(failed.fault(), Some(Fault::Later(None)));
    assert_eq!(*count.lock().unwrap(), TRIES as usize);
}

#[tokio::test]
async fn what_is_refused_is_asked_once() {
    for status in [403, 404, 409, 422] {
        let (client, count) = server(vec![status], |_| {}).await;
        let writer = Writer { client, guard: Guard::free() };
        writer.write(get).await.unwrap_err();
        assert_eq!(*count.lock().unwrap(), 1, "{status}");
    }
}

#[tokio::test]
async fn leadership_that_is_lost_between_two_tries_ends_them() {
    let guard = Guard::free();
    let lost = guard.clone();
    let (client, count) = server(vec![503, 200], move |_| lost.close()).await;
    let writer = Writer { client, guard };
    let failed = writer.write(get).await.unwrap_err();
    assert!(matches!(failed, Failed::NotLeader(_)), "{failed:?}");
    assert_eq!(*count.lock().unwrap(), 1);
    assert!(matches!(writer.write(get).await.unwrap_err(), Failed::NotLeader(_)));
    assert_eq!(*count.lock().unwrap(), 1, "nothing is sent without the lead");
    writer.read(get).await.unwrap();
}

#[test]
fn only_what_passes_is_tried_again_and_not_for_long() {
    let later = Some(Fault::Later(None));
    let ms = Duration::from_millis;
    assert_eq!(next_wait(later, 1, ms(0)), Some(ms(100)));
    assert_eq!(next_wait(later, 3, ms(0)), Some(ms(400)));
    assert_eq!(next_wait(later, TRIES, ms(0)), None);
    assert_eq!(next_wait(later, 1, ms(4000)), None);
    let asked = |seconds| Some(Fault::Later(Some(Duration::from_secs(seconds))));
    assert_eq!(next_wait(asked(2), 1, ms(0)), Some(ms(2000)));
    assert_eq!(next_wait(asked(20), 1, ms(0)), None, "the caller's back-off is for that");
    for never in [Fault::Conflict, Fault::Missing, Fault::Forbidden, Fault::Invalid] {
        assert_eq!(next_wait(Some(never), 1, ms(0)), None, "{never:?}");
    }
    assert_eq!(next_wait(None, 1, ms(0)), None);
}

#[test]
fn a_missing_object_and_a_missing_right_are_different_errors() {
    let failed = |code: u16, name: &str| {
        let status = serde_json::json!({"code": code, "message": "m", "details": {"name": name}});
        Failed::Api(Box::new(kube::Error::Api(serde_json::from_value(status).unwrap())))
    };
    let key = ObjectKey::new("n", "p");
    let gone = failed(404, "p").into_world("write", Kind::Provisioning, &key);
    assert!(matches!(gone, WorldError::NotFound { .. }), "{gone}");
    let denied = failed(403, "p").into_world("write the status of", Kind::Provisioning, &key);
    assert_eq!(
        denied.to_string(),
        "can't write the status of Provisioning n/p: m (403); see deploy/rbac.yaml for what is needed"
    );
    let lost = Failed::NotLeader(NotLeader).into_world("write", Kind::Site, &key);
    assert!(matches!(lost, WorldError::NotLeader));
}
