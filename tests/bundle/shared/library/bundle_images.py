#!/usr/bin/python
"""Ansible module: import container images of the bundle into containerd.

An image archive is fetched, checked, imported and removed again. A note of
what was imported, by checksum, lies in `state`; an image that is noted there
and known to containerd is left alone.

options: repo, state (absolute path), images: list of {name, src, sha256}.
"""

import concurrent.futures
import json
import os
import subprocess

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.bundle_http import DownloadError, download, listing, url_of

AT_A_TIME = 2
CTR = ["ctr", "--namespace", "k8s.io", "images"]


def noted(state):
    """What earlier calls imported: image name to checksum of its archive."""
    try:
        with open(state, encoding="utf-8") as file:
            return json.load(file)
    except (FileNotFoundError, ValueError):
        return {}


def note(state, images):
    """Writes the note aside and renames it, so that it is never torn."""
    os.makedirs(os.path.dirname(state), exist_ok=True)
    with open(state + ".new", "w", encoding="utf-8") as file:
        json.dump(images, file, indent=1, sort_keys=True)
    os.rename(state + ".new", state)


def present():
    """The image names that containerd knows."""
    out = subprocess.run(CTR + ["ls", "-q"], check=True, capture_output=True, text=True, timeout=60)
    return set(out.stdout.split())


def fetch_and_import(repo, image, directory):
    """Fetches one archive and hands it to containerd."""
    path = download(url_of(repo, image["src"]), image["sha256"], directory)
    try:
        subprocess.run(CTR + ["import", path], check=True, capture_output=True, text=True, timeout=300)
    finally:
        os.unlink(path)


def main():
    """Imports what is missing and reports all misses at once."""
    image_options = {key: {"type": "str", "required": True} for key in ("name", "src", "sha256")}
    module = AnsibleModule(
        argument_spec={
            "repo": {"type": "str", "required": True},
            "state": {"type": "path", "required": True},
            "images": {"type": "list", "elements": "dict", "required": True, "options": image_options},
        }
    )
    repo, state = module.params["repo"], module.params["state"]
    known = noted(state)
    try:
        here = present()
    except (OSError, subprocess.SubprocessError) as error:
        module.fail_json(msg="wanted: containerd that answers; found: %s; see journalctl -u containerd" % error)
    wanted = [i for i in module.params["images"] if i["name"] not in here or known.get(i["name"]) != i["sha256"]]
    misses = []
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        jobs = [(i, pool.submit(fetch_and_import, repo, i, os.path.dirname(state))) for i in wanted]
        for image, job in jobs:
            try:
                job.result()
                known[image["name"]] = image["sha256"]
            except subprocess.CalledProcessError as error:
                misses.append("%s: ctr could not import it: %s" % (image["name"], error.stderr.strip()))
            except (DownloadError, OSError, subprocess.SubprocessError) as error:
                misses.append("%s: %s" % (image["name"], error))
    if wanted:
        note(state, known)
    if misses:
        module.fail_json(msg=listing(misses))
    module.exit_json(changed=bool(wanted), imported=[i["name"] for i in wanted])


if __name__ == "__main__":
    main()
