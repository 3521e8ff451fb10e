#!/usr/bin/python
"""Ansible module: write several small files in one go.

Each file is written aside and renamed. One call for all settings of a host,
because each task costs more than a file. Reports which ones changed.

options: files: list of {dest: absolute path, content, mode: "0644"}; content is
text, or a value that is written as JSON.
"""

import json
import os
import tempfile

from ansible.module_utils.basic import AnsibleModule


def as_bytes(content):
    """Text as it is. Ansible turns text that looks like JSON into a value."""
    if not isinstance(content, str):
        content = json.dumps(content, indent=2) + "\n"
    return content.encode()


def stands(dest, content, mode):
    """Whether dest has this content and mode already."""
    try:
        with open(dest, "rb") as file:
            return file.read() == content and os.stat(dest).st_mode & 0o7777 == mode
    except FileNotFoundError:
        return False


def write(dest, content, mode):
    """Replaces dest as a whole; it never has a mode wider than asked."""
    os.makedirs(os.path.dirname(dest), mode=0o755, exist_ok=True)
    handle, path = tempfile.mkstemp(prefix=".node-files-", dir=os.path.dirname(dest))
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.chmod(path, mode)
    os.rename(path, dest)


def main():
    """Writes what differs."""
    options = {
        "dest": {"type": "path", "required": True},
        "content": {"type": "raw", "required": True},
        "mode": {"type": "str", "default": "0644"},
    }
    module = AnsibleModule(
        argument_spec={"files": {"type": "list", "elements": "dict", "required": True, "options": options}}
    )
    changed = []
    for file in module.params["files"]:
        content, mode = as_bytes(file["content"]), int(file["mode"], 8)
        if stands(file["dest"], content, mode):
            continue
        try:
            write(file["dest"], content, mode)
        except OSError as error:
            module.fail_json(msg="could not write %s: %s" % (file["dest"], error))
        changed.append(file["dest"])
    module.exit_json(changed=bool(changed), written=changed)


if __name__ == "__main__":
    main()
