//! Tests of the wire that need more than one of its files.

mod frames;
mod golden;
mod random;
mod rules;
mod samples;
