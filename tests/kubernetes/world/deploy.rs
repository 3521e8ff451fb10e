//! The files under `deploy/`, as a user applies them.

use std::process::{Command, Stdio};

use bpa_tests::{binary, root};
use serde_json::json;

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

#[test]
fn the_provisioning_of_the_readme_is_taken_as_it_stands() {
    let readme = std::fs::read_to_string(path("README.md")).unwrap();
    let (_, rest) = readme.split_once("```yaml\n").unwrap();
    let manifest = rest.split_once("\n```").unwrap().0;
    let kubectl = shared().namespace("edge");
    let ran = kubectl.try_run(&["apply", "--validate=strict", "-f", "-"], manifest);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let spec = kubectl.get("provisioning", "edge-a")["spec"].clone();
    assert_eq!(
        (&spec["site"], &spec["workers"][0]["worker"]["count"]),
        (&json!("north"), &json!(3))
    );
    // What it says of a wish that does not fit is what kubectl shows.
    let told = root().join("tests/scenarios/kubectl_only/not-fitting.txt");
    let told = std::fs::read_to_string(told).unwrap();
    for line in ["cpu wanted 64, found 4, short by 60", "would fit: lower cpu of m-1 to 4"] {
        assert!(readme.contains(line) && told.contains(line), "{line}");
    }
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
