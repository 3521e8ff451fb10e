"""Tells the agent what a playbook does: one JSON object a line, appended to a file.

The agent follows the file. Nothing that happens here may disturb the playbook, so nothing is ever
raised; texts are cut, and what ansible is told not to log is not written.
"""

import json
import os
import time

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
    name: bpa_events
    type: notification
    short_description: events for bpa-agent
    description: Appends one JSON object per event to the file that BPA_EVENTS names.
"""

LONGEST = 2000


def text(value):
    """A short text of any value."""
    if value is None:
        return None
    if not isinstance(value, str):
        try:
            value = json.dumps(value, default=str)
        except (TypeError, ValueError):
            value = str(value)
    return value if len(value) <= LONGEST else value[:LONGEST] + "..."


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "bpa_events"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self):
        super().__init__()
        self.seq = 0
        self.file = None
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self.file = os.open(os.environ["BPA_EVENTS"], flags, 0o600)
        except (KeyError, OSError):
            self.disabled = True

    def emit(self, event, **fields):
        try:
            self.seq += 1
            line = {"seq": self.seq, "ts": round(time.time(), 3), "event": event}
            line.update((k, v) for k, v in fields.items() if v is not None)
            os.write(self.file, (json.dumps(line, default=str) + "\n").encode())
        except Exception:  # noqa: BLE001 - a full disk must not end an install
            pass

    def task(self, event, task):
        self.emit(
            event,
            uuid=str(task._uuid),
            name=text(task.get_name()),
            path=text(task.get_path()),
            action=text(task.action),
        )

    def bad(self, event, result, ignored=False):
        try:
            found = result._result
            hidden = bool(found.get("_ansible_no_log") or result._task.no_log)
            fields = {"no_log": True if hidden else None}
            if not hidden:
                fields["msg"] = text(found.get("msg"))
                fields["stderr"] = text(found.get("stderr") or found.get("module_stderr"))
                fields["stdout"] = text(found.get("stdout") or found.get("module_stdout"))
                fields["rc"] = found.get("rc")
            self.emit(
                event,
                host=result._host.get_name(),
                task=str(result._task._uuid),
                ignored=True if ignored else None,
                attempts=found.get("attempts"),
                **fields,
            )
        except Exception:  # noqa: BLE001
            self.emit(event, host="", task="", msg="the failure can't be shown")

    def good(self, event, result, **fields):
        try:
            self.emit(event, host=result._host.get_name(), task=str(result._task._uuid), **fields)
        except Exception:  # noqa: BLE001
            pass

    def v2_playbook_on_start(self, playbook):
        self.emit("start", playbook=text(playbook._file_name), pid=os.getpid())

    def v2_playbook_on_play_start(self, play):
        self.emit("play", name=text(play.get_name()), uuid=str(play._uuid))

    def v2_playbook_on_task_start(self, task, is_conditional):
        self.task("task", task)

    def v2_playbook_on_cleanup_task_start(self, task):
        self.task("task", task)

    def v2_playbook_on_handler_task_start(self, task):
        self.task("handler", task)

    def v2_runner_on_start(self, host, task):
        self.emit("host_start", host=host.get_name(), task=str(task._uuid))

    def v2_runner_on_ok(self, result):
        self.good("ok", result, changed=bool(result._result.get("changed")))

    def v2_runner_on_skipped(self, result):
        self.good("skipped", result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self.bad("failed", result, ignored=ignore_errors)

    def v2_runner_on_unreachable(self, result):
        self.bad("unreachable", result)

    def v2_runner_retry(self, result):
        self.bad("retry", result)

    def v2_runner_item_on_failed(self, result):
        self.bad("item_failed", result)

    def v2_playbook_on_include(self, included_file):
        self.emit(
            "include",
            file=text(included_file._filename),
            hosts=[host.get_name() for host in included_file._hosts],
        )

    def v2_playbook_on_no_hosts_matched(self):
        self.emit("no_hosts_matched")

    def v2_playbook_on_no_hosts_remaining(self):
        self.emit("no_hosts_remaining")

    def v2_playbook_on_stats(self, stats):
        hosts = {}
        for host in sorted(stats.processed):
            summary = stats.summarize(host)
            summary["failed"] = summary.pop("failures", 0)
            hosts[host] = summary
        self.emit("stats", hosts=hosts)
