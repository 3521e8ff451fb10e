"""What this bundle remembers about kubeadm on a host.

A small file says which step (init or join) was begun, for which cluster, and
whether it ended well. It tells an interrupted step of ours, which may be wiped
and done again, from a cluster that somebody else made, which may not.
"""

import json
import os

STATE = "/var/lib/bpa-node/kubeadm.json"
LEFTOVERS = (
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/manifests/kube-apiserver.yaml",
    "/var/lib/etcd/member",
)


def read(path=STATE):
    """The remembered state: {"cluster", "step", "phase"}, empty when none."""
    try:
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
    except (FileNotFoundError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def write(cluster, step, phase, path=STATE):
    """Remembers a step; lasts through a power cut at any moment."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"cluster": cluster, "step": step, "phase": phase}, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".new", path)


def leftovers(paths=LEFTOVERS):
    """Files that a Kubernetes node has and a fresh host has not."""
    return [path for path in paths if os.path.exists(path)]


def decide(state, cluster, step, found):
    """What to do: ("keep"|"run"|"wipe"|"refuse", reason).

    keep: the step is done. run: a fresh host. wipe: our own step was
    interrupted. refuse: this is not ours to touch.
    """
    if not state:
        if found:
            return "refuse", "it holds %s, and this bundle has not put them there" % ", ".join(found)
        return "run", "a fresh host"
    if state.get("cluster") != cluster:
        return "refuse", "it belongs to cluster %s" % state.get("cluster")
    if state.get("phase") == "done":
        if "/etc/kubernetes/kubelet.conf" in found:
            return "keep", "done before"
        return "refuse", "it joined this cluster before, but its /etc/kubernetes/kubelet.conf is gone"
    return "wipe", "an earlier %s was interrupted" % state.get("step", step)
