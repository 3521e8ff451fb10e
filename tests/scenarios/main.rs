//! What users live through, end to end on real parts: real DHCP servers, sshd, ansible, and a real
//! Kubernetes API server; hosts are namespaces or booted nodes. Each test reads as one story.

mod access;
mod crashes;
mod kubectl_only;
mod nine_steps;
mod not_fitting;
mod playbook;
mod real_kubernetes;
mod release;
mod secrets;
