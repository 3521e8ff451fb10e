//! kubectl, as a user has it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::programs;
use crate::process::Ran;

/// kubectl with a kubeconfig, and a namespace where one is named.
#[derive(Clone, Debug)]
pub struct Kubectl {
    kubeconfig: PathBuf,
    namespace: Option<String>,
}

impl Kubectl {
    /// kubectl with this kubeconfig.
    pub fn new(kubeconfig: PathBuf) -> Self {
        Self { kubeconfig, namespace: None }
    }

    /// The same in a namespace.
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self.clone() }
    }

    /// The kubeconfig file.
    pub fn kubeconfig(&self) -> &PathBuf {
        &self.kubeconfig
    }

    /// Runs it, whatever comes out.
    pub fn try_run(&self, args: &[&str], input: &str) -> Ran {
        let mut command = Command::new(programs().join("kubectl"));
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        command.args(self.namespace.iter().flat_map(|name| ["--namespace", name.as_str()]));
        command.args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("kubectl starts");
        let mut stdin = child.stdin.take().expect("kubectl has an input");
        // It may end before it has read all.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("kubectl ends");
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs it; must succeed. Returns what it printed.
    pub fn run(&self, args: &[&str]) -> String {
        let ran = self.try_run(args, "");
        assert_eq!(ran.code, 0, "kubectl {args:?}: {}", ran.err);
        ran.out
    }

    /// Applies a manifest as a user does; must succeed.
    pub fn apply(&self, manifest: &str) -> String {
        let ran = self.try_run(&["apply", "-f", "-"], manifest);
        assert_eq!(ran.code, 0, "kubectl apply: {}\n{manifest}", ran.err);
        ran.out
    }

    /// Applies a manifest that must be refused. Returns the words.
    pub fn refused(&self, manifest: &str) -> String {
        let ran = self.try_run(&["apply", "-f", "-"], manifest);
        assert_ne!(ran.code, 0, "this was taken:\n{manifest}\n{}", ran.out);
        ran.err
    }

    /// One object as JSON; null when it is not there.
    pub fn get(&self, kind: &str, name: &str) -> Value {
        let ran = self.try_run(&["get", kind, name, "-o", "json", "--ignore-not-found"], "");
        assert_eq!(ran.code, 0, "kubectl get {kind} {name}: {}", ran.err);
        match ran.out.trim() {
            "" => Value::Null,
            text => serde_json::from_str(text).expect("kubectl prints JSON"),
        }
    }

    /// Changes a part of an object by a merge patch; `subresource` may be empty.
    pub fn patch(&self, kind: &str, name: &str, subresource: &str, patch: &Value) {
        let text = patch.to_string();
        let mut args = vec!["patch", kind, name, "--type", "merge", "-p", &text];
        if !subresource.is_empty() {
            args.extend(["--subresource", subresource]);
        }
        self.run(&args);
    }
}
