"""The modules and filters by themselves."""

import http.server
import os
import pathlib
import tempfile
import threading
import time
import unittest
import unittest.mock

from support import load, load_utils

load_utils()
http_util = load("shared/module_utils/bundle_http.py", "ansible.module_utils.bundle_http")
state_util = load("full/module_utils/kubeadm_state.py", "ansible.module_utils.kubeadm_state")
bundle_files = load("shared/library/bundle_files.py")
node_files = load("shared/library/node_files.py")
kubeadm_step = load("full/library/kubeadm_step.py")
node_facts = load("full/library/node_facts.py")
addresses = load("shared/filter_plugins/addresses.py")
bundle_filters = load("shared/filter_plugins/bundle.py")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and keeps still; fails as often as it is told."""

    failures = 0

    def do_GET(self):
        if Quiet.failures:
            Quiet.failures -= 1
            return self.send_error(503)
        return super().do_GET()

    def log_message(self, *_):
        pass


class Downloads(unittest.TestCase):
    """Files over HTTP, checked."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name, "served")
        self.root.mkdir()
        (self.root / "a+b~1.deb").write_bytes(b"hello")
        self.sum = http_util.sha256_of(self.root / "a+b~1.deb")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Quiet(*a, directory=str(self.root)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.repo = "http://127.0.0.1:%d/" % server.server_port
        self.out = os.path.join(self.directory.name, "out")

    def get(self, name="a+b~1.deb", digest=None, pauses=None):
        pauses = [] if pauses is None else pauses
        return http_util.download(http_util.url_of(self.repo, name), digest or self.sum, self.out, pauses.append)

    def test_arrive_whole(self):
        self.assertEqual(pathlib.Path(self.get()).read_bytes(), b"hello")

    def test_with_a_wrong_sum_are_refused_and_removed(self):
        with self.assertRaisesRegex(http_util.DownloadError, "wanted sha256 0+, found " + self.sum):
            self.get(digest="0" * 64)
        self.assertEqual(os.listdir(self.out), [])

    def test_that_are_missing_are_not_tried_again(self):
        pauses = []
        with self.assertRaisesRegex(http_util.DownloadError, "HTTP 404"):
            self.get("other", pauses=pauses)
        self.assertEqual(pauses, [])

    def test_are_tried_again_when_the_server_is_busy(self):
        Quiet.failures, pauses = 2, []
        self.get(pauses=pauses)
        self.assertEqual(pauses, [1, 2])

    def test_say_when_nobody_answers(self):
        self.repo, pauses = "http://127.0.0.1:9", []
        with self.assertRaisesRegex(http_util.DownloadError, "no answer in 4 tries.*check files_repo"):
            self.get(pauses=pauses)
        self.assertEqual(pauses, [1, 2, 4])

    def test_leave_alone_what_stands(self):
        file = {"src": "a+b~1.deb", "dest": self.out + "/x", "sha256": self.sum, "mode": "0755"}
        self.assertTrue(bundle_files.ensure(self.repo, file))
        self.assertFalse(bundle_files.ensure("http://127.0.0.1:9", file))
        os.chmod(file["dest"], 0o600)
        self.assertTrue(bundle_files.ensure("http://127.0.0.1:9", file))
        self.assertEqual(os.stat(file["dest"]).st_mode & 0o777, 0o755)


    def test_list_all_that_is_missing(self):
        files = [{"src": "none%d" % i, "dest": self.out + "/x", "sha256": self.sum, "mode": "0755"} for i in range(12)]
        changed, misses = bundle_files.ensure_all(self.repo, files)
        self.assertEqual((changed, len(misses)), ([], 12))
        self.assertTrue(http_util.listing(misses).endswith("\nand 2 more"))

    def test_are_not_all_waited_for_when_nobody_answers(self):
        files = [{"src": "f%d" % i, "dest": self.out + "/f%d" % i, "sha256": self.sum, "mode": "0755"} for i in range(400)]
        pauses = []

        def pause(seconds):
            pauses.append(seconds)
            time.sleep(0.01)

        with unittest.mock.patch.object(http_util.download, "__defaults__", (pause,)):
            _, misses = bundle_files.ensure_all("http://127.0.0.1:9", files)
        self.assertEqual(len(misses), 1)
        self.assertLess(len(pauses), 100)


class SmallFiles(unittest.TestCase):
    """node_files."""

    def test_are_replaced_as_a_whole_with_their_mode(self):
        with tempfile.TemporaryDirectory() as directory:
            path = directory + "/new/secret"
            self.assertFalse(node_files.stands(path, b"x", 0o600))
            node_files.write(path, b"x", 0o600)
            self.assertTrue(node_files.stands(path, b"x", 0o600))
            self.assertFalse(node_files.stands(path, b"x", 0o644))
            self.assertFalse(node_files.stands(path, b"y", 0o600))
            self.assertEqual(os.listdir(directory + "/new"), ["secret"])

    def test_take_text_and_values(self):
        self.assertEqual(node_files.as_bytes("a: 1\n"), b"a: 1\n")
        self.assertEqual(node_files.as_bytes({"a": 1}), b'{\n  "a": 1\n}\n')


class KubeadmState(unittest.TestCase):
    """What to do on a host that may have a past."""

    DONE = {"cluster": "c", "step": "join", "phase": "done"}
    CONF = ["/etc/kubernetes/kubelet.conf"]

    def test_a_fresh_host_is_free(self):
        self.assertEqual(state_util.decide({}, "c", "join", [])[0], "run")

    def test_somebody_elses_cluster_is_refused(self):
        what, why = state_util.decide({}, "c", "join", self.CONF)
        self.assertEqual(what, "refuse")
        self.assertIn("/etc/kubernetes/kubelet.conf", why)

    def test_another_cluster_of_ours_is_refused(self):
        what, why = state_util.decide(self.DONE, "other", "join", self.CONF)
        self.assertEqual((what, why), ("refuse", "it belongs to cluster c"))

    def test_a_step_that_is_done_is_kept(self):
        self.assertEqual(state_util.decide(self.DONE, "c", "join", self.CONF)[0], "keep")

    def test_a_step_that_was_done_and_then_damaged_is_not_done_again(self):
        self.assertEqual(state_util.decide(self.DONE, "c", "join", [])[0], "refuse")

    def test_an_interrupted_step_is_wiped(self):
        started = dict(self.DONE, phase="started")
        for found in ([], self.CONF):
            self.assertEqual(state_util.decide(started, "c", "join", found)[0], "wipe")

    def test_is_remembered_and_survives_damage(self):
        with tempfile.TemporaryDirectory() as directory:
            path = directory + "/deep/state.json"
            self.assertEqual(state_util.read(path), {})
            state_util.write("c", "init", "started", path)
            self.assertEqual(state_util.read(path), {"cluster": "c", "step": "init", "phase": "started"})
            pathlib.Path(path).write_text("{", encoding="utf-8")
            self.assertEqual(state_util.read(path), {})


class KubeadmFailure(unittest.TestCase):
    """What the user reads when kubeadm fails."""

    PREFLIGHT = (
        "\x1b[0;37mCONFIG_AUFS_FS\x1b[0m: not set\n\t[WARNING Swap]: swap is on\n[preflight] Some fatal errors occurred:\n"
        "\t[ERROR Port-6443]: Port 6443 is in use\nerror: error execution phase preflight: preflight checks failed\n"
    )

    def test_begins_with_the_error_and_leaves_out_the_noise(self):
        text = kubeadm_step.explain("init", 1, self.PREFLIGHT, self.fail)
        self.assertTrue(text.startswith("kubeadm init ended with 1: [ERROR Port-6443]: Port 6443 is in use; error: "), text)
        self.assertNotIn("CONFIG_AUFS", text)
        self.assertNotIn("Swap", text)

    def test_shows_the_kubelets_journal_when_it_was_started(self):
        text = kubeadm_step.explain("join", 1, "[kubelet-start] Starting the kubelet\nerror: timed out\n", lambda: "no cgroup\n")
        self.assertTrue(text.endswith("the kubelet's journal:\nno cgroup"), text)


class Facts(unittest.TestCase):
    """What is read from a host's files."""

    def test_the_last_mount_of_the_root_counts(self):
        mounts = "rootfs / rootfs rw 0 0\noverlay / overlay rw 0 0\ntmpfs /run tmpfs rw 0 0\n"
        self.assertEqual(node_facts.root_type(mounts), "overlay")
        self.assertEqual(node_facts.root_type(""), "")

    def test_capabilities(self):
        self.assertTrue(node_facts.has_capability("Name:\tx\nCapEff:\t0000000001000000\n", 24))
        self.assertFalse(node_facts.has_capability("CapEff:\t0000000000ffffff\n", 24))
        self.assertFalse(node_facts.has_capability("", 24))

    def test_the_system(self):
        self.assertEqual(node_facts.os_release('ID=debian\nVERSION_ID="12"\n'), "debian 12")
        self.assertEqual(node_facts.os_release(""), "unknown ")

    def test_resolvers(self):
        self.assertEqual(node_facts.resolvers("# nameserver 1.1.1.1\nsearch x\nnameserver 10.0.0.1\n"), ["10.0.0.1"])
        self.assertEqual(node_facts.resolvers("nameserver \n"), [])


class Filters(unittest.TestCase):
    """Addresses and lists of files."""

    def test_addresses(self):
        self.assertEqual(addresses.nth_address("10.96.0.0/16", 10), "10.96.0.10")
        self.assertTrue(addresses.overlaps("10.0.0.0/8", "10.1.2.3"))
        self.assertEqual(addresses.inside(["10.0.0.1", "10.1.0.1"], ["10.1.0.0/16"]), ["10.1.0.1"])
        self.assertEqual(addresses.blocks("10.200.0.0/16", 24), 256)
        self.assertEqual(addresses.url_host("fd00::1"), "[fd00::1]")

    def test_which_address_of_a_host(self):
        host = {"ansible_host": "a", "ip": "b", "access_ip": "c"}
        self.assertEqual((addresses.bind_address(host), addresses.access_address(host)), ("b", "c"))
        self.assertEqual(addresses.access_address({"ansible_host": "a"}), "a")
        with self.assertRaises(ValueError):
            addresses.bind_address({})

    def test_which_files(self):
        sums = {"cni/v1/bridge": "s1", "images/x_1.tar": "s2"}
        found = bundle_filters.bundle_files_for(sums, [{"prefix": "cni/v1/", "dest": "/opt", "mode": "0755"}])
        self.assertEqual(found, [{"src": "cni/v1/bridge", "dest": "/opt/bridge", "sha256": "s1", "mode": "0755"}])
        images = bundle_filters.bundle_images_for(sums, "r", ["x:1"])
        self.assertEqual(images, [{"name": "r/x:1", "src": "images/x_1.tar", "sha256": "s2"}])

    def test_files_that_the_bundle_does_not_hold(self):
        with self.assertRaisesRegex(ValueError, "no files below cni/v2/"):
            bundle_filters.bundle_files_for({}, [{"prefix": "cni/v2/", "dest": "/opt", "mode": "0755"}])
        with self.assertRaisesRegex(ValueError, "no image x:2"):
            bundle_filters.bundle_images_for({}, "r", ["x:2"])


if __name__ == "__main__":
    unittest.main()
