"""The bootstrap host's file server: what a bundle needs at install time, over HTTP to the hosts."""

import functools
import http.server
import subprocess
import sys
import time
from pathlib import Path

from . import names, netns, processes
from .errors import LabError
from .model import Lab
from .shell import spawn

_TOOLS = Path(__file__).resolve().parent.parent


def bundle_directory(wanted: str) -> Path:
    """`full` and `lite` are built by tests/bundle/build (or found in the cache); anything else is a directory."""
    if wanted in ("full", "lite"):
        builder = _TOOLS.parent / "bundle" / "build"
        if not builder.exists():
            raise LabError(f"there is no {builder} in this checkout: give --bundle a directory")
        return Path(_build(builder, wanted))
    path = Path(wanted).resolve()
    if not (path / "files").is_dir():
        raise LabError(f"{path} is no bundle: it has no directory `files` (make one with tests/bundle/build full)")
    return path


def _build(builder: Path, wanted: str) -> str:
    # The only command that may take minutes; its progress goes to the user's terminal.
    done = subprocess.run([str(builder), wanted], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    lines = [line for line in done.stdout.splitlines() if line]
    if done.returncode != 0 or not lines:
        raise LabError(f"`{builder} {wanted}` failed with code {done.returncode}; its messages are above")
    return lines[-1]


def start(lab: Lab) -> None:
    """Serves the bundle's files inside the bootstrap namespace and waits until it answers."""
    directory = Path(lab.bundle) / "files"
    log = lab.directory / "files.log"
    server = [sys.executable, "-B", "-m", "labkit.files", str(directory), names.BOOT_ADDRESS, str(names.FILES_PORT),
              f"{lab.directory}/"]
    pid = spawn(["ip", "netns", "exec", lab.netns("boot"), "env", f"PYTHONPATH={_TOOLS}", *server], log)
    until = time.monotonic() + 10
    while True:
        with netns.make_socket(lab.netns("boot")) as probe:
            if probe.connect_ex((names.BOOT_ADDRESS, names.FILES_PORT)) == 0:
                return
        if processes.dead(pid) or time.monotonic() > until:
            raise LabError(f"the file server did not start; its log is {log}: {log.read_text(errors='replace')[-400:]}")
        time.sleep(0.02)


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Keeps connections open, so that apt fetches many packages over one."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True


class _Server(http.server.ThreadingHTTPServer):
    """Many hosts at once."""
    request_queue_size = 128
    daemon_threads = True


def _serve(directory: str, address: str, port: int) -> None:
    handler = functools.partial(_Handler, directory=directory)
    _Server((address, port), handler).serve_forever()


if __name__ == "__main__":
    # The last argument names the lab, so that `lab down` knows the process as its own.
    _serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
