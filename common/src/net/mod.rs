//! Network values: hardware addresses and what is allowed as a host's address.

mod mac;

pub use mac::{MacAddress, ParseMacError};
