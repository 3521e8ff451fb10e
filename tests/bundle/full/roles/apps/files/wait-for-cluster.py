# Waits until each node named in the first argument is Ready and all pods of
# kube-system run and are ready, CoreDNS among them. The second argument is how
# many seconds that may take. Says what is missing when it is not enough.
import json
import os
import subprocess
import sys
import time


def get(*words):
    """Items of `kubectl get`, or why there are none."""
    command = [os.environ["KUBECTL"], "get", *words, "-o", "json", "--request-timeout=10s"]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode != 0:
        raise RuntimeError(answer.stderr.strip())
    return json.loads(answer.stdout)["items"]


def condition(item, kind):
    """(status, message) of a condition of a node or pod."""
    for found in item["status"].get("conditions", []):
        if found["type"] == kind:
            return found["status"], found.get("message", "")
    return "Unknown", ""


def bad_nodes(wanted):
    """One line for each node that is not there or not Ready."""
    nodes = {node["metadata"]["name"]: node for node in get("nodes")}
    for name in wanted:
        if name not in nodes:
            yield "node %s: has not joined" % name
        else:
            status, message = condition(nodes[name], "Ready")
            if status != "True":
                yield "node %s: not Ready: %s" % (name, message)


def why(pod):
    """What a pod's containers wait for."""
    for container in pod["status"].get("containerStatuses", []):
        for state in ("waiting", "terminated"):
            detail = container["state"].get(state)
            if detail:
                return "%s: %s" % (detail.get("reason", state), detail.get("message", ""))
    return condition(pod, "PodScheduled")[1] or "not ready"


def bad_pods():
    """One line for each system pod that does not run."""
    pods = get("pods", "-n", "kube-system")
    if not any(pod["metadata"]["name"].startswith("coredns-") for pod in pods):
        yield "pod coredns: not there yet"
    for pod in pods:
        if pod["metadata"].get("deletionTimestamp"):
            continue
        if condition(pod, "Ready")[0] != "True":
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "no node")
            yield "pod %s on %s: %s, %s" % (name, node, pod["status"].get("phase"), why(pod))


def main():
    """Asks each second."""
    wanted, seconds = sys.argv[1].split(","), int(sys.argv[2])
    end = time.monotonic() + seconds
    while True:
        try:
            bad = list(bad_nodes(wanted)) + list(bad_pods())
        except RuntimeError as error:
            bad = ["the API server: %s" % error]
        if not bad:
            print("%d nodes Ready, all pods of kube-system running" % len(wanted))
            return
        if time.monotonic() > end:
            sys.exit("wanted: all nodes Ready and all system pods running within %d s; found:\n%s" % (seconds, "\n".join(bad)))
        time.sleep(1)


main()
