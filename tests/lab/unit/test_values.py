"""Names, hardware, and labs as JSON."""

import json
import unittest
from pathlib import Path

from labkit import names
from labkit.errors import LabError
from labkit.hardware import Hardware, bytes_of
from labkit.model import Host, Lab


class Names(unittest.TestCase):
    def test_good_and_bad_lab_names(self):
        for good in ("lab", "a", "t-1", "7b", "x" * 40):
            self.assertEqual(names.check_lab_name(good), good)
        for bad in ("", "-a", "a-", "A", "a_b", "a/b", "..", "x" * 41, "a b", "lab\n"):
            with self.assertRaises(LabError, msg=bad):
                names.check_lab_name(bad)

    def test_the_namespaces_of_one_lab_are_not_those_of_another_with_a_longer_name(self):
        pattern = names.netns_pattern("lab")
        for own in ("lab-mgmt", "lab-wan", "lab-boot", "lab-lan", "lab-host1", "lab-host150"):
            self.assertTrue(pattern.fullmatch(own), own)
        for other in ("lab-2-mgmt", "lab-host1-boot", "xlab-boot", "lab-host", "lab-host0", "lab", "lab-mgmt-boot"):
            self.assertFalse(pattern.fullmatch(other), other)

    def test_hosts_have_numbers_and_macs(self):
        self.assertEqual(names.host_number("host12"), 12)
        self.assertEqual(names.mac_of(1), "52:54:00:77:00:01")
        self.assertEqual(names.mac_of(150), "52:54:00:77:00:96")
        self.assertEqual(len({names.mac_of(n) for n in range(1, 1000)}), 999)
        for bad in ("host0", "host", "boot", "host-1", "host1x"):
            with self.assertRaises(LabError, msg=bad):
                names.host_number(bad)

    def test_retired_addresses_leave_gaps_in_the_pool(self):
        def ranges(*retired: int) -> list[tuple[str, str]]:
            found = names.pool_ranges([f"10.77.0.{number}" for number in retired])
            return [(first[8:], last[8:]) for first, last in found]
        self.assertEqual(ranges(), [("50", "200")])
        self.assertEqual(ranges(60, 61), [("50", "59"), ("62", "200")])
        self.assertEqual(ranges(50, 200), [("51", "199")])
        self.assertEqual(ranges(1, 201), [("50", "200")])

    def test_macs_are_read_in_either_form(self):
        self.assertEqual(names.check_mac("52-54-00-AA-00-01"), "52:54:00:aa:00:01")
        for bad in ("", "52:54:00:aa:00", "53:54:00:aa:00:01", "zz:54:00:aa:00:01", "52:54:00:aa:00:01:02"):
            with self.assertRaises(LabError, msg=bad):
                names.check_mac(bad)


class Sizes(unittest.TestCase):
    def test_quantities(self):
        self.assertEqual(bytes_of("8Gi"), 8 * 2**30)
        self.assertEqual(bytes_of("100G"), 10**11)
        self.assertEqual(bytes_of("1024"), 1024)
        for bad in ("", "0", "0Gi", "-1Gi", "1.5Gi", "8GiB", "8 Gi", "Gi", "9" * 13):
            with self.assertRaises(LabError, msg=bad):
                bytes_of(bad)

    def test_settings_change_what_they_name_only(self):
        self.assertEqual(Hardware().changed("cpu=2,memory=4Gi"), Hardware(2, "4Gi", "100Gi"))
        self.assertEqual(Hardware().changed(""), Hardware())
        for bad in ("cpu=0", "cpu=x", "memory=", "gpu=1", "cpu"):
            with self.assertRaises(LabError, msg=bad):
                Hardware().changed(bad)


class Json(unittest.TestCase):
    def test_a_lab_comes_back_as_it_was(self):
        host = Host("host1", "52:54:00:77:00:01", "ops", "pw", "pw", Hardware(2, "4Gi", "50Gi"),
                    "52:54:00:77:00:99", labels={"rack": "a"}, installation=3, link_up=False)
        lab = Lab("t", "node", "isc", "dhclient", "/base", bundle="/b", rebinds=2, complete=True, hosts=[host])
        data = json.loads(json.dumps(lab.to_json(Path("/leases"))))
        self.assertEqual(Lab.from_json(data), lab)

    def test_the_fields_that_others_rely_on(self):
        lab = Lab("t", "ns", "kea", "dhclient", "/base", hosts=[
            Host("host1", "52:54:00:77:00:01", "root", "pw", None, Hardware(), "52:54:00:77:00:01")])
        data = lab.to_json(Path("/run/bpa-lab/t/dhcp/kea-leases4.csv"))
        self.assertEqual(data["dir"], "/run/bpa-lab/t")
        self.assertEqual(data["mgmt"], {"netns": "t-mgmt", "address": "10.78.0.2"})
        self.assertEqual(data["wan"], {"netns": "t-wan"})
        self.assertEqual(data["boot"], {
            "netns": "t-boot", "address": "10.77.0.1", "wanAddress": "10.79.0.2", "interface": "eth0",
            "leases": {"kind": "kea", "path": "/run/bpa-lab/t/dhcp/kea-leases4.csv"}, "filesUrl": None})
        for key, value in {"name": "host1", "mac": "52:54:00:77:00:01", "netns": "t-host1", "address": None,
                           "user": "root", "password": "pw", "sudoPassword": None, "cpu": 4, "memory": "8Gi",
                           "disk": "100Gi", "up": False}.items():
            self.assertEqual(data["hosts"][0][key], value, key)

    def test_an_unknown_host_is_answered_with_those_there_are(self):
        lab = Lab("t", "ns", "kea", "dhclient", "/base")
        with self.assertRaisesRegex(LabError, "has no host `host1`; its hosts: none"):
            lab.host("host1")
