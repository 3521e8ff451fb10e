//! dnsmasq's leases: no bytes panic, memory is bounded, and pieces give what the whole gives.
#![no_main]

use bpa_agent::leases::parsers::{DnsmasqReader, Limits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, bytes) = input;
    // Small limits, so that the fuzzer reaches them.
    let limits = Limits { record: 512, depth: 4, addresses: 64, ..Limits::default() };
    let mut whole = DnsmasqReader::new(limits);
    whole.feed(bytes);
    let mut pieces = DnsmasqReader::new(limits);
    let (first, second) = bytes.split_at(usize::from(cut) % (bytes.len() + 1));
    pieces.feed(first);
    pieces.feed(second);
    assert_eq!(whole.finish(), pieces.finish());
});
