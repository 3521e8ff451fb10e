"""What the tests of the bundles share: where things are, how to load them."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
FULL = pathlib.Path(os.environ["FULL"])
LITE = pathlib.Path(os.environ["LITE"])
ANSIBLE = pathlib.Path(os.environ["ANSIBLE"])
BUNDLES = (FULL, LITE)

INVENTORY = """\
[all]
{hosts}
[kube_control_plane]
{control}
[etcd]
{control}
[kube_node]
{workers}
[k8s_cluster:children]
kube_control_plane
kube_node
"""


def load(path, name=None):
    """A Python file of the bundle as a module, the way Ansible finds it."""
    path = SOURCE / path
    name = name or path.stem
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_utils():
    """Makes our module_utils importable as Ansible makes them."""
    load("shared/module_utils/bundle_http.py", "ansible.module_utils.bundle_http")
    load("full/module_utils/kubeadm_state.py", "ansible.module_utils.kubeadm_state")
    import ansible.module_utils as utils

    utils.kubeadm_state = sys.modules["ansible.module_utils.kubeadm_state"]


def inventory(control, workers, extra=""):
    """Inventory text; each host has an address of its own where nobody answers."""
    names = list(dict.fromkeys(control + workers))
    hosts = ["%s ansible_host=192.0.2.%d %s" % (name, i + 1, extra) for i, name in enumerate(names)]
    return INVENTORY.format(hosts="\n".join(hosts), control="\n".join(control), workers="\n".join(workers))


def play(bundle, playbook, text, variables, *words):
    """Runs ansible-playbook of a bundle; returns (exit code, all that it said)."""
    with tempfile.TemporaryDirectory() as directory:
        hosts = pathlib.Path(directory, "hosts.ini")
        hosts.write_text(text, encoding="utf-8")
        environment = dict(os.environ, ANSIBLE_CONFIG=str(bundle / "ansible.cfg"), HOME=directory, ANSIBLE_NOCOLOR="1")
        command = [ANSIBLE / "bin/ansible-playbook", "-i", hosts, bundle / playbook, "-e", json.dumps(variables), *words]
        done = subprocess.run(command, env=environment, cwd=directory, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr
