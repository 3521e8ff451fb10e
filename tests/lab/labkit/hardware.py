"""The hardware that a host declares in its manifests; what the machine under it has is another matter."""

import re
from dataclasses import dataclass, replace

from .errors import LabError

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
          "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


@dataclass(frozen=True)
class Hardware:
    """Logical CPUs, memory and one disk, the sizes as Kubernetes quantities."""
    cpu: int = 4
    memory: str = "8Gi"
    disk: str = "100Gi"

    def changed(self, settings: str) -> "Hardware":
        """Applies settings like `cpu=2,memory=4Gi,disk=50Gi`."""
        changed = self
        for setting in filter(None, settings.split(",")):
            key, _, value = setting.partition("=")
            if key == "cpu":
                changed = replace(changed, cpu=_count(value))
            elif key in ("memory", "disk"):
                bytes_of(value)
                changed = replace(changed, **{key: value})
            else:
                raise LabError(f"`{setting}` is no hardware: write cpu=2, memory=4Gi or disk=50Gi")
        return changed


def bytes_of(quantity: str) -> int:
    """The bytes of a whole quantity such as `8Gi` or `100G`."""
    found = re.fullmatch(r"([0-9]{1,12})([kMGT]|[KMGT]i)?", quantity)
    if not found or int(found[1]) == 0:
        raise LabError(f"`{quantity}` is no size: write it like 8Gi or 100G")
    return int(found[1]) * _UNITS[found[2] or ""]


def _count(value: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,4}", value):
        raise LabError(f"`{value}` is no number of CPUs: write it like cpu=4")
    return int(value)
