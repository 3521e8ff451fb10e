//! Access to a real sshd on loopback, one test for each thing that goes wrong.

mod commands;
mod first_contact;
mod host_keys;
mod logins;
mod silence;
mod sudo;
