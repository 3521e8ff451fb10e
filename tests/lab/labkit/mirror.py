"""Where this machine gets its Debian packages from, asked of apt itself at run time."""

from .errors import LabError
from .shell import run


def choose(targets: str, suite: str) -> str:
    """Picks the archive of `suite` from lines `uri|suite|component`; only `main` will do."""
    for line in targets.splitlines():
        uri, _, rest = line.partition("|")
        if rest.split("|")[:2] == [suite, "main"] and uri.startswith(("http:", "https:", "file:", "mirror:")):
            return uri.removeprefix("mirror+").rstrip("/")
    raise LabError(f"apt of this machine has no source for Debian {suite} main: "
                   f"add one under /etc/apt/sources.list.d, or build on a Debian {suite} machine")


def archive(suite: str) -> str:
    """The address of the archive that apt is configured with."""
    fields = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    return choose(run(["apt-get", "indextargets", "--format", fields, "Created-By: Packages"]).stdout, suite)


def proxy_environment() -> dict[str, str]:
    """apt's proxy as the variables that debootstrap's downloader reads."""
    found = {}
    for scheme in ("http", "https"):
        value = run(["apt-config", "shell", "V", f"Acquire::{scheme}::Proxy"], check=False).stdout
        address = value.partition("=")[2].strip().strip("'")
        if address and address != "DIRECT":
            found[f"{scheme}_proxy"] = address
    return found
