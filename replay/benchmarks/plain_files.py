"""Files of folders from outside: plain ones are read, anything else that has the name of one is named.

Owns one rule for all benchmarks. A device or a pipe would be read for ever, and a link leads out of the
folder whose content is accounted for. Passed over as if absent they would make a smaller benchmark.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["is_named", "plain_status"]


def is_named(path: Path) -> bool:
    """Tell whether anything has this name, a broken link too."""
    return os.path.lexists(path)


def plain_status(path: Path, *, follow: bool = False) -> os.stat_result:
    """Return the status of a plain file before it is opened.

    follow: a link counts as what it leads to; for files that the user named, which are not part of a copy.
    Errors:  OSError whose `strerror` says what it is instead.
    """
    status = path.stat() if follow else path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, _said(status.st_mode), path.name)
    return status


def _said(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "not a plain file but a link; links are not followed"
    if stat.S_ISDIR(mode):
        return "not a plain file but a folder"
    if stat.S_ISFIFO(mode):
        return "not a plain file but a pipe"
    return "not a plain file but a socket" if stat.S_ISSOCK(mode) else "not a plain file but a device"
