"""Reading the machine: cgroup layouts, processes, mounts, package sources."""

import unittest
from pathlib import Path

from labkit import cgroups, mirror, processes, traces
from labkit.errors import LabError

HYBRID = """\
30 25 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
32 30 0:28 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
34 30 0:30 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
35 30 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
UNIFIED = "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
JOINED = "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" + HYBRID.split("\n", 2)[2]


class Cgroups(unittest.TestCase):
    def test_a_hybrid_machine_is_version_1_without_its_unified_hierarchy(self):
        found = cgroups.detect(HYBRID, {"hugetlb"})
        self.assertEqual(found.version, "v1")
        self.assertEqual([path.name for path in found.mounts], ["cpu", "memory", "pids", "systemd"])

    def test_controllers_may_share_a_hierarchy(self):
        self.assertEqual(cgroups.detect(JOINED, set()).version, "v1")

    def test_a_unified_machine_is_version_2(self):
        found = cgroups.detect(UNIFIED, {"cpu", "memory", "pids", "io"})
        self.assertEqual(found, cgroups.Layout("v2", (Path("/sys/fs/cgroup"),)))

    def test_a_machine_without_the_controllers_is_refused_with_a_way_out(self):
        for mounts, controllers in (("", set()), (UNIFIED, {"cpu"})):
            with self.assertRaisesRegex(LabError, "--kind ns"):
                cgroups.detect(mounts, controllers)


class Processes(unittest.TestCase):
    def test_pid_1_of_a_host_is_told_from_pid_1_of_a_pod(self):
        host = processes.Process(700, 1, processes.namespace_ids("Name:\tsystemd\nNSpid:\t700\t1\n"))
        pod = processes.Process(900, 1, processes.namespace_ids("Name:\tpause\nNSpid:\t900\t200\t1\n"))
        plain = processes.Process(5, 1, processes.namespace_ids("Name:\tsh\nNSpid:\t5\n"))
        self.assertEqual([p.is_host_init for p in (host, pod, plain)], [True, False, False])

    def test_a_status_without_the_line_has_no_ids(self):
        self.assertEqual(processes.namespace_ids(""), ())

    def test_one_that_never_was_is_dead(self):
        self.assertTrue(processes.dead(2**22 + 1))
        self.assertFalse(processes.dead(1))


class Traces(unittest.TestCase):
    def test_a_mount_of_the_lab_is_told_from_one_of_a_lab_with_a_longer_name(self):
        line = "1 2 0:3 / /x rw - overlay host rw,upperdir=/var/lib/bpa-lab/lab-2/host1-1/upper"
        self.assertTrue(traces.names_lab(line, "lab-2", set()))
        self.assertFalse(traces.names_lab(line, "lab", set()))

    def test_a_namespace_that_is_still_mounted_somewhere(self):
        line = "1 2 0:4 net:[4026531] /run/netns/lab-boot rw - nsfs nsfs rw"
        self.assertTrue(traces.names_lab(line, "lab", {4026531}))
        self.assertFalse(traces.names_lab(line, "lab", {402653}))


class Mirror(unittest.TestCase):
    def test_the_main_archive_of_the_suite_is_taken(self):
        targets = ("http://a.example/debian/|bookworm-updates|main\n"
                   "http://a.example/debian/|bookworm|contrib\n"
                   "http://b.example/debian/|bookworm|main\n")
        self.assertEqual(mirror.choose(targets, "bookworm"), "http://b.example/debian")

    def test_without_one_it_says_what_to_add(self):
        with self.assertRaisesRegex(LabError, "sources.list.d"):
            mirror.choose("cdrom:[x]/|bookworm|main\nhttp://a.example/|trixie|main\n", "bookworm")
