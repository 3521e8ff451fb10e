"""Getting a bundle's files from the site's file server, checked by SHA-256.

Shared by the modules bundle_files and bundle_images. The checksums come with
the playbooks, so that nothing which came over plain HTTP is trusted.
"""

import hashlib
import os
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

CHUNK = 1 << 20
ATTEMPTS = 4
TIMEOUT_SECONDS = 30


class DownloadError(Exception):
    """A file that could not be had; the text says what was wanted and found."""


class NoAnswer(DownloadError):
    """Nobody answers; asking for other files would not help."""


SHOWN = 10


def listing(misses):
    """What is missing, as one text that stays readable."""
    more = len(misses) - SHOWN
    return "\n".join(misses[:SHOWN] + (["and %d more" % more] if more > 0 else []))


def sha256_of(path):
    """The hexadecimal SHA-256 of a file, or None when there is no such file."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def url_of(repo, src):
    """The address of a file of the bundle; Debian names hold + and ~."""
    return repo.rstrip("/") + "/" + urllib.parse.quote(src)


def _copy(url, file):
    digest = hashlib.sha256()
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
        while chunk := answer.read(CHUNK):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _once(url, sha256, directory):
    handle, path = tempfile.mkstemp(prefix=".bundle-", dir=directory)
    try:
        with os.fdopen(handle, "wb") as file:
            found = _copy(url, file)
        if found != sha256:
            raise DownloadError(
                "%s: wanted sha256 %s, found %s; the file server does not serve "
                "this bundle's files/, or the file is damaged" % (url, sha256, found)
            )
        return path
    except BaseException:
        os.unlink(path)
        raise


def download(url, sha256, directory, pause=time.sleep):
    """Gets url into a new temporary file of directory and returns its path.

    A wrong checksum and a missing file are final; a server that does not
    answer is tried again, with pauses of 1, 2 and 4 seconds.
    """
    os.makedirs(directory, exist_ok=True)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _once(url, sha256, directory)
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise DownloadError(
                    "%s: wanted the file, found HTTP %d (%s); check that the bundle's "
                    "files/ is complete and served" % (url, error.code, error.reason)
                ) from error
            problem = error
        except OSError as error:
            problem = error
        if attempt < ATTEMPTS:
            pause(2 ** (attempt - 1))
    raise NoAnswer(
        "%s: wanted the file, found no answer in %d tries (%s); check files_repo and "
        "that the bootstrap host serves it" % (url, ATTEMPTS, problem)
    )
