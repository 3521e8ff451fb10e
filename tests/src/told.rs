//! What `kubectl describe` tells, as lines that are the same in every run: times, ids and leased
//! addresses are masked, everything that a person reads stays.

use std::path::Path;

/// The conditions of `describe`, each as `STATUS TYPE (REASON): MESSAGE`.
pub fn conditions(described: &str) -> Vec<String> {
    let from = described.lines().skip_while(|line| line.trim() != "Conditions:").skip(1);
    // kubectl begins the further lines of a message at the very left.
    let block = from.take_while(|line| line.starts_with("    ") || !line.starts_with(' '));
    let (mut told, mut fields) = (Vec::new(), [const { String::new() }; 4]);
    let mut at = None;
    for line in block {
        let name = line.trim_start().split_once(": ").map(|(name, value)| (name, value.trim()));
        let of = ["Status", "Type", "Reason", "Message"];
        match name.and_then(|(name, value)| Some((of.iter().position(|n| *n == name)?, value))) {
            Some((field, value)) => {
                fields[field] = value.to_owned();
                at = Some(field);
            }
            None if at == Some(3) && !line.starts_with("    ") => {
                fields[3] = format!("{}\n    {}", fields[3], line.trim())
            }
            None => at = None,
        }
        // `Type` is the last one of each: describe sorts the fields.
        if at == Some(1) {
            let [status, kind, reason, message] = std::mem::take(&mut fields);
            told.push(format!("{status} {kind} ({reason}): {}", masked(&message)));
            at = None;
        }
    }
    told
}

/// The events of `describe` in its order, each as `TYPE REASON: MESSAGE`.
pub fn events(described: &str) -> Vec<String> {
    let table = described.split("\nEvents:\n").nth(1).unwrap_or_default();
    let mut lines = table.lines();
    let at = lines.next().and_then(|head| head.find("Message")).unwrap_or_default();
    let told = lines.skip(1).filter_map(|line| {
        let mut words = line.split_whitespace();
        let (kind, reason) = (words.next()?, words.next()?);
        Some(format!("{kind} {reason}: {}", masked(line.get(at..)?)))
    });
    told.collect()
}

/// A table of `kubectl get`, its ages masked and its columns a single space apart.
pub fn table(text: &str) -> Vec<String> {
    let rows = text.lines().map(|line| {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if let Some(last) = words.last_mut().filter(|last| **last != "AGE") {
            *last = "<age>";
        }
        words.join(" ")
    });
    rows.collect()
}

/// Ids and addresses replaced, word by word. What preflight counts is the machine's own affair.
fn masked(text: &str) -> String {
    if text.split_once(" checks, ").is_some_and(|(count, _)| count.parse::<u32>().is_ok()) {
        return "<checks>".to_owned();
    }
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':') {
            word.push(c);
            continue;
        }
        out += &mask(&word);
        word.clear();
        out.push(c);
    }
    out.trim_end().to_owned()
}

fn mask(word: &str) -> String {
    let (body, rest) = word.split_at(word.trim_end_matches(['.', ':']).len());
    let is_hex = |text: &str| text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let kind = match body {
        _ if body.len() == 36 && is_hex(body) => "<id>",
        _ if body.starts_with("10.77.0.") => "<address>",
        _ if body.len() >= 12 && is_hex(body) && body.contains(|c: char| c.is_ascii_digit()) => {
            "<hash>"
        }
        _ => body,
    };
    format!("{kind}{rest}")
}

/// Compares a story with the one that is kept; `BLESS=1` keeps this one instead.
pub fn assert_told(kept: &Path, story: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(kept, story).expect("the story can be kept");
    }
    let wanted = std::fs::read_to_string(kept).unwrap_or_default();
    assert_eq!(
        story,
        wanted,
        "{} tells it in another way (BLESS=1 keeps the new one)",
        kept.display()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESCRIBED: &str = "Name:         edge-a
Status:
  Conditions:
    Last Transition Time:  2026-12-01T12:00:00Z
    Message:               order 0190a1b2-0000-7000-8000-0123456789ab was sent
    Observed Generation:   1
    Reason:                Sent
    Status:                True
    Type:                  OrderAccepted
    Last Transition Time:  2026-12-01T12:00:00Z
    Message:               first line: a
second at 10.77.0.51.
    Reason:                NoFit
    Status:                False
    Type:                  HostsMatched
  Phase:                   Waiting
Events:
  Type     Reason  Age                From             Message
  ----     ------  ----               ----             -------
  Normal   Sent    3s                 bpa-coordinator  plan 0123456789ab is sent
  Warning  NoFit   2s (x3 over 9s)    bpa-coordinator  m-1: cpu wanted 64
";

    #[test]
    fn conditions_and_events_are_read_as_they_stand_and_masked() {
        let wanted = [
            "True OrderAccepted (Sent): order <id> was sent",
            "False HostsMatched (NoFit): first line: a\n    second at <address>.",
        ];
        assert_eq!(conditions(DESCRIBED), wanted);
        let wanted = ["Normal Sent: plan <hash> is sent", "Warning NoFit: m-1: cpu wanted 64"];
        assert_eq!(events(DESCRIBED), wanted);
    }

    #[test]
    fn a_table_keeps_all_but_its_ages() {
        let wanted = ["NAME PHASE AGE", "edge-a Ready <age>"];
        assert_eq!(table("NAME     PHASE   AGE\nedge-a   Ready   12s\n"), wanted);
    }

    #[test]
    fn macs_and_words_are_not_masked() {
        let text = "host1 (52:54:00:aa:01:01) has cpu 4; feedbeefcafe, 1.35.4";
        assert_eq!(masked(text), text);
    }
}
