"""The exception tree: one line of text, exit codes, and the way home from a worker process."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import pickle
import re

import pytest

from replay.core import errors
from replay.core.errors import MissError, ReplayError


def _classes() -> list[type[ReplayError]]:
    found = [getattr(errors, name) for name in sorted(errors.__all__)]
    return [cls for cls in found if issubclass(cls, ReplayError)]


def make_error(cls: type[ReplayError]) -> ReplayError:
    """Build an error with all its parts."""
    return cls("no snapshot", where="task 1", expected="one", next_step="record it")


def test_text_has_four_parts() -> None:
    """What failed, where, what was expected, what to do next, in one line."""
    assert "no snapshot (task 1); expected one; next: record it" == str(make_error(MissError))
    assert "no snapshot" == str(MissError("no snapshot"))


def test_text_is_one_printable_line() -> None:
    """Values from outside cannot break the line, move the cursor or defeat the output's encoding."""
    assert r"name 'a\nb\x1b[2J\ud800é'" == str(MissError("name 'a\nb\x1b[2J\ud800é'"))


def test_json_has_the_parts_and_the_exit_code() -> None:
    """`--json` shows the same parts as they are."""
    expected = {
        "error": "MissError",
        "exit_code": 4,
        "what": "no snapshot",
        "where": "task 1",
        "expected": "one",
        "next": "record it",
    }
    assert expected.items() <= make_error(MissError).to_json().items()


@pytest.mark.parametrize("cls", _classes(), ids=lambda cls: cls.__name__)
def test_exit_codes_are_those_of_the_drawn_tree(cls: type[ReplayError]) -> None:
    """The tree in the module's docstring and the classes tell one story."""
    match = re.search(rf"{cls.__name__} +(\d+)  ", errors.__doc__ or "")
    assert match is not None
    assert int(match[1]) == cls.exit_code


@pytest.mark.parametrize("cls", _classes(), ids=lambda cls: cls.__name__)
def test_errors_survive_the_way_from_a_worker(cls: type[ReplayError]) -> None:
    """Class, text and attributes that were added later come through the wire of process pools."""
    error = make_error(cls)
    error.__dict__["report"] = {"nearest": [1, 2]}
    back = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes, made a moment ago
    assert (cls, str(error), error.args, error.__dict__) == (type(back), str(back), back.args, back.__dict__)


def _fail(text: str) -> None:
    raise MissError(text, where="worker", next_step="record it")


@pytest.mark.slow
def test_errors_come_out_of_a_spawned_worker() -> None:
    """A real pool raises the very error, not a wrapper."""
    context = multiprocessing.get_context("spawn")
    with (
        concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool,
        pytest.raises(MissError, match=r"^lost \(worker\); next: record it$"),
    ):
        pool.submit(_fail, "lost").result()
