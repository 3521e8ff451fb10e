//! The rules of the wire, read from its sources.

use std::path::PathBuf;

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "rs") {
            found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(!found.is_empty());
    found
}

/// Lines of code, comments left out.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn no_message_uses_what_bincode_corrupts_on() {
    for (path, text) in sources("src/wire/v1") {
        for line in code(&text) {
            for word in
                ["serde(", "usize", "isize", "HashMap", "HashSet", "f32", "f64", "serde_json"]
            {
                assert!(!line.contains(word), "{}: `{word}` in `{line}`", path.display());
            }
        }
    }
}

#[test]
fn the_codec_is_the_only_place_that_names_bincode() {
    for (path, text) in sources("src/wire") {
        if path.file_name().is_some_and(|name| name == "codec.rs") {
            continue;
        }
        assert!(!code(&text).any(|line| line.contains("bincode::")), "{}", path.display());
    }
}
