#!/usr/bin/env python3
"""Writes container images as archives that `ctr image import` takes.

usage: images.py BIN PROXY_ROOT OUT REGISTRY NAME=TAG...

Each image is one layer: static binaries from BIN, and for kube-proxy also the
tree PROXY_ROOT (iptables with its libraries). Archives are the same byte for
byte when their contents are, so that they can be cached and compared.
"""

import hashlib
import io
import json
import os
import stat
import sys
import tarfile

DIRECTORIES = ("etc", "tmp", "run", "var", "proc", "sys", "dev", "usr", "usr/local", "usr/local/bin")
PASSWD = b"root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"
SEARCH_PATH = "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# What each image runs, and which binaries are laid in it (the first is run).
BINARIES = {
    "kube-apiserver": ["usr/local/bin/kube-apiserver"],
    "kube-controller-manager": ["usr/local/bin/kube-controller-manager"],
    "kube-scheduler": ["usr/local/bin/kube-scheduler"],
    "kube-proxy": ["usr/local/bin/kube-proxy"],
    "etcd": ["usr/local/bin/etcd", "usr/local/bin/etcdctl"],
    "coredns": ["coredns"],
    "pause": ["pause"],
}


def entry(name, kind=tarfile.REGTYPE, mode=0o755, size=0, link=""):
    """A tar member with no owner and no time."""
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.size, info.linkname = kind, mode, size, link
    return info


def add_bytes(tar, name, data, mode=0o644):
    """A file from memory."""
    tar.addfile(entry(name, mode=mode, size=len(data)), io.BytesIO(data))


def add_file(tar, name, path):
    """A file, link or directory of the disk."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        tar.addfile(entry(name, tarfile.SYMTYPE, 0o777, link=os.readlink(path)))
    elif stat.S_ISDIR(status.st_mode):
        tar.addfile(entry(name, tarfile.DIRTYPE))
    else:
        with open(path, "rb") as file:
            tar.addfile(entry(name, mode=status.st_mode & 0o755, size=status.st_size), file)


def add_tree(tar, root):
    """Everything below root, parents first, in a fixed order."""
    for directory, names, files in sorted(os.walk(root)):
        for name in sorted(names + files):
            path = os.path.join(directory, name)
            relative = os.path.relpath(path, root)
            if relative not in DIRECTORIES:
                add_file(tar, relative, path)


def layer(name, binaries, proxy_root):
    """The one layer of an image, as a temporary in memory."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for directory in DIRECTORIES:
            mode = 0o1777 if directory == "tmp" else 0o755
            tar.addfile(entry(directory, tarfile.DIRTYPE, mode))
        if name == "kube-proxy":
            add_tree(tar, proxy_root)
        add_bytes(tar, "etc/passwd", PASSWD)
        for path in BINARIES[name]:
            add_file(tar, path, os.path.join(binaries, os.path.basename(path)))
    return buffer.getbuffer()


def write_image(out, reference, name, content):
    """The archive: a config, one layer, and the manifest that names both."""
    config = json.dumps(
        {
            "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine],
            "os": "linux",
            "config": {"Env": [SEARCH_PATH], "Entrypoint": ["/" + BINARIES[name][0]]},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(content).hexdigest()]},
            "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "tests/bundle/tools/images.py"}],
        },
        sort_keys=True,
    ).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = [{"Config": config_name, "RepoTags": [reference], "Layers": ["layer/layer.tar"]}]
    with tarfile.open(out, "w", format=tarfile.GNU_FORMAT) as tar:
        add_bytes(tar, config_name, config)
        tar.addfile(entry("layer/layer.tar", mode=0o644, size=len(content)), io.BytesIO(content))
        add_bytes(tar, "manifest.json", json.dumps(manifest).encode())


def main():
    """Writes one archive for each NAME=TAG."""
    binaries, proxy_root, out, registry = sys.argv[1:5]
    for word in sys.argv[5:]:
        name, tag = word.split("=")
        content = layer(name, binaries, proxy_root)
        write_image(os.path.join(out, "%s_%s.tar" % (name, tag)), "%s/%s:%s" % (registry, name, tag), name, content)
        print("image %s:%s, %d MB" % (name, tag, len(content) >> 20), file=sys.stderr)


if __name__ == "__main__":
    main()
