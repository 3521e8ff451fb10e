#!/usr/bin/python
"""Ansible module: kubeadm init or kubeadm join, exactly once.

A run that is cut leaves its kubeadm working on the host. So this module holds
a lock while kubeadm runs: the next run waits for it and then finds the step
done. A step that really was interrupted is wiped and done again; a host that
is in somebody else's cluster is refused.

options: step (init|join), cluster, config (a file for kubeadm) or content (the
text of one, with secrets: it is kept in memory for as long as kubeadm runs),
ignore (list of preflight checks), timeout (seconds).
"""

import contextlib
import fcntl
import re
import subprocess
import tempfile
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


# Colours, and the long list of what kubeadm found in the kernel.
NOISE = re.compile(r"\x1b\[[0-9;]*m")
KERNEL = re.compile(r"^(CONFIG_|CGROUPS_|KERNEL_VERSION|OS:|\[WARNING|To see the stack trace|\[preflight\] If you know)")


def tail(text, lines=TAIL):
    """The last lines that say something."""
    return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])


def explain(step, code, out, journal):
    """The text of a failure: kubeadm's errors first, and then what led there.

    journal: how to get the kubelet's journal; asked only when kubeadm got as
    far as starting the kubelet.
    """
    lines = [line.strip() for line in NOISE.sub("", out).splitlines()]
    lines = [line for line in lines if line and not KERNEL.match(line)]
    errors = [line for line in lines if re.match(r"\[ERROR|error:|error execution", line)]
    text = "kubeadm %s ended with %d: %s" % (step, code, "; ".join(errors) or "no error named")
    text += "\n\n" + tail("\n".join(line for line in lines if line not in errors))
    if any("[kubelet-start]" in line or "kubelet" in line for line in errors + lines):
        text += "\n\nthe kubelet's journal:\n" + tail(journal())
    return text


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


@contextlib.contextmanager
def config_file(path, content):
    """The file for kubeadm: the one that is there, or one that goes away again."""
    if content is None:
        yield path
        return
    # /run is memory: the secrets never reach the disk.
    with tempfile.NamedTemporaryFile("w", dir="/run", prefix="bpa-kubeadm-", suffix=".yaml") as file:
        file.write(content)
        file.flush()
        yield file.name


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


def run(module, config):
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
    words = [step, "--config=" + config]
    if module.params["ignore"]:
        words.append("--ignore-preflight-errors=" + ",".join(module.params["ignore"]))
    code, out = kubeadm(words, module.params["timeout"])
    if code != 0:
        module.fail_json(msg=explain(step, code, out, kubelet_says), rc=code)
    kubeadm_state.write(cluster, step, "done")
    module.exit_json(changed=True, reason=reason)


def main():
    """Takes the lock and runs."""
    module = AnsibleModule(
        argument_spec={
            "step": {"choices": ["init", "join"], "required": True},
            "cluster": {"type": "str", "required": True},
            "config": {"type": "path"},
            "content": {"type": "str", "no_log": True},
            "ignore": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": 420},
        },
        required_one_of=[("config", "content")],
    )
    timeout = module.params["timeout"]
    file = lock(timeout)
    if file is None:
        module.fail_json(msg="another kubeadm has been running on this host for %d s" % timeout)
    try:
        with config_file(module.params["config"], module.params["content"]) as path:
            run(module, path)
    finally:
        file.close()


if __name__ == "__main__":
    main()
