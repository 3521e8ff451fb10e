"""The playbooks parse, and refuse what they can't do before they touch a host."""

import unittest

from support import BUNDLES, FULL, LITE, inventory, play

ONE = inventory(["cp1"], ["w1", "w2"])
GOOD = {"files_repo": "http://192.0.2.250:8081", "kube_version": "1.35.4", "artifacts_dir": "/nowhere"}


def without(key):
    """The good variables but one."""
    return {name: value for name, value in GOOD.items() if name != key}


class Syntax(unittest.TestCase):
    """ansible-playbook --syntax-check."""

    def test_of_all_playbooks(self):
        for bundle in BUNDLES:
            for playbook in ("cluster.yml", "reset.yml"):
                code, said = play(bundle, playbook, ONE, GOOD, "--syntax-check")
                self.assertEqual(code, 0, said)
                self.assertNotIn("WARNING", said)


class Refusals(unittest.TestCase):
    """Each says what was wanted and what was found, before any connection."""

    def refused(self, text, variables, *words, bundle=FULL):
        code, said = play(bundle, "cluster.yml", text, variables)
        self.assertEqual(code, 2, said)
        self.assertIn("wanted:", said)
        self.assertNotIn("UNREACHABLE", said)
        for word in words:
            self.assertIn(word, said)

    def test_an_even_number_of_control_planes(self):
        self.refused(inventory(["cp1", "cp2"], ["w1"]), GOOD, "an odd number of hosts in kube_control_plane")

    def test_no_k8s_cluster(self):
        self.refused(ONE.replace("k8s_cluster", "others"), GOOD, "k8s_cluster []")

    def test_etcd_elsewhere(self):
        self.refused(ONE.replace("[etcd]\ncp1", "[etcd]\nw1"), GOOD, "the same hosts as kube_control_plane")

    def test_a_version_that_is_not_here(self):
        self.refused(ONE, dict(GOOD, kube_version="1.34.1"), "kube_version 1.35.4", "kube_version 1.34.1")

    def test_a_version_with_a_v(self):
        self.refused(ONE, dict(GOOD, kube_version="v1.35.4"), "(without v)")

    def test_no_address_of_the_files(self):
        self.refused(ONE, without("files_repo"), "files_repo not set", bundle=LITE)

    def test_a_network_plugin_that_is_not_here(self):
        self.refused(ONE, dict(GOOD, kube_network_plugin="calico"), "kube_network_plugin calico")

    def test_networks_that_overlap(self):
        nets = {"kube_pods_subnet": "10.96.0.0/12", "kube_service_addresses": "10.100.0.0/16"}
        self.refused(ONE, dict(GOOD, **nets), "apart from one another")

    def test_networks_that_hold_a_host(self):
        self.refused(ONE, dict(GOOD, kube_pods_subnet="192.0.0.0/16"), "192.0.2.1")

    def test_too_few_blocks_of_pod_addresses(self):
        self.refused(ONE, dict(GOOD, kube_pods_subnet="10.200.0.0/23", kube_network_node_prefix=24), "with 2 blocks")

    def test_two_hosts_with_one_address(self):
        self.refused(ONE.replace("192.0.2.2", "192.0.2.1"), GOOD, "one address for each host")

    def test_a_reset_that_nobody_confirmed(self):
        for bundle in BUNDLES:
            code, said = play(bundle, "reset.yml", ONE, GOOD)
            self.assertEqual(code, 2, said)
            self.assertIn("wanted: reset_confirmation=true", said)


class Unreachable(unittest.TestCase):
    """A good inventory gets as far as the first connection."""

    def test_hosts_that_nobody_answers_for(self):
        text = inventory(["cp1"], ["w1"]).replace("192.0.2.", "127.0.0.")
        quick = '{"ansible_ssh_common_args": "-o ConnectTimeout=1 -o ConnectionAttempts=1 -p 9"}'
        nets = {"kube_pods_subnet": "10.200.0.0/16", "kube_service_addresses": "10.96.0.0/16"}
        code, said = play(LITE, "cluster.yml", text, dict(GOOD, **nets), "-e", quick)
        self.assertEqual(code, 4, said)
        self.assertIn("UNREACHABLE", said)


if __name__ == "__main__":
    unittest.main()
