"""Jinja filters over the bundle's list of files (path to SHA-256)."""

import os


def bundle_files_for(sums, wanted):
    """What the module bundle_files takes: all files below each prefix wanted.

    wanted: list of {prefix, dest (directory), mode}. A prefix without a single
    file is an error, because it means that the bundle is not what we think.
    """
    files = []
    for rule in wanted:
        paths = sorted(path for path in sums if path.startswith(rule["prefix"]))
        if not paths:
            raise ValueError("the bundle holds no files below %s" % rule["prefix"])
        for path in paths:
            dest = os.path.join(rule["dest"], os.path.basename(path))
            files.append({"src": path, "dest": dest, "sha256": sums[path], "mode": rule["mode"]})
    return files


def bundle_images_for(sums, registry, names):
    """What the module bundle_images takes, for images given as name:tag."""
    images = []
    for name in names:
        path = "images/%s.tar" % name.replace(":", "_")
        if path not in sums:
            raise ValueError("the bundle holds no image %s" % name)
        images.append({"name": "%s/%s" % (registry, name), "src": path, "sha256": sums[path]})
    return images


class FilterModule:
    """What Ansible asks for."""

    def filters(self):
        """Name to function."""
        return {"bundle_files_for": bundle_files_for, "bundle_images_for": bundle_images_for}
