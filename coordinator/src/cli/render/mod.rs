//! PURE: from values to text for people. Time comes in as a value.
//!
//! Everything that came from outside (names, messages, log lines) passes `text::clean` or
//! `text::cell` before a terminal sees it.

pub mod cause;
pub mod describe;
pub mod describe_site;
pub mod free;
pub mod get;
pub mod live;
pub mod table;
pub mod text;
pub mod words;

#[cfg(test)]
pub mod testing;
