"""Account files of a host."""

import unittest

from labkit import accounts

SHADOW = "root:*:20788:0:99999:7:::\ndaemon:*:20788:0:99999:7:::\n"


class Shadow(unittest.TestCase):
    def test_an_account_that_is_there_gets_the_password_and_keeps_the_rest(self):
        self.assertEqual(accounts.with_hash(SHADOW, "root", "$6$x"),
                         "root:$6$x:20788:0:99999:7:::\ndaemon:*:20788:0:99999:7:::\n")

    def test_a_new_account_gets_a_line(self):
        self.assertEqual(accounts.with_hash(SHADOW, "ops", "$6$x").splitlines()[-1], "ops:$6$x:20000:0:99999:7:::")

    def test_a_name_that_begins_like_another_is_another(self):
        text = accounts.with_hash("rooted:*:1::::::\n" + SHADOW, "root", "h")
        self.assertIn("rooted:*:", text)
        self.assertIn("root:h:", text)


class Groups(unittest.TestCase):
    def test_the_first_and_the_second_member(self):
        once = accounts.in_group("sudo:x:27:\nsudoers:x:28:\n", "sudo", "ops")
        self.assertEqual(once, "sudo:x:27:ops\nsudoers:x:28:\n")
        self.assertEqual(accounts.in_group(once, "sudo", "ann").splitlines()[0], "sudo:x:27:ops,ann")


class Ssh(unittest.TestCase):
    def test_root_logs_in_only_when_root_is_the_account(self):
        self.assertIn("PermitRootLogin yes", accounts.ssh_access("root"))
        self.assertIn("PermitRootLogin no", accounts.ssh_access("ops"))
