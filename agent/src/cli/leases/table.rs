//! The result as people read it.

use super::report::{LeaseLine, MacAnswer, Report};
use bpa_common::output::columns;

const SOURCE_COLUMN: usize = 5;

/// MACs with their addresses, then the sources with their health.
pub fn render(report: &Report) -> String {
    let head = ["MAC", "ADDRESS", "STATE", "EXPIRES", "HOSTNAME", "SOURCE", "WHY"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (mac, answer) in &report.answers {
        rows.extend(answer_rows(mac, answer));
    }
    rows.extend(report.without_mac.iter().map(|lease| row("(none)", lease, client(lease))));
    if rows.len() == 1 {
        rows.push(vec!["(no leases)".to_owned()]);
    }
    let health = ["SOURCE", "RECORDS", "SKIPPED", "NEWEST", "WRITTEN", "HEALTH"];
    let mut sources = vec![health.map(str::to_owned).to_vec()];
    for source in &report.sources {
        sources.push(vec![
            format!("{}:{}", source.kind, source.path),
            source.records.to_string(),
            source.skipped_count.to_string(),
            dash(source.newest.as_deref()),
            dash(source.written.as_deref()),
            source.error.clone().unwrap_or_else(|| "ok".to_owned()),
        ]);
    }
    if report.sources.len() == 1 {
        // The one source is named below; the line is long enough.
        rows.iter_mut()
            .filter(|r| r.len() > SOURCE_COLUMN)
            .for_each(|r| drop(r.remove(SOURCE_COLUMN)));
    }
    let mut text = format!("{}\n{}", columns(&rows), columns(&sources));
    for source in &report.sources {
        for skip in &source.skipped {
            text.push_str(&format!("{}: line {}: {}\n", source.path, skip.line, skip.reason));
        }
    }
    text
}

fn answer_rows(mac: &str, answer: &MacAnswer) -> Vec<Vec<String>> {
    let Some((chosen, others)) = answer.all.split_first() else {
        let none = || "-".to_owned();
        return vec![vec![
            mac.to_owned(),
            none(),
            none(),
            none(),
            none(),
            none(),
            answer.why.clone(),
        ]];
    };
    let first = row(mac, chosen, answer.why.clone());
    let rest = others.iter().map(|lease| row("", lease, "also in force".to_owned()));
    std::iter::once(first).chain(rest).collect()
}

fn row(mac: &str, lease: &LeaseLine, why: String) -> Vec<String> {
    vec![
        mac.to_owned(),
        lease.address.clone(),
        lease.state.to_owned(),
        lease.expires.clone().unwrap_or_else(|| "never".to_owned()),
        dash(lease.hostname.as_deref()),
        lease.source.clone(),
        why,
    ]
}

fn client(lease: &LeaseLine) -> String {
    format!("client-id {}", dash(lease.client_id.as_deref()))
}

fn dash(text: Option<&str>) -> String {
    text.unwrap_or("-").to_owned()
}
