//! The files that are read whole, and the telling of kinds: no bytes panic; what is read can be
//! answered from and shown.
#![no_main]

use bpa_agent::leases::parsers::{Limits, detect, parse};
use bpa_agent::leases::{LeaseView, SourceKind, SourceView, why};
use libfuzzer_sys::fuzz_target;

const NOW: i64 = 1_796_078_000;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { record: 512, depth: 4, addresses: 64, ..Limits::default() };
    let _ = detect(bytes);
    let kinds =
        [SourceKind::Libvirt, SourceKind::Networkd, SourceKind::Udhcpd, SourceKind::Bootpd, SourceKind::Auto];
    let mut sources = Vec::new();
    for kind in kinds {
        if let Ok(table) = parse(kind, &[bytes], &limits) {
            sources.push(SourceView { table: table.into(), ..SourceView::unread(kind, "/leases") });
        }
    }
    let view = LeaseView::evaluate(sources, NOW);
    for mac in view.macs() {
        assert_eq!(view.answer(mac).ambiguous, view.answer(mac).all.len() > 1);
        assert!(why(&view, mac).is_ascii());
    }
    assert!(view.wire_entries().iter().all(|e| e.hostname.is_ascii()));
});
