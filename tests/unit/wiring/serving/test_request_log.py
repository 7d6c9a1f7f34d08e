"""The log of a server, checked: each answer that was given is held against the archive."""

from __future__ import annotations

import errno
import io
import json
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from replay.core.errors import StoreError
from replay.core.trajectory import CallStep, CompletionStep, NoteStep, Step
from replay.core.types import Digest, Provenance, Role, SnapshotKind, ToolCall
from replay.store.answers import read_completion, read_result
from replay.wiring.checking import CheckedRun, check_run
from replay.wiring.library import Library, find_archive, locate_stores, open_library
from replay.wiring.reopening import RunSources
from replay.wiring.serving.request_log import LogFolder, StepLog
from tests.support.commands import MINI

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the stores of these tests lie."""
    return tmp_path_factory.mktemp("home")


def said(library: Library) -> CompletionStep:
    """A recorded completion as it is logged."""
    held = next(iter(library.store.scan(SnapshotKind.COMPLETION)))
    return CompletionStep(
        role=Role.CANDIDATE, request_digest=Digest("sha256:" + "0" * 64), completion=read_completion(held)
    )


def called(library: Library) -> CallStep:
    """A recorded API answer as it is logged."""
    held = next(iter(library.store.scan(SnapshotKind.API)))
    call = ToolCall(id="call_0", name=held.scope, arguments="{}")
    return CallStep(call=call, tool=held.scope, result=read_result(held, lookup="canonical"))


def check(folder: Path, home: Path, *steps: Step) -> CheckedRun:
    """Log these requests, and check the log."""
    paths, _ = locate_stores(find_archive(MINI), home=home)
    log = LogFolder(folder / "log")
    lines = log.open(0)
    for step in steps:
        lines.write(step)
    lines.close()
    log.finish(benchmark=paths.benchmark, archives={paths.name: str(paths.root)}, attempts=0)
    return check_run(folder / "log", RunSources(archive=MINI, home=home))


def test_answers_of_the_archive_are_found_again(tmp_path: Path, home: Path) -> None:
    """Completions as well as API answers, each looked up by its key."""
    with open_library(locate_stores(find_archive(MINI), home=home)[0]) as library:
        steps = (said(library), called(library))
    checked = check(tmp_path, home, *steps)
    assert (True, 2, 2) == (checked.ok, checked.episodes, checked.recomputed)


def test_an_answer_that_the_archive_does_not_give_is_named(tmp_path: Path, home: Path) -> None:
    """Other words under a recorded key, of a model or of an API, are findings."""
    with open_library(locate_stores(find_archive(MINI), home=home)[0]) as library:
        completion, call = said(library), called(library)
    other = msgspec.structs.replace(completion.completion, content="Something else.")
    result = msgspec.structs.replace(call.result, content="Something else.")
    steps = (
        msgspec.structs.replace(completion, completion=other),
        msgspec.structs.replace(call, result=result),
    )
    checked = check(tmp_path, home, *steps)
    assert (False, 2) == (checked.ok, len(checked.findings))
    assert all("was answered otherwise than the archive does" in found.what for found in checked.findings)


def test_what_a_model_made_here_need_not_be_recorded(tmp_path: Path, home: Path) -> None:
    """A generated completion under a key of its own is hashed, and that is all."""
    with open_library(locate_stores(find_archive(MINI), home=home)[0]) as library:
        completion = said(library)
    made = msgspec.structs.replace(
        completion.completion, provenance=Provenance.GENERATED, key="sha256:" + "1" * 64
    )
    checked = check(tmp_path, home, msgspec.structs.replace(completion, completion=made))
    assert (True, 1, 0) == (checked.ok, checked.episodes, checked.recomputed)


class FillingDisk(io.BytesIO):
    """A file on a disk with so much room: it takes what fits, then refuses."""

    room = 0

    def write(self, data: ReadableBuffer) -> int:
        """Take a part."""
        part = bytes(data)[: self.room]
        if not part:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(part)
        return super().write(part)


def test_a_full_disk_leaves_no_half_line() -> None:
    """What comes when there is room again begins on a line of its own."""
    file = FillingDisk()
    log = StepLog(file)
    for room in (10_000, 20, 0, 10_000):
        file.room = room
        with suppress(StoreError) if room < 10_000 else nullcontext():
            log.write(NoteStep(name=f"room {room}", data={}))
    assert ["room 10000"] * 2 == [json.loads(line)["step"]["name"] for line in file.getvalue().splitlines()]
