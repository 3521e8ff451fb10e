"""From parsed arguments to deeds and printed answers."""

import fnmatch
import json
import os
import signal
import sys
import time
from argparse import Namespace

from . import dhcp, enter, faults, manifests, names, reach, store, teardown, up, yaml
from .cli import parser
from .errors import LabError
from .model import Host, Lab


def main(argv: list[str]) -> int:
    """Runs one command; the result is the exit code."""
    arguments = parser().parse_args(argv)
    # Where root came by `su` alone, its path lacks the programs of an administrator.
    os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        try:
            return _COMMANDS[arguments.command](arguments) or 0
        finally:
            # What was done is done: a signal that comes while Python ends must not change the exit code.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
    except LabError as problem:
        print(f"lab: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except OSError as problem:
        place = f" ({problem.filename})" if problem.filename else ""
        print(f"lab: the machine refused: {problem.strerror or problem}{place}; is its disk full, are you root?",
              file=sys.stderr)
        return 1


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _need_root() -> None:
    if os.geteuid() != 0:
        raise LabError("labs belong to root: run it again with sudo")


def _up(arguments: Namespace) -> None:
    started = time.monotonic()
    lab = up.make(arguments, lambda what, text: print(f"{what}: {text}", file=sys.stderr))
    if arguments.json:
        _print_json(lab)
        return
    _print_table(lab)
    print(f"\nlab {lab.name} is up after {time.monotonic() - started:.1f} s. Next: `lab exec {lab.name} boot -- CMD`, "
          f"`lab manifests {lab.name}`, `lab down {lab.name}`; "
          "with a coordinator and an agent in it: tests/lab/try")


def _down(arguments: Namespace) -> None:
    _need_root()
    if arguments.all and arguments.name:
        raise LabError("either the name of a lab or --all, not both")
    pattern = "*" if arguments.all else arguments.name or "lab"
    labs = ([name for name in store.known() if fnmatch.fnmatchcase(name, pattern)] if "*" in pattern
            else [names.check_lab_name(pattern)])
    for name in labs:
        print(f"lab {name} is gone" if teardown.remove(name) else f"there is no lab {name}")
    if not labs:
        print("there are no such labs")


def _read(name: str) -> Lab:
    _need_root()
    lab = store.load(names.check_lab_name(name))
    reach.refresh(lab)
    return lab


def _status(arguments: Namespace) -> None:
    lab = _read(arguments.name)
    _print_json(lab) if arguments.json else _print_table(lab)


def _list(arguments: Namespace) -> None:
    _need_root()
    labs = []
    for name in store.known():
        try:
            lab = store.load(name)
            labs.append({"name": name, "kind": lab.kind, "server": lab.server, "hosts": len(lab.hosts),
                         "complete": lab.complete})
        except LabError:
            labs.append({"name": name, "kind": None, "server": None, "hosts": 0, "complete": False})
    if arguments.json:
        print(json.dumps(labs, indent=2))
        return
    for lab in labs:
        print(f"{lab['name']:20} {lab['hosts']:3} hosts of kind {lab['kind']}, {lab['server']}" if lab["complete"]
              else f"{lab['name']:20} being made, or left half made: `lab down {lab['name']}` removes it")


def _manifests(arguments: Namespace) -> None:
    _need_root()
    objects = manifests.objects(store.load(names.check_lab_name(arguments.name)))
    if arguments.json:
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2))
    else:
        print("".join("---\n" + yaml.dump(one) for one in objects), end="")


def _exec(arguments: Namespace) -> None:
    _need_root()
    argv = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if not argv:
        raise LabError(f"say what to run: `lab exec {arguments.name} {arguments.where} -- ip addr`")
    enter.run_in(store.load(arguments.name), arguments.where, argv)


def _shell(arguments: Namespace) -> None:
    _need_root()
    enter.run_in(store.load(arguments.name), arguments.where, ["bash", "-i"])


def _host(arguments: Namespace) -> None:
    _need_root()
    wait = None if arguments.no_wait else arguments.timeout
    with store.locked(names.check_lab_name(arguments.name)):
        lab = store.load(arguments.name)
        try:
            if arguments.host == "add":
                host = faults.add_host(lab, not arguments.no_boot, wait)
            else:
                host = lab.host(arguments.host)
                if arguments.action not in faults.HOST_ACTIONS:
                    raise LabError(f"what shall happen to {host.name}? one of: {', '.join(faults.HOST_ACTIONS)}")
                faults.act_on_host(lab, host, arguments.action, arguments.argument, wait)
        finally:
            reach.refresh(lab)
            store.save(lab)
    if arguments.json:
        print(json.dumps(host.to_json(lab.name), indent=2))
    else:
        print(_row(host))


def _wan(arguments: Namespace) -> None:
    _need_root()
    with store.locked(names.check_lab_name(arguments.name)):
        lab = store.load(arguments.name)
        faults.act_on_wan(lab, arguments.action, arguments.seconds)
        store.save(lab)


def _dhcp(arguments: Namespace) -> None:
    _need_root()
    with store.locked(names.check_lab_name(arguments.name)):
        lab = store.load(arguments.name)
        faults.act_on_dhcp(lab, arguments.action, arguments.host)
        store.save(lab)


def _print_json(lab: Lab) -> None:
    print(json.dumps(lab.to_json(dhcp.lease_path(lab)), indent=2))


def _print_table(lab: Lab) -> None:
    print(f"lab {lab.name}: {len(lab.hosts)} hosts of kind {lab.kind}, DHCP by {lab.server}"
          + ("" if lab.complete else " (half made)"))
    print(f"  management  {lab.netns('mgmt'):18} {names.MGMT_ADDRESS}")
    print(f"  bootstrap   {lab.netns('boot'):18} {names.BOOT_ADDRESS}, leases in {dhcp.lease_path(lab)}")
    for host in lab.hosts:
        print(f"  {_row(host)}")


def _row(host: Host) -> str:
    state = "up" if host.up else "no ssh" if host.powered else "off"
    login = f"{host.user} / {host.password}" + (" (sudo with it)" if host.sudo_password else "")
    return f"{host.name:11} {host.current_mac:18} {host.address or '-':15} {state:7} {login}"


_COMMANDS = {"up": _up, "down": _down, "status": _status, "list": _list, "manifests": _manifests, "exec": _exec,
             "shell": _shell, "host": _host, "wan": _wan, "dhcp": _dhcp}
