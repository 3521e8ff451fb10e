"""Writes plain values as YAML; every string that could be read as something else is quoted."""

import json
import re
from typing import Any

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def dump(value: Any) -> str:
    """One document, without the `---` before it."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict) and value:
        lines = []
        for key, item in value.items():
            inner = _lines(item)
            if isinstance(item, dict) and item:
                lines += [f"{_scalar(key)}:", *(f"  {line}" for line in inner)]
            elif isinstance(item, list) and item:
                lines += [f"{_scalar(key)}:", *inner]
            else:
                lines.append(f"{_scalar(key)}: {inner[0]}")
        return lines
    if isinstance(value, list) and value:
        lines = []
        for item in value:
            first, *rest = _lines(item)
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        return lines
    return [_scalar(value)]


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)
