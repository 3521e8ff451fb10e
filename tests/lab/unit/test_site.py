"""The NAT's rules, the manifests, YAML, wishes of the command line, the cache."""

import tempfile
import unittest
from pathlib import Path

from labkit import cache, cli, manifests, nat, up, yaml
from labkit.errors import LabError


def wishes(*words: str):
    return cli.parser().parse_args(["up", *words])


class Nat(unittest.TestCase):
    def test_management_can_not_open_connections(self):
        rules = nat.ruleset(0)
        self.assertIn("policy drop", rules)
        self.assertIn('iifname "site0" oifname "mgmt0" accept', rules)
        self.assertNotIn('iifname "mgmt0" oifname "site0" accept', rules)

    def test_ports_are_kept_until_the_first_rebind_and_differ_after_each(self):
        self.assertNotIn("to :", nat.ruleset(0))
        self.assertIn("to :20000-24999", nat.ruleset(1))
        self.assertNotEqual(nat.ruleset(1), nat.ruleset(2))
        self.assertEqual(nat.ruleset(1), nat.ruleset(5))


class Wishes(unittest.TestCase):
    def test_hosts_as_asked_for(self):
        lab = up.plan(wishes("t", "--hosts", "2", "--sudo", "--host-hw", "host2:cpu=2", "--no-hardware", "host1",
                             "--host-label", "host1:a/b=c", "--password", "pw", "--memory", "16Gi"))
        first, second = lab.hosts
        self.assertEqual((first.user, first.sudo_password), ("ops", "pw"))
        self.assertEqual((first.hardware_known, first.labels), (False, {"a/b": "c"}))
        self.assertEqual((second.hardware.cpu, second.hardware.memory, second.labels), (2, "16Gi", {}))

    def test_passwords_are_random_and_one_for_a_lab(self):
        one, other = up.plan(wishes("t")), up.plan(wishes("t"))
        self.assertNotEqual(one.hosts[0].password, other.hosts[0].password)
        self.assertEqual(len({host.password for host in one.hosts}), 1)

    def test_impossible_wishes(self):
        for words in (["--hosts", "-1"], ["--hosts", "151"], ["--host-hw", "cpu=2"], ["--host-hw", "host9:cpu=2"],
                      ["--host-label", "host1:rack"], ["--hold", "host4"], ["--no-hardware", "x"],
                      ["--password", "a b"], ["--password", "a:b"], ["--cpu", "none"], ["--disk", "big"]):
            with self.assertRaises(LabError, msg=words):
                up.plan(wishes("t", *words))


class Manifests(unittest.TestCase):
    def setUp(self):
        self.lab = up.plan(wishes("t", "--hosts", "2", "--no-hardware", "host2", "--host-hw", "host1:disk=1Ti"))

    def test_one_bare_metal_host_each_and_hardware_where_it_is_known(self):
        found = [(one["kind"], one["metadata"]["name"]) for one in manifests.objects(self.lab)]
        self.assertEqual(found, [("BareMetalHost", "host1"), ("HardwareData", "host1"), ("BareMetalHost", "host2")])

    def test_they_look_like_installed_hosts(self):
        host, data, _ = manifests.objects(self.lab)
        self.assertEqual(host["apiVersion"], "metal3.io/v1alpha1")
        self.assertTrue(host["spec"]["online"])
        self.assertEqual(host["spec"]["bootMACAddress"], self.lab.hosts[0].mac)
        status = host["status"]
        self.assertEqual((status["provisioning"]["state"], status["operationalStatus"], status["errorMessage"]),
                         ("provisioned", "OK", ""))
        self.assertEqual(status["provisioning"]["image"]["url"], host["spec"]["image"]["url"])
        hardware = data["spec"]["hardware"]
        self.assertEqual(hardware["storage"][0]["sizeBytes"], 2**40)
        self.assertEqual(hardware["nics"][0]["mac"], self.lab.hosts[0].mac)
        self.assertEqual(data["metadata"]["ownerReferences"][0]["uid"], host["metadata"]["uid"])

    def test_uids_last_and_differ(self):
        once, again = manifests.objects(self.lab), manifests.objects(self.lab)
        self.assertEqual(once, again)
        self.assertEqual(len({one["metadata"]["uid"] for one in once}), 3)


class Yaml(unittest.TestCase):
    def test_nested_values(self):
        self.assertEqual(yaml.dump({"a": [{"b": 1, "c": [True, None]}, "x"], "d": {}, "e": [], "f": {"g": "h"}}),
                         "a:\n- b: 1\n  c:\n  - true\n  - null\n- x\nd: {}\ne: []\nf:\n  g: h\n")

    def test_strings_that_look_like_something_else_are_quoted(self):
        for text in ("true", "No", "1", "1.5", "", "a: b", "52:54:00:77:00:01", "- x", "#c", "a\nb", "~", "null"):
            self.assertEqual(yaml.dump([text])[:3], '- "', text)
        for text in ("host1", "metal3.io/v1alpha1", "/dev/sda", "x86_64"):
            self.assertEqual(yaml.dump([text]), f"- {text}\n")


class Cache(unittest.TestCase):
    def test_a_thing_is_built_once_and_whole(self):
        with tempfile.TemporaryDirectory() as directory:
            calls = []

            def build(path: Path) -> None:
                calls.append(path)
                (path / "x").write_text("1")

            first = cache.built("thing", "k1", build, Path(directory))
            self.assertEqual(first, cache.built("thing", "k1", build, Path(directory)))
            self.assertEqual(len(calls), 1)
            self.assertEqual((first.name, (first / "x").read_text()), ("thing-k1", "1"))

    def test_a_failed_build_leaves_nothing_that_looks_finished(self):
        with tempfile.TemporaryDirectory() as directory:
            def build(path: Path) -> None:
                (path / "x").write_text("half")
                raise OSError("disk full")

            with self.assertRaises(OSError):
                cache.built("thing", "k1", build, Path(directory))
            self.assertEqual(list(Path(directory).glob("thing-*")), [])

    def test_keys_change_with_any_part_and_its_place(self):
        self.assertNotEqual(cache.key_of(["ab", "c"]), cache.key_of(["a", "bc"]))
        self.assertNotEqual(cache.key_of(["a", "b"]), cache.key_of(["b", "a"]))
