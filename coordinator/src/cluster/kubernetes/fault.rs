//! What an error of the API server means for us. Pure.

use std::time::Duration;

use kube::core::Status;

/// The longest that a server's wish to wait is followed.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The meaning of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The object, or its namespace, is not there.
    Missing,
    /// The API server does not know this kind of object.
    Unserved,
    /// It changed since it was read, or there is one of this name already.
    Conflict,
    /// We may not do this.
    Forbidden,
    /// The namespace is being deleted: nothing new can be made in it.
    Terminating,
    /// Busy, away or slow: the same may be tried again, after this long if the server said so.
    Later(Option<Duration>),
    /// Larger than the API server or its store takes.
    TooLarge,
    /// The object is not accepted.
    Invalid,
    /// What is stored of the object does not fit its definition, so that nothing can be applied to
    /// it: it is from times when nothing was checked.
    Unfit,
}

/// How an API server says that, the second of an object whose fields have no owners yet.
const UNFIT: [&str; 2] = ["failed to create typed", "to smd typed"];

/// The meaning of this error.
pub fn fault(error: &kube::Error) -> Fault {
    match error {
        kube::Error::Api(status) => of_status(status),
        kube::Error::BuildRequest(_) | kube::Error::SerdeError(_) => Fault::Invalid,
        _ => Fault::Later(None),
    }
}

fn of_status(status: &Status) -> Fault {
    let details = status.details.as_ref();
    let too_large = ["request is too large", "larger than max", "too large"];
    match status.code {
        404 if details.is_some_and(|details| !details.name.is_empty()) => Fault::Missing,
        404 => Fault::Unserved,
        409 => Fault::Conflict,
        403 if causes(status, "NamespaceTerminating") => Fault::Terminating,
        401 | 403 => Fault::Forbidden,
        413 => Fault::TooLarge,
        500 if UNFIT.iter().any(|words| status.message.contains(words)) => Fault::Unfit,
        code if code >= 500 && too_large.iter().any(|text| status.message.contains(text)) => {
            Fault::TooLarge
        }
        0 | 408 | 410 | 429 | 500.. => {
            let seconds = details.map_or(0, |details| details.retry_after_seconds);
            let wait = (seconds > 0).then(|| Duration::from_secs(seconds.into()).min(LONGEST_WAIT));
            Fault::Later(wait)
        }
        _ => Fault::Invalid,
    }
}

fn causes(status: &Status, reason: &str) -> bool {
    status.details.iter().flat_map(|details| &details.causes).any(|cause| cause.reason == reason)
}

/// The error in the words of whoever made it, its causes included.
pub fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => {
            format!("{} ({})", status.message.trim(), status.code)
        }
        kube::Error::Service(error) => format!("it can't be reached: {}", chain(error.as_ref())),
        kube::Error::HyperError(error) => format!("it can't be reached: {}", chain(error)),
        other => chain(other),
    }
}

/// An error and its causes, each said once.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn fault_of(status: Value) -> Fault {
        fault(&kube::Error::Api(Box::new(serde_json::from_value(status).unwrap())))
    }

    #[test]
    fn a_missing_object_is_not_a_missing_kind_and_neither_is_a_missing_right() {
        let missing = json!({"code": 404, "reason": "NotFound", "details": {"name": "p"}});
        assert_eq!(fault_of(missing), Fault::Missing);
        assert_eq!(
            fault_of(json!({"code": 404, "message": "404 page not found"})),
            Fault::Unserved
        );
        assert_eq!(fault_of(json!({"code": 403, "reason": "Forbidden"})), Fault::Forbidden);
        assert_eq!(fault_of(json!({"code": 401})), Fault::Forbidden);
    }

    #[test]
    fn a_namespace_that_goes_away_is_told_from_a_missing_right() {
        let causes = json!([{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]);
        let status = json!({"code": 403, "reason": "Forbidden", "details": {"causes": causes}});
        assert_eq!(fault_of(status), Fault::Terminating);
    }

    #[test]
    fn an_object_that_does_not_fit_its_definition_is_no_failure_of_the_server() {
        let words =
            "failed to create typed live object (n/p; v1, Kind=P): .spec.masters: expected list";
        assert_eq!(fault_of(json!({"code": 500, "message": words})), Fault::Unfit);
        let words = "failed to create manager for existing fields: failed to convert new object (n/p) to smd typed: .spec.masters: expected list";
        assert_eq!(fault_of(json!({"code": 500, "message": words})), Fault::Unfit);
        assert_eq!(fault_of(json!({"code": 500, "message": "m"})), Fault::Later(None));
    }

    #[test]
    fn what_passes_is_tried_again_when_the_server_says() {
        let wait = |seconds: u64| Fault::Later(Some(Duration::from_secs(seconds)));
        let busy = |seconds: u64| json!({"code": 429, "details": {"retryAfterSeconds": seconds}});
        assert_eq!(fault_of(busy(2)), wait(2));
        assert_eq!(fault_of(busy(86_400)), wait(30), "no server holds us for a day");
        for code in [500, 502, 503, 504, 410] {
            assert_eq!(fault_of(json!({"code": code})), Fault::Later(None), "{code}");
        }
    }

    #[test]
    fn what_never_succeeds_is_not_tried_again() {
        assert_eq!(fault_of(json!({"code": 422})), Fault::Invalid);
        assert_eq!(fault_of(json!({"code": 413})), Fault::TooLarge);
        let store = json!({"code": 500, "message": "etcdserver: request is too large"});
        assert_eq!(fault_of(store), Fault::TooLarge);
        assert_eq!(fault_of(json!({"code": 409})), Fault::Conflict);
    }

    #[test]
    fn an_error_is_told_in_the_servers_words_once() {
        let status = json!({"code": 409, "message": "the object has been modified"});
        let error = kube::Error::Api(Box::new(serde_json::from_value(status).unwrap()));
        assert_eq!(words(&error), "the object has been modified (409)");
        let inner = std::io::Error::other("connection refused");
        let error = kube::Error::Service(Box::new(inner));
        assert_eq!(words(&error), "it can't be reached: connection refused");
    }
}
