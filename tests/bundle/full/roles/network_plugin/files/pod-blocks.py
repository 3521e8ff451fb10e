# Prints {"node": "block of pod addresses"} for the nodes named in the first
# argument, as soon as the cluster has given each of them one.
import json
import os
import subprocess
import sys
import time

wanted = sys.argv[1].split(",")
for _ in range(60):
    answer = subprocess.run([os.environ["KUBECTL"], "get", "nodes", "-o", "json"], capture_output=True, text=True)
    nodes = json.loads(answer.stdout)["items"] if answer.returncode == 0 else []
    blocks = {node["metadata"]["name"]: node["spec"].get("podCIDR") for node in nodes}
    missing = [name for name in wanted if not blocks.get(name)]
    if not missing:
        print(json.dumps(blocks))
        sys.exit(0)
    time.sleep(1)
sys.exit(
    "wanted: a block of pod addresses for each node within 60 s; found: none for %s; %s"
    % (", ".join(missing), answer.stderr.strip() or "see the log of kube-controller-manager")
)
