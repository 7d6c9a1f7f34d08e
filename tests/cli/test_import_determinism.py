"""Two imports of the same data are the same file, wherever and however they run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_SUITE = _ROOT / "snapshots" / "sources" / "stabletoolbench-mini"


def _import_elsewhere(source: Path, target: Path, *, umask: int, **environment: str) -> bytes:
    subprocess.run(
        [sys.executable, "-m", "replay", "import", "stabletoolbench", str(source), "-o", str(target)],
        cwd=target.parent,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(_ROOT), "HOME": str(target.parent), **environment},
        umask=umask,
        capture_output=True,
        check=True,
    )
    return target.read_bytes()


@pytest.mark.slow
def test_folder_order_locale_zone_umask_and_hash_seed_leave_no_trace(tmp_path: Path) -> None:
    """A copy whose files were made in another order, in a process with other surroundings."""
    copy = tmp_path / "кopie" / "other name"
    for source in sorted((path for path in _SUITE.rglob("*") if path.is_file()), reverse=True):
        target = copy / source.relative_to(_SUITE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    one = _import_elsewhere(
        _SUITE, tmp_path / "a.replay", umask=0o022, PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C.UTF-8"
    )
    two = _import_elsewhere(
        copy, tmp_path / "b.replay", umask=0o077, PYTHONHASHSEED="2", TZ="Asia/Kolkata", LC_ALL="C", USER="x"
    )
    assert one == two
