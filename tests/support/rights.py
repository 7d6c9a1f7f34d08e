"""Root without root's rights over files, so that tests about permissions say the same for everyone."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["held_to_rights"]

_VERSION: Final = 0x20080522
"""_LINUX_CAPABILITY_VERSION_3: two words of each set."""
_OVERRIDES: Final = 0b110
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: to read and write whatever the bits of a file say."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = tuple(
        (f"{name}{word}", ctypes.c_uint32) for word in "01" for name in ("effective", "permitted", "kept")
    )


@contextmanager
def held_to_rights() -> Iterator[None]:
    """Hold this thread to the permission bits of files, also when it is root's."""
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_VERSION, 0), _Sets()
    _call(libc.capget, header, sets)
    before = sets.effective0
    sets.effective0 = before & ~_OVERRIDES
    _call(libc.capset, header, sets)
    try:
        yield
    finally:
        sets.effective0 = before
        _call(libc.capset, header, sets)


def _call(function: ctypes._NamedFuncPointer, header: _Header, sets: _Sets) -> None:
    if function(ctypes.byref(header), ctypes.byref(sets)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
