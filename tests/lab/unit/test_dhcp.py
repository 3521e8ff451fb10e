"""Configurations of the DHCP servers, and what their lease files say after forgetting a host."""

import tempfile
import unittest
from pathlib import Path

from labkit.dhcp import dnsmasq, isc, kea, unconfined

MAC = "52:54:00:77:00:01"
OTHER = "52:54:00:77:00:02"
POOL = [("10.77.0.50", "10.77.0.59"), ("10.77.0.61", "10.77.0.99")]

ISC = f"""\
authoring-byte-order little-endian;

lease 10.77.0.50 {{
  binding state active;
  hardware ethernet {MAC};
  client-hostname "host1";
}}
lease 10.77.0.51 {{
  binding state active;
  hardware ethernet {OTHER};
}}
lease 10.77.0.50 {{
  binding state free;
  hardware ethernet {MAC};
}}
"""
KEA = f"""\
address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context
10.77.0.50,{MAC},,600,1796000000,1,0,0,host1,0,
10.77.0.51,{OTHER},,600,1796000000,1,0,0,host2,0,
"""
DNSMASQ = f"""\
1796000000 {MAC} 10.77.0.50 host1 *
1796000000 {OTHER} 10.77.0.51 host2 01:{MAC}
"""


class Forgetting(unittest.TestCase):
    def test_isc_loses_every_block_of_the_host_and_nothing_else(self):
        left = isc.without(ISC, MAC)
        self.assertNotIn(MAC, left)
        self.assertNotIn("10.77.0.50", left)
        self.assertIn(f"hardware ethernet {OTHER};\n}}\n", left)
        self.assertTrue(left.startswith("authoring-byte-order"))

    def test_a_torn_block_stays(self):
        torn = "lease 10.77.0.52 {\n  hardware ethernet"
        self.assertEqual(isc.without(torn, MAC), torn)

    def test_kea_loses_rows_by_the_column_that_the_header_names(self):
        self.assertEqual(kea.without(KEA, MAC), KEA.replace(f"10.77.0.50,{MAC},,600,1796000000,1,0,0,host1,0,\n", ""))
        self.assertEqual(kea.without("", MAC), "")

    def test_dnsmasq_loses_lines_by_mac_and_not_by_client_id(self):
        self.assertEqual(dnsmasq.without(DNSMASQ, MAC), DNSMASQ.splitlines(keepends=True)[1])
        self.assertEqual(dnsmasq.without("duid 00:01\n\n", MAC), "duid 00:01\n\n")


class Configurations(unittest.TestCase):
    def test_kea_keeps_leases_where_the_lab_says_and_answers_on_a_socket(self):
        config = kea.config(Path("/x"), 600, POOL, "/hook.so")["Dhcp4"]
        self.assertEqual(config["lease-database"]["name"], "/x/kea-leases4.csv")
        self.assertEqual(config["control-socket"]["socket-name"], "/x/kea.sock")
        self.assertEqual(config["hooks-libraries"], [{"library": "/hook.so"}])
        self.assertEqual(kea.config(Path("/x"), 600, POOL, None)["Dhcp4"]["hooks-libraries"], [])

    def test_nobody_pings_before_an_offer(self):
        self.assertIn("ping-check false;", isc.config(600, POOL))
        with tempfile.TemporaryDirectory() as directory:
            self.assertIn("--no-ping", dnsmasq.prepare(Path(directory), 600, POOL)[0])

    def test_each_command_starts_with_its_program(self):
        with tempfile.TemporaryDirectory() as directory:
            for server in (kea, isc, dnsmasq):
                argv, _ = server.prepare(Path(directory), 600, POOL)
                self.assertEqual(argv[0], server.PROGRAM)


    def test_all_ranges_are_served(self):
        pools = kea.config(Path("/x"), 600, POOL, None)["Dhcp4"]["subnet4"][0]["pools"]
        self.assertEqual(pools, [{"pool": "10.77.0.50 - 10.77.0.59"}, {"pool": "10.77.0.61 - 10.77.0.99"}])
        self.assertIn("  range 10.77.0.50 10.77.0.59;\n  range 10.77.0.61 10.77.0.99;\n", isc.config(600, POOL))


class Confinement(unittest.TestCase):
    def test_only_an_enforcing_profile_of_that_program_counts(self):
        profiles = "kea-dhcp4 (enforce)\n/usr/sbin/dhcpd (enforce)\n/usr/sbin/dnsmasq (complain)\nkea-lfc (enforce)\n"
        self.assertTrue(unconfined.confined(profiles, "kea-dhcp4"))
        self.assertTrue(unconfined.confined(profiles, "dhcpd"))
        self.assertFalse(unconfined.confined(profiles, "dnsmasq"))
        self.assertFalse(unconfined.confined("", "dhcpd"))
