//! Network values: hardware addresses and what is allowed as a host's address.

mod address;
mod mac;

pub use address::{host_address, names_a_host};
pub use mac::{MacAddress, ParseMacError};
