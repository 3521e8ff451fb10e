//! How well each kind of object is seen: not yet, well, or with trouble. Pure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bpa_common::api::NeighbourKind;

use super::fault::Fault;
use crate::cluster::ObjectProblem;
use crate::cluster::kind::Kind;

/// Trouble is told when it lasts this long: connections come and go.
const PATIENCE: Duration = Duration::from_secs(30);
/// Without a further error for this long the trouble is over. Longer than the longest back-off.
const CALM: Duration = Duration::from_secs(90);

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watched {
    Object(Kind),
    /// Objects of others, looked at for the hosts that they have or choose.
    Neighbour(NeighbourKind),
}

impl Watched {
    /// Its kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object(kind) => kind.name(),
            Self::Neighbour(kind) => kind.name(),
        }
    }

    fn group(self) -> &'static str {
        match self {
            Self::Object(kind) => kind.group(),
            Self::Neighbour(kind) => kind.group(),
        }
    }
}

/// One watch: a kind in one namespace or in all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    pub kind: Watched,
    pub namespace: Option<String>,
}

impl Scope {
    /// What is watched, in words.
    pub fn words(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} in namespace {namespace}", self.kind.name()),
            None => format!("{} in all namespaces", self.kind.name()),
        }
    }
}

/// Whether a kind may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing can be decided without it.
    Required,
    /// When the API server does not serve it there is none of it, and that is told.
    MayBeUnserved,
    /// As a matter of course an API server may not know it.
    Optional,
}

#[derive(Clone, Debug)]
struct State {
    need: Need,
    listed: bool,
    trouble: Option<Trouble>,
}

#[derive(Clone, Debug)]
struct Trouble {
    since: Instant,
    last: Instant,
    fault: Fault,
    message: String,
}

/// All watches.
#[derive(Clone, Debug, Default)]
pub struct Health {
    scopes: BTreeMap<Scope, State>,
    lenient: bool,
}

impl Health {
    /// Nothing is seen yet. `lenient`: what may not be read counts as seen.
    pub fn new(lenient: bool) -> Self {
        Self { scopes: BTreeMap::new(), lenient }
    }

    /// A watch begins.
    pub fn add(&mut self, scope: Scope, need: Need) {
        self.scopes.insert(scope, State { need, listed: false, trouble: None });
    }

    /// All of its objects are known now.
    pub fn listed(&mut self, scope: &Scope) {
        if let Some(state) = self.scopes.get_mut(scope) {
            state.listed = true;
            state.trouble = None;
        }
    }

    /// It was heard of.
    pub fn heard(&mut self, scope: &Scope) {
        if let Some(state) = self.scopes.get_mut(scope) {
            state.trouble = None;
        }
    }

    /// It failed. True when this is news.
    pub fn failed(&mut self, scope: &Scope, fault: Fault, message: String, now: Instant) -> bool {
        let Some(state) = self.scopes.get_mut(scope) else { return false };
        let old = state.trouble.take().filter(|old| now.duration_since(old.last) < CALM);
        let news = old.as_ref().is_none_or(|old| old.message != message);
        let since = old.map_or(now, |old| old.since);
        state.trouble = Some(Trouble { since, last: now, fault, message });
        news
    }

    /// What is not known yet, in words; none when everything is.
    pub fn missing(&self) -> Option<String> {
        let unknown = self.scopes.iter().filter(|(_, state)| !self.is_known(state));
        let words = unknown.map(|(scope, state)| match &state.trouble {
            None => format!("{}: being read", scope.words()),
            Some(trouble) => format!("{}: {}", scope.words(), explain(scope, trouble)),
        });
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    fn is_known(&self, state: &State) -> bool {
        let fault = state.trouble.as_ref().map(|trouble| trouble.fault);
        let absent = match state.need {
            Need::Required => false,
            Need::MayBeUnserved => fault == Some(Fault::Unserved),
            // What we may not see of others, they may not tell us: that is told.
            Need::Optional => matches!(fault, Some(Fault::Unserved | Fault::Forbidden)),
        };
        let skipped = self.lenient && matches!(fault, Some(Fault::Unserved | Fault::Forbidden));
        state.listed || absent || skipped
    }

    /// What is wrong with views that are used all the same.
    pub fn problems(&self, now: Instant) -> Vec<ObjectProblem> {
        let lasting = |trouble: &&Trouble| {
            matches!(trouble.fault, Fault::Unserved | Fault::Forbidden)
                || (now.duration_since(trouble.since) >= PATIENCE
                    && now.duration_since(trouble.last) < CALM)
        };
        let problem = |(scope, state): (&Scope, &State)| {
            let trouble = state.trouble.as_ref().filter(lasting)?;
            if (state.need, trouble.fault) == (Need::Optional, Fault::Unserved) {
                return None;
            }
            let mut message = explain(scope, trouble);
            if state.listed {
                let age = now.duration_since(trouble.since).as_secs();
                message = format!("what is shown may be {age} s old: {message}");
            }
            let kind = scope.kind.name().to_owned();
            Some(ObjectProblem { place: scope.words(), kind, key: None, message })
        };
        self.scopes.iter().filter_map(problem).collect()
    }
}

fn explain(scope: &Scope, trouble: &Trouble) -> String {
    let message = &trouble.message;
    match trouble.fault {
        Fault::Unserved if scope.kind.group() == bpa_common::api::GROUP => {
            format!(
                "{message}; the API server does not know the kind: kubectl apply -f deploy/crds"
            )
        }
        Fault::Unserved => format!(
            "{message}; the API server does not know the kind: is Metal3 installed? It is looked for again"
        ),
        Fault::Forbidden => {
            format!("{message}; the rights that are needed are in deploy/rbac.yaml")
        }
        _ => format!("{message}; trying again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(kind: Kind) -> Scope {
        Scope { kind: Watched::Object(kind), namespace: None }
    }

    fn health(lenient: bool) -> Health {
        let mut health = Health::new(lenient);
        health.add(scope(Kind::Provisioning), Need::Required);
        health.add(scope(Kind::Host), Need::MayBeUnserved);
        health
    }

    #[test]
    fn nothing_is_known_before_every_list_is_done() {
        let mut health = health(false);
        let missing = health.missing().unwrap();
        assert!(missing.contains("Provisioning in all namespaces: being read"), "{missing}");
        health.listed(&scope(Kind::Provisioning));
        assert!(health.missing().unwrap().starts_with("BareMetalHost"));
        health.listed(&scope(Kind::Host));
        assert_eq!(health.missing(), None);
    }

    #[test]
    fn metal3_may_be_missing_and_our_own_kinds_may_not() {
        let now = Instant::now();
        let mut health = health(false);
        for kind in [Kind::Host, Kind::Provisioning] {
            assert!(health.failed(&scope(kind), Fault::Unserved, "404".into(), now));
        }
        let missing = health.missing().unwrap();
        assert!(missing.contains("deploy/crds") && !missing.contains("Metal3"), "{missing}");
        let problems = health.problems(now);
        assert!(
            problems.iter().any(|p| p.message.contains("is Metal3 installed?")),
            "{problems:?}"
        );
    }

    #[test]
    fn a_person_sees_what_may_be_seen_and_the_coordinator_needs_all() {
        let now = Instant::now();
        for (lenient, known) in [(false, false), (true, true)] {
            let mut health = health(lenient);
            health.listed(&scope(Kind::Provisioning));
            health.failed(&scope(Kind::Host), Fault::Forbidden, "no".into(), now);
            assert_eq!(health.missing().is_none(), known);
            assert!(health.problems(now)[0].message.contains("deploy/rbac.yaml"));
        }
    }

    #[test]
    fn what_only_some_have_is_missed_by_nobody_and_what_is_hidden_is_told() {
        let now = Instant::now();
        let scope = Scope { kind: Watched::Neighbour(NeighbourKind::Machine), namespace: None };
        let mut health = Health::new(false);
        health.add(scope.clone(), Need::Optional);
        assert!(health.missing().is_some(), "it is waited for");
        health.failed(&scope, Fault::Unserved, "404".into(), now);
        assert!(health.missing().is_none() && health.problems(now).is_empty());
        health.failed(&scope, Fault::Forbidden, "403".into(), now);
        assert!(health.missing().is_none());
        assert!(health.problems(now)[0].place.starts_with("Metal3Machine"));
    }

    #[test]
    fn trouble_is_news_once_told_when_it_lasts_and_over_when_it_stops() {
        let mut health = health(false);
        let scope = scope(Kind::Host);
        health.listed(&scope);
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let away = || "connection refused".to_owned();
        assert!(health.failed(&scope, Fault::Later(None), away(), at(0)));
        assert!(health.problems(at(1)).is_empty(), "connections come and go");
        assert!(!health.failed(&scope, Fault::Later(None), away(), at(40)));
        let problems = health.problems(at(41));
        assert!(problems[0].message.starts_with("what is shown may be 41 s old"), "{problems:?}");
        assert!(health.problems(at(140)).is_empty(), "no error for long: it is over");
        health.heard(&scope);
        assert!(health.problems(at(41)).is_empty());
        assert!(health.failed(&scope, Fault::Later(None), away(), at(300)), "news again");
    }
}
