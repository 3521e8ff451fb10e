#!/usr/bin/python
"""Ansible module: kubeadm init or kubeadm join, exactly once.

A run that is cut leaves its kubeadm working on the host. So this module holds
a lock while kubeadm runs: the next run waits for it and then finds the step
done. A step that really was interrupted is wiped and done again; a host that
is in somebody else's cluster is refused.

options: step (init|join), cluster, config (file for kubeadm), ignore (list of
preflight checks), timeout (seconds).
"""

import fcntl
import os
import subprocess
import time

from ansible.module_utils import kubeadm_state
from ansible.module_utils.basic import AnsibleModule

LOCK = "/run/bpa-kubeadm.lock"
KUBEADM = "/usr/local/bin/kubeadm"
TAIL = 25
REFUSED = (
    "wanted: a host that is free or in cluster {cluster}; found: {reason}; "
    "run reset.yml on it if what is there may be removed"
)


def tail(text, lines=TAIL):
    """The last lines that say something."""
    return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])


def kubelet_says():
    """Why the kubelet did not get on: kubeadm shows only that it did not."""
    command = ["journalctl", "--unit=kubelet", "--lines=%d" % TAIL, "--no-pager", "--output=cat"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return "(no journal: %s)" % error


def kubeadm(words, timeout):
    """Runs kubeadm; returns (exit code, its output)."""
    with subprocess.Popen(
        [KUBEADM] + words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            out, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            return 124, out + "\nkubeadm did not end within %d s" % timeout
        return process.returncode, out


def lock(wait):
    """The lock's file, or None when another kubeadm holds it for too long."""
    # Not inherited by kubeadm (Python's files are not): it ends with us.
    file = open(LOCK, "w", encoding="utf-8")
    for _ in range(wait):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            time.sleep(1)
    return None


def run(module):
    """Decides and acts, with the lock held."""
    step, cluster = module.params["step"], module.params["cluster"]
    what, reason = kubeadm_state.decide(kubeadm_state.read(), cluster, step, kubeadm_state.leftovers())
    if what == "refuse":
        module.fail_json(msg=REFUSED.format(cluster=cluster, reason=reason))
    if what == "keep":
        module.exit_json(changed=False, reason=reason)
    kubeadm_state.write(cluster, step, "started")
    if what == "wipe":
        kubeadm(["reset", "--force", "--cri-socket=unix:///run/containerd/containerd.sock"], 120)
    words = [step, "--config=" + module.params["config"]]
    if module.params["ignore"]:
        words.append("--ignore-preflight-errors=" + ",".join(module.params["ignore"]))
    code, out = kubeadm(words, module.params["timeout"])
    if code != 0:
        text = "kubeadm %s ended with %d:\n%s\n\nthe kubelet's journal:\n%s"
        module.fail_json(msg=text % (step, code, tail(out), tail(kubelet_says())), rc=code)
    kubeadm_state.write(cluster, step, "done")
    module.exit_json(changed=True, reason=reason)


def main():
    """Takes the lock and runs."""
    module = AnsibleModule(
        argument_spec={
            "step": {"choices": ["init", "join"], "required": True},
            "cluster": {"type": "str", "required": True},
            "config": {"type": "path", "required": True},
            "ignore": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": 420},
        }
    )
    file = lock(module.params["timeout"])
    if file is None:
        module.fail_json(msg="another kubeadm has been running on this host for %d s" % module.params["timeout"])
    try:
        run(module)
    finally:
        os.close(file.fileno())


if __name__ == "__main__":
    main()
