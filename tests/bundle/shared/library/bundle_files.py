#!/usr/bin/python
"""Ansible module: get files of the bundle, several at a time.

One call for all files of a host, because each task costs more than a file.
A file that stands with the right checksum is left alone.

options: repo (address of the bundle's files), files: list of
{src: path below repo, dest: absolute path, sha256, mode: "0644"}.
"""

import concurrent.futures
import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.bundle_http import DownloadError, NoAnswer, download, listing, sha256_of, url_of

AT_A_TIME = 4


def ensure(repo, file):
    """Makes one file stand; True when it had to be fetched or changed."""
    dest, mode = file["dest"], int(file["mode"], 8)
    fetched = sha256_of(dest) != file["sha256"]
    if fetched:
        path = download(url_of(repo, file["src"]), file["sha256"], os.path.dirname(dest))
        os.chmod(path, mode)
        os.rename(path, dest)
    elif os.stat(dest).st_mode & 0o7777 != mode:
        os.chmod(dest, mode)
        return True
    return fetched


def ensure_all(repo, files):
    """Makes all files stand; returns (those that changed, what is missing)."""
    changed, misses = [], []
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        jobs = [(file, pool.submit(ensure, repo, file)) for file in files]
        for file, job in jobs:
            try:
                if job.result():
                    changed.append(file["dest"])
            except NoAnswer as error:
                pool.shutdown(cancel_futures=True)
                return changed, [str(error)]
            except (DownloadError, OSError) as error:
                misses.append(str(error))
    return changed, misses


def main():
    """Fetches what is missing and reports all misses at once."""
    file_options = {
        "src": {"type": "str", "required": True},
        "dest": {"type": "path", "required": True},
        "sha256": {"type": "str", "required": True},
        "mode": {"type": "str", "default": "0644"},
    }
    module = AnsibleModule(
        argument_spec={
            "repo": {"type": "str", "required": True},
            "files": {"type": "list", "elements": "dict", "required": True, "options": file_options},
        }
    )
    repo, files = module.params["repo"], module.params["files"]
    changed, misses = ensure_all(repo, files)
    if misses:
        module.fail_json(msg=listing(misses))
    module.exit_json(changed=bool(changed), fetched=changed)


if __name__ == "__main__":
    main()
