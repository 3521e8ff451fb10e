"""Who may log in to a host: the account files of the base root with one account opened."""

import os
from pathlib import Path

from .shell import run

OPS = "ops"
_OPS_ID = 1000


def hash_password(password: str) -> str:
    """The form that /etc/shadow holds; the password goes in by standard input, never as an argument."""
    return run(["openssl", "passwd", "-6", "-stdin"], stdin=password + "\n").stdout.strip()


def with_hash(shadow: str, user: str, hashed: str) -> str:
    """/etc/shadow with this user's password set; the user gets a line if there is none."""
    lines = shadow.splitlines()
    for number, line in enumerate(lines):
        fields = line.split(":")
        if fields[0] == user:
            lines[number] = ":".join([user, hashed, *fields[2:]])
            break
    else:
        lines.append(f"{user}:{hashed}:20000:0:99999:7:::")
    return "\n".join(lines) + "\n"


def in_group(group: str, name: str, member: str) -> str:
    """/etc/group (or gshadow) with the member added to the group that is its last field's list."""
    lines = []
    for line in group.splitlines():
        if line.startswith(f"{name}:"):
            line += member if line.endswith(":") else f",{member}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def ssh_access(user: str) -> str:
    """sshd's settings: passwords are allowed; root only when root is the account."""
    return f"PasswordAuthentication yes\nPermitRootLogin {'yes' if user == 'root' else 'no'}\n"


def install(base: Path, upper: Path, user: str, hashed: str) -> None:
    """Writes the account files of a host into its disk."""
    etc = upper / "etc"
    shadow = with_hash((base / "etc/shadow").read_text(), user, hashed)
    if user != "root":
        _write(etc / "passwd", (base / "etc/passwd").read_text()
               + f"{user}:x:{_OPS_ID}:{_OPS_ID}:operator:/home/{user}:/bin/bash\n", 0o644)
        _write(etc / "group", in_group((base / "etc/group").read_text(), "sudo", user)
               + f"{user}:x:{_OPS_ID}:\n", 0o644)
        _write(etc / "gshadow", in_group((base / "etc/gshadow").read_text(), "sudo", user) + f"{user}:!::\n", 0o640)
        home = upper / "home" / user
        home.mkdir(parents=True, mode=0o755)
        for name in (".bashrc", ".profile"):
            if (base / "etc/skel" / name).exists():
                _write(home / name, (base / "etc/skel" / name).read_text(), 0o644)
                os.chown(home / name, _OPS_ID, _OPS_ID)
        os.chown(home, _OPS_ID, _OPS_ID)
    _write(etc / "shadow", shadow, 0o640)
    access = etc / "ssh/sshd_config.d/05-access.conf"
    access.parent.mkdir(parents=True, exist_ok=True)
    _write(access, ssh_access(user), 0o644)
    for name in ("shadow", "gshadow"):
        if (etc / name).exists():
            os.chown(etc / name, 0, (base / "etc" / name).stat().st_gid)


def _write(path: Path, text: str, mode: int) -> None:
    path.write_text(text)
    path.chmod(mode)
