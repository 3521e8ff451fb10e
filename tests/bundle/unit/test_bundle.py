"""Each bundle is whole and agrees with itself."""

import hashlib
import json
import re
import subprocess
import tarfile
import unittest

import yaml
from support import BUNDLES, FULL, LITE, SOURCE


def versions():
    """The versions that the build scripts name."""
    text = (SOURCE / "tools/versions").read_text(encoding="utf-8")
    return dict(re.findall(r"^(\w+)_version=(\S+)$", text, re.MULTILINE))


def sums(bundle):
    """SHA256SUMS as path to sum."""
    lines = (bundle / "files/SHA256SUMS").read_text(encoding="utf-8").splitlines()
    return {path: digest for digest, path in (line.split("  ") for line in lines)}


class Description(unittest.TestCase):
    """bundle.json says what is there."""

    def test_names_playbooks_that_exist_and_the_version_that_is_built(self):
        for bundle in BUNDLES:
            told = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
            self.assertEqual(told["schema"], 1)
            self.assertEqual(told["kubernetesVersions"], [versions()["kubernetes"]])
            for name in ("cluster", "reset"):
                self.assertTrue((bundle / told["playbooks"][name]).is_file(), name)
            self.assertEqual(told["expects"]["nodesReady"], bundle == FULL)

    def test_roles_that_the_playbooks_name_exist(self):
        for bundle in BUNDLES:
            for playbook in ("cluster.yml", "reset.yml"):
                for play in yaml.safe_load((bundle / playbook).read_text(encoding="utf-8")):
                    for role in play.get("roles", []):
                        self.assertTrue((bundle / "roles" / role).is_dir(), role)


class Files(unittest.TestCase):
    """What the hosts are served."""

    def test_have_the_sums_that_are_written_down(self):
        for bundle in BUNDLES:
            done = subprocess.run(
                ["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=bundle / "files", capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_are_all_written_down_and_known_to_the_playbooks(self):
        for bundle in BUNDLES:
            root = bundle / "files"
            there = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} - {"SHA256SUMS"}
            known = yaml.safe_load((bundle / "roles/bundle_defaults/vars/main.yml").read_text(encoding="utf-8"))
            self.assertEqual(there, set(sums(bundle)))
            self.assertEqual(sums(bundle), known["bundle_sums"])
            self.assertEqual(known["bundle_kubernetes_version"], versions()["kubernetes"])

    def test_of_the_lite_bundle_are_the_three_programs_it_starts(self):
        names = sorted(path.rsplit("/", 1)[-1] for path in sums(LITE))
        self.assertEqual(names, ["etcd", "kube-apiserver", "kubeadm"])

    def test_programs_are_the_version_that_they_are_served_as(self):
        version = versions()["kubernetes"]
        program = FULL / "files/kubernetes" / ("v" + version) / "kubeadm"
        said = subprocess.run([program, "version", "-o", "short"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said.strip(), "v" + version)


class Packages(unittest.TestCase):
    """The Debian packages for nodes."""

    def test_index_names_each_package_with_its_size(self):
        debs = FULL / "files/debs"
        index = (debs / "Packages").read_text(encoding="utf-8")
        told = dict(re.findall(r"^Filename: \./(\S+)\nSize: (\d+)$", index, re.MULTILINE))
        there = {path.name: str(path.stat().st_size) for path in debs.glob("*.deb")}
        self.assertEqual(told, there)
        self.assertEqual(index.count("\nSHA256: "), len(there))

    def test_hold_all_that_the_playbooks_install(self):
        known = yaml.safe_load((FULL / "roles/bundle_defaults/vars/main.yml").read_text(encoding="utf-8"))
        names = {path.name.split("_")[0] for path in (FULL / "files/debs").glob("*.deb")}
        self.assertLessEqual({"containerd", "runc", "iptables", "conntrack"}, set(known["bundle_packages"]))
        self.assertLessEqual(set(known["bundle_packages"]), names)

    def test_file_names_survive_a_web_server(self):
        for path in (FULL / "files/debs").glob("*"):
            self.assertNotIn("%", path.name)


class Images(unittest.TestCase):
    """The container images."""

    def test_hold_what_their_manifests_say(self):
        archives = sorted((FULL / "files/images").glob("*.tar"))
        self.assertEqual(len(archives), 7)
        for archive in archives:
            with tarfile.open(archive) as tar:
                manifest = json.load(tar.extractfile("manifest.json"))[0]
                config = json.load(tar.extractfile(manifest["Config"]))
                layer = tar.extractfile(manifest["Layers"][0]).read()
            self.assertEqual(["sha256:" + hashlib.sha256(layer).hexdigest()], config["rootfs"]["diff_ids"])
            name = manifest["RepoTags"][0].removeprefix("bundle.local/").replace(":", "_")
            self.assertEqual(archive.name, name + ".tar")

    def test_of_kube_proxy_has_iptables_with_its_libraries(self):
        archive = FULL / "files/images" / ("kube-proxy_v%s.tar" % versions()["kubernetes"])
        with tarfile.open(archive) as outer, tarfile.open(fileobj=outer.extractfile("layer/layer.tar")) as layer:
            names = set(layer.getnames())
            link = layer.getmember("usr/sbin/iptables-restore").linkname
        self.assertEqual(link, "xtables-nft-multi")
        self.assertLessEqual({"usr/local/bin/kube-proxy", "usr/sbin/xtables-nft-multi", "usr/sbin/conntrack"}, names)
        self.assertTrue(any(re.search(r"libxtables\.so", name) for name in names))


if __name__ == "__main__":
    unittest.main()
