//! Access to a real sshd on loopback, one test for each thing that goes wrong.
