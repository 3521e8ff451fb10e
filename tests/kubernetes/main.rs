//! The coordinator beside a real Kubernetes API (etcd and kube-apiserver on loopback).

mod absurd;
mod admission;
mod api;
mod claims;
mod faults;
mod fixtures;
mod house;
mod statements;
mod stored;
mod whole_status;
mod world;
