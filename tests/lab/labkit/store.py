"""The state directory of a lab: claimed by making it, locked while something changes, removed last."""

import contextlib
import fcntl
import json
import os
from typing import Iterator

from . import dhcp, names
from .errors import LabError
from .model import Lab


def claim(name: str) -> None:
    """Takes the name for a new lab."""
    names.RUN.mkdir(mode=0o755, parents=True, exist_ok=True)
    for _ in range(3):
        try:
            (names.RUN / name).mkdir(mode=0o700)
            return
        except FileExistsError:
            break
        except FileNotFoundError:  # another lab, the last one, was removed just now
            names.RUN.mkdir(mode=0o755, parents=True, exist_ok=True)
    raise LabError(f"there is a lab `{name}` already: take another name, or remove it with `lab down {name}`")


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Holds the lab for us alone; waits for another command to end. The lock dies with its holder."""
    path = names.RUN / name
    while True:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            raise _no_lab(name) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _still_there(handle, path):
                yield
                return
        finally:
            os.close(handle)


def _still_there(handle: int, path: os.PathLike) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def save(lab: Lab) -> None:
    """Writes lab.json whole or not at all; it holds passwords and is for root only."""
    path = lab.directory / "lab.json"
    aside = lab.directory / "lab.json.new"
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        json.dump(lab.to_json(dhcp.lease_path(lab)), out, indent=2)
        out.write("\n")
    os.replace(aside, path)


def load(name: str) -> Lab:
    """Reads a lab back."""
    try:
        return Lab.from_json(json.loads((names.RUN / name / "lab.json").read_text()))
    except FileNotFoundError:
        if (names.RUN / name).is_dir():
            raise LabError(f"lab {name} was never finished: remove it with `lab down {name}`") from None
        raise _no_lab(name) from None
    except (ValueError, KeyError) as problem:
        raise LabError(f"the state of lab {name} can't be read ({problem!r}): "
                       f"remove it with `lab down {name}`") from None


def known() -> list[str]:
    """The names of all labs, half-made ones included."""
    roots = [root for root in (names.RUN, names.DISKS) if root.is_dir()]
    return sorted({path.name for root in roots for path in root.iterdir() if path.is_dir()})


def _no_lab(name: str) -> LabError:
    others = ", ".join(known())
    advice = f"there are: {others}" if others else "make one with `lab up`"
    return LabError(f"there is no lab `{name}`; {advice}")
