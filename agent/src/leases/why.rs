//! Why a MAC has this answer, in words.

use bpa_common::net::MacAddress;
use bpa_common::wire::v1::LeaseState;

use super::record::{Binding, Record};
use super::table::LeaseView;

/// One sentence without its full stop.
pub fn why(view: &LeaseView, mac: MacAddress) -> String {
    let answer = view.answer(mac);
    let Some(chosen) = answer.all.first() else { return why_not(view, mac) };
    let what = match chosen.state {
        LeaseState::Reserved => "reserved by the configuration".to_owned(),
        LeaseState::Bound => match chosen.expires.filter(|end| *end <= view.as_of()) {
            None => "the lease in force".to_owned(),
            Some(end) => format!(
                "ended {} s ago, and its source has a grace",
                view.as_of().saturating_sub(end)
            ),
        },
    };
    if answer.ambiguous {
        format!("the newest of {} addresses of this MAC", answer.all.len())
    } else {
        what
    }
}

fn why_not(view: &LeaseView, mac: MacAddress) -> String {
    let ended = view.ended(mac);
    let Some((source, newest)) = ended.iter().max_by_key(|(_, r)| (r.renewed, r.order)) else {
        let unreadable = view.sources().iter().filter(|s| s.error.is_some()).count();
        return match unreadable {
            0 => "no source has ever named this MAC".to_owned(),
            n => format!("no source names this MAC, and {n} can't be read"),
        };
    };
    format!("{} in {}: no longer in force", last(newest, view.as_of()), view.source_name(*source))
}

fn last(record: &Record, now: i64) -> String {
    let address = record.address;
    match (record.binding, record.ends.seconds()) {
        (Binding::Bound, Some(end)) => {
            format!("{address} ended {} s ago", now.saturating_sub(end))
        }
        (binding, _) => format!("{address} is {}", binding.word()),
    }
}
