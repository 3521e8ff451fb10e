//! Words that people meet in messages are explained, and what they name exists.

use std::fs;

use super::{broken, root, sources};

/// Words in quotes that follow `before` in a text, such as `reason: "NoLease"`.
fn quoted_after<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    let parts = text.split(before).skip(1);
    parts.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next()).collect()
}

#[test]
fn every_reason_of_a_failure_is_in_the_documentation() {
    let mut docs = String::new();
    for name in ["troubleshooting.md", "credentials.md"] {
        docs.push_str(&fs::read_to_string(root().join("docs").join(name)).unwrap());
    }
    let told = |word: &&str| docs.contains(&format!("`{word}`"));
    let is_reason = |word: &&str| {
        word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphanumeric)
    };
    let mut silent = Vec::new();
    let mut count = 0;
    for source in sources() {
        let text = &source.code;
        let mut words = Vec::new();
        if source.path.starts_with("agent/src/") {
            words.extend(quoted_after(text, "reason:"));
            words.extend(quoted_after(text, " failure("));
            if source.path.ends_with("access/problem.rs") {
                words.extend(quoted_after(text, "=>"));
            }
        } else if source.path.starts_with("coordinator/src/planning/") {
            words.extend(quoted_after(text, "draft.held(KIND,"));
        }
        words.retain(is_reason);
        count += words.len();
        let missing = words.into_iter().filter(|word| !told(word));
        silent.extend(missing.map(|word| format!("{}: {word}", source.path)));
    }
    assert!(count > 40, "the search finds reasons: {count}");
    broken("a reason is not in docs/troubleshooting.md or docs/credentials.md", silent);
}

#[test]
fn messages_name_commands_that_exist() {
    let known = |program: &str| -> Vec<&str> {
        match program {
            "bpa-agent" => vec!["join", "run", "runs", "logs", "leases", "doctor", "keys"],
            _ => vec![
                "run", "plan", "apply", "delete", "get", "describe", "watch", "logs", "cancel",
                "retry", "approve", "site", "crds",
            ],
        }
    };
    let mut unknown = Vec::new();
    for source in sources().into_iter().filter(|source| source.path.contains("/src/")) {
        for program in ["bpa-agent", "bpa-coordinator"] {
            // Commands in messages stand between backticks.
            for rest in source.code.split(&format!("`{program} ")).skip(1) {
                let word = rest.split(|c: char| !c.is_alphanumeric() && c != '-').next();
                let word = word.unwrap_or_default();
                let hidden = word == "supervise" || word.is_empty();
                if !hidden && !known(program).contains(&word) {
                    unknown.push(format!("{}: {program} {word}", source.path));
                }
            }
        }
    }
    broken("a message names a command that does not exist", unknown);
}
