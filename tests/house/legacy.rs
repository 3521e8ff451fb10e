//! The statements about the original: each is in docs/legacy.md, with a test that exists or the
//! reason why it can't arise.

use std::collections::BTreeMap;

use super::{broken, root, sources};

/// As many as there are.
const STATEMENTS: u32 = 92;

/// Number and last cell of each line of the tables.
fn table() -> BTreeMap<u32, Vec<String>> {
    let text = std::fs::read_to_string(root().join("docs/legacy.md")).unwrap();
    let mut rows: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        if let (Ok(number), 4) = (cells[0].parse(), cells.len()) {
            rows.entry(number).or_default().push(cells[3].to_owned());
        }
    }
    rows
}

#[test]
fn every_statement_about_the_original_has_a_test_or_a_reason() {
    let rows = table();
    let mut places = Vec::new();
    for number in 1..=STATEMENTS {
        match rows.get(&number).map(Vec::as_slice) {
            None => places.push(format!("{number} is not in the tables")),
            Some([cell]) if cell.starts_with("can't arise: ") && cell.len() > 30 => {}
            Some([cell]) if cell.starts_with('`') => {}
            Some(cells) => places.push(format!("{number}: {cells:?}")),
        }
    }
    broken("docs/legacy.md: one line a statement, with a test or `can't arise: ...`", places);
}

#[test]
fn every_test_that_is_named_exists_and_every_numbered_test_is_named() {
    let whole: Vec<String> = sources().into_iter().map(|source| source.whole).collect();
    // A story of both worlds has the world as its argument.
    let forms = |name: &str| [format!("fn {name}()"), format!("fn {name}(world: World)")];
    let exists =
        |name: &str| whole.iter().any(|text| forms(name).iter().any(|form| text.contains(form)));
    let mut places = Vec::new();
    let mut named = Vec::new();
    for (number, cells) in table() {
        for name in cells.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)) {
            if !exists(name) {
                places.push(format!("{number}: there is no test `{name}`"));
            }
            named.push(name.to_owned());
        }
    }
    for rest in whole.iter().flat_map(|text| text.split("fn statement_").skip(1)) {
        let name = format!("statement_{}", rest.split('(').next().unwrap_or_default());
        let numbered = name.as_bytes().get(10).is_some_and(u8::is_ascii_digit);
        if numbered && !named.contains(&name) {
            places.push(format!("`{name}` is not in the tables"));
        }
    }
    broken("docs/legacy.md and the tests name each other", places);
}
