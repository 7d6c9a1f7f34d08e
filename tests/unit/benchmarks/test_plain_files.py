"""What has the name of a data file and is none is named by every benchmark, neither read nor passed over."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.benchmarks.plain_files import is_named, plain_status
from replay.benchmarks.registry import get_importer
from replay.core.errors import InputError
from tests.support.data import CHECKOUT

_FILES = {
    "acebench": "data_en/data_normal_atom_bool.json",
    "metatool": "plugin_des.json",
    "toolsandbox": "scenarios_base.json",
    "codexomics": "suites_demo.json",
}
_MAKE: dict[str, Callable[[Path], None]] = {
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link in a circle": lambda path: path.symlink_to(path.name),
    "a link out of the folder": lambda path: path.symlink_to("/etc/passwd"),
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
}


def replaced(folder: Path, benchmark: str, file: str, kind: str) -> Path:
    """Copy a shipped suite's sources and put something else in the place of one file."""
    copy = folder / "copy"
    shutil.copytree(CHECKOUT / "snapshots" / "sources" / f"{benchmark}-mini", copy)
    (copy / file).unlink()
    _MAKE[kind](copy / file)
    return copy


@pytest.mark.parametrize("kind", _MAKE)
@pytest.mark.parametrize("benchmark", _FILES)
def test_an_importer_names_what_is_no_plain_file(tmp_path: Path, benchmark: str, kind: str) -> None:
    """One error with the file and what it is."""
    file = _FILES[benchmark]
    copy = replaced(tmp_path, benchmark, file, kind)
    with pytest.raises(InputError, match=rf"not a plain file but a \w+.*{Path(file).name}"):
        get_importer(benchmark).load(copy, {})


@pytest.mark.parametrize("kind", ["a device", "a link out of the folder", "a pipe"])
def test_stabletoolbench_reports_what_is_no_plain_file(tmp_path: Path, kind: str) -> None:
    """Its trees hold many files that are not data; each that is no plain one stands in the report."""
    file = "solvable_queries/test_instruction/G1_tool.json"
    copy = replaced(tmp_path, "stabletoolbench", file, kind)
    report = get_importer("stabletoolbench").load(copy, {}).report
    assert file in str(report)


def test_a_link_to_a_device_is_no_plain_file_either(tmp_path: Path) -> None:
    """What a link leads to is looked at where links are followed."""
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    with pytest.raises(OSError, match="not a plain file but a device"):
        plain_status(link, follow=True)


def test_a_broken_link_has_a_name(tmp_path: Path) -> None:
    """So it is not absent."""
    (tmp_path / "link").symlink_to("nowhere")
    assert is_named(tmp_path / "link")
    assert not is_named(tmp_path / "other")
