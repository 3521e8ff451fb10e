//! Tests of the certificate authority.

use super::*;
use crate::identity::SiteKey;

fn now() -> Timestamp {
    Timestamp::from_second(1_796_000_000).unwrap()
}

fn north() -> SiteName {
    "north".parse().unwrap()
}

#[test]
fn a_certificate_names_the_site_and_lasts_ninety_days_from_a_day_ago() {
    let authority = Authority::create(now()).unwrap();
    let key = SiteKey::generate().unwrap();
    let request = key.request(&north()).unwrap();
    let certificate = authority.certify(&north(), &request, now()).unwrap();
    let facts = CertificateFacts::read(&certificate.der).unwrap();
    assert_eq!(facts.site, Some(north()));
    assert_eq!(facts.fingerprint, key.fingerprint());
    assert_eq!(facts.not_before, now() - DAY);
    assert_eq!(facts.not_after, now() + DAY * 90);
    assert_eq!(certificate.not_after, facts.not_after);
}

#[test]
fn what_the_request_says_does_not_matter_only_its_key() {
    let authority = Authority::create(now()).unwrap();
    let key = SiteKey::generate().unwrap();
    let request = key.request(&"south".parse().unwrap()).unwrap();
    let certificate = authority.certify(&north(), &request, now()).unwrap();
    assert_eq!(CertificateFacts::read(&certificate.der).unwrap().site, Some(north()));
}

#[test]
fn an_authority_read_again_signs_under_the_same_key_identifier() {
    let authority = Authority::create(now()).unwrap();
    let again = Authority::from_pem(&authority.to_pem()).unwrap();
    assert_eq!(again.fingerprint(), authority.fingerprint());
    assert_eq!(again.certificate(), authority.certificate());
    assert_eq!(again.derived_secret("a"), authority.derived_secret("a"));
    assert_ne!(again.derived_secret("a"), authority.derived_secret("b"));
    let (_, ca) = x509_parser::parse_x509_certificate(authority.certificate()).unwrap();
    let server = again.server_identity(now()).unwrap();
    let (_, leaf) = x509_parser::parse_x509_certificate(&server.chain[0]).unwrap();
    let id = |certificate: &x509_parser::certificate::X509Certificate<'_>, own: bool| {
        use x509_parser::extensions::ParsedExtension as E;
        certificate
            .extensions()
            .iter()
            .find_map(|e| match e.parsed_extension() {
                E::SubjectKeyIdentifier(id) if own => Some(id.0.to_vec()),
                E::AuthorityKeyIdentifier(id) if !own => {
                    id.key_identifier.as_ref().map(|k| k.0.to_vec())
                }
                _ => None,
            })
            .unwrap()
    };
    assert_eq!(id(&ca, true), id(&leaf, false));
    assert_eq!(server.chain[1], *authority.certificate());
}

#[test]
fn a_damaged_or_large_request_is_refused() {
    let authority = Authority::create(now()).unwrap();
    let mut request = SiteKey::generate().unwrap().request(&north()).unwrap();
    let last = request.len() - 1;
    request[last] ^= 1;
    for bad in [&request[..], b"", &[0x30; 5000]] {
        let error = authority.certify(&north(), bad, now()).unwrap_err();
        assert!(error.to_string().contains("request is refused"), "{error}");
    }
}

#[test]
fn a_key_of_another_authority_is_noticed() {
    let one = Authority::create(now()).unwrap().to_pem();
    let two = Authority::create(now()).unwrap().to_pem();
    let (certificate, _) = one.expose_secret().split_once("-----BEGIN PRIVATE").unwrap();
    let (_, key) = two.expose_secret().split_once("-----BEGIN PRIVATE").unwrap();
    let mixed = format!("{certificate}-----BEGIN PRIVATE{key}");
    let error = Authority::from_pem(&mixed.into()).unwrap_err();
    assert!(error.to_string().contains("do not belong together"), "{error}");
    assert!(Authority::from_pem(&certificate.to_owned().into()).is_err());
}

#[test]
fn it_does_not_print_its_key() {
    let authority = Authority::create(now()).unwrap();
    assert_eq!(format!("{authority:?}"), format!("Authority({})", authority.fingerprint()));
}
