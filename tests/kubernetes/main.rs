//! The coordinator beside a real Kubernetes API (etcd and kube-apiserver on loopback).

mod api;
mod fixtures;
