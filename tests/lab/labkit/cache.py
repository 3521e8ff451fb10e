"""Built things live in the cache as `NAME-<key>`, whole or not at all, and are built once."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Callable, Iterator


def cache_dir() -> Path:
    """`$BPA_CACHE`, or `~/.cache/bpa`."""
    chosen = os.environ.get("BPA_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "bpa"


def key_of(parts: list[str]) -> str:
    """A short name for everything that a thing is built from; another part gives another key."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()[:12]


def built(name: str, key: str, build: Callable[[Path], None], cache: Path | None = None) -> Path:
    """The directory of the finished thing; calls `build(directory)` only when there is none yet.

    Two callers at once build once: the second waits for the first. What an interrupted build left
    behind is removed before the next one starts.
    """
    cache = cache or cache_dir()
    final = cache / f"{name}-{key}"
    if final.is_dir():
        return final
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f".{name}.lock"):
        if final.is_dir():
            return final
        for stale in cache.glob(f"{name}-*.tmp.*"):
            shutil.rmtree(stale, ignore_errors=True) if stale.is_dir() else stale.unlink()
        scratch = cache / f"{name}-{key}.tmp.{os.getpid()}"
        scratch.mkdir(mode=0o755)
        try:
            build(scratch)
            os.rename(scratch, final)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
    return final


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{path.name[1:-5]}: another build is under way, waiting for it", file=sys.stderr)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
