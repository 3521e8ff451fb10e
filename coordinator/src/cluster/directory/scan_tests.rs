//! Reading a directory of manifests while people work in it.

use super::*;

fn site(name: &str) -> String {
    format!("---\napiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {{name: {name}}}\n")
}

fn names(scan: &Scan) -> Vec<String> {
    scan.manifests.keys().map(|id| id.key.name.clone()).collect()
}

fn later(seconds: u64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(seconds)
}

#[test]
fn files_of_the_directory_and_of_one_level_of_folders_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::create_dir_all(root.join("north/deep")).unwrap();
    for (path, name) in [
        ("a.yaml", "a"),
        ("b.yml", "b"),
        ("north/c.yaml", "c"),
        ("north/deep/d.yaml", "too-deep"),
        (".hidden.yaml", "hidden"),
        ("e.txt", "not-a-manifest"),
    ] {
        fs::write(root.join(path), site(name)).unwrap();
    }
    let mut scanner = Scanner::new(root.to_owned(), Duration::ZERO);
    let scan = scanner.scan(SystemTime::now()).unwrap();
    assert_eq!((names(&scan), scan.files), (vec!["a".into(), "b".into(), "c".into()], 3));
}

#[test]
fn a_missing_directory_is_an_error_and_not_an_empty_world() {
    let dir = tempfile::tempdir().unwrap();
    let mut scanner = Scanner::new(dir.path().join("gone"), Duration::ZERO);
    let error = scanner.scan(SystemTime::now()).unwrap_err().to_string();
    assert!(error.contains("gone") && error.contains("--objects DIR"), "{error}");
}

#[test]
fn one_bad_file_hurts_no_other() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bad.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    fs::write(dir.path().join("torn.yaml"), "kind: \"Si").unwrap();
    fs::write(dir.path().join("good.yaml"), site("a")).unwrap();
    let mut scanner = Scanner::new(dir.path().to_owned(), Duration::ZERO);
    let scan = scanner.scan(SystemTime::now()).unwrap();
    assert_eq!(names(&scan), ["a"]);
    assert_eq!(scan.problems.len(), 2, "{:?}", scan.problems);
    assert_eq!(scan.troubled.iter().collect::<Vec<_>>(), ["bad.yaml", "torn.yaml"]);
}

#[test]
fn an_object_in_two_places_is_used_from_neither_and_both_are_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("one.yaml"), site("a")).unwrap();
    fs::write(dir.path().join("two.yaml"), site("b") + &site("a")).unwrap();
    let mut scanner = Scanner::new(dir.path().to_owned(), Duration::ZERO);
    let scan = scanner.scan(SystemTime::now()).unwrap();
    assert_eq!(names(&scan), ["b"]);
    let said = &scan.problems[0].message;
    assert!(
        said.contains("one.yaml, document 1") && said.contains("two.yaml, document 2"),
        "{said}"
    );
    assert_eq!(scan.problems[0].key.as_ref().unwrap().name, "a");
}

#[test]
fn a_file_that_is_being_written_keeps_its_old_meaning_until_it_rests() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.yaml");
    fs::write(&path, site("old")).unwrap();
    let mut scanner = Scanner::new(dir.path().to_owned(), Duration::from_millis(250));
    let scan = scanner.scan(SystemTime::now()).unwrap();
    assert!(scan.unsettled && names(&scan).is_empty(), "nothing is known of a new file yet");
    assert_eq!(names(&scanner.scan(later(1)).unwrap()), ["old"]);
    fs::write(&path, "").unwrap();
    let scan = scanner.scan(SystemTime::now()).unwrap();
    assert!(scan.unsettled);
    assert_eq!(names(&scan), ["old"]);
    fs::write(&path, site("new")).unwrap();
    let scan = scanner.scan(later(1)).unwrap();
    assert!(!scan.unsettled);
    assert_eq!(names(&scan), ["new"]);
}

#[test]
fn a_change_within_one_tick_of_the_clock_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.yaml");
    fs::write(&path, site("aaa")).unwrap();
    let mut scanner = Scanner::new(dir.path().to_owned(), Duration::ZERO);
    assert_eq!(names(&scanner.scan(SystemTime::now()).unwrap()), ["aaa"]);
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, site("bbb")).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    assert_eq!(names(&scanner.scan(SystemTime::now()).unwrap()), ["bbb"]);
}
