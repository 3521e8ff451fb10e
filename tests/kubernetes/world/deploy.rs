//! The files under `deploy/`, as a user applies them.

use std::process::{Command, Stdio};

use bpa_tests::{binary, root};

use super::*;

fn path(name: &str) -> String {
    root().join("deploy").join(name).display().to_string()
}

#[test]
fn an_api_server_takes_the_deployment_and_its_pods_are_restricted() {
    let kubectl = shared().kubectl(User::Admin);
    // A pod that is not as restricted as it could be, or a field that does not exist, is warned of.
    let ran = kubectl.try_run(&["apply", "--dry-run=server", "-f", &path("coordinator.yaml")], "");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.err, "");
    let labels = kubectl.get("namespace", "bpa-system")["metadata"]["labels"].clone();
    assert_eq!(labels["pod-security.kubernetes.io/warn"], "restricted");
}

/// With the files that a pod has, at the place where it has them.
#[test]
fn in_a_pod_the_service_account_is_used() {
    let plane = shared();
    plane.namespace("in-a-pod").apply(OBJECTS);
    let kubeconfig = std::fs::read_to_string(plane.kubeconfig(User::Coordinator)).unwrap();
    let after = |mark: &str, end: char| {
        let rest = kubeconfig.split(mark).nth(1).unwrap();
        rest.split(end).next().unwrap().to_owned()
    };
    let script = "set -e; cp \"$1\" /tmp/bpa-ca-$$; mount -t tmpfs none /run; \
        dir=/run/secrets/kubernetes.io/serviceaccount; mkdir -p $dir; mv /tmp/bpa-ca-$$ $dir/ca.crt; \
        printf %s \"$2\" > $dir/token; printf bpa-system > $dir/namespace; exec \"$3\" get -n in-a-pod -o json";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(after("certificate-authority: \"", '"'))
        .arg(after("token: ", '}'))
        .arg(binary("bpa-coordinator"))
        .env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        .env("KUBERNETES_SERVICE_PORT", plane.port.to_string())
        .env("BPA_KUBERNETES", "1")
        .env("HOME", "/nonexistent")
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    assert!(out.contains("\"edge\"") && out.contains("\"h1\""), "{out} {err}");
}
