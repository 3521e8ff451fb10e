//! Tests of join lines: round trips, and every way in which a copy goes wrong.

use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;

fn bundle() -> JoinBundle {
    JoinBundle {
        addresses: vec!["192.0.2.7:7443".parse().unwrap(), "bpa.example.org:1".parse().unwrap()],
        pins: vec![Fingerprint::from_bytes([5; 32])],
        secret: JoinSecret::from_slice(&[0x5a; 32]).unwrap(),
        site: "north".parse().unwrap(),
        issued: Timestamp::from_second(1_796_000_000).unwrap(),
        expires: Timestamp::from_second(1_796_003_600).unwrap(),
    }
}

fn line() -> String {
    bundle().to_line().unwrap().expose_secret().to_owned()
}

fn error(line: &str) -> JoinLineError {
    JoinBundle::parse(line).unwrap_err()
}

#[test]
fn a_line_brings_everything_across() {
    let parsed = JoinBundle::parse(&line()).unwrap();
    assert_eq!(parsed.addresses, bundle().addresses);
    assert_eq!(parsed.pins, bundle().pins);
    assert_eq!(parsed.secret.expose(), bundle().secret.expose());
    assert_eq!(parsed.site, bundle().site);
    assert_eq!((parsed.issued, parsed.expires), (bundle().issued, bundle().expires));
    assert!(line().len() < 300, "{}", line().len());
}

#[test]
fn a_wrapped_or_quoted_copy_is_read() {
    let line = line();
    let (a, b) = line.split_at(80);
    assert!(JoinBundle::parse(&format!("  '{a}\r\n   {b}'\n")).is_ok());
}

#[test]
fn a_cut_line_says_how_much_is_missing_wherever_it_is_cut() {
    let line = line();
    for len in PREFIX.len()..line.len() {
        let found = error(&line[..len]);
        assert!(matches!(found, JoinLineError::Cut { .. }), "{len}: {found}");
    }
    assert_eq!(error(&line[..line.len() - 7]), JoinLineError::Cut { missing: 7 });
}

#[test]
fn something_behind_it_is_named() {
    assert_eq!(error(&format!("{}abc", line())), JoinLineError::Extra { extra: 3 });
}

#[test]
fn other_texts_and_other_versions_are_told_apart() {
    assert_eq!(error("hello"), JoinLineError::NotOurs);
    assert_eq!(error(""), JoinLineError::NotOurs);
    assert_eq!(error("www.example.org"), JoinLineError::NotOurs);
    let two = line().replacen("bpa1", "bpa2", 1);
    assert_eq!(error(&two), JoinLineError::Version { found: "bpa2".into() });
    assert!(matches!(error(&"x".repeat(10_000)), JoinLineError::TooLong { found: 10_000 }));
    let strange = line().replacen('.', ".+", 1);
    assert_eq!(error(&strange), JoinLineError::Character { at: 6 });
}

#[test]
fn a_damaged_line_is_refused() {
    let line = line();
    let at = line.len() / 2;
    let other = if &line[at..=at] == "A" { "B" } else { "A" };
    let damaged = format!("{}{other}{}", &line[..at], &line[at + 1..]);
    assert_eq!(error(&damaged), JoinLineError::Checksum);
}

#[test]
fn wrong_content_under_a_good_checksum_is_explained() {
    let mut many = bundle();
    many.addresses = vec![many.addresses[0].clone(); 9];
    assert!(many.to_line().is_err());
    let mut body = crate::wire::v1::JoinLineBody {
        addresses: vec!["nowhere".into()],
        pins: vec![[1; 32]],
        secret: SecretBytes(vec![1; 32]),
        site: "north".into(),
        issued: 0,
        expires: i64::MAX,
    };
    assert!(JoinBundle::from_body(body.clone()).unwrap_err().contains("host:port"));
    body.addresses = vec!["a:1".into()];
    assert!(JoinBundle::from_body(body.clone()).is_err(), "a time out of range");
    body.expires = 1;
    body.site = "../x".into();
    assert!(JoinBundle::from_body(body.clone()).unwrap_err().contains("can't name a site"));
    body.site = "x".into();
    body.secret = SecretBytes(vec![]);
    assert!(JoinBundle::from_body(body).unwrap_err().contains("wrong length"));
}

#[test]
fn neither_the_bundle_nor_an_error_shows_the_secret() {
    let shown = format!("{:?}", bundle());
    assert!(!shown.contains("5a") && !shown.contains("90, 90"), "{shown}");
    let encoded = &line()[20..60];
    for text in [&line()[..100], &format!("{}!", line())] {
        let error = error(text);
        assert!(!format!("{error} {error:?}").contains(encoded));
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,200}") {
        let _ = JoinBundle::parse(&text);
        let _ = JoinBundle::parse(&format!("bpa1.{text}"));
    }

    #[test]
    fn no_single_changed_character_is_accepted(at in 5..250usize, with in "[A-Za-z0-9_-]") {
        let line = line();
        let at = at.min(line.len() - 1);
        let changed = format!("{}{with}{}", &line[..at], &line[at + 1..]);
        prop_assert!(changed == line || JoinBundle::parse(&changed).is_err());
    }
}
