//! Texts from nowhere as join lines and certificates: no panic; what is accepted reads the same again.

#![no_main]

use bpa_common::identity::{CertificateFacts, JoinBundle};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = CertificateFacts::read(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = JoinBundle::parse(text);
    if let Ok(bundle) = JoinBundle::parse(&format!("bpa1.{text}")) {
        assert!(bundle.to_line().is_ok());
    }
});
